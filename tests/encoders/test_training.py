"""Early stopping, and the optimiser that touches only the word vectors that a batch has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tertulia.encoders.training import Epoch, Optimizer, train
from tertulia.errors import ConfigurationError


class _Counting:
    """A module whose one weight is the number of epochs that it has been trained."""

    def __init__(self, qualities: list[tuple[float, ...]]) -> None:
        self.module = torch.nn.Linear(1, 1, bias=False)
        self.qualities = qualities
        self.modes: list[bool] = []

    def losses(self, number: int) -> Iterator[float]:
        self.modes.append(self.module.training)
        self.module.weight.data.fill_(float(number))
        yield 1.0
        yield 3.0

    def quality(self) -> tuple[float, ...]:
        self.modes.append(self.module.training)
        return self.qualities[int(self.module.weight.item()) - 1]

    def train(self, epochs: int, patience: int) -> list[Epoch]:
        return train(self.module, self.losses, self.quality, epochs=epochs, patience=patience)


def test_the_weights_of_the_best_epoch_are_left() -> None:
    counting = _Counting([(0.1,), (0.5,), (0.4,), (0.45,), (0.9,)])
    epochs = counting.train(epochs=5, patience=2)
    assert [epoch.number for epoch in epochs] == [1, 2, 3, 4]
    assert [epoch.loss for epoch in epochs] == [2.0] * 4
    assert counting.module.weight.item() == 2
    assert counting.modes == [True, False] * 4
    assert not counting.module.training


def test_of_equally_good_epochs_the_first_is_left_unless_the_next_number_decides() -> None:
    assert _trained([(0.5,), (0.5,), (0.5,)]) == 1
    assert _trained([(0.5, -3.0), (0.5, -2.0), (0.5, -2.5)]) == 2


def _trained(qualities: list[tuple[float, ...]]) -> float:
    counting = _Counting(qualities)
    counting.train(epochs=len(qualities), patience=5)
    return counting.module.weight.item()


def test_every_epoch_is_told_as_it_ends() -> None:
    counting = _Counting([(0.1,), (0.2,)])
    told: list[Epoch] = []
    epochs = train(counting.module, counting.losses, counting.quality, epochs=2, patience=1, told=told.append)
    assert told == epochs


def test_a_loss_that_is_no_number_ends_it_with_what_to_do() -> None:
    module = torch.nn.Linear(1, 1)
    with pytest.raises(ConfigurationError, match="the loss of epoch 1 is nan; lower the learning rate"):
        train(module, lambda _number: iter([1.0, float("nan")]), lambda: (0.0,), epochs=3, patience=1)


def test_only_the_word_vectors_of_a_batch_are_touched() -> None:
    torch.manual_seed(0)
    words, layer = torch.nn.Embedding(5, 3, sparse=True), torch.nn.Linear(3, 1)
    module = torch.nn.ModuleList([words, layer])
    before = words.weight.detach().clone()
    optimizer = Optimizer(module, 0.1, decay=0.1)
    for _ in range(3):
        optimizer.step(layer(words(torch.tensor([1, 1, 3]))).sum() ** 2)
    changed = (words.weight != before).any(dim=1)
    assert changed.tolist() == [False, True, False, True, False]


def test_word_vectors_that_are_not_learned_stay() -> None:
    words, layer = torch.nn.Embedding(5, 3, sparse=True), torch.nn.Linear(3, 1)
    words.weight.requires_grad_(False)
    before, layer_before = words.weight.clone(), layer.weight.detach().clone()
    optimizer = Optimizer(torch.nn.ModuleList([words, layer]), 0.1)
    optimizer.step(layer(words(torch.tensor([1, 3]))).sum())
    assert torch.equal(words.weight, before)
    assert not torch.equal(layer.weight, layer_before)


def test_large_gradients_are_clipped() -> None:
    layer = torch.nn.Linear(2, 1, bias=False)
    optimizer = Optimizer(torch.nn.ModuleList([layer]), 0.1, clip=1.0)
    optimizer.step(1e6 * layer(torch.ones(1, 2)).sum())
    assert layer.weight.grad is not None
    assert float(layer.weight.grad.norm()) == pytest.approx(1.0, rel=1e-4)
