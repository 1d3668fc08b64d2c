"""The rankers that need no training: chance, length, the cosine, BM25."""

import pytest

from tertulia.ranking.ranker import Ranker
from tertulia.ranking.rankers.bm25 import Bm25
from tertulia.ranking.rankers.chance import Chance
from tertulia.ranking.rankers.cosine import Cosine
from tertulia.ranking.rankers.length import Length

from .contract import check_contract
from .made import made_run

LEXICAL: list[type[Ranker]] = [Chance, Length, Cosine, Bm25]


@pytest.mark.parametrize("ranker_class", LEXICAL, ids=lambda each: each.name)
def test_it_keeps_the_contract(ranker_class: type[Ranker], tmp_path) -> None:
    check_contract(ranker_class, tmp_path, run=made_run(trials=4))
