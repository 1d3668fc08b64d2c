"""Intents that stand apart from the dialogues, in a table ``allocation, conversation_id, comment_pos, annotations``.

A row names a split, a dialogue by its name in the file of that split, an utterance by its place (from 1), and its labels, with
commas between them. The first utterance of a dialogue that has rows is the original question, with or without a row of its own, as
it is to the code that merges the two for the release.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from typing import NamedTuple

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.corpus.model import Annotation, Record
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files.fields import found
from tertulia.formats.files.lines import Lines
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.mantis.fields import ANNOTATOR, INTENTS, LAYER

__all__ = ["IntentTable"]

_COLUMNS = ("allocation", "conversation_id", "comment_pos", "annotations")
_EXPECTED = "a CSV file of intents with the columns " + ", ".join(_COLUMNS)
_SPLITS = {"train": "train", "dev": "dev", "valid": "dev", "validation": "dev", "test": "test"}
_ORIGINAL_QUESTION = "OQ"
_LABELLED = "has_intent_labels"
# The table is held in memory; the release's has a few thousand rows.
_MOST_ROWS = 2_000_000
_MOST_DIGITS = 9
_LONGEST_CELL = 10_000


class _Labels(NamedTuple):
    """The labels of one utterance, and the row that says so."""

    labels: tuple[str, ...]
    file: int
    line: int


class IntentTable:
    """A table of intents, put beside the dialogues that it speaks of.

    Raises
    ------
    ConfigurationError
        No file is named.
    InputError
        The file cannot be read or is no such table; a malformed row, unless ``options.skip_bad``.
    """

    def __init__(self, path: str, report: Report, options: ReadOptions) -> None:
        if not path:
            raise ConfigurationError(f"--option intents names no file; expected {_EXPECTED}")
        self._report = report
        self._options = options
        # Split → dialogue → place → labels. Texts that come again and again are held once.
        self._rows: dict[str, dict[str, dict[int, _Labels]]] = {}
        self._used: set[tuple[str, str]] = set()
        # The bytes of the table are no part of what progress is told of the source.
        self._files = source_files(path, "*.csv", expected=_EXPECTED, options=ReadOptions())
        count = 0
        for number, file in enumerate(self._files):
            for line, cells in self._cells(file):
                count += 1
                if count > _MOST_ROWS:
                    raise InputError(f"holds more than {_MOST_ROWS:,} rows; expected {_EXPECTED}", where=file.where)
                with report.catching(options, file.place(line)):
                    self._take(cells, number, line)

    def label(self, record: Record, place: Place) -> None:
        """Give the utterances of a dialogue, which still has its name in its file, the intents that the table has for them.

        Raises
        ------
        InputError
            A row is wrong, or the dialogue's file says no split and the table has rows for it in several; with ``skip_bad`` such
            rows are left out and counted.
        """
        dialogue = record.dialogue
        split = None if dialogue.split is None else _SPLITS.get(dialogue.split, dialogue.split)
        there = [name for name in self._rows if dialogue.id in self._rows[name] and split in (None, name)]
        if len(there) > 1:
            self._used.update((name, dialogue.id) for name in there)
            with self._report.catching(self._options, place):
                raise InputError(
                    f"the table of intents has rows of {' and of '.join(sorted(there))} for the dialogue {dialogue.id!r}; "
                    "expected a file whose name says the split"
                )
            return
        if not there:
            return
        [name] = there
        self._used.add((name, dialogue.id))
        rows = self._rows[name][dialogue.id]
        own: dict[int, set[str]] = {}
        for note in record.annotations:
            if note.layer == LAYER and note.position is not None and note.label is not None:
                own.setdefault(note.position, set()).add(note.label)
        given = False
        for number, row in sorted(rows.items()):
            where = self._place(row)
            with self._report.catching(self._options, where):
                if number > len(dialogue.utterances):
                    raise InputError(
                        f"comment_pos is {number}; the dialogue {dialogue.id!r} has {len(dialogue.utterances)} utterances"
                    )
                given |= self._give(record, number - 1, row.labels, own.get(number - 1), where.shown)
        if given:
            dialogue.attributes.setdefault(_LABELLED, True)
            if 1 not in rows and 0 not in own and dialogue.utterances:
                self._give(record, 0, (_ORIGINAL_QUESTION,), None, "")
                where = self._place(next(iter(rows.values())))
                self._report.note("first utterances without a row, which are the original question", where.shown)
        record.annotations.sort(key=lambda note: (note.position or 0, note.annotator, note.label or ""))

    def _give(self, record: Record, position: int, labels: tuple[str, ...], own: set[str] | None, where: str) -> bool:
        if own is not None and own != set(labels):
            self._report.skip("rows of intents whose utterance has others in its own file, which stay", where)
            return False
        if own is None:
            record.annotations += [
                Annotation(record.dialogue.id, LAYER, ANNOTATOR, position, label=label) for label in labels
            ]
        else:
            self._report.note("rows of intents that the utterance's own file has as well", where)
        return True

    def finish(self) -> None:
        """Count the rows of dialogues that were not in the source."""
        for split, dialogues in self._rows.items():
            for identifier, rows in dialogues.items():
                if (split, identifier) not in self._used:
                    where = self._place(next(iter(rows.values()))).shown
                    self._report.skip("rows of intents whose dialogue is not in the source", where, len(rows))

    def _place(self, row: _Labels) -> Place:
        return self._files[row.file].place(row.line)

    def _cells(self, file: SourceFile) -> Iterator[tuple[int, list[str]]]:
        """The cells of each row in the order of ``_COLUMNS``, with the line that it begins on."""
        # Bytes that are not UTF-8 come through as lone surrogates, so that the row that holds them can be named.
        with TextIOWrapper(file.open(ReadOptions()), "utf-8-sig", errors="surrogateescape", newline="") as stream:
            lines = Lines(stream)
            reader = csv.reader(lines, strict=True)
            header: list[str] | None = None
            while True:
                place = file.place(lines.number + 1)
                try:
                    row = next(reader, None)
                except (csv.Error, InputError) as error:
                    if isinstance(error, InputError) and error.where is not None:
                        raise
                    bad = InputError(f"is not CSV: {error}; expected {_EXPECTED}", where=place.full)
                    if header is None:
                        raise bad from None
                    self._report.bad(bad, self._options, place.shown)
                    continue
                if row is None:
                    break
                if not any(cell.strip() for cell in row):
                    continue
                if header is None:
                    header = [cell.strip().lower() for cell in row]
                    wrong = next((name for name in _COLUMNS if header.count(name) != 1), None)
                    if wrong is not None:
                        many = "has no" if wrong not in header else "has more than one"
                        raise InputError(f"{many} column {wrong}; expected {_EXPECTED}", where=place.full)
                    continue
                if len(row) != len(header):
                    wrong_width = f"the row has {len(row)} cells; the header names {len(header)}"
                    self._report.bad(InputError(wrong_width, where=place.full), self._options, place.shown)
                    continue
                yield int(place.shown.rpartition(":")[2]), [row[header.index(name)].strip() for name in _COLUMNS]
        if header is None:
            raise InputError(f"is empty; expected {_EXPECTED}", where=file.where)

    def _take(self, cells: list[str], file: int, line: int) -> None:
        allocation, identifier, place, annotations = cells
        where = self._files[file].place(line).shown
        if not all(len(cell) <= _LONGEST_CELL for cell in cells):
            raise InputError(f"a cell is longer than {_LONGEST_CELL:,} characters")
        if any("\ud800" <= character <= "\udfff" for cell in cells if not cell.isascii() for character in cell):
            raise InputError("the row is not UTF-8")
        split = _SPLITS.get(allocation.lower())
        if split is None:
            raise InputError(f"allocation holds {found(allocation)}; expected train, dev or test")
        if not identifier:
            raise InputError("conversation_id is empty; expected the number of a dialogue")
        if not (place.isascii() and place.isdigit() and len(place) <= _MOST_DIGITS and int(place) > 0):
            raise InputError(f"comment_pos holds {found(place)}; expected a whole number from 1")
        labels = [label for part in annotations.split(",") if (label := part.strip())]
        if not labels:
            self._report.skip("rows of intents without a label", where)
            return
        distinct = tuple(sys.intern(label) for label in sorted(set(labels)))
        self._report.note(
            "labels that stand twice in a row of intents; each is taken once", where, len(labels) - len(distinct)
        )
        for label in distinct:
            if label not in INTENTS:
                self._report.note("intents that the release does not have; they are kept", f"{where} ({label})")
        rows = self._rows.setdefault(split, {}).setdefault(identifier, {})
        known = rows.get(int(place))
        if known is None:
            rows[int(place)] = _Labels(distinct, file, line)
        elif known.labels == distinct:
            self._report.skip("rows of intents that stand twice", where)
        else:
            raise InputError(
                f"the utterance {place} of the dialogue {identifier!r} of {split} has other labels on line {known.line} "
                f"({','.join(known.labels)}); expected every utterance once"
            )
