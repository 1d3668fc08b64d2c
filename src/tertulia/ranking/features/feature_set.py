"""All features of candidates as one matrix: fitted on train, kept in a directory, read without a look at relevance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError, InputError
from tertulia.ranking.crossfit import folds_of
from tertulia.ranking.features.association import Association
from tertulia.ranking.features.borrowed import without_borrowed
from tertulia.ranking.features.generality import Generality
from tertulia.ranking.features.language_model import LanguageModel
from tertulia.ranking.features.learned import LearnedPart, Read
from tertulia.ranking.features.lexicon import Lexicon
from tertulia.ranking.features.relative import relative
from tertulia.ranking.features.sentences import Sentences
from tertulia.ranking.features.table import PAIR_FEATURES
from tertulia.ranking.features.texts import Reader
from tertulia.ranking.features.worth import Worth
from tertulia.ranking.importance import divided
from tertulia.ranking.model import read_arrays, read_json, write_arrays, write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun

__all__ = ["LEARNED_PARTS", "RELATIVE", "FeatureSet"]

LEARNED_PARTS: dict[str, type[LearnedPart]] = {
    part.name: part for part in (Generality, LanguageModel, Association, Worth)
}
"""The parts that are learned, in the order of their columns."""

RELATIVE = " (relative)"
"""What the name of a feature ends in where it is told in standard deviations from the mean of the context's candidates."""

_FOLDS = 5
_CHUNK = 128
_LARGEST = 1e6
_LEXICON = "lexicon.json"
_PARTS = "features.npz"
_EMBEDDED = "embedded"


