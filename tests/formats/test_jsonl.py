"""The jsonl format: nothing is lost on the way out or in, and what does not hold is named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Annotation, Record, Utterance
from tertulia.corpus.store import write_corpus
from tertulia.errors import InputError
from tertulia.formats.files import lines
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.formats.jsonl import JsonLinesFormat, record_from_json, record_to_json

from ..corpus.test_tables import records
from . import mutate

GOOD = {"id": "d1", "utterances": [{"speaker": "A", "text": "hello"}, {"speaker": "B", "text": "hi"}]}


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(JsonLinesFormat().read(str(source), report, ReadOptions(**options))), report


def write_lines(path: Path, *values: Any) -> Path:
    path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values), encoding="utf-8")
    return path


def fitted(record: Record) -> Record:
    """The record with annotations that stand on utterances and spans that are there, as the format demands."""
    texts = record.dialogue.texts
    for note in record.annotations:
        if note.position is None or not texts:
            note.position = note.start = note.end = None
            continue
        note.position %= len(texts)
        length = len(texts[note.position])
        if note.start is None or note.end is None:
            note.start = note.end = None
        else:
            note.start, note.end = sorted((note.start % (length + 1), note.end % (length + 1)))
    for note in record.annotations:
        if note.value is not None and abs(note.value) == float("inf"):
            note.value = None
    return record


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(record=records().map(fitted))
def test_any_record_comes_back_from_its_json(record: Record) -> None:
    line = json.dumps(record_to_json(record), ensure_ascii=False)
    assert record_from_json(json.loads(line)) == record


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(record=records().map(fitted))
def test_any_corpus_comes_back_from_its_export(tmp_path_factory: pytest.TempPathFactory, record: Record) -> None:
    folder = tmp_path_factory.mktemp("jsonl")
    write_corpus(folder / "a", [record], Manifest("corpus")).close()
    assert export_corpus("jsonl", folder / "a", folder / "a.jsonl", Report()) == 1
    with import_corpus("jsonl", str(folder / "a.jsonl"), folder / "b", Report()) as again:
        [found] = again.records()
    with_order = sorted(found.annotations, key=repr), sorted(record.annotations, key=repr)
    assert found.dialogue == record.dialogue
    assert with_order[0] == with_order[1]
    export_corpus("jsonl", folder / "b", folder / "b.jsonl", Report())
    assert (folder / "a.jsonl").read_bytes() == (folder / "b.jsonl").read_bytes()


def test_little_is_needed(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", GOOD, "", "  ", {"id": "d2", "utterances": []})
    found, _ = read(path)
    assert [record.dialogue.id for record in found] == ["d1", "d2"]
    assert found[0].dialogue.utterances == [Utterance(0, 0, "A", "hello"), Utterance(1, 1, "B", "hi")]


def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n" + json.dumps(GOOD | {"id": "d2"}).encode()
    )
    found, _ = read(path)
    assert [record.dialogue.id for record in found] == ["d1", "d2"]


def test_a_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "z.jsonl").mkdir()
    write_lines(tmp_path / "b" / "one.jsonl", GOOD)
    write_lines(tmp_path / "c.jsonl", GOOD | {"id": "d0"})
    write_lines(tmp_path / "notes.txt", "not this")
    found, _ = read(tmp_path)
    assert [record.dialogue.id for record in found] == ["d1", "d0"]


def test_duplicates_are_told_by_their_texts(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "a.jsonl", GOOD, GOOD | {"id": "d2"}, {"id": "e1", "utterances": []}, {"id": "e2", "utterances": []}
    )
    found, report = read(path)
    assert len(found) == 4
    assert report.noted["exact duplicates of another conversation"].count == 1
    found, report = read(path, drop_duplicates=True)
    assert [record.dialogue.id for record in found] == ["d1", "e1", "e2"]
    assert report.to_json()["skipped"] == {
        "exact duplicates of another conversation": {"count": 1, "first": "a.jsonl:2"}
    }


def utterance(**changes: Any) -> dict[str, Any]:
    return {"id": "x", "utterances": [{"speaker": "A", "text": "hello"} | changes]}


def note(**changes: Any) -> dict[str, Any]:
    return GOOD | {"id": "x", "annotations": [{"layer": "l", "annotator": "a"} | changes]}


BAD = [
    ("{", "is not JSON"),
    ("nonsense", "is not JSON"),
    ("[]", "holds a list; expected an object"),
    ("5", "holds 5; expected an object"),
    ('"text"', 'holds "text"; expected an object'),
    ("null", "holds null; expected an object"),
    ('{"id": NaN, "utterances": []}', "NaN is not a JSON number"),
    ('{"id": "x", "utterances": [], "attributes": {"a": -Infinity}}', "-Infinity is not a JSON number"),
    ('{"id": "x", "utterances": [], "attributes": {"a": 1e999}}', "attributes cannot be kept"),
    ('{"id": "x", "utterances": [], "attributes": {"a": "\\ud800"}}', "attributes hold half of a surrogate pair"),
    ('{"id": "x", "utterances": [], "attributes": {"\\udc00": 1}}', "attributes hold half of a surrogate pair"),
    ('{"id": "x", "utterances": [], "attributes": {"a": ' + "9" * 5_000 + "}}", "is not JSON"),
    ("[" * 200_000, "is nested too deeply"),
    (
        '{"id": "x", "utterances": [], "attributes": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}",
        "is nested too deeply",
    ),
    ({}, "id holds null; expected a text"),
    ({"id": "x"}, "utterances holds null; expected a list of objects"),
    ({"id": "", "utterances": []}, "the id is empty"),
    ({"id": 5, "utterances": []}, "id holds 5; expected a text"),
    ({"id": "x", "utterances": {}}, "utterances holds an object; expected a list"),
    ({"id": "x", "utterances": ["hello"]}, "utterances holds a list; expected a list of objects with speaker and text"),
    ({"id": "x", "utterances": [], "colour": 1}, "the dialogue has the unknown field 'colour'"),
    ({"id": "x", "utterances": [], "domain": 5}, "domain holds 5; expected a text"),
    ({"id": "x", "utterances": [], "split": []}, "split holds a list; expected a text"),
    ({"id": "x", "utterances": [], "title": {}}, "title holds an object; expected a text"),
    ({"id": "x", "utterances": [], "started_at": "noon"}, "started_at holds 'noon'; expected a time"),
    ({"id": "x", "utterances": [], "started_at": 5}, "started_at holds 5"),
    ({"id": "x", "utterances": [], "started_at": "0001-01-01T00:00:00+14:00"}, "expected a time"),
    ({"id": "x", "utterances": [], "attributes": []}, "attributes holds a list; expected an object"),
    ({"id": "x", "utterances": [], "annotations": {}}, "annotations holds an object; expected a list of objects"),
    ('{"id": "x", "utterances": [{"speaker": "A", "text": "\\udfff"}]}', "text holds half of a surrogate pair"),
    (utterance(speaker=None), "speaker holds null; expected a text"),
    (utterance(text=None), "text holds null; expected a text"),
    (utterance(text=["a"]), "text holds a list; expected a text"),
    (utterance(role="robot"), "utterance 0 has the role 'robot'; expected user or agent"),
    (utterance(position=1), "utterance 0 has the position 1; expected positions from 0 without gaps"),
    (utterance(position=True), "position holds true; expected a whole number"),
    (utterance(turn=-1), "turn holds -1; expected a whole number from 0"),
    (utterance(turn=2**31), "turn holds 2147483648; expected a whole number"),
    (utterance(turn=1.5), "turn holds 1.5"),
    (utterance(sent_at="x"), "sent_at holds 'x'"),
    (utterance(id=5), "id holds 5"),
    (
        utterance(mood="glad"),
        "utterance 0 has the unknown field 'mood'; what the model has no field for goes in attributes",
    ),
    (utterance(attributes="x"), 'attributes holds "x"'),
    (note(layer=None), "layer holds null"),
    (note(annotator=5), "annotator holds 5"),
    (note(position=2), "an annotation stands on position 2; there are 2 utterances"),
    (note(position=0, start=1), "an annotation has a part of a span"),
    (note(start=0, end=1), "an annotation has a part of a span"),
    (note(position=0, start=3, end=2), "an annotation spans 3 to 2 of an utterance of 5 characters"),
    (note(position=0, start=0, end=6), "an annotation spans 0 to 6 of an utterance of 5 characters"),
    (note(value="x"), 'value holds "x"; expected a finite number'),
    (note(value=True), "value holds true; expected a finite number"),
    (note(value=10**400), "expected a finite number"),
    (note(label=5), "label holds 5"),
    (note(colour=5), "an annotation has the unknown field 'colour'"),
    (note(attributes=5), "attributes holds 5"),
    (GOOD, "the id 'd1' stands here again; expected every id once"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_line_is_one_error_or_skipped_and_counted(tmp_path: Path, bad: Any, message: str) -> None:
    path = write_lines(tmp_path / "a.jsonl", GOOD, bad, GOOD | {"id": "d2"})
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert len(caught.value.one_line()) < 400
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["d1", "d2"]
    skipped = report.skipped["malformed records"]
    assert skipped.count == 1
    assert skipped.first is not None
    assert skipped.first.startswith("a.jsonl:2: ")


@pytest.mark.parametrize(
    "bad", [b"\xff\xfe", b'{"id": "\xff"}', b"\x00\x00", b'{"id": "\xed\xa0\x80", "utterances": []}']
)
def test_bytes_that_are_not_utf8_or_json(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(bad + b"\n" + json.dumps(GOOD).encode())
    with pytest.raises(InputError, match=r"a\.jsonl:1: is not"):
        read(path)
    assert len(read(path, skip_bad=True)[0]) == 1


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(InputError, match=r"holds no \*\.jsonl file"):
        read(tmp_path)


def test_a_line_that_would_fill_the_memory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 1_000)
    for length in (1_001, 2_001, 2_002, 2_003, 5_000):
        path = write_lines(tmp_path / "a.jsonl", GOOD, "x" * length, GOOD | {"id": "d2"})
        with pytest.raises(InputError, match=r"a\.jsonl:2: the line is longer than 1,000 characters"):
            read(path)
        assert len(read(path, skip_bad=True)[0]) == 2
    path.write_bytes(b"x" * 5_000)
    assert read(path, skip_bad=True)[0] == []


def test_nul_and_control_characters_are_text(tmp_path: Path) -> None:
    value = {"id": "a\0b", "utterances": [{"speaker": "A", "text": "\0\x1b[2J\u202e\u2028\ufeff"}]}
    [found], _ = read(write_lines(tmp_path / "a.jsonl", value))
    assert found.dialogue.texts == ["\0\x1b[2J\u202e\u2028\ufeff"]
    write_corpus(tmp_path / "c", [found], Manifest("corpus")).close()
    with import_corpus("jsonl", str(tmp_path / "a.jsonl"), tmp_path / "d", Report()) as corpus:
        assert corpus.get("a\0b") == found


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    whole = Record(
        record_from_json(GOOD).dialogue,
        [
            Annotation("d1", "span", "me", 0, 1, 3, "x", 0.5, {"a": [1, None]}),
            Annotation("d1", "rating", "you", value=4.0),
        ],
    )
    value = record_to_json(whole) | {
        "started_at": "2020-01-01T00:00:00Z",
        "attributes": {"k": {"n": 1.5}},
        "title": "naïve 🎉",
    }
    text = "\n".join(json.dumps(value | {"id": f"d{n}"}, ensure_ascii=n % 2 == 0) for n in range(4)) + "\n"
    found = mutate.outcomes(JsonLinesFormat(), {"a.jsonl": text.encode()}, tmp_path, seed=5)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 10, found
