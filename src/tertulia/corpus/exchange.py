"""How corpora come in and go out: the protocol of a format, and the report of what was odd."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tertulia.corpus.model import Record
from tertulia.errors import InputError

__all__ = ["Finding", "Format", "ReadOptions", "Report", "SeenTexts"]


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
    """

    skip_bad: bool = False
    drop_duplicates: bool = False
    progress: Callable[[int, int | None], None] = lambda _done, _total: None


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
    """An outside format of conversations. A format without a writer has ``writes`` false."""

    name: str
    summary: str
    writes: bool
    licence: str | None
    citation: str | None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The records of a source (a path, or an address for a format that is not a file), as a stream.

        Raises
        ------
        InputError
            Naming the file and the line or record, what was found and what was expected.
        """
        ...

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write records at a path that does not exist yet; what the format cannot hold is counted as skipped."""
        ...
