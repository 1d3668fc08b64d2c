"""How general a response is: how many prompts it answers in train, and how unlike they are ("versatile" replies)."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.ranking.features.borrowed import is_binary, levels
from tertulia.ranking.features.exchanges import exchanges
from tertulia.ranking.features.texts import squeezed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.learned import Read
    from tertulia.ranking.features.lexicon import Lexicon
    from tertulia.ranking.ranker import FitRun

__all__ = ["Generality"]

_GOOD = 0.5
_OPENING = 2


class Generality:
    """Counts of texts by the digest of their words, so that case and punctuation do not tell them apart.

    A row of ``counts`` (texts, 3) is: prompts it was a good answer to, contexts it was a candidate of, and the entropy of the words
    of these prompts. ``openings`` counts good answers by their first two words.

    Of an own example it counts what is left without it. In a binary set that takes one good answer from a negative too: it was
    borrowed from the context it answers, and a true response would else be told from it by having one answer less.
    """

    name: ClassVar[str] = "generality"
    features: ClassVar[Mapping[str, str]] = {
        "prompts_answered": "ln(1 + distinct prompts that the response was a good answer to in train). "
        "Source: versatile replies, the grade 3 of rated responses.",
        "prompt_spread": "The entropy of the words of these prompts, in nats.",
        "contexts_seen": "ln(1 + contexts of train that it was a candidate of).",
        "opening": "ln(1 + good answers of train that begin with the same two words).",
    }
    held_out: ClassVar[bool] = False

    def __init__(
        self,
        lexicon: Lexicon,
        texts: NDArray[np.uint64],
        counts: NDArray[np.float64],
        openings: NDArray[np.uint64],
        opened: NDArray[np.int64],
        *,
        binary: bool,
        middle: float,
    ) -> None:
        self._lexicon = lexicon
        self._texts, self._counts = texts, counts
        self._openings, self._opened = openings, opened
        self._binary, self._middle = binary, middle
        self._row_of = dict(zip(texts.tolist(), counts.tolist(), strict=True))
        self._opened_by = dict(zip(openings.tolist(), opened.tolist(), strict=True))

    @classmethod
    def fit(cls, examples: Sequence[Example], lexicon: Lexicon, run: FitRun) -> Self:  # noqa: ARG003
        """Count the texts of examples."""
        pairs = exchanges(examples)
        wording = lexicon.wording
        keys: dict[str, int] = {}

        def key(text: str) -> int:
            found = keys.get(text)
            if found is None:
                found = keys[text] = _key(wording.words(text), text)
            return found

        answered: dict[int, list[str]] = {}
        openings: Counter[int] = Counter()
        good = [at for at, weight in enumerate(pairs.weights.tolist()) if weight >= _GOOD]
        for at in good:
            answered.setdefault(key(pairs.answered[at]), []).append(pairs.said[at])
            openings[_opening(wording.words(pairs.answered[at]), pairs.answered[at])] += 1
        seen = Counter(found for example in examples for found in {key(text) for text in example.texts})
        rows: dict[int, tuple[float, float, float]] = {}
        for digest in sorted(answered.keys() | seen.keys()):
            prompts = answered.get(digest, [])
            distinct = len({squeezed(prompt) for prompt in prompts})
            # What stands once, as nearly all texts do, is what an unknown one is once it is left out.
            if distinct > 1 or seen[digest] > 1:
                rows[digest] = (float(distinct), float(seen[digest]), _entropy(lexicon, prompts))
        kept = {digest: count for digest, count in sorted(openings.items()) if count > 1}
        values = levels(examples)
        return cls(
            lexicon,
            np.array(list(rows), dtype=np.uint64),
            np.array(list(rows.values()), dtype=np.float64).reshape(-1, 3),
            np.array(list(kept), dtype=np.uint64),
            np.array(list(kept.values()), dtype=np.int64),
            binary=is_binary(examples),
            middle=float(values.min() + _GOOD * np.ptp(values)) if len(values) else 0.0,
        )

    def columns(self, read: Sequence[Read], *, own: bool) -> NDArray[np.float64]:
        """Values of the shape (candidates of all, features)."""
        rows: list[tuple[float, ...]] = []
        for one in read:
            values = np.nan_to_num(one.example.relevance, nan=-math.inf) if own else np.zeros(0)
            prompted = bool(one.conversation.turns)
            for at, response in enumerate(one.responses):
                prompts, seen, entropy = self._row_of.get(_key(response.words, response.raw), (0.0, 0.0, 0.0))
                opened = float(self._opened_by.get(_opening(response.words, response.raw), 0))
                if own:
                    less = float(prompted and (self._binary or bool(values[at] >= self._middle)))
                    prompts, opened, seen = max(0.0, prompts - less), max(0.0, opened - less), max(0.0, seen - 1.0)
                    entropy = entropy if prompts > 1 else 0.0
                rows.append((math.log1p(prompts), entropy, math.log1p(seen), math.log1p(opened)))
        return np.array(rows, dtype=np.float64).reshape(-1, len(self.features))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        scalars = np.array([float(self._binary), self._middle])
        return {
            "texts": self._texts,
            "counts": self._counts,
            "openings": self._openings,
            "opened": self._opened,
            "scalars": scalars,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], lexicon: Lexicon) -> Self:
        """The part that was written; a ``KeyError`` or ``ValueError`` where it does not hold."""
        texts, counts, openings, opened = (arrays[name] for name in ("texts", "counts", "openings", "opened"))
        binary, middle = arrays["scalars"].astype(np.float64).tolist()
        if counts.shape != (len(texts), 3) or opened.shape != openings.shape or texts.ndim != 1:
            raise ValueError("counts that do not fit")
        if texts.dtype != np.uint64 or openings.dtype != np.uint64 or opened.dtype != np.int64:
            raise ValueError("other kinds of numbers")
        if not (np.isfinite(counts).all() and (counts >= 0).all() and (opened >= 0).all() and math.isfinite(middle)):
            raise ValueError("counts that are none")
        return cls(lexicon, texts, counts.astype(np.float64), openings, opened, binary=bool(binary), middle=middle)


def _key(words: Sequence[str], text: str) -> int:
    return _digest(" ".join(words) if words else squeezed(text))


def _opening(words: Sequence[str], text: str) -> int:
    return _digest(" ".join(words[:_OPENING]) if words else squeezed(text))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _entropy(lexicon: Lexicon, prompts: Sequence[str]) -> float:
    counts = Counter(word for prompt in prompts for word in lexicon.wording.words(prompt))
    whole = counts.total()
    return -sum(count / whole * math.log(count / whole) for count in counts.values()) if whole else 0.0
