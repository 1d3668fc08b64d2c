"""Which contexts of a ranking set a command is about: those of a split, or all; and what a ranker says of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.errors import InputError
from tertulia.ranking.examples import DEV, TEST, TRAIN, Example, example_of, load_splits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.ranking.ranker import Progress, Ranker

__all__ = ["ALL", "Selection", "context_ids", "score_examples", "select"]

ALL = "all"
"""In the place of a split's name: every context, whatever its split."""
# Rankers that encode texts do so a batch at a time; no more than this is held.
_AT_ONCE = 512


class Selection(NamedTuple):
    """Examples, to be gone through once; how many there are; and how the set came to be divided, where it has no such splits."""

    examples: Iterable[Example]
    total: int
    how: str | None


def select(source: RankingSet, split: str, *, seed: int = 0) -> Selection:
    """The examples of a split, or with ``ALL`` of the whole set, streaming.

    Where training divides a set itself (``load_splits``), this is the same division, and the set is in memory.

    Raises
    ------
    InputError
        The set has no such split, or no context at all.
    """
    counts: dict[str | None, int] = {}
    for batch in source.batches("contexts", ["split"]):
        for found in batch.column("split").value_counts().to_pylist():
            counts[found["values"]] = counts.get(found["values"], 0) + found["counts"]
    if not counts:
        raise InputError("has no context", where=source.path)
    total = sum(counts.values())
    if split == ALL:
        return Selection((example_of(record) for record in source.records()), total, None)
    if _is_divided(split, counts):
        splits = load_splits(source, seed=seed)
        examples: list[Example] = getattr(splits, split)
        return Selection(examples, len(examples), splits.how)
    if split in counts:
        chosen = (example_of(record) for record in source.records() if record.context.split == split)
        return Selection(chosen, counts[split], None)
    named = sorted(name for name in counts if name is not None)
    there = f"it has {', '.join(named)}" if named else "it has no splits"
    raise InputError(f"has no split {split!r}; {there}", where=source.path, hint=f"--split {ALL} takes every context")


def _is_divided(split: str, there: Container[str | None]) -> bool:
    """Whether ``load_splits`` makes this split itself: all three of a set without train and test, else dev and train."""
    if split not in (TRAIN, DEV, TEST):
        return False
    return (TRAIN not in there and TEST not in there) or (DEV not in there and split != TEST)


def context_ids(source: RankingSet) -> Iterator[str]:
    """The ids of all contexts."""
    for batch in source.batches("contexts", ["id"]):
        yield from batch.column("id").to_pylist()


def score_examples(
    ranker: Ranker, examples: Iterable[Example], progress: Progress = lambda _stage, _done, _total: None
) -> Iterator[tuple[Example, NDArray[np.float64]]]:
    """Each example with the scores of its candidates; the ranker does not see what anyone said of them.

    Raises
    ------
    InputError
        The ranker gave scores that are not as many as the candidates, or not finite.
    """
    waiting = iter(examples)
    while some := list(islice(waiting, _AT_ONCE)):
        found = ranker.score(map(_hidden, some))
        for example in some:
            scores = next(found, None)
            if scores is None or np.shape(scores) != (len(example),) or not np.isfinite(scores).all():
                raise InputError(
                    f"the ranker {ranker.name!r} gave the context {example.id!r} no finite score for each of its "
                    f"{len(example)} candidates"
                )
            progress("scoring", 1, None)
            yield example, np.asarray(scores, dtype=np.float64)


def _hidden(example: Example) -> Example:
    nothing = np.full(len(example), np.nan)
    return replace(example, relevance=nothing, deviation=np.zeros(len(example)))
