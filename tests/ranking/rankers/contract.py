"""What every ranker keeps to, whatever it learns: ``check_contract`` holds one to it.

The rankers that are loaded are loaded in another process, in which unpickling raises, and damaged directories are tried there
too, so that a library that crashes on one is seen and not suffered.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from tertulia.artefact import MANIFEST, FileEntry, Manifest, read_manifest, sha256_of, write_manifest
from tertulia.corpus.model import Turn
from tertulia.errors import ConfigurationError, TertuliaError
from tertulia.ranking.examples import Example, Splits
from tertulia.ranking.model import RANKER, load_ranker, save_ranker
from tertulia.ranking.ranker import FitRun, Ranker
from tertulia.ranking.registry import RANKERS

from .made import made_run, made_splits

__all__ = ["check_contract", "fitted", "scores_of"]

Scores = list[np.ndarray]
_ROOT = Path(__file__).resolve().parents[3]


def fitted(
    ranker_class: type[Ranker], splits: Splits, run: FitRun | None = None, settings: Mapping[str, Any] | None = None
) -> Ranker:
    """A ranker of the class, fitted on the splits."""
    ranker = ranker_class(settings)
    ranker.fit(splits.train, splits.dev, run or made_run())
    return ranker


def scores_of(ranker: Ranker, examples: list[Example]) -> Scores:
    """The scores of the examples, held to what every score is."""
    scores = list(ranker.score(iter(examples)))
    assert len(scores) == len(examples)
    for example, values in zip(examples, scores, strict=True):
        assert values.shape == (len(example),)
        assert values.dtype == np.float64
        assert np.isfinite(values).all(), example.id
    return scores


def check_contract(
    ranker_class: type[Ranker],
    tmp_path: Path,
    settings: Mapping[str, Any] | None = None,
    run: FitRun | None = None,
    *,
    splits: Splits | None = None,
    close: float = 0.0,
    needless: Collection[str] = (),
    damage: bool = True,
    timeout: float = 240.0,
) -> Ranker:
    """Fit on a made-up set and hold the ranker to the contract; the fitted ranker.

    ``close`` is by how much, relative to the largest score, a score may differ with what is scored beside it: 0 but for neural
    rankers. ``needless`` names files (relative, with forward slashes) that the ranker can do without. ``damage=False`` leaves out
    the damaged directories, which load the ranker some ten times.
    """
    assert RANKERS.factory(ranker_class.name) is ranker_class
    assert ranker_class.summary
    assert not ranker_class.summary.endswith(".")
    _check_settings(ranker_class, settings or {})
    splits = splits or made_splits()
    run = run or made_run()
    run = replace(run, progress=_checked_progress)
    before = _picture([*splits.train, *splits.dev, *splits.test])

    ranker = fitted(ranker_class, splits, run, settings)
    assert isinstance(ranker, Ranker)
    assert set(ranker.settings) == set(ranker_class.known_settings)
    json.dumps(ranker.settings, allow_nan=False)
    json.dumps(ranker.report(), allow_nan=False)
    scores = scores_of(ranker, splits.test)
    _check_independence(ranker, splits.test, scores, close)
    assert _picture([*splits.train, *splits.dev, *splits.test]) == before, "fitting or scoring changed the examples"

    path = tmp_path / "model"
    save_ranker(ranker, path, Manifest(RANKER))
    loaded = load_ranker(path)
    _same(scores, scores_of(loaded, splits.test), 0.0, "loaded in this process")
    assert loaded.settings == ranker.settings
    json.dumps(loaded.report(), allow_nan=False)
    again = fitted(ranker_class, splits, run, settings)
    save_ranker(again, tmp_path / "again", Manifest(RANKER))
    _same(scores, scores_of(again, splits.test), 0.0, "the same seed")
    assert _bytes(path) == _bytes(tmp_path / "again"), "the same seed gives the same bytes"
    with pytest.raises(TertuliaError):
        save_ranker(ranker, path, Manifest(RANKER))
    _check_no_pickle(path)

    damaged = dict(_damaged(path, tmp_path / "damaged")) if damage else {}
    outcomes = _elsewhere(path, list(damaged), splits.test, tmp_path, timeout)
    there = [np.array([float.fromhex(value) for value in values]) for values in outcomes[str(path)]["scores"]]
    _same(scores, there, 0.0, "loaded in another process")
    for directory, (kind, name) in damaged.items():
        _check_outcome(outcomes[directory], kind, name, needless)
    _check_poor_material(ranker_class, splits, run, settings)
    return ranker


def _check_settings(ranker_class: type[Ranker], settings: Mapping[str, Any]) -> None:
    for name, setting in ranker_class.known_settings.items():
        assert setting.help, name
        for value in setting.tried:
            ranker_class({name: value})
    with pytest.raises(ConfigurationError, match="no setting 'no such setting'"):
        ranker_class({"no such setting": 1})
    assert set(ranker_class(settings).settings) == set(ranker_class.known_settings)


def _checked_progress(stage: str, done: int, total: int | None) -> None:
    assert isinstance(stage, str)
    assert stage
    assert isinstance(done, int)
    assert total is None or isinstance(total, int)


def _picture(examples: list[Example]) -> list[Any]:
    return [(e.id, e.turns, e.texts, e.relevance.tobytes(), e.deviation.tobytes()) for e in examples]


def _check_independence(ranker: Ranker, examples: list[Example], scores: Scores, close: float) -> None:
    _same(scores[::-1], scores_of(ranker, examples[::-1]), close, "in another order")
    alone = [values for example in examples for values in scores_of(ranker, [example])]
    _same(scores, alone, close, "each alone")
    assert list(ranker.score([])) == []
    endless = islice(ranker.score(cycle(examples)), len(examples))
    _same(scores, list(endless), close, "from a stream without end")
    hidden = [
        replace(e, relevance=np.full(len(e), np.nan), deviation=np.zeros(len(e)), attributes={}) for e in examples
    ]
    _same(scores, scores_of(ranker, hidden), 0.0, "with the relevance hidden")
    found: dict[int, Scores] = {}

    def work(number: int) -> None:
        found[number] = scores_of(ranker, examples)

    threads = [Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1]
    for values in found.values():
        _same(scores, values, close, "in two threads")


def _same(wanted: Scores, found: Scores, close: float, when: str) -> None:
    assert len(wanted) == len(found)
    for one, other in zip(wanted, found, strict=True):
        if close:
            np.testing.assert_allclose(other, one, rtol=0, atol=close * max([1.0, *np.abs(one).tolist()]), err_msg=when)
        else:
            np.testing.assert_array_equal(other, one, err_msg=when)


def _check_poor_material(
    ranker_class: type[Ranker], splits: Splits, run: FitRun, settings: Mapping[str, Any] | None
) -> None:
    """Nothing to learn from, or to tune on, is an error that says so, or is done without."""
    unsaid = [replace(e, relevance=np.full(len(e), np.nan)) for e in splits.train]
    for train, dev in (([], []), (unsaid, splits.dev)):
        ranker = ranker_class(settings)
        try:
            ranker.fit(train, dev, run)
        except TertuliaError:
            continue
        scores_of(ranker, splits.test)


def _bytes(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def _check_no_pickle(directory: Path) -> None:
    for name, content in _bytes(directory).items():
        assert not name.endswith((".pkl", ".pickle", ".pt", ".pth", ".joblib")), name
        assert not (content[:1] == b"\x80" and content[1:2] <= b"\x05" and content[-1:] == b"."), f"{name} is a pickle"


def _damaged(path: Path, into: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Copies of a model, each with one file damaged and every manifest made to match: directory -> (kind of damage, file)."""
    files = [name for name in _bytes(path) if not name.endswith(MANIFEST)]
    number = 0
    for name in files:
        content = (path / name).read_bytes()
        if not content:
            continue
        middle = len(content) // 2
        flipped = bytearray(content)
        for place in {len(content) // 5, middle, len(content) * 4 // 5}:
            flipped[place] ^= 0xFF
        kinds: dict[str, bytes | None] = {
            "truncated": content[:middle],
            "flipped": bytes(flipped),
            "emptied": b"",
            "garbage": b"\x93NUMPY\x01\x00" + bytes(range(256)),
            "a list": b"[]\n",
            "an object": b"{}\n",
            "removed": None,
        }
        for kind, damaged in kinds.items():
            copy = into / str(number)
            number += 1
            shutil.copytree(path, copy)
            if damaged is None:
                (copy / name).unlink()
            else:
                (copy / name).write_bytes(damaged)
            _remake_manifests(copy)
            yield str(copy), (kind, name)


def _remake_manifests(directory: Path) -> None:
    """Give every manifest, those of parts first, the sizes and digests of the files as they are."""
    for file in sorted(directory.rglob(MANIFEST), key=lambda each: -len(each.parts)):
        manifest = read_manifest(file.parent)
        there = [name for name in manifest.files if (file.parent / name).is_file()]
        manifest.files = {
            name: FileEntry((file.parent / name).stat().st_size, sha256_of(file.parent / name)) for name in there
        }
        manifest.parts = {part: read_manifest(file.parent / part).digest for part in manifest.parts}
        write_manifest(file.parent, manifest)


def _check_outcome(outcome: dict[str, Any], kind: str, name: str, needless: Collection[str]) -> None:
    what = f"{name} {kind}: {outcome}"
    assert "crash" not in outcome, what
    if "error" in outcome:
        assert "\n" not in outcome["error"], what
        return
    # A byte changed in a number cannot be seen where digests match; it may change scores, but not make them none.
    assert kind == "flipped" or name in needless, what
    assert all(math.isfinite(float.fromhex(value)) for values in outcome["scores"] for value in values), what


_ELSEWHERE = """
import json, pickle, sys

def refuse(*arguments, **options):
    raise AssertionError("something was unpickled")

class Refusing(pickle.Unpickler):
    def __init__(self, *arguments, **options):
        refuse()

pickle.load = pickle.loads = refuse
pickle.Unpickler = pickle._Unpickler = Refusing

def hook(event, arguments):
    if event == "pickle.find_class" and "loading" in state:
        refuse()

state = set()
sys.addaudithook(hook)

import numpy as np
from tertulia.corpus.model import Turn
from tertulia.errors import TertuliaError
from tertulia.ranking.examples import Example
from tertulia.ranking.model import load_ranker

with open(sys.argv[1]) as file:
    task = json.load(file)
examples = [
    Example(each["id"], tuple(Turn(role, text) for role, text in each["turns"]), tuple(each["texts"]),
            np.full(len(each["texts"]), np.nan), np.zeros(len(each["texts"])), each["domain"])
    for each in task["examples"]
]
for directory in task["directories"]:
    print(json.dumps({"begun": directory}), flush=True)
    state.add("loading")
    try:
        ranker = load_ranker(directory)
        outcome = {"scores": [[value.hex() for value in values.tolist()] for values in ranker.score(examples)]}
    except TertuliaError as error:
        outcome = {"error": str(error)}
    except BaseException as error:
        import traceback
        outcome = {"crash": "".join(traceback.format_exception(error))}
    state.clear()
    print(json.dumps({"directory": directory} | outcome), flush=True)
"""


def _elsewhere(
    path: Path, damaged: list[str], examples: list[Example], tmp_path: Path, timeout: float
) -> dict[str, dict[str, Any]]:
    """Load each directory in another process and score: what came of it."""
    task = tmp_path / "task.json"
    rows = [
        {"id": e.id, "turns": [_turn(turn) for turn in e.turns], "texts": list(e.texts), "domain": e.domain}
        for e in examples
    ]
    task.write_text(json.dumps({"examples": rows, "directories": [str(path), *damaged]}))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(task)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    outcomes = {line.pop("directory"): line for line in lines if "directory" in line}
    last = lines[-1] if lines else None
    assert done.returncode == 0, f"the other process ended with {done.returncode} after {last}: {done.stderr[-2000:]}"
    assert "scores" in outcomes[str(path)], outcomes[str(path)]
    return outcomes


def _turn(turn: Turn) -> list[str | None]:
    return [turn.role, turn.text]
