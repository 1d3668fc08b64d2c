"""Features of the look of a response and of its prompt: lengths, marks, digits, repetition, how rare the words are."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tertulia.ranking.features.texts import Conversation, Text

_QUESTION = re.compile("[?？]")
_EXCLAMATION = re.compile("[!！]")
_DIGIT = re.compile(r"\d")
_MARK = re.compile(r"[^\w\s]|_")
_STOPS = re.compile(r"[.!?。！？…]+")


def response_words(_conversation: Conversation, response: Text) -> float:
    """ln(1 + words of the response). Source: Wang et al. 2013."""
    return math.log1p(len(response.words))


def response_characters(_conversation: Conversation, response: Text) -> float:
    """ln(1 + characters of the response)."""
    return math.log1p(len(response.squeezed))


def prompt_words(conversation: Conversation, _response: Text) -> float:
    """ln(1 + words of the prompt)."""
    return math.log1p(len(conversation.prompt.words))


def length_ratio(conversation: Conversation, response: Text) -> float:
    """ln((1 + words of the response) / (1 + words of the prompt)). Source: Wang et al. 2013."""
    return math.log((1 + len(response.words)) / (1 + len(conversation.prompt.words)))


def turns(conversation: Conversation, _response: Text) -> float:
    """ln(1 + turns before the response): its position in the dialogue."""
    return math.log1p(conversation.count)


def sentences(_conversation: Conversation, response: Text) -> float:
    """Runs of stops in the response, but for one at its end: how many more sentences it has than one."""
    return float(len(_STOPS.findall(response.raw.rstrip().rstrip(".!?。！？…"))))


def asks(_conversation: Conversation, response: Text) -> float:
    """Question marks of the response, at most 3."""
    return float(min(3, len(_QUESTION.findall(response.raw))))


def prompt_asks(conversation: Conversation, _response: Text) -> float:
    """Question marks of the prompt, at most 3."""
    return float(min(3, len(_QUESTION.findall(conversation.prompt.raw))))


def exclaims(_conversation: Conversation, response: Text) -> float:
    """Exclamation marks of the response, at most 3."""
    return float(min(3, len(_EXCLAMATION.findall(response.raw))))


def digits(_conversation: Conversation, response: Text) -> float:
    """The share of the response's characters that are digits."""
    return len(_DIGIT.findall(response.raw)) / max(1, len(response.raw))


def punctuation(_conversation: Conversation, response: Text) -> float:
    """The share of the response's characters that are neither letters nor digits nor white space."""
    return len(_MARK.findall(response.raw)) / max(1, len(response.raw))


def capitals(_conversation: Conversation, response: Text) -> float:
    """The share of the response's characters that are capitals."""
    return sum(map(str.isupper, response.raw)) / max(1, len(response.raw))


def word_length(_conversation: Conversation, response: Text) -> float:
    """The mean length of the response's words, in characters."""
    return sum(map(len, response.words)) / max(1, len(response.words))


def variety(_conversation: Conversation, response: Text) -> float:
    """Type-token ratio: distinct words of the response to words; 1 without words."""
    return len(response.counts) / len(response.words) if response.words else 1.0


def character_variety(_conversation: Conversation, response: Text) -> float:
    """Distinct characters of the response to characters, times the square root of their number: small for "ddddd"."""
    text = response.squeezed
    return len(set(text)) / math.sqrt(len(text)) if text else 0.0


def mean_idf(_conversation: Conversation, response: Text) -> float:
    """The mean IDF of the response's words. Source: Wang et al. 2013."""
    return sum(response.idf[word] for word in response.words) / max(1, len(response.words))


def max_idf(_conversation: Conversation, response: Text) -> float:
    """The largest IDF of a word of the response."""
    return max(response.idf.values(), default=0.0)


def prompt_mean_idf(conversation: Conversation, _response: Text) -> float:
    """The mean IDF of the prompt's words."""
    prompt = conversation.prompt
    return sum(prompt.idf[word] for word in prompt.words) / max(1, len(prompt.words))
