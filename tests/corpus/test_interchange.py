"""Corpora in other libraries: the rows are the records, read as they are asked for, and the document's examples run."""

import builtins
import re
import socket
import subprocess
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest, canonical_json
from tertulia.corpus import grouped
from tertulia.corpus.interchange import nested_rows
from tertulia.corpus.interchange.nested_rows import nested_schema, nested_tables
from tertulia.corpus.model import (
    Annotation,
    Candidate,
    Context,
    Dialogue,
    RankingRecord,
    Rating,
    Record,
    Turn,
    Utterance,
)
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.corpus.tables import RECORDS
from tertulia.errors import ArtefactError, ConfigurationError, MissingExtraError

from ..conftest import REPOSITORY, SMALL
from .test_tables import CORPORA

DOCUMENT = REPOSITORY / "docs" / "interchange.md"
CANDIDATES = [
    Candidate(0, "no", 0.0, [Rating("r1", 1.0), Rating("r2", 2.0)], "corpus"),
    Candidate(1, "yes", 1.0, attributes={"n": 1}),
]
RANKED = [
    RankingRecord(Context("p1", [Turn("user", "ready?")], domain="small"), CANDIDATES),
    RankingRecord(Context("p2", [Turn("user", "a"), Turn("agent", "b"), Turn(None, "c")]), [Candidate(0, "d", 0.5)]),
]


def plain_rows(records: list[Record]) -> list[dict[str, Any]]:
    """The definition: a record as the row that it should be."""
    return [
        {name: value for name, value in asdict(record.dialogue).items() if name not in ("attributes", "utterances")}
        | {
            "attributes": canonical_json(record.dialogue.attributes),
            "utterances": [
                asdict(utterance) | {"attributes": canonical_json(utterance.attributes)}
                for utterance in record.dialogue.utterances
            ],
            "annotations": [
                {name: value for name, value in asdict(note).items() if name != "dialogue_id"}
                | {"attributes": canonical_json(note.attributes)}
                for note in record.annotations
            ],
        }
        for record in sorted(records, key=lambda record: record.dialogue.id)
    ]


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    write_ranking_set(tmp_path / "rated", RANKED, Manifest("ranking-set")).close()
    return tmp_path / "rated"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: Any, **_named: Any) -> None:
        raise AssertionError("the network was asked for something")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


# -------------------------------------------------------------------------------------------------------- rows with lists


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    corpus=CORPORA,
    group_rows=st.integers(1, 6),
    at_once=st.integers(1, 3),
    groups_of=st.integers(1, 3),
)
def test_rows_with_lists_are_the_records(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Record], group_rows: int, at_once: int, groups_of: int
) -> None:
    path = tmp_path_factory.mktemp("nested") / "c"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "_GROUP_ROWS", group_rows)
        patch.setattr(nested_rows, "_SLICE", at_once)
        write_corpus(path, corpus, Manifest("corpus")).close()
        with Corpus(path) as opened:
            count = opened.to_huggingface().n_shards if corpus else 0
            given_back = list(opened.records())
        shares = [range(start, min(start + groups_of, count)) for start in range(0, count, groups_of)]
        tables = [table for share in shares for table in nested_tables(path, RECORDS, None, share)]
    rows = [row for table in tables for row in table.to_pylist()]
    assert all(table.schema == nested_schema(RECORDS) and table.num_rows <= at_once for table in tables)
    assert rows == plain_rows(given_back)


def test_rows_of_a_damaged_table_are_an_error(small_corpus: Path, tmp_path: Path) -> None:
    for table in ("dialogues", "utterances", "annotations"):
        (tmp_path / f"{table}.parquet").write_bytes((small_corpus / f"{table}.parquet").read_bytes())
    file = tmp_path / "utterances.parquet"
    data = bytearray(file.read_bytes())
    data[40] ^= 0xFF
    file.write_bytes(bytes(data))
    with pytest.raises(ArtefactError, match=r"utterances.parquet: row group 0 is damaged"):
        list(nested_tables(tmp_path, RECORDS, None, [0]))


