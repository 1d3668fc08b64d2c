"""How rankers read texts."""

import json

import pytest

from tertulia.errors import ArtefactError, ConfigurationError
from tertulia.ranking.wording import LANGUAGES, SegmentedTokenizer, Wording, guess_language

from .rankers.made import example, made_splits


def test_words_are_those_of_the_language() -> None:
    assert Wording("en").words("Don't stop, 2 hops!") == ["don't", "stop", "2", "hops"]
    assert Wording("zh").words("今天天气很好。") == ["今天天气", "很", "好"]
    assert Wording("segmented").words(" 今天\t天气 很 好 。OK ") == ["今天", "天气", "很", "好", "。ok"]
    assert SegmentedTokenizer().words("a\ud83d b") == ["a?", "b"]
    for language in LANGUAGES:
        assert Wording(language).words(" \n") == []


def test_turns_are_weighed_from_the_last_back() -> None:
    context = example("1", ["first", "second", "third"], [])
    assert Wording().weighted_turns(context) == [("third", 1.0), ("second", 0.5), ("first", 0.25)]
    assert Wording(turns=2, decay=1).weighted_turns(context) == [("third", 1), ("second", 1)]
    assert Wording(turns=9, decay=0).weighted_turns(context) == [("third", 1)]
    assert Wording().weighted_turns(example("1", [], [])) == []


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (("fr",), "expected one of en, zh, segmented"),
        (("en", 0), "expected a whole number from 1"),
        (("en", 1.5), "expected a whole number from 1"),
        (("en", "2"), "expected a whole number from 1"),
        (("en", None, -0.1), "expected a number from 0 to 1"),
        (("en", None, float("nan")), "expected a number from 0 to 1"),
        (("en", None, "x"), "expected a number from 0 to 1"),
    ],
)
def test_values_that_do_not_hold_are_refused(values, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        Wording(*values)


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_kept_as_json(language: str) -> None:
    wording = Wording(language, 3, 0.25)
    assert Wording.from_json(json.loads(json.dumps(wording.to_json()))) == wording


@pytest.mark.parametrize(
    "change", [{"language": "xx"}, {"language": None}, {"turns": "2"}, {"decay": None}, {"tokenizer": "other-2"}]
)
def test_json_that_does_not_hold_is_refused(change) -> None:
    with pytest.raises(ArtefactError, match=r"has no wording that holds|has words by"):
        Wording.from_json(Wording().to_json() | change)
    with pytest.raises(ArtefactError):
        Wording.from_json({})


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        ([], "en"),
        (["", "!!", "42"], "en"),
        (["how are you", "fine"], "en"),
        (["Ich weiß es nicht"], "en"),
        (["我们明天一起去看电影吧", "好的"], "zh"),
        (["好的", "是啊", "你呢"], "zh"),
        (["我们 明天 一起 去 看 电影 吧", "好的"], "segmented"),
        (["我们明天一起去看电影吧，ok？ 这部电影很好看"], "zh"),
        (["我 喜欢 iPhone 和 MacBook 的 设计"], "segmented"),
        (["the word 水 means water and nothing else"], "en"),
    ],
)
def test_the_language_is_guessed_from_the_letters(texts: list[str], language: str) -> None:
    assert guess_language([example("1", [], texts)]) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_made_up_sets_are_what_they_say(language: str) -> None:
    assert guess_language(made_splits(language=language).train) == language
