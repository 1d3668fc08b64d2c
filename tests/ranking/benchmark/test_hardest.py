"""The hardest contexts are those where systems fail, and each system's first choice stands beside the best response."""

import numpy as np

from tertulia.measures.ranking_names import Measure
from tertulia.ranking.benchmark.comparing import Comparison, compare
from tertulia.ranking.benchmark.hardest import hardest_contexts, judging_measure
from tertulia.ranking.benchmark.protocols import CandidatesProtocol
from tertulia.ranking.benchmark.results import SystemResult, of_scores
from tertulia.ranking.examples import Example

from ..rankers.made import example

MEASURES = [Measure("P", 1, 4.0), Measure("MAP", None, 4.0), Measure("nDCG", 10, None)]


def made(examples: list[Example], scores: dict[str, list[list[float]]]) -> tuple[Comparison, list[SystemResult]]:
    protocol = CandidatesProtocol(examples)
    results = [
        of_scores(protocol, MEASURES, name, protocol.kept([np.array(row) for row in rows]), "")
        for name, rows in scores.items()
    ]
    comparison = compare(
        list(scores),
        MEASURES,
        [each.id for each in examples],
        [each.values for each in results],
        protocol.relevances,
        baseline=None,
        confidence=0.95,
        replicates=20,
        permutations=20,
        seed=0,
    )
    return comparison, results


def test_contexts_are_ordered_by_how_many_systems_are_right() -> None:
    nan = float("nan")
    examples = [
        example("easy", "p", ["good", "bad"], [5.0, 1.0]),
        example("hard", ["q", "p"], ["good", "bad", "good"], [5.0, 1.0, 5.0]),
        example("half", "p", ["good", "bad", "odd"], [4.0, 1.0, nan]),
        example("none", "p", ["bad"], [1.0]),
        example("all", "p", ["good"], [5.0]),
    ]
    comparison, results = made(
        examples,
        {
            "random": [[1, 0], [1, 0, 0], [1, 0, 0], [0], [0]],
            "one": [[1, 0], [0, 1, 0.5], [0, 0, 1], [0], [0]],
            "two": [[1, 0], [0, 1, 0], [0, 1, 0], [0], [0]],
        },
    )
    assert judging_measure(MEASURES, comparison, 4.0) == 1
    assert judging_measure(MEASURES, comparison, 7.0) == 0
    found = hardest_contexts(comparison, results, CandidatesProtocol(examples), 4.0, 10)
    assert [each.id for each in found] == ["half", "hard"]
    assert [each.right for each in found] == [0, 0]
    half, hard = found
    assert [text for _role, text in hard.turns] == ["q", "p"]
    assert hard.best == (("good", 5.0),)
    assert hard.candidates == 3
    assert [(choice.system, choice.text, choice.right) for choice in hard.choices] == [
        ("random", "good", True),
        ("one", "bad", False),
        ("two", "bad", False),
    ]
    assert half.choices[1].relevance is None
    assert not half.choices[1].right
    assert len(hardest_contexts(comparison, results, CandidatesProtocol(examples), 4.0, 1)) == 1
    assert hardest_contexts(comparison, results, CandidatesProtocol(examples), 4.0, 0) == []
