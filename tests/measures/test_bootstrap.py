"""Bootstrap intervals: seeded, as wide as they should be, and the streamed ones like the plain one."""

import math

import numpy as np
import pytest

from tertulia.errors import InputError
from tertulia.measures.agreement import AgreementCounter, CohenCounter, cohen_kappa, krippendorff_alpha
from tertulia.measures.bootstrap import bootstrap_interval, percentile_interval


@pytest.fixture(scope="module")
def two() -> np.ndarray:
    source = np.random.default_rng(3)
    truth = source.integers(1, 6, 300)
    return np.stack([np.clip(truth + source.integers(-1, 2, 300), 1, 5) for _ in range(2)])


def mean(values: np.ndarray) -> float:
    return float(values.mean())


def test_the_interval_of_a_mean_is_the_normal_one() -> None:
    values = np.random.default_rng(4).normal(10, 2, 400)
    low, high = bootstrap_interval(mean, values)
    error = values.std() / math.sqrt(400)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_a_seed_gives_one_interval_and_confidence_widens_it() -> None:
    values = np.arange(50.0)
    assert bootstrap_interval(mean, values, seed=5) == bootstrap_interval(mean, values, seed=5)
    assert bootstrap_interval(mean, values, seed=5) != bootstrap_interval(mean, values, seed=6)
    narrow, wide = (bootstrap_interval(mean, values, confidence=c) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_streamed_intervals_are_as_wide_as_the_plain_bootstrap(two: np.ndarray) -> None:
    counter = AgreementCounter("ordinal")
    cohen = CohenCounter([1, 2, 3, 4, 5])
    for first, second in two.T.tolist():
        counter.add([first, second])
        cohen.add(first, second)

    def ordinal(table: np.ndarray) -> float:
        return krippendorff_alpha(table, level="ordinal")

    plain = bootstrap_interval(ordinal, two, axis=1, replicates=400)
    assert counter.interval() == pytest.approx(plain, abs=0.15 * (plain.high - plain.low))
    for weights in (None, "linear", "quadratic"):

        def kappa(first: np.ndarray, second: np.ndarray, weights: str | None = weights) -> float:
            return cohen_kappa(first, second, weights=weights, categories=[1, 2, 3, 4, 5])  # type: ignore[arg-type]

        plain = bootstrap_interval(kappa, two[0], two[1], replicates=400)
        streamed = cohen.interval(weights)  # type: ignore[arg-type]
        assert streamed == pytest.approx(plain, abs=0.15 * (plain.high - plain.low))
        assert streamed.low < cohen.kappa(weights) < streamed.high  # type: ignore[arg-type]
    assert cohen.units == 300
    assert cohen.percent_agreement() == pytest.approx(float((two[0] == two[1]).mean()))


def test_what_is_undefined_has_no_interval() -> None:
    for found in (
        bootstrap_interval(mean, np.empty(0)),
        bootstrap_interval(lambda values: math.nan, np.ones(3)),
        percentile_interval(np.array([math.nan, math.nan, 1.0]), 0.95),
        CohenCounter().interval(),
    ):
        assert all(math.isnan(end) for end in found)
    assert percentile_interval(np.array([math.nan, 1.0, 1.0]), 0.95) == (1, 1)


def test_wrong_use_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="one number of units"):
        bootstrap_interval(mean, [1, 2], [1])
    for confidence in (0, 1, -1, 95, math.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            bootstrap_interval(mean, [1, 2], confidence=confidence)
    with pytest.raises(InputError, match="at least one"):
        AgreementCounter().interval(replicates=0)
