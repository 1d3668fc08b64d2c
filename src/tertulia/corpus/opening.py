"""A corpus or a ranking set, whichever it is: opened as what stands at a path, written as what its manifest says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest, read_manifest
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet, write_ranking_set
from tertulia.corpus.store import KIND, Corpus, write_corpus
from tertulia.errors import ArtefactError

__all__ = ["open_collection", "write_as_said"]


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


def write_as_said(
    path: str | Path, records: Iterable[Any], manifest: Manifest, *, overwrite: bool = False
) -> Corpus | RankingSet:
    """Write records as the corpus or ranking set that the manifest says they are.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written, or the manifest is of another kind.
    InputError
        Two records have the same id, or whatever the stream raises.
    """
    if manifest.kind == RANKING_SET:
        return write_ranking_set(path, records, manifest, overwrite=overwrite)
    return write_corpus(path, records, manifest, overwrite=overwrite)
