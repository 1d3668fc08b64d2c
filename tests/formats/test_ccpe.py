"""The ccpe format: segments are kept to the code point and in their order, and what does not fit is said."""

import gzip
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest, canonical_json
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.corpus.store import write_corpus
from tertulia.errors import InputError
from tertulia.formats.ccpe import ANNOTATOR, LAYER, CcpeFormat

from . import mutate

NAME, LIKES = "ENTITY_NAME", "ENTITY_PREFERENCE"


def segment(start: int, end: int, text: str, *annotations: tuple[str, str | None]) -> dict[str, Any]:
    return {
        "startIndex": start,
        "endIndex": end,
        "text": text,
        "annotations": [{"annotationType": kind, "entityType": entity} for kind, entity in annotations],
    }


def said(index: int, speaker: str, text: str, *segments: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "speaker": speaker, "text": text} | ({"segments": list(segments)} if segments else {})


def conversation(identifier: str, *utterances: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"conversationId": identifier, "utterances": list(utterances), **fields}


WHALE = conversation(
    "whale",
    said(0, "ASSISTANT", "which films do you like"),
    said(1, "ASSISTANT", "take your time"),
    said(
        2,
        "USER",
        "I like the slow ones about whales.",
        segment(11, 33, "slow ones about whales", (NAME, "MOVIE_GENRE_OR_CATEGORY")),
        segment(0, 33, "I like the slow ones about whales", (LIKES, "MOVIE_GENRE_OR_CATEGORY"), (NAME, "PERSON")),
        segment(27, 33, "whales", (NAME, "SOMETHING_ELSE")),
        segment(7, 26, "the slow ones about", (LIKES, "MOVIE_GENRE_OR_CATEGORY")),
    ),
)
BRIEF = conversation("brief", said(0, "USER", "Jaws", segment(0, 4, "Jaws", (NAME, "MOVIE_OR_SERIES"))))


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(CcpeFormat().read(str(source), report, ReadOptions(**options))), report


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def written(records: list[Record], path: Path) -> tuple[Any, Report]:
    report = Report()
    CcpeFormat().write(iter(records), str(path), report)
    return json.loads(path.read_text(encoding="utf-8")), report


def by_corpus(records: list[Record], folder: Path) -> list[Record]:
    """The records as a corpus on disk gives them: in order of id, with their annotations in order."""
    with write_corpus(folder, records, Manifest("corpus")) as corpus:
        return list(corpus.records())


def same_json(first: Any, second: Any) -> bool:
    return canonical_json(first) == canonical_json(second)


def test_a_segment_is_a_row_for_each_of_its_annotations(tmp_path: Path) -> None:
    [record], report = read(put(tmp_path / "data.json", [WHALE]))
    dialogue = record.dialogue
    assert [(u.speaker, u.role, u.turn) for u in dialogue.utterances] == [
        ("ASSISTANT", "agent", 0),
        ("ASSISTANT", "agent", 0),
        ("USER", "user", 1),
    ]
    text = dialogue.utterances[2].text
    rows = [(text[n.start : n.end], n.label, n.attributes["entity_type"]) for n in record.annotations]
    assert rows == [
        ("slow ones about whales", NAME, "MOVIE_GENRE_OR_CATEGORY"),
        ("I like the slow ones about whales", LIKES, "MOVIE_GENRE_OR_CATEGORY"),
        ("I like the slow ones about whales", NAME, "PERSON"),
        ("whales", NAME, "SOMETHING_ELSE"),
        ("the slow ones about", LIKES, "MOVIE_GENRE_OR_CATEGORY"),
    ]
    assert {(n.layer, n.annotator, n.position) for n in record.annotations} == {(LAYER, ANNOTATOR, 2)}
    assert report.to_json() == {"skipped": {}, "noted": {}}


def test_numbers_are_kept_only_where_sorting_would_lose_the_order(tmp_path: Path) -> None:
    records, _ = read(put(tmp_path / "data.json", [BRIEF, WHALE]))
    assert records[0].annotations[0].attributes == {"entity_type": "MOVIE_OR_SERIES"}
    assert [n.attributes["segment"] for n in records[1].annotations] == [0, 1, 1, 2, 3]
    assert [n.attributes.get("order") for n in records[1].annotations] == [None, 0, 1, None, None]
    sorted_ones = conversation("s", said(0, "USER", "Jaws", segment(0, 4, "Jaws", (NAME, "PERSON"), (LIKES, "PERSON"))))
    [record], _ = read(put(tmp_path / "data.json", [sorted_ones]))
    assert [n.attributes for n in record.annotations] == [{"entity_type": "PERSON"}] * 2


