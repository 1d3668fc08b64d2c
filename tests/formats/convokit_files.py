"""What the tests of the convokit format share: corpora as ConvoKit writes them, reading and writing."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from tertulia.artefact import canonical_json
from tertulia.corpus import tables
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Record
from tertulia.formats.convokit.format import ConvoKitFormat

FILES = ["conversations.json", "corpus.json", "index.json", "speakers.json", "utterances.jsonl"]


def utterance(identifier: str, text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "conversation_id": "c1",
        "text": text,
        "speaker": "ann",
        "meta": {},
        "reply-to": None,
        "timestamp": None,
        "vectors": [],
    } | fields


def folder(path: Path, utterances: list[Any], **files: Any) -> Path:
    path.mkdir(parents=True)
    lines = [line if isinstance(line, str) else json.dumps(line) for line in utterances]
    (path / "utterances.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    contents = {"conversations": {}, "speakers": {}, "corpus": {}, "index": {}} | files
    for name, content in contents.items():
        (path / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(ConvoKitFormat().read(str(source), report, ReadOptions(**options))), report


def write(path: Path, given: list[Record]) -> Path:
    ConvoKitFormat().write(iter(given), str(path), Report())
    return path


def one(source: Path, **options: Any) -> Record:
    [record], _ = read(source, **options)
    return record


def as_text(found: list[Record]) -> list[str]:
    """Records as texts that tell 1 from 1.0 and true, in order of id, annotations in the order of a corpus."""
    texts = []
    for record in sorted(deepcopy(found), key=lambda record: record.dialogue.id):
        record.annotations.sort(key=tables.annotation_order)
        holders = [record.dialogue, *record.dialogue.utterances, *record.annotations]
        attributes = [canonical_json(holder.attributes) for holder in holders]
        for holder in holders:
            holder.attributes = {}
        texts.append(f"{record!r} {attributes}")
    return texts
