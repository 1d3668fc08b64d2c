"""BM25 over an inverted index in memory: the exact best documents of many queries at a time.

``Bags`` turns texts into bags of words, ``Bm25Index`` is built over all or some of them and searched. See docs/ranking.md.
"""

from tertulia.retrieval.bm25.bags import Bags, Queries
from tertulia.retrieval.bm25.index import Bm25Index, Hits

__all__ = ["Bags", "Bm25Index", "Hits", "Queries"]
