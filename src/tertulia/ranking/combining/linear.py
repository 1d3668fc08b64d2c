"""Weighted sums of scores: learned from pairs within a context, or from the relevance of each candidate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError, MissingExtraError
from tertulia.ranking.combining.inputs import standardised_within
from tertulia.ranking.features.feature_set import RELATIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.combining.inputs import Inputs, Labels

__all__ = ["WeightedSum", "fit_pairs", "fit_values"]

_STRENGTHS = (10.0, 1.0, 0.1, 0.01, 0.001)
# So many pairs' differences are held at once.
_BLOCK = 1 << 21
_STEPS = 200


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """A sum over columns, standardised by their ``mean`` and ``deviation``.

    ``inputs`` is ``scores`` (members within their context), or ``all`` (relative features as well), or ``values`` (members within
    and across contexts, and all features).
    """

    inputs: str
    weights: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def combine(self, inputs: Inputs) -> NDArray[np.float64]:
        """One score for each row."""
        columns = (_columns(self.inputs, inputs) - self.mean) / self.deviation
        # Not a matrix product, whose order of summation depends on how many rows there are.
        total = np.zeros(len(columns))
        for place, weight in enumerate(self.weights.tolist()):
            total += columns[:, place] * weight
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What ``of_arrays`` takes, besides ``inputs``."""
        return {"weights": self.weights, "mean": self.mean, "deviation": self.deviation}

    @classmethod
    def of_arrays(
        cls, inputs: str, arrays: Mapping[str, NDArray[Any]], members: int, names: Sequence[str]
    ) -> WeightedSum:
        """The sum that was kept, over so many members and features of these names.

        Raises
        ------
        ArtefactError
            The arrays are not those of such a sum.
        """
        sizes = {
            "scores": members,
            "all": members + len(_relative(names)),
            "values": 2 * members + len(names),
        }
        shape = (sizes.get(inputs),)
        found = [
            np.asarray(arrays.get(name, np.zeros(0)), dtype=np.float64) for name in ("weights", "mean", "deviation")
        ]
        if any(one.shape != shape or not np.isfinite(one).all() for one in found) or not (found[2] > 0).all():
            raise ArtefactError(f"the weights of the sum over {inputs!r} are not {shape[0]} finite numbers")
        return cls(inputs, *found)


def _columns(which: str, inputs: Inputs) -> NDArray[np.float64]:
    within = standardised_within(inputs.scores, inputs.offsets)
    if which == "scores":
        return within
    if which == "all":
        return np.concatenate([within, inputs.features[:, _relative(inputs.names)]], axis=1)
    return np.concatenate([within, inputs.scores, inputs.features], axis=1)


def _relative(names: Sequence[str]) -> list[int]:
    """The columns of the features that are told relative to the context."""
    return [place for place, name in enumerate(names) if name.endswith(RELATIVE)]


def fit_pairs(which: str, inputs: Inputs, labels: Labels) -> list[tuple[str, WeightedSum]]:
    """Weights by logistic regression on pairs of candidates of one context, for each of several strengths of regularisation.

    A pair counts by the difference in relevance, and by how sure its order is where relevance is an estimate; a context's pairs
    count 1 together. Weights are drawn towards equal ones for all members and none for features: with the strongest
    regularisation the sum is the mean of the members.

    Raises
    ------
    MissingExtraError
        scipy is not installed.
    """
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise MissingExtraError("combining rankers", package="scipy", extra="full") from None

    columns = _columns(which, inputs)
    members, width = len(inputs.members), columns.shape[1]
    # The weights are a common one for all members, and a deviation from it for each column.
    together = columns[:, :members].sum(axis=1) / max(1, members)
    design = np.concatenate([together[:, None], columns], axis=1)
    slope = _pair_slope(inputs.offsets, labels)
    found, start = [], np.zeros(width + 1)
    for strength in _STRENGTHS:

        def loss(point: NDArray[np.float64], strength: float = strength) -> tuple[float, NDArray[np.float64]]:
            value, gradient = slope(design @ point)
            total = design.T @ gradient
            total[1:] += strength * point[1:]
            return value + strength / 2 * float(point[1:] @ point[1:]), total

        result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        start = np.asarray(result.x, dtype=np.float64)
        weights = start[1:].copy()
        weights[:members] += start[0] / max(1, members)
        found.append((f"{strength:g}", WeightedSum(which, weights, np.zeros(width), np.ones(width))))
    return found


def _pair_slope(
    offsets: NDArray[np.int64], labels: Labels
) -> Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]:
    """Of scores of all rows: the mean over contexts of the logistic loss of their pairs, and its gradient."""
    blocks = list(_pair_blocks(offsets, labels))
    total = sum(float(weights.sum()) for _, weights in blocks)

    def slope(scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = 0.0, np.zeros(len(scores))
        for rows, weights in blocks:
            difference = scores[rows][:, :, None] - scores[rows][:, None, :]
            value += float((weights * np.logaddexp(0, -difference)).sum())
            pull = weights / (1 + np.exp(np.clip(difference, -500, 500)))
            gradient[rows] -= pull.sum(axis=2) - pull.sum(axis=1)
        return value / max(total, 1e-300), gradient / max(total, 1e-300)

    return slope


def _pair_blocks(offsets: NDArray[np.int64], labels: Labels) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Contexts of equal size together: their rows (contexts, size), and a weight for each pair of which the first is better."""
    found = []
    sizes = np.diff(offsets)
    for size in np.unique(sizes[sizes > 1]).tolist():
        of_size = np.flatnonzero(sizes == size)
        step = max(1, _BLOCK // size**2)
        for begin in range(0, len(of_size), step):
            rows = offsets[of_size[begin : begin + step]][:, None] + np.arange(size)
            weights = _pair_weights(labels.relevance[rows], labels.deviation[rows])
            said = weights.sum(axis=(1, 2)) > 0
            weights[said] /= weights[said].sum(axis=(1, 2), keepdims=True)
            if said.any():
                found.append((rows[said], weights[said]))
    return found


def _pair_weights(relevance: NDArray[np.float64], deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """(contexts, size, size): the difference in relevance where the first is better, times 2 P(it truly is) − 1."""
    gap = np.maximum(relevance[:, :, None] - relevance[:, None, :], 0)
    noise = np.sqrt(deviation[:, :, None] ** 2 + deviation[:, None, :] ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(noise > 0, gap / noise, np.inf)
    # 2 Φ(x) − 1, near enough by the logistic curve: the weights need no more.
    return gap * np.tanh(ratio * math.sqrt(2 / math.pi))


def fit_values(inputs: Inputs, labels: Labels) -> list[tuple[str, WeightedSum]]:
    """Weights by ridge regression of the relevance of every candidate, for each of several strengths of regularisation.

    Contexts whose candidates are all equally relevant, of which pairs say nothing, count here too.
    """
    columns = _columns("values", inputs)
    mean = columns.mean(axis=0)
    deviation = columns.std(axis=0)
    deviation[deviation < 1e-9] = 1.0
    design = (columns - mean) / deviation
    sureness = 1 / (labels.deviation**2 + labels.relevance.var() + 1e-9)
    sureness /= sureness.mean()
    target = labels.relevance - float((sureness * labels.relevance).sum() / sureness.sum())
    gram = (design * sureness[:, None]).T @ design / len(design)
    moment = (design * sureness[:, None]).T @ target / len(design)
    return [
        (
            f"{strength:g}",
            WeightedSum("values", np.linalg.solve(gram + strength * np.eye(len(gram)), moment), mean, deviation),
        )
        for strength in _STRENGTHS
    ]
