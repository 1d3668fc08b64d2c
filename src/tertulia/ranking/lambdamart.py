"""LambdaMART: boosted regression trees whose gradients are those of the order of a context's candidates.

The trees are grown by LightGBM and kept as plain arrays: scoring needs NumPy only, and what is on disk is checked, number by
number, before anything follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tertulia.errors import InputError, MissingExtraError
from tertulia.ranking.features.grades import grades
from tertulia.ranking.importance import divided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["LambdaMart", "Trees"]

Quality = Callable[[Sequence["Example"], Iterable["NDArray[np.float64]"]], float]
_LARGEST_CONTEXT = 10_000
_STEP = 5
_SMOOTHED = 3
# Fewer trees than this are never best, whatever a small dev says by chance; so many are grown where dev says nothing.
_FEWEST, _BLIND = 40, 60
_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Trees:
    """Regression trees, one after another in arrays of the shape (nodes of all).

    ``roots`` (trees) are the numbers of the first nodes. A node with ``feature`` -1 is a leaf and gives ``value``; another one
    leads to the node ``left`` where the feature is at most ``threshold``, else to ``right``; both come after it.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, trees: Iterable[Mapping[str, Any]]) -> Self:
        """The trees that LightGBM describes."""
        nodes: list[tuple[int, float, int, int, float]] = []
        roots = []
        for tree in trees:
            roots.append(len(nodes))
            waiting: list[tuple[Mapping[str, Any], int, bool]] = [(tree["tree_structure"], -1, False)]
            while waiting:
                node, parent, on_left = waiting.pop()
                at = len(nodes)
                if parent >= 0:
                    feature, threshold, left, right, value = nodes[parent]
                    nodes[parent] = (feature, threshold, at if on_left else left, right if on_left else at, value)
                if "split_feature" in node:
                    nodes.append((node["split_feature"], node["threshold"], -1, -1, 0.0))
                    waiting += [(node["right_child"], at, False), (node["left_child"], at, True)]
                else:
                    nodes.append((-1, 0.0, -1, -1, node["leaf_value"]))
        columns: list[Any] = list(zip(*nodes, strict=True)) if nodes else [[]] * 5
        return cls(
            np.array(roots, dtype=np.int64),
            np.array(columns[0], dtype=np.int64),
            np.array(columns[1], dtype=np.float64),
            np.array(columns[2], dtype=np.int64),
            np.array(columns[3], dtype=np.int64),
            np.array(columns[4], dtype=np.float64),
        )

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """The sum of what the trees give each row: (rows, features) to (rows). A row does not depend on those beside it."""
        rows = max(1, _STEPS // max(1, len(self.roots)))
        found = [self._sums(matrix[start : start + rows]) for start in range(0, len(matrix), rows)]
        return np.concatenate([np.zeros(0), *found])

    def _sums(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        rows, width = matrix.shape
        flat = np.ascontiguousarray(matrix).reshape(-1)
        # Of every row in every tree the node it has come to; those at a leaf stay there.
        at = np.tile(self.roots, rows)
        offsets = np.repeat(np.arange(rows) * width, len(self.roots))
        moving = np.flatnonzero(self.feature[at] >= 0)
        while len(moving):
            node = at[moving]
            low = flat[offsets[moving] + self.feature[node]] <= self.threshold[node]
            node = np.where(low, self.left[node], self.right[node])
            at[moving] = node
            moving = moving[self.feature[node] >= 0]
        sums: NDArray[np.float64] = np.add.reduce(self.value[at].reshape(rows, len(self.roots)), axis=1)
        return sums

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> Self:
        """The trees that were written, of matrices of so many features.

        Raises
        ------
        KeyError
            An array is missing.
        ValueError
            They are no trees.
        """
        trees = cls(*(arrays[name] for name in cls.__slots__))
        nodes = len(trees.feature)
        whole = (trees.roots, trees.feature, trees.left, trees.right)
        real = (trees.threshold, trees.value)
        if any(each.dtype != np.int64 or each.ndim != 1 for each in whole) or any(
            each.dtype != np.float64 or each.ndim != 1 or not np.isfinite(each).all() for each in real
        ):
            raise ValueError("trees of the wrong kind of numbers")
        if not all(len(each) == nodes for each in (*whole[1:], *real)):
            raise ValueError("trees of unequal lengths")
        inner = np.flatnonzero(trees.feature >= 0)
        children = np.concatenate([trees.left[inner], trees.right[inner]])
        # Children come after their parents, so that every path ends.
        holds = (
            (trees.feature >= -1).all()
            and (trees.feature < width).all()
            and (children > np.concatenate([inner, inner])).all()
            and (children < nodes).all()
            and (trees.roots >= 0).all()
            and (trees.roots < nodes).all()
        )
        if not holds or np.abs(trees.value).max(initial=0.0) > 1e100:
            raise ValueError("nodes that lead nowhere")
        return trees


@dataclass(frozen=True, slots=True)
class LambdaMart:
    """Fitted trees, and how the fit went: ``quality`` on dev (``None`` without dev) after ``rounds`` rounds."""

    trees: Trees
    rounds: int
    quality: float | None

    @classmethod
    def fit(
        cls,
        matrix: NDArray[np.float32],
        train: Sequence[Example],
        dev_matrix: NDArray[np.float32],
        dev: Sequence[Example],
        quality: Quality,
        *,
        rounds: int = 500,
        learning_rate: float = 0.05,
        leaves: int = 15,
        least: int = 20,
        patience: int = 100,
        share: float = 0.5,
        penalty: float = 5.0,
        seed: int = 0,
        workers: int = 1,
        progress: Callable[[str, int, int | None], None] = lambda _stage, _done, _total: None,
    ) -> Self:
        """Grow trees on train until dev has not become better for ``patience`` rounds; the best number of rounds is kept.

        Burges, "From RankNet to LambdaRank to LambdaMART" (2010), as LightGBM has it, with gains linear in relevance. What is
        looked at on dev is the mean of ``quality`` over the last few looks: a single one is noise where dev is small. Without
        dev, or where all orders of it are worth the same, 60 rounds are grown.

        Parameters
        ----------
        matrix, dev_matrix:
            Features of all candidates of train, of dev: (candidates, features), finite.
        leaves, least:
            Leaves of a tree at most; candidates in a leaf at least, and never more than a twentieth of all.
        share:
            Of features, for each tree.
        penalty:
            Of the squared values of leaves.

        Raises
        ------
        InputError
            No train context has a better and a worse candidate.
        MissingExtraError
            LightGBM is not installed.
        """
        try:
            import lightgbm
        except ImportError:
            raise MissingExtraError("LambdaMART", package="lightgbm", extra="full") from None
        rows, groups, graded = _material(train)
        options = {
            "objective": "lambdarank",
            "learning_rate": learning_rate,
            "num_leaves": leaves,
            "min_data_in_leaf": max(1, min(least, len(rows) // 20)),
            "feature_fraction": share,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "lambda_l2": penalty,
            "lambdarank_truncation_level": 10,
            # The size of gains does not matter to the order of lambdas, but to the second derivative's rounding.
            "label_gain": (graded.gains * 3.0).tolist(),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": workers,
            "seed": seed & 0x7FFFFFFF,
            "verbose": -1,
        }
        used = matrix if len(rows) == len(matrix) else matrix[rows]
        data = lightgbm.Dataset(used, label=graded.labels[rows], group=groups, params={"verbose": -1})
        booster = lightgbm.Booster(options, data)
        best, best_rounds = -np.inf, min(rounds, _BLIND)
        looks: list[float] = []
        sums = np.zeros(len(dev_matrix))
        for done in range(1, rounds + 1):
            progress("trees", 1, rounds)
            if booster.update():
                best_rounds = min(best_rounds, done)
                break
            if not dev and done >= best_rounds:
                break
            if not dev or done % _STEP:
                continue
            sums += booster.predict(dev_matrix, start_iteration=done - _STEP, num_iteration=_STEP)
            looks.append(quality(dev, divided(sums, dev)))
            if done == _BLIND and len(set(looks)) == 1:
                best, best_rounds = -np.inf, done
                break
            smooth = float(np.mean(looks[-_SMOOTHED:]))
            if done < min(rounds, _FEWEST):
                continue
            if smooth > best + 1e-9:
                best, best_rounds = smooth, done
            elif done - best_rounds >= patience:
                break
        described = booster.dump_model(num_iteration=best_rounds)["tree_info"]
        return cls(Trees.of(described), len(described), best if np.isfinite(best) else None)

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scores of rows: (rows, features) to (rows)."""
        return self.trees.predict(matrix)


def _material(train: Sequence[Example]) -> tuple[NDArray[np.int64], list[int], Any]:
    """Rows of the contexts that have a better and a worse candidate, the sizes of these, and the grades of all candidates."""
    graded = grades(train)
    rows: list[NDArray[np.int64]] = []
    groups: list[int] = []
    start = 0
    for example in train:
        stop = start + len(example)
        if len(np.unique(graded.labels[start:stop])) > 1:
            for at in range(start, stop, _LARGEST_CONTEXT):
                rows.append(np.arange(at, min(stop, at + _LARGEST_CONTEXT)))
                groups.append(len(rows[-1]))
        start = stop
    if not rows:
        raise InputError("there is nothing to learn from: no train context has a better and a worse candidate")
    return np.concatenate(rows), groups, graded
