"""Banks for the tests: built from short texts, or generated with words distributed like those of a language."""

from __future__ import annotations

import random
from itertools import count

from tertulia.corpus.model import Dialogue, Utterance

from .definition import Placed

COMMON = [
    "the",
    "of",
    "to",
    "and",
    "a",
    "i",
    "you",
    "is",
    "that",
    "it",
    "in",
    "was",
    "for",
    "on",
    "yes",
    "no",
    "what",
    "do",
    "like",
    "movie",
    "music",
]
RARER = [
    "horror",
    "beatles",
    "guitar",
    "quarterback",
    "soundtrack",
    "don't",
    "rock'n'roll",
    "1990",
    "café",
    "über",
    "電影",
    "metallica",
    "lightsaber",
]
UNKNOWN = ["zzqxa", "zzqxb", "xkcdq", "qqqw0", "blorptang"]


def dialogue(dialogue_id: str, texts: list[str], domain: str | None = None) -> Dialogue:
    utterances = [Utterance(position=i, turn=i, speaker=str(i % 2), text=text) for i, text in enumerate(texts)]
    return Dialogue(dialogue_id, utterances, domain=domain)


class Model:
    """What an index should hold after what was done to it: the plain twin of the code under test."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []
        self.next_number = 0

    def add(self, dialogues: list[Dialogue]) -> None:
        for each in dialogues:
            self.placed.append(Placed(self.next_number, each))
            self.next_number += len(each.utterances)

    def remove(self, ids: set[str]) -> None:
        self.placed = [placed for placed in self.placed if placed.dialogue.id not in ids]


class Generator:
    """Dialogues with Zipf's distribution of words, repeated phrases and some exact duplicates; seeded."""

    def __init__(self, seed: int, vocabulary: int = 3000, topics: int = 5) -> None:
        self.random = random.Random(seed)
        from wordfreq import top_n_list

        real = top_n_list("en", vocabulary * 5)[::5]
        made_up = [f"word{index}" for index in range(vocabulary // 5)]
        self.words = real + made_up
        self.weights = [1 / (rank + 2) for rank in range(len(self.words))]
        self.topics = [None, *[f"topic {index}" for index in range(topics)]]
        self.ids = count()
        self.said: list[str] = ["yes", "i like it"]

    def text(self) -> str:
        draw = self.random.random()
        if draw < 0.08:
            return self.random.choice(self.said)
        if draw < 0.1:
            return ""
        length = min(60, 1 + int(self.random.expovariate(0.12)))
        text = " ".join(self.random.choices(self.words, self.weights, k=length))
        self.said.append(text)
        return text

    def dialogues(self, number: int) -> list[Dialogue]:
        return [
            dialogue(
                f"d{next(self.ids)}",
                [self.text() for _ in range(self.random.choice([0, 1, 2, 3, 8, 14, 20]))],
                self.random.choice(self.topics),
            )
            for _ in range(number)
        ]

    def queries(self, number: int) -> list[tuple[str, str]]:
        return [(self.text(), self.text()) for _ in range(number)]
