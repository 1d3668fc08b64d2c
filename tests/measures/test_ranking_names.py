"""Measures by name: one name each, the same values for one context and for many, and those of ``trec_eval``."""

import math
from collections.abc import Iterator

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.measures.ranking_names import (
    KINDS,
    Measure,
    cut_name,
    parse_cut,
    parse_measure,
    parse_measures,
    values,
)
from tertulia.ranking.docnos import docnos, tie_keys

NAMES = [
    "P@1(rel>=1)",
    "P@3(rel>=4)",
    "R@1(rel>=1)",
    "R@5(rel>=3)",
    "MAP(rel>=1)",
    "MAP(rel>=4)",
    "MRR(rel>=3)",
    "nDCG",
    "nDCG@3",
    "nDCG@10(rel>=3)",
]
Table = tuple[list[np.ndarray], list[np.ndarray | None], list[np.ndarray]]


def made(seed: int, contexts: int, *, graded: bool = True) -> Table:
    """Contexts of 0 to 12 candidates; ties, missing answers, missing contexts, and candidates of which nobody said anything."""
    random = np.random.default_rng(seed)
    relevances, scores, ties = [], [], []
    for number in range(contexts):
        size = int(random.integers(0, 13))
        relevance = random.integers(0, 6, size).astype(float) if graded else random.random(size) * 5
        relevance[random.random(size) < 0.1] = np.nan
        if number % 7 == 0:
            relevance[:] = 0
        found = random.integers(0, 5, size) / 4.0
        found[random.random(size) < 0.15] = np.nan
        relevances.append(relevance)
        scores.append(None if number % 11 == 0 else found)
        ties.append(tie_keys(f"c{number}", size))
    return relevances, scores, ties


