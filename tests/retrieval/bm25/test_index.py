"""BM25 equals its definition, whatever computes it: documents, order and scores."""

import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.errors import ConfigurationError
from tertulia.retrieval.bm25 import Bags, Bm25Index, Hits
from tertulia.retrieval.bm25 import lists as lists_module
from tertulia.retrieval.bm25.index import compiled_variants
from tertulia.retrieval.bm25.lists import SPARSE
from tertulia.retrieval.engine import KERNEL_VARIABLE
from tertulia.retrieval.tokenizer import ChineseTokenizer, EnglishTokenizer

from .definition import SCALE, best, scores

ENGLISH = EnglishTokenizer()
ENGINES = (*compiled_variants(), "numpy")
WORDS = ["the", "a", "of", "yeast", "malt", "hops", "keg", "Ünder", "don't", "90's", "x"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=12)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KERNEL_VARIABLE, request.param)
    return str(request.param)


def bags_of(texts: list[str]) -> Bags:
    bags = Bags(ENGLISH)
    for text in texts:
        bags.add(text)
    return bags


def plain(hits: Hits) -> list[tuple[int, Fraction]]:
    return [(int(n), Fraction(float(s))) for n, s in zip(hits.documents, hits.scores, strict=True)]


def generated(count: int, seed: int, longest: int = 60) -> list[str]:
    """Texts of made-up words, a few of them everywhere and most of them rare, as in any language."""
    chance = random.Random(seed)
    return [
        " ".join(f"w{int(1.0 / (1.0 - 0.999 * chance.random())) % 400}" for _ in range(chance.randint(0, longest)))
        for _ in range(count)
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=TEXTS, query=st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=20).map(" ".join), k=st.integers(1, 14)
)
def test_the_best_are_those_of_the_definition(engine: str, texts: list[str], query: str, k: int) -> None:
    index = Bm25Index(bags_of(texts))
    assert index.kernel == engine
    assert plain(index.search(query, k)) == best(texts, query, ENGLISH, k)


def test_many_documents_dense_lists_and_several_blocks(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Blocks of 8,192 would need as many texts; smaller ones are blocks as well.
    monkeypatch.setattr("tertulia.retrieval.bm25.index.BLOCK", 256)
    texts = generated(900, 7)
    index = Bm25Index(bags_of(texts))
    assert [block.size for block in index.blocks] == [256, 256, 256, 132]
    dense = [int((block.slots != SPARSE).sum()) for block in index.blocks]
    assert all(0 < count < len(block.slots) for count, block in zip(dense, index.blocks, strict=True))
    for number in (0, 3, 500, 899):
        for k in (1, 10, 100, 2_000):
            assert plain(index.search(texts[number], k)) == best(texts, texts[number], ENGLISH, k)


def test_a_block_of_full_size_and_the_next(engine: str) -> None:
    texts = generated(lists_module.BLOCK + 70, 3, longest=6)
    index = Bm25Index(bags_of(texts))
    assert [block.size for block in index.blocks] == [lists_module.BLOCK, 70]
    assert plain(index.search("w1 w2 w3 w17 w1", 50)) == best(texts, "w1 w2 w3 w17 w1", ENGLISH, 50)


def test_some_texts_are_the_documents(engine: str) -> None:
    texts = generated(300, 11)
    numbers = np.arange(5, 300, 3)
    chosen = [texts[number] for number in numbers]
    index = Bm25Index(bags_of(texts), numbers)
    assert len(index) == len(numbers)
    assert plain(index.search(texts[6], 40)) == best(chosen, texts[6], ENGLISH, 40)


def test_ties_go_to_the_smaller_number(engine: str) -> None:
    texts = ["other words", *["same two"] * 300]
    assert Bm25Index(bags_of(texts)).search("two", 70).documents.tolist() == list(range(1, 71))


def test_a_query_too_heavy_for_32_bits(engine: str) -> None:
    texts = ["rare " + "filler " * number for number in range(40)] + ["filler"] * 4_000
    query = "rare " * 90_000 + "filler " * 3
    found = plain(Bm25Index(bags_of(texts)).search(query, 5))
    assert found == best(texts, query, ENGLISH, 5)
    assert found[0][1] * SCALE > 2**32


def test_a_word_many_times(engine: str) -> None:
    texts = ["again " * 70_000 + "once", "again", "once"]
    index = Bm25Index(bags_of(texts))
    # Counts end at 65,535; the lengths do not.
    assert [n for n, _ in plain(index.search("again once", 3))] == [n for n, _ in best(texts, "again once", ENGLISH, 3)]


def test_nothing_to_find(engine: str) -> None:
    for texts in ([], [""], ["", "..."], ["word"]):
        index = Bm25Index(bags_of(texts))
        assert index.search("something else", 3).documents.tolist() == []
        assert index.search("", 3).documents.tolist() == []


def test_parameters(engine: str) -> None:
    texts = generated(50, 1)
    bags = bags_of(texts)
    for k1, b in ((0.0, 0.0), (1.5, 1.0), (2.0, 0.3)):
        found = Bm25Index(bags, k1=k1, b=b).search(texts[3], 50)
        expected = scores(texts, texts[3], ENGLISH, k1, b)
        assert {int(n): Fraction(float(s)) for n, s in zip(*found, strict=True)} == {
            number: score for number, score in enumerate(expected) if score
        }


@pytest.mark.parametrize(("k1", "b"), [(-1.0, 0.5), (float("nan"), 0.5), (float("inf"), 0.5), (1.0, 1.5), (1.0, -0.1)])
def test_parameters_without_meaning_are_refused(k1: float, b: float) -> None:
    with pytest.raises(ConfigurationError, match="of BM25 is"):
        Bm25Index(bags_of(["a"]), k1=k1, b=b)


def test_many_queries_by_many_threads(engine: str) -> None:
    texts = generated(400, 5)
    bags = bags_of(texts)
    index = Bm25Index(bags)
    queries = bags.gather(np.arange(len(texts)))
    told: list[int] = []
    alone = [plain(hits) for hits in index.search_all(queries, 20)]
    together = [plain(hits) for hits in index.search_all(queries, 20, workers=3, progress=told.append)]
    assert alone == together
    assert sum(told) == len(texts)
    assert alone[17] == best(texts, texts[17], ENGLISH, 20)


def test_queries_come_from_texts_as_well_as_from_bags() -> None:
    texts = generated(30, 9)
    bags = bags_of(texts)
    gathered, tokenised = bags.gather(np.arange(30)), bags.queries([*texts, "unheard-of"])
    assert len(tokenised) == 31
    for number in range(30):
        one, other = gathered.part(number, number + 1), tokenised.part(number, number + 1)
        assert dict(zip(one.words.tolist(), one.counts.tolist(), strict=True)) == dict(
            zip(other.words.tolist(), other.counts.tolist(), strict=True)
        )
    assert len(tokenised.part(30, 31).words) == 0


def test_chinese(engine: str) -> None:
    texts = ["今天天气很好", "啤酒的温度很重要", "天气不好的时候喝啤酒"]
    tokenizer = ChineseTokenizer()
    bags = Bags(tokenizer)
    for text in texts:
        bags.add(text)
    assert plain(Bm25Index(bags).search("天气好吗", 3)) == best(texts, "天气好吗", tokenizer, 3)


def test_the_scores_are_those_of_bm25s() -> None:
    bm25s = pytest.importorskip("bm25s")
    texts = generated(500, 13)
    words = [ENGLISH.words(text) or ["nothing"] for text in texts]
    peer = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    peer.index(words, show_progress=False)
    found = Bm25Index(bags_of([" ".join(each) for each in words])).search(texts[4], 500)
    expected = peer.get_scores(words[4])
    # Theirs are float32, ours are rounded to 1 / 32768 for each word.
    assert found.scores == pytest.approx(expected[found.documents], abs=2e-3)


def test_a_kernel_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KERNEL_VARIABLE, "abacus")
    with pytest.raises(ConfigurationError, match="TERTULIA_KERNEL: is 'abacus'; expected one of"):
        Bm25Index(bags_of(["a"]))


