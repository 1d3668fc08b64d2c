"""How the commands that open bots hand them rankers: the rooms ``bot`` and ``ranking`` do not know each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tertulia.bot.reranking import Reranker

__all__ = ["open_reranker"]


def open_reranker(path: Path, language: str) -> Reranker:
    """As :func:`tertulia.ranking.serving.open_reranker`, which is imported where a bot names a ranker and not before."""
    from tertulia.ranking.serving import open_reranker as open_trained

    return open_trained(path, language)
