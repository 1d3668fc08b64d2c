"""What a learned part of the features is: it is fitted on examples, and gives columns of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.lexicon import Lexicon
    from tertulia.ranking.features.texts import Conversation, Text
    from tertulia.ranking.ranker import FitRun

__all__ = ["LearnedPart", "Read"]


@dataclass(frozen=True, slots=True)
class Read:
    """An example, read: its turns, and its candidates in order."""

    example: Example
    conversation: Conversation
    responses: Sequence[Text]


class LearnedPart(Protocol):
    """Columns that come from something learned of train.

    ``features`` are their names and what they are. Where ``held_out``, a train example is read by a part that was fitted on the
    other folds: what it learned of an example would look better there than it will be on a new one. A part of the other kind is
    told that an example is its own, and leaves it out by itself.
    """

    name: ClassVar[str]
    features: ClassVar[Mapping[str, str]]
    held_out: ClassVar[bool]

    @classmethod
    def fit(cls, examples: Sequence[Example], lexicon: Lexicon, run: FitRun) -> Self:
        """What is learned of examples; of none, something that tells nothing."""
        ...

    def columns(self, read: Sequence[Read], *, own: bool) -> NDArray[np.float64]:
        """Values of the shape (candidates of all, features); ``own`` says that it was fitted on these very examples."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], lexicon: Lexicon) -> Self:
        """The part that was written; a ``KeyError``, ``ValueError`` or ``IndexError`` where it does not hold."""
        ...
