"""Run files as TREC has them: what a system scored, one candidate a line, so that systems of any make meet in one table.

A line is ``qid Q0 docno rank score tag``. The score decides the order, never the rank, as in ``trec_eval``; of equal scores the
candidate with the larger number comes first (``docnos.py``). A qid is the id of a context; white space, control characters and
``%`` stand in it as percent and the hexadecimal digits of their UTF-8 bytes, and an empty id is ``%``.
"""

from __future__ import annotations

import gzip
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from tertulia.artefact import put_in_place, work_directory
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.errors import ArtefactError, InputError, UsageError
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.files.text_lines import TextLines
from tertulia.measures.ranking import rank_order
from tertulia.ranking.docnos import docno, place_of, tie_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["ReadRun", "Run", "RunCounts", "new_file", "qid", "read_run", "write_run"]

Run = Mapping[str, "NDArray[np.float64]"]
"""What a system said: the id of a context → the scores of its candidates; NaN for a candidate that it did not answer."""

_COLUMNS = "qid Q0 docno rank score tag"
_WIDTH = 6
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TAG = re.compile(r"\S+")
_NO_OPTIONS = ReadOptions()


@dataclass(slots=True)
class RunCounts:
    """What a run file holds: contexts and lines; ``merged`` scores differ so little that single precision takes them as equal.

    ``trec_eval`` reads scores in single precision, so it orders those by their numbers.
    """

    contexts: int = 0
    lines: int = 0
    merged: int = 0


@dataclass(frozen=True, slots=True)
class ReadRun:
    """A run that was read: its scores, its tag, and what was odd about the file."""

    scores: dict[str, NDArray[np.float64]]
    tag: str
    report: Report = field(default_factory=Report)


def qid(context_id: str) -> str:
    """The id of a context as it stands in a run file: no two ids give the same one, and none has white space.

    >>> qid("a b%")
    'a%20b%25'
    """
    if context_id.isascii() and context_id.isalnum():
        return context_id
    written = "".join(
        character
        if character.isprintable() and character not in " %"
        else "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
        for character in context_id
    )
    return written or "%"


def write_run(
    path: str | Path,
    scored: Iterable[tuple[Example, NDArray[np.float64]]],
    tag: str,
    *,
    overwrite: bool = False,
) -> RunCounts:
    """Write examples with their scores (NaN: not answered) as a run file, gzip-compressed where its name ends in ``.gz``.

    A score is written so that reading it gives the same number to the last bit.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written (it exists, and ``overwrite`` is not given).
    UsageError
        The tag is empty or has white space.
    """
    if not _TAG.fullmatch(tag):
        raise UsageError(f"the tag of a run is {tag!r}; expected a name without spaces")
    counts = RunCounts()
    with new_file(path, overwrite=overwrite) as file:
        for example, scores in scored:
            keys = tie_keys(example.id, len(scores))
            order = rank_order(scores, keys)
            name = qid(example.id)
            found = scores[order]
            numbers = map(docno, keys[order].tolist())
            file.writelines(
                f"{name} Q0 {number} {rank} {score!r} {tag}\n"
                for rank, (number, score) in enumerate(zip(numbers, found.tolist(), strict=True), start=1)
            )
            counts.contexts += 1
            counts.lines += len(order)
            with np.errstate(over="ignore"):
                single = found.astype(np.float32)
            counts.merged += int(((single[1:] == single[:-1]) & (found[1:] != found[:-1])).sum())
    return counts


@contextmanager
def new_file(path: str | Path, *, overwrite: bool = False) -> Iterator[TextIO]:
    """A text file to write that takes its name when the block ends well; gzip-compressed where the name ends in ``.gz``.

    Raises
    ------
    ArtefactError
        There is something of that name, and ``overwrite`` is not given or it is no file; or it cannot be written.
    """
    target = Path(path)
    if target.is_dir() or target.name in ("", ".."):
        raise ArtefactError("is a folder; expected the path of a file to write", where=target)
    if (target.exists() and not target.is_file()) or (target.is_symlink() and not target.exists()):
        raise ArtefactError("is no plain file; expected the path of a file to write", where=target)
    if target.exists() and not overwrite:
        raise ArtefactError("exists already", where=target, hint="--overwrite replaces it")
    if target.is_symlink() and target.exists():
        target = target.resolve()
    with work_directory(target) as work:
        try:
            with (work / "file").open("wb") as raw:
                if target.name.endswith(".gz"):
                    # Without name and time, so that the same scores give the same bytes.
                    with (
                        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
                        io.TextIOWrapper(packed, "utf-8", newline="\n") as text,
                    ):
                        yield text
                else:
                    with io.TextIOWrapper(raw, "utf-8", newline="\n") as text:
                        yield text
        except OSError as error:
            raise ArtefactError(
                f"cannot be written: {error.strerror or error}", where=error.filename or target
            ) from None
        put_in_place(work / "file", target)