def test_zero_best_documents_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="0 best documents"):
        Bm25Index(bags_of(["a"])).search("a", 0)


@pytest.mark.skipif(not compiled_variants(), reason="the kernel is not built")
def test_the_kernel_refuses_what_does_not_fit() -> None:
    # In a process of its own: what is not refused would end it.
    program = (
        "import numpy as np\n"
        "from tertulia.retrieval._bm25 import Searcher\n"
        "from tertulia.retrieval.bm25 import Bags, Bm25Index\n"
        "from tertulia.retrieval.tokenizer import EnglishTokenizer\n"
        "bags = Bags(EnglishTokenizer())\n"
        "for text in ['a b', 'b c', 'c c']: bags.add(text)\n"
        "block = Bm25Index(bags).blocks[0]\n"
        "bad = [block._replace(size=1), block._replace(size=1 << 40), block._replace(dense_lists=3),\n"
        "       block._replace(first=block.first[:-1]), block._replace(first=block.first[::-1].copy()),\n"
        "       block._replace(documents=block.documents + np.uint16(9)), block._replace(most=block.most[:1]),\n"
        "       block._replace(weights=block.weights[:1]), block._replace(slots=block.slots * np.uint32(0) + np.uint32(5))]\n"
        "for each in bad:\n"
        "    try: Searcher('baseline', 1, (tuple(each),))\n"
        "    except (ValueError, OverflowError): continue\n"
        "    raise SystemExit(f'taken: {each}')\n"
        "for wrong in ((1,), (1, 2), 'x'):\n"
        "    try: Searcher('baseline', 1, (wrong,))\n"
        "    except TypeError: continue\n"
        "    raise SystemExit('taken')\n"
        "good = Searcher('baseline', 1, (tuple(block),))\n"
        "def arrays(first, words, k, n):\n"
        "    return (np.array(first, np.uint64), np.array(words, np.uint32), np.array(words, np.uint32), k,\n"
        "            np.zeros(n * k, np.uint32), np.zeros(n * k, np.uint64), np.zeros(n, np.uint32))\n"
        "good.search(*arrays([0, 1], [1], 2, 1))\n"
        "for wrong in (arrays([0, 5], [1], 2, 1), arrays([1, 0], [1], 2, 1), arrays([0], [1], 2, 1), arrays([0, 1], [1], 2, 7)):\n"
        "    try: good.search(*wrong)\n"
        "    except ValueError: continue\n"
        "    raise SystemExit('searched')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
