"""Artefacts: whole or not there, and what their manifests may say."""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tertulia import artefact
from tertulia.artefact import MANIFEST, Manifest, create, digest_of_path, read_manifest, verify, write_atomically
from tertulia.cli.main import main
from tertulia.errors import ArtefactError, InputError

from .conftest import REPOSITORY


def make(path: Path, content: str = "one", *, kind: str = "corpus", overwrite: bool = False, **fields: Any) -> Manifest:
    manifest = Manifest(kind, **fields)
    with create(path, manifest, overwrite=overwrite) as draft:
        (draft.directory / "sub").mkdir()
        (draft.directory / "sub" / "data.txt").write_text(content)
        (draft.directory / "note.txt").write_text("note")
    return manifest


def hidden(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("."))


def alter(path: Path, **changes: Any) -> None:
    value = json.loads((path / MANIFEST).read_text())
    (path / MANIFEST).write_text(json.dumps(value | changes))


def test_what_is_written_is_what_the_manifest_says(tmp_path: Path) -> None:
    made = make(tmp_path / "a", seed=7, counts={"dialogues": 1}, licence="CC0", options={"x": [1, None]})
    assert sorted(made.files) == ["note.txt", "sub/data.txt"]
    assert made.files["sub/data.txt"].bytes == 3
    assert verify(tmp_path / "a", "corpus") == made
    assert hidden(tmp_path) == []
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a" / MANIFEST).stat().st_mode & 0o777 == 0o644


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "deeper/folder/b"):
        make(tmp_path / name, seed=1, options={"b": 1, "a": "ü"})
    first, second = ((tmp_path / name / MANIFEST).read_bytes() for name in ("a", "deeper/folder/b"))
    assert first == second
    assert str(tmp_path).encode() not in first


def test_a_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with create(tmp_path / "a", Manifest("corpus")) as draft:
            (draft.directory / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_failing_writer_leaves_the_old(tmp_path: Path) -> None:
    old = make(tmp_path / "a")
    with pytest.raises(RuntimeError), create(tmp_path / "a", Manifest("corpus"), overwrite=True):
        raise RuntimeError
    assert verify(tmp_path / "a") == old
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_overwrite_replaces_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool) -> None:
    if not exchange:
        monkeypatch.setattr(artefact, "_exchange", lambda _one, _other: False)
    make(tmp_path / "a", "one")
    with pytest.raises(ArtefactError, match=r"exists already \(--overwrite replaces it\)"):
        make(tmp_path / "a", "two")
    new = make(tmp_path / "a", "two", overwrite=True)
    assert verify(tmp_path / "a") == new
    assert (tmp_path / "a" / "sub" / "data.txt").read_text() == "two"
    assert hidden(tmp_path) == []


def test_what_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="exists already"), create(tmp_path / "a", Manifest("corpus")):
        other = make(tmp_path / "a", "theirs")
    assert verify(tmp_path / "a") == other


def test_only_an_artefact_of_the_same_kind_is_replaced(tmp_path: Path) -> None:
    make(tmp_path / "bot", kind="bot")
    with pytest.raises(ArtefactError, match="is a bot, and a corpus is to be written, so it is left alone"):
        make(tmp_path / "bot", kind="corpus", overwrite=True)
    foreign = tmp_path / "browser-extension"
    foreign.mkdir()
    (foreign / MANIFEST).write_text('{"manifest_version": 3, "name": "x"}')
    with pytest.raises(ArtefactError, match="is not an artefact of Tertulia, so it is left alone"):
        make(foreign, overwrite=True)
    full = tmp_path / "photos"
    full.mkdir()
    (full / "one.jpg").touch()
    with pytest.raises(ArtefactError, match="is not an artefact of Tertulia"):
        make(full, overwrite=True)
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(ArtefactError, match="is a file; expected the path of a directory"):
        make(file, overwrite=True)
    assert file.read_text() == "precious"


def test_a_damaged_artefact_can_be_replaced(tmp_path: Path) -> None:
    make(tmp_path / "a")
    (tmp_path / "a" / MANIFEST).write_text('{"kind": "cor')
    new = make(tmp_path / "a", "two", overwrite=True)
    assert verify(tmp_path / "a") == new


