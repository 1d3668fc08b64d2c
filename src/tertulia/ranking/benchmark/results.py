"""What the systems of a benchmark gave: values of every context and seed, first choices, costs, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.ranking.benchmark.comparing import replicate_means
from tertulia.ranking.benchmark.protocols import RankingProtocol
from tertulia.ranking.benchmark.worker import MODEL
from tertulia.ranking.model import read_arrays, read_json
from tertulia.ranking.votes import redrawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.measures.ranking_names import Measure
    from tertulia.ranking.benchmark.task import Task

__all__ = ["Cost", "SystemResult", "are_votes", "of_scores", "of_tasks", "redrawing"]

_DRAWS = 100


@dataclass(frozen=True)
class Cost:
    """What a fit and the scoring after it took: seconds of the clock and of the processor, bytes; ``gpu`` is memory of a GPU."""

    seed: int
    fit_seconds: float
    microseconds: float
    candidates: int
    fit_memory: int
    score_memory: int
    model_bytes: int
    gpu: int
    fit_processor: float = 0.0
    microseconds_processor: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """By the names of ``costs.csv``."""
        return {
            "seed": self.seed,
            "fit_seconds": self.fit_seconds,
            "microseconds_a_candidate": self.microseconds,
            "fit_processor_seconds": self.fit_processor,
            "processor_microseconds_a_candidate": self.microseconds_processor,
            "candidates": self.candidates,
            "fit_memory_bytes": self.fit_memory,
            "score_memory_bytes": self.score_memory,
            "model_bytes": self.model_bytes,
            "gpu_memory_bytes": self.gpu,
        }


@dataclass
class SystemResult:
    """A system that is in the table.

    ``values`` has the shape (seeds, measures, contexts); ``choices`` are the texts that the first seed put first, with their
    relevance. ``kept`` reads what was gathered of a seed (by its place) again. ``details`` has for each fit the settings that were
    chosen and what the ranker reports; ``note`` says what is odd about a run from outside.
    """

    name: str
    seeds: list[int]
    values: NDArray[np.float64]
    choices: list[tuple[str, float] | None]
    kept: Callable[[int], Mapping[str, NDArray[Any]]]
    costs: list[Cost] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)
    outside: bool = False
    note: str = ""


def of_tasks(
    parts: Sequence[RankingProtocol],
    protocol: RankingProtocol,
    measures: Sequence[Measure],
    tasks: Sequence[Sequence[Task]],
) -> SystemResult:
    """The result of a system from what its tasks have kept: of each seed one task for each fold.

    ``parts`` are the protocols of the folds, ``protocol`` that of all of them, one after the other.

    Raises
    ------
    ArtefactError
        What is there does not hold.
    """
    values = []
    choices: list[tuple[str, float] | None] = []
    for number, each in enumerate(tasks):
        kept = _scores(parts, protocol, each)
        values.append(protocol.measured(measures, kept, protocol.relevances))
        if number == 0:
            choices = protocol.choices(kept)
    return SystemResult(
        tasks[0][0].system,
        [each[0].seed for each in tasks],
        np.stack(values),
        choices,
        lambda number: _scores(parts, protocol, tasks[number]),
        [_cost(each) for each in tasks],
        [_details(task) for each in tasks for task in each],
    )


def _scores(
    parts: Sequence[RankingProtocol], protocol: RankingProtocol, tasks: Sequence[Task]
) -> Mapping[str, NDArray[Any]]:
    found = []
    for part, task in zip(parts, tasks, strict=True):
        kept = read_arrays(task.scores_directory / "scores.npz")
        part.check(kept)
        found.append(kept)
    joined = {name: np.concatenate([kept[name] for kept in found]) for name in found[0]}
    protocol.check(joined)
    return joined


def _cost(tasks: Sequence[Task]) -> Cost:
    """Of one seed: the mean of a fit over its folds, the most memory, all that was scored."""
    fits = [_object(task.fit_directory / "cost.json") for task in tasks]
    scorings = [_object(task.scores_directory / "cost.json") for task in tasks]
    candidates = sum(int(each["candidates"]) for each in scorings)
    return Cost(
        tasks[0].seed,
        sum(float(each["seconds"]) for each in fits) / len(fits),
        sum(float(each["seconds"]) for each in scorings) * 1e6 / max(1, candidates),
        candidates,
        max(int(each["memory"]) for each in fits),
        max(int(each["memory"]) for each in scorings),
        max(int(each["bytes"]) for each in fits),
        max(int(each["gpu"]) for each in [*fits, *scorings]),
        sum(float(each["processor"]) for each in fits) / len(fits),
        sum(float(each["processor"]) for each in scorings) * 1e6 / max(1, candidates),
    )


def _details(task: Task) -> dict[str, Any]:
    found = _object(task.fit_directory / "report.json")
    fold = {} if task.folds is None else {"fold": task.fold}
    return {"seed": task.seed, **fold, "settings": found["settings"], "report": found["report"]}


def _object(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict):
        raise ArtefactError(
            "does not hold what a benchmark keeps", where=path, hint="remove it, and run the command again"
        )
    return value


def model_of(task: Task) -> Path:
    """Where the fitted ranker of a task lies, as an artefact of its own."""
    return task.fit_directory / MODEL


def of_scores(
    protocol: RankingProtocol,
    measures: Sequence[Measure],
    name: str,
    kept: Mapping[str, NDArray[Any]],
    note: str,
) -> SystemResult:
    """The result of a system from outside, whose scores are at hand."""
    values = protocol.measured(measures, kept, protocol.relevances)[None]
    return SystemResult(name, [0], values, protocol.choices(kept), lambda _number: kept, outside=True, note=note)


def are_votes(protocol: RankingProtocol) -> bool:
    """Whether relevance is an estimate from votes, so that it is uncertain itself."""
    return any(bool((deviation > 0).any()) for deviation in protocol.deviations)


def redrawing(
    protocol: RankingProtocol,
    measures: Sequence[Measure],
    results: Sequence[SystemResult],
    replicates: int,
    seed: int,
    draws: int = _DRAWS,
) -> Callable[[int], NDArray[np.float64]]:
    """A function of the number of a system: the means of replicates in which relevance was drawn from its votes again.

    Of so many draws of relevance, the same for all systems, each serves an equal number of replicates, which draw contexts with
    replacement (the same for all systems too). Shape of what it gives: (replicates, measures).
    """
    draws = min(draws, replicates)

    def drawn(number: int) -> NDArray[np.float64]:
        result = results[number]
        kept = [result.kept(place) for place in range(len(result.seeds))]
        found = []
        for draw in range(draws):
            random = np.random.default_rng((seed, draw))
            relevances = [
                redrawn(relevance, deviation, random)
                for relevance, deviation in zip(protocol.relevances, protocol.deviations, strict=True)
            ]
            values = np.mean([protocol.measured(measures, each, relevances) for each in kept], axis=0)
            share = (
                (replicates + draw) // draws
                if draw
                else replicates - sum((replicates + other) // draws for other in range(1, draws))
            )
            found.append(replicate_means(values, share, (seed, draw, 1)))
        return np.concatenate(found)

    return drawn
