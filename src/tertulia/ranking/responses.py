"""The responses of a corpus, gathered in one pass: the texts that negatives are drawn from, and the contexts that they answer.

Every utterance of the answering side is a response, as in MANtIS, also one that is no true response of a context (the first
answer of a dialogue). Texts wait in files; memory holds the bags of words and some 60 bytes for each response.
"""

from __future__ import annotations

import hashlib
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Dialogue
from tertulia.corpus.parts.belonging import normalised
from tertulia.ranking.contexts import UnfitDialogueError, contexts_of, said_in
from tertulia.ranking.documents import Documents, links_of
from tertulia.ranking.spool import Spool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.retrieval.bm25 import Bags

__all__ = ["PoolKey", "Responses"]

PoolKey = tuple[str | None, str | None]
"""What responses have in common that are negatives of each other: the split, and the domain where it counts."""
_BATCH = 2_048
_DIGEST = 16


class _Digests:
    """Of each text 16 bytes that tell whether two are equal, without regard to case and white space."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._bytes = bytearray()

    def add(self, text: str) -> None:
        self._waiting.append(text)
        if len(self._waiting) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        for text in normalised(pa.array(self._waiting, pa.large_string())).to_pylist():
            self._bytes += hashlib.blake2b(text.encode(), digest_size=_DIGEST).digest()
        self._waiting = []

    def array(self) -> NDArray[np.uint64]:
        """Array of the shape (texts, 2)."""
        if self._waiting:
            self._flush()
        return np.frombuffer(bytes(self._bytes), dtype=np.uint64).reshape(-1, 2)


class Responses:
    """What one pass over the dialogues leaves; ``in_order`` says whether the ids of the contexts ascended."""

    def __init__(
        self, directory: Path, bags: Bags, report: Report, *, same_domain: bool, documents: Documents | None
    ) -> None:
        self.bags = bags
        self.report = report
        self.texts = Spool(directory / "responses")
        self.sources = Spool(directory / "sources")
        self.pages = Spool(directory / "pages")
        self.addresses = Spool(directory / "addresses")
        self.pools: dict[PoolKey, int] = {}
        self._same_domain = same_domain
        self._documents = documents
        self._pool = array("I")
        self._thread = array("Q")
        self._context = array("q")
        self._digests = _Digests()
        self._page_digests = _Digests()
        self._page_numbers: dict[bytes, int] = {}
        self._linked = array("I")
        self._linked_ends = array("Q", [0])
        self.contexts = 0
        self.in_order = True
        self._last_id = ""

    def close(self) -> None:
        """Close the files."""
        for spool in (self.texts, self.sources, self.pages, self.addresses):
            spool.close()

    def add(self, dialogue: Dialogue) -> None:
        """Take the responses of a dialogue. What makes no response or context is counted."""
        try:
            said = said_in(dialogue)
        except UnfitDialogueError as error:
            self.report.skip(error.message, dialogue.id)
            return
        self.report.skip("utterances without text", dialogue.id, len(dialogue.utterances) - len(said))
        answered = {context.position for context in contexts_of(said, last=1)}
        if not answered:
            self.report.note("dialogues too short for a context", dialogue.id)
        key = (dialogue.split, dialogue.domain if self._same_domain else None)
        pool = self.pools.setdefault(key, len(self.pools))
        thread = _hash(str(dialogue.attributes.get("thread", f"dialogue {dialogue.id}")))
        for utterance, role in said:
            if role != "agent":
                continue
            self.texts.append(utterance.text)
            self.sources.append(f"{dialogue.id}#{utterance.position}")
            self.bags.add(utterance.text)
            self._digests.add(utterance.text)
            self._pool.append(pool)
            self._thread.append(thread)
            is_answer = utterance.position in answered
            if self._documents is not None:
                self._add_pages(links_of(utterance))
                if is_answer and self._linked_ends[-1] == self._linked_ends[-2]:
                    self.report.skip(
                        "contexts without a crawled page in the true response", f"{dialogue.id}-{utterance.position}"
                    )
                    is_answer = False
            self._context.append(self.contexts if is_answer else -1)
            self.contexts += is_answer
        self._check_order(sorted(f"{dialogue.id}-{position}" for position in answered))

    def _check_order(self, identifiers: list[str]) -> None:
        """Notice where one dialogue's ids do not all come after those of the dialogue before."""
        if identifiers:
            self.in_order = self.in_order and identifiers[0] > self._last_id
            self._last_id = identifiers[-1]

    def _add_pages(self, urls: list[str]) -> None:
        for url in urls:
            # An address and its page are kept once; none that was asked for before is asked for again.
            key = hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
            number = self._page_numbers.get(key)
            if number is None:
                number = self._page_numbers[key] = self._new_page(url)
            if number >= 0:
                self._linked.append(number)
        self._linked_ends.append(len(self._linked))

    def _new_page(self, url: str) -> int:
        text = self._documents.text_of(url) if self._documents is not None else None
        if text is None or not text.strip():
            return -1
        self._page_digests.add(text)
        self.addresses.append(url)
        return self.pages.append(text)


