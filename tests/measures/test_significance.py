"""Tests of significance: against plain definitions, against each other, and as often wrong as their level says."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tertulia.errors import InputError
from tertulia.measures.bootstrap import bootstrap_interval
from tertulia.measures.significance import (
    bootstrap_mean,
    effect_size,
    effect_sizes,
    paired_randomisation,
    tukey_hsd,
)

# Shares that are not exact in binary, so that equal sums come out a bit apart.
SHARES = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7, 1.0])


def all_signs(differences: list[float]) -> float:
    """The exact p-value: of all ways to give the differences a sign, those with a sum at least as far from 0."""
    observed = abs(math.fsum(differences))
    sums = [
        abs(math.fsum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(each > observed - 1e-9 for each in sums) / len(sums)


def all_orders(rows: list[list[float]]) -> list[list[float]]:
    """The exact p-values of Tukey HSD: every way to permute every row."""
    systems = len(rows[0])
    means = [math.fsum(row[system] for row in rows) for system in range(systems)]
    ranges = []
    for orders in product(*(list(permutations(row)) for row in rows)):
        sums = [math.fsum(row[system] for row in orders) for system in range(systems)]
        ranges.append(max(sums) - min(sums))
    return [
        [
            1.0 if one == other else sum(each > abs(means[one] - means[other]) - 1e-9 for each in ranges) / len(ranges)
            for other in range(systems)
        ]
        for one in range(systems)
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SHARES, SHARES), max_size=9))
def test_few_contexts_are_counted_exactly(pairs: list[tuple[float, float]]) -> None:
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    expected = all_signs([one - other for one, other in pairs])
    assert paired_randomisation(a, b) == pytest.approx(expected, abs=1e-12)
    assert paired_randomisation(b, a) == paired_randomisation(a, b)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(SHARES, SHARES, SHARES), min_size=1, max_size=4))
def test_tukey_of_few_contexts_is_counted_exactly(rows: list[tuple[float, float, float]]) -> None:
    expected = all_orders([list(row) for row in rows])
    np.testing.assert_allclose(tukey_hsd(rows), expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=9))
def test_tukey_of_two_systems_is_the_paired_test(pairs: list[tuple[float, float]]) -> None:
    matrix = np.array(pairs)
    assert tukey_hsd(matrix)[0, 1] == pytest.approx(paired_randomisation(matrix[:, 0], matrix[:, 1]), abs=1e-12)


def test_draws_come_near_to_what_counting_gives() -> None:
    random = np.random.default_rng(1)
    a = random.random(12)
    b = np.clip(a - 0.08 + 0.2 * random.standard_normal(12), 0, 1)
    exact = paired_randomisation(a, b)
    drawn = paired_randomisation(a, b, replicates=4_000)
    assert 0.01 < exact < 0.5
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000))
    matrix = np.stack([a[:6], b[:6], random.random(6)], axis=1)
    counted = tukey_hsd(matrix, replicates=7_776)
    assert tukey_hsd(matrix, replicates=7_775) == pytest.approx(counted, abs=0.02)
    assert (tukey_hsd(matrix, replicates=7_775) != counted).any()


def test_p_is_never_0_and_as_small_as_the_draws_allow() -> None:
    a, b = np.full(40, 0.9), np.full(40, 0.1)
    assert paired_randomisation(a, b, replicates=999) == 1 / 1_000
    matrix = np.stack([a, b, np.full(40, 0.1)], axis=1)
    assert tukey_hsd(matrix, replicates=999)[0].tolist() == [1, 1 / 1_000, 1 / 1_000]
    assert tukey_hsd(matrix, replicates=999)[1, 2] == 1


def test_a_seed_gives_one_p_whatever_the_workers_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    matrix = random.random((60, 4)) + np.array([0.1, 0, 0, 0])
    first = tukey_hsd(matrix, replicates=1_200, seed=5)
    pair = paired_randomisation(matrix[:, 0], matrix[:, 1], replicates=1_200, seed=5)
    assert (tukey_hsd(matrix, replicates=1_200, seed=6) != first).any()
    assert paired_randomisation(matrix[:, 0], matrix[:, 1], replicates=1_200, seed=6) != pair
    assert tukey_hsd(matrix, replicates=1_200, seed=5, workers=3).tobytes() == first.tobytes()
    monkeypatch.setattr("tertulia.measures.significance._CELLS", 500)
    assert tukey_hsd(matrix, replicates=1_200, seed=5).tobytes() == first.tobytes()
    assert paired_randomisation(matrix[:, 0], matrix[:, 1], replicates=1_200, seed=5) == pytest.approx(pair, abs=0.05)


def test_systems_that_do_not_differ_are_found_different_as_often_as_the_level_says() -> None:
    random = np.random.default_rng(3)
    tables = [random.random((25, 4)) + random.random((25, 1)) for _ in range(200)]
    paired = [paired_randomisation(table[:, 0], table[:, 1], replicates=199) for table in tables]
    # Of any pair at all: what the correction for many comparisons is for.
    family = [tukey_hsd(table, replicates=199).min() for table in tables]
    for found in (paired, family):
        assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.10
    assert np.mean([tukey_hsd(t + np.array([0.6, 0, 0, 0]), replicates=199)[0, 1] <= 0.05 for t in tables[:40]]) > 0.9


def test_contexts_left_out_and_contexts_on_which_all_are_equal_change_nothing() -> None:
    random = np.random.default_rng(4)
    matrix = random.random((50, 3))
    more = np.insert(matrix, [3, 9, 9], math.nan, axis=0)
    assert tukey_hsd(more, replicates=300).tobytes() == tukey_hsd(matrix, replicates=300).tobytes()
    assert paired_randomisation(more[:, 0], more[:, 1]) == paired_randomisation(matrix[:, 0], matrix[:, 1])
    equal = np.vstack([matrix, np.full((30, 3), 0.1)])
    assert tukey_hsd(equal, replicates=300).tobytes() == tukey_hsd(matrix, replicates=300).tobytes()
    assert bootstrap_mean(np.full((4, 2), math.nan)) == pytest.approx(math.nan, nan_ok=True)


def test_nothing_to_compare_is_no_difference() -> None:
    assert paired_randomisation([], []) == 1
    assert paired_randomisation([0.1, 0.2], [0.1, 0.2]) == 1
    assert tukey_hsd(np.zeros((0, 3))).tolist() == np.ones((3, 3)).tolist()
    assert tukey_hsd(np.zeros((5, 1))).tolist() == [[1.0]]
    assert tukey_hsd(np.zeros((5, 0))).shape == (0, 0)


def test_the_bootstrap_of_means_is_the_plain_one() -> None:
    matrix = np.random.default_rng(5).random((80, 3))
    found = bootstrap_mean(matrix, replicates=300, seed=7, confidence=0.9)
    for system in range(3):
        plain = bootstrap_interval(
            lambda values: float(values.mean()), matrix[:, system], replicates=300, seed=7, confidence=0.9
        )
        assert found[system] == pytest.approx(plain, abs=1e-12)


def test_draws_of_what_is_an_estimate_widen_the_intervals_of_means() -> None:
    random = np.random.default_rng(6)
    matrix = random.random((60, 2))
    plain = bootstrap_mean(matrix, replicates=400)
    assert bootstrap_mean(np.stack([matrix] * 3), replicates=400).tobytes() == plain.tobytes()
    # Each draw moves all values of a system together.
    wide = bootstrap_mean([matrix + random.normal(0, 0.2, 2) for _ in range(100)], replicates=400)
    assert (np.diff(wide) > 2 * np.diff(plain)).all()
    # In every draw other contexts may be left out.
    draws = np.stack([matrix, matrix])
    draws[0, :30] = math.nan
    found = bootstrap_mean(draws, replicates=400)
    assert (np.abs(found.mean(axis=1) - matrix.mean(axis=0)) < 0.1).all()


def test_the_size_of_an_effect_is_that_of_its_definition() -> None:
    a, b = np.array([0.5, 0.75, 1.0, 0.25]), np.array([0.25, 0.75, 0.5, 0.5])
    differences = [0.25, 0.0, 0.5, -0.25]
    deviation = math.sqrt(sum((each - 0.125) ** 2 for each in differences) / 3)
    assert effect_size(a, b) == pytest.approx(0.125 / deviation, abs=1e-12)
    assert effect_size(b, a) == -effect_size(a, b)
    assert effect_size(a, a) == 0
    assert math.isnan(effect_size(a + 0.1, a))
    assert math.isnan(effect_size(a[:1], b[:1]))


def test_the_sizes_of_effects_are_in_residual_deviations() -> None:
    values = np.random.default_rng(7).random((6, 3))
    of_systems, of_contexts = values.mean(axis=0), values.mean(axis=1)
    total = sum(
        (values[row, column] - of_systems[column] - of_contexts[row] + values.mean()) ** 2
        for row in range(6)
        for column in range(3)
    )
    expected = (of_systems[0] - of_systems[2]) / math.sqrt(total / 10)
    found = effect_sizes(values)
    assert found[0, 2] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(found, -found.T)
    for nothing in (np.zeros((0, 2)), values[:1], values[:, :1], np.ones((4, 2))):
        assert np.isnan(effect_sizes(nothing)[~np.eye(nothing.shape[1], dtype=bool)]).all()


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((2, 2, 2, 2)), np.array([[1.0, math.inf], [0.0, 0.0]])])
def test_what_is_no_matrix_of_numbers_is_refused(wrong: np.ndarray) -> None:
    for measure in (tukey_hsd, effect_sizes, bootstrap_mean):
        with pytest.raises(InputError, match="expected"):
            measure(wrong)


def test_a_context_of_some_systems_only_is_refused_and_named() -> None:
    matrix = np.zeros((4, 3))
    matrix[2, 1] = math.nan
    for measure in (tukey_hsd, effect_sizes, bootstrap_mean):
        with pytest.raises(InputError, match="context 2 has a value of some systems only"):
            measure(matrix)
    for pairs in (paired_randomisation, effect_size):
        with pytest.raises(InputError, match="context 2"):
            pairs(matrix[:, 0], matrix[:, 1])
        with pytest.raises(InputError, match="shapes"):
            pairs(matrix[:, 0], matrix[:2, 1])
    with pytest.raises(InputError, match="at least one"):
        paired_randomisation([1.0], [0.0], replicates=0)
    with pytest.raises(InputError, match="at least one"):
        tukey_hsd(matrix, replicates=0)


# -- outside ---------------------------------------------------------------------------------------------------------


def test_the_paired_test_is_that_of_scipy() -> None:
    random = np.random.default_rng(8)
    a = random.random(11)
    b = np.clip(a + random.normal(-0.05, 0.1, 11), 0, 1)
    outside = stats.permutation_test(
        (a, b), lambda one, other: float(np.mean(one - other)), permutation_type="samples", n_resamples=10_000
    )
    # All 2^11 ways, in both.
    assert paired_randomisation(a, b) == pytest.approx(outside.pvalue, abs=1e-12)


def test_of_many_contexts_randomised_tukey_is_the_studentised_range() -> None:
    """The sums of many permuted contexts are as good as normal, with the variance that there is within contexts."""
    random = np.random.default_rng(9)
    values = random.random((80, 5)) + random.normal(0, 2, (80, 1)) + np.array([0.2, 0.1, 0.05, 0, 0])
    found = tukey_hsd(values, replicates=6_000)
    means = values.mean(axis=0)
    variance = float(((values - values.mean(axis=1, keepdims=True)) ** 2).sum()) / (80 * 4)
    expected = stats.studentized_range.sf(np.abs(means[:, None] - means) / math.sqrt(variance / 80), 5, np.inf)
    np.fill_diagonal(expected, 1)
    assert expected.min() < 0.05 < np.median(expected)
    np.testing.assert_allclose(found, expected, atol=0.02)
