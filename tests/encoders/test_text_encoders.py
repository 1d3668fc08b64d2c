"""The LSTM and the convolutions, beside their definitions written out one text and one word at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tertulia.encoders.bilstm import POOLINGS, BiLstmEncoder
from tertulia.encoders.cnn import CnnEncoder

SIZE, LENGTHS = 3, [4, 1, 7, 2, 4, 12]


@pytest.fixture
def texts() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.standard_normal((length, SIZE)).astype(np.float32) for length in LENGTHS]


def _padded(texts: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = [len(text) for text in texts]
    found = np.zeros((len(texts), max(lengths), SIZE), dtype=np.float32)
    for row, text in zip(found, texts, strict=True):
        row[: len(text)] = text
    return torch.from_numpy(found), torch.tensor(lengths)


def _lstm(text: np.ndarray, weights: dict[str, np.ndarray], suffix: str) -> np.ndarray:
    """The states of one direction, word by word (Hochreiter and Schmidhuber 1997, with a forget gate)."""
    hidden = weights["weight_hh_l0" + suffix].shape[1]
    state = cell = np.zeros(hidden)
    states = []
    for vector in text:
        gates = weights["weight_ih_l0" + suffix] @ vector + weights["bias_ih_l0" + suffix]
        gates += weights["weight_hh_l0" + suffix] @ state + weights["bias_hh_l0" + suffix]
        enter, forget, new, leave = gates.reshape(4, hidden)
        cell = cell / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-enter))
        state = np.tanh(cell) / (1 + np.exp(-leave))
        states.append(state)
    return np.array(states)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_lstm_is_its_definition_whatever_stands_beside_a_text(pooling: str, texts: list[np.ndarray]) -> None:
    torch.manual_seed(1)
    encoder = BiLstmEncoder(SIZE, 5, pooling)
    assert encoder.width == 10
    weights = {name: value.double().numpy() for name, value in encoder.module.state_dict().items()}
    with torch.inference_mode():
        found = encoder(*_padded(texts)).numpy()
    for text, vector in zip(texts, found, strict=True):
        forward, backward = _lstm(text, weights, ""), _lstm(text[::-1], weights, "_reverse")[::-1]
        both = np.concatenate([forward, backward], axis=1)
        wanted = {
            "max": both.max(axis=0),
            "mean": both.mean(axis=0),
            "last": np.concatenate([forward[-1], backward[0]]),
        }
        np.testing.assert_allclose(vector, wanted[pooling], atol=1e-6)


@pytest.mark.parametrize("span", [1, 2, 5])
def test_convolutions_are_their_definition_whatever_stands_beside_a_text(span: int, texts: list[np.ndarray]) -> None:
    torch.manual_seed(2)
    encoder = CnnEncoder(SIZE, 6, span)
    assert encoder.width == 6
    weight, bias = (encoder.module.state_dict()[name].double().numpy() for name in ("weight", "bias"))
    with torch.inference_mode():
        found = encoder(*_padded(texts)).numpy()
    for text, vector in zip(texts, found, strict=True):
        wide = np.pad(text.astype(np.float64), ((span - 1, span - 1), (0, 0)))
        places = [np.einsum("mes,se->m", weight, wide[i : i + span]) + bias for i in range(len(text) + span - 1)]
        np.testing.assert_allclose(vector, np.maximum(places, 0).max(axis=0), atol=1e-6)


def test_a_pooling_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of max, mean, last"):
        BiLstmEncoder(2, 2, "median")
