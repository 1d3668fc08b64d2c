"""Cross-validation: equal parts, each of which is test once, so that every context is judged by a model that never saw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tertulia.corpus.parts.splitting import assign
from tertulia.errors import InputError, UsageError
from tertulia.ranking.examples import Example, Splits, belonging, order_key, read_examples

if TYPE_CHECKING:
    from tertulia.corpus.ranking_set import RankingSet

__all__ = ["FEWEST_FOLDS", "load_folds"]

FEWEST_FOLDS = 3
"""One part is test and one is dev; there must be another to train on."""


def load_folds(source: RankingSet, folds: int, *, seed: int = 0) -> list[Splits]:
    """The same examples divided ``folds`` times: in turn each part is test, the next one is dev, and the others are train.

    Parts are equal but for what must stay together: contexts of equal turns or of one dialogue. Splits of the set are not looked
    at. With 10 folds each division is 80/10/10.

    Raises
    ------
    UsageError
        There are fewer than three folds.
    InputError
        There are fewer contexts (or groups of those that stay together) than folds.
    """
    if folds < FEWEST_FOLDS:
        raise UsageError(f"{folds} folds are asked for; expected at least {FEWEST_FOLDS}: one is test, one is dev")
    named, dialogues = read_examples(source)
    examples = sorted((example for part in named.values() for example in part), key=lambda example: example.id)
    groups = np.array(belonging(examples, dialogues), dtype=np.int64)
    order = np.array([order_key(seed, example.id) for example in examples], dtype=np.uint64)
    sizes = [len(examples) // folds + (number < len(examples) % folds) for number in range(folds)]
    parts = _parts(examples, assign(groups, order, sizes, in_order=False).tolist(), folds)
    if not all(parts):
        raise InputError(
            f"has {len(set(groups.tolist())):,} prompts, too few for {folds} folds",
            where=source.path,
            hint="ask for fewer",
        )
    how = f"{folds} folds by prompt, with the seed {seed}: each is test once, the next one is dev"
    return [_fold(parts, number, how) for number in range(folds)]


def _parts(examples: list[Example], numbers: list[int], folds: int) -> list[list[Example]]:
    parts: list[list[Example]] = [[] for _ in range(folds)]
    for example, number in zip(examples, numbers, strict=True):
        parts[number].append(example)
    return parts


def _fold(parts: list[list[Example]], number: int, how: str) -> Splits:
    dev = (number + 1) % len(parts)
    train = [example for other, part in enumerate(parts) if other not in (number, dev) for example in part]
    return Splits(train, parts[dev], parts[number], how)
