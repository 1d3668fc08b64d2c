"""From a text to its words, one tokenizer a language; an index's manifest names the one that made it."""

from __future__ import annotations

import re
from typing import Protocol

from tertulia.errors import ConfigurationError

__all__ = ["TOKENIZERS", "ChineseTokenizer", "EnglishTokenizer", "Tokenizer", "fold_apostrophes", "tokenizer_for"]

_ENGLISH_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)*")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
_HAS_WORD_CHARACTER = re.compile(r"[^\W_]")


class Tokenizer(Protocol):
    """Gives the words of a text, in order, with repetitions; a word is never empty and can be encoded as UTF-8."""

    name: str

    def words(self, text: str) -> list[str]:
        """The words of ``text``."""


def fold_apostrophes(text: str) -> str:
    """The text with the typographic apostrophes U+2018, U+2019 and U+02BC as ``'``."""
    return text.translate(_APOSTROPHES)


class EnglishTokenizer:
    """Lower case, folded apostrophes, then runs of letters and digits, with what an apostrophe joins to them.

    The definition is the pattern ``[^\\W_]+(?:'[^\\W\\d_]+)*`` of :mod:`re` over ``text.lower()``: ``"Don't"`` is one
    word, ``"rock'n'roll"`` too, the plural in ``"the 90's"`` stays with its number, and a quotation mark never does.
    """

    name = "english-1"

    def words(self, text: str) -> list[str]:
        """The words of ``text``."""
        lowered = text.lower()
        if not lowered.isascii():
            lowered = fold_apostrophes(lowered)
        return _ENGLISH_WORD.findall(lowered)


class ChineseTokenizer:
    """The segmentation of rjieba, in lower case, without what holds no letter, digit or ideograph."""

    name = "chinese-rjieba-1"

    def words(self, text: str) -> list[str]:
        """The words of ``text``."""
        import rjieba  # its dictionary loads with the first text; an English bank never needs it

        # rjieba is given valid Unicode: a lone surrogate, which UTF-8 cannot hold, separates words like a space.
        valid = text.lower().encode("utf-8", "replace").decode("utf-8")
        return [word for word in rjieba.cut(valid) if _HAS_WORD_CHARACTER.search(word)]


TOKENIZERS: dict[str, type[Tokenizer]] = {"en": EnglishTokenizer, "zh": ChineseTokenizer}


def tokenizer_for(language: str) -> Tokenizer:
    """The tokenizer of a language.

    Raises
    ------
    ConfigurationError
        There is none for the language.
    """
    try:
        return TOKENIZERS[language]()
    except KeyError:
        known = ", ".join(sorted(TOKENIZERS))
        raise ConfigurationError(f"there is no tokenizer for {language!r}; expected one of {known}") from None
