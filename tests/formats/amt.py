"""Result files of a crowdsourcing task as the tests make them, and how the self-dialogue format reads them."""

import csv
import io
from pathlib import Path
from typing import Any

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Dialogue
from tertulia.formats.self_dialogue import SelfDialogueFormat

FIXED = {
    "HITId": "HIT1",
    "Title": "Talk about films",
    "Reward": "$0.70",
    "WorkTimeInSeconds": "561",
    "AssignmentStatus": "Approved",
    "AcceptTime": "Wed Jun 21 11:19:15 PDT 2017",
    "WorkerId": "W1",
    "LifetimeApprovalRate": "100% (7/7)",
    "Input.filler": "x",
    "Approve": "",
    "Reject": "",
}


def row(assignment: str, answers: list[str], **changes: str) -> dict[str, str]:
    cells = {f"Answer.sentence{number}": text for number, text in enumerate(answers, start=1)}
    return {"AssignmentId": assignment, **FIXED, **cells, **{key.replace("_", "."): v for key, v in changes.items()}}


def csv_bytes(rows: list[dict[str, str]], *, end: str = "\n", drop: tuple[str, ...] = ()) -> bytes:
    """The rows with columns in order of their text, as the released files have them."""
    names = sorted(name for name in rows[0] if name not in drop)
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerow(names)
    writer.writerows([cells[name] for name in names] for cells in rows)
    return stream.getvalue().encode()


def lay_out(folder: Path, files: dict[str, bytes | list[dict[str, str]]]) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else csv_bytes(content))
    return str(folder)


def read(source: str | Path, **options: Any) -> tuple[list[Dialogue], dict[str, Any]]:
    report = Report()
    records = list(SelfDialogueFormat().read(str(source), report, ReadOptions(**options)))
    assert all(not record.annotations for record in records)
    return [record.dialogue for record in records], report.to_json()


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {reason: found["count"] for kind in report.values() for reason, found in kind.items()}
