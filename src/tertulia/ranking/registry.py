"""Which rankers there are: those that ship, and those that installed packages add."""

from __future__ import annotations

from tertulia.ranking.ranker import Ranker
from tertulia.registry import Registry

__all__ = ["RANKERS"]

_HERE = "tertulia.ranking.rankers"

RANKERS: Registry[Ranker] = Registry(
    "ranker",
    group="tertulia.rankers",
    shipped={
        "random": f"{_HERE}.chance:Chance",
        "length": f"{_HERE}.length:Length",
        "cosine": f"{_HERE}.cosine:Cosine",
        "bm25": f"{_HERE}.bm25:Bm25",
        "matching": f"{_HERE}.matching:Matching",
        "svmrank": f"{_HERE}.svmrank:SvmRank",
        "gbdt": f"{_HERE}.gbdt:Gbdt",
        "bilstm": f"{_HERE}.bilstm:BiLstm",
        "cnn": f"{_HERE}.cnn:Cnn",
        "biencoder": f"{_HERE}.biencoder:BiEncoder",
        "crossencoder": f"{_HERE}.crossencoder:CrossEncoder",
        "ensemble": f"{_HERE}.ensemble:Ensemble",
    },
)
