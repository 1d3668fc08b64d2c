"""``rated-tsv``: responses with ratings, a line a pair of prompt and response.

A line is ``prompt \\t response \\t rating`` with the mean of what people gave, as in the Chinese corpus of Li et al. 2018, or
``prompt \\t response \\t r1 \\t r2`` with the rating of each. Lines that follow each other with the same prompt are one context: so
counts the publication, in whose files five prompts stand at two places. Any other table with a header is read by ``--columns``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tertulia.corpus.exchange import Holds, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files.cells import number, spelled, unescape
from tertulia.formats.files.context_ids import ContextIds, split_of
from tertulia.formats.files.gathering import gathered
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.files.text_lines import TextLines
from tertulia.formats.rated_tsv.columns import read_columns
from tertulia.formats.rated_tsv.writing import write_rated

__all__ = ["RatedTsvFormat"]

_EXPECTED = "prompt, response and rating with tabs between them"
# What stands beside the data in a folder that was published.
_BESIDE = re.compile(r"(?i)read[-_]?me|licen[cs]e|citation")
_MOST_RATINGS = 100
_MOST_CANDIDATES = 100_000
_MOST_CHARACTERS = 256_000_000
_LOWEST, _HIGHEST = 1.0, 5.0


@dataclass(slots=True)
class _Pair:
    """What a line holds."""

    prompt: str
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class _Fields:
    """Which cell of a line is what."""

    names: tuple[str, ...]
    prompt: int
    response: int | None
    ratings: tuple[int, ...]

    @staticmethod
    def of(names: list[str]) -> _Fields:
        """The fields in the order of their cells: ``prompt`` once, ``response`` at most once, ``rating`` any number of times."""
        counts = {name: names.count(name) for name in ("prompt", "response", "rating")}
        if sum(counts.values()) != len(names) or counts["prompt"] != 1 or counts["response"] > 1:
            raise ConfigurationError(
                f"the option fields is {','.join(names)!r}; expected prompt once, response once or not at all, and rating "
                "any number of times, with commas between them"
            )
        response = names.index("response") if counts["response"] else None
        ratings = tuple(index for index, name in enumerate(names) if name == "rating")
        return _Fields(tuple(names), names.index("prompt"), response, ratings)


class RatedTsvFormat:
    """Reads and writes rated responses as tab-separated lines; reads any table with a header by its columns."""

    name = "rated-tsv"
    summary = "prompt, response and one or more ratings a line; with --columns any CSV or TSV with a header"
    writes = True
    takes_columns = True
    holds: Holds = "ranking-set"
    options: Mapping[str, str] = {
        "fields": "what the cells of a line are, such as prompt,response,rating,rating; prompt alone is a list of prompts",
        "group": "runs (lines that follow each other with one prompt are a context) or all (all lines with one prompt are)",
        "turns": "with --columns: what stands between the turns of the column context; a line break unless given",
    }
    licence = None
    citation = (
        "Li, J., Song, Y., Zhang, H., Shi, S. (2018). A Manually Annotated Chinese Corpus for Non-task-oriented Dialogue "
        "Systems. arXiv:1805.05542"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[RankingRecord]:
        """The contexts of a file, or of all matching files of a folder or zip archive; a file's name tells the split."""
        group = options.values.get("group", "all" if options.columns else "runs")
        if group not in ("runs", "all"):
            raise ConfigurationError(f"the option group is {group!r}; expected runs or all")
        if options.columns:
            files = source_files(source, "*.csv", "*.tsv", expected="tables with a header", options=options)
            yield from read_columns(files, report, options, by_runs=group == "runs")
            return
        given = options.values.get("fields")
        fields = None if given is None else _Fields.of([name.strip() for name in given.split(",")])
        files = source_files(source, "*.tsv", "*.txt", expected=f"lines of {_EXPECTED}", options=options)
        reader = _Reader(report, options, fields)
        for file in files:
            if len(files) > 1 and _BESIDE.match(file.name.rpartition("/")[2]):
                report.skip("files that are about the data (readme, licence)", file.name)
                continue
            yield from reader.by_runs(file) if group == "runs" else reader.gathered(file)

    def write(self, records: Iterator[RankingRecord], path: str, report: Report) -> None:
        """Write one file, or a folder of one file a split where contexts have splits."""
        write_rated(records, path, report)


