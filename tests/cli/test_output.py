"""What commands print: tables, numbers, JSON, progress."""

import json

import pytest

from tertulia.cli import output


def test_numbers_are_for_people() -> None:
    assert [output.number(value) for value in (None, 0, 1_234_567, 0.125, 1234.5)] == [
        "–",
        "0",
        "1,234,567",
        "0.12",
        "1,234.50",
    ]


def test_a_table_is_aligned_and_harmless() -> None:
    text = output.table(["name", "n"], [["a\x1b[2J\nb", "1"], ["c", "1,000"]], right={1})
    assert text.splitlines() == ["name         n", "───────  ─────", "a\ufffd[2J b      1", "c        1,000"]
    assert output.table(["name"], []) == "name\n────"


def test_json_shows_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "a\x1b\x7f\x9b\ud800\n日本 🎉"}
    for lines in (True, False):
        output.print_json(value, lines=lines)
        text = capsys.readouterr().out
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "日本 🎉" in text
        assert json.loads(text) == value
        assert (text.count("\n") == 1) == lines


@pytest.mark.parametrize(
    ("unit", "total", "line"),
    [
        ("dialogues", 400, "reading: 100 of 400 dialogues, 10 dialogues/s, 30 s left"),
        ("dialogues", None, "reading: 100 dialogues, 10 dialogues/s"),
        ("bytes", 400, "reading: 0.0 of 0.0 MB, 0.0 MB/s, 30 s left"),
    ],
)
def test_progress_is_a_plain_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unit: str, total: int | None, line: str
) -> None:
    clock = iter([100.0, 101.0, 110.0, 111.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    with output.progress("reading", unit=unit) as advance:
        for step in (10, 90, 1):
            advance(step, total)
    out, err = capsys.readouterr()
    assert (out, err) == ("", line + "\n")
