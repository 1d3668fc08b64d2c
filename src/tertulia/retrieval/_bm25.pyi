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

class Vocabulary:
    """Words with their numbers, from 0 as they come; its length is how many there are.

    The methods give the number of words of a text, and the numbers of the distinct ones and their counts as the bytes of
    32-bit numbers. ``adds`` says whether new words get a number; else they are left out.
    """

    def __new__(cls) -> Vocabulary: ...
    def __len__(self) -> int: ...
    def count_english(self, text: str, adds: bool, /) -> tuple[int, bytes, bytes] | None:
        """The words of an English text, or none where it has characters that Python must judge."""

    def count_words(self, words: list[str], adds: bool, /) -> tuple[int, bytes, bytes]:
        """Words from a tokenizer."""
