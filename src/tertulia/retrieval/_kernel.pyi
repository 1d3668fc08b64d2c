"""The compiled kernel; its source is in ``kernel/``, and ``engine.py`` is the only module that uses it."""

from typing import Any

from numpy.typing import NDArray

from tertulia.retrieval.query import Match

def variants() -> tuple[str, ...]:
    """The variants that this processor can run, the fastest first."""

def distinct_ascii_words(text: str) -> list[str] | None:
    """The distinct English words of a text, sorted, or none where it has characters that Python must judge."""

class Searcher:
    """The segments of one commit, ready to be searched by many threads."""

    def __new__(
        cls,
        variant: str,
        unknown: float,
        match_type: type[Match],
        segments: tuple[tuple[NDArray[Any] | bool, ...], ...],
        /,
    ) -> Searcher: ...
    def search(
        self, text: str, previous: str, k: int, topic_rows: NDArray[Any] | None, bonus: float, lam: float, /
    ) -> list[Match] | None:
        """The answer to English texts, or none where it is left to :meth:`search_words` or to NumPy."""

    def search_words(
        self,
        words: list[bytes],
        previous: list[bytes],
        k: int,
        topic_rows: NDArray[Any] | None,
        bonus: float,
        lam: float,
        /,
    ) -> list[Match] | None:
        """The answer to sorted distinct words, or none where it is left to NumPy."""