def test_an_empty_directory_and_a_link_may_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    make(tmp_path / "empty")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    new = make(tmp_path / "link", "two", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert verify(tmp_path / "empty") == new
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    with pytest.raises(ArtefactError, match="is a link to nothing"):
        make(tmp_path / "dangling")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    make(Path())
    monkeypatch.chdir(tmp_path)
    assert verify(tmp_path / "here").kind == "corpus"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("place", ["file/below", "/proc/no/such/place", "/dev/null/x"])
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArtefactError, match="cannot be written: "):
        make(tmp_path / place)


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    dead, other, living = tmp_path / ".a.xyz.part", tmp_path / ".a.b.xyz.part", tmp_path / ".a.abc.part"
    mine = tmp_path / ".a.part"
    for folder in (dead, other, living, mine):
        folder.mkdir()
        (folder / "half").touch()
    descriptor = os.open(living, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    make(tmp_path / "a")
    assert hidden(tmp_path) == [".a.abc.part", ".a.b.xyz.part", ".a.part"]
    os.close(descriptor)
    make(tmp_path / "a", overwrite=True)
    assert hidden(tmp_path) == [".a.b.xyz.part", ".a.part"]


def test_an_old_artefact_left_between_two_renames_is_put_back(tmp_path: Path) -> None:
    old = make(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / ".a.1234.old")
    with pytest.raises(RuntimeError), create(tmp_path / "a", Manifest("corpus"), overwrite=True):
        raise RuntimeError
    assert verify(tmp_path / "a") == old
    assert hidden(tmp_path) == []


def test_two_writers_at_once_leave_one_whole_artefact(tmp_path: Path) -> None:
    with create(tmp_path / "a", Manifest("corpus")) as one:
        (one.directory / "one").touch()
        two = make(tmp_path / "a", "two")
        (tmp_path / "a").rename(tmp_path / "b")
    assert sorted(verify(tmp_path / "a").files) == ["one"]
    assert verify(tmp_path / "b") == two


WRITE = """
import sys
from tertulia.cli.main import main
from pathlib import Path
sources, output, overwrite = sys.argv[1:3], sys.argv[3], sys.argv[4] == "yes"
main(["corpus", "import", "jsonl", sources[0], "-o", output + "-warm", "--overwrite", "--json"])
print("ready", file=sys.stderr, flush=True)
for number in range(1_000_000):
    target = [output, "--overwrite"] if overwrite else [f"{output}{number}"]
    code = main(["corpus", "import", "jsonl", sources[number % 2], "-o", *target, "--json"])
    assert code == 0
"""


def run_and_kill(arguments: list[str], after: float) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == b"ready\n", line + process.stderr.read()
    time.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("sources")
    paths = []
    for name in ("one", "two"):
        lines = (
            {
                "id": f"{number:05d}",
                "utterances": [{"speaker": "A", "text": f"{name} {number} {turn}"} for turn in range(8)],
            }
            for number in range(1_500)
        )
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        paths.append(str(path))
    return paths


def test_kill_9_leaves_no_artefact_or_a_whole_one(tmp_path: Path, sources: list[str]) -> None:
    chance = random.Random(1)
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        run_and_kill([*sources, str(folder / "c"), "no"], chance.uniform(0.01, 0.4))
        made = [path for path in folder.iterdir() if not path.name.startswith(".")]
        for path in made:
            assert verify(path, "corpus").counts["dialogues"] == 1_500
        assert len(hidden(folder)) <= 1
        for leftover in hidden(folder):
            make(folder / leftover.split(".")[1], overwrite=True)
        assert hidden(folder) == []


def test_kill_9_while_overwriting_leaves_the_old_or_the_new(tmp_path: Path, sources: list[str]) -> None:
    chance = random.Random(2)
    target = tmp_path / "c"
    assert main(["corpus", "import", "jsonl", sources[0], "-o", str(target), "--json"]) == 0
    for _ in range(6):
        run_and_kill([*sources, str(target), "yes"], chance.uniform(0.01, 0.4))
        if not target.exists():
            # Only where the system cannot exchange two names: the old one waits beside it for the next writer.
            [old] = [name for name in hidden(tmp_path) if name.endswith(".old")]
            verify(tmp_path / old, "corpus")
            continue
        manifest = verify(target, "corpus")
        assert manifest.counts == {"dialogues": 1_500, "utterances": 12_000, "annotations": 0}
        assert manifest.inputs[0]["name"] in {"one.jsonl", "two.jsonl"}
    make(tmp_path / "c", overwrite=True)
    assert hidden(tmp_path) == []


def test_a_change_of_any_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    make(path)
    data = path / "sub" / "data.txt"
    data.write_text("two")
    verify(path, digests=False)
    with pytest.raises(ArtefactError, match=r"has the digest .*; its manifest says .*it was changed or damaged"):
        verify(path)
    data.write_text("longer")
    with pytest.raises(ArtefactError, match="has 6 bytes; its manifest says 3"):
        verify(path, digests=False)
    data.unlink()
    with pytest.raises(ArtefactError, match="is in the manifest, but the file is not there"):
        verify(path, digests=False)


def test_editable_files_may_differ_but_not_be_gone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    make(path, editable=["note.txt"])
    (path / "note.txt").write_text("another note, by hand")
    verify(path)
    (path / "note.txt").unlink()
    with pytest.raises(ArtefactError, match="the file is not there"):
        verify(path)


def test_a_part_answers_for_its_own_files(tmp_path: Path) -> None:
    with create(tmp_path / "bot", Manifest("bot")) as draft:
        (draft.directory / "own.txt").write_text("own")
        make(draft.directory / "bank", kind="matching-index")
    manifest = verify(tmp_path / "bot", "bot")
    assert list(manifest.files) == ["own.txt"]
    assert manifest.parts == {"bank": read_manifest(tmp_path / "bot" / "bank").digest}
    make(tmp_path / "bot" / "bank", "grown", kind="matching-index", overwrite=True)
    verify(tmp_path / "bot")
    (tmp_path / "bot" / "bank" / "note.txt").write_text("lost")
    with pytest.raises(ArtefactError, match="digest"):
        verify(tmp_path / "bot")


def test_the_digest_stands_for_files_and_parts(tmp_path: Path) -> None:
    one, same, two = (make(tmp_path / name, text) for name, text in (("a", "x"), ("b", "x"), ("c", "y")))
    assert one.digest == same.digest != two.digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a manifest of Tertulia"),
        (b"not json", "is not a manifest of Tertulia"),
        (b"\xff\xfe", "is not a manifest of Tertulia"),
        (b"[1, 2]", "it names no kind"),
        (b"{}", "it names no kind"),
        (b'{"kind": 5}', "its kind holds '5'"),
        (b'{"kind": "corpus", "schema": 2}', "its schema is 2, and this version of Tertulia reads 1"),
        (b'{"kind": "corpus", "schema": "x"}', "its schema is 'x'"),
        (b'{"kind": "corpus", "files": []}', "its files holds"),
        (b'{"kind": "corpus", "files": {"a": 5}}', "its entry of 'a' has no bytes and sha256"),
        (b'{"kind": "corpus", "files": {"a": {"bytes": Infinity, "sha256": "x"}}}', "its entry of 'a'"),
        (b'{"kind": "corpus", "options": 5}', "its options holds '5'"),
        (b'{"kind": "corpus", "inputs": [5]}', "its inputs are not objects"),
        (b'{"kind": "corpus", "command": [5]}', "its command holds something that is not text"),
        (b"[" * 100_000, "is not a manifest of Tertulia"),
    ],
)
def test_a_manifest_that_is_none_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(ArtefactError, match=message) as caught:
        read_manifest(tmp_path)
    assert "\n" not in caught.value.one_line()


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", "", ".", "./.", "a//b", "a/", "./a"])
@pytest.mark.parametrize("where", ["files", "parts"])
def test_a_manifest_names_nothing_outside(tmp_path: Path, name: str, where: str) -> None:
    make(tmp_path / "a")
    entry: Any = {"bytes": 1, "sha256": "x"} if where == "files" else "x"
    alter(tmp_path / "a", **{where: {name: entry}})
    with pytest.raises(ArtefactError, match="it names a file outside the artefact"):
        verify(tmp_path / "a")


