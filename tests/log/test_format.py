"""The log as a corpus."""

import json
from pathlib import Path

import pytest

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Annotation
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError, StoreError
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.log.format import LogFormat
from tertulia.log.store import LogStore

from .conftest import begin, stored_turn


def test_a_log_becomes_a_corpus(database: str, tmp_path: Path) -> None:
    with LogStore(database) as store:
        begin(store, "talk")
        begin(store, "silence")
        store.append("talk", stored_turn(1, topic="films"))
        store.append(
            "talk", stored_turn(2, topic="food", component="backup", confidence=0.0, evidence={"type": "line"})
        )
        store.rate("talk", 2, "grade", 4)
        store.rate("talk", 2, "thumb", 1)
        store.rate("talk", 2, "thumb", None)
    report = Report()
    with import_corpus("log", database, tmp_path / "corpus", report) as corpus:
        assert len(corpus) == 1
        record = corpus.get("talk")
    assert report.to_json()["skipped"] == {"conversations without a turn": {"count": 1, "first": "silence"}}
    dialogue = record.dialogue
    assert dialogue.domain == "food"
    assert dialogue.attributes == {"bot": "small", "bot_digest": "ab" * 32, "channel": "terminal"}
    assert [(u.position, u.turn, u.speaker, u.role, u.text) for u in dialogue.utterances] == [
        (0, 0, "user", "user", "question 1"),
        (1, 1, "small", "agent", "answer 1"),
        (2, 2, "user", "user", "question 2"),
        (3, 3, "small", "agent", "answer 2"),
    ]
    assert {u.sent_at for u in dialogue.utterances} == {stored_turn(1).said_at, stored_turn(2).said_at}
    components = [a for a in record.annotations if a.layer == "component"]
    assert [(a.position, a.label, a.value) for a in components] == [(1, "matching", 0.75), (3, "backup", 0.0)]
    assert components[1].attributes == {"topic": "food", "evidence": {"type": "line"}, "elapsed_ms": 1.25}
    ratings = [a for a in record.annotations if a.layer.startswith("rating.")]
    assert ratings == [Annotation("talk", "rating.grade", "user", 3, value=4.0)]


def test_the_corpus_of_a_log_goes_out_as_json_lines(database: str, tmp_path: Path) -> None:
    with LogStore(database) as store:
        begin(store)
        store.append("c1", stored_turn(1))
    import_corpus("log", database, tmp_path / "corpus", Report()).close()
    assert export_corpus("jsonl", tmp_path / "corpus", tmp_path / "log.jsonl", Report()) == 1
    [line] = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [u["text"] for u in json.loads(line)["utterances"]] == ["question 1", "answer 1"]


def test_the_manifest_of_a_log_import_keeps_no_secret(new_log: str, tmp_path: Path) -> None:
    with import_corpus("log", new_log, tmp_path / "corpus", Report()) as corpus:
        text = corpus.manifest.to_json()
    assert str(tmp_path) not in text
    with Corpus(tmp_path / "corpus") as again:
        assert again.manifest.command == ["tertulia", "corpus", "import", "log", "log.sqlite"]


@pytest.fixture
def new_log(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'log.sqlite'}"
    with LogStore(url) as store:
        begin(store)
        store.append("c1", stored_turn(1))
    return url


def test_the_log_is_read_not_written(tmp_path: Path, small_corpus: Path) -> None:
    with pytest.raises(ConfigurationError, match="is read, not written"):
        export_corpus("log", small_corpus, tmp_path / "out", Report())
    with pytest.raises(ConfigurationError, match="is read, not written"):
        LogFormat().write(iter(()), str(tmp_path / "out"), Report())


def test_a_log_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database"):
        list(LogFormat().read(str(tmp_path / "log.sqlite"), Report(), ReadOptions()))
    assert list(tmp_path.iterdir()) == []
