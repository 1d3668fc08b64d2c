"""A bidirectional LSTM as a text encoder, after Tan, dos Santos, Xiang and Zhou, *LSTM-based Deep Learning Models for
Non-factoid Answer Selection* (2015): the outputs of both directions, pooled over the words of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tertulia.encoders.recurrence import Steps, recurrence, steps_of

if TYPE_CHECKING:
    import torch

__all__ = ["POOLINGS", "BiLstmEncoder"]

POOLINGS = ("max", "mean", "last")
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


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
        if vectors.is_cuda:
            return self._packed(vectors, lengths)
        import torch

        module = self.module
        steps = steps_of(lengths, vectors.shape[1])
        flat = vectors.reshape(-1, vectors.shape[2])
        pooled = []
        for places, suffix in ((steps.forward, "_l0"), (steps.backward, "_l0_reverse")):
            weight, recurrent, bias, other = (getattr(module, name + suffix) for name in _WEIGHTS)
            gates = torch.addmm(bias + other, flat[places], weight.t())
            pooled.append(self._pooled(recurrence(gates, recurrent, steps.sizes), steps, lengths))
        return torch.cat(pooled, dim=1)[torch.argsort(steps.order)]

    def _pooled(self, states: torch.Tensor, steps: Steps, lengths: torch.Tensor) -> torch.Tensor:
        """The states of one direction pooled, in the order of the steps."""
        import torch

        lengths = lengths[steps.order]
        if self.pooling == "last":
            before = torch.tensor([0, *steps.sizes]).cumsum(0)
            return states[before[lengths - 1] + torch.arange(len(lengths))]
        found = states.new_zeros(len(lengths), states.shape[1])
        if self.pooling == "mean":
            return found.index_add(0, steps.rows, states) / lengths[:, None]
        rows = steps.rows[:, None].expand_as(states)
        return found.scatter_reduce(0, rows, states, "amax", include_self=False)

    def _packed(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The same by PyTorch's packed sequences, which cuDNN computes on a GPU."""
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

        outputs, (state, _) = self.module(
            pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        )
        if self.pooling == "last":
            return torch.cat([state[0], state[1]], dim=1)
        filling = float("-inf") if self.pooling == "max" else 0.0
        padded, _ = pad_packed_sequence(outputs, batch_first=True, padding_value=filling)
        if self.pooling == "max":
            return padded.amax(dim=1)
        return padded.sum(dim=1) / lengths.to(padded.device)[:, None]
