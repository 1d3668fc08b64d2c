"""How a report of what was left out and what was odd is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tertulia.cli.output import number, visible

if TYPE_CHECKING:
    from tertulia.corpus.exchange import Report

__all__ = ["print_findings"]


def print_findings(report: Report) -> None:
    """Print what was left out, and what was kept and is worth knowing, by count, reason and first place."""
    for title, findings in (("left out", report.skipped), ("kept, and worth knowing", report.noted)):
        if not findings:
            continue
        print(f"\n{title}:")
        width = max(len(number(finding.count)) for finding in findings.values())
        for reason, finding in findings.items():
            first = f"  (first: {finding.first})" if finding.first else ""
            print(visible(f"  {number(finding.count):>{width}}  {reason}{first}"))
