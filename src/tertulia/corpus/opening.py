"""Whatever stands at a path, a corpus or a ranking set, opened as what it is."""

from __future__ import annotations

from pathlib import Path

from tertulia.artefact import read_manifest
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet
from tertulia.corpus.store import KIND, Corpus
from tertulia.errors import ArtefactError

__all__ = ["open_collection"]


def open_collection(path: str | Path, *, check_digests: bool = False) -> Corpus | RankingSet:
    """The corpus or ranking set at ``path``, open for reading.

    Raises
    ------
    InputError
        There is nothing at this path.
    ArtefactError
        It is an artefact of another kind, or none.
    """
    kind = read_manifest(path).kind
    if kind == RANKING_SET:
        return RankingSet(path, check_digests=check_digests)
    if kind == KIND:
        return Corpus(path, check_digests=check_digests)
    raise ArtefactError(f"is a {kind}; expected a {KIND} or a {RANKING_SET}", where=path)
