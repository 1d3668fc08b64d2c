"""What is to be cleaned away and how: the filters in order, each with its action and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from tertulia.corpus.cleaning.filter import Filter
from tertulia.corpus.cleaning.registry import FILTERS
from tertulia.errors import ConfigurationError

__all__ = ["ACTIONS", "LANGUAGES", "Action", "Language", "Plan", "Request", "Step", "parse_plan"]

Action = Literal["mark", "drop", "mask"]
Language = Literal["auto", "en", "zh"]
ACTIONS: tuple[Action, ...] = get_args(Action)
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Request:
    """One filter as it was asked for: its name, the action, and the settings that differ from its defaults."""

    name: str
    action: Action
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A filter that is ready, and its action."""

    filter: Filter
    action: Action


@dataclass(frozen=True, slots=True)
class Plan:
    """The filters that are asked for; ``language`` is ``auto`` until somebody has looked at the texts."""

    requests: tuple[Request, ...]
    language: Language = "auto"

    @property
    def looks_ahead(self) -> bool:
        """Whether a filter must see every record before the first can be judged."""
        return any(FILTERS.factory(request.name).looks_ahead for request in self.requests)

    def steps(self, language: str) -> list[Step]:
        """The filters, made for a language, in order; those that must look ahead come last, where others have dropped theirs.

        Raises
        ------
        MissingExtraError
            A filter needs a package that is not installed.
        """
        steps = [
            Step(cast("Filter", FILTERS.factory(request.name)(language, **request.settings)), request.action)
            for request in self.requests
        ]
        return sorted(steps, key=lambda step: step.filter.looks_ahead)

    def to_json(self) -> dict[str, Any]:
        """The plan as a manifest holds it."""
        return {
            "filters": {request.name: request.action for request in self.requests},
            "settings": {
                f"{request.name}.{name}": value
                for request in self.requests
                for name, value in sorted(request.settings.items())
            },
            "language": self.language,
        }


def parse_plan(filters: Sequence[str], settings: Sequence[str] = (), language: str = "auto") -> Plan:
    """A plan from what is typed: ``["offensive", "personal:mask"]`` and ``["duplicates.threshold=0.9"]``.

    Raises
    ------
    ConfigurationError
        There is no such filter, action, language or setting, or a filter cannot do the action.
    """
    if language not in LANGUAGES:
        raise ConfigurationError(f"the language is {language!r}; expected one of: {', '.join(LANGUAGES)}")
    actions: dict[str, Action] = {}
    for part in filters:
        name, _, action = part.strip().partition(":")
        if name in actions:
            raise ConfigurationError(f"the filter {name!r} is named twice; expected every filter once")
        actions[name] = _checked_action(name, action or "mark")
    if not actions:
        raise ConfigurationError(f"no filter is named; there are: {', '.join(FILTERS.names())}")
    given: dict[str, dict[str, Any]] = {name: {} for name in actions}
    for text in settings:
        name, key, value = _setting(text, given)
        given[name][key] = value
    return Plan(tuple(Request(name, action, given[name]) for name, action in actions.items()), language)


def _checked_action(name: str, action: str) -> Action:
    part: type[Filter] = FILTERS.factory(name)
    if action not in ACTIONS:
        raise ConfigurationError(f"the filter {name!r} is to {action!r}; expected one of: {', '.join(ACTIONS)}")
    if action == "mask" and not part.maskable:
        raise ConfigurationError(
            f"the filter {name!r} cannot mask, for what it finds is no span of a text; expected mark or drop"
        )
    return action


def _setting(text: str, given: Mapping[str, Any]) -> tuple[str, str, Any]:
    key, equals, value = text.partition("=")
    name, dot, option = key.strip().partition(".")
    if not equals or not dot:
        raise ConfigurationError(f"a setting is {text!r}; expected FILTER.NAME=VALUE, such as duplicates.threshold=0.9")
    if name not in given:
        raise ConfigurationError(f"the setting {key!r} is of a filter that is not in use; in use: {', '.join(given)}")
    known: Mapping[str, Any] = FILTERS.factory(name).settings
    if option not in known:
        there = ", ".join(known) or "none"
        raise ConfigurationError(f"the filter {name!r} has no setting {option!r}; it has: {there}")
    return name, option, known[option].parse(key, value.strip())
