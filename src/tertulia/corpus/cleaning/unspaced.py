"""Chinese that was segmented with spaces, read without them; places lead back to the text as it was."""

from __future__ import annotations

import re

__all__ = ["Unspaced", "has_han", "to_half_width"]

_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ANY_HAN = re.compile(f"[{_HAN}]")
# A space with a Chinese character or Chinese punctuation on one side parts nothing.
_SPACE = re.compile(rf"(?<=[{_HAN}，。！？：；、])\s+|\s+(?=[{_HAN}，。！？：；、])")
# Full-width letters, digits and signs, and the ideographic space: one character for one.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_FULL_WIDTH = re.compile("[\uff01-\uff5e\u3000]")


def has_han(text: str) -> bool:
    """Whether a text has a Chinese character."""
    return not text.isascii() and _ANY_HAN.search(text) is not None


def to_half_width(text: str) -> str:
    """The text with full-width letters, digits and signs as ASCII, in the same places."""
    return text if text.isascii() or _FULL_WIDTH.search(text) is None else text.translate(_HALF_WIDTH)


class Unspaced:
    """``text`` is a text without the spaces that part nothing."""

    def __init__(self, text: str) -> None:
        self._gaps: list[tuple[int, int]] = []
        pieces: list[str] = []
        done = removed = 0
        for match in _SPACE.finditer(text):
            pieces.append(text[done : match.start()])
            self._gaps.append((match.start() - removed, len(match[0])))
            removed += len(match[0])
            done = match.end()
        pieces.append(text[done:])
        self.text = "".join(pieces)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text (end exclusive, not empty) that a span of ``text`` comes from."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, place: int) -> int:
        return place + sum(length for gap, length in self._gaps if gap <= place)