ODD = [
    conversation("none"),
    conversation("nothing said", said(0, "USER", ""), said(1, "USER", " ", segment(0, 0, "", (NAME, None)))),
    conversation("no annotations", said(0, "USER", "Jaws", segment(0, 4, "Jaws"), segment(0, 4, "Jaws"))),
    conversation("both", said(0, "USER", "Jaws", segment(0, 4, "Jaws"), segment(0, 4, "Jaws", (NAME, "PERSON")))),
    conversation("twice", said(0, "USER", "Jaws", segment(0, 4, "Jaws", (NAME, "PERSON"), (NAME, "PERSON")))),
    conversation("two", said(0, "USER", "a", segment(0, 1, "a", (NAME, "A")), segment(0, 1, "a", (NAME, "B")))),
    conversation("other text", said(0, "USER", "Jaws 2", segment(0, 4, "jaws", (NAME, "A")))),
    conversation("beyond", said(0, "USER", "Jaws", segment(2, 9, "ws and", (NAME, "A")))),
    conversation(
        "far beyond", said(0, "USER", "Jaws", segment(7, 9, "x", (NAME, "A")), segment(7, 9, "y", (NAME, "B")))
    ),
    conversation(
        "bytes", said(0, "USER", "é Jaws 🦈", segment(3, 7, "Jaws", (NAME, "A")), segment(8, 12, "🦈", (NAME, "B")))
    ),
    conversation("units", said(0, "USER", "🦈🦈 Jaws", segment(5, 9, "Jaws", (NAME, "A")))),
    conversation("half", said(0, "USER", "é Jaws", segment(1, 3, "x", (NAME, "A")))),
    conversation("indices", said(4, "USER", "Jaws"), said(4, "ASSISTANT", "2")),
    conversation("empty", {**said(0, "USER", "Jaws"), "segments": []}, {**said(1, "USER", "2"), "segments": None}),
    conversation("no type", said(0, "USER", "a", {**segment(0, 1, "a"), "annotations": [{"annotationType": NAME}]})),
    conversation("more", {**said(0, "USER", "a"), "asr": {"n": [1, 1.0, True]}}, number=3, extra=None, more="é"),
    conversation(
        "deep",
        said(
            0,
            "USER",
            "a",
            {
                **segment(0, 1, "a"),
                "by": "ann",
                "annotations": [
                    {"annotationType": NAME, "order": 1, "extra": {}, "n": True},
                    {"annotationType": NAME, "text": "x", "n": 1},
                    {"annotationType": "", "entityType": ""},
                ],
            },
        ),
    ),
]


@pytest.mark.parametrize("value", [WHALE, BRIEF, *ODD], ids=lambda value: value["conversationId"])
def test_reading_then_writing_gives_the_same_json(tmp_path: Path, value: dict[str, Any]) -> None:
    records, _ = read(put(tmp_path / "data.json", [value]))
    again, report = written(by_corpus(records, tmp_path / "corpus"), tmp_path / "again.json")
    assert same_json(again, [value])
    assert report.skipped == {}


def test_conversations_come_back_in_the_order_of_their_file(tmp_path: Path) -> None:
    whole = [conversation(name, said(0, "USER", name)) for name in ("b", "d", "a", "e", "c")]
    records, _ = read(put(tmp_path / "data.json", whole))
    assert [r.dialogue.attributes for r in records] == [{}, {}, {"number": 2}, {"number": 3}, {"number": 4}]
    corpus = by_corpus(records, tmp_path / "corpus")
    assert [r.dialogue.id for r in corpus] == ["a", "b", "c", "d", "e"]
    assert written(corpus, tmp_path / "again.json")[0] == whole


def test_every_segment_has_its_text_or_is_said_not_to(tmp_path: Path) -> None:
    values = [value for value in ODD if value["conversationId"] in {"other text", "beyond", "bytes", "units", "half"}]
    records, report = read(put(tmp_path / "data.json", values))
    rows = {}
    for record in records:
        for note in record.annotations:
            text = record.dialogue.texts[note.position or 0][note.start : note.end]
            rows.setdefault(record.dialogue.id, []).append(
                (text, note.attributes.get("text"), note.attributes.get("offsets"))
            )
    assert rows == {
        "other text": [("Jaws", "jaws", None)],
        "beyond": [("ws", "ws and", [2, 9])],
        "bytes": [("Jaws", None, [3, 7]), ("🦈", None, [8, 12])],
        "units": [("Jaws", None, [5, 9])],
        "half": [(" J", "x", None)],
    }
    assert {reason: finding.count for reason, finding in report.noted.items()} == {
        "segments whose text is not what their utterance has there": 2,
        "segments that reach beyond their utterance, cut off at its end": 1,
        "segments whose offsets count UTF-8 bytes, moved to code points": 2,
        "segments whose offsets count UTF-16 units, moved to code points": 1,
    }
    first = report.noted["segments that reach beyond their utterance, cut off at its end"].first
    assert first == "data.json:1 (record 1), utterance 0"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SPOKEN = st.text(st.sampled_from("ab é🦈\n"), max_size=8)