def read_run(path: str | Path, examples: Iterable[Example], *, others: Iterable[str] = ()) -> ReadRun:
    """Read a run of the given examples; a file compressed by gzip or zstd is unpacked.

    A candidate goes by its full number (``9f3a02c1-0000000007``) or by its place alone (``7``, from 0). Lines for contexts that
    are not among the examples but in ``others`` are passed over and counted.

    Raises
    ------
    InputError
        Naming the line: it has not six columns, names no context or candidate, names one a second time, or has a score
        that is no finite number; or the file cannot be read, or has no line for any of the examples.
    """
    candidates = {qid(example.id): (example.id, len(example)) for example in examples}
    names = {identifier: written for written, (identifier, _) in candidates.items()}
    files = source_files(str(path), "*", expected="a run file", options=_NO_OPTIONS)
    if Path(path).is_dir() or len(files) != 1:
        raise InputError("is not one file; expected a run file", where=path)
    reader = _Reader(files[0], candidates, names, others)
    for line in TextLines(files[0], _NO_OPTIONS):
        if line.problem is not None:
            raise InputError(line.problem.message, where=f"{files[0].where}:{line.number}")
        reader.read(line.number, line.text)
    if not reader.scores:
        raise InputError(
            "has no line for any of the contexts" + (", only for those of other splits" if reader.tag else ""),
            where=path,
            hint=f"a line of a run file is: {_COLUMNS}",
        )
    return ReadRun(reader.scores, reader.tag, reader.report)


class _Reader:
    """Takes the lines of a run one after the other."""

    def __init__(
        self,
        file: SourceFile,
        candidates: dict[str, tuple[str, int]],
        names: dict[str, str],
        others: Iterable[str],
    ) -> None:
        self.scores: dict[str, NDArray[np.float64]] = {}
        self.tag = ""
        self.report = Report()
        self._file = file
        self._candidates = candidates
        self._names = names
        self._others = {written for name in others for written in (name, qid(name))}
        self._keys: dict[str, NDArray[np.uint64]] = {}
        # The qid, rank and score of the line before.
        self._before: tuple[str, int, float] = ("", 0, math.inf)

    def read(self, line: int, text: str) -> None:
        """Take a line; raises as ``read_run`` does."""
        columns = text.split()
        if not columns:
            self.report.skip("empty lines", self._file.place(line).shown)
            return
        if len(columns) != _WIDTH:
            shown = f"{text.strip()!r:.60}"
            raise self._refused(line, f"has {len(columns)} columns ({shown}); expected {_COLUMNS}")
        name, _, number, rank, score, tag = columns
        if self.tag and tag != self.tag:
            self.report.note("lines of another tag than the first", self._file.place(line).shown)
        self.tag = self.tag or tag
        # An id may be given as it is where nothing in it needs to be written otherwise.
        known = name if name in self._candidates else self._names.get(name)
        if known is None:
            if name in self._others:
                self.report.skip("lines for contexts of other splits", self._file.place(line).shown)
                return
            raise self._refused(line, f"names the context {name!r:.80}, which the set does not have")
        identifier, count = self._candidates[known]
        at = self._place(identifier, count, number, line)
        value = float(score) if _NUMBER.fullmatch(score) else math.nan
        if not math.isfinite(value):
            raise self._refused(line, f"has the score {score!r:.40}; expected a finite number")
        found = self.scores.get(identifier)
        if found is None:
            found = self.scores[identifier] = np.full(count, np.nan)
        if not math.isnan(found.item(at)):
            raise self._refused(line, f"names the candidate {number} of the context {name!r:.80} again")
        found[at] = value
        self._check_rank(name, rank, value, line)

    def _refused(self, line: int, message: str, hint: str | None = None) -> InputError:
        return InputError(message, where=self._file.place(line).full, hint=hint)

    def _place(self, identifier: str, count: int, number: str, line: int) -> int:
        """The place of the candidate of that number."""
        at = place_of(number)
        if at is None or at >= count:
            raise self._refused(
                line,
                f"names the candidate {number!r:.80} of the context {identifier!r:.80}, which has {count}",
                "a candidate goes by its number, as ranking export writes it, or by its place from 0",
            )
        if not number.isdigit():
            keys = self._keys.get(identifier)
            if keys is None:
                keys = self._keys[identifier] = tie_keys(identifier, count)
            expected = docno(keys.item(at))
            if number != expected:
                raise self._refused(
                    line,
                    f"names the candidate {number!r:.80} of the context {identifier!r:.80}; the number is {expected}",
                    "the run may be of another set",
                )
        return at

    def _check_rank(self, name: str, rank: str, score: float, line: int) -> None:
        """Note ranks that contradict the scores: a system may have meant that less is better."""
        if not (rank.isascii() and rank.isdigit() and len(rank) < 19):
            where = self._file.place(line).shown
            self.report.note("ranks that are no whole numbers (they do not count)", where)
            self._before = ("", 0, math.inf)
            return
        before, last_rank, last_score = self._before
        if before == name and int(rank) > last_rank and score > last_score:
            where = self._file.place(line).shown
            self.report.note("scores that are higher than at the rank before (the score counts, not the rank)", where)
        self._before = (name, int(rank), score)
