"""The filters of a text: offensive, language, short; and text without the spaces of segmentation."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.cleaning.language import OtherLanguage, guess_language
from tertulia.corpus.cleaning.offensive_language import OffensiveLanguage
from tertulia.corpus.cleaning.short import TooShort, length_in_words
from tertulia.corpus.cleaning.unspaced import Unspaced, to_half_width
from tertulia.errors import ConfigurationError, InputError

ENGLISH = "The kettle has been whistling for an hour and nobody in this house seems to mind it."
CHINESE = "昨天我们在公园里散步的时候看见一只很大的白色的猫"
FRENCH = "La bouilloire siffle depuis une heure et personne dans cette maison ne semble s'en soucier."
GERMAN = "Der Kessel pfeift seit einer Stunde und niemand in diesem Haus scheint sich daran zu stören."


# -- offensive --------------------------------------------------------------------------------------------------------


def test_offensive_language_is_found_with_kinds_and_spans() -> None:
    text = "what the fuck, you are an idiot"
    hits = OffensiveLanguage("en").in_text(text)
    assert [(hit.kind, text[hit.start : hit.end]) for hit in hits] == [
        ("profanity", "fuck"),
        ("insult", "you are an idiot"),
    ]
    assert list(OffensiveLanguage("en").in_text("a nice cup of tea")) == []


def test_chinese_is_looked_at_where_it_is_asked_for() -> None:
    assert [hit.kind for hit in OffensiveLanguage("zh").in_text("你 这个 傻 逼")] == ["profanity"]
    assert list(OffensiveLanguage("en").in_text("你 这个 傻 逼")) == []


def test_words_of_ones_own_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("# ours\nblatherskite\n\npurple monkey\n", encoding="utf-8")
    own = OffensiveLanguage("en", words=str(file))
    assert [hit.kind for hit in own.in_text("you blatherskite, you purple monkey")] == ["profanity", "profanity"]
    with pytest.raises(InputError, match="nowhere"):
        OffensiveLanguage("en", words=str(tmp_path / "nowhere"))
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        OffensiveLanguage("en", words=str(file))


# -- language ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("en", ENGLISH, []),
        ("en", FRENCH, ["fr"]),
        ("en", GERMAN, ["de"]),
        ("en", CHINESE, ["zh"]),
        ("zh", CHINESE, []),
        ("zh", ENGLISH, ["en"]),
        ("en", "Merci beaucoup", []),
        ("en", "", []),
        ("en", "12345 67890 " * 20, []),
        ("en", "https://exemple.fr/une/longue/adresse/qui/ne/dit/rien " * 2, []),
        ("en", "😀" * 100, []),
    ],
)
def test_another_language_is_told_in_texts_that_are_long_enough(language: str, text: str, kinds: list[str]) -> None:
    assert [hit.kind for hit in OtherLanguage(language).in_text(text)] == kinds


def test_several_languages_may_be_expected() -> None:
    assert list(OtherLanguage("en", expect="en+fr").in_text(FRENCH)) == []
    assert [hit.kind for hit in OtherLanguage("en", expect="de").in_text(FRENCH)] == ["fr"]


def test_a_language_is_named_by_its_code() -> None:
    with pytest.raises(ConfigurationError, match="'english'; expected a code of ISO 639"):
        OtherLanguage("en", expect="english")


def test_chinese_without_kana_is_not_taken_for_japanese() -> None:
    assert list(OtherLanguage("zh").in_text("山无棱，天地合，乃敢与君绝，乃敢与君绝")) == []
    assert [
        hit.kind for hit in OtherLanguage("zh").in_text("これはとても長い日本語の文章ですからすぐに分かります")
    ] == ["ja"]


def test_a_higher_threshold_and_a_longer_minimum_find_less() -> None:
    assert list(OtherLanguage("en", letters=500).in_text(FRENCH)) == []
    assert list(OtherLanguage("en", threshold=1.0).in_text(FRENCH)) == []


def test_telling_languages_apart_needs_no_network() -> None:
    """In a process of its own, where every attempt to open a connection is an error."""
    program = (
        "import socket\n"
        "def refuse(*_): raise AssertionError('the network was touched')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from tertulia.corpus.cleaning.language import OtherLanguage\n"
        f"print([hit.kind for hit in OtherLanguage('en').in_text({FRENCH!r})])\n"
    )
    assert socket.has_ipv6 in (True, False)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == "['fr']", done.stderr


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        ([ENGLISH], "en"),
        ([CHINESE], "zh"),
        ([], "en"),
        (["123", "!!"], "en"),
        ([ENGLISH] * 20 + [CHINESE], "en"),
        ([ENGLISH] * 5 + [CHINESE], "zh"),
        (["これは日本語の文章です"], "en"),
    ],
)
def test_the_language_of_a_corpus_is_guessed(texts: list[str], language: str) -> None:
    assert guess_language(texts) == language


# -- short ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("...", 0),
        ("ok", 1),
        ("don't", 1),
        ("well-known fact", 2),
        ("你好", 2),
        ("你好 ok", 3),
        ("我爱NBA", 3),
        ("😀 😀", 0),
    ],
)
def test_words_are_counted(text: str, words: int) -> None:
    assert length_in_words(text) == words


def test_short_texts_and_dialogues_are_found_with_their_length() -> None:
    short = TooShort("en", words=3, utterances=2)
    assert [hit.value for hit in short.in_text("two words")] == [2.0]
    assert list(short.in_text("three words now")) == []
    assert [(hit.kind, hit.value) for hit in short.in_dialogue(0, "d", ["one"])] == [("few utterances", 1.0)]
    assert list(short.in_dialogue(0, "d", ["one", "two"])) == []
    assert list(TooShort("en", words=0, utterances=0).in_text("")) == []


# -- without spaces ---------------------------------------------------------------------------------------------------


def test_spaces_of_segmentation_are_taken_out() -> None:
    text = "我 爱 the film 很 好 ， 你 呢"
    unspaced = Unspaced(text)
    assert unspaced.text == "我爱the film很好，你呢"
    start = unspaced.text.index("很好")
    first, last = unspaced.span(start, start + 2)
    assert text[first:last] == "很 好"


@settings(max_examples=100, deadline=None)
@given(st.text("我爱 好，ab\u3000", max_size=20))
def test_places_lead_back(text: str) -> None:
    unspaced = Unspaced(text)
    assert unspaced.text.replace(" ", "").replace("\u3000", "") == text.replace(" ", "").replace("\u3000", "")
    for place, character in enumerate(unspaced.text):
        first, last = unspaced.span(place, place + 1)
        assert text[first:last] == character


@given(st.text(max_size=30))
def test_half_width_keeps_places(text: str) -> None:
    assert len(to_half_width(text)) == len(text)
    assert to_half_width("ＡＢ１＠") == "AB1@"
