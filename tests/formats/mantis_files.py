"""What the tests of the mantis format share: made-up dialogues as the release spells them, reading and writing."""

import json
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest, canonical_json
from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Record
from tertulia.corpus.store import write_corpus
from tertulia.formats.mantis.format import MantisFormat


def said(place: int, who: str, text: str, **fields: Any) -> dict[str, Any]:
    return {
        "actor_type": who,
        "utterance_pos": place,
        "utterance": text,
        "votes": 3,
        "utterance_time": f"2015-04-0{place}T10:20:30.450",
        "is_answer": int(who == "agent"),
        "id": f"77_{place}",
        **fields,
    }


def dialogue(*utterances: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "category": "gardens",
        "title": "Why do my tomatoes sulk?",
        "dialog_time": "2015-04-01T10:20:30.450",
        "utterances": list(utterances),
        **fields,
    }


TOMATOES = dialogue(
    said(1, "user", "My tomatoes sulk. Why?", intent=["OQ"], user_name="Ivy", votes="12"),
    said(2, "agent", "They are thirsty, see <a href='#'>here</a>. What soil is it?", intent=["PA", "IR"]),
    said(3, "user", "Clay, and thanks!", intent=["FD", "GG"], votes=None),
    said(4, "agent", "Then dig in some sand.", intent=["PA"]),
    has_intent_labels=True,
)
BEANS = dialogue(said(1, "user", "Beans or peas?"), said(2, "agent", "Beans."), title="Beans")


def read(source: Path, **options: Any) -> tuple[list[Record], Report]:
    report = Report()
    return list(MantisFormat().read(str(source), report, ReadOptions(**options))), report


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def write(records: list[Record], path: Path) -> Report:
    report = Report()
    MantisFormat().write(iter(records), str(path), report)
    return report


def written(records: list[Record], path: Path) -> tuple[Any, Report]:
    report = write(records, path)
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8")), report
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {f.relative_to(path).as_posix(): json.loads(f.read_text(encoding="utf-8")) for f in files}, report


def by_corpus(records: list[Record], folder: Path) -> list[Record]:
    """The records as a corpus on disk gives them: in order of id, with their annotations in order."""
    with write_corpus(folder, records, Manifest("corpus")) as corpus:
        return list(corpus.records())


def same_json(first: Any, second: Any) -> bool:
    return canonical_json(first) == canonical_json(second)


SHEET = """17
user
Why is the sky blue?
OQ

agent
Because blue light scatters, see the link.
PA, FD

==================
4
user
Is it?

agent
It is.

user
Thanks!

==================
""".replace("\n\nagent\nBecause", "\nagent\nBecause").replace("FD\n\n", "FD\n")
