"""The convokit format: any corpus comes back from it, and a corpus of ConvoKit's comes back from us."""

import json
import shutil
import zipfile
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.artefact import canonical_json
from tertulia.corpus import tables
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.interchange.convokit_rows import Row, in_a_circle, reading_order, time_of, timestamp_of
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.corpus.store import Corpus
from tertulia.errors import InputError
from tertulia.formats.convokit import format as convokit
from tertulia.formats.convokit.format import ConvoKitFormat
from tertulia.formats.files.spill import SpilledRows, SpilledTexts

from ..corpus.test_tables import EPOCH, JSON, TEXT, records
from . import mutate
from .test_jsonl import fitted

FILES = ["conversations.json", "corpus.json", "index.json", "speakers.json", "utterances.jsonl"]


def utterance(identifier: str, text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "conversation_id": "c1",
        "text": text,
        "speaker": "ann",
        "meta": {},
        "reply-to": None,
        "timestamp": None,
        "vectors": [],
    } | fields


def folder(path: Path, utterances: list[Any], **files: Any) -> Path:
    path.mkdir(parents=True)
    lines = [line if isinstance(line, str) else json.dumps(line) for line in utterances]
    (path / "utterances.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    contents = {"conversations": {}, "speakers": {}, "corpus": {}, "index": {}} | files
    for name, content in contents.items():
        (path / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(ConvoKitFormat().read(str(source), report, ReadOptions(**options))), report


def write(path: Path, given: list[Record]) -> Path:
    ConvoKitFormat().write(iter(given), str(path), Report())
    return path


def one(source: Path, **options: Any) -> Record:
    [record], _ = read(source, **options)
    return record


def as_text(found: list[Record]) -> list[str]:
    """Records as texts that tell 1 from 1.0 and true, in order of id, annotations in the order of a corpus."""
    texts = []
    for record in sorted(deepcopy(found), key=lambda record: record.dialogue.id):
        record.annotations.sort(key=tables.annotation_order)
        holders = [record.dialogue, *record.dialogue.utterances, *record.annotations]
        attributes = [canonical_json(holder.attributes) for holder in holders]
        for holder in holders:
            holder.attributes = {}
        texts.append(f"{record!r} {attributes}")
    return texts


# ------------------------------------------------------------------------------------------------- a corpus of ConvoKit


def test_a_conversation_of_convokit(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [
            utterance("u1", "Seen anything good?", timestamp=1_500_000_000, meta={"score": 3}),
            utterance("u2", "A film about a whale.", speaker="bob", **{"reply-to": "u1"}, timestamp=1_500_000_060),
        ],
        conversations={"c1": {"meta": {"topic": "films"}, "vectors": []}},
        speakers={"ann": {"meta": {"age": 40}, "vectors": []}, "bob": {"meta": {}, "vectors": []}},
    )
    assert one(source) == Record(
        Dialogue(
            "c1",
            [
                Utterance(
                    0,
                    0,
                    "ann",
                    "Seen anything good?",
                    sent_at=datetime(2017, 7, 14, 2, 40, tzinfo=UTC),
                    id="u1",
                    attributes={"score": 3},
                ),
                Utterance(
                    1,
                    1,
                    "bob",
                    "A film about a whale.",
                    sent_at=datetime(2017, 7, 14, 2, 41, tzinfo=UTC),
                    id="u2",
                ),
            ],
            started_at=datetime(2017, 7, 14, 2, 40, tzinfo=UTC),
            attributes={"topic": "films", "convokit": {"speakers": {"ann": {"age": 40}}}},
        )
    )


def test_old_names_of_fields_and_files(tmp_path: Path) -> None:
    source = tmp_path / "old"
    source.mkdir()
    old = {"id": "u1", "root": "c1", "user": "ann", "text": "hello", "reply_to": None, "timestamp": None, "meta": None}
    (source / "utterances.json").write_text(json.dumps([old, old | {"id": "u2", "reply_to": "u1", "user": "bob"}]))
    (source / "conversations.json").write_text(json.dumps({"c1": {"topic": "films"}}))
    (source / "users.json").write_text(json.dumps({"ann": {"age": 40}}))
    found = one(source).dialogue
    assert [(u.id, u.speaker, u.attributes) for u in found.utterances] == [("u1", "ann", {}), ("u2", "bob", {})]
    assert found.attributes == {"topic": "films", "convokit": {"speakers": {"ann": {"age": 40}}}}


def test_a_tree_of_replies_keeps_what_replies_to_what(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [
            utterance("root"),
            utterance("a", **{"reply-to": "root"}),
            utterance("b", **{"reply-to": "root"}),
            utterance("stray"),
            utterance("far", **{"reply-to": "elsewhere"}),
        ],
    )
    found = one(source).dialogue.utterances
    assert [u.attributes for u in found] == [
        {},
        {},
        {"reply_to": "root"},
        {"reply_to": None},
        {"reply_to": "elsewhere"},
    ]
    again = write(tmp_path / "b", [one(source)])
    lines = [json.loads(line) for line in (again / "utterances.jsonl").read_text().splitlines()]
    assert [line["reply-to"] for line in lines] == [None, "root", "root", None, "elsewhere"]


def test_utterances_are_brought_together_from_all_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convokit, "_CHUNK_CHARACTERS", 12)
    lines = [
        utterance(f"c{c}-{n}", f"text {c} {n}", conversation_id=f"c{c}", **{"reply-to": f"c{c}-{n - 1}" if n else None})
        for n in range(5)
        for c in (2, 0, 1)
    ]
    found, _ = read(folder(tmp_path / "a", lines))
    assert [record.dialogue.texts for record in found] == [[f"text {c} {n}" for n in range(5)] for c in range(3)]


def test_a_reply_never_stands_before_what_it_replies_to(tmp_path: Path) -> None:
    lines = [
        utterance("u3", "3", **{"reply-to": "u2"}),
        utterance("u2", "2", **{"reply-to": "u1"}),
        utterance("u1", "1"),
    ]
    assert one(folder(tmp_path / "a", lines)).dialogue.texts == ["1", "2", "3"]


def test_times_put_utterances_in_order(tmp_path: Path) -> None:
    lines = [utterance("u1", "late", timestamp=1_500_000_002), utterance("u2", "early", timestamp=1_500_000_001)]
    assert one(folder(tmp_path / "a", lines)).dialogue.texts == ["early", "late"]
    lines[1]["timestamp"] = None
    assert one(folder(tmp_path / "b", lines)).dialogue.texts == ["late", "early"]


@pytest.mark.parametrize(
    ("timestamp", "sent_at", "kept"),
    [
        (None, None, False),
        (1_500_000_000, datetime(2017, 7, 14, 2, 40, tzinfo=UTC), False),
        (1_500_000_000.5, datetime(2017, 7, 14, 2, 40, 0, 500_000, tzinfo=UTC), False),
        (1_500_000_000.0, datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("1500000000", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("1500000000.0", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        ("2017-07-14T02:40:00Z", datetime(2017, 7, 14, 2, 40, tzinfo=UTC), True),
        (17, None, True),
        (0.5, None, True),
        (1_500_000_000_000, None, True),
        (10**400, None, True),
        (-5, None, True),
        ("1:07.7", None, True),
        ("", None, True),
        ("٣", None, True),
    ],
)
def test_a_timestamp_is_a_time_or_is_kept_as_it_is(
    tmp_path: Path, timestamp: Any, sent_at: datetime | None, kept: bool
) -> None:
    source = folder(tmp_path / "a", [utterance("u1", timestamp=timestamp)])
    [found] = one(source).dialogue.utterances
    assert found.sent_at == sent_at
    assert found.attributes == ({"convokit": {"timestamp": timestamp}} if kept else {})
    [line] = (write(tmp_path / "b", [one(source)]) / "utterances.jsonl").read_text().splitlines()
    again = json.loads(line)["timestamp"]
    assert (again, type(again)) == (timestamp, type(timestamp))


@settings(max_examples=200, deadline=None)
@given(st.timedeltas(timedelta(days=1_200), timedelta(days=80_000)).map(lambda since: EPOCH + since))
def test_a_time_comes_back_from_its_timestamp(time: datetime) -> None:
    assert time_of(timestamp_of(time)) == time


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "a",
        [utterance("u1", vectors=["bert"], colour="red"), utterance("u2", None, meta={"x": "<##bin{0}&&@**>"})],
        conversations={"c1": {"meta": {}, "vectors": ["a", "b"]}, "c0": {"meta": {}}},
        corpus={"name": "films", "year": 1},
        index={"utterances-index": {"x": ["bin"], "y": ["<class 'int'>"]}, "version": 1},
    )
    found, report = read(source)
    assert [(r.dialogue.id, r.dialogue.texts) for r in found] == [("c0", []), ("c1", ["hello", ""])]
    assert report.to_json() == {
        "skipped": {
            "metadata in pickles, which are not read": {"count": 1, "first": "index.json:1 (record 0)"},
            "metadata of the corpus as a whole": {"count": 2, "first": "corpus.json:1 (record 0)"},
            "vectors": {"count": 3, "first": "conversations.json:1 (record 0)"},
            "fields that ConvoKit does not have": {"count": 1, "first": "utterances.jsonl:1"},
        },
        "noted": {
            "utterances without a text": {"count": 1, "first": "utterances.jsonl:2"},
            "conversations without an utterance": {"count": 1, "first": "conversations.json:1 (record 1)"},
        },
    }


def test_numbers_as_ids_are_texts(tmp_path: Path) -> None:
    lines = [utterance(1, conversation_id=7, speaker=3), utterance(2, conversation_id=7, **{"reply-to": 1})]  # type: ignore[arg-type]
    found, report = read(folder(tmp_path / "a", lines))
    assert [(u.id, u.speaker, u.attributes) for u in found[0].dialogue.utterances] == [("1", "3", {}), ("2", "ann", {})]
    assert report.noted["ids that are numbers, taken as texts"].count == 4


def test_utterances_alone_without_a_folder(tmp_path: Path) -> None:
    plain = [
        {"id": "u1", "speaker": "ann", "text": "hello"},
        {"id": "u2", "speaker": "bob", "text": "hi", "reply-to": "u1"},
        {"id": "v1", "speaker": "ann", "text": "again"},
    ]
    file = tmp_path / "talks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in plain))
    found, _ = read(file)
    assert [(r.dialogue.id, r.dialogue.texts) for r in found] == [
        ("__default_conversation__u1", ["hello", "hi"]),
        ("__default_conversation__v1", ["again"]),
    ]
    plain[1]["reply-to"] = "elsewhere"
    file.write_text(json.dumps(plain[1]))
    with pytest.raises(InputError, match=r"talks.jsonl:1: has no conversation_id, and replies to 'elsewhere'"):
        read(file)


def test_the_archive_that_convokit_gives(tmp_path: Path) -> None:
    source = folder(tmp_path / "films-corpus", [utterance("u1"), utterance("u2", **{"reply-to": "u1"})])
    archive = tmp_path / "films-corpus.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in FILES:
            packed.write(source / name, f"films-corpus/{name}")
            packed.writestr(f"__MACOSX/films-corpus/._{name}", "x")
    assert read(archive)[0] == read(source)[0] == read(tmp_path)[0]


def test_two_corpora_are_not_one(tmp_path: Path) -> None:
    folder(tmp_path / "a", [utterance("u1")])
    folder(tmp_path / "b", [utterance("u1")])
    with pytest.raises(InputError, match=r"holds 2 corpora, 'a' and 'b' among them; expected one"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "holds a list; expected an object"),
        (utterance("u9", speaker=None), "speaker holds null; expected a text"),
        (utterance("u9", speaker={"id": "ann"}), "speaker holds an object; expected a text"),
        (utterance("u9", text=5), "text holds 5; expected a text"),
        (utterance("u9", text="\ud800"), "text holds half of a surrogate pair"),
        (utterance("u9", meta=[]), "meta holds a list; expected an object"),
        (utterance("u9", meta={"a": "\udc00"}), "meta hold half of a surrogate pair"),
        (utterance("u9", timestamp=True), "timestamp holds true; expected a number or a text"),
        (utterance("u9", timestamp=[1]), "timestamp holds a list; expected a number or a text"),
        (
            json.dumps(utterance("u9")).replace('"timestamp": null', '"timestamp": 1e999'),
            "timestamp holds inf; expected a finite number",
        ),
        (utterance("u9", conversation_id=""), "conversation_id is empty"),
        (utterance("u9", **{"reply-to": 1.5}), "reply-to holds 1.5; expected a text"),
        (utterance(None), "id holds null; expected a text"),  # type: ignore[arg-type]
        (utterance("u1"), "the utterance 'u1' stands here again in its conversation"),
    ],
)
def test_a_malformed_utterance_is_named_or_left_out(tmp_path: Path, line: Any, message: str) -> None:
    source = folder(tmp_path / "a", [utterance("u1"), line, utterance("u2", "bye")])
    with pytest.raises(InputError) as caught:
        read(source)
    assert f"{source}/utterances.jsonl:2: " in caught.value.one_line()
    assert message in caught.value.one_line()
    found, report = read(source, skip_bad=True)
    assert found[0].dialogue.texts == ["hello", "bye"]
    assert report.skipped["malformed records"].count == 1
    assert str(report.skipped["malformed records"].first).startswith("utterances.jsonl:2: ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("conversations", "[]", None),
        ("conversations", "[1]", "holds a list; expected an object with conversations by their ids"),
        ("conversations", "5", "is not a JSON array or object"),
        ("conversations", "{", "expected a name in quotes"),
        ("conversations", {"c1": 5}, "the conversation is 5; expected an object"),
        ("conversations", {"c1": {"meta": 5}}, "meta holds 5; expected an object"),
        ("conversations", '{"c1": {}, "c1": {}}', "the conversation 'c1' stands here again"),
        ("conversations", {"": {}}, "the id is empty"),
        ("conversations", '{"\\ud800": {}}', "half of a surrogate pair"),
        ("speakers", '{"ann": {"a": 1}, "ann": {"a": 2}}', "the speaker 'ann' stands here again"),
        ("speakers", '{"\\ud800": {}}', "half of a surrogate pair"),
        ("speakers", {"ann": []}, "the speaker is a list; expected an object"),
    ],
)
def test_malformed_files_beside_the_utterances(tmp_path: Path, name: str, content: Any, message: str | None) -> None:
    source = folder(tmp_path / "a", [utterance("u1")], **{name: content})
    if message is None:
        assert len(read(source)[0]) == 1
        return
    with pytest.raises(InputError) as caught:
        read(source)
    assert f"{source}/{name}.json" in caught.value.one_line()
    assert message in caught.value.one_line()


