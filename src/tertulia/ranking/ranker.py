"""What a ranker is: it learns from examples, scores the candidates of others, and can be kept in a directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.wording import Wording

__all__ = ["FitRun", "Progress", "Ranker", "Setting", "chosen_settings"]

Progress = Callable[[str, int, int | None], None]
"""Told the name of a stage, how much of it has been done since the last call, and the total where it is known."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a ranker: its value unless given, the values that tuning tries (the most promising first), and what it is.

    Values are of the kind of the default. Where that is ``None`` they are of the kind of what is tried, numbers where there is a
    bound, else texts; the text ``none`` is ``None``.
    """

    default: Any
    help: str
    tried: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class FitRun:
    """How a ranker is to be fitted.

    Attributes
    ----------
    wording:
        How texts become words, and which turns of a context count.
    quality:
        How good scores of examples are, higher is better: what is tuned on dev, and what stops training early.
    seed:
        The same seed gives the same model on the same machine.
    trials:
        How many combinations of settings may be tried on dev; 1 takes the settings as they are.
    workers:
        Threads or processes at most.
    device:
        ``auto``, ``cpu`` or ``cuda``: where neural rankers compute; ``auto`` is a GPU where there is one.
    sentence_model:
        The name or path of a sentence embedding model; ``None`` for none.
    cache:
        A directory where what is slow to compute and can be used again (embeddings) may be kept; ``None`` for none.
    trained:
        Directories of rankers that were fitted on the same train and dev with the same seed, by name: an ensemble uses them.
    progress:
        Is told how far the fit is.
    """

    wording: Wording
    quality: Callable[[Sequence[Example], Iterable[NDArray[np.float64]]], float]
    seed: int = 0
    trials: int = 1
    workers: int = 1
    device: str = "auto"
    sentence_model: str | None = None
    cache: Path | None = None
    trained: Mapping[str, Path] = field(default_factory=dict)
    progress: Progress = lambda _stage, _done, _total: None


@runtime_checkable
class Ranker(Protocol):
    """Orders candidates. Made by ``cls(settings)``, then fitted or loaded; scoring is safe in several threads.

    ``settings`` of an object are all settings with the values in use, after ``fit`` those that were chosen on dev.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    supervised: ClassVar[bool]
    """Whether it learns from relevance; the others learn from texts alone, or not at all."""
    known_settings: ClassVar[Mapping[str, Setting]]
    settings: dict[str, Any]

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None: ...

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Learn from train; tune on dev, within ``run.trials``; test examples are never seen.

        Raises
        ------
        InputError
            There is nothing to learn from.
        MissingExtraError
            A package is not installed.
        """
        ...

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """Of each example the scores of its candidates: finite float64 of the shape (candidates,); relevance is not looked at.

        A score depends on the example alone, not on what else is scored with it.
        """
        ...

    def save(self, directory: Path) -> None:
        """Leave in an empty directory all that ``load`` needs; never a pickle."""
        ...

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved: it gives the same scores.

        Raises
        ------
        ArtefactError
            What is there does not hold.
        """
        ...

    def report(self) -> dict[str, Any]:
        """What there is to say about the fitted ranker, as JSON: settings chosen, epochs, sizes, importance of features."""
        ...


def chosen_settings(ranker: type[Ranker], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """All settings of a ranker: those given, checked, else the defaults. A text for a number is read as one.

    Raises
    ------
    ConfigurationError
        There is no setting of that name, or the value is of another kind or out of range.
    """
    known = ranker.known_settings
    values = {name: setting.default for name, setting in known.items()}
    for name, value in (given or {}).items():
        if name not in known:
            expected = ", ".join(known) or "none"
            raise ConfigurationError(f"the ranker {ranker.name!r} has no setting {name!r}; it has: {expected}")
        values[name] = _checked(ranker.name, name, known[name], value)
    return values


_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _checked(ranker: str, name: str, setting: Setting, value: Any) -> Any:
    default = setting.default
    what = f"the setting {name!r} of the ranker {ranker!r} is {str(value)[:60]!r}"
    if default is None:
        if value is None or (isinstance(value, str) and value.strip().lower() == "none"):
            return None
        bounded = setting.low is not None or setting.high is not None
        default = next((other for other in setting.tried if other is not None), 0.0 if bounded else "")
    try:
        if isinstance(default, bool):
            value = _TRUTH[str(value).strip().lower()]
        elif isinstance(default, int):
            if isinstance(value, float) and value != int(value):
                raise ValueError
            value = int(value)
        elif isinstance(default, float):
            value = float(value)
        elif isinstance(default, str) and not isinstance(value, str):
            raise ValueError
    except (ValueError, TypeError, KeyError, OverflowError):
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(default)]
        raise ConfigurationError(f"{what}; expected {kind}") from None
    if setting.choices and value not in setting.choices:
        raise ConfigurationError(f"{what}; expected one of {', '.join(map(str, setting.choices))}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_bounds(value, setting, what)
    return value


def _check_bounds(value: float, setting: Setting, what: str) -> None:
    low = -math.inf if setting.low is None else setting.low
    high = math.inf if setting.high is None else setting.high
    # Written so that a NaN does not pass.
    if not low <= value <= high or math.isinf(value):
        bounds = [f"from {low:g}"] * (setting.low is not None) + [f"to {high:g}"] * (setting.high is not None)
        raise ConfigurationError(" ".join([f"{what}; expected a finite number", *bounds]))
