"""A network of pairs, beside its definition written out pair by pair."""

from __future__ import annotations

import numpy as np
import torch

from tertulia.encoders.batches import NumberedTexts
from tertulia.encoders.cnn import CnnEncoder
from tertulia.encoders.pairs import PairNet

TEXTS = NumberedTexts([[3, 4, 5], [6], [], [5, 5, 7, 3]])


def _net(shared: bool, dropout: float = 0.0) -> PairNet:
    torch.manual_seed(4)
    encoders = [CnnEncoder(4, 6, 2) for _ in range(2)]
    net = PairNet(9, 4, encoders[0], None if shared else encoders[1], features=2, hidden=5, dropout=dropout)
    with torch.no_grad():
        net.matrix.weight.add_(torch.randn(6, 6))
    net.module.eval()
    return net


def _plain(net: PairNet, prompt: int, response: int, features: list[float]) -> float:
    with torch.inference_mode():
        vectors = []
        for encoder, number in ((net._prompt, prompt), (net._response, response)):
            numbers, lengths = TEXTS.padded(np.array([number]))
            vector = encoder(net.words(torch.from_numpy(numbers)), torch.from_numpy(lengths))[0]
            vectors.append(vector / max(float(vector.norm()), 1e-6))
        u, v = vectors
        known = (torch.tensor(features) - net.standard["centre"]) / net.standard["spread"]
        pair = torch.cat([(net.matrix.weight @ u @ v)[None], u * v * 6**0.5, known])
        hidden = net.from_prompt.weight @ u + net.from_prompt.bias + net.from_response.weight @ v
        hidden = torch.tanh(hidden + net.from_pair.weight @ pair)
        return float(net.output.weight[0] @ hidden + net.output.bias[0])


def test_scores_are_their_definition() -> None:
    for shared in (True, False):
        net = _net(shared)
        features = [[0.5, 2.0], [0.0, 1.0], [1.0, -3.0]]
        net.standardise(np.array(features, dtype=np.float32))
        with torch.inference_mode():
            found = net.scores(
                net.prompts(TEXTS, np.array([0, 2])),
                net.responses(TEXTS, np.array([1, 3])),
                torch.tensor([0, 1, 1]),
                torch.tensor([0, 0, 1]),
                torch.tensor(features),
            )
        pairs = [(0, 1), (2, 1), (2, 3)]
        wanted = [_plain(net, *pair, known) for pair, known in zip(pairs, features, strict=True)]
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-5)


def test_a_feature_that_never_differs_is_not_blown_up() -> None:
    net = _net(True)
    net.standardise(np.array([[1.0, 7.0], [2.0, 7.0]], dtype=np.float32))
    assert net.standard["centre"].tolist() == [1.5, 7.0]
    assert float(net.standard["spread"][1]) > 0


def test_an_encoder_for_both_sides_is_kept_once() -> None:
    assert not any(name.startswith("response.") for name in _net(True).module.state_dict())
    assert any(name.startswith("response.") for name in _net(False).module.state_dict())


def test_dropout_is_for_training_alone() -> None:
    net = _net(True, dropout=0.5)
    which = np.array([0, 3])
    one, other = (net.prompts(TEXTS, which).vectors for _ in range(2))
    assert torch.equal(one, other)
    net.module.train()
    one, other = (net.prompts(TEXTS, which).vectors for _ in range(2))
    assert not torch.equal(one, other)
