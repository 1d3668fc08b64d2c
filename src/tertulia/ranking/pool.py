"""A pool: the responses that are negatives of each other, their index, and the draws for the contexts among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
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
    most = max(len(own.of(int(response))) for response in asked)
    for begin in range(0, len(asked), _PART):
        part = asked[begin : begin + _PART]
        queries = gathered.responses.bags.gather(part)
        hits = index.search_all(queries, pool + most, workers=workers, progress=progress)
        for response, found in zip(part.tolist(), hits, strict=True):
            excluded = np.searchsorted(representatives, own.of(response))
            drawn = draw_negatives(found.documents, excluded, len(representatives), pool, seed_of(response))
            chosen = (int(representatives[document]) for document in drawn)
            if pages:
                kept = list(islice(_pages(gathered, chosen, own.responses_of(response)), negatives))
            else:
                kept = list(islice(chosen, negatives))
            yield Drawn(int(gathered.context[response]), kept)


def _pages(gathered: Gathered, responses: Iterator[int], own: NDArray[np.int64]) -> Iterator[int]:
    """The pages of responses in order, none that equals one before or one that the context's own thread links to."""
    digest = gathered.page_digest
    seen = {int(digest[page]) for response in own.tolist() for page in gathered.pages_of(response)}
    for response in responses:
        for page in gathered.pages_of(response):
            text = int(digest[page])
            if text not in seen:
                seen.add(text)
                yield page


class _Threads:
    """For each response of a pool those of its thread in the pool, itself among them."""

    def __init__(self, gathered: Gathered, members: NDArray[np.int64]) -> None:
        self._gathered = gathered
        order = np.argsort(gathered.thread[members], kind="stable")
        self._members = members[order]
        self._threads = gathered.thread[self._members]

    def responses_of(self, response: int) -> NDArray[np.int64]:
        """The responses of the thread."""
        thread = self._gathered.thread[response]
        begin, end = np.searchsorted(self._threads, [thread, thread + 1])
        return self._members[begin:end]

    def of(self, response: int) -> NDArray[np.int64]:
        """The responses that stand for those of the thread, each once."""
        found = np.unique(self._gathered.representative[self.responses_of(response)])
        return found[found >= 0]
