"""Agreement of raters in one place: κ of two, α of any number, as JSON."""

import json
import math

import numpy as np
import pytest

from tertulia.errors import InputError
from tertulia.measures.agreement import cohen_kappa, krippendorff_alpha
from tertulia.measures.raters import RaterCounter

PAIRS = [(1.0, 1.0), (2.0, 3.0), (5.0, 5.0), (4.0, 2.0), (1.0, 2.0), (3.0, 3.0)]


def test_what_it_says_is_what_the_measures_are() -> None:
    counter = RaterCounter([1, 2, 3, 4, 5], ("ordinal", "interval"))
    for pair in PAIRS:
        counter.add(pair)
    found = counter.to_json()
    first, second = zip(*PAIRS, strict=True)
    assert found["pairs"] == counter.units == 6
    assert found["equal"] == pytest.approx(0.5)
    for name, weights in (("plain", None), ("linear", "linear"), ("quadratic", "quadratic")):
        kappa = cohen_kappa(first, second, weights=weights, categories=[1, 2, 3, 4, 5])  # type: ignore[arg-type]
        assert found["kappa"][name]["value"] == pytest.approx(kappa)
        assert found["kappa"][name]["low"] <= kappa <= found["kappa"][name]["high"]
    assert list(found["alpha"]) == ["ordinal", "interval"]
    for level in ("ordinal", "interval"):
        alpha = krippendorff_alpha(np.array([first, second]), level=level)  # type: ignore[arg-type]
        assert found["alpha"][level]["value"] == pytest.approx(alpha)


def test_more_than_two_ratings_have_an_alpha_and_no_kappa() -> None:
    counter = RaterCounter()
    for ratings in [*PAIRS, (1.0, 2.0, 1.0), (4.0,), ()]:
        counter.add(ratings)
    found = counter.to_json()
    assert found["pairs"] == 7
    assert found["kappa"]["plain"] == {"value": None, "low": None, "high": None}
    assert math.isnan(counter.kappa())
    assert found["alpha"]["ordinal"]["value"] is not None


def test_without_a_scale_the_grades_that_occur_are_it_unless_they_are_too_many() -> None:
    counter = RaterCounter()
    for pair in PAIRS:
        counter.add(pair)
    assert counter.kappa("linear") == pytest.approx(cohen_kappa(*zip(*PAIRS, strict=True), weights="linear"))
    random = np.random.default_rng(1)
    sliders = RaterCounter(levels=("interval",))
    for _ in range(200):
        value = random.random()
        sliders.add((value, value + 0.1 * random.random()))
    assert sliders.to_json()["kappa"]["plain"]["value"] is None
    assert sliders.to_json()["alpha"]["interval"]["value"] > 0.9


def test_nothing_to_compare_is_null_in_json() -> None:
    found = RaterCounter([1, 2]).to_json()
    assert found["pairs"] == 0
    assert found["equal"] is None
    json.dumps(found, allow_nan=False)
    with pytest.raises(InputError, match="among the categories"):
        RaterCounter([1, 2]).add((1, 3))
