"""``tertulia ranking train``, ``run``, ``evaluate`` and ``export``: rankers, their run files, and what they are worth."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tertulia.cli.options import Json, Overwrite, pairs
from tertulia.cli.output import number, print_json, progress, remark, table, visible
from tertulia.errors import UsageError

if TYPE_CHECKING:
    from tertulia.ranking.evaluate import Evaluation
    from tertulia.ranking.runs import ReadRun

__all__ = ["Stages", "cuts_of", "evaluate", "export", "run", "stages", "train"]

Stages = Callable[[str, int, int | None], None]

_Set = Annotated[Path, typer.Argument(metavar="SET", help="A ranking set.")]
_Split = Annotated[str, typer.Option("--split", metavar="NAME", help="Which contexts: a split's name, or all.")]
_SplitSeed = Annotated[
    int, typer.Option("--split-seed", metavar="N", min=0, help="How a set without splits is divided.")
]
_Cuts = Annotated[
    str | None,
    typer.Option("--cuts", metavar="X,...", help="Relevance from which a candidate is positive; by default as suits."),
]


@contextmanager
def stages() -> Iterator[Stages]:
    """Progress of work that goes through several stages, of which only the work itself knows: a bar or lines for each."""
    with ExitStack() as stack:
        known: dict[str, Callable[[int, int | None], None]] = {}
        bars = sys.stderr.isatty()

        def tell(stage: str, done: int, total: int | None) -> None:
            if stage not in known:
                if bars:
                    # A terminal has one bar at a time.
                    stack.pop_all().close()
                    known.clear()
                known[stage] = stack.enter_context(progress(stage, unit="steps", total=total))
            known[stage](done, total)

        yield tell


def cuts_of(text: str | None) -> list[float] | None:
    """The cuts of an option such as ``3,4,5`` or ``1/2``; ``None`` where it is not given."""
    from tertulia.measures.ranking_names import parse_cut

    return None if text is None else [parse_cut(part) for part in text.split(",")]


def train(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="Its name, such as bm25 or gbdt.")],
    source: _Set,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The trained ranker to write.")],
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", metavar="NAME=VALUE", help="A setting of the ranker; repeat for several."),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="auto, en, zh, or segmented: spaces between words.")
    ] = "auto",
    turns: Annotated[
        int | None, typer.Option("--turns", metavar="N", min=1, help="Only the last N turns of a context; none: all.")
    ] = None,
    decay: Annotated[
        float, typer.Option("--decay", metavar="X", min=0, max=1, help="A turn counts X times the one after it.")
    ] = 0.5,
    cut: Annotated[
        str | None, typer.Option("--cut", metavar="X", help="Tune for MAP at this relevance; by default as suits.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Another seed, another model.")] = 0,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", min=1, help="Settings tried on dev; 1 takes them as they are.")
    ] = 8,
    device: Annotated[str, typer.Option("--device", help="Where neural rankers compute: auto, cpu or cuda.")] = "auto",
    sentence_model: Annotated[
        str, typer.Option("--sentence-model", metavar="NAME|PATH", help="A sentence model; auto, none, or which.")
    ] = "auto",
    trained: Annotated[
        list[str] | None,
        typer.Option("--trained", metavar="NAME=DIR", help="A ranker trained on this set, for an ensemble; repeat."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="DIR", help="Where vectors of texts are kept for the next time.")
    ] = None,
    split_seed: _SplitSeed = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", min=1, help="Threads; by default one a core.")
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Train a ranker on a set. It is fitted on the train split and tuned on dev; the test split is not looked at."""
    from tertulia.ranking.training import TrainingOptions, train_ranker

    cuts = cuts_of(cut)
    if cuts is not None and len(cuts) != 1:
        raise UsageError(f"--cut has {cut!r}; expected one number")
    options = TrainingOptions(
        language,
        turns,
        decay,
        None if cuts is None else cuts[0],
        seed,
        trials,
        workers or os.cpu_count() or 1,
        device,
        sentence_model,
        cache,
        split_seed,
    )
    settings = pairs(setting or (), "--setting", noun="setting")
    others = {name: Path(path) for name, path in pairs(trained or (), "--trained", form="NAME=DIR").items()}
    with stages() as tell:
        done = train_ranker(
            ranker, source, output, settings, options, trained=others, overwrite=overwrite, progress=tell
        )
    dev = {"measure": str(done.measure), "value": done.quality, "contexts": done.told_by}
    if json_:
        print_json(
            {
                "output": str(output),
                "ranker": ranker,
                "settings": done.ranker.settings,
                "language": done.wording.language,
                "splits": done.splits,
                "dev": dev,
                "report": done.ranker.report(),
            }
        )
        return
    sizes = ", ".join(f"{number(count)} {name}" for name, count in done.splits.items())
    print(f"{output}: the ranker {ranker}, of {sizes} contexts ({done.how})")
    shown = ", ".join(f"{name} {value}" for name, value in done.ranker.settings.items())
    print(visible(f"language {done.wording.language}; settings: {shown or 'none'}"))
    print(
        f"{done.measure} on dev: {done.quality:.4f}, over the {number(done.told_by)} contexts that tell candidates apart"
    )
    print(f"score test: tertulia ranking run {output} {source} -o {output.name}.run")


