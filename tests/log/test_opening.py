"""Opening a log: what is not one, or cannot be reached, is said in one clear line."""

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tertulia.errors import StoreError
from tertulia.log.store import LogStore

from .conftest import begin, environment, stored_turn


def test_a_plain_path_is_a_sqlite_file(tmp_path: Path) -> None:
    path = tmp_path / "a log with % and ? and # in its name.sqlite"
    with LogStore(str(path)) as store:
        begin(store)
    assert path.read_bytes().startswith(b"SQLite format 3\0")
    with LogStore(str(path), must_exist=True) as store:
        assert store.conversation("c1") is not None


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///{tmp}", "is a directory; expected a database file"),
        ("{tmp}", "is a directory; expected a database file"),
        ("{tmp}/no/such/folder/log.sqlite", "its folder does not exist"),
        ("mysql://user@host/name", "is a mysql database; the log is kept in SQLite or PostgreSQL"),
        ("postgresql+nodriver://host/name", "is not a database URL"),
        ("://", "is not a database URL"),
        ("what is this://", "is not a database URL"),
    ],
)
def test_what_is_no_place_for_a_log(tmp_path: Path, url: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        LogStore(url.format(tmp=tmp_path))
    assert "\n" not in caught.value.one_line()


def test_a_log_that_must_exist_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with pytest.raises(StoreError, match="there is no database at this path"):
        LogStore(str(path), must_exist=True)
    assert not path.exists()


def test_an_empty_database_is_no_log(database: str) -> None:
    if database.startswith("sqlite"):
        Path(database.removeprefix("sqlite:///")).touch()
    with pytest.raises(StoreError, match="holds no log of Tertulia"):
        LogStore(database, must_exist=True)
    with LogStore(database) as store:
        begin(store)
    with LogStore(database, must_exist=True) as store:
        assert store.conversation("c1") is not None


@pytest.mark.parametrize(
    "content", [b"this is no database, only some words of text" * 40, b"\0" * 5_000, os.urandom(8192)]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="does not answer as it should: file is not a database"):
        LogStore(str(path))
    assert path.read_bytes() == content


def test_a_truncated_database_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogStore(str(path)) as store:
        begin(store)
        for number in range(1, 200):
            store.append("c1", stored_turn(number))
    whole = path.read_bytes()
    for share in (0.2, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        for leftover in tmp_path.glob("log.sqlite-*"):
            leftover.unlink()
        with pytest.raises(StoreError, match="the database does not answer as it should"), LogStore(str(path)) as store:
            store.turns("c1")


def test_a_log_of_another_version_is_refused_and_not_altered(database: str) -> None:
    with LogStore(database) as store:
        begin(store)
        engine = store._engine
        with engine.begin() as connection:
            connection.execute(text("UPDATE tertulia_meta SET value = '7' WHERE key = 'schema'"))
    with pytest.raises(StoreError, match="is a log of schema 7; this version of Tertulia reads 1"):
        LogStore(database)


def test_tables_of_others_in_the_same_database_are_left_alone(database: str) -> None:
    url = database.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE turn (id INTEGER)"))
        connection.execute(text("INSERT INTO turn VALUES (42)"))
    with LogStore(database) as store:
        begin(store)
        store.append("c1", stored_turn(1))
    with engine.begin() as connection:
        assert connection.execute(text("SELECT id FROM turn")).scalar() == 42
    engine.dispose()


SECRETS = [
    "postgresql://ann:s3cr%40t@127.0.0.1:1/log",
    "postgresql://127.0.0.1:1/log?user=ann&password=s3cr@t",
    "postgresql://ann:s3cr@t@127.0.0.1:notaport/log",
    "mysql://ann:s3cr%40t@127.0.0.1/log",
    "postgresql+nodriver://ann:s3cr%40t@127.0.0.1/log",
    "postgresql://ann:s3cr%40t@127.0.0.1:1/log?no_such_option=1",
]


@pytest.mark.parametrize("url", SECRETS)
def test_a_password_is_never_shown(url: str) -> None:
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    with pytest.raises(StoreError) as caught:
        LogStore(url)
    assert "s3cr" not in caught.value.one_line()


@pytest.mark.postgresql
def test_a_password_among_the_parameters_still_serves(new_postgresql: Callable[[], str]) -> None:
    with LogStore(new_postgresql() + "&password=s3cret") as store:
        begin(store)
        assert store.conversation("c1") is not None
        assert "s3cret" not in store._shown


def test_a_server_that_is_not_there_is_one_error_within_seconds() -> None:
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    began = time.monotonic()
    with pytest.raises(StoreError, match="does not answer as it should"):
        LogStore("postgresql://ann@127.0.0.1:1/log")
    assert time.monotonic() - began < 15


def test_a_server_that_says_nothing_is_one_error_within_seconds() -> None:
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(StoreError, match="does not answer as it should"):
            LogStore(f"postgresql://ann@127.0.0.1:{port}/log")
        assert time.monotonic() - began < 25


OPEN_AND_WRITE = """
import os, sys
from tertulia.errors import StoreError
from tertulia.log.store import LogStore
# Everything is imported by now; who is root may write to any file and so becomes nobody.
LogStore(sys.argv[2]).close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    with LogStore(sys.argv[1]) as store:
        store.start("c2", bot="small", bot_digest="", channel="terminal")
except StoreError as error:
    print(error.one_line())
"""


def test_a_file_that_may_only_be_read_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with LogStore(str(path)) as store:
        begin(store)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    LogStore(str(tmp_path / "other.sqlite")).close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    command = [sys.executable, "-c", OPEN_AND_WRITE, str(path), str(tmp_path / "other.sqlite")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert "the database does not answer as it should" in done.stdout
    assert done.stdout.count("\n") == 1


START = """
import sys
from tertulia.log.store import LogStore
print("ready", flush=True)
sys.stdin.read(1)
with LogStore(sys.argv[1]) as store:
    store.start(sys.argv[2], bot="small", bot_digest="", channel="terminal")
"""


def test_processes_that_start_at_once_make_the_tables_once(database: str) -> None:
    for attempt in range(2):
        if database.startswith("sqlite"):
            url = database.replace("log.sqlite", f"log{attempt}.sqlite")
        elif attempt:
            break
        else:
            url = database
        command = [sys.executable, "-c", START, url]
        names = [f"c{number}" for number in range(4)]
        running = [
            subprocess.Popen(
                [*command, name], env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for name in names
        ]
        outcomes = []
        for process in running:
            assert process.stdin is not None
            process.stdin.write("g")
            process.stdin.flush()
        for process in running:
            _, errors = process.communicate(timeout=90)
            outcomes.append((process.returncode, errors))
        assert outcomes == [(0, "")] * len(names)
        with LogStore(url, must_exist=True) as store:
            assert [row["id"] for row in store.conversations()] == names


def test_a_log_that_another_process_holds_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    LogStore(str(path)).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    writer = subprocess.Popen(
        [sys.executable, "-c", START, str(path), "late"], env=environment(), stdin=subprocess.PIPE
    )
    assert writer.stdin is not None
    writer.stdin.write(b"g")
    writer.stdin.flush()
    time.sleep(1.0)
    assert writer.poll() is None, "it must wait, not fail"
    other.execute("ROLLBACK")
    other.close()
    writer.communicate(timeout=60)
    assert writer.returncode == 0
    assert time.monotonic() - started >= 1.0
    with LogStore(str(path)) as store:
        assert store.conversation("late") is not None
