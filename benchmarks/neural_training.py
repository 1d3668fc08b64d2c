"""How long the neural rankers train on a set of the size of the rated corpus, and how fast every ranker scores.

    python benchmarks/neural_training.py                         two epochs of each on two threads, then the speed of all rankers
    python benchmarks/neural_training.py --device cuda           the same on a GPU
    python benchmarks/neural_training.py --parts inference --rankers bm25,cnn

The set is made up in the shape of the published one: 21,964 prompts of 4 words and 65,706 responses of 7 on average, 36,035
different words with frequencies after Zipf, ratings from 1 to 5. Time of an epoch is without the vocabulary, the word vectors and
the scores of dev, which "before the first epoch" and "scoring dev" are; "of all threads" is its processor time, which another
load on the machine changes little. Every row is a process of its own; memory is the most
that it had resident, everything included. For inference each ranker is trained on a few hundred prompts, one thread; candidates are
those of prompts it has not seen, texts are tokenised anew.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tertulia.corpus.model import Turn
from tertulia.errors import TertuliaError
from tertulia.ranking.examples import Example
from tertulia.ranking.quality import map_at
from tertulia.ranking.ranker import FitRun
from tertulia.ranking.registry import RANKERS
from tertulia.ranking.wording import Wording

PROMPTS, RESPONSES, WORDS = 21_964, 65_706, 36_035
PROMPT_WORDS, RESPONSE_WORDS = 4.05, 7.01
DEV = 2_669
NEURAL = ("bilstm", "cnn")
CUT = 4.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="training,inference", help="which of the two tables")
    parser.add_argument("--rankers", default="", help="only these, with commas between")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--scale", type=float, default=1.0, help="a share of the prompts, to try it out")
    parser.add_argument("--small", type=int, default=300, help="prompts that each ranker is trained on for inference")
    parser.add_argument("--candidates", type=int, default=6_000, help="how many are scored for inference")
    parser.add_argument("--sentence-model", default="minilm", help="for the rankers that need one")
    parser.add_argument("--checkpoint", default="minilm", help="for the crossencoder")
    parser.add_argument("--limit", type=float, default=1_800, help="seconds that a row may take")
    parser.add_argument("--child", choices=("training", "inference"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps({"training": _training, "inference": _inference}[options.child](options)))
        return
    wanted = options.rankers.split(",") if options.rankers else []
    if "training" in options.parts:
        _print_training({name: _row("training", name) for name in wanted or NEURAL if name in NEURAL}, options)
    if "inference" in options.parts:
        _print_inference({name: _row("inference", name) for name in wanted or RANKERS.names()}, options)


def _row(part: str, name: str) -> dict[str, Any]:
    """What a process of its own measured; ``failed`` says why there is nothing."""
    print(f"{part}: {name}", file=sys.stderr, flush=True)
    arguments = [sys.executable, __file__, *sys.argv[1:], "--rankers", name, "--child", part]
    limit = float(next((value for key, value in zip(sys.argv, sys.argv[1:], strict=False) if key == "--limit"), 1_800))
    try:
        done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {limit:.0f} s"}
    lines = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(lines[-1]) if lines else {"failed": f"ended with {done.returncode}"}
    return found


def _training(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each epoch of a neural ranker, and memory."""
    examples = list(made(round(options.scale * PROMPTS), 0))
    dev = list(made(round(options.scale * DEV), 1))
    before = _resident()
    marks: list[tuple[str, float, float]] = []
    run = FitRun(
        Wording("en"),
        map_at(CUT),
        workers=options.workers,
        device=options.device,
        progress=lambda stage, _done, _total: marks.append((stage, time.perf_counter(), time.process_time())),
    )
    ranker = RANKERS.factory(options.rankers)(
        {"epochs": options.epochs, "patience": options.epochs, "least_frequent": 1}
    )
    started = time.perf_counter()
    try:
        ranker.fit(examples, dev, run)
    except TertuliaError as error:
        return {"failed": str(error)}
    ended = time.perf_counter()
    stages = list(dict.fromkeys(stage for stage, *_ in marks))
    # A stage is told of when its first step is done: a step is added for it.
    steps = sum(name == stages[0] for name, *_ in marks)
    times = {stage: np.array([mark[1:] for mark in marks if mark[0] == stage]) for stage in stages}
    epochs = np.array([each[-1] - each[0] for each in times.values()]) * steps / max(1, steps - 1)
    return {
        "device": ranker.report()["device"],
        "pairs": sum(len(example) for example in examples),
        "words": ranker.report()["words"],
        "parameters": ranker.report()["parameters"],
        "start_s": times[stages[0]][0, 0] - started,
        "epoch_s": epochs[:, 0].tolist(),
        "epoch_cpu_s": epochs[:, 1].tolist(),
        "dev_s": ended - times[stages[-1]][-1, 0],
        "data_bytes": before,
        "peak_bytes": _resident(),
        "gpu_bytes": _gpu_bytes(ranker.report()["device"]),
    }


