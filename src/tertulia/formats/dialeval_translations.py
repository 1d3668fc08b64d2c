"""The translations of dialogues, joined by id: kept on disk while the dialogues themselves stream past."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from types import TracebackType

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import Place, Report
from tertulia.corpus.model import Dialogue, Utterance
from tertulia.errors import InputError

__all__ = ["Translations", "attach", "attached"]

ATTRIBUTE = "english"


class Translations:
    """A context manager: ``add`` every translation, then ``join`` every dialogue, then ask for those ``left``."""

    def __init__(self) -> None:
        # A database without a name is a temporary file that vanishes when it is closed.
        self._store = sqlite3.connect("", isolation_level=None)
        self._store.execute("CREATE TABLE translation (id TEXT PRIMARY KEY, turns TEXT, labels TEXT) WITHOUT ROWID")
        self._store.execute("BEGIN")
        self._left = 0
        self._any = False

    def __enter__(self) -> Translations:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()

    def add(self, identifier: str, turns: Sequence[tuple[str, list[str]]], annotations: object) -> None:
        """Keep a translation: the sender and the utterances of each turn, and what annotators say in its file.

        Raises
        ------
        InputError
            There is one of this id already.
        """
        labels = "" if not annotations else canonical_json(annotations)
        try:
            self._store.execute(
                "INSERT INTO translation VALUES (?, ?, ?)", (identifier, canonical_json(list(turns)), labels)
            )
        except sqlite3.IntegrityError:
            raise InputError(
                f"the id {identifier!r} stands here again; expected one translation of a dialogue"
            ) from None
        self._left += 1
        self._any = True

    def left(self) -> int:
        """How many translations no dialogue has taken."""
        return self._left

    def join(self, dialogue: Dialogue, annotations: object, report: Report, place: Place) -> None:
        """Put a dialogue's translation beside its utterances; what does not fit is counted."""
        if not self._any:
            return
        found = self._store.execute("SELECT turns, labels FROM translation WHERE id = ?", (dialogue.id,)).fetchone()
        if found is None:
            report.note("dialogues without a translation", place.shown)
            return
        self._left -= 1
        turns, labels = json.loads(found[0]), found[1]
        if annotations and labels and canonical_json(annotations) != labels:
            report.note("translations with other annotations; those of the dialogue stay", place.shown)
        rows: list[list[Utterance]] = []
        for utterance in dialogue.utterances:
            if utterance.turn == len(rows):
                rows.append([])
            rows[-1].append(utterance)
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
            utterance.attributes[ATTRIBUTE] = text


def attached(row: Sequence[Utterance]) -> list[str | None]:
    """The translation of a turn as ``attach`` takes it; empty where there is none."""
    texts = [_text(utterance) for utterance in row]
    if all(text is None for text in texts):
        return []
    return texts[:1] if len(texts) > 1 and all(text is None for text in texts[1:]) else texts


def _text(utterance: Utterance) -> str | None:
    text = utterance.attributes.get(ATTRIBUTE)
    return text if isinstance(text, str) else None
