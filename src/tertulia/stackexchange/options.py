"""What a build may be told: which criteria, how they judge, what texts look like, and with what the work is done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from tertulia.corpus.parts.splitting import targets
from tertulia.errors import ConfigurationError
from tertulia.stackexchange.criteria import CRITERIA, POSITIVE_THRESHOLD, criteria_named
from tertulia.stackexchange.engines import ENGINES
from tertulia.stackexchange.finish.comment_text import TextStyle

__all__ = ["DEFAULT_SPLIT", "EDITED", "TEXT_STYLES", "BuildOptions"]

DEFAULT_SPLIT: Mapping[str, float] = MappingProxyType({"train": 0.7, "dev": 0.15, "test": 0.15})
EDITED = ("marker", "history")
TEXT_STYLES = ("plain", "html", "markdown")


@dataclass(frozen=True)
class BuildOptions:
    """The options of a build; those up to ``skip_bad`` shape the corpus, the others leave no trace in it.

    Attributes
    ----------
    criteria:
        The criteria that a dialogue must meet, in the order of the funnel.
    positive_threshold:
        The least compound score of VADER, from -1 to 1, of a seeker's last word that is positive.
    thresholds:
        The same for single domains.
    edited:
        What counts as edited: a ``marker`` in a text, or the ``history`` of a post.
    text:
        What texts look like.
    split:
        Split → share of the dialogues, earliest first; ``None`` leaves splits out.
    sites:
        Name of a dump → host of its site.
    skip_bad:
        Leave malformed rows out and count them.
    engine, master:
        What narrows, and for Spark its master.
    workers:
        Threads and processes at work; ``None`` for as many as there are processors.
    cache:
        The folder for intermediate files; ``None`` for one in the user's cache directory.
    keep:
        Keep the parsed tables for builds to come.

    Raises
    ------
    ConfigurationError
        A value does not hold.
    UsageError
        The shares make no split.
    """

    criteria: tuple[str, ...] = CRITERIA
    positive_threshold: float = POSITIVE_THRESHOLD
    thresholds: Mapping[str, float] = field(default_factory=dict)
    edited: Literal["marker", "history"] = "marker"
    text: TextStyle = "plain"
    split: Mapping[str, float] | None = field(default_factory=lambda: dict(DEFAULT_SPLIT))
    sites: Mapping[str, str] = field(default_factory=dict)
    skip_bad: bool = False
    engine: str = "duckdb"
    master: str | None = None
    workers: int | None = None
    cache: Path | None = None
    keep: bool = True

    def __post_init__(self) -> None:
        criteria_named(self.criteria or ["none"])
        _expect_one_of("edited", self.edited, EDITED)
        _expect_one_of("text", self.text, TEXT_STYLES)
        _expect_one_of("engine", self.engine, ENGINES)
        for threshold in (self.positive_threshold, *self.thresholds.values()):
            if not -1 <= threshold <= 1 or math.isnan(threshold):
                raise ConfigurationError(f"a positive threshold is {threshold:g}; expected a score from -1 to 1")
        if self.split is not None:
            targets(0, fractions=self.split or {"": math.nan}, counts=None)
        if self.workers is not None and self.workers < 1:
            raise ConfigurationError(f"there are to be {self.workers} workers; expected one at least")
        if self.master is not None and self.engine != "spark":
            raise ConfigurationError("a master is for the engine spark alone", hint="--engine spark")

    def threshold(self, domain: str) -> float:
        """The least score of a positive ending in a domain."""
        return self.thresholds.get(domain, self.positive_threshold)

    def shown(self) -> dict[str, Any]:
        """The options as the manifest keeps them: those that shape the corpus."""
        return {
            "criteria": list(self.criteria),
            "positive_threshold": self.positive_threshold,
            "thresholds": dict(sorted(self.thresholds.items())),
            "edited": self.edited,
            "text": self.text,
            "split": None if self.split is None else dict(self.split),
            "sites": dict(sorted(self.sites.items())),
            "skip_bad": self.skip_bad,
        }


def _expect_one_of(name: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise ConfigurationError(f"{name} is {value!r}; expected one of {', '.join(values)}")
