"""``tertulia ranking train``, ``run``, ``evaluate`` and ``export``, as a user meets them."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import pytrec_eval

from tertulia.artefact import read_manifest
from tertulia.cli.main import main
from tertulia.corpus.ranking_set import RankingSet

from ..ranking.sets import write_examples, write_made_set
from ..ranking.test_runs import example
from .test_commands import failed, printed
from .test_corpus_parts import misused


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_set(tmp_path_factory.mktemp("set") / "made")


@pytest.fixture(scope="module")
def runs(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each of three rankers."""
    folder = tmp_path_factory.mktemp("runs")
    for ranker, name in (("random", "random.run"), ("length", "length.v2.run.gz"), ("bm25", "bm25.run")):
        assert main(["ranking", "train", ranker, str(made), "-o", str(folder / ranker)]) == 0
        assert main(["ranking", "run", str(folder / ranker), str(made), "-o", str(folder / name)]) == 0
    return folder


def test_from_a_set_to_a_table(made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "ranking", "train", "bm25", made, "-o", tmp_path / "model", "--setting", "b=0.25")
    assert "the ranker bm25, of 60 train, 20 dev, 20 test contexts (as the set says)" in said
    assert "b 0.25" in said
    assert re.search(r"MAP\(rel>=4\) on dev: 0\.\d{4}, over the 20 contexts", said)
    assert "ranker bm25" in printed(capfd, "inspect", tmp_path / "model")
    said = printed(capfd, "ranking", "run", tmp_path / "model", made, "-o", tmp_path / "b.run", "--tag", "mine")
    assert said == f"{tmp_path / 'b.run'}: 100 candidates of 20 contexts\n"
    assert (tmp_path / "b.run").read_text(encoding="utf-8").split("\n")[0].endswith(" mine")
    said = printed(capfd, "ranking", "evaluate", tmp_path / "b.run", "--set", made)
    assert "relevance ≥ 5\nsystem  P@1" in said
    assert "relevance as it is" in said
    assert "share a letter" not in said


def test_the_keys_of_json(made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capfd, "ranking", "train", "bm25", made, "-o", tmp_path / "model", "--json"))
    assert list(found) == ["output", "ranker", "settings", "language", "splits", "dev", "report"]
    assert found["splits"] == {"train": 60, "dev": 20, "test": 20}
    assert set(found["dev"]) == {"measure", "value", "contexts"}
    found = json.loads(
        printed(capfd, "ranking", "run", tmp_path / "model", made, "-o", tmp_path / "a.run", "--split", "all", "--json")
    )
    assert found == {"output": str(tmp_path / "a.run"), "contexts": 100, "lines": 500}
    found = json.loads(printed(capfd, "ranking", "evaluate", tmp_path / "a.run", "--set", made, "--json"))
    assert list(found) == ["a"]
    assert list(found["a"])[:4] == ["P@1(rel>=3)", "MAP(rel>=3)", "MRR(rel>=3)", "P@1(rel>=4)"]
    assert list(found["a"])[-1] == "nDCG@10"
    found = json.loads(printed(capfd, "ranking", "export", made, "-o", tmp_path / "out", "--cuts", "9/2,2", "--json"))
    assert found == {
        "output": str(tmp_path / "out"),
        "contexts": 20,
        "candidates": 100,
        "qrels": {"qrels-4.5.txt": found["qrels"]["qrels-4.5.txt"], "qrels-2.txt": 20},
    }


