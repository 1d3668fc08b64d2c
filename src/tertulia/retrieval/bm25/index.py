"""An inverted index of bags of words, and its exact search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.errors import ConfigurationError
from tertulia.retrieval.bm25 import exhaustive
from tertulia.retrieval.bm25.lists import BLOCK, Block, make_block
from tertulia.retrieval.bm25.weights import DEFAULT_B, DEFAULT_K1, SCALE, check_parameters, idf
from tertulia.retrieval.engine import KERNEL_VARIABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.retrieval._bm25 import Searcher
    from tertulia.retrieval.bm25.bags import Bags, Queries

__all__ = ["Bm25Index", "Hits", "compiled_variants"]

# So many queries are answered together: each block of the index is read once for all of them.
_BATCH = 64
# Answers of a batch take 12 bytes for each of k documents.
_BATCH_HITS = 1 << 20


class Hits(NamedTuple):
    """The best documents of one query, the best first; of equal scores the smaller number comes first.

    Arrays of one shape (found,): ``documents`` as they were counted when the index was built, and their scores.
    """

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]


def compiled_variants() -> tuple[str, ...]:
    """The variants of the compiled search that this processor can run, the fastest first; none without a compiler."""
    try:
        from tertulia.retrieval import _bm25
    except ImportError:
        return ()
    variants: tuple[str, ...] = _bm25.variants()
    return variants


class Bm25Index:
    """BM25 over bags of words; built once, searched by any number of threads.

    Parameters
    ----------
    bags:
        The texts.
    numbers:
        Which of them are the documents, ascending; all by default. Document ``i`` of the index is bag ``numbers[i]``.
    k1, b:
        The parameters of BM25.

    Raises
    ------
    ConfigurationError
        A parameter is out of range, or the variable ``TERTULIA_KERNEL`` names what there is not.
    """

    def __init__(
        self,
        bags: Bags,
        numbers: NDArray[np.int64] | None = None,
        *,
        k1: float = DEFAULT_K1,
        b: float = DEFAULT_B,
    ) -> None:
        check_parameters(k1, b)
        self._bags = bags
        chosen = np.arange(len(bags), dtype=np.int64) if numbers is None else np.asarray(numbers, dtype=np.int64)
        self.blocks, ceiling = _blocks(bags, chosen, k1, b)
        self._size = len(chosen)
        self.kernel = _chosen_kernel()
        self._searcher = None if self.kernel == "numpy" else _opened(self.kernel, ceiling, self.blocks)

    def __len__(self) -> int:
        return self._size

    def search(self, text: str, k: int) -> Hits:
        """The ``k`` best documents for a text; a document that shares no word with it is none."""
        return next(self.search_all(self._bags.queries([text]), k))

    def search_all(
        self,
        queries: Queries,
        k: int,
        *,
        workers: int = 1,
        progress: Callable[[int], None] = lambda _n: None,
    ) -> Iterator[Hits]:
        """The ``k`` best documents of each query, in order of the queries; the same for any number of threads."""
        if k < 1:
            raise ConfigurationError(f"{k} best documents are asked for; expected at least 1")
        wanted = max(1, min(k, self._size))
        batch = max(1, min(_BATCH, _BATCH_HITS // wanted))
        starts = [*range(0, len(queries), batch), len(queries)]
        parts = [(begin, end) for begin, end in pairwise(starts)]

        def answer(part: tuple[int, int]) -> list[Hits]:
            return self._answer(queries.part(*part), wanted)

        if workers < 2 or len(parts) < 2:
            for part in parts:
                yield from answer(part)
                progress(part[1] - part[0])
            return
        with ThreadPoolExecutor(workers) as pool:
            # A few batches ahead of who takes the answers, and no more: answers of all queries need not fit in memory.
            waiting = [pool.submit(answer, part) for part in parts[: 2 * workers]]
            for number, part in enumerate(parts):
                hits = waiting.pop(0).result()
                if (ahead := number + 2 * workers) < len(parts):
                    waiting.append(pool.submit(answer, parts[ahead]))
                yield from hits
                progress(part[1] - part[0])

    def _answer(self, queries: Queries, k: int) -> list[Hits]:
        documents = np.zeros((len(queries), k), dtype=np.uint32)
        scores = np.zeros((len(queries), k), dtype=np.uint64)
        found = np.zeros(len(queries), dtype=np.uint32)
        if self._searcher is None:
            exhaustive.search(self.blocks, queries, k, documents, scores, found)
        else:
            first = np.ascontiguousarray(queries.first)
            words, counts = np.ascontiguousarray(queries.words), np.ascontiguousarray(queries.counts)
            self._searcher.search(first, words, counts, k, documents, scores, found)
        return [
            Hits(documents[number, :count].astype(np.int64), scores[number, :count] / SCALE)
            for number, count in enumerate(found.tolist())
        ]


def _blocks(bags: Bags, numbers: NDArray[np.int64], k1: float, b: float) -> tuple[list[Block], int]:
    """The blocks of the documents, and a bound that no weight exceeds."""
    having = np.zeros(bags.vocabulary, dtype=np.int64)
    for begin in range(0, len(numbers), BLOCK):
        words = bags.gather(numbers[begin : begin + BLOCK]).words
        having += np.bincount(words, minlength=bags.vocabulary)
    idfs = idf(len(numbers), having)
    lengths = bags.lengths[numbers].astype(np.float64)
    # Whole numbers sum up exactly, so the mean is the same on every machine; texts without a word weigh nothing anywhere.
    mean = float(lengths.sum()) / len(lengths) if lengths.any() else 1.0
    saturations = k1 * (1 - b + b * lengths / mean)
    blocks = [
        make_block(bags.gather(numbers[begin : begin + BLOCK]), idfs, saturations[begin : begin + BLOCK])
        for begin in range(0, len(numbers), BLOCK)
    ]
    return blocks, max((int(block.most.max()) for block in blocks if len(block.most)), default=0)


def _chosen_kernel() -> str:
    """``numpy`` or the name of a compiled variant: what the variable ``TERTULIA_KERNEL`` names, else the fastest."""
    available = (*compiled_variants(), "numpy")
    wanted = os.environ.get(KERNEL_VARIABLE) or available[0]
    if wanted not in available:
        raise ConfigurationError(f"is {wanted!r}; expected one of {', '.join(available)}", where=KERNEL_VARIABLE)
    return wanted


def _opened(variant: str, ceiling: int, blocks: Sequence[Block]) -> Searcher:
    from tertulia.retrieval._bm25 import Searcher

    return Searcher(variant, ceiling, tuple(tuple(block) for block in blocks))
