"""What a page says, by the selectors of its site: links of an index page, prompts and responses of a thread."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

from tertulia.corpus.exchange import Report
from tertulia.corpus.times import utc_text
from tertulia.formats.pages.markup import first, parse, remove, select, text_of
from tertulia.formats.pages.saved import SavedPage, joined
from tertulia.formats.pages.selectors import Selectors, Thread, Value, fits

__all__ = ["Authors", "PageReader", "Part"]

Authors = Literal["hash", "keep", "drop"]
"""What becomes of the names of authors: a stable stand-in, the name itself, nothing."""
_MOST_VALUE = 2_000
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?![\w.,]*\w)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLANK_RUNS = re.compile(r"\s+")


@dataclass(slots=True)
class Part:
    """What one page has of one thread, in plain values: the address of the page and of the next one, the prompt, the responses.

    ``prompt`` and each response are ``{"text", "id", "author", "time", "score"}`` without what there is not; a response in
    which the prompt stands has ``"prompt"`` besides.
    """

    key: str
    address: str
    next: str | None
    title: str | None
    prompt: dict[str, Any] | None
    responses: list[dict[str, Any]]


class PageReader:
    """Reads pages of one site; what is odd goes into the report."""

    def __init__(self, selectors: Selectors, authors: Authors, report: Report) -> None:
        self._site = selectors
        self._authors = authors
        self._report = report

    def links(self, page: SavedPage) -> list[str]:
        """The addresses to go on to, to threads and next pages, in the order of the page, each once."""
        is_index, is_thread = self._kind(page.address)
        index, thread = self._site.index, self._site.thread
        tree = parse(page.html)
        found: list[str] = []
        if is_index and index is not None:
            threads = self._targets(tree, page, index.thread)
            found += [address for address in threads if self._is_ours(address, page) and self._kind(address)[1]]
            following = self._targets(tree, page, index.next)[:1]
            found += [address for address in following if self._kind(address)[0]]
        if is_thread:
            following = self._targets(tree, page, thread.next)[:1]
            found += [address for address in following if self._is_ours(address, page) and self._kind(address)[1]]
        return list(dict.fromkeys(found))

    def _is_ours(self, address: str, page: SavedPage) -> bool:
        """Without forms of addresses to hold them to, only threads on the host of the page are gone on to."""
        return bool(self._site.thread.match) or urlsplit(address).netloc == urlsplit(page.address).netloc

    def parts(self, page: SavedPage) -> Iterator[Part]:
        """What the page has of threads; nothing where it is none.

        Raises
        ------
        InputError
            The page cannot be parsed.
        """
        is_index, is_thread = self._kind(page.address)
        where = page.place.shown
        if is_index:
            self._report.note("pages of the topic index", where)
        if not is_thread:
            self._report.skip("pages that are neither a topic index nor a thread", where, int(not is_index))
            return
        thread = self._site.thread
        key = page.address
        if thread.id is not None:
            match = thread.id.search(page.address)
            key = "-".join(group for group in match.groups() if group) if match else ""
            if not key:
                self._report.skip("thread pages whose address does not have the id", where)
                return
        tree = parse(page.html)
        following = self._next(tree, page)
        for css in thread.remove:
            remove(tree, css)
        if thread.block is None:
            yield self._part(key, page, following, tree)
            return
        blocks = select(tree, thread.block)
        self._report.skip("thread pages without a block", where, int(not blocks))
        for number, block in enumerate(blocks, 1):
            own = self._value(block, thread.prompt_id)
            yield self._part(f"{key}-{own}" if own and thread.id else own or f"{key}#{number}", page, following, block)

    def _kind(self, address: str) -> tuple[bool, bool]:
        """Whether an address is that of an index page, and whether of a thread."""
        index, thread = self._site.index, self._site.thread
        is_index = index is not None and fits(address, index.match)
        return is_index, fits(address, thread.match) if thread.match else not is_index

    def _next(self, tree: Any, page: SavedPage) -> str | None:
        return next(iter(self._targets(tree, page, self._site.thread.next)), None)

    def _targets(self, tree: Any, page: SavedPage, value: Value | None) -> list[str]:
        if value is None:
            return []
        base = page.address
        own = first(tree, "base[href]")
        if own is not None:
            base = joined(base, own.attributes.get("href") or "") or base
        links = (node.attributes.get(value.attribute) for node in select(tree, value.css))
        return [address for link in links if link and (address := joined(base, link))]

    def _part(self, key: str, page: SavedPage, following: str | None, within: Any) -> Part:
        thread = self._site.thread
        where = page.place.shown
        prompt, holders = self._prompt(within, where)
        responses = []
        for block in select(within, thread.response):
            text = self._value(block, thread.response_text) if thread.response_text else self._said(block)
            if not text:
                self._report.skip("responses without a text", where)
                continue
            response = {"text": text, **self._details(block, "response", where)}
            # A selector of all posts names the prompt's as well; which page has the prompt is known when all have been read.
            if block.mem_id in holders:
                response["prompt"] = True
            responses.append(response)
        return Part(key, page.address, following, self._value(within, thread.title), prompt, responses)

    def _prompt(self, within: Any, where: str) -> tuple[dict[str, Any] | None, set[int]]:
        """The prompt, and the elements that it stands in."""
        texts: list[str] = []
        holders: set[int] = set()
        for value in self._site.thread.prompt:
            node = first(within, value.css) if value.css else within
            text = None if node is None else self._taken(node, value.attribute)
            if not text:
                continue
            texts.append(text)
            while node is not None and value.css:
                holders.add(node.mem_id)
                node = node.parent
        if not texts:
            return None, set()
        text = "\n\n".join(texts) if self._site.thread.text == "plain" else " ".join(texts)
        return {"text": text, **self._details(within, "prompt", where)}, holders

    def _details(self, within: Any, who: str, where: str) -> dict[str, Any]:
        """Id, author, time and score of a prompt or response, as far as they are there."""
        thread = self._site.thread
        found: dict[str, Any] = {}
        for what in ("id", "author", "time", "score"):
            text = self._value(within, getattr(thread, f"{who}_{what}"))
            if not text:
                continue
            value: Any = _BLANK_RUNS.sub(" ", text)[:_MOST_VALUE]
            if what == "author":
                value = self._author(value)
            elif what == "time":
                value = self._time(value, where)
            elif what == "score":
                value = self._score(value, where)
            if value is not None:
                found[what] = value
        return found

    def _value(self, within: Any, value: Value | None) -> str | None:
        if value is None:
            return None
        node = first(within, value.css) if value.css else within
        return None if node is None else self._taken(node, value.attribute)

    def _taken(self, node: Any, attribute: str | None) -> str | None:
        if attribute is None:
            return self._said(node)
        attributes = getattr(node, "attributes", None)
        return ((attributes or {}).get(attribute) or "").strip() or None

    def _said(self, node: Any) -> str | None:
        text = text_of(node)
        return (text if self._site.thread.text == "plain" else _BLANK_RUNS.sub(" ", text).strip()) or None

    def _author(self, name: str) -> str | None:
        if self._authors == "drop":
            return None
        if self._authors == "keep":
            return name
        digest = hashlib.blake2b(f"{self._site.name}\n{name}".encode(), digest_size=8, person=b"tertulia author")
        return f"person-{digest.hexdigest()}"

    def _time(self, text: str, where: str) -> str | None:
        moment = moment_of(text, self._site.thread)
        if moment is None:
            self._report.note("times of another form than time_format says", where)
            return None
        return utc_text(moment)

    def _score(self, text: str, where: str) -> int | None:
        numbers = _NUMBER.findall(text)
        if len(numbers) != 1:
            self._report.note("scores that are not one whole number", where)
            return None
        return int(numbers[0].replace(",", "").replace("−", "-"))


def moment_of(text: str, thread: Thread) -> datetime | None:
    """The moment in UTC that a text spells in the form that the selectors name; ``None`` where it spells none."""
    form = thread.time_format
    try:
        if form in ("unix", "unix-ms"):
            if not re.fullmatch(r"[0-9]{1,15}", text):
                return None
            return _EPOCH + timedelta(**{"seconds" if form == "unix" else "milliseconds": int(text)})
        moment = datetime.fromisoformat(text) if form == "iso" else datetime.strptime(text, form)  # noqa: DTZ007
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=thread.utc_offset)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError, re.error):
        return None
