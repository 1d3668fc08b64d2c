"""Words are counted alike by the kernel and by Python, whatever characters a text has."""

from array import array
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.retrieval.bm25.index import compiled_variants
from tertulia.retrieval.bm25.vocabulary import Vocabulary, vocabulary_of
from tertulia.retrieval.engine import KERNEL_VARIABLE
from tertulia.retrieval.tokenizer import ChineseTokenizer, EnglishTokenizer, Tokenizer

pytestmark = pytest.mark.skipif(not compiled_variants(), reason="the kernel is not built")

# Letters, marks that the compiled tokenizer knows, marks that it leaves to Python, and half a surrogate pair.
MARKS = [
    "’",
    "‘",
    "ʼ",
    "“",
    "…",
    "–",
    "\u2010",
    "\u2027",
    "\xa0",
    "°",
    "·",
    "«",
    "é",
    "²",
    "ª",
    "→",
    "的",
    "\ud800",
    "İ",
]
PIECES = [*"abZ09_' \n.-", "don't", *MARKS]
TEXTS = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


def vocabulary(tokenizer: Tokenizer, engine: str) -> Vocabulary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KERNEL_VARIABLE, engine)
        return vocabulary_of(tokenizer)


def numbers(text: bytes) -> list[int]:
    found = array("I")
    found.frombytes(text)
    return found.tolist()


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, max_size=6), TEXTS)
def test_the_kernel_counts_as_python_does(texts: list[str], query: str) -> None:
    tokenizer = EnglishTokenizer()
    compiled, plain = vocabulary(tokenizer, "baseline"), vocabulary(tokenizer, "numpy")
    assert type(compiled) is not type(plain)
    for text in texts:
        assert compiled.count(text) == plain.count(text)
        assert len(compiled) == len(plain)
    assert compiled.count(query, adds=False) == plain.count(query, adds=False)
    assert len(compiled) == len(plain)


def test_every_mark_is_what_python_takes_it_for() -> None:
    compiled, plain = vocabulary(EnglishTokenizer(), "baseline"), vocabulary(EnglishTokenizer(), "numpy")
    for code in [*range(0x80, 0x600), *range(0x2000, 0x2100)]:
        text = f"One{chr(code)}two two{chr(code)}"
        assert compiled.count(text) == plain.count(text), hex(code)


def test_a_vocabulary_that_grows() -> None:
    words = [f"word{number % 30_000}" for number in range(70_000)]
    for engine in ("baseline", "numpy"):
        found = vocabulary(EnglishTokenizer(), engine)
        counted = found.count(" ".join(words))
        assert len(found) == 30_000
        assert numbers(counted.words) == list(range(30_000))
        assert numbers(counted.counts) == list(Counter(words).values())
        again = found.count("word29999 unheard word7 word7", adds=False)
        assert (again.length, numbers(again.words), numbers(again.counts)) == (4, [29_999, 7], [1, 2])


def test_other_languages_come_from_python() -> None:
    found = vocabulary(ChineseTokenizer(), "baseline")
    assert found.count("啤酒很好，啤酒") == vocabulary(ChineseTokenizer(), "numpy").count("啤酒很好，啤酒")