def test_rows_of_nobody_are_an_error(tmp_path: Path) -> None:
    said = [Utterance(0, 0, "A", "hello")]
    for name, ids in (("a", ["d1", "d3"]), ("b", ["d1", "d2", "d3"])):
        write_corpus(tmp_path / name, [Record(Dialogue(i, said)) for i in ids], Manifest("corpus")).close()
    (tmp_path / "a" / "utterances.parquet").write_bytes((tmp_path / "b" / "utterances.parquet").read_bytes())
    with pytest.raises(ArtefactError, match="has rows of a record that the first table does not hold"):
        list(nested_tables(tmp_path / "a", RECORDS, None, [0]))


# ----------------------------------------------------------------------------------------------------------------- Polars


def test_polars_has_the_tables(small_corpus: Path, no_network: None) -> None:
    polars = pytest.importorskip("polars")
    with Corpus(small_corpus) as corpus:
        frames = corpus.to_polars()
    assert all(isinstance(frame, polars.LazyFrame) for frame in frames)
    assert frames.dialogues.collect()["id"].to_list() == [dialogue.id for dialogue in SMALL]
    said = frames.utterances.filter(polars.col("speaker") == "B").select("dialogue_id", "text").collect()
    assert said.rows() == [(d.id, u.text) for d in SMALL for u in d.utterances if u.speaker == "B"]
    assert frames.annotations.collect().height == 0


def test_polars_has_a_ranking_set(rated: Path) -> None:
    pytest.importorskip("polars")
    with RankingSet(rated) as opened:
        frames = opened.to_polars()
    assert frames.contexts.collect()["turns"].to_list()[0] == [{"role": "user", "text": "ready?"}]
    assert frames.candidates.collect()["relevance"].to_list() == [0.0, 1.0, 0.5]


