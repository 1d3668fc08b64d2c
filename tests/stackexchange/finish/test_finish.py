"""Finishing from files of threads: the same bytes however they lie, in row groups that a corpus has, by one process or several."""

import hashlib
import os
import random
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tertulia.artefact import Manifest, create
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.model import Dialogue, Record
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.corpus.tables import RECORDS
from tertulia.errors import StoreError
from tertulia.stackexchange.finish import finish as finishing
from tertulia.stackexchange.finish import pool
from tertulia.stackexchange.finish.dialogue import SiteNames
from tertulia.stackexchange.finish.finish import finish
from tertulia.stackexchange.options import BuildOptions

SITES = [SiteNames("beer", "beer.stackexchange.com"), SiteNames("wine", "wine.stackexchange.com")]
COMMENT = pa.struct(
    [
        *(("id", pa.int64()), ("created", pa.int64()), ("score", pa.int64()), ("user", pa.int64())),
        *(("person", pa.string()), ("name", pa.string()), ("licence", pa.string()), ("text", pa.string())),
    ]
)
_TEXT = {"seeker", "provider", "seeker_name", "provider_name"}
_POST = ("created", "score", "user", "name", "title", "tags", "licence", "body")


def kind_of(name: str) -> Any:
    special = {"site": pa.int32(), "mask": pa.int32(), "survives": pa.bool_(), "seeker_last": pa.bool_()}
    if name == "comments":
        return pa.list_(COMMENT)
    if name in _TEXT or name[2:] in ("name", "title", "tags", "licence", "body"):
        return pa.string()
    return special.get(name, pa.int64())


NAMES = [
    *("site", "question", "answer", "mask", "survives", "seeker_last", "seeker", "provider", "comments", "accepted"),
    *(f"q_{name}" for name in _POST),
    *(f"a_{name}" for name in _POST if name not in ("title", "tags")),
    *("seeker_name", "provider_name"),
]
SCHEMA = pa.schema([(name, kind_of(name)) for name in NAMES])
ENDINGS = ["Thanks, that is great!", "This is terrible and wrong.", "I see."]


def row(number: int) -> dict[str, Any]:
    """A thread; every fifth is there only because its seeker has the last word."""
    question = number // 2
    said = ENDINGS[number % 3]
    comments = [
        {"id": 3, "created": 50 + number, "user": 7, "person": "7", "text": said},
        {"id": 1, "created": 40 + number, "user": 7, "person": "7", "text": f"But why {number}?"},
        {"id": 2, "created": 40 + number, "user": 8, "person": "8", "text": "See http://a.org/x"},
    ]
    found = {"site": question % 2, "question": question, "answer": 10_000 + number, "mask": 31, "survives": True}
    found |= {"seeker_last": True, "seeker": "7", "provider": "8", "comments": comments}
    if number % 5 == 4:
        return found | {"mask": 15, "survives": False, "comments": comments[:1]}
    found |= {"q_created": 1_000_000 * (question % 97), "q_body": f"<p>q {question}</p>", "q_title": "T", "q_user": 7}
    return found | {"a_created": 2_000_000, "a_body": f"<p>a {number} " + "word " * (number % 50) + "</p>", "a_user": 8}


def write_threads(folder: Path, numbers: list[int], per_file: int, per_group: int) -> list[Path]:
    folder.mkdir()
    paths = []
    for begin in range(0, len(numbers), per_file):
        paths.append(folder / f"{begin:06d}.parquet")
        rows = [row(number) for number in numbers[begin : begin + per_file]]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), paths[-1], row_group_size=per_group)
    return paths


def finished(paths: list[Path], folder: Path, workers: int = 1, **options: Any) -> tuple[Path, dict[int, int]]:
    """A corpus of the threads, and the counts of positive endings."""
    work = folder / f"work-{workers}"
    work.mkdir(parents=True, exist_ok=True)
    path = folder / "corpus"
    with create(path, Manifest("corpus"), overwrite=True) as draft:
        done = finish(SITES, paths, BuildOptions(**options), draft.directory, work, workers=workers)
        describe_tables(draft.directory, RECORDS, draft.manifest)
        draft.manifest.counts = dict(done.counts)
    return path, dict(done.positives)


def digests(corpus: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(corpus.iterdir())}


def test_what_is_written(tmp_path: Path) -> None:
    paths = write_threads(tmp_path / "t", list(range(30)), 100, 100)
    corpus, positives = finished(paths, tmp_path)
    with Corpus(corpus, check_digests=True) as opened:
        dialogues = list(opened.dialogues())
        assert [d.id for d in dialogues] == sorted(d.id for d in dialogues)
        # 0, 3, 6, ... end well, but 24 and 9 do not survive.
        assert {d.attributes["answer"] - 10_000 for d in dialogues} == {0, 3, 6, 12, 15, 18, 21, 27}
        one = opened.get("wine-1-10003")
        assert one.dialogue.texts == [
            "q 1",
            "a 3 word word word",
            "But why 3?",
            "See http://a.org/x",
            "Thanks, that is great!",
        ]
        assert opened.manifest.counts == {"dialogues": 8, "utterances": 40, "annotations": 0}
    assert positives == {31: 8, 15: 2}


