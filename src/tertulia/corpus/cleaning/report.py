"""What cleaning found and did: counted by filter, action and kind, with the first place of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tertulia.corpus.exchange import Finding, Report

__all__ = ["CleaningReport", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: ``count`` findings of a kind by a filter, and where the first was."""

    filter: str
    action: str
    kind: str
    count: int
    first: str | None


@dataclass(slots=True)
class CleaningReport:
    """Counts that grow while records stream by.

    ``unit`` is what a record is (``dialogues``, or ``contexts`` of a ranking set). ``dropped`` counts them by the filter that
    dropped each; ``candidates_dropped`` likewise. ``masked`` counts replaced spans, ``moved`` and ``clipped`` the annotations
    that moved with them or lost a part of what they covered. ``notes`` are what else a user should know.
    """

    unit: str = "dialogues"
    language: str = ""
    read: int = 0
    kept: int = 0
    found: dict[tuple[str, str], dict[str, Finding]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    candidates_dropped: dict[str, int] = field(default_factory=dict)
    masked: int = 0
    moved: int = 0
    clipped: int = 0
    notes: Report = field(default_factory=Report)

    def expect(self, name: str, action: str) -> None:
        """A filter is in use, though it may find nothing."""
        self.found.setdefault((name, action), {})

    def count(self, name: str, action: str, kind: str, where: str) -> None:
        """Something was found."""
        finding = self.found.setdefault((name, action), {}).setdefault(kind, Finding(0, where))
        finding.count += 1

    def drop(self, name: str) -> None:
        """A record was left out because of a filter."""
        self.dropped[name] = self.dropped.get(name, 0) + 1

    def drop_candidates(self, name: str, count: int = 1) -> None:
        """Candidates of a context were left out because of a filter."""
        self.candidates_dropped[name] = self.candidates_dropped.get(name, 0) + count

    def rows(self) -> Iterator[Row]:
        """The findings, by filter in their order and kind by frequency; a filter that found nothing has one row of kind "–"."""
        for (name, action), kinds in self.found.items():
            if not kinds:
                yield Row(name, action, "–", 0, None)
            for kind, finding in sorted(kinds.items(), key=lambda item: (-item[1].count, item[0])):
                yield Row(name, action, kind, finding.count, finding.first)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values; a filter's ``kinds`` map a kind to its ``count`` and ``first`` place."""
        return {
            "unit": self.unit,
            "language": self.language,
            "read": self.read,
            "kept": self.kept,
            "filters": [
                {
                    "filter": name,
                    "action": action,
                    "count": sum(finding.count for finding in kinds.values()),
                    "kinds": {kind: {"count": f.count, "first": f.first} for kind, f in sorted(kinds.items())},
                }
                for (name, action), kinds in self.found.items()
            ],
            "dropped": dict(sorted(self.dropped.items())),
            "candidates_dropped": dict(sorted(self.candidates_dropped.items())),
            "masked": self.masked,
            "moved": self.moved,
            "clipped": self.clipped,
            "notes": self.notes.to_json()["noted"],
        }

    def to_report(self) -> Report:
        """What was left out and what is worth knowing, as every artefact's manifest says it."""
        report = Report(noted=dict(self.notes.noted))
        for name, count in sorted(self.dropped.items()):
            report.skip(f"{self.unit} dropped by the filter {name}", self._first(name), count)
        for name, count in sorted(self.candidates_dropped.items()):
            report.skip(f"candidates dropped by the filter {name}", self._first(name), count)
        for row in self.rows():
            if row.action != "drop":
                report.note(f"{row.filter} ({row.action}): {row.kind}", row.first, row.count)
        return report

    def _first(self, name: str) -> str | None:
        kinds = self.found.get((name, "drop"), {})
        return next((finding.first for finding in kinds.values()), None)
