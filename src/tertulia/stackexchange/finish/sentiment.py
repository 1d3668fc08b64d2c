"""How positive a text is: the compound score of VADER, in time in proportion to its length.

Source: C. J. Hutto and E. Gilbert, VADER: a parsimonious rule-based model for sentiment analysis of social media text, ICWSM
2014, in the authors' own implementation, the package ``vaderSentiment``. Its scores are those of the package to the last digit;
the package looks at every word again for each word with a sentiment, which for a text of a megabyte takes hours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from heapq import heappop, heappush
from string import punctuation
from typing import Any

from tertulia.errors import MissingExtraError

__all__ = ["compound_scorer"]


@cache
def compound_scorer() -> Callable[[str], float]:
    """A function from a text to its compound score, from -1 to 1 in four decimals; the lexicon is loaded once a process.

    Raises
    ------
    MissingExtraError
        The package ``vaderSentiment`` is not installed.
    """
    try:
        from vaderSentiment.vaderSentiment import (
            BOOSTER_DICT,
            SentimentIntensityAnalyzer,
            SentiText,
            allcap_differential,
        )
    except ImportError:
        raise MissingExtraError(
            "judging whether a dialogue ends well", package="vaderSentiment", extra="full"
        ) from None

    # Of the words these two look at no more than three before and two after the one in question.
    class Analyzer(SentimentIntensityAnalyzer):  # type: ignore[misc]
        @staticmethod
        def _negation_check(valence: float, words: list[str], start: int, index: int) -> Any:
            begin = max(0, index - 3)
            check = SentimentIntensityAnalyzer._negation_check
            return check(valence, words[begin : index + 1], start, index - begin)

        @staticmethod
        def _special_idioms_check(valence: float, words: list[str], index: int) -> Any:
            begin = max(0, index - 3)
            return SentimentIntensityAnalyzer._special_idioms_check(valence, words[begin : index + 3], index - begin)

        @staticmethod
        def _but_check(words: list[str], sentiments: list[float]) -> list[float]:
            return _weigh_around_but([word.lower() for word in words], sentiments)

    analyzer = Analyzer()
    lexicon, emojis = analyzer.lexicon, analyzer.emojis

    def score(text: str) -> float:
        if not emojis.keys().isdisjoint(text):
            return float(analyzer.polarity_scores(text)["compound"])
        # As polarity_scores, but without a look at each character for an emoji, nor at a word that has no sentiment.
        text = text.strip()
        words = [word if len(bare := word.strip(punctuation)) <= 2 else bare for word in text.split()]
        lowered = [word.lower() for word in words]
        if lexicon.keys().isdisjoint(lowered):
            return 0.0
        parsed = SentiText("")
        parsed.text, parsed.words_and_emoticons, parsed.is_cap_diff = text, words, allcap_differential(words)
        sentiments: list[float] = []
        for index, word in enumerate(lowered):
            if word not in lexicon or word in BOOSTER_DICT or lowered[index : index + 2] == ["kind", "of"]:
                sentiments.append(0)
            else:
                analyzer.sentiment_valence(0, parsed, words[index], index, sentiments)
        return float(analyzer.score_valence(_weigh_around_but(lowered, sentiments), text)["compound"])

    return score


def _weigh_around_but(lowered: list[str], sentiments: list[float]) -> list[float]:
    """What VADER's ``_but_check`` does to the sentiments, equal ones included: it changes the first that equals each in turn."""
    if "but" not in lowered:
        return sentiments
    but = lowered.index("but")
    places: dict[float, list[int]] = defaultdict(list)
    for index, sentiment in enumerate(sentiments):
        places[sentiment].append(index)
    for index in range(len(sentiments)):
        sentiment = sentiments[index]
        first = places[sentiment][0]
        if first == but:
            continue
        changed = sentiment * (0.5 if first < but else 1.5)
        if changed == sentiment:
            continue
        heappop(places[sentiment])
        heappush(places[changed], first)
        sentiments[first] = changed
    return sentiments
