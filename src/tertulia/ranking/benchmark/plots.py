"""The plots of a benchmark's page as SVG, drawn by Vega-Lite without a browser or a network; their colours are the page's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tertulia.corpus.statistics.plots import vega_converter
from tertulia.ranking.benchmark.tables import cut_groups, mean_cost, spoken

if TYPE_CHECKING:
    from tertulia.ranking.benchmark.comparing import Comparison
    from tertulia.ranking.benchmark.results import SystemResult

__all__ = ["Contribution", "by_cut", "check_drawing", "contributions", "importance_plot", "quality_and_cost"]

_VEGA_LITE = "6.1"
# Stand in the drawing for the colours of the page, which differ in light and dark: each becomes a variable of its style sheet.
_INK, _SOFT, _LINE, _ACCENT, _SECOND, _CARD = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
_VARIABLES = {
    _INK: "var(--ink)",
    _SOFT: "var(--soft)",
    _LINE: "var(--line)",
    _ACCENT: "var(--accent)",
    _SECOND: "var(--second)",
    _CARD: "var(--card)",
}
_CLIP = re.compile(r'(<[^<>]*(?:\bid="|\burl\(#)clip)(\d+)')
_FONT = "Source Sans 3, DejaVu Sans, Noto Sans CJK SC, sans-serif"
_ROW = 23
_MOST_FEATURES = 15


def check_drawing() -> None:
    """See that plots can be drawn, before anything long begins.

    Raises
    ------
    MissingExtraError
        The package vl-convert-python is not installed.
    """
    vega_converter()


def _drawn(spec: dict[str, Any]) -> str:
    """The SVG of a specification, with the page's variables for colours, and clip paths numbered from 1."""
    whole = {
        "$schema": f"https://vega.github.io/schema/vega-lite/v{_VEGA_LITE}.json",
        "background": None,
        "padding": 4,
        **spec,
        "config": _config(),
    }
    svg: str = vega_converter().vegalite_to_svg(whole, vl_version=_VEGA_LITE, allowed_base_urls=[])
    numbers: dict[str, int] = {}
    svg = _CLIP.sub(lambda match: f"{match[1]}{numbers.setdefault(match[2], len(numbers) + 1)}", svg)
    for colour, variable in _VARIABLES.items():
        # Within a tag only: a text may hold anything.
        svg = re.sub(rf'(<[^<>]*="){colour}(?=")', rf"\g<1>{variable}", svg)
        while re.search(rf'<[^<>]*="{colour}"', svg):
            svg = re.sub(rf'(<[^<>]*="){colour}(?=")', rf"\g<1>{variable}", svg)
    return svg


def _config() -> dict[str, Any]:
    return {
        "font": _FONT,
        "axis": {
            "labelColor": _INK,
            "titleColor": _SOFT,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domain": False,
            "tickColor": _LINE,
            "gridColor": _LINE,
            "labelLimit": 220,
        },
        "axisBand": {"grid": False, "ticks": False},
        "header": {"labelColor": _INK, "labelFontSize": 13, "labelFontWeight": 600, "title": None, "labelPadding": 6},
        "text": {"color": _INK, "fontSize": 12},
        "view": {"stroke": None},
        "title": {"color": _INK, "anchor": "start", "fontSize": 13, "fontWeight": 600, "offset": 8},
    }


