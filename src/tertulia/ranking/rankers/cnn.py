"""The ranker by convolutional encoders of prompt and response, after Severyn and Moschitti (2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tertulia.encoders.cnn import CnnEncoder
from tertulia.encoders.pairs import TextEncoder
from tertulia.ranking.ranker import Setting
from tertulia.ranking.rankers.pair_ranker import PAIR_SETTINGS, PairRanker

__all__ = ["Cnn"]


class Cnn(PairRanker):
    """Word vectors, convolutions over some words, the maximum of each feature map over the text."""

    name: ClassVar[str] = "cnn"
    summary: ClassVar[str] = "convolutional encoders of prompt and response, trained on the relevance"
    known_settings: ClassVar[Mapping[str, Setting]] = {
        **PAIR_SETTINGS,
        "hidden": Setting(300, "feature maps", low=1, high=10_000),
        "span": Setting(5, "the words that a filter sees", low=1, high=100),
    }

    @staticmethod
    def encoder(settings: Mapping[str, Any]) -> TextEncoder:
        """Convolutions and their maxima."""
        return CnnEncoder(settings["embedding"], settings["hidden"], settings["span"])
