"""What a corpus's publication states, held against a recount.

The stated figures are data: ``publications/<format>.toml``. A figure names a scope (a domain, or the whole corpus), a
measure and the stated number; a number that is misprinted is kept ``printed`` as it stands beside the reading of it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from importlib import resources
from typing import Any

from tertulia.corpus.store import Corpus

__all__ = ["verify_corpus"]

_WHOLE = ""


def verify_corpus(corpus: Corpus, progress: Callable[[int, int | None], None] | None = None) -> dict[str, Any]:
    """Recount what the publication of the corpus's format states.

    Returns
    -------
    ``{"publication", "figures", "topics", "topics_met", "misprints", "contradictions"}``; a figure is ``{"what", "measure",
    "published", "printed", "found", "difference"}`` with the difference as found minus published. ``topics`` counts the rows of
    the stated table, ``topics_met`` those of them whose conversations and turns are both met exactly. Where no publication is
    known the lists are empty.
    """
    stated = _publication(str(corpus.manifest.details.get("format", "")))
    if stated is None:
        return {
            "publication": None,
            "figures": [],
            "topics": 0,
            "topics_met": 0,
            "misprints": [],
            "contradictions": [],
        }
    found = _recount(corpus, progress)
    figures = [_figure(figure, found) for figure in stated["figure"]]
    topics = {figure["domain"] for figure in stated["figure"] if "domain" in figure}
    missed = {
        figure["domain"]
        for figure, recounted in zip(stated["figure"], figures, strict=True)
        if "domain" in figure and figure["measure"] in {"conversations", "turns"} and recounted["difference"]
    }
    return {
        "publication": stated["publication"],
        "figures": figures,
        "topics": len(topics),
        "topics_met": len(topics - missed),
        "misprints": _misprints(stated["figure"]),
        "contradictions": _sums(stated),
    }


def _publication(format_name: str) -> dict[str, Any] | None:
    folder = resources.files("tertulia.formats") / "publications"
    names = {entry.name for entry in folder.iterdir()}
    name = f"{format_name}.toml"
    if name not in names:
        return None
    return tomllib.loads((folder / name).read_text(encoding="utf-8"))


def _recount(corpus: Corpus, progress: Callable[[int, int | None], None] | None) -> dict[tuple[str, str], int]:
    """Counts by scope and measure: conversations, turns, words, and people (distinct ``worker`` attributes)."""
    counts: Counter[tuple[str, str]] = Counter()
    people: set[str] = set()
    total = len(corpus)
    for dialogue in corpus.dialogues():
        words = sum(len(utterance.text.split()) for utterance in dialogue.utterances)
        for scope in {_WHOLE, dialogue.domain or _WHOLE}:
            counts[scope, "conversations"] += 1
            counts[scope, "turns"] += len(dialogue.utterances)
            counts[scope, "words"] += words
        if "worker" in dialogue.attributes:
            people.add(str(dialogue.attributes["worker"]))
        if progress is not None:
            progress(1, total)
    counts[_WHOLE, "people"] = len(people)
    return dict(counts)


def _figure(figure: dict[str, Any], found: dict[tuple[str, str], int]) -> dict[str, Any]:
    count = found.get((figure.get("domain", _WHOLE), figure["measure"]), 0)
    return {
        "what": figure["what"],
        "measure": figure["measure"],
        "published": figure["stated"],
        "printed": figure.get("printed"),
        "found": count,
        "difference": count - figure["stated"],
    }


def _misprints(figures: list[dict[str, Any]]) -> list[str]:
    return [
        f"the {figure['measure']} of {figure['what']} are printed as “{figure['printed']}”, read here as {figure['stated']:,}"
        for figure in figures
        if "printed" in figure
    ]


def _sums(stated: dict[str, Any]) -> list[str]:
    """A stated total that the rows it stands under do not sum to."""
    lines = []
    for total in stated.get("total", []):
        rows = [f["stated"] for f in stated["figure"] if f["measure"] == total["measure"] and f.get("domain")]
        if sum(rows) != total["stated"]:
            lines.append(
                f"it states {total['stated']:,} {total['measure']} in all, but the {len(rows)} rows of its own table sum to "
                f"{sum(rows):,}"
            )
    return lines
