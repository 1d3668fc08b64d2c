"""One fit and one scoring: what a process of the benchmark is to do, and the keys under which what it did is kept."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import tertulia
from tertulia import __version__
from tertulia.artefact import canonical_json, digest_of_path
from tertulia.ranking import examples, model, quality
from tertulia.ranking.benchmark.options import ENSEMBLE
from tertulia.ranking.registry import RANKERS

__all__ = ["Task", "digest_of_model", "source_digest"]

# Raised when what is kept changes its form.
_FORM = 2


@dataclass(frozen=True)
class Task:
    """A ranker to be fitted with one seed, and to score the test split of a set, or of one of its ``folds``.

    ``source`` is the digest of the code, computed once: what lies on disk may be edited meanwhile. ``trained`` has the folders of
    the fits that an ensemble may use. ``materials`` has digests of what settings name by path.
    """

    system: str
    seed: int
    set_path: str
    set_digest: str
    split_seed: int
    folds: int | None
    fold: int
    settings: Mapping[str, Any]
    wording: Mapping[str, Any]
    cut: float
    trials: int
    workers: int
    device: str
    sentence_model: str | None
    protocol: str
    pool: int | None
    cache: str
    source: str
    trained: Mapping[str, str] = field(default_factory=dict)
    materials: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """What ``from_json`` takes."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that was written."""
        return cls(**json.loads(text))

    @property
    def fit_directory(self) -> Path:
        """Where the fitted ranker is kept."""
        return self._directory("fits", self._fit_key())

    @property
    def scores_directory(self) -> Path:
        """Where its scores are kept."""
        key = _digest({"fit": self._fit_key(), "protocol": self.protocol, "pool": self.pool})
        return self._directory("scores", key)

    @property
    def log_file(self) -> Path:
        """Where what the process says on its standard error goes."""
        return Path(self.cache) / "logs" / f"{self.scores_directory.name}.log"

    def _directory(self, kind: str, key: str) -> Path:
        part = "" if self.folds is None else f"-{self.fold}of{self.folds}"
        return Path(self.cache) / kind / f"{self.system}-{self.seed}{part}-{key[:32]}"

    def _fit_key(self) -> str:
        """All that decides over the model; paths do not, what lies there does."""
        return _digest(
            {
                "form": _FORM,
                "version": __version__,
                "source": self.source,
                "system": self.system,
                "seed": self.seed,
                "set": self.set_digest,
                "split_seed": self.split_seed,
                "folds": self.folds,
                "fold": self.fold,
                "settings": dict(self.settings),
                "wording": dict(self.wording),
                "cut": self.cut,
                "trials": self.trials,
                "workers": self.workers,
                "device": self.device,
                "sentence_model": self.sentence_model,
                "materials": dict(self.materials),
                # The folder of a fit has the key of its fit in its name.
                "trained": {name: Path(path).parent.name for name, path in self.trained.items()},
            }
        )


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def source_digest(system: str) -> str:
    """A digest of the code that a ranker's scores come from: its module, and all of Tertulia that this imports, however far.

    A change of it is a change of the key, so that nothing that other code has made is taken for what this one makes.

    Raises
    ------
    ConfigurationError
        The ranker cannot be imported.
    """
    file = inspect.getsourcefile(RANKERS.factory(system))
    begin = [Path(file)] if file is not None else []
    begin += [Path(examples.__file__), Path(model.__file__), Path(quality.__file__)]
    if system == ENSEMBLE:
        # It makes its members by their names.
        begin += Path(model.__file__).parent.joinpath("rankers").glob("*.py")
    known: dict[Path, frozenset[Path]] = {}
    while begin:
        path = begin.pop()
        if path not in known:
            known[path] = _imported(path)
            begin += known[path]
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in known)
    return _digest(digests)


@cache
def _imported(path: Path) -> frozenset[Path]:
    """The files of Tertulia that a file imports, at its top or within functions; none for what is no source."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return frozenset()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(filter(None, map(_file_of, names)))


def _file_of(name: str) -> Path | None:
    first, *rest = name.split(".")
    if first != "tertulia":
        return None
    place = Path(tertulia.__file__).parent.joinpath(*rest)
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@cache
def digest_of_model(value: Any) -> str | None:
    """The digest of what lies at a path that a setting names; ``None`` where the value is no path of anything."""
    if not isinstance(value, str) or not value:
        return None
    try:
        path = Path(value)
        return str(digest_of_path(path)["sha256"]) if path.exists() else None
    except (OSError, ValueError):
        return None
