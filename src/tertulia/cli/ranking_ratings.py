"""``tertulia ranking ratings``: the ratings of several people made one relevance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tertulia.cli.options import Json, Overwrite
from tertulia.cli.output import number, print_json, progress, remark, table
from tertulia.errors import UsageError

__all__ = ["RATINGS_EPILOG", "ratings"]

RATINGS_EPILOG = "Example: tertulia ranking ratings two-raters -o rated --scale 1,2,3,4,5"


def ratings(
    source: Annotated[Path, typer.Argument(metavar="SET", help="A ranking set with the ratings of several people.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="What to write.")],
    gap: Annotated[
        float,
        typer.Option("--gap", metavar="X", help="Drop candidates whose ratings are X or more apart; inf drops none."),
    ] = 2.0,
    scale: Annotated[
        str | None,
        typer.Option("--scale", metavar="A,B,...", help="All grades in order: 1,2,3,4,5. By default those that occur."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out and count candidates whose ratings do not hold.")
    ] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Make one relevance of several ratings. Where the ratings are far apart the candidate is dropped, else their mean counts.

    Prints the agreement of the raters before and after, with 95 % bootstrap intervals.
    """
    from tertulia.cli.findings import print_findings
    from tertulia.corpus.exchange import Report
    from tertulia.ranking.ratings import RatingOptions, rate_ranking_set

    options = RatingOptions(gap, None if scale is None else _scale(scale), skip_bad)
    report = Report()
    with progress("rating", unit="contexts") as advance:
        found = rate_ranking_set(source, output, options, report, overwrite=overwrite, progress=advance)
    if json_:
        print_json({"output": str(output), **found, "report": report.to_json()})
        return
    print(f"{output}: {', '.join(f'{number(count)} {what}' for what, count in found['counts'].items())}\n")
    _print_agreement(found["agreement"])
    _print_dropped(found)
    print_findings(report)
    remark(f"\ndivide it: tertulia corpus split {output} --by prompt")


def _scale(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(grade) for grade in text.split(","))
    except ValueError:
        raise UsageError(f"--scale has {text!r:.60}; expected grades such as 1,2,3,4,5") from None


def _print_agreement(agreement: dict[str, Any]) -> None:
    stages = [agreement["before"], agreement["after"]]
    rows = [
        ["candidates with two ratings or more", *(number(stage["pairs"]) for stage in stages)],
        ["equal ratings", *(_percent(stage["equal"]) for stage in stages)],
    ]
    if agreement["most_ratings"] <= 2:
        for name, weights in (("plain", ""), ("linear", ", linear weights"), ("quadratic", ", quadratic weights")):
            rows.append([f"Cohen's κ{weights}", *(_estimate(stage["kappa"][name]) for stage in stages)])
    rows += [
        [f"Krippendorff's α, {level}", *(_estimate(stage["alpha"][level]) for stage in stages)]
        for level in ("ordinal", "interval")
    ]
    gap = agreement["gap"]
    after = "after: nothing dropped" if gap is None else f"after: less than {gap:g} apart"
    print(table(["agreement of the raters", "before", after], rows, right={1, 2}))
    if agreement["most_ratings"] <= 2 < agreement["raters"]:
        print(f"\nκ is over the pairs of {number(agreement['raters'])} raters, in order of their names.")


def _print_dropped(found: dict[str, Any]) -> None:
    candidates, pairs = found["candidates"], found["agreement"]["before"]["pairs"]
    share, contexts = candidates["dropped"] / pairs, found["contexts_dropped"]
    print(
        f"\n{number(candidates['dropped'])} of {number(pairs)} candidates ({share:.1%}) dropped, "
        f"and {number(contexts)} context{'' if contexts == 1 else 's'} that had no other."
    )
    if not candidates["dropped"]:
        print("None was far apart: perhaps they were dropped before.")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _estimate(estimate: dict[str, float | None]) -> str:
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if value is None:
        return "–"
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"
