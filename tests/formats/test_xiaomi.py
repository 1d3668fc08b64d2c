"""The xiaomi format: queries with replies that people liked or disliked."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.xiaomi import XiaomiFormat

from . import mutate
from .ranking import counts, read

FORMAT = XiaomiFormat()
QUERY = {
    "query": "唱 首 歌",
    "replys": [{"reply": "啦啦啦", "like": 3, "dislike": 1}, {"reply": "不会", "dislike": 5, "like": 0, "tag": "no"}],
}


def put(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return path


def test_a_query_with_its_replies(tmp_path: Path) -> None:
    path = put(tmp_path / "train.jsonl", QUERY | {"topic": "music"}, {"query": "x", "replys": []}, QUERY)
    found, report = read(FORMAT, path)
    assert found[0] == RankingRecord(
        Context("train-00000001", [Turn("user", "唱 首 歌")], split="train", attributes={"topic": "music"}),
        [
            Candidate(0, "啦啦啦", 4 / 6, attributes={"likes": 3, "dislikes": 1}),
            Candidate(1, "不会", 1 / 7, attributes={"likes": 0, "dislikes": 5, "tag": "no"}),
        ],
    )
    assert counts(report) == {
        "queries without a reply": 1,
        "queries that stood before; each line is a context of its own": 1,
        "exact duplicates of another conversation": 1,
    }
    assert len(read(FORMAT, path, drop_duplicates=True)[0]) == 2


@settings(max_examples=100, deadline=None)
@given(likes=st.integers(0, 2**31 - 1), dislikes=st.integers(0, 2**31 - 1))
def test_relevance_is_a_share_that_votes_move(
    tmp_path_factory: pytest.TempPathFactory, likes: int, dislikes: int
) -> None:
    replies = [{"reply": "a", "like": likes, "dislike": dislikes}, {"reply": "b", "like": dislikes, "dislike": likes}]
    path = put(tmp_path_factory.mktemp("x") / "a.jsonl", {"query": "q", "replys": replies})
    [found], _ = read(FORMAT, path)
    one, other = (candidate.relevance or 0.0 for candidate in found.candidates)
    assert 0 < one < 1
    assert one + other == pytest.approx(1)
    assert (one > other) == (likes > dislikes) or abs(likes - dislikes) < 2


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"replys": []}, "query holds null; expected a text"),
        ({"query": "q"}, "replys holds null; expected a list of objects with reply, like and dislike"),
        ({"query": "q", "replys": [1]}, "replys holds a list; expected a list of objects"),
        ({"query": "q", "replys": [{"like": 1, "dislike": 1}]}, "reply 0: reply holds null"),
        ({"query": "q", "replys": [{"reply": "r", "like": 1}]}, "reply 0: has no dislike"),
        ({"query": "q", "replys": [{"reply": "r", "like": -1, "dislike": 1}]}, "reply 0: like holds -1"),
        ({"query": "q", "replys": [{"reply": "r", "like": 1.5, "dislike": 1}]}, "reply 0: like holds 1.5"),
        ({"query": "q", "replys": [{"reply": "r", "like": 10**40, "dislike": 1}]}, "reply 0: like holds 1000"),
        ({"query": "q", "replys": [{"reply": "r", "like": True, "dislike": 1}]}, "reply 0: like holds"),
        ({"query": "q\ud800", "replys": []}, "half of a surrogate pair"),
        ([], "holds a list; expected an object"),
    ],
)
def test_what_does_not_hold_is_named(tmp_path: Path, value: Any, problem: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(QUERY) + "\n" + json.dumps(value) + "\n")
    with pytest.raises(InputError) as caught:
        read(FORMAT, path)
    assert caught.value.where == f"{path}:2"
    assert problem in caught.value.message
    found, report = read(FORMAT, path, skip_bad=True)
    assert (len(found), counts(report)) == (1, {"malformed records": 1})


def test_it_is_only_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="read, not written"):
        FORMAT.write(iter([]), str(tmp_path / "x"), read(FORMAT, put(tmp_path / "a.jsonl", QUERY))[1])


def test_damage_ends_in_a_set_or_one_error(tmp_path: Path) -> None:
    text = "".join(json.dumps(QUERY | {"n": n}, ensure_ascii=n % 2 == 0) + "\n" for n in range(4))
    found = mutate.outcomes(FORMAT, {"a.jsonl": text.encode()}, tmp_path, seed=3)
    assert sum(found.values()) == mutate.MUTATIONS
    assert min(found.values()) > mutate.MUTATIONS // 20, found


@pytest.mark.data
def test_the_released_queries(data: Path) -> None:
    source = data / "rated_responses" / "xiaomi_nlpcc2023"
    if not source.is_dir():
        pytest.skip(f"the rated responses are not at {source}")
    found, report = read(FORMAT, source)
    sizes = [len(record.candidates) for record in found]
    assert (len(found), sum(sizes), min(sizes), max(sizes)) == (1_600, 4_987, 1, 8)
    assert {record.context.split for record in found} == {"dev"}
    assert counts(report) == {}
