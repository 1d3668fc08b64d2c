"""Statistics of terms and TF-IDF, beside plain definitions."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import ArtefactError
from tertulia.ranking.model import read_arrays, write_arrays
from tertulia.ranking.terms import (
    TermStatistics,
    character_grams,
    cosine,
    distinct_texts,
    of_length_one,
    tfidf,
    weighted_sum,
)

from .rankers.made import example

WORDS = st.lists(st.sampled_from(["hops", "malt", "yeast", "zymo", "é", "水", "\ud83d"]), max_size=8)
COLLECTIONS = st.lists(WORDS, min_size=1, max_size=8)
quick = settings(max_examples=60, deadline=None)


@quick
@given(COLLECTIONS)
def test_statistics_count_each_term_once_a_document(documents) -> None:
    found = TermStatistics.collect(iter(documents))
    assert found.documents == len(documents)
    assert found.mean_length == sum(map(len, documents)) / len(documents)
    assert found.frequency == {word: sum(word in each for each in documents) for each in documents for word in each}
    assert list(found.frequency) == sorted(found.frequency)


def test_the_idf_is_that_of_bm25_and_never_negative() -> None:
    found = TermStatistics.collect([["hops", "hops"], ["hops", "malt"], ["hops"]])
    assert found.idf("malt") == pytest.approx(math.log(1 + 2.5 / 1.5))
    assert found.idf("hops") == pytest.approx(math.log(1 + 0.5 / 3.5))
    assert found.idf("nowhere") == found.unknown == pytest.approx(math.log(1 + 3.5 / 0.5))
    assert 0 < found.idf("hops") < found.idf("malt") < found.idf("nowhere")


@quick
@given(COLLECTIONS)
def test_statistics_are_kept_as_arrays(tmp_path_factory, documents) -> None:
    found = TermStatistics.collect(documents)
    path = tmp_path_factory.mktemp("terms") / "terms.npz"
    write_arrays(path, found.to_arrays("words"))
    again = TermStatistics.from_arrays(read_arrays(path), "words")
    assert (again.documents, again.mean_length) == (found.documents, found.mean_length)
    assert list(again.frequency.items()) == list(found.frequency.items())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", None),
        ("text", np.array([255] * 8, dtype=np.uint8)),
        ("text", np.frombuffer(b"hopshops", dtype=np.uint8)),
        ("lengths", np.array([4.0, 4.0])),
        ("lengths", np.array([4, 5])),
        ("lengths", np.array([9, -1])),
        ("lengths", np.array([2**63 - 1, 2])),
        ("lengths", np.array([[4, 4]])),
        ("frequency", np.array([1])),
        ("frequency", np.array([0, 1])),
        ("frequency", np.array([1, 3])),
        ("documents", np.array([], dtype=np.int64)),
        ("documents", np.array([-1])),
        ("mean_length", np.array([np.nan])),
        ("mean_length", np.array([-1.0])),
    ],
)
def test_arrays_that_do_not_hold_together_are_refused(name: str, value) -> None:
    arrays = TermStatistics.collect([["hops", "malt"], ["hops"]]).to_arrays()
    assert TermStatistics.from_arrays(arrays).documents == 2
    arrays[f"terms.{name}"] = value
    with pytest.raises(ArtefactError, match="do not hold together"):
        TermStatistics.from_arrays({key: array for key, array in arrays.items() if array is not None})


def plain_tfidf(terms: list[str], documents: list[list[str]]) -> dict[str, float]:
    weights = {}
    for term, count in Counter(terms).items():
        having = sum(term in document for document in documents)
        weights[term] = (1 + math.log(count)) * math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
    length = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}


@quick
@given(COLLECTIONS, WORDS, WORDS)
def test_vectors_and_cosines_are_those_of_the_definition(documents, one, other) -> None:
    statistics = TermStatistics.collect(documents)
    first, second = tfidf(one, statistics), tfidf(other, statistics)
    wanted = plain_tfidf(one, documents)
    assert first.keys() == wanted.keys()
    assert first == pytest.approx(wanted, rel=1e-12)
    expected = sum(weight * plain_tfidf(other, documents).get(term, 0) for term, weight in wanted.items())
    assert cosine(first, second) == pytest.approx(expected, rel=1e-12)
    assert cosine(first, second) == cosine(second, first)
    assert cosine(first, first) == pytest.approx(1 if one else 0)
    # No order of the words changes a bit.
    assert cosine(tfidf(sorted(one), statistics), second) == cosine(first, second)


def test_a_weighted_sum_and_a_vector_of_length_one() -> None:
    total = weighted_sum([({"hops": 1.0}, 1.0), ({"malt": 0.6, "hops": 0.8}, 0.5)])
    assert total == pytest.approx({"hops": 1.4, "malt": 0.3})
    assert sum(weight**2 for weight in of_length_one(total).values()) == pytest.approx(1)
    assert weighted_sum([]) == weighted_sum([({}, 1.0), ({}, 1.0)]) == of_length_one({}) == {}


@quick
@given(st.lists(st.tuples(WORDS, st.sampled_from([1.0, 0.5, 0.25])), max_size=4), WORDS)
def test_the_product_with_a_sum_is_the_sum_of_products(turns, response) -> None:
    statistics = TermStatistics.collect([words for words, _ in turns])
    vector = tfidf(response, statistics)
    plain = sum(weight * cosine(tfidf(words, statistics), vector) for words, weight in turns)
    found = cosine(weighted_sum((tfidf(words, statistics), weight) for words, weight in turns), vector)
    assert found == pytest.approx(plain, rel=1e-12)


def test_character_grams_are_all_runs_of_the_sizes() -> None:
    assert character_grams(" Ab\n c", 2, 3) == [" a", "ab", "b ", " c", "c ", " ab", "ab ", "b c", " c "]
    assert character_grams("水", 2, 4) == [" 水", "水 ", " 水 "]
    assert character_grams("", 2, 4) == ["  "]
    assert character_grams("a \ud83d", 2, 2) == [" a", "a ", " \ud83d", "\ud83d "]


def test_distinct_texts_are_given_once_in_order() -> None:
    examples = [example("1", ["a", "b"], ["c", "a", "c"]), example("2", "b", ["d"])]
    assert list(distinct_texts(examples)) == ["a", "b", "c", "d"]
    assert list(distinct_texts(examples, prompts=False)) == ["c", "a", "d"]
    assert list(distinct_texts(examples, responses=False)) == ["a", "b"]
