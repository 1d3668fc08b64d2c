"""Processes that finish shares side by side, and end when the one that started them does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.synchronize import Event

from tertulia.errors import StoreError
from tertulia.stackexchange.finish.threads import Share
from tertulia.stackexchange.finish.work import Done, Job, finish_share

__all__ = ["finish_shares"]

# A process takes half a second to start: so many rows are finished in that time.
_WORTH_A_PROCESS = 4_000
# Shares that wait in the queue for each worker.
_AHEAD = 2


def finish_shares(shares: Sequence[Share], job: Job, workers: int) -> Iterator[tuple[int, Done]]:
    """Finish the shares, several at a time; what came of each, with its number, in any order.

    Raises
    ------
    StoreError
        A process was ended from outside.
    """
    workers = min(workers, len(shares), 1 + sum(share.rows for share in shares) // _WORTH_A_PROCESS)
    if workers <= 1:
        for number, share in enumerate(shares):
            yield number, finish_share(number, share, job)
        return
    # Processes that are forked would inherit the threads' locks in whatever state they are.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(workers, context, _prepare, (job, stop))
    try:
        yield from _results(pool, shares, workers)
    except BrokenProcessPool:
        raise StoreError(
            "a process that finishes dialogues was ended from outside, perhaps for want of memory",
            hint="--workers 1 needs less; the parsed tables are kept",
        ) from None
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _results(pool: ProcessPoolExecutor, shares: Sequence[Share], workers: int) -> Iterator[tuple[int, Done]]:
    coming = iter(enumerate(shares))
    running: dict[Future[Done], int] = {}
    while True:
        # Handing over work starts the processes.
        with _interrupts_ignored():
            for number, share in coming:
                running[pool.submit(_finish, number, share)] = number
                if len(running) >= workers * (1 + _AHEAD):
                    break
        if not running:
            return
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            yield running.pop(future), future.result()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ctrl-C is for the first process: one that is started meanwhile ignores it from its first moment."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# In a process that finishes: what it has to know, and how it is told to stop.
_JOB: list[tuple[Job, Event]] = []


def _prepare(job: Job, stop: Event) -> None:
    """In a new process: remember the job, and end when the first process is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _JOB[:] = [(job, stop)]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _finish(number: int, share: Share) -> Done:
    job, stop = _JOB[0]
    return finish_share(number, share, job, stop.is_set)
