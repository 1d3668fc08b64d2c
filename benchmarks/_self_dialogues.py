"""The Self-dialogue Corpus as a bank and queries for benchmarks, and larger banks made from it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Dialogue, Utterance
from tertulia.formats.self_dialogue import SelfDialogueFormat
from tertulia.retrieval.tokenizer import EnglishTokenizer


@dataclass
class Query:
    text: str
    previous: str
    topic: str


def read_dialogues(folder: Path) -> list[Dialogue]:
    """The dialogues of the corpus that were neither rejected nor written by a blocked worker, by id."""
    records = SelfDialogueFormat().read(str(folder), Report(), ReadOptions())
    return sorted((record.dialogue for record in records), key=lambda dialogue: dialogue.id)


def hold_out(dialogues: list[Dialogue], share: float, queries: int) -> tuple[list[Dialogue], list[Query]]:
    """The dialogues without those of a share of the workers, and queries from what these workers wrote."""
    workers = sorted({dialogue.attributes["worker"] for dialogue in dialogues})
    random.Random(7).shuffle(workers)
    held_out = set(workers[: round(share * len(workers))])
    asked = [
        Query(texts[i], texts[i - 1], dialogue.domain or "")
        for dialogue in dialogues
        if dialogue.attributes["worker"] in held_out
        for texts in [dialogue.texts]
        for i in range(1, len(texts))
    ]
    random.Random(3).shuffle(asked)
    return [each for each in dialogues if each.attributes["worker"] not in held_out], asked[:queries]


def replicas(dialogues: list[Dialogue], scale: int) -> Iterator[Dialogue]:
    """The dialogues, and ``scale - 1`` perturbed copies of them.

    In a copy each word is drawn anew from the distribution of all words with probability 0.30, and with probability 0.01
    it is a word that the corpus has not, so that the vocabulary grows with the square root of the size (Heaps' law).
    """
    yield from dialogues
    if scale == 1:
        return
    tokenizer = EnglishTokenizer()
    word_id: dict[str, int] = {}
    lengths: list[int] = []
    stream: list[int] = []
    for dialogue in dialogues:
        for text in dialogue.texts:
            words = tokenizer.words(text)
            lengths.append(len(words))
            stream.extend([word_id.setdefault(word, len(word_id)) for word in words])
    fresh = int(len(word_id) * (scale**0.5 - 1))
    words = [*word_id, *(f"zz{index}" for index in range(fresh))]
    original = np.array(stream)
    generator = np.random.default_rng(11)
    for copy in range(1, scale):
        drawn = generator.random(len(original))
        changed = original.copy()
        again = drawn < 0.30
        changed[again] = generator.choice(original, int(again.sum()))
        new = drawn > 0.99
        changed[new] = len(word_id) + (generator.random(int(new.sum())) ** 2 * fresh).astype(np.int64)
        text_of = iter(np.split(changed, np.cumsum(lengths)[:-1]))
        for dialogue in dialogues:
            texts = [" ".join([words[index] for index in next(text_of).tolist()]) for _ in dialogue.utterances]
            utterances = [Utterance(i, i, "", text) for i, text in enumerate(texts)]
            yield Dialogue(f"{dialogue.id}-{copy}", utterances, domain=dialogue.domain)
