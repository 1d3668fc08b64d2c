"""One byte range of a table into one Parquet part file, with a report beside it that says what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tertulia.errors import InputError
from tertulia.stackexchange.cache import put_file, put_json, read_json
from tertulia.stackexchange.ranges import LONGEST_LINE, Frame, LongLineError, line_start, pieces
from tertulia.stackexchange.rows.scan import Block, scan_rows
from tertulia.stackexchange.tables import finished, table_writer

if TYPE_CHECKING:
    import pyarrow as pa

    from tertulia.stackexchange.rows.schema import RowSchema

__all__ = ["PartReport", "RowError", "read_part", "write_part"]

_GROUP_ROWS = 1 << 16
_GROUP_BYTES = 16 << 20


class RowError(Exception):
    """A row that ends the reading: its line, from 0 within its range, and what is wrong with it."""

    def __init__(self, line: int, message: str, *, is_fatal: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.is_fatal = is_fatal


@dataclass(slots=True)
class PartReport:
    """What was found in a range.

    ``bytes`` and ``blake3`` are of the range as it stands in the file, what is before the first row and behind the last with
    the range beside it; ``problems`` are malformed rows, ``nameless`` rows without a user id, ``left_out`` those of a type that is
    not wanted; ``size`` is that of the Parquet file.
    """

    bytes: int = 0
    blake3: str = ""
    lines: int = 0
    rows: int = 0
    left_out: int = 0
    problems: int = 0
    first_line: int = 0
    first_message: str = ""
    nameless: int = 0
    first_nameless: int = 0
    size: int = 0

    def add(self, block: Block) -> None:
        """Count the rows of the next block."""
        if block.problem_count and not self.problems:
            self.first_line = self.lines + block.problems[0].line
            self.first_message = block.problems[0].message
        self.problems += block.problem_count
        self.lines += block.lines
        self.rows += block.rows
        self.left_out += block.left_out

    def count_nameless(self, table: pa.Table) -> None:
        """Count the rows that tell no user id."""
        if "user" not in table.column_names or not table["user"].null_count:
            return
        import pyarrow.compute as pc

        if not self.nameless:
            self.first_nameless = table["id"].filter(pc.is_null(table["user"]))[0].as_py()
        self.nameless += table["user"].null_count


def read_part(path: Path) -> PartReport | None:
    """The report of a part file that is whole; ``None`` where it has to be made."""
    value = read_json(_beside(path))
    if not isinstance(value, dict) or value.keys() != {field.name for field in fields(PartReport)}:
        return None
    try:
        return PartReport(**value) if path.stat().st_size == value["size"] else None
    except OSError:
        return None


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


def write_part(
    xml: Path,
    path: Path,
    frame: Frame,
    bounds: Sequence[int],
    *,
    schema: RowSchema,
    site: int,
    shown: str,
    skip_bad: bool,
    block_size: int,
    step: Callable[[int], None],
) -> PartReport:
    """Parse the lines that begin in a range of a table's file.

    Parameters
    ----------
    bounds:
        Where the range begins, and where the next one does if there is one.
    shown:
        The file in messages.
    step:
        Told the bytes read since the last call; what it raises ends the parsing.

    Raises
    ------
    RowError
        A malformed row, unless ``skip_bad``, or a line too long for it.
    InputError
        The file cannot be read, or the part file not written.
    """
    report = PartReport()

    def write(temporary: Path) -> None:
        parser = _Parser(report, schema, site, shown, skip_bad, step)
        parser.write(xml, temporary, frame, bounds, block_size)
        report.size = temporary.stat().st_size

    put_file(path, write)
    put_json(_beside(path), asdict(report))
    return report


class _Parser:
    """What the parsing of one range has at hand."""

    def __init__(
        self, report: PartReport, schema: RowSchema, site: int, shown: str, skip_bad: bool, step: Callable[[int], None]
    ) -> None:
        self._report = report
        self._schema = schema
        self._site = site
        self._shown = shown
        self._skip_bad = skip_bad
        self._step = step
        self._waiting: list[pa.Table] = []

    def write(self, xml: Path, target: Path, frame: Frame, bounds: Sequence[int], block_size: int) -> None:
        """Parse a range into a Parquet file."""
        from blake3 import blake3

        digest = blake3()
        try:
            file: BinaryIO = xml.open("rb", buffering=0)
        except OSError as error:
            raise self._cannot_read(error) from None
        with file, table_writer(target, self._schema.table) as writer:
            blocks = self._blocks(file, frame, bounds, block_size, digest)
            while (block := self._next(blocks)) is not None:
                self._take(block, writer)
            self._flush(writer, always=True)
        self._report.blake3 = digest.hexdigest()

    def _next(self, blocks: Any) -> Block | None:
        """The next block; errors of the file that is read are told from those of the file that is written."""
        try:
            found: Block | None = next(blocks, None)
        except LongLineError:
            message = f"the line is longer than {LONGEST_LINE >> 20} MB; expected one row"
            raise RowError(self._report.lines, message, is_fatal=True) from None
        except EOFError:
            raise InputError("became shorter while it was read; expected a dump at rest", where=self._shown) from None
        except OSError as error:
            raise self._cannot_read(error) from None
        return found

    def _blocks(self, file: BinaryIO, frame: Frame, bounds: Sequence[int], block_size: int, digest: Any) -> Any:
        start, end = self._edges(file, frame, bounds)
        is_last = len(bounds) == 1
        if bounds[0] == frame.start:
            self._aside(file, 0, frame.start, digest)
        for data in pieces(file, start, end, block_size):
            digest.update(data)
            self._report.bytes += len(data)
            self._step(len(data))
            yield scan_rows(data, self._schema)
        if is_last:
            self._aside(file, frame.end, frame.size, digest)

    def _edges(self, file: BinaryIO, frame: Frame, bounds: Sequence[int]) -> tuple[int, int]:
        start = line_start(file, bounds[0], frame)
        if len(bounds) == 1:
            return start, frame.end
        try:
            return start, line_start(file, bounds[1], frame)
        except LongLineError:
            # The line begins in this range, or before it: whoever reads up to it says which line it is.
            return start, frame.end

    def _aside(self, file: BinaryIO, start: int, end: int, digest: Any) -> None:
        """What stands before the first row or behind the last."""
        file.seek(start)
        while start < end:
            data = file.read(min(end - start, 1 << 20))
            if not data:
                raise EOFError
            digest.update(data)
            self._report.bytes += len(data)
            self._step(len(data))
            start += len(data)

    def _take(self, block: Block, writer: Any) -> None:
        lines = self._report.lines
        if block.problem_count and not self._skip_bad:
            raise RowError(lines + block.problems[0].line, block.problems[0].message)
        self._report.add(block)
        self._report.count_nameless(block.table)
        self._waiting.append(finished(block.table, self._schema.table, self._site))
        self._flush(writer)

    def _flush(self, writer: Any, *, always: bool = False) -> None:
        import pyarrow as pa

        rows = sum(len(table) for table in self._waiting)
        if always or rows >= _GROUP_ROWS or sum(table.nbytes for table in self._waiting) >= _GROUP_BYTES:
            if rows:
                writer.write_table(pa.concat_tables(self._waiting), row_group_size=_GROUP_ROWS)
            self._waiting = []

    def _cannot_read(self, error: OSError) -> InputError:
        return InputError(f"cannot be read: {error.strerror}", where=self._shown)
