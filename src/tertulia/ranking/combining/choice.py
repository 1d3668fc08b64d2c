"""Which way to combine: each is tried by cross-validation, and the choice is made by the quality on the parts left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tertulia.ranking.combining.inputs import rows_of, standardised_within
from tertulia.ranking.combining.linear import WeightedSum, fit_pairs, fit_values
from tertulia.ranking.combining.trees import BAGS, fit_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.combining.inputs import Inputs, Labels
    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun

__all__ = [
    "WAYS",
    "Choice",
    "Combiner",
    "Effort",
    "Material",
    "Mixture",
    "Trial",
    "choose",
    "fit_way",
    "selected",
    "tried",
]


class Combiner(Protocol):
    """One score for each row of inputs."""

    def combine(self, inputs: Inputs) -> NDArray[np.float64]:
        """Shape: rows."""
        ...


Fit = Callable[["Inputs", "Labels", "Effort"], "list[tuple[str, Combiner]]"]
"""Of inputs and labels the combiner for each value of the one parameter of a way."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The seed, threads at most, and how many boosters that differ by seed alone are averaged."""

    seed: int
    workers: int
    bags: int = BAGS


def _pairs(which: str) -> Fit:
    return lambda inputs, labels, _effort: [*fit_pairs(which, inputs, labels)]


def _values(inputs: Inputs, labels: Labels, _effort: Effort) -> list[tuple[str, Combiner]]:
    return [*fit_values(inputs, labels)]


def _trees(objective: str, which: str) -> Fit:
    return lambda inputs, labels, effort: [
        *fit_trees(objective, which, inputs, labels, seed=effort.seed, workers=effort.workers, bags=effort.bags)
    ]


WAYS: dict[str, Fit] = {
    "pairs": _pairs("scores"),
    "pairs-features": _pairs("all"),
    "values": _values,
    "lambdamart": _trees("order", "all"),
    "lambdamart-scores": _trees("order", "scores"),
    "trees": _trees("value", "all"),
    "trees-scores": _trees("value", "scores"),
}
"""The ways to combine, by name."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The mean of several combiners, each standardised within the context."""

    parts: tuple[Combiner, ...]

    def combine(self, inputs: Inputs) -> NDArray[np.float64]:
        """One score for each row."""
        if len(self.parts) == 1:
            return self.parts[0].combine(inputs)
        columns = np.stack([part.combine(inputs) for part in self.parts], axis=1)
        return _mean_within(columns, inputs.offsets)


