"""Builds a corpus from a dump and prints how long each step took, as JSON: a process of its own for every measurement.

``python _stackexchange_build.py DUMP OUTPUT OPTIONS`` with the options as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from tertulia.stackexchange.build import build_corpus
from tertulia.stackexchange.options import BuildOptions

STEPS = ("read", "narrow", "finish")


class Steps:
    """Notes when each stage of a build is first heard of; one ends where the next begins."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.ends: dict[str, float] = {}
        self.bytes = 0
        self.peak_mb: dict[str, float] = {}

    def note(self, stage: str) -> None:
        if stage not in self.ends and self.ends:
            self.close()
        self.ends[stage] = time.perf_counter()

    def close(self) -> None:
        last = list(self.ends)[-1]
        now = time.perf_counter()
        self.ends[last] = now
        self.peak_mb[last] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def reading(self, step: int, _total: int | None) -> None:
        self.bytes += step
        self.note("read")

    def narrowing(self, _what: str) -> None:
        self.note("narrow")

    def finishing(self, _step: int, _total: int | None) -> None:
        self.note("finish")

    def seconds(self) -> dict[str, float]:
        found = {}
        before = self.begun
        for stage, end in self.ends.items():
            found[stage] = end - before
            before = end
        return found


def main() -> None:
    dump, output, given = sys.argv[1:]
    options: dict[str, Any] = json.loads(given)
    options["cache"] = Path(options["cache"])
    steps = Steps()
    result = build_corpus([Path(dump)], Path(output), BuildOptions(**options), stages=steps)
    if steps.ends:
        steps.close()
    wall = time.perf_counter() - steps.begun
    found = {"wall_s": wall, "steps": steps.seconds(), "bytes": steps.bytes, "peak_mb": steps.peak_mb}
    print(json.dumps(found | {"counts": result.counts, "funnel": result.funnel}))


if __name__ == "__main__":
    main()
