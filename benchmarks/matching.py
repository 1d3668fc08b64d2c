"""The matching score against other engines: build time, bytes, first answer, queries a second, p50 and p99, in one run.

All engines answer the same queries, one thread, top 10, called from Python one query at a time. Time is CPU time of the
process. The engines take turns, 50 queries each, so that what else runs on the machine falls on all of them; a query's
time is the least of its rounds. Peers retrieve contexts by BM25 or by a dot product, which is less than what Tertulia
computes, and are given words instead of texts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

for _threads in ("OMP", "NUMBA", "OPENBLAS", "RAYON", "MKL"):
    os.environ[f"{_threads}_NUM_THREADS"] = "1"  # before the libraries that read them are imported

import numpy as np  # noqa: E402

from _matching_peers import ENGINES, Contexts, Search, missing  # noqa: E402
from _self_dialogues import Query, hold_out, read_dialogues, replicas  # noqa: E402
from tertulia.corpus.model import Dialogue  # noqa: E402
from tertulia.retrieval.tokenizer import EnglishTokenizer  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
TURN = 50


@dataclass
class Result:
    """What is measured of one engine; times of queries in nanoseconds."""

    name: str
    build_s: float
    disk_mb: float
    first_ms: float
    rounds: list[np.ndarray] = field(default_factory=list)

    @property
    def least(self) -> np.ndarray:
        return np.min(self.rounds, axis=0)

    @property
    def rate(self) -> float:
        return 1e9 / float(self.least.mean())

    @property
    def median_rate(self) -> float:
        return float(np.median([1e9 / each.mean() for each in self.rounds]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python benchmarks/matching.py --scale 10")
    data = os.environ.get("TERTULIA_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(data), help="the folder that holds self_dialogue/")
    parser.add_argument("--scale", type=int, default=1, help="size of the bank: perturbed replicas (default 1)")
    parser.add_argument(
        "--held-out",
        type=float,
        default=0.0,
        help="share of the workers whose dialogues are left out of the bank; the queries come from them "
        "(default 0: the full bank, asked with utterances of 5 %% of its workers)",
    )
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default=",".join(ENGINES), help="which to run, of: %(default)s")
    parser.add_argument("--work", type=Path, help="keep the indexes here, and use those that are there")
    return parser.parse_args()


def main() -> None:
    options = parse()
    folder = options.data / "self_dialogue"
    if not folder.is_dir():
        sys.exit(f"{folder}: there is no such folder; name the data with --data or TERTULIA_DATA")
    dialogues = read_dialogues(folder)
    left, queries = hold_out(dialogues, options.held_out or 0.05, options.queries)
    bank = left if options.held_out else dialogues
    utterances = sum(len(each.utterances) for each in bank)
    print(f"bank: {len(bank):,} dialogues, {utterances:,} utterances, times {options.scale}; {len(queries):,} queries")
    chosen = {name: ENGINES[name] for name in options.engines.split(",")}
    for name in list(chosen):
        lacks = missing(chosen[name])
        if lacks:
            print(f"left out: {chosen.pop(name).name}, for {', '.join(lacks)} is not installed")
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        results = prepare(chosen, bank, options, work, queries[0])
        measure(chosen, results, work, queries, options.rounds)
    report(results)


def index_name(name: str) -> str:
    return "tertulia" if name in ("kernel", "topic", "numpy") else name


def prepare(
    chosen: dict, bank: list[Dialogue], options: argparse.Namespace, work: Path, query: Query
) -> dict[str, Result]:
    """Build each index that is not there, and see how soon a fresh process has an answer from it."""
    contexts: Contexts | None = None
    built: dict[str, float] = {}
    results: dict[str, Result] = {}
    for name, engine in chosen.items():
        path = work / index_name(name)
        if not path.exists():
            if engine.takes_contexts and contexts is None:
                contexts = Contexts.of(replicas(bank, options.scale))
            source = contexts if engine.takes_contexts else list(replicas(bank, options.scale))
            start = time.process_time()
            engine.build(source, path)
            built[path.name] = time.process_time() - start
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6
        results[name] = Result(engine.name, built.get(path.name, float("nan")), size, first_answer(name, path, query))
    texts = sum(file.stat().st_size for file in (work / "tertulia").glob("*.texts")) / 1e6
    if texts:
        seconds = tokenising_time(bank) * options.scale
        print(
            f"tertulia: {texts:.1f} MB of its files are the texts, which the peers do not keep; about {seconds:.1f} s"
        )
        print("of its build are tokenising, which the builds of the peers do not do")
    return results


def tokenising_time(bank: list[Dialogue]) -> float:
    tokenizer = EnglishTokenizer()
    start = time.process_time()
    for dialogue in bank:
        for text in dialogue.texts:
            tokenizer.words(text)
    return time.process_time() - start


def first_answer(name: str, path: Path, query: Query) -> float:
    """The median of five fresh processes, in milliseconds; the files are in the page cache."""
    command = [sys.executable, str(Path(__file__).with_name("_matching_peers.py")), name, str(path)]
    times = [
        float(subprocess.run([*command, query.text, query.previous], check=True, capture_output=True, text=True).stdout)
        for _ in range(5)
    ]
    return float(np.median(times))


def measure(chosen: dict, results: dict[str, Result], work: Path, queries: list[Query], rounds: int) -> None:
    searches: dict[str, Search] = {name: engine.open(work / index_name(name)) for name, engine in chosen.items()}
    for search in searches.values():
        for query in queries:
            search(query)  # warms caches, compiles numba code, keeps the peers' words
    for _ in range(rounds):
        taken = {name: np.zeros(len(queries)) for name in searches}
        for start in range(0, len(queries), TURN):
            for name, search in searches.items():
                for place in range(start, min(start + TURN, len(queries))):
                    begun = time.process_time_ns()
                    search(queries[place])
                    taken[name][place] = time.process_time_ns() - begun
        for name, times in taken.items():
            results[name].rounds.append(times)


def report(results: dict[str, Result]) -> None:
    columns = ["engine", "build s", "MB", "first ms", "queries/s", "median", "p50 ms", "p99 ms", "tertulia is"]
    rows = []
    base = next(iter(results.values()))
    for result in results.values():
        p50, p99 = (np.percentile(result.least, percent) / 1e6 for percent in (50, 99))
        rows.append([
            result.name,
            f"{result.build_s:.1f}",
            f"{result.disk_mb:.1f}",
            f"{result.first_ms:.1f}",
            f"{result.rate:,.0f}",
            f"{result.median_rate:,.0f}",
            f"{p50:.3f}",
            f"{p99:.3f}",
            f"{base.rate / result.rate:.1f}x / {base.median_rate / result.median_rate:.1f}x",
        ])  # fmt: skip
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        first, *others = [cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join([first, *others]).rstrip())
    print("'tertulia is': times as fast as the engine of the line, by the least times / by the median round")


if __name__ == "__main__":
    main()
