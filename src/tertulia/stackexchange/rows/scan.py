"""Lines of a table file into Arrow: by the compiled scanner where it is built, else by the plain definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tertulia.stackexchange.rows.block import Block, Problem
from tertulia.stackexchange.rows.plain import scan_rows_plainly

if TYPE_CHECKING:
    from tertulia.stackexchange.rows.schema import RowSchema

__all__ = ["Block", "Problem", "scan_rows"]


def scan_rows(data: bytes | memoryview, schema: RowSchema) -> Block:
    """The rows of whole lines, without the file's declaration and root tags."""
    return scan_rows_plainly(data, schema)
