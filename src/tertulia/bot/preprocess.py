"""What happens to a message before any component sees it."""

from __future__ import annotations

import unicodedata

from tertulia.errors import InputError

__all__ = ["LONGEST_MESSAGE", "clean", "without_controls"]

LONGEST_MESSAGE = 4_000
"""The longest message, in characters; longer ones are refused."""

# Format characters that join letters of some scripts and emoji; all others of their category only hide things.
_JOINERS = {"\u200c", "\u200d"}


def clean(text: str) -> str:
    """A message as the agent takes it: valid Unicode (NFC), without control characters, outer space removed.

    Line breaks and tabs stay; other control characters, lone surrogates and invisible format characters become nothing.
    HTML is text like any other.

    Raises
    ------
    InputError
        The message is longer than ``LONGEST_MESSAGE`` or has no visible character.
    """
    if len(text) > LONGEST_MESSAGE:
        raise InputError(
            f"the message has {len(text):,} characters; the limit is {LONGEST_MESSAGE:,}", hint="say it in parts"
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    cleaned = unicodedata.normalize("NFC", without_controls(text)).strip()
    if not cleaned:
        raise InputError("the message is empty; expected some text")
    return cleaned


def without_controls(text: str) -> str:
    """A text without control characters but line breaks and tabs, lone surrogates and invisible format characters."""
    if text.isprintable():
        return text
    return "".join(character for character in text if _is_kept(character))


def _is_kept(character: str) -> bool:
    if character in "\n\t" or character in _JOINERS:
        return True
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs"}
