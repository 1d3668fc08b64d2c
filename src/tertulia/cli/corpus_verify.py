"""``tertulia corpus verify``: the files against the manifest, and a recount against the publication."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tertulia.cli.output import number, print_json, progress, table, visible

__all__ = ["verify"]


def verify(
    corpus: Annotated[Path, typer.Argument(metavar="DIR", help="The corpus or ranking set.")],
    publication: Annotated[
        str | None,
        typer.Option("--publication", metavar="NAME", help="Hold it against this one; by default its format's own."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Check the files, and recount what the publication states. Prints published, found and difference."""
    from tertulia.corpus.opening import open_collection
    from tertulia.formats.verification.publication import publication_names, read_publication, verify_corpus

    if publication is not None:
        read_publication(publication)
    with open_collection(corpus, check_digests=True) as opened, progress("recounting", unit="records") as advance:
        found = verify_corpus(opened, advance, publication)
    if json_:
        print_json(found)
        return
    print(visible(f"{corpus}: every file is as its manifest says"))
    if found["publication"] is None:
        print("No publication is known for its format, so there is nothing to recount.")
        print(f"--publication holds it against one of: {', '.join(publication_names())}")
        return
    _print_figures(found)
    if found["agreement"] is not None:
        _print_agreement(found["agreement"])
    _print_remarks(found)


def _print_figures(found: dict[str, Any]) -> None:
    print(f"\n{found['publication']}\n")
    whole = found["partial"] is None
    rows = [
        [
            figure["what"],
            figure["measure"],
            _published(figure),
            _value(figure["found"], figure),
            _difference(figure),
            _mark(figure["met"]) if whole else "",
        ]
        for figure in found["figures"]
    ]
    header = ["what", "measure", "published", "found", "difference", ""]
    print(table(header[: 5 + whole], [row[: 5 + whole] for row in rows], right={2, 3, 4}))
    print()
    if not whole:
        part = found["partial"]
        print(
            f"This corpus holds {number(part['found'])} of {number(part['published'])} {part['what']}: a part, whose counts "
            "cannot be those of the whole."
        )
    compared = [figure for figure in found["figures"] if figure["met"] is not None]
    met = sum(figure["met"] for figure in compared)
    how = "exactly" if all(figure["unit"] == "count" for figure in compared) else "as exactly as they are stated"
    topics = ""
    if found["topics"]:
        topics = f"; of the {found['topics']} topics {found['topics_met']} in both conversations and turns"
    print(f"{met} of {len(compared)} figures are met {how}{topics}.")


def _published(figure: dict[str, Any]) -> str:
    return figure["printed"] or _value(figure["published"], figure)


def _value(value: float | None, figure: dict[str, Any]) -> str:
    if value is None:
        return "–"
    if figure["unit"] == "share":
        return f"{100 * value:.{max(figure['digits'] - 2, 0)}f} %"
    return f"{value:,.{figure['digits']}f}"


def _difference(figure: dict[str, Any]) -> str:
    difference = figure["difference"]
    if difference is None:
        return "–"
    if figure["unit"] == "share":
        text = f"{100 * difference:+.{max(figure['digits'] - 2, 0)}f}"
    else:
        text = f"{difference:+,.{figure['digits']}f}"
    # A difference that rounds to nothing has no sign.
    if not text.strip("+-0.,"):
        text = text.lstrip("+-")
    return f"{text} pp" if figure["unit"] == "share" else text


def _mark(met: bool | None) -> str:
    if met is None:
        return ""
    unicode = str(getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf")
    return ("✓" if met else "✗") if unicode else ("yes" if met else "no")


def _print_agreement(agreement: dict[str, Any]) -> None:
    scale = agreement["scale"]
    print(f"\nAgreement of the two raters, {scale[0]:g} to {scale[-1]:g}, with 95 % bootstrap intervals\n")
    stages = [agreement["before"], agreement["after"]]
    rows = [
        ["pairs", *(number(stage["pairs"]) for stage in stages)],
        ["equal ratings", *(_percent(stage["equal"]) for stage in stages)],
    ]
    for name, weights in (("plain", ""), ("linear", ", linear weights"), ("quadratic", ", quadratic weights")):
        rows.append([f"Cohen's κ{weights}", *(_estimate(stage["kappa"][name]) for stage in stages)])
    rows.append(["Krippendorff's α, ordinal", *(_estimate(stage["alpha"]["ordinal"]) for stage in stages)])
    header = ["", "before the filter", f"after: less than {agreement['gap']:g} apart"]
    print(table(header, rows, right={1, 2}))
    for count, what in (
        (agreement["not_two_ratings"], "responses have other than two ratings"),
        (agreement["off_the_scale"], "pairs have a rating off the scale"),
    ):
        if count:
            print(f"\n{number(count)} {what}, and are not among the pairs.")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _estimate(estimate: dict[str, float | None]) -> str:
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if value is None:
        return "–"
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _print_remarks(found: dict[str, Any]) -> None:
    if found["misprints"] or found["contradictions"] or found["notes"]:
        print()
    for line in found["misprints"]:
        print(f"A misprint: {line}.")
    for line in found["contradictions"]:
        print(f"The publication contradicts itself: {line}.")
    for line in found["notes"]:
        print(f"Note: {line}.")