def test_what_a_later_version_adds_is_passed_over(tmp_path: Path) -> None:
    made = make(tmp_path / "a")
    alter(tmp_path / "a", colour="blue")
    assert verify(tmp_path / "a") == made


def test_kinds_and_paths_are_told_apart(tmp_path: Path) -> None:
    make(tmp_path / "a", kind="bot")
    with pytest.raises(ArtefactError, match="is a bot; expected a corpus"):
        read_manifest(tmp_path / "a", "corpus")
    with pytest.raises(ArtefactError, match=r"has no manifest\.json, so it is not an artefact"):
        read_manifest(tmp_path)
    with pytest.raises(ArtefactError, match=r"has no manifest\.json"):
        read_manifest(tmp_path / "a" / "note.txt")
    with pytest.raises(InputError, match="there is nothing at this path"):
        read_manifest(tmp_path / "b")


def test_a_report_may_name_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    make(tmp_path / "a", report={"skipped": {"bad": {"count": 1, "first": name}}})
    assert read_manifest(tmp_path / "a").report["skipped"]["bad"]["first"] == name
    (tmp_path / "a" / MANIFEST).read_text(encoding="utf-8")


def test_the_digest_of_an_input_is_of_names_and_contents(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "one.csv").write_text("1")
    (source / "sub" / "two.csv").write_bytes(b"22")
    (source / os.fsdecode(b"\xff.csv")).touch()
    first = digest_of_path(source)
    assert first["name"] == "source"
    assert first["bytes"] == 3
    (source / ".hidden").write_text("no input")
    (source / ".git").mkdir()
    (source / ".git" / "config").write_text("no input")
    assert digest_of_path(source) == first
    (source / MANIFEST).write_text("{}")
    with_foreign_manifest = digest_of_path(source)
    assert with_foreign_manifest["sha256"] != first["sha256"]
    assert with_foreign_manifest["bytes"] == 5
    make(source / "output")
    assert digest_of_path(source, without=source / "output") == with_foreign_manifest
    (source / "one.csv").rename(source / "three.csv")
    assert digest_of_path(source, without=source / "output")["sha256"] != with_foreign_manifest["sha256"]
    assert digest_of_path(source / "three.csv")["bytes"] == 1
    artefact_digest = digest_of_path(source / "output")
    assert artefact_digest["kind"] == "corpus"
    assert artefact_digest["sha256"] == read_manifest(source / "output").digest


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"

    def fail(_source: object, _target: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        write_atomically(path, b"three")
    assert path.read_bytes() == b"two"
    assert hidden(tmp_path) == []
