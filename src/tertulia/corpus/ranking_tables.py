"""The two Parquet tables of a ranking set: their columns, and how a context with its candidates stands in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tertulia.artefact import canonical_json
from tertulia.corpus.grouped import GroupedReader, Layout, Rows, attributes_of
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn

__all__ = ["RANKING_RECORDS", "RANKING_SCHEMAS", "RankingTableReader"]

_TURNS = pa.list_(pa.struct([("role", pa.string()), ("text", pa.string())]))
_RATINGS = pa.list_(pa.struct([("annotator", pa.string()), ("value", pa.float64())]))
RANKING_SCHEMAS: dict[str, pa.Schema] = {
    "contexts": pa.schema(
        [
            ("id", pa.string()),
            ("dialogue_id", pa.string()),
            ("domain", pa.string()),
            ("split", pa.string()),
            ("turns", _TURNS),
            ("candidates", pa.int32()),
            ("attributes", pa.string()),
        ]
    ),
    "candidates": pa.schema(
        [
            ("context_id", pa.string()),
            ("position", pa.int32()),
            ("text", pa.string()),
            ("relevance", pa.float64()),
            ("ratings", _RATINGS),
            ("source", pa.string()),
            ("attributes", pa.string()),
        ]
    ),
}
_FILLED = {
    "contexts": frozenset({"id", "turns", "candidates"}),
    "candidates": frozenset({"context_id", "position", "text", "ratings"}),
}
_DICTIONARY = frozenset({"domain", "split", "context_id", "source", "attributes"})


def _rows(record: RankingRecord) -> list[tuple[Rows, int]]:
    context = record.context
    attributes = canonical_json(context.attributes)
    turns = [{"role": turn.role, "text": turn.text} for turn in context.turns]
    row = (
        context.id,
        context.dialogue_id,
        context.domain,
        context.split,
        turns,
        len(record.candidates),
        attributes,
    )
    return [
        ([row], sum(len(turn.text) + 24 for turn in context.turns) + len(attributes) + 64),
        _candidate_rows(record),
    ]


def _candidate_rows(record: RankingRecord) -> tuple[Rows, int]:
    rows: Rows = []
    size = 0
    for candidate in record.candidates:
        attributes = canonical_json(candidate.attributes) if candidate.attributes else "{}"
        rows.append(
            (
                record.context.id,
                candidate.position,
                candidate.text,
                candidate.relevance,
                [{"annotator": rating.annotator, "value": rating.value} for rating in candidate.ratings],
                candidate.source,
                attributes,
            )
        )
        size += len(candidate.text) + len(attributes) + 32 * len(candidate.ratings) + 64
    return rows, size


def _record(row: tuple[Any, ...], others: Sequence[Rows]) -> RankingRecord:
    identifier, dialogue_id, domain, split, turns, count, attributes = row
    (candidates,) = others
    if count != len(candidates):
        raise ValueError(f"it has {len(candidates)} candidates; its row says {count}")
    context = Context(
        identifier,
        [Turn(role, text) for role, text in turns],
        dialogue_id,
        domain,
        split,
        attributes_of(attributes),
    )
    return RankingRecord(
        context,
        [
            Candidate(
                position,
                text,
                relevance,
                [Rating(annotator, value) for annotator, value in ratings],
                source,
                attributes_of(extra),
            )
            for _, position, text, relevance, ratings, source, extra in candidates
        ],
    )


RANKING_RECORDS: Layout[RankingRecord] = Layout(
    "context",
    RANKING_SCHEMAS,
    _FILLED,
    _DICTIONARY,
    lambda record: record.context.id,
    _rows,
    _record,
)
"""How the records of a ranking set stand in its tables."""


class RankingTableReader(GroupedReader[RankingRecord]):
    """Reads the two tables of a ranking set in a directory."""

    def __init__(self, directory: Path, footers: Mapping[str, str] | None = None) -> None:
        super().__init__(RANKING_RECORDS, directory, footers)
