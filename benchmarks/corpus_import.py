"""`corpus import` of each format in MB/s, beside ConvoKit's and `datasets`' loading of the same file, in one run.

Every measurement is a process of its own; the engines take turns, so that what else runs on the machine falls on all of them, and
each is given by its median with the least and the greatest. MB are those of the file. Time begins when the library has been
imported; memory is the greatest of the whole process. They do not do the same: Tertulia checks every field and leaves sorted,
digested Parquet on the disk; `datasets` leaves an Arrow cache with the columns that it has guessed, checks nothing, and of a folder
of ConvoKit's takes the utterances alone; ConvoKit leaves objects in memory.
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
from dataclasses import dataclass, field
from pathlib import Path

from _import_files import MAKERS, bytes_of, make

ROOT = Path(__file__).resolve().parent.parent
LOADER = Path(__file__).with_name("_import_load.py")
# What else can load a format. `datasets` makes one row of an object of dialogues by id, and cannot read rows of several lengths.
PEERS = {
    "jsonl": ["datasets"],
    "chat-jsonl": ["datasets"],
    "convokit": ["convokit", "datasets"],
    "ccpe": ["datasets"],
    "dialeval": ["datasets"],
    "self-dialogue": ["datasets"],
    "rated-tsv": ["datasets"],
    "xiaomi": ["datasets"],
}


@dataclass
class Result:
    """The runs of one engine on one file."""

    what: str
    engine: str
    megabytes: float
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)
    failure: str | None = None

    def rate(self, times: list[float]) -> float:
        return self.megabytes / statistics.median(times)

    def to_json(self) -> dict[str, object]:
        value: dict[str, object] = {"what": self.what, "engine": self.engine, "megabytes": round(self.megabytes, 1)}
        if self.failure:
            return value | {"failure": self.failure}
        return value | {
            "wall_mb_per_s": round(self.rate(self.walls), 2),
            "cpu_mb_per_s": round(self.rate(self.cpus), 2),
            "wall_s": [round(one, 3) for one in self.walls],
            "cpu_s": [round(one, 3) for one in self.cpus],
            "peak_mb": [round(one) for one in self.peaks],
        }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/corpus_import.py --mb 20 --peer-python ~/bench/bin/python",
    )
    parser.add_argument("--mb", type=float, default=50, help="size of each file in MB (default 50)")
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured (default 3)")
    parser.add_argument("--formats", default="all", help=f"which of: {'; '.join(MAKERS)} (with ';' between them)")
    parser.add_argument("--peer-python", help="an interpreter that has ConvoKit and datasets; by default this one")
    parser.add_argument("--no-peers", action="store_true", help="measure Tertulia alone")
    parser.add_argument("--work", type=Path, help="keep the files here, and use those that are there")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args()


def main() -> None:
    options = parse()
    wanted = list(MAKERS) if options.formats == "all" else [name.strip() for name in options.formats.split(";")]
    unknown = [name for name in wanted if name not in MAKERS]
    if unknown:
        sys.exit(f"there is no {unknown[0]!r}; there are: {'; '.join(MAKERS)}")
    peer_python = options.peer_python or sys.executable
    peers = set() if options.no_peers else {peer for peer in ("convokit", "datasets") if has(peer_python, peer)}
    for peer in sorted({"convokit", "datasets"} - peers):
        say(f"left out: {peer}" + ("" if options.no_peers else f", which {peer_python} cannot import"))
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for what in wanted:
            path = make(what, work, int(options.mb * 1e6))
            format_name = MAKERS[what][0]
            megabytes = bytes_of(path) / 1e6
            engines = ["tertulia", *(peer for peer in PEERS.get(format_name, []) if peer in peers)]
            measured = {engine: Result(what, engine, megabytes) for engine in engines}
            for turn in range(options.runs):
                say(f"{what}: {megabytes:.0f} MB, run {turn + 1} of {options.runs}")
                for engine, result in measured.items():
                    if result.failure is None:
                        measure(result, sys.executable if engine == "tertulia" else peer_python, format_name, path)
            results += measured.values()
    if options.json:
        print(json.dumps([result.to_json() for result in results], indent=2))
    else:
        report(results)


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def has(python: str, package: str) -> bool:
    command = [python, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"]
    return subprocess.run(command, capture_output=True).returncode == 0


def measure(result: Result, python: str, format_name: str, source: Path) -> None:
    """One run in a process of its own, in a folder that is removed."""
    work = Path(tempfile.mkdtemp(prefix="import-", dir=source.parent))
    # Peers must not look for anything on the network, nor leave their settings in the user's home.
    peer = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(work), "HOME": str(work)}
    quiet = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "PYTHONWARNINGS": "ignore"}
    ours = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))}
    environment = os.environ | (ours if result.engine == "tertulia" else peer | quiet)
    with (work / "out").open("w+b") as out, (work / "err").open("w+b") as err:
        child = subprocess.Popen(
            [python, str(LOADER), result.engine, format_name, str(source), str(work)],
            stdout=out,
            stderr=err,
            env=environment,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complaint = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    shutil.rmtree(work, ignore_errors=True)
    if child.returncode:
        result.failure = (complaint.strip().splitlines() or [f"ended with {child.returncode}"])[-1][:150]
        return
    found = json.loads(said.strip().splitlines()[-1])
    result.walls.append(found["wall_s"])
    result.cpus.append(found["cpu_s"])
    result.peaks.append(usage.ru_maxrss / 1024)


def report(results: list[Result]) -> None:
    columns = ["format", "loaded by", "MB", "MB/s", "least", "most", "MB/s of CPU", "peak MB", "tertulia is"]
    rows = []
    base = results[0]
    for result in results:
        base = result if result.engine == "tertulia" else base
        if result.failure:
            rows.append([result.what, result.engine, f"{result.megabytes:.0f}", "-", "", "", "", "", result.failure])
            continue
        is_peer = result is not base and not base.failure
        times = f"{base.rate(base.walls) / result.rate(result.walls):.2f}x" if is_peer else ""
        rows.append([
            result.what,
            result.engine,
            f"{result.megabytes:.0f}",
            f"{result.rate(result.walls):.1f}",
            f"{result.megabytes / max(result.walls):.1f}",
            f"{result.megabytes / min(result.walls):.1f}",
            f"{result.rate(result.cpus):.1f}",
            f"{statistics.median(result.peaks):,.0f}",
            times,
        ])  # fmt: skip
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(8)] + [0]
    for row in [columns, *rows]:
        cells = [cell.ljust(widths[i]) if i in (0, 1, 8) else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    main()
