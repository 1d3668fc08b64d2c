"""The convokit format: any corpus comes back from it, and a corpus of ConvoKit's comes back from us."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.artefact import canonical_json
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.corpus.store import Corpus
from tertulia.errors import InputError
from tertulia.formats.convokit.format import ConvoKitFormat

from ..corpus.test_tables import JSON, TEXT, records
from . import mutate
from .convokit_files import FILES, as_text, folder, read, utterance, write
from .test_jsonl import fitted

NAMES = st.sampled_from(["u1", "u2", "u3", "c1", "d#0", "d#1", "reply_to", "convokit", "tertulia", "meta", "", "A"])
TELLING = st.dictionaries(
    st.sampled_from(["reply_to", "convokit", "tertulia", "meta", "speakers", "x"]),
    st.none()
    | NAMES
    | st.integers(-5, 5)
    | st.dictionaries(
        st.sampled_from(["timestamp", "meta", "speakers", "turn", "attributes", "role", "reply_to", "convokit"]),
        st.none() | st.integers(0, 2_000_000_000) | st.dictionaries(NAMES, JSON, max_size=2),
        max_size=3,
    ),
    max_size=3,
)


@st.composite
def tricky(draw: st.DrawFn) -> Record:
    """A record whose ids and attributes are like those that the format gives a meaning."""
    record = fitted(draw(records()))
    for utterance_ in record.dialogue.utterances:
        utterance_.id = draw(st.none() | NAMES)
        utterance_.speaker = draw(NAMES | TEXT)
        utterance_.attributes = draw(TELLING)
    if draw(st.booleans()):
        record.dialogue.attributes = draw(TELLING)
    if draw(st.booleans()):
        record.dialogue.id = draw(st.sampled_from(["d", "d#0", "c1"]))
        for note in record.annotations:
            note.dialogue_id = record.dialogue.id
    return record


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpus=st.lists(records().map(fitted) | tricky(), max_size=4, unique_by=lambda record: record.dialogue.id))
def test_any_corpus_comes_back(tmp_path_factory: pytest.TempPathFactory, corpus: list[Record]) -> None:
    path = tmp_path_factory.mktemp("convokit")
    expected = as_text(corpus)
    assert sorted(file.name for file in write(path / "a", corpus).iterdir()) == FILES
    back, report = read(path / "a")
    assert as_text(back) == expected
    assert report.skipped == {}
    write(path / "b", back)
    for name in FILES:
        assert (path / "b" / name).read_bytes().isascii()
    assert as_text(read(path / "b")[0]) == expected
    shutil.rmtree(path)


IDS = [f"u{n}" for n in range(6)]
UTTERANCES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "conversation_id": st.sampled_from(["c1", "c2", "u0"]),
        "speaker": st.sampled_from(["ann", "bob", "me"]),
        "text": TEXT,
        "meta": st.dictionaries(st.sampled_from(["score", "tertulia", "convokit", "reply_to"]), JSON, max_size=2),
        "reply-to": st.none() | st.sampled_from([*IDS, "elsewhere"]),
        "timestamp": st.none()
        | st.integers(-5, 2_000_000_000)
        | st.floats(0, 2e9)
        | st.sampled_from(["1500000000", "1:07", "2017-07-14T02:40:00+02:00"]),
        "vectors": st.just([]),
    }
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lines=st.lists(UTTERANCES, max_size=6, unique_by=lambda line: line["id"]),
    conversations=st.dictionaries(
        st.sampled_from(["c1", "c2", "empty"]),
        st.fixed_dictionaries({"meta": st.dictionaries(TEXT, JSON, max_size=2), "vectors": st.just([])}),
    ),
    speakers=st.dictionaries(
        st.sampled_from(["ann", "bob"]), st.fixed_dictionaries({"meta": st.dictionaries(TEXT, JSON, max_size=2)})
    ),
)
def test_a_corpus_of_convokit_comes_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any], conversations: dict[str, Any], speakers: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("convokit")
    folder(path / "a", lines, conversations=conversations, speakers=speakers)
    found, _ = read(path / "a")
    write(path / "b", found)
    again = {line["id"]: line for line in map(json.loads, (path / "b" / "utterances.jsonl").read_text().splitlines())}
    assert again.keys() == {line["id"] for line in lines}
    for line in lines:
        fields = {name: value for name, value in line.items() if name != "meta"}
        back = {name: value for name, value in again[line["id"]].items() if name != "meta"}
        assert canonical_json(back) == canonical_json(fields)
        plain = {name: value for name, value in line["meta"].items() if name != "tertulia"}
        kept = {name: value for name, value in again[line["id"]]["meta"].items() if name != "tertulia"}
        assert canonical_json(kept) == canonical_json(plain)
    assert as_text(read(path / "b")[0]) == as_text(found)
    shutil.rmtree(path)


def test_ids_that_two_utterances_have(tmp_path: Path) -> None:
    """ConvoKit's ids are unique over the corpus; ours need not be."""
    given = [
        Record(Dialogue(name, [Utterance(0, 0, "A", "one", id="x"), Utterance(1, 1, "B", "two", id="x")]))
        for name in ("d1", "d2")
    ]
    path = write(tmp_path / "a", given)
    lines = [json.loads(line) for line in (path / "utterances.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["x", "d1#1", "d2#0", "d2#1"]
    assert [line["reply-to"] for line in lines] == [None, "x", None, "d2#0"]
    assert read(path)[0] == given


def test_speakers_have_the_metadata_of_their_first_dialogue(tmp_path: Path) -> None:
    said = [Utterance(0, 0, "ann", "hello")]
    given = [
        Record(Dialogue("d1", said, attributes={"convokit": {"speakers": {"ann": {"age": 1}}}})),
        Record(Dialogue("d2", said, attributes={"convokit": {"speakers": {"ann": {"age": 2}}}})),
        Record(Dialogue("d3", said, attributes={"convokit": {"speakers": {"ann": {"age": 1}}}})),
        Record(Dialogue("d4", said)),
    ]
    path = write(tmp_path / "a", given)
    assert json.loads((path / "speakers.json").read_text()) == {"ann": {"meta": {"age": 1}, "vectors": []}}
    assert read(path)[0] == given
    conversations = json.loads((path / "conversations.json").read_text())
    assert [name for name, value in conversations.items() if value["meta"]] == ["d2", "d4"]


def test_plain_dialogues_are_plain_in_convokit(tmp_path: Path) -> None:
    given = Record(
        Dialogue(
            "d1", [Utterance(0, 0, "A", "one", id="u1", attributes={"n": 1}), Utterance(1, 1, "B", "two", id="u2")]
        ),
        [Annotation("d1", "rating", "ann", 1, value=4.0), Annotation("d1", "topic", "ann", label="films")],
    )
    path = write(tmp_path / "a", [given])
    lines = [json.loads(line) for line in (path / "utterances.jsonl").read_text().splitlines()]
    rating = {"layer": "rating", "annotator": "ann", "value": 4.0}
    assert [line["meta"] for line in lines] == [{"n": 1}, {"tertulia": {"annotations": [rating]}}]
    assert json.loads((path / "conversations.json").read_text()) == {
        "d1": {
            "meta": {"tertulia": {"annotations": [{"layer": "topic", "annotator": "ann", "label": "films"}]}},
            "vectors": [],
        }
    }
    assert json.loads((path / "index.json").read_text()) == {
        "utterances-index": {"n": ["<class 'int'>"], "tertulia": ["<class 'dict'>"]},
        "conversations-index": {"tertulia": ["<class 'dict'>"]},
        "speakers-index": {},
        "overall-index": {},
        "vectors": [],
        "version": 1,
    }


def test_a_value_that_is_not_json_is_an_error(tmp_path: Path) -> None:
    given = Record(Dialogue("d1", [Utterance(0, 0, "A", "one", attributes={"x": float("nan")})]))
    with pytest.raises(InputError, match="dialogue 'd1' holds a value that is not JSON"):
        write(tmp_path / "a", [given])


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"annotations": 5}, "tertulia.annotations in the metadata is not a list of objects"),
        ({"annotations": [{"layer": "l"}]}, "annotator holds null"),
        ({"annotations": [{"layer": "l", "annotator": "a", "start": 0, "end": 99}]}, "spans 0 to 99"),
        ({"role": "king"}, "tertulia.role in the metadata is neither user nor agent"),
        ({"turn": -1}, "tertulia.turn in the metadata is not a whole number"),
        ({"sent_at": "noon"}, "tertulia.sent_at in the metadata is not a time"),
        ({"attributes": []}, "tertulia.attributes in the metadata is not an object"),
        ({"id": 5}, "tertulia.id in the metadata is not a text"),
    ],
)
def test_our_part_of_the_metadata_is_checked(tmp_path: Path, own: Any, message: str) -> None:
    source = folder(tmp_path / "a", [utterance("u1", meta={"tertulia": own})])
    with pytest.raises(InputError) as caught:
        read(source)
    assert f"{source}/utterances.jsonl:1: " in caught.value.one_line()
    assert message in caught.value.one_line()


