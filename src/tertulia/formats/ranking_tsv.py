"""``ranking-tsv``: response-ranking sets as MANtIS publishes them, a line a candidate.

A line is ``label \\t utterance_1 \\t … \\t candidate``; label 1 marks the true response. Lines that follow each other with the
same utterances are one context. A lookup file beside it (``data_train.tsv``, ``data_train_lookup.txt``) has the id of
the dialogue, one for each line. A document set has documents for candidates. Published with Penha et al. 2019.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TextIO, cast

from tertulia.corpus.exchange import Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files.cells import escape, number, spelled, unescape
from tertulia.formats.files.context_ids import ContextIds, split_of
from tertulia.formats.files.quoted_rows import Quoting, Row, quoted, rows
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.files.split_writing import SplitFiles
from tertulia.formats.files.text_lines import TextLines

__all__ = ["RankingTsvFormat", "alternating"]

_LOOKUP = "_lookup.txt"
_MOST_CANDIDATES = 100_000
_MOST_CHARACTERS = 256_000_000
_EXPECTED = "lines of label, utterances and candidate with tabs between them"
_QUOTINGS = ("detect", "csv", "none")


@dataclass(slots=True)
class _Lookup:
    """The dialogue ids of a file: of each of its rows, or of each of its contexts."""

    ids: Iterator[str]
    per_row: bool


class RankingTsvFormat:
    """Reads and writes response-ranking sets as tab-separated lines."""

    name = "ranking-tsv"
    summary = "label, utterances and candidate a line, with a lookup file of dialogue ids (MANtIS)"
    writes = True
    holds: Holds = "ranking-set"
    options: Mapping[str, str] = {
        "lookup": "the file of dialogue ids, where it does not stand beside the set as NAME_lookup.txt",
        "quoting": "detect (as they are given), csv (cells in quotation marks, those inside doubled) or none",
    }
    path_options = frozenset({"lookup"})
    licence = None
    citation = (
        "Penha, G., Balan, A., Hauff, C. (2019). Introducing MANtIS: a novel Multi-Domain Information Seeking Dialogues "
        "Dataset. arXiv:1912.04639"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[RankingRecord]:
        """The contexts of a file, or of all ``*.tsv`` files of a folder or zip archive; a file's name tells the split."""
        quoting = options.values.get("quoting", "detect")
        if quoting not in _QUOTINGS:
            raise ConfigurationError(f"the option quoting is {quoting!r}; expected {', '.join(_QUOTINGS)}")
        files, lookups = _files(source, options)
        reader = _Reader(report, options, cast("Quoting", quoting))
        for file in files:
            yield from reader.contexts(file, lookups.get(file.name))

    def write(self, records: Iterator[RankingRecord], path: str, report: Report) -> None:
        """Write a folder of one file a split, with its lookup file where contexts know their dialogue."""
        with SplitFiles(Path(path), report) as files:
            writer = _Writer(files, report)
            for record in records:
                writer.write(record)
            writer.close()


def alternating(texts: list[str]) -> list[Turn]:
    """Turns of which the last is the user's, the one before the agent's, and so on: what a response answers."""
    last = len(texts) - 1
    return [Turn("user" if (last - index) % 2 == 0 else "agent", text) for index, text in enumerate(texts)]


def _files(source: str, options: ReadOptions) -> tuple[list[SourceFile], dict[str, SourceFile]]:
    """The sets of a source, and by the name of the set its lookup file."""
    found = source_files(source, "*.tsv", "*" + _LOOKUP, expected=_EXPECTED, options=options)
    lookups = {file.name: file for file in found if file.name.endswith(_LOOKUP)}
    if Path(source).is_file() and len(found) == 1:
        lookups = {}
    files = [file for file in found if file.name not in lookups]
    if not files:
        raise InputError(f"holds no *.tsv file; expected {_EXPECTED}", where=source)
    if not options.values.get("lookup"):
        paired = {file.name: lookups[name] for file in files if (name := _lookup_name(file.name)) in lookups}
        if Path(source).is_file() and len(files) == 1 and not paired:
            beside = _beside(source, files[0].name, options)
            paired = {} if beside is None else {files[0].name: beside}
        return files, paired
    if len(files) > 1:
        raise InputError(
            f"holds {len(files)} sets, and the option lookup names the file of one",
            where=source,
            hint="import one file",
        )
    [lookup, *more] = source_files(
        options.values["lookup"], "*" + _LOOKUP, expected="one dialogue id a line", options=options
    )
    if more:
        raise InputError("holds several files; expected one lookup file", where=options.values["lookup"])
    return files, {files[0].name: lookup}


