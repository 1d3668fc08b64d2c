"""``tertulia corpus show``: one dialogue or context, or the first few."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tertulia.cli.output import number, print_json, remark, table, visible

if TYPE_CHECKING:
    from tertulia.corpus.model import Dialogue, RankingRecord, Record
    from tertulia.corpus.ranking_set import RankingSet
    from tertulia.corpus.store import Corpus

__all__ = ["show"]

_FIRST = 10


def show(
    corpus: Annotated[Path, typer.Argument(metavar="DIR", help="The corpus or ranking set.")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The dialogue or context; none: the first few.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Print one dialogue, or the first few. One comes with its annotations, without reading the rest."""
    from tertulia.corpus.opening import open_collection
    from tertulia.corpus.store import Corpus

    with open_collection(corpus) as opened:
        if isinstance(opened, Corpus):
            _show_corpus(opened, identifier, json_)
        else:
            _show_ranking_set(opened, identifier, json_)


def _show_corpus(corpus: Corpus, identifier: str | None, json_: bool) -> None:
    from tertulia.formats.jsonl import record_to_json

    if identifier is not None:
        record = corpus.get(identifier)
        if json_:
            print_json(record_to_json(record))
        else:
            print(visible(_dialogue_text(record)))
        return
    first = [record.dialogue for record in islice(corpus.records(), _FIRST)]
    if json_:
        print_json({"dialogues": len(corpus), "first": [dialogue.id for dialogue in first]})
        return
    rows = [
        [dialogue.id, dialogue.domain or "–", number(len(dialogue.utterances)), _opening(dialogue)]
        for dialogue in first
    ]
    _print_first(corpus, "dialogues", ["dialogue", "domain", "utterances", "opening"], rows)


def _show_ranking_set(ranking_set: RankingSet, identifier: str | None, json_: bool) -> None:
    if identifier is not None:
        record = ranking_set.get(identifier)
        if json_:
            print_json(_context_json(record))
        else:
            print(visible(_context_text(record)))
        return
    first = list(islice(ranking_set.records(), _FIRST))
    if json_:
        print_json({"contexts": len(ranking_set), "first": [record.context.id for record in first]})
        return
    rows = [
        [
            record.context.id,
            record.context.split or "–",
            number(len(record.candidates)),
            _short(record.context.texts[-1] if record.context.turns else "", 60),
        ]
        for record in first
    ]
    _print_first(ranking_set, "contexts", ["context", "split", "candidates", "last turn"], rows)


def _print_first(opened: Corpus | RankingSet, what: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"{opened.path}: {number(len(opened))} {what}" + ("; the first of them:\n" if rows else ""))
    if rows:
        print(table(header, rows, right={2}))
        remark(f"\none whole: tertulia corpus show {opened.path} {rows[0][0]}")


def _context_json(record: RankingRecord) -> dict[str, Any]:
    from dataclasses import asdict

    value = asdict(record.context)
    value["candidates"] = [asdict(candidate) for candidate in record.candidates]
    return value


def _context_text(record: RankingRecord) -> str:
    context = record.context
    head = [part for part in (context.id, context.dialogue_id, context.domain, context.split) if part]
    lines = ["  ·  ".join(head), ""]
    lines += [f"{turn.role or '–':<7}{_indented(turn.text, 7)}" for turn in context.turns]
    lines.append("")
    for candidate in record.candidates:
        relevance = "–" if candidate.relevance is None else f"{candidate.relevance:.4g}"
        ratings = ", ".join(f"{rating.annotator} {rating.value:g}" for rating in candidate.ratings)
        beside = "  ".join(part for part in (ratings, candidate.source) if part)
        lines.append(f"{candidate.position:>3}  {relevance:>6}  {_indented(candidate.text, 13)}")
        if beside:
            lines.append(f"{'':>13}↳ {beside}")
    if context.attributes:
        lines += ["", "  ".join(f"{key}={value}" for key, value in sorted(context.attributes.items()))]
    return "\n".join(lines)


def _indented(text: str, width: int) -> str:
    return text.replace("\n", "\n" + " " * width)


def _dialogue_text(record: Record) -> str:
    dialogue = record.dialogue
    head = [part for part in (dialogue.id, dialogue.domain, dialogue.title, dialogue.split) if part]
    lines = ["  ·  ".join(head)]
    if dialogue.started_at:
        lines.append(f"{dialogue.started_at:%Y-%m-%d %H:%M} UTC")
    lines.append("")
    width = max((len(u.speaker) for u in dialogue.utterances), default=0)
    for utterance in dialogue.utterances:
        text = _indented(utterance.text, width + 7)
        lines.append(f"{utterance.position:>3}  {utterance.speaker:<{width}}  {text}")
        lines += [
            f"{'':>3}  {'':<{width}}    ↳ {note.layer} ({note.annotator}): {_annotation_text(note, utterance.text)}"
            for note in record.annotations
            if note.position == utterance.position
        ]
    lines += [
        f"dialogue  {note.layer} ({note.annotator}): {_annotation_text(note, '')}"
        for note in record.annotations
        if note.position is None
    ]
    if dialogue.attributes:
        lines += ["", "  ".join(f"{key}={value}" for key, value in sorted(dialogue.attributes.items()))]
    return "\n".join(lines)


def _annotation_text(note: Any, text: str) -> str:
    answer = " ".join(str(part) for part in (note.label, note.value) if part is not None)
    span = f" “{text[note.start : note.end]}”" if note.start is not None else ""
    return f"{answer}{span}"


def _opening(dialogue: Dialogue) -> str:
    return _short(dialogue.utterances[0].text, 60) if dialogue.utterances else "(no utterance)"


def _short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
