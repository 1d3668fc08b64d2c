"""The ranker by bidirectional LSTM encoders of prompt and response, after Tan et al. (2015)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tertulia.encoders.bilstm import POOLINGS, BiLstmEncoder
from tertulia.encoders.pairs import TextEncoder
from tertulia.ranking.ranker import Setting
from tertulia.ranking.rankers.pair_ranker import PAIR_SETTINGS, PairRanker

__all__ = ["BiLstm"]


class BiLstm(PairRanker):
    """Word vectors, an LSTM in both directions, pooled over the words."""

    name: ClassVar[str] = "bilstm"
    summary: ClassVar[str] = "bidirectional LSTM encoders of prompt and response, trained on the relevance"
    known_settings: ClassVar[Mapping[str, Setting]] = {
        **PAIR_SETTINGS,
        "hidden": Setting(300, "the size of the LSTM's state in each direction", low=1, high=4_000),
        "pooling": Setting("max", "max or mean over the words, or the last states", choices=POOLINGS),
    }

    @staticmethod
    def encoder(settings: Mapping[str, Any]) -> TextEncoder:
        """A bidirectional LSTM."""
        return BiLstmEncoder(settings["embedding"], settings["hidden"], settings["pooling"])
