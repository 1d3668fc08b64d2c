"""Spark as the engine: the same expressions on a cluster, or on threads of this machine. It needs Java 17 or later.

Every worker must see the Parquet files under the paths that they have here. What Spark has to say goes to a log in the work
folder, not to the terminal.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from tertulia.errors import ConfigurationError, MissingExtraError, StoreError, TertuliaError
from tertulia.stackexchange.engines.expressions import empty_file, sql_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

__all__ = ["SparkEngine"]

_JAVA = 17
_MEMORY = 2_000_000_000
_MASTER_ANSWERS = 10.0
_STOPS = 20.0
_LOOK_EVERY = 0.25
_T = TypeVar("_T")


class SparkEngine:
    """An engine on the cluster of a master, or on threads of this process's own Java for ``local[n]``.

    Parameters
    ----------
    work:
        A folder for Spark's log and, on this machine, for what does not fit in memory.
    master:
        ``spark://host:port`` (several hosts apart by commas), ``local[n]``, or any other master that Spark knows; without one
        ``local[workers]``. Where this process has a Spark session already, it is used and left running.
    memory:
        The bytes of the driver's heap. What executors take is set where Spark is set up (``SPARK_CONF_DIR``).
    patience:
        The seconds for which a cluster may have no worker before the work is given up.
    settings:
        Settings of Spark's own, by their names there.
    """

    share: int | None = None

    def __init__(
        self,
        work: Path,
        *,
        master: str | None = None,
        workers: int = 1,
        memory: int | None = None,
        patience: float = 300.0,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._work = work
        self._asked = master
        self._master = master or f"local[{max(1, workers)}]"
        self._memory = memory or _MEMORY
        self._patience = patience
        self._more = dict(settings or {})
        self._numbers = itertools.count()
        self._log = work / "spark.log"
        self._session: Any = None
        # The Java that was started here, to be ended here.
        self._gateway: Any = None
        self._borrowed = False
        # All that waits for Java waits in a thread of its own, so that Ctrl-C and the watch over the workers are free.
        self._thread: ThreadPoolExecutor | None = None

    def expect(self) -> None:
        """Fail now where the packages, Java or the master are not there: nothing is started."""
        _expect_packages()
        _expect_java()
        _expect_master(self._master)

    def __enter__(self) -> SparkEngine:
        self.expect()
        try:
            self._work.mkdir(parents=True, exist_ok=True)
            self._launch()
            self._thread = ThreadPoolExecutor(1, "spark")
            self._watched(self._start, "start")
            self._watched(lambda: self._session.range(1).count(), "do anything")
        except BaseException as error:
            self._stop()
            if isinstance(error, OSError):
                raise StoreError(f"cannot be used: {error.strerror}", where=error.filename or self._work) from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def read(self, paths: Sequence[Path]) -> Table:
        """The rows of these Parquet files, all of one schema, as one table."""
        name = f"files_{next(self._numbers)}"
        table = table_of(paths[0], name)
        files = [_address(_plain_pattern(path)) for path in paths]
        self._watched(lambda: self._session.read.parquet(*files).createOrReplaceTempView(name), "read")
        return table

    def write(self, expression: Table, folder: Path) -> list[Path]:
        """Write the rows of an expression to ``folder``, which is made by Spark, and return its files."""
        import pyarrow.parquet as pq

        rows = self._watched(lambda: self._write(sql_of(expression, "pyspark"), folder), "go on")
        files = sorted(folder.glob("part-*.parquet"))
        found = sum(pq.read_metadata(path).num_rows for path in files)
        if found != rows:
            raise StoreError(
                f"holds {found:,} rows of the {rows:,} that the workers have written",
                where=folder,
                hint="every worker must see the cache folder under the same path",
            )
        return files or [empty_file(expression, folder)]

    def write_shares(self, expression: Table, folder: Path, column: str, count: int) -> list[list[Path]]:
        """The same, the rows apart by the integer of a column, from 0 to less than ``count``."""
        return [
            self.write(expression.filter(expression[column] == share), folder / str(share)) for share in range(count)
        ]

    def execute(self, expression: Table) -> pa.Table:
        """The rows of an expression that has few of them."""
        import pyarrow as pa

        # By way of text: collect() opens a socket for each answer and leaves it open.
        sql = sql_of(expression, "pyspark")
        rows = self._watched(lambda: list(self._session.sql(sql)._jdf.toJSON().collectAsList()), "go on")
        return pa.Table.from_pylist([json.loads(row) for row in rows], schema=expression.schema().to_pyarrow())

    def _write(self, sql: str, folder: Path) -> int:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812  the name that everybody gives it

        seen = Observation(folder.name)
        frame = self._session.sql(sql).observe(seen, F.count(F.lit(1)).alias("rows"))
        frame.write.parquet(_address(folder.absolute()))
        return int(seen.get["rows"])

    # ------------------------------------------------------------------------------------------ the Java behind it

    def _launch(self) -> None:
        """Start Java, unless this process has one already: with its chatter in the log rather than on the terminal."""
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway

        if SparkContext._gateway is not None:
            # Somebody has started Java in this process already.
            return
        conf = SparkConf(loadDefaults=False)
        for name, value in self._settings().items():
            conf.set(name, value)
        try:
            with self._log.open("wb") as log, _without_submit_arguments():
                self._gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
        except PySparkException:
            raise StoreError(f"Java did not start: {self._last_lines()}", where=self._work) from None

    def _settings(self) -> dict[str, str]:
        settings = {
            "spark.master": self._master,
            "spark.app.name": "tertulia",
            "spark.driver.memory": f"{max(512, self._memory >> 20)}m",
            "spark.local.dir": str(self._work.absolute()),
            "spark.sql.warehouse.dir": str((self._work / "warehouse").absolute()),
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        if _is_local(self._master) or all(host in ("127.0.0.1", "localhost") for host, _ in _hosts(self._master)):
            # A machine's name need not lead back to it.
            settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        return settings | self._more

    def _start(self) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        active = SparkContext._active_spark_context
        self._borrowed = active is not None
        if active is not None:
            if self._asked is not None and active.master != self._asked:
                raise ConfigurationError(
                    f"this process has a Spark session with the master {active.master}; {self._asked} was asked for",
                    hint="stop that session, or name no master to use it",
                )
            self._master = active.master
            self._session = SparkSession.builder.getOrCreate()
            return
        conf = SparkConf(_jvm=SparkContext._gateway.jvm if self._gateway is None else self._gateway.jvm)
        for name, value in self._settings().items():
            conf.set(name, value)
        self._session = SparkSession(SparkContext(conf=conf, gateway=self._gateway))

    def _stop(self) -> None:
        if self._session is not None and self._thread is not None and not self._borrowed:
            with contextlib.suppress(Exception):
                self._thread.submit(self._session.stop).result(_STOPS)
        self._session = None
        if self._gateway is not None:
            self._end_java()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None

    def _end_java(self) -> None:
        from pyspark import SparkContext

        process = self._gateway.proc
        with contextlib.suppress(Exception):
            self._gateway.shutdown()
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOPS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        self._gateway = None

    # ------------------------------------------------------------------------------------------ watching over it

    def _watched(self, action: Callable[[], _T], what: str) -> _T:
        """What an action gives, carried out in the thread of Spark while this one watches.

        Ctrl-C cancels the work; so does a cluster that has no worker for longer than ``patience``.
        """
        assert self._thread is not None  # noqa: S101  for the checker of types
        done = self._thread.submit(action)
        alone_since = None
        try:
            while True:
                with contextlib.suppress(FutureTimeout):
                    return self._result(done, what)
                if self._workers() > 0:
                    alone_since = None
                elif alone_since is None:
                    alone_since = time.monotonic()
                elif time.monotonic() - alone_since > self._patience:
                    raise StoreError(
                        f"has had no worker for this for {self._patience:.0f} s",
                        where=self._master,
                        hint="see whether its workers run, and have a core and 1 GB to spare",
                    )
        except BaseException:
            self._cancel(done)
            raise

    def _result(self, done: Future[_T], what: str) -> _T:
        try:
            return done.result(_LOOK_EVERY)
        except (FutureTimeout, TertuliaError):
            raise
        except Exception as error:
            cause = _root_of(error)
            if not cause or "stopped SparkContext" in cause:
                cause = self._last_words()
            raise StoreError(f"Spark could not {what}: {cause}", where=self._master, hint=_hint_for(cause)) from None

    def _workers(self) -> int:
        """The workers that there are to do something: 1 where there need not be any."""
        if self._session is None and not _is_local(self._master):
            return 0
        if _is_local(self._master):
            return 1
        try:
            return len(self._session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
        except Exception:
            # Java is gone: the action ends with an error of its own.
            return 1

    def _cancel(self, done: Future[Any]) -> None:
        if done.done():
            return
        with contextlib.suppress(Exception):
            if self._session is not None:
                self._session.sparkContext.cancelAllJobs()
            done.result(_STOPS)
        if not done.done() and self._gateway is not None:
            # Nothing comes back from it any more.
            self._gateway.proc.kill()

    def _last_words(self) -> str:
        """The last line of Spark's log that tells of an error."""
        lines = self._lines()
        telling = [line for line in lines if re.search(r"ERROR|Error|Exception", line) and not line.startswith("\tat")]
        return (telling or lines or ["it says nothing"])[-1].strip()[:300]

    def _last_lines(self) -> str:
        """The end of Spark's log."""
        return " / ".join(line.strip() for line in self._lines()[-3:])[-300:] or "it says nothing"

    def _lines(self) -> list[str]:
        try:
            return self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []


