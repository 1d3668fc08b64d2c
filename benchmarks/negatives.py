"""How fast a ranking set is built: ``ranking build --negatives 50 --from all``, whole, beside bm25s doing only the searches.

    python benchmarks/negatives.py                      20,000 dialogues, all queries, three runs of each
    python benchmarks/negatives.py --queries 3000       peers search 3,000 of the queries; their time is scaled to all

Peers are given the words of all responses, tokenised and indexed before the clock starts, and search the 1,000 best for every
true response. Tertulia's time is that of the whole command in a process of its own: it reads the corpus, tokenises, indexes,
searches, draws, and writes the set. Medians; every run is a process of its own, in turns. CPU time is that of all threads.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _threads import make_corpus

K = 1_000
BATCH = 1_000
PEERS = {"bm25s (numba), searches": "numba", "bm25s (default), searches": "numpy"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=20_000)
    parser.add_argument(
        "--lengths", choices=("answers", "threads"), default="answers", help="threads: comments are short"
    )
    parser.add_argument("--queries", type=int, default=0, help="how many queries peers search; 0: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_peer(options.child, options.corpus, options.queries)))
        return
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        print(f"making {options.dialogues:,} dialogues", file=sys.stderr)
        make_corpus(work / "corpus", options.dialogues, 1, answers=options.lengths == "answers")
        _compare(work, options)


def _compare(work: Path, options: argparse.Namespace) -> None:
    runs: dict[str, list[dict[str, float]]] = {}
    for number in range(options.runs):
        print(f"run {number + 1} of {options.runs}", file=sys.stderr)
        for workers in options.workers:
            name = f"tertulia ranking build, {workers} worker{'s' * (workers > 1)}"
            runs.setdefault(name, []).append(_command(work, workers))
        for name, backend in PEERS.items():
            peer = [sys.executable, __file__, "--child", backend, "--corpus", str(work / "corpus")]
            said = subprocess.run(
                [*peer, "--queries", str(options.queries)], check=True, capture_output=True, text=True
            )
            runs.setdefault(name, []).append(json.loads(said.stdout.splitlines()[-1]))
    head = f"{'':38}{'wall s':>9}{'CPU s':>9}{'contexts/s':>12}{'CPU ms each':>13}{'peak MB':>9}"
    print(f"\n{head}\n{'-' * len(head)}")
    for name, found in runs.items():
        middle = {key: statistics.median(run[key] for run in found) for key in ("wall", "cpu", "contexts", "memory")}
        print(
            f"{name:38}{middle['wall']:9.1f}{middle['cpu']:9.1f}{middle['contexts'] / middle['wall']:12.0f}"
            f"{middle['cpu'] / middle['contexts'] * 1e3:13.2f}{middle['memory']:9.0f}"
        )


def _command(work: Path, workers: int) -> dict[str, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    program = "import sys, resource; from tertulia.cli.main import main; code = main(); "
    program += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    words = ["ranking", "build", str(work / "corpus"), "-o", str(work / "set"), "--negatives", "50", "--from", "all"]
    said = subprocess.run(
        [sys.executable, "-c", program, *words, "--workers", str(workers), "--overwrite", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = int(said.stderr.splitlines()[-1]) / 1024
    return {"wall": wall, "cpu": cpu, "contexts": json.loads(said.stdout)["counts"]["contexts"], "memory": memory}


def _peer(backend: str, path: Path, count: int) -> dict[str, float]:
    """The same searches by bm25s: per split, the 1,000 best of all responses for every true response."""
    import bm25s

    from tertulia.corpus.store import Corpus
    from tertulia.ranking.contexts import contexts_of, said_in
    from tertulia.retrieval.tokenizer import EnglishTokenizer

    tokenizer = EnglishTokenizer()
    pools: dict[str | None, list[list[str]]] = {}
    queries: dict[str | None, list[list[str]]] = {}
    with Corpus(path) as corpus:
        for dialogue in corpus.dialogues():
            said = said_in(dialogue)
            answers = {context.position for context in contexts_of(said)}
            for utterance, role in said:
                if role == "agent":
                    words = tokenizer.words(utterance.text)
                    pools.setdefault(dialogue.split, []).append(words)
                    if utterance.position in answers:
                        queries.setdefault(dialogue.split, []).append(words)
    total = sum(map(len, queries.values()))
    wall = cpu = 0.0
    for split, asked in queries.items():
        peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend=backend)
        peer.index(pools[split], show_progress=False)
        step = 1 if not count else max(1, total // count)
        some = asked[::step]
        best = min(K, len(pools[split]))
        peer.retrieve(some[:2], k=best, show_progress=False)  # what is compiled is compiled before the clock starts
        began, used = time.perf_counter(), time.process_time()
        for begin in range(0, len(some), BATCH):
            peer.retrieve(some[begin : begin + BATCH], k=best, show_progress=False)
        scale = len(asked) / len(some)
        wall += (time.perf_counter() - began) * scale
        cpu += (time.process_time() - used) * scale
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": wall, "cpu": cpu, "contexts": total, "memory": memory}


if __name__ == "__main__":
    main()
