"""The usr format: responses with human scores, with the answer of each annotator or with their means."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.usr import UsrFormat

from . import mutate
from .ranking import counts, read

FORMAT = UsrFormat()
RESPONSE = {
    "response": "the kettle , mostly .\n",
    "model": "Beam",
    "Understandable": [1, 1],
    "Natural": [3, 2],
    "Overall": [4, 5],
}
CONTEXT = {
    "context": "what do you own ?\na kettle .\nwhich one is red ?\n",
    "fact": "_nofact\n",
    "annotators": ["ann", "bob"],
    "responses": [RESPONSE, RESPONSE | {"response": "no .\n", "Overall": [1, 1]}],
}
MEAN = {
    "source": "what do you own ? \n a kettle . \n\n",
    "system_id": "Beam",
    "system_output": "nice . \n",
    "context": "kettles boil water .\n",
    "scores": {"naturalness": 2.5, "overall": 3.3333333333},
}


def put(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_the_authors_layout_keeps_each_annotator(tmp_path: Path) -> None:
    [found], report = read(FORMAT, put(tmp_path / "tc.json", [CONTEXT]))
    scores = {"understandability": {"ann": 1.0, "bob": 1.0}, "naturalness": {"ann": 3.0, "bob": 2.0}}
    assert found == RankingRecord(
        Context(
            "00000001",
            [Turn("user", "what do you own ?"), Turn("agent", "a kettle ."), Turn("user", "which one is red ?")],
            attributes={"fact": "_nofact\n"},
        ),
        [
            Candidate(
                0, "the kettle , mostly .", 4.5, [Rating("ann", 4.0), Rating("bob", 5.0)], "Beam", {"scores": scores}
            ),
            Candidate(1, "no .", 1.0, [Rating("ann", 1.0), Rating("bob", 1.0)], "Beam", {"scores": scores}),
        ],
    )
    assert counts(report) == {}


def test_the_layout_of_means(tmp_path: Path) -> None:
    other = MEAN | {"system_id": "Human", "system_output": "mine too .", "scores": {"naturalness": 3}, "seed": 7}
    new = MEAN | {"source": "hello \n\n"}
    found, report = read(FORMAT, put(tmp_path / "test.json", [MEAN, other, new]))
    assert found[0] == RankingRecord(
        Context(
            "test-00000001",
            [Turn("agent", "what do you own ?"), Turn("user", "a kettle .")],
            split="test",
            attributes={"fact": "kettles boil water .\n"},
        ),
        [
            Candidate(0, "nice .", 3.3333333333, source="Beam", attributes={"scores": {"naturalness": 2.5}}),
            Candidate(1, "mine too .", None, source="Human", attributes={"scores": {"naturalness": 3.0}, "seed": 7}),
        ],
    )
    assert len(found) == 2
    assert counts(report) == {"responses without an overall score": 1}


@settings(max_examples=60, deadline=None)
@given(answers=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_relevance_is_the_mean_of_the_ratings(tmp_path_factory: pytest.TempPathFactory, answers: list[int]) -> None:
    names = [f"person {n}" for n in range(len(answers))]
    value = {"context": "a", "annotators": names, "responses": [{"response": "b", "Overall": answers}]}
    [found], _ = read(FORMAT, put(tmp_path_factory.mktemp("usr") / "a.json", [value]))
    [candidate] = found.candidates
    assert candidate.relevance == sum(answers) / len(answers)
    assert [(rating.annotator, rating.value) for rating in candidate.ratings] == list(zip(names, answers, strict=True))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (3, "holds 3; expected an object"),
        ({}, "has neither responses nor system_output"),
        (CONTEXT | {"annotators": None}, "annotators holds null"),
        (CONTEXT | {"annotators": ["ann", "ann"]}, "names an annotator twice"),
        (CONTEXT | {"annotators": ["ann"]}, "Understandable holds 2 values; expected a number of each of the 1"),
        (CONTEXT | {"context": " \n"}, "context is empty"),
        (CONTEXT | {"responses": [RESPONSE | {"Natural": [1, None]}]}, "Natural holds null; expected a number"),
        (CONTEXT | {"responses": [RESPONSE | {"Natural": 3}]}, "Natural holds 3; expected a number of each"),
        (CONTEXT | {"responses": [{"model": "x"}]}, "response holds null; expected a text"),
        (MEAN | {"scores": [1]}, "scores holds a list; expected an object"),
        (MEAN | {"scores": {"overall": "high"}}, 'overall holds "high"; expected a finite number'),
        (MEAN | {"source": 5}, "source holds 5; expected a text"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, value: Any, problem: str) -> None:
    path = put(tmp_path / "a.json", [MEAN, value])
    with pytest.raises(InputError) as caught:
        read(FORMAT, path)
    assert caught.value.where == f"{path}:1 (record 1)"
    assert problem in caught.value.message
    found, report = read(FORMAT, path, skip_bad=True)
    assert (len(found), counts(report)) == (1, {"malformed records": 1})


def test_it_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="read, not written"):
        FORMAT.write(iter([]), str(tmp_path / "x"), read(FORMAT, put(tmp_path / "a.json", [MEAN]))[1])


def test_damage_ends_in_a_set_or_one_error(tmp_path: Path) -> None:
    files = {
        "a.json": json.dumps([MEAN, MEAN | {"system_output": "naïve 🎉"}], ensure_ascii=False).encode(),
        "b.json": json.dumps([CONTEXT, CONTEXT], indent=1).encode(),
    }
    found = mutate.outcomes(FORMAT, files, tmp_path, seed=4)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found


@pytest.mark.data
def test_the_released_responses(data: Path) -> None:
    source = data / "rated_responses" / "usr_topicalchat"
    if not source.is_dir():
        pytest.skip(f"the rated responses are not at {source}")
    found, report = read(FORMAT, source)
    assert (len(found), {len(record.candidates) for record in found}) == (60, {6})
    assert counts(report) == {}
    candidates = [candidate for record in found for candidate in record.candidates]
    assert len({candidate.source for candidate in candidates}) == 6
    assert all(1 <= (candidate.relevance or 0) <= 5 for candidate in candidates)
    assert {len(candidate.attributes["scores"]) for candidate in candidates} == {5}