def _lookup_name(name: str) -> str:
    return name.removesuffix(".tsv") + _LOOKUP


def _beside(source: str, name: str, options: ReadOptions) -> SourceFile | None:
    for suffix in ("", ".gz", ".zst"):
        path = Path(source).with_name(_lookup_name(name.rpartition("/")[2]) + suffix)
        if path.is_file():
            return source_files(str(path), path.name, expected="one dialogue id a line", options=options)[0]
    return None


class _Reader:
    def __init__(self, report: Report, options: ReadOptions, quoting: Quoting) -> None:
        self._report = report
        self._options = options
        self._quoting = quoting
        self._ids = ContextIds()
        self._texts = SeenTexts()

    def contexts(self, file: SourceFile, lookup_file: SourceFile | None) -> Iterator[RankingRecord]:
        lookup = None if lookup_file is None else self._lookup(file, lookup_file)
        split = split_of(file.name)
        key: tuple[str | None, list[str]] | None = None
        record: RankingRecord | None = None
        start, characters = 1, 0
        for row in rows(file, self._options, self._quoting):
            dialogue = next(lookup.ids) if lookup is not None and lookup.per_row else None
            try:
                candidate = _candidate(row)
            except InputError as error:
                with self._report.catching(self._options, file.place(row.number)):
                    raise error
                continue
            utterances = row.cells[1:-1]
            if record is None or key != (dialogue, utterances):
                if record is not None and not self._dropped(record, file.place(start)):
                    yield record
                key, start, characters = (dialogue, utterances), row.number, sum(map(len, utterances))
                if lookup is not None and not lookup.per_row:
                    dialogue = next(lookup.ids, None)
                turns = alternating([unescape(cell) for cell in utterances])
                if turns[0].role == "agent":
                    self._report.note("contexts that the agent opens", file.place(start).shown)
                record = RankingRecord(Context(self._ids.next(split), turns, dialogue or None, split=split))
            candidate.position = len(record.candidates)
            record.candidates.append(candidate)
            characters += len(candidate.text)
            if len(record.candidates) > _MOST_CANDIDATES or characters > _MOST_CHARACTERS:
                raise InputError(
                    f"the context of line {start} has more than {_MOST_CANDIDATES:,} candidates "
                    f"or {_MOST_CHARACTERS:,} characters",
                    where=file.place(row.number).full,
                )
            if candidate.relevance not in (0.0, 1.0):
                self._report.note("labels other than 0 and 1", file.place(row.number).shown)
        if record is not None and not self._dropped(record, file.place(start)):
            yield record

    def _dropped(self, record: RankingRecord, place: Place) -> bool:
        if not any(candidate.relevance for candidate in record.candidates):
            self._report.note("contexts without a true response", place.shown)
        texts = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
        return self._report.is_duplicate(texts, self._texts, self._options, place.shown)

    def _lookup(self, file: SourceFile, lookup: SourceFile) -> _Lookup:
        """The ids of a lookup file. Whether there is one for each row or for each context is told by their number."""
        quiet = replace(self._options, progress=lambda _done, _total: None)
        lines = filled = 0
        for line in TextLines(lookup, quiet):
            if line.problem is not None:
                raise InputError(line.problem.message, where=lookup.place(line.number).full)
            lines += 1
            filled = lines if line.text else filled
        row_count, context_count = _count(rows(file, quiet, self._quoting))
        if lines >= row_count >= filled:
            per_row, needed = True, row_count
        elif lines >= context_count >= filled:
            per_row, needed = False, context_count
        else:
            raise InputError(
                f"has {lines:,} lines, but {file.where} has {row_count:,} rows and {context_count:,} contexts; "
                "expected a line for each row, or for each context",
                where=lookup.where,
            )
        what = "lookup files with a dialogue id for each " + ("row" if per_row else "context")
        self._report.note(what, lookup.name)
        ids = (unescape(line.text) for line in TextLines(lookup, quiet))
        return _Lookup(islice(ids, needed), per_row)