def _inference(options: argparse.Namespace) -> dict[str, Any]:
    """Candidates a second of a ranker that was trained on a little."""
    name = options.rankers
    examples, dev = list(made(options.small, 0)), list(made(60, 1))
    test = list(made(max(1, options.candidates // 3), 2))
    settings: dict[str, Any] = {}
    factory = RANKERS.factory(name)
    if "checkpoint" in factory.known_settings:
        settings["checkpoint"] = options.checkpoint
    if "epochs" in factory.known_settings:
        settings["epochs"] = 1
    run = FitRun(Wording("en"), map_at(CUT), device=options.device, sentence_model=options.sentence_model)
    try:
        ranker = factory(settings)
        ranker.fit(examples, dev, run)
        for _ in ranker.score(dev):
            pass
        started = time.perf_counter()
        count = sum(len(values) for values in ranker.score(test))
        seconds = time.perf_counter() - started
    except TertuliaError as error:
        return {"failed": str(error)}
    return {"candidates": count, "seconds": seconds, "peak_bytes": _resident()}


def made(prompts: int, seed: int) -> Iterator[Example]:
    """So many prompts with their responses; the whole of the train split has every word at least once."""
    random = np.random.default_rng(seed)
    responses = round(prompts * RESPONSES / PROMPTS)
    candidates = 1 + np.bincount(random.integers(0, prompts, size=max(0, responses - prompts)), minlength=prompts)
    lengths = [
        1 + random.poisson(PROMPT_WORDS - 1, size=prompts),
        1 + random.poisson(RESPONSE_WORDS - 1, candidates.sum()),
    ]
    frequency = 1 / (np.arange(WORDS) + 2.7)
    drawn = random.choice(WORDS, size=int(sum(each.sum() for each in lengths)), p=frequency / frequency.sum())
    if prompts == PROMPTS:
        drawn[random.permutation(len(drawn))[:WORDS]] = np.arange(WORDS)
    words = iter([f"w{number}" for number in drawn.tolist()])
    texts = [[" ".join(next(words) for _ in range(length)) for length in each.tolist()] for each in lengths]
    ends = np.cumsum(candidates).tolist()
    ratings = random.integers(2, 11, size=ends[-1]) / 2
    for number, (prompt, end) in enumerate(zip(texts[0], ends, strict=True)):
        some = slice(end - int(candidates[number]), end)
        relevance = ratings[some]
        yield Example(
            f"{seed}-{number}", (Turn("user", prompt),), tuple(texts[1][some]), relevance, np.zeros(len(relevance))
        )


def _resident() -> int:
    """The most bytes that this process has had resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _gpu_bytes(device: str) -> int:
    if device != "cuda":
        return 0
    import torch

    return int(torch.cuda.max_memory_allocated())


def _print_training(rows: dict[str, dict[str, Any]], options: argparse.Namespace) -> None:
    print(f"\nTraining, {options.workers} threads\n")
    columns = ["ranker", "device", "pairs", "words", "weights", "before the first epoch", "an epoch", "of all threads"]
    columns += ["scoring dev", "memory, data", "at most"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * 2}{'---:|' * (len(columns) - 2)}")
    for name, row in rows.items():
        if "failed" in row:
            print(f"| {name} | {row['failed']} |" + " |" * 9)
            continue
        epoch = float(np.median(row["epoch_s"]))
        gpu = f" (GPU: {row['gpu_bytes'] / 1e6:,.0f} MB)" if row["gpu_bytes"] else ""
        print(
            f"| {name} | {row['device']} | {row['pairs']:,} | {row['words']:,} | {row['parameters']:,} | {row['start_s']:.1f} s "
            f"| {epoch:.1f} s = {epoch / 60:.2f} min | {float(np.median(row['epoch_cpu_s'])):.1f} s "
            f"| {row['dev_s']:.1f} s | {row['data_bytes'] / 1e6:,.0f} MB "
            f"| {row['peak_bytes'] / 1e6:,.0f} MB{gpu} |"
        )


def _print_inference(rows: dict[str, dict[str, Any]], options: argparse.Namespace) -> None:
    print(f"\nInference, trained on {options.small} prompts\n")
    print("| ranker | candidates a second | µs a candidate | memory at most |\n|---|---:|---:|---:|")
    order: Sequence[tuple[str, dict[str, Any]]] = sorted(
        rows.items(), key=lambda item: item[1].get("seconds", float("inf")) / item[1].get("candidates", 1)
    )
    for name, row in order:
        if "failed" in row:
            print(f"| {name} | {' '.join(str(row['failed']).split())} | | |")
            continue
        each = row["seconds"] / row["candidates"]
        print(f"| {name} | {1 / each:,.0f} | {each * 1e6:,.1f} | {row['peak_bytes'] / 1e6:,.0f} MB |")


if __name__ == "__main__":
    main()
