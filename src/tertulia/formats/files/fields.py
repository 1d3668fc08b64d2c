"""The fields of JSON objects, taken with a check: what is wrong is an ``InputError`` that says what was found and expected."""

from __future__ import annotations

import math
from collections.abc import Set
from datetime import datetime
from typing import Any, TypeVar

from tertulia.artefact import canonical_json
from tertulia.corpus.times import as_utc, utc_text
from tertulia.errors import InputError

__all__ = [
    "attributes",
    "found",
    "number",
    "objects",
    "refuse_unknown",
    "text",
    "texts",
    "time",
    "time_text",
    "whole_number",
    "without_empty",
]

T = TypeVar("T")
_SHOWN = 60


def found(value: Any) -> str:
    """A short description of a value for a message: ``a list``, ``12``, ``null``."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        value = value[:_SHOWN]
    shown = canonical_json(value) if isinstance(value, str | bool) else str(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"


def text(item: dict[str, Any], name: str, *, required: bool = False) -> str | None:
    """A text; ``None`` where there is none and none is required."""
    value = item.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name} holds {found(value)}; expected a text")
    return _unicode(value, name)


def _unicode(value: str, name: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} holds half of a surrogate pair, which is not Unicode text") from None
    return value


def whole_number(item: dict[str, Any], name: str, default: T) -> int | T:
    """A whole number from 0 below 2^31, or the default where there is none."""
    value = item.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InputError(f"{name} holds {found(value)}; expected a whole number from 0")
    return value


def number(item: dict[str, Any], name: str, default: T) -> float | T:
    """A finite number as a float, or the default where there is none."""
    value = item.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise InputError(f"{name} holds {found(value)}; expected a finite number")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def objects(item: dict[str, Any], name: str, *, of: str = "objects") -> list[dict[str, Any]]:
    """A list of objects, which must be there (``of`` describes them for the message)."""
    value = item.get(name)
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise InputError(f"{name} holds {found(value)}; expected a list of {of}")
    return value


def texts(item: dict[str, Any], name: str) -> list[str]:
    """A list of texts, which must be there."""
    value = item.get(name)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise InputError(f"{name} holds {found(value)}; expected a list of texts")
    return [_unicode(part, name) for part in value]


def time(item: dict[str, Any], name: str) -> datetime | None:
    """A time in ISO 8601, in UTC where it names no zone; ``None`` where there is none."""
    value = text(item, name)
    if value is None:
        return None
    try:
        return as_utc(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise InputError(f"{name} holds {value!r}; expected a time such as 2017-06-21T18:19:15Z") from None


def time_text(moment: datetime | None) -> str | None:
    """A time as ``time`` reads it."""
    return None if moment is None else utc_text(moment)


def attributes(item: dict[str, Any], name: str = "attributes") -> dict[str, Any]:
    """An object that a corpus can keep as attributes; empty where there is none."""
    value = item.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name} holds {found(value)}; expected an object")
    if value:
        # What JSON takes but a corpus cannot hold: numbers beyond all bounds, halves of surrogate pairs.
        try:
            canonical_json(value).encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} hold half of a surrogate pair, which is not Unicode text") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} cannot be kept: {error}") from None
    return value


def refuse_unknown(item: dict[str, Any], what: str, names: Set[str]) -> None:
    """A field that the format does not have is an error: a misspelt name must not vanish."""
    if not item.keys() <= names:
        unknown = sorted(item.keys() - names)
        raise InputError(
            f"{what} has the unknown field {unknown[0]!r}; what the model has no field for goes in attributes"
        )


def without_empty(value: dict[str, Any]) -> dict[str, Any]:
    """The object without what is ``None`` or an empty object."""
    return {key: item for key, item in value.items() if item is not None and item != {}}
