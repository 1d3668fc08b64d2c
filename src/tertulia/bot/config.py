"""``bot.toml``: the name of a bot and its components in order, checked on load with the line of what does not hold."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tertulia.bot.registry import COMPONENTS
from tertulia.bot.reranking import OpenReranker, no_rerankers
from tertulia.errors import ConfigurationError

__all__ = ["BotConfig", "ComponentConfig", "OptionReader", "load_config"]

_PRIVACY = ("standard", "strict")
_LANGUAGES = ("en", "zh")
_LAST_RESORT = "backup"


@dataclass(frozen=True, slots=True)
class ComponentConfig:
    """One entry of the ordered list: ``name`` is the kind, numbered where the kind stands more than once."""

    kind: str
    name: str
    threshold: float
    deadline_ms: float
    options: OptionReader


@dataclass(frozen=True, slots=True)
class BotConfig:
    """A checked ``bot.toml``; ``open_reranker`` is how components get the rankers that it names."""

    file: Path
    name: str
    language: str = "en"
    seed: int = 0
    privacy: str = "standard"
    greeting: str = ""
    openers: list[str] = field(default_factory=list)
    components: list[ComponentConfig] = field(default_factory=list)
    open_reranker: OpenReranker = no_rerankers

    @property
    def directory(self) -> Path:
        """The bot's directory."""
        return self.file.parent


class _Document:
    """A TOML file that knows on which line a key of a table stands: ``tomllib`` does not tell."""

    _HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]?\]")

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            self.text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ConfigurationError("is not there; a bot is a directory with a bot.toml", where=file) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot be read: {error}", where=file) from None
        try:
            self.value = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(f"is not TOML: {error}", where=file) from None

    def line(self, table: str, number: int, key: str | None) -> int:
        """The line of a key in the ``number``-th table of that name, or of the table's header."""
        pattern = None if key is None else re.compile(rf"""\s*(?:{re.escape(key)}|"{re.escape(key)}")\s*[=.]""")
        seen, found = -1, 1
        inside = False
        for index, line in enumerate(self.text.splitlines(), start=1):
            header = self._HEADER.match(line)
            if header:
                inside = False
                if header[1] == table:
                    seen += 1
                    inside = seen == number
                    found = index if inside else found
            elif inside and pattern is not None and pattern.match(line):
                return index
        return found


class OptionReader:
    """The values of one table, taken by name and type; what is left over in the end was not expected."""

    def __init__(self, document: _Document, table: str, number: int, values: dict[str, Any]) -> None:
        self._document = document
        self._table = table
        self._number = number
        self._values = values
        self._taken: set[str] = set()

    def fail(self, key: str | None, message: str, hint: str | None = None) -> NoReturn:
        """Refuse the value of a key, naming file and line."""
        line = self._document.line(self._table, self._number, key)
        raise ConfigurationError(message, where=f"{self._document.file}:{line}", hint=hint)

    def text(self, key: str, default: str | None = None, *, choices: tuple[str, ...] = ()) -> str:
        """A text; required where there is no default."""
        value = self._take(key, default)
        if not isinstance(value, str) or (choices and value not in choices):
            expected = f"one of {', '.join(choices)}" if choices else "a text"
            self.fail(key, f"{key} is {_shown(value)}; expected {expected}")
        return value

    def number(self, key: str, default: float | None, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        value = self._take(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            self.fail(key, f"{key} is {_shown(value)}; expected a number from {low:g} to {high:g}")
        return float(value)

    def integer(self, key: str, default: int | None, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"{key} is {_shown(value)}; expected a whole number from {low} to {high}")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts; empty where it is left out."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(key, f"{key} is {_shown(value)}; expected a list of texts")
        return value

    def path(self, key: str, default: str) -> Path:
        """A path inside the bot's directory, which must be there."""
        value = self.text(key, default)
        root = self._document.file.parent
        path = root / value
        if not path.resolve().is_relative_to(root.resolve()):
            self.fail(key, f"{key} is {_shown(value)}; expected a path inside the bot's directory")
        if not path.exists():
            self.fail(key, f"{key} names {_shown(value)}, which is not there")
        return path

    def finish(self, what: str) -> None:
        """Refuse what nobody has asked for: a misspelt option must not be passed over in silence."""
        unknown = [key for key in self._values if key not in self._taken]
        if unknown:
            expected = ", ".join(sorted(self._taken))
            self.fail(unknown[0], f"{what} has no option {unknown[0]!r}; expected one of: {expected}")

    def _take(self, key: str, default: Any) -> Any:
        self._taken.add(key)
        if key in self._values:
            return self._values[key]
        if default is None:
            self.fail(None, f"[{self._table}] has no {key}, which is required")
        return default


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def load_config(directory: str | Path) -> BotConfig:
    """Read and check the ``bot.toml`` of a bot.

    Raises
    ------
    ConfigurationError
        Naming file and line, what was found and what was expected.
    """
    file = Path(directory) / "bot.toml"
    document = _Document(file)
    for key in document.value:
        if key not in {"bot", "component"}:
            raise ConfigurationError(f"has the unknown table [{key}]; expected [bot] and [[component]]", where=file)
    raw = document.value.get("bot")
    if not isinstance(raw, dict):
        raise ConfigurationError("has no [bot] table", where=file)
    options = OptionReader(document, "bot", 0, raw)
    name = options.text("name")
    if not name.strip() or "/" in name:
        options.fail("name", f"name is {_shown(name)}; expected a text without '/'")
    config = BotConfig(
        file,
        name,
        options.text("language", "en", choices=_LANGUAGES),
        options.integer("seed", 0, 0, 2**63 - 1),
        options.text("privacy", "standard", choices=_PRIVACY),
        options.text("greeting", ""),
        options.texts("openers"),
        _components(document),
    )
    options.finish("[bot]")
    return config


def _components(document: _Document) -> list[ComponentConfig]:
    raw = document.value.get("component", [])
    if not isinstance(raw, list) or not raw:
        raise ConfigurationError("has no [[component]]; expected at least a backup", where=document.file)
    known = COMPONENTS.names()
    found: list[ComponentConfig] = []
    for number, values in enumerate(raw):
        options = OptionReader(document, "component", number, values)
        kind = options.text("kind")
        if kind not in known:
            options.fail("kind", f"there is no component {kind!r}; there are: {', '.join(known)}")
        earlier = sum(other.kind == kind for other in found)
        found.append(
            ComponentConfig(
                kind,
                kind if earlier == 0 else f"{kind}-{earlier + 1}",
                options.number("threshold", 0.0, 0.0, 1.0),
                options.number("deadline_ms", 1000.0, 1.0, 600_000.0),
                options,
            )
        )
    if found[-1].kind != _LAST_RESORT:
        found[-1].options.fail(
            "kind", f"the last component is {found[-1].kind!r}; expected {_LAST_RESORT!r}, which always answers"
        )
    return found
