"""``self-dialogue``: the result files of a crowdsourcing task in which one person writes both sides of a conversation.

The source is a folder with one folder a topic, each of CSV files as Amazon Mechanical Turk gives them (a row is an assignment,
``Answer.sentence1`` … the turns), and ``blocked_workers.txt`` with the ids of blocked workers, one a line. Published with
Krause et al. 2017, "Edina: Building an Open Domain Socialbot with Self-dialogues".
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from pathlib import Path

from tertulia.corpus.exchange import NO_OPTIONS, Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Dialogue, Record, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.lines import LONGEST_LINE, Lines
from tertulia.formats.files.sources import SourceFile, source_files

__all__ = ["SelfDialogueFormat", "pseudonym"]

_ANSWER = re.compile(r"Answer\.sentence([1-9][0-9]{0,5})")
_REQUIRED = ("AssignmentId", "WorkerId")
_EMPTY = "{}"
_SIDES = ("A", "B")
_PSEUDONYM = "person-"
_NO_TOPIC = "none"
_NO_BATCH = "dialogues"
_MOST_SENTENCES = 10_000
_BLOCKED = "blocked_workers.txt"
_EXPECTED = "topic folders of AMT result files, such as corpus/movies/batch.csv"
_TIME_FORMAT = "%a %b %d %H:%M:%S %Y"
_ZONES = {"PDT": timedelta(hours=-7), "PST": timedelta(hours=-8), "UTC": timedelta(0), "GMT": timedelta(0)}
# Columns kept as attributes of the dialogue. The approval rates are the worker's own affair and stay behind.
_ATTRIBUTES = {"HITId": "hit", "Reward": "reward", "WorkTimeInSeconds": "work_seconds", "AssignmentStatus": "status"}


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where a file has what: the index of each answer column in order of its number, and of every named column."""

    answers: list[int]
    index: dict[str, int]
    width: int


class SelfDialogueFormat:
    """Reads and writes self-dialogues as crowdsourcing result files."""

    name = "self-dialogue"
    summary = "a folder of AMT result CSVs, one folder a topic, with blocked_workers.txt"
    writes = True
    holds: Holds = "corpus"
    options = NO_OPTIONS
    licence = "BSD-3-Clause"
    citation = (
        "Krause, B., Damonte, M., Dobre, M., Duma, D., Fainberg, J., Fancellu, F., Kahembwe, E., Cheng, J., Webber, B. (2017). "
        "Edina: Building an Open Domain Socialbot with Self-dialogues. arXiv:1709.09816"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The conversations that were neither rejected nor written by a blocked worker."""
        found = source_files(source, "*.csv", _BLOCKED, expected=_EXPECTED, options=options)
        files = [file for file in found if _base(file.name) != _BLOCKED]
        if not files:
            raise InputError(f"holds no CSV file; expected {_EXPECTED}", where=source)
        blocked = _blocked_workers([file for file in found if file not in files], options)
        path = os.path.abspath(source)
        # The domain of a file that lies in no folder of the source: the name of the folder around it.
        topic = os.path.basename(path if os.path.isdir(path) else os.path.dirname(path))
        ids: set[str] = set()
        texts, texts_of_all_rows = SeenTexts(), SeenTexts()
        for file in files:
            for place, row, columns in _rows(file, report, options):
                where = place.shown
                report.note("rows read", where)
                cells = [row[index] for index in columns.answers]
                report.note("empty answers in all rows", where, cells.count(_EMPTY))
                if texts_of_all_rows.again([cell for cell in cells if cell != _EMPTY]):
                    report.note("rows that repeat another row's answers, those left out included", where)
                if _cell(row, columns, "Reject").strip():
                    report.skip("rejected rows", where)
                    continue
                if _cell(row, columns, "WorkerId").strip() in blocked:
                    report.skip("rows by blocked workers", where)
                    continue
                identifier = _cell(row, columns, "AssignmentId")
                if identifier in ids:
                    twice = InputError(f"the assignment {identifier!r} stands here again", where=place.full)
                    report.bad(twice, options, where)
                    continue
                ids.add(identifier)
                dialogue = _dialogue(row, columns, file.name, topic, where, report)
                if not report.is_duplicate(dialogue.texts, texts, options, where):
                    yield Record(dialogue)

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one CSV a topic and batch under ``corpus/``; what this format has no place for is counted."""
        root = Path(path)
        by_file: dict[tuple[str, str], list[Dialogue]] = {}
        for record in records:
            _check_sides(record.dialogue)
            for what, count in _losses(record).items():
                report.skip(f"{what}, which this format does not hold", record.dialogue.id, count)
            topic = _file_name(record.dialogue, "domain", record.dialogue.domain or _NO_TOPIC)
            batch = _file_name(record.dialogue, "batch", record.dialogue.attributes.get("batch", _NO_BATCH))
            by_file.setdefault((topic, batch), []).append(record.dialogue)
        for (topic, batch), dialogues in sorted(by_file.items()):
            folder = root / "corpus" / topic
            folder.mkdir(parents=True, exist_ok=True)
            _write_batch(folder / f"{batch}.csv", dialogues)
        root.mkdir(exist_ok=True)
        (root / "corpus").mkdir(exist_ok=True)
        (root / "blocked_workers.txt").write_text("", encoding="utf-8")


def pseudonym(worker: str) -> str:
    """A stable stand-in for a worker's id: the id itself must not enter a corpus. Pseudonyms stay as they are."""
    if worker.startswith(_PSEUDONYM):
        return worker
    return _PSEUDONYM + hashlib.blake2b(worker.encode(), digest_size=8, person=b"tertulia worker").hexdigest()


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _blocked_workers(files: list[SourceFile], options: ReadOptions) -> set[str]:
    """The ids in the ``blocked_workers.txt`` that lies nearest to the top, as that of the folder itself does."""
    if not files:
        return set()
    with min(files, key=lambda file: file.name.count("/")).open(options) as stream:
        return set(stream.read(LONGEST_LINE).decode("utf-8-sig", errors="replace").split())


def _rows(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Place, list[str], _Columns]]:
    """The rows of one file with the place each begins at; a malformed row is an error, or skipped and counted."""
    # Bytes that are not UTF-8 come through as lone surrogates, so that the row that holds them can be named.
    with TextIOWrapper(file.open(options), "utf-8-sig", errors="surrogateescape", newline="") as stream:
        lines = Lines(stream)
        reader = csv.reader(lines, strict=True)
        try:
            columns = _columns(next(reader, []))
        except csv.Error as error:
            raise InputError(f"is not a CSV file: {error}", where=file.place(1).full) from None
        except InputError as error:
            raise InputError(error.message, where=error.where or file.place(1).full) from None
        while True:
            place = file.place(lines.number + 1)
            try:
                row = next(reader)
                if row:
                    _check_row(row, columns)
            except StopIteration:
                return
            except (csv.Error, InputError) as error:
                if isinstance(error, InputError):
                    if error.where is not None:
                        raise
                    problem = error.message
                elif "end of data" in str(error):
                    problem = f"ends in the middle of a row; expected {columns.width} fields"
                else:
                    problem = f"is not CSV: {error}; expected {columns.width} fields"
                report.bad(InputError(problem, where=place.full), options, place.shown)
                continue
            if row:
                yield place, row, columns