def run(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A trained ranker.")],
    source: _Set,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The run to write; .gz compresses it.")
    ],
    split: _Split = "test",
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME", help="The last column; none: the ranker's name.")
    ] = None,
    split_seed: _SplitSeed = 0,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Score a set with a trained ranker. The result is a run file as TREC has them."""
    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.ranking.model import load_ranker
    from tertulia.ranking.runs import write_run
    from tertulia.ranking.selection import score_examples, select

    with RankingSet(source, check_digests=True) as opened:
        ranker = load_ranker(model)
        selection = select(opened, split, seed=split_seed)
        with progress("scoring", unit="contexts", total=selection.total) as advance:
            scored = score_examples(ranker, selection.examples, lambda _stage, done, _total: advance(done, None))
            counts = write_run(output, scored, tag or ranker.name, overwrite=overwrite)
    if json_:
        print_json({"output": str(output), "contexts": counts.contexts, "lines": counts.lines})
    else:
        print(f"{output}: {number(counts.lines)} candidates of {number(counts.contexts)} contexts")
    if selection.how is not None:
        remark(f"{split}: {selection.how}")
    if counts.merged:
        remark(
            f"{number(counts.merged)} scores differ from the next one by less than trec_eval, which reads single precision, can "
            "tell; tertulia ranking evaluate can"
        )


def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run files; a system is its file's stem.")],
    source: Annotated[Path, typer.Option("--set", metavar="SET", help="The ranking set that was ranked.")],
    split: _Split = "test",
    cuts: _Cuts = None,
    measures: Annotated[
        str | None,
        typer.Option("--measures", metavar="NAME,...", help="By default P@1,MAP,MRR at each cut and nDCG@10."),
    ] = None,
    level: Annotated[
        float, typer.Option("--level", metavar="P", min=0, max=1, help="Differences of at most this p-value count.")
    ] = 0.05,
    permutations: Annotated[
        int, typer.Option("--permutations", metavar="N", min=1, help="Of the randomisation test.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the randomisation test.")] = 0,
    split_seed: _SplitSeed = 0,
    json_: Json = False,
) -> None:
    """Measure run files of any system on a set. Of two or more it says which differ (randomised Tukey HSD)."""
    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.ranking.evaluate import evaluate as evaluate_runs
    from tertulia.ranking.evaluate import measures_of
    from tertulia.ranking.runs import read_run
    from tertulia.ranking.selection import context_ids, select

    files = _systems(runs)
    given = cuts_of(cuts)
    named = None if measures is None else [name for name in measures.split(",") if name.strip()]
    with RankingSet(source, check_digests=True) as opened:
        selection = select(opened, split, seed=split_seed)
        examples = list(selection.examples)
        wanted = measures_of(examples, named, given)
        ids = set(context_ids(opened)) - {example.id for example in examples}
        read = {system: read_run(path, examples, others=ids) for system, path in files.items()}
    found = evaluate_runs(examples, {system: each.scores for system, each in read.items()}, wanted)
    if json_:
        print_json(found.to_json())
    else:
        with progress("comparing systems", unit="measures", total=len(wanted)) as advance:
            shown = _table(found, level, permutations, seed, advance)
        print(shown)
        print(f"\n{_what_counts(found)}")
    if selection.how is not None:
        remark(f"{split}: {selection.how}")
    _remark_oddities(found, read)


def export(
    source: _Set,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="What to write.")],
    split: _Split = "test",
    cuts: _Cuts = None,
    split_seed: _SplitSeed = 0,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write a split for outside systems. Contexts and candidates are tables, judgements are qrels for trec_eval."""
    from tertulia.ranking.export import export_set

    with progress("writing", unit="contexts") as advance:
        done = export_set(
            source,
            output,
            split=split,
            cuts=cuts_of(cuts),
            split_seed=split_seed,
            overwrite=overwrite,
            progress=lambda _stage, count, total: advance(count, total),
        )
    if json_:
        print_json(
            {"output": str(output), "contexts": done.contexts, "candidates": done.candidates, "qrels": done.qrels}
        )
    else:
        print(f"{output}: {number(done.contexts)} contexts, {number(done.candidates)} candidates")
        print(
            f"\n{table(['qrels', 'contexts'], [[name, number(count)] for name, count in done.qrels.items()], right={1})}"
        )
    if done.how is not None:
        remark(f"{split}: {done.how}")


