"""A ranking set that can be learned from, made up word by word: what the tests of rankers fit and score.

A context has a topic. Each topic has words that people ask with and words that people answer with: a good response has answer
words of the topic (which a ranker can only learn from train), some words of the prompt (which a lexical ranker sees), and more
words than a bad one. Bad responses are of other topics, or versatile replies that stand under prompts of all topics.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tertulia.corpus.model import Turn
from tertulia.ranking.examples import Example, Splits
from tertulia.ranking.quality import map_at
from tertulia.ranking.ranker import FitRun
from tertulia.ranking.wording import Wording

__all__ = ["BINARY_CUT", "GRADED_CUT", "example", "made_run", "made_splits"]

BINARY_CUT, GRADED_CUT = 1.0, 4.0
_ONSETS = ["b", "br", "d", "f", "gl", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "z"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ou"]
_HAN = "天地人山水火风云日月星花草木石金土河海路门车马牛羊鱼鸟书画笔茶酒米面衣帽鞋手足头心口耳目"
_VERSATILE = ["great", "i do not know", "yes !", "why not ?"]
_VERSATILE_ZH = ["好的", "不知道", "是啊！", "为什么？"]


def example(
    identifier: str,
    prompt: str | list[str],
    texts: list[str],
    relevance: list[float] | None = None,
    deviation: list[float] | None = None,
) -> Example:
    """An example from plain texts; a list of prompts is the turns of a context, the oldest first."""
    prompts = [prompt] if isinstance(prompt, str) else prompt
    count = len(texts)
    return Example(
        identifier,
        tuple(Turn(("user", "agent")[(len(prompts) - 1 - number) % 2], text) for number, text in enumerate(prompts)),
        tuple(texts),
        np.array([np.nan] * count if relevance is None else relevance, dtype=np.float64),
        np.array([0.0] * count if deviation is None else deviation, dtype=np.float64),
    )


def made_run(cut: float = GRADED_CUT, *, language: str = "en", turns: int | None = None, **changes: Any) -> FitRun:
    """How the made-up sets are fitted: MAP at ``cut``, on one thread of the processor; ``changes`` are fields of ``FitRun``."""
    fields: dict[str, Any] = {"workers": 1, "device": "cpu", **changes}
    return FitRun(Wording(language, turns=turns), map_at(cut), **fields)


def made_splits(
    seed: int = 0,
    *,
    train: int = 60,
    dev: int = 20,
    test: int = 20,
    candidates: int = 5,
    graded: bool = True,
    turns: int = 2,
    odd: bool = True,
    votes: bool = False,
    language: str = "en",
) -> Splits:
    """Train, dev and test of so many contexts.

    ``graded`` gives relevances from 1 to 5 in halves (positive from ``GRADED_CUT``), else one candidate has 1 and the others 0.
    Contexts have 1 to ``turns`` turns. ``votes`` gives each relevance a deviation. ``odd`` adds to each split what sets hold too:
    texts without a word, a half surrogate, contexts of one candidate, of none, without a turn, without a positive, and relevances
    that nobody has given.
    """
    maker = _Maker(seed, candidates, graded, turns, votes, language)
    return Splits(
        *(maker.split(name, size, odd) for name, size in zip(Splits._fields, (train, dev, test), strict=False)),
        "made up",
    )


class _Maker:
    def __init__(self, seed: int, candidates: int, graded: bool, turns: int, votes: bool, language: str) -> None:
        self.random = random.Random(seed)
        self.candidates, self.graded, self.turns, self.votes = candidates, graded, turns, votes
        self.chinese = language != "en"
        self.space = "" if language == "zh" else " "
        self.versatile = _VERSATILE_ZH if self.chinese else _VERSATILE
        self.topics = [([self.word() for _ in range(9)], [self.word() for _ in range(9)]) for _ in range(6)]
        self.common = [self.word() for _ in range(10)]

    def word(self) -> str:
        if self.chinese:
            return "".join(self.random.choices(_HAN, k=2))
        return "".join(
            self.random.choice(_ONSETS) + self.random.choice(_VOWELS) for _ in range(self.random.choice([2, 2, 3]))
        )

    def text(self, *words: list[str]) -> str:
        drawn = [word for some in words for word in some]
        self.random.shuffle(drawn)
        return self.space.join(drawn)

    def draw(self, words: list[str], low: int, high: int) -> list[str]:
        return self.random.sample(words, self.random.randint(low, high))

    def split(self, name: str, size: int, odd: bool) -> list[Example]:
        made = [self.context(f"{name}-{number}") for number in range(size)]
        return made + self.odd_ones(name) if odd else made

    def context(self, identifier: str) -> Example:
        topic = self.random.randrange(len(self.topics))
        asking = self.topics[topic][0]
        prompts = [
            self.text(self.draw(asking, 2, 4), self.draw(self.common, 0, 2))
            for _ in range(self.random.randint(1, self.turns))
        ]
        rows = [self.candidate(topic, prompts[-1], number) for number in range(self.candidates)]
        self.random.shuffle(rows)
        deviation = [self.random.choice([0.05, 0.1, 0.2]) if self.votes else 0.0 for _ in rows]
        return example(identifier, prompts, [text for text, _ in rows], [value for _, value in rows], deviation)

    def candidate(self, topic: int, prompt: str, number: int) -> tuple[str, float]:
        good = number == 0 or (self.graded and self.random.random() < 0.2)
        if good:
            echoed = self.random.sample(self.topics[topic][0], 1) if self.random.random() < 0.7 else []
            text = self.text(self.draw(self.topics[topic][1], 2, 4), echoed, self.draw(self.common, 0, 2))
            return text, self.random.choice([4.0, 4.5, 5.0]) if self.graded else 1.0
        if self.random.random() < 0.3:
            return self.random.choice(self.versatile), self.random.choice([2.0, 2.5, 3.0]) if self.graded else 0.0
        other = self.random.choice([each for each in range(len(self.topics)) if each != topic])
        text = self.text(self.draw(self.topics[other][1], 1, 4), self.draw(self.common, 0, 2))
        return text, self.random.choice([1.0, 1.0, 1.5, 2.0]) if self.graded else 0.0

    def odd_ones(self, name: str) -> list[Example]:
        low, high = (1.0, 5.0) if self.graded else (0.0, 1.0)
        prompt, good, bad = (
            self.text(self.topics[0][0][:3]),
            self.text(self.topics[0][1][:3]),
            self.text(self.topics[1][1][:3]),
        )
        nan = float("nan")
        return [
            example(f"{name}-no-words", "", ["", " \n", "?!", good], [low, nan, low, high]),
            example(f"{name}-no-turn", [], [good, bad], [high, low]),
            example(f"{name}-one", prompt, [good], [high]),
            example(f"{name}-none", prompt, [], []),
            example(f"{name}-no-positive", prompt, [bad, bad, ""], [low, low, low]),
            example(f"{name}-unsaid", [bad, prompt], [good, bad], [nan, nan]),
            example(f"{name}-surrogate", f"{prompt} \ud83d", [f"{good} \udc00", f"{bad} \U0001f600"], [high, low]),
            example(f"{name} spaced ✓ id", prompt, [good, good, bad], [high, high, low]),
        ]
