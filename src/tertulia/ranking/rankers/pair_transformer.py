"""A transformer that gives a number for a prompt and a response read together: its scores, and how it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tertulia.encoders.runtime import device_of, fill, read_tensors, write_tensors
from tertulia.errors import ArtefactError
from tertulia.ranking.model import read_json, write_json
from tertulia.ranking.rankers.pair_tokens import PairTokens

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.wording import Wording

__all__ = ["PairTransformer", "distinct_pairs"]

Pair = tuple[Sequence[int], Sequence[int]]
"""The numbers of the tokens of a prompt and a response, and their types."""

_WEIGHTS, _CONFIG, _TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
# Tokens of a batch, with their padding.
_TOKENS, _TOKENS_GPU = 2_048, 32_768


class PairTransformer:
    """A classifier of transformers with one output, its tokenizer, and how contexts are read."""

    def __init__(self, model: Any, tokens: PairTokens, wording: Wording, device: torch.device) -> None:
        self.model = model.float().to(device)
        self.tokens, self.wording, self.device = tokens, wording, device

    def forward(self, pairs: Sequence[Pair]) -> torch.Tensor:
        """The scores, of shape (pairs,), of pairs of token numbers and types."""
        import torch

        longest = max(len(numbers) for numbers, _ in pairs)
        shape = (len(pairs), longest)
        ids, types, mask = (np.zeros(shape, np.int64) for _ in range(3))
        ids += getattr(self.model.config, "pad_token_id", None) or 0
        for row, (numbers, kinds) in enumerate(pairs):
            ids[row, : len(numbers)], types[row, : len(kinds)], mask[row, : len(numbers)] = numbers, kinds, 1
        given = {"input_ids": ids, "attention_mask": mask}
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = types
        made = {name: torch.from_numpy(value).to(self.device) for name, value in given.items()}
        scores: torch.Tensor = self.model(**made).logits[:, 0].float()
        return scores

    def score(self, examples: Sequence[Example]) -> list[NDArray[np.float64]]:
        """The scores of the candidates of each example; they do not depend on how many processors there are."""
        import torch

        pairs = [pair for example in examples for pair in self.tokens.pairs(self.wording, example, example.texts)]
        distinct, places = distinct_pairs(pairs)
        found = np.zeros(len(distinct))
        tokens = _TOKENS_GPU if self.device.type == "cuda" else _TOKENS
        self.model.eval()
        threads = torch.get_num_threads()
        # A sum over several threads is another sum: one thread gives the same scores on any number of processors.
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                for batch in _by_length(distinct, tokens):
                    found[batch] = self.forward([distinct[number] for number in batch]).cpu().numpy()
        finally:
            torch.set_num_threads(threads)
        ends = np.cumsum([len(example) for example in examples])[:-1]
        return [values.astype(np.float64) for values in np.split(found[places], ends)]

    def save(self, directory: Path) -> None:
        """Write the weights as safetensors, the config and the tokenizer, as transformers names them."""
        write_tensors(directory / _WEIGHTS, self.model.state_dict())
        config = {name: value for name, value in self.model.config.to_dict().items() if name != "_name_or_path"}
        write_json(directory / _CONFIG, config)
        (directory / _TOKENIZER).write_bytes(self.tokens.source)

    @classmethod
    def load(cls, directory: Path, max_tokens: int, wording: Wording, feature: str) -> Self:
        """What was saved, on a GPU where there is one.

        Raises
        ------
        ArtefactError
            What is there does not hold.
        """
        tokens = PairTokens(directory / _TOKENIZER, max_tokens, feature)
        model = _empty_model(directory)
        fill(model, read_tensors(directory / _WEIGHTS), directory / _WEIGHTS)
        return cls(model.eval(), tokens, wording, device_of("auto"))


def distinct_pairs(pairs: Sequence[Pair]) -> tuple[list[Pair], list[int]]:
    """The pairs, equal ones once, and the place of each there: equal responses get equal scores, and cost once."""
    numbers: dict[Pair, int] = {}
    places = [numbers.setdefault((tuple(ids), tuple(types)), len(numbers)) for ids, types in pairs]
    return list(numbers), places


def _by_length(pairs: Sequence[Pair], tokens: int) -> Iterator[list[int]]:
    """The places of pairs, the shortest first, in batches of at most ``tokens`` tokens with their padding."""
    batch: list[int] = []
    for place in sorted(range(len(pairs)), key=lambda place: (len(pairs[place][0]), place)):
        if batch and (len(batch) + 1) * len(pairs[place][0]) > tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _empty_model(directory: Path) -> Any:
    """The model of a saved config, its weights not yet those that were saved."""
    import torch
    import transformers

    config = read_json(directory / _CONFIG)
    where = directory / _CONFIG
    try:
        # By its own class, which is in transformers: code that a config may name is not run.
        made = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(config)
        with torch.random.fork_rng(devices=[]):
            return transformers.AutoModelForSequenceClassification.from_config(made, trust_remote_code=False)
    except Exception as error:
        # What transformers raises of a config that does not hold has no common class.
        said = " ".join(str(error).split())[:200]
        raise ArtefactError(f"is not the config of a transformer: {said}", where=where, hint="train it again") from None
