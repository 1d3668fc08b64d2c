"""A real Spark cluster on this machine: a master and workers as processes of their own, from the jars that pyspark has."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# What is small is done in few parts by code that is compiled in haste; an executor leaves room for the other processes.
SETTINGS = {
    "spark.sql.shuffle.partitions": "3",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
_STARTS = 240.0


class Cluster:
    """A standalone cluster on the loopback address. ``url`` is its master."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = folder
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master: subprocess.Popen[bytes] | None = None

    def start(self, workers: int) -> None:
        """Start the master and so many workers of one core and 1 GB, and wait until they have found each other."""
        self.master = self._java("master.Master", "--port", str(self.port))
        self._wait_for("master.Master", "I have been elected leader")
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        number = len(self.workers)
        work = self.folder / f"worker-{number}"
        arguments = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), self.url)
        self.workers.append(self._java("worker.Worker", *arguments, log=f"worker-{number}"))
        self._wait_for(f"worker-{number}", "Successfully registered with master")

    def stop(self) -> None:
        processes = [process for process in (*self.workers, self.master) if process is not None]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)

    def _java(self, name: str, *arguments: str, log: str | None = None) -> "subprocess.Popen[bytes]":
        command = [
            _java_command(),
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{self.home}/jars/*",
            f"org.apache.spark.deploy.{name}",
        ]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        settings = self.folder / "conf"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "log4j2.properties").write_text(
            "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = stderr\nappender.stderr.type = Console\n"
            "appender.stderr.name = stderr\nappender.stderr.target = SYSTEM_ERR\n"
            "appender.stderr.layout.type = PatternLayout\nappender.stderr.layout.pattern = %m%n\n"
        )
        command.insert(1, f"-Dlog4j2.configurationFile={settings / 'log4j2.properties'}")
        core = next(self.home.glob("jars/spark-core_*.jar")).name
        # What they leave when they are killed goes with the folder.
        command.insert(1, f"-Djava.io.tmpdir={self.folder}")
        environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # What its own start script would find out, and workers need to start executors.
            "SPARK_SCALA_VERSION": core.removeprefix("spark-core_").split("-")[0],
        }
        with (self.folder / f"{log or name}.log").open("wb") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=self.folder)

    def _wait_for(self, log: str, line: str) -> None:
        path = self.folder / f"{log}.log"
        end = time.monotonic() + _STARTS
        while time.monotonic() < end:
            if line in path.read_text(errors="replace"):
                return
            time.sleep(0.2)
        raise AssertionError(f"Spark did not start:\n{path.read_text(errors='replace')[-3000:]}")


def _java_command() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java") or "java"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def skip_without_spark() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        subprocess.run([_java_command(), "-version"], capture_output=True, check=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("there is no Java")


@contextlib.contextmanager
def cluster_of(workers: int) -> Iterator[Cluster]:
    """A cluster with so many workers; skips where there is no Spark to be had."""
    skip_without_spark()
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    cluster = Cluster(folder)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[Cluster]:
    """A master and two workers, for all tests of a run."""
    with cluster_of(2) as cluster:
        yield cluster