def test_damaged_bytes_end_in_a_corpus_or_one_clear_error(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [
            utterance("u1", timestamp=1_500_000_000, meta={"tertulia": {"role": "user", "turn": 3}}),
            utterance("u2", "ü", speaker="bob", **{"reply-to": "u1"}, timestamp="1500000001.5", meta={"n": 1.5}),
            utterance(
                "u3", conversation_id="c2", meta={"tertulia": {"annotations": [{"layer": "l", "annotator": "a"}]}}
            ),
        ],
        conversations={"c1": {"meta": {"topic": "films"}, "vectors": []}},
        speakers={"ann": {"meta": {"age": 40}, "vectors": []}},
        index={"utterances-index": {"n": ["bin"]}},
    )
    files = {name: (source / name).read_bytes() for name in FILES}
    counts = mutate.outcomes(ConvoKitFormat(), files, tmp_path / "mutated", seed=11)
    assert min(counts.values()) > mutate.MUTATIONS // 10


def test_real_convokit_loads_what_is_written(
    tmp_path: Path, small_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # ConvoKit leaves a file with its configuration there
    kit = pytest.importorskip("convokit", reason="ConvoKit is not installed")
    with Corpus(small_corpus) as corpus:
        write(tmp_path / "a", list(corpus.records()))
    loaded = kit.Corpus(filename=str(tmp_path / "a"))
    assert len(loaded.get_conversation_ids()) == 4
    for record in read(tmp_path / "a")[0]:
        conversation = loaded.get_conversation(record.dialogue.id)
        assert conversation.check_integrity(verbose=False)
        said = list(conversation.iter_utterances())
        assert [u.text for u in said] == record.dialogue.texts
        assert [u.speaker.id for u in said] == [u.speaker for u in record.dialogue.utterances]
    loaded.dump("again", base_path=str(tmp_path))
    assert read(tmp_path / "again")[0] == read(tmp_path / "a")[0]
