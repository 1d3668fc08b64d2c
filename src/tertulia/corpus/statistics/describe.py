"""The statistics of whatever collection stands at a path: a corpus or a ranking set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tertulia.artefact import read_manifest
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.corpus.statistics.ranking import ranking_statistics
from tertulia.corpus.statistics.text_counts import Progress
from tertulia.corpus.store import KIND, Corpus
from tertulia.errors import ArtefactError

__all__ = ["collection_statistics", "records_of"]


def records_of(path: str | Path) -> str:
    """What the records at a path are called: ``"dialogues"`` of a corpus, ``"contexts"`` of a ranking set.

    Raises
    ------
    ArtefactError
        Neither stands there.
    """
    kind = read_manifest(path).kind
    names = {KIND: "dialogues", RANKING_SET: "contexts"}
    if kind not in names:
        raise ArtefactError(f"is a {kind}; expected a corpus or a ranking set", where=path)
    return names[kind]


def collection_statistics(path: str | Path, progress: Progress | None = None, *, words: str = "auto") -> dict[str, Any]:
    """The statistics of the corpus or ranking set at ``path``, whose digests are checked first.

    ``progress`` is told of dialogues or contexts; for ``words`` and errors see
    :func:`~tertulia.corpus.statistics.dialogues.corpus_statistics`.
    """
    if records_of(path) == "dialogues":
        with Corpus(path, check_digests=True) as corpus:
            return corpus_statistics(corpus, progress, words=words)
    with RankingSet(path, check_digests=True) as ranking:
        return ranking_statistics(ranking, progress, words=words)
