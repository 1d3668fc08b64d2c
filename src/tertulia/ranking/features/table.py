"""The one table of features that are functions of a conversation and a response; their docstrings say what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tertulia.ranking.features import overlap, surface

if TYPE_CHECKING:
    from tertulia.ranking.features.texts import Conversation, Text

__all__ = ["PAIR_FEATURES", "PairFeature"]

PairFeature = Callable[["Conversation", "Text"], float]

PAIR_FEATURES: dict[str, PairFeature] = {
    "response_words": surface.response_words,
    "response_characters": surface.response_characters,
    "prompt_words": surface.prompt_words,
    "length_ratio": surface.length_ratio,
    "turns": surface.turns,
    "sentences": surface.sentences,
    "asks": surface.asks,
    "prompt_asks": surface.prompt_asks,
    "exclaims": surface.exclaims,
    "digits": surface.digits,
    "punctuation": surface.punctuation,
    "capitals": surface.capitals,
    "word_length": surface.word_length,
    "variety": surface.variety,
    "character_variety": surface.character_variety,
    "mean_idf": surface.mean_idf,
    "max_idf": surface.max_idf,
    "prompt_mean_idf": surface.prompt_mean_idf,
    "cosine": overlap.cosine,
    "before_cosine": overlap.before_cosine,
    "character_cosine": overlap.character_cosine,
    "dialogue_cosine": overlap.dialogue_cosine,
    "dialogue_character_cosine": overlap.dialogue_character_cosine,
    "bm25": overlap.bm25,
    "context_bm25": overlap.context_bm25,
    "shared_words": overlap.shared_words,
    "overlap": overlap.overlap,
    "prompt_covered": overlap.prompt_covered,
    "response_covered": overlap.response_covered,
    "dialogue_covered": overlap.dialogue_covered,
    "rarest_shared": overlap.rarest_shared,
    "dialogue_rarest_shared": overlap.dialogue_rarest_shared,
    "dialogue_shared": overlap.dialogue_shared,
    "common_subsequence": overlap.common_subsequence,
    "common_run": overlap.common_run,
    "echo": overlap.echo,
    "repeats": overlap.repeats,
    "same_opening": overlap.same_opening,
}
