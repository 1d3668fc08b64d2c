"""What the neural rankers share: they encode prompt and response, join the two, and learn the relevance of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.encoders.batches import NumberedTexts
from tertulia.encoders.pairs import PairNet, TextEncoder
from tertulia.encoders.runtime import device_of, fill, load_torch, read_tensors, reproducible, write_tensors
from tertulia.encoders.training import Epoch, Optimizer, train
from tertulia.encoders.vocabulary import Vocabulary
from tertulia.encoders.word_vectors import word_vectors
from tertulia.errors import ArtefactError, InputError
from tertulia.ranking.model import read_head, read_json, write_head, write_json
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.rankers.pair_model import LOSSES, PairModel, held_loss
from tertulia.ranking.rankers.pair_table import PairTable, Scale
from tertulia.ranking.rankers.pair_texts import FEATURES, PairReader, word_weights
from tertulia.ranking.tuning import Tuned, combinations
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["PAIR_SETTINGS", "PairRanker"]

_WEIGHTS, _VOCABULARY = "weights.safetensors", "vocabulary.json"
_IDF = "idf"

PAIR_SETTINGS: Mapping[str, Setting] = {
    "embedding": Setting(100, "the size of a word's vector", low=1, high=2_000),
    "joined": Setting(100, "the size of the layer that joins prompt and response", low=1, high=4_000),
    "shared": Setting(True, "one encoder for prompts and responses, or one each"),
    "dropout": Setting(0.3, "the share of each layer left out at random in training", tried=(0.3, 0.5, 0.1), low=0, high=0.95),
    "loss": Setting("mse", "mse: of the relevance; listwise: of the order within a context", choices=LOSSES),
    "learning_rate": Setting(0.001, "the step of Adam", tried=(0.001, 0.0003, 0.003), low=1e-7, high=1),
    "weight_decay": Setting(0.01, "how fast weights that are of no use shrink", low=0, high=10),
    "epochs": Setting(20, "at most so many times through train", low=1, high=10_000),
    "patience": Setting(4, "so many epochs without a better one end it", low=1, high=10_000),
    "batch": Setting(128, "pairs a step, about", low=1, high=1_000_000),
    "prompt_words": Setting(40, "the last words of a prompt that are seen", low=1, high=10_000),
    "response_words": Setting(40, "the first words of a response that are seen", low=1, high=10_000),
    "least_frequent": Setting(2, "a word has a vector of its own from so many occurrences in train", low=1, high=1_000_000),
    "vocabulary": Setting(50_000, "at most so many words", low=0, high=5_000_000),
    "vectors": Setting("ppmi", "word vectors begin: ppmi of train's texts, or random", choices=("ppmi", "random")),
    "learn_vectors": Setting(True, "whether word vectors are learned further", tried=(True, False)),
    "weigh_votes": Setting(False, "relevance that is surer counts more: by one over its deviation"),
}  # fmt: skip
_BUCKETS = 100
_WINDOW = 5


class PairRanker:
    """A ranker by a network of pairs; a class below says which encoder."""

    name: ClassVar[str]
    summary: ClassVar[str]
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = PAIR_SETTINGS

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._wording = Wording()
        self._model: PairModel | None = None
        self._report: dict[str, Any] = {}

    @staticmethod
    def encoder(settings: Mapping[str, Any]) -> TextEncoder:
        """A new text encoder."""
        raise NotImplementedError

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Learn the relevance of train's pairs, epoch by epoch, until dev is ranked no better; of all trials the best is kept.

        Raises
        ------
        InputError
            Nobody has said anything of train.
        MissingExtraError
            PyTorch is not installed.
        ConfigurationError
            There is no such device, or the loss diverges.
        """
        load_torch(f"the ranker {self.name!r}")
        device = device_of(run.device)
        scale = Scale.of(train)
        if scale is None:
            raise InputError(
                f"the ranker {self.name!r} learns from relevance, and train has no candidate of a known one"
            )
        best: tuple[tuple[float, ...], PairModel, list[Epoch]] | None = None
        tried: list[tuple[dict[str, Any], float]] = []
        for settings in combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed):
            # Each trial begins at the same seed, so that what comes of it does not hang on those before.
            with reproducible(run.seed, device, run.workers):
                model, epochs = self._trained(settings, train, dev, scale, run, device)
            quality = max(epoch.quality for epoch in epochs)
            tried.append((settings, quality[0]))
            if best is None or quality > best[0]:
                best = quality, model, epochs
                self.settings = settings
        if best is None:
            return
        self._wording, self._model = run.wording, best[1]
        self._report = _report(best[1], best[2], device) | {
            "tuning": Tuned(self.settings, best[0][0], tuple(tried)).to_json()
        }

    def _trained(
        self,
        settings: Mapping[str, Any],
        examples: Sequence[Example],
        dev: Sequence[Example],
        scale: Scale,
        run: FitRun,
        device: torch.device,
    ) -> tuple[PairModel, list[Epoch]]:
        reader, texts = _reader(settings, examples, run.wording)
        net = self._net(settings, len(reader.vocabulary))
        table = PairTable(examples, reader, scale, weigh=settings["weigh_votes"])
        held = PairTable(dev, reader, scale, weigh=settings["weigh_votes"])
        _begin(net, table, settings, texts, run.seed)
        net.module.to(device)
        model = PairModel(net, reader)
        random = np.random.default_rng(run.seed)
        optimizer = Optimizer(net.module, settings["learning_rate"], decay=settings["weight_decay"])

        def losses(number: int) -> Iterator[float]:
            total = len(table.useful)
            for loss, done in model.losses(table, settings, optimizer, random):
                run.progress(f"{self.name}, epoch {number}", done, total)
                yield loss

        def quality() -> tuple[float, ...]:
            scores = model.table_scores(held)
            return run.quality(dev, scores), -held_loss(scores, held, settings["loss"])

        return model, train(net.module, losses, quality, epochs=settings["epochs"], patience=settings["patience"])

    def _net(self, settings: Mapping[str, Any], vocabulary: int) -> PairNet:
        return PairNet(
            vocabulary,
            settings["embedding"],
            self.encoder(settings),
            None if settings["shared"] else self.encoder(settings),
            features=len(FEATURES),
            hidden=settings["joined"],
            dropout=settings["dropout"],
        )

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """What the network says of each candidate; it depends on the others that are scored in the last bits only."""
        if self._model is None:
            raise InputError(f"the ranker {self.name!r} is neither fitted nor loaded")
        return self._model.score(examples)

    def save(self, directory: Path) -> None:
        """Write the settings and the report, the vocabulary, and the weights as safetensors."""
        import torch

        if self._model is None:
            raise InputError(f"the ranker {self.name!r} is neither fitted nor loaded")
        write_head(directory, self, self._wording, report=self._report)
        write_json(directory / _VOCABULARY, self._model.reader.vocabulary.to_json())
        idf = torch.from_numpy(self._model.reader.weights)
        write_tensors(directory / _WEIGHTS, {_IDF: idf, **self._model.net.module.state_dict()})

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved, on the processor; raises as ``Ranker.load`` says."""
        torch = load_torch(f"the ranker {cls.name!r}")
        head = read_head(directory, cls)
        report = head.more.get("report")
        if not isinstance(report, dict):
            raise ArtefactError("has no report", where=directory, hint="train it again")
        vocabulary = Vocabulary.from_json(read_json(directory / _VOCABULARY), directory / _VOCABULARY)
        tensors = read_tensors(directory / _WEIGHTS)
        idf = tensors.pop(_IDF, None)
        if (
            idf is None
            or idf.shape != (len(vocabulary),)
            or idf.dtype != torch.float32
            or not torch.isfinite(idf).all()
        ):
            raise ArtefactError(
                f"has no IDF of each of {len(vocabulary)} words", where=directory / _WEIGHTS, hint="train it again"
            )
        ranker = cls(head.settings)
        # Made without memory first: what is read becomes the weights, if it is of their shapes.
        with torch.device("meta"):
            net = ranker._net(head.settings, len(vocabulary))
        fill(net.module, tensors, directory / _WEIGHTS)
        net.module.eval()
        ranker._wording, ranker._report = head.wording, report
        ranker._model = PairModel(net, _reader_of(head.settings, head.wording, vocabulary, idf.numpy()))
        return ranker

    def report(self) -> dict[str, Any]:
        """The epochs with their loss and quality on dev, the size of the network, and what tuning chose."""
        return self._report


def _reader(
    settings: Mapping[str, Any], examples: Sequence[Example], wording: Wording
) -> tuple[PairReader, NumberedTexts]:
    """A reader whose words are those of the distinct texts of train, and these texts."""
    distinct = dict.fromkeys(
        text for example in examples for text in (*(t.text for t in example.turns), *example.texts)
    )
    words = [wording.words(text) for text in distinct]
    vocabulary = Vocabulary.of(words, minimum=settings["least_frequent"], most=settings["vocabulary"], buckets=_BUCKETS)
    reader = _reader_of(settings, wording, vocabulary, word_weights(words, vocabulary))
    return reader, NumberedTexts(vocabulary.numbers(text) for text in words)


def _reader_of(
    settings: Mapping[str, Any], wording: Wording, vocabulary: Vocabulary, weights: NDArray[np.float32]
) -> PairReader:
    return PairReader(
        wording,
        vocabulary,
        weights,
        prompt_words=settings["prompt_words"],
        response_words=settings["response_words"],
    )


def _begin(net: PairNet, table: PairTable, settings: Mapping[str, Any], texts: NumberedTexts, seed: int) -> None:
    """Where a network begins: word vectors, the spread of the features, the mean of the targets."""
    import torch

    net.standardise(table.features)
    with torch.no_grad():
        if settings["vectors"] == "ppmi":
            vectors = word_vectors(texts, len(net.words.weight), settings["embedding"], window=_WINDOW, seed=seed)
            seen = np.flatnonzero(np.abs(vectors).sum(axis=1))
            net.words.weight[seen] = torch.from_numpy(vectors[seen])
        net.words.weight.requires_grad_(settings["learn_vectors"])
        if settings["loss"] == "mse":
            said = table.weights > 0
            net.output.bias.fill_(float(np.average(table.targets[said], weights=table.weights[said])))


def _report(model: PairModel, epochs: list[Epoch], device: torch.device) -> dict[str, Any]:
    """What can be said in JSON; times are left out, for the same seed gives the same report."""
    best = max(range(len(epochs)), key=lambda number: epochs[number].quality)
    return {
        "device": device.type,
        "epochs": [{"loss": epoch.loss, "quality": epoch.quality[0]} for epoch in epochs],
        "best_epoch": best + 1,
        "words": len(model.reader.vocabulary.words),
        "parameters": sum(value.numel() for value in model.net.module.parameters()),
    }
