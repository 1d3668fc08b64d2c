"""The table of a benchmark as Markdown, CSV and LaTeX, and its costs; the same benchmark gives the same bytes."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tertulia.measures.ranking_names import cut_name

if TYPE_CHECKING:
    from tertulia.measures.ranking_names import Measure
    from tertulia.ranking.benchmark.comparing import Comparison
    from tertulia.ranking.benchmark.results import SystemResult

__all__ = [
    "COST_COLUMNS",
    "Cell",
    "cell",
    "cost_row",
    "costs_csv",
    "costs_markdown",
    "cut_groups",
    "latex_escaped",
    "latex_table",
    "long_csv",
    "markdown_escaped",
    "markdown_table",
    "mean_cost",
    "notes",
    "spoken",
    "spreadsheet_safe",
]


@dataclass(frozen=True)
class Cell:
    """A system's figures of one measure, in percent and ready to print; ``-`` where no context counts."""

    mean: str
    interval: str
    letters: str
    difference: str
    is_best: bool


def cell(comparison: Comparison, system: int, measure: int) -> Cell:
    """The figures of a system and a measure."""
    mean = comparison.means[system, measure]
    if math.isnan(mean):
        return Cell("–", "", "", "", False)
    best = float(np.nanmax(comparison.means[:, measure]))
    low, high = comparison.low[system, measure], comparison.high[system, measure]
    interval = "" if math.isnan(low) else f"{_percent(low)}–{_percent(high)}"
    difference = ""
    if not math.isnan(comparison.difference[system, measure]):
        points = f"{comparison.difference[system, measure] * 100:+.1f}".replace("-", "\N{MINUS SIGN}")
        points = "0.0" if points[1:] == "0.0" else points
        difference = f"{points}{stars(comparison, system, measure)}"
    return Cell(_percent(mean), interval, comparison.letters[measure][system], difference, bool(mean == best))


def stars(comparison: Comparison, system: int, measure: int) -> str:
    """``***`` for p < .001, ``**`` for p < .01, ``*`` for p < .05 of the difference to the baseline."""
    p = comparison.difference_p[system, measure]
    return "".join("*" for level in (0.05, 0.01, 0.001) if p < level)


def _percent(value: float) -> str:
    return f"{value * 100:.1f}"


def cut_groups(comparison: Comparison) -> list[tuple[str, list[int]]]:
    """The measures by cut, each cut with a title, in order."""
    groups: dict[float | None, list[int]] = {}
    for number, measure in enumerate(comparison.measures):
        groups.setdefault(measure.cut, []).append(number)
    return [
        ("graded relevance" if cut is None else f"relevance ≥ {cut_name(cut)}", numbers)
        for cut, numbers in groups.items()
    ]


def spoken(measure: Measure) -> str:
    """The name of a measure in a sentence."""
    return measure.short if measure.cut is None else f"{measure.short} at relevance ≥ {cut_name(measure.cut)}"


def notes(comparison: Comparison, numbers: Sequence[int]) -> str:
    """How many contexts count in these measures of one cut, and how many of them say nothing."""
    first = numbers[0]
    counted, left_out = int(comparison.counted[first]), int(comparison.left_out[first])
    said = f"{counted:,} contexts; {left_out:,} left out for want of a positive candidate"
    undecided = int(comparison.undecided[first])
    alike = "of one relevance" if comparison.measures[first].is_graded else "positive"
    return said + (f"; in {undecided:,} all candidates are {alike}" if undecided else "")


# --- Markdown


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~])")


