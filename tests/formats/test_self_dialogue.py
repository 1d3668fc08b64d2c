"""The self-dialogue format: every oddity of the released files, in rows made here."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import ArtefactError, InputError
from tertulia.formats.files import lines
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.formats.self_dialogue import SelfDialogueFormat, pseudonym
from tertulia.formats.verification.publication import verify_corpus

from ..log.conftest import environment
from . import mutate
from .amt import FIXED, counts, csv_bytes, lay_out, read, row

TWENTY = [f"line {number}" for number in range(1, 21)]


def test_a_row_is_a_dialogue(tmp_path: Path) -> None:
    source = lay_out(tmp_path, {"corpus/films/batch_7.csv": [row("A1", TWENTY)]})
    [dialogue], report = read(source)
    assert dialogue.id == "A1"
    assert dialogue.domain == "films"
    assert dialogue.title == "Talk about films"
    assert dialogue.started_at == datetime(2017, 6, 21, 18, 19, 15, tzinfo=UTC)
    assert dialogue.texts == TWENTY
    assert [u.speaker for u in dialogue.utterances] == ["A", "B"] * 10
    assert [u.turn for u in dialogue.utterances] == [u.position for u in dialogue.utterances] == list(range(20))
    assert {u.role for u in dialogue.utterances} == {None}
    assert dialogue.attributes == {
        "hit": "HIT1",
        "reward": "$0.70",
        "work_seconds": "561",
        "status": "Approved",
        "worker": pseudonym("W1"),
        "batch": "batch_7",
    }
    assert counts(report) == {"rows read": 1}


def test_people_are_hashed_and_their_approval_rates_stay_behind(tmp_path: Path) -> None:
    source = lay_out(tmp_path, {"films/b.csv": [row("A1", ["x", "y"], WorkerId="A2SECRETID"), row("A2", ["z", "y"])]})
    dialogues, _ = read(source)
    assert "SECRET" not in repr(dialogues)
    assert "7/7" not in repr(dialogues)
    people = [dialogue.attributes["worker"] for dialogue in dialogues]
    assert people[0] != people[1]
    assert all(re.fullmatch(r"person-[0-9a-f]{16}", person) for person in people)
    assert pseudonym(people[0]) == people[0], "a pseudonym stays as it is on the way out and in"


@pytest.mark.parametrize("width", [2, 10, 20])
def test_answers_are_ordered_by_number_not_as_text(tmp_path: Path, width: int) -> None:
    content = csv_bytes([row("A1", TWENTY[:width])])
    header = content.decode().splitlines()[0]
    if width > 9:
        assert header.index("sentence10") < header.index("sentence2"), "the order of the released files"
    [dialogue], _ = read(lay_out(tmp_path, {"films/b.csv": content}))
    assert dialogue.texts == TWENTY[:width]


def test_files_of_different_widths_stand_side_by_side(tmp_path: Path) -> None:
    files: dict[str, Any] = {f"t/{width}.csv": [row(f"A{width}", TWENTY[:width])] for width in (2, 10, 20)}
    dialogues, _ = read(lay_out(tmp_path, files))
    assert {d.id: len(d.utterances) for d in dialogues} == {"A2": 2, "A10": 10, "A20": 20}


def test_an_empty_answer_in_the_middle_leaves_the_sides_of_the_others(tmp_path: Path) -> None:
    answers = ["one", "{}", "three", "four", "{}", "{}"]
    [dialogue], report = read(lay_out(tmp_path, {"t/b.csv": [row("A1", answers)]}))
    assert [(u.position, u.turn, u.speaker, u.text) for u in dialogue.utterances] == [
        (0, 0, "A", "one"),
        (1, 0, "A", "three"),
        (2, 1, "B", "four"),
    ]
    assert [u.attributes for u in dialogue.utterances] == [{}, {"sentence": 3}, {"sentence": 4}]
    assert counts(report) == {
        "rows read": 1,
        "empty answers in all rows": 3,
        "empty answers": 3,
        "conversations with an empty answer in the middle": 1,
    }


def test_a_conversation_without_any_answer_stays(tmp_path: Path) -> None:
    rows = [row("A1", ["{}", "{}"]), row("A2", ["{}", "{}"])]
    dialogues, report = read(lay_out(tmp_path, {"t/b.csv": rows}), drop_duplicates=True)
    assert [(d.id, d.utterances) for d in dialogues] == [("A1", []), ("A2", [])]
    assert counts(report)["conversations without any answer"] == 2


def test_blank_answers_are_no_utterances_and_tabs_stay(tmp_path: Path) -> None:
    answers = ["one", "  ", "a\tb", "", "end", "\t"]
    [dialogue], report = read(lay_out(tmp_path, {"t/b.csv": [row("A1", answers)]}))
    assert dialogue.texts == ["one", "a\tb", "end"]
    assert counts(report) == {
        "rows read": 1,
        "blank answers": 3,
        "answers with a tab": 1,
        "conversations with an empty answer in the middle": 1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines",
        "two\r\nlines",
        'she said "no"',
        "comma, here",
        '"',
        "  spaces kept ",
        "naïve 日本語 🎉",
        "nul \0 in it",
        "{ }",
        "{}x",
    ],
)
def test_texts_come_through_as_they_are(tmp_path: Path, text: str) -> None:
    rows = [row("A1", [text, "answer"]), row("A2", ["next", "row"])]
    dialogues, _ = read(lay_out(tmp_path, {"t/b.csv": rows}))
    assert [dialogue.texts for dialogue in dialogues] == [[text, "answer"], ["next", "row"]]


def test_line_ends_and_byte_order_marks_change_nothing(tmp_path: Path) -> None:
    rows = [row("A1", ["one", "two\nlines"]), row("A2", ["three", "four"])]
    variants = {
        "plain": csv_bytes(rows),
        "crlf": csv_bytes(rows, end="\r\n"),
        "cr": csv_bytes(rows, end="\r"),
        "bom": b"\xef\xbb\xbf" + csv_bytes(rows),
        "blank lines": csv_bytes(rows).replace(b'"\n"A', b'"\n\n\n"A') + b"\n\n",
        "no last line end": csv_bytes(rows).rstrip(b"\n"),
    }
    for name, content in variants.items():
        dialogues, _ = read(lay_out(tmp_path / name, {"t/b.csv": content}))
        assert [dialogue.texts for dialogue in dialogues] == [["one", "two\nlines"], ["three", "four"]], name


def test_columns_that_are_not_needed_may_be_missing(tmp_path: Path) -> None:
    needless = tuple(name for name in FIXED if name != "WorkerId")
    rows = [row("A1", ["one", "two"])]
    [dialogue], _ = read(lay_out(tmp_path, {"t/b.csv": csv_bytes(rows, drop=needless)}))
    assert dialogue.texts == ["one", "two"]
    assert (dialogue.title, dialogue.started_at) == (None, None)
    assert dialogue.attributes == {"worker": pseudonym("W1"), "batch": "b"}
    [dialogue], _ = read(lay_out(tmp_path, {"t/b.csv": csv_bytes(rows, drop=("Input.filler",))}))
    assert dialogue.title == "Talk about films"


def test_rejected_rows_and_blocked_workers_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [
        row("A1", ["a", "b"]),
        row("A2", ["c", "{}"], Reject="poor work"),
        row("A3", ["e", "f"], WorkerId="BAD1"),
        row("A4", ["g", "h"], WorkerId="BAD2", Reject="x"),
        row("A5", ["i", "j"], WorkerId="BAD22"),
    ]
    source = lay_out(tmp_path, {"corpus/t/b.csv": rows, "blocked_workers.txt": b"\xef\xbb\xbfBAD1\r\nBAD2\r\n\r\n"})
    dialogues, report = read(source)
    assert [dialogue.id for dialogue in dialogues] == ["A1", "A5"]
    assert report["skipped"] == {
        "rejected rows": {"count": 2, "first": "corpus/t/b.csv:3"},
        "rows by blocked workers": {"count": 1, "first": "corpus/t/b.csv:4"},
    }
    assert counts(report)["empty answers in all rows"] == 1
    assert "empty answers" not in counts(report)
    (tmp_path / "blocked_workers.txt").unlink()
    assert [dialogue.id for dialogue in read(source)[0]] == ["A1", "A3", "A5"]


def test_duplicates_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    rows = [row("A1", ["a", "b"]), row("A2", ["a", "b"]), row("A3", ["a", "{}"]), row("A4", ["a", "b"], Reject="x")]
    source = lay_out(tmp_path, {"t/b.csv": rows, "u/c.csv": [row("A5", ["a", "b", "{}"])]})
    dialogues, report = read(source)
    assert [dialogue.id for dialogue in dialogues] == ["A1", "A2", "A3", "A5"]
    assert report["noted"]["exact duplicates of another conversation"] == {"count": 2, "first": "t/b.csv:3"}
    assert counts(report)["rows that repeat another row's answers, those left out included"] == 3
    dialogues, report = read(source, drop_duplicates=True)
    assert [dialogue.id for dialogue in dialogues] == ["A1", "A3"]
    assert report["skipped"]["exact duplicates of another conversation"] == {"count": 2, "first": "t/b.csv:3"}


def test_texts_that_only_look_alike_when_joined_are_no_duplicates(tmp_path: Path) -> None:
    rows = [row("A1", ["a\0b", "c"]), row("A2", ["a", "b\0c"]), row("A3", ["1:a", "b"]), row("A4", ["1", "a:b"])]
    dialogues, _ = read(lay_out(tmp_path, {"t/b.csv": rows}), drop_duplicates=True)
    assert len(dialogues) == 4


def test_a_single_file_or_a_flat_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "films"
    lay_out(folder, {"b.csv": [row("A1", ["one", "two"])]})
    monkeypatch.chdir(folder)
    for source in (folder, folder / "b.csv", ".", "b.csv", "../films"):
        [dialogue], _ = read(source)
        assert dialogue.domain == "films"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wed Jun 21 11:19:15 PDT 2017", datetime(2017, 6, 21, 18, 19, 15, tzinfo=UTC)),
        ("Wed Dec 06 11:19:15 PST 2017", datetime(2017, 12, 6, 19, 19, 15, tzinfo=UTC)),
        ("Thu Jan 01 00:00:00 UTC 1970", datetime(1970, 1, 1, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
        ("Wed Jun 21 11:19:15 MARS 2017", None),
        ("Wed Jun 41 11:19:15 PDT 2017", None),
        ("Wed Jun 21 11:19:15 PDT 20170", None),
        ("Fri Dec 31 23:00:00 PST 9999", None),
    ],
)
def test_times_are_read_in_utc(tmp_path: Path, text: str, expected: datetime | None) -> None:
    [dialogue], _ = read(lay_out(tmp_path, {"t/b.csv": [row("A1", ["a", "b"], AcceptTime=text)]}))
    assert dialogue.started_at == expected


GOOD = csv_bytes([row("A1", ["a", "b"]), row("A2", ["c", "d"])])
FIRST, SECOND, THIRD = GOOD.splitlines(keepends=True)

BAD_ROWS = [
    (FIRST + SECOND + THIRD[:-10], "b.csv:3: ends in the middle of a row"),
    (FIRST + SECOND + THIRD[: THIRD.index(b'","') + 1], "b.csv:3: the row has 1 fields; the header names 14"),
    (FIRST + b'"x","y"\n' + THIRD, "b.csv:2: the row has 2 fields; the header names 14"),
    (FIRST + SECOND.replace(b'"A1"', b'""') + THIRD, "b.csv:2: the row has no AssignmentId"),
    (FIRST + SECOND.replace(b'"a"', b'"\xff"') + THIRD, "b.csv:2: the row is not UTF-8"),
    (FIRST + SECOND.replace(b'"a"', b'"\xed\xa0\x80"') + THIRD, "b.csv:2: the row is not UTF-8"),
    (FIRST + SECOND.replace(b'"a"', b'"a"a') + THIRD, "b.csv:2: is not CSV"),
    (FIRST + SECOND + THIRD.replace(b'"A2"', b'"A1"'), "b.csv:3: the assignment 'A1' stands here again"),
    (FIRST + SECOND.replace(b'"a"', b'"' + b"x" * 200_000 + b'"') + THIRD, "b.csv:2: is not CSV: field larger than"),
]


@pytest.mark.parametrize(("content", "message"), BAD_ROWS, ids=[message for _, message in BAD_ROWS])
def test_a_bad_row_is_one_error_or_skipped_and_counted(tmp_path: Path, content: bytes, message: str) -> None:
    source = lay_out(tmp_path, {"t/b.csv": content})
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(source)
    assert str(caught.value).startswith(str(tmp_path / "t"))
    dialogues, report = read(source, skip_bad=True)
    assert len(dialogues) == 1
    found = report["skipped"]["malformed records"]
    assert found["count"] == 1
    assert found["first"].startswith(f"t/{message.partition(': ')[0]}")
    assert str(tmp_path) not in found["first"], "a manifest holds no path of this machine"


BAD_FILES = [
    (b"", "b.csv:1: has no answer column"),
    (b"a,b\n1,2\n", "b.csv:1: has no answer column; expected columns named Answer.sentence1"),
    (b"Answer.sentence1,Answer.sentence2\nx,y\n", "b.csv:1: has no column AssignmentId and no column WorkerId"),
    (b"AssignmentId,WorkerId,Answer.sentence1,Answer.sentence1\n", "b.csv:1: has two columns 'Answer.sentence1'"),
    (b'"AssignmentId,WorkerId', "b.csv:1: is not a CSV file"),
    ("AssignmentId,WorkerId,Answer.sentence1\n".encode("utf-16"), "b.csv:1: has no answer column"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES, ids=[message for _, message in BAD_FILES])
@pytest.mark.parametrize("skip_bad", [True, False])
def test_a_file_that_is_no_result_file_is_always_an_error(
    tmp_path: Path, content: bytes, message: str, skip_bad: bool
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(lay_out(tmp_path, {"t/b.csv": content}), skip_bad=skip_bad)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "nothing")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=r"holds no \*\.csv or blocked_workers\.txt file; expected topic folders"):
        read(tmp_path)


def test_a_line_that_would_fill_the_memory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE", 2_000)
    for length in (2_001, 4_001, 4_002, 4_003, 10_000):
        source = lay_out(tmp_path, {"t/b.csv": FIRST + SECOND + b"x" * length + b"\n" + THIRD})
        with pytest.raises(InputError, match=r"b\.csv:3: the line is longer than 2,000 characters"):
            read(source)
        dialogues, report = read(source, skip_bad=True)
        assert [dialogue.id for dialogue in dialogues] == ["A1", "A2"]
        assert counts(report)["malformed records"] == 1


READ_ENDLESS = """
import resource, sys
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.errors import InputError
from tertulia.formats.registry import FORMATS
part = FORMATS.get(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = Report()
records = list(part.read(sys.argv[2], report, ReadOptions(skip_bad=True)))
print(len(records), report.skipped["malformed records"].count)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("name", ["self-dialogue", "jsonl"])
def test_a_line_of_200_megabytes_takes_bounded_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / ("b.csv" if name == "self-dialogue" else "b.jsonl")
    good = (
        (FIRST + SECOND, THIRD)
        if name == "self-dialogue"
        else (b'{"id":"a","utterances":[]}\n', b'{"id":"b","utterances":[]}\n')
    )
    with path.open("wb") as stream:
        stream.write(good[0])
        for _ in range(200):
            stream.write(b"x" * 1_000_000)
        stream.write(b"\n" + good[1])
    command = [sys.executable, "-c", READ_ENDLESS, name, str(path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    path.unlink()
    assert done.returncode == 0, done.stderr
    found, memory = done.stdout.splitlines()
    assert found == "2 1"
    assert int(memory) < 150, memory


def test_names_that_are_not_utf8_come_through_readably(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system holds only UTF-8 names")
    (folder / os.fsdecode(b"b\xff.csv")).write_bytes(GOOD)
    dialogues, report = read(tmp_path)
    assert {dialogue.domain for dialogue in dialogues} == {"caf\ufffd"}
    assert report["noted"]["rows read"]["first"] == "caf\ufffd/b\ufffd.csv:2"
    write_corpus(tmp_path / "out", (Record(d) for d in dialogues), Manifest("corpus", report=report)).close()


# -- both ways --------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda t: t != "{}" and bool(t.strip())
)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=10).filter(
    lambda name: name == name.strip() and name not in {".", ".."} and not name.startswith(".")
)


@st.composite
def self_dialogues(draw: st.DrawFn, identifier: str) -> Dialogue:
    sentences = sorted(draw(st.sets(st.integers(1, 20), max_size=8)))
    speakers = ["AB"[(sentence - 1) % 2] for sentence in sentences]
    turns = number_turns(speakers)
    utterances = [
        Utterance(position, turns[position], speakers[position], draw(TEXT)) for position in range(len(sentences))
    ]
    for utterance, sentence in zip(utterances, sentences, strict=True):
        if sentence != utterance.position + 1:
            utterance.attributes = {"sentence": sentence}
    attributes = {"batch": draw(NAME)}
    if draw(st.booleans()):
        attributes |= {"worker": pseudonym(draw(TEXT)), "hit": draw(TEXT.filter(lambda t: t.strip() != ""))}
    began = draw(st.none() | st.integers(0, 4 * 10**9).map(lambda s: datetime.fromtimestamp(s, UTC)))
    return Dialogue(identifier, utterances, draw(NAME), None, draw(st.none() | TEXT), began, attributes)


@st.composite
def corpora(draw: st.DrawFn) -> list[Dialogue]:
    ids = draw(st.lists(TEXT, max_size=5, unique=True))
    return [draw(self_dialogues(identifier)) for identifier in ids]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(corpus=corpora())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, corpus: list[Dialogue]) -> None:
    path = tmp_path_factory.mktemp("out") / "files"
    report = Report()
    SelfDialogueFormat().write((Record(dialogue) for dialogue in corpus), str(path), report)
    assert report.skipped == {}
    if corpus:
        again, _ = read(path)
        assert sorted(again, key=lambda d: d.id) == sorted(corpus, key=lambda d: d.id)
    else:
        assert sorted(entry.name for entry in path.iterdir()) == ["blocked_workers.txt", "corpus"]


def test_what_the_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    utterances = [Utterance(0, 5, "A", "x", "user", datetime(2020, 1, 1, tzinfo=UTC), "u1", {"mood": "glad"})]
    whole = Dialogue("d", utterances, "films", "test", attributes={"colour": "blue"})
    report = Report()
    SelfDialogueFormat().write(
        iter([Record(whole, [Annotation("d", "rating", "me")] * 2)]), str(tmp_path / "o"), report
    )
    assert {reason.partition(",")[0]: found.count for reason, found in report.skipped.items()} == {
        "annotations": 2,
        "splits": 1,
        "other attributes of dialogues": 1,
        "other attributes of utterances": 1,
        "roles": 1,
        "times of utterances": 1,
        "ids of utterances": 1,
        "turns of its own counting": 1,
    }


UNFIT: list[tuple[Dialogue, str]] = [
    (Dialogue("d", [Utterance(0, 0, "B", "x")]), "sentence 1 is said by 'B'"),
    (Dialogue("d", [Utterance(0, 0, "A", "{}")]), "sentence 1 is empty"),
    (Dialogue("d", [Utterance(0, 0, "A", " \n")]), "sentence 1 is empty"),
    (
        Dialogue("d", [Utterance(0, 0, "A", "x" * 140_000)]),
        "has 140,000 characters; a cell of this format holds 131,072",
    ),
    (Dialogue("d", [Utterance(0, 0, "A", "x", attributes={"sentence": 0})]), "not numbered in order"),
    (Dialogue("d", [Utterance(0, 0, "A", "x", attributes={"sentence": "one"})]), "not numbered in order"),
    (Dialogue("d", [Utterance(0, 0, "A", "x", attributes={"sentence": 10**9})]), "not numbered in order"),
    (Dialogue("d", [], "a/b"), "the domain of dialogue 'd' is 'a/b', which cannot be the name"),
    (Dialogue("d", [], ".."), "the domain of dialogue 'd' is '..'"),
    (Dialogue("d", [], "x", attributes={"batch": "../../escape"}), "the batch of dialogue 'd' is"),
    (Dialogue("d", [], "x", attributes={"batch": 5}), "the batch of dialogue 'd' is 5"),
]


@pytest.mark.parametrize(("unfit", "message"), UNFIT, ids=[message for _, message in UNFIT])
def test_what_does_not_fit_is_one_clear_error_and_writes_nothing(tmp_path: Path, unfit: Dialogue, message: str) -> None:
    write_corpus(tmp_path / "c", [Record(unfit)], Manifest("corpus")).close()
    with pytest.raises(InputError, match=re.escape(message)):
        export_corpus("self-dialogue", tmp_path / "c", tmp_path / "out", Report())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["c"]


def test_overwriting_an_export_spares_what_is_not_an_export(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", {"corpus/t/b.csv": GOOD})
    import_corpus("self-dialogue", source, tmp_path / "c", Report()).close()
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"exists already \(--overwrite replaces it\)"):
        export_corpus("self-dialogue", tmp_path / "c", home, Report())
    with pytest.raises(InputError, match=r"holds 'thesis\.tex', which this format does not write, so it is left alone"):
        export_corpus("self-dialogue", tmp_path / "c", home, Report(), overwrite=True)
    with pytest.raises(InputError, match="is a folder, so it is left alone"):
        export_corpus("jsonl", tmp_path / "c", home, Report(), overwrite=True)
    assert (home / "thesis.tex").read_text() == "years of work"
    for _ in range(2):
        export_corpus("self-dialogue", tmp_path / "c", tmp_path / "out", Report(), overwrite=True)
        export_corpus("jsonl", tmp_path / "c", tmp_path / "out.jsonl", Report(), overwrite=True)
    with pytest.raises(InputError, match="is a file, so it is left alone"):
        export_corpus("self-dialogue", tmp_path / "c", tmp_path / "out.jsonl", Report(), overwrite=True)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["c", "home", "out", "out.jsonl", "source"]
    with pytest.raises(ArtefactError, match="is not an artefact of Tertulia"):
        import_corpus("self-dialogue", source, home, Report(), overwrite=True)


def test_an_import_depends_on_nothing_but_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad_row = b'"x","y"\n'
    for name in ("one", "two/deeper"):
        lay_out(tmp_path / name / "data", {"corpus/t/b.csv": GOOD + bad_row, "blocked_workers.txt": b"X\n"})
    import_corpus(
        "self-dialogue", str(tmp_path / "one" / "data"), tmp_path / "one" / "c", Report(), skip_bad=True
    ).close()
    monkeypatch.chdir(tmp_path / "two" / "deeper" / "data")
    # The output may lie inside the source, and be written again.
    for _ in range(2):
        import_corpus("self-dialogue", ".", Path("c"), Report(), skip_bad=True, overwrite=True).close()
    one, two = tmp_path / "one" / "c", tmp_path / "two" / "deeper" / "data" / "c"
    assert {f.name: f.read_bytes() for f in one.iterdir()} == {f.name: f.read_bytes() for f in two.iterdir()}
    assert str(tmp_path) not in (one / "manifest.json").read_text()


def test_a_publication_is_only_held_against_its_own_format(small_corpus: Path) -> None:
    with Corpus(small_corpus) as corpus:
        found = verify_corpus(corpus)
    assert found["publication"] is None
    assert found["figures"] == found["contradictions"] == found["misprints"] == []


def test_damage_ends_in_a_corpus_or_one_error(tmp_path: Path) -> None:
    rows = [
        row("A1", ["one", "two\nlines", "{}", "four"]),
        row("A2", ['quo"te', "b,c", "d", "e"], WorkerId="W2"),
        row("A3", ["naïve 🎉", "x", "y", "{}"], Reject="bad"),
    ]
    files = {
        "corpus/films/b.csv": csv_bytes(rows),
        "corpus/food/c.csv": b"\xef\xbb\xbf" + csv_bytes([row("B1", ["a", "b"])], end="\r\n"),
        "blocked_workers.txt": b"W2\n",
    }
    found = mutate.outcomes(SelfDialogueFormat(), files, tmp_path, seed=3)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 10, found


def test_reports_are_plain_json(tmp_path: Path) -> None:
    _, report = read(lay_out(tmp_path, {"t/b.csv": GOOD}))
    assert (
        json.loads(json.dumps(report))
        == report
        == {"skipped": {}, "noted": {"rows read": {"count": 2, "first": "t/b.csv:2"}}}
    )
