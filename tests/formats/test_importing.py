"""Importing and exporting, whatever the format; and that every format is documented."""

import json
import os
import threading
from pathlib import Path

import pytest

from tertulia.artefact import verify
from tertulia.corpus.exchange import Report
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.formats.registry import FORMATS

from ..conftest import REPOSITORY

LINE = json.dumps({"id": "d1", "utterances": [{"speaker": "A", "text": "hello"}]}) + "\n"


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE)
    return str(path)


def test_every_format_is_documented() -> None:
    text = (REPOSITORY / "docs" / "formats.md").read_text(encoding="utf-8")
    for name in FORMATS.names():
        assert f"\n## `{name}`" in text, f"docs/formats.md says nothing of the format {name}"


def test_an_unknown_format_is_answered_with_the_known_ones(source: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no format 'cvs'; there are: ccpe, chat-jsonl, "):
        import_corpus("cvs", source, tmp_path / "c", Report())
    with pytest.raises(ConfigurationError, match="there is no format 'cvs'"):
        export_corpus("cvs", tmp_path / "c", tmp_path / "out", Report())
    assert not (tmp_path / "c").exists()


def test_what_exists_is_not_overwritten_unasked(source: str, tmp_path: Path) -> None:
    import_corpus("jsonl", source, tmp_path / "c", Report()).close()
    with pytest.raises(ArtefactError, match=r"exists already \(--overwrite replaces it\)"):
        import_corpus("jsonl", source, tmp_path / "c", Report())
    import_corpus("jsonl", source, tmp_path / "c", Report(), overwrite=True).close()
    verify(tmp_path / "c", "corpus")


def test_the_manifest_says_from_what_and_how(source: str, tmp_path: Path) -> None:
    with import_corpus("jsonl", source, tmp_path / "c", Report(), skip_bad=True) as corpus:
        manifest = corpus.manifest
    assert manifest.command == ["tertulia", "corpus", "import", "jsonl", "a.jsonl"]
    assert manifest.options == {"skip_bad": True, "drop_duplicates": False}
    assert [(i["name"], i["bytes"]) for i in manifest.inputs] == [("a.jsonl", len(LINE))]
    assert manifest.counts == {"dialogues": 1, "utterances": 1, "annotations": 0}
    assert manifest.details["format"] == "jsonl"


def test_progress_adds_up_to_the_bytes_of_the_source(source: str, tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    import_corpus("jsonl", source, tmp_path / "c", Report(), progress=lambda *step: steps.append(step)).close()
    assert sum(done for done, _ in steps) == len(LINE)
    assert {total for _, total in steps} == {len(LINE)}


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_text(LINE))
    feeder.start()
    with import_corpus("jsonl", str(pipe), tmp_path / "c", Report()) as corpus:
        assert len(corpus) == 1
        assert corpus.manifest.inputs == []
    feeder.join()


def test_a_source_with_a_foreign_manifest_is_only_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.jsonl").write_text(LINE)
    (folder / "manifest.json").write_text('{"files": "of somebody else"}')
    with import_corpus("jsonl", str(folder), tmp_path / "c", Report()) as corpus:
        assert len(corpus) == 1


def test_a_failed_import_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINE * 2)
    with pytest.raises(InputError, match="stands here again"):
        import_corpus("jsonl", str(tmp_path / "a.jsonl"), tmp_path / "c", Report())
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_an_export_reads_only_what_is_whole(source: str, tmp_path: Path) -> None:
    import_corpus("jsonl", source, tmp_path / "c", Report()).close()
    file = tmp_path / "c" / "dialogues.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(ArtefactError, match="has the digest"):
        export_corpus("jsonl", tmp_path / "c", tmp_path / "out.jsonl", Report())
    assert not (tmp_path / "out.jsonl").exists()
