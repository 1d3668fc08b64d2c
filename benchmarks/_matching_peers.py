"""The engines that the matching benchmark compares: each builds an index, opens it, and answers a query.

Peers are given contexts and queries as words already, which is to their advantage; Tertulia gets the texts.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from _self_dialogues import Query
from tertulia.corpus.model import Dialogue
from tertulia.retrieval import MatchingIndex
from tertulia.retrieval.tokenizer import EnglishTokenizer

K = 10
Search = Callable[[Query], object]


def query_words(text: str) -> list[str]:
    return sorted(set(EnglishTokenizer().words(text)))


@dataclass
class Contexts:
    """The contexts of the bank's responses as word numbers: what a retriever of contexts indexes."""

    words: list[str] = field(default_factory=list)
    lists: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue]) -> Contexts:
        tokenizer, word_id = EnglishTokenizer(), {}
        lists = [
            [word_id.setdefault(word, len(word_id)) for word in tokenizer.words(text)]
            for dialogue in dialogues
            for text in dialogue.texts[:-1]
        ]
        return cls(list(word_id), lists)


class Tertulia:
    """This engine, by the kernel or by NumPy."""

    needs: tuple[str, ...] = ()
    takes_contexts = False

    def __init__(self, kernel: str, topic: bool = False) -> None:
        self.kernel = kernel
        self.topic = topic
        self.name = f"tertulia ({kernel or 'kernel'}{', topic bonus' if topic else ''})"

    def build(self, dialogues: Iterable[Dialogue], path: Path) -> None:
        MatchingIndex.build(dialogues, path, overwrite=True).close()

    def open(self, path: Path) -> Search:
        os.environ["TERTULIA_KERNEL"] = self.kernel
        index = MatchingIndex.open(path)
        if self.topic:
            return lambda query: index.search(query.text, query.previous, k=K, topic=query.topic)
        return lambda query: index.search(query.text, query.previous, k=K)


class Bm25s:
    name = "bm25s (numba)"
    needs = ("bm25s", "numba")
    takes_contexts = True

    def build(self, contexts: Contexts, path: Path) -> None:
        import bm25s

        vocabulary = {word: index for index, word in enumerate(contexts.words)}
        retriever = bm25s.BM25(backend="numba")
        retriever.index(bm25s.tokenization.Tokenized(ids=contexts.lists, vocab=vocabulary), show_progress=False)
        retriever.save(path)

    def open(self, path: Path) -> Search:
        import bm25s

        retriever = bm25s.BM25.load(path, mmap=True, load_corpus=False)
        retriever.backend = "numba"
        retriever.activate_numba_scorer()
        vocabulary = retriever.vocab_dict
        cache: dict[str, list[int]] = {}

        def search(query: Query) -> object:
            ids = cache.get(query.text)
            if ids is None:
                ids = cache[query.text] = [vocabulary[w] for w in query_words(query.text) if w in vocabulary]
            return retriever.retrieve([ids], k=K, show_progress=False, n_threads=1) if ids else None

        return search


class Tantivy:
    name = "tantivy"
    needs = ("tantivy",)
    takes_contexts = True

    def build(self, contexts: Contexts, path: Path) -> None:
        import tantivy

        path.mkdir(parents=True, exist_ok=True)
        writer = tantivy.Index(self._schema(), str(path)).writer(200_000_000, 1)
        for number, ids in enumerate(contexts.lists):
            writer.add_document(tantivy.Document(number=number, context=" ".join([contexts.words[i] for i in ids])))
        writer.commit()
        writer.wait_merging_threads()

    def _schema(self) -> object:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("context", stored=False, tokenizer_name="whitespace", index_option="freq")
        builder.add_integer_field("number", stored=True, indexed=False)
        return builder.build()

    def open(self, path: Path) -> Search:
        import tantivy

        index = tantivy.Index.open(str(path))
        searcher, schema, should = index.searcher(), index.schema, tantivy.Occur.Should
        cache: dict[str, list[str]] = {}

        def search(query: Query) -> object:
            words = cache.get(query.text)
            if words is None:
                words = cache[query.text] = query_words(query.text)
            terms = [(should, tantivy.Query.term_query(schema, "context", word)) for word in words]
            return searcher.search(tantivy.Query.boolean_query(terms), K, count=False).hits

        return search


class Scipy:
    name = "scipy (dot product)"
    needs = ("scipy",)
    takes_contexts = True

    def build(self, contexts: Contexts, path: Path) -> None:
        import json

        import scipy.sparse

        lengths = [len(ids) for ids in contexts.lists]
        columns = np.fromiter((index for ids in contexts.lists for index in ids), np.int32, sum(lengths))
        first = np.concatenate([[0], np.cumsum(lengths)])
        shape = (len(lengths), len(contexts.words))
        matrix = scipy.sparse.csr_matrix((np.ones(len(columns), np.float32), columns, first), shape=shape)
        matrix.sum_duplicates()
        idf = np.log(len(lengths) / np.maximum(np.bincount(matrix.indices, minlength=shape[1]), 1)).astype(np.float32)
        weighted = matrix.multiply(idf[None, :]).tocsr()
        norm = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
        csc = scipy.sparse.diags(1 / np.maximum(norm, 1e-9)).dot(weighted).tocsc().astype(np.float32)
        path.mkdir(parents=True, exist_ok=True)
        for name in ("data", "indices", "indptr"):
            np.save(path / name, getattr(csc, name))
        np.save(path / "idf", idf)
        (path / "words.json").write_text(json.dumps([shape, contexts.words]), encoding="utf-8")

    def open(self, path: Path) -> Search:
        import json

        import scipy.sparse

        shape, words = json.loads((path / "words.json").read_text(encoding="utf-8"))
        parts = tuple(np.load(path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr"))
        matrix = scipy.sparse.csc_matrix(parts, shape=tuple(shape))
        idf = np.load(path / "idf.npy")
        word_id = {word: index for index, word in enumerate(words)}
        cache: dict[str, np.ndarray] = {}

        def search(query: Query) -> object:
            ids = cache.get(query.text)
            if ids is None:
                known = [word_id[word] for word in query_words(query.text) if word in word_id]
                ids = cache[query.text] = np.array(known, dtype=np.int64)
            scores = matrix[:, ids] @ idf[ids]
            return np.argpartition(-scores, K)[:K]

        return search


ENGINES = {
    "kernel": Tertulia(""),
    "topic": Tertulia("", topic=True),
    "numpy": Tertulia("numpy"),
    "bm25s": Bm25s(),
    "tantivy": Tantivy(),
    "scipy": Scipy(),
}


def missing(engine: object) -> list[str]:
    """The packages that an engine needs and that are not installed."""
    return [name for name in engine.needs if importlib.util.find_spec(name) is None]


def first_answer(name: str, path: str, text: str, previous: str) -> None:
    """Prints the milliseconds from open to the first answer, in this fresh process, imports apart."""
    engine = ENGINES[name]
    for module in engine.needs:
        importlib.import_module(module)
    start = time.perf_counter()
    engine.open(Path(path))(Query(text, previous, ""))
    print((time.perf_counter() - start) * 1000)


if __name__ == "__main__":
    first_answer(*sys.argv[1:])
