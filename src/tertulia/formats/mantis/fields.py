"""How a MANtIS file spells things: its fields, its times, its intents, and the files of its splits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tertulia.corpus.times import as_utc
from tertulia.errors import InputError
from tertulia.formats.files.fields import found, texts
from tertulia.formats.files.json_writing import NUMBER

__all__ = [
    "ANNOTATOR",
    "DIALOGUE",
    "DIALOGUE_OWN",
    "FILE",
    "INTENTS",
    "KEY",
    "LAYER",
    "UTTERANCE",
    "UTTERANCE_OWN",
    "file_of_split",
    "intents_to_json",
    "labels_of",
    "spelled_time",
    "split_of_file",
    "time_of",
    "time_to_json",
]

LAYER = "intent"
ANNOTATOR = "experts"
"""Two experts labelled; the release has one list of labels for both and does not name them."""
INTENTS = {
    "OQ": "Original Question",
    "FD": "Further Details",
    "FQ": "Follow Up Question",
    "IR": "Information Request",
    "PA": "Potential Answer",
    "PF": "Positive Feedback",
    "NF": "Negative Feedback",
    "GG": "Greetings / Gratitude",
    "O": "Other",
}
"""What the labels of the release stand for."""

DIALOGUE = frozenset({"dialog_id", "category", "title", "dialog_time", "utterances"})
UTTERANCE = frozenset({"actor_type", "utterance_pos", "utterance", "utterance_time", "id", "intent", "intents"})
"""The fields that the reader takes itself; ``votes``, ``is_answer`` and all others become attributes as they are."""
KEY, FILE = "key", "file"
"""The attributes for a dialogue's name in its file and for the file, where id and split do not tell them."""
DIALOGUE_OWN = frozenset({KEY, FILE, NUMBER, "dialog_id", "category", "title", "dialog_time"})
UTTERANCE_OWN = frozenset({"utterance_pos", "utterance_time", "id", "intent", "intents"})
"""Attributes with a meaning of their own, among them fields whose value the model does not hold as it is spelled."""

_SPLIT = re.compile(r"(?:^|[^a-z])(train|dev|valid|validation|test)(?![a-z])", re.IGNORECASE)

# As ``time_to_json`` spells a time without fractions of milliseconds; from Python 3.13 there is an hour 24.
_SHAPE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}")


def split_of_file(name: str) -> str | None:
    """The split that the name of a file says: ``merged_train.json`` holds ``train``."""
    match = _SPLIT.search(name.rpartition("/")[2])
    return match[1].lower() if match else None


def file_of_split(split: str | None) -> str:
    """The file that the dialogues of a split are written to."""
    return f"{'dialogues' if split is None else split}.json"


def time_of(value: Any) -> datetime | None:
    """The time in UTC that a value spells; ``None`` where it spells none."""
    return spelled_time(value)[0]


def spelled_time(value: Any) -> tuple[datetime | None, bool]:
    """The time in UTC that a value spells (``None`` where it spells none), and whether ``time_to_json`` spells it so."""
    if not isinstance(value, str):
        return None, False
    try:
        # A million of these stand in the release: what has its shape is read in one call and need not be spelled again.
        if _SHAPE.fullmatch(value):
            return datetime.fromisoformat(value + "+00:00"), True
        time = datetime.fromisoformat(value)
        moment = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None, False
    return moment, time_to_json(moment) == value


def time_to_json(moment: datetime) -> str:
    """``2017-06-21T18:19:15.123``: UTC without a zone, in milliseconds; finer only where there is something finer."""
    fine = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return as_utc(moment).isoformat(timespec=fine).removesuffix("+00:00")


def labels_of(value: Any, name: str) -> list[tuple[str, str]]:
    """Annotator and label of each intent: of a list of labels, of one label, or of an object of either by annotator.

    Raises
    ------
    InputError
        It is something else; ``name`` is that of the field.
    """
    pairs = []
    for who, labels in (value if isinstance(value, dict) else {ANNOTATOR: value}).items():
        if labels is None:
            continue
        if not isinstance(labels, str | list):
            raise InputError(f"{name} holds {found(labels)}; expected a list of labels")
        [annotator] = texts({f"{name}, an annotator": [who]}, f"{name}, an annotator")
        pairs += [(annotator, label) for label in texts({name: [labels] if isinstance(labels, str) else labels}, name)]
    return pairs


def intents_to_json(labels: Sequence[tuple[str, str]]) -> Any:
    """The sorted labels, by annotator where there is another than the release's; ``None`` without any."""
    if not labels:
        return None
    by_annotator: dict[str, list[str]] = {}
    for who, label in sorted(labels):
        by_annotator.setdefault(who, []).append(label)
    return by_annotator[ANNOTATOR] if by_annotator.keys() == {ANNOTATOR} else by_annotator
