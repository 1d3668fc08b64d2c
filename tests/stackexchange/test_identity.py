"""The same dumps and options give the same bytes: run again, with other workers, engines and sources, and after a kill."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tertulia.cli.main import main
from tests.log.conftest import environment
from tests.stackexchange.dumps import answer, comment, question, write_dump
from tests.stackexchange.spark_cluster import Cluster

THREADS = 300
TEXTS = [
    "Thanks, that is great!",
    "Which one?",
    "See http://pot.example/lid.",
    "I hate that.",
    "caf\u00e9 \U0001f375",
    "Edit: no.",
]
BODIES = [
    '<p>See <a href="https://pot.example/">the pot</a>.</p>\n\n<pre><code>boil()\n</code></pre>',
    "<p>Green &amp; black</p><ul><li>one</li><li>two</li></ul>",
    "<blockquote><p>steep</p></blockquote>",
]


def made_up(folder: Path, seed: int) -> Path:
    """A dump of some hundred threads between few people, with gaps, ties in time, and ids in no order."""
    chance = random.Random(seed)
    posts: list[dict[str, Any]] = []
    comments: list[dict[str, Any]] = []
    for number in range(10, 10 * THREADS, 10):
        day = f"20{chance.randrange(10, 20)}-0{chance.randrange(1, 10)}-11"
        asker, answerer = chance.sample([1, 2, 3, 4, None], 2)
        posts.append(
            question(number, asker, chance.choice(BODIES), at=day, OwnerDisplayName=chance.choice([None, "Ann"]))
        )
        for place in range(1, 1 + chance.randrange(3)):
            posts.append(answer(number + place, number, answerer, chance.choice(BODIES[:2]), at=day))
            for turn in range(chance.randrange(5)):
                user = (asker, answerer)[turn % 2] if chance.random() < 0.9 else 5
                at = f"{day}T1{turn if chance.random() < 0.8 else 0}:00:00"
                comments.append(comment(len(comments), number + place, user, chance.choice(TEXTS), at=at))
    chance.shuffle(posts)
    chance.shuffle(comments)
    users = [{"Id": number, "DisplayName": f"Person {number}"} for number in range(1, 5)]
    votes = [
        {"Id": n, "PostId": chance.randrange(10 * THREADS), "VoteTypeId": chance.choice([2, 4, 12])} for n in range(200)
    ]
    return write_dump(folder, posts, comments, users, votes)


def digests(corpus: Path) -> dict[str, str]:
    """The SHA-256 of each file, which for the tables are those that the manifest states."""
    files = {
        str(file.relative_to(corpus)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in corpus.rglob("*")
        if file.is_file()
    }
    stated = json.loads((corpus / "manifest.json").read_text())["files"]
    for name, about in stated.items():
        assert about["sha256"] == files[name]
    assert len(files) == len(stated) + 1
    return files


def build(sources: Sequence[Path], output: Path, *options: object) -> dict[str, str]:
    words = ["stackexchange", "build", *sources, "-o", output, "--cache", output.with_suffix(".cache"), *options]
    assert main([str(word) for word in words]) == 0
    return digests(output)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dumps")
    return [made_up(folder / "tea.meta_20200101", 1), made_up(folder / "coffee.stackexchange.com", 2)]


@pytest.fixture(scope="module")
def expected(sources: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one worker makes of the two dumps."""
    corpus = tmp_path_factory.mktemp("expected") / "corpus"
    found = build(sources, corpus, "--workers", 1)
    counts = json.loads((corpus / "manifest.json").read_text())["counts"]
    assert counts["dialogues"] > 30
    return found


def test_another_run_and_one_that_has_parsed_already(
    sources: list[Path], expected: dict[str, str], tmp_path: Path
) -> None:
    assert build(sources, tmp_path / "a", "--workers", 1, "--no-keep") == expected
    assert build(sources, tmp_path / "b", "--workers", 1) == expected
    assert build(sources, tmp_path / "b", "--workers", 1, "--overwrite") == expected
    # Other criteria between do not rub off.
    assert build(sources, tmp_path / "b", "--workers", 1, "--overwrite", "--criteria", "none") != expected
    assert build(sources, tmp_path / "b", "--workers", 1, "--overwrite") == expected