def _check_row(row: list[str], columns: _Columns) -> None:
    if len(row) != columns.width:
        raise InputError(f"the row has {len(row)} fields; the header names {columns.width}")
    if any("\ud800" <= character <= "\udfff" for cell in row if not cell.isascii() for character in cell):
        raise InputError("the row is not UTF-8")
    if not row[columns.index["AssignmentId"]].strip():
        raise InputError("the row has no AssignmentId")


def _columns(header: list[str]) -> _Columns:
    numbered = sorted((int(match[1]), index) for index, name in enumerate(header) if (match := _ANSWER.fullmatch(name)))
    if not numbered:
        raise InputError("has no answer column; expected columns named Answer.sentence1, Answer.sentence2, ...")
    missing = [name for name in _REQUIRED if name not in header]
    if missing:
        raise InputError(f"has no column {' and no column '.join(missing)}")
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"has two columns {twice[0]!r}; expected every name once")
    return _Columns([index for _, index in numbered], {name: i for i, name in enumerate(header)}, len(header))


def _cell(row: list[str], columns: _Columns, name: str) -> str:
    index = columns.index.get(name)
    return "" if index is None else row[index]


def _dialogue(row: list[str], columns: _Columns, name: str, topic: str, where: str, report: Report) -> Dialogue:
    """One row of the file ``name``; ``topic`` is its domain where the name itself has no folder."""
    cells = [row[index] for index in columns.answers]
    filled = [number for number, cell in enumerate(cells) if cell != _EMPTY and cell.strip()]
    last = filled[-1] if filled else -1
    empty = [number for number, cell in enumerate(cells) if cell == _EMPTY]
    report.note("empty answers", where, len(empty))
    report.note("blank answers", where, len(cells) - len(empty) - len(filled))
    gap = any(number < last for number in range(len(cells)) if number not in filled)
    report.note("conversations with an empty answer in the middle", where, int(gap))
    report.note("conversations without any answer", where, int(not filled))
    report.note("answers with a tab", where, sum("\t" in cells[number] for number in filled))
    # An empty answer is dropped, and the sides of the others stay as they were: sentence 1 is A, sentence 2 is B, ...
    speakers = [_SIDES[number % 2] for number in filled]
    utterances = [
        Utterance(
            position, turn, speaker, cells[number], attributes={"sentence": number + 1} if position != number else {}
        )
        for position, (number, turn, speaker) in enumerate(zip(filled, number_turns(speakers), speakers, strict=True))
    ]
    attributes = {key: value for name, key in _ATTRIBUTES.items() if (value := _cell(row, columns, name))}
    worker = _cell(row, columns, "WorkerId").strip()
    if worker:
        attributes["worker"] = pseudonym(worker)
    folder, _, base = name.rpartition("/")
    attributes["batch"] = base.rpartition(".")[0] or base
    return Dialogue(
        _cell(row, columns, "AssignmentId"),
        utterances,
        domain=(folder.rpartition("/")[2] or _text_of(topic)) or None,
        title=_cell(row, columns, "Title") or None,
        started_at=_time(_cell(row, columns, "AcceptTime")),
        attributes=attributes,
    )


