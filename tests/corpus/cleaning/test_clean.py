"""Cleaning corpora: marks, drops and masks, counted, streamed and written."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tertulia.artefact import Manifest, read_manifest
from tertulia.corpus.cleaning.clean import clean_corpus, clean_records
from tertulia.corpus.cleaning.plan import parse_plan
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.model import Annotation, Record
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ArtefactError, ConfigurationError

from .makers import record

RECORDS = [
    record("a", "write to a@example.com or b@example.com", "no thanks"),
    record("b", "what the fuck", "calm down please"),
    record("c", "a quiet day", "very quiet indeed"),
]


def cleaned(
    records: list[Record], *filters: str, settings: tuple[str, ...] = (), language: str = "en"
) -> tuple[list[Record], CleaningReport]:
    report = CleaningReport()
    return list(clean_records(records, parse_plan(filters, settings, language), report)), report


def test_marks_are_annotations_with_kind_and_span() -> None:
    records, report = cleaned(RECORDS, "personal", "offensive")
    assert [item.dialogue for item in records] == [item.dialogue for item in RECORDS]
    assert [item.annotations for item in records] == [
        [
            Annotation("a", "clean.personal", "filter:personal", 0, 9, 22, "e-mail"),
            Annotation("a", "clean.personal", "filter:personal", 0, 26, 39, "e-mail"),
        ],
        [Annotation("b", "clean.offensive", "filter:offensive", 0, 9, 13, "profanity")],
        [],
    ]
    assert [(row.filter, row.action, row.kind, row.count, row.first) for row in report.rows()] == [
        ("personal", "mark", "e-mail", 2, "a, utterance 0"),
        ("offensive", "mark", "profanity", 1, "b, utterance 0"),
    ]
    assert (report.read, report.kept) == (3, 3)


def test_marking_twice_is_marking_once_and_other_annotations_stay() -> None:
    other = Annotation("a", "rating", "ann", value=3.0)
    own = Annotation("a", "clean.personal", "ann", 1, 0, 2, "name")
    first = [record("a", *RECORDS[0].dialogue.texts, notes=(other, own))]
    once, _ = cleaned(first, "personal")
    twice, _ = cleaned(once, "personal")
    assert once == twice
    assert once[0].annotations[:2] == [other, own]
    assert len(once[0].annotations) == 4


def test_what_is_dropped_is_counted_by_the_filter_that_drops_it_first() -> None:
    both = record("d", "what the fuck, a@example.com")
    records, report = cleaned([*RECORDS, both], "offensive:drop", "personal:drop")
    assert [item.dialogue.id for item in records] == ["c"]
    assert report.dropped == {"offensive": 2, "personal": 1}
    assert (report.read, report.kept) == (4, 1)


def test_masks_replace_spans_and_other_annotations_move() -> None:
    notes = (
        Annotation("a", "entity", "ann", 0, 0, 5, "verb"),
        Annotation("a", "entity", "ann", 0, 23, 25, "or"),
        Annotation("a", "entity", "ann", 0, 9, 39, "both"),
        Annotation("a", "entity", "ann", 0, 20, 25, "half"),
        Annotation("a", "entity", "ann", 1, 0, 2, "elsewhere"),
        Annotation("a", "rating", "ann", 0, value=2.0),
    )
    (after,), report = cleaned([record("a", *RECORDS[0].dialogue.texts, notes=notes)], "personal:mask")
    text = after.dialogue.texts[0]
    assert text == "write to [E-MAIL] or [E-MAIL]"
    spans = [text[note.start : note.end] for note in after.annotations if note.position == 0 and note.start is not None]
    assert spans == ["write", "or", "[E-MAIL] or [E-MAIL]", " or"]
    assert after.annotations[4:] == list(notes[4:])
    assert (report.masked, report.moved, report.clipped) == (2, 2, 1)


def test_the_given_records_stay_as_they_are() -> None:
    before = repr(RECORDS)
    cleaned(RECORDS, "personal:mask", "offensive", "short:drop")
    assert repr(RECORDS) == before


def test_marks_of_one_filter_move_with_the_masks_of_another() -> None:
    (after,), report = cleaned([record("a", "a@example.com says fuck")], "offensive", "personal:mask")
    (note,) = after.annotations
    assert after.dialogue.texts[0][note.start : note.end] == "fuck"
    assert (report.moved, report.clipped) == (0, 0)


def test_a_title_is_looked_at_too() -> None:
    titled = record("a", "fine words here", title="Mail a@example.com")
    (marked,), _ = cleaned([titled], "personal")
    (note,) = marked.annotations
    assert (note.position, note.start, note.attributes) == (None, None, {"in": "title", "start": 5, "end": 18})
    (masked,), report = cleaned([titled], "personal:mask")
    assert masked.dialogue.title == "Mail [E-MAIL]"
    assert next(report.rows()).first == "a, title"
    assert cleaned([titled], "personal:drop")[0] == []


def test_prompts_are_not_sought_in_what_an_agent_says() -> None:
    asked = record("a", "what time is it", "what time is it", roles=("user", "agent"))
    (after,), _ = cleaned([asked], "needs-knowledge")
    assert [note.position for note in after.annotations] == [0]
    (after,), _ = cleaned([record("a", "what time is it", "what time is it")], "needs-knowledge")
    assert [note.position for note in after.annotations] == [0, 1]


def test_a_filter_that_finds_nothing_is_in_the_report() -> None:
    _, report = cleaned([record("c", "a quiet day")], "personal:mask")
    assert [(row.filter, row.count) for row in report.rows()] == [("personal", 0)]
    assert report.to_json()["filters"] == [{"filter": "personal", "action": "mask", "count": 0, "kinds": {}}]


def test_the_language_is_told_from_the_texts() -> None:
    assert cleaned(RECORDS, "short", language="auto")[1].language == "en"
    chinese = [record("a", "你这个傻逼", "今天天气怎么样")]
    (after,), report = cleaned(chinese, "offensive", "needs-knowledge", language="auto")
    assert report.language == "zh"
    assert [note.label for note in after.annotations] == ["profanity", "weather"]


def test_a_stream_is_read_as_it_comes() -> None:
    """No more is read ahead than is needed to tell the language, and nothing where it is given."""
    taken = 0

    def stream() -> Iterator[Record]:
        nonlocal taken
        for number in range(5_000):
            taken += 1
            yield record(f"{number:05d}", "some words here", "and some more")

    found = clean_records(stream(), parse_plan(["short"], [], "en"), CleaningReport())
    next(found)
    assert taken == 1
    report = CleaningReport()
    assert sum(1 for _ in clean_records(stream(), parse_plan(["short"]), report)) == 5_000
    assert report.read == 5_000


def test_a_filter_that_looks_ahead_needs_to_read_twice() -> None:
    plan = parse_plan(["duplicates"], [], "en")
    with pytest.raises(ConfigurationError, match="'duplicates' needs records that can be iterated over twice"):
        list(clean_records(iter(RECORDS), plan, CleaningReport()))


def test_dialogues_without_utterances_pass() -> None:
    records, report = cleaned(
        [record("a"), record("b", "")], "offensive", "personal", "needs-knowledge", "language", "duplicates"
    )
    assert [item.annotations for item in records] == [[], []]
    assert report.kept == 2


# -- on disk ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    manifest = Manifest("corpus", licence="CC0", citation="nobody", details={"format": "jsonl"})
    write_corpus(tmp_path / "in", RECORDS, manifest)
    return tmp_path / "in"


def test_a_clean_corpus_says_where_it_is_from_and_what_was_found(corpus: Path, tmp_path: Path) -> None:
    report = CleaningReport()
    plan = parse_plan(["offensive:drop", "personal:mask", "duplicates"])
    steps: list[tuple[int, int | None]] = []
    result = clean_corpus(
        corpus, tmp_path / "out", plan, report, progress=lambda done, total: steps.append((done, total))
    )
    assert [item.dialogue.id for item in result.records()] == ["a", "c"]
    manifest = read_manifest(tmp_path / "out")
    assert manifest.licence == "CC0"
    assert manifest.options == plan.to_json()
    assert manifest.inputs[0]["sha256"] == read_manifest(corpus).digest
    assert manifest.details["cleaning"] == json.loads(json.dumps(report.to_json()))
    assert manifest.report["skipped"] == {
        "dialogues dropped by the filter offensive": {"count": 1, "first": "b, utterance 0"}
    }
    assert manifest.report["noted"] == {"personal (mask): e-mail": {"count": 2, "first": "a, utterance 0"}}
    assert steps == [(1, 6)] * 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_the_same_input_gives_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    plan = parse_plan(["offensive", "personal", "duplicates", "short"])
    for name in ("one/out", "two/out"):
        clean_corpus(corpus, tmp_path / name, plan)
    for file in sorted((tmp_path / "one/out").iterdir()):
        assert file.read_bytes() == (tmp_path / "two/out" / file.name).read_bytes(), file.name


def test_nothing_is_overwritten_and_the_input_is_never_the_output(corpus: Path, tmp_path: Path) -> None:
    plan = parse_plan(["short:drop", "duplicates"])
    with pytest.raises(ArtefactError, match="is an input as well"):
        clean_corpus(corpus, corpus, plan, overwrite=True)
    clean_corpus(corpus, tmp_path / "out", plan)
    with pytest.raises(ArtefactError, match="exists already"):
        clean_corpus(corpus, tmp_path / "out", plan)
    clean_corpus(corpus, tmp_path / "out", plan, overwrite=True)
    with pytest.raises(ArtefactError, match="manifest"):
        clean_corpus(tmp_path, tmp_path / "other", plan)


def test_whatever_the_filters_the_rest_of_a_corpus_is_untouched(tmp_path: Path) -> None:
    """Utterances, annotations and attributes of records in which nothing is found are the same after as before."""
    dice = random.Random(5)
    records = []
    for number in range(60):
        item = record(
            f"d{number:03d}", *(f"words {dice.random()}x and more" for _ in range(3)), title=f"title {number}"
        )
        item.dialogue.attributes = {"n": number}
        item.annotations.append(Annotation(item.dialogue.id, "entity", "ann", 1, 0, 5, "x", 0.5, {"k": [1]}))
        records.append(item)
    write_corpus(tmp_path / "in", records, Manifest("corpus"))
    plan = parse_plan(["offensive:mask", "personal:mask", "needs-knowledge:drop", "language", "short:drop"])
    with clean_corpus(tmp_path / "in", tmp_path / "out", plan) as after, Corpus(tmp_path / "in") as before:
        assert list(after.records()) == list(before.records())
