"""``tertulia stackexchange``: from a data dump to dialogues."""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tertulia.cli.findings import print_findings
from tertulia.cli.options import Json, Overwrite
from tertulia.cli.output import number, print_json, progress, remark, table
from tertulia.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BUILD_EPILOG", "app", "build"]

app = typer.Typer(
    help="From a data dump to dialogues and their pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
BUILD_EPILOG = "Example: tertulia stackexchange build beer.stackexchange.com.7z -o beer"


# Where there is no terminal, a line says what is being done when so much time has gone by since the last.
_PLAIN_EVERY_S = 5.0


class _Progress:
    """Shows the stages of a build, one after the other, on stderr."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._shown = ExitStack()
        self._stage = ""
        self._advance: Callable[[int, int | None], None] = lambda _step, _total: None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def _in_stage(self, stage: str, unit: str) -> None:
        if stage != self._stage:
            self._shown.close()
            self._stage = stage
            self._advance = self._shown.enter_context(progress(stage, unit=unit))

    def reading(self, step: int, total: int | None) -> None:
        self._in_stage("reading", "bytes")
        self._advance(step, total)

    def narrowing(self, what: str) -> None:
        self._in_stage(f"narrowing: {what}", "steps")
        if not sys.stderr.isatty() and time.monotonic() - self._said >= _PLAIN_EVERY_S:
            self._said = time.monotonic()
            remark(self._stage)

    def finishing(self, step: int, total: int | None) -> None:
        self._in_stage("finishing", "threads")
        self._advance(step, total)


def build(
    dumps: Annotated[
        list[Path], typer.Argument(metavar="DUMP...", help="Folders with Posts.xml and others, or .7z archives.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The corpus to write.")],
    criteria: Annotated[
        str | None,
        typer.Option("--criteria", metavar="A,B,...", help="Only these of the six, in this order; none for none."),
    ] = None,
    positive_threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--positive-threshold",
            metavar="[DOMAIN=]X",
            help="The score, from -1 to 1, that makes a seeker's last word positive. By default 0.3.",
        ),
    ] = None,
    edited: Annotated[
        str,
        typer.Option("--edited", metavar="marker|history", help="Edited by the text's own words, or by its history."),
    ] = "marker",
    text: Annotated[
        str, typer.Option("--text", metavar="plain|markdown|html", help="What becomes of the posts' HTML.")
    ] = "plain",
    split: Annotated[
        str,
        typer.Option("--split", metavar="NAME=SHARE,...", help="Splits by time, the earliest first; none for none."),
    ] = "train=0.7,dev=0.15,test=0.15",
    site: Annotated[
        list[str] | None,
        typer.Option(
            "--site", metavar="NAME=HOST", help="The site that the dump NAME is of, where its name does not tell."
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option("--engine", metavar="duckdb|spark", help="What joins the tables: in this process, or a cluster."),
    ] = "duckdb",
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The master of the Spark cluster: spark://host:7077.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, help="Threads and processes. By default one a processor."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="For intermediate files. By default in your cache directory."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep the parsed tables for the next build, or remove them.")
    ] = True,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave malformed rows out and count them.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Build a corpus of dialogues. Says how many threads there were and what each criterion removed."""
    from tertulia.stackexchange.build import build_corpus
    from tertulia.stackexchange.criteria import POSITIVE_THRESHOLD, criteria_named
    from tertulia.stackexchange.options import BuildOptions

    default, thresholds = _thresholds(positive_threshold or [])
    options = BuildOptions(
        criteria=criteria_named(None if criteria is None else [name.strip() for name in criteria.split(",")]),
        positive_threshold=POSITIVE_THRESHOLD if default is None else default,
        thresholds=thresholds,
        edited=edited,  # type: ignore[arg-type]  # checked by BuildOptions
        text=text,  # type: ignore[arg-type]
        split=_shares(split),
        sites=_sites(site or []),
        skip_bad=skip_bad,
        engine=engine,
        master=master,
        workers=workers,
        cache=cache,
        keep=keep,
    )
    with _Progress() as stages:
        result = build_corpus(dumps, output, options, overwrite=overwrite, stages=stages)
    if json_:
        report = result.report.to_json()
        print_json({"corpus": str(output), "counts": result.counts, "funnel": result.funnel, "report": report})
        return
    counts = {what: count for what, count in result.counts.items() if count or what != "annotations"}
    print(f"{output}: {', '.join(f'{number(count)} {what}' for what, count in counts.items())}\n")
    print(_funnel(result.funnel))
    print_findings(result.report)
    remark(
        f"\nlook into it: tertulia corpus show {output}    its pages: tertulia stackexchange links {output} -o links.jsonl"
    )
    remark("whoever publishes it must credit each author, link to each source and name its licence (CC BY-SA):")
    remark("the attributes author, url and licence of every utterance have what that takes")


app.command("build", epilog=BUILD_EPILOG)(build)


def _funnel(steps: list[dict[str, Any]]) -> str:
    """The funnel as a table; ``alone`` is what a criterion would remove of all candidates."""
    rows = [
        [step["step"], number(step["kept"]), number(step["removed"]), number(step["alone"]) if "alone" in step else ""]
        for step in steps
    ]
    return table(["step", "kept", "removed", "alone"], rows, right={1, 2, 3})


def _thresholds(given: list[str]) -> tuple[float | None, dict[str, float]]:
    """The threshold for all domains, where there is one, and those of single domains."""
    default: float | None = None
    thresholds: dict[str, float] = {}
    for text in given:
        domain, sign, value = text.rpartition("=")
        domain = domain.strip()
        score = _number(value, "--positive-threshold", text, "a score such as 0.3, or DOMAIN=0.3")
        if sign and not domain:
            raise UsageError(f"--positive-threshold has {text!r}; expected a score such as 0.3, or DOMAIN=0.3")
        if (domain in thresholds) if sign else default is not None:
            raise UsageError(f"--positive-threshold is given twice for {domain or 'all domains'}")
        if sign:
            thresholds[domain] = score
        else:
            default = score
    return default, thresholds


def _shares(text: str) -> dict[str, float] | None:
    """Split → share; ``None`` for the word ``none``."""
    if text.strip() == "none":
        return None
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, value = _pair(part, "--split", "NAME=SHARE,... or none")
        percent = value.endswith("%")
        share = _number(value.removesuffix("%"), "--split", text, "shares such as 0.7 or 70%") / (100 if percent else 1)
        if name in shares:
            raise UsageError(f"--split names {name!r} twice")
        shares[name] = share
    return shares


def _sites(given: list[str]) -> dict[str, str]:
    found = [_pair(text, "--site", "NAME=HOST") for text in given]
    for name, _ in found:
        if [other for other, _ in found].count(name) > 1:
            raise UsageError(f"--site names the dump {name!r} twice")
    return dict(found)


def _pair(text: str, flag: str, expected: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not name or not sign or not value:
        raise UsageError(f"{flag} has {text!r}; expected {expected}")
    return name, value


def _number(value: str, flag: str, text: str, expected: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UsageError(f"{flag} has {text!r}; expected {expected}")
    return found
