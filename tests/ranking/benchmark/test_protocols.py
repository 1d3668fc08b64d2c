"""Rankings of all responses of a split equal the plain definition; draws and scores keep their places."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import ArtefactError, InputError
from tertulia.measures.ranking_names import Measure
from tertulia.ranking.benchmark.protocols import CandidatesProtocol, FullProtocol, normal, protocol_of
from tertulia.ranking.docnos import tie_keys
from tertulia.ranking.examples import Example

from ..rankers.made import example

MEASURES = [Measure("P", 1, 1.0), Measure("MAP", None, 1.0), Measure("MRR", None, 1.0), Measure("nDCG", 10, None)]
WORDS = st.sampled_from(["red", "Red ", "blue", "green", "ＧＲＥＥＮ", "", "yellow house"])
RELEVANCE = st.sampled_from([0.0, 1.0, 2.0, float("nan")])


@st.composite
def splits(draw: st.DrawFn) -> list[Example]:
    count = draw(st.integers(1, 5))
    found = []
    for number in range(count):
        rows = draw(st.lists(st.tuples(WORDS, RELEVANCE), max_size=5))
        found.append(
            example(f"c{number}", f"prompt {number}", [text for text, _ in rows], [value for _, value in rows])
        )
    return found


def plain(examples: list[Example], score: dict[str, float], measure: Measure) -> list[float]:
    """Every context ranks every distinct response, in one list, as written."""
    kinds = list(dict.fromkeys(kind(text) for each in examples for text in each.texts))
    found = []
    for each in examples:
        relevance = np.full(len(kinds), np.nan)
        for text, value in zip(each.texts, each.relevance.tolist(), strict=True):
            place = kinds.index(kind(text))
            relevance[place] = np.fmax(relevance[place], value)
        scores = np.array([score[text] for text in kinds])
        found.append(measure.value(relevance, scores, tie_keys(each.id, len(kinds))))
    return found


def kind(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


@settings(deadline=None, max_examples=60)
@given(splits(), st.integers(0, 5))
def test_all_responses_are_ranked_as_the_plain_definition_does(examples: list[Example], seed: int) -> None:
    kinds = sorted({kind(text) for each in examples for text in each.texts})
    random = np.random.default_rng(seed)
    # Few levels, so that there are ties.
    score = {text: float(random.integers(0, 3)) for text in kinds}
    protocol = FullProtocol(examples)
    gathered = protocol.gatherer()
    for each, asked in zip(examples, protocol.hidden(examples), strict=True):
        assert np.isnan(asked.relevance).all()
        assert sorted(map(kind, asked.texts)) == kinds
        gathered.take(each, np.array([score[kind(text)] for text in asked.texts], dtype=float))
    kept = gathered.arrays()
    protocol.check(kept)
    found = protocol.measured(MEASURES, kept, protocol.relevances)
    for row, measure in zip(found, MEASURES, strict=True):
        np.testing.assert_allclose(row, plain(examples, score, measure), atol=1e-12)
    best = max(score.values(), default=0)
    for choice in protocol.choices(kept):
        assert (choice is None) == (not kinds)
        if choice is not None:
            assert score[kind(choice[0])] == best


@settings(deadline=None, max_examples=40)
@given(splits(), st.integers(1, 6))
def test_a_sample_always_holds_a_context_s_own_responses(examples: list[Example], pool: int) -> None:
    protocol = FullProtocol(examples, pool=pool, seed=1)
    everything = {kind(text) for each in examples for text in each.texts}
    shared = None
    for each, asked in zip(examples, protocol.hidden(examples), strict=True):
        own = {kind(text) for text in each.texts}
        found = [kind(text) for text in asked.texts]
        assert len(found) == len(set(found))
        assert own <= set(found) <= everything
        others = set(found) - own
        assert len(others) <= pool
        shared = others | own if shared is None else shared
    assert protocol.describe()["responses"] == len(everything)


def test_relevance_is_the_highest_of_equal_responses_and_what_nobody_said_stays_unsaid() -> None:
    nan = float("nan")
    one = example("one", "p", ["Yes", "yes ", "no", "perhaps"], [1.0, 3.0, nan, 2.0])
    protocol = FullProtocol([one])
    assert protocol.texts == ("Yes", "no", "perhaps")
    np.testing.assert_array_equal(protocol.relevances[0], [3.0, nan, 2.0])


def test_candidates_keep_their_scores_and_a_missing_answer_is_none() -> None:
    examples = [example("a", "p", ["x", "y"], [1.0, 0.0]), example("b", "p", ["x"], [1.0]), example("c", "p", [], [])]
    protocol = CandidatesProtocol(examples)
    kept = protocol.kept([np.array([0.1, 0.9]), None, None])
    protocol.check(kept)
    assert protocol.scores(kept)[0].tolist() == [0.1, 0.9]
    assert protocol.choices(kept) == [("y", 0.0), None, None]
    values = protocol.measured(MEASURES[1:2], kept, protocol.relevances)
    np.testing.assert_array_equal(values, [[0.5, 0.0, np.nan]])
    assert all(np.isnan(each.relevance).all() for each in protocol.hidden(examples))


def test_what_is_of_another_set_is_refused() -> None:
    examples = [example("a", "p", ["x", "y"], [1.0, 0.0])]
    for name in ("candidates", "full"):
        protocol = protocol_of(name, examples, pool=None, seed=0)
        for kept in ({}, {"scores": np.zeros(3)}, {"ranks": np.zeros(1, int), "first": np.zeros(1, int)}):
            with pytest.raises(ArtefactError, match="kept"):
                protocol.check(kept)
        with pytest.raises(InputError, match="3 scores of the context 'a'"):
            protocol.gatherer().take(examples[0], np.zeros(3))


@given(st.text(max_size=30))
def test_a_normal_text_is_normal(text: str) -> None:
    assert normal(normal(text)) == normal(text) or unicodedata.normalize("NFKC", text).lower() != text
    assert normal(f" {text}\n") == normal(text)
