from pathlib import Path

import numpy as np
import pytest

from tertulia.encoders.sentence import open_encoder
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.rankers.biencoder import BiEncoder
from tertulia.ranking.rankers.query_head import Listing, QueryHead, Training, _gradients
from tests.encoders.sentence_made import write_onnx
from tests.ranking.rankers.contract import check_contract, fitted
from tests.ranking.rankers.made import example, made_run, made_splits


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag of random word vectors that knows the words of the made-up sets."""
    splits = made_splits(turns=3, train=300)
    texts = [text for e in [*splits.train, *splits.dev] for text in [*e.texts, *(turn.text for turn in e.turns)]]
    words = sorted({word for text in texts for word in text.split() if word.isalpha()})
    directory = tmp_path_factory.mktemp("models") / "bag"
    return write_onnx(directory, words, dimension=48)


def test_the_contract(model: Path, tmp_path: Path) -> None:
    settings = {"model": str(model), "epochs": 3}
    splits = made_splits(train=40, dev=10, test=10)
    check_contract(BiEncoder, tmp_path, settings, splits=splits, needless=())


def test_it_learns_what_the_cosine_does_not_see(model: Path) -> None:
    splits = made_splits(turns=2, train=300, dev=60, test=60, graded=False, odd=False)
    run = made_run(1.0, sentence_model=str(model))
    plain = fitted(BiEncoder, splits, run, {"epochs": 0})
    ranker = fitted(BiEncoder, splits, run, {"epochs": 30, "learning_rate": 3e-3})
    quality = [run.quality(splits.test, each.score(splits.test)) for each in (plain, ranker)]
    assert quality[1] > quality[0] + 0.1
    assert plain.report()["kept"] == "cosine"
    report = ranker.report()
    assert report["kept"] == "head"
    assert report["dev"][report["best_epoch"]] == max(report["dev"]) == report["quality"]
    assert ranker.settings["model"] == str(model)


def test_at_the_beginning_it_is_the_cosine_of_the_weighted_turns(model: Path) -> None:
    splits = made_splits(turns=3, train=10, odd=False)
    run = made_run(sentence_model=str(model))
    ranker = fitted(BiEncoder, splits, run, {"epochs": 0})
    encoder = open_encoder(model)
    for each, scores in zip(splits.test, ranker.score(splits.test), strict=True):
        turns = encoder.encode([turn.text for turn in reversed(each.turns)])
        query = (0.5 ** np.arange(len(turns))) @ turns
        np.testing.assert_allclose(scores, 20 * encoder.encode(each.texts) @ query, rtol=1e-5, atol=1e-5)
    single = fitted(BiEncoder, splits, run, {"epochs": 0, "turns": 1})
    each = next(e for e in splits.test if len(e.turns) == 3)
    product = encoder.encode(each.texts) @ encoder.encode([each.prompt])[0]
    np.testing.assert_allclose(next(single.score([each])), 20 * product, rtol=1e-5, atol=1e-5)


def test_a_gain_that_chance_explains_is_not_taken(model: Path) -> None:
    splits = made_splits(turns=1, train=12, dev=1, odd=False)
    run = made_run(sentence_model=str(model))
    assert fitted(BiEncoder, splits, run, {"epochs": 5}).report()["kept"] in {"cosine", "head"}
    unlike = [example(f"dev-{n}", "a", ["b", "c"], [5.0, 1.0] if n % 2 else [1.0, 5.0]) for n in range(10)]
    ranker = BiEncoder({"epochs": 8})
    ranker.fit(splits.train, unlike, run)
    assert ranker.report()["kept"] == "cosine"


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    random = np.random.default_rng(3)
    dimension, count = 5, 9
    table = random.normal(size=(count, dimension)).astype(np.float32)
    listings = []
    for size in (3, 2, 4):
        shares = random.random(size)
        shares[0] = 0
        vectors = random.normal(size=(2, dimension)).astype(np.float32) / 10
        listings.append(Listing(*vectors, random.choice(count, size, replace=False), shares / shares.sum()))
    for others in (0.0, 0.7):
        training = Training(1, 1, 1.0, 0.0, 0.0, 3, others, 0)
        head = QueryHead(*(random.normal(size=size).astype(np.float32) for size in ((5, 5), (5, 5), 5)))
        found = _gradients(head, listings, table, training, random)
        for name, array in head.arrays.items():
            for place in [(0,) * array.ndim, (3,) * array.ndim]:
                slopes = []
                for change in (1e-3, -1e-3):
                    moved = head.copy()
                    moved.arrays[name][place] += np.float32(change)
                    slopes.append(plain_loss(moved, listings, table, others))
                np.testing.assert_allclose(found[name][place], (slopes[0] - slopes[1]) / 2e-3, rtol=2e-2, atol=2e-3)


def plain_loss(head: QueryHead, listings: list[Listing], table: np.ndarray, others: float) -> float:
    """The definition, one context at a time."""
    total = 0.0
    for each in listings:
        query = (
            20 * (each.last + each.earlier).astype(float)
            + head.last @ each.last
            + head.earlier @ each.earlier
            + head.bias
        )
        own = [float(query @ table[number]) for number in each.responses]
        good = {number for number, share in zip(each.responses, each.shares, strict=True) if share > 0}
        foreign = [
            float(query @ table[number])
            for other in listings
            if other is not each
            for number in other.responses
            if number not in good
        ]
        for weight, competing in ((1.0, []), (others, foreign)):
            normal = np.log(np.exp([*own, *competing]).sum())
            total += weight * sum(share * (normal - score) for share, score in zip(each.shares, own, strict=True))
    return total / len(listings)


def test_what_is_missing_is_said(model: Path, tmp_path: Path) -> None:
    splits = made_splits(train=5)
    with pytest.raises(ConfigurationError, match=r"setting 'model'.*minilm"):
        fitted(BiEncoder, splits)
    with pytest.raises(ConfigurationError, match="no sentence model 'nonesuch'"):
        fitted(BiEncoder, splits, None, {"model": "nonesuch"})
    with pytest.raises(ArtefactError, match=r"no tokenizer\.json"):
        fitted(BiEncoder, splits, made_run(sentence_model=str(tmp_path)))
    same = [example("a", "b", ["c", "d"], [1.0, 1.0])]
    with pytest.raises(InputError, match="nothing to learn"):
        BiEncoder({"model": str(model)}).fit(same, splits.dev, made_run())
    with pytest.raises(ConfigurationError, match="not been fitted"):
        next(BiEncoder().score(splits.dev))


def test_vectors_are_kept_in_the_cache_of_the_run(model: Path, tmp_path: Path) -> None:
    splits = made_splits(train=20)
    run = made_run(sentence_model=str(model), cache=tmp_path / "cache")
    first = fitted(BiEncoder, splits, run)
    (file,) = (tmp_path / "cache").iterdir()
    size = file.stat().st_size
    second = fitted(BiEncoder, splits, run)
    assert file.stat().st_size == size
    for one, other in zip(first.score(splits.test), second.score(splits.test), strict=True):
        np.testing.assert_array_equal(one, other)
    assert file.stat().st_size > size


def test_tuning_stays_within_its_trials(model: Path) -> None:
    splits = made_splits(train=20, dev=10)
    report = fitted(BiEncoder, splits, made_run(sentence_model=str(model), trials=3), {"epochs": 2}).report()
    assert len(report["tried"]) == 3
    assert report["quality"] == max(each["quality"] for each in report["tried"])
    assert len({(each["learning_rate"], each["dropout"], each["others"]) for each in report["tried"]}) == 3