def _expect_packages() -> None:
    for package, name in (("pyspark", "pyspark"), ("ibis", "ibis-framework")):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtraError("narrowing with Spark", package=name, extra="spark") from None


def _expect_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    hint = f"install Java {_JAVA}, or let JAVA_HOME name the one to use"
    if java is None:
        raise ConfigurationError("Spark needs Java, and there is none", hint=hint)
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        raise ConfigurationError("Spark needs Java, and this one does not run", where=java, hint=hint) from None
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < _JAVA:
        raise ConfigurationError(
            f"Spark needs Java {_JAVA} or later, and this is Java {version[1]}", where=java, hint=hint
        )


def _expect_master(master: str) -> None:
    """Of a master with an address one host at least must take a connection; Spark itself would try for a minute."""
    if master.startswith("spark://") and not _hosts(master):
        raise ConfigurationError(f"{master!r} is no master; expected spark://HOST:PORT or local[N]")
    reasons = []
    for host, port in _hosts(master):
        try:
            socket.create_connection((host, port), _MASTER_ANSWERS).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    if reasons:
        raise StoreError(f"the master does not answer: {reasons[0]}", where=master, hint="is it running, at that port?")


def _hosts(master: str) -> list[tuple[str, int]]:
    """The hosts and ports of ``spark://one:7077,two:7077``; none for another kind of master."""
    if not re.fullmatch(r"spark://[^:,/\s]+:\d{1,5}(,[^:,/\s]+:\d{1,5})*", master):
        return []
    pairs = (place.rsplit(":", 1) for place in master.removeprefix("spark://").split(","))
    return [(host, min(int(port), 65535)) for host, port in pairs]


