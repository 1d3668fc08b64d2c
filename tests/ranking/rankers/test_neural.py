"""The neural rankers: what every ranker keeps to, what they learn, and what they see of a pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tertulia.ranking.examples import Splits
from tertulia.ranking.rankers.bilstm import BiLstm
from tertulia.ranking.rankers.cnn import Cnn
from tertulia.ranking.rankers.pair_ranker import PairRanker

from .contract import check_contract
from .made import made_splits

SMALL: dict[str, Any] = {"embedding": 8, "hidden": 8, "joined": 8, "batch": 32, "epochs": 3}
RANKERS: list[type[PairRanker]] = [BiLstm, Cnn]


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_neural_ranker_keeps_the_contract(ranker: type[PairRanker], tmp_path: Path) -> None:
    splits = Splits(*([e for e in part if len(e)] for part in made_splits()[:3]), "made up")
    check_contract(ranker, tmp_path, SMALL, splits=splits, close=1e-5)
