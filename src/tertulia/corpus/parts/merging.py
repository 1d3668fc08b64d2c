"""Several corpora, or several ranking sets, as one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest, canonical_json
from tertulia.corpus.exchange import ReadOptions, Report, SeenTexts
from tertulia.corpus.model import RankingRecord, Record
from tertulia.corpus.opening import open_collection, write_as_said
from tertulia.corpus.parts.derived import derived_manifest, refuse_same
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.corpus.tables import annotation_order
from tertulia.errors import ArtefactError, InputError, UsageError

__all__ = ["merge_collections"]


def merge_collections(
    paths: Sequence[Path],
    output: Path,
    report: Report,
    *,
    prefix: bool = False,
    drop_duplicates: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] = lambda _n, _total: None,
) -> Corpus | RankingSet:
    """Write what all of them hold at ``output``, in bounded memory.

    A dialogue that stands in several with the same utterances is one, with the annotations of all (an annotation that stands
    twice once); so is a context with the same candidates. ``prefix`` puts the name of its corpus before every id instead.
    ``drop_duplicates`` leaves out dialogues (contexts) whose texts equal those of one before under another id.

    Raises
    ------
    ArtefactError
        They are not all corpora or all ranking sets, or ``output`` cannot be written.
    InputError
        Two have different dialogues (contexts) of one id.
    """
    if len(paths) < 2:
        raise UsageError("merge takes two or more")
    with ExitStack() as stack:
        sources = [open_collection(path, check_digests=True) for path in paths]
        for source in sources:
            stack.callback(source.close)
        for source in sources[1:]:
            if source.kind != sources[0].kind:
                raise ArtefactError(f"is a {source.kind}, and {paths[0]} is a {sources[0].kind}", where=source.path)
        refuse_same(output, sources)
        names = _names(sources) if prefix else [""] * len(sources)
        options = {"prefix": prefix, "drop_duplicates": drop_duplicates}
        manifest = derived_manifest(["tertulia", "corpus", "merge"], sources, options)
        total = sum(len(source) for source in sources)
        streams = [_named(source, name, total, progress) for source, name in zip(sources, names, strict=True)]
        found = _united(streams, sources[0].layout.key, paths, report)
        if drop_duplicates:
            found = _without_duplicates(found, report)
        finish = partial(_report_into, manifest, report)
        return write_as_said(output, _then(found, finish), manifest, overwrite=overwrite)


def _report_into(manifest: Manifest, report: Report) -> None:
    manifest.report = report.to_json()


def _then(records: Iterator[Any], finish: Callable[[], None]) -> Iterator[Any]:
    yield from records
    finish()


def _names(sources: Sequence[Corpus | RankingSet]) -> list[str]:
    names = [f"{source.path.resolve().name}/" for source in sources]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"two of them are named {twice[0]!r}, so the name tells their ids not apart")
    return names


def _named(
    source: Corpus | RankingSet, name: str, total: int, progress: Callable[[int, int | None], None]
) -> Iterator[Any]:
    for record in source.records():
        progress(1, total)
        yield _prefixed(record, name) if name else record


def _prefixed(record: Any, name: str) -> Any:
    if isinstance(record, RankingRecord):
        context = record.context
        dialogue_id = None if context.dialogue_id is None else name + context.dialogue_id
        return RankingRecord(replace(context, id=name + context.id, dialogue_id=dialogue_id), record.candidates)
    identifier = name + record.dialogue.id
    notes = [replace(note, dialogue_id=identifier) for note in record.annotations]
    return Record(replace(record.dialogue, id=identifier), notes)


def _united(
    streams: Sequence[Iterator[Any]], key: Callable[[Any], str], paths: Sequence[Path], report: Report
) -> Iterator[Any]:
    merged = heapq.merge(*(_keyed(stream, key, number) for number, stream in enumerate(streams)), key=_key_and_number)
    for identifier, standing in groupby(merged, key=lambda item: item[0]):
        (_, number, record), *others = standing
        for _, other_number, other in others:
            record = _one_of_two(record, other, (identifier, paths[number], paths[other_number]))
            report.note("ids that stand in several, taken as one", identifier)
        yield record


def _keyed(stream: Iterator[Any], key: Callable[[Any], str], number: int) -> Iterator[tuple[str, int, Any]]:
    return ((key(record), number, record) for record in stream)


def _key_and_number(item: tuple[str, int, Any]) -> tuple[str, int]:
    return item[:2]


def _one_of_two(record: Any, other: Any, clash: tuple[str, Path, Path]) -> Any:
    if isinstance(record, RankingRecord):
        if record == other:
            return record
    elif record.dialogue == other.dialogue:
        notes = {canonical_json(annotation_order(note)): note for note in [*record.annotations, *other.annotations]}
        return Record(record.dialogue, list(notes.values()))
    identifier, first, second = clash
    raise InputError(
        f"{identifier!r} stands in {first} too, and is not the same there",
        where=second,
        hint="--prefix puts the name of its corpus before every id",
    )


def _without_duplicates(records: Iterator[Any], report: Report) -> Iterator[Any]:
    seen, options = SeenTexts(), ReadOptions(drop_duplicates=True)
    for record in records:
        whole = record.context if isinstance(record, RankingRecord) else record.dialogue
        if not report.is_duplicate(whole.texts, seen, options, whole.id):
            yield record
