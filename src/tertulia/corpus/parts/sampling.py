"""A part of a corpus or ranking set: those of some domains and splits, all of them or a seeded draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tertulia.corpus.opening import open_collection, write_as_said
from tertulia.corpus.parts.belonging import keyed_order
from tertulia.corpus.parts.derived import derived_manifest, refuse_same
from tertulia.corpus.parts.splitting import targets
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import InputError, UsageError

__all__ = ["sample_collection"]


def sample_collection(
    path: Path,
    output: Path,
    *,
    count: int | None = None,
    fraction: float | None = None,
    domains: Sequence[str] = (),
    splits: Sequence[str] = (),
    per: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] = lambda _n, _total: None,
) -> Corpus | RankingSet:
    """Write a draw of ``count`` records or a ``fraction`` of them, of these ``domains`` and ``splits`` where they are given.

    With neither number all of these are taken. ``per`` is ``"domain"`` or ``"split"``: a fraction is then drawn of each, a count
    in proportion to their sizes. Whether a record is drawn depends on the seed and its id, so a larger draw holds a smaller one
    (of a draw without ``per``).

    Raises
    ------
    UsageError
        More is asked for than there is, or a number makes no sense.
    InputError
        Nothing is of these domains and splits.
    ArtefactError
        ``output`` cannot be written.
    """
    if count is not None and fraction is not None:
        raise UsageError("a draw has a count or a fraction, not both")
    if fraction is not None and not 0 < fraction <= 1:
        raise UsageError(f"the fraction is {fraction:g}; expected more than 0 and at most 1")
    with open_collection(path, check_digests=True) as source:
        refuse_same(output, [source])
        ids, kept, strata = _eligible(source, domains, splits, per)
        if not len(kept):
            raise InputError(
                f"has no {source.layout.noun} of the domains and splits asked for",
                where=path,
                hint="'corpus stats' names those that it has",
            )
        wanted = len(kept) if count is None else count
        if fraction is not None:
            wanted = round(len(kept) * fraction)
        if not 0 <= wanted <= len(kept):
            raise UsageError(f"asked to draw {wanted:,} of {len(kept):,}")
        order = keyed_order(source, seed)
        chosen = _drawn(kept, order, strata, wanted)
        options = {"count": count, "fraction": fraction, "domains": list(domains), "splits": list(splits), "per": per}
        manifest = derived_manifest(["tertulia", "corpus", "sample"], [source], options, seed=seed)
        found = _reported(source.records([ids[number] for number in chosen]), len(chosen), progress)
        return write_as_said(output, found, manifest, overwrite=overwrite)


def _reported(records: Iterator[Any], total: int, progress: Callable[[int, int | None], None]) -> Iterator[Any]:
    for record in records:
        yield record
        progress(1, total)


def _eligible(
    source: Corpus | RankingSet, domains: Sequence[str], splits: Sequence[str], per: str | None
) -> tuple[list[str], list[int], dict[str | None, list[int]]]:
    """The ids of all records, the numbers of those asked for, and these by their domain or split."""
    ids: list[str] = []
    kept: list[int] = []
    strata: dict[str | None, list[int]] = {}
    for batch in source.batches(source.layout.tables[0], ["id", "domain", "split"]):
        for identifier, domain, split in zip(
            *(batch.column(name).to_pylist() for name in batch.schema.names), strict=True
        ):
            ids.append(identifier)
            if (domains and domain not in domains) or (splits and split not in splits):
                continue
            kept.append(len(ids) - 1)
            stratum = {"domain": domain, "split": split, None: None}[per]
            strata.setdefault(stratum, []).append(len(ids) - 1)
    return ids, kept, strata


def _drawn(kept: list[int], order: np.ndarray[Any, Any], strata: dict[str | None, list[int]], wanted: int) -> list[int]:
    names = sorted(strata, key=lambda name: name or "")
    shares = targets(
        wanted, fractions={str(number): len(strata[name]) / len(kept) for number, name in enumerate(names)}, counts=None
    )
    chosen: list[int] = []
    for number, name in enumerate(names):
        members = np.array(strata[name])
        chosen += members[np.argsort(order[members], kind="stable")][: shares[str(number)]].tolist()
    return sorted(chosen)
