"""Parts of threads, one a page, joined to contexts with their candidates; what waits, waits on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import InputError
from tertulia.formats.files.spill import SpilledRows
from tertulia.formats.pages.reading import Part
from tertulia.formats.pages.selectors import Selectors

__all__ = ["Threads"]

_FIELDS = [field.name for field in fields(Part)]
_MOST_CHARACTERS = 128_000_000


class Threads:
    """Takes parts of threads in any order and gives the threads in order of their keys. A context manager."""

    def __init__(self, selectors: Selectors, report: Report, options: ReadOptions) -> None:
        self._site = selectors
        self._report = report
        self._options = options
        self._rows = SpilledRows()
        self.parts = 0

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.__exit__(None, None, None)

    def add(self, part: Part, place: Place) -> None:
        """Take a part."""
        self.parts += 1
        self._rows.add(part.key, (*(getattr(part, name) for name in _FIELDS), tuple(place)))

    def records(self) -> Iterator[RankingRecord]:
        """The threads that have a prompt, each a context with its responses as candidates in order."""
        for key, rows in self._rows.groups():
            record = None
            parts: list[Part] = []
            places: list[Place] = []
            size = 0
            for *values, place in rows:
                part = Part(*values)
                size += sum(len(response["text"]) for response in part.responses)
                places.append(Place(*place))
                parts.append(part)
                if size > _MOST_CHARACTERS:
                    break
            with self._report.catching(self._options, places[0]):
                if size > _MOST_CHARACTERS:
                    raise InputError(f"the thread {key!r} holds more than {_MOST_CHARACTERS:,} characters")
                record = self._record(key, parts, places)
            if record is not None:
                yield record

    def _record(self, key: str, parts: list[Part], places: list[Place]) -> RankingRecord | None:
        order = _in_order(parts)
        prompts = [(index, prompt) for index in order if (prompt := parts[index].prompt) is not None]
        where = places[order[0]].shown
        if not prompts:
            self._report.skip("threads without a prompt", where)
            return None
        at, prompt = prompts[0]
        for index, other in prompts[1:]:
            if other["text"] != prompt["text"]:
                self._report.note(
                    "pages whose prompt is not that of their thread; it is taken for a response if it stands in one",
                    places[index].shown,
                )
        candidates: list[Candidate] = []
        seen: set[Any] = set()
        for index in order:
            repeats = (parts[index].prompt or prompt)["text"] == prompt["text"]
            for response in parts[index].responses:
                # Where the prompt stands there is no response, unless it is what the next page begins with.
                if response.pop("prompt", False) and repeats:
                    continue
                identity = response.get("id") or (response["text"], response.get("author"), response.get("time"))
                if identity in seen:
                    self._report.skip("responses that stood in their thread before", places[index].shown)
                    continue
                seen.add(identity)
                text = response.pop("text")
                candidates.append(
                    Candidate(
                        len(candidates), text, source=parts[index].address, attributes=dict(sorted(response.items()))
                    )
                )
        self._report.note("threads without a response", where, int(not candidates))
        attributes = {name: value for name, value in prompt.items() if name != "text"}
        attributes |= {"url": parts[at].address}
        title = next((part.title for part in (parts[index] for index in order) if part.title), None)
        for name, value in (("title", title), ("language", self._site.language), ("licence", self._site.licence)):
            if value:
                attributes[name] = value
        context = Context(
            f"{self._site.name}-{key}", [Turn("user", prompt["text"])], domain=self._site.name, attributes=attributes
        )
        return RankingRecord(context, candidates)


def _in_order(parts: list[Part]) -> list[int]:
    """The pages of a thread in the order in which each names the next, from those on that none names; else as they came.

    Of pages in a circle the one with the shortest address is the first: the others have a number more.
    """
    by_address: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        by_address.setdefault(part.address, []).append(index)
    named = {part.next for part in parts if part.next != part.address}
    starts = [address for address in by_address if address not in named]
    order: list[int] = []
    done: set[str] = set()
    for start in [*starts, *sorted(by_address, key=len)]:
        address: str | None = start
        while address in by_address and address not in done:
            done.add(address)
            order += by_address[address]
            address = next((parts[index].next for index in by_address[address] if parts[index].next), None)
    return order
