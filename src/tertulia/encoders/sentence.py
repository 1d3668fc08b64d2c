"""Sentence embeddings: texts to vectors of length 1, such that texts that mean the same are near.

>>> from tertulia.encoders.sentence import open_encoder
>>> encoder = open_encoder("minilm")                                     # doctest: +SKIP
>>> encoder.encode(["is it raining", "does it rain"]).shape              # doctest: +SKIP
(2, 384)
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.artefact import canonical_json
from tertulia.encoders.sentence_cache import VectorCache, key_of
from tertulia.encoders.sentence_models import SentenceModel, find_model
from tertulia.encoders.sentence_runners import Runner, open_runner
from tertulia.errors import ArtefactError, MissingExtraError, TertuliaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SentenceEncoder", "load_encoder", "open_encoder", "open_tokenizer"]

Progress = Callable[[str, int, int | None], None]

# Of a text no more is read: 256 tokens are 1,500 characters as a rule, and cutting words takes time.
_CHARACTERS = 20_000
# Texts that are computed before they are kept in the cache and progress is told.
_BLOCK = 1_024
_NOTE = "sentence_model.json"
_FILES = "sentence_model"


class SentenceEncoder:
    """Texts to vectors; made by ``open_encoder``. Several threads may use it at a time.

    Attributes
    ----------
    name:
        What the model is called.
    digest:
        A SHA-256 that stands for the model: equal ones give equal vectors.
    dimension:
        Numbers of a vector.
    """

    def __init__(self, model: SentenceModel, cache: Path | None, workers: int, device: str) -> None:
        self.model = model
        self.name = model.name
        self.digest = model.digest()
        self._tokenizer = open_tokenizer(
            model.files["tokenizer.json"], model.max_tokens, f"the sentence model {model.name!r}"
        )
        self._runner: Runner = open_runner(model, workers, device)
        self._workers = max(1, workers) if self._runner.parallel else 1
        self.dimension = int(self._runner.run(self._numbers(["a"])[0][None, :]).shape[1])
        self._cache = None if cache is None else VectorCache(cache, self.digest, self.dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Vectors of length 1, float32 of the shape (texts, dimension).

        Equal texts are computed once, and those that the cache has not at all. A vector does not depend on what else is in
        ``texts``: to the bit on the processor, to some 1e-6 on a GPU. A text is cut to the tokens that the model takes.

        Raises
        ------
        ArtefactError
            The model fails on a text, or the cache cannot be written.
        """
        numbers: dict[str, int] = {}
        places = [numbers.setdefault(text, len(numbers)) for text in texts]
        distinct = list(numbers)
        vectors = np.zeros((len(distinct), self.dimension), np.float32)
        if progress is not None:
            progress("embeddings", 0, len(distinct))
        missing = self._take_kept(distinct, vectors)
        if progress is not None and len(distinct) > len(missing):
            progress("embeddings", len(distinct) - len(missing), len(distinct))
        remaining = iter(missing)
        while block := list(islice(remaining, _BLOCK)):
            chosen = [distinct[number] for number in block]
            vectors[block] = made = self._compute(chosen)
            if self._cache is not None:
                self._cache.write([key_of(text) for text in chosen], made)
            if progress is not None:
                progress("embeddings", len(block), len(distinct))
        return vectors if len(distinct) == len(texts) else vectors[places]

    def save(self, directory: Path) -> None:
        """Leave in a directory what ``load_encoder`` needs: the name of a packaged model, or the files of another."""
        note = {"digest": self.digest, "name": self.model.package}
        (directory / _NOTE).write_text(canonical_json(note) + "\n", encoding="utf-8")
        if self.model.package is None:
            for name, source in self.model.files.items():
                target = directory / _FILES / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def _take_kept(self, texts: list[str], vectors: NDArray[np.float32]) -> list[int]:
        """Fill in what the cache has; the numbers of the texts that it has not."""
        if self._cache is None or not texts:
            return list(range(len(texts)))
        found, kept = self._cache.read([key_of(text) for text in texts])
        vectors[found] = kept
        return np.flatnonzero(~found).tolist()

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        numbers = self._numbers(texts)
        batches = list(_batches(numbers, self._runner.tokens))
        vectors = np.empty((len(texts), self.dimension), np.float32)

        def run(batch: list[int]) -> NDArray[np.float32]:
            return self._runner.run(np.stack([numbers[number] for number in batch]))

        if self._workers > 1 and len(batches) > 1:
            with ThreadPoolExecutor(self._workers) as pool:
                results = list(pool.map(run, batches))
        else:
            results = [run(batch) for batch in batches]
        for batch, result in zip(batches, results, strict=True):
            vectors[batch] = result
        if not np.isfinite(vectors).all():
            raise ArtefactError(f"the sentence model {self.name!r} gives numbers that are not finite")
        return _of_length_one(vectors)

    def _numbers(self, texts: list[str]) -> list[NDArray[np.int64]]:
        """The token numbers of each text, at least one: a text without any is as a blank for the model."""
        found = []
        for text in texts:
            # Half a surrogate pair, which a tokenizer cannot take, becomes a question mark.
            valid = text[:_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
            found.append(np.array(self._tokenizer.encode(valid).ids or [0], dtype=np.int64))
        return found


def open_encoder(
    name_or_path: str | Path, cache: Path | None = None, workers: int = 1, *, device: str = "auto"
) -> SentenceEncoder:
    """The sentence encoder of a packaged name (``minilm``, ``minilm-full``) or of a directory.

    Parameters
    ----------
    name_or_path:
        As ``sentence_models.find_model`` takes it.
    cache:
        A directory where vectors are kept by text and model; may be shared by several processes.
    workers:
        Threads.
    device:
        ``auto``, ``cpu`` or ``cuda``; models by onnxruntime always use the processor.

    Raises
    ------
    ConfigurationError
        There is no such model or device.
    ArtefactError
        The model is not what it should be, or the cache cannot be used.
    MissingExtraError
        A package is not installed.
    """
    return SentenceEncoder(find_model(name_or_path), cache, workers, device)


def load_encoder(
    directory: Path, cache: Path | None = None, workers: int = 1, *, device: str = "auto"
) -> SentenceEncoder:
    """The encoder that ``SentenceEncoder.save`` left in a directory.

    Raises
    ------
    ArtefactError
        There is none, or the model that is installed by its name is another one than that which was saved.
    MissingExtraError
        A package is not installed.
    """
    where = directory / _NOTE
    try:
        note: Any = json.loads(where.read_bytes())
    except OSError as error:
        raise ArtefactError(f"cannot be read: {error.strerror}", where=where, hint="train it again") from None
    except (ValueError, RecursionError) as error:
        raise ArtefactError(f"is not JSON: {error}", where=where, hint="train it again") from None
    name = note.get("name") if isinstance(note, dict) else 0
    if not isinstance(name, str | None):
        raise ArtefactError("names no sentence model", where=where, hint="train it again")
    model = find_model(directory / _FILES if name is None else name)
    encoder = SentenceEncoder(model, cache, workers, device)
    if encoder.digest != note.get("digest"):
        raise ArtefactError(
            f"is of another version of the sentence model {encoder.name!r} than the one that is here",
            where=where,
            hint="train it again",
        )
    return encoder


def open_tokenizer(path: Path, max_tokens: int | None, feature: str) -> Any:
    """A tokenizer of ``tokenizers``, without padding, that cuts at ``max_tokens``; ``None``: not at all.

    Raises
    ------
    MissingExtraError
        ``tokenizers`` is not installed.
    ArtefactError
        The file is not a tokenizer.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError(feature, package="tokenizers", extra="full") from None
    try:
        data = path.read_bytes().decode("utf-8")
        tokenizer = Tokenizer.from_str(data)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if max_tokens is not None:
            tokenizer.enable_truncation(max_tokens)
    except TertuliaError:
        raise
    except Exception as error:
        # The library raises the bare Exception of a file that it cannot read.
        said = " ".join(str(error).split())[:200]
        raise ArtefactError(f"is not a tokenizer: {said}", where=path) from None
    return tokenizer


def _batches(numbers: Sequence[NDArray[np.int64]], tokens: int) -> Iterator[list[int]]:
    """The places of texts of one length together, as many as have ``tokens`` tokens, at least one."""
    lengths: dict[int, list[int]] = {}
    for place, each in enumerate(numbers):
        lengths.setdefault(len(each), []).append(place)
    for length, places in sorted(lengths.items()):
        size = max(1, tokens // length)
        for start in range(0, len(places), size):
            yield places[start : start + size]


def _of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors, each over its length; one that is all zeros stays so."""
    # Row by row, so that the order of a sum does not depend on how many rows there are.
    lengths = np.array([np.sqrt(np.dot(row, row)) for row in vectors.astype(np.float64)])
    lengths[lengths == 0] = 1
    unit: NDArray[np.float32] = (vectors / lengths[:, None]).astype(np.float32)
    return unit
