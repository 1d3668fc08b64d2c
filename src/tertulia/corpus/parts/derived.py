"""A collection made from another one: its manifest, and the tables that are taken over as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import ArtefactError

__all__ = ["derived_manifest", "refuse_same", "take_over"]


def derived_manifest(
    command: Sequence[str], sources: Sequence[Corpus | RankingSet], options: dict[str, Any], *, seed: int | None = None
) -> Manifest:
    """The manifest of what is made from ``sources``: of their kind, under all of their licences and citations.

    ``details.format`` is taken over where all sources have the same one; what a publication states of the whole need not hold
    of a part, which ``details.made_by`` tells.
    """
    formats = {source.manifest.details.get("format") for source in sources}
    details: dict[str, Any] = {"made_by": command[-1]}
    if len(formats) == 1 and (name := formats.pop()):
        details["format"] = name
    return Manifest(
        sources[0].kind,
        command=[*command, *(source.path.resolve().name for source in sources)],
        options=options,
        seed=seed,
        inputs=[
            {"name": source.path.resolve().name, "kind": source.kind, "sha256": source.manifest.digest}
            for source in sources
        ],
        details=details,
        licence=_joined(source.manifest.licence for source in sources),
        citation=_joined(source.manifest.citation for source in sources),
    )


def _joined(texts: Any) -> str | None:
    found = list(dict.fromkeys(text for text in texts if text))
    return "; ".join(found) or None


def refuse_same(output: Path, sources: Sequence[Corpus | RankingSet]) -> None:
    """The output may not be one of the inputs: it would be replaced while it is read."""
    for source in sources:
        if output.exists() and output.resolve() == source.path.resolve():
            raise ArtefactError("is an input as well; expected another path for the output", where=output)


def take_over(table: str, source: Path, target: Path, *, link: bool) -> None:
    """Put a table of one collection into another as it is; ``link`` where the source is going to be removed."""
    name = f"{table}.parquet"
    if link:
        try:
            os.link(source / name, target / name)
            return
        except OSError:
            # Not every file system has links.
            pass
    shutil.copyfile(source / name, target / name)
