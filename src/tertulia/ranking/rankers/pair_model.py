"""A network of pairs together with how it reads examples: it learns from a table of pairs, and scores examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.encoders.batches import NumberedTexts, batches_by_length
from tertulia.encoders.pairs import Encoded
from tertulia.encoders.training import Optimizer
from tertulia.errors import ArtefactError
from tertulia.ranking.rankers.pair_texts import FEATURES

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from tertulia.encoders.pairs import PairNet
    from tertulia.ranking.examples import Example
    from tertulia.ranking.rankers.pair_table import PairTable
    from tertulia.ranking.rankers.pair_texts import PairReader, Response

__all__ = ["LOSSES", "PairModel", "held_loss", "loss_of"]

LOSSES = ("mse", "listwise")

# Examples and pairs that are scored at a time, and responses whose vectors are kept while a stream is scored.
_EXAMPLES, _PAIRS, _TEXTS, _KEPT = 256, 4_096, 256, 20_000


class PairModel:
    """Scores pairs of the examples that a reader reads."""

    def __init__(self, net: PairNet, reader: PairReader) -> None:
        self.net = net
        self.reader = reader

    def losses(
        self, table: PairTable, settings: Mapping[str, Any], optimizer: Optimizer, random: np.random.Generator
    ) -> Iterator[tuple[float, int]]:
        """One epoch over a table, a batch of about ``settings["batch"]`` pairs a step: the loss and the examples of each."""
        import torch

        useful = table.useful
        lengths = table.prompts.lengths[useful]
        for batch in batches_by_length(lengths, table.sizes[useful], settings["batch"], random):
            pairs, place = table.pairs_of(useful[batch])
            pairs_said = table.weights[pairs] > 0
            pairs, place = pairs[pairs_said], place[pairs_said]
            scores = self._scores(table, useful[batch], pairs, place)
            device = scores.device
            loss = loss_of(settings["loss"])(
                scores,
                torch.from_numpy(table.targets[pairs].astype(np.float32)).to(device),
                torch.from_numpy(table.weights[pairs].astype(np.float32)).to(device),
                torch.from_numpy(place).to(device),
            )
            optimizer.step(loss)
            yield loss.item(), len(batch)

    def _scores(
        self, table: PairTable, which: NDArray[np.int64], pairs: NDArray[np.int64], place: NDArray[np.int64]
    ) -> torch.Tensor:
        import torch

        distinct, response = np.unique(table.response[pairs], return_inverse=True)
        device = self.net.words.weight.device
        return self.net.scores(
            self.net.prompts(table.prompts, which),
            self.net.responses(table.responses, distinct),
            torch.from_numpy(place).to(device),
            torch.from_numpy(response).to(device),
            torch.from_numpy(table.features[pairs]).to(device),
        )

    def table_scores(self, table: PairTable) -> list[NDArray[np.float64]]:
        """The scores of the examples of a table, without looking at their words again."""
        import torch

        found = np.zeros(len(table.response))
        order = np.argsort(table.prompts.lengths, kind="stable")
        before = np.cumsum(table.sizes[order])
        with torch.inference_mode():
            for block in np.split(order, np.flatnonzero(np.diff(before // _PAIRS)) + 1):
                pairs, place = table.pairs_of(block)
                if len(pairs):
                    found[pairs] = self._scores(table, block, pairs, place).double().cpu().numpy()
        return [found[start:end] for start, end in zip(table.starts[:-1], table.starts[1:], strict=True)]

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The scores of each example's candidates; a response that comes again soon is read and encoded once."""
        kept = _Kept(self)
        for chunk in _chunks(examples):
            yield from self._chunk(chunk, kept)

    def _chunk(self, chunk: list[Example], kept: _Kept) -> Iterator[NDArray[np.float64]]:
        import torch

        if not any(example.texts for example in chunk):
            yield from (np.zeros(0) for _ in chunk)
            return
        device = self.net.words.weight.device
        read = [self.reader.prompt(example) for example in chunk]
        with torch.inference_mode():
            rows, responses = kept.rows(text for example in chunk for text in example.texts)
            prompts = _by_length(self.net.prompts, NumberedTexts(prompt.numbers for prompt in read))
        place = np.repeat(np.arange(len(chunk)), [len(example) for example in chunk])
        features = [
            self.reader.features(prompt, kept.read[row])
            for prompt, row in zip((read[number] for number in place.tolist()), rows, strict=True)
        ]
        with torch.inference_mode():
            known = np.array(features, dtype=np.float32).reshape(-1, len(FEATURES))
            scores = np.zeros(len(rows))
            for start in range(0, len(rows), _PAIRS):
                part = slice(start, start + _PAIRS)
                scores[part] = self.net.scores(
                    prompts,
                    responses,
                    torch.from_numpy(place[part]).to(device),
                    torch.tensor(rows[part], device=device),
                    torch.from_numpy(known[part]).to(device),
                ).cpu()
        if not np.isfinite(scores).all():
            raise ArtefactError("gives scores that are no finite numbers", hint="train it again")
        ends = np.cumsum([len(example) for example in chunk])
        yield from np.split(scores, ends[:-1])


