"""``tertulia ranking ratings``: from a file of two annotators to a divided set, every number counted by hand."""

import json
from pathlib import Path

import pytest

from tertulia.corpus.ranking_set import RankingSet
from tertulia.ranking.examples import load_splits
from tertulia.ranking.quality import default_cuts

from .test_commands import failed, printed
from .test_corpus_parts import misused

LINES = [
    ("how was the regatta", "We came in last, and laughed all the way home.", 5, 5),
    ("how was the regatta", "Tuesday", 1, 4),
    ("how was the regatta", "Wet.", 3, 4),
    ("my kettle whistles off key", "Descale it?", 2, 3),
    ("any plans for monday", "blub blub", 1, 5),
    ("the owl is back", "On the same branch?", 4, 4),
    ("i burnt the soup", "It happens.", 3, 3),
    ("who moved my ladder", "Ladder", 2, 2),
    ("it snowed in the shed", "Then the roof has a hole. Shall I bring a tarpaulin?", 5, 4),
    ("tell me a riddle", "ggg", 1, 1),
    ("the choir needs a bass", "My uncle sings bass.", 4, 4),
    ("what a long queue", "Yes.", 3, 3),
    ("the fern is drooping", "Fern fern", 2, 2),
]


@pytest.fixture
def two(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    source = tmp_path / "two.tsv"
    source.write_text("".join(f"{p}\t{r}\t{one}\t{other}\n" for p, r, one, other in LINES), encoding="utf-8")
    printed(capfd, "corpus", "import", "rated-tsv", source, "-o", tmp_path / "two")
    return tmp_path / "two"


def test_from_two_annotators_to_a_divided_set(two: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rated = tmp_path / "rated"
    found = json.loads(printed(capfd, "ranking", "ratings", two, "-o", rated, "--scale", "1,2,3,4,5", "--json"))
    assert list(found) == ["output", "counts", "agreement", "candidates", "contexts_dropped", "report"]
    # Two pairs are 2 or more apart: 1 and 4, 1 and 5. The latter is the only response of its prompt.
    assert found["counts"] == {"contexts": 10, "candidates": 11}
    assert found["candidates"] == {"read": 13, "kept": 11, "dropped": 2, "without_ratings": 0, "of_one_rater": 0}
    assert found["contexts_dropped"] == 1
    before, after = found["agreement"]["before"], found["agreement"]["after"]
    assert (before["pairs"], after["pairs"]) == (13, 11)
    assert before["equal"] == pytest.approx(8 / 13)
    assert after["equal"] == pytest.approx(8 / 11)
    # Grades 1 to 5 were given 3, 3, 3, 2, 2 times by the first and 1, 2, 3, 5, 2 times by the second; afterwards 1, 3, 3, 2, 2
    # and 1, 2, 3, 4, 1 times. By chance they agree in 32 of 169, afterwards in 26 of 121.
    assert before["kappa"]["plain"]["value"] == pytest.approx((8 / 13 - 32 / 169) / (1 - 32 / 169)) == 72 / 137
    assert after["kappa"]["plain"]["value"] == pytest.approx((8 / 11 - 26 / 121) / (1 - 26 / 121)) == 62 / 95
    # With linear weights: 3 + 1 + 1 + 4 + 1 grades apart, where chance would have 271 / 13.
    assert before["kappa"]["linear"]["value"] == pytest.approx(1 - 10 / (_apart([3, 3, 3, 2, 2], [1, 2, 3, 5, 2]) / 13))
    assert after["alpha"]["ordinal"]["value"] > before["alpha"]["ordinal"]["value"]

    printed(capfd, "corpus", "split", rated, "--by", "prompt", "-o", tmp_path / "divided")
    with RankingSet(tmp_path / "divided") as divided:
        splits = load_splits(divided)
        relevance = {c.text: c.relevance for r in divided.records() for c in r.candidates}
    assert [len(part) for part in splits[:3]] == [8, 1, 1]
    assert relevance == {r: (one + other) / 2 for _, r, one, other in LINES if abs(one - other) < 2}
    assert default_cuts([*splits.train, *splits.dev, *splits.test]) == (3, 4, 5)
    at_cuts = [sum(value >= cut for value in relevance.values() if value is not None) for cut in (3, 4, 5)]
    assert at_cuts == [7, 4, 1]


def _apart(first: list[int], second: list[int]) -> int:
    """The grades that all pairs of one of the first's ratings and one of the second's are apart."""
    return sum(one * other * abs(i - j) for i, one in enumerate(first) for j, other in enumerate(second))


def test_what_people_read(two: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "ranking", "ratings", two, "-o", tmp_path / "rated", "--scale", "1,2,3,4,5")
    lines = said.splitlines()
    assert lines[0] == f"{tmp_path / 'rated'}: 10 contexts, 11 candidates"
    rows = {line.partition("  ")[0]: line.split() for line in lines}
    assert rows["candidates with two ratings or more"][-2:] == ["13", "11"]
    assert rows["equal ratings"][-2:] == ["61.5%", "72.7%"]
    assert rows["Cohen's κ"][2] == "0.526"
    assert rows["Cohen's κ"][5] == "0.653"
    assert "Krippendorff's α, ordinal" in said
    assert "2 of 13 candidates (15.4%) dropped, and 1 context that had no other." in said
    assert "contexts of which no candidate is left" in said
    # Nothing is far apart any more.
    said = printed(capfd, "ranking", "ratings", tmp_path / "rated", "-o", tmp_path / "again")
    assert "0 of 11 candidates (0.0%) dropped" in said
    assert "perhaps they were dropped before" in said
    assert "after: nothing dropped" in printed(capfd, "ranking", "ratings", two, "-o", tmp_path / "all", "--gap", "inf")


def test_three_annotators_have_an_alpha_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "three.tsv"
    source.write_text("hello\thi there\t3\t4\t4\nhello\tbye\t1\t1\t2\nhello\tmoo\t1\t5\t1\n", encoding="utf-8")
    printed(capfd, "corpus", "import", "rated-tsv", source, "-o", tmp_path / "three")
    said = printed(capfd, "ranking", "ratings", tmp_path / "three", "-o", tmp_path / "rated")
    assert "Cohen" not in said
    assert "1 of 3 candidates (33.3%) dropped, and 0 contexts" in said
    with RankingSet(tmp_path / "rated") as rated:
        [record] = rated.records()
    assert [candidate.relevance for candidate in record.candidates] == [11 / 3, 4 / 3]


def test_what_goes_wrong_is_one_line(two: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rated = tmp_path / "rated"
    assert "not on the scale" in failed(capfd, "ranking", "ratings", two, "-o", rated, "--scale", "1,2,3,4")
    assert "ascending order" in failed(capfd, "ranking", "ratings", two, "-o", rated, "--scale", "5,4,3,2,1")
    assert "above 0" in failed(capfd, "ranking", "ratings", two, "-o", rated, "--gap", "0")
    assert "expected grades such as 1,2,3,4,5" in misused(
        capfd, "ranking", "ratings", two, "-o", rated, "--scale", "one,two"
    )
    assert "nothing at this path" in failed(capfd, "ranking", "ratings", tmp_path / "none", "-o", rated)
    assert "is not an artefact" in failed(capfd, "ranking", "ratings", tmp_path, "-o", rated)
    assert not rated.exists()
