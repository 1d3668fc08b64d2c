"""The neural rankers: what every ranker keeps to, what they learn, and what they see of a pair."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tertulia.artefact import Manifest
from tertulia.encoders.vocabulary import TURN, Vocabulary
from tertulia.errors import ConfigurationError, InputError, MissingExtraError
from tertulia.ranking.examples import Splits
from tertulia.ranking.model import RANKER, load_ranker, save_ranker
from tertulia.ranking.quality import map_at
from tertulia.ranking.rankers.bilstm import BiLstm
from tertulia.ranking.rankers.cnn import Cnn
from tertulia.ranking.rankers.pair_model import PairModel, loss_of
from tertulia.ranking.rankers.pair_ranker import PairRanker
from tertulia.ranking.rankers.pair_table import PairTable, Scale
from tertulia.ranking.rankers.pair_texts import FEATURES, PairReader, word_weights
from tertulia.ranking.wording import Wording

from .contract import check_contract, fitted, scores_of
from .made import BINARY_CUT, GRADED_CUT, example, made_run, made_splits

SMALL: dict[str, Any] = {"embedding": 8, "hidden": 8, "joined": 8, "batch": 32, "epochs": 2}
LEARNING: dict[str, Any] = {"embedding": 20, "hidden": 20, "joined": 20, "batch": 32, "epochs": 8, "dropout": 0.1}
RANKERS: list[type[PairRanker]] = [BiLstm, Cnn]


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_neural_ranker_keeps_the_contract(ranker: type[PairRanker], tmp_path: Path) -> None:
    splits = Splits(*([e for e in part if len(e)] for part in made_splits(train=20, dev=6, test=6)[:3]), "made up")
    check_contract(ranker, tmp_path, SMALL, splits=splits, close=1e-5)


@pytest.mark.parametrize(
    ("ranker", "loss", "graded"),
    [(BiLstm, "mse", True), (Cnn, "mse", True), (Cnn, "mse", False), (Cnn, "listwise", True), (Cnn, "listwise", False)],
)
def test_it_learns_which_answers_go_with_which_prompts(ranker: type[PairRanker], loss: str, graded: bool) -> None:
    splits = made_splits(train=100, graded=graded)
    cut = GRADED_CUT if graded else BINARY_CUT
    fit = fitted(ranker, splits, made_run(cut), {**LEARNING, "loss": loss, "learning_rate": 0.005})
    assert map_at(cut)(splits.test, scores_of(fit, splits.test)) > 0.8
    chance = [np.random.default_rng(0).random(len(each)) for each in splits.test]
    assert map_at(cut)(splits.test, chance) < 0.7


def test_scores_of_a_table_are_those_of_its_examples() -> None:
    splits = made_splits(train=20, dev=6)
    fit = fitted(Cnn, splits, settings=SMALL)
    model = fit._model
    assert isinstance(model, PairModel)
    scale = Scale(1.0, 5.0)
    table = PairTable(splits.test, model.reader, scale)
    for one, other in zip(model.table_scores(table), fit.score(splits.test), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_response_that_comes_again_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = made_splits(train=20, dev=6)
    fit = fitted(Cnn, splits, settings=SMALL)
    assert fit._model is not None
    read: list[str] = []
    plain = fit._model.reader.response
    monkeypatch.setattr(fit._model.reader, "response", lambda text: read.append(text) or plain(text))
    texts = [f"the answer {number}" for number in range(30)]
    many = [example(str(number), "which one ?", texts) for number in range(300)]
    scores = scores_of(fit, many)
    assert sorted(read) == sorted(texts)
    for values in scores:
        np.testing.assert_allclose(values, scores[0], atol=1e-6)


def test_contexts_without_candidates_and_texts_without_words_are_scored() -> None:
    fit = fitted(BiLstm, made_splits(train=8, dev=3), settings=SMALL)
    nothing, empty = example("a", "tea ?", []), example("b", "", ["", "?!"])
    assert [values.tolist() for values in fit.score([nothing, nothing])] == [[], []]
    first, none, second = scores_of(fit, [empty, nothing, empty])
    assert len(none) == 0
    assert first.tolist() == second.tolist()
    assert first[0] == first[1]


def test_the_report_says_what_was_learned_and_nothing_of_the_time_it_took() -> None:
    splits = made_splits(train=20, dev=6)
    told: list[tuple[str, int, int | None]] = []
    run = made_run(trials=2, progress=lambda *what: told.append(what))
    fit = fitted(Cnn, splits, run, SMALL)
    report = fit.report()
    assert report["tuning"]["tried"] == 2
    assert report["tuning"]["quality"] == max(epoch["quality"] for epoch in report["epochs"])
    assert report["best_epoch"] == 1 + int(np.argmax([epoch["quality"] for epoch in report["epochs"]]))
    assert report["words"] > 10
    assert {stage for stage, _, _ in told} == {"cnn, epoch 1", "cnn, epoch 2"}
    one_epoch = [done for stage, done, _ in told if stage == "cnn, epoch 1"]
    assert sum(one_epoch) == 2 * told[0][2] if told[0][2] else False


def test_a_candidate_of_which_nobody_has_said_anything_teaches_nothing() -> None:
    reader = _reader()
    said = example("a", "tea ?", ["tea", "rum"], [1.0, 5.0])
    more = example("a", "tea ?", ["tea", "milk", "rum"], [1.0, math.nan, 5.0])
    nobody = example("b", "tea ?", ["tea"], [math.nan])
    table = PairTable([more, nobody], reader, Scale(1.0, 5.0))
    assert table.useful.tolist() == [0]
    assert table.weights.tolist() == [1.0, 0.0, 1.0, 0.0]
    model = _model(reader)
    losses = []
    for examples in ([said], [more, nobody]):
        model = _model(reader)
        table = PairTable(examples, reader, Scale(1.0, 5.0))
        optimizer = _Still()
        losses.append(list(model.losses(table, {"loss": "mse", "batch": 9}, optimizer, np.random.default_rng(0))))
    assert losses[0][0][0] == pytest.approx(losses[1][0][0], rel=1e-6)


class _Still:
    """In the place of an optimiser: it takes no step."""

    def step(self, loss: torch.Tensor) -> None:
        assert math.isfinite(loss.item())


def _model(reader: PairReader) -> PairModel:
    torch.manual_seed(0)
    net = Cnn(SMALL)._net(Cnn(SMALL).settings, len(reader.vocabulary))
    net.module.eval()
    return PairModel(net, reader)


def _reader(wording: Wording | None = None, **sizes: int) -> PairReader:
    texts = [["tea", "milk", "please"], ["rum"], ["tea"], ["please", "sit"]]
    vocabulary = Vocabulary.of(texts)
    return PairReader(
        wording or Wording(),
        vocabulary,
        word_weights(texts, vocabulary),
        **{"prompt_words": 9, "response_words": 2, **sizes},
    )


def test_a_prompt_is_its_last_words_with_a_border_between_turns() -> None:
    conversation = example("a", ["Rum", "tea please", "milk?"], [])
    numbers = _reader().vocabulary.numbers
    whole = [*numbers(["rum"]), TURN, *numbers(["tea", "please"]), TURN, *numbers(["milk"])]
    assert _reader().prompt(conversation).numbers == whole
    assert _reader(prompt_words=3).prompt(conversation).numbers == whole[-3:]
    last_two = _reader(Wording(turns=2, decay=0.25)).prompt(conversation)
    assert last_two.numbers == whole[2:]
    assert last_two.weights == {"milk": 1.0, "tea": 0.25, "please": 0.25}
    assert list(last_two.last) == ["milk"]
    assert _reader().prompt(example("b", [], [])).numbers == []


def test_the_numbers_of_a_pair_are_those_counted_by_hand() -> None:
    reader = _reader(Wording(decay=0.5))
    idf = {"tea": math.log(5 / 2.5), "please": math.log(5 / 2.5), "milk": math.log(5 / 1.5), "gin": math.log(5 / 0.5)}
    prompt = reader.prompt(example("a", ["tea please", "milk?"], []))
    response = reader.response("Tea milk gin gin")
    assert response.numbers == reader.vocabulary.numbers(["tea", "milk"])
    total = idf["tea"] + idf["milk"] + idf["gin"]
    wanted = [
        (0.5 + 1) / 3,
        (0.5 * idf["tea"] + idf["milk"]) / total,
        1.0,
        math.log1p(0.5 * idf["tea"] + idf["milk"]),
        math.log1p(idf["tea"] + idf["milk"]),
        math.log1p(idf["milk"]),
        idf["milk"],
        total / 3,
        math.log(5),
    ]
    np.testing.assert_allclose(reader.features(prompt, response), wanted, rtol=1e-6)
    assert reader.features(reader.prompt(example("b", [], [])), reader.response("?!")) == [0.0] * len(FEATURES)


def test_surer_votes_weigh_more() -> None:
    votes = example("a", "tea ?", ["tea", "rum", "milk"], [0.2, 0.9, 0.5], [0.1, 0.2, 0.0])
    plain, weighed = (PairTable([votes], _reader(), Scale(0.0, 1.0), weigh=weigh).weights for weigh in (False, True))
    assert plain.tolist() == [1.0, 1.0, 1.0]
    # One over the deviation, on average 1; what is given as it is counts as the surest.
    np.testing.assert_allclose(weighed, np.array([10, 5, 10]) / (25 / 3))


def test_losses_are_their_definitions() -> None:
    random = np.random.default_rng(1)
    context = np.array([0, 0, 0, 1, 1, 2])
    scores, targets, weights = (random.random(6) for _ in range(3))
    targets[5] = 0.0
    found = {
        name: float(loss_of(name)(*(torch.from_numpy(each) for each in (scores * 50, targets, weights, context))))
        for name in ("mse", "listwise")
    }
    squares = math.fsum(weights * (scores * 50 - targets) ** 2) / math.fsum(weights)
    entropies = []
    for number in (0, 1):
        inside = context == number
        share = (weights * targets)[inside] / (weights * targets)[inside].sum()
        each = np.exp(scores[inside] * 50)
        entropies.append(-math.fsum(share * np.log(each / each.sum())))
    assert found["mse"] == pytest.approx(squares)
    # The third context, where nothing is relevant, says nothing.
    assert found["listwise"] == pytest.approx(np.mean(entropies))


def test_what_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = made_splits(train=8, dev=3)
    with pytest.raises(InputError, match="neither fitted nor loaded"):
        Cnn().score([])
    with pytest.raises(InputError, match="neither fitted nor loaded"):
        Cnn().save(tmp_path)
    with pytest.raises(InputError, match="train has no candidate of a known one"):
        Cnn(SMALL).fit([], splits.dev, made_run())
    with pytest.raises(ConfigurationError, match="the device is 'tpu'"):
        Cnn(SMALL).fit(splits.train, splits.dev, made_run(device="tpu"))
    with pytest.raises(ConfigurationError, match="expected one of max, mean, last"):
        BiLstm({"pooling": "median"})
    save_ranker(fitted(Cnn, splits, settings=SMALL), tmp_path / "model", Manifest(RANKER))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"the ranker 'cnn' needs the package 'torch'.*tertulia\[neural\]"):
        Cnn(SMALL).fit(splits.train, splits.dev, made_run())
    with pytest.raises(MissingExtraError, match="needs the package 'torch'"):
        load_ranker(tmp_path / "model")


def test_where_dev_cannot_say_the_loss_on_it_does() -> None:
    splits = made_splits(train=30, dev=10, odd=False)
    # One candidate each: however a context is ordered, the order is right.
    single = [replace(e, texts=e.texts[:1], relevance=e.relevance[:1], deviation=e.deviation[:1]) for e in splits.dev]
    fit = Cnn({**LEARNING, "epochs": 6, "patience": 6, "learning_rate": 0.005})
    fit.fit(splits.train, single, made_run())
    report = fit.report()
    assert {epoch["quality"] for epoch in report["epochs"]} == {0.0}
    assert report["best_epoch"] > 1


@pytest.mark.parametrize("language", ["zh", "segmented"])
def test_chinese(language: str) -> None:
    splits = made_splits(train=60, language=language)
    fit = fitted(Cnn, splits, made_run(language=language), {**LEARNING, "learning_rate": 0.005})
    assert map_at(GRADED_CUT)(splits.test, scores_of(fit, splits.test)) > 0.75
