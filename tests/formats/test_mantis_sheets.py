"""The annotation sheets of the mantis format."""

import re
from pathlib import Path

import pytest

from tertulia.errors import InputError

from .mantis_files import SHEET, by_corpus, put, read, write


def test_an_annotation_sheet_is_read(tmp_path: Path) -> None:
    records, report = read(put(tmp_path / "ann.txt", SHEET))
    assert [(r.dialogue.id, r.dialogue.texts) for r in records] == [
        ("17", ["Why is the sky blue?", "Because blue light scatters, see the link."]),
        ("4", ["Is it?", "It is.", "Thanks!"]),
    ]
    assert [(n.annotator, n.position, n.label) for n in records[0].annotations] == [
        ("ann", 0, "OQ"),
        ("ann", 1, "FD"),
        ("ann", 1, "PA"),
    ]
    assert [u.role for u in records[1].dialogue.utterances] == ["user", "agent", "user"]
    assert report.to_json() == {"skipped": {}, "noted": {}}
    write(records, tmp_path / "again.json")
    assert read(tmp_path / "again.json")[0] == records
    windows = put(tmp_path / "w" / "ann.txt", "\ufeff\r\n" + SHEET.replace("\n", "\r\n"))
    assert read(windows)[0] == records


def test_sheets_of_several_annotators_are_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "s" / "ann.txt", SHEET)
    put(tmp_path / "s" / "bea.txt", SHEET.replace("OQ", "O"))
    records, report = read(tmp_path / "s")
    assert [r.dialogue.id for r in records] == ["ann-17", "ann-4", "bea-17", "bea-4"]
    assert [n.annotator for r in records for n in r.annotations] == ["ann"] * 3 + ["bea"] * 3
    assert report.noted["exact duplicates of another conversation"].count == 2
    write(records, tmp_path / "again.json")
    assert read(tmp_path / "again.json")[0] == records


BAD_SHEETS = [
    ("user\nx\n\n", 7, 'holds "user"; expected the number of a dialogue'),
    ('{"0": {}}\n', 7, "expected the number of a dialogue"),
    ("5\nboth\nx\n\n", 8, 'holds "both"; expected user or agent'),
    ("5\nuser\nx\n\nuser\nx\n", 11, "an utterance has less than three lines"),
    ("5\nuser\nx\ny\nagent", 11, "an utterance has less than three lines"),
    ("", 7, "a dialogue ends that has not begun"),
    ("5\nuser\n\udcff\n\n", 9, "the line is not UTF-8"),
]


@pytest.mark.parametrize(("bad", "line", "message"), BAD_SHEETS, ids=[message for *_, message in BAD_SHEETS])
def test_a_bad_dialogue_of_a_sheet_is_one_error_or_skipped(tmp_path: Path, bad: str, line: int, message: str) -> None:
    end = "=" * 18 + "\n"
    good = "1\nuser\nfirst\n\n\n"[:-1] + end
    path = tmp_path / "ann.txt"
    text = (
        good
        + "\n" * (6 - good.count("\n"))
        + bad.rstrip("\n")
        + "\n" * (bad != "")
        + end
        + good.replace("1\n", "2\n", 1)
    )
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    found, report = read(path, skip_bad=True)
    assert [record.dialogue.id for record in found] == ["1", "2"]
    assert report.skipped["malformed records"].count == 1


def test_a_sheet_that_is_cut_off(tmp_path: Path) -> None:
    path = put(tmp_path / "ann.txt", SHEET[:-30])
    with pytest.raises(InputError, match="ends in the middle of a dialogue"):
        read(path)
    assert len(read(path, skip_bad=True)[0]) == 1
    assert read(put(tmp_path / "empty.txt", "\n\n"))[0] == []


def test_the_released_sheets(data: Path, tmp_path: Path) -> None:
    for source in (data / "mantis" / "labels.txt", data / "mantis"):
        records, report = read(source)
        assert len(records) == 101
        assert sum(len(record.dialogue.utterances) for record in records) == 575
        assert not any(record.annotations for record in records)
        assert report.to_json() == {"skipped": {}, "noted": {}}
    write(by_corpus(records, tmp_path / "corpus"), tmp_path / "again.json")
    again = {record.dialogue.id: record for record in read(tmp_path / "again.json")[0]}
    assert again == {record.dialogue.id: record for record in records}
