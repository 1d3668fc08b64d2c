"""``self-dialogue``: the result files of a crowdsourcing task in which one person writes both sides of a conversation.

The source is a folder with one folder a topic, each of CSV files as Amazon Mechanical Turk gives them (a row is an assignment,
``Answer.sentence1`` … the turns), and ``blocked_workers.txt`` with the ids of blocked workers, one a line. Published with
Krause et al. 2017, "Edina: Building an Open Domain Socialbot with Self-dialogues".
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Dialogue, Record, Utterance, number_turns
from tertulia.errors import InputError

__all__ = ["SelfDialogueFormat", "pseudonym"]

_ANSWER = re.compile(r"Answer\.sentence([1-9][0-9]{0,5})")
_REQUIRED = ("AssignmentId", "WorkerId")
_EMPTY = "{}"
_SIDES = ("A", "B")
_PSEUDONYM = "person-"
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
    licence = "BSD-3-Clause"
    citation = (
        "Krause, B., Damonte, M., Dobre, M., Duma, D., Fainberg, J., Fancellu, F., Kahembwe, E., Cheng, J., Webber, B. (2017). "
        "Edina: Building an Open Domain Socialbot with Self-dialogues. arXiv:1709.09816"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The conversations that were neither rejected nor written by a blocked worker."""
        root = Path(source)
        files = _csv_files(root)
        blocked = _blocked_workers(root)
        total = sum(file.stat().st_size for file in files)
        seen_ids: set[str] = set()
        seen_texts: set[bytes] = set()
        seen_in_any_row: set[bytes] = set()
        for file in files:
            for line, row, columns in _rows(file, report, options):
                where = f"{_shown(file, root)}:{line}"
                report.note("rows read", where)
                cells = [row[index] for index in columns.answers]
                report.note("empty answers in all rows", where, cells.count(_EMPTY))
                if _repeats(cells, seen_in_any_row):
                    report.note("rows that repeat another row's answers, those left out included", where)
                if _cell(row, columns, "Reject").strip():
                    report.skip("rejected rows", where)
                    continue
                if _cell(row, columns, "WorkerId") in blocked:
                    report.skip("rows by blocked workers", where)
                    continue
                identifier = _cell(row, columns, "AssignmentId")
                if identifier in seen_ids:
                    report.bad(InputError(f"the assignment {identifier!r} stands here again", where=where), options)
                    continue
                seen_ids.add(identifier)
                dialogue = _dialogue(row, columns, file, where, report)
                if _repeats(dialogue.texts, seen_texts):
                    if options.drop_duplicates:
                        report.skip("exact duplicates of another conversation", where)
                        continue
                    report.note("exact duplicates of another conversation", where)
                yield Record(dialogue)
            options.progress(file.stat().st_size, total)

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one CSV a topic under ``corpus/``; annotations are not part of this format and are counted."""
        root = Path(path)
        by_topic: dict[str, list[Dialogue]] = {}
        for record in records:
            _check_sides(record.dialogue)
            report.skip("annotations, which this format does not hold", record.dialogue.id, len(record.annotations))
            by_topic.setdefault(record.dialogue.domain or "none", []).append(record.dialogue)
        for topic, dialogues in sorted(by_topic.items()):
            if "/" in topic or topic in {".", ".."}:
                raise InputError(f"the domain {topic!r} cannot be the name of a folder", where=path)
            _write_topic(root / "corpus" / topic, dialogues)
        (root / "blocked_workers.txt").write_text("", encoding="utf-8")


def pseudonym(worker: str) -> str:
    """A stable stand-in for a worker's id: the id itself must not enter a corpus. Pseudonyms stay as they are."""
    if worker.startswith(_PSEUDONYM):
        return worker
    return _PSEUDONYM + hashlib.blake2b(worker.encode(), digest_size=8, person=b"tertulia worker").hexdigest()


def _csv_files(root: Path) -> list[Path]:
    if not root.exists():
        raise InputError("there is nothing at this path", where=root)
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*.csv") if path.is_file())
    if not files:
        raise InputError(
            "holds no CSV file; expected topic folders of AMT result files, such as corpus/movies/batch.csv", where=root
        )
    return files


