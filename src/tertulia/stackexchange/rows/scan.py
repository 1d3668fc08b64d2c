"""Lines of a table file into Arrow: by the compiled scanner where it is built, else by the plain definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from tertulia.errors import InputError
from tertulia.stackexchange.rows.block import MOST_PROBLEMS, Block, Problem, arrow_schema
from tertulia.stackexchange.rows.plain import problem_of, scan_rows_plainly
from tertulia.stackexchange.rows.schema import Kind

if TYPE_CHECKING:
    from tertulia.stackexchange.rows.schema import RowSchema

__all__ = ["MOST_BYTES", "Block", "Problem", "compiled_scan", "scan_rows"]

MOST_BYTES = (1 << 31) - 1
"""So many bytes can be scanned at once: the texts of a column have 32-bit offsets."""
_KINDS = get_args(Kind)


def compiled_scan() -> Callable[..., Any] | None:
    """The compiled scanner, or ``None`` where the package was installed without a compiler."""
    try:
        from tertulia.stackexchange._rows import scan
    except ImportError:
        return None
    return scan


def scan_rows(data: bytes | memoryview, schema: RowSchema) -> Block:
    """The rows of whole lines, without the file's declaration and root tags; the last line may lack its line end.

    The compiled scanner runs without the interpreter's lock: two threads scan two blocks at the same time.

    Raises
    ------
    InputError
        There are 2 GiB of data or more; no block of a dump is, unless one line is.
    """
    if memoryview(data).nbytes > MOST_BYTES:
        raise InputError(f"a block of {memoryview(data).nbytes:,} bytes without a line end; expected lines under 2 GiB")
    scan = compiled_scan()
    if scan is None:
        return scan_rows_plainly(data, schema)
    import pyarrow as pa

    asked = tuple((column.attribute, _KINDS.index(column.kind), column.required) for column in schema.columns)
    keep, values = -1, frozenset[int]()
    if schema.keep is not None:
        keep, values = [column.name for column in schema.columns].index(schema.keep[0]), schema.keep[1]
    columns, kept, lines, rows, left_out, places, problem_count = scan(data, asked, keep, tuple(values), MOST_PROBLEMS)
    fields = arrow_schema(schema)
    arrays = [
        pa.Array.from_buffers(
            field.type, kept, [b if b is None else pa.py_buffer(b) for b in buffers], null_count=nulls
        )
        for field, (nulls, buffers) in zip(fields, columns, strict=True)
    ]
    view = memoryview(data)
    problems = [Problem(line, problem_of(bytes(view[start:end]), schema)) for line, start, end in places]
    return Block(pa.Table.from_arrays(arrays, schema=fields), lines, rows, left_out, problems, problem_count)
