"""From an outside format to a corpus on disk, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tertulia.artefact import Manifest, digest_of_path, put_in_place, work_directory
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Record
from tertulia.corpus.store import Corpus, write_corpus
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
    progress: Callable[[int, int | None], None] | None = None,
) -> Corpus:
    """Read ``source`` in the named format and write it as the corpus ``output``; ``report`` is filled.

    Raises
    ------
    ConfigurationError
        There is no such format.
    InputError
        The source does not hold, naming file and line.
    ArtefactError
        ``output`` cannot be written.
    """
    reader = FORMATS.get(format_name)
    options = ReadOptions(skip_bad, drop_duplicates, progress or (lambda _done, _total: None))
    path = Path(source)
    manifest = Manifest(
        "corpus",
        command=["tertulia", "corpus", "import", format_name, _shown_name(source)],
        options={"skip_bad": skip_bad, "drop_duplicates": drop_duplicates},
        details={"format": format_name},
        licence=reader.licence,
        citation=reader.citation,
    )
    records = _reported(reader.read(source, report, options), manifest, report, path, output)
    return write_corpus(output, records, manifest, overwrite=overwrite)


def _shown_name(source: str) -> str:
    """The last part of a path or an address, without what may be secret in an address."""
    if "://" in source:
        source = source.partition("?")[0]
    return os.path.basename(os.path.abspath(source))


def _reported(
    records: Iterator[Record], manifest: Manifest, report: Report, source: Path, output: Path
) -> Iterator[Record]:
    """The records; after the last, the manifest learns what the reader found and what it has read."""
    yield from records
    manifest.report = report.to_json()
    if source.is_file() or source.is_dir():
        manifest.inputs = [digest_of_path(source, without=output)]


def export_corpus(
    format_name: str,
    corpus: Path,
    output: Path,
    report: Report,
    *,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> int:
    """Write the corpus at ``output`` in the named format, whole or not at all; the number of dialogues.

    Raises
    ------
    ConfigurationError
        There is no such format, or it is only read.
    InputError
        ``output`` exists, or a dialogue does not fit the format.
    """
    writer = FORMATS.get(format_name)
    if not writer.writes:
        raise ConfigurationError(f"the format {format_name!r} is read, not written")
    if output.exists() and not overwrite:
        raise InputError("exists already", where=output, hint="--overwrite replaces it")
    count = 0

    def counted(records: Iterator[Record], total: int) -> Iterator[Record]:
        nonlocal count
        for record in records:
            count += 1
            if progress is not None:
                progress(1, total)
            yield record

    with Corpus(corpus, check_digests=True) as opened, work_directory(output) as work:
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
