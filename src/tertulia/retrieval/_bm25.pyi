"""The compiled search of BM25; its source is in ``bm25_kernel/``, and ``bm25/engine.py`` is the only module that uses it."""

from typing import Any

from numpy.typing import NDArray

def variants() -> tuple[str, ...]:
    """The variants that this processor can run, the fastest first."""

class Searcher:
    """The blocks of an index, ready to be searched by many threads."""

    def __new__(cls, variant: str, ceiling: int, blocks: tuple[tuple[Any, ...], ...], /) -> Searcher: ...
    def search(
        self,
        first: NDArray[Any],
        words: NDArray[Any],
        counts: NDArray[Any],
        k: int,
        documents: NDArray[Any],
        scores: NDArray[Any],
        found: NDArray[Any],
        /,
    ) -> None:
        """Fill the last three arrays with the answers to the queries of the first three."""
