"""The recurrence of an LSTM, beside PyTorch's packed sequences, and its gradient beside differences."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.encoders.bilstm import POOLINGS, BiLstmEncoder
from tertulia.encoders.recurrence import recurrence, steps_of


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=7), st.sampled_from(POOLINGS), st.integers(0, 99))
def test_vectors_and_gradients_are_those_of_packed_sequences(lengths: list[int], pooling: str, seed: int) -> None:
    torch.manual_seed(seed)
    encoder = BiLstmEncoder(3, 4, pooling)
    encoder.module.double()
    vectors = torch.randn(len(lengths), max(lengths), 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(len(lengths), 8, dtype=torch.float64)
    wanted_from = [vectors, *encoder.module.parameters()]
    found, wanted = (way(vectors, torch.tensor(lengths)) for way in (encoder, encoder._packed))
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad((way * weights).sum(), wanted_from) for way in (found, wanted)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_the_gradient_is_that_of_differences() -> None:
    torch.manual_seed(0)
    gates = torch.randn(6, 8, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *inputs: recurrence(*inputs, [3, 2, 1]), (gates, weight))


def test_words_are_laid_out_step_by_step_in_both_directions() -> None:
    steps = steps_of(torch.tensor([2, 3, 1, 3]), longest=4)
    assert steps.order.tolist() == [1, 3, 0, 2]
    assert steps.sizes == [4, 3, 2]
    assert steps.rows.tolist() == [0, 1, 2, 3, 0, 1, 2, 0, 1]
    assert steps.forward.tolist() == [4, 12, 0, 8, 5, 13, 1, 6, 14]
    assert steps.backward.tolist() == [6, 14, 1, 8, 5, 13, 0, 4, 12]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_text_alone_is_as_among_others(pooling: str) -> None:
    torch.manual_seed(3)
    encoder = BiLstmEncoder(3, 4, pooling)
    vectors, lengths = torch.randn(3, 5, 3), torch.tensor([5, 2, 4])
    with torch.inference_mode():
        together = encoder(vectors, lengths)
        for number, length in enumerate(lengths.tolist()):
            alone = encoder(vectors[number : number + 1, :length], lengths[number : number + 1])
            torch.testing.assert_close(alone[0], together[number], rtol=0, atol=1e-6)
