"""Examples from ranking sets, and the splits of a set."""

import math
from pathlib import Path

import numpy as np
import pytest

from tertulia.artefact import Manifest
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.corpus.ranking_set import RANKING_SET, RankingSet, write_ranking_set
from tertulia.errors import InputError
from tertulia.ranking.examples import example_of, load_splits


def record(
    number: int, prompt: str, split: str | None = None, dialogue: str | None = None, candidates=None
) -> RankingRecord:
    context = Context(f"c{number}", [Turn("user", prompt)], dialogue_id=dialogue, split=split)
    return RankingRecord(context, candidates or [Candidate(0, f"answer {number}", 1.0), Candidate(1, "no", 0.0)])


def open_set(tmp_path: Path, records) -> RankingSet:
    return write_ranking_set(tmp_path / "set", records, Manifest(RANKING_SET))


def ids(examples) -> set[str]:
    return {example.id for example in examples}


def test_an_example_is_a_record_as_arrays() -> None:
    context = Context(
        "7", [Turn("user", "a"), Turn("agent", "b")], domain="films", split="dev", attributes={"thread": 3}
    )
    candidates = [
        Candidate(0, "c", 0.75, attributes={"likes": 2, "dislikes": 0}),
        Candidate(1, "c", None, attributes={"likes": 2, "dislikes": 0}),
        Candidate(2, "", 5.0, attributes={"likes": 2, "dislikes": 0}),
        Candidate(3, "d", 0.75, attributes={"likes": 2}),
        Candidate(4, "e", 0.75, attributes={"likes": True, "dislikes": False}),
        Candidate(5, "f", 0.75, attributes={"likes": -2, "dislikes": -4}),
        Candidate(6, "g", 0.75, attributes={"likes": 10**400, "dislikes": 3}),
    ]
    found = example_of(RankingRecord(context, candidates))
    assert (found.id, found.prompt, found.texts) == ("7", "b", ("c", "c", "", "d", "e", "f", "g"))
    assert (found.domain, found.attributes, len(found)) == ("films", {"thread": 3}, 7)
    np.testing.assert_array_equal(found.relevance, [0.75, np.nan, 5.0, 0.75, 0.75, 0.75, 0.75])
    # Beta(3, 1): variance 3 / (16 · 5). Where votes do not tell the relevance they leave nothing open.
    assert found.deviation[0] == pytest.approx(math.sqrt(3 / 80))
    assert not found.deviation[1:].any()


def test_a_context_without_turn_or_candidate_is_an_example() -> None:
    found = example_of(RankingRecord(Context("1", []), []))
    assert found.prompt == ""
    assert len(found) == len(found.relevance) == len(found.deviation) == 0


def test_an_infinite_relevance_is_refused() -> None:
    with pytest.raises(InputError, match="the candidate 1 of the context 'c1' has the relevance -inf"):
        example_of(record(1, "p", candidates=[Candidate(0, "a", 1.0), Candidate(1, "b", -math.inf)]))


def test_equal_texts_are_held_once(tmp_path) -> None:
    splits = load_splits(open_set(tmp_path, [record(n, "prompt", s) for n, s in enumerate(["train", "dev", "test"])]))
    assert splits.train[0].prompt is splits.test[0].prompt
    assert splits.train[0].texts[1] is splits.dev[0].texts[1]


def test_splits_are_those_of_the_set_and_what_is_left_out_is_said(tmp_path) -> None:
    names = ["train"] * 4 + ["dev", "test", "test", None, "validation"]
    splits = load_splits(open_set(tmp_path, [record(n, f"p{n}", name) for n, name in enumerate(names)]))
    assert [ids(part) for part in splits[:3]] == [{"c0", "c1", "c2", "c3"}, {"c4"}, {"c5", "c6"}]
    assert splits.how == "as the set says; 2 contexts of no split or another one are left out"


def test_a_set_without_splits_is_divided_by_prompt_and_dialogue(tmp_path) -> None:
    # Prompts that differ in case and white space alone are one, and contexts of one dialogue stay together.
    records = [record(n, f"Prompt  {n // 2}" if n % 2 else f"prompt {n // 2}") for n in range(160)]
    records += [record(200 + n, f"other {n}", dialogue=f"d{n // 4}") for n in range(40)]
    source = open_set(tmp_path, records)
    splits = load_splits(source, seed=3)
    assert [len(part) for part in splits[:3]] == [160, 20, 20]
    assert splits.how == "80/10/10 by prompt, with the seed 3: the set has no splits"
    side = {each.id: name for name, part in zip(splits._fields, splits[:3], strict=False) for each in part}
    assert len(side) == 200
    assert all(side[f"c{2 * n}"] == side[f"c{2 * n + 1}"] for n in range(80))
    assert all(len({side[f"c{200 + 4 * d + n}"] for n in range(4)}) == 1 for d in range(10))
    again, other = load_splits(source, seed=3), load_splits(source, seed=4)
    assert [ids(part) for part in again[:3]] == [ids(part) for part in splits[:3]]
    assert ids(other.test) != ids(splits.test)


def test_dev_is_taken_from_train_where_there_is_none(tmp_path) -> None:
    records = [record(n, f"p{n}", "train" if n < 50 else "test") for n in range(60)]
    splits = load_splits(open_set(tmp_path, records))
    assert [len(part) for part in splits[:3]] == [45, 5, 10]
    assert ids(splits.test) == {f"c{n}" for n in range(50, 60)}
    assert "a tenth of train" in splits.how


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ([], "has no context"),
        (["train", "dev"], "no context in the split test"),
        (["test"], "no context in the split train"),
        ([None], "has no context in the split"),
    ],
)
def test_a_split_that_is_empty_is_an_error(tmp_path, names, match: str) -> None:
    source = open_set(tmp_path, [record(n, f"p{n}", name) for n, name in enumerate(names)])
    with pytest.raises(InputError, match=match):
        load_splits(source)
