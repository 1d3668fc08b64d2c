"""What the tests of ranking-set formats share: reading, writing, bytes of a written set, and texts that are hard on lines."""

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tertulia.corpus.exchange import Format, ReadOptions, Report
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn

HARD = [
    "",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "␉",
    "␊",
    "␍",
    "␛",
    "␛␉",
    '"',
    '""',
    ",",
    "\u2028",
    "\x0b",
    "\x0c",
    "\x85",
    "\ufeff",
    "\0",
]
texts = st.lists(st.one_of(st.sampled_from(HARD), st.text(max_size=4)), max_size=5).map("".join)
numbers = st.one_of(st.integers(-5, 9).map(float), st.floats(-1e15, 1e15, allow_nan=False))


def read(part: Format, source: Path, **options: Any) -> tuple[list[RankingRecord], Report]:
    """The records of a source and the report."""
    report = Report()
    return list(part.read(str(source), report, ReadOptions(**options))), report


def write(part: Format, records: list[RankingRecord], path: Path) -> Report:
    """Writes the records; what the writer reports."""
    report = Report()
    part.write(iter(records), str(path), report)
    return report


def counts(report: Report) -> dict[str, int]:
    """What was skipped and noted, by reason."""
    return {
        reason: finding.count for findings in (report.skipped, report.noted) for reason, finding in findings.items()
    }


def record(prompt: str, *candidates: tuple[str, float | None], identifier: str = "00000001") -> RankingRecord:
    """A context of one turn with candidates of text and relevance."""
    found = [Candidate(position, text, relevance) for position, (text, relevance) in enumerate(candidates)]
    return RankingRecord(Context(identifier, [Turn("user", prompt)]), found)
