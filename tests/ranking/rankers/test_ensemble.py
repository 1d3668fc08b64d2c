from __future__ import annotations

from pathlib import Path

from tertulia.ranking.rankers.ensemble import Ensemble

from .contract import check_contract
from .made import made_run


def test_the_ensemble_is_a_ranker(tmp_path: Path) -> None:
    ranker = check_contract(Ensemble, tmp_path, {"members": "bm25, length"}, made_run())
    assert ranker.report()["left_out"] == {}
