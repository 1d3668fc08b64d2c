"""The annotation sheets of MANtIS: plain text in which experts write the intents of each utterance under it.

A dialogue is a line with its number, three lines for each utterance (``user`` or ``agent``, the text, the labels with commas
between them or nothing) and a line of ``=``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Role, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.fields import found
from tertulia.formats.files.lines import LONGEST_LINE, Lines
from tertulia.formats.files.sources import SourceFile
from tertulia.formats.mantis.fields import LAYER, split_of_file

__all__ = ["sheet_records"]

_ROLES: dict[str, Role] = {"user": "user", "agent": "agent"}
_BLANK = 100
"""What a line costs besides its characters, so that no number of empty lines fills the memory."""


class _LineError(Exception):
    """What is wrong with a line of a dialogue."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        self.message = message


@dataclass(slots=True)
class _Block:
    """The lines of one dialogue with their numbers, and what is wrong with one of them already."""

    lines: list[tuple[int, str]] = field(default_factory=list)
    size: int = 0
    bad: _LineError | None = None

    def add(self, number: int, line: str) -> None:
        # Blank lines before the number of a dialogue are no part of it.
        if not self.lines and not line.strip():
            return
        self.lines.append((number, line))
        self.size += len(line) + _BLANK
        if self.size > LONGEST_LINE:
            self.fail(_LineError(number, f"the dialogue is longer than {LONGEST_LINE:,} characters, or never ends"))

    def fail(self, bad: _LineError) -> None:
        self.bad = self.bad or bad
        self.lines.clear()
        self.size = 0


def sheet_records(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Record, Place]]:
    """The dialogues of a sheet with the place of their first line; the annotator is the file's name without its ending.

    A malformed dialogue goes through ``report.catching`` at the line that is wrong.
    """
    annotator = file.name.rpartition("/")[2].rpartition(".")[0] or file.name
    split = split_of_file(file.name)
    for block in _blocks(file, options):
        try:
            record = _record(block, annotator, split)
        except _LineError as bad:
            with report.catching(options, file.place(bad.number)):
                raise InputError(bad.message) from None
            continue
        yield record, file.place(block.lines[0][0])


def _blocks(file: SourceFile, options: ReadOptions) -> Iterator[_Block]:
    block = _Block()
    with file.open(options) as stream:
        lines = Lines(stream)
        while True:
            try:
                raw = next(lines, None)
                if raw is None:
                    break
                line = raw.decode("utf-8-sig" if lines.number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                block.fail(_LineError(lines.number, "the line is not UTF-8"))
                continue
            except InputError as error:
                # Too long; damage of the file itself has named its place already.
                if error.where is not None:
                    raise
                block.fail(_LineError(lines.number, error.message))
                continue
            if not _is_end(line):
                block.add(lines.number, line)
                continue
            if not block.lines and not block.bad:
                block.fail(_LineError(lines.number, "a dialogue ends that has not begun; expected its number"))
            yield block
            block = _Block()
    if block.lines:
        block.fail(_LineError(lines.number, "ends in the middle of a dialogue; expected a line of ="))
    if block.bad:
        yield block


def _is_end(line: str) -> bool:
    """Whether a line ends a dialogue."""
    line = line.strip()
    return len(line) >= 10 and not line.strip("=")


def _record(block: _Block, annotator: str, split: str | None) -> Record:
    if block.bad:
        raise block.bad
    first, identifier = block.lines[0]
    identifier = identifier.strip()
    if not (identifier.isascii() and identifier.isdigit()):
        raise _LineError(first, f"holds {found(identifier)}; expected the number of a dialogue of an annotation sheet")
    body = block.lines[1:]
    utterances: list[Utterance] = []
    annotations: list[Annotation] = []
    for position in range((len(body) + 2) // 3):
        lines = body[3 * position : 3 * position + 3]
        number, name = lines[0]
        role = _ROLES.get(name.strip())
        if role is None:
            raise _LineError(number, f"holds {found(name)}; expected user or agent")
        if len(lines) < 3:
            raise _LineError(number, "an utterance has less than three lines: who, what, and its labels or nothing")
        utterances.append(Utterance(position, 0, role, lines[1][1], role))
        labels = sorted(label for part in lines[2][1].split(",") if (label := part.strip()))
        annotations += [Annotation(identifier, LAYER, annotator, position, label=label) for label in labels]
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    return Record(Dialogue(identifier, utterances, split=split), annotations)
