"""``tertulia ranking``, as a user meets it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tertulia.artefact import Manifest, create
from tertulia.cli.main import main
from tertulia.corpus.exchange import Report
from tertulia.crawl.table import SCHEMA, TABLE
from tertulia.formats.importing import import_corpus

from ..ranking.corpora import corpus_of, dialogue, generated
from .test_commands import failed, printed
from .test_corpus_parts import misused


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("corpus") / "beer", generated(40))


def test_a_set_is_built_and_shown(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "ranking", "build", corpus, "-o", tmp_path / "set", "--negatives", "3", "--seed", "2")
    assert f"{tmp_path / 'set'}: " in said
    assert "distinct responses to draw from" in said
    assert [line.split()[0] for line in said.splitlines()[4:6]] == ["test", "train"]
    assert "dialogues too short for a context" in said
    assert "contexts" in printed(capfd, "inspect", tmp_path / "set")


def test_the_keys_of_json(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        printed(
            capfd, "ranking", "build", corpus, "-o", tmp_path / "set", "--from", "all", "--negatives", "60", "--json"
        )
    )
    assert list(found) == ["output", "counts", "pools", "report"]
    assert set(found["counts"]) == {"contexts", "candidates"}
    assert [pool["split"] for pool in found["pools"]] == ["test", "train"]
    assert {pool["domain"] for pool in found["pools"]} == {None}
    assert sum(pool["contexts"] for pool in found["pools"]) == found["counts"]["contexts"]
    assert found["report"]["noted"]["dialogues too short for a context"]["count"] > 0
    short = found["report"]["noted"]["negatives that there were not"]["count"]
    assert found["counts"]["candidates"] == 61 * found["counts"]["contexts"] - short


def test_a_corpus_without_splits_is_told_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    texts = ["one", "two", "three", "four"]
    path = corpus_of(tmp_path / "corpus", [dialogue(f"d{i}", [f"{text} {i}" for text in texts]) for i in range(3)])
    assert main(["ranking", "build", str(path), "-o", str(tmp_path / "set"), "--workers", "1"]) == 0
    assert "the corpus has no splits" in capfd.readouterr().err


def test_from_mantis_sheets_to_rows(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import_corpus("mantis", str(data / "mantis" / "labels.txt"), tmp_path / "corpus", Report()).close()
    printed(
        capfd, "ranking", "build", tmp_path / "corpus", "-o", tmp_path / "set", "--negatives", "50", "--from", "all"
    )
    printed(capfd, "corpus", "export", "ranking-tsv", tmp_path / "set", "-o", tmp_path / "out")
    [lookup, table] = sorted((tmp_path / "out").iterdir())
    if lookup.suffix == ".tsv":
        lookup, table = table, lookup
    ids = lookup.read_text(encoding="utf-8").splitlines()
    # 101 dialogues of alternating turns: a context for each answer after the first.
    assert len(ids) == 51 * 136
    assert ids[0] == ids[50]
    with table.open(encoding="utf-8", newline="") as rows:
        labels = [row[0] for row in rows if row[:2] in ("0\t", "1\t")]
    assert labels[:52] == ["1", *["0"] * 50, "1"]


def test_pages_of_a_crawl(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answers = {name: f"see http://pages.example/{name}#part for more" for name in "abcd"}
    threads = [dialogue(f"d{name}", ["question", "malt", "really", answer]) for name, answer in answers.items()]
    corpus_of(tmp_path / "corpus", threads)
    rows = [dict.fromkeys(SCHEMA.names) for _ in "abc"]
    for name, row in zip("abc", rows, strict=True):
        row |= {"url": f"http://pages.example/{name}", "outcome": "ok", "text": f"page {name}" if name != "c" else None}
    with create(tmp_path / "crawl", Manifest("crawl")) as draft:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), draft.directory / TABLE)
    arguments = ["ranking", "build", tmp_path / "corpus", "-o", tmp_path / "set", "--target", "documents"]
    said = printed(capfd, *arguments, "--documents", tmp_path / "crawl")
    assert f"{tmp_path / 'set'}: 2 contexts, 4 candidates" in said
    assert "2  contexts without a crawled page in the true response  (first: dc-3)" in said
    shown = json.loads(printed(capfd, "corpus", "show", tmp_path / "set", "da-3", "--json"))
    assert [(each["text"], each["relevance"]) for each in shown["candidates"]] == [("page a", 1.0), ("page b", 0.0)]
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in manifest["inputs"]] == ["corpus", "crawl"]


def test_errors_are_one_line(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "set"
    assert "there is nothing at this path" in failed(capfd, "ranking", "build", tmp_path / "none", "-o", out)
    assert "is not an artefact" in failed(capfd, "ranking", "build", tmp_path, "-o", out)
    assert "no crawl is named (--documents CRAWL)" in failed(
        capfd, "ranking", "build", corpus, "-o", out, "--target", "documents"
    )
    assert "there is nothing at this path" in failed(
        capfd, "ranking", "build", corpus, "-o", out, "--target", "documents", "--documents", tmp_path / "none"
    )
    assert "the pool has 5 responses" in failed(capfd, "ranking", "build", corpus, "-o", out, "--pool", "5")
    assert "no dialogue of the split dev" in failed(capfd, "ranking", "build", corpus, "-o", out, "--split", "dev")
    assert "--from" in misused(capfd, "ranking", "build", corpus, "-o", out, "--from", "somewhere")
    assert "--negatives" in misused(capfd, "ranking", "build", corpus, "-o", out, "--negatives", "-1")
    assert not out.exists()


def test_help_has_an_example(capfd: pytest.CaptureFixture[str]) -> None:
    said = printed(capfd, "ranking", "build", "--help")
    assert "tertulia ranking build" in said
    assert "--negatives 50 --from all" in " ".join(said.split())
