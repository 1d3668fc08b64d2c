"""The ranker of frozen sentence embeddings: contexts and responses become vectors apart, and a learned head compares them."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.encoders.sentence import SentenceEncoder, load_encoder, open_encoder
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.listwise import teaching
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.rankers.query_head import Listing, QueryHead, Training, train_head
from tertulia.ranking.tuning import combinations
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["BiEncoder"]

_HEAD = "head.npz"
# Examples whose texts are embedded together when scored, and texts whose vectors are remembered: 25 MB of 384 numbers.
_EXAMPLES, _REMEMBERED = 128, 16_384
_THREADS = 4


class BiEncoder:
    """The score is ``q · r``: ``q`` is learned from the vectors of the turns, ``r`` is the vector of the response."""

    name: ClassVar[str] = "biencoder"
    summary: ClassVar[str] = "frozen sentence embeddings with a learned head"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "model": Setting("", "the sentence model: a name or the path of its directory; by default that of the run"),
        "turns": Setting(4, "the last turns of a context that count, at most", low=1),
        "epochs": Setting(40, "how many times all contexts are gone through, at most", low=0, high=10_000),
        "patience": Setting(4, "epochs without a gain on dev after which training ends", low=1),
        "learning_rate": Setting(1e-3, "the step size of Adam", tried=(1e-3, 3e-4, 2e-3), low=1e-8, high=1.0),
        "decay": Setting(0.1, "how strongly the head is drawn back to the plain cosine", low=0.0, high=100.0),
        "dropout": Setting(
            0.2,
            "the share of the numbers of a vector that are put out in training",
            tried=(0.2, 0.4),
            low=0.0,
            high=0.9,
        ),
        "batch": Setting(64, "contexts between two steps", low=1, high=4096),
        "others": Setting(
            1.0, "the weight of the candidates of other contexts as negatives", tried=(1.0, 0.0), low=0.0, high=100.0
        ),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._wording = Wording()
        self._report: dict[str, Any] = {}
        self._encoder: SentenceEncoder | None = None
        self._head: QueryHead | None = None
        self._remembered: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Embed train and dev, then learn the head; raises as ``Ranker.fit`` says.

        ``ConfigurationError`` where neither the setting ``model`` nor the run names a sentence model.
        """
        model = self.settings["model"] or run.sentence_model
        if not model:
            raise ConfigurationError(
                "the ranker 'biencoder' needs a sentence model, and neither its setting 'model' nor the run names one; "
                "expected minilm (English) or the path of a model's directory"
            )
        self._wording = run.wording
        listed = teaching(train)
        if not listed:
            raise InputError(
                "no context of train says which of its candidates is better, so there is nothing to learn from"
            )
        self._encoder = open_encoder(model, run.cache, run.workers, device=run.device)
        texts: dict[str, int] = {}
        for example in [*(example for example, _ in listed), *dev]:
            for text in self._texts(example):
                texts.setdefault(text, len(texts))
        table = self._encoder.encode(list(texts), run.progress)
        listings = [
            Listing(*self._context(example, table, texts), np.array([texts[text] for text in example.texts]), shares)
            for example, shares in listed
        ]

        def quality_of(head: QueryHead) -> tuple[float, NDArray[np.float64]]:
            scores = [self._values(head, example, table, texts) for example in dev]
            each = [run.quality([example], [values]) for example, values in zip(dev, scores, strict=True)]
            return run.quality(dev, scores), np.array(each)

        results = []
        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        steps = sum(settings["epochs"] for settings in tried)
        run.progress("training", 0, steps)
        for settings in tried:
            chosen = {name: settings[name] for name in settings.keys() - {"model", "turns"}}
            training = Training(**chosen, seed=run.seed)
            head, report = train_head(
                listings, table, training, quality_of, lambda done: run.progress("training", done, steps)
            )
            # Epochs that were not needed count as done.
            run.progress("training", settings["epochs"] - len(report["dev"]) + 1, steps)
            results.append((quality_of(head)[0], settings, head, report))
        quality, settings, self._head, report = max(results, key=lambda result: result[0])
        self.settings = {**settings, "model": str(model)}
        self._report = {
            "model": self._encoder.name,
            "dimension": self._encoder.dimension,
            "contexts": len(listings),
            "texts": len(texts),
            "quality": quality,
            "tried": [
                {name: settings[name] for name, setting in self.known_settings.items() if setting.tried}
                | {"quality": quality}
                for quality, settings, _, _ in results
            ],
            **report,
        }

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The products of the query of each context and the vectors of its candidates."""
        encoder, head = self._fitted()
        stream = iter(examples)
        while some := list(islice(stream, _EXAMPLES)):
            texts: dict[str, int] = {}
            for example in some:
                for text in self._texts(example):
                    texts.setdefault(text, len(texts))
            table = self._vectors(encoder, list(texts))
            for example in some:
                yield self._values(head, example, table, texts)

    def save(self, directory: Path) -> None:
        """Write the head, the settings, and which sentence model it is; one given by its path is copied."""
        encoder, head = self._fitted()
        write_head(directory, self, self._wording, report=self._report)
        write_arrays(directory / _HEAD, head.arrays)
        encoder.save(directory)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        saved = read_head(directory, cls)
        report = saved.more.get("report")
        arrays = read_arrays(directory / _HEAD)
        encoder = load_encoder(directory, None, min(_THREADS, os.cpu_count() or 1))
        size = encoder.dimension
        expected = QueryHead.plain(size).arrays
        if not isinstance(report, dict) or arrays.keys() != expected.keys():
            raise ArtefactError("does not hold the head of a bi-encoder", where=directory, hint="train it again")
        for name, array in expected.items():
            found = arrays[name]
            if found.shape != array.shape or found.dtype != array.dtype or not np.isfinite(found).all():
                raise ArtefactError(
                    f"has for {name!r} what are not {array.shape} finite numbers of float32",
                    where=directory / _HEAD,
                    hint="train it again",
                )
        ranker = cls(saved.settings)
        ranker._wording, ranker._report = saved.wording, report
        ranker._encoder, ranker._head = encoder, QueryHead(**arrays)
        return ranker

    def report(self) -> dict[str, Any]:
        """The sentence model, the quality on dev after each epoch, and whether the head or the plain cosine was kept."""
        return self._report

    def _fitted(self) -> tuple[SentenceEncoder, QueryHead]:
        if self._encoder is None or self._head is None:
            raise ConfigurationError("the ranker 'biencoder' has not been fitted; expected fit or load before")
        return self._encoder, self._head

    def _turns(self, example: Example) -> list[tuple[str, float]]:
        return self._wording.weighted_turns(example)[: self.settings["turns"]]

    def _texts(self, example: Example) -> Iterator[str]:
        yield from (text for text, _ in self._turns(example))
        yield from example.texts

    def _context(
        self, example: Example, table: NDArray[np.float32], texts: Mapping[str, int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The vector of the last turn, and the sum of those of the earlier ones, each times its weight."""
        found = np.zeros((2, table.shape[1]), np.float32)
        for number, (text, weight) in enumerate(self._turns(example)):
            found[min(number, 1)] += np.float32(weight) * table[texts[text]]
        return found[0], found[1]

    def _values(
        self, head: QueryHead, example: Example, table: NDArray[np.float32], texts: Mapping[str, int]
    ) -> NDArray[np.float64]:
        rows = [texts[text] for text in example.texts]
        return head.score(*self._context(example, table, texts), table[rows])

    def _vectors(self, encoder: SentenceEncoder, texts: list[str]) -> NDArray[np.float32]:
        """The vectors of texts; those of late ones are remembered, for a bot weighs the same responses again and again."""
        vectors = np.empty((len(texts), encoder.dimension), np.float32)
        missing = []
        with self._lock:
            for number, text in enumerate(texts):
                known = self._remembered.get(text)
                if known is None:
                    missing.append(number)
                else:
                    self._remembered.move_to_end(text)
                    vectors[number] = known
        made = encoder.encode([texts[number] for number in missing])
        vectors[missing] = made
        with self._lock:
            for number, vector in zip(missing, made, strict=True):
                self._remembered[texts[number]] = vector.copy()
            while len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        return vectors
