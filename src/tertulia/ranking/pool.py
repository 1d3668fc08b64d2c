"""A pool: the responses that are negatives of each other, their index, and the draws for the contexts among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.ranking.negatives import draw_negatives
from tertulia.retrieval.bm25 import Bm25Index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.responses import Gathered

__all__ = ["Drawn", "draws_of_pool"]

# So many contexts at a time are queries; their bags are copied.
_PART = 4_096


class Drawn(NamedTuple):
    """The negatives of one context: the numbers of responses, or of pages where documents are the target."""

    context: int
    negatives: list[int]


def draws_of_pool(
    gathered: Gathered,
    members: NDArray[np.int64],
    seed_of: Callable[[int], int],
    *,
    negatives: int,
    pool: int,
    pages: bool,
    workers: int,
    progress: Callable[[int], None],
) -> Iterator[Drawn]:
    """The draws for every context of a pool.

    Negatives are never the true response, a text equal to it, or a text that stands as a response in the context's own thread.

    Parameters
    ----------
    members:
        The responses of the pool, ascending.
    seed_of:
        From a response to the seed of the context that it answers.
    pages:
        Whether the negatives are pages that the drawn responses link to.
    """
    asked = members[gathered.context[members] >= 0]
    if not len(asked):
        return
    representatives = np.unique(gathered.representative[members])
    representatives = representatives[representatives >= 0]
    own = _Threads(gathered, members)
    index = Bm25Index(gathered.responses.bags, representatives)
    most = max(len(own.of(response)) for response in asked.tolist())
    for begin in range(0, len(asked), _PART):
        part = asked[begin : begin + _PART]
        queries = gathered.responses.bags.gather(part)
        hits = index.search_all(queries, pool + most, workers=workers, progress=progress)
        for response, found in zip(part.tolist(), hits, strict=True):
            left_out = np.searchsorted(representatives, own.of(response)).tolist()

            def drawn(
                count: int,
                best: NDArray[np.int64] = found.documents,
                left_out: list[int] = left_out,
                seed: int = seed_of(response),
            ) -> list[int]:
                documents = draw_negatives(best, left_out, len(representatives), pool, count, seed)
                return representatives[documents].tolist() if documents else []

            kept = _pages(gathered, drawn, own.responses_of(response), negatives) if pages else drawn(negatives)
            yield Drawn(int(gathered.context[response]), kept)


def _pages(gathered: Gathered, drawn: Callable[[int], list[int]], own: list[int], wanted: int) -> list[int]:
    """So many pages of drawn responses, in order, none that equals one before or one that the context's own thread links to."""
    digest = gathered.page_digest
    known = {int(digest[page]) for response in own for page in gathered.pages_of(response)}
    # Most responses link to one page; where those drawn do not suffice, more are.
    count = wanted
    while True:
        responses, seen, found = drawn(count), set(known), []
        for response in responses:
            for page in gathered.pages_of(response):
                text = int(digest[page])
                if text not in seen:
                    seen.add(text)
                    found.append(page)
        if len(found) >= wanted or len(responses) < count:
            return found[:wanted]
        count *= 2


class _Threads:
    """For each response of a pool those of its thread in the pool, itself among them."""

    def __init__(self, gathered: Gathered, members: NDArray[np.int64]) -> None:
        order = np.argsort(gathered.thread[members], kind="stable")
        self._members = members[order]
        self._threads = gathered.thread[self._members]
        self._representatives = gathered.representative[self._members]
        self._thread_of = gathered.thread

    def _range(self, response: int) -> slice:
        thread = self._thread_of[response]
        begin = int(np.searchsorted(self._threads, thread))
        end = begin + 1
        while end < len(self._threads) and self._threads[end] == thread:
            end += 1
        return slice(begin, end)

    def responses_of(self, response: int) -> list[int]:
        """The responses of the thread."""
        found: list[int] = self._members[self._range(response)].tolist()
        return found

    def of(self, response: int) -> list[int]:
        """The responses that stand for those of the thread, each once, ascending."""
        return sorted({found for found in self._representatives[self._range(response)].tolist() if found >= 0})
