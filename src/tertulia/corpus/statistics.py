"""Counts over a corpus, in one streaming pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tertulia.corpus.store import Corpus

__all__ = ["corpus_statistics"]


def corpus_statistics(corpus: Corpus, progress: Callable[[int, int | None], None] | None = None) -> dict[str, Any]:
    """Dialogues, utterances, words (by white space), speakers (distinct names), domains, splits and layers.

    Returns
    -------
    ``{"dialogues", "utterances", "words", "speakers"}`` as numbers, ``"domains"`` and ``"splits"`` as name → dialogues and
    ``"layers"`` as name → annotations, each in alphabetical order; dialogues without a domain or split are left out of those two.
    """
    counts: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    splits: Counter[str] = Counter()
    layers: Counter[str] = Counter()
    speakers: set[str] = set()
    total = len(corpus)
    for record in corpus.records():
        dialogue = record.dialogue
        counts["dialogues"] += 1
        counts["utterances"] += len(dialogue.utterances)
        counts["words"] += sum(len(utterance.text.split()) for utterance in dialogue.utterances)
        speakers.update(utterance.speaker for utterance in dialogue.utterances)
        if dialogue.domain is not None:
            domains[dialogue.domain] += 1
        if dialogue.split is not None:
            splits[dialogue.split] += 1
        layers.update(annotation.layer for annotation in record.annotations)
        if progress is not None:
            progress(1, total)
    return {
        "dialogues": counts["dialogues"],
        "utterances": counts["utterances"],
        "words": counts["words"],
        "speakers": len(speakers),
        "domains": dict(sorted(domains.items())),
        "splits": dict(sorted(splits.items())),
        "layers": dict(sorted(layers.items())),
    }
