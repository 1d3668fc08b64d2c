"""Writing lines to one file a split, so that a file's name tells the split when it is read again."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TextIO

from tertulia.corpus.exchange import Report
from tertulia.errors import InputError
from tertulia.formats.files.context_ids import split_of

__all__ = ["SplitFiles"]

_NO_SPLIT = "data"
_MOST_FILES = 200


class SplitFiles:
    """The text files of a folder, opened when they are first asked for. Use as a context manager."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._folder = folder
        self._report = report
        self._files: dict[str, TextIO] = {}
        folder.mkdir()

    def __enter__(self) -> SplitFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def get(self, split: str | None, ending: str) -> TextIO:
        """The file of a split, ``train.tsv`` for ``train`` and the ending ``.tsv``; ``data.tsv`` where there is no split.

        Raises
        ------
        InputError
            The split's name cannot be that of a file, or there are too many of them.
        """
        name = (_NO_SPLIT if split is None else split) + ending
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = self._open(split, name)
        return file

    def _open(self, split: str | None, name: str) -> TextIO:
        if split is not None:
            if not split.strip(" .") or "/" in split or "\\" in split or "\0" in split or len(name.encode()) > 200:
                raise InputError(f"a context has the split {split!r}, which cannot be the name of a file")
            if split_of(name) != split:
                self._report.skip("splits that a file's name does not tell when it is read again", split)
        if len(self._files) >= _MOST_FILES:
            raise InputError(f"the contexts have more than {_MOST_FILES // 2} splits; each takes a file of its own")
        return (self._folder / name).open("w", encoding="utf-8", newline="")

    def single(self, ending: str) -> Path | None:
        """The one file that was written where no context had a split; ``None`` where one had."""
        return self._folder / (_NO_SPLIT + ending) if list(self._files) == [_NO_SPLIT + ending] else None