class _Reader:
    def __init__(self, report: Report, options: ReadOptions, fields: _Fields | None) -> None:
        self._report = report
        self._options = options
        self._given = fields
        self._ids = ContextIds()
        self._prompts = SeenTexts()
        self._texts = SeenTexts()

    def by_runs(self, file: SourceFile) -> Iterator[RankingRecord]:
        """Lines that follow each other with one prompt are a context."""
        lines = TextLines(file, self._options)
        split = split_of(file.name)
        record: RankingRecord | None = None
        prompt, start, first = None, 1, True
        characters = 0
        for line, pair in self._pairs(file, lines):
            if record is None or pair.prompt != prompt:
                if record is not None and not self._dropped(record, file, start):
                    yield record
                if self._prompts.again([pair.prompt]):
                    what = "prompts that stood before, apart; each is a context of its own"
                    self._report.note(what, file.place(line).shown)
                record = self._context(pair.prompt, split)
                if first:
                    record.context.attributes |= _beginning(lines)
                    first = False
                prompt, start, characters = pair.prompt, line, 0
            characters += len(pair.candidate.text)
            if characters > _MOST_CHARACTERS:
                what = f"the responses to one prompt hold more than {_MOST_CHARACTERS:,} characters"
                raise InputError(what, where=file.place(line).full)
            _add(record, pair.candidate, file, line)
        if record is not None:
            if lines.unterminated:
                record.context.attributes["unterminated"] = True
            if not self._dropped(record, file, start):
                yield record

    def gathered(self, file: SourceFile) -> Iterator[RankingRecord]:
        """All lines with one prompt are a context, wherever they stand."""
        lines = TextLines(file, self._options)
        split = split_of(file.name)
        found = (
            (pair.prompt, [pair.prompt, line, _to_json(pair.candidate)]) for line, pair in self._pairs(file, lines)
        )
        first = True
        for values in gathered(found, where=file.where):
            record = self._context(values[0][0], split)
            if first:
                record.context.attributes |= _beginning(lines)
                first = False
            for _, line, value in values:
                _add(record, _from_json(value), file, line)
            if not self._dropped(record, file, values[0][1]):
                yield record

    def _context(self, prompt: str, split: str | None) -> RankingRecord:
        return RankingRecord(Context(self._ids.next(split), [Turn("user", prompt)], split=split))

    def _dropped(self, record: RankingRecord, file: SourceFile, line: int) -> bool:
        texts = [record.context.turns[0].text, *(candidate.text for candidate in record.candidates)]
        return self._report.is_duplicate(texts, self._texts, self._options, f"{file.name}:{line}")

    def _pairs(self, file: SourceFile, lines: TextLines) -> Iterator[tuple[int, _Pair]]:
        """The pair of each line with the line's number."""
        fields = self._given
        first_end = None
        for line, text, end, problem in lines:
            if problem is None and not text:
                self._report.skip("blank lines", file.place(line).shown)
                continue
            cells = text.split("\t")
            try:
                if problem is not None:
                    raise problem
                if fields is None:
                    fields = _detected(cells)
                pair = _pair(cells, fields, line)
            except InputError as error:
                with self._report.catching(self._options, file.place(line)):
                    raise error
                continue
            if first_end is None:
                first_end = end
            elif end != first_end and end:
                self._report.note("lines that end otherwise than the first (CRLF, LF)", file.place(line).shown)
            for what in _oddities(pair, fields):
                self._report.note(what, file.place(line).shown)
            yield line, pair
        if lines.byte_order_mark:
            self._report.note("files with a byte-order mark", file.name)


def _oddities(pair: _Pair, fields: _Fields) -> Iterator[str]:
    """What is odd in a pair, though it holds."""
    candidate = pair.candidate
    relevance = candidate.relevance
    if relevance is None:
        if fields.ratings:
            yield "pairs without a rating"
    elif not _LOWEST <= relevance <= _HIGHEST or any(not _LOWEST <= r.value <= _HIGHEST for r in candidate.ratings):
        yield "ratings outside 1 to 5"
    if not pair.prompt or pair.prompt.isspace():
        yield "empty prompts"
    if fields.response is not None and (not candidate.text or candidate.text.isspace()):
        yield "empty responses"


def _beginning(lines: TextLines) -> dict[str, Any]:
    """How a file begins and ends its lines, kept with its first context so that it can be written as it was."""
    marks = {"byte_order_mark": lines.byte_order_mark, "crlf": lines.crlf}
    return {name: True for name, holds in marks.items() if holds}


def _detected(cells: list[str]) -> _Fields:
    if not 3 <= len(cells) <= 2 + _MOST_RATINGS:
        raise InputError(
            f"has {len(cells)} cell{'' if len(cells) == 1 else 's'}; expected {_EXPECTED}",
            hint="--option fields=prompt reads a list of prompts, --columns a table with a header",
        )
    return _Fields.of(["prompt", "response", *["rating"] * (len(cells) - 2)])


def _pair(cells: list[str], fields: _Fields, line: int) -> _Pair:
    if len(cells) != len(fields.names):
        raise InputError(f"has {len(cells)} cell{'' if len(cells) == 1 else 's'}; expected {', '.join(fields.names)}")
    candidate = Candidate(0, "" if fields.response is None else unescape(cells[fields.response]))
    if not fields.ratings:
        return _Pair(unescape(cells[fields.prompt]), candidate)
    spellings = [cells[index] for index in fields.ratings]
    try:
        values = [number(cell, "rating") if cell.strip() else None for cell in spellings]
    except InputError as error:
        hint = "a table with a header is read with --columns prompt=...,response=...,rating=..." if line == 1 else None
        raise InputError(error.message, hint=hint) from None
    if len(values) == 1:
        candidate.relevance = values[0]
        if values[0] is None or repr(values[0]) != spellings[0]:
            candidate.attributes["written"] = spellings[0]
    else:
        candidate.ratings = [Rating(str(n), value) for n, value in enumerate(values, 1) if value is not None]
        if candidate.ratings:
            candidate.relevance = sum(rating.value for rating in candidate.ratings) / len(candidate.ratings)
        if any(value is None or spelled(value) != cell for value, cell in zip(values, spellings, strict=True)):
            candidate.attributes["written"] = spellings
    return _Pair(unescape(cells[fields.prompt]), candidate)


def _add(record: RankingRecord, candidate: Candidate, file: SourceFile, line: int) -> None:
    candidate.position = len(record.candidates)
    record.candidates.append(candidate)
    if len(record.candidates) > _MOST_CANDIDATES:
        raise InputError(f"a prompt has more than {_MOST_CANDIDATES:,} responses", where=file.place(line).full)


def _to_json(candidate: Candidate) -> list[Any]:
    ratings = [[rating.annotator, rating.value] for rating in candidate.ratings]
    return [candidate.text, candidate.relevance, ratings, candidate.attributes]


def _from_json(value: list[Any]) -> Candidate:
    text, relevance, ratings, attributes = value
    return Candidate(0, text, relevance, [Rating(*rating) for rating in ratings], attributes=attributes)
