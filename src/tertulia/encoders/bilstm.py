"""A bidirectional LSTM as a text encoder, after Tan, dos Santos, Xiang and Zhou, *LSTM-based Deep Learning Models for
Non-factoid Answer Selection* (2015): the outputs of both directions, pooled over the words of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["POOLINGS", "BiLstmEncoder"]

POOLINGS = ("max", "mean", "last")


class BiLstmEncoder:
    """Word vectors to text vectors.

    Parameters
    ----------
    size:
        The size of a word's vector.
    hidden:
        The size of the state in each direction.
    pooling:
        ``max`` or ``mean`` over the words, or the ``last`` state of each direction.

    Attributes
    ----------
    module:
        Holds the weights.
    width:
        The size of a text's vector: twice ``hidden``.
    """

    def __init__(self, size: int, hidden: int = 300, pooling: str = "max") -> None:
        import torch

        if pooling not in POOLINGS:
            raise ValueError(f"the pooling is {pooling!r}; expected one of {', '.join(POOLINGS)}")
        self.module: torch.nn.Module = torch.nn.LSTM(size, hidden, batch_first=True, bidirectional=True)
        self.width = 2 * hidden
        self.pooling = pooling

    def __call__(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Vectors (texts, longest, size) of texts of ``lengths`` (texts,; on the processor, each at least 1) to (texts, width)."""
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

        # Packed: what fills a short text up is never computed, and the backward direction begins at its last word.
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        outputs, (state, _) = self.module(packed)
        if self.pooling == "last":
            return torch.cat([state[0], state[1]], dim=1)
        filling = float("-inf") if self.pooling == "max" else 0.0
        padded, _ = pad_packed_sequence(outputs, batch_first=True, padding_value=filling)
        if self.pooling == "max":
            return padded.amax(dim=1)
        return padded.sum(dim=1) / lengths.to(padded.device)[:, None]
