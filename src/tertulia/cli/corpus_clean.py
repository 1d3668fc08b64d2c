"""``tertulia corpus clean``: filters over a corpus or ranking set, and the decisions of people about what they marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tertulia.cli.output import number, print_json, progress, remark, table, visible
from tertulia.errors import UsageError

if TYPE_CHECKING:
    from tertulia.corpus.cleaning.report import CleaningReport

__all__ = ["CLEAN_EPILOG", "clean"]

CLEAN_EPILOG = "Example: tertulia corpus clean sd -o clean --filters offensive:drop,personal:mask,duplicates:drop"


def clean(
    corpus: Annotated[Path | None, typer.Argument(metavar="DIR", help="The corpus or ranking set.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="DIR", help="What to write.")] = None,
    filters: Annotated[
        str | None,
        typer.Option(
            "--filters",
            metavar="NAME[:ACTION],...",
            help="The filters, each with mark (the default), drop or mask. With --apply: whose marks; none: all.",
        ),
    ] = None,
    language: Annotated[
        Literal["auto", "en", "zh"], typer.Option("--language", help="Of the texts; zh takes English in them too.")
    ] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FILTER.NAME=VALUE", help="A setting of a filter. May be given several times."),
    ] = None,
    apply: Annotated[
        Literal["drop", "mask"] | None,
        typer.Option("--apply", help="Act upon the marks that are in DIR, but those that people say to keep."),
    ] = None,
    reviewed: Annotated[
        bool, typer.Option("--reviewed", help="With --apply: only marks that people say to remove.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the filters with their settings, and exit.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at the output path.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Find what should not be in a corpus, and mark, drop or mask it. Everything found is counted.

    Filters: offensive (language), personal (details), needs-knowledge (prompts that no bot can answer), language
    (another one), short, duplicates; --list says more. Marks are annotations that people can review; --apply acts
    upon them.
    """
    if list_:
        _print_filters(json_)
        return
    if corpus is None or output is None:
        raise UsageError("corpus clean needs DIR and -o DIR (or --list)")
    from tertulia.corpus.cleaning.clean import apply_marks, clean_corpus
    from tertulia.corpus.cleaning.plan import parse_plan
    from tertulia.corpus.cleaning.report import CleaningReport

    names = [name for name in (filters or "").split(",") if name.strip()]
    report = CleaningReport()
    if apply is not None:
        if settings or any(":" in name for name in names):
            raise UsageError("--apply acts upon marks that are there: it takes names of filters only, and no --set")
        with progress("cleaning", unit="records") as advance:
            apply_marks(
                corpus,
                output,
                apply,
                report,
                filters=[name.strip() for name in names],
                reviewed=reviewed,
                overwrite=overwrite,
                progress=advance,
            )
    else:
        if reviewed:
            raise UsageError("--reviewed goes with --apply")
        if not names:
            raise UsageError("corpus clean needs --filters (or --apply); --list says which there are")
        plan = parse_plan(names, settings or [], language)
        with progress("cleaning", unit="records") as advance:
            clean_corpus(corpus, output, plan, report, overwrite=overwrite, progress=advance)
    if json_:
        print_json({"output": str(output), **report.to_json()})
        return
    _print_report(output, report)
    if any(row.action == "mark" and row.count for row in report.rows()):
        remark(
            f"\nact upon the marks: tertulia corpus clean {output} -o CLEAN --apply drop   (docs/cleaning.md: reviews)"
        )


def _print_report(output: Path, report: CleaningReport) -> None:
    dropped = report.read - report.kept
    print(f"{output}: {number(report.kept)} of {number(report.read)} {report.unit} kept, {number(dropped)} dropped\n")
    rows = [[row.filter, row.action, row.kind, number(row.count), row.first or ""] for row in report.rows()]
    if rows:
        print(table(["filter", "action", "kind", "found", "first"], rows, right={3}))
    else:
        print("No mark was acted upon.")
    lines = [f"{number(count)} {report.unit} dropped by {name}" for name, count in report.dropped.items()]
    lines += [f"{number(count)} candidates dropped by {name}" for name, count in report.candidates_dropped.items()]
    if report.masked:
        lines.append(
            f"{number(report.masked)} spans masked; {number(report.moved)} annotations moved with them, "
            f"{number(report.clipped)} were clipped"
        )
    lines += [f"{number(note.count)} {reason} (first: {note.first})" for reason, note in report.notes.noted.items()]
    if lines:
        print(visible("\n" + "\n".join(lines)))


def _print_filters(json_: bool) -> None:
    from tertulia.corpus.cleaning.registry import FILTERS

    parts = {name: FILTERS.factory(name) for name in FILTERS.names()}
    if json_:
        print_json(
            {
                name: {
                    "summary": part.summary,
                    "masks": part.maskable,
                    "settings": {key: {"default": s.default, "help": s.help} for key, s in part.settings.items()},
                }
                for name, part in parts.items()
            }
        )
        return
    rows = [[name, "mark, drop, mask" if p.maskable else "mark, drop", p.summary] for name, p in parts.items()]
    print(table(["filter", "actions", "finds"], rows))
    settings = [
        [f"{name}.{key}", str(s.default) or "–", s.help] for name, p in parts.items() for key, s in p.settings.items()
    ]
    print("\n" + table(["setting", "default", "meaning"], settings))
