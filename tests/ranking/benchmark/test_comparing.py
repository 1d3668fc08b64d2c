"""Intervals, letters and differences are those of the tests of significance; replicates draw what they should."""

import math

import numpy as np
import pytest

from tertulia.measures.letters import compact_letters
from tertulia.measures.ranking_names import Measure
from tertulia.measures.significance import bootstrap_mean, paired_randomisation, tukey_hsd
from tertulia.ranking.benchmark.comparing import Comparison, centred, compare, replicate_means
from tertulia.ranking.benchmark.protocols import CandidatesProtocol
from tertulia.ranking.benchmark.results import are_votes, of_scores, redrawing

from ..rankers.made import example

MEASURES = [Measure("P", 1, 3.0), Measure("MAP", None, 3.0), Measure("MAP", None, 5.0)]


def held(by_seed: list[np.ndarray], **changes: object) -> Comparison:
    fields: dict = {"baseline": "b", "confidence": 0.95, "replicates": 300, "permutations": 500, "seed": 3, **changes}
    names = ["a", "b", "c"][: len(by_seed)]
    contexts = [f"c{number}" for number in range(by_seed[0].shape[2])]
    return compare(names, MEASURES, contexts, by_seed, [np.array([5.0, 1.0])] * len(contexts), **fields)


def made(contexts: int = 40) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    found = [np.clip(random.normal(mean, 0.2, (2, 3, contexts)), 0, 1) for mean in (0.3, 0.35, 0.8)]
    left_out = random.random((3, contexts)) < 0.2
    left_out[2] = True
    for values in found:
        values[:, left_out] = np.nan
    return found


def test_figures_are_those_of_the_tests_of_significance() -> None:
    by_seed = made()
    found = held(by_seed)
    for measure in (0, 1):
        matrix = np.stack([each.mean(axis=0)[measure] for each in by_seed], axis=1)
        matrix = matrix[~np.isnan(matrix).any(axis=1)]
        np.testing.assert_allclose(found.means[:, measure], matrix.mean(axis=0))
        p = tukey_hsd(matrix, replicates=500, seed=3)
        np.testing.assert_array_equal(found.p[measure], p)
        assert found.letters[measure] == tuple(compact_letters(matrix.mean(axis=0).tolist(), p, level=0.05))
        assert found.difference_p[0, measure] == paired_randomisation(
            matrix[:, 0], matrix[:, 1], replicates=500, seed=3
        )
        assert found.difference[0, measure] == pytest.approx(matrix[:, 0].mean() - matrix[:, 1].mean())
        assert math.isnan(found.difference[1, measure])
        assert found.counted[measure] == len(matrix)
        assert found.left_out[measure] == 40 - len(matrix)
    assert found.letters[0][2] == "a"
    assert found.letters[0][0] == found.letters[0][1] == "b"
    spread = by_seed[0]
    expected = np.std([np.nanmean(spread[seed, 0]) for seed in (0, 1)], ddof=1)
    assert found.spread[0, 0] == pytest.approx(expected)
    # No context counts at the last cut.
    assert np.isnan(found.means[:, 2]).all()
    assert np.isnan(found.low[:, 2]).all()
    assert found.letters[2] == ("", "", "")
    assert found.order(0) == [2, 1, 0]


def test_one_system_has_nobody_to_differ_from() -> None:
    found = held(made()[:1], baseline="nobody")
    assert found.letters[0] == ("a",)
    assert found.baseline is None
    assert np.isnan(found.spread).any() is np.False_ or np.isnan(found.spread[:, 2]).all()


def test_replicates_are_means_of_contexts_drawn_with_replacement() -> None:
    values = np.array([[[0.0, 1.0, np.nan, 0.5]], [[1.0, 1.0, np.nan, 0.0]]])
    found = replicate_means(values, 2_000, 5)
    assert found.shape == (2_000, 2, 1)
    known = found[~np.isnan(found[:, 0, 0])]
    assert np.isnan(found[:, 0, 0]).mean() < 0.02
    assert known[:, 0, 0].mean() == pytest.approx(0.5, abs=0.03)
    # The same contexts for all systems: where one has drawn the second alone, so has the other.
    alone = known[known[:, 0, 0] == 1.0]
    assert (alone[:, 1, 0] == 1.0).all()
    np.testing.assert_array_equal(found, replicate_means(values, 2_000, 5))


def test_intervals_agree_with_the_plain_bootstrap() -> None:
    by_seed = made(200)
    found = held(by_seed, replicates=4_000)
    matrix = np.stack([each.mean(axis=0)[0] for each in by_seed], axis=1)
    plain = bootstrap_mean(matrix, replicates=4_000, seed=9)
    np.testing.assert_allclose(found.low[:, 0], plain[:, 0], atol=0.01)
    np.testing.assert_allclose(found.high[:, 0], plain[:, 1], atol=0.01)


def test_many_contexts_are_drawn_in_blocks() -> None:
    values = np.random.default_rng(0).random((1, 1, 100_000))
    found = replicate_means(values, 60, 0)
    assert found.std() == pytest.approx(values.std() / math.sqrt(100_000), rel=0.4)
    assert found.mean() == pytest.approx(values.mean(), abs=0.001)


def test_relevance_from_votes_is_drawn_again() -> None:
    random = np.random.default_rng(2)
    certain = [example(f"c{n}", "p", list("abcd"), random.random(4).tolist()) for n in range(30)]
    open_ = [
        example(each.id, "p", list(each.texts), each.relevance.tolist(), [0.2] * len(each.texts)) for each in certain
    ]
    measures = [Measure("MAP", None, 0.5), Measure("nDCG", 10, None)]
    results = []
    for examples in (certain, open_):
        protocol = CandidatesProtocol(examples)
        kept = protocol.kept([each.relevance for each in examples])
        result = of_scores(protocol, measures, "oracle", kept, "")
        results.append(redrawing(protocol, measures, [result], 101, 4, draws=10)(0))
        assert are_votes(protocol) is (examples is open_)
    sure, unsure = results
    assert sure.shape == unsure.shape == (101, 2)
    # Relevance that is certain gives the perfect order; what votes leave open cannot be known by any order.
    assert (sure == 1).all()
    assert unsure.mean() < 0.97
    moved = centred(unsure, np.array([0.7, 0.6]))
    assert moved.mean(axis=0) == pytest.approx([0.7, 0.6], abs=0.01)
    assert moved.std(axis=0) == pytest.approx(unsure.std(axis=0), abs=1e-12)
    assert centred(unsure, np.array([1.0, 0.0])).max() <= 1.0