OFFSETS = st.integers(0, 10)
LABELS = st.sampled_from([NAME, LIKES, ""])
MORE = st.dictionaries(
    st.sampled_from(["number", "order", "segment", "extra", "n"]),
    st.sampled_from([0, 1, True, 1.0, None, "é"]),
    max_size=2,
)


@st.composite
def segments(draw: st.DrawFn, text: str) -> dict[str, Any]:
    start, end = sorted((draw(OFFSETS), draw(OFFSETS)))
    stated = draw(st.just(text[start:end]) | SPOKEN)
    found: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        entity = draw(st.sampled_from([{}, {"entityType": None}, {"entityType": "PERSON"}, {"entityType": "A"}]))
        found.append({"annotationType": draw(LABELS)} | entity | draw(MORE))
    return {"startIndex": start, "endIndex": end, "text": stated, "annotations": found} | draw(MORE)


@st.composite
def conversations(draw: st.DrawFn, identifier: str) -> dict[str, Any]:
    utterances = []
    for index in range(draw(st.integers(0, 3))):
        text = draw(SPOKEN)
        utterance = said(index, draw(st.sampled_from(["USER", "ASSISTANT"])), text) | draw(MORE)
        if draw(st.booleans()):
            utterance["segments"] = draw(st.lists(segments(text), max_size=4))
        utterances.append(utterance)
    return conversation(identifier, *utterances) | draw(MORE)


@st.composite
def files(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(st.text(st.sampled_from("ab🦈\uffee"), min_size=1, max_size=2), unique=True, max_size=3))
    return [draw(conversations(name)) for name in names]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=files())
def test_any_file_comes_back(tmp_path_factory: pytest.TempPathFactory, value: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("ccpe")
    records, read_report = read(put(folder / "data.json", value))
    again, report = written(by_corpus(records, folder / "corpus"), folder / "again.json")
    assert same_json(again, value)
    assert report.skipped == {}
    assert same_json(written(records, folder / "direct.json")[0], value)
    for record in records:
        for note in record.annotations:
            text = record.dialogue.texts[note.position or 0]
            assert 0 <= (note.start or 0) <= (note.end or 0) <= len(text)
            assert note.attributes.get("text") != text[note.start : note.end]
    if any({"text", "offsets"} & note.attributes.keys() for record in records for note in record.annotations):
        assert read_report.noted


@st.composite
def fitting(draw: st.DrawFn) -> Record:
    """A record of this model that the format can hold."""
    utterances, notes = [], []
    for position in range(draw(st.integers(0, 3))):
        role, speaker = draw(st.sampled_from([("user", "USER"), ("agent", "ASSISTANT")]))
        text = draw(TEXT)
        utterances.append(Utterance(position, 0, speaker, text, role))  # type: ignore[arg-type]
        spans = draw(st.sets(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), LABELS), max_size=3))
        for start, end, label in sorted((min(a, b), max(a, b), label) for a, b, label in spans):
            attributes = draw(st.sampled_from([{}, {"entity_type": "PERSON"}, {"sure": 0.5}]))
            notes.append(Annotation("d", LAYER, ANNOTATOR, position, start, end, label, attributes=dict(attributes)))
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    return Record(Dialogue("d", utterances, attributes=draw(st.dictionaries(st.just("votes"), st.integers()))), notes)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(record=fitting())
def test_any_record_that_fits_comes_back(tmp_path_factory: pytest.TempPathFactory, record: Record) -> None:
    folder = tmp_path_factory.mktemp("ccpe")
    _, report = written([record], folder / "data.json")
    assert report.skipped == {}
    [again], _ = read(folder / "data.json")
    assert again.dialogue == record.dialogue
    assert sorted(again.annotations, key=repr) == sorted(record.annotations, key=repr)


