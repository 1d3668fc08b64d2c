"""Means over the contexts that count, held against counting by hand and against ``trec_eval`` itself."""

import numpy as np
import pytest
import pytrec_eval

from tertulia.measures.ranking_names import parse_measure
from tertulia.ranking.docnos import docnos
from tertulia.ranking.evaluate import default_measures, evaluate, measures_of

from .test_runs import example

MAP, MRR, FIRST = (parse_measure(name) for name in ("MAP", "MRR", "P@1"))


def test_by_hand() -> None:
    examples = [example("a", [0, 1, 0]), example("b", [1, 0, 1]), example("none", [0, 0])]
    run = {"a": np.array([3.0, 2.0, 1.0]), "b": np.array([1.0, 2.0, 3.0]), "none": np.array([1.0, 2.0])}
    found = evaluate(examples, {"it": run}, [MAP, MRR, FIRST])
    assert found.to_json() == {
        "it": {"MAP(rel>=1)": (1 / 2 + (1 + 2 / 3) / 2) / 2, "MRR(rel>=1)": 0.75, "P@1(rel>=1)": 0.5}
    }
    assert found.counted.tolist() == [2, 2, 2]
    assert found.left_out.tolist() == [1, 1, 1]
    assert np.isnan(found.values[0, :, 2]).all()
    assert found.unanswered == {"it": (0, 0)}


def test_a_context_or_candidate_that_is_not_answered_is_no_gain_and_is_told() -> None:
    examples = [example("a", [0, 1]), example("b", [1, 0]), example("c", [1, 1])]
    nan = float("nan")
    run = {"a": np.array([1.0, nan]), "c": np.array([nan, nan])}
    found = evaluate(examples, {"it": run}, [MAP, FIRST])
    assert found.values[0].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert found.unanswered == {"it": (2, 1)}


def test_contexts_that_say_nothing_are_counted() -> None:
    examples = [
        example("all", [1, 1]),
        example("one", [1, 0]),
        example("none", [0, 0]),
        example("unsaid", [1, float("nan")]),
        example("alone", [1]),
        example("empty", []),
    ]
    run = {each.id: np.zeros(len(each)) for each in examples}
    found = evaluate(examples, {"it": run}, [MAP, parse_measure("nDCG")])
    assert found.undecided.tolist() == [2, 2]
    assert found.left_out.tolist() == [2, 2]


def test_measures_are_at_the_cuts_of_the_set() -> None:
    grades = [example("a", [1, 5]), example("b", [2.5, 3])]
    assert [str(measure) for measure in measures_of(grades)] == [
        *(f"{name}(rel>={cut})" for cut in (3, 4, 5) for name in ("P@1", "MAP", "MRR")),
        "nDCG@10",
    ]
    assert [str(measure) for measure in measures_of(grades, ["map"], [2.5])] == ["MAP(rel>=2.5)"]
    assert [str(measure) for measure in measures_of([example("a", [1, 0])], ["R@1"])] == ["R@1(rel>=1)"]
    assert len(default_measures([1.0])) == 4


def test_the_matrix_of_a_measure_has_the_contexts_that_count() -> None:
    examples = [example("a", [0, 1]), example("none", [0, 0]), example("b", [1, 0])]
    runs = {
        "good": {"a": np.array([0, 1.0]), "b": np.array([1.0, 0])},
        "bad": {"a": np.array([1.0, 0]), "b": np.array([0, 1.0])},
    }
    assert evaluate(examples, runs, [FIRST]).matrix(FIRST).tolist() == [[1, 0], [1, 0]]


def test_nothing_at_all() -> None:
    found = evaluate([], {"it": {}}, [MAP])
    assert found.to_json() == {"it": {"MAP(rel>=1)": None}}
    assert evaluate([example("a", [1])], {}, [MAP]).to_json() == {}
    assert evaluate([example("a", [0.0])], {"it": {}}, [MAP]).to_json() == {"it": {"MAP(rel>=1)": None}}


def test_the_means_are_those_of_trec_eval() -> None:
    random = np.random.default_rng(4)
    examples = [example(f"q{number}", random.integers(0, 4, random.integers(1, 9)).tolist()) for number in range(200)]
    run = {each.id: random.integers(0, 4, len(each)).astype(float) for each in examples if random.random() < 0.9}
    found = evaluate(examples, {"it": run}, [parse_measure("MAP(rel>=2)"), parse_measure("nDCG@3")])
    judged = {each.id: dict(zip(docnos(each.id, len(each)), each.relevance, strict=True)) for each in examples}
    said = {name: dict(zip(docnos(name, len(scores)), scores.tolist(), strict=True)) for name, scores in run.items()}
    for row, (name, needed, grade) in enumerate(
        [("map", 2, lambda value: int(value >= 2)), ("ndcg_cut_3", 1, lambda value: int(value))]
    ):
        counting = {
            query: {number: grade(value) for number, value in grades.items()}
            for query, grades in judged.items()
            if max(grades.values()) >= needed
        }
        theirs = pytrec_eval.RelevanceEvaluator(counting, {name.replace("_3", ".3")}).evaluate(said)
        mean = sum(theirs[query][name] if query in theirs else 0.0 for query in counting) / len(counting)
        assert found.means()[0, row] == pytest.approx(mean, abs=1e-12)
        assert found.counted[row] == len(counting)