def test_several_systems_get_letters(made: Path, runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = sorted(runs.glob("*.run*"))
    said = printed(capfd, "ranking", "evaluate", *files, "--set", made, "--measures", "map", "--cuts", "4")
    means = json.loads(printed(capfd, "ranking", "evaluate", *files, "--set", made, "--measures", "map", "--json"))
    rows = [line.split() for line in said.splitlines()[3:6]]
    assert [row[:2] for row in rows] == [
        [system, f"{means[system]['MAP(rel>=4)']:.4f}"] for system in ("bm25", "length.v2", "random")
    ]
    best = max(rows, key=lambda row: row[1])
    assert "a" in best[2]
    assert {letter for row in rows for letter in row[2]} <= set("abc")
    assert "Systems that share a letter do not differ (randomised Tukey HSD, p > 0.05)." in said
    assert said == printed(capfd, "ranking", "evaluate", *files, "--set", made, "--measures", "map", "--cuts", "4")


def test_what_is_left_out_and_what_is_missing_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = write_examples(
        tmp_path / "set",
        [(example(name, relevance), "test") for name, relevance in [("a", [5, 1]), ("b", [3, 3]), ("c", [4, 2])]]
        + [(example("other", [1, 5]), "train")],
    )
    run = tmp_path / "theirs.run"
    run.write_text("a Q0 0 1 2 t\nother Q0 0 1 2 t\nb Q0 0 1 9 t\nb Q0 1 2 8 t\n\n", encoding="utf-8")
    assert main(["ranking", "evaluate", str(run), "--set", str(made), "--cuts", "3,5", "--measures", "P@1"]) == 0
    told = capfd.readouterr()
    assert [line.split() for line in told.out.splitlines()[-2:]] == [
        ["relevance", "≥", "3", "3", "0", "1"],
        ["relevance", "≥", "5", "1", "2", "0"],
    ]
    assert told.err.splitlines() == [
        "theirs: 1 of 3 contexts without an answer count as 0, 1 candidates without one as not retrieved",
        "theirs: 1 lines for contexts of other splits (first: theirs.run:2)",
        "theirs: 1 empty lines (first: theirs.run:5)",
    ]


def test_a_set_without_splits_is_divided_alike_by_all_commands(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = write_made_set(tmp_path / "set", divided=False)
    with_seed = ["--split-seed", "3"]
    printed(capfd, "ranking", "train", "length", made, "-o", tmp_path / "model", *with_seed)
    assert main(["ranking", "run", str(tmp_path / "model"), str(made), "-o", str(tmp_path / "a.run"), *with_seed]) == 0
    assert "test: 80/10/10 by prompt, with the seed 3: the set has no splits" in capfd.readouterr().err
    assert main(["ranking", "evaluate", str(tmp_path / "a.run"), "--set", str(made), "--json", *with_seed]) == 0
    assert "without an answer" not in capfd.readouterr().err
    # Another division: what was scored is among the other splits there.
    assert main(["ranking", "evaluate", str(tmp_path / "a.run"), "--set", str(made), "--split-seed", "4"]) in (0, 1)
    assert "of other splits" in capfd.readouterr().err


def test_a_run_and_an_export_are_what_trec_eval_reads(
    made: Path, runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    printed(capfd, "ranking", "export", made, "-o", tmp_path / "out")
    ours = json.loads(printed(capfd, "ranking", "evaluate", runs / "bm25.run", "--set", made, "--json"))["bm25"]
    with (runs / "bm25.run").open(encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)
    for cut in (3, 4, 5):
        with (tmp_path / "out" / f"qrels-{cut}.txt").open(encoding="utf-8") as file:
            judged = pytrec_eval.parse_qrel(file)
        theirs = pytrec_eval.RelevanceEvaluator(judged, {"map", "recip_rank", "P.1"}).evaluate(run)
        assert len(theirs) == len(judged)
        for name, measure in (("map", "MAP"), ("recip_rank", "MRR"), ("P_1", "P@1")):
            mean = sum(each[name] for each in theirs.values()) / len(theirs)
            assert ours[f"{measure}(rel>={cut})"] == pytest.approx(mean, abs=1e-9)
    # Half grades are none that trec_eval reads.
    assert not (tmp_path / "out" / "qrels.txt").exists()


def test_an_export_holds_what_is_to_be_ranked_and_nothing_of_relevance(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = example("a b", [1, 0])
    made = write_examples(tmp_path / "set", [(odd, "test"), (example("c", [float("nan"), 0]), "test")])
    said = printed(capfd, "ranking", "export", made, "-o", tmp_path / "out")
    assert "qrels-1.txt" in said
    with (tmp_path / "out" / "candidates.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert rows[0] == ["qid", "docno", "text"]
    assert [(row[0], row[2]) for row in rows[1:]] == [
        ("a%20b", "reply 0"),
        ("a%20b", "reply 1"),
        ("c", "reply 0"),
        ("c", "reply 1"),
    ]
    contexts = (tmp_path / "out" / "contexts.tsv").read_text(encoding="utf-8").splitlines()
    assert contexts == ["qid\tturn\trole\ttext", "a%20b\t0\t\tprompt", "c\t0\t\tprompt"]
    judged = [line.split() for line in (tmp_path / "out" / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    assert [(line[0], line[3]) for line in judged] == [("a%20b", "1"), ("a%20b", "0"), ("c", "0")]
    assert (tmp_path / "out" / "qrels-1.txt").read_text(encoding="utf-8").count("\n") == 2
    assert read_manifest(tmp_path / "out", "ranking-export").licence == "CC0-1.0"
    # What an outside system makes of the candidates enters the table.
    (tmp_path / "theirs").write_text("".join(f"{row[0]} Q0 {row[1]} 0 {len(row[2])} t\n" for row in rows[1:]))
    printed(capfd, "ranking", "evaluate", tmp_path / "theirs", "--set", made)


@pytest.mark.parametrize("ranker", ["bm25", "cosine", "length", "random"])
def test_another_process_scores_the_same(made: Path, runs: Path, tmp_path: Path, ranker: str) -> None:
    model = runs / ranker
    if not model.exists():
        assert main(["ranking", "train", ranker, str(made), "-o", str(model)]) == 0
    assert main(["ranking", "run", str(model), str(made), "-o", str(tmp_path / "here.run")]) == 0
    program = [sys.executable, "-m", "tertulia.cli.main", "ranking", "run", model, made, "-o", tmp_path / "there.run"]
    subprocess.run(list(map(str, program)), check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert (tmp_path / "here.run").read_bytes() == (tmp_path / "there.run").read_bytes()


def test_wrong_usage_is_told_in_a_line(
    made: Path, runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", tmp_path / "out"]
    assert "expected NAME=VALUE" in misused(capfd, "ranking", "train", "bm25", made, *out, "--setting", "b")
    assert "expected one number" in misused(capfd, "ranking", "train", "bm25", made, *out, "--cut", "1,2")
    assert "is no relevance" in failed(capfd, "ranking", "train", "bm25", made, *out, "--cut", "high")
    assert "there is no ranker 'bm26'" in failed(capfd, "ranking", "train", "bm26", made, *out)
    assert "the language is 'klingon'" in failed(capfd, "ranking", "train", "bm25", made, *out, "--language", "klingon")
    assert "is a ranking-set; expected a ranker" in failed(capfd, "ranking", "run", made, made, *out)
    assert "is a ranker; expected a ranking-set" in failed(capfd, "ranking", "run", runs / "bm25", runs / "bm25", *out)
    assert "has no split 'held'" in failed(capfd, "ranking", "run", runs / "bm25", made, *out, "--split", "held")
    assert "without spaces" in misused(capfd, "ranking", "run", runs / "bm25", made, *out, "--tag", "my run")
    assert "exists already" in failed(capfd, "ranking", "run", runs / "bm25", made, "-o", runs / "bm25.run")
    table = ["ranking", "evaluate", runs / "bm25.run", "--set", made]
    assert "is no measure" in failed(capfd, *table, "--measures", "?")
    assert "there is no measure 'BLEU'" in failed(capfd, *table, "--measures", "BLEU")
    assert "is no relevance" in failed(capfd, *table, "--cuts", "3,,5")
    assert "two runs are of the system 'bm25'" in misused(capfd, *table, runs / "bm25.run")
    assert "there is nothing at this path" in failed(capfd, *table, runs / "none.run")
    assert not list(tmp_path.iterdir())


def test_a_damaged_model_is_told_in_a_line(
    runs: Path, made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    with RankingSet(made):
        assert main(["ranking", "train", "bm25", str(made), "-o", str(model)]) == 0
    capfd.readouterr()
    largest = max(
        (file for file in model.iterdir() if file.name != "manifest.json"), key=lambda file: file.stat().st_size
    )
    largest.write_bytes(largest.read_bytes()[:-1])
    assert "its manifest says" in failed(capfd, "ranking", "run", model, made, "-o", tmp_path / "a.run")
    largest.unlink()
    assert "the file is not there" in failed(capfd, "ranking", "run", model, made, "-o", tmp_path / "a.run")
    assert not (tmp_path / "a.run").exists()
