"""The matching score as a ranker, beside the plain definition of the score."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

from tertulia.artefact import Manifest
from tertulia.errors import ArtefactError, InputError
from tertulia.ranking.examples import Example, Splits
from tertulia.ranking.model import RANKER, load_ranker, save_ranker
from tertulia.ranking.rankers.chance import Chance
from tertulia.ranking.rankers.matching import Matching
from tertulia.ranking.terms import TermStatistics, cosine, distinct_texts, tfidf
from tertulia.ranking.wording import Wording

from ...retrieval.banks import dialogue
from ...retrieval.definition import Placed, english_words, idf, rank
from .contract import check_contract, fitted, scores_of
from .made import example, made_run, made_splits


def test_it_keeps_the_contract(tmp_path) -> None:
    check_contract(Matching, tmp_path, run=made_run(trials=4))


def plain_scores(each: Example, train: list[Example], wording: Wording, cut: float, own: float, power: float):
    """The definition: every banked response scored by tests/retrieval/definition.py, compared with every candidate."""
    bank, texts, number = [], {}, 0
    for at, row in enumerate(train):
        for place, text in enumerate(row.texts):
            if row.turns and row.relevance[place] >= cut:
                said = [*(turn.text for turn in row.turns[-2:]), text]
                bank.append(Placed(number, dialogue(f"{at}#{place}", said)))
                number += len(said)
                texts[number - 1] = text
    statistics = TermStatistics.collect(english_words(text) for text in distinct_texts(train))
    turns = wording.weighted_turns(each)
    last, before = ([text for text, _ in turns] + ["", ""])[:2]
    matches = rank(bank, last, before, k=number, scale=1.0)

    def fourth(text: str) -> dict[str, float]:
        weights = {word: idf(word, 1.0) ** 4 for word in set(english_words(text))}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    found = []
    for text in each.texts:
        vector = tfidf(english_words(text), statistics)
        best = 0.0
        for match, score, _ in matches:
            if match in texts:
                like = cosine(vector, tfidf(english_words(texts[match]), statistics))
                best = max(best, math.sqrt(score) * like**power)
        mine = fourth(text)
        shared = sum(
            weight * sum(value * mine.get(word, 0.0) for word, value in fourth(turn).items()) for turn, weight in turns
        )
        found.append(best + own * shared)
    return found


@pytest.mark.parametrize(("turns", "decay"), [(None, 0.5), (1, 0.5), (None, 0.0)])
@pytest.mark.parametrize(("own", "power"), [(1.0, 2.0), (0.0, 1.0)])
def test_scores_are_those_of_the_definition(own: float, power: float, turns: int | None, decay: float) -> None:
    splits = made_splits(train=25, dev=3, test=8, turns=3)
    many = example("many", splits.test[0].prompt, [text for each in splits.test for text in each.texts])
    splits.test.append(many)
    run = made_run(turns=turns)
    object.__setattr__(run, "wording", Wording("en", turns, decay))
    # Deep enough that every banked response which shares a word is found.
    ranker = fitted(Matching, splits, run, {"own": own, "power": power, "depth": 10_000, "cut": 4})
    for each, scores in zip(splits.test, scores_of(ranker, splits.test), strict=True):
        wanted = plain_scores(each, splits.train, run.wording, 4, own, power)
        np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-12, err_msg=each.id)


def test_a_candidate_that_was_a_good_answer_to_such_a_prompt_comes_first() -> None:
    train = [
        example("1", "which hops for an ale", ["fuggle has an earthy smell", "no idea"], [5, 1]),
        example("2", "how warm should yeast be", ["twenty degrees will do", "ask somebody"], [5, 1]),
    ]
    test = [example("3", "hops for a stout", ["twenty degrees", "an earthy fuggle", "no idea"], [1, 5, 1])]
    scores = scores_of(fitted(Matching, Splits(train, [], test, ""), settings={"own": 0}), test)[0]
    assert scores.argmax() == 1
    # What was a bad answer is not banked.
    assert scores.tolist()[::2] == [0, 0]


def test_the_turn_before_the_last_counts_where_turns_before_it_do() -> None:
    train = [
        example("1", ["we talked about beer", "tell me more"], ["hops make it bitter"], [5]),
        example("2", ["we talked about bread", "tell me more"], ["flour makes it white"], [5]),
    ]
    test = [example("3", ["what about bread", "tell me more"], ["hops are bitter", "white flour"], [1, 5])]
    splits, settings = Splits(train, [], test, ""), {"own": 0}
    both = scores_of(fitted(Matching, splits, made_run(), settings), test)[0]
    last = scores_of(fitted(Matching, splits, made_run(turns=1), settings), test)[0]
    assert both[1] / both[0] > last[1] / last[0]


@pytest.mark.parametrize("language", ["en", "zh", "segmented"])
def test_it_is_better_than_chance(language: str) -> None:
    splits = made_splits(language=language, test=60)
    run = made_run(language=language)
    quality = [
        run.quality(splits.test, scores_of(fitted(each, splits, run), splits.test)) for each in (Matching, Chance)
    ]
    assert quality[0] > quality[1] + 0.15


def test_the_bank_is_what_is_positive_at_the_cut() -> None:
    splits = made_splits(odd=False)
    counts = {}
    for cut in ("none", 4, 5.0):
        ranker = fitted(Matching, splits, settings={"cut": cut})
        used = ranker.settings["cut"]
        counts[used] = ranker.report()["banked_responses"]
        assert counts[used] == sum(int((each.relevance >= used).sum()) for each in splits.train)
    assert list(counts) == [3.0, 4.0, 5.0]
    assert counts[3.0] > counts[4.0] > counts[5.0] > 0


def test_train_without_a_positive_is_an_error() -> None:
    splits = made_splits()
    with pytest.raises(InputError, match="no response of relevance 9 or more"):
        fitted(Matching, splits, settings={"cut": 9})


def test_a_bank_that_is_not_its_own_is_refused(tmp_path) -> None:
    for name, size in (("one", 10), ("other", 20)):
        save_ranker(fitted(Matching, made_splits(train=size)), tmp_path / name, Manifest(RANKER))
    shutil.rmtree(tmp_path / "one" / "bank")
    shutil.copytree(tmp_path / "other" / "bank", tmp_path / "one" / "bank")
    with pytest.raises(ArtefactError, match="does not hold the vectors of the bank's responses"):
        load_ranker(tmp_path / "one")


def test_what_it_keeps_on_disk_while_it_lives_goes_with_it() -> None:
    ranker = fitted(Matching, made_splits())
    assert isinstance(ranker, Matching)
    assert ranker._index is not None
    folder = ranker._index.path.parent
    assert folder.is_dir()
    del ranker
    assert not folder.exists()