def test_a_folder_with_a_star_in_its_name_is_that_folder(small_corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    write_corpus(tmp_path / "c*", [Record(Dialogue("one", []))], Manifest("corpus")).close()
    write_corpus(tmp_path / "cc", [Record(Dialogue("two", []))], Manifest("corpus")).close()
    with Corpus(tmp_path / "c*") as corpus:
        assert corpus.to_polars().dialogues.collect()["id"].to_list() == ["one"]


# ----------------------------------------------------------------------------------------------------- Hugging Face


def test_huggingface_streams_dialogues(small_corpus: Path, no_network: None) -> None:
    datasets = pytest.importorskip("datasets")
    with Corpus(small_corpus) as corpus:
        rows = corpus.to_huggingface()
        expected = plain_rows(list(corpus.records()))
    assert isinstance(rows, datasets.IterableDataset)
    assert [dict(row) for row in rows] == expected
    assert [row["id"] for row in rows.skip(1).take(2)] == ["films-2", "food-1"]


@pytest.mark.parametrize("what", ["utterances", "annotations"])
def test_huggingface_streams_a_table(tmp_path: Path, what: str, no_network: None) -> None:
    pytest.importorskip("datasets")
    notes = [Annotation("films-1", "rating", "ann", 1, value=4.0), Annotation("films-1", "topic", "ann", label="films")]
    write_corpus(tmp_path / "c", [Record(SMALL[0], notes), Record(SMALL[1])], Manifest("corpus")).close()
    with Corpus(tmp_path / "c") as corpus:
        expected = [row for table in corpus.batches(what) for row in table.to_pylist()]
        assert len(expected) == {"utterances": 8, "annotations": 2}[what]
        assert list(corpus.to_huggingface(what)) == expected


def test_huggingface_streams_contexts(rated: Path) -> None:
    pytest.importorskip("datasets")
    with RankingSet(rated) as opened:
        rows = list(opened.to_huggingface())
        texts = [row["text"] for row in opened.to_huggingface("candidates")]
    assert [[c["text"] for c in row["candidates"]] for row in rows] == [["no", "yes"], ["d"]]
    assert rows[0]["candidates"][0]["ratings"] == [{"annotator": "r1", "value": 1.0}, {"annotator": "r2", "value": 2.0}]
    assert texts == ["no", "yes", "d"]


def test_huggingface_of_an_empty_corpus(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    write_corpus(tmp_path / "c", [], Manifest("corpus")).close()
    with Corpus(tmp_path / "c") as corpus:
        assert [list(corpus.to_huggingface(what)) for what in (None, "utterances")] == [[], []]


def test_workers_share_the_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setattr(grouped, "_GROUP_ROWS", 3)
    given = [Record(Dialogue(f"d{n:02}", [Utterance(0, 0, "A", f"text {n}")])) for n in range(20)]
    write_corpus(tmp_path / "c", given, Manifest("corpus")).close()
    with Corpus(tmp_path / "c") as corpus:
        rows = corpus.to_huggingface()
    assert rows.n_shards == 7
    shares = [[row["id"] for row in rows.shard(num_shards=3, index=index)] for index in range(3)]
    assert sorted(chain(*shares)) == [record.dialogue.id for record in given]
    assert min(len(share) for share in shares) >= 2


def test_a_table_that_is_not_there(small_corpus: Path, rated: Path) -> None:
    with Corpus(small_corpus) as corpus, pytest.raises(ConfigurationError, match="a corpus has no table 'candidates'"):
        corpus.to_huggingface("candidates")
    with RankingSet(rated) as opened, pytest.raises(ConfigurationError, match="it has: contexts, candidates"):
        opened.to_huggingface("dialogues")


# --------------------------------------------------------------------------------------------------------------- ConvoKit


def test_convokit_has_the_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # ConvoKit leaves a file with its settings there
    pytest.importorskip("convokit", reason="ConvoKit is not installed")
    kit_attributes = {"convokit": {"speakers": {"A": {"age": 40}}}, "topic": "films"}
    given = [
        Record(Dialogue("d0", [])),
        Record(
            Dialogue(
                "d1", [Utterance(0, 0, "A", "one", "user"), Utterance(1, 1, "B", "two")], attributes=kit_attributes
            ),
            [Annotation("d1", "rating", "ann", 1, value=4.0)],
        ),
    ]
    write_corpus(tmp_path / "c", given, Manifest("corpus")).close()
    with Corpus(tmp_path / "c") as corpus:
        made = corpus.to_convokit()
    assert made.get_conversation_ids() == ["d1"]
    conversation = made.get_conversation("d1")
    assert conversation.check_integrity(verbose=False)
    assert conversation.meta.to_dict() == {"topic": "films"}
    assert made.get_speaker("A").meta.to_dict() == {"age": 40}
    first, second = conversation.iter_utterances()
    assert (first.text, first.reply_to, second.text, second.reply_to) == ("one", None, "two", first.id)
    assert first.meta.to_dict() == {"tertulia": {"role": "user"}}
    rating = {"layer": "rating", "annotator": "ann", "value": 4.0}
    assert second.meta.to_dict() == {"tertulia": {"annotations": [rating]}}


# ------------------------------------------------------------------------------------------------------------ all of them


@pytest.mark.parametrize("package", ["polars", "datasets", "convokit"])
def test_a_missing_package_is_named(small_corpus: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, *arguments, **named)

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(builtins, "__import__", without)
    method = {"polars": "to_polars", "datasets": "to_huggingface", "convokit": "to_convokit"}[package]
    extra = "convokit" if package == "convokit" else "full"
    with Corpus(small_corpus) as corpus, pytest.raises(MissingExtraError) as caught:
        getattr(corpus, method)()
    assert f"{method} needs the package '{package}', which is not installed" in caught.value.one_line()
    assert f'pip install "tertulia[{extra}]"' in caught.value.one_line()


def test_opening_a_corpus_imports_none_of_them(small_corpus: Path) -> None:
    code = (
        "import sys; from tertulia.corpus.store import Corpus; from tertulia.corpus.ranking_set import RankingSet\n"
        f"Corpus({str(small_corpus)!r}); print(sorted({{'polars', 'datasets', 'convokit', 'pandas'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def beside_talks(small_corpus: Path, rated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the corpus and the ranking set of the document's examples."""
    (rated.parent / "talks").symlink_to(small_corpus)
    monkeypatch.chdir(rated.parent)
    monkeypatch.setenv("HOME", str(rated.parent))


@pytest.mark.parametrize("library", ["polars", "datasets", "convokit"])
def test_the_examples_of_the_document_run(
    library: str, beside_talks: None, capsys: pytest.CaptureFixture[str], no_network: None
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    section = {"polars": "## Polars", "datasets": "## Hugging Face", "convokit": "## ConvoKit"}[library]
    text = DOCUMENT.read_text(encoding="utf-8").partition(section)[2].partition("\n## ")[0]
    examples = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(examples) == {"polars": 3, "datasets": 4, "convokit": 1}[library]
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, str(DOCUMENT), "exec"), names)
        assert capsys.readouterr().out.strip()


def test_every_example_is_run() -> None:
    assert len(blocks()) == 8
