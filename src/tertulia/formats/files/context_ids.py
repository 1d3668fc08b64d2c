"""What files without ids of their own give a context: a running number, and the split that the file's name tells."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["ContextIds", "split_of"]

_WORDS = re.compile(r"[a-z]+")
_SPLITS = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "develop": "dev",
    "development": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "testing": "test",
}


def split_of(name: str) -> str | None:
    """The split that a file's name tells by one of its words: ``data_train_easy.tsv`` is ``train``, ``valid.tsv`` is ``dev``.

    ``None`` where no word does, or several do that contradict each other.
    """
    words = _WORDS.findall(name.rpartition("/")[2].lower())
    told = {_SPLITS[word] for word in words if word in _SPLITS}
    return told.pop() if len(told) == 1 else None


class ContextIds:
    """Numbers contexts within their split in the order in which they stand: ``00000001``, or ``train-00000001``."""

    def __init__(self) -> None:
        self._counts: Counter[str | None] = Counter()

    def next(self, split: str | None) -> str:
        """The id of the next context of a split."""
        self._counts[split] += 1
        number = f"{self._counts[split]:08d}"
        return number if split is None else f"{split}-{number}"
