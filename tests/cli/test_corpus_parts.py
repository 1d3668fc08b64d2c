"""``corpus split``, ``merge``, ``sample``, ``show`` of ranking sets and the readers' own options, as a user meets them."""

import gzip
import json
from pathlib import Path

import pytest

from tertulia.cli.main import main

from .test_commands import failed, printed

RATED = "good morning\tmorning to you\t4\t5\ngood morning\tmonday\t1\t1\nhungry ?\talways\t5\t5\n"


def misused(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What a command that was used wrongly says: exit code 2, nothing on stdout."""
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    assert code == 2, err
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.fixture
def rated(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    source = tmp_path / "rated.tsv.gz"
    source.write_bytes(gzip.compress(RATED.encode()))
    said = printed(capfd, "corpus", "import", "rated-tsv", source, "-o", tmp_path / "rated")
    assert "rated: 2 contexts, 3 candidates" in said
    return tmp_path / "rated"


def test_a_ranking_set_is_shown(rated: Path, capfd: pytest.CaptureFixture[str]) -> None:
    listed = printed(capfd, "corpus", "show", rated)
    assert "2 contexts; the first of them" in listed
    assert "good morning" in listed
    first = json.loads(printed(capfd, "corpus", "show", rated, "--json"))
    assert first == {"contexts": 2, "first": ["00000001", "00000002"]}
    one = printed(capfd, "corpus", "show", rated, "00000001")
    assert "user   good morning" in one
    assert "  0     4.5  morning to you" in one
    assert "↳ 1 4, 2 5" in one
    value = json.loads(printed(capfd, "corpus", "show", rated, "00000001", "--json"))
    assert value["turns"] == [{"role": "user", "text": "good morning"}]
    assert [candidate["relevance"] for candidate in value["candidates"]] == [4.5, 1.0]
    assert "has no context 'x'" in failed(capfd, "corpus", "show", rated, "x")


def test_a_ranking_set_goes_out_as_it_came_in(rated: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "out.tsv: 2 contexts" in printed(capfd, "corpus", "export", "rated-tsv", rated, "-o", tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == RATED
    said = failed(capfd, "corpus", "export", "jsonl", rated, "-o", tmp_path / "no")
    assert "the format 'jsonl' holds a corpus, and" in said
    assert "is a ranking-set" in said


def test_options_that_a_reader_has_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.tsv"
    source.write_text(RATED, encoding="utf-8")
    importing = ("corpus", "import", "rated-tsv", source, "-o", tmp_path / "c")
    said = failed(capfd, *importing, "--option", "colour=red")
    assert "the format 'rated-tsv' has no option 'colour'; it has: fields, group, turns" in said
    said = failed(capfd, "corpus", "import", "xiaomi", source, "-o", tmp_path / "c", "--columns", "prompt=a")
    assert "the format 'xiaomi' takes no --columns" in said
    assert "--option has 'group'; expected NAME=VALUE" in misused(capfd, *importing, "--option", "group")
    twice = ("--option", "group=all", "--option", "group=runs")
    assert "--option names 'group' twice" in misused(capfd, *importing, *twice)
    assert not (tmp_path / "c").exists()
    printed(capfd, *importing, "--option", "group=all")
    manifest = json.loads(printed(capfd, "inspect", tmp_path / "c", "--json"))
    assert manifest["options"]["values"] == {"group": "all"}


def test_split_sample_and_merge(small_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "corpus", "split", small_corpus, "-o", tmp_path / "s", "--fractions", "train=50%,test=0.5")
    assert [line.split() for line in said.splitlines()[-2:]] == [["train", "2", "50.0%"], ["test", "2", "50.0%"]]
    assert json.loads(printed(capfd, "corpus", "stats", tmp_path / "s", "--json"))["splits"] == {"test": 2, "train": 2}
    taken = printed(capfd, "corpus", "sample", tmp_path / "s", "-o", tmp_path / "t", "--split", "test")
    assert "2 dialogues" in taken
    for name, split in (("one", "train"), ("two", "test")):
        printed(capfd, "corpus", "sample", tmp_path / "s", "-o", tmp_path / name, "--split", split)
    assert "4 dialogues" in printed(capfd, "corpus", "merge", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "m")
    assert "has no dialogue of the domains and splits asked for" in failed(
        capfd, "corpus", "sample", tmp_path / "s", "-o", tmp_path / "x", "--domain", "sailing"
    )
    assert "exists already" in failed(capfd, "corpus", "split", small_corpus, "-o", tmp_path / "s")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["split", "C", "--fractions", "a=1", "--counts", "b=1"], "--fractions and --counts exclude each other"),
        (["split", "C", "--fractions", "train"], "expected NAME=NUMBER"),
        (["split", "C", "--fractions", "train=x"], "expected a share such as 0.8 or 80%"),
        (["split", "C", "--fractions", "train=nan"], "expected shares between 0 and 1"),
        (["split", "C", "--counts", "dev=1.5"], "expected a whole number"),
        (["split", "C", "--counts", "dev=5"], "the counts sum to 5, and there are only 4"),
        (["split", "C", "--fractions", "a=0.5,a=0.5"], "names a split twice"),
        (["sample", "C"], "say how many"),
        (["sample", "C", "-n", "9"], "asked to draw 9 of 4"),
        (["sample", "C", "--fraction", "2"], "expected more than 0 and at most 1"),
        (["sample", "C", "-n", "1", "--fraction", "0.5"], "a count or a fraction, not both"),
        (["merge", "C"], "merge takes two or more"),
    ],
)
def test_wrong_usage(
    small_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    given = [str(small_corpus) if word == "C" else word for word in words]
    assert message in misused(capfd, "corpus", *given, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
