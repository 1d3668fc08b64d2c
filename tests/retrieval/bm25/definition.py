"""What BM25 is, plainly: every document is scored by the formula, one word at a time."""

import math
from collections import Counter
from fractions import Fraction

from tertulia.retrieval.tokenizer import Tokenizer

SCALE = 32_768
Scored = list[tuple[int, Fraction]]


def scores(texts: list[str], query: str, tokenizer: Tokenizer, k1: float = 1.2, b: float = 0.75) -> list[Fraction]:
    """The score of each text, as a whole number of 1 / SCALE."""
    documents = [Counter(tokenizer.words(text)) for text in texts]
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    found = [Fraction(0)] * len(texts)
    for word, times in Counter(tokenizer.words(query)).items():
        having = sum(word in document for document in documents)
        idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        for number, document in enumerate(documents):
            if word in document:
                count = document[word]
                saturation = k1 * (1 - b + b * lengths[number] / mean)
                found[number] += Fraction(times * round(idf * count / (count + saturation) * SCALE), SCALE)
    return found


def best(texts: list[str], query: str, tokenizer: Tokenizer, k: int) -> Scored:
    """The k best of the texts that have a score, by score and then by number."""
    found = [(number, score) for number, score in enumerate(scores(texts, query, tokenizer)) if score]
    return sorted(found, key=lambda each: (-each[1], each[0]))[:k]