def markdown_escaped(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def markdown_table(comparison: Comparison, captions: Iterable[str] = ()) -> str:
    """A table for each cut; means in percent, with intervals and letters."""
    parts = [*captions]
    for title, numbers in cut_groups(comparison):
        names = [comparison.measures[number].short for number in numbers]
        lines = [f"### {title[:1].upper()}{title[1:]}", "", f"{notes(comparison, numbers)}.", ""]
        base = comparison.baseline
        head = ["system", *names]
        if base is not None:
            head += [f"{name}: Δ {markdown_escaped(base)}" for name in names]
        lines.append(f"| {' | '.join(head)} |")
        lines.append(f"|{'|'.join([' --- ', *[' ---: '] * (len(head) - 1)])}|")
        for system, name in enumerate(comparison.systems):
            row = [cell(comparison, system, number) for number in numbers]
            cells = [_markdown_cell(each) for each in row]
            if base is not None:
                cells += [markdown_escaped(each.difference) or "–" for each in row]
            lines.append(f"| {' | '.join([markdown_escaped(name), *cells])} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _markdown_cell(each: Cell) -> str:
    mean = f"**{each.mean}**" if each.is_best else each.mean
    interval = f" [{each.interval}]" if each.interval else ""
    # A full stop is part of the letters after "Z".
    return f"{mean}{interval} {each.letters}".rstrip()


# --- CSV

_LONG = (
    *("system", "measure", "kind", "k", "cut", "mean", "low", "high", "letters", "seed_deviation"),
    *("difference", "difference_p", "contexts", "left_out", "undecided"),
)


def long_csv(comparison: Comparison) -> str:
    """A row for each system and measure, figures from 0 to 1 in full precision; empty where there is none."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_LONG)
    for system, name in enumerate(comparison.systems):
        for number, measure in enumerate(comparison.measures):
            figures = [
                comparison.means[system, number],
                comparison.low[system, number],
                comparison.high[system, number],
                comparison.letters[number][system],
                comparison.spread[system, number],
                comparison.difference[system, number],
                comparison.difference_p[system, number],
            ]
            rows.writerow(
                [
                    spreadsheet_safe(name),
                    str(measure),
                    measure.kind,
                    "" if measure.k is None else measure.k,
                    "" if measure.cut is None else repr(measure.cut),
                    *(figure if isinstance(figure, str) else _figure(figure) for figure in figures),
                    int(comparison.counted[number]),
                    int(comparison.left_out[number]),
                    int(comparison.undecided[number]),
                ]
            )
    return out.getvalue()


def spreadsheet_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _figure(value: float) -> str:
    return "" if math.isnan(value) else repr(float(value))


# --- LaTeX


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "≥": r"$\geq$",
    "–": "--",
    "Δ": r"$\Delta$",
    "µ": r"$\mu$",
}


def latex_escaped(text: str) -> str:
    """A text that LaTeX shows as it is."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def latex_table(comparison: Comparison, caption: str, label: str) -> str:
    """A ``table*`` with the rules of booktabs: a group of columns for each cut, intervals in a second line of each row."""
    groups = cut_groups(comparison)
    columns = sum(len(numbers) for _, numbers in groups)
    heads, rules, at = [], [], 2
    for title, numbers in groups:
        heads.append(rf"\multicolumn{{{len(numbers)}}}{{c}}{{{latex_escaped(title)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + len(numbers) - 1}}}")
        at += len(numbers)
    names = [latex_escaped(comparison.measures[number].short) for _, numbers in groups for number in numbers]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering",
        r"\small",
        rf"\caption{{{latex_escaped(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'r' * columns}}}",
        r"\toprule",
        " & ".join(["", *heads]) + r" \\",
        " ".join(rules),
        " & ".join(["system", *names]) + r" \\",
        r"\midrule",
    ]
    for system, name in enumerate(comparison.systems):
        cells = [cell(comparison, system, number) for _, numbers in groups for number in numbers]
        lines.append(" & ".join([latex_escaped(name), *map(_latex_mean, cells)]) + r" \\")
        if any(each.interval for each in cells):
            lines.append(" & ".join(["", *map(_latex_interval, cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def _latex_mean(each: Cell) -> str:
    mean = rf"\textbf{{{each.mean}}}" if each.is_best else latex_escaped(each.mean)
    return mean + (rf"\textsuperscript{{{each.letters}}}" if each.letters else "")


def _latex_interval(each: Cell) -> str:
    # In braces: a row that begins with a bracket would be taken for the length after the line break before it.
    return rf"{{\scriptsize [{latex_escaped(each.interval)}]}}" if each.interval else ""


# --- costs


def mean_cost(result: SystemResult, name: str) -> float | None:
    """The mean over seeds of a figure of ``Cost.to_json``; the most, where it is memory; ``None`` for a system from outside."""
    figures = [float(cost.to_json()[name]) for cost in result.costs]
    if not figures:
        return None
    return max(figures) if name.endswith("_bytes") else sum(figures) / len(figures)


def costs_csv(results: Sequence[SystemResult]) -> str:
    """A row for each system and seed."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    costs = [(result.name, cost.to_json()) for result in results for cost in result.costs]
    head = list(costs[0][1]) if costs else []
    rows.writerow(["system", *head])
    for name, cost in costs:
        rows.writerow([spreadsheet_safe(name), *cost.values()])
    return out.getvalue()


COST_COLUMNS = ("fit", "µs a candidate", "memory, fit", "memory, scoring", "model")


def cost_row(result: SystemResult) -> list[str]:
    """The figures of ``COST_COLUMNS``, for people."""
    if not result.costs:
        return ["–"] * len(COST_COLUMNS)
    seconds = mean_cost(result, "fit_seconds") or 0.0
    micros = mean_cost(result, "microseconds_a_candidate") or 0.0
    sizes = [mean_cost(result, name) or 0.0 for name in ("fit_memory_bytes", "score_memory_bytes", "model_bytes")]
    return [shown_seconds(seconds), shown_micros(micros), *map(shown_bytes, sizes)]


def shown_seconds(seconds: float) -> str:
    """Seconds, or minutes from two on."""
    return f"{seconds / 60:,.1f} min" if seconds >= 120 else f"{seconds:.1f} s"


def shown_micros(micros: float) -> str:
    """Microseconds with two figures that count."""
    return f"{micros:,.0f}" if micros >= 10 else f"{micros:.1f}"


def shown_bytes(count: float) -> str:
    """Bytes as kB, MB or GB."""
    for unit, size in [("GB", 1e9), ("MB", 1e6)]:
        if count >= size:
            return f"{count / size:,.1f} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{count / 1e3:,.1f} kB"


def costs_markdown(results: Sequence[SystemResult]) -> str:
    """A row for each system: means over seeds, the most memory."""
    lines = [f"| system | {' | '.join(COST_COLUMNS)} |", f"|{'|'.join([' --- ', *[' ---: '] * len(COST_COLUMNS)])}|"]
    lines += [f"| {' | '.join([markdown_escaped(result.name), *cost_row(result)])} |" for result in results]
    return "\n".join(lines) + "\n"
