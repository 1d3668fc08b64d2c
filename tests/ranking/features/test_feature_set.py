"""The matrix of all features: what it holds, what it is kept in, and what it must not depend on."""

from dataclasses import replace

import numpy as np
import pytest

from tertulia.encoders.sentence import open_encoder
from tertulia.errors import ArtefactError, InputError
from tertulia.ranking.features import LEARNED_PARTS, RELATIVE, FeatureSet
from tertulia.ranking.features.table import PAIR_FEATURES

from ..rankers.made import BINARY_CUT, example, made_run, made_splits


@pytest.fixture(scope="module", params=["graded", "binary", "zh"])
def made(request: pytest.FixtureRequest):
    language = "zh" if request.param == "zh" else "en"
    splits = made_splits(train=25, test=8, turns=3, graded=request.param != "binary", language=language)
    run = made_run(BINARY_CUT if request.param == "binary" else 4.0, language=language)
    return splits, run, FeatureSet.fit(splits.train, run)


def test_the_matrix_is_finite_and_named(made) -> None:
    splits, run, features = made
    matrix = features.matrix(splits.test)
    learned = [name for part in LEARNED_PARTS.values() for name in part.features]
    assert features.plain == [*PAIR_FEATURES, *learned]
    assert features.names == [*features.plain, *(name + RELATIVE for name in features.plain)]
    assert len(set(features.names)) == len(features.names)
    assert matrix.shape == (sum(map(len, splits.test)), len(features.names))
    assert matrix.dtype == np.float32
    assert np.isfinite(matrix).all()
    own = features.train_matrix(splits.train, run)
    assert own.shape == (sum(map(len, splits.train)), len(features.names))
    assert np.isfinite(own).all()
    for name, columns in features.groups.items():
        assert [features.names[column] for column in columns] == [name, name + RELATIVE]
    assert [one["name"] for one in features.describe()] == features.plain


def test_an_example_is_read_by_itself_and_without_its_relevance(made) -> None:
    splits, _run, features = made
    whole = list(features.matrices(splits.test))
    for one, values in zip(splits.test, whole, strict=True):
        hidden = replace(one, relevance=np.full(len(one), np.nan), deviation=np.zeros(len(one)))
        (alone,) = features.matrices([hidden])
        np.testing.assert_array_equal(alone, values)
    np.testing.assert_array_equal(features.matrix(splits.test), np.vstack(whole))
    assert features.matrix([]).shape == (0, len(features.names))
    scored = list(features.scores(splits.test, lambda matrix: matrix[:, 0].astype(np.float64)))
    for values, scores in zip(whole, scored, strict=True):
        np.testing.assert_array_equal(values[:, 0], scores)


def test_what_is_saved_gives_the_same_values(made, tmp_path) -> None:
    splits, _run, features = made
    features.save(tmp_path)
    again = FeatureSet.load(tmp_path)
    np.testing.assert_array_equal(again.matrix(splits.test), features.matrix(splits.test))
    assert again.names == features.names
    (tmp_path / "lexicon.json").write_text('{"documents": 3}')
    with pytest.raises(ArtefactError, match=r"lexicon\.json: has no lexicon that holds"):
        FeatureSet.load(tmp_path)


def test_a_train_example_is_read_as_if_it_had_not_been_there() -> None:
    """Its label must not change its own row, whatever it changes in the rows of others."""
    splits = made_splits(train=25, odd=False)
    run = made_run()
    columns = np.cumsum([0, *map(len, splits.train)])
    first = FeatureSet.fit(splits.train, run).train_matrix(splits.train, run)
    for place in (0, 7, 13):
        changed = list(splits.train)
        turned = changed[place].relevance[::-1].copy()
        changed[place] = replace(changed[place], relevance=turned)
        second = FeatureSet.fit(changed, run).train_matrix(changed, run)
        rows = slice(columns[place], columns[place + 1])
        features = FeatureSet.fit(changed, run)
        # Where texts are told to be versatile, the own answer is taken out by what its label says.
        kept = [at for at, name in enumerate(features.names) if name.removesuffix(RELATIVE) not in COUNTED]
        np.testing.assert_array_equal(first[rows][:, kept], second[rows][:, kept])


COUNTED = {"prompts_answered", "prompt_spread", "opening"}


def test_train_rows_are_as_those_of_new_examples() -> None:
    """The means of columns over train, read without itself, are near those over test, which is made the same way."""
    splits = made_splits(train=150, test=150, odd=False)
    run = made_run()
    features = FeatureSet.fit(splits.train, run)
    own, new = features.train_matrix(splits.train, run), features.matrix(splits.test)
    spread = new.std(axis=0) + 1e-6
    gaps = np.abs(own.mean(axis=0) - new.mean(axis=0)) / spread
    assert gaps.max() < 0.35, sorted(zip(gaps.round(2).tolist(), features.names, strict=True))[-5:]


def test_one_prompt_and_nothing() -> None:
    run = made_run()
    alone = [example("1", "hello there", ["hi", "no"], [5, 1])]
    assert np.isfinite(FeatureSet.fit(alone, run).train_matrix(alone, run)).all()
    with pytest.raises(InputError, match="no train context has a candidate"):
        FeatureSet.fit([example("1", "hello", [])], run)


def test_very_long_texts_are_read() -> None:
    run = made_run()
    long = [example(str(n), "word " * 3_000, [f"ask{n} " * 3_000, "?" * 9_000, "\x00"], [5, 1, 2]) for n in range(3)]
    assert np.isfinite(FeatureSet.fit(long, run).train_matrix(long, run)).all()


def test_cosines_of_embeddings_where_a_run_names_a_model(tmp_path) -> None:
    run = made_run(sentence_model="minilm")
    turns = ["do you like dogs", "not much", "which pets do you have"]
    train = [example("1", turns, ["a cat and two kittens", "the train leaves at nine"], [5, 1])]
    features = FeatureSet.fit(train, run)
    matrix = features.train_matrix(train, run)
    vectors = open_encoder("minilm").encode([*turns, *train[0].texts]).astype(np.float64)
    mean = 0.25 * vectors[0] + 0.5 * vectors[1] + vectors[2]
    sides = np.stack([vectors[2], mean / np.linalg.norm(mean), vectors[1]])
    first = features.plain.index("embedding_cosine")
    assert matrix[:, first : first + 3] == pytest.approx(vectors[3:] @ sides.T, abs=1e-6)
    assert matrix[0, first] > matrix[1, first]
    features.save(tmp_path)
    np.testing.assert_array_equal(FeatureSet.load(tmp_path).matrix(train), features.matrix(train))
    assert "embedding_cosine" not in FeatureSet.fit(train, run, embeddings=False).plain
