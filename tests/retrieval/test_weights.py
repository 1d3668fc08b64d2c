"""The weights of words."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.errors import ConfigurationError
from tertulia.retrieval.weights import check_scale, idf_weights, powers

from . import definition


def test_english_weights_are_as_defined():
    words = ["the", "movie", "metallica", "don't", "1990", "zzqxa"]
    assert idf_weights(words, "en", 1.3).tolist() == [definition.idf(word, 1.3) for word in words]


def test_the_rarest_word_weighs_the_scale_exactly():
    for scale in (0.7, 1.0, 1.3, 3.3):
        assert idf_weights(["zzqxa"], "en", scale).tolist() == [scale]


def test_chinese_words_have_the_frequency_of_their_simplified_form():
    weights = idf_weights(["电影", "電影", "的", "囗囗囗"], "zh", 1.0)
    assert weights[0] == weights[1]
    assert weights[2] < weights[0] < weights[3] == 1.0


@given(st.floats(0.001, 20))
def test_powers_are_multiplied_in_the_documented_order(weight):
    found = [float(power[0]) for power in powers(np.array([weight]))]
    assert found == [definition.second(weight), definition.sixth(weight), definition.eighth(weight)]


@pytest.mark.parametrize("scale", [0, -1, 1e9, math.nan, math.inf])
def test_a_scale_out_of_range_is_refused(scale):
    with pytest.raises(ConfigurationError, match="scale"):
        check_scale(scale)
