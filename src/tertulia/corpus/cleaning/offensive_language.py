"""The filter ``offensive``: offensive or adult language, by the lexicons of ``corpus/offensive.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tertulia.corpus.cleaning.filter import FilterBase, Hit, Setting
from tertulia.corpus.offensive import OffensiveFilter
from tertulia.errors import InputError

__all__ = ["OffensiveLanguage"]


class OffensiveLanguage(FilterBase):
    """Finds profanity, slurs, sexual language, violent threats and insults; each is a kind."""

    name: ClassVar[str] = "offensive"
    summary: ClassVar[str] = "offensive or adult language, English and Chinese"
    maskable: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, Setting]] = {
        "words": Setting("", "a file of further words or phrases, one a line"),
    }

    def __init__(self, language: str, words: str = "") -> None:
        self._filter = OffensiveFilter(language, _terms(Path(words)) if words else ())

    def in_text(self, text: str) -> Sequence[Hit]:
        """The offensive spans."""
        if self._filter.objection(text) is None:
            return ()
        return [Hit(offence.category, offence.start, offence.end) for offence in self._filter.find(text)]


def _terms(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"cannot be read: {reason}", where=path, hint="expected a text of one word a line") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