@pytest.mark.parametrize("workers", [2, 3])
def test_other_workers(workers: int, sources: list[Path], expected: dict[str, str], tmp_path: Path) -> None:
    assert build(sources, tmp_path / "corpus", "--workers", workers) == expected


def test_the_dumps_in_another_order(sources: list[Path], expected: dict[str, str], tmp_path: Path) -> None:
    assert build(sources[::-1], tmp_path / "corpus", "--workers", 1) == expected


def test_archives(sources: list[Path], expected: dict[str, str], tmp_path: Path) -> None:
    """One archive with all tables in a folder, and one archive a table."""
    py7zr = pytest.importorskip("py7zr")
    whole = tmp_path / "tea.meta_20200101.7z"
    with py7zr.SevenZipFile(whole, "w") as archive:
        archive.writeall(sources[0], sources[0].name)
    parts = []
    for file in sorted(sources[1].iterdir()):
        parts.append(tmp_path / f"{sources[1].name}-{file.stem}.7z")
        with py7zr.SevenZipFile(parts[-1], "w") as archive:
            archive.write(file, file.name)
    assert build([whole, *parts], tmp_path / "corpus", "--workers", 1) == expected


@pytest.fixture
def small_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is small is done in few parts, and leaves room for the other processes of a test machine."""
    settings = tmp_path / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text("spark.executor.memory 512m\nspark.sql.shuffle.partitions 3\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(settings))


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("small_executors")
def test_spark_on_a_cluster_of_two(
    sources: list[Path], expected: dict[str, str], spark_cluster: Cluster, tmp_path: Path
) -> None:
    found = build(sources, tmp_path / "corpus", "--workers", 2, "--engine", "spark", "--master", spark_cluster.url)
    assert found == expected


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("spark")
def test_killed_again_and_again(sources: list[Path], expected: dict[str, str], tmp_path: Path) -> None:
    """Whenever it is killed it leaves no corpus, and the next goes on."""
    corpus = tmp_path / "corpus"
    program = "import sys; from tertulia.cli.main import main; sys.exit(main())"
    words = ["stackexchange", "build", *sources, "-o", corpus, "--cache", corpus.with_suffix(".cache"), "--workers", 2]
    command = [sys.executable, "-c", program, *map(str, words)]
    begun = time.monotonic()
    spare = [*command[:-5], str(tmp_path / "spare"), "--cache", str(tmp_path / "spare.cache"), "--workers", "2"]
    subprocess.run(spare, env=environment(), check=True, capture_output=True)
    took = time.monotonic() - begun
    kills = 0
    for share in (0.3, 0.6, 0.75, 0.9):
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(took * share)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(60)
            kills += 1
            if not corpus.exists():
                continue
        # It was done, or so nearly that the signal came between the corpus' taking its name and the end of the process.
        break
    assert kills
    if corpus.exists():
        assert digests(corpus) == expected
    assert build(sources, corpus, "--workers", 2, "--overwrite") == expected
    left = [path.name for path in tmp_path.iterdir()]
    assert sorted(left) == ["corpus", "corpus.cache", "spare", "spare.cache"]


@pytest.mark.data
def test_the_real_dumps(data: Path, tmp_path: Path) -> None:
    folders = sorted((data / "stackexchange").iterdir())
    expected = build(folders, tmp_path / "one", "--workers", 1)
    assert build(folders, tmp_path / "two", "--workers", 2) == expected


@pytest.mark.data
@pytest.mark.timeout(600)
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("small_executors")
def test_a_real_dump_on_a_cluster_of_two(data: Path, spark_cluster: Cluster, tmp_path: Path) -> None:
    folders = [data / "stackexchange" / "beer_20200531"]
    expected = build(folders, tmp_path / "here", "--workers", 2)
    assert build(folders, tmp_path / "spark", "--engine", "spark", "--master", spark_cluster.url) == expected
