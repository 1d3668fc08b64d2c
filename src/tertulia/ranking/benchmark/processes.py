"""Processes that may crash, hang or be killed, each with a time limit, watched by the one that goes on."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from tertulia.errors import ConfigurationError

__all__ = ["Outcome", "run_worker"]

_POLL_S = 0.25
_LAST_S = 10.0
_PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tertulia.ranking.benchmark.worker import main
sys.exit(main(sys.argv[2]))
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a task: ``done``; ``left out``, for something that it needs is not there; or ``failed``. Why, in one line."""

    kind: Literal["done", "left out", "failed"]
    reason: str = ""
    over_time: bool = False


def run_worker(
    task: str,
    log: Path,
    *,
    workers: int,
    limit_s: float | None,
    progress: Callable[[str, int, int | None], None],
) -> Outcome:
    """Do a task in a process of its own, and say what became of it; whatever happens there, this function returns.

    Parameters
    ----------
    task:
        The JSON that the worker's ``main`` takes.
    log:
        The file that gets what the process says on standard error.
    workers:
        How many threads the numerical libraries of the process may use.
    limit_s:
        After so many seconds the process and all that it has started are killed.
    progress:
        Is told a stage, how much of it has been done in all, and the total where it is known.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            process = subprocess.Popen(  # noqa: S603 (this very interpreter, and a program that stands here)
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), task],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(workers),
                start_new_session=True,
            )
    except OSError as error:
        raise ConfigurationError(
            f"cannot be written: {error.strerror}", where=error.filename or log, hint="--cache names another folder"
        ) from None
    try:
        return _watched(process, limit_s, progress)
    finally:
        _kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _environment(workers: int) -> dict[str, str]:
    """As here, with so many threads for every library that counts them, and hashes that do not differ from run to run."""
    counts = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), workers
    )
    return {**os.environ, **{name: str(count) for name, count in counts.items()}, "PYTHONHASHSEED": "0"}


def _watched(
    process: subprocess.Popen[bytes], limit_s: float | None, progress: Callable[[str, int, int | None], None]
) -> Outcome:
    lines: queue.Queue[bytes | None] = queue.Queue()
    assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    began = time.monotonic()
    ended: float | None = None
    while True:
        message = _next(lines)
        if message is not None:
            if "outcome" in message:
                return Outcome(message["outcome"], message.get("reason", ""))
            progress(message["stage"], message["done"], message["total"])
            continue
        now = time.monotonic()
        if limit_s is not None and now - began > limit_s:
            return Outcome("failed", f"took more than the limit of {limit_s / 60:g} minutes", over_time=True)
        if process.poll() is not None:
            ended = ended or now
            # What it said last may still be on its way.
            if lines.empty() and now - ended > 2 * _POLL_S:
                return Outcome("failed", _end(process.returncode))


def _read(pipe: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in pipe:
            lines.put(line)


def _next(lines: queue.Queue[bytes | None]) -> dict[str, Any] | None:
    try:
        line = lines.get(timeout=_POLL_S)
    except queue.Empty:
        return None
    try:
        message = json.loads(line or b"")
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _end(code: int) -> str:
    if code >= 0:
        return f"its process ended with the exit code {code} and no word"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    why = ": the machine may have run out of memory" if name == "SIGKILL" else ""
    return f"its process was ended by the signal {name}{why}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it has started, whatever state they are in."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_S)
