"""Boosted trees on features: the contract, and that they learn what a lexical ranker cannot see."""

from typing import Any

import numpy as np
import pytest

from tertulia.errors import MissingExtraError
from tertulia.ranking.quality import map_at
from tertulia.ranking.ranker import Ranker
from tertulia.ranking.rankers.bm25 import Bm25
from tertulia.ranking.rankers.gbdt import Gbdt
from tertulia.ranking.rankers.svmrank import SvmRank

from .contract import check_contract, fitted, scores_of
from .made import BINARY_CUT, made_run, made_splits

SMALL = {"rounds": 40, "shuffles": 1}


def test_it_keeps_the_contract(tmp_path) -> None:
    check_contract(Gbdt, tmp_path, SMALL)


@pytest.mark.parametrize(("ranker", "chosen"), [(Gbdt, SMALL), (SvmRank, {"shuffles": 1})])
@pytest.mark.parametrize(
    "options",
    [
        {"graded": True},
        {"graded": False},
        {"graded": True, "language": "zh", "turns": 1},
        {"graded": True, "train": 40, "dev": 5},
    ],
    ids=["graded", "binary", "zh", "small"],
)
def test_it_beats_a_lexical_ranker(ranker: type[Ranker], chosen: dict[str, Any], options: dict[str, Any]) -> None:
    made: dict[str, Any] = {"train": 120, "dev": 30, "test": 80, "odd": False, **options}
    splits = made_splits(**made)
    cut = 4.0 if options["graded"] else BINARY_CUT
    run = made_run(cut, language=options.get("language", "en"))
    quality = map_at(cut)
    learned = fitted(ranker, splits, run, chosen)
    lexical = fitted(Bm25, splits, run)
    better, worse = (quality(splits.test, scores_of(one, splits.test)) for one in (learned, lexical))
    assert better > worse + 0.03, (better, worse)
    report = learned.report()
    importance = report["importance"]
    assert {one["feature"] for one in importance} >= {"cosine", "answers_prompt", "likelihood", "worth"}
    assert [one["importance"] for one in importance] == sorted((o["importance"] for o in importance), reverse=True)


def test_tuning_keeps_to_its_budget_and_to_what_was_given() -> None:
    splits = made_splits(train=30, dev=10)
    ranker = fitted(Gbdt, splits, made_run(trials=3), {**SMALL, "leaves": 4})
    assert ranker.report()["tuning"]["tried"] == 3
    assert ranker.settings["leaves"] == 4
    assert ranker.settings["rounds"] == 40


def test_votes_and_ratings_that_nobody_gave() -> None:
    splits = made_splits(train=30, votes=True)
    ranker = fitted(Gbdt, splits, made_run(), SMALL)
    assert all(np.isfinite(values).all() for values in scores_of(ranker, splits.test))


def test_without_lightgbm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    splits = made_splits(train=5, dev=2)
    with pytest.raises(MissingExtraError, match=r"needs the package 'lightgbm'.*tertulia\[full\]"):
        Gbdt().fit(splits.train, splits.dev, made_run())
