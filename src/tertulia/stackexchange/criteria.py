"""The six criteria that a thread must meet to be a dialogue of the corpus, their names and their order."""

from __future__ import annotations

from collections.abc import Sequence

from tertulia.errors import ConfigurationError

__all__ = ["CRITERIA", "POSITIVE_ENDING", "POSITIVE_THRESHOLD", "bit_of", "criteria_named"]

CRITERIA = (
    "two-users",
    "two-utterances-each",
    "grounded",
    "not-offensive",
    "not-edited",
    "positive-ending",
)
"""Bit ``i`` of a mask of criteria stands for the criterion of this index."""
POSITIVE_ENDING = "positive-ending"
"""The one criterion that takes the text of an utterance to judge; the others are told by the tables."""
POSITIVE_THRESHOLD = 0.3
"""The least compound score of VADER that makes the seeker's last word positive, where its domain has none of its own."""


def bit_of(criterion: str) -> int:
    """The bit of a criterion, as a number with that bit alone set."""
    return 1 << CRITERIA.index(criterion)


def criteria_named(names: Sequence[str] | None) -> tuple[str, ...]:
    """The criteria of these names, in the order given; all six for ``None``, none for the one name ``none``.

    Raises
    ------
    ConfigurationError
        There is no such criterion, or one is named twice.
    """
    if names is None:
        return CRITERIA
    if list(names) == ["none"]:
        return ()
    for name in names:
        if name not in CRITERIA:
            raise ConfigurationError(
                f"there is no criterion {name!r}; there are: {', '.join(CRITERIA)}", hint="none switches all off"
            )
        if list(names).count(name) > 1:
            raise ConfigurationError(f"the criterion {name!r} is named twice")
    return tuple(names)
