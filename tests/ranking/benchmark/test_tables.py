"""Tables as Markdown, CSV and LaTeX hold what they should, whatever systems are called; the page escapes all texts."""

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.measures.ranking_names import Measure
from tertulia.ranking.benchmark.comparing import Comparison, compare
from tertulia.ranking.benchmark.page import shown
from tertulia.ranking.benchmark.plots import by_cut, contributions, importance_plot, quality_and_cost
from tertulia.ranking.benchmark.results import Cost, SystemResult
from tertulia.ranking.benchmark.tables import (
    cell,
    costs_csv,
    costs_markdown,
    latex_escaped,
    latex_table,
    long_csv,
    markdown_escaped,
    markdown_table,
)

MEASURES = [Measure("P", 1, 3.0), Measure("MAP", None, 3.0), Measure("MAP", None, 5.0), Measure("nDCG", 10, None)]


def made(names: list[str], empty: bool = True) -> Comparison:
    random = np.random.default_rng(0)
    by_seed = [np.clip(random.normal(0.3 + 0.15 * n, 0.1, (2, 4, 30)), 0, 1) for n in range(len(names))]
    for values in by_seed:
        values[:, 2] = np.nan if empty else values[:, 2]
    relevances = [np.array([3.0, 4.0])] * 30
    return compare(
        names,
        MEASURES,
        [f"c{n}" for n in range(30)],
        by_seed,
        relevances,
        baseline=names[0],
        confidence=0.95,
        replicates=100,
        permutations=200,
        seed=0,
    )


def result(name: str, comparison: Comparison, micros: float, report: dict | None = None) -> SystemResult:
    cost = Cost(0, 1.5, micros, 100, 50_000_000, 60_000_000, 1_500_000, 0)
    details = [{"seed": 0, "settings": {}, "report": report or {}}]
    values = np.zeros((1, len(MEASURES), len(comparison.contexts)))
    return SystemResult(name, [0], values, [], lambda _n: {}, [cost], details)


NASTY = ["=cmd|'/c calc'!A1", "a_b&c%d#$~^{}\\<x>", "plain"]


def test_csv_holds_every_figure_to_the_last_digit_and_no_formula() -> None:
    comparison = made(NASTY)
    rows = list(csv.DictReader(io.StringIO(long_csv(comparison))))
    assert len(rows) == 3 * 4
    assert {row["system"] for row in rows} == {"'=cmd|'/c calc'!A1", *NASTY[1:]}
    for row in rows:
        system = row["system"].lstrip("'")
        at = (NASTY.index(system), [str(each) for each in MEASURES].index(row["measure"]))
        mean = comparison.means[at]
        assert row["mean"] == ("" if np.isnan(mean) else repr(float(mean)))
        assert int(row["contexts"]) + int(row["left_out"]) == 30
        assert row["undecided"] == ("30" if row["cut"] == "3.0" else "0")
        if row["mean"]:
            assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])


def test_markdown_has_a_row_a_system_in_every_table_and_cells_stay_cells() -> None:
    comparison = made(["bm|25", "a*b_c", "<script>"])
    text = markdown_table(comparison, ["## title"])
    tables = [part for part in text.split("\n\n") if part.startswith("| system")]
    assert len(tables) == 3
    for table in tables:
        lines = table.splitlines()
        cells = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
        assert len(set(cells)) == 1
        assert len(lines) == 2 + 3
    assert "<script>" not in text
    assert "0 left out" in text
    assert "30 left out" in text
    assert "in 30 all candidates are positive" in text


def test_latex_has_as_many_cells_in_every_row_as_the_head_says() -> None:
    comparison = made(NASTY)
    text = latex_table(comparison, "50% of a_b & more", "tab:x")
    columns = re.search(r"\\begin\{tabular\}\{l(r+)\}", text)
    assert columns is not None
    assert len(columns[1]) == 4
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert len(body) == 2 * 3
    for line in body:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == 4
        # A bracket at the beginning of a row would be taken for the length after the line break before it.
        assert not line.lstrip(" &").startswith("[")
    assert balanced(text)
    assert text.count(r"\textbf{") == 3
    assert r"50\% of a\_b \& more" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    rules = re.findall(r"\\cmidrule\(lr\)\{(\d)-(\d)\}", text)
    assert rules == [("2", "3"), ("4", "4"), ("5", "5")]


