"""The files of a benchmark: tables, page, values of every context, runs, costs, and what there is to say of each system."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.ranking.benchmark.hardest import hardest_contexts, judging_measure
from tertulia.ranking.benchmark.options import base_name
from tertulia.ranking.benchmark.page import page
from tertulia.ranking.benchmark.protocols import CandidatesProtocol
from tertulia.ranking.benchmark.tables import (
    costs_csv,
    costs_markdown,
    latex_table,
    long_csv,
    markdown_escaped,
    markdown_table,
)
from tertulia.ranking.runs import write_run

if TYPE_CHECKING:
    from tertulia.ranking.benchmark.results import SystemResult
    from tertulia.ranking.benchmark.run import Benchmark

__all__ = ["COST_FILES", "Files", "table_json"]

COST_FILES = ("costs.csv", "costs.md", "report.html")
"""What differs from run to run, for it holds times; all else is the same to the last byte for the same seed."""


class Files:
    """Writes a benchmark into a folder."""

    def __init__(self, benchmark: Benchmark, directory: Path) -> None:
        self._benchmark = benchmark
        self._directory = directory

    def write(self) -> None:
        """Write everything."""
        benchmark, plan = self._benchmark, self._benchmark.plan
        comparison = benchmark.held
        judging = judging_measure(comparison.measures, comparison, plan.cut)
        hardest = hardest_contexts(comparison, benchmark.results, plan.protocol, plan.cut, plan.options.hardest)
        self._text("table.md", markdown_table(comparison, self._captions()))
        self._text("table.csv", long_csv(comparison))
        self._text("table.tex", latex_table(comparison, self._caption(differences=False), "tab:ranking"))
        self._text("costs.csv", costs_csv(benchmark.results))
        self._text("costs.md", costs_markdown(benchmark.results))
        self._json("systems.json", self._systems())
        self._json("significance.json", self._significance())
        self._json("hardest.json", [each.to_json() for each in hardest])
        self._text("report.html", page(benchmark, hardest, judging))
        self._per_context()
        self._runs()

    def _text(self, name: str, text: str) -> None:
        (self._directory / name).write_bytes(text.encode("utf-8", "backslashreplace"))

    def _json(self, name: str, value: Any) -> None:
        text = json.dumps(finite(value), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
        self._text(name, text + "\n")

    def _captions(self) -> list[str]:
        return [f"## {markdown_escaped(self._benchmark.plan.title)}", markdown_escaped(self._caption())]

    def _caption(self, *, differences: bool = True) -> str:
        plan, comparison = self._benchmark.plan, self._benchmark.held
        seeds = f"{plan.options.seeds} seeds" if plan.options.seeds > 1 else "one seed"
        said = (
            f"Ranking on {plan.title}: means in percent over test contexts and {seeds}, with "
            f"{comparison.confidence:.0%} bootstrap intervals. Systems that share a letter do not differ (randomised Tukey HSD, "
            f"level {1 - comparison.confidence:.2g}); the best is in bold."
        )
        if differences and comparison.baseline is not None:
            said += f" Differences to {comparison.baseline} with a paired randomisation test: * p < .05, ** p < .01, *** p < .001."
        if comparison.votes:
            said += " Relevance is an estimate from votes, whose uncertainty the intervals hold."
        return said

    def _systems(self) -> dict[str, Any]:
        benchmark = self._benchmark
        return {
            "systems": {
                result.name: {"outside": result.outside, "seeds": nameless(result.details), "note": result.note}
                for result in benchmark.results
            },
            "left_out": benchmark.left_out,
            "failed": [
                {"system": each.system, "seed": each.seed, "reason": each.reason} for each in benchmark.failures
            ],
        }

    def _significance(self) -> dict[str, Any]:
        comparison = self._benchmark.held
        return {
            "systems": list(comparison.systems),
            "tukey_hsd": {
                str(measure): comparison.p[number].tolist() for number, measure in enumerate(comparison.measures)
            },
        }

    def _per_context(self) -> None:
        """``per_context.parquet``: a row for each system, seed, measure and context; the value is null where it is left out."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        comparison = self._benchmark.held
        words = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema(
            [
                ("system", words),
                ("seed", pa.int32()),
                ("measure", words),
                ("context", pa.string()),
                ("value", pa.float64()),
            ]
        )
        contexts = pa.array([name.encode("utf-8", "replace").decode() for name in comparison.contexts], pa.string())
        with pq.ParquetWriter(self._directory / "per_context.parquet", schema, compression="zstd") as writer:
            for result in self._benchmark.results:
                for place, seed in enumerate(result.seeds):
                    for number, measure in enumerate(comparison.measures):
                        values = result.values[place, number]
                        count = len(values)
                        columns = [
                            pa.DictionaryArray.from_arrays(
                                pa.array(np.zeros(count, np.int32)), pa.array([result.name])
                            ),
                            pa.array(np.full(count, seed, np.int32)),
                            pa.DictionaryArray.from_arrays(
                                pa.array(np.zeros(count, np.int32)), pa.array([str(measure)])
                            ),
                            contexts,
                            pa.array(values, mask=np.isnan(values)),
                        ]
                        writer.write_table(pa.Table.from_arrays(columns, schema=schema))

    def _runs(self) -> None:
        """``runs/NAME-SEED.run`` of each ranker, where all scores were kept."""
        protocol = self._benchmark.plan.protocol
        if not isinstance(protocol, CandidatesProtocol):
            return
        folder = self._directory / "runs"
        folder.mkdir()
        for result in self._benchmark.results:
            for place, seed in enumerate(result.seeds):
                scores = protocol.scores(result.kept(place))
                pairs = zip(protocol.examples, scores, strict=True)
                write_run(folder / self._run_name(result, seed), pairs, result.name)

    @staticmethod
    def _run_name(result: SystemResult, seed: int) -> str:
        return f"{result.name}.run" if result.outside else f"{result.name}-{seed}.run"


def nameless(details: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Details of fits whose settings name no path of this machine: of one the last part stays."""
    return [
        {**each, "settings": {name: base_name(value) for name, value in each["settings"].items()}} for each in details
    ]


def finite(value: Any) -> Any:
    """JSON without numbers that JSON does not have: they become null, and keys texts."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def table_json(benchmark: Benchmark) -> dict[str, Any]:
    """What ``--json`` prints of a benchmark's table; figures from 0 to 1, null where there is none."""
    comparison = benchmark.held
    systems: dict[str, dict[str, Any]] = {}
    for system, name in enumerate(comparison.systems):
        systems[name] = {}
        for number, measure in enumerate(comparison.measures):
            systems[name][str(measure)] = {
                "mean": float(comparison.means[system, number]),
                "low": float(comparison.low[system, number]),
                "high": float(comparison.high[system, number]),
                "letters": comparison.letters[number][system],
                "seed_deviation": float(comparison.spread[system, number]),
                "difference": float(comparison.difference[system, number]),
                "difference_p": float(comparison.difference_p[system, number]),
            }
    contexts = {
        str(measure): {
            "counted": int(comparison.counted[number]),
            "left_out": int(comparison.left_out[number]),
            "undecided": int(comparison.undecided[number]),
        }
        for number, measure in enumerate(comparison.measures)
    }
    found = {
        "systems": systems,
        "contexts": contexts,
        "baseline": comparison.baseline,
        "costs": {result.name: [cost.to_json() for cost in result.costs] for result in benchmark.results},
        "left_out": benchmark.left_out,
        "failed": [{"system": each.system, "seed": each.seed, "reason": each.reason} for each in benchmark.failures],
    }
    cleaned: dict[str, Any] = finite(found)
    return cleaned
