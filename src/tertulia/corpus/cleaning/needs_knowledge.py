"""The filter ``needs-knowledge``: prompts that nobody can answer who does not know where and when they are asked.

The second filter of the human-rated corpus (Li et al. 2018) by rules: "What's the weather today in Beijing?".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from tertulia.corpus.cleaning import knowledge_chinese, knowledge_english
from tertulia.corpus.cleaning.filter import FilterBase, Hit
from tertulia.corpus.cleaning.unspaced import Unspaced, has_han, to_half_width

__all__ = ["NeedsKnowledge"]

_SPACES = re.compile(r"\s")
# Longer texts are no questions to a bot, but stories that hold one.
_LONGEST = 2_000


class NeedsKnowledge(FilterBase):
    """Finds questions for weather, time, date, place, traffic, stocks, prices, news and scores; each is a kind."""

    name: ClassVar[str] = "needs-knowledge"
    summary: ClassVar[str] = "prompts that ask for the weather, time, place, prices, news, ..., which a bot cannot know"
    prompts_only: ClassVar[bool] = True

    def __init__(self, language: str) -> None:
        self._chinese = language == "zh"

    def in_text(self, text: str) -> Sequence[Hit]:
        """The first question of that kind, with its span."""
        if len(text) > _LONGEST:
            return ()
        if self._chinese and has_han(text):
            hit = _in_chinese(text)
            if hit is not None:
                return (hit,)
        lower = text.lower().replace("’", "'")
        # Lower case is longer than upper case for a few letters; places would not lead back.
        if len(lower) != len(text) or knowledge_english.CUE.search(lower) is None:
            return ()
        plain = _SPACES.sub(" ", lower)
        for kind, cues, pattern in knowledge_english.QUESTIONS:
            # A plain loop: a generator for each kind and text would cost more than the search.
            for cue in cues:
                if cue in plain:
                    match = pattern.search(plain)
                    if match is not None:
                        return (Hit(kind, match.start(), match.end()),)
                    break
        return ()


def _in_chinese(text: str) -> Hit | None:
    compact = text.replace(" ", "")
    if knowledge_chinese.CUE.search(compact) is None:
        return None
    unspaced = Unspaced(to_half_width(text))
    for kind, pattern in knowledge_chinese.PATTERNS:
        match = pattern.search(unspaced.text)
        if match is not None:
            return Hit(kind, *unspaced.span(match.start(), match.end()))
    return None
