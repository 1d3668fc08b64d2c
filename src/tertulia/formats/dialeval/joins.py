"""What other files say of the same dialogues, joined by id: translations, and labels that are published apart from the text.

It is kept on disk while the dialogues themselves stream past.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import Place, Report
from tertulia.corpus.model import Dialogue, Utterance
from tertulia.errors import InputError

__all__ = ["ENGLISH", "Shelf", "attach", "attached", "labelled", "translate"]

ENGLISH = "english"
"""The attribute of an utterance that holds its translation."""


class Shelf:
    """JSON objects by the id of their dialogue, each taken once. A context manager."""

    def __init__(self) -> None:
        # A database without a name is a temporary file that vanishes when it is closed.
        self._store = sqlite3.connect("", isolation_level=None)
        self._store.execute("CREATE TABLE shelf (id TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        self._store.execute("BEGIN")
        self.left = 0
        self._is_empty = True

    def __enter__(self) -> Shelf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def __bool__(self) -> bool:
        """Whether anything has ever been put here."""
        return not self._is_empty

    def put(self, identifier: str, value: dict[str, Any]) -> None:
        """Keep an object.

        Raises
        ------
        InputError
            There is one of this id already.
        """
        try:
            self._store.execute("INSERT INTO shelf VALUES (?, ?)", (identifier, canonical_json(value)))
        except sqlite3.IntegrityError:
            raise InputError(f"the id {identifier!r} stands here again; expected every id once") from None
        self.left += 1
        self._is_empty = False

    def take(self, identifier: str) -> dict[str, Any] | None:
        """The object of this id, ``None`` where there is none."""
        row = self._store.execute("SELECT value FROM shelf WHERE id = ?", (identifier,)).fetchone()
        if row is None:
            return None
        self.left -= 1
        value: dict[str, Any] = json.loads(row[0])
        return value


def labelled(
    value: dict[str, Any], senders: Sequence[str], labels: dict[str, Any] | None, report: Report, place: Place
) -> dict[str, Any]:
    """A dialogue's object with the annotations and split of its labels; what does not fit is counted.

    Parameters
    ----------
    value:
        The object of the dialogue, which is not changed.
    senders:
        The senders of its turns.
    labels:
        ``senders``, ``annotations`` and ``split`` of the labels, ``None`` where there are none of this id.
    """
    if labels is None:
        report.note("dialogues without labels in the file of labels", place.shown)
        return value
    if labels["senders"] != list(senders):
        report.skip("labels whose turns are not those of the dialogue", place.shown)
        return value
    if "annotations" in value:
        if value["annotations"] != labels["annotations"]:
            report.note("labels that differ from the dialogue's own, which stay", place.shown)
        return value
    return {"split": labels["split"], **value, "annotations": labels["annotations"]}


def translate(
    dialogue: Dialogue, annotations: object, translation: dict[str, Any] | None, report: Report, place: Place
) -> None:
    """Put a translation (its ``turns`` and ``annotations``) beside the utterances; what does not fit is counted."""
    if translation is None:
        report.note("dialogues without a translation", place.shown)
        return
    if annotations and translation["annotations"] and annotations != translation["annotations"]:
        report.note("translations with other annotations; those of the dialogue stay", place.shown)
    rows: list[list[Utterance]] = []
    for utterance in dialogue.utterances:
        if utterance.turn == len(rows):
            rows.append([])
        rows[-1].append(utterance)
    turns = translation["turns"]
    if [row[0].speaker for row in rows] != [sender for sender, _ in turns]:
        report.skip("translations whose turns are not those of the dialogue", place.shown)
        return
    for row, (_, texts) in zip(rows, turns, strict=True):
        if len(texts) != len(row) and any(texts):
            report.note("turns with another number of utterances in translation", place.shown)
        attach(row, texts)


def attach(row: Sequence[Utterance], texts: Sequence[str | None]) -> None:
    """Put the translation of a turn beside its utterances: one each, or all at the first where their numbers differ."""
    if len(texts) != len(row):
        texts = ["\n".join(text for text in texts if text)]
    for utterance, text in zip(row, texts, strict=False):
        if text is not None:
            utterance.attributes[ENGLISH] = text


def attached(row: Sequence[Utterance]) -> list[str | None]:
    """The translation of a turn as ``attach`` takes it; empty where there is none."""
    texts = [_text(utterance) for utterance in row]
    if all(text is None for text in texts):
        return []
    return texts[:1] if len(texts) > 1 and all(text is None for text in texts[1:]) else texts


def _text(utterance: Utterance) -> str | None:
    text = utterance.attributes.get(ENGLISH)
    return text if isinstance(text, str) else None
