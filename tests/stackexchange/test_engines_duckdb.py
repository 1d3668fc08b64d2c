"""The engines by name, and DuckDB: what it writes and reads, and how it fails."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tertulia.errors import ConfigurationError, MissingExtraError, StoreError
from tertulia.stackexchange.engines import Engine, open_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine("duckdb", work=tmp_path / "spill", workers=2) as opened:
        yield opened


def one_file(path: Path, count: int = 100) -> Path:
    pq.write_table(pa.table({"id": range(count), "text": [f"text {number}" for number in range(count)]}), path)
    return path


def test_an_engine_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no engine 'sqlite'; there are: duckdb, spark"):
        open_engine("sqlite", work=tmp_path, workers=1)
    with pytest.raises(ConfigurationError, match=r"a master is named, and the engine is duckdb.*--engine spark"):
        open_engine("duckdb", work=tmp_path, workers=1, master="spark://host:7077")


@pytest.mark.parametrize("package", ["duckdb", "ibis"])
def test_without_its_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"narrowing with DuckDB needs .*tertulia\[full\]"):
        open_engine("duckdb", work=tmp_path, workers=1).expect()
    assert not list(tmp_path.iterdir())


def test_what_is_written_is_read_again(tmp_path: Path, engine: Engine) -> None:
    table = engine.read([one_file(tmp_path / "a.parquet"), one_file(tmp_path / "b.parquet", 3)])
    files = engine.write(table.filter(table.id < 4), tmp_path / "out")
    found = engine.execute(engine.read(files)).to_pylist()
    assert sorted(row["id"] for row in found) == [0, 0, 1, 1, 2, 2, 3]
    assert {row["text"] for row in found} == {f"text {number}" for number in range(4)}


def test_a_sum_is_an_integer_of_64_bits(tmp_path: Path, engine: Engine) -> None:
    table = engine.read([one_file(tmp_path / "a.parquet")])
    found = engine.execute(table.aggregate(total=table.id.sum()))
    assert found.schema.field("total").type == pa.int64()
    assert found.to_pylist() == [{"total": 4950}]


def test_shares_and_those_without_rows(tmp_path: Path, engine: Engine) -> None:
    table = engine.read([one_file(tmp_path / "a.parquet")])
    shared = table.mutate(share=(table.id % 2 * 2).cast("int32"))
    shares = engine.write_shares(shared, tmp_path / "out", "share", 4)
    found = [engine.execute(engine.read(files)).to_pylist() for files in shares]
    assert [len(rows) for rows in found] == [50, 0, 50, 0]
    assert {row["share"] for row in found[2]} == {2}
    assert len({path for files in shares for path in files}) == sum(map(len, shares))


def test_nothing_is_left_of_what_was_spilled(tmp_path: Path) -> None:
    work = tmp_path / "spill"
    path = tmp_path / "big.parquet"
    pq.write_table(pa.table({"id": range(400_000), "text": [f"{n:0100d}" for n in range(400_000)]}), path)
    with open_engine("duckdb", work=work, workers=1, memory=40_000_000) as engine:
        table = engine.read([path])
        engine.write(table.distinct(), tmp_path / "out")
    assert not list(work.rglob("*"))


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "spill").write_text("")
    with pytest.raises(StoreError, match=r"spill: cannot be used: File exists"):
        open_engine("duckdb", work=tmp_path / "spill", workers=1).__enter__()


def test_a_file_that_is_not_parquet(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and then no more")
    with pytest.raises(StoreError, match=r"where the cache is damaged, remove it"):
        engine.read([path])


def test_no_space_left_is_one_error(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full."""
    program = f"""
import resource, signal
from pathlib import Path
from tertulia.errors import StoreError
from tertulia.stackexchange.engines import open_engine
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open_engine("duckdb", work=Path({str(tmp_path)!r}) / "spill", workers=1) as engine:
    table = engine.read([Path({str(one_file(tmp_path / "a.parquet", 200_000))!r})])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        engine.write(table, Path({str(tmp_path)!r}) / "out")
    except StoreError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=120, capture_output=True, text=True)
    assert "DuckDB could not go on: IO Error" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_ctrl_c_interrupts_it(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from tertulia.stackexchange.engines import open_engine
with open_engine("duckdb", work=Path({str(tmp_path)!r}) / "spill", workers=1) as engine:
    table = engine.read([Path({str(one_file(tmp_path / "a.parquet", 100_000))!r})])
    other = table.rename(other="text")
    many = table.join(other, table.id > other.id)
    print("begins", flush=True)
    try:
        engine.execute(many.aggregate(n=(many.id % 7 * many.id_right).max()))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(1)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
        assert process.wait(60) == 0
        assert time.monotonic() - begun < 30
