"""How a ranker reads texts: the words of a language, and which turns of a context count how much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from tertulia.errors import ArtefactError, ConfigurationError
from tertulia.retrieval.tokenizer import Tokenizer, tokenizer_for

if TYPE_CHECKING:
    from tertulia.ranking.examples import Example

__all__ = ["LANGUAGES", "SegmentedTokenizer", "Wording", "guess_language"]

LANGUAGES = ("en", "zh", "segmented")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_SAMPLE = 2_000
# A Chinese word has 1.5 characters on average: a text of so many without a space is not segmented.
_LONG, _FEW = 6, 4


class SegmentedTokenizer:
    """Words that stand apart already: runs of what is not white space, in lower case, punctuation among them."""

    name = "segmented-1"

    def words(self, text: str) -> list[str]:
        """The words of ``text``."""
        return text.lower().encode("utf-8", "replace").decode("utf-8").split()


@dataclass(frozen=True)
class Wording:
    """Texts to words, contexts to prompts.

    ``language`` is ``en``, ``zh`` (segmented by rjieba) or ``segmented`` (the texts have a space between words). ``turns`` is how
    many of a context's last turns count, ``None`` for all; a turn counts ``decay`` times as much as the one after it.
    """

    language: str = "en"
    turns: int | None = None
    decay: float = 0.5
    tokenizer: Tokenizer = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ConfigurationError(f"the language is {self.language!r}; expected one of {', '.join(LANGUAGES)}")
        if self.turns is not None and (not isinstance(self.turns, int) or self.turns < 1):
            raise ConfigurationError(f"{self.turns} turns of a context are to count; expected a whole number from 1")
        if not isinstance(self.decay, int | float) or not 0 <= self.decay <= 1:
            raise ConfigurationError(f"the decay of turns is {self.decay}; expected a number from 0 to 1")
        tokenizer = SegmentedTokenizer() if self.language == "segmented" else tokenizer_for(self.language)
        object.__setattr__(self, "tokenizer", tokenizer)

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return self.tokenizer.words(text)

    def weighted_turns(self, example: Example) -> list[tuple[str, float]]:
        """The turns that count, the last first, each with its weight: 1, decay, decay², …; those of weight 0 are left out."""
        counted = reversed(example.turns if self.turns is None else example.turns[-self.turns :])
        weighed = ((turn.text, self.decay**age) for age, turn in enumerate(counted))
        return [(text, weight) for text, weight in weighed if weight > 0]

    def to_json(self) -> dict[str, Any]:
        """What ``from_json`` takes."""
        return {"language": self.language, "turns": self.turns, "decay": self.decay, "tokenizer": self.tokenizer.name}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Wording:
        """The wording that was written.

        Raises
        ------
        ArtefactError
            It is none, or of a tokenizer that this version does not have.
        """
        try:
            wording = cls(value["language"], value["turns"], value["decay"])
        except (KeyError, TypeError, ConfigurationError) as error:
            raise ArtefactError(f"has no wording that holds: {error}") from None
        if value.get("tokenizer") != wording.tokenizer.name:
            raise ArtefactError(f"has words by {value.get('tokenizer')!r}; this version has {wording.tokenizer.name!r}")
        return wording


def guess_language(examples: Iterable[Example]) -> str:
    """``zh`` where a third of the letters are Chinese characters, ``segmented`` where these stand between spaces, else ``en``.

    Texts of six Chinese characters or more tell the two apart: most of them stand in pieces of less than four. The first 2,000
    texts are looked at.
    """
    letters = han = apart = together = 0
    for text in islice(_texts(examples), _SAMPLE):
        found = len(_HAN.findall(text))
        han += found
        letters += sum(character.isalpha() for character in text)
        if found >= _LONG:
            pieces = sum(bool(_HAN.search(piece)) for piece in text.split())
            apart += found < _FEW * pieces
            together += found >= _FEW * pieces
    if not letters or han * 3 < letters:
        return "en"
    return "segmented" if apart > together else "zh"


def _texts(examples: Iterable[Example]) -> Iterator[str]:
    for example in examples:
        yield from (turn.text for turn in example.turns)
        yield from example.texts
