"""Spark that is not there, does not start, is interrupted or goes away: one error each, and nothing left running."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tertulia.errors import ConfigurationError, MissingExtraError, StoreError
from tertulia.stackexchange.engines import Engine, open_engine
from tertulia.stackexchange.engines.spark import SparkEngine

from .narrow_plainly import write_tables
from .spark_cluster import SETTINGS, cluster_of, free_port, skip_without_spark
from .test_narrow import GOOD

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("spark")]


def test_a_cluster_that_loses_its_worker_and_one_without(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", GOOD)
    with cluster_of(0) as cluster:
        lonely = SparkEngine(tmp_path / "a", master=cluster.url, memory=600_000_000, patience=3)
        with pytest.raises(StoreError, match="has had no worker for this for 3 s"):
            lonely.__enter__()
        cluster.add_worker()
        with SparkEngine(tmp_path / "b", master=cluster.url, memory=600_000_000, settings=SETTINGS) as engine:
            posts = engine.read(tables["posts"])
            engine._patience = 5
            cluster.workers[0].kill()
            cluster.workers[0].wait()
            with pytest.raises(StoreError, match=r"no worker|Spark could not go on"):
                write_often(engine, posts, tmp_path)


def write_often(engine: Engine, table: object, folder: Path) -> None:
    for number in range(50):
        engine.write(table, folder / f"out-{number}")


def test_a_session_of_somebody_else_is_used_and_left_alone(tmp_path: Path) -> None:
    skip_without_spark()
    program = f"""
from pathlib import Path
from pyspark.sql import SparkSession
from tertulia.errors import ConfigurationError
from tertulia.stackexchange.engines import open_engine
import pyarrow as pa, pyarrow.parquet as pq
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
path = Path({str(tmp_path)!r}) / "one.parquet"
pq.write_table(pa.table({{"id": [1, 2]}}), path)
with open_engine("spark", work=Path({str(tmp_path)!r}) / "work", workers=1) as engine:
    assert engine.execute(engine.read([path])).to_pylist() == [{{"id": 1}}, {{"id": 2}}]
assert session.range(3).count() == 3
try:
    open_engine("spark", work=Path({str(tmp_path)!r}) / "work", workers=1, master="local[3]").__enter__()
except ConfigurationError as error:
    assert "has a Spark session with the master local[1]; local[3] was asked for" in str(error), error
else:
    raise AssertionError("the other master was passed over")
assert session.range(3).count() == 3
session.stop()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=200, capture_output=True)


def test_ctrl_c_ends_spark_and_its_java(tmp_path: Path) -> None:
    skip_without_spark()
    program = f"""
import sys
from pathlib import Path
from tertulia.stackexchange.engines import open_engine
with open_engine("spark", work=Path({str(tmp_path)!r}) / "work", workers=1) as engine:
    print(engine._gateway.proc.pid, flush=True)
    many = engine._session.range(10**12).selectExpr("sum(hash(id))")
    try:
        engine._watched(lambda: many.collect(), "go on")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print("out", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        java = int(process.stdout.readline())
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split() == ["interrupted", "out"]
        assert process.wait(60) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(java, 0)


def test_java_that_does_not_start_is_one_error(tmp_path: Path) -> None:
    """In a process of its own: pyspark leaves the pipe to a Java that did not start to the collector of garbage."""
    skip_without_spark()
    program = f"""
from pathlib import Path
from tertulia.errors import StoreError
from tertulia.stackexchange.engines.spark import SparkEngine
try:
    SparkEngine(Path({str(tmp_path)!r}), settings={{"spark.driver.memory": "lots"}}).__enter__()
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=200, capture_output=True, text=True)
    assert "Java did not start: Invalid maximum heap size: -Xmxlots" in done.stdout
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_without_java_or_with_an_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    engine = open_engine("spark", work=tmp_path / "work", workers=1)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"Spark needs Java, and there is none \(install Java 17"):
        engine.expect()
    java = tmp_path / "java"
    for told, message in (("1.8.0_412", "this is Java 8"), ("11.0.2", "this is Java 11")):
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{told}\"' >&2\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        with pytest.raises(ConfigurationError, match=message):
            engine.expect()
    java.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ConfigurationError, match="this one does not run"):
        engine.expect()


@pytest.mark.parametrize("package", ["pyspark", "ibis"])
def test_without_its_package(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"tertulia\[spark\]"):
        open_engine("spark", work=tmp_path, workers=1).expect()


def test_a_master_that_is_none_or_does_not_answer(tmp_path: Path) -> None:
    skip_without_spark()
    for master in ("spark://", "spark://host", "spark://host:port", "spark://a:7077,b"):
        with pytest.raises(ConfigurationError, match="is no master; expected spark://HOST:PORT"):
            open_engine("spark", work=tmp_path, workers=1, master=master).expect()
    started = time.monotonic()
    with pytest.raises(StoreError, match="the master does not answer: Connection refused"):
        open_engine("spark", work=tmp_path, workers=1, master=f"spark://127.0.0.1:{free_port()}").expect()
    assert time.monotonic() - started < 30