def balanced(text: str) -> bool:
    depth = 0
    for mark in re.findall(r"\\[\\{}]|[{}]", text):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0


@settings(deadline=None)
@given(st.text(max_size=20))
def test_escaped_texts_hold_nothing_that_acts(text: str) -> None:
    latex = latex_escaped(text)
    assert balanced(latex)
    assert "\n" not in latex
    assert not re.search(r"(?<!\\)[&%#$_]", re.sub(r"\$\\\w+\$", "", latex))
    assert "~" not in latex
    assert not re.search(r"(?<!\\)[|*_<`]", markdown_escaped(text))
    html = shown(text)
    assert not re.search(r"[<>\"']", html)
    assert not re.search(r"&(?!(amp|lt|gt|quot|#x27);)", html)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)


def test_what_is_hidden_is_shown_and_what_is_long_is_cut() -> None:
    assert shown("a\u202eb\x00\ud800") == "a⟨U+202E⟩b⟨U+0000⟩⟨U+D800⟩"
    assert shown("x" * 5_000).endswith("x…")
    assert len(shown("x" * 5_000)) == 1_500


def test_cells_are_in_percent_with_letters_and_stars() -> None:
    comparison = made(["base", "better", "best"])
    best = cell(comparison, 2, 0)
    assert best.is_best
    assert best.letters == "a"
    assert re.fullmatch(r"\d\d\.\d", best.mean)
    assert re.fullmatch(r"\d\d\.\d–\d\d\.\d", best.interval)
    assert re.fullmatch(r"\+\d\d\.\d\*\*", best.difference)
    assert cell(comparison, 0, 0).difference == ""
    assert cell(comparison, 0, 2).mean == "–"


def test_costs_are_listed_by_system_and_seed() -> None:
    comparison = made(["a", "b"])
    results = [result("a", comparison, 3.14159), result("b|", comparison, 12_345.6)]
    rows = list(csv.DictReader(io.StringIO(costs_csv(results))))
    assert [row["microseconds_a_candidate"] for row in rows] == ["3.14159", "12345.6"]
    text = costs_markdown(results)
    assert "| a | 1.5 s | 3.1 | 50 MB | 60 MB | 1.5 MB |" in text
    assert r"b\|" in text
    assert "12,346" in text
    outside = SystemResult("x", [0], results[0].values, [], lambda _n: {}, outside=True)
    assert "| x | – |" in costs_markdown([outside])


def test_plots_take_the_colours_of_the_page_and_hold_no_markup_of_names() -> None:
    comparison = made(["bm25", "<b>&\"'", "var(--x)"])
    drawings = [svg for _name, svg in by_cut(comparison)]
    assert [name for name, _svg in by_cut(comparison)] == ["P@1", "MAP", "nDCG@10"]
    results = [
        result(name, comparison, micros) for name, micros in zip(comparison.systems, (1.0, 50.0, 2e6), strict=True)
    ]
    drawing = quality_and_cost(comparison, results, 0)
    assert drawing is not None
    report = {"importance": {"one <i>": 0.25, "two": {"drop": 0.5, "deviation": 0.1}, "none": 0.0}}
    [first, second, third] = contributions(result("x", comparison, 1.0, report))
    assert (first.name, second.name, third.drop) == ("two", "one <i>", 0.0)
    for svg in [*drawings, drawing, importance_plot([first, second, third])]:
        assert svg.startswith("<svg")
        assert "var(--ink)" in svg
        assert not re.search(r"#0[1-6]0[1-6]0[1-6]", svg)
        assert "<b>" not in svg
        assert "<i>" not in svg
    assert drawings == [svg for _name, svg in by_cut(comparison)]
    assert quality_and_cost(comparison, results[:1], 0) is None


@pytest.mark.parametrize(
    "given",
    [None, [], {}, "text", [1, None, {}], {"a": "b"}, [{"feature": "a"}], [{"feature": 1, "drop": 1}], [{"drop": 0.1}]],
)
def test_a_report_of_another_form_shows_no_importance(given: object) -> None:
    assert contributions(result("x", made(["a", "b"]), 1.0, {"importance": given})) == []
