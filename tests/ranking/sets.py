"""Ranking sets on disk for tests, made of examples."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tertulia.artefact import Manifest
from tertulia.corpus.model import Candidate, Context, RankingRecord
from tertulia.corpus.ranking_set import RANKING_SET, write_ranking_set
from tertulia.ranking.examples import Example, Splits

from .rankers.made import made_splits


def record_of(example: Example, split: str | None) -> RankingRecord:
    """The record whose example this is."""
    candidates = [
        Candidate(position, text, None if np.isnan(relevance) else float(relevance))
        for position, (text, relevance) in enumerate(zip(example.texts, example.relevance, strict=True))
    ]
    return RankingRecord(Context(example.id, list(example.turns), split=split), candidates)


def write_examples(path: Path, examples: Iterable[tuple[Example, str | None]]) -> Path:
    """A ranking set of examples with their splits."""
    write_ranking_set(path, (record_of(*each) for each in examples), Manifest(RANKING_SET, licence="CC0-1.0")).close()
    return path


def write_made_set(
    path: Path, seed: int = 0, *, divided: bool = True, language: str = "en", graded: bool = True
) -> Path:
    """The made-up set that can be learned from, with or without splits."""
    splits: Splits = made_splits(seed, odd=False, language=language, graded=graded)
    named = zip(("train", "dev", "test"), splits[:3], strict=True)
    return write_examples(
        path, ((example, name if divided else None) for name, examples in named for example in examples)
    )
