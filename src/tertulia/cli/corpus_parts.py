"""``tertulia corpus split``, ``merge`` and ``sample``: corpora made of corpora."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from tertulia.cli.options import Json, Overwrite, pairs
from tertulia.cli.output import number, print_json, progress, table
from tertulia.errors import UsageError

__all__ = ["merge", "sample", "split"]

_Source = Annotated[Path, typer.Argument(metavar="DIR", help="The corpus or ranking set.")]
_Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="What to write.")]
_Seed = Annotated[int, typer.Option("--seed", help="Another seed gives another draw.")]


def split(
    corpus: _Source,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="What to write; none: DIR gets the splits.")
    ] = None,
    by: Annotated[
        Literal["dialogue", "prompt", "time"],
        typer.Option(
            "--by",
            help="dialogue: at random; prompt: dialogues of one first utterance stay together; time: the earliest first.",
        ),
    ] = "dialogue",
    fractions: Annotated[
        str | None,
        typer.Option("--fractions", metavar="NAME=SHARE,...", help="By default train=0.8,dev=0.1,test=0.1."),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts", metavar="NAME=N,...", help="Sizes instead of shares: dev=500,test=500; train the rest."
        ),
    ] = None,
    together: Annotated[
        str | None,
        typer.Option("--together", metavar="ATTRIBUTE", help="Those with the same value of it stay together: worker."),
    ] = None,
    seed: _Seed = 0,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Divide a corpus into train, dev and test. Equal texts, contexts of one dialogue and equal prompts are never on two sides."""
    from tertulia.corpus.parts.splitting import split_collection

    if fractions is not None and counts is not None:
        raise UsageError("--fractions and --counts exclude each other")
    shares = None if fractions is None else {name: _share(text) for name, text in _named(fractions, "--fractions")}
    sizes = None if counts is None else {name: _size(text) for name, text in _named(counts, "--counts")}
    with progress("splitting", unit="records") as advance:
        found = split_collection(
            corpus,
            output,
            by=by,
            fractions=shares,
            counts=sizes,
            together=together,
            seed=seed,
            overwrite=overwrite,
            progress=advance,
        )
    if json_:
        print_json({"output": str(output or corpus), "splits": found})
        return
    total = sum(found.values())
    rows = [[name, number(count), f"{count / total:.1%}" if total else "–"] for name, count in found.items()]
    print(f"{output or corpus}\n\n{table(['split', 'records', 'share'], rows, right={1, 2})}")


def _named(text: str, flag: str) -> Iterable[tuple[str, str]]:
    return pairs(text.split(","), flag, form="NAME=NUMBER,NAME=NUMBER", noun="split").items()


def _share(text: str) -> float:
    try:
        return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise UsageError(f"--fractions has {text!r}; expected a share such as 0.8 or 80%") from None


def _size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--counts has {text!r}; expected a whole number") from None


def merge(
    corpora: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Two or more of one kind.")],
    output: _Output,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Put the name of its corpus before every id, so that none meets another.")
    ] = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out dialogues whose texts equal those of one before.")
    ] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Merge corpora into one. A dialogue that stands in more than one is taken once, with the annotations of all."""
    from tertulia.cli.findings import print_findings
    from tertulia.corpus.exchange import Report
    from tertulia.corpus.parts.merging import merge_collections

    report = Report()
    with progress("merging", unit="records") as advance:
        merged = merge_collections(
            corpora,
            output,
            report,
            prefix=prefix,
            drop_duplicates=drop_duplicates,
            overwrite=overwrite,
            progress=advance,
        )
    if json_:
        print_json({"output": str(output), "counts": merged.manifest.counts, "report": report.to_json()})
        return
    print(f"{output}: {', '.join(f'{number(count)} {what}' for what, count in merged.manifest.counts.items())}")
    print_findings(report)


def sample(
    corpus: _Source,
    output: _Output,
    count: Annotated[int | None, typer.Option("-n", "--count", metavar="N", help="How many.", min=0)] = None,
    fraction: Annotated[float | None, typer.Option("--fraction", metavar="SHARE", help="What share: 0.1.")] = None,
    domain: Annotated[list[str] | None, typer.Option("--domain", help="Of this domain only; may be repeated.")] = None,
    split_: Annotated[list[str] | None, typer.Option("--split", help="Of this split only; may be repeated.")] = None,
    per: Annotated[
        Literal["domain", "split"] | None,
        typer.Option("--per", help="Draw the same share of every domain, or of every split."),
    ] = None,
    seed: _Seed = 0,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Draw a sample. A seeded draw of so many or of such a share, of some domains or splits, or all of these."""
    from tertulia.corpus.parts.sampling import sample_collection

    if count is None and fraction is None and not domain and not split_:
        raise UsageError("say how many: -n 100, or --fraction 0.1, or of which --domain or --split to take all")
    with progress("sampling", unit="records") as advance:
        found = sample_collection(
            corpus,
            output,
            count=count,
            fraction=fraction,
            domains=domain or [],
            splits=split_ or [],
            per=per,
            seed=seed,
            overwrite=overwrite,
            progress=advance,
        )
    if json_:
        print_json({"output": str(output), "counts": found.manifest.counts})
        return
    print(f"{output}: {', '.join(f'{number(n)} {what}' for what, n in found.manifest.counts.items())}")