class Gathered:
    """The responses as arrays, one entry a response.

    ``pool`` numbers the pools, ``thread`` the threads, ``context`` the contexts (-1 where the response answers none);
    ``representative`` is the first response of the same text in the same pool that can be a negative, -1 where there is none.
    """

    def __init__(self, responses: Responses) -> None:
        self.responses = responses
        self.pool = _array(responses._pool, np.uint32).astype(np.int64)
        self.context = _array(responses._context, np.int64)
        threads = _array(responses._thread, np.uint64)
        self.thread = np.unique(threads, return_inverse=True)[1].reshape(-1).astype(np.int64)
        self.linked = _array(responses._linked, np.uint32).astype(np.int64)
        self.linked_ends = _array(responses._linked_ends, np.uint64).astype(np.int64)
        self.page_digest = _equal_texts(responses._page_digests.array())
        count = len(self.pool)
        usable = np.ones(count, dtype=bool)
        if responses._documents is not None:
            usable = np.diff(self.linked_ends) > 0
        self.representative = _representatives(self.pool, _equal_texts(responses._digests.array()), usable)

    def __len__(self) -> int:
        return len(self.pool)

    def pages_of(self, response: int) -> list[int]:
        """The numbers of the pages that a response links to."""
        found: list[int] = self.linked[int(self.linked_ends[response]) : int(self.linked_ends[response + 1])].tolist()
        return found

    def in_pools(self) -> list[NDArray[np.int64]]:
        """The responses of each pool, ascending, in order of the numbers of the pools."""
        order = np.argsort(self.pool, kind="stable")
        ends = np.cumsum(np.bincount(self.pool, minlength=len(self.responses.pools)))
        return [part.astype(np.int64) for part in np.split(order, ends[:-1])] if len(ends) else []


def _array(values: array[Any], kind: Any) -> NDArray[Any]:
    return np.frombuffer(values, dtype=kind).copy() if len(values) else np.zeros(0, dtype=kind)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _equal_texts(digests: NDArray[np.uint64]) -> NDArray[np.int64]:
    """A number for each text, equal for equal texts."""
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    ordered = digests[order]
    fresh = np.concatenate([np.zeros(min(1, len(order)), dtype=bool), (ordered[1:] != ordered[:-1]).any(axis=1)])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(fresh)
    return numbers


def _representatives(pool: NDArray[np.int64], text: NDArray[np.int64], usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    order = np.lexsort((np.arange(len(pool)), ~usable, text, pool))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (pool[order][1:] != pool[order][:-1]) | (text[order][1:] != text[order][:-1])
    # The first of each run of equal texts in one pool stands for all of the run.
    first = order[np.flatnonzero(fresh)][np.cumsum(fresh) - 1] if len(order) else order
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.where(usable[first], first, -1)
    return found
