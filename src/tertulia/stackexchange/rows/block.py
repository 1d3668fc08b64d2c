"""What a scan of some lines gives: a table of the rows that are kept, and what was found beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

    from tertulia.stackexchange.rows.schema import RowSchema

__all__ = ["MOST_PROBLEMS", "Block", "Problem", "arrow_schema"]

MOST_PROBLEMS = 1000
"""So many malformed rows of a block are told one by one; the others are only counted."""


class Problem(NamedTuple):
    """A malformed row: its line, from 0 within the data, and what was found and what was expected."""

    line: int
    message: str


class Block(NamedTuple):
    """The rows of some lines.

    Attributes
    ----------
    table:
        The rows that are kept, in order; the columns of the schema, in its order.
    lines:
        The lines of the data, blank ones too; a last line without a line end counts.
    rows:
        The rows that are well formed, whether they are kept or not.
    left_out:
        How many of these the schema's ``keep`` leaves out.
    problems:
        The malformed rows, in order, at most :data:`MOST_PROBLEMS`.
    problem_count:
        All malformed rows.
    """

    table: pa.Table
    lines: int
    rows: int
    left_out: int
    problems: list[Problem]
    problem_count: int


def arrow_schema(schema: RowSchema) -> pa.Schema:
    """The Arrow schema of a scanned table."""
    import pyarrow as pa

    types = {"integer": pa.int64(), "time": pa.int64(), "text": pa.string()}
    return pa.schema([(column.name, types.get(column.kind, pa.bool_())) for column in schema.columns])
