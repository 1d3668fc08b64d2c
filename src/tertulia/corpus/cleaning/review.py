"""Marks in a corpus, what people say of them, and whether a mark is to be acted upon.

A mark is an annotation in a layer ``clean.<filter>``. A review is an annotation in the layer ``clean.review`` at the same
position and span, by anybody but a filter, with the label ``keep`` or ``remove``; its attribute ``filter`` names the filter whose
mark it is about, and without one it is about every mark there. Whoever says both has said nothing, the majority of people
decides, and a mark with as many for as against it, or without a review, is acted upon as the command says.
"""

from __future__ import annotations

from collections.abc import Iterable

from tertulia.corpus.model import Annotation

__all__ = [
    "KEEP",
    "LAYER",
    "REMOVE",
    "REVIEW_LAYER",
    "Reviews",
    "annotator_of",
    "filter_of",
    "is_mark",
    "layer_of",
    "majority",
]

LAYER = "clean."
REVIEW_LAYER = "clean.review"
KEEP = "keep"
REMOVE = "remove"
_FILTER_ANNOTATOR = "filter:"
_Place = tuple[int | None, int | None, int | None]


def layer_of(name: str) -> str:
    """The layer of a filter's marks."""
    return f"{LAYER}{name}"


def annotator_of(name: str) -> str:
    """The annotator of a filter's marks."""
    return f"{_FILTER_ANNOTATOR}{name}"


def is_mark(note: Annotation) -> bool:
    """Whether an annotation is a mark; anybody may make one."""
    return note.layer.startswith(LAYER) and note.layer != REVIEW_LAYER


def filter_of(note: Annotation) -> str:
    """The filter that a mark is of."""
    return note.layer.removeprefix(LAYER)


def majority(votes: Iterable[str]) -> str | None:
    """What most say, ``keep`` or ``remove``; ``None`` where nobody says anything or as many say the one as the other."""
    balance = sum((vote == REMOVE) - (vote == KEEP) for vote in votes)
    return None if balance == 0 else (REMOVE if balance > 0 else KEEP)


class Reviews:
    """What people say of the marks of one dialogue; ``unknown`` counts reviews with another label than the two."""

    def __init__(self, notes: Iterable[Annotation]) -> None:
        self.unknown = 0
        self._votes: dict[_Place, dict[tuple[str, str | None], set[str]]] = {}
        for note in notes:
            if note.layer != REVIEW_LAYER or note.annotator.startswith(_FILTER_ANNOTATOR):
                continue
            if note.label not in (KEEP, REMOVE):
                self.unknown += 1
                continue
            about = note.attributes.get("filter")
            place = (note.position, note.start, note.end)
            voter = (note.annotator, about if isinstance(about, str) else None)
            self._votes.setdefault(place, {}).setdefault(voter, set()).add(note.label)

    def decision(self, mark: Annotation) -> str | None:
        """``keep``, ``remove``, or ``None`` where people have not decided."""
        votes = self._votes.get((mark.position, mark.start, mark.end), {})
        name = filter_of(mark)
        # What a person says of this filter goes before what they say of all.
        chosen = {annotator: labels for (annotator, about), labels in votes.items() if about is None}
        chosen.update({annotator: labels for (annotator, about), labels in votes.items() if about == name})
        return majority(label for labels in chosen.values() if len(labels) == 1 for label in labels)
