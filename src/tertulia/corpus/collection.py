"""What a corpus and a ranking set have in common: an artefact of tables, read as a stream or one record at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from tertulia.artefact import Manifest, canonical_json, create, verify
from tertulia.corpus.columns import text_array
from tertulia.corpus.group_index import INDEX_FILE, GroupIndex, index_digest, index_of, read_index
from tertulia.corpus.grouped import GroupedReader, Layout, footer_digest
from tertulia.errors import ArtefactError, InputError

__all__ = ["Collection", "describe_tables", "write_collection"]

R = TypeVar("R")
Self = TypeVar("Self", bound="Collection[Any]")


class Collection(Generic[R]):
    """A directory of records, open for reading.

    Opening checks the manifest and the sizes of the files; ``check_digests`` reads them whole, which a command that is going
    to read everything does first.
    """

    kind: ClassVar[str]
    layout: ClassVar[Layout[Any]]

    def __init__(self, path: str | Path, *, check_digests: bool = False) -> None:
        self.path = Path(path)
        self.manifest: Manifest = verify(self.path, self.kind, digests=check_digests)
        footers = self.manifest.details.get("footers")
        self._reader: GroupedReader[R] = GroupedReader(
            self.layout,
            self.path,
            footers if isinstance(footers, dict) else None,
            _index(self.path, self.manifest.details.get("index")),
        )

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._reader.close()

    def __len__(self) -> int:
        return int(self._reader.file(self.layout.tables[0]).metadata.num_rows)

    def records(self, only: Sequence[str] | None = None) -> Iterator[R]:
        """Every record in order of id, or those of the ids in ``only``, streaming."""
        return self._reader.records(None if only is None else text_array(only))

    def row_groups(self, table: str) -> int:
        """How many row groups a table has."""
        return int(self._reader.file(table).num_row_groups)

    def batches(
        self, table: str, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """The row groups of a table, or those of these numbers, as ``pyarrow.Table`` with these columns or all, streaming."""
        return self._reader.batches(table, columns, groups)

    def get(self, identifier: str) -> R:
        """One record by its id, without reading the rest.

        Raises
        ------
        InputError
            There is no record of that id.
        """
        record = self._reader.get(identifier)
        if record is None:
            raise InputError(f"has no {self.layout.noun} {identifier!r}", where=self.path)
        return record


def _index(directory: Path, digest: object) -> dict[str, GroupIndex]:
    """The indexes of the tables; a collection that was written without has none, and is searched by its footers."""
    if digest is None:
        return {}
    try:
        return read_index(directory, digest)
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "import the corpus again"
        raise ArtefactError(f"is damaged: {error}", where=directory / INDEX_FILE, hint=hint) from None


def describe_tables(directory: Path, layout: Layout[Any], manifest: Manifest) -> None:
    """Write the index of the tables in a directory, and tell the manifest the digests that an opening reader checks."""
    reader: GroupedReader[Any] = GroupedReader(layout, directory)
    try:
        index = {table: index_of(directory / f"{table}.parquet", reader.last_keys(table)) for table in layout.tables}
    finally:
        reader.close()
    data = canonical_json(index).encode()
    (directory / INDEX_FILE).write_bytes(data)
    manifest.details["footers"] = {table: footer_digest(directory / f"{table}.parquet") for table in layout.tables}
    manifest.details["index"] = index_digest(data)


class _Writer(Protocol):
    """What writes the tables of a collection."""

    counts: dict[str, int]

    def add(self, record: Any) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


def write_collection(
    path: str | Path,
    records: Iterable[Any],
    manifest: Manifest,
    kind: str,
    writer_in: Callable[[Path], _Writer],
    layout: Layout[Any],
    *,
    overwrite: bool = False,
) -> None:
    """Write records, in any order, as an artefact of this kind; the manifest's counts and footers are filled in."""
    if manifest.kind != kind:
        raise ArtefactError(f"the manifest is of a {manifest.kind}; expected a {kind}", where=path)
    with create(path, manifest, overwrite=overwrite) as draft:
        writer = writer_in(draft.directory)
        try:
            for record in records:
                writer.add(record)
            writer.close()
        finally:
            writer.abandon()
        describe_tables(draft.directory, layout, draft.manifest)
        draft.manifest.counts = dict(writer.counts)