def one_by_one(measures: list[Measure], table: Table) -> np.ndarray:
    rows = [
        [
            measure.value(relevance, np.full(len(relevance), np.nan) if scores is None else scores, ties)
            for relevance, scores, ties in zip(*table, strict=True)
        ]
        for measure in measures
    ]
    return np.array(rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_measure_has_one_name(name: str) -> None:
    measure = parse_measure(name)
    assert str(measure) == name
    assert parse_measure(f"  {name.lower().replace('(', ' ( ').replace('>=', ' >= ')} ") == measure
    assert hash(parse_measure(name)) == hash(measure)


def test_a_name_without_a_cut_is_at_1_and_other_writings_of_a_cut_are_one_measure() -> None:
    assert str(parse_measure("MAP")) == "MAP(rel>=1)"
    assert parse_measure("MAP(rel>=4.0)") == parse_measure("map(rel>=4)") == Measure("MAP", cut=4)
    assert str(Measure("MRR", cut=-0.0)) == "MRR(rel>=0)"
    assert parse_measure("P@1(rel>=2/3)").cut == 2 / 3
    assert str(parse_measure("P@1(rel>=0.6666666666666666)")) == "P@1(rel>=2/3)"
    assert Measure("P", 1, 4.0).short == "P@1"
    assert str(Measure("MAP").at(3)) == "MAP(rel>=3)"


@settings(max_examples=80, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.fractions(-9, 9, max_denominator=40).map(float))
def test_the_name_of_a_cut_is_read_back_to_the_last_bit(cut: float) -> None:
    assert parse_cut(cut_name(cut)) == cut
    measure = Measure("MAP", cut=cut)
    assert parse_measure(str(measure)) == measure


def test_names_are_taken_at_every_cut_unless_they_name_one() -> None:
    found = parse_measures(["P@1", "nDCG@10", "MAP(rel>=4)", "MAP"], [3, 4])
    assert [str(measure) for measure in found] == [
        "P@1(rel>=3)",
        "MAP(rel>=3)",
        "P@1(rel>=4)",
        "MAP(rel>=4)",
        "nDCG@10",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is no measure; expected a name such as P@1"),
        ("P@", "is no measure"),
        ("precision@1", "no measure 'precision'; there are P, R, MAP, MRR, nDCG"),
        ("P", "of how many places; expected P@1"),
        ("MAP@10", "of all places: expected MAP"),
        ("P@0", "at least one place"),
        ("P@1(rel>=)", "is no measure"),
        ("P@1(rel>=four)", "'four' is no relevance; expected a number such as 4, 0.5 or 2/3"),
        ("P@1(rel>=1/0)", "is no relevance"),
        ("P@1(rel>=nan)", "is no relevance"),
        ("P@1(rel>=inf)", "is no relevance"),
        ("P@1(rel>=1e999)", "is no relevance"),
        ("nDCG(rel>=0)", "above 0"),
        ("P@1(rel>4)", "is no measure"),
        ("P@-1", "is no measure"),
        ("P@" + "9" * 5000, "is no measure"),
        ("P@\u0661", "is no measure"),
        ("P@1" * 3000, "is no measure"),
    ],
)
def test_what_is_no_name_ends_in_one_short_line(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_measure(name)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_every_kind_is_said_how_to_write() -> None:
    for kind, line in KINDS.items():
        assert parse_measure(line.split(":")[0].split(" or ")[-1].replace("@k", "@1")).kind == kind


@pytest.mark.parametrize("graded", [True, False])
def test_many_contexts_at_once_get_what_each_gets_alone(graded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = [parse_measure(name) for name in [*NAMES, "MRR(rel>=0)", "R@2(rel>=-1)"]]
    table = made(1, 150, graded=graded)
    expected = one_by_one(measures, table)
    together = values(measures, *table)
    np.testing.assert_allclose(together, expected, atol=1e-13)
    assert 0 < np.isnan(expected).sum() < expected.size
    # No context changes what another gets: not to the last bit, in whatever blocks they come.
    monkeypatch.setattr("tertulia.measures.ranking_names._BLOCK", 13)
    assert values(measures, *map(iter, table)).tobytes() == together.tobytes()
    turned = values(measures, *(column[::-1] for column in table))
    assert turned[:, ::-1].tobytes() == together.tobytes()


def test_missing_answers_are_worth_nothing_and_no_positive_leaves_a_context_out() -> None:
    ties = tie_keys("c", 3)
    for name in NAMES:
        measure = parse_measure(name)
        assert measure.value(np.array([5.0, 0, 0]), np.full(3, np.nan), ties) == 0
        assert math.isnan(measure.value(np.array([0.0, np.nan, -3]), np.zeros(3), ties))
        assert math.isnan(measure.value(np.zeros(0), np.zeros(0), tie_keys("c", 0)))
    # The best candidate was not answered: the next one does not move up to be the best there is.
    scores = np.array([np.nan, 2.0, 1.0])
    assert parse_measure("nDCG@1").value(np.array([5.0, 4.0, 0.0]), scores, ties) == 0.8
    assert parse_measure("MAP(rel>=4)").value(np.array([5.0, 4.0, 0.0]), scores, ties) == 0.5


def test_no_context_and_no_measure_are_empty_tables() -> None:
    assert values([parse_measure("MAP")], [], [], []).shape == (1, 0)
    assert values([], *made(2, 5)).shape == (0, 5)


def test_contexts_that_do_not_fit_are_named() -> None:
    measures = [parse_measure("MAP")]
    one, two = np.ones(1), np.ones(2)
    keys = [tie_keys("a", 1), tie_keys("b", 2)]
    with pytest.raises(InputError, match="context 1 has 2 candidates, 1 scores and 2 keys"):
        values(measures, [one, two], [one, one], keys)
    with pytest.raises(InputError, match="different numbers of contexts, from 1 on"):
        values(measures, [one, two], [one], keys)

    def broken() -> Iterator[np.ndarray]:
        yield one
        raise ValueError("a failure of the one who gives")

    with pytest.raises(ValueError, match="who gives"):
        values(measures, [one, two], broken(), keys)


def test_a_perfect_order_gets_1_and_values_lie_between_0_and_1() -> None:
    relevances, _scores, ties = made(3, 100)
    measures = [parse_measure(name) for name in ("MAP(rel>=3)", "MRR(rel>=5)", "nDCG", "nDCG@2", "R@12(rel>=1)")]
    perfect = values(measures, relevances, [np.nan_to_num(relevance, nan=-1) for relevance in relevances], ties)
    np.testing.assert_allclose(perfect[~np.isnan(perfect)], 1, atol=1e-12)


# -- outside ---------------------------------------------------------------------------------------------------------

OUTSIDE = {
    "P@1(rel>=1)": "P@1",
    "P@3(rel>=4)": "P(rel=4)@3",
    "P@20(rel>=2)": "P(rel=2)@20",
    "MAP(rel>=1)": "AP",
    "MAP(rel>=3)": "AP(rel=3)",
    "MAP(rel>=5)": "AP(rel=5)",
    "MRR(rel>=1)": "RR",
    "MRR(rel>=4)": "RR(rel=4)",
    "R@1(rel>=1)": "R@1",
    "R@5(rel>=1)": "R@5",
    "nDCG": "nDCG",
    "nDCG@3": "nDCG@3",
    "nDCG@10": "nDCG@10",
}


def outside(names: list[str], qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> np.ndarray:
    """The measures of ``trec_eval`` itself, in the order of the topics of the qrels."""
    measures = [ir_measures.parse_measure(name) for name in names]
    found = {
        (str(metric.measure), metric.query_id): metric.value
        for metric in ir_measures.pytrec_eval.iter_calc(measures, qrels, run)
    }
    return np.array([[found[str(measure), topic] for topic in qrels] for measure in measures])


def as_trec(table: Table) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number, (relevance, scores, _ties) in enumerate(zip(*table, strict=True)):
        # The numbers that our run files have, so that ties fall as they do there.
        numbers = docnos(f"c{number}", len(relevance))
        judged = {docno: int(each) for docno, each in zip(numbers, relevance, strict=True) if not math.isnan(each)}
        qrels[f"c{number}"] = judged or {"nothing": 0}
        found = np.full(len(relevance), np.nan) if scores is None else scores
        answered = {docno: float(each) for docno, each in zip(numbers, found, strict=True) if not math.isnan(each)}
        if answered:
            run[f"c{number}"] = answered
    return qrels, run


def test_a_thousand_random_runs_get_what_trec_eval_gives_them() -> None:
    """Each context is a topic with a run of its own: a thousand runs of five topics."""
    table = made(4, 5_000)
    qrels, run = as_trec(table)
    assert len(run) < len(qrels)
    expected = outside(list(OUTSIDE.values()), qrels, run)
    found = values([parse_measure(name) for name in OUTSIDE], *table)
    # Where nothing is relevant trec_eval says 0, and we leave the context out.
    left_out = np.isnan(found)
    assert (expected[left_out] == 0).all()
    np.testing.assert_allclose(found[~left_out], expected[~left_out], rtol=0, atol=1e-12)
    assert left_out.any(axis=1).all()
    assert (~left_out).sum(axis=1).min() > 2_000


def test_measures_with_a_cut_that_trec_eval_lacks_are_those_of_qrels_cut_there() -> None:
    table = made(5, 200)
    qrels, run = as_trec(table)
    cut_off = {topic: {d: grade if grade >= 3 else 0 for d, grade in judged.items()} for topic, judged in qrels.items()}
    expected = outside(["nDCG", "nDCG@3", "R@5"], cut_off, run)
    found = values([parse_measure(name) for name in ("nDCG(rel>=3)", "nDCG@3(rel>=3)", "R@5(rel>=3)")], *table)
    left_out = np.isnan(found)
    np.testing.assert_allclose(found[~left_out], expected[~left_out], rtol=0, atol=1e-12)


def test_runs_in_which_everything_ties_fall_as_in_trec_eval() -> None:
    relevances, _scores, ties = made(6, 200)
    table: Table = (relevances, [np.zeros(len(relevance)) for relevance in relevances], ties)
    expected = outside(["AP", "P(rel=4)@3", "nDCG@3"], *as_trec(table))
    found = values([parse_measure(name) for name in ("MAP", "P@3(rel>=4)", "nDCG@3")], *table)
    np.testing.assert_allclose(np.nan_to_num(found), expected, rtol=0, atol=1e-12)
