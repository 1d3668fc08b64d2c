"""The contract is one: rankers that break it are found out."""

from __future__ import annotations

import itertools
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tertulia.ranking.ranker import Setting
from tertulia.ranking.rankers.length import Length
from tertulia.ranking.registry import RANKERS

from .contract import check_contract
from .made import made_splits


class Peeks(Length):
    name = "broken"

    def score(self, examples) -> Iterator[np.ndarray]:
        return (np.nan_to_num(each.relevance, nan=0.0) for each in examples)


class Compares(Length):
    name = "broken"

    def score(self, examples) -> Iterator[np.ndarray]:
        before = 0
        examples, copies = itertools.tee(examples)
        for each, scores in zip(copies, super().score(examples), strict=True):
            yield scores + before
            before += len(each)


class ReadsAll(Length):
    name = "broken"

    def score(self, examples) -> Iterator[np.ndarray]:
        taken = []
        for each in examples:
            taken.append(each)
            assert len(taken) < 10_000, "the stream has no end"
        return super().score(taken)


class Infinite(Length):
    name = "broken"

    def score(self, examples) -> Iterator[np.ndarray]:
        return (scores / 0.0 for scores in super().score(examples))


class Whims(Length):
    name = "broken"

    def save(self, directory: Path) -> None:
        super().save(directory)
        (directory / "note.txt").write_bytes(os.urandom(8))


class Pickles(Length):
    name = "broken"

    def save(self, directory: Path) -> None:
        super().save(directory)
        (directory / "model.dat").write_bytes(pickle.dumps(self.settings))


class Writes(Length):
    name = "broken"

    def fit(self, train, dev, run) -> None:
        super().fit(train, dev, run)
        train[0].relevance[0] += 1


class SaysNothing(Length):
    name = "broken"

    def report(self):
        return {"quality": float("nan")}


class Helpless(Length):
    name = "broken"
    known_settings: ClassVar = {**Length.known_settings, "k": Setting(1, "")}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (Peeks, "with the relevance hidden"),
        (Compares, r"in another order|each alone"),
        (ReadsAll, "the stream has no end"),
        (Infinite, "test-0"),
        (Whims, "the same seed gives the same bytes"),
        (Pickles, "is a pickle"),
        (Writes, "changed the examples"),
        (SaysNothing, "not JSON compliant"),
        (Helpless, "k"),
    ],
)
def test_a_ranker_that_breaks_it_is_found_out(broken, match: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(RANKERS._shipped, "broken", f"{__name__}:{broken.__name__}")
    with pytest.raises((AssertionError, ValueError), match=match):
        check_contract(broken, tmp_path, splits=made_splits(train=8, dev=4, test=6))


def test_the_made_up_sets_are_what_they_say() -> None:
    graded, binary = made_splits(), made_splits(graded=False, odd=False, candidates=7)
    assert [len(part) for part in graded[:3]] == [68, 28, 28]
    assert {len(each) for each in graded.train} >= {0, 1, 2, 3, 4, 5}
    assert all(sorted(each.relevance) == [0] * 6 + [1] for each in binary.train)
    assert [e.texts for e in made_splits(3).test] == [e.texts for e in made_splits(3).test]
    assert [e.texts for e in made_splits(3).test] != [e.texts for e in made_splits(4).test]
    assert max(len(e.turns) for e in made_splits(turns=4).train) == 4
    votes = made_splits(votes=True, odd=False)
    assert all((each.deviation > 0).all() for each in votes.dev)
    json.dumps([list(e.texts) for e in binary.test])
