"""A prompt and a response as the token numbers of one pair, for a transformer that reads both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.encoders.sentence import open_tokenizer
from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    from tertulia.ranking.examples import Example
    from tertulia.ranking.wording import Wording

__all__ = ["PairTokens"]

# What separates texts, by family of model; a tokenizer knows its own.
_SEPARATORS = ("[SEP]", "</s>", "<sep>")
_CHARACTERS = 20_000


class PairTokens:
    """A tokenizer that makes pairs of at most ``max_tokens`` tokens.

    A response may take half of them, or what the prompt leaves; of a prompt that is longer than the rest, its end counts. The turns
    that count by the wording follow each other, the oldest first, with the separator of the tokenizer between them.
    """

    def __init__(self, path: Path, max_tokens: int, feature: str) -> None:
        self._tokenizer = open_tokenizer(path, None, feature)
        self.source = path.read_bytes()
        special = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self._room = max_tokens - special
        if self._room < 2:
            raise ConfigurationError(
                f"a pair is to have {max_tokens} tokens, and the tokenizer adds {special}; expected more"
            )
        found = (text for text in _SEPARATORS if self._tokenizer.token_to_id(text) is not None)
        self._between = f" {next(found, '')} "

    def pairs(self, wording: Wording, example: Example, texts: Iterable[str]) -> list[tuple[list[int], list[int]]]:
        """Of each text the numbers and the types (0: prompt, 1: response) of the tokens of its pair with the prompt."""
        turns = [_valid(text[-_CHARACTERS:]) for text, _ in reversed(wording.weighted_turns(example))]
        prompt = self._between.join(turns)
        made: dict[str, tuple[list[int], list[int]]] = {}
        for text in texts:
            if text not in made:
                made[text] = self._pair(prompt, text)
        return [made[text] for text in texts]

    def _pair(self, prompt: str, text: str) -> tuple[list[int], list[int]]:
        # An encoding that is cut stays so, so that of the prompt is made for each pair.
        first = self._tokenizer.encode(prompt, add_special_tokens=False)
        second = self._tokenizer.encode(_valid(text[:_CHARACTERS]), add_special_tokens=False)
        second.truncate(max(self._room // 2, self._room - len(first.ids)))
        first.truncate(self._room - len(second.ids), direction="left")
        both: Any = self._tokenizer.post_process(first, second)
        return both.ids, both.type_ids


def _valid(text: str) -> str:
    """A text that a tokenizer can take: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
