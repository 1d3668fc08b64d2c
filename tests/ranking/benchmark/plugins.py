"""Rankers that misbehave, as another package would add them: a module and the metadata of its entry points."""

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

__all__ = ["RANKERS", "install"]

RANKERS = (
    *("crashing", "hanging", "raising", "leaving", "needing", "unfinished", "silent", "short"),
    *("peeking", "chatty", "waiting", "huge"),
)

MODULE = '''\
"""Rankers that misbehave."""

import os, signal, subprocess, sys, time
from pathlib import Path

import numpy as np

from tertulia.errors import MissingExtraError
from tertulia.ranking.rankers.length import Length
from tertulia.ranking.ranker import Setting


class Crashing(Length):
    name = "crashing"

    def fit(self, train, dev, run):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hanging(Length):
    name = "hanging"

    def fit(self, train, dev, run):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(__file__).with_name("hanging.pids").write_text(f"{os.getpid()} {child.pid}")
        time.sleep(600)


class Raising(Length):
    name = "raising"

    def fit(self, train, dev, run):
        raise ValueError("no\\nmore")


class Leaving(Length):
    name = "leaving"

    def fit(self, train, dev, run):
        os._exit(3)


class Needing(Length):
    name = "needing"

    def fit(self, train, dev, run):
        raise MissingExtraError("this ranker", package="wonder", extra="full")


class Unfinished(Length):
    name = "unfinished"

    def score(self, examples):
        for example in examples:
            yield np.full(len(example), np.nan)


class Silent(Length):
    name = "silent"

    def score(self, examples):
        return iter(())


class Short(Length):
    name = "short"

    def score(self, examples):
        for example in examples:
            yield np.zeros(len(example) + 1)


class Peeking(Length):
    name = "peeking"

    def score(self, examples):
        for example in examples:
            yield np.nan_to_num(example.relevance)


class Chatty(Length):
    name = "chatty"

    def fit(self, train, dev, run):
        print('{"outcome": "failed", "reason": "a ranker printed this"}', flush=True)
        os.write(1, b"noise\\n")
        super().fit(train, dev, run)


class Waiting(Length):
    name = "waiting"
    known_settings = {**Length.known_settings, "gate": Setting("", "a file that is waited for")}

    def fit(self, train, dev, run):
        gate = Path(self.settings["gate"])
        gate.with_suffix(f".{run.seed}").write_text(str(os.getpid()))
        while run.seed == 1 and not gate.with_suffix(".open").exists():
            run.progress("waiting", 1, None)
            time.sleep(0.05)
        super().fit(train, dev, run)


class Huge(Length):
    name = "huge"

    def fit(self, train, dev, run):
        raise MemoryError
'''


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, names: Iterable[str] = RANKERS) -> Path:
    """Put the rankers where this process, and those that it starts, find them as those of an installed package."""
    folder.mkdir(exist_ok=True)
    (folder / "misbehaving_rankers.py").write_text(MODULE, encoding="utf-8")
    metadata = folder / "misbehaving-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n", encoding="utf-8")
    points = [f"{name} = misbehaving_rankers:{name.capitalize()}" for name in names]
    (metadata / "entry_points.txt").write_text("\n".join(["[tertulia.rankers]", *points]) + "\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "misbehaving_rankers", raising=False)
    return folder
