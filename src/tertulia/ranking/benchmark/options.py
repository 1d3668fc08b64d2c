"""What a benchmark is asked for, checked before anything is computed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tertulia.errors import ConfigurationError, InputError
from tertulia.measures.bootstrap import check_bootstrap
from tertulia.ranking.folds import FEWEST_FOLDS
from tertulia.ranking.ranker import chosen_settings
from tertulia.ranking.registry import RANKERS

if TYPE_CHECKING:
    from tertulia.ranking.ranker import Ranker

__all__ = ["ENSEMBLE", "MEASURES", "BenchmarkOptions", "base_name", "benchmark_systems", "check_name"]

ENSEMBLE = "ensemble"
MEASURES = ("P@1", "MAP", "MRR", "nDCG@10")
# Floors, words, features, networks, all of them together: the order in which tables list what ships.
_ORDER = [
    "random",
    "length",
    "cosine",
    "bm25",
    "matching",
    "svmrank",
    "gbdt",
    "bilstm",
    "cnn",
    "biencoder",
    "crossencoder",
]
_NAME = re.compile(r"[^\W_][\w.+-]{0,63}")
_MOST_SEEDS = 100
_MOST_FOLDS = 1_000


@dataclass(frozen=True)
class BenchmarkOptions:
    """How a benchmark is to be made.

    Attributes
    ----------
    rankers:
        Their names; ``None`` for all there are.
    seeds:
        Each ranker is fitted so many times, with ``seed``, ``seed`` + 1, …
    trials:
        How many combinations of settings each fit may try on dev.
    cuts, measures:
        The relevances from which a candidate is positive, and the names of measures; empty for those that suit the set.
    tuned_for:
        The cut that is tuned for on dev; ``None`` for the one that ``default_tuning_cut`` takes.
    folds:
        Cross-validation: the set is divided into so many parts, each of which is test once; ``None`` takes the splits of the set.
    protocol:
        ``candidates``: a context ranks its own candidates. ``full``: it ranks all distinct responses of the split.
    pool:
        With ``full``: a seeded sample of so many responses beside the context's own; ``None`` for all.
    runs:
        TREC run files of outside systems by the names they get in the table.
    settings:
        Of rankers, by ranker and name.
    sentence_model:
        ``auto`` (one that suits the language, where its package is installed), ``none``, a name or a path.
    checkpoint:
        What the ranker ``crossencoder`` starts from.
    language, turns, decay:
        As of ``Wording``; the language may be ``auto``.
    limit_minutes:
        A fit, and the scoring after it, that takes longer is stopped and reported as failed; ``None`` for no limit.
    cache:
        Where models and scores are kept, so that a benchmark that was stopped goes on; ``None`` for the user's cache.
    baseline:
        The system from which differences are told.
    confidence, replicates:
        Of bootstrap intervals. ``permutations`` is the number of the randomisation tests.
    hardest:
        So many of the hardest contexts are shown.
    """

    rankers: tuple[str, ...] | None = None
    seeds: int = 3
    trials: int = 8
    cuts: tuple[float, ...] = ()
    measures: tuple[str, ...] = MEASURES
    tuned_for: float | None = None
    folds: int | None = None
    protocol: Literal["candidates", "full"] = "candidates"
    pool: int | None = None
    runs: Mapping[str, Path] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sentence_model: str = "auto"
    checkpoint: str | None = None
    language: str = "auto"
    turns: int | None = None
    decay: float = 0.5
    device: str = "auto"
    workers: int = 1
    cache: Path | None = None
    seed: int = 0
    split_seed: int = 0
    limit_minutes: float | None = None
    baseline: str = "bm25"
    confidence: float = 0.95
    replicates: int = 1_000
    permutations: int = 10_000
    hardest: int = 30

    def check(self) -> None:
        """Refuse what has no meaning.

        Raises
        ------
        ConfigurationError
            A number is out of range, a name is none, or options exclude each other.
        """
        for name, low, high in [
            ("seeds", 1, _MOST_SEEDS),
            ("trials", 1, 10_000),
            ("workers", 1, 1_024),
            ("hardest", 0, 10_000),
            ("permutations", 1, 10_000_000),
        ]:
            if not low <= getattr(self, name) <= high:
                raise ConfigurationError(f"{name} is {getattr(self, name)}; expected a number from {low} to {high:,}")
        if self.seed < 0 or self.split_seed < 0:
            raise ConfigurationError("a seed is below 0; expected a whole number from 0")
        if self.protocol not in ("candidates", "full"):
            raise ConfigurationError(f"the protocol is {self.protocol!r}; expected candidates or full")
        if self.pool is not None and (self.protocol != "full" or self.pool < 1):
            raise ConfigurationError("a pool is a number from 1, and goes with the protocol full alone")
        if self.limit_minutes is not None and not 0 < self.limit_minutes < 1e6:
            raise ConfigurationError(f"the limit is {self.limit_minutes} minutes; expected a number above 0")
        if self.device not in ("auto", "cpu", "cuda"):
            raise ConfigurationError(f"the device is {self.device!r}; expected auto, cpu or cuda")
        if self.folds is not None and (not FEWEST_FOLDS <= self.folds <= _MOST_FOLDS or self.protocol == "full"):
            raise ConfigurationError(
                f"folds are {self.folds}, with the protocol {self.protocol}; expected {FEWEST_FOLDS} to {_MOST_FOLDS}, with the "
                "protocol candidates"
            )
        if self.runs and self.protocol == "full":
            raise ConfigurationError(
                "runs of outside systems rank the candidates of a set, so they enter the protocol candidates alone"
            )
        for name in self.runs:
            check_name(name)
        try:
            check_bootstrap(self.confidence, self.replicates)
        except InputError as error:
            raise ConfigurationError(error.message) from None

    def settings_of(self, ranker: str) -> dict[str, Any]:
        """The settings that were given for a ranker."""
        given = dict(self.settings.get(ranker, {}))
        if ranker == "crossencoder" and self.checkpoint is not None:
            given.setdefault("checkpoint", self.checkpoint)
        return given


def base_name(value: Any) -> Any:
    """The last part of what may be a path, for files that are to be the same wherever they are made."""
    return Path(value).name if isinstance(value, str) and os.sep in value else value


def check_name(name: str) -> None:
    """Hold the name of a system, which becomes a part of file names.

    Raises
    ------
    ConfigurationError
        It has other than letters, digits and ``. + - _``.
    """
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r:.80} is no name of a system; expected letters, digits, and . + - _ between them"
        )


def benchmark_systems(options: BenchmarkOptions) -> list[str]:
    """The rankers of a benchmark in the order of the table, ensembles last; their settings are checked.

    Raises
    ------
    ConfigurationError
        There is no such ranker or setting, a name stands twice or for two things, or nothing is left to compare.
    """
    there = RANKERS.names()
    wanted = list(dict.fromkeys(there if options.rankers is None else options.rankers))
    names = sorted(wanted, key=_place)
    for name in names:
        check_name(name)
        if name not in there:
            raise ConfigurationError(f"there is no ranker {name!r}; there are: {', '.join(sorted(there, key=_place))}")
        if name in options.runs:
            raise ConfigurationError(f"a run is to be called {name!r}, as a ranker is", hint="--run OTHER=FILE")
        given = options.settings_of(name)
        if given:
            factory: type[Ranker] = RANKERS.factory(name)
            chosen_settings(factory, given)
    for name in options.settings:
        if name not in names:
            raise ConfigurationError(
                f"a setting of {name!r} is given, which is not among the rankers: {', '.join(names)}"
            )
    if not names and not options.runs:
        raise ConfigurationError("there is no ranker and no run to compare")
    return names


def _place(name: str) -> tuple[int, str]:
    if name == ENSEMBLE:
        return len(_ORDER) + 1, name
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER)), name