def test_all_endings_pass_where_the_criterion_is_off(tmp_path: Path) -> None:
    paths = write_threads(tmp_path / "t", [n for n in range(30) if n % 5 != 4], 100, 100)
    corpus, positives = finished(paths, tmp_path, criteria=("two-users",), split=None)
    with Corpus(corpus) as opened:
        assert len(opened) == 24
        assert {d.split for d in opened.dialogues()} == {None}
    assert positives == {}


def test_each_domain_has_its_threshold(tmp_path: Path) -> None:
    paths = write_threads(tmp_path / "t", list(range(30)), 100, 100)
    corpus, _ = finished(paths, tmp_path, thresholds={"beer": 1.0})
    with Corpus(corpus) as opened:
        assert {d.domain for d in opened.dialogues()} == {"wine"}


def test_the_bytes_do_not_depend_on_rows_files_or_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finishing, "_PART_DIALOGUES", 40)
    monkeypatch.setattr(pool, "_WORTH_A_PROCESS", 1)
    numbers = list(range(400))
    corpus, positives = finished(write_threads(tmp_path / "a", numbers, 1_000, 1_000), tmp_path / "1")
    expected = digests(corpus)
    random.Random(1).shuffle(numbers)
    scattered = write_threads(tmp_path / "b", numbers, 130, 50)
    for workers in (1, 2):
        other, counted = finished(scattered[::-1], tmp_path / f"2-{workers}", workers)
        assert digests(other) == expected
        assert counted == positives
    # More than one part, or the test shows little.
    assert pq.ParquetFile(corpus / "dialogues.parquet").num_row_groups > 2


def test_it_reads_as_a_corpus_that_was_written_the_usual_way(tmp_path: Path) -> None:
    corpus, _ = finished(write_threads(tmp_path / "t", list(range(200)), 60, 30), tmp_path, criteria=())
    with Corpus(corpus) as opened:
        dialogues: list[Dialogue] = list(opened.dialogues())
    usual = write_corpus(tmp_path / "usual", (Record(d) for d in dialogues[::-1]), Manifest("corpus"))
    assert list(usual.dialogues()) == dialogues
    assert len(dialogues) == 160
    assert [d.split for d in dialogues].count("train") == pytest.approx(112, abs=4)


def test_no_dialogue_straddles_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tertulia.stackexchange.finish import writing

    monkeypatch.setattr(writing, "_GROUP_BYTES", 2_000)
    corpus, _ = finished(write_threads(tmp_path / "t", list(range(200)), 60, 30), tmp_path, criteria=())
    file = pq.ParquetFile(corpus / "utterances.parquet")
    assert file.num_row_groups > 10
    seen: set[str] = set()
    for group in range(file.num_row_groups):
        ids = set(file.read_row_group(group).column("dialogue_id").to_pylist())
        assert not ids & seen
        seen |= ids
    with Corpus(corpus) as opened:
        assert opened.get("beer-0-10001").dialogue.attributes["question"] == 0


def test_no_threads_at_all(tmp_path: Path) -> None:
    corpus, positives = finished(write_threads(tmp_path / "t", [], 1, 1) or [_empty(tmp_path)], tmp_path)
    with Corpus(corpus) as opened:
        assert list(opened.dialogues()) == []
    assert positives == {}


def _empty(folder: Path) -> Path:
    pq.write_table(SCHEMA.empty_table(), folder / "empty.parquet")
    return folder / "empty.parquet"


def test_fields_of_comments_may_stand_in_another_order(tmp_path: Path) -> None:
    rows = [row(0)]
    turned = pa.struct(list(COMMENT)[::-1])
    schema = pa.schema([pa.field(f.name, pa.list_(turned) if f.name == "comments" else f.type) for f in SCHEMA])
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "x.parquet")
    corpus, _ = finished([tmp_path / "x.parquet"], tmp_path)
    with Corpus(corpus) as opened:
        assert opened.get("beer-0-10000").dialogue.texts[-1] == "Thanks, that is great!"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "x.parquet"
    broken.write_bytes(b"PAR1 no")
    with pytest.raises(StoreError, match=r"x\.parquet"):
        finish(SITES, [broken], BuildOptions(), tmp_path, tmp_path)
    with pytest.raises(StoreError, match="nowhere"):
        finish(SITES, [tmp_path / "nowhere.parquet"], BuildOptions(), tmp_path, tmp_path)


def test_a_killed_process_ends_in_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_WORTH_A_PROCESS", 1)
    paths = write_threads(tmp_path / "t", list(range(400)), 100, 10)
    killed = False

    def kill(done: int, total: int | None) -> None:
        nonlocal killed
        if done and not killed:
            killed = True
            for child in _children():
                os.kill(child, signal.SIGKILL)

    with pytest.raises(StoreError, match="ended from outside"):
        finish(SITES, paths, BuildOptions(), tmp_path, tmp_path, workers=2, progress=kill)


def _children() -> list[int]:
    """The processes that finish, which this one has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == os.getpid() and b"spawn_main" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
