"""A synthetic corpus of questions with their answers and comments: Zipf words, domains and topics, lengths like Stack Exchange's.

Lengths are log-normal, with the medians and means of words that answers (109, 154) and comments (25, 32) have in a dump of 2020
of the site on beer; with ``answers`` every response is as long as an answer, which makes the longest queries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from _synthetic_corpus import words
from tertulia.artefact import Manifest
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus.store import write_corpus

VOCABULARY = 200_000
DOMAINS = [f"domain{number:02d}" for number in range(14)]
SPLITS = ["train"] * 70 + ["dev"] * 15 + ["test"] * 15
ANSWER = (np.log(109.0), 0.83)
COMMENT = (np.log(25.0), 0.7)
# Of the words of an utterance: those of its domain, those of its dialogue's topic; the rest is everybody's.
DOMAIN_SHARE, TOPIC_SHARE, TOPIC_WORDS = 0.25, 0.10, 12


def make_corpus(path: Path, dialogues: int, seed: int, *, answers: bool) -> None:
    """Write a corpus of so many dialogues at ``path``."""
    records = (Record(dialogue) for dialogue in _dialogues(dialogues, seed, answers))
    write_corpus(path, records, Manifest("corpus", seed=seed, details={"made_by": "benchmark"}))


def _dialogues(count: int, seed: int, answers: bool) -> Iterator[Dialogue]:
    rng = np.random.default_rng(seed)
    vocabulary = np.array(words(random.Random(seed)).to_pylist(), dtype=object)
    weights = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
    cumulative = np.cumsum(weights / weights.sum())
    for number in range(count):
        domain = int(rng.integers(len(DOMAINS)))
        topic = 200 + rng.integers(0, 20_000, TOPIC_WORDS) * len(DOMAINS) % VOCABULARY
        # As in MANtIS: most dialogues have four utterances, few more than eight.
        utterances = 4 + int(min(rng.geometric(0.55) - 1, 10))
        texts = []
        for position in range(utterances):
            long = position < 2 or (answers and position % 2 == 1)
            length = int(np.clip(rng.lognormal(*(ANSWER if long else COMMENT)), 2, 3_000))
            drawn = np.minimum(np.searchsorted(cumulative, rng.random(length)), VOCABULARY - 1)
            kind = rng.random(length)
            own = drawn * len(DOMAINS) + domain + 300
            drawn = np.where((kind < DOMAIN_SHARE) & (own < VOCABULARY), own, drawn)
            topical = topic[rng.integers(0, TOPIC_WORDS, length)] % VOCABULARY
            drawn = np.where(kind > 1 - TOPIC_SHARE, topical, drawn)
            texts.append(" ".join(vocabulary[drawn].tolist()))
        yield Dialogue(
            f"{DOMAINS[domain]}-{number:07d}",
            [Utterance(i, i, "us"[i % 2], text, "agent" if i % 2 else "user") for i, text in enumerate(texts)],
            DOMAINS[domain],
            SPLITS[number % 100],
        )
