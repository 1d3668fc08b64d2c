"""Features of what a response has in common with the turns before it: words, runs of words, runs of characters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tertulia.ranking.features.texts import Conversation, Text

K1, B = 1.2, 0.75
_LONGEST = 200


def cosine(conversation: Conversation, response: Text) -> float:
    """TF-IDF cosine of prompt and response, by words. Source: Wang et al. 2013."""
    return conversation.prompt.weights.cosine(response.weights)


def before_cosine(conversation: Conversation, response: Text) -> float:
    """TF-IDF cosine of the turn before the prompt and the response: what its speaker has said already."""
    return conversation.before.weights.cosine(response.weights)


def character_cosine(conversation: Conversation, response: Text) -> float:
    """Cosine of the IDF of the runs of characters of prompt and response."""
    return conversation.prompt.gram_weights.cosine(response.gram_weights)


def dialogue_cosine(conversation: Conversation, response: Text) -> float:
    """TF-IDF cosine of all turns as one text and the response, by words: whether it keeps to what is talked of."""
    return conversation.whole.cosine(response.weights)


def dialogue_character_cosine(conversation: Conversation, response: Text) -> float:
    """Cosine of the IDF of the runs of characters of all turns and of the response."""
    return conversation.whole_grams.cosine(response.gram_weights)


def bm25(conversation: Conversation, response: Text) -> float:
    """BM25 of the response for the prompt's words, k1 = 1.2 and b = 0.75. Source: Robertson and Zaragoza 2009."""
    return _bm25(conversation.prompt.counts, response)


def context_bm25(conversation: Conversation, response: Text) -> float:
    """BM25 of the response for the words of all turns, each as often as its turns weigh."""
    return _bm25(conversation.query, response)


def shared_words(conversation: Conversation, response: Text) -> float:
    """How many distinct words prompt and response share."""
    return float(len(conversation.prompt.counts.keys() & response.counts.keys()))


def overlap(conversation: Conversation, response: Text) -> float:
    """Shared distinct words to all distinct words of both (Jaccard)."""
    shared = len(conversation.prompt.counts.keys() & response.counts.keys())
    return shared / max(1, len(conversation.prompt.counts) + len(response.counts) - shared)


def prompt_covered(conversation: Conversation, response: Text) -> float:
    """The share of the prompt's IDF that shared words have: overlap by IDF."""
    return _covered(conversation.prompt, response)


def response_covered(conversation: Conversation, response: Text) -> float:
    """The share of the response's IDF that words shared with the prompt have."""
    return _covered(response, conversation.prompt)


def dialogue_covered(conversation: Conversation, response: Text) -> float:
    """The share of the response's IDF that words of any turn have."""
    query = conversation.query
    return sum(idf for word, idf in response.idf.items() if word in query) / (response.whole_idf or 1.0)


def rarest_shared(conversation: Conversation, response: Text) -> float:
    """The largest IDF of a word that prompt and response share."""
    return max((response.idf[word] for word in response.counts if word in conversation.prompt.counts), default=0.0)


def dialogue_rarest_shared(conversation: Conversation, response: Text) -> float:
    """The largest IDF of a word that the response shares with any turn."""
    query = conversation.query
    return max((idf for word, idf in response.idf.items() if word in query), default=0.0)


def dialogue_shared(conversation: Conversation, response: Text) -> float:
    """The sum of the squared IDF of words that the response shares with any turn, ln(1 + sum). Source: the matching score."""
    query = conversation.query
    return math.log1p(sum(idf * idf for word, idf in response.idf.items() if word in query))


def common_subsequence(conversation: Conversation, response: Text) -> float:
    """The longest common subsequence of the words of prompt and response, to the words of the shorter one."""
    one, other = conversation.prompt.words[:_LONGEST], response.words[:_LONGEST]
    return longest_common_subsequence(one, other) / max(1, min(len(one), len(other)))


def common_run(conversation: Conversation, response: Text) -> float:
    """The longest run of words that both have, to the words of the response: how much of it is an echo of a phrase."""
    one, other = conversation.prompt.words[:_LONGEST], response.words[:_LONGEST]
    return longest_common_run(one, other) / max(1, len(other))


def echo(conversation: Conversation, response: Text) -> float:
    """The share of the response's words, with repetitions, that the prompt has. Source: the grade 2 of rated responses."""
    asked = conversation.prompt.counts
    return sum(word in asked for word in response.words) / max(1, len(response.words))


def repeats(conversation: Conversation, response: Text) -> float:
    """1 where the response says, but for case and white space, what a turn said: the last, or an earlier one."""
    return float(any(turn.squeezed == response.squeezed for turn, _weight in conversation.turns))


def same_opening(conversation: Conversation, response: Text) -> float:
    """1 where prompt and response begin with the same word."""
    one, other = conversation.prompt.words, response.words
    return float(bool(one) and bool(other) and one[0] == other[0])


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, by a bit vector: Hyyrö 2004 (Crochemore et al. 2001)."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    everything = (1 << len(one)) - 1
    row = everything
    for word in other:
        shared = row & places.get(word, 0)
        row = (row + shared | row - shared) & everything
    return len(one) - row.bit_count()


def longest_common_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest run of words that both have; bit i of ``ends`` says that a run ends at word i of ``one``."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    best = 0
    # ends[n]: where runs of more than n words end, for the words of ``other`` up to here.
    ends: list[int] = []
    for word in other:
        here = places.get(word, 0)
        found = [here] if here else []
        for earlier in ends:
            longer = earlier << 1 & here
            if not longer:
                break
            found.append(longer)
        ends = found
        best = max(best, len(ends))
    return best


def _covered(whole: Text, part: Text) -> float:
    return sum(idf for word, idf in whole.idf.items() if word in part.counts) / (whole.whole_idf or 1.0)


def _bm25(query: Mapping[str, float], response: Text) -> float:
    spread = K1 * (1 - B + B * response.relative_length)
    return sum(
        asked * response.idf[word] * count / (count + spread)
        for word, count in response.counts.items()
        if (asked := query.get(word))
    )
