"""The compiled scanner of rows; its source is in ``rows_kernel/``, and ``rows/scan.py`` is the only module that uses it."""

class Buffer:
    """Memory of the scanner, read where it stands through the buffer protocol."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

def scan(
    data: bytes | memoryview,
    columns: tuple[tuple[str, int, bool], ...],
    keep: int,
    keep_values: tuple[int, ...],
    most_problems: int,
    /,
) -> tuple[list[tuple[int, list[Buffer | None]]], int, int, int, int, list[tuple[int, int, int]], int]:
    """The columns (null count and Arrow buffers each), rows kept, lines, rows, rows left out, problems, their number.

    A column is asked for by its attribute, the index of its kind in ``Kind`` and whether it is required; ``keep`` is the index
    of the column by which rows are kept, or -1. A problem is a line and where it starts and ends in the data.
    """