BAD: list[tuple[Any, str]] = [
    (5, "holds 5; expected a conversation"),
    ([], "holds a list; expected a conversation"),
    ({}, "conversationId holds null; expected a text"),
    (conversation(""), "conversationId is empty"),
    ({"conversationId": "x"}, "utterances holds null; expected a list of objects with index, speaker and text"),
    (conversation("x", said(0, "USER", 5)), "utterance 0: text holds 5; expected a text"),  # type: ignore[arg-type]
    (
        conversation("x", said(0, "USER", "a"), said(1, "SYSTEM", "b")),
        "utterance 1: speaker holds 'SYSTEM'; expected USER or",
    ),
    (conversation("x", {"speaker": "USER", "text": "a"}), "utterance 0: there is no index"),
    (conversation("x", said(-1, "USER", "a")), "index holds -1; expected a whole number from 0"),
    (conversation("x", said(0, "USER", "\ud800")), "text holds half of a surrogate pair"),
    (conversation("x", said(0, "USER", "a") | {"segments": {}}), "segments holds an object; expected a list"),
    (conversation("x", said(0, "USER", "a") | {"segments": ""}), 'segments holds ""; expected a list'),
    (
        conversation("x", said(0, "USER", "a") | {"segments": [5]}),
        "segments holds a list; expected a list of objects with",
    ),
    (conversation("x", said(0, "USER", "a", segment(1, 0, ""))), "segment 0: startIndex and endIndex hold 1 and 0"),
    (conversation("x", said(0, "USER", "a", segment(0, None, ""))), "hold 0 and null"),  # type: ignore[arg-type]
    (conversation("x", said(0, "USER", "a", segment(True, 1, ""))), "startIndex holds true; expected a whole number"),
    (conversation("x", said(0, "USER", "a", segment(0, 2**40, ""))), "endIndex holds 1099511627776"),
    (conversation("x", said(0, "USER", "a", {"startIndex": 0, "endIndex": 1, "text": "a"})), "annotations holds null"),
    (conversation("x", said(0, "USER", "a", {**segment(0, 1, "a"), "text": None})), "text holds null"),
    (conversation("x", said(0, "USER", "a", segment(0, 1, "a", (5, "b")))), "annotationType holds 5"),  # type: ignore[arg-type]
    (conversation("x", said(0, "USER", "a", segment(0, 1, "a", (NAME, 5)))), "entityType holds 5"),  # type: ignore[arg-type]
    (conversation("x", more="\udfff"), "the other fields hold half of a surrogate pair"),
    (BRIEF, "the id 'brief' stands here again; expected every id once"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_conversation_is_one_error_or_skipped_and_counted(tmp_path: Path, bad: Any, message: str) -> None:
    path = put(tmp_path / "data.json", "[\n" + ",\n".join(json.dumps(value) for value in (BRIEF, bad, WHALE)) + "]")
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:3 (record 1): ")
    assert len(caught.value.one_line()) < 400
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["brief", "whale"]
    skipped = report.skipped["malformed records"]
    assert skipped.count == 1
    assert (skipped.first or "").startswith("data.json:3 (record 1): ")


def test_what_is_no_array_of_conversations_is_an_error_whatever_is_skipped(tmp_path: Path) -> None:
    for value, message in (
        (WHALE, "is a JSON object; expected an array of conversations"),
        ("", "is not a JSON array or object"),
        ('[{"conversationId": "x", "utt', "ends in the middle of"),
        ("[{}] x", "something follows the end"),
    ):
        path = put(tmp_path / "data.json", value)
        with pytest.raises(InputError, match=message) as caught:
            read(path, skip_bad=True)
        assert str(caught.value).startswith(str(path))
    with pytest.raises(InputError, match=r"holds no \*\.json file; expected a JSON array of conversations"):
        read(put(tmp_path / "folder.txt" / "a.txt", "").parent)
    assert read(put(tmp_path / "data.json", "[]"))[0] == []


def test_duplicates_are_counted_or_left_out(tmp_path: Path) -> None:
    path = put(tmp_path / "data.json", [BRIEF, {**BRIEF, "conversationId": "later"}])
    found, report = read(path)
    assert len(found) == 2
    assert report.noted["exact duplicates of another conversation"].count == 1
    assert [record.dialogue.id for record in read(path, drop_duplicates=True)[0]] == ["brief"]


def test_packed_sources_are_read_as_they_are(tmp_path: Path) -> None:
    data = json.dumps([WHALE]).encode()
    plain, _ = read(put(tmp_path / "data.json", [WHALE]))
    (tmp_path / "data.json.gz").write_bytes(gzip.compress(data))
    (tmp_path / "data.json.zst").write_bytes(pa.compress(data, "zstd", asbytes=True))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("ccpe/data.json", data)
        archive.writestr("ccpe/README.md", "nothing")
    for name in ("data.json.gz", "data.json.zst", "a.zip"):
        assert read(tmp_path / name)[0] == plain
    (tmp_path / "folder").mkdir()
    put(tmp_path / "folder" / "b.json", [WHALE])
    put(tmp_path / "folder" / "a.json", [BRIEF])
    assert [record.dialogue.id for record in read(tmp_path / "folder")[0]] == ["brief", "whale"]


def test_what_the_format_does_not_hold_is_counted(tmp_path: Path) -> None:
    utterances = [
        Utterance(0, 0, "Ann", "I like whales", "user", attributes={"speaker": "x", "mood": "glad"}),
        Utterance(1, 5, "Assistant", "do you", "agent", id="u1"),
    ]
    notes = [
        Annotation("d", "rating", "ann", 1, value=4.0),
        Annotation("d", LAYER, "ann", 0, 7, 13, LIKES, 0.5, {"entity_type": "SOMETHING_ELSE"}),
        Annotation("d", LAYER, ANNOTATOR, 0, label=LIKES),
    ]
    value, report = written([Record(Dialogue("d", utterances, "sea", title="t"), notes)], tmp_path / "a.json")
    whales = segment(7, 13, "whales", (LIKES, "SOMETHING_ELSE"))
    assert value == [
        conversation("d", {**said(0, "USER", "I like whales", whales), "mood": "glad"}, said(1, "ASSISTANT", "do you"))
    ]
    assert {reason.partition(", which")[0]: finding.count for reason, finding in report.skipped.items()} == {
        "annotations of other layers than preference": 1,
        "annotations of the layer preference without a span": 1,
        "values of annotations": 1,
        "names of annotators": 1,
        "domains": 1,
        "titles": 1,
        "ids of utterances": 1,
        "names of speakers": 1,
        "turns of its own counting": 1,
        "attributes with the name of a field of this format": 1,
    }


def test_equal_sides_do_not_fit(tmp_path: Path) -> None:
    record = Record(Dialogue("d", [Utterance(0, 0, "A", "hello")]))
    with pytest.raises(InputError, match="in dialogue 'd' utterance 0 is by 'A', who is neither user nor agent"):
        written([record], tmp_path / "a.json")


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    text = json.dumps([WHALE, *ODD[:12], BRIEF], indent=1, ensure_ascii=False)
    found = mutate.outcomes(CcpeFormat(), {"data.json": text.encode()}, tmp_path, seed=11)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 40, found


@pytest.mark.parametrize(
    ("name", "conversations", "utterances", "segments", "annotations"),
    [("ccpe_example_data.json", 1, 43, 44, 45), ("ccpe_entity_names_400.json", 400, 9_586, 3_602, 3_625)],
)
def test_the_released_files_come_back(
    data: Path, tmp_path: Path, name: str, conversations: int, utterances: int, segments: int, annotations: int
) -> None:
    source = data / "ccpe" / name
    records, _ = read(source)
    original = json.loads(source.read_text(encoding="utf-8"))
    assert len(records) == conversations
    assert sum(len(record.dialogue.utterances) for record in records) == utterances
    assert sum(len(record.annotations) for record in records) == annotations
    assert sum(len(u.get("segments", [])) for value in original for u in value["utterances"]) == segments
    again, report = written(by_corpus(records, tmp_path / "corpus"), tmp_path / "again.json")
    assert again == original
    assert report.skipped == {}


def test_the_offsets_of_the_released_files(data: Path) -> None:
    """For every segment of both files ``text[start:end]`` is its text, or the reader has said that it is not."""
    example, report = read(data / "ccpe" / "ccpe_example_data.json")
    assert report.noted == {}
    assert not any("text" in note.attributes for note in example[0].annotations)
    source = data / "ccpe" / "ccpe_entity_names_400.json"
    records, report = read(source)
    assert {reason: finding.count for reason, finding in report.noted.items()} == {
        "segments whose text is not what their utterance has there": 141,
        "segments whose offsets count UTF-8 bytes, moved to code points": 13,
        "segments that reach beyond their utterance, cut off at its end": 1,
    }
    said = [note.attributes.get("text") for record in records for note in record.annotations]
    texts = [record.dialogue.texts[n.position or 0][n.start : n.end] for record in records for n in record.annotations]
    assert sum(text is not None for text in said) == 142
    assert all(text != stated for text, stated in zip(texts, said, strict=True))
    # The plain definition, on the file itself: what the code points give and what they do not.
    matching = differing = 0
    for value in json.loads(source.read_text(encoding="utf-8")):
        for utterance in value["utterances"]:
            for part in utterance.get("segments", []):
                fits = utterance["text"][part["startIndex"] : part["endIndex"]] == part["text"]
                matching, differing = matching + fits, differing + (not fits)
    assert (matching, differing) == (3_447, 155)
