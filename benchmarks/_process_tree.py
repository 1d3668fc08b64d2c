"""The memory of a process with all its children, looked at several times a second: Linux only, from ``/proc``."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
EVERY_S = 0.1
# Each page counted once takes long to tell for large maps, so it is asked for more seldom.
SHARES_EVERY = 5


@dataclass
class Watch:
    """Samples from when it is entered until it is left.

    Attributes
    ----------
    rss:
        The greatest sum of resident memory over the processes, in bytes. Pages that several processes share, and pages of
        mapped files, count in each.
    pss:
        The same with shared pages counted once.
    processes:
        The most processes at one time.
    """

    pid: int
    rss: int = 0
    pss: int = 0
    processes: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        if PROC.is_dir():
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()

    def _sample(self) -> None:
        turn = 0
        while not self._stop.is_set():
            pids = tree(self.pid)
            self.processes = max(self.processes, len(pids))
            self.rss = max(self.rss, sum(map(resident, pids)))
            if turn % SHARES_EVERY == 0:
                self.pss = max(self.pss, sum(map(proportional, pids)))
            turn += 1
            self._stop.wait(EVERY_S)


def tree(root: int) -> list[int]:
    """A process and all that descend from it, those that have been waited for left out."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:  # it has ended
                continue
            # The name in brackets may hold anything; the parent comes second after it.
            parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            children[parent].append(int(entry.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def resident(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    try:
        for line in (PROC / str(pid) / "smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
