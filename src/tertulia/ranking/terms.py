"""Terms of texts, words or runs of characters: how many documents of train have each, TF-IDF vectors, and their cosine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from tertulia.errors import ArtefactError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = [
    "TermStatistics",
    "Vector",
    "character_grams",
    "cosine",
    "distinct_texts",
    "kept",
    "of_length_one",
    "tfidf",
    "weighted_sum",
]

Vector = Mapping[str, float]
"""A sparse vector: a weight for each term that has one."""

# No collection that fits in memory has more documents.
_MOST = 2**31 - 1
_LONG, _KEPT = 400, 16_384

T = TypeVar("T")


class TermStatistics:
    """How many of a collection's documents have each term, how many documents there are, and how long they are on average.

    ``frequency`` maps a term to the number of documents that have it (at least 1), ``documents`` counts them all, also those
    without a term, and ``mean_length`` is in terms, each as often as it stands there.
    """

    __slots__ = ("__dict__", "documents", "frequency", "mean_length")

    def __init__(self, documents: int, mean_length: float, frequency: dict[str, int]) -> None:
        self.documents = documents
        self.mean_length = mean_length
        self.frequency = frequency

    @classmethod
    def collect(cls, documents: Iterable[Sequence[str]]) -> Self:
        """The statistics of documents, each given as its terms."""
        frequency: Counter[str] = Counter()
        count = length = 0
        for terms in documents:
            frequency.update(set(terms))
            count += 1
            length += len(terms)
        # Sorted, since the order of a set differs from one process to the next.
        return cls(count, length / count if count else 0.0, {term: frequency[term] for term in sorted(frequency)})

    @cached_property
    def idf_of(self) -> dict[str, float]:
        """The idf of every term that a document has."""
        return {term: self._idf(count) for term, count in self.frequency.items()}

    @cached_property
    def unknown(self) -> float:
        """The idf of a term that no document has."""
        return self._idf(0)

    def idf(self, term: str) -> float:
        """``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative: BM25's idf as Lucene has it; N documents, n with the term."""
        return self.idf_of.get(term, self.unknown)

    def _idf(self, count: int) -> float:
        return math.log(1 + (self.documents - count + 0.5) / (count + 0.5))

    # ------------------------------------------------------------------ keeping

    def to_arrays(self, name: str = "terms") -> dict[str, NDArray[Any]]:
        """Arrays for ``model.write_arrays``, their names beginning with ``name``."""
        encoded = [term.encode("utf-8", "surrogatepass") for term in self.frequency]
        return {
            f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            f"{name}.lengths": np.array([len(each) for each in encoded], dtype=np.int64),
            f"{name}.frequency": np.array(list(self.frequency.values()), dtype=np.int64),
            f"{name}.documents": np.array([self.documents], dtype=np.int64),
            f"{name}.mean_length": np.array([self.mean_length], dtype=np.float64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str = "terms") -> Self:
        """The statistics that ``to_arrays`` gave.

        Raises
        ------
        ArtefactError
            Arrays are missing, or do not hold together.
        """
        text = _array(arrays, f"{name}.text", np.uint8)
        lengths = _array(arrays, f"{name}.lengths", np.int64)
        counts = _array(arrays, f"{name}.frequency", np.int64)
        documents = _array(arrays, f"{name}.documents", np.int64)
        mean = _array(arrays, f"{name}.mean_length", np.float64)
        holds = (
            len(documents) == len(mean) == 1
            and len(lengths) == len(counts)
            and 0 <= int(documents[0]) <= _MOST
            and 0 <= float(mean[0]) < math.inf
            and bool((lengths > 0).all() and (lengths <= len(text)).all() and int(lengths.sum()) == len(text))
            and bool((counts > 0).all() and (counts <= documents[0]).all())
        )
        if not holds:
            raise _damaged(name)
        ends = np.cumsum(lengths).tolist()
        blob = text.tobytes()
        try:
            terms = [
                blob[end - length : end].decode("utf-8", "surrogatepass")
                for end, length in zip(ends, lengths.tolist(), strict=True)
            ]
        except UnicodeDecodeError:
            raise _damaged(name) from None
        frequency = dict(zip(terms, counts.tolist(), strict=True))
        if len(frequency) != len(terms):
            raise _damaged(name)
        return cls(int(documents[0]), float(mean[0]), frequency)


def _array(arrays: Mapping[str, NDArray[Any]], name: str, kind: type[np.generic]) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype != kind or array.ndim != 1:
        raise _damaged(name)
    return array


def _damaged(name: str) -> ArtefactError:
    return ArtefactError(f"the statistics of terms {name!r} do not hold together", hint="train it again")


# ---------------------------------------------------------------------- texts and their terms


def distinct_texts(examples: Iterable[Example], *, prompts: bool = True, responses: bool = True) -> Iterator[str]:
    """The texts of the turns of examples and of their candidates, each distinct text once, in order of appearance.

    A text that stands under many contexts (a negative, a versatile reply, a prompt with many candidates) is one document.
    """
    seen: set[str] = set()
    for example in examples:
        texts = [turn.text for turn in example.turns] if prompts else []
        for text in (*texts, *(example.texts if responses else ())):
            if text not in seen:
                seen.add(text)
                yield text


def character_grams(text: str, low: int = 2, high: int = 4) -> list[str]:
    """All runs of ``low`` to ``high`` characters of a text in lower case, its white space single, a space at both ends."""
    normal = f" {' '.join(text.lower().split())} "
    return [normal[at : at + size] for size in range(low, high + 1) for at in range(len(normal) - size + 1)]


def kept(function: Callable[[str], T]) -> Callable[[str], T]:
    """The function with its last results remembered, which must not be changed: those of 16,384 texts of up to 400 characters.

    Sets hold the same texts again and again, and a few dozen MB hold what was made of them. Several threads can share it.
    """
    remembered = lru_cache(_KEPT)(function)

    def of(text: str) -> T:
        return remembered(text) if len(text) <= _LONG else function(text)

    return of


# ---------------------------------------------------------------------- vectors


def tfidf(terms: Iterable[str], statistics: TermStatistics) -> Vector:
    """The vector of ``(1 + ln f) · idf`` of length 1; f is how often a term stands there. Empty where all weigh nothing.

    Salton and Buckley, "Term-weighting approaches in automatic text retrieval" (1988), with a logarithmic term frequency.
    """
    idf_of, unknown = statistics.idf_of, statistics.unknown
    listed = list(terms)
    weights = {term: idf_of.get(term, unknown) for term in listed}
    if len(weights) < len(listed):
        for term, count in Counter(listed).items():
            if count > 1:
                weights[term] *= 1.0 + math.log(count)
    return of_length_one(weights)


def weighted_sum(parts: Iterable[tuple[Vector, float]]) -> Vector:
    """The sum of vectors, each times its weight."""
    total: dict[str, float] = {}
    for vector, factor in parts:
        for term, weight in vector.items():
            total[term] = total.get(term, 0.0) + factor * weight
    return total


def of_length_one(weights: Mapping[str, float]) -> Vector:
    """The vector divided by its length; empty where that is 0."""
    # ``fsum`` is exact, so that the order of the terms plays no part.
    length = math.sqrt(math.fsum([weight * weight for weight in weights.values()]))
    return {term: weight / length for term, weight in weights.items()} if length > 0 else {}


def cosine(one: Vector, other: Vector) -> float:
    """The sum of products: of two vectors of length 1 (or 0) their cosine, from 0 to 1 where no weight is negative."""
    if len(other) < len(one):
        one, other = other, one
    # Summed exactly, so that the order of the terms plays no part.
    return math.fsum([weight * other[term] for term, weight in one.items() if term in other])