def _time(text: str) -> datetime | None:
    """``Wed Jun 21 11:19:15 PDT 2017`` in UTC; ``None`` for an empty or unknown form."""
    words = text.split()
    if len(words) != 6 or words[4] not in _ZONES:
        return None
    try:
        local = datetime.strptime(" ".join(words[:4] + words[5:]), _TIME_FORMAT).replace(tzinfo=UTC)
        return local - _ZONES[words[4]]
    except (ValueError, OverflowError):
        return None


def _text_of(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode(errors="replace")


def _sentence(utterance: Utterance) -> int:
    number = utterance.attributes.get("sentence", utterance.position + 1)
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


def _check_sides(dialogue: Dialogue) -> None:
    numbers = [_sentence(utterance) for utterance in dialogue.utterances]
    if numbers != sorted(set(numbers)) or any(not 1 <= number <= _MOST_SENTENCES for number in numbers):
        raise InputError(
            f"dialogue {dialogue.id!r} has sentences that are not numbered in order from 1 to {_MOST_SENTENCES:,}"
        )
    longest = csv.field_size_limit()
    for utterance, number in zip(dialogue.utterances, numbers, strict=True):
        if utterance.speaker != _SIDES[(number - 1) % 2]:
            raise InputError(
                f"in dialogue {dialogue.id!r} sentence {number} is said by {utterance.speaker!r}; "
                "the self-dialogue format has two sides, A and B, in turn"
            )
        if utterance.text == _EMPTY or not utterance.text.strip():
            raise InputError(f"in dialogue {dialogue.id!r} sentence {number} is empty, which this format leaves out")
        if len(utterance.text) > longest:
            raise InputError(
                f"in dialogue {dialogue.id!r} sentence {number} has {len(utterance.text):,} characters; "
                f"a cell of this format holds {longest:,}"
            )


def _file_name(dialogue: Dialogue, what: str, name: object) -> str:
    if (
        not isinstance(name, str)
        or name.strip() in {"", ".", ".."}
        or "/" in name
        or "\0" in name
        or len(name.encode()) > 200
    ):
        raise InputError(
            f"the {what} of dialogue {dialogue.id!r} is {name!r}, which cannot be the name of a file or folder"
        )
    return name


def _losses(record: Record) -> dict[str, int]:
    """What of a record the format has no column for, and how many of each."""
    dialogue = record.dialogue
    utterances = dialogue.utterances
    turns = number_turns([utterance.speaker for utterance in utterances])
    return {
        "annotations": len(record.annotations),
        "splits": int(dialogue.split is not None),
        "other attributes of dialogues": len(dialogue.attributes.keys() - {*_ATTRIBUTES.values(), "worker", "batch"}),
        "other attributes of utterances": sum(len(u.attributes.keys() - {"sentence"}) for u in utterances),
        "roles": sum(utterance.role is not None for utterance in utterances),
        "times of utterances": sum(utterance.sent_at is not None for utterance in utterances),
        "ids of utterances": sum(utterance.id is not None for utterance in utterances),
        "turns of its own counting": sum(u.turn != turn for u, turn in zip(utterances, turns, strict=True)),
    }


def _write_batch(path: Path, dialogues: list[Dialogue]) -> None:
    width = max((_sentence(d.utterances[-1]) for d in dialogues if d.utterances), default=2)
    header = [*_ATTRIBUTES, "Title", "AcceptTime", "AssignmentId", "WorkerId"]
    header += [f"Answer.sentence{number}" for number in range(1, width + 1)] + ["Approve", "Reject"]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        for dialogue in dialogues:
            cells = [_EMPTY] * width
            for utterance in dialogue.utterances:
                cells[_sentence(utterance) - 1] = utterance.text
            writer.writerow(
                [str(dialogue.attributes.get(key, "")) for key in _ATTRIBUTES.values()]
                + [dialogue.title or "", _time_text(dialogue.started_at), dialogue.id]
                + [str(dialogue.attributes.get("worker", "")), *cells, "", ""]
            )


def _time_text(time: datetime | None) -> str:
    if time is None:
        return ""
    utc = time.astimezone(UTC)
    return f"{utc:%a %b %d %H:%M:%S} UTC {utc.year:04d}"