class FeatureSet:
    """Features of every candidate of an example, each as it is and relative to the other candidates of the context.

    ``names`` are those of the columns; ``groups`` are the columns of each feature, both of its versions.
    """

    def __init__(self, lexicon: Lexicon, parts: Sequence[LearnedPart], sentences: Sentences | None = None) -> None:
        self.lexicon = lexicon
        self.parts = list(parts)
        self.sentences = sentences
        self.plain = [*PAIR_FEATURES, *(name for part in self.parts for name in part.features)]
        self.plain += [] if sentences is None else sentences.features
        self.names = [*self.plain, *(name + RELATIVE for name in self.plain)]
        self._reader = Reader(lexicon)

    @classmethod
    def fit(cls, train: Sequence[Example], run: FitRun, *, embeddings: bool = True) -> FeatureSet:
        """Learn from train what features need: frequencies, and the learned parts.

        Where the run names a sentence model there are cosines of its embeddings too, unless ``embeddings`` is false.

        Raises
        ------
        InputError
            No example has a candidate.
        """
        if not any(len(example) for example in train):
            raise InputError("there is nothing to learn features from: no train context has a candidate")
        run.progress("features: words", 0, None)
        lexicon = Lexicon.of(train, run.wording)
        parts = []
        for name, part in LEARNED_PARTS.items():
            run.progress(f"features: {name.replace('_', ' ')}", 0, None)
            parts.append(part.fit(train, lexicon, run))
        wanted = embeddings and run.sentence_model is not None
        return cls(lexicon, parts, Sentences.open(str(run.sentence_model), run) if wanted else None)

    @property
    def groups(self) -> dict[str, list[int]]:
        """The columns of each feature."""
        return {name: [at, at + len(self.plain)] for at, name in enumerate(self.plain)}

    def matrix(self, examples: Iterable[Example]) -> NDArray[np.float32]:
        """Values of the shape (candidates of all examples, names); all finite."""
        return self._stacked(self.matrices(examples))

    def matrices(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float32]]:
        """Of each example the values of its candidates: (candidates, names). A row depends on its example alone."""
        remaining = iter(examples)
        while chunk := list(islice(remaining, _CHUNK)):
            yield from self._chunk(chunk, self._reader, self.parts, own=False)

    def scores(
        self, examples: Iterable[Example], predict: Callable[[NDArray[np.float32]], NDArray[np.float64]]
    ) -> Iterator[NDArray[np.float64]]:
        """Of each example what ``predict`` makes of the rows of its candidates, (rows, names) to (rows), of many at once."""
        remaining = iter(examples)
        while chunk := list(islice(remaining, _CHUNK)):
            yield from divided(predict(self.matrix(chunk)), chunk)

    def train_matrix(self, train: Sequence[Example], run: FitRun) -> NDArray[np.float32]:
        """The matrix of the examples that this was fitted on, as if each had not been among them.

        A text is left out of the frequencies of its own words, and the parts that learn from relevance are fitted anew without
        each of five folds in turn (fewer where there are fewer prompts).
        """
        folds = _folds(train, run.seed)
        held_out = [at for at, part in enumerate(self.parts) if part.held_out]
        reader = Reader(self.lexicon, known=True)
        starts = np.cumsum([0, *map(len, train)]).tolist()
        found = np.zeros((starts[-1], len(self.names)), dtype=np.float32)
        quiet = replace(run, progress=lambda _stage, _done, _total: None)
        for fold in range(int(folds.max(initial=-1)) + 1):
            run.progress("features of train, by fold", int(fold > 0), int(folds.max()) + 1)
            places = np.flatnonzero(folds == fold).tolist()
            ours = [train[place] for place in places]
            parts = list(self.parts)
            if held_out:
                others = [train[place] for place in np.flatnonzero(folds != fold).tolist()]
                others = without_borrowed(others, ours)
                for at in held_out:
                    parts[at] = type(parts[at]).fit(others, self.lexicon, quiet)
            for first in range(0, len(ours), _CHUNK):
                chunk = self._chunk(ours[first : first + _CHUNK], reader, parts, own=True)
                for place, values in zip(places[first : first + _CHUNK], chunk, strict=True):
                    found[starts[place] : starts[place + 1]] = values
        run.progress("features of train, by fold", 1, int(folds.max(initial=0)) + 1)
        return found

    def save(self, directory: Path) -> None:
        """Leave in a directory what ``load`` needs."""
        write_json(directory / _LEXICON, self.lexicon.to_json())
        arrays = {f"{part.name}.{key}": array for part in self.parts for key, array in part.to_arrays().items()}
        arrays[_EMBEDDED] = np.array([self.sentences is not None])
        write_arrays(directory / _PARTS, arrays)
        if self.sentences is not None:
            self.sentences.save(directory)

    @classmethod
    def load(cls, directory: Path) -> FeatureSet:
        """The features that were saved: they give the same values.

        Raises
        ------
        ArtefactError
            What is there does not hold.
        """
        where = directory / _LEXICON
        try:
            lexicon = Lexicon.from_json(read_json(where))
        except ArtefactError as error:
            raise ArtefactError(error.message, where=error.where or where, hint=error.hint) from None
        where = directory / _PARTS
        arrays = read_arrays(where)
        parts = []
        for name, part in LEARNED_PARTS.items():
            own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
            try:
                parts.append(part.from_arrays(own, lexicon))
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise ArtefactError(f"does not hold: {name}: {error}", where=where, hint="train it again") from None
        embedded = arrays.get(_EMBEDDED)
        if embedded is None or embedded.shape != (1,):
            raise ArtefactError("does not say whether there are embeddings", where=where, hint="train it again")
        return cls(lexicon, parts, Sentences.load(directory) if embedded[0] else None)

    def describe(self) -> list[dict[str, Any]]:
        """Each feature's name and what it is, with its source, in the order of columns."""
        return describe([*self.parts, *([] if self.sentences is None else [self.sentences])])

    def _chunk(
        self, examples: Sequence[Example], reader: Reader, parts: Sequence[LearnedPart], *, own: bool
    ) -> list[NDArray[np.float32]]:
        read = [
            Read(example, reader.conversation(example), [reader.text(text) for text in example.texts])
            for example in examples
        ]
        functions = list(PAIR_FEATURES.values())
        rows = [
            [function(one.conversation, response) for function in functions]
            for one in read
            for response in one.responses
        ]
        plain = np.array(rows, dtype=np.float64).reshape(-1, len(functions))
        embedded = [] if self.sentences is None else [self.sentences.columns(read)]
        columns = np.hstack([plain, *(part.columns(read, own=own) for part in parts), *embedded])
        # Nothing reads a number as large as this, and a file that was tampered with must not make a score that is none.
        np.nan_to_num(columns, copy=False, nan=0.0, posinf=_LARGEST, neginf=-_LARGEST)
        columns = columns.clip(-_LARGEST, _LARGEST)
        sizes = [len(example) for example in examples]
        both = np.hstack([columns, relative(columns, sizes)]).astype(np.float32)
        return np.split(both, np.cumsum(sizes)[:-1]) if sizes else []

    def _stacked(self, matrices: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
        found = list(matrices)
        return np.vstack(found) if found else np.zeros((0, len(self.names)), dtype=np.float32)


def describe(parts: Iterable[LearnedPart | type[LearnedPart] | Sentences | type[Sentences]]) -> list[dict[str, Any]]:
    """Of each feature, those of the table and those of parts, its ``name``, ``what`` it is, and its ``source`` or ``None``."""
    texts: dict[str, str] = {
        name: " ".join((function.__doc__ or "").split()) for name, function in PAIR_FEATURES.items()
    }
    for part in parts:
        texts |= dict(part.features)
    found = []
    for name, text in texts.items():
        what, _, source = text.partition(" Source: ")
        found.append({"name": name, "what": what.rstrip("."), "source": source.rstrip(".") or None})
    return found


def _folds(train: Sequence[Example], seed: int) -> NDArray[np.int64]:
    """Folds by prompt, five or as many as there are prompts; one where there is but one prompt."""
    for folds in range(min(_FOLDS, len(train)), 1, -1):
        try:
            return folds_of(train, folds, seed=seed)
        except InputError:
            continue
    return np.zeros(len(train), dtype=np.int64)
