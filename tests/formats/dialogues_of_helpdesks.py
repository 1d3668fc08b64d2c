"""Small customer-helpdesk dialogues in the layout of DialEval, and what several tests do with them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import Format, ReadOptions, Report
from tertulia.corpus.model import Record
from tertulia.corpus.store import Corpus, write_corpus


def turn(sender: str, *utterances: str) -> dict[str, Any]:
    return {"sender": sender, "utterances": list(utterances)}


def says(nugget: list[str | None], a: int = 0, s: int = 0, e: int = 0) -> dict[str, Any]:
    return {"nugget": nugget, "quality": {"A": a, "S": s, "E": e}}


KETTLE = {
    "id": "3",
    "turns": [
        turn("customer", "My kettle whistles all night.", "", "Even unplugged!"),
        turn("helpdesk", "Have you tried taking the lid off?"),
        turn("customer", "", ""),
        turn("helpdesk", "Glad to hear that."),
    ],
    "annotations": [
        says(["CNUG0", "HNUG*", "CNUG*", "HNaN"], 2, 1, 2),
        says(["CNaN", "HNUG", "CNaN", "HNaN"], -2, -1, 0),
    ],
}
PARCEL = {
    "id": "1",
    "turns": [turn("customer", "Where is my \u200bparcel?"), turn("helpdesk")],
    "annotations": [says(["CNUG0", "HNaN"], -1), says(["CNUG0", "HNaN"], -2), says(["CNUG", "HNUG"], 1)],
}
UNLABELLED = {"id": "2", "turns": [turn("customer", ""), turn("helpdesk", "您好", "How may I help?")]}
SMALL = [KETTLE, PARCEL, UNLABELLED]


def put(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def read(part: Format, source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(part.read(str(source), report, ReadOptions(**options))), report


def write(part: Format, records: Iterable[Record], path: Path) -> Report:
    report = Report()
    part.write(iter(records), str(path), report)
    return report


def through_a_corpus(records: Iterable[Record], folder: Path) -> list[Record]:
    """The records as a corpus gives them: in order of id."""
    write_corpus(folder, list(records), Manifest("corpus")).close()
    with Corpus(folder) as corpus:
        return list(corpus.records())


def comparable(records: Iterable[Record]) -> list[Any]:
    """Records by id, the annotations of each in one order."""
    return [(r.dialogue, sorted(r.annotations, key=repr)) for r in sorted(records, key=lambda r: r.dialogue.id)]


def counts(findings: dict[str, Any]) -> dict[str, int]:
    return {reason: finding.count for reason, finding in findings.items()}