def _systems(runs: list[Path]) -> dict[str, Path]:
    """The files by the names of their systems: the file's name without ``.gz`` and the ending before it."""
    found: dict[str, Path] = {}
    for path in runs:
        name = path.name.removesuffix(".gz").removesuffix(".zst")
        system = Path(name).stem if Path(name).suffix else name
        if system in found:
            raise UsageError(f"two runs are of the system {system!r}: {found[system]} and {path}; rename one of them")
        found[system] = path
    return found


def _table(
    found: Evaluation, level: float, permutations: int, seed: int, advance: Callable[[int, int | None], None]
) -> str:
    """Means with, of several systems, the letters that those share which do not differ; a row for each system and cut."""
    from tertulia.measures.letters import compact_letters
    from tertulia.measures.significance import tukey_hsd

    means = found.means()
    cells: dict[tuple[float | None, str], list[str]] = {}
    for column, measure in enumerate(found.measures):
        letters = [""] * len(found.systems)
        matrix = found.matrix(measure)
        if len(found.systems) > 1 and len(matrix):
            p_values = tukey_hsd(matrix, replicates=permutations, seed=seed, workers=os.cpu_count() or 1)
            letters = compact_letters(means[:, column].tolist(), p_values, level=level)
        advance(1, None)
        width = max(map(len, letters))
        cells[(measure.cut, measure.short)] = [
            f"{'–' if mean != mean else f'{mean:.4f}'} {letter:<{width}}".rstrip(" " if width == 0 else None)
            for mean, letter in zip(means[:, column].tolist(), letters, strict=True)
        ]
    parts = []
    for cut in dict.fromkeys(measure.cut for measure in found.measures):
        names = [measure.short for measure in found.measures if measure.cut == cut]
        rows = [[system, *(cells[(cut, name)][row] for name in names)] for row, system in enumerate(found.systems)]
        parts.append(f"{_cut_title(cut)}\n{table(['system', *names], rows)}")
    if len(found.systems) > 1:
        parts.append(f"Systems that share a letter do not differ (randomised Tukey HSD, p > {level:g}).")
    return "\n\n".join(parts)


def _what_counts(found: Evaluation) -> str:
    """Which contexts count at each cut: that of a measure is the same for all measures of the cut."""
    rows = {
        measure.cut: [
            _cut_title(measure.cut),
            number(int(counted)),
            number(len(found.contexts) - int(counted)),
            number(int(undecided)),
        ]
        for measure, counted, undecided in zip(found.measures, found.counted, found.undecided, strict=True)
    }
    header = ["contexts", "count", "left out: nothing relevant", "count, but any order is right"]
    return table(header, list(rows.values()), right={1, 2, 3})


def _cut_title(cut: float | None) -> str:
    from tertulia.measures.ranking_names import cut_name

    return "relevance as it is" if cut is None else f"relevance ≥ {cut_name(cut)}"


def _remark_oddities(found: Evaluation, read: Mapping[str, ReadRun]) -> None:
    for system, (contexts, candidates) in found.unanswered.items():
        if contexts or candidates:
            remark(
                f"{system}: {number(contexts)} of {number(len(found.contexts))} contexts without an answer count as 0"
                + (f", {number(candidates)} candidates without one as not retrieved" if candidates else "")
            )
        report: dict[str, dict[str, dict[str, Any]]] = read[system].report.to_json()
        for findings in report.values():
            for reason, finding in findings.items():
                remark(f"{system}: {number(finding['count'])} {reason} (first: {finding['first']})")
