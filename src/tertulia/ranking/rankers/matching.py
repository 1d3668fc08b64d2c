"""The matching score as a ranker: candidates like the responses that a bank of train contexts would give."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tertulia.corpus.model import Dialogue, Utterance
from tertulia.errors import ArtefactError, InputError
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.quality import default_cuts
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.terms import (
    TermStatistics,
    Vector,
    cosine,
    distinct_texts,
    kept,
    of_length_one,
    tfidf,
    weighted_sum,
)
from tertulia.ranking.tuning import best_on_dev, combinations
from tertulia.ranking.wording import Wording, guess_language
from tertulia.retrieval.matching import MatchingIndex
from tertulia.retrieval.weights import idf_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Matching"]

_ARRAYS, _BANK = "terms.npz", "bank"
_MOST_WORDS = 200_000
# So many candidates are compared with the bank's responses at once, where these may be whole pages.
_AT_ONCE = 16
# The scale of section 6's weights at which its score is compared with published figures.
_SCALE = 1.0


class _Rows(NamedTuple):
    """TF-IDF vectors of the banked responses: those of the utterance ``n`` of the index are at ``first[n]:first[n + 1]``.

    An utterance that is no response, for it is the context of one, has no terms.
    """

    first: NDArray[np.int64]  # [utterances + 1]
    terms: NDArray[np.int64]  # numbers of terms in the order of the statistics
    weights: NDArray[np.float64]


class _Found(NamedTuple):
    """Banked responses that were found, and all their terms, one response after the other."""

    strength: NDArray[np.float64]  # [responses] the root of S
    row: NDArray[np.int64]  # [terms] which of the responses has it
    terms: NDArray[np.int64]
    weights: NDArray[np.float64]


class _Parts(NamedTuple):
    """What the scores of one example are made of, whatever ``own`` and ``power`` are. Arrays have an item for each candidate."""

    found: Mapping[float, NDArray[np.float64]]  # by power: the best root of S times likeness to the power
    own: NDArray[np.float64]  # S_cr of the candidate itself over the lengths: from 0 to 1, for each turn


class Matching:
    """Section 6 of the design, with candidates that have no context of their own in the bank.

    The bank holds the contexts of train with their positive responses r. With q the last turn, q_c the turn before it and S the
    matching score, a candidate x has

        max over r of  sqrt(S(q, q_c; r)) · like(x, r)^power  +  own · S_cr(q, x) / (‖q^4‖ ‖x^4‖)

    ``like`` is the TF-IDF cosine of two responses. So x answers as well as the best banked response that it is like, and what S
    gives for words that it shares with q counts for x itself, over all turns by their weights. docs/ranking.md says why.
    """

    name: ClassVar[str] = "matching"
    summary: ClassVar[str] = "likeness to what the matching score finds in a bank of train responses"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "own": Setting(
            1.0, "the weight of the words that a candidate itself shares with the prompt", (1.0, 0.3, 3.0, 0.1), 0, 1e6
        ),
        "power": Setting(2.0, "how alike a candidate must be to a banked response", (2.0, 4.0, 1.0), 0.1, 100),
        "depth": Setting(256, "how many banked responses are looked at, the best first", low=1, high=100_000),
        "cut": Setting(
            None,
            "the relevance from which a response of train is banked; the lowest usual one unless given",
            low=-1e9,
            high=1e9,
        ),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._given_cut = self.settings["cut"]
        self._report: dict[str, Any] = {}
        self._index: MatchingIndex | None = None

    # ------------------------------------------------------------------ learn

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Bank the positive responses of train; choose by dev how much their likeness counts."""
        cut = default_cuts(train)[0] if self._given_cut is None else self._given_cut
        self.settings["cut"] = cut
        bank = list(_bank(train, cut))
        if not bank:
            raise InputError(f"train has no response of relevance {cut:g} or more to match with")
        # A language whose words stand apart can be any; the index has tokenizers for two.
        chinese = run.wording.language != "en" and guess_language(train) != "en"
        folder = Path(tempfile.mkdtemp(prefix="tertulia-matching-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        index = MatchingIndex.build(bank, folder / _BANK, language="zh" if chinese else "en", scale=_SCALE)
        statistics = TermStatistics.collect(map(run.wording.words, distinct_texts(train)))
        self._use(run.wording, statistics, index, None)
        self._rows = self._rows_of(bank)
        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        powers = sorted({settings["power"] for settings in tried})
        parts = [self._parts(example, powers) for example in dev]
        tuned = best_on_dev(tried, lambda settings: (_scores(each, settings) for each in parts), dev, run)
        self.settings = tuned.settings
        self._report = {"tuning": tuned.to_json(), "banked_responses": len(bank)}

    def _use(self, wording: Wording, statistics: TermStatistics, index: MatchingIndex, rows: _Rows | None) -> None:
        self._wording, self._statistics, self._index = wording, statistics, index
        self._number = {term: number for number, term in enumerate(statistics.frequency)}
        self._vector = kept(lambda text: tfidf(wording.words(text), statistics))
        self._fourth = kept(_fourth(wording, index.language))
        if rows is not None:
            self._rows = rows

    def _rows_of(self, bank: Sequence[Dialogue]) -> _Rows:
        lengths: list[int] = []
        terms: list[int] = []
        weights: list[float] = []
        for dialogue in bank:
            vector = self._vector(dialogue.texts[-1])
            lengths += [0] * (len(dialogue.utterances) - 1) + [len(vector)]
            terms += [self._number[term] for term in vector]
            weights += vector.values()
        return _Rows(np.cumsum([0, *lengths], dtype=np.int64), np.array(terms, dtype=np.int64), np.array(weights))

    # ------------------------------------------------------------------ score

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The score of each candidate of each example, at least 0."""
        for example in examples:
            yield _scores(self._parts(example, [self.settings["power"]]), self.settings)

    def _parts(self, example: Example, powers: Sequence[float]) -> _Parts:
        turns = self._wording.weighted_turns(example)
        found = self._search(turns)
        texts = example.texts
        chunks = [self._best(found, texts[at : at + _AT_ONCE], powers) for at in range(0, len(texts), _AT_ONCE)]
        best = {power: np.concatenate([np.zeros(0), *(chunk[power] for chunk in chunks)]) for power in powers}
        said = weighted_sum((self._fourth(text), weight) for text, weight in turns)
        own = [cosine(said, self._fourth(text)) for text in texts]
        return _Parts(best, np.array(own, dtype=np.float64))

    def _search(self, turns: Sequence[tuple[str, float]]) -> _Found:
        """The banked responses that answer the turns."""
        if self._index is None:
            raise InputError("the ranker 'matching' was neither fitted nor loaded")
        last, before = ([text for text, _ in turns[:2]] + ["", ""])[:2]
        matches = self._index.search(last, before, k=self.settings["depth"])
        numbers = np.array([match.number for match in matches], dtype=np.int64)
        scores = np.array([match.score for match in matches], dtype=np.float64)
        if not ((numbers >= 0) & (numbers < len(self._rows.first) - 1) & (scores >= 0) & (scores < np.inf)).all():
            raise ArtefactError("a file of the index is damaged", where=self._index.path, hint="train it again")
        starts = self._rows.first[numbers]
        lengths = self._rows.first[numbers + 1] - starts
        row = np.repeat(np.arange(len(numbers)), lengths)
        at = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(row))
        return _Found(np.sqrt(scores), row, self._rows.terms[at], self._rows.weights[at])

    def _best(self, found: _Found, texts: Sequence[str], powers: Sequence[float]) -> dict[float, NDArray[np.float64]]:
        """By power: for each text the largest root of S times likeness to the power."""
        slot, weight_of = self._slots(texts)
        slots = slot[found.terms]
        shared = np.flatnonzero(slots)
        if not len(shared):
            return {power: np.zeros(len(texts)) for power in powers}
        rows = found.row[shared]
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        products = found.weights[shared, None] * weight_of[slots[shared]]
        like = np.add.reduceat(products, first, axis=0)
        strength = found.strength[rows[first], None]
        return {power: (strength * like**power).max(axis=0) for power in powers}

    def _slots(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """A slot from 1 for each term that a text has (0 for the others), and what a slot's term weighs in each text."""
        slot_of: dict[int, int] = {}
        places: list[tuple[int, int]] = []
        weights: list[float] = []
        for place, text in enumerate(texts):
            for term, weight in self._vector(text).items():
                number = self._number.get(term)
                if number is not None:
                    places.append((slot_of.setdefault(number, len(slot_of) + 1), place))
                    weights.append(weight)
        slot = np.zeros(len(self._number), dtype=np.int32)
        slot[np.array(list(slot_of), dtype=np.int64)] = list(slot_of.values())
        weight_of = np.zeros((len(slot_of) + 1, len(texts)))
        weight_of[tuple(np.array(places, dtype=np.int64).reshape(-1, 2).T)] = weights
        return slot, weight_of

    # ------------------------------------------------------------------ keep

    def save(self, directory: Path) -> None:
        """Write the settings, the statistics, the vectors of the bank, and the index as a part."""
        if self._index is None:
            raise InputError("the ranker 'matching' was neither fitted nor loaded")
        write_head(directory, self, self._wording, report=self._report)
        rows = {f"rows.{name}": array for name, array in self._rows._asdict().items()}
        write_arrays(directory / _ARRAYS, self._statistics.to_arrays() | rows)
        shutil.copytree(self._index.path, directory / _BANK)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        arrays = read_arrays(directory / _ARRAYS)
        statistics = TermStatistics.from_arrays(arrays)
        index = MatchingIndex.open(directory / _BANK)
        ranker = cls(head.settings)
        ranker._report = dict(head.more["report"])
        rows = _Rows(arrays["rows.first"], arrays["rows.terms"], arrays["rows.weights"])
        _check(rows, len(statistics.frequency), index, directory / _ARRAYS)
        ranker._use(head.wording, statistics, index, rows)
        return ranker

    def report(self) -> dict[str, Any]:
        """What was chosen on dev, and how many responses are banked."""
        return self._report


def _bank(train: Iterable[Example], cut: float) -> Iterator[Dialogue]:
    """A dialogue for each positive response: the turn before the last, the last turn, the response."""
    for number, example in enumerate(train):
        if not example.turns:
            continue
        for place in np.flatnonzero(example.relevance >= cut).tolist():
            texts = [*(turn.text for turn in example.turns[-2:]), example.texts[place]]
            utterances = [Utterance(at, at, "AB"[at % 2], text) for at, text in enumerate(texts)]
            yield Dialogue(f"{number}#{place}", utterances)


def _fourth(wording: Wording, language: str) -> Callable[[str], Vector]:
    """From a text to the vector w^4 of section 6 on its distinct words, brought to length 1."""
    known: dict[str, float] = {}

    def vector(text: str) -> Vector:
        words = sorted(set(wording.words(text)))
        new = [word for word in words if word not in known]
        weights = dict(zip(new, idf_weights(new, language, _SCALE).tolist(), strict=True))
        # Never emptied, since other threads read it.
        if len(known) < _MOST_WORDS:
            known.update(weights)
        return of_length_one({word: (weights[word] if word in weights else known[word]) ** 4 for word in words})

    return vector


def _scores(parts: _Parts, settings: Mapping[str, Any]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = parts.found[settings["power"]] + settings["own"] * parts.own
    return scores


def _check(rows: _Rows, terms: int, index: MatchingIndex, where: Path) -> None:
    first = rows.first
    holds = (
        [array.dtype for array in rows] == [np.int64, np.int64, np.float64]
        and all(array.ndim == 1 for array in rows)
        and len(first) == index.counts["utterances"] + 1
        and int(first[0]) == 0
        and bool((np.diff(first) >= 0).all())
        and int(first[-1]) == len(rows.terms) == len(rows.weights)
        and bool(((rows.terms >= 0) & (rows.terms < terms)).all())
        and bool(((rows.weights >= 0) & (rows.weights <= 1.001)).all())
    )
    if not holds:
        raise ArtefactError("does not hold the vectors of the bank's responses", where=where, hint="train it again")