def _candidate(row: Row) -> Candidate:
    """The candidate of a row, which is checked."""
    if row.problem is not None:
        raise row.problem
    if len(row.cells) < 3:
        count = "1 cell" if len(row.cells) == 1 else f"{len(row.cells)} cells"
        raise InputError(f"has {count}; expected at least 3: {_EXPECTED}")
    return Candidate(0, unescape(row.cells[-1]), number(row.cells[0], "label"))


def _count(found: Iterator[Row]) -> tuple[int, int]:
    """How many rows there are, and how many contexts among those that hold."""
    row_count = context_count = 0
    before: list[str] | None = None
    for row in found:
        row_count += 1
        try:
            _candidate(row)
        except InputError:
            continue
        if row.cells[1:-1] != before:
            before = row.cells[1:-1]
            context_count += 1
    return row_count, context_count


class _Writer:
    def __init__(self, files: SplitFiles, report: Report) -> None:
        self._files = files
        self._report = report
        self._ids = ContextIds()
        # Of each split the context that was written last, the lookup file, and the blank lines that it still lacks.
        self._before: dict[str | None, tuple[str | None, list[str]]] = {}
        self._lookups: dict[str | None, TextIO] = {}
        self._blank: Counter[str | None] = Counter()

    def write(self, record: RankingRecord) -> None:
        context = record.context
        split = context.split
        if not context.turns:
            raise InputError(f"context {context.id!r} has no turn; expected at least one")
        for what, count in _losses(record).items():
            self._report.skip(f"{what}, which this format does not hold", context.id, count)
        if not record.candidates:
            return
        if context.id != self._ids.next(split):
            self._report.skip("ids of contexts, which are numbered when they are read", context.id)
        key = (context.dialogue_id, context.texts)
        if self._before.get(split) == key:
            self._report.note("contexts that equal the one before and will be read as one with it", context.id)
        self._before[split] = key
        utterances = "\t".join(quoted(escape(text)) for text in context.texts)
        file = self._files.get(split, ".tsv")
        for candidate in record.candidates:
            if candidate.relevance is None or not math.isfinite(candidate.relevance):
                raise InputError(
                    f"candidate {candidate.position} of context {context.id!r} has no relevance, which this format needs"
                )
            file.write(f"{spelled(candidate.relevance)}\t{utterances}\t{quoted(escape(candidate.text))}\n")
        self._write_lookup(split, context.dialogue_id, len(record.candidates))

    def _write_lookup(self, split: str | None, dialogue: str | None, count: int) -> None:
        # The file is begun with the first id; the lines before it are blank.
        if not dialogue:
            self._blank[split] += count
            return
        if split not in self._lookups:
            self._lookups[split] = self._files.get(split, _LOOKUP)
            if dialogue.startswith("\ufeff") and not self._blank[split]:
                # The first of two is taken for a byte-order mark.
                self._lookups[split].write("\ufeff")
        self._lookups[split].write("\n" * self._blank.pop(split, 0) + (escape(dialogue) + "\n") * count)

    def close(self) -> None:
        """Give every lookup file a line for each row. A set without any context is an empty file."""
        for split, file in self._lookups.items():
            file.write("\n" * self._blank[split])
        if not self._before:
            self._files.get(None, ".tsv")


def _losses(record: RankingRecord) -> dict[str, int]:
    """What of a record the format has no place for, and how many of each."""
    context, candidates = record.context, record.candidates
    roles = [turn.role for turn in alternating(context.texts)]
    return {
        "contexts without candidates": int(not candidates),
        "roles that are not user and agent by turns up to the user": sum(
            turn.role != role for turn, role in zip(context.turns, roles, strict=True)
        ),
        "domains": int(context.domain is not None),
        "attributes of contexts": len(context.attributes),
        "ratings": sum(len(candidate.ratings) for candidate in candidates),
        "sources of candidates": sum(candidate.source is not None for candidate in candidates),
        "attributes of candidates": sum(len(candidate.attributes) for candidate in candidates),
    }
