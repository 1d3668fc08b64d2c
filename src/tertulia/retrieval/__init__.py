"""Retrieval: the matching score over a memory-mapped index."""

from tertulia.retrieval.matching import MatchingIndex
from tertulia.retrieval.query import Match

__all__ = ["Match", "MatchingIndex"]
