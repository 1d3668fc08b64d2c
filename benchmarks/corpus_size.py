"""A corpus of 20 GB of utterances: one dialogue by id, stats, split and export in bounded memory; ConvoKit on what it can load.

Every command runs in a process of its own; its memory is the peak of what the system counts as resident, mapped pages of the
page cache included. "Beyond start-up" of `corpus show` is its wall time less that of the same command on a corpus of one dialogue,
medians, the two taking turns. The disk must hold about three times the size; what is written is removed unless --work names
a folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _synthetic_corpus import write
from tertulia.artefact import Manifest, read_manifest
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus.store import write_corpus

LOAD_PEER = """
import sys, time
began = time.perf_counter()
from convokit import Corpus
imported = time.perf_counter()
corpus = Corpus(sys.argv[1])
loaded = time.perf_counter()
conversation = corpus.get_conversation(sys.argv[2])
texts = [utterance.text for utterance in conversation.iter_utterances()]
print(imported - began, loaded - imported, time.perf_counter() - loaded, len(texts))
"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python benchmarks/corpus_size.py --gb 1")
    parser.add_argument("--gb", type=float, default=20, help="size of the texts in GB (default 20)")
    parser.add_argument("--work", type=Path, help="keep the corpus here, and use the one that is there")
    parser.add_argument("--shows", type=int, default=15, help="how many dialogues are shown (default 15)")
    parser.add_argument("--steps", default="show,stats,split,export", help="which to run, of: %(default)s")
    parser.add_argument("--peer-python", help="an interpreter that has ConvoKit")
    parser.add_argument("--peer-mb", type=float, default=100, help="the size that ConvoKit is given (default 100)")
    return parser.parse_args()


def run(*arguments: str, python: str = sys.executable) -> tuple[float, float, str]:
    """Wall time in seconds, peak memory in MB and stdout of a process; its failure ends the benchmark."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        child = subprocess.Popen([python, *arguments], stdout=out, stderr=subprocess.PIPE)
        errors = child.stderr.read() if child.stderr else b""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        out.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(arguments)} ended with {child.returncode}: {errors.decode()[-2000:]}")
        return wall, usage.ru_maxrss / 1024, out.read().decode()


def tertulia(*arguments: str) -> tuple[float, float, str]:
    return run("-m", "tertulia.cli.main", *arguments)


def line(what: str, wall: float, memory: float, note: str = "") -> None:
    print(f"{what:<34}{wall:>12,.2f} s{memory:>12,.0f} MB   {note}", flush=True)


def show(corpus: Path, one: Path, shows: int) -> None:
    """One dialogue by id, beside the same command on a corpus of one dialogue."""
    total = read_manifest(corpus).counts["dialogues"]
    chance = random.Random(1)
    ids = [f"s{chance.randrange(total):09d}" for _ in range(shows)]
    for path, identifier in ((one, "only"), (corpus, ids[0])):
        tertulia("corpus", "show", str(path), identifier)
    walls: dict[str, list[float]] = {"start-up": [], "show": []}
    peaks = []
    for identifier in ids:
        walls["start-up"].append(tertulia("corpus", "show", str(one), "only")[0])
        wall, peak, _ = tertulia("corpus", "show", str(corpus), identifier)
        walls["show"].append(wall)
        peaks.append(peak)
    for name, found in walls.items():
        line(f"corpus show: {name}", statistics.median(found), max(peaks) if name == "show" else 0)
    beyond = statistics.median(walls["show"]) - statistics.median(walls["start-up"])
    print(
        f"{'corpus show: beyond start-up':<34}{1000 * beyond:>11,.1f} ms   (goal: under 50 ms, under 200 MB)",
        flush=True,
    )


def peer(options: argparse.Namespace, work: Path) -> None:
    """ConvoKit loads a whole corpus before it shows one conversation; ours of the same size beside it."""
    write(work / "peer", int(options.peer_mb * 1e6), seed=1)
    tertulia("corpus", "export", "convokit", str(work / "peer"), "-o", str(work / "convokit"), "--overwrite")
    identifier = "s000000007"
    wall, peak, out = run("-c", LOAD_PEER, str(work / "convokit"), identifier, python=options.peer_python)
    imported, loaded, got, texts = out.split()
    note = f"import {float(imported):.1f} s, load {float(loaded):.1f} s, get {1000 * float(got):.2f} ms, {texts} utterances"
    line(f"ConvoKit, {options.peer_mb:g} MB of text", wall, peak, note)
    wall, peak, _ = tertulia("corpus", "show", str(work / "peer"), identifier)
    line("corpus show of the same", wall, peak)


def main() -> None:
    options = parse()
    work = options.work or Path(tempfile.mkdtemp(prefix="tertulia-size-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        corpus, one = work / "corpus", work / "one"
        if not corpus.exists():
            began = time.monotonic()
            write(corpus, int(options.gb * 1e9))
            print(f"generated in {time.monotonic() - began:,.0f} s")
        if not one.exists():
            write_corpus(one, [Record(Dialogue("only", [Utterance(0, 0, "A", "hello")]))], Manifest("corpus")).close()
        manifest = read_manifest(corpus)
        stored = sum(entry.bytes for entry in manifest.files.values())
        text_mb = manifest.details["text_bytes"] / 1e6
        print(f"{text_mb / 1000:,.2f} GB of text in {stored / 1e9:,.2f} GB; {json.dumps(manifest.counts)}\n")
        steps = options.steps.split(",")
        if "show" in steps:
            show(corpus, one, options.shows)
        if "stats" in steps:
            wall, peak, out = tertulia("corpus", "stats", str(corpus), "--json")
            line(
                "corpus stats", wall, peak, f"{text_mb / wall:,.0f} MB/s; {json.loads(out)['utterances']:,} utterances"
            )
        if "split" in steps:
            wall, peak, _ = tertulia("corpus", "split", str(corpus), "-o", str(work / "split"), "--overwrite")
            line("corpus split", wall, peak, f"{text_mb / wall:,.0f} MB/s")
            shutil.rmtree(work / "split")
        if "export" in steps:
            wall, peak, _ = tertulia(
                "corpus", "export", "jsonl", str(corpus), "-o", str(work / "out.jsonl"), "--overwrite"
            )
            size = (work / "out.jsonl").stat().st_size
            line("corpus export jsonl", wall, peak, f"{text_mb / wall:,.0f} MB/s of text; {size / 1e9:,.1f} GB written")
            (work / "out.jsonl").unlink()
        if options.peer_python:
            peer(options, work)
    finally:
        if options.work is None:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
