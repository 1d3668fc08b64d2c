"""The rankers that need no training: chance, length, the cosine, BM25."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tertulia.corpus.exchange import Report
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.importing import import_corpus
from tertulia.ranking.examples import Example, Splits, load_splits
from tertulia.ranking.ranker import Ranker
from tertulia.ranking.rankers.bm25 import Bm25
from tertulia.ranking.rankers.chance import Chance
from tertulia.ranking.rankers.cosine import Cosine
from tertulia.ranking.rankers.length import Length
from tertulia.ranking.wording import Wording, guess_language

from .contract import check_contract, fitted, scores_of
from .made import example, made_run, made_splits

LEXICAL: list[type[Ranker]] = [Chance, Length, Cosine, Bm25]


@pytest.mark.parametrize("ranker_class", LEXICAL, ids=lambda each: each.name)
def test_it_keeps_the_contract(ranker_class: type[Ranker], tmp_path) -> None:
    check_contract(ranker_class, tmp_path, run=made_run(trials=4))


@pytest.mark.parametrize("language", ["zh", "segmented"])
@pytest.mark.parametrize("ranker_class", [Cosine, Bm25], ids=lambda each: each.name)
def test_chinese_is_ranked_better_than_by_chance(ranker_class: type[Ranker], language: str) -> None:
    splits = made_splits(language=language, test=60)
    run = made_run(language=language)
    quality = [
        run.quality(splits.test, scores_of(fitted(each, splits, run), splits.test)) for each in (ranker_class, Chance)
    ]
    assert quality[0] > quality[1] + 0.1


# ---------------------------------------------------------------------- plain definitions


def documents_of(train: list[Example], words) -> list[list[str]]:
    return [words(text) for text in {t.text for e in train for t in e.turns} | {t for e in train for t in e.texts}]


def plain_idf(word: str, documents: list[list[str]]) -> float:
    count = sum(word in document for document in documents)
    return math.log(1 + (len(documents) - count + 0.5) / (count + 0.5))


def plain_bm25(example: Example, text: str, train: list[Example], wording: Wording, k1: float, b: float) -> float:
    documents = documents_of(train, wording.words)
    lengths = [len(wording.words(text)) for text in {text for each in train for text in each.texts}]
    counts, length = Counter(wording.words(text)), len(wording.words(text))
    score = 0.0
    for turn, weight in wording.weighted_turns(example):
        for word in wording.words(turn):
            f = counts[word]
            if f:
                norm = k1 * (1 - b + b * length / (sum(lengths) / len(lengths)))
                score += weight * plain_idf(word, documents) * f * (k1 + 1) / (f + norm)
    return score


def plain_cosine(example: Example, text: str, train: list[Example], wording: Wording) -> float:
    documents = documents_of(train, wording.words)

    def vector(words: list[str]) -> dict[str, float]:
        raw = {word: (1 + math.log(count)) * plain_idf(word, documents) for word, count in Counter(words).items()}
        length = math.sqrt(sum(weight**2 for weight in raw.values()))
        return {word: weight / length for word, weight in raw.items()}

    found = vector(wording.words(text))
    return sum(
        weight * sum(value * found.get(word, 0.0) for word, value in vector(wording.words(turn)).items())
        for turn, weight in wording.weighted_turns(example)
    )


@pytest.mark.parametrize("turns", [None, 1])
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 1.0), (3.0, 0.0)])
def test_bm25_is_the_sum_of_its_definition(k1: float, b: float, turns: int | None) -> None:
    splits = made_splits(train=12, dev=2, test=6, turns=3)
    run = made_run(turns=turns)
    ranker = fitted(Bm25, splits, run, {"k1": k1, "b": b})
    for each, scores in zip(splits.test, scores_of(ranker, splits.test), strict=True):
        wanted = [plain_bm25(each, text, splits.train, run.wording, k1, b) for text in each.texts]
        np.testing.assert_allclose(scores, wanted, rtol=1e-12)


@pytest.mark.parametrize("turns", [None, 2])
def test_the_cosine_is_that_of_its_definition(turns: int | None) -> None:
    splits = made_splits(train=12, dev=2, test=6, turns=3)
    run = made_run(turns=turns)
    ranker = fitted(Cosine, splits, run)
    for each, scores in zip(splits.test, scores_of(ranker, splits.test), strict=True):
        wanted = [plain_cosine(each, text, splits.train, run.wording) for text in each.texts]
        np.testing.assert_allclose(scores, wanted, rtol=1e-12, atol=1e-15)


def test_a_long_text_scores_as_a_short_one_does() -> None:
    # Long texts are not kept from one example to the next.
    splits = made_splits()
    long = " ".join(f"word{number % 50}" for number in range(400))
    examples = [example("1", long, [long, "word7 word7 other"]), example("2", "word7", [long])]
    for ranker_class in (Cosine, Bm25):
        ranker = fitted(ranker_class, splits)
        scores = scores_of(ranker, examples)
        assert scores[0][0] > scores[0][1] > 0
        assert scores[1][0] > 0
    assert scores_of(fitted(Cosine, splits), examples)[0][0] == pytest.approx(1)


# ---------------------------------------------------------------------- tuning


def test_bm25_is_tuned_within_the_budget_and_never_worse_on_dev_than_as_given() -> None:
    splits = made_splits(dev=60)
    run = made_run(trials=8)
    ranker = fitted(Bm25, splits, run)
    assert isinstance(ranker, Bm25)
    report = ranker.report()["tuning"]
    assert report["tried"] == 8
    assert report["quality"] >= report["quality_of_first"]
    # The quality is that of the scores which the ranker then gives.
    assert run.quality(splits.dev, ranker.score(splits.dev)) == report["quality"]
    assert fitted(Bm25, splits, made_run(trials=1)).settings == {"k1": 1.2, "b": 0.75}


def test_what_is_given_is_not_tuned() -> None:
    ranker = fitted(Bm25, made_splits(), made_run(trials=50), {"b": "0.3"})
    assert ranker.settings["b"] == 0.3
    assert ranker.report()["tuning"]["tried"] == 6


def test_length_is_longest_first_unless_dev_says_otherwise() -> None:
    dev = [example(str(n), "p", ["a long answer here", "ok"], [1, 5]) for n in range(4)]
    test = [example("t", "p", ["a long answer here", "ok", ""], [1, 5, 1])]
    splits = Splits(dev, dev, test, "")
    assert scores_of(fitted(Length, splits, made_run(trials=1)), test)[0].tolist() == [4, 1, 0]
    ranker = fitted(Length, splits, made_run(trials=4), {"by": "words"})
    assert ranker.settings["order"] == "shortest"
    assert scores_of(ranker, test)[0].tolist() == [-4, -1, 0]
    counted = scores_of(fitted(Length, splits, settings={"by": "characters"}), test)[0]
    assert counted.tolist() == [15, 2, 0]


def test_chance_differs_by_seed_and_context_and_favours_no_place() -> None:
    examples = [example(str(number), "p", ["x"] * 4) for number in range(2_000)]
    splits = Splits([], [], examples, "")
    one = np.array(scores_of(fitted(Chance, splits, made_run(seed=1)), examples))
    other = np.array(scores_of(fitted(Chance, splits, made_run(seed=2)), examples))
    assert len(np.unique(one)) == one.size
    assert (one != other).all()
    np.testing.assert_allclose(one.mean(axis=0), 0.5, atol=0.03)
    assert abs(np.corrcoef(one[:-1].ravel(), one[1:].ravel())[0, 1]) < 0.05


# ---------------------------------------------------------------------- what does not hold


@pytest.mark.parametrize("ranker_class", [Cosine, Bm25], ids=lambda each: each.name)
def test_train_without_a_text_is_an_error(ranker_class: type[Ranker]) -> None:
    with pytest.raises(InputError, match="train has no text"):
        ranker_class().fit([example("1", [], [])], [], made_run())


@pytest.mark.parametrize("ranker_class", [Cosine, Bm25], ids=lambda each: each.name)
def test_texts_without_a_word_score_nothing(ranker_class: type[Ranker]) -> None:
    splits = Splits([example("1", "?", ["", "!"])], [], [example("2", "", ["", "word"])], "")
    assert scores_of(fitted(ranker_class, splits), splits.test)[0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"k1": -1}, "expected a finite number from 0 to 100"),
        ({"k1": "nan"}, "expected a finite number"),
        ({"k1": "much"}, "expected a number"),
        ({"b": 1.01}, "from 0 to 1"),
        ({"B": 0.5}, "it has: k1, b"),
        ({"b": [1]}, "expected a number"),
    ],
)
def test_settings_that_do_not_hold_are_refused(settings, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        Bm25(settings)


@pytest.mark.data
def test_on_released_votes_they_are_better_than_chance(data: Path, tmp_path: Path) -> None:
    source = data / "rated_responses" / "xiaomi_nlpcc2023"
    if not source.is_dir():
        pytest.skip(f"the rated responses are not at {source}")
    with import_corpus("xiaomi", str(source), tmp_path / "set", Report()) as found:
        splits = load_splits(found)
    assert guess_language(splits.train) == "zh"
    everything = [*splits.train, *splits.dev, *splits.test]
    run = made_run(0.75, language="zh")
    quality = {
        each.name: run.quality(everything, fitted(each, splits, run).score(everything))
        for each in (Chance, Length, Cosine, Bm25)
    }
    assert min(quality["cosine"], quality["bm25"]) > quality["random"] + 0.05, quality
