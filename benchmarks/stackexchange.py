"""``stackexchange build`` in MB/s from dump to corpus, beside lxml and xml.etree alone and the speed of ``cat``, in one run.

MB are those of the XML of the tables that the build reads. Every measurement is a process of its own; before each the files are
dropped from the page cache, but for the second row of ``cat``. They do not do the same: the parsers read one table after the other
in one thread, count rows and keep nothing; the build leaves a corpus. Of a large dump the parsers read the beginning of each table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _process_tree import Watch

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).parent
TABLES = ("posts.xml", "comments.xml", "users.xml", "votes.xml")
BUILD = "tertulia stackexchange build"
STEPS = {"read": "XML to Parquet", "narrow": "narrowing", "finish": "finishing, writing"}


@dataclass
class Result:
    """The runs of one engine."""

    name: str
    megabytes: float = 0.0
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    pss: list[float] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    remark: str = ""
    failure: str | None = None

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"what": self.name, "megabytes": round(self.megabytes, 1), "remark": self.remark}
        if self.failure:
            return value | {"failure": self.failure}
        return value | {
            "mb_per_s": round(self.megabytes / statistics.median(self.walls), 1),
            "wall_s": [round(one, 3) for one in self.walls],
            "cpu_s": [round(one, 3) for one in self.cpus],
            "peak_rss_mb": [round(one) for one in self.rss],
            "peak_pss_mb": [round(one) for one in self.pss],
            "steps_s": [{name: round(one, 3) for name, one in steps.items()} for steps in self.steps],
            **{name: self.found[name] for name in ("counts", "funnel") if name in self.found},
        }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/stackexchange.py ~/dumps/made_202405 --runs 3"
    )
    parser.add_argument("dump", type=Path, help="a folder with Posts.xml and the other tables")
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured (default 3)")
    parser.add_argument("--sample", type=float, default=1000, help="MB that the parsers read at most (default 1000)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="of the build (default: one a core)")
    parser.add_argument("--build", type=json.loads, default={}, metavar="JSON", help='options, as {"text": "markdown"}')
    parser.add_argument("--work", type=Path, help="a folder for caches and corpora (default: a temporary one)")
    parser.add_argument("--no-peers", action="store_true", help="measure the build alone")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    if not options.dump.is_dir():
        parser.error(f"{options.dump} is no folder")
    if options.runs < 1:
        parser.error("--runs is a number from 1")
    return options


def main() -> None:
    options = parse()
    tables = sorted(file for file in options.dump.iterdir() if file.name.lower() in TABLES)
    if not tables:
        sys.exit(f"{options.dump} has no tables")
    megabytes = sum(file.stat().st_size for file in tables) / 1e6
    of_all = sum(file.stat().st_size for file in options.dump.iterdir() if file.is_file()) / 1e6
    share = min(1.0, options.sample / megabytes)
    part = "" if share == 1 else f"the first {share:.0%} of each table"
    results = [
        Result("cat, from disk"),
        Result("cat, from the page cache"),
        Result("lxml.etree.iterparse", remark=part),
        Result("xml.etree iterparse", remark=part),
    ]
    if options.no_peers:
        results = []
    results.append(Result(BUILD, remark=f"{options.workers} workers"))
    if options.work is not None:
        options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        for turn in range(options.runs):
            for result in results:
                if result.failure is None:
                    say(f"run {turn + 1} of {options.runs}: {result.name}")
                    measure(result, tables, share, options, Path(work) / f"{turn}")
    if options.json:
        print(json.dumps([result.to_json() for result in results], indent=2))
        return
    names = ", ".join(file.name for file in tables)
    print(f"{options.dump.name}: {megabytes:,.0f} MB in {names} (of {of_all:,.0f} MB in all files)\n")
    report(results)


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def measure(result: Result, tables: list[Path], share: float, options: argparse.Namespace, work: Path) -> None:
    """One run in a process of its own."""
    work.mkdir(exist_ok=True)
    names = [str(table) for table in tables]
    loader = [sys.executable, str(HERE / "_stackexchange_load.py")]
    given = {"workers": options.workers, "cache": str(work / "cache"), "keep": False} | options.build
    commands = {
        "cat, from disk": ["cat", *names],
        "cat, from the page cache": ["cat", *names],
        "lxml.etree.iterparse": [*loader, "lxml", str(share), *names],
        "xml.etree iterparse": [*loader, "xml.etree", str(share), *names],
        BUILD: [
            sys.executable,
            str(HERE / "_stackexchange_build.py"),
            str(options.dump),
            str(work / "corpus"),
            json.dumps(given),
        ],
    }
    if result.name != "cat, from the page cache":
        for table in tables:
            drop(table)
    is_cat = result.name.startswith("cat")
    begun = time.perf_counter()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    }
    with (work / "err").open("w+b") as err, (work / "out").open("w+b") as out:
        child = subprocess.Popen(
            commands[result.name], stdout=subprocess.DEVNULL if is_cat else out, stderr=err, env=environment
        )
        with Watch(child.pid) as watch:
            _, status, usage = os.wait4(child.pid, 0)
            took = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complaint = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if child.returncode:
        result.failure = (complaint.strip().splitlines() or [f"ended with {child.returncode}"])[-1][:200]
        shutil.rmtree(work, ignore_errors=True)
        return
    if is_cat:
        found: dict[str, Any] = {
            "wall_s": took,
            "bytes": sum(table.stat().st_size for table in tables),
        }
    else:
        found = json.loads(said.strip().splitlines()[-1])
    shutil.rmtree(work, ignore_errors=True)
    result.found = found
    result.megabytes = found["bytes"] / 1e6
    result.walls.append(found["wall_s"])
    result.cpus.append(usage.ru_utime + usage.ru_stime)
    result.rss.append(max(watch.rss / 1e6, usage.ru_maxrss * 1024 / 1e6))
    result.pss.append(watch.pss / 1e6)
    if "steps" in found:
        result.steps.append(found["steps"])


def drop(file: Path) -> None:
    """Take a file out of the page cache, as far as the system lets."""
    if hasattr(os, "posix_fadvise"):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def report(results: list[Result]) -> None:
    rows = [["", "MB", "seconds", "MB/s", "least", "most", "MB/s of CPU", "peak MB", "shared once", ""]]
    for result in results:
        if result.failure:
            rows.append([result.name, "-", "-", "-", "", "", "", "", "", result.failure])
            continue
        wall = statistics.median(result.walls)
        rows.append([
            result.name,
            f"{result.megabytes:,.0f}",
            f"{wall:,.1f}",
            f"{result.megabytes / wall:,.0f}",
            f"{result.megabytes / max(result.walls):,.0f}",
            f"{result.megabytes / min(result.walls):,.0f}",
            f"{result.megabytes / statistics.median(result.cpus):,.0f}",
            f"{statistics.median(result.rss):,.0f}",
            f"{statistics.median(result.pss):,.0f}" if any(result.pss) else "-",
            result.remark,
        ])  # fmt: skip
        for step in result.steps[0] if result.steps else []:
            seconds = statistics.median(steps.get(step, 0.0) for steps in result.steps)
            rows.append([f"  {STEPS.get(step, step)}", "", f"{seconds:,.1f}", "", "", "", "", "", "", ""])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        last = len(row) - 1
        cells = (
            cell.ljust(width) if column in (0, last) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
    print("\nmedians; MB/s least and most by the slowest and the fastest run; peak MB is the sum over all processes")


if __name__ == "__main__":
    main()
