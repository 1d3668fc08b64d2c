"""Agreement measures: published examples, other libraries, slow definitions, and what must hold of any input."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.measures.agreement import AgreementCounter, CohenCounter, cohen_kappa, fleiss_kappa, krippendorff_alpha

from . import definitions

NONE = math.nan
LEVELS = ["nominal", "ordinal", "interval"]
# Krippendorff 2011, section C: four observers, twelve units, missing data.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
# The worked example of ten units, fourteen annotators and five categories that textbooks use for Fleiss' κ.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
grades = st.integers(1, 5)
unit_lists = st.lists(st.lists(grades, max_size=5), max_size=25)


def counted(units: list[list[object]] | list[list[int]], level: str) -> AgreementCounter:
    counter = AgreementCounter(level)  # type: ignore[arg-type]
    for values in units:
        counter.add(values)
    return counter


def same(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(level: str, published: float) -> None:
    assert round(krippendorff_alpha(KRIPPENDORFF, level=level), 3) == published  # type: ignore[arg-type]


def test_the_textbooks_example_of_fleiss_kappa() -> None:
    assert round(fleiss_kappa(FLEISS), 3) == 0.210


def test_a_textbooks_example_of_cohens_kappa() -> None:
    # Two readers of fifty proposals: both yes 20, both no 15, only the first 5, only the second 10.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


@settings(deadline=None, max_examples=60)
@given(unit_lists, st.sampled_from(LEVELS))
def test_alpha_is_what_its_definition_says(units: list[list[int]], level: str) -> None:
    counter = counted(units, level)
    assert same(counter.alpha(), definitions.alpha([u for u in units if len(u) > 1], level))
    assert same(counter.percent_agreement(), definitions.agreeing_pairs(units))
    assert (counter.units, counter.pairable) == (len(units), sum(len(u) > 1 for u in units))


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_what_another_library_says(level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    source = np.random.default_rng(1)
    for size in (2, 5, 19):
        table = source.integers(-2, 3, (size, 60)).astype(float)
        table[source.random(table.shape) < 0.3] = NONE
        theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
        assert krippendorff_alpha(table, level=level) == pytest.approx(theirs, abs=1e-12)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(grades, grades), max_size=30), st.sampled_from([None, "linear", "quadratic"]))
def test_cohens_kappa_is_what_its_definition_says(pairs: list[tuple[int, int]], weights: str | None) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    for categories in ([1, 2, 3, 4, 5], None):
        ordered = categories or sorted({*first, *second})
        found = cohen_kappa(first, second, weights=weights, categories=categories)  # type: ignore[arg-type]
        assert same(found, definitions.cohen(pairs, weights, ordered))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohens_kappa_is_what_another_library_says(weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    source = np.random.default_rng(2)
    first = source.integers(1, 6, 500)
    second = np.clip(first + source.integers(-1, 2, 500), 1, 5)
    theirs = metrics.cohen_kappa_score(first, second, weights=weights)
    assert cohen_kappa(first, second, weights=weights) == pytest.approx(theirs, abs=1e-12)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)
@given(unit_lists, st.sampled_from(LEVELS), st.randoms(use_true_random=False))
def test_what_changes_no_alpha(units: list[list[int]], level: str, chance: random.Random) -> None:
    counter = counted(units, level)
    alpha = counter.alpha()
    assert math.isnan(alpha) or alpha <= 1
    shuffled = [chance.sample(unit, len(unit)) for unit in chance.sample(units, len(units))]
    again = counted(shuffled, level)
    assert same(again.alpha(), alpha)
    # The order of units, and of values in them, changes not even the interval.
    assert repr(again.interval(replicates=20)) == repr(counter.interval(replicates=20))
    names = dict(zip(range(1, 6), chance.sample(["a", "b", "c", "d", "e"], 5), strict=True))
    if level == "nominal":
        assert same(counted([[names[v] for v in unit] for unit in units], level).alpha(), alpha)
    else:
        assert same(counted([[v * 8 - 3 for v in unit] for unit in units], level).alpha(), alpha)
    if level == "ordinal":
        assert same(counted([[v**3 for v in unit] for unit in units], level).alpha(), alpha)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(grades, grades), min_size=1, max_size=30))
def test_units_that_stand_twice_change_no_kappa(pairs: list[tuple[int, int]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    kappa = cohen_kappa(first, second)
    assert same(cohen_kappa(first * 2, second * 2), kappa)
    assert same(cohen_kappa(second, first), kappa)
    assert math.isnan(kappa) or -1 <= kappa <= 1
    table = [[(one == grade) + (other == grade) for grade in range(1, 6)] for one, other in pairs]
    assert same(fleiss_kappa(table), fleiss_kappa(table * 2))


@pytest.mark.parametrize("level", LEVELS)
def test_perfect_agreement_is_one_and_one_category_is_undefined(level: str) -> None:
    assert counted([[1, 1], [2, 2, 2], [3]], level).alpha() == 1
    for units in ([], [[]], [[1], [2]], [[4, 4], [4, 4]]):
        counter = counted(units, level)
        assert math.isnan(counter.alpha())
        assert all(math.isnan(end) for end in counter.interval())
    assert math.isnan(counted([[1], [2]], level).percent_agreement())


def test_undefined_kappas_are_nan() -> None:
    assert math.isnan(cohen_kappa([], []))
    assert math.isnan(cohen_kappa([None, 1], [2, NONE]))
    assert math.isnan(cohen_kappa(["a", "a"], ["a", "a"]))
    assert math.isnan(fleiss_kappa([[2, 0], [2, 0]]))
    assert math.isnan(fleiss_kappa([[1, 0], [0, 1]]))
    assert math.isnan(fleiss_kappa(np.empty((0, 3))))


def test_missing_values_are_no_values() -> None:
    assert (
        counted([[1, None, 2], [NONE, 2, 2], [None, 3]], "ordinal").alpha()
        == counted([[1, 2], [2, 2]], "ordinal").alpha()
    )
    assert math.isnan(krippendorff_alpha([["a", NONE], ["a", "b"]]))
    labels = np.array([["a", None, "b"], ["a", "b", "c"]], dtype=object)
    assert krippendorff_alpha(labels) == counted([["a", "a"], ["b", "c"]], "nominal").alpha()


def test_numbers_of_any_size_and_distance_keep_their_alpha() -> None:
    units = [[1, 2], [2, 2], [3, 5], [4, 4, 5]]
    alpha = counted(units, "interval").alpha()
    assert counted([[v + 1e9 for v in u] for u in units], "interval").alpha() == pytest.approx(alpha, abs=1e-6)
    assert counted([[v * 3e307 for v in u] for u in units], "interval").alpha() == pytest.approx(alpha, abs=1e-9)
    assert counted([[v * 1e-300 for v in u] for u in units], "interval").alpha() == pytest.approx(alpha, abs=1e-9)
    assert not math.isnan(counted([[-1.7e308, 1.7e308], [0.0, 0.0]], "interval").alpha())


def test_labels_of_several_kinds_are_nominal() -> None:
    counter = counted([["a", 1], [True, "a"], ["b", "b"]], "nominal")
    assert counter.pairable == 3
    assert cohen_kappa(["a", 1], ["a", 2]) == pytest.approx(cohen_kappa(["a", "b"], ["a", "c"]))


@pytest.mark.parametrize("level", ["ordinal", "interval"])
@pytest.mark.parametrize("value", ["3", math.inf, -math.inf, 10**400, b"x", (1, 2)])
def test_what_is_no_number_is_refused(level: str, value: object) -> None:
    with pytest.raises(InputError, match="finite numbers"):
        AgreementCounter(level).add([1, value])  # type: ignore[arg-type]


def test_wrong_use_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="the level 'ratio'"):
        AgreementCounter("ratio")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="different numbers of units"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(InputError, match="not among the categories"):
        cohen_kappa([1, 6], [1, 2], categories=[1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="stand twice"):
        CohenCounter([1, 1])
    with pytest.raises(InputError, match="the weights 'cubic'"):
        cohen_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="without an order"):
        cohen_kappa(["a", 1], [1, "a"], weights="linear")
    with pytest.raises(InputError, match="different numbers of annotators"):
        fleiss_kappa([[1, 1], [1, 2]])
    for table in ([1, 2], [[0.5, 1.5]], [[-1, 3]], [[math.nan, 2]]):
        with pytest.raises(InputError, match="whole numbers"):
            fleiss_kappa(table)
    for values in ([1, 2, 3], [[1, 2], [3]], [[[1]]], 5):
        with pytest.raises(InputError, match="expected two"):
            krippendorff_alpha(values)  # type: ignore[arg-type]


def test_weights_know_a_grade_that_nobody_gave() -> None:
    first, second = [1, 1, 5, 5], [1, 5, 5, 4]
    assert cohen_kappa(first, second, weights="linear") != cohen_kappa(
        first, second, weights="linear", categories=[1, 2, 3, 4, 5]
    )


# -- more combinations than are kept ----------------------------------------------------------------------------------


def few_kept(level: str, combinations: int) -> AgreementCounter:
    counter = AgreementCounter(level)  # type: ignore[arg-type]
    counter.COMBINATIONS = combinations  # type: ignore[misc]
    return counter


@settings(deadline=None, max_examples=60)
@given(unit_lists, st.sampled_from(LEVELS), st.integers(0, 4))
def test_alpha_in_groups_is_exact(units: list[list[int]], level: str, combinations: int) -> None:
    grouped = few_kept(level, combinations)
    for index, values in enumerate(units):
        grouped.add(values)
        if index % 7 == 3:
            grouped.alpha()  # asking on the way changes nothing
    whole = counted(units, level)
    assert same(grouped.alpha(), whole.alpha())
    assert same(grouped.percent_agreement(), whole.percent_agreement())
    assert (grouped.units, grouped.pairable) == (whole.units, whole.pairable)


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_of_groups_are_about_as_wide(level: str) -> None:
    source = np.random.default_rng(6)
    truth = source.integers(1, 6, 4_000)
    units = np.stack([np.clip(truth + source.integers(-1, 2, 4_000), 1, 5) for _ in range(3)], axis=1).tolist()
    whole, grouped = counted(units, level), few_kept(level, 20)
    for values in units:
        grouped.add(values)
    expected, found = whole.interval(), grouped.interval()
    assert found == grouped.interval()
    width = expected.high - expected.low
    assert found.high - found.low == pytest.approx(width, rel=0.25)
    assert found.low < whole.alpha() < found.high


def test_more_categories_than_can_be_kept_are_said_to_be_too_many() -> None:
    for level, value in (("nominal", "label {}".format), ("ordinal", float)):
        counter = few_kept(level, 10)
        counter.MOST_CATEGORIES = {**AgreementCounter.MOST_CATEGORIES, level: 30}  # type: ignore[misc,dict-item]
        for number in range(15):
            counter.add([value(number), value(number + 1)])
        assert not counter.overflowed
        assert not math.isnan(counter.alpha())
        for number in range(60):
            counter.add([value(number), value(number)])
        assert counter.overflowed
        assert math.isnan(counter.alpha())
        assert all(math.isnan(end) for end in counter.interval())
        assert (counter.units, counter.pairable) == (75, 75)
        assert counter.percent_agreement() == pytest.approx(60 / 75)
        assert len(counter._known) < 60


def test_numbers_without_end_are_no_matter_at_the_level_of_intervals() -> None:
    source = np.random.default_rng(7)
    truth = source.normal(1_000, 1, 500)
    units = np.stack([truth, truth + source.normal(0, 0.5, 500)], axis=1).tolist()
    grouped = few_kept("interval", 50)
    for values in units:
        grouped.add(values)
    assert not grouped.overflowed
    assert grouped.alpha() == pytest.approx(definitions.alpha(units, "interval"), abs=1e-9)
    assert 0.7 < grouped.interval().low < grouped.alpha() < grouped.interval().high < 0.95
