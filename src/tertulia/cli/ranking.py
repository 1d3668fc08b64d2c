"""``tertulia ranking``: ranking sets made of corpora, and the rankers that learn from them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from tertulia.cli.options import Json, Overwrite
from tertulia.cli.output import number, print_json, progress, remark, table
from tertulia.cli.ranking_benchmark import benchmark
from tertulia.cli.ranking_models import evaluate, export, run, train
from tertulia.cli.ranking_rankers import rankers
from tertulia.cli.ranking_ratings import RATINGS_EPILOG, ratings

__all__ = ["app"]

app = typer.Typer(
    name="ranking",
    help="Ranking sets, rankers that learn from them, benchmarks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog="Example: tertulia ranking build threads -o hard --negatives 50 --from all")
def build(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="What to write.")],
    negatives: Annotated[int, typer.Option("--negatives", metavar="N", help="How many for each context.", min=0)] = 10,
    drawn_from: Annotated[
        Literal["same-domain", "all"],
        typer.Option("--from", help="Which responses negatives are drawn from; always of the context's own split."),
    ] = "same-domain",
    target: Annotated[
        Literal["responses", "documents"],
        typer.Option("--target", help="What is ranked: responses, or the pages that they link to."),
    ] = "responses",
    documents: Annotated[
        Path | None, typer.Option("--documents", metavar="CRAWL", help="The crawl that has the pages.")
    ] = None,
    pool: Annotated[
        int, typer.Option("--pool", metavar="N", help="Negatives are drawn from the N best by BM25.", min=1)
    ] = 1000,
    last: Annotated[
        int | None, typer.Option("--last", metavar="N", help="Cut contexts to their last N turns.", min=1)
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option("--split", metavar="NAME", help="Of this split only; may be repeated.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="Whose words BM25 counts: en or zh.")
    ] = "en",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another seed gives another draw.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Threads that search; by default one a core.", min=1)
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Build a ranking set of a corpus. As MANtIS defines it: true responses, and negatives from the best by BM25."""
    from tertulia.cli.findings import print_findings
    from tertulia.corpus.exchange import Report
    from tertulia.ranking.build import RankingOptions, build_ranking_set

    report = Report()
    options = RankingOptions(negatives, drawn_from, target, pool, seed, last, language, tuple(split or ()))
    with ExitStack() as opened:
        crawl = None
        if documents is not None:
            from tertulia.crawl.pages import Crawl

            crawl = opened.enter_context(Crawl(documents))
        made = build_ranking_set(
            corpus,
            output,
            options,
            report,
            documents=crawl,
            documents_path=documents,
            workers=workers or os.cpu_count() or 1,
            overwrite=overwrite,
            stage=lambda name, unit: progress(name, unit=unit),
        )
    counts, pools = made.manifest.counts, made.manifest.details["pools"]
    made.close()
    if json_:
        print_json({"output": str(output), "counts": counts, "pools": pools, "report": report.to_json()})
        return
    print(f"{output}: {', '.join(f'{number(count)} {what}' for what, count in counts.items())}\n")
    by_split: dict[str, list[int]] = {}
    for each in pools:
        sums = by_split.setdefault(each["split"] or "–", [0, 0])
        sums[0] += each["contexts"]
        sums[1] += each["responses"]
    rows = [[name, *map(number, sums)] for name, sums in by_split.items()]
    print(table(["split", "contexts", "distinct responses to draw from"], rows, right={1, 2}))
    if len(by_split) == 1 and "–" in by_split:
        remark("the corpus has no splits, so all of it is one pool: tertulia corpus split divides it")
    print_findings(report)


app.command("ratings", epilog=RATINGS_EPILOG)(ratings)
app.command("rankers", epilog="Example: tertulia ranking rankers")(rankers)
app.command("train", epilog="Example: tertulia ranking train bm25 hard -o bm25")(train)
app.command("run", epilog="Example: tertulia ranking run bm25 hard -o bm25.run")(run)
app.command("evaluate", epilog="Example: tertulia ranking evaluate bm25.run gbdt.run --set hard")(evaluate)
app.command("export", epilog="Example: tertulia ranking export hard -o for-others")(export)
app.command("benchmark", epilog="Example: tertulia ranking benchmark hard -o table --rankers bm25,gbdt,ensemble")(
    benchmark
)
