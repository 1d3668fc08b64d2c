"""``tertulia corpus stats`` and ``tertulia corpus plot``: what a corpus or ranking set holds, in figures and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tertulia.cli.options import Json
from tertulia.cli.output import number, print_json, progress, remark, table, visible

__all__ = ["plot", "stats"]

_Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The corpus or ranking set.")]
_Words = Annotated[
    str,
    typer.Option(
        "--words",
        metavar="auto|spaces|chinese",
        help="How words are counted: by white space, Chinese by rjieba; 'auto' looks at the text.",
    ),
]
# So many domains (or splits, layers, labels) are shown; --json has all.
_MOST_ROWS = 12
_MOST_LABELS = 5


def stats(directory: _Directory, words: _Words = "auto", json_: Json = False) -> None:
    """Count what a corpus or ranking set holds. Words, turns, domains, splits, labels and how far annotators agree."""
    from tertulia.corpus.statistics.describe import collection_statistics, records_of

    with progress("counting", unit=records_of(directory)) as advance:
        found = collection_statistics(directory, advance, words=words)
    if json_:
        print_json(found)
        return
    (_print_corpus if found["kind"] == "corpus" else _print_ranking_set)(found)


def plot(
    directory: _Directory,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The picture to write: .svg, .png or .html.")
    ],
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Of a corpus: turns-per-dialogue (if none is named), utterances-per-dialogue, words-per-utterance, domains, "
            "splits, labels, intents. Of a ranking set: responses-per-prompt (if none is named), rating-distribution, "
            "turns-per-context, words-per-context, words-per-response, domains, splits.",
        ),
    ] = None,
    layer: Annotated[
        str | None, typer.Option("--layer", metavar="LAYER", help="The annotation layer, for 'labels' and 'intents'.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="What the picture calls the corpus; its directory's name otherwise.")
    ] = None,
    words: _Words = "auto",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is at the output path.")] = False,
    json_: Json = False,
) -> None:
    """Draw one figure of a corpus or ranking set. An HTML page needs nothing from outside; --json prints the data."""
    from tertulia.corpus.statistics.describe import collection_statistics, records_of
    from tertulia.corpus.statistics.figures import figure_of
    from tertulia.corpus.statistics.plots import check_target, write_plot

    check_target(output, overwrite=overwrite)
    with progress("counting", unit=records_of(directory)) as advance:
        found = collection_statistics(directory, advance, words=words)
    drawn = figure_of(found, figure, layer=layer)
    write_plot(drawn, title if title is not None else directory.resolve().name, output, overwrite=overwrite)
    if json_:
        print_json({"output": str(output), **drawn.to_json()})
        return
    print(visible(f"{output}: {drawn.heading[:1].lower()}{drawn.heading[1:]}, {drawn.sample}"))


def _print_corpus(found: Mapping[str, Any]) -> None:
    _print_totals(found, ("dialogues", "utterances", "turns", "words", "vocabulary", "speakers"))
    _print_summaries(found, ("utterances_per_dialogue", "turns_per_dialogue", "words_per_utterance"))
    whole = ("dialogues", "utterances", "words", "vocabulary")
    means = ("utterances_per_dialogue", "turns_per_dialogue", "words_per_utterance")
    for side in ("domain", "split"):
        _print_groups(found, side, whole, means)
    _print_layers(found)


def _print_ranking_set(found: Mapping[str, Any]) -> None:
    _print_totals(found, ("contexts", "candidates", "turns", "words", "vocabulary"))
    _print_summaries(found, ("candidates_per_context", "turns_per_context", "words_per_context", "words_per_candidate"))
    whole = ("contexts", "candidates", "vocabulary")
    means = ("candidates_per_context", "words_per_context", "words_per_candidate")
    for side in ("domain", "split"):
        _print_groups(found, side, whole, means)
    _print_ratings(found)


def _print_totals(found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    width = max(len(number(found[name])) for name in names)
    for name in names:
        note = f"   by {found['tokenizer']['method']}" if name == "words" else ""
        print(f"{name:<12}{number(found[name]):>{width}}{note}")
    if found["tokenizer"]["remark"]:
        print(visible(f"\nabout the words: {found['tokenizer']['remark']}"))


def _print_summaries(found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    rows = []
    for name in names:
        block = found[name]
        rows.append(
            [
                name.replace("_", " "),
                _mean(block["mean"]),
                *(_brief(block[key]) for key in ("median", "min", "p95", "max")),
                _mean(block["standard_deviation"]),
            ]
        )
    print(f"\n{table(['', 'mean', 'median', 'min', '95 %', 'max', 'deviation'], rows, right={1, 2, 3, 4, 5, 6})}")


def _print_groups(found: Mapping[str, Any], side: str, whole: tuple[str, ...], means: tuple[str, ...]) -> None:
    blocks = found[f"by_{side}"]
    if not blocks:
        return
    ranked = sorted(blocks.items(), key=lambda item: -item[1][whole[0]]) if len(blocks) > _MOST_ROWS else blocks.items()
    rows = [
        [name, *(number(block[key]) for key in whole), *(_mean(block[key]) for key in means)]
        for name, block in list(ranked)[:_MOST_ROWS]
    ]
    header = [side, *whole, *(name.replace("_per_", " / ") for name in means)]
    print(f"\n{table(header, rows, right=set(range(1, len(header))))}")
    if len(blocks) > _MOST_ROWS:
        remark(f"the largest {_MOST_ROWS} of {len(blocks)} {side}s; --json has them all")


def _print_layers(found: Mapping[str, Any]) -> None:
    rows = []
    for name, block in list(found["labels"].items())[:_MOST_ROWS]:
        agreement = found["agreement"].get(name, {})
        rows.append(
            [
                name,
                number(block["annotations"]),
                number(block["annotators"]),
                "; ".join(part for part in map(_agreement, agreement.values()) if part) or "–",
                _answers(block),
            ]
        )
    if rows:
        header = ["layer", "annotations", "annotators", "agreement", "answers"]
        print(f"\n{table(header, rows, right={1, 2})}")
    if len(found["labels"]) > _MOST_ROWS:
        remark(f"the first {_MOST_ROWS} of {len(found['labels'])} layers; --json has them all")


def _agreement(block: Mapping[str, Any] | None) -> str | None:
    if block is None:
        return None
    if "f1" in block:
        return f"F1 {block['f1']:.2f} over spans"
    if block["alpha"] is None:
        return None
    low, high = block["interval"] or (block["alpha"], block["alpha"])
    return f"α {block['alpha']:.2f} [{low:.2f}, {high:.2f}], {number(block['units'])} units"


def _answers(block: Mapping[str, Any]) -> str:
    """The most frequent labels with their share of all labels, or the mean of the values."""
    parts = []
    if block["labels"]:
        total = sum(block["labels"].values())
        parts += [f"{label} {count / total:.0%}" for label, count in list(block["labels"].items())[:_MOST_LABELS]]
        if len(block["labels"]) > _MOST_LABELS:
            parts.append(f"{len(block['labels']) - _MOST_LABELS} more")
    if block["mean"] is not None:
        parts.append(f"mean {block['mean']:.2f}, from {block['min']:g} to {block['max']:g}")
    return ", ".join(parts) or "–"


def _print_ratings(found: Mapping[str, Any]) -> None:
    rows = []
    for name, what in (("relevance", "relevance"), ("ratings", "ratings")):
        block = found[name]
        if not block["number"]:
            continue
        agreement = _agreement(found["agreement"]) if name == "ratings" and found["agreement"] else None
        rows.append(
            [
                what,
                number(block["number"]),
                f"{block['mean']:.2f}",
                f"{block['min']:g} – {block['max']:g}",
                agreement or "–",
            ]
        )
    if rows:
        print(f"\n{table(['', 'number', 'mean', 'range', 'agreement'], rows, right={1, 2})}")
    values = found["relevance"]["values"] or found["ratings"]["values"] or {}
    if values and len(values) <= _MOST_ROWS:
        total = sum(values.values())
        listed = [[value, number(count), f"{count / total:.1%}"] for value, count in values.items()]
        print(
            f"\n{table(['value', 'candidates' if found['relevance']['values'] else 'ratings', 'share'], listed, right={0, 1, 2})}"
        )


def _mean(value: float | None) -> str:
    """A number with two digits after the point; a dash for none."""
    return number(None if value is None else float(value))


def _brief(value: float | None) -> str:
    """A number with at most two digits after the point, without needless ones."""
    if value is None:
        return "–"
    return number(int(value)) if value == int(value) else number(float(value))