def _mean_within(columns: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    within = standardised_within(columns, offsets)
    total = np.zeros(len(within))
    for place in range(within.shape[1]):
        total += within[:, place]
    mean: NDArray[np.float64] = total / within.shape[1]
    return mean


def fit_way(way: str, inputs: Inputs, labels: Labels, effort: Effort) -> dict[str, Combiner]:
    """The combiners of a way fitted on all of the inputs, by the value of its parameter; ``member:NAME`` is a member alone."""
    if way.startswith(_MEMBER):
        weights = np.array([float(f"{_MEMBER}{member}" == way) for member in inputs.members])
        return {"": WeightedSum("scores", weights, np.zeros(len(weights)), np.ones(len(weights)))}
    return dict(WAYS[way](inputs, labels, effort))


_MEMBER = "member:"
_WITH_FEATURES = ("lambdamart", "trees", "pairs-features")
_WITHOUT = ("lambdamart-scores", "trees-scores", "pairs")
_MOST, _SURE = 4, 2.5


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """How a way did, at the best value of its parameter: the quality on contexts left out, and its scores of these."""

    way: str
    parameter: str
    quality: float
    scores: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Material:
    """What ways are tried on: inputs, labels, the examples they are of, the fold of each, and how good scores are."""

    inputs: Inputs
    labels: Labels
    examples: Sequence[Example]
    folds: NDArray[np.int64]
    quality: Callable[[Sequence[Example], list[NDArray[np.float64]]], float]

    def judged(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The quality of each context by itself (shape: contexts)."""
        parts = self.inputs.split(scores)
        return np.array([self.quality([one], [part]) for one, part in zip(self.examples, parts, strict=True)])

    def overall(self, scores: NDArray[np.float64]) -> float:
        """The quality of all contexts."""
        return self.quality(self.examples, self.inputs.split(scores))


def tried(material: Material, ways: Sequence[str], effort: Effort) -> Iterator[Trial]:
    """Each way at the value of its parameter that does best on contexts that were left out."""
    inputs, folds = material.inputs, material.folds
    for way in ways:
        found: dict[str, NDArray[np.float64]] = {}
        for fold in np.unique(folds).tolist():
            learned, left_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            part, rows = inputs.take(left_out), rows_of(inputs.offsets, left_out)
            fitted = fit_way(way, inputs.take(learned), material.labels.take(inputs.offsets, learned), effort)
            for parameter, combiner in fitted.items():
                scores = found.setdefault(parameter, np.zeros(int(inputs.offsets[-1])))
                scores[rows] = combiner.combine(part)
        overall = {parameter: material.overall(scores) for parameter, scores in found.items()}
        # The first of equals: the more regularised, the fewer rounds.
        best = max(overall, key=lambda parameter: overall[parameter])
        yield Trial(way, best, overall[best], found[best])


@dataclass(frozen=True, slots=True)
class Choice:
    """The combiner that was chosen and learned, and how every way did."""

    combiner: Mixture
    parts: tuple[tuple[str, str], ...]
    quality: float
    trials: tuple[Trial, ...]

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "chosen": [{"way": way, "parameter": parameter} for way, parameter in self.parts],
            "quality": self.quality,
            "ways": [
                {"way": trial.way, "parameter": trial.parameter, "quality": trial.quality} for trial in self.trials
            ],
        }


def choose(material: Material, inputs: Inputs, labels: Labels, combine: str, run: FitRun) -> Choice:
    """Try the ways (all, or the one that is named) on the material, choose, and learn the choice from inputs and labels."""
    ways = [combine] if combine != "auto" else [f"{_MEMBER}{name}" for name in material.inputs.members] + list(WAYS)
    trials = []
    for trial in tried(material, ways, Effort(run.seed, run.workers, bags=1)):
        trials.append(trial)
        run.progress("ways to combine", 1, len(ways))
    chosen = chosen_of(material, trials)
    quality = material.overall(_mixture(material, chosen))
    parts = tuple(
        fit_way(trial.way, inputs, labels, Effort(run.seed, run.workers))[trial.parameter] for trial in chosen
    )
    return Choice(Mixture(parts), tuple((trial.way, trial.parameter) for trial in chosen), quality, tuple(trials))


def chosen_of(material: Material, trials: Sequence[Trial]) -> list[Trial]:
    """Trials whose mean is to be used: a fixed mixture, unless another is surely better on contexts that were left out.

    The fixed one is of three ways that err differently: order by trees, value by trees, order by a sum. Picking what does best by
    cross-validation alone was worse on new contexts wherever there were few, the best one being then the best by chance.
    """
    by_way = {trial.way: trial for trial in trials}
    names = _WITH_FEATURES if material.inputs.names else _WITHOUT
    if not all(name in by_way for name in names):
        return list(trials)
    fixed, other = [by_way[name] for name in names], selected(material, trials)
    gain = material.judged(_mixture(material, other)) - material.judged(_mixture(material, fixed))
    # A paired t statistic; contexts that say nothing add to neither sum.
    return other if float(gain.sum()) > _SURE * float(np.sqrt((gain**2).sum())) else fixed


def selected(material: Material, trials: Sequence[Trial]) -> list[Trial]:
    """The best trial, and others as long as the mean gets better: ensemble selection after Caruana et al. (2004)."""
    chosen = [max(trials, key=lambda trial: trial.quality)]
    quality = chosen[0].quality
    while len(chosen) < min(_MOST, len(trials)):
        others = [trial for trial in trials if trial not in chosen]
        together = [material.overall(_mixture(material, [*chosen, other])) for other in others]
        best = max(range(len(others)), key=together.__getitem__)
        if together[best] <= quality:
            break
        chosen.append(others[best])
        quality = together[best]
    return chosen


def _mixture(material: Material, trials: Sequence[Trial]) -> NDArray[np.float64]:
    return _mean_within(np.stack([trial.scores for trial in trials], axis=1), material.inputs.offsets)
