"""From a corpus or ranking set to a clean one: records stream through the filters, or their marks are acted upon."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from tertulia.artefact import Manifest, work_directory
from tertulia.corpus.cleaning.applying import apply_to_context, apply_to_dialogue
from tertulia.corpus.cleaning.contexts import clean_context
from tertulia.corpus.cleaning.dialogues import clean_dialogue
from tertulia.corpus.cleaning.language import guess_language
from tertulia.corpus.cleaning.plan import Plan, Step
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.model import RankingRecord, Record
from tertulia.corpus.opening import open_collection, write_as_said
from tertulia.corpus.parts.derived import derived_manifest, refuse_same
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError

__all__ = ["apply_marks", "clean_corpus", "clean_records"]

R = TypeVar("R", Record, RankingRecord)
Progress = Callable[[int, int | None], None]
# So many records are looked at to tell the language of the corpus.
_SAMPLE = 1_000


def clean_records(
    records: Iterable[R],
    plan: Plan,
    report: CleaningReport,
    *,
    folder: Path | None = None,
    progress: Progress = lambda _done, _total: None,
) -> Iterator[R]:
    """The records after the plan's filters, as a stream; ``report`` grows with it.

    ``records`` must be in order of id. It is iterated over once, and once more before that where a filter looks ahead (as
    ``duplicates`` does): then it must be something that can be, such as a list. ``folder`` is where filters may keep what does not
    fit into memory; ``progress`` is told 1 for every record each time.

    Raises
    ------
    ConfigurationError
        A filter looks ahead, and the records can be iterated over only once.
    MissingExtraError
        A filter needs a package that is not installed.
    """
    language: str = plan.language
    if language == "auto":
        stream = iter(records)
        sample = list(islice(stream, _SAMPLE))
        language = guess_language(text for record in sample for text in _texts(record))
        if stream is records:
            records = chain(sample, stream)
    report.language = language
    steps = plan.steps(language)
    for step in steps:
        report.expect(step.filter.name, step.action)
    ahead = [step.filter for step in steps if step.filter.looks_ahead]
    if ahead and iter(records) is records:
        raise ConfigurationError(f"the filter {ahead[0].name!r} needs records that can be iterated over twice")
    try:
        for part in ahead:
            part.open(folder)
        for record in records if ahead else ():
            for part in ahead:
                part.look(_texts(record))
            progress(1, None)
        for number, record in enumerate(records):
            report.read += 1
            cleaned = _cleaned(record, number, steps, report)
            progress(1, None)
            if cleaned is not None:
                report.kept += 1
                yield cast("R", cleaned)
    finally:
        for part in ahead:
            part.close()


def _cleaned(
    record: Record | RankingRecord, number: int, steps: Sequence[Step], report: CleaningReport
) -> Record | RankingRecord | None:
    if isinstance(record, RankingRecord):
        return clean_context(record, number, steps, report)
    return clean_dialogue(record, number, steps, report)


def _texts(record: Record | RankingRecord) -> list[str]:
    return record.context.texts if isinstance(record, RankingRecord) else record.dialogue.texts


class _Stream:
    """The records of a collection, from the beginning each time."""

    def __init__(self, source: Corpus | RankingSet) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source.records())


def clean_corpus(
    path: Path,
    output: Path,
    plan: Plan,
    report: CleaningReport | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> Corpus | RankingSet:
    """Write the corpus or ranking set at ``path``, after the plan's filters, at ``output``; ``report`` is filled.

    Raises
    ------
    ConfigurationError, MissingExtraError
        A filter cannot be used.
    ArtefactError
        ``path`` is neither of the two, or ``output`` cannot be written.
    """
    report = CleaningReport() if report is None else report
    with open_collection(path, check_digests=True) as source:
        total = (2 if plan.looks_ahead else 1) * len(source)
        with work_directory(output) if plan.looks_ahead else nullcontext() as folder:
            cleaned = clean_records(
                _Stream(source), plan, report, folder=folder, progress=lambda done, _total: progress(done, total)
            )
            return _write(source, output, plan.to_json(), cleaned, report, overwrite)


def apply_marks(
    path: Path,
    output: Path,
    action: Literal["drop", "mask"],
    report: CleaningReport | None = None,
    *,
    filters: Sequence[str] = (),
    reviewed: bool = False,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> Corpus | RankingSet:
    """Write the corpus or ranking set at ``path`` with its marks acted upon, unless people say that they are to be kept.

    ``filters`` are those whose marks are acted upon (none: all); with ``reviewed`` only marks that people say to remove.

    Raises
    ------
    ArtefactError
        ``path`` is neither of the two, or ``output`` cannot be written.
    """
    report = CleaningReport() if report is None else report
    with open_collection(path, check_digests=True) as source:
        options = {"apply": action, "filters": list(filters), "reviewed": reviewed}

        def applied() -> Iterator[Any]:
            for record in source.records():
                report.read += 1
                if isinstance(record, RankingRecord):
                    after: Any = apply_to_context(record, action, filters, report, reviewed=reviewed)
                else:
                    after = apply_to_dialogue(record, action, filters, report, reviewed=reviewed)
                progress(1, len(source))
                if after is not None:
                    report.kept += 1
                    yield after

        return _write(source, output, options, applied(), report, overwrite)


def _write(
    source: Corpus | RankingSet,
    output: Path,
    options: dict[str, Any],
    records: Iterator[Any],
    report: CleaningReport,
    overwrite: bool,
) -> Corpus | RankingSet:
    refuse_same(output, [source])
    report.unit = "contexts" if isinstance(source, RankingSet) else "dialogues"
    manifest = derived_manifest(["tertulia", "corpus", "clean"], [source], options)
    return write_as_said(output, _reported(records, manifest, report), manifest, overwrite=overwrite)


def _reported(records: Iterator[Any], manifest: Manifest, report: CleaningReport) -> Iterator[Any]:
    """The records; after the last the manifest learns what was found."""
    yield from records
    manifest.report = report.to_report().to_json()
    manifest.details["cleaning"] = report.to_json()