def by_cut(comparison: Comparison) -> list[tuple[str, str]]:
    """A plot for each kind of measure, with its name: a panel for each cut, systems with their intervals, the best on top."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for title, numbers in cut_groups(comparison):
        for number in numbers:
            if comparison.counted[number]:
                kinds.setdefault(comparison.measures[number].short, []).append((title, number))
    return [(kind, _drawn(_panels(comparison, panels))) for kind, panels in kinds.items()]


def _panels(comparison: Comparison, panels: Sequence[tuple[str, int]]) -> dict[str, Any]:
    # One order for all panels, that of the strictest: the eye follows a system across.
    order = [comparison.systems[system] for system in comparison.order(panels[-1][1])]
    width = max(200, min(520, 800 // len(panels) - 30))
    return {
        "hconcat": [
            _panel(comparison, title, number, order, width, names=place == 0)
            for place, (title, number) in enumerate(panels)
        ],
        "spacing": 22,
    }


def _panel(
    comparison: Comparison, title: str, number: int, order: list[str], width: int, *, names: bool
) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for system, name in enumerate(comparison.systems):
        mean, low, high = (float(each[system, number]) for each in (comparison.means, comparison.low, comparison.high))
        low, high = (mean if math.isnan(end) else end for end in (low, high))
        rows.append(
            {
                "system": name,
                "mean": mean * 100,
                "low": low * 100,
                "high": high * 100,
                "letters": comparison.letters[number][system],
                "best": "a" in comparison.letters[number][system],
            }
        )
    ends = [row[end] for row in rows for end in ("low", "high")]
    span = max(max(ends) - min(ends), 1.0)
    domain = [max(0.0, min(ends) - 0.04 * span), max(ends) + 0.16 * span]
    colour = {"condition": {"test": "datum.best", "value": _ACCENT}, "value": _SECOND}
    place = {
        "field": "system",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {"labels": names, "labelPadding": 8, "domain": False, "ticks": False},
    }
    across: dict[str, Any] = {
        "type": "quantitative",
        "scale": {"domain": domain, "zero": False, "nice": False},
        "axis": {"values": _ticks(domain[0], min(100.0, max(ends) + 0.04 * span)), "title": None, "format": "~f"},
    }
    return {
        "title": title,
        "width": width,
        "height": {"step": _ROW},
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {
                    "x": {"field": "low", **across},
                    "x2": {"field": "high"},
                    "y": place,
                    "color": colour,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 62, "opacity": 1},
                "encoding": {"x": {"field": "mean", **across}, "y": place, "color": colour},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 7, "color": _SOFT, "fontSize": 11},
                "encoding": {
                    "x": {"field": "high", **across},
                    "y": place,
                    "text": {"field": "letters", "type": "nominal"},
                },
            },
        ],
    }


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers in a range."""
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < 5:
            return [round(place * step, 1) for place in range(first, last + 1)]
    return [0.0, 50.0, 100.0]


