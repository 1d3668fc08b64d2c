"""Boosted trees over scores and features: LambdaMART, which learns the order in a context, and regression of relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import MissingExtraError
from tertulia.ranking.combining.inputs import ranks_within, standardised_within
from tertulia.ranking.lambdamart import Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.combining.inputs import Inputs, Labels

__all__ = ["BAGS", "Boosted", "fit_trees", "tree_columns", "tree_names"]

_ROUNDS = (20, 50, 100, 200)
_GRADES = 31
BAGS = 3


@dataclass(frozen=True, slots=True)
class Boosted:
    """The mean of several boosted models that differ by their seed alone.

    ``inputs`` is ``scores`` (members alone) or ``all``; ``trees`` are those of all ``bags`` models together.
    """

    inputs: str
    trees: Trees
    bags: int

    def combine(self, inputs: Inputs) -> NDArray[np.float64]:
        """One score for each row."""
        return self.trees.predict(tree_columns(self.inputs, inputs)) / self.bags


def tree_names(which: str, members: tuple[str, ...], features: tuple[str, ...]) -> list[str]:
    """What the columns are: scores across contexts, within the context, ranks; then the features."""
    found = [f"{member}{what}" for what in ("", " (within)", " (rank)") for member in members]
    return found if which == "scores" else [*found, *features]


def tree_columns(which: str, inputs: Inputs) -> NDArray[np.float32]:
    """The matrix (rows, columns) that trees look at; the same numbers when they are grown and when they are followed."""
    within = standardised_within(inputs.scores, inputs.offsets)
    parts = [inputs.scores, within, ranks_within(inputs.scores, inputs.offsets)]
    return np.concatenate(parts if which == "scores" else [*parts, inputs.features], axis=1).astype(np.float32)


def fit_trees(
    objective: str, which: str, inputs: Inputs, labels: Labels, *, seed: int, workers: int, bags: int = BAGS
) -> list[tuple[str, Boosted]]:
    """Trees for each of several numbers of rounds; ``objective`` is ``order`` (LambdaMART) or ``value`` (squared error).

    Raises
    ------
    MissingExtraError
        LightGBM is not installed.
    """
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError("combining rankers by trees", package="lightgbm", extra="full") from None
    columns = tree_columns(which, inputs)
    rows = len(columns)
    parameters: dict[str, Any] = {
        "learning_rate": 0.06,
        "num_leaves": 7 if rows < 3_000 else 15,
        "min_data_in_leaf": int(np.clip(rows // 50, 5, 50)),
        "lambda_l2": 1.0,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": workers,
        "verbosity": -1,
        "max_bin": 63,
    }
    sizes = np.diff(inputs.offsets)
    if objective == "order":
        grades, gains = _grades(labels.relevance)
        parameters |= {
            "objective": "lambdarank",
            "label_gain": gains,
            "lambdarank_truncation_level": int(max(1, sizes.max(initial=1))),
        }
        data = {"label": grades, "group": sizes[sizes > 0]}
    else:
        sureness = 1 / (labels.deviation**2 + labels.relevance.var() + 1e-9)
        parameters |= {"objective": "regression"}
        data = {"label": labels.relevance, "weight": sureness / sureness.mean()}
    boosters = []
    for bag in range(bags):
        dataset = lightgbm.Dataset(columns, **data, params=parameters, free_raw_data=True)
        bagged = parameters | {"seed": (seed * BAGS + bag) % (1 << 31)}
        boosters.append(lightgbm.train(bagged, dataset, num_boost_round=_ROUNDS[-1]))
    return [(str(rounds), Boosted(which, _together(boosters, rounds), bags)) for rounds in _ROUNDS]


def _together(boosters: list[Any], rounds: int) -> Trees:
    return Trees.of(tree for booster in boosters for tree in booster.dump_model(num_iteration=rounds)["tree_info"])


def _grades(relevance: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[float]]:
    """Relevance from 0 to 1 as whole grades, with the gain of each: as many as there are values, 31 at most."""
    levels = np.unique(relevance)
    if len(levels) > _GRADES:
        levels = np.linspace(0, 1, _GRADES)
        return np.rint(relevance * (_GRADES - 1)).astype(np.int64), (levels * (_GRADES - 1)).tolist()
    return np.searchsorted(levels, relevance), (levels * (_GRADES - 1)).tolist()
