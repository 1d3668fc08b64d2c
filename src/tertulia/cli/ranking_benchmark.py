"""``tertulia ranking benchmark``: every ranker on one set, in tables that can be printed and a page that can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tertulia.cli.options import Json, Overwrite, pairs
from tertulia.cli.output import print_json, progress, remark, table
from tertulia.errors import UsageError

if TYPE_CHECKING:
    from tertulia.ranking.benchmark.run import Benchmark

__all__ = ["benchmark"]


def benchmark(
    source: Annotated[Path, typer.Argument(metavar="SET", help="A ranking set.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="What to write.")],
    rankers: Annotated[
        str | None,
        typer.Option("--rankers", metavar="A,B", help="Which rankers; by default all there are; none: runs only."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Fit each so many times.", min=1)] = 3,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="Combinations of settings that each may try on dev.", min=1)
    ] = 8,
    cuts: Annotated[
        str | None,
        typer.Option(
            "--cuts", metavar="3,4,5", help="Relevance from which a candidate is positive; by default the set's."
        ),
    ] = None,
    measures: Annotated[
        str | None, typer.Option("--measures", metavar="A,B", help="By default P@1,MAP,MRR at each cut, and nDCG@10.")
    ] = None,
    cut: Annotated[
        float | None, typer.Option("--cut", metavar="X", help="The relevance whose MAP on dev is tuned for.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds", metavar="N", help="Cross-validate: N parts, each of which is test once. For small sets."
        ),
    ] = None,
    protocol: Annotated[
        Literal["candidates", "full"],
        typer.Option("--protocol", help="Rank the candidates of each context, or all responses of the test split."),
    ] = "candidates",
    pool: Annotated[
        int | None,
        typer.Option("--pool", metavar="N", help="full: a sample of N responses beside a context's own.", min=1),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="NAME=FILE", help="A TREC run of another system; may be repeated."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", metavar="RANKER.NAME=VALUE", help="A setting of a ranker; may be repeated."),
    ] = None,
    sentence_model: Annotated[
        str, typer.Option("--sentence-model", metavar="NAME|PATH", help="auto, none, a name or a path.")
    ] = "auto",
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="PATH", help="What crossencoder is fine-tuned from.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="auto, en, zh, or segmented: words stand apart already.")
    ] = "auto",
    turns: Annotated[
        int | None, typer.Option("--turns", metavar="N", help="Only the last N turns of a context count.", min=1)
    ] = None,
    decay: Annotated[
        float, typer.Option("--decay", metavar="X", help="What a turn counts beside the one after it.", min=0, max=1)
    ] = 0.5,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Threads of each fit.", min=1)] = 1,
    limit_minutes: Annotated[
        float | None,
        typer.Option("--limit-minutes", metavar="M", help="Stop a ranker that takes longer, and go on with the next."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="DIR", help="Where models and scores are kept. By default your cache directory."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The first seed.", min=0)] = 0,
    split_seed: Annotated[
        int, typer.Option("--split-seed", metavar="N", help="How a set without splits is divided.", min=0)
    ] = 0,
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="NAME", help="The system from which differences are told.")
    ] = "bm25",
    confidence: Annotated[float, typer.Option("--confidence", metavar="X", help="Of intervals and letters.")] = 0.95,
    hardest: Annotated[
        int, typer.Option("--hardest", metavar="N", help="So many of the hardest contexts are shown.", min=0)
    ] = 30,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Compare rankers on a set. Several seeds, tuned on dev; with intervals, significance and cost, in tables and a page.

    What is done is kept in the cache: the same command goes on where it was stopped. A ranker that fails is reported, the rest
    go on; one whose package or model is not there is left out.
    """
    from tertulia.measures.ranking_names import parse_cut
    from tertulia.ranking.benchmark.options import MEASURES, BenchmarkOptions
    from tertulia.ranking.benchmark.run import run_benchmark
    from tertulia.ranking.benchmark.writing import table_json

    options = BenchmarkOptions(
        rankers=_rankers(rankers),
        seeds=seeds,
        trials=trials,
        cuts=() if cuts is None else tuple(map(parse_cut, _names(cuts, "--cuts"))),
        measures=MEASURES if measures is None else tuple(_names(measures, "--measures")),
        tuned_for=cut,
        folds=folds,
        protocol=protocol,
        pool=pool,
        runs={name: Path(path) for name, path in pairs(run or [], "--run", form="NAME=FILE").items()},
        settings=_settings(setting or []),
        sentence_model=sentence_model,
        checkpoint=checkpoint,
        language=language,
        turns=turns,
        decay=decay,
        device=device,
        workers=workers,
        cache=cache,
        seed=seed,
        split_seed=split_seed,
        limit_minutes=limit_minutes,
        baseline=baseline,
        confidence=confidence,
        hardest=hardest,
    )
    command = ["tertulia", "ranking", "benchmark", source.resolve().name]
    made = run_benchmark(source, output, options, command=command, overwrite=overwrite, stage=_stage, say=remark)
    if json_:
        print_json({"output": str(output), **table_json(made)})
        return
    _print(made, output)


def _names(text: str, flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError(f"{flag} names nothing; expected names with commas between them")
    return names


def _rankers(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text.strip() == "none" else tuple(_names(text, "--rankers"))


def _settings(given: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in pairs(given, "--setting", form="RANKER.NAME=VALUE").items():
        ranker, dot, setting = name.partition(".")
        if not dot or not ranker or not setting:
            raise UsageError(f"--setting has {name!r}; expected RANKER.NAME=VALUE, such as gbdt.leaves=31")
        found.setdefault(ranker, {})[setting] = value
    return found


def _stage(label: str) -> AbstractContextManager[Callable[[int, int | None], None]]:
    return progress(label, unit="steps")


def _print(made: Benchmark, output: Path) -> None:
    from tertulia.ranking.benchmark.tables import COST_COLUMNS, cell, cost_row, cut_groups, notes

    comparison = made.held
    print(f"{output}: report.html, table.md, table.csv, table.tex, and what they were made of")
    for title, numbers in cut_groups(comparison):
        print(f"\n{title}: {notes(comparison, numbers)}\n")
        head = ["system"]
        for number in numbers:
            head += [comparison.measures[number].short, "interval", ""]
        base = comparison.baseline
        first = next((number for number in numbers if comparison.measures[number].kind == "MAP"), numbers[0])
        if base is not None:
            head.append(f"{comparison.measures[first].short} - {base}")
        rows = []
        for system, name in enumerate(comparison.systems):
            row = [name]
            for number in numbers:
                each = cell(comparison, system, number)
                row += [each.mean, each.interval, each.letters]
            if base is not None:
                row.append(cell(comparison, system, first).difference or "–")
            rows.append(row)
        right = {1 + 3 * place for place in range(len(numbers))}
        print(table(head, rows, right=right))
    costs = [[result.name, *cost_row(result)] for result in made.results if result.costs]
    if costs:
        print(f"\n{table(['system', *COST_COLUMNS], costs, right={1, 2, 3, 4, 5})}")
    print(
        "\nMeans in percent. Systems that share a letter do not differ (randomised Tukey HSD, "
        f"level {1 - comparison.confidence:.2g})"
        + ("; * p < .05, ** p < .01, *** p < .001, paired randomisation." if comparison.baseline is not None else ".")
    )
    for name, reason in made.left_out.items():
        print(f"left out: {name}: {reason}")
    for failure in made.failures:
        print(f"failed: {failure.system}, seed {failure.seed}: {failure.reason}")
