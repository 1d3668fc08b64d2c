"""What the figures of a corpus or ranking set show: bars with their labels, taken from its statistics."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tertulia.errors import ConfigurationError, InputError

__all__ = ["FIGURES", "Bar", "Figure", "figure_of", "figures_for"]

# A histogram has about so many bars; what is beyond the last of them, at most one in so many, is one bar more.
_MOST_BARS = 40
_TAIL = 100
# More names than this do not fit: the rarest together are one bar.
_MOST_NAMES = 25
# So many annotators at most stand side by side.
_MOST_SERIES = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: where it stands, how many it counts, their share of all (from 0 to 1), and whose it is where there are several."""

    name: str
    count: int
    share: float
    series: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """Bars in order, with what their axes say. ``ordered``: they stand along a scale of numbers."""

    name: str
    heading: str
    """What is shown, as a sentence beside the corpus's name."""
    sample: str
    """n, and of what."""
    across: str
    up: str
    shares: bool
    ordered: bool
    bars: tuple[Bar, ...]

    def to_json(self) -> dict[str, Any]:
        """The figure's data."""
        bars = [
            {"name": bar.name, "count": bar.count, "share": bar.share}
            | ({} if bar.series is None else {"series": bar.series})
            for bar in self.bars
        ]
        return {
            "figure": self.name, "heading": self.heading, "sample": self.sample, "across": self.across, "up": self.up, "bars": bars,
        }  # fmt: skip


_Statistics = Mapping[str, Any]


def _histogram(key: str, heading: str, across: str, noun: str) -> Callable[[_Statistics, str | None, str], Figure]:
    def figure(statistics: _Statistics, _: str | None, name: str) -> Figure:
        block = statistics[key]
        total = sum(block["histogram"].values())
        if not total:
            raise InputError(f"there is no figure {name!r} of it: it has no {noun}")
        bars = _number_bars(block["histogram"])
        sample = (
            f"n = {total:,} {noun} · mean {block['mean']:,.2f}, median {block['median']:,g}, largest {block['max']:,}"
        )
        return Figure(name, heading, sample, across, noun, False, True, bars)

    return figure


