"""Small corpora that ranking sets are built of, and how one is built and read."""

import random
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest
from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Dialogue, RankingRecord, Record, Utterance
from tertulia.corpus.store import write_corpus
from tertulia.ranking.build import RankingOptions, build_ranking_set

WORDS = [
    "yeast",
    "malt",
    "hops",
    "keg",
    "glass",
    "foam",
    "warm",
    "cold",
    "bitter",
    "sweet",
    "cellar",
    "bottle",
    "label",
    "brew",
    "kettle",
    "grain",
    "water",
    "salt",
]


def dialogue(identifier: str, texts: list[str], roles: str | None = None, **fields: Any) -> Dialogue:
    """A dialogue whose utterances are of ``u`` and ``a`` in turn, or as ``roles`` says."""
    sides = roles or "ua" * len(texts)
    utterances = [
        Utterance(i, i, side, text, "user" if side == "u" else "agent")
        for i, (side, text) in enumerate(zip(sides, texts, strict=False))
    ]
    return Dialogue(identifier, utterances, **fields)


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 9)))


def generated(count: int, seed: int = 0) -> list[Dialogue]:
    """Dialogues of two domains and two splits, some of one thread, some responses equal but for case and space."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        texts = [sentence(chance) for _ in range(chance.randint(2, 7))]
        if number % 5 == 0 and len(texts) > 1:
            texts[1] = chance.choice(["Good point", "good  POINT", "good point\n"])
        found.append(
            dialogue(
                f"d{number:03d}",
                texts,
                domain="beer" if number % 3 else "wine",
                split="train" if number % 4 else "test",
                attributes={"thread": f"t{number // 2}"} if number % 2 else {},
            )
        )
    return found


def corpus_of(path: Path, dialogues: list[Dialogue], **manifest: Any) -> Path:
    write_corpus(path, (Record(each) for each in dialogues), Manifest("corpus", **manifest))
    return path


def built(corpus: Path, output: Path, report: Report | None = None, **options: Any) -> list[RankingRecord]:
    """Build a ranking set and read it."""
    further = {
        name: options.pop(name) for name in ("documents", "documents_path", "workers", "overwrite") if name in options
    }
    report = Report() if report is None else report
    with build_ranking_set(corpus, output, RankingOptions(**options), report, **further) as made:
        return list(made.records())