class _Kept:
    """Responses that have been read and encoded: of each its row in ``read`` and ``encoded``."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self._row: dict[str, int] = {}
        self.read: list[Response] = []
        self.encoded: Encoded | None = None

    def rows(self, texts: Iterable[str]) -> tuple[list[int], Encoded]:
        """The rows of texts, and what they are rows of; what is new is read and encoded. Where too many are kept all others go."""
        import torch

        texts = list(texts)
        if len(self._row) > _KEPT:
            self._row, self.read, self.encoded = {}, [], None
        new = [text for text in dict.fromkeys(texts) if text not in self._row]
        for text in new:
            self._row[text] = len(self.read)
            self.read.append(self._model.reader.response(text))
        numbers = NumberedTexts(response.numbers for response in self.read[len(self.read) - len(new) :])
        if new or self.encoded is None:
            added = _by_length(self._model.net.responses, numbers)
            before = (self.encoded,) if self.encoded else ()
            self.encoded = Encoded(*(torch.cat(sides) for sides in zip(*before, added, strict=True)))
        return [self._row[text] for text in texts], self.encoded


def _chunks(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Examples, some at a time: so many, or so many candidates."""
    chunk: list[Example] = []
    pairs = 0
    for example in examples:
        chunk.append(example)
        pairs += len(example)
        if len(chunk) >= _EXAMPLES or pairs >= _PAIRS:
            yield chunk
            chunk, pairs = [], 0
    if chunk:
        yield chunk


def _by_length(encode: Callable[[NumberedTexts, NDArray[np.int64]], Encoded], texts: NumberedTexts) -> Encoded:
    """Texts encoded some at a time, those of equal length together; in their own order."""
    import torch

    order = np.argsort(texts.lengths, kind="stable")
    parts = [encode(texts, order[start : start + _TEXTS]) for start in range(0, max(1, len(order)), _TEXTS)]
    back = torch.from_numpy(np.argsort(order)).to(parts[0].vectors.device)
    return Encoded(*(torch.cat(sides)[back] for sides in zip(*parts, strict=True)))


def loss_of(name: str) -> Callable[..., torch.Tensor]:
    """The loss of a name of ``LOSSES``: of scores, targets, weights and the number of each pair's context, one number."""
    return {"mse": _squares, "listwise": _listwise}[name]


def held_loss(scores: list[NDArray[np.float64]], table: PairTable, name: str) -> float:
    """The loss of scores that a table's examples were given; 0 where nobody has said anything of them."""
    import torch

    pairs, place = table.pairs_of(table.useful)
    said = table.weights[pairs] > 0
    if not said.any():
        return 0.0
    values = np.concatenate(scores)[pairs[said]], table.targets[pairs[said]], table.weights[pairs[said]], place[said]
    return float(loss_of(name)(*(torch.from_numpy(value) for value in values)))


def _squares(scores: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, context: torch.Tensor) -> torch.Tensor:  # noqa: ARG001
    """The mean squared error."""
    return (weights * (scores - targets) ** 2).sum() / weights.sum()


def _listwise(
    scores: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, context: torch.Tensor
) -> torch.Tensor:
    """The cross entropy between each context's relevance, as shares of their sum, and the softmax of its scores (ListNet)."""
    import torch

    contexts = int(context[-1]) + 1
    empty = scores.new_zeros(contexts)
    top = torch.full_like(empty, float("-inf")).scatter_reduce(0, context, scores.detach(), "amax")
    normal = torch.log(empty.index_add(0, context, torch.exp(scores - top[context]))) + top
    wanted = weights * targets
    total = empty.index_add(0, context, wanted)
    each = -wanted / total[context].clamp_min(1e-6) * (scores - normal[context])
    return each.sum() / (total > 0).sum().clamp_min(1)
