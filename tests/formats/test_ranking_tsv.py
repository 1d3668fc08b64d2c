"""The ranking-tsv format: rows become contexts, lookup files their dialogues, and quotation marks are told apart."""

import csv
import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats import ranking_tsv
from tertulia.formats.files import quoted_rows
from tertulia.formats.ranking_tsv import RankingTsvFormat, alternating

from . import mutate
from .ranking import counts, numbers, read, texts, write

FORMAT = RankingTsvFormat()
ROWS = [
    ["1", "Which bolt fits?", "How long is it?", "Two inches.", "An M8 then."],
    ["0", "Which bolt fits?", "How long is it?", "Two inches.", "Reboot the router."],
    ["1", "Which bolt fits?", "How long is it?", "Two inches.", "An M8 then.", "And the nut?", "M8 as well."],
    ["0", "Which bolt fits?", "How long is it?", "Two inches.", "An M8 then.", "And the nut?", "Stir it well."],
    ["1", "Why is it dark?", "It is night."],
]


def lines(rows: list[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def as_csv(rows: list[list[str]], **options: object) -> str:
    """The rows as Python's csv writes them."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter="\t", lineterminator="\n", **options).writerows(rows)  # type: ignore[arg-type]
    return stream.getvalue()


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def cells(records: list[RankingRecord]) -> list[list[str]]:
    return [[*record.context.texts, candidate.text] for record in records for candidate in record.candidates]


def test_rows_with_the_same_utterances_are_one_context(tmp_path: Path) -> None:
    found, report = read(FORMAT, put(tmp_path / "data.tsv", lines(ROWS)))
    assert [record.context.id for record in found] == ["00000001", "00000002", "00000003"]
    assert [len(record.candidates) for record in found] == [2, 2, 1]
    assert found[0].context.turns == [
        Turn("user", "Which bolt fits?"),
        Turn("agent", "How long is it?"),
        Turn("user", "Two inches."),
    ]
    assert found[0].candidates == [
        Candidate(0, "An M8 then.", 1.0),
        Candidate(1, "Reboot the router.", 0.0),
    ]
    assert counts(report) == {}


def test_the_last_turn_is_the_users() -> None:
    assert [turn.role for turn in alternating(["a", "b"])] == ["agent", "user"]
    assert alternating([]) == []


def test_a_folder_holds_splits_and_lookups(tmp_path: Path) -> None:
    for split, number in (("train", 3), ("dev", 2), ("test", 5)):
        put(tmp_path / f"data_{split}_easy.tsv", lines(ROWS[:number]))
        put(tmp_path / f"data_{split}_easy_lookup.txt", "".join(f"{7 + n // 2}\n" for n in range(number)))
    put(tmp_path / "readme.txt", "not this")
    found, report = read(FORMAT, tmp_path)
    assert [(r.context.id, r.context.split, r.context.dialogue_id, len(r.candidates)) for r in found] == [
        ("dev-00000001", "dev", "7", 2),
        ("test-00000001", "test", "7", 2),
        ("test-00000002", "test", "8", 2),
        ("test-00000003", "test", "9", 1),
        ("train-00000001", "train", "7", 2),
        ("train-00000002", "train", "8", 1),
    ]
    assert counts(report)["lookup files with a dialogue id for each row"] == 3


def test_zip_and_gzip_are_read_as_they_are(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("set/data_train.tsv", lines(ROWS))
        archive.writestr("set/data_train_lookup.txt", "1\n1\n1\n1\n2\n")
    (tmp_path / "data_train.tsv.gz").write_bytes(gzip.compress(lines(ROWS).encode()))
    (tmp_path / "data_train_lookup.txt.gz").write_bytes(gzip.compress(b"1\n1\n1\n1\n2\n"))
    zipped, _ = read(FORMAT, tmp_path / "set.zip")
    packed, _ = read(FORMAT, tmp_path / "data_train.tsv.gz")
    assert zipped == packed
    assert [record.context.dialogue_id for record in zipped] == ["1", "1", "2"]


def test_a_lookup_of_a_line_for_each_context(tmp_path: Path) -> None:
    put(tmp_path / "data.tsv", lines(ROWS))
    lookup = put(tmp_path / "ids.txt", "a\nb\nc\n")
    found, report = read(FORMAT, tmp_path / "data.tsv", values={"lookup": str(lookup)})
    assert [record.context.dialogue_id for record in found] == ["a", "b", "c"]
    assert counts(report) == {"lookup files with a dialogue id for each context": 1}


def test_a_lookup_tells_contexts_with_the_same_utterances_apart(tmp_path: Path) -> None:
    put(tmp_path / "data.tsv", lines([ROWS[4], ROWS[4]]))
    put(tmp_path / "data_lookup.txt", "1\n2\n")
    found, _ = read(FORMAT, tmp_path / "data.tsv")
    assert [record.context.dialogue_id for record in found] == ["1", "2"]


@pytest.mark.parametrize("lookup", ["", "1\n", "1\n2\n3\n4\n", "1\n2\n3\n4\n5\n6\n"])
def test_a_lookup_of_another_length_is_an_error(tmp_path: Path, lookup: str) -> None:
    put(tmp_path / "data.tsv", lines(ROWS))
    put(tmp_path / "data_lookup.txt", lookup)
    with pytest.raises(InputError, match=r"data_lookup\.txt: has \d lines, but .*data\.tsv has 5 rows and 3 contexts"):
        read(FORMAT, tmp_path, skip_bad=True)


def test_a_malformed_row_keeps_the_lookup_in_step(tmp_path: Path) -> None:
    rows = lines(ROWS[:2]) + "yes\ta\tb\n" + lines(ROWS[4:])
    put(tmp_path / "data.tsv", rows)
    put(tmp_path / "data_lookup.txt", "1\n1\n9\n2\n")
    with pytest.raises(InputError, match=r'data\.tsv:3: the label holds "yes"; expected a number'):
        read(FORMAT, tmp_path)
    found, report = read(FORMAT, tmp_path, skip_bad=True)
    assert [record.context.dialogue_id for record in found] == ["1", "2"]
    assert report.skipped["malformed records"].first == 'data.tsv:3: the label holds "yes"; expected a number'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1\n", "has 1 cell; expected at least 3"),
        ("1\talone\n", "has 2 cells; expected at least 3"),
        ("\ta\tb\n", 'the label holds ""'),
        ("nan\ta\tb\n", 'the label holds "nan"'),
        ("1e400\ta\tb\n", 'the label holds "1e400"'),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, text: str, problem: str) -> None:
    put(tmp_path / "data.tsv", "\n" + text)
    with pytest.raises(InputError) as caught:
        read(FORMAT, tmp_path)
    assert caught.value.where == f"{tmp_path / 'data.tsv'}:2"
    assert problem in caught.value.message


def test_what_is_odd_is_counted(tmp_path: Path) -> None:
    put(tmp_path / "data.tsv", "0\ta\tb\n0.5\ta\tc\tb\n2\ta\tc\td\n")
    found, report = read(FORMAT, tmp_path)
    assert [candidate.relevance for record in found for candidate in record.candidates] == [0.0, 0.5, 2.0]
    assert counts(report) == {
        "contexts without a true response": 1,
        "contexts that the agent opens": 1,
        "labels other than 0 and 1": 2,
    }


def test_duplicates_go_when_asked(tmp_path: Path) -> None:
    put(tmp_path / "data.tsv", "1\ta\tb\n1\tc\td\n1\ta\tb\n")
    kept, report = read(FORMAT, tmp_path)
    assert (len(kept), counts(report)) == (3, {"exact duplicates of another conversation": 1})
    assert len(read(FORMAT, tmp_path, drop_duplicates=True)[0]) == 2


HARD_ROWS = [
    ["1", "a plain row", "b"],
    ["1", 'he said "no"', "twice:\n\n\tindented", "done\r\n"],
    ["0", '"', '""', "\n"],
    ["0", '"all of it"', "x", '"'],
]


def test_released_files_are_csv_with_quotation_marks(tmp_path: Path) -> None:
    found, _ = read(FORMAT, put(tmp_path / "data.tsv", as_csv(HARD_ROWS)))
    assert cells(found) == [row[1:] for row in HARD_ROWS]
    found, _ = read(FORMAT, put(tmp_path / "all.tsv", as_csv(HARD_ROWS, quoting=csv.QUOTE_ALL)))
    assert cells(found) == [row[1:] for row in HARD_ROWS]


def test_other_files_have_quotation_marks_as_they_come(tmp_path: Path) -> None:
    rows = [
        ["1", '"Foo" is what?', "a"],
        ["1", '"open', "b"],
        ["1", "x", '"whole"'],
        ["0", "y", 'end"'],
        ["0", '"', "z"],
    ]
    found, report = read(FORMAT, put(tmp_path / "data.tsv", lines(rows)))
    assert cells(found) == [row[1:] for row in rows]
    assert "malformed records" not in report.skipped


def test_a_mark_that_opens_no_cell_takes_no_other_line_with_it(tmp_path: Path) -> None:
    rows = [["1", '"never closed', f"line {n}"] if n == 3 else ["1", "plain", f"line {n}"] for n in range(3_000)]
    found, _ = read(FORMAT, put(tmp_path / "data.tsv", lines(rows)))
    assert cells(found) == [row[1:] for row in rows]


def test_a_mark_out_of_place_in_a_csv_file_is_malformed(tmp_path: Path) -> None:
    path = put(tmp_path / "data.tsv", as_csv(HARD_ROWS) + '1\ta "bare" mark\tb\n1\tc\td\n')
    with pytest.raises(
        InputError, match=r"data\.tsv:9: a quotation mark does not stand as csv writes it.*quoting=none"
    ):
        read(FORMAT, path)
    found, report = read(FORMAT, path, skip_bad=True)
    assert cells(found)[-1] == ["c", "d"]
    assert counts(report)["malformed records"] == 1


def test_the_user_may_say_what_quotation_marks_are(tmp_path: Path) -> None:
    path = put(tmp_path / "data.tsv", '1\t"hello, world"\tb\n')
    assert cells(read(FORMAT, path, values={"quoting": "csv"})[0]) == [["hello, world", "b"]]
    assert cells(read(FORMAT, path, values={"quoting": "none"})[0]) == [['"hello, world"', "b"]]
    assert cells(read(FORMAT, path)[0]) == [['"hello, world"', "b"]]
    with pytest.raises(ConfigurationError, match="expected detect, csv, none"):
        read(FORMAT, path, values={"quoting": "maybe"})


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.lists(texts.filter(lambda t: "\0" not in t), min_size=2, max_size=4), min_size=1, max_size=5))
def test_rows_that_csv_wrote_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("csv")
    # A first row that can be nothing but csv's; the symbols for tabs and breaks are another matter.
    rows = [["1", 'a "mark"', "b"], *(["0", *row] for row in rows)]
    rows = [[cell.translate({ord(symbol): "?" for symbol in "␉␊␍␛"}) for cell in row] for row in rows]
    # The csv module leaves a cell with a carriage return bare where that does not end lines.
    rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    text = as_csv(rows)
    found, _ = read(FORMAT, put(folder / "data.tsv", text), values={"quoting": "csv"})
    assert cells(found) == [row[1:] for row in rows]


@st.composite
def sets(draw: st.DrawFn) -> list[RankingRecord]:
    """Sets as the format holds them: numbered within splits, roles by turns, no context like the one before."""
    records: list[RankingRecord] = []
    for split in draw(st.sampled_from([[None], ["dev", "train"], ["test"]])):
        with_dialogues = draw(st.booleans())
        before = None
        for number in range(1, draw(st.integers(1, 4)) + 1):
            turns = alternating(draw(st.lists(texts, min_size=1, max_size=4)))
            dialogue = draw(st.one_of(st.none(), texts.filter(bool))) if with_dialogues else None
            if (dialogue, turns) == before:
                turns[0].text += f"{number}"
            before = (dialogue, turns)
            identifier = f"{split}-{number:08d}" if split else f"{number:08d}"
            found = draw(st.lists(st.tuples(texts, numbers), min_size=1, max_size=3))
            candidates = [Candidate(position, text, value) for position, (text, value) in enumerate(found)]
            records.append(RankingRecord(Context(identifier, turns, dialogue, split=split), candidates))
    return records


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(records=sets())
def test_any_set_comes_back_from_its_files(
    tmp_path_factory: pytest.TempPathFactory, records: list[RankingRecord]
) -> None:
    folder = tmp_path_factory.mktemp("set")
    assert counts(write(FORMAT, records, folder / "out")) == {}
    found, _ = read(FORMAT, folder / "out")
    assert found == records
    write(FORMAT, found, folder / "again")
    for path in (folder / "out").iterdir():
        assert path.read_bytes() == (folder / "again" / path.name).read_bytes()
        assert b"\r" not in path.read_bytes()


def test_what_the_format_cannot_hold_is_counted(tmp_path: Path) -> None:
    turns = [Turn("agent", "a"), Turn(None, "b")]
    full = RankingRecord(
        Context("x", turns, "7", "films", "fold 1", {"k": 1}),
        [Candidate(0, "c", 1.0, [Rating("ann", 5.0)], "somewhere", {"n": 2})],
    )
    none = RankingRecord(Context("y", turns))
    report = write(FORMAT, [full, full, none], tmp_path / "out")
    assert {reason.removesuffix(", which this format does not hold"): n for reason, n in counts(report).items()} == {
        "contexts without candidates": 1,
        "roles that are not user and agent by turns up to the user": 3,
        "domains": 2,
        "attributes of contexts": 2,
        "ratings": 2,
        "sources of candidates": 2,
        "attributes of candidates": 2,
        "ids of contexts, which are numbered when they are read": 2,
        "splits that a file's name does not tell when it is read again": 2,
        "contexts that equal the one before and will be read as one with it": 1,
    }
    assert (tmp_path / "out" / "fold 1.tsv").read_text() == "1\ta\tb\tc\n" * 2
    assert (tmp_path / "out" / "fold 1_lookup.txt").read_text() == "7\n7\n"


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    context = Context("x", [Turn("user", "a")])
    for number, (record, problem) in enumerate(
        [
            (RankingRecord(Context("x", []), [Candidate(0, "c", 1.0)]), "has no turn"),
            (RankingRecord(context, [Candidate(0, "c")]), "has no relevance"),
            (RankingRecord(context, [Candidate(0, "c", float("nan"))]), "has no relevance"),
            (RankingRecord(Context("x", context.turns, split="../up"), [Candidate(0, "c", 1.0)]), "cannot be the name"),
        ]
    ):
        with pytest.raises(InputError, match=problem):
            write(FORMAT, [record], tmp_path / str(number))


def test_an_empty_set(tmp_path: Path) -> None:
    write(FORMAT, [], tmp_path / "out")
    assert read(FORMAT, tmp_path / "out")[0] == []


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(FORMAT, tmp_path / "no.tsv")
    with pytest.raises(InputError, match=r"holds no \*\.tsv"):
        read(FORMAT, tmp_path)
    put(tmp_path / "data_lookup.txt", "1\n")
    with pytest.raises(InputError, match=r"holds no \*\.tsv"):
        read(FORMAT, tmp_path)
    for name in ("a.tsv", "b.tsv"):
        put(tmp_path / name, lines(ROWS))
    with pytest.raises(InputError, match="holds 2 sets, and the option lookup names the file of one"):
        read(FORMAT, tmp_path, values={"lookup": str(tmp_path / "data_lookup.txt")})


def test_a_context_too_large_for_the_memory_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_tsv, "_MOST_CANDIDATES", 3)
    path = put(tmp_path / "data.tsv", "1\ta\tb\n" * 4)
    with pytest.raises(InputError, match=r"data\.tsv:4: the context of line 1 has more than 3 candidates"):
        read(FORMAT, path)
    monkeypatch.setattr(ranking_tsv, "_MOST_CHARACTERS", 6)
    with pytest.raises(InputError, match="or 6 characters"):
        read(FORMAT, put(tmp_path / "data.tsv", "1\ta\tbbb\n" * 2))


def test_an_unclosed_cell_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quoted_rows, "LONGEST_LINE", 200)
    path = put(tmp_path / "data.tsv", as_csv(HARD_ROWS) + '1\t"open' + "\nmore and more" * 100 + "\n1\ta\tb\n")
    found, report = read(FORMAT, path, skip_bad=True)
    assert cells(found)[: len(HARD_ROWS)] == [row[1:] for row in HARD_ROWS]
    assert counts(report)["malformed records"] > 1


@pytest.mark.parametrize("text", [lines(ROWS), as_csv(HARD_ROWS)])
def test_damage_ends_in_a_set_or_one_error(tmp_path: Path, text: str) -> None:
    lookup = "".join(f"{n}\n" for n in range(len(list(csv.reader(io.StringIO(text, newline=""), delimiter="\t")))))
    found = mutate.outcomes(
        FORMAT,
        {"train.tsv": text.encode(), "train_lookup.txt": lookup.encode(), "test.tsv": text.encode()},
        tmp_path,
        7,
    )
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found
