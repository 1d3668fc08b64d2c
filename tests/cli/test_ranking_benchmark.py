"""``tertulia ranking benchmark``, as a user meets it."""

import json
from pathlib import Path

import pytest

from ..ranking.sets import write_made_set
from .test_commands import failed, printed
from .test_corpus_parts import misused


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_set(tmp_path_factory.mktemp("set") / "made")


def test_rankers_are_compared_and_the_table_is_printed(
    made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ranking", "benchmark", made, "-o", tmp_path / "out", "--rankers", "length,bm25", "--seeds", "1"]
    cached = ["--cache", tmp_path / "cache", "--trials", "2"]
    said = printed(capfd, *arguments, *cached)
    assert said.startswith(f"{tmp_path / 'out'}: report.html")
    assert "relevance ≥ 4: 20 contexts; 0 left out" in said
    assert "µs a candidate" in said
    assert "MAP - bm25" in said
    assert "exists already" in failed(capfd, *arguments, *cached)
    found = json.loads(printed(capfd, *arguments, *cached, "--overwrite", "--json"))
    assert list(found) == ["output", "systems", "contexts", "baseline", "costs", "left_out", "failed"]
    assert list(found["systems"]) == ["length", "bm25"]
    assert set(found["systems"]["bm25"]["MAP(rel>=4)"]) == {
        *("mean", "low", "high", "letters", "seed_deviation", "difference", "difference_p")
    }
    assert found["contexts"]["MAP(rel>=4)"]["counted"] == 20
    assert found["baseline"] == "bm25"
    assert "benchmark" in printed(capfd, "inspect", tmp_path / "out")


def test_what_is_wrong_is_said_in_a_line(made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def say(*more: str | Path) -> str:
        return failed(capfd, "ranking", "benchmark", made, "-o", tmp_path / "out", "--cache", tmp_path / "cache", *more)

    assert "there is no ranker 'oracle'; there are: random, length" in say("--rankers", "oracle")
    assert "has no setting 'x'; it has: " in say("--setting", "bm25.x=1")
    assert "protocol full alone" in say("--pool", "3")
    assert "expected 3 to" in say("--folds", "2")
    assert "nothing at this path" in failed(capfd, "ranking", "benchmark", tmp_path / "none", "-o", tmp_path / "out")
    for more in [
        ["--setting", "k1=1"],
        ["--setting", "bm25.k1"],
        ["--rankers", " , "],
        ["--run", "file"],
        ["--protocol", "some"],
        ["--seeds", "0"],
    ]:
        misused(capfd, "ranking", "benchmark", made, "-o", tmp_path / "out", *more)
    assert not (tmp_path / "out").exists()
