"""The Self-dialogue Corpus as a bank and queries for benchmarks, and larger banks made from it."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tertulia.corpus.model import Dialogue, Utterance
from tertulia.retrieval.tokenizer import EnglishTokenizer


@dataclass
class Conversation:
    id: str
    topic: str
    worker: str
    texts: list[str]

    def dialogue(self) -> Dialogue:
        utterances = [Utterance(i, i, "worker", text) for i, text in enumerate(self.texts)]
        return Dialogue(self.id, utterances, domain=self.topic)


@dataclass
class Query:
    text: str
    previous: str
    topic: str


def read_conversations(folder: Path) -> list[Conversation]:
    """The conversations that were neither rejected nor written by a blocked worker, by id."""
    csv.field_size_limit(1 << 30)
    blocked = set((folder / "blocked_workers.txt").read_text(encoding="utf-8").split())
    found: dict[str, Conversation] = {}
    for file in sorted((folder / "corpus").glob("*/*.csv")):
        with file.open(encoding="utf-8", errors="replace", newline="") as rows:
            for row in csv.DictReader(rows):
                if row.get("Reject") or row["WorkerId"] in blocked:
                    continue
                # The columns sort as text in the file: sentence1, sentence10, sentence11, ...
                columns = [name for name in row if name and name.startswith("Answer.sentence")]
                columns.sort(key=lambda name: int(name.removeprefix("Answer.sentence")))
                texts = [(row[name] or "").strip() for name in columns]
                kept = [text for text in texts if text and text != "{}"]
                name = row["AssignmentId"]
                found[name] = Conversation(name, file.parent.name, row["WorkerId"], kept)
    return [found[name] for name in sorted(found)]


def hold_out(conversations: list[Conversation], share: float, queries: int) -> tuple[list[Conversation], list[Query]]:
    """The conversations without a share of the workers, and queries from those workers' conversations."""
    workers = sorted({conversation.worker for conversation in conversations})
    random.Random(7).shuffle(workers)
    held_out = set(workers[: round(share * len(workers))])
    asked = [
        Query(said.texts[i], said.texts[i - 1], said.topic)
        for said in conversations
        if said.worker in held_out
        for i in range(1, len(said.texts))
    ]
    random.Random(3).shuffle(asked)
    return [each for each in conversations if each.worker not in held_out], asked[:queries]


def replicas(conversations: list[Conversation], scale: int) -> Iterator[Conversation]:
    """The conversations, and ``scale - 1`` perturbed copies of them.

    In a copy each word is drawn anew from the distribution of all words with probability 0.30, and with probability 0.01
    it is a word that the corpus has not, so that the vocabulary grows with the square root of the size (Heaps' law).
    """
    yield from conversations
    if scale == 1:
        return
    tokenizer = EnglishTokenizer()
    word_id: dict[str, int] = {}
    lengths: list[int] = []
    stream: list[int] = []
    for conversation in conversations:
        for text in conversation.texts:
            words = tokenizer.words(text)
            lengths.append(len(words))
            stream.extend([word_id.setdefault(word, len(word_id)) for word in words])
    words = [*word_id, *(f"zz{index}" for index in range(int(len(word_id) * (scale**0.5 - 1))))]
    original = np.array(stream)
    fresh = len(words) - len(word_id)
    generator = np.random.default_rng(11)
    for copy in range(1, scale):
        drawn = generator.random(len(original))
        changed = original.copy()
        again = drawn < 0.30
        changed[again] = generator.choice(original, int(again.sum()))
        new = drawn > 0.99
        changed[new] = len(word_id) + (generator.random(int(new.sum())) ** 2 * fresh).astype(np.int64)
        text_of = iter(np.split(changed, np.cumsum(lengths)[:-1]))
        for conversation in conversations:
            texts = [" ".join([words[index] for index in next(text_of).tolist()]) for _ in conversation.texts]
            yield Conversation(f"{conversation.id}-{copy}", conversation.topic, conversation.worker, texts)
