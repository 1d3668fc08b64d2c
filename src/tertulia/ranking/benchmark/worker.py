"""The process that fits one ranker and scores with it: so that what goes wrong there goes wrong there alone."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tertulia.artefact import Manifest, create
from tertulia.errors import ConfigurationError, InputError, MissingExtraError, TertuliaError
from tertulia.ranking.benchmark.task import Task

if TYPE_CHECKING:
    from tertulia.ranking.examples import Splits

__all__ = ["FIT", "MODEL", "SCORES", "fit_task", "is_kept", "main", "score_task"]

FIT, SCORES = "benchmark-fit", "benchmark-scores"
MODEL = "model"
_EVERY_S = 0.5

Progress = Callable[[str, int, int | None], None]


def main(text: str) -> int:
    """Do the task that ``text`` (JSON) says; messages go as JSON lines to what was standard output.

    Whatever a ranker or its libraries print goes to standard error. When the process that started this one ends, so does this.
    """
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task = Task.from_json(text)
    try:
        _work(task, _teller(messages))
        _send(messages, outcome="done")
    except (MissingExtraError, ConfigurationError) as error:
        # A package, a model or a checkpoint is not there: nothing is wrong with the ranker.
        _send(messages, outcome="left out", reason=error.one_line())
    except TertuliaError as error:
        traceback.print_exc()
        _send(messages, outcome="failed", reason=error.one_line())
    except MemoryError:
        traceback.print_exc()
        _send(messages, outcome="failed", reason="ran out of memory")
    except Exception as error:
        # A ranker of another package may raise anything.
        traceback.print_exc()
        _send(messages, outcome="failed", reason=" ".join(f"{type(error).__name__}: {error}".split()))
    return 0


def _send(messages: TextIO, **message: Any) -> None:
    messages.write(json.dumps(message) + "\n")
    messages.flush()


def _end_with_parent() -> None:
    """Standard input ends when the parent does, however it does: then this process and what it started are killed."""
    while os.read(0, 1024):
        pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _teller(messages: TextIO) -> Progress:
    """A progress function that sends what has gathered now and then."""
    gathered: dict[str, int] = {}
    last = 0.0

    def tell(stage: str, done: int, total: int | None) -> None:
        nonlocal last
        fresh = stage not in gathered
        gathered[stage] = gathered.get(stage, 0) + done
        now = time.monotonic()
        if fresh or now - last >= _EVERY_S:
            last = now
            known = None if total is None else int(total)
            so_far = int(gathered[stage]) if known is None else min(int(gathered[stage]), known)
            _send(messages, stage=str(stage), done=so_far, total=known)

    return tell


def _work(task: Task, tell: Progress) -> None:
    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.ranking.examples import load_splits
    from tertulia.ranking.folds import load_folds

    tell("reading", 0, None)
    with RankingSet(task.set_path) as source:
        if task.folds is None:
            splits = load_splits(source, seed=task.split_seed)
        else:
            splits = load_folds(source, task.folds, seed=task.split_seed)[task.fold]
    if not is_kept(task.fit_directory, FIT):
        fit_task(task, splits, tell)
    if not is_kept(task.scores_directory, SCORES):
        score_task(task, splits, tell)


def is_kept(directory: Path, kind: str) -> bool:
    """Whether what was done before is there, and whole."""
    from tertulia.artefact import verify

    try:
        verify(directory, kind)
    except TertuliaError:
        return False
    return True


def fit_task(task: Task, splits: Splits, tell: Progress) -> None:
    """Fit the ranker and keep it with what the fit took."""
    from tertulia.ranking.model import save_ranker, write_json
    from tertulia.ranking.quality import map_at
    from tertulia.ranking.ranker import FitRun, Ranker
    from tertulia.ranking.registry import RANKERS
    from tertulia.ranking.wording import Wording

    factory: type[Ranker] = RANKERS.factory(task.system)
    ranker = factory(task.settings)
    run = FitRun(
        wording=Wording.from_json(task.wording),
        quality=map_at(task.cut),
        seed=task.seed,
        trials=task.trials,
        workers=task.workers,
        device=task.device,
        sentence_model=task.sentence_model,
        cache=Path(task.cache) / "vectors",
        trained={name: Path(path) for name, path in task.trained.items()},
        progress=tell,
    )
    before = _memory()
    began = _clocks()
    ranker.fit(splits.train, splits.dev, run)
    seconds, processor = _since(began)
    with create(task.fit_directory, Manifest(FIT, seed=task.seed), overwrite=True) as draft:
        save_ranker(
            ranker, draft.directory / MODEL, Manifest("ranker", seed=task.seed, details={"wording": task.wording})
        )
        size = sum(file.stat().st_size for file in (draft.directory / MODEL).rglob("*") if file.is_file())
        cost = {"seconds": seconds, "processor": processor, "bytes": size, "memory_before": before, **_memories()}
        write_json(draft.directory / "cost.json", cost)
        write_json(draft.directory / "report.json", {"settings": ranker.settings, "report": ranker.report()})


def score_task(task: Task, splits: Splits, tell: Progress) -> None:
    """Score the test split with the ranker as it was kept, relevance hidden, and keep the scores."""
    from tertulia.ranking.benchmark.protocols import protocol_of
    from tertulia.ranking.model import load_ranker, write_arrays, write_json

    ranker = load_ranker(task.fit_directory / MODEL)
    protocol = protocol_of(task.protocol, splits.test, pool=task.pool, seed=task.split_seed)
    # What is computed on first use (a tokenizer's tables, a library's kernels) is no cost of a candidate.
    for _ in ranker.score(protocol.hidden(splits.test[:1])):
        pass
    gathered, candidates = protocol.gatherer(), 0
    spent = processor = 0.0
    asked = protocol.hidden(splits.test)
    scored = iter(ranker.score(asked))
    for example in splits.test:
        began = _clocks()
        try:
            scores = next(scored)
        except StopIteration:
            raise InputError(f"the ranker {task.system!r} gave no scores for the context {example.id!r}") from None
        took = _since(began)
        spent, processor = spent + took[0], processor + took[1]
        candidates += gathered.take(example, _checked(task.system, example.id, scores))
        tell("scoring", 1, len(splits.test))
    if next(scored, None) is not None:
        raise InputError(f"the ranker {task.system!r} gave scores for more than {len(splits.test)} contexts")
    cost = {"seconds": spent, "processor": processor, "candidates": candidates, **_memories()}
    with create(task.scores_directory, Manifest(SCORES, seed=task.seed), overwrite=True) as draft:
        write_arrays(draft.directory / "scores.npz", gathered.arrays())
        write_json(draft.directory / "cost.json", cost)


def _checked(system: str, context: str, scores: Any) -> Any:
    import numpy as np

    found = np.asarray(scores)
    if found.ndim != 1 or found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise InputError(
            f"the ranker {system!r} gave the context {context!r} scores that are not all finite numbers in a row"
        )
    return found.astype(np.float64)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float]) -> tuple[float, float]:
    """Seconds of the clock, and of the processor: these hold where other programs run beside."""
    now = _clocks()
    return now[0] - began[0], now[1] - began[1]


def _memories() -> dict[str, int]:
    return {"memory": _memory(), "gpu": _gpu_memory()}


def _memory() -> int:
    """The most bytes of memory that this process has had."""
    try:
        # Not the maximum of getrusage, which a process takes over from the one that started it.
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def _gpu_memory() -> int:
    """The most bytes of a GPU that torch has held; 0 where it is not in use."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            return int(torch.cuda.max_memory_allocated())
    except Exception:
        return 0
    return 0
