"""``tertulia corpus``: bring corpora in, look at them, take them out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tertulia.cli.corpus_clean import CLEAN_EPILOG, clean
from tertulia.cli.corpus_parts import merge, sample, split
from tertulia.cli.corpus_show import show
from tertulia.cli.corpus_stats import plot, stats
from tertulia.cli.corpus_verify import verify
from tertulia.cli.findings import print_findings
from tertulia.cli.options import Json, Overwrite, pairs
from tertulia.cli.output import number, print_json, progress, remark, table
from tertulia.errors import ConfigurationError

__all__ = ["app"]

app = typer.Typer(
    help="Import, look into, verify, divide, clean, export.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)

_Corpus = Annotated[Path, typer.Argument(metavar="DIR", help="The corpus.")]


@app.command("import", epilog="Example: tertulia corpus import self-dialogue path/to/self_dialogue_corpus -o sd")
def import_(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="The source's format; 'formats' lists them.")],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A path, or for 'log' a database URL.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The corpus to write.")],
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave malformed records out and count them.")] = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out dialogues whose texts equal those of one before.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="OURS=THEIRS,...", help="Which column is what: prompt=query,response=reply."),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option that only this format has.")
    ] = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Bring in conversations from an outside format. Says what was left out and what was odd, and where first."""
    from tertulia.corpus.exchange import Report
    from tertulia.formats.importing import import_corpus

    report = Report()
    with progress("reading", unit="bytes") as advance:
        corpus = import_corpus(
            format_,
            source,
            output,
            report,
            skip_bad=skip_bad,
            drop_duplicates=drop_duplicates,
            overwrite=overwrite,
            values=pairs(option or [], "--option"),
            columns=pairs(columns.split(",") if columns else [], "--columns"),
            progress=advance,
        )
    if json_:
        print_json({"corpus": str(output), "counts": corpus.manifest.counts, "report": report.to_json()})
        return
    counts = {what: count for what, count in corpus.manifest.counts.items() if count or what != "annotations"}
    print(f"{output}: {', '.join(f'{number(count)} {what}' for what, count in counts.items())}")
    print_findings(report)
    remark(f"\nlook into it: tertulia corpus show {output}    check it: tertulia corpus verify {output}")


@app.command("export", epilog="Example: tertulia corpus export jsonl sd -o sd.jsonl")
def export(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="The format to write; 'formats' lists them.")],
    corpus: _Corpus,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="PATH", help="The file or folder to write.")],
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write a corpus in an outside format. What the format cannot hold is counted."""
    from tertulia.corpus.exchange import Report
    from tertulia.formats.importing import export_corpus

    report = Report()
    with progress("writing", unit="records") as advance:
        count = export_corpus(format_, corpus, output, report, overwrite=overwrite, progress=advance)
    if json_:
        print_json({"output": str(output), "dialogues": count, "report": report.to_json()})
        return
    print(f"{output}: {number(count)} {'contexts' if _holds(format_) == 'ranking-set' else 'dialogues'}")
    print_findings(report)


@app.command("formats", epilog="Example: tertulia corpus formats")
def formats(json_: Json = False) -> None:
    """List the formats. What can be imported and exported, and the options that only some have."""
    from tertulia.formats.registry import FORMATS

    found = {name: _described(name) for name in FORMATS.names()}
    if json_:
        print_json(found)
        return
    rows = [
        [name, "read, write" if part["writes"] else "read", part["holds"], part["summary"]]
        for name, part in found.items()
    ]
    print(table(["format", "can", "holds", "what it is"], rows))
    own = [(name, option, text) for name, part in found.items() for option, text in part["options"].items()]
    if own:
        print("\nOptions that only they have (--option NAME=VALUE):\n")
        print(table(["format", "option", "what it does"], [list(row) for row in own]))


def _holds(name: str) -> str:
    return str(_described(name)["holds"])


def _described(name: str) -> dict[str, Any]:
    """What a format says of itself; one of another package that cannot be loaded hides no other."""
    from tertulia.corpus.exchange import held_by
    from tertulia.formats.registry import FORMATS

    try:
        part = FORMATS.get(name)
    except ConfigurationError as error:
        return {"summary": error.message, "writes": False, "holds": "–", "options": {}}
    holds, options = held_by(part), dict(getattr(part, "options", {}))
    if getattr(part, "takes_columns", False):
        options["--columns"] = "which column of the file is what: --columns prompt=query,response=reply"
    return {"summary": part.summary, "writes": part.writes, "holds": holds, "options": options}


app.command("split", epilog="Example: tertulia corpus split sd -o sd-split --fractions train=0.8,dev=0.1,test=0.1")(
    split
)
app.command("merge", epilog="Example: tertulia corpus merge films music -o both")(merge)
app.command("sample", epilog="Example: tertulia corpus sample sd -n 100 -o some")(sample)
app.command("verify", epilog="Example: tertulia corpus verify sd")(verify)
app.command("show", epilog="Example: tertulia corpus show sd 30MVJZJNHN7S6ZBS927OOZDGGV7J9I")(show)
app.command("stats", epilog="Example: tertulia corpus stats sd --json")(stats)
app.command("plot", epilog="Example: tertulia corpus plot sd -o turns.svg --figure turns-per-dialogue")(plot)
app.command("clean", epilog=CLEAN_EPILOG)(clean)