def test_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match="expected a corpus folder of ConvoKit"):
        read(tmp_path)
    (tmp_path / "speakers.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds no utterances.jsonl or utterances.json"):
        read(tmp_path)


def test_one_conversation_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convokit, "_MOST_UTTERANCES", 3)
    source = folder(tmp_path / "a", [utterance(f"u{n}") for n in range(5)])
    with pytest.raises(InputError, match=r"utterances.jsonl:4: the conversation 'c1' has more than 3 utterances"):
        read(source)
    found, report = read(source, skip_bad=True)
    assert len(found[0].dialogue.utterances) == 3
    assert report.skipped["malformed records"].count == 2


def test_duplicates(tmp_path: Path) -> None:
    source = folder(tmp_path / "a", [utterance("u1"), utterance("u2", conversation_id="c2")])
    found, report = read(source)
    assert len(found) == 2
    assert report.noted["exact duplicates of another conversation"].first == "utterances.jsonl:2"
    assert len(read(source, drop_duplicates=True)[0]) == 1


# ---------------------------------------------------------------------------------------------------------- round trips

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


# ----------------------------------------------------------------------------------------------------- order and spills


def plain_order(rows: list[Row]) -> list[int]:
    """The definition: again and again the first by time and place of those whose parent is out or is not there."""
    ids = {row.id for row in rows}
    timed = all(isinstance(row.timestamp, int) for row in rows)
    left, order = list(range(len(rows))), []
    while left:
        done = {rows[index].id for index in order}
        free = [i for i in left if rows[i].reply_to not in ids or rows[i].reply_to in done]
        chosen = min(free or left, key=lambda i: (rows[i].timestamp if timed else 0, i))
        if not free:
            chosen = min(left, key=lambda i: (rows[i].timestamp if timed else 0, i))
            order += sorted(left, key=lambda i: (rows[i].timestamp if timed else 0, i))
            break
        order.append(chosen)
        left.remove(chosen)
    return order


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.none() | st.integers(0, 7), st.none() | st.integers(0, 3)), min_size=1, max_size=7))
def test_the_order_of_reading_is_its_definition(shape: list[tuple[int | None, int | None]]) -> None:
    rows = [Row(f"u{n}", "A", "", None if r is None else f"u{r}", t) for n, (r, t) in enumerate(shape)]
    order = reading_order(rows)
    assert order == plain_order(rows)
    ordered = [rows[index] for index in order]
    parents = {row.id: row.reply_to for row in rows}

    def circles(name: str) -> bool:
        seen = set()
        at: str | None = name
        while at in parents and at not in seen:
            seen.add(at)
            at = parents[at]
        return at in parents

    assert in_a_circle(ordered) == any(circles(row.id) for row in rows)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), JSON), max_size=12))
def test_rows_come_back_by_key_in_order_of_arrival(given: list[tuple[str, Any]]) -> None:
    with SpilledRows() as rows:
        for key, row in given:
            rows.add(key, row)
        found = [(key, [canonical_json(row) for row in group]) for key, group in rows.groups()]
    keys = sorted({key for key, _ in given})
    assert found == [(key, [canonical_json(row) for k, row in given if k == key]) for key in keys]


def test_groups_may_be_left_untaken() -> None:
    with SpilledRows() as rows:
        for number in range(6):
            rows.add("ab"[number % 2], number)
        assert [(key, next(group)) for key, group in rows.groups()] == [("a", 0), ("b", 1)]


def test_texts_keep_what_came_first() -> None:
    with SpilledTexts() as texts:
        assert texts.add("b", "1")
        assert texts.add("a", "2")
        assert not texts.add("b", "3")
        assert (texts.get("b"), texts.get("c")) == ("1", None)
        assert list(texts.items()) == [("a", "2"), ("b", "1")]


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