def _shown(file: Path, root: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()


def _blocked_workers(root: Path) -> set[str]:
    file = root / "blocked_workers.txt"
    if not file.is_file():
        return set()
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    return set(text.split())


def _rows(file: Path, report: Report, options: ReadOptions) -> Iterator[tuple[int, list[str], _Columns]]:
    """The rows of one file with the line each begins on; a malformed row is an error, or skipped and counted."""
    # Bytes that are not UTF-8 come through as lone surrogates, so that the row that holds them can be named.
    with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = next(reader, [])
        except csv.Error as error:
            raise InputError(f"is not a CSV file: {error}", where=f"{file}:1") from None
        columns = _columns(header, file)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = "ends in the middle of a row" if "end of data" in str(error) else f"is not CSV: {error}"
                report.bad(InputError(f"{problem}; expected {columns.width} fields", where=f"{file}:{line}"), options)
                continue
            if not row:
                continue
            if len(row) != columns.width:
                found = InputError(
                    f"the row has {len(row)} fields; the header names {columns.width}", where=f"{file}:{line}"
                )
                report.bad(found, options)
            elif any("\udc80" <= character <= "\udcff" for cell in row for character in cell):
                report.bad(InputError("the row is not UTF-8", where=f"{file}:{line}"), options)
            elif not row[columns.index["AssignmentId"]].strip():
                report.bad(InputError("the row has no AssignmentId", where=f"{file}:{line}"), options)
            else:
                yield line, row, columns


def _columns(header: list[str], file: Path) -> _Columns:
    numbered = sorted((int(match[1]), index) for index, name in enumerate(header) if (match := _ANSWER.fullmatch(name)))
    if not numbered:
        raise InputError(
            "has no answer column; expected columns named Answer.sentence1, Answer.sentence2, ...", where=f"{file}:1"
        )
    missing = [name for name in _REQUIRED if name not in header]
    if missing:
        raise InputError(f"has no column {' and no column '.join(missing)}", where=f"{file}:1")
    return _Columns([index for _, index in numbered], {name: i for i, name in enumerate(header)}, len(header))


def _cell(row: list[str], columns: _Columns, name: str) -> str:
    index = columns.index.get(name)
    return "" if index is None else row[index]


def _dialogue(row: list[str], columns: _Columns, file: Path, where: str, report: Report) -> Dialogue:
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
    attributes["worker"] = pseudonym(_cell(row, columns, "WorkerId"))
    attributes["batch"] = file.stem
    return Dialogue(
        _cell(row, columns, "AssignmentId"),
        utterances,
        domain=file.parent.name,
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
    except ValueError:
        return None
    return local - _ZONES[words[4]]


def _repeats(texts: list[str], seen: set[bytes]) -> bool:
    """Whether these texts, empty answers aside, have been seen before; remembered from now on."""
    answers = [text for text in texts if text != _EMPTY]
    if not answers:
        return False
    digest = hashlib.blake2b("\0".join(answers).encode(errors="surrogatepass"), digest_size=16).digest()
    if digest in seen:
        return True
    seen.add(digest)
    return False


def _sentence(utterance: Utterance) -> int:
    return int(utterance.attributes.get("sentence", utterance.position + 1))


def _check_sides(dialogue: Dialogue) -> None:
    numbers = [_sentence(utterance) for utterance in dialogue.utterances]
    if numbers != sorted(set(numbers)) or any(number < 1 for number in numbers):
        raise InputError(f"dialogue {dialogue.id!r} has sentences that are not numbered in order")
    for utterance, number in zip(dialogue.utterances, numbers, strict=True):
        if utterance.speaker != _SIDES[(number - 1) % 2]:
            raise InputError(
                f"in dialogue {dialogue.id!r} sentence {number} is said by {utterance.speaker!r}; "
                "the self-dialogue format has two sides, A and B, in turn"
            )
        if utterance.text == _EMPTY or not utterance.text.strip():
            raise InputError(f"in dialogue {dialogue.id!r} sentence {number} is empty, which this format leaves out")


def _write_topic(folder: Path, dialogues: list[Dialogue]) -> None:
    folder.mkdir(parents=True)
    by_batch: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        by_batch.setdefault(str(dialogue.attributes.get("batch", "dialogues")), []).append(dialogue)
    for batch, members in sorted(by_batch.items()):
        width = max((_sentence(d.utterances[-1]) for d in members if d.utterances), default=2)
        header = [*_ATTRIBUTES, "Title", "AcceptTime", "AssignmentId", "WorkerId"]
        header += [f"Answer.sentence{number}" for number in range(1, width + 1)] + ["Approve", "Reject"]
        with (folder / f"{Path(batch).name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
            writer.writerow(header)
            for dialogue in members:
                cells = [_EMPTY] * width
                for utterance in dialogue.utterances:
                    cells[_sentence(utterance) - 1] = utterance.text
                began = dialogue.started_at
                writer.writerow(
                    [str(dialogue.attributes.get(key, "")) for key in _ATTRIBUTES.values()]
                    + [dialogue.title or "", f"{began:%a %b %d %H:%M:%S} UTC {began:%Y}" if began else ""]
                    + [dialogue.id, str(dialogue.attributes.get("worker", "")), *cells, "", ""]
                )
