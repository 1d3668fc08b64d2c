"""How corpora come in and go out: the protocol of a format, and the report of what was odd."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Literal, NamedTuple, Protocol

from tertulia.errors import InputError

__all__ = ["NO_OPTIONS", "Finding", "Format", "Holds", "Place", "ReadOptions", "Report", "SeenTexts", "held_by"]

Holds = Literal["corpus", "ranking-set"]
"""The two kinds of artefact that a format can hold."""
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
"""What a format says whose reader has no options of its own."""


class Place(NamedTuple):
    """Where something stands: ``full`` as the user named the source, ``shown`` within the source, which a manifest may hold."""

    full: str
    shown: str


@dataclass(slots=True)
class Finding:
    """How often something was found, and where first (a file and line, or a record)."""

    count: int = 0
    first: str | None = None


@dataclass(slots=True)
class Report:
    """What a reader left out (``skipped``) and what it kept although it is odd (``noted``), by reason."""

    skipped: dict[str, Finding] = field(default_factory=dict)
    noted: dict[str, Finding] = field(default_factory=dict)

    def skip(self, reason: str, where: object = None, count: int = 1) -> None:
        """Count something that was left out."""
        _count(self.skipped, reason, where, count)

    def note(self, reason: str, where: object = None, count: int = 1) -> None:
        """Count something odd that was kept."""
        _count(self.noted, reason, where, count)

    def bad(self, error: InputError, options: ReadOptions, where: str) -> None:
        """A malformed record: raised as it is, or left out and counted when bad records are to be skipped.

        ``where`` is the place within the source; the error names it from the working directory, which a manifest must not.
        """
        if not options.skip_bad:
            raise error
        self.skip("malformed records", f"{where}: {error.message}")

    def catching(self, options: ReadOptions, place: Place) -> _Catching:
        """What is wrong inside is a malformed record at this place: raised with the place, or left out and counted.

        A context manager; it must not be open while a generator yields.
        """
        return _Catching(self, options, place)

    def is_duplicate(self, texts: Sequence[str], seen: SeenTexts, options: ReadOptions, where: str) -> bool:
        """Whether a dialogue is to be dropped as the duplicate of one before; a duplicate is counted either way."""
        if not seen.again(texts):
            return False
        reason = "exact duplicates of another conversation"
        if options.drop_duplicates:
            self.skip(reason, where)
        else:
            self.note(reason, where)
        return options.drop_duplicates

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            name: {reason: {"count": f.count, "first": f.first} for reason, f in findings.items()}
            for name, findings in (("skipped", self.skipped), ("noted", self.noted))
        }


class _Catching:
    """What ``Report.catching`` gives. A class, so that a type checker knows that it may swallow an error."""

    def __init__(self, report: Report, options: ReadOptions, place: Place) -> None:
        self._report = report
        self._options = options
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, InputError):
            return False
        found = InputError(error.message, where=self._place.full, hint=error.hint)
        self._report.bad(found, self._options, self._place.shown)
        return True


def _count(findings: dict[str, Finding], reason: str, where: object, count: int) -> None:
    if count == 0:
        return
    finding = findings.setdefault(reason, Finding())
    if finding.count == 0 and where is not None:
        finding.first = str(where)
    finding.count += count


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user may ask of any reader.

    ``skip_bad`` leaves malformed records out and counts them, ``drop_duplicates`` likewise a dialogue whose texts equal those of
    one before; ``progress`` is told the bytes read since the last call and the total, or ``None`` where it is not known.
    ``values`` holds the options that only this format has (its ``options``), ``columns`` our field → the column of the file.
    """

    skip_bad: bool = False
    drop_duplicates: bool = False
    progress: Callable[[int, int | None], None] = lambda _done, _total: None
    values: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


class SeenTexts:
    """Remembers dialogues by their texts, 16 bytes each."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def again(self, texts: Sequence[str]) -> bool:
        """Whether these texts have come before; without any text never."""
        if not texts:
            return False
        digest = hashlib.blake2b(digest_size=16)
        for text in texts:
            encoded = text.encode(errors="surrogatepass")
            digest.update(b"%d:" % len(encoded))
            digest.update(encoded)
        key = digest.digest()
        known = key in self._seen
        self._seen.add(key)
        return known


class Format(Protocol):
    """An outside format of conversations (``Record``) or of ranking sets (``RankingRecord``), as ``holds`` says.

    A format without a writer has ``writes`` false. ``options`` maps the name of an option that only this reader has to one line
    of help; those that name a file or folder stand in a class attribute ``path_options`` (a frozenset). A reader that a user may
    tell which column is what has a class attribute ``takes_columns`` that is true.
    """

    name: str
    summary: str
    writes: bool
    holds: Holds
    options: Mapping[str, str]
    licence: str | None
    citation: str | None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Any]:
        """The records of a source (a path, or an address for a format that is not a file), as a stream.

        Raises
        ------
        InputError
            Naming the file and the line or record, what was found and what was expected.
        """
        ...

    def write(self, records: Iterator[Any], path: str, report: Report) -> None:
        """Write records at a path that does not exist yet; what the format cannot hold is counted as skipped."""
        ...


def held_by(part: Format) -> Holds:
    """The kind of artefact that a format holds: a corpus where one of another package does not say."""
    holds: Holds = getattr(part, "holds", "corpus")
    return holds
