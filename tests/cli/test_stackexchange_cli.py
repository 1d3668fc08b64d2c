"""``tertulia stackexchange build`` as a user meets it."""

import json
from pathlib import Path

import pytest

from ..stackexchange.dumps import answer, comment, question, write_dump
from .test_commands import failed, printed, run
from .test_corpus_parts import misused


@pytest.fixture
def beer(tmp_path: Path) -> Path:
    posts = [question(1, 1), answer(2, 1, 2), question(3, 1), answer(4, 3, 1)]
    said = [(1, "But how?"), (2, "Slowly."), (1, "Thanks, great!")]
    comments = [comment(n, 2, user, text, at=f"2020-01-03T13:00:0{n}") for n, (user, text) in enumerate(said)]
    return write_dump(tmp_path / "beer_20200531", posts, comments, votes=None)


def test_the_funnel_is_printed(beer: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "stackexchange", "build", beer, "-o", tmp_path / "out", "--cache", tmp_path / "cache")
    lines = said.splitlines()
    assert lines[0] == f"{tmp_path / 'out'}: 1 dialogues, 5 utterances"
    table = [line.split() for line in lines[2:] if line]
    assert table[0] == ["step", "kept", "removed", "alone"]
    assert table[2:5] == [["questions", "2", "0"], ["answers", "2", "0"], ["candidates", "1", "1"]]
    assert table[5] == ["two-users", "1", "0", "0"]
    assert table[11] == ["dialogues", "1", "0"]
    assert "there is no Votes.xml" in said


def test_the_result_as_json(beer: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--criteria", "grounded, two-users", "--positive-threshold", "0.1", "--positive-threshold", "beer=-0.2"]
    words += ["--split", "train=80%,test=20%", "--text", "markdown", "--workers", "1", "--no-keep", "--json"]
    said = printed(capfd, "stackexchange", "build", beer, "-o", tmp_path / "o", "--cache", tmp_path / "cache", *words)
    value = json.loads(said)
    assert list(value) == ["corpus", "counts", "funnel", "report"]
    assert value["counts"]["dialogues"] == 1
    assert value["funnel"][3] == {"step": "grounded", "kept": 1, "removed": 0, "alone": 0}
    assert [step["step"] for step in value["funnel"]][4:] == ["two-users", "dialogues"]
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["positive_threshold"] == 0.1
    assert manifest["options"]["thresholds"] == {"beer": -0.2}
    assert manifest["options"]["split"] == {"train": 0.8, "test": 0.2}
    assert not list((tmp_path / "cache").glob("beer-*"))


def test_attribution_is_owed(beer: Path, tmp_path: Path) -> None:
    done = run("stackexchange", "build", beer, "-o", "out", "--cache", "cache", cwd=tmp_path)
    assert done.returncode == 0
    assert "must credit each author" in done.stderr
    shown = run("corpus", "show", "out", "beer-1-2", cwd=tmp_path)
    assert "Thanks, great!" in shown.stdout
    assert "tertulia stackexchange links out" in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--criteria", "kind"], "there is no criterion 'kind'"),
        (["--criteria", ""], "there is no criterion ''"),
        (["--text", "pdf"], "text is 'pdf'; expected one of plain, html, markdown"),
        (["--edited", "no"], "edited is 'no'"),
        (["--engine", "abacus"], "engine is 'abacus'; expected one of duckdb, spark"),
        (["--master", "local"], "--engine spark"),
        (["--positive-threshold", "3"], "expected a score from -1 to 1"),
        (["--positive-threshold", "wine=0.5"], "no dump is of that domain; there are: beer"),
        (["--site", "mine=wine.stackexchange.com"], "mine"),
    ],
    ids=str,
)
def test_options_that_do_not_hold(
    words: list[str], expected: str, beer: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert expected in failed(capfd, "stackexchange", "build", beer, "-o", out, "--cache", tmp_path / "cache", *words)
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--positive-threshold", "much"],
        ["--positive-threshold", "=0.5"],
        ["--positive-threshold", "0.1", "--positive-threshold", "0.2"],
        ["--positive-threshold", "beer=1", "--positive-threshold", "beer=0"],
        ["--positive-threshold", "nan"],
        ["--split", "train"],
        ["--split", "train=0.5,train=0.5"],
        ["--split", "train=1e999"],
        ["--split", "train=0.5,dev=0.1"],
        ["--site", "beer"],
        ["--site", "a=beer.stackexchange.com", "--site", "a=wine.stackexchange.com"],
        ["--workers", "0"],
    ],
    ids=str,
)
def test_wrong_usage(words: list[str], beer: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    misused(capfd, "stackexchange", "build", beer, "-o", tmp_path / "out", "--cache", tmp_path / "cache", *words)
    assert not (tmp_path / "out").exists()


def test_what_is_no_dump(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    for source in ("nowhere", "empty"):
        words = ["stackexchange", "build", tmp_path / source, "-o", tmp_path / "out", "--cache", tmp_path / "cache"]
        assert source in failed(capfd, *words)
    assert not (tmp_path / "out").exists()


def test_nothing_is_replaced_unless_told(beer: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["stackexchange", "build", beer, "-o", tmp_path / "out", "--cache", tmp_path / "cache"]
    printed(capfd, *words)
    assert "--overwrite replaces it" in failed(capfd, *words)
    printed(capfd, *words, "--overwrite")
