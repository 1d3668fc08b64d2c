"""The matching score as a ranker."""

from tertulia.ranking.rankers.matching import Matching

from .contract import check_contract
from .made import made_run


def test_it_keeps_the_contract(tmp_path) -> None:
    check_contract(Matching, tmp_path, run=made_run(trials=4))
