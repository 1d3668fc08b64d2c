"""``rated-tsv``: responses with ratings, a line a pair of prompt and response.

A line is ``prompt \\t response \\t rating`` with the mean of what people gave, as in the Chinese corpus of Li et al. 2018, or
``prompt \\t response \\t r1 \\t r2`` with the rating of each. Lines that follow each other with the same prompt are one context: so
counts the publication, in whose files five prompts stand at two places. Any other table with a header is read by ``--columns``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tertulia.corpus.exchange import Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.cells import number, spelled, unescape
from tertulia.formats.context_ids import ContextIds, split_of
from tertulia.formats.gathering import gathered
from tertulia.formats.rated_columns import read_columns
from tertulia.formats.rated_writing import write_rated
from tertulia.formats.sources import SourceFile, source_files
from tertulia.formats.text_lines import TextLines

__all__ = ["RatedTsvFormat"]

_EXPECTED = "prompt, response and rating with tabs between them"
_MOST_RATINGS = 100
_MOST_CANDIDATES = 1_000_000
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
        start = file.place(1)
        prompt = None
        first = True
        for place, pair in self._pairs(file, lines):
            if record is None or pair.prompt != prompt:
                if record is not None and not self._dropped(record, start):
                    yield record
                if self._prompts.again([pair.prompt]):
                    self._report.note("prompts that stood before, apart; each is a context of its own", place.shown)
                record = self._context(pair.prompt, split)
                if first:
                    record.context.attributes |= _beginning(lines)
                    first = False
                prompt, start = pair.prompt, place
            _add(record, pair.candidate, place)
        if record is not None:
            if lines.unterminated:
                record.context.attributes["unterminated"] = True
            if not self._dropped(record, start):
                yield record

    def gathered(self, file: SourceFile) -> Iterator[RankingRecord]:
        """All lines with one prompt are a context, wherever they stand."""
        lines = TextLines(file, self._options)
        split = split_of(file.name)
        found = (
            (pair.prompt, [pair.prompt, place, _to_json(pair.candidate)]) for place, pair in self._pairs(file, lines)
        )
        first = True
        for values in gathered(found):
            prompt, place = values[0][0], Place(*values[0][1])
            record = self._context(prompt, split)
            if first:
                record.context.attributes |= _beginning(lines)
                first = False
            for _, at, value in values:
                _add(record, _from_json(value), Place(*at))
            if not self._dropped(record, place):
                yield record

    def _context(self, prompt: str, split: str | None) -> RankingRecord:
        return RankingRecord(Context(self._ids.next(split), [Turn("user", prompt)], split=split))

    def _dropped(self, record: RankingRecord, place: Place) -> bool:
        texts = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
        return self._report.is_duplicate(texts, self._texts, self._options, place.shown)

    def _pairs(self, file: SourceFile, lines: TextLines) -> Iterator[tuple[Place, _Pair]]:
        fields = self._given
        crlf = None
        for line in lines:
            place = file.place(line.number)
            if line.problem is None and not line.text:
                self._report.skip("blank lines", place.shown)
                continue
            cells, pair = line.text.split("\t"), None
            with self._report.catching(self._options, place):
                if line.problem is not None:
                    raise line.problem
                if fields is None:
                    fields = _detected(cells)
                pair = _pair(cells, fields, line.number)
            if pair is None:
                continue
            if crlf is None:
                crlf = line.end == "\r\n"
            elif line.end and (line.end == "\r\n") != crlf:
                self._report.note("lines that end otherwise than the first (CRLF, LF)", place.shown)
            self._note(pair, fields, place)
            yield place, pair
        if lines.byte_order_mark:
            self._report.note("files with a byte-order mark", file.name)

    def _note(self, pair: _Pair, fields: _Fields | None, place: Place) -> None:
        candidate = pair.candidate
        values = [rating.value for rating in candidate.ratings]
        if candidate.relevance is not None:
            values.append(candidate.relevance)
        if any(not _LOWEST <= value <= _HIGHEST for value in values):
            self._report.note("ratings outside 1 to 5", place.shown)
        if not values and fields is not None and fields.ratings:
            self._report.note("pairs without a rating", place.shown)
        if not pair.prompt.strip():
            self._report.note("empty prompts", place.shown)
        if fields is not None and fields.response is not None and not candidate.text.strip():
            self._report.note("empty responses", place.shown)


def _beginning(lines: TextLines) -> dict[str, Any]:
    """How a file begins and ends its lines, kept with its first context so that it can be written as it was."""
    marks = {"byte_order_mark": lines.byte_order_mark, "crlf": lines.crlf}
    return {name: True for name, holds in marks.items() if holds}


def _detected(cells: list[str]) -> _Fields:
    if not 3 <= len(cells) <= 2 + _MOST_RATINGS:
        raise InputError(
            f"has {len(cells)} cell{'' if len(cells) == 1 else 's'}; expected {_EXPECTED}",
            hint="--option fields=... says what the cells are",
        )
    return _Fields.of(["prompt", "response", *["rating"] * (len(cells) - 2)])


def _pair(cells: list[str], fields: _Fields, line: int) -> _Pair:
    if len(cells) != len(fields.names):
        raise InputError(f"has {len(cells)} cell{'' if len(cells) == 1 else 's'}; expected {', '.join(fields.names)}")
    candidate = Candidate(0, "" if fields.response is None else unescape(cells[fields.response]))
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
    elif values:
        candidate.ratings = [Rating(str(n), value) for n, value in enumerate(values, 1) if value is not None]
        if candidate.ratings:
            candidate.relevance = sum(rating.value for rating in candidate.ratings) / len(candidate.ratings)
        if any(value is None or spelled(value) != cell for value, cell in zip(values, spellings, strict=True)):
            candidate.attributes["written"] = spellings
    return _Pair(unescape(cells[fields.prompt]), candidate)


def _add(record: RankingRecord, candidate: Candidate, place: Place) -> None:
    candidate.position = len(record.candidates)
    record.candidates.append(candidate)
    if len(record.candidates) > _MOST_CANDIDATES:
        raise InputError(f"a prompt has more than {_MOST_CANDIDATES:,} responses", where=place.full)


def _to_json(candidate: Candidate) -> list[Any]:
    ratings = [[rating.annotator, rating.value] for rating in candidate.ratings]
    return [candidate.text, candidate.relevance, ratings, candidate.attributes]


def _from_json(value: list[Any]) -> Candidate:
    text, relevance, ratings, attributes = value
    return Candidate(0, text, relevance, [Rating(*rating) for rating in ratings], attributes=attributes)
