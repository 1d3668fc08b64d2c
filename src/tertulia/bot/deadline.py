"""Calls under a deadline: a component that hangs costs a turn its deadline, never more."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["BusyError", "DeadlineRunner", "LateError"]

T = TypeVar("T")


class LateError(Exception):
    """The call did not end before its deadline."""


class BusyError(Exception):
    """Too many earlier calls have not ended; the call was not made."""


class _Call(Generic[T]):
    """One call handed to a worker thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function
        self.done = threading.Event()
        self.value: T | None = None
        self.error: BaseException | None = None
        self.abandoned = False

    def run(self) -> None:
        try:
            self.value = self.function()
        except BaseException as error:
            self.error = error
        self.done.set()


class DeadlineRunner:
    """Runs calls in daemon threads and waits for each no longer than its deadline.

    Python cannot end a thread, so a call that is late runs on unattended and its result is dropped; its thread serves again
    when it ends. With ``most`` calls so stuck no further ones are made: a broken component must not eat the machine.
    """

    def __init__(self, name: str, *, most: int = 16) -> None:
        self._name = name
        self._most = most
        self._waiting: queue.SimpleQueue[_Call[object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0
        self._late = 0

    def call(self, function: Callable[[], T], deadline_ms: float) -> T:
        """The result of ``function()``, or its own exception.

        Raises
        ------
        LateError
            It did not end within ``deadline_ms`` milliseconds.
        BusyError
            Too many earlier calls are still running past their deadlines.
        """
        call = _Call(function)
        with self._lock:
            if self._late >= self._most:
                raise BusyError(f"{self._late} earlier calls have not ended")
            self._busy += 1
            if self._busy > self._threads:
                self._threads += 1
                threading.Thread(target=self._work, name=f"tertulia-{self._name}", daemon=True).start()
        self._waiting.put(call)  # type: ignore[arg-type]  # a queue of calls of every type
        if not call.done.wait(deadline_ms / 1000):
            with self._lock:
                # It may have ended between the wait and here; then it is in time after all.
                if not call.done.is_set():
                    self._late += 1
                    call.abandoned = True
                    raise LateError
        if call.error is not None:
            raise call.error
        return call.value  # type: ignore[return-value]  # set by run() where there was no error

    def _work(self) -> None:
        while (call := self._waiting.get()) is not None:
            if not call.abandoned:
                call.run()
            with self._lock:
                self._busy -= 1
                self._late -= call.abandoned

    def close(self) -> None:
        """Let idle threads end; a call that hangs keeps its daemon thread until the process ends."""
        with self._lock:
            for _ in range(self._threads):
                self._waiting.put(None)
            self._threads = 0
