"""A convolutional text encoder, after Severyn and Moschitti, *Learning to Rank Short Text Pairs with Convolutional Deep
Neural Networks* (SIGIR 2015): wide convolutions over the words, a rectifier, and the maximum of each feature map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["CnnEncoder"]

# Texts whose lengths are in the same step are computed together.
_STEP = 4


class CnnEncoder:
    """Word vectors to text vectors.

    Parameters
    ----------
    size:
        The size of a word's vector.
    maps:
        How many feature maps: the size of a text's vector.
    span:
        How many words a filter sees.

    Attributes
    ----------
    module:
        Holds the weights.
    width:
        The size of a text's vector: ``maps``.
    """

    def __init__(self, size: int, maps: int = 300, span: int = 5) -> None:
        import torch

        # Wide: a filter also sees the borders, where a part of it lies outside of the text, and texts shorter than it.
        self.module: torch.nn.Module = torch.nn.Conv1d(size, maps, span, padding=span - 1)
        self.width = maps
        self.span = span

    def __call__(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Vectors (texts, longest, size) of texts of ``lengths`` (texts,; each at least 1) to (texts, width).

        The vectors of what fills a short text up must be zeros.
        """
        import torch

        # Texts of about equal length go together, so that little is computed that is only there to fill up.
        lengths = lengths.cpu()
        order = torch.argsort(lengths, stable=True)
        group = torch.div(lengths[order] - 1, _STEP, rounding_mode="floor")
        sizes = torch.unique_consecutive(group, return_counts=True)[1].tolist()
        parts = [self._maxima(vectors[some.to(vectors.device)], lengths[some]) for some in torch.split(order, sizes)]
        return torch.cat(parts)[torch.argsort(order).to(vectors.device)]

    def _maxima(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        import torch

        maps = self.module(vectors[:, : int(lengths.max())].transpose(1, 2))
        # Where a filter sees nothing of the text there is no place of it.
        places = torch.arange(maps.shape[2])
        outside = (places >= (lengths + self.span - 1)[:, None]).to(maps.device)
        return torch.relu(maps.masked_fill(outside[:, None, :], 0.0)).amax(dim=2)