def _is_local(master: str) -> bool:
    return master.startswith("local") and not master.startswith("local-cluster")


@contextlib.contextmanager
def _without_submit_arguments() -> Iterator[None]:
    """What the environment wants to add to the command line that starts Java would hide what is set here."""
    kept = os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
    try:
        yield
    finally:
        if kept is not None:
            os.environ["PYSPARK_SUBMIT_ARGS"] = kept


def _address(path: object) -> str:
    """A path of this machine as Spark wants it: other file systems may be its default."""
    return f"file://{path}"


def _plain_pattern(path: Path) -> str:
    """A path as a pattern that matches it alone."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", str(path.absolute()))


def _hint_for(cause: str) -> str | None:
    if "No space left" in cause:
        return "free some space for the cache folder, or name another"
    if "FileNotFound" in cause or "does not exist" in cause:
        return "every worker must see the cache folder under the same path"
    if "OutOfMemory" in cause:
        return "give the executors more memory (spark.executor.memory in the folder that SPARK_CONF_DIR names)"
    return None


def _root_of(error: BaseException) -> str:
    """The innermost cause that Java names, on one line."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.+)$", text, re.M)
    # py4j begins with what was called in Java, which says nothing to anybody.
    lines = [
        line for line in text.splitlines() if line.strip() and not line.startswith("An error occurred while calling")
    ]
    return (causes[-1:] or lines or [""])[0].strip(": ")[:400]
