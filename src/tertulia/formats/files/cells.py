"""What stands in one cell of a tab-separated line: a text without tabs and line breaks, or a number.

Tabs and line breaks of a text are written as the symbols that Unicode has for them: ␉ (U+2409) for a tab, ␊ (U+240A) for a line
feed, ␍ (U+240D) for a carriage return; where a text has one of these symbols itself, ␛ (U+241B) stands before it. So a text
without any of them is written as it is, with no surprises from backslashes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tertulia.errors import InputError
from tertulia.formats.files.fields import found

__all__ = ["escape", "number", "spelled", "unescape"]

_SYMBOLS = {"\t": "␉", "\n": "␊", "\r": "␍"}
_CHARACTERS = {symbol: character for character, symbol in _SYMBOLS.items()}
_ESCAPE = "␛"
_TO_ESCAPE = re.compile("[\t\n\r␉␊␍␛]")
_TO_UNESCAPE = re.compile("␛([␉␊␍␛])|[␉␊␍]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_WHOLE = 1e15
# Far beyond any label or rating, and sums of such numbers stay finite.
_LARGEST = 1e100


def escape(text: str) -> str:
    """The cell for a text: without tabs, line feeds and carriage returns. ``unescape`` undoes it."""
    # Most texts hold nothing of the kind, which this finds out faster than a regular expression.
    if not ("\t" in text or "\n" in text or "\r" in text or (not text.isascii() and _has_symbols(text))):
        return text
    return _TO_ESCAPE.sub(lambda match: _SYMBOLS.get(match[0], _ESCAPE + match[0]), text)


def unescape(cell: str) -> str:
    """The text of a cell. A ``␛`` that stands before none of the four symbols is kept."""
    if cell.isascii() or not _has_symbols(cell):
        return cell
    return _TO_UNESCAPE.sub(lambda match: match[1] or _CHARACTERS[match[0]], cell)


def _has_symbols(text: str) -> bool:
    return "␉" in text or "␊" in text or "␍" in text or _ESCAPE in text


@lru_cache(1024)
def number(cell: str, what: str) -> float:
    """The number in a cell, white space around it left out; ``what`` names it in the error.

    Raises
    ------
    InputError
        It is no decimal number, or one beyond 10^100.
    """
    text = cell.strip()
    if _NUMBER.fullmatch(text):
        value = float(text)
        if abs(value) <= _LARGEST:
            return value
    raise InputError(f"the {what} holds {found(cell)}; expected a number")


def spelled(value: float) -> str:
    """A number as short as it can be: ``1`` for 1.0, ``0.5`` for 0.5."""
    if value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return repr(value)
