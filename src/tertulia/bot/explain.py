"""The trace of a turn in words, for the terminal."""

from __future__ import annotations

import textwrap
from typing import Any

__all__ = ["explain"]

_MARKS = {"replied": "●", "not consulted": "·"}
_SHOWN = 5
_NARROWEST = 60


def explain(turn: dict[str, Any], source: dict[str, Any] | None = None, *, width: int = 100) -> str:
    """Why the bot said what it said.

    Parameters
    ----------
    turn:
        A turn with its ``trace``, as :meth:`tertulia.bot.service.Conversations.turn` gives it.
    source:
        The dialogue that the reply came from, where it came from one: ``{"dialogue_id", "topic", "utterances"}``.
    width:
        The characters of a line; longer texts are cut or wrapped.
    """
    width = max(width, _NARROWEST)
    trace = turn["trace"]
    lines = [
        f"turn {turn['turn']}   topic: {turn['topic'] or 'none'}   {turn['elapsed_ms']:.1f} ms",
        f"  you   {_short(turn['text'], width - 8)}",
        f"  bot   {_short(turn['reply'], width - 8)}",
        f"  from  {turn['component']}, confidence {turn['confidence']:.2f}, {_evidence(turn['evidence'])}",
        "",
    ]
    if trace.get("offensive_input"):
        lines.append("  The filter objects to the message itself.")
    for step in trace["steps"]:
        lines += _step(step, width)
    if source is not None:
        lines += ["", *_source(turn["evidence"], source, width)]
    return "\n".join(lines)


def _step(step: dict[str, Any], width: int) -> list[str]:
    mark = _MARKS.get(step["outcome"], "○")
    head = f"  {mark} {step['component']:<12} {step['outcome']:<15} {step['elapsed_ms']:>8.2f} ms   threshold {step['threshold']:g}"
    lines = [head]
    if step["reason"]:
        lines.append(f"      {step['reason']}")
    for candidate in step["candidates"][:_SHOWN]:
        score = "" if candidate["score"] is None else f"  S {candidate['score']:.3f}"
        # Turns that were logged before there was re-ranking do not have the key.
        ranked = candidate.get("rerank_score")
        score += "" if ranked is None else f"  R {ranked:.3f}"
        lines.append(
            f"      {candidate['confidence']:.2f}{score}  {candidate['verdict']:<15}  {_short(candidate['text'], width - 38)}"
        )
    more = len(step["candidates"]) - _SHOWN
    if more > 0:
        lines.append(f"      and {more} more")
    return lines


def _evidence(evidence: dict[str, Any]) -> str:
    if evidence["type"] == "dialogue":
        return f"dialogue {evidence['dialogue_id']}, utterance {evidence['position']}"
    trigger = f" ({evidence['trigger']})" if evidence.get("trigger") else ""
    return f"{evidence['file']}:{evidence['line']}{trigger}"


def _source(evidence: dict[str, Any], source: dict[str, Any], width: int) -> list[str]:
    """The dialogue around the reply: the utterance that matched and the one that was said are marked."""
    said = evidence["position"]
    marks = {said - 1: "matched ▸", said: "said ▸"}
    lines = [f"  the source, dialogue {source['dialogue_id']} ({source['topic'] or 'no topic'}):"]
    for position, text in enumerate(source["utterances"]):
        if said - 4 <= position <= said + 2:
            wrapped = textwrap.wrap(text, width - 20) or [""]
            lines.append(f"    {marks.get(position, ''):>9} {position:>3}  {wrapped[0]}")
            lines += [f"    {'':>9} {'':>3}  {line}" for line in wrapped[1:]]
    return lines


def _short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
