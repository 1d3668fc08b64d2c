"""Which examples belong together, so that none of them may be learned from where another is judged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

__all__ = ["folded_turns", "group_numbers", "question_of"]

# Dialogues that open with the same text of so many characters are about one question; a shorter one may be a greeting.
_A_QUESTION = 40


def group_numbers(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """A number for each item (given by its keys), equal for those that share a key, directly or through others.

    It is the place of the group's first item, so it does not depend on the order in which keys come.
    """
    parent: list[int] = []

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    seen: dict[Hashable, int] = {}
    for number, own in enumerate(keys):
        parent.append(number)
        for key in own:
            one, other = root(number), root(seen.setdefault(key, number))
            parent[max(one, other)] = min(one, other)
    return [root(number) for number in range(len(parent))]


def folded_turns(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts as they are compared: without regard to case and white space."""
    return tuple(" ".join(text.lower().split()) for text in texts)


def question_of(turns: Sequence[str]) -> str | None:
    """The first of folded turns where it is long enough to be a question that others answer too; ``None`` for a greeting."""
    return turns[0] if turns and len(turns[0]) >= _A_QUESTION else None