def _number_bars(histogram: Mapping[str, int]) -> tuple[Bar, ...]:
    """Bars of one width that stand side by side, the tail in one."""
    total = sum(histogram.values())
    bounds = [(int(name.partition("-")[0]), count) for name, count in histogram.items()]
    first = bounds[0][0]
    last = bounds[-1][0]
    if last - first >= _MOST_BARS:
        # The first number beyond which there is no more than the tail.
        beyond = 0
        for low, count in reversed(bounds):
            if beyond + count > total / _TAIL:
                last = low
                break
            beyond += count
    width = next(w for w in _widths() if (last - first) // w < _MOST_BARS and (last < 100 or w >= _width_at(last)))
    start = first // width * width
    sums = dict.fromkeys(range(start, last + 1, width), 0)
    tail = 0
    for low, count in bounds:
        place = low // width * width
        if place in sums:
            sums[place] += count
        else:
            tail += count
    names = {low: f"{low:,}" if width == 1 else f"{low:,}–{low + width - 1:,}" for low in sums}
    bars = [Bar(names[low], count, count / total) for low, count in sums.items()]
    if tail:
        bars.append(Bar(f"{max(sums) + width:,}+", tail, tail / total))
    return tuple(bars)


def _widths() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _width_at(number: int) -> int:
    """How wide the bars of the statistics' histogram are there."""
    return int(10 ** max(0, len(str(number)) - 2))


def _names(key: str, noun: str, heading: str, across: str) -> Callable[[_Statistics, str | None, str], Figure]:
    def figure(statistics: _Statistics, _: str | None, name: str) -> Figure:
        counts = statistics[key]
        total = sum(counts.values())
        if not total:
            raise InputError(f"there is no figure {name!r} of it: it has no {key}")
        return Figure(name, heading, f"n = {total:,} {noun}", across, noun, False, False, _name_bars(counts, total))

    return figure


def _name_bars(counts: Mapping[str, int], total: int, series: str | None = None) -> tuple[Bar, ...]:
    """A bar a name, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    kept, others = ranked[:_MOST_NAMES], ranked[_MOST_NAMES:]
    if others:
        kept.append((f"({len(others)} others)", sum(count for _, count in others)))
    return tuple(Bar(name, count, count / total if total else 0.0, series) for name, count in kept)


def _ratings(statistics: _Statistics, _: str | None, name: str) -> Figure:
    block, what = statistics["relevance"], "relevance of a response"
    if not block["number"]:
        block, what = statistics["ratings"], "rating"
    values = block["values"]
    if not block["number"]:
        raise InputError(
            "there is no figure 'rating-distribution' of it: its candidates have no relevance and no ratings"
        )
    if values is None:
        raise InputError("there is no figure 'rating-distribution' of it: it has too many different ratings to list")
    noun = "responses" if what != "rating" else "ratings"
    total = sum(values.values())
    bars = [Bar(value, count, count / total) for value, count in values.items()]
    if len(bars) > _MOST_BARS:
        bars = _binned(values, total)
    sample = f"n = {total:,} {noun} · mean {block['mean']:.2f}"
    return Figure(name, "Distribution of ratings", sample, what, f"share of {noun}", True, True, tuple(bars))


def _binned(values: Mapping[str, int], total: int) -> list[Bar]:
    """Some ten to thirty bars of one round width."""
    numbers = [float(value) for value in values]
    least = min(numbers)
    # Tenths are subtracted, as the whole may be too large for a float.
    tenth = max(max(numbers) / 10 - least / 10, sys.float_info.min)
    width = 10.0 ** math.floor(math.log10(tenth))
    width = next((w for w in (width, 2 * width) if tenth / w <= 2.5), 5 * width)
    # What stands on an edge belongs above it, also where the division comes out a little below.
    first = math.floor(least / width + 1e-9)
    counts: Counter[int] = Counter()
    for number, count in zip(numbers, values.values(), strict=True):
        counts[math.floor(number / width + 1e-9) - first] += count
    edges = [f"{(first + place) * width:.6g}" for place in range(max(counts) + 2)]
    return [Bar(f"{low}–{high}", counts[i], counts[i] / total) for i, (low, high) in enumerate(pairwise(edges))]


def _labels(statistics: _Statistics, layer: str | None, name: str) -> Figure:
    layers = statistics.get("labels", {})
    wanted = layer
    if wanted is None and name == "intents":
        wanted = next((known for known in ("intent", "intents") if known in layers), "intent")
    if wanted is None and len(layers) == 1:
        [wanted] = layers
    listed = ", ".join(layers) or "none"
    if wanted is None:
        raise ConfigurationError(f"the figure 'labels' needs --layer; its layers are: {listed}")
    if wanted not in layers:
        raise InputError(f"has no layer {wanted!r}; its layers are: {listed}")
    block = layers[wanted]
    answers = block["labels"] or block["values"]
    if not answers:
        raise InputError(f"the layer {wanted!r} has no labels or values, or too many different ones to list")
    ordered = not block["labels"]
    by_annotator = block["by_annotator"] or {}
    kind = "labels" if block["labels"] else "values"
    bars: list[Bar] = []
    several = 1 < len(by_annotator) <= _MOST_SERIES and name != "intents"
    if several and all(theirs[kind] is not None for theirs in by_annotator.values()):
        for annotator, theirs in by_annotator.items():
            own = {answer: theirs[kind].get(answer, 0) for answer in answers}
            bars += _answer_bars(own, sum(own.values()), ordered, annotator)
    else:
        # With several labels in one answer the shares sum to more than one: each says how often the label is given.
        among = block["answers"] if block["labels"] else sum(answers.values())
        bars += _answer_bars(answers, among, ordered, None)
    unit = "utterances" if name == "intents" else "answers"
    heading = "Distribution of intents" if name == "intents" else f"Distribution of the answers in {wanted}"
    sample = f"n = {block['answers']:,} answers of {_annotators(block['annotators'])} on {block['places']:,} places"
    across = "intent" if name == "intents" else wanted
    up = f"share of {unit}" if not several else "share of the annotator's answers"
    return Figure(name, heading, sample, across, up, True, ordered, tuple(bars))


def _annotators(number: int) -> str:
    return "1 annotator" if number == 1 else f"{number:,} annotators"


def _answer_bars(answers: Mapping[str, int], total: int, ordered: bool, series: str | None) -> tuple[Bar, ...]:
    if ordered:
        return tuple(Bar(value, n, n / total if total else 0.0, series) for value, n in answers.items())
    return _name_bars(answers, total, series)


_Maker = Callable[[_Statistics, str | None, str], Figure]
# What ships: figure → for a corpus, for a ranking set.
_CORPUS: dict[str, _Maker] = {
    "turns-per-dialogue": _histogram("turns_per_dialogue", "Turns per dialogue", "turns of a dialogue", "dialogues"),
    "utterances-per-dialogue": _histogram(
        "utterances_per_dialogue", "Utterances per dialogue", "utterances of a dialogue", "dialogues"
    ),
    "words-per-utterance": _histogram(
        "words_per_utterance", "Words per utterance", "words of an utterance", "utterances"
    ),
    "domains": _names("domains", "dialogues", "Dialogues by domain", "domain"),
    "splits": _names("splits", "dialogues", "Dialogues by split", "split"),
    "labels": _labels,
    "intents": _labels,
}
_RANKING: dict[str, _Maker] = {
    "responses-per-prompt": _histogram(
        "candidates_per_context", "Responses per prompt", "responses to a prompt", "prompts"
    ),
    "rating-distribution": _ratings,
    "turns-per-context": _histogram("turns_per_context", "Turns per context", "turns of a context", "contexts"),
    "words-per-context": _histogram("words_per_context", "Words per context", "words of a context", "contexts"),
    "words-per-response": _histogram("words_per_candidate", "Words per response", "words of a response", "responses"),
    "domains": _names("domains", "contexts", "Contexts by domain", "domain"),
    "splits": _names("splits", "contexts", "Contexts by split", "split"),
}
FIGURES = {"corpus": tuple(_CORPUS), "ranking-set": tuple(_RANKING)}
"""The figures of each kind; the first one is drawn where none is named."""


def figures_for(kind: str) -> tuple[str, ...]:
    """The names of the figures of a kind of artefact."""
    return FIGURES[kind]


def figure_of(statistics: Mapping[str, Any], name: str | None = None, *, layer: str | None = None) -> Figure:
    """A figure of a corpus or ranking set, from what its statistics function returned.

    Parameters
    ----------
    name:
        One of :data:`FIGURES` for the kind; without one the first.
    layer:
        The annotation layer, for ``labels`` (needed where there are several) and ``intents``.

    Raises
    ------
    ConfigurationError
        There is no such figure, or it needs a layer to be named.
    InputError
        The corpus has nothing that the figure shows.
    """
    kind = statistics["kind"]
    makers = _CORPUS if kind == "corpus" else _RANKING
    name = FIGURES[kind][0] if name is None else name
    if name not in makers:
        raise ConfigurationError(f"a {kind} has no figure {name!r}; expected one of {', '.join(makers)}")
    if layer is not None and makers[name] is not _labels:
        raise ConfigurationError(f"the figure {name!r} has no layers; --layer goes with 'labels' and 'intents'")
    return makers[name](statistics, layer, name)
