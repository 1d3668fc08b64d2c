"""From an outside format to a corpus or ranking set on disk, and back."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest, digest_of_path, put_in_place, read_manifest, work_directory
from tertulia.corpus.exchange import Format, ReadOptions, Report, held_by
from tertulia.corpus.opening import open_collection, write_as_said
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet
from tertulia.corpus.store import KIND, Corpus
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.registry import FORMATS

__all__ = ["export_corpus", "import_corpus"]


def import_corpus(
    format_name: str,
    source: str,
    output: Path,
    report: Report,
    *,
    skip_bad: bool = False,
    drop_duplicates: bool = False,
    overwrite: bool = False,
    values: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Corpus | RankingSet:
    """Read ``source`` in the named format and write what the format holds at ``output``; ``report`` is filled.

    ``values`` are the options that only this format has, ``columns`` our field → the column of the file.

    Raises
    ------
    ConfigurationError
        There is no such format, or it has no such option.
    InputError
        The source does not hold, naming file and line.
    ArtefactError
        ``output`` cannot be written.
    """
    reader = FORMATS.get(format_name)
    options = ReadOptions(
        skip_bad, drop_duplicates, progress or (lambda _done, _total: None), dict(values or {}), dict(columns or {})
    )
    _check_options(reader, options)
    path = Path(source)
    manifest = Manifest(
        held_by(reader),
        command=["tertulia", "corpus", "import", format_name, _shown_name(source)],
        options=_shown_options(reader, options),
        details={"format": format_name},
        licence=reader.licence,
        citation=reader.citation,
    )
    inputs = [path, *(Path(value) for name, value in options.values.items() if name in _paths(reader) and value)]
    records = _reported(reader.read(source, report, options), manifest, report, inputs, output)
    with _few_collections():
        return write_as_said(output, records, manifest, overwrite=overwrite)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python look for cycles seldom: millions of records come and go, none of them in a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _check_options(reader: Format, options: ReadOptions) -> None:
    known = getattr(reader, "options", {})
    for name in options.values:
        if name not in known:
            there = f"it has: {', '.join(sorted(known))}" if known else "it has none"
            raise ConfigurationError(f"the format {reader.name!r} has no option {name!r}; {there}")
    if options.columns and not getattr(reader, "takes_columns", False):
        raise ConfigurationError(f"the format {reader.name!r} takes no --columns: its columns are fixed")


def _shown_options(reader: Format, options: ReadOptions) -> dict[str, Any]:
    """The options as the manifest keeps them: paths among the values by their last part only."""
    shown: dict[str, Any] = {"skip_bad": options.skip_bad, "drop_duplicates": options.drop_duplicates}
    if options.values:
        paths = _paths(reader)
        shown["values"] = {
            name: _shown_name(value) if name in paths and value else value for name, value in options.values.items()
        }
    if options.columns:
        shown["columns"] = dict(options.columns)
    return shown


def _shown_name(source: str) -> str:
    """The last part of a path or an address, without what may be secret in an address."""
    if "://" in source:
        source = source.partition("?")[0]
    return os.path.basename(os.path.abspath(source))


def _reported(
    records: Iterator[Any], manifest: Manifest, report: Report, inputs: list[Path], output: Path
) -> Iterator[Any]:
    """The records; after the last, the manifest learns what the reader found and what it has read."""
    yield from records
    manifest.report = report.to_json()
    manifest.inputs = [digest_of_path(path, without=output) for path in inputs if _is_there(path)]


def _paths(reader: Format) -> frozenset[str]:
    """The options of a reader that name a file or folder, which is an input as well."""
    return getattr(reader, "path_options", frozenset())


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def export_corpus(
    format_name: str,
    corpus: Path,
    output: Path,
    report: Report,
    *,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> int:
    """Write a corpus or ranking set at ``output`` in the named format, whole or not at all; the number of its records.

    Raises
    ------
    ConfigurationError
        There is no such format, it is only read, or it holds the other kind of artefact.
    InputError
        ``output`` exists, or a dialogue does not fit the format.
    """
    writer = FORMATS.get(format_name)
    if not writer.writes:
        raise ConfigurationError(f"the format {format_name!r} is read, not written")
    if output.exists() and not overwrite:
        raise InputError("exists already", where=output, hint="--overwrite replaces it")
    holds = held_by(writer)
    kind = read_manifest(corpus).kind
    if kind in (KIND, RANKING_SET) and kind != holds:
        raise ConfigurationError(f"the format {format_name!r} holds a {holds}, and {corpus} is a {kind}")
    count = 0

    def counted(records: Iterator[Any], total: int) -> Iterator[Any]:
        nonlocal count
        for record in records:
            count += 1
            if progress is not None:
                progress(1, total)
            yield record

    with open_collection(corpus, check_digests=True) as opened, work_directory(output) as work, _few_collections():
        draft = work / "draft"
        writer.write(counted(opened.records(), len(opened)), str(draft), report)
        _check_replaceable(output, draft)
        put_in_place(draft, output)
    return count


def _check_replaceable(output: Path, draft: Path) -> None:
    """Nothing is removed but what an export like this one could have written."""
    if not output.exists():
        return
    if output.is_dir() != draft.is_dir():
        raise InputError(f"is a {'folder' if output.is_dir() else 'file'}, so it is left alone", where=output)
    if output.is_dir():
        foreign = sorted({entry.name for entry in output.iterdir()} - {entry.name for entry in draft.iterdir()})
        if foreign:
            raise InputError(
                f"holds {foreign[0]!r}, which this format does not write, so it is left alone",
                where=output,
                hint="name another path",
            )
