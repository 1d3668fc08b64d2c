"""The weight of a word: its inverse document frequency in general language, and the powers of it that the score uses.

``idf(w) = s · (ln f(w) / ln 1e-8)`` with ``f(w)`` the frequency of ``w`` in the large list of wordfreq, at least 1e-8.
The weight depends on the word and on the scale ``s`` alone, never on the bank, so that a bank can grow without being
weighed again; the rarest word, and one that the list has not, weighs ``s``.
"""

from __future__ import annotations

import gzip
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["LARGEST_SCALE", "SMALLEST_SCALE", "Powers", "check_scale", "idf_weights", "powers"]

_FLOOR = 1e-8
_LOG_FLOOR = math.log(_FLOOR)
# Within these bounds no eighth power leaves the range of a 32-bit float, in which the kernel keeps its bounds.
SMALLEST_SCALE, LARGEST_SCALE = 0.05, 20.0


class Powers(NamedTuple):
    """Weights to the powers 2, 6 and 8, float64 arrays of one shape."""

    second: NDArray[np.float64]
    sixth: NDArray[np.float64]
    eighth: NDArray[np.float64]


def powers(weights: NDArray[np.float64]) -> Powers:
    """The powers of the weights, multiplied in one fixed order, since another would change the last bit.

    ``w2 = w·w``, ``w6 = (w2·w2)·w2``, ``w8 = (w2·w2)·(w2·w2)``.
    """
    second = weights * weights
    fourth = second * second
    return Powers(second, fourth * second, fourth * fourth)


def check_scale(scale: float) -> float:
    """The scale as a float.

    Raises
    ------
    ConfigurationError
        It is not a number between ``SMALLEST_SCALE`` and ``LARGEST_SCALE``.
    """
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ConfigurationError(
            f"the scale of the weights is {scale}; expected a number from {SMALLEST_SCALE} to {LARGEST_SCALE}"
        )
    return float(scale)


def idf_weights(words: Iterable[str], language: str, scale: float) -> NDArray[np.float64]:
    """``idf`` of each word, in order: float64, above 0 and at most ``scale``."""
    frequency = _frequency_of(language)
    ratios = [math.log(max(frequency(word), _FLOOR)) / _LOG_FLOOR for word in words]
    return np.array(ratios, dtype=np.float64) * scale


def _frequency_of(language: str) -> Callable[[str], float]:
    if language == "zh":
        return _chinese_frequency
    from wordfreq import word_frequency  # its list takes a tenth of a second to load, and a search never needs it

    return lambda word: word_frequency(word, language, wordlist="large")


def _chinese_frequency(word: str) -> float:
    """What ``wordfreq.word_frequency(word, "zh")`` gives for a word that is one token.

    That function would segment the word anew with jieba, a second segmenter that nothing else here needs.
    """
    from wordfreq import get_frequency_dict
    from wordfreq.numbers import digit_freq, smash_numbers

    simplified = word.translate(_simplified_characters())
    smashed: str = smash_numbers(simplified)
    frequency: float = get_frequency_dict("zh", "large").get(smashed, 0.0)
    return frequency if smashed == simplified else frequency * float(digit_freq(simplified))


@cache
def _simplified_characters() -> dict[int, str]:
    """The map from traditional to simplified characters that comes with wordfreq, for ``str.translate``."""
    import msgpack  # type: ignore[import-untyped]  # wordfreq brings it

    packed = (resources.files("wordfreq") / "data" / "_chinese_mapping.msgpack.gz").read_bytes()
    mapping: dict[int, str] = msgpack.loads(gzip.decompress(packed), raw=False, strict_map_key=False)
    return mapping
