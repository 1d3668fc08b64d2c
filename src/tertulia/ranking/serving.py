"""A trained ranker as a bot asks it: one conversation, some texts, a score for each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tertulia.artefact import read_manifest
from tertulia.corpus.model import Turn
from tertulia.errors import ArtefactError
from tertulia.ranking.examples import Example
from tertulia.ranking.model import RANKER, load_ranker

if TYPE_CHECKING:
    from tertulia.corpus.model import Role
    from tertulia.ranking.ranker import Ranker

__all__ = ["TrainedReranker", "open_reranker"]

_ID = "turn"


class TrainedReranker:
    """A ranker behind the question that a bot has (``tertulia.bot.reranking.Reranker``)."""

    def __init__(self, ranker: Ranker) -> None:
        self.name = ranker.name
        self._ranker = ranker

    def rerank(self, turns: Sequence[tuple[str, str]], texts: Sequence[str]) -> list[float]:
        """A score for each text as the answer to the turns, which are pairs of role and text, the last one last."""
        nobody = np.full(len(texts), np.nan)
        said = tuple(Turn(cast("Role", role), text) for role, text in turns)
        [scores] = self._ranker.score([Example(_ID, said, tuple(texts), nobody, np.zeros(len(texts)))])
        return [float(score) for score in scores]


def open_reranker(path: Path, language: str) -> TrainedReranker:
    """The trained ranker at a path, for a bot of this language. It has scored once: the first turn waits for nothing.

    Raises
    ------
    ArtefactError
        It is no ranker, damaged, or was trained on texts of another language.
    InputError
        There is nothing.
    MissingExtraError
        It needs a package that is not installed.
    """
    manifest = read_manifest(path, RANKER)
    wording = manifest.details.get("wording")
    spoken = wording.get("language") if isinstance(wording, dict) else None
    if spoken != language:
        raise ArtefactError(
            f"is a ranker of texts in the language {spoken!r}; the bot's is {language!r}",
            where=path,
            hint=f"train one with --language {language}",
        )
    opened = TrainedReranker(load_ranker(path))
    opened.rerank([("user", "hello"), ("agent", "hello"), ("user", "how are you")], ["well", "and you"])
    return opened
