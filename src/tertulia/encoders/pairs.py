"""A network that scores pairs of texts: word vectors, an encoder of each side, and a hidden layer that joins them.

The parts that depend on one text alone are computed once for it, however many pairs it stands in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from tertulia.encoders.vocabulary import PADDING

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from tertulia.encoders.batches import NumberedTexts

__all__ = ["Encoded", "PairNet", "TextEncoder"]

_TINY = 1e-6
# A feature that hardly differs in train is not blown up.
_LEAST = 1e-3
_KNOWN = ("centre", "spread")


class TextEncoder(Protocol):
    """Turns vectors (texts, longest, size) and lengths (texts,) into vectors (texts, width)."""

    module: torch.nn.Module
    width: int

    def __call__(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Encode some texts."""
        ...


class Encoded(NamedTuple):
    """Texts of one side: their unit vectors (texts, width) and what they add to the hidden layer (texts, hidden)."""

    vectors: torch.Tensor
    hidden: torch.Tensor


class PairNet:
    """Scores pairs of a prompt and a response.

    The hidden layer sees both vectors, their similarity ``u' M v`` (Severyn and Moschitti 2015; ``M`` begins as the identity, the
    vectors are of unit length, so that it begins as the cosine of Tan et al. 2015), their elementwise product, and ``features``
    numbers of the pair that the caller knows.

    Parameters
    ----------
    vocabulary:
        How many numbers of words there are.
    size:
        The size of a word's vector.
    prompt, response:
        The encoders of the two sides; one encoder for both where ``response`` is ``None``.
    features:
        How many numbers a pair comes with.
    hidden:
        The size of the hidden layer.
    dropout:
        The share of a word's vector, of a text's and of the hidden layer that is left out at random in training.
    """

    def __init__(
        self,
        vocabulary: int,
        size: int,
        prompt: TextEncoder,
        response: TextEncoder | None,
        *,
        features: int,
        hidden: int,
        dropout: float,
    ) -> None:
        import torch
        from torch import nn

        self._prompt, self._response = prompt, response or prompt
        width = prompt.width
        self.words = nn.Embedding(vocabulary, size, padding_idx=PADDING, sparse=True)
        nn.init.normal_(self.words.weight, std=size**-0.5)
        with torch.no_grad():
            self.words.weight[PADDING] = 0
        self.matrix = nn.Linear(width, width, bias=False)
        nn.init.eye_(self.matrix.weight)
        self.from_prompt = nn.Linear(width, hidden)
        self.from_response = nn.Linear(width, hidden, bias=False)
        self.from_pair = nn.Linear(width + 1 + features, hidden, bias=False)
        self.output = nn.Linear(hidden, 1)
        self.standard = nn.ParameterDict(
            {name: nn.Parameter(torch.ones(features), requires_grad=False) for name in _KNOWN}
        )
        self.dropout = dropout
        parts: dict[str, nn.Module] = {
            "words": self.words,
            "prompt": prompt.module,
            "matrix": self.matrix,
            "from_prompt": self.from_prompt,
            "from_response": self.from_response,
            "from_pair": self.from_pair,
            "output": self.output,
            "features": self.standard,
        }
        if response is not None:
            parts["response"] = response.module
        self.module = nn.ModuleDict(parts)

    def standardise(self, features: NDArray[np.float32]) -> None:
        """Take the mean and the spread of features (pairs, features) as those of all that come."""
        import torch

        with torch.no_grad():
            self.standard["centre"].copy_(torch.from_numpy(features.mean(axis=0)))
            self.standard["spread"].copy_(torch.from_numpy(np.maximum(features.std(axis=0), _LEAST)))

    def prompts(self, texts: NumberedTexts, which: NDArray[np.int64]) -> Encoded:
        """Some texts as prompts."""
        vectors = self._encode(self._prompt, texts, which)
        return Encoded(vectors, self.from_prompt(self._drop(vectors)))

    def responses(self, texts: NumberedTexts, which: NDArray[np.int64]) -> Encoded:
        """Some texts as responses."""
        vectors = self._encode(self._response, texts, which)
        return Encoded(vectors, self.from_response(self._drop(vectors)))

    def scores(
        self,
        prompts: Encoded,
        responses: Encoded,
        prompt: torch.Tensor,
        response: torch.Tensor,
        features: torch.Tensor,
    ) -> torch.Tensor:
        """Of pairs, by the number of their prompt and of their response and their features (pairs, features), scores (pairs,)."""
        import torch

        turned = self.matrix(prompts.vectors)
        other = responses.vectors[response]
        similarity = (turned[prompt] * other).sum(dim=1, keepdim=True)
        # Entries of unit vectors are of the order of 1 / sqrt(width), their products of 1 / width.
        product = prompts.vectors[prompt] * other * other.shape[1] ** 0.5
        known = (features - self.standard["centre"]) / self.standard["spread"]
        pair = self.from_pair(torch.cat([similarity, self._drop(product), known], dim=1))
        hidden = torch.tanh(prompts.hidden[prompt] + responses.hidden[response] + pair)
        scores: torch.Tensor = self.output(self._drop(hidden))[:, 0]
        return scores

    def _encode(self, encoder: TextEncoder, texts: NumberedTexts, which: NDArray[np.int64]) -> torch.Tensor:
        import torch

        numbers, lengths = texts.padded(which)
        vectors = self._drop(self.words(torch.from_numpy(numbers).to(self.words.weight.device)))
        encoded = encoder(vectors, torch.from_numpy(lengths))
        unit: torch.Tensor = encoded / encoded.norm(dim=1, keepdim=True).clamp_min(_TINY)
        return unit

    def _drop(self, values: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.nn.functional.dropout(values, self.dropout, self.module.training)
