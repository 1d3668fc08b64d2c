"""What commands print: results on stdout, as text or JSON; progress and remarks on stderr."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = [
    "complain",
    "line_width",
    "number",
    "prepare_streams",
    "print_json",
    "progress",
    "remark",
    "table",
    "visible",
]

_PLAIN_EVERY_S = 5.0
# Control characters but tab and line break, and halves of surrogate pairs (a file name may hold bytes that are not UTF-8).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTROL_IN_JSON = re.compile(r"[\x7f-\x9f\ud800-\udfff]")


def prepare_streams() -> None:
    """Let characters that a terminal's encoding does not have be printed as question marks, not end in an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def visible(text: str) -> str:
    """A text from outside as it may be shown: control characters, which play with a terminal, become visible marks."""
    return _CONTROL.sub("\ufffd", text)


def print_json(value: Any, *, lines: bool = False) -> None:
    """Print a value as JSON on stdout: indented, or on one line."""
    text = json.dumps(value, ensure_ascii=not _is_unicode(sys.stdout), indent=None if lines else 2)
    print(_CONTROL_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=lines)


def remark(message: str) -> None:
    """Say something beside the result, on stderr."""
    print(visible(message), file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """Say in one line on stderr what went wrong."""
    remark(f"error: {' '.join(message.split())}")


def line_width() -> int:
    """The characters of a line for people: the terminal's, within reason; 100 where there is no terminal."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def _is_unicode(stream: Any) -> bool:
    return str(getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def number(value: float | None) -> str:
    """A number for people: thousands separated; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int] | None = None) -> str:
    """A plain table with aligned columns; those in ``right`` are numbers and lean right."""
    right = right or set()
    rule = "─" if _is_unicode(sys.stdout) else "-"
    rows = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), line([rule * width for width in widths]), *(line(row) for row in rows)])


@contextmanager
def progress(label: str, *, unit: str, total: int | None = None) -> Iterator[Callable[[int, int | None], None]]:
    """Progress on stderr: a bar with rate and time left on a terminal, a plain line now and then otherwise.

    Yields a function that is told how much has been done since the last call, and the total where it is known.
    """
    if sys.stderr.isatty():
        with _bar(label, unit, total) as advance:
            yield advance
    else:
        yield _plain_lines(label, unit, total)


def _plain_lines(label: str, unit: str, total: int | None) -> Callable[[int, int | None], None]:
    began = last = time.monotonic()
    done = 0

    def advance(step: int, known: int | None = None) -> None:
        nonlocal done, last, total
        done += step
        total = known or total
        now = time.monotonic()
        if now - last >= _PLAIN_EVERY_S:
            last = now
            rate = done / (now - began)
            left = f", {(total - done) / rate:.0f} s left" if total and rate else ""
            amount = _amount(done, unit)
            if total:
                amount = f"{amount.rpartition(' ')[0]} of {_amount(total, unit)}"
            remark(f"{label}: {amount}, {_amount(rate, unit)}/s{left}")

    return advance


@contextmanager
def _bar(label: str, unit: str, total: int | None) -> Iterator[Callable[[int, int | None], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = [TextColumn("{task.description}"), BarColumn()]
    amount = [DownloadColumn(), TransferSpeedColumn()] if unit == "bytes" else [MofNCompleteColumn()]
    with Progress(*columns, *amount, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)

        def advance(step: int, known: int | None = None) -> None:
            bars.update(task, advance=step, total=known or total)

        yield advance


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1e6:,.1f} MB"
    return f"{value:,.0f} {unit}"
