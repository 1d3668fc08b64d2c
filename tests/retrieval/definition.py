"""The matching score as it is defined: every response of the bank scored in float64, plainly.

``rank`` is the definition, word by word in plain Python. ``LargeBank`` is the same over arrays, for banks that are too
large for it; a test holds the two together. Nothing here uses the code under test.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from wordfreq import word_frequency

if TYPE_CHECKING:
    from tertulia.corpus.model import Dialogue


@dataclass
class Placed:
    """A dialogue of the bank and the number of its first utterance."""

    number: int
    dialogue: Dialogue


def english_words(text: str) -> list[str]:
    text = text.lower()
    for apostrophe in "\u2018\u2019\u02bc":
        text = text.replace(apostrophe, "'")
    return re.findall(r"[^\W_]+(?:'[^\W\d_]+)*", text)


def idf(word: str, scale: float) -> float:
    return (math.log(max(word_frequency(word, "en", wordlist="large"), 1e-8)) / math.log(1e-8)) * scale


def second(w: float) -> float:
    return w * w


def sixth(w: float) -> float:
    return ((w * w) * (w * w)) * (w * w)


def eighth(w: float) -> float:
    return ((w * w) * (w * w)) * ((w * w) * (w * w))


def total(values) -> float:
    """One after the other: ``sum`` compensates for rounding since Python 3.12."""
    result = 0.0
    for value in values:
        result += value
    return result


def rank(
    bank: list[Placed],
    text: str,
    previous: str = "",
    *,
    k: int = 10,
    topic: str | None = None,
    bonus: float = 0.02,
    lam: float = 0.005,
    scale: float = 1.3,
    words_of=english_words,
    weight=idf,
) -> list[tuple[int, float, float]]:
    """(number, score, norm) of the best ``k`` responses."""
    known = {word for placed in bank for utterance in placed.dialogue.utterances for word in words_of(utterance.text)}

    def weigh(word: str) -> float:
        return weight(word, scale) if word in known else scale

    q, q_c = set(words_of(text)), set(words_of(previous))
    query_norm = math.sqrt(total(sixth(weigh(word)) for word in sorted(q)))
    found = []
    for placed in bank:
        sets = [set(words_of(utterance.text)) for utterance in placed.dialogue.utterances]
        for position in range(1, len(sets)):
            c, r = sets[position - 1], sets[position]
            wider = sets[position - 2] if position >= 2 else set()
            s_c = total(sixth(weigh(word)) for word in sorted(q & c))
            s_cr = total(eighth(weigh(word)) for word in sorted(q & r))
            s_2cq = total(second(weigh(word)) for word in sorted(q_c & wider))
            score = 0.0
            if s_c > 0:
                context_norm = math.sqrt(total(sixth(weigh(word)) for word in sorted(c)))
                score = ((s_c + s_cr) * math.sqrt(s_c)) / (query_norm * context_norm)
            score += lam * s_2cq
            if score > 0 and topic is not None and placed.dialogue.domain == topic:
                score += bonus
            if score > 0:
                norm = math.sqrt(total(second(weigh(word)) for word in sorted(r)))
                found.append((placed.number + position, score, norm))
    found.sort(key=lambda match: (-match[1], -match[2], match[0]))
    return found[:k]


class LargeBank:
    """The same definition over arrays: each sum gets its words one after the other, in term order."""

    def __init__(self, bank: list[Placed], scale: float = 1.3) -> None:
        self.scale = scale
        sets = [sorted(set(english_words(u.text))) for placed in bank for u in placed.dialogue.utterances]
        self.rows = len(sets)
        rows_of: dict[str, list[int]] = {}
        for row, words in enumerate(sets):
            for word in words:
                rows_of.setdefault(word, []).append(row)
        self.rows_of = {word: np.array(rows) for word, rows in rows_of.items()}
        self.idf = {word: idf(word, scale) for word in rows_of}
        lengths = [len(placed.dialogue.utterances) for placed in bank]
        self.position = np.concatenate([np.arange(length) for length in lengths])
        self.number = np.concatenate([np.arange(length) + p.number for p, length in zip(bank, lengths, strict=True)])
        self.topic = np.repeat(np.array([placed.dialogue.domain or "" for placed in bank]), lengths)
        self.context_norm = self._before(np.sqrt(self._sums(rows_of, sixth)), 1)
        self.norm = np.sqrt(self._sums(rows_of, second))

    def _sums(self, words, power) -> np.ndarray:
        """For each row the powers of the weights of those words that it has."""
        sums = np.zeros(self.rows)
        for word in sorted(words):
            if word in self.rows_of:
                sums[self.rows_of[word]] += power(self.idf[word])
        return sums

    def _before(self, values: np.ndarray, distance: int) -> np.ndarray:
        shifted = np.zeros(self.rows)
        shifted[distance:] = values[:-distance]
        shifted[self.position < distance] = 0.0
        return shifted

    def rank(self, text, previous="", *, k=10, topic=None, bonus=0.02, lam=0.005) -> list[tuple[int, float, float]]:
        q, q_c = set(english_words(text)), set(english_words(previous))
        query_norm = math.sqrt(total(sixth(self.idf.get(word, self.scale)) for word in sorted(q)))
        s_c = self._before(self._sums(q, sixth), 1)
        s_cr = self._sums(q, eighth)
        s_2cq = self._before(self._sums(q_c, second), 2)
        score = np.zeros(self.rows)
        some = s_c > 0
        score[some] = ((s_c[some] + s_cr[some]) * np.sqrt(s_c[some])) / (query_norm * self.context_norm[some])
        score += lam * s_2cq
        score[self.position < 1] = 0.0
        if topic is not None:
            score[(score > 0) & (self.topic == topic)] += bonus
        rows = np.flatnonzero(score > 0)
        if len(rows) > k:
            rows = rows[score[rows] >= np.partition(score[rows], len(rows) - k)[len(rows) - k]]
        rows = rows[np.lexsort((self.number[rows], -self.norm[rows], -score[rows]))][:k]
        return list(zip(self.number[rows].tolist(), score[rows].tolist(), self.norm[rows].tolist(), strict=True))
