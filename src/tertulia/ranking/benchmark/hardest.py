"""The contexts on which most systems fail: what each put first, and what would have been best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tertulia.measures.ranking_names import Measure
    from tertulia.ranking.benchmark.comparing import Comparison
    from tertulia.ranking.benchmark.protocols import RankingProtocol
    from tertulia.ranking.benchmark.results import SystemResult

__all__ = ["Choice", "HardContext", "hardest_contexts", "judging_measure"]

# Systems that do not read: that they fail says nothing of a context.
_FLOORS = ("random", "length")


@dataclass(frozen=True)
class Choice:
    """What a system put first. ``relevance`` is ``None`` where nobody has said; ``text`` where it ranked nothing."""

    system: str
    text: str | None
    relevance: float | None
    right: bool

    def to_json(self) -> dict[str, Any]:
        """As in ``hardest.json``."""
        return {"system": self.system, "text": self.text, "relevance": self.relevance, "right": self.right}


@dataclass(frozen=True)
class HardContext:
    """A context, how many systems were right about it, its best responses, and every system's first choice."""

    id: str
    turns: tuple[tuple[str | None, str], ...]
    value: float
    right: int
    best: tuple[tuple[str, float], ...]
    candidates: int
    choices: tuple[Choice, ...]

    def to_json(self) -> dict[str, Any]:
        """As in ``hardest.json``."""
        return {
            "id": self.id,
            "turns": [{"role": role, "text": text} for role, text in self.turns],
            "mean": self.value,
            "right": self.right,
            "best": [{"text": text, "relevance": relevance} for text, relevance in self.best],
            "candidates": self.candidates,
            "choices": [choice.to_json() for choice in self.choices],
        }


def judging_measure(measures: Sequence[Measure], comparison: Comparison, cut: float) -> int | None:
    """The number of the measure that orders contexts by hardness: MAP at the cut that was tuned for, else the first that counts."""
    usable = [number for number in range(len(measures)) if comparison.counted[number]]
    wanted = [number for number in usable if measures[number].kind == "MAP" and measures[number].cut == cut]
    at_cut = [number for number in usable if measures[number].cut == cut]
    return next(iter(wanted or at_cut or usable), None)


def hardest_contexts(
    comparison: Comparison, results: Sequence[SystemResult], protocol: RankingProtocol, cut: float, count: int
) -> list[HardContext]:
    """The contexts on which most systems fail: their first choice does not reach the cut. First those with the fewest right, then
    those with the lowest mean.

    Systems that do not read texts (``random``, ``length``) have no say, unless there are no others. Contexts that have no
    positive candidate, or nothing else, are passed over.
    """
    measure = judging_measure(comparison.measures, comparison, cut)
    if measure is None:
        return []
    at = comparison.measures[measure].cut
    at = cut if at is None else at
    saying = [number for number, result in enumerate(results) if result.name not in _FLOORS] or [*range(len(results))]
    values = comparison.values[:, measure, :]
    rows: list[tuple[int, float, str, int]] = []
    for place, relevance in enumerate(protocol.relevances):
        positive = int((relevance >= at).sum())
        others = protocol.name == "full" or positive < len(relevance)
        if not positive or not others or math.isnan(values[0, place]):
            continue
        right = sum(_is_right(results[number].choices[place], at) for number in saying)
        if right * 2 < len(saying):
            rows.append((right, float(values[saying, place].mean()), comparison.contexts[place], place))
    found = []
    for right, mean, identifier, place in sorted(rows)[:count]:
        example = protocol.examples[place]
        best = float(np.nanmax(example.relevance))
        top = dict.fromkeys(
            (text, value)
            for text, value in zip(example.texts, example.relevance.tolist(), strict=True)
            if value == best
        )
        found.append(
            HardContext(
                identifier,
                tuple((turn.role, turn.text) for turn in example.turns),
                mean,
                right,
                tuple(top),
                len(example),
                tuple(_choice(result, place, at) for result in results),
            )
        )
    return found


def _is_right(choice: tuple[str, float] | None, cut: float) -> bool:
    return choice is not None and choice[1] >= cut


def _choice(result: SystemResult, place: int, cut: float) -> Choice:
    choice = result.choices[place]
    if choice is None:
        return Choice(result.name, None, None, False)
    text, relevance = choice
    return Choice(result.name, text, None if math.isnan(relevance) else relevance, relevance >= cut)
