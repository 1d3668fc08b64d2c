"""Each way to combine learns what it should, the same on every run, and the better one is chosen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tertulia.errors import ArtefactError
from tertulia.ranking.combining.choice import (
    WAYS,
    Effort,
    Material,
    Mixture,
    Trial,
    choose,
    chosen_of,
    fit_way,
    selected,
    tried,
)
from tertulia.ranking.combining.importance import input_importance
from tertulia.ranking.combining.inputs import Inputs, Labels, labels_of, offsets_of, standardised_within
from tertulia.ranking.combining.keeping import load_combiner, save_combiner
from tertulia.ranking.combining.linear import _pair_slope, _pair_weights
from tertulia.ranking.examples import Example
from tertulia.ranking.features.feature_set import RELATIVE
from tertulia.ranking.model import read_arrays, write_arrays
from tertulia.ranking.quality import map_at
from tests.ranking.rankers.made import example, made_run

EFFORT = Effort(seed=0, workers=1, bags=1)


def made(contexts: int = 60, candidates: int = 5, seed: int = 0) -> tuple[Inputs, list[Example]]:
    """Two members that know a half each, one that knows nothing, a feature that knows a little, and one that is noise."""
    random = np.random.default_rng(seed)
    rows = contexts * candidates
    one, other = random.normal(size=rows), random.normal(size=rows)
    relevance = np.digitize(one + other + 0.3 * random.normal(size=rows), [-1, 0, 1, 2]) + 1.0
    scores = np.stack([one, other, random.normal(size=rows)], axis=1)
    feature = relevance + 2 * random.normal(size=rows)
    offsets = offsets_of(np.full(contexts, candidates))
    features = np.stack([feature, random.normal(size=rows)], axis=1)
    features = np.concatenate([features, standardised_within(features, offsets)], axis=1)
    names = ("known", "noise", "known" + RELATIVE, "noise" + RELATIVE)
    examples = [
        example(str(number), f"prompt {number}", ["text"] * candidates, part.tolist())
        for number, part in enumerate(np.split(relevance, contexts))
    ]
    return Inputs(("empty", "one", "other"), names, scores[:, [2, 0, 1]], features, offsets), examples


def material(contexts: int = 60) -> Material:
    inputs, examples = made(contexts)
    return Material(inputs, labels_of(examples)[0], examples, np.arange(contexts) % 3, map_at(4.0))


@pytest.mark.parametrize("way", list(WAYS))
def test_every_way_does_better_than_the_best_member_on_contexts_left_out(way: str) -> None:
    known = material()
    members = list(tried(known, ["member:one", "member:other"], EFFORT))
    found = next(tried(known, [way], EFFORT))
    assert found.quality > max(trial.quality for trial in members)
    assert found.scores.shape == (300,)
    assert found.parameter in fit_way(way, known.inputs, known.labels, EFFORT)


@pytest.mark.parametrize("way", list(WAYS))
def test_a_way_gives_the_same_on_every_run_alone_and_after_loading(way: str, tmp_path: Path) -> None:
    known = material(20)
    fitted = fit_way(way, known.inputs, known.labels, EFFORT)
    combiner = list(fitted.values())[-1]
    again = list(fit_way(way, known.inputs, known.labels, EFFORT).values())[-1]
    scores = combiner.combine(known.inputs)
    assert scores.tobytes() == again.combine(known.inputs).tobytes()
    alone = [combiner.combine(known.inputs.take(np.array([place]))) for place in range(20)]
    assert np.concatenate(alone).tobytes() == scores.tobytes()
    save_combiner(Mixture((combiner,)), tmp_path / "kept")
    loaded = load_combiner(tmp_path / "kept", known.inputs.members, known.inputs.names)
    assert loaded.combine(known.inputs).tobytes() == scores.tobytes()
    with pytest.raises(ArtefactError):
        load_combiner(tmp_path / "kept", ("one",), ())


def test_with_the_strongest_regularisation_members_weigh_about_the_same() -> None:
    known = material()
    weights = fit_way("pairs", known.inputs, known.labels, EFFORT)["10"].weights  # type: ignore[attr-defined]
    assert np.ptp(weights) < 0.1 * weights.mean()
    weights = fit_way("pairs", known.inputs, known.labels, EFFORT)["0.001"].weights  # type: ignore[attr-defined]
    assert abs(weights[0]) < 0.2 * min(weights[1], weights[2])


def test_the_slope_of_pairs_is_that_of_their_loss() -> None:
    random = np.random.default_rng(3)
    offsets = offsets_of(np.array([3, 1, 4, 0, 3]))
    labels = Labels(random.integers(0, 3, 11) / 2, random.choice([0.0, 0.2], 11))
    slope, scores = _pair_slope(offsets, labels), random.normal(size=11)

    def plain(scores: np.ndarray) -> float:
        """The mean over contexts with a pair of the weighted mean of the logistic losses of pairs."""
        losses = []
        for start, end in pairwise(offsets.tolist()):
            pairs = [
                (_weight(labels, i, j), np.log1p(np.exp(scores[j] - scores[i])))
                for i in range(start, end)
                for j in range(start, end)
                if labels.relevance[i] > labels.relevance[j]
            ]
            if pairs:
                losses.append(sum(w * loss for w, loss in pairs) / sum(w for w, _ in pairs))
        return float(np.mean(losses))

    value, gradient = slope(scores)
    assert value == pytest.approx(plain(scores), rel=1e-12)
    for place in range(11):
        step = np.zeros(11)
        step[place] = 1e-6
        numeric = (plain(scores + step) - plain(scores - step)) / 2e-6
        assert gradient[place] == pytest.approx(numeric, abs=1e-8)


def _weight(labels: Labels, i: int, j: int) -> float:
    gap = labels.relevance[i] - labels.relevance[j]
    noise = np.hypot(labels.deviation[i], labels.deviation[j])
    return float(gap if noise == 0 else gap * np.tanh(gap / noise * np.sqrt(2 / np.pi)))


def test_a_pair_whose_order_is_unsure_counts_less() -> None:
    relevance = np.array([[1.0, 0.5, 0.5]])
    weights = _pair_weights(relevance, np.array([[0.0, 0.0, 0.4]]))[0]
    assert weights[0, 1] == 0.5
    assert 0.3 < weights[0, 2] < 0.45
    assert not weights[1:].any()


def test_the_choice_is_better_than_a_member_and_is_reported() -> None:
    known = material()
    run = made_run()
    inputs, labels = known.inputs.take(np.arange(40)), known.labels.take(known.inputs.offsets, np.arange(40))
    choice = choose(known, inputs, labels, "auto", run)
    assert choice.quality > max(trial.quality for trial in choice.trials if trial.way.startswith("member:"))
    report = choice.report()
    assert {each["way"] for each in report["ways"]} == {"member:empty", "member:one", "member:other", *WAYS}
    later, examples = made(40, seed=9)
    quality = {
        name: run.quality(examples, later.split(later.scores[:, place])) for place, name in enumerate(later.members)
    }
    assert run.quality(examples, later.split(choice.combiner.combine(later))) > max(quality.values()) + 0.05
    named = choose(known, inputs, labels, "pairs", run)
    assert [way for way, _ in named.parts] == ["pairs"]


def test_another_mixture_is_chosen_only_where_it_is_surely_better() -> None:
    known = material()
    relevance = known.labels.relevance
    random = np.random.default_rng(0)

    def trial(way: str, noise: float) -> Trial:
        scores = relevance + noise * random.normal(size=len(relevance))
        return Trial(way, "1", known.overall(scores), scores)

    fixed = [trial(way, 0.2) for way in ("lambdamart", "trees", "pairs-features")]
    assert chosen_of(known, [trial("values", 0.18), *fixed]) == fixed
    perfect = trial("values", 0.0)
    poor = [trial(way, 2.0) for way in ("lambdamart", "trees", "pairs-features")]
    assert chosen_of(known, [perfect, *poor])[0] is perfect
    # What makes the mean better joins, what makes it worse does not.
    assert [one.way for one in selected(known, [perfect, *poor])] == ["values"]
    assert len(selected(known, [trial(str(place), 0.5) for place in range(6)])) > 1


def test_what_is_of_use_has_importance_and_what_is_not_has_none() -> None:
    known = material()
    combiner = fit_way("pairs-features", known.inputs, known.labels, EFFORT)["0.01"]
    found = {
        each["name"]: each["mean"] for each in input_importance(combiner, known.inputs, known.examples, made_run())
    }
    assert set(list(found)[:2]) == {"one", "other"}
    assert abs(float(found["noise"])) < 0.02
    assert input_importance(combiner, known.inputs.take(np.zeros(0, np.int64)), [], made_run()) == []


def test_damaged_weights_and_trees_are_refused(tmp_path: Path) -> None:
    known = material(20)
    parts = [
        next(iter(fit_way(way, known.inputs, known.labels, EFFORT).values())) for way in ("values", "trees-scores")
    ]
    save_combiner(Mixture(tuple(parts)), tmp_path / "kept")
    for number in range(2):
        file = tmp_path / "kept" / f"{number}.npz"
        whole = file.read_bytes()
        arrays = read_arrays(file)
        for name in arrays:
            for damaged in (arrays[name] + np.nan, arrays[name][:, None], np.append(arrays[name], 10**6)):
                write_arrays(file, arrays | {name: damaged})
                with pytest.raises(ArtefactError):
                    load_combiner(tmp_path / "kept", known.inputs.members, known.inputs.names)
            write_arrays(file, {other: arrays[other] for other in arrays if other != name})
            with pytest.raises(ArtefactError):
                load_combiner(tmp_path / "kept", known.inputs.members, known.inputs.names)
        file.write_bytes(whole)
    load_combiner(tmp_path / "kept", known.inputs.members, known.inputs.names)
    for text in ("[]", "{}", "[1]", '[{"kind": "sum"}]', '[{"kind": "trees", "inputs": "all", "bags": 0}]', "[" * 9999):
        (tmp_path / "kept" / "parts.json").write_text(text)
        with pytest.raises(ArtefactError) as raised:
            load_combiner(tmp_path / "kept", known.inputs.members, known.inputs.names)
        assert "\n" not in str(raised.value)
