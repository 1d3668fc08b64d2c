from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tertulia.corpus.model import Turn
from tertulia.errors import InputError
from tertulia.ranking.crossfit import folds_of, out_of_fold, prompt_groups
from tertulia.ranking.examples import Example
from tertulia.ranking.quality import map_at
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.wording import Wording


def example(name: str, *turns: str, candidates: int = 3) -> Example:
    return Example(
        name,
        tuple(Turn("user", turn) for turn in turns),
        tuple(f"{name} {place}" for place in range(candidates)),
        (np.arange(candidates) == 0).astype(np.float64),
        np.zeros(candidates),
    )


class Memory:
    """Knows by heart what it was fitted on: 1 for a text it saw, times ``strength``; a leak would show."""

    name: ClassVar[str] = "memory"
    summary: ClassVar[str] = "knows by heart"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {"strength": Setting(1.0, "what a known text gets")}

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self.known: set[str] = set()
        self.run: FitRun | None = None

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        self.known = {text for one in train for text in one.texts}
        self.run = run

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        for one in examples:
            yield np.array([self.settings["strength"] * (text in self.known) for text in one.texts], dtype=np.float64)

    def save(self, directory: Path) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, directory: Path) -> Self:
        raise NotImplementedError

    def report(self) -> dict[str, Any]:
        return {}


def run(**options: Any) -> FitRun:
    return FitRun(Wording("en"), map_at(1.0), **options)


def same(groups: NDArray[np.int64]) -> list[list[int]]:
    """Those that are together, as lists of places."""
    return sorted([np.flatnonzero(groups == number).tolist() for number in np.unique(groups)])


def test_equal_turns_belong_together_but_for_case_and_space() -> None:
    found = prompt_groups(
        [example("a", "Hello  there"), example("b", "Bye"), example("c", " hello there "), example("d")]
    )
    assert same(found) == [[0, 2], [1], [3]]


def test_contexts_of_one_dialogue_belong_together() -> None:
    words = ["one", "two", "three", "four", "five", "six"]
    growing = [example(f"x{n}", *words[:n]) for n in (3, 5, 6)]
    assert same(prompt_groups([*growing, example("y", "one", "two", "four")])) == [[0, 1, 2], [3]]


def test_contexts_cut_to_their_last_turns_belong_together_by_their_dialogue() -> None:
    cut = [
        example("d1-3", "a", "b"),
        example("d1-5", "c", "d"),
        example("d1-4", "b", "c"),
        example("d2-4", "b", "c", "e"),
    ]
    # d1-3 shares no pair with d1-4, d1-4 none with d1-5: one turn in common is no sign of one dialogue.
    assert same(prompt_groups(cut)) == [[0], [1], [2], [3]]
    cut = [example("d1-3", "a", "b", "c"), example("d1-5", "b", "c", "d"), example("d2-3", "z", "b", "c")]
    assert same(prompt_groups(cut)) == [[0, 1], [2]]


@settings(max_examples=60, deadline=None)
@given(
    prompts=st.lists(st.integers(0, 30), min_size=12, max_size=60),
    folds=st.integers(2, 5),
    seed=st.integers(0, 3),
    shuffle=st.randoms(use_true_random=False),
)
def test_folds_hold_prompts_together_are_even_and_do_not_depend_on_order(
    prompts: list[int], folds: int, seed: int, shuffle: Any
) -> None:
    examples = [example(str(number), f"prompt {prompt}") for number, prompt in enumerate(prompts)]
    if len(set(prompts)) < folds:
        with pytest.raises(InputError, match="different prompts cannot be divided"):
            folds_of(examples, folds, seed=seed)
        return
    found = folds_of(examples, folds, seed=seed)
    assert set(found.tolist()) == set(range(folds))
    for prompt in set(prompts):
        assert len(set(found[np.array(prompts) == prompt].tolist())) == 1
    largest = max(prompts.count(prompt) for prompt in prompts)
    assert np.ptp(np.bincount(found)) <= largest
    order = list(range(len(examples)))
    shuffle.shuffle(order)
    assert folds_of([examples[place] for place in order], folds, seed=seed).tolist() == found[order].tolist()


def test_another_seed_divides_otherwise() -> None:
    examples = [example(str(number), f"prompt {number}") for number in range(40)]
    assert folds_of(examples, 4, seed=0).tolist() != folds_of(examples, 4, seed=1).tolist()


def test_where_all_dialogues_begin_alike_equal_turns_alone_are_kept_together() -> None:
    examples = [example(str(number), "hi", "hi", "how are you", f"turn {number // 2}") for number in range(12)]
    found = folds_of(examples, 3)
    assert np.bincount(found).tolist() == [4, 4, 4]
    assert (found[::2] == found[1::2]).all()


def test_no_example_is_scored_by_a_ranker_that_saw_it() -> None:
    examples = [example(str(number), f"prompt {number}", candidates=number % 4) for number in range(20)]
    dev = [example("dev", "of dev")]
    made: list[Memory] = []

    def make() -> Memory:
        made.append(Memory({"strength": 3.0}))
        return made[-1]

    folds = folds_of(examples, 4)
    scores = out_of_fold(make, examples, dev, run(trials=7, seed=5), folds)
    assert [values.tolist() for values in scores] == [[0.0] * (number % 4) for number in range(20)]
    assert len(made) == 4
    for number, ranker in enumerate(made):
        assert ranker.run is not None
        assert (ranker.run.trials, ranker.run.seed) == (1, 5)
        others = {text for one, fold in zip(examples, folds, strict=True) if fold != number for text in one.texts}
        assert ranker.known == others
    # In sample it would have looked perfect.
    assert {value for values in made[0].score(examples) for value in values.tolist()} == {0.0, 3.0}
