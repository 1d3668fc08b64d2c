"""Training with early stopping: epochs until what is measured on held-out examples has not become better for a while."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    import torch

__all__ = ["Epoch", "Optimizer", "train"]


@dataclass(frozen=True, slots=True)
class Epoch:
    """What came of an epoch: its mean loss, how good the module was after it, and how long it took."""

    number: int
    loss: float
    quality: tuple[float, ...]
    seconds: float


class Optimizer:
    """Adam (Kingma and Ba 2015); of word vectors only those that a batch has are touched (Adam on sparse gradients).

    Parameters
    ----------
    module:
        What is trained; its embeddings are those whose gradients are sparse.
    rate:
        The learning rate.
    decay:
        Decoupled weight decay of what is no embedding.
    clip:
        The norm at which gradients of what is no embedding are clipped.
    """

    def __init__(self, module: torch.nn.Module, rate: float, *, decay: float = 0.0, clip: float = 5.0) -> None:
        import torch

        sparse = [part.weight for part in module.modules() if isinstance(part, torch.nn.Embedding) and part.sparse]
        sparse = [weight for weight in sparse if weight.requires_grad]
        ours = {id(weight) for weight in sparse}
        self._dense = [value for value in module.parameters() if value.requires_grad and id(value) not in ours]
        self._clip = clip
        self._optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(self._dense, lr=rate, weight_decay=decay)]
        if sparse:
            self._optimizers.append(torch.optim.SparseAdam(sparse, lr=rate))

    def step(self, loss: torch.Tensor) -> None:
        """One step down the gradient of a loss."""
        import torch

        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self._dense, self._clip)
        for optimizer in self._optimizers:
            optimizer.step()


def train(
    module: torch.nn.Module,
    losses: Callable[[int], Iterator[float]],
    quality: Callable[[], tuple[float, ...]],
    *,
    epochs: int,
    patience: int,
    told: Callable[[Epoch], None] = lambda _epoch: None,
) -> list[Epoch]:
    """Train a module and leave it, in evaluation mode, with the weights of its best epoch; the earliest of equally good ones.

    Parameters
    ----------
    losses:
        Given the number of an epoch (from 1), goes through it and gives the loss of each step.
    quality:
        How good the module is now on what it does not learn from; higher is better, and later numbers decide between equal ones.
    epochs, patience:
        At most so many epochs, and so many in a row that bring nothing better.
    told:
        Is given each epoch when it is over.

    Raises
    ------
    ConfigurationError
        The loss is no longer a finite number.
    """
    done: list[Epoch] = []
    best: tuple[float, ...] = ()
    kept: dict[str, torch.Tensor] = {}
    since = 0
    for number in range(1, epochs + 1):
        started = time.perf_counter()
        module.train()
        found = list(losses(number))
        loss = math.fsum(found) / max(1, len(found))
        if not math.isfinite(loss):
            raise ConfigurationError(
                f"training diverges: the loss of epoch {number} is {loss}; lower the learning rate"
            )
        module.eval()
        now = quality()
        done.append(Epoch(number, loss, now, time.perf_counter() - started))
        told(done[-1])
        since += 1
        if not kept or now > best:
            best, since = now, 0
            kept = {name: value.detach().clone() for name, value in module.state_dict().items()}
        if since >= patience:
            break
    if kept:
        module.load_state_dict(kept)
    module.eval()
    return done
