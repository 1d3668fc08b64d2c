"""Scores of train examples by rankers that have not seen them: folds by prompt, one fit for each.

What learns to combine rankers must see them as they are on new prompts. The scores that a fitted ranker gives to its own train
examples are no such thing: one that knows its labels by heart would look perfect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import InputError
from tertulia.ranking.grouping import folded_turns, group_numbers, question_of
from tertulia.ranking.negatives import seed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun, Ranker

__all__ = ["folds_of", "out_of_fold", "prompt_groups"]

# Contexts of one dialogue grow by a turn at a time, and begin alike.
_BEGINNING = 3


def prompt_groups(examples: Sequence[Example]) -> NDArray[np.int64]:
    """A number for each example (shape: examples), equal for those that must stay together.

    These are: equal turns, but for case and white space; contexts on one question (an equal, long first turn); and contexts of one
    dialogue, which begin with the same three turns or, where contexts were cut to their last turns, have two turns in a row in
    common and the same id but for what follows its last hyphen (``ranking build`` names a context ``{dialogue id}-{position}``).
    """
    return np.array(group_numbers(_keys(example) for example in examples), dtype=np.int64)


def _keys(example: Example) -> Iterator[tuple[str, ...]]:
    turns = folded_turns(turn.text for turn in example.turns)
    yield turns
    if (question := question_of(turns)) is not None:
        yield "question", question
    if len(turns) > _BEGINNING:
        yield turns[:_BEGINNING]
    dialogue = example.id.rpartition("-")[0]
    if dialogue:
        for pair in pairwise(turns):
            yield dialogue, *pair


def folds_of(examples: Sequence[Example], folds: int, *, seed: int = 0) -> NDArray[np.int64]:
    """The fold, from 0, of each example (shape: examples): about as many examples in each, no prompt or dialogue in two.

    The same examples in another order are divided the same way. Where so many belong together that a fold would be empty, only
    equal turns are kept together.

    Raises
    ------
    InputError
        There are fewer prompts than folds.
    """
    for groups in (prompt_groups(examples), _equal_turns(examples)):
        assigned = _assigned(examples, groups, folds, seed)
        if len(np.unique(assigned)) == folds:
            return assigned
    raise InputError(
        f"{len(np.unique(groups))} different prompts cannot be divided into {folds} folds; expected at least {folds}",
        hint="learn from more contexts",
    )


def _equal_turns(examples: Sequence[Example]) -> NDArray[np.int64]:
    seen: dict[object, int] = {}
    found = (seen.setdefault(next(_keys(example)), number) for number, example in enumerate(examples))
    return np.fromiter(found, np.int64, len(examples))


def _assigned(examples: Sequence[Example], groups: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """Groups to folds: the largest first, each to the fold that has fewest examples yet."""
    draws: dict[int, int] = {}
    for group, example in zip(groups.tolist(), examples, strict=True):
        draw = seed_of(seed, example.id)
        draws[group] = min(draw, draws.get(group, draw))
    sizes = Counter(groups.tolist())
    filled = [0] * folds
    fold_of: dict[int, int] = {}
    for group in sorted(sizes, key=lambda group: (-sizes[group], draws[group])):
        fold = filled.index(min(filled))
        fold_of[group] = fold
        filled[fold] += sizes[group]
    return np.array([fold_of[group] for group in groups.tolist()], dtype=np.int64).reshape(-1)


def out_of_fold(
    make: Callable[[], Ranker],
    train: Sequence[Example],
    dev: Sequence[Example],
    run: FitRun,
    folds: NDArray[np.int64],
) -> list[NDArray[np.float64]]:
    """Scores of every train example by a ranker that was fitted on the other folds; dev is what it stops early on.

    In a binary set the other folds are without the candidates that the fold has too (``without_borrowed`` says why).
    ``make`` gives a new ranker with the settings to use, which are not tuned again: ``run.trials`` does not count here.
    """
    # Features divide train into folds themselves.
    from tertulia.ranking.features.borrowed import without_borrowed

    scores: list[NDArray[np.float64]] = [np.zeros(0)] * len(train)
    # One after the other they would count the same stages again and again.
    alone = replace(run, trials=1, progress=lambda _stage, _done, _total: None)
    numbers = np.unique(folds).tolist()
    for fold in numbers:
        held_out = np.flatnonzero(folds == fold).tolist()
        ranker = make()
        left_out = [train[place] for place in held_out]
        others = [train[place] for place in np.flatnonzero(folds != fold).tolist()]
        ranker.fit(without_borrowed(others, left_out), dev, alone)
        for place, values in zip(held_out, ranker.score(left_out), strict=True):
            scores[place] = values
        run.progress("folds", 1, len(numbers))
    return scores