def quality_and_cost(comparison: Comparison, results: Sequence[SystemResult], measure: int) -> str | None:
    """Quality against microseconds a candidate; the systems that none surpasses in both are on the line.

    ``None`` where fewer than two systems have costs.
    """
    points: list[dict[str, Any]] = []
    for system, result in enumerate(results):
        spent = mean_cost(result, "microseconds_a_candidate")
        mean = float(comparison.means[system, measure])
        if spent is not None and spent > 0 and not math.isnan(mean):
            points.append({"system": result.name, "micros": spent, "mean": mean * 100})
    if len(points) < 2:
        return None
    for point in points:
        point["front"] = not any(
            other["micros"] <= point["micros"] and other["mean"] >= point["mean"] and other != point for other in points
        )
    _place_labels(points)
    micros = [point["micros"] for point in points]
    means = [point["mean"] for point in points]
    span = max(max(means) - min(means), 1.0)
    x = {
        "field": "micros",
        "type": "quantitative",
        "title": "microseconds a candidate (fewer is better)",
        "scale": {"type": "log", "domain": [min(micros) / 1.8, max(micros) * 4.0], "nice": False},
        "axis": {"format": ",~f", "values": _decades(min(micros), max(micros))},
    }
    y = {
        "field": "mean",
        "type": "quantitative",
        "title": f"{spoken(comparison.measures[measure])}, %",
        "scale": {"domain": [min(means) - 0.08 * span, max(means) + 0.1 * span], "zero": False, "nice": False},
        "axis": {"tickCount": 6, "format": "~f"},
    }
    colour = {"condition": {"test": "datum.front", "value": _ACCENT}, "value": _SECOND}
    return _drawn(
        {
            "width": 760,
            "height": 340,
            "data": {"values": points},
            "layer": [
                {
                    "transform": [{"filter": "datum.front"}],
                    "mark": {
                        "type": "line",
                        "color": _ACCENT,
                        "strokeWidth": 1.5,
                        "opacity": 0.5,
                        "strokeDash": [4, 3],
                    },
                    "encoding": {"x": x, "y": y, "order": {"field": "micros", "type": "quantitative"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                    "encoding": {"x": x, "y": y, "color": colour},
                },
                *(
                    {
                        "transform": [{"filter": f"datum.dy == {dy}"}],
                        "mark": {"type": "text", "align": "left", "dx": 8, "dy": dy, "fontSize": 12, "color": _INK},
                        "encoding": {"x": x, "y": y, "text": {"field": "system", "type": "nominal"}},
                    }
                    for dy in sorted({point["dy"] for point in points})
                ),
            ],
        }
    )


def _decades(least: float, most: float) -> list[float]:
    first, last = math.floor(math.log10(least / 1.8)), math.ceil(math.log10(most * 4.0))
    return [10.0**power for power in range(first, last + 1)]


def _place_labels(points: list[dict[str, Any]]) -> None:
    """Move the names of points that lie close together up or down, so that each can be read."""
    low, high = (function(point["mean"] for point in points) for function in (min, max))
    span = max(high - low, 1.0)
    taken: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda each: (-each["mean"], each["micros"], each["system"])):
        # In pixels of a plot of 760 by 340, more or less; a name is some 80 wide and 14 high.
        decades = math.log10(
            max(each["micros"] for each in points) * 4 / (min(each["micros"] for each in points) / 1.8)
        )
        x = math.log10(point["micros"]) * 760 / max(decades, 0.1)
        y = -point["mean"] / (1.18 * span) * 340
        for dy in (-8, 8, -21, 21, -34, 34, 47):
            if not any(abs(x - other_x) < 85 and abs(y + dy - other_y) < 13 for other_x, other_y in taken):
                break
        point["dy"] = dy
        taken.append((x, y + dy))


@dataclass(frozen=True)
class Contribution:
    """How much a ranker's quality drops without a feature: the mean over shuffles, and their deviation."""

    name: str
    drop: float
    deviation: float


def contributions(result: SystemResult) -> list[Contribution]:
    """What the first seed of a ranker reports as ``importance``, the most important first; empty where it reports none.

    It is a list of objects with ``feature`` (or ``name``), ``drop`` (or ``mean``, ``importance``) and perhaps ``deviation`` (or
    ``spread``), or an object of numbers by name.
    """
    report = result.details[0]["report"] if result.details else {}
    given = report.get("importance") if isinstance(report, dict) else None
    rows: list[Contribution] = []
    if isinstance(given, dict):
        given = [
            {"feature": name, **value} if isinstance(value, dict) else {"feature": name, "drop": value}
            for name, value in given.items()
        ]
    for row in given if isinstance(given, list) else []:
        if isinstance(row, dict):
            name = next((row[key] for key in ("feature", "name", "input", "column") if key in row), None)
            drop = next((row[key] for key in ("drop", "mean", "importance", "value") if key in row), None)
            spread = next((row[key] for key in ("deviation", "spread", "std") if key in row), 0.0)
            if isinstance(name, str) and isinstance(drop, int | float) and math.isfinite(drop):
                usable = isinstance(spread, int | float) and math.isfinite(spread)
                rows.append(Contribution(name, float(drop), float(spread) if usable else 0.0))
    return sorted(rows, key=lambda each: (-each.drop, each.name))


def importance_plot(rows: Sequence[Contribution]) -> str:
    """The features that matter most, as bars with their deviation."""
    shown = [
        {
            "feature": row.name,
            "drop": row.drop * 100,
            "low": (row.drop - row.deviation) * 100,
            "high": (row.drop + row.deviation) * 100,
        }
        for row in rows[:_MOST_FEATURES]
        if row.drop or row.deviation
    ]
    names = [row["feature"] for row in shown]
    place = {"field": "feature", "type": "nominal", "sort": names, "title": None, "axis": {"labelPadding": 8}}
    across: dict[str, Any] = {
        "type": "quantitative",
        "title": "drop of MAP on dev when the feature is shuffled, points",
        "axis": {"tickCount": 5, "format": "~f"},
    }
    return _drawn(
        {
            "width": 560,
            "height": {"step": 20},
            "data": {"values": shown},
            "layer": [
                {
                    "mark": {"type": "bar", "color": _SECOND, "height": 11, "cornerRadiusEnd": 2},
                    "encoding": {"x": {"field": "drop", **across}, "y": place},
                },
                {
                    "mark": {"type": "rule", "color": _INK, "strokeWidth": 1.2},
                    "encoding": {"x": {"field": "low", **across}, "x2": {"field": "high"}, "y": place},
                },
            ],
        }
    )
