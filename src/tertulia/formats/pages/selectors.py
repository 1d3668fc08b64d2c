"""Where in the pages of a site the prompts and responses stand: a small TOML file of CSS selectors, checked when it is read.

``docs/formats.md`` documents every field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.pages.markup import is_selector

__all__ = ["Index", "Selectors", "Thread", "Value", "fits", "read_selectors"]

_MOST_BYTES = 1_000_000
_ATTRIBUTE = re.compile(r"(.*)@([A-Za-z_:][A-Za-z0-9_:.-]*)", re.DOTALL)
_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_CSS = "a CSS selector, such as 'div.post > p'"
_VALUE = "a CSS selector, or one with an attribute, such as 'time@datetime'"


class Value(NamedTuple):
    """What is to be taken of an element: its text, or an attribute; an empty ``css`` means the block itself."""

    css: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Index:
    """A page that leads to threads: the addresses it has, the links to threads, the link to its next page."""

    match: tuple[re.Pattern[str], ...]
    thread: Value
    next: Value | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """A page with a prompt and responses, or with several in blocks of their own."""

    prompt: tuple[Value, ...]
    response: str
    match: tuple[re.Pattern[str], ...] = ()
    id: re.Pattern[str] | None = None
    block: str | None = None
    title: Value | None = None
    prompt_id: Value | None = None
    prompt_author: Value | None = None
    prompt_time: Value | None = None
    prompt_score: Value | None = None
    response_text: Value | None = None
    response_id: Value | None = None
    response_author: Value | None = None
    response_time: Value | None = None
    response_score: Value | None = None
    next: Value | None = None
    remove: tuple[str, ...] = ()
    text: Literal["plain", "line"] = "plain"
    time_format: str = "iso"
    utc_offset: timezone = timezone.utc  # noqa: UP017 - the type, not the moment


@dataclass(frozen=True, slots=True)
class Selectors:
    """A whole file: what the site is, its index pages where it has any, its threads."""

    name: str
    thread: Thread
    index: Index | None = None
    language: str | None = None
    licence: str | None = None


def fits(address: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    """Whether an address has one of the forms that ``match`` names."""
    return any(pattern.fullmatch(address) for pattern in patterns)


def read_selectors(path: str | Path) -> Selectors:
    """The selectors in a file.

    Raises
    ------
    ConfigurationError
        The file is not TOML, or a field does not hold; naming file, line and field, what was found and what was expected.
    InputError
        It cannot be read.
    MissingExtraError
        selectolax is not installed.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the file of selectors cannot be read: {reason}", where=file) from None
    if len(raw) > _MOST_BYTES:
        raise ConfigurationError(
            f"is longer than {_MOST_BYTES:,} bytes; expected a small file of selectors", where=file
        )
    try:
        text = raw.decode("utf-8-sig")
        value = tomllib.loads(text)
    except UnicodeDecodeError:
        raise ConfigurationError("is not UTF-8; expected a TOML file of selectors", where=file) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"is not TOML: {error}", where=file) from None
    return _Reader(file, text, value).selectors()


class _Reader:
    """Takes the fields of a file with a check."""

    def __init__(self, file: Path, text: str, value: Mapping[str, Any]) -> None:
        self._file = file
        self._text = text
        self._value = value

    def selectors(self) -> Selectors:
        """The whole file, checked."""
        self._only("", self._value, {"site", "index", "thread"})
        site, thread = self._section("site"), self._section("thread")
        if site is None or thread is None:
            missing = "site" if site is None else "thread"
            raise ConfigurationError(f"has no section [{missing}], which is needed", where=self._file)
        self._only("site", site, {"name", "language", "licence"})
        name = self._text_field("site", site, "name", needed=True)
        return Selectors(
            str(name),
            self._thread(thread),
            self._index(self._section("index")),
            self._text_field("site", site, "language"),
            self._text_field("site", site, "licence"),
        )

    def _index(self, section: Mapping[str, Any] | None) -> Index | None:
        if section is None:
            return None
        self._only("index", section, {"match", "thread", "next"})
        return Index(
            self._globs("index", section, needed=True),
            self._link("index", section, "thread", needed=True) or Value("", None),
            self._link("index", section, "next"),
        )

    def _thread(self, section: Mapping[str, Any]) -> Thread:
        self._only("thread", section, {field.name for field in fields(Thread)})
        values = {
            name: self._values("thread", section, name)[0]
            for name in ("title", *(f"{who}_{what}" for who in ("prompt", "response") for what in _DETAILS))
            if name in section
        }
        if "response_text" in section:
            values["response_text"] = self._values("thread", section, "response_text")[0]
        time_format = self._text_field("thread", section, "time_format") or "iso"
        if time_format not in ("iso", "unix", "unix-ms") and "%" not in time_format:
            self._fail("thread", "time_format", time_format, "iso, unix, unix-ms, or a form such as '%Y-%m-%d %H:%M'")
        made = Thread(
            prompt=self._values("thread", section, "prompt", needed=True),
            response=self._css("thread", section, "response", needed=True)[0],
            match=self._globs("thread", section),
            id=self._pattern("thread", section, "id"),
            block=next(iter(self._css("thread", section, "block")), None),
            next=self._link("thread", section, "next"),
            remove=self._css("thread", section, "remove"),
            text=self._one_of("thread", section, "text", ("plain", "line")),
            time_format=time_format,
            utc_offset=self._offset("thread", section),
            **values,
        )
        if made.next is not None and made.id is None and made.block is None:
            raise ConfigurationError(
                "a thread has next pages but no id; expected the regular expression of the part of an address that all pages of "
                "a thread share, such as id = '/thread/([0-9]+)'",
                where=self._where("thread", "next"),
            )
        if made.prompt_id is not None and made.block is None:
            raise ConfigurationError(
                "prompt_id is for pages of several prompts, so it needs block", where=self._where("thread", "prompt_id")
            )
        return made

    def _section(self, name: str) -> Mapping[str, Any] | None:
        section = self._value.get(name)
        if section is not None and not isinstance(section, dict):
            raise ConfigurationError(f"{name} holds {section!r}; expected a section [{name}]", where=self._file)
        return section

    def _only(self, section: str, value: Mapping[str, Any], known: set[str]) -> None:
        for name in value:
            if name not in known:
                what = f"the field {name!r} of [{section}]" if section else f"the section or field {name!r}"
                raise ConfigurationError(
                    f"{what} is not known; known are {', '.join(sorted(known))}", where=self._where(section, name)
                )

    def _texts(self, section: str, value: Mapping[str, Any], name: str, expected: str, needed: bool) -> tuple[str, ...]:
        """One text or a list of them."""
        if name not in value:
            if needed:
                raise ConfigurationError(f"[{section}] has no {name}; expected {expected}", where=self._file)
            return ()
        found = value[name]
        many = found if isinstance(found, list) else [found]
        if not many or not all(isinstance(one, str) and one.strip() and "\0" not in one for one in many):
            self._fail(section, name, found, expected)
        return tuple(one.strip() for one in many)

    def _text_field(
        self, section: str, value: Mapping[str, Any], name: str, *, needed: bool = False, expected: str = "a text"
    ) -> str | None:
        found = self._texts(section, value, name, expected, needed)
        if name in value and isinstance(value[name], list):
            self._fail(section, name, value[name], expected)
        return found[0] if found else None

    def _css(self, section: str, value: Mapping[str, Any], name: str, *, needed: bool = False) -> tuple[str, ...]:
        several = name == "remove"
        if not several:
            found = self._text_field(section, value, name, needed=needed, expected=_CSS)
            selectors: tuple[str, ...] = () if found is None else (found,)
        else:
            selectors = self._texts(section, value, name, _CSS, needed)
        for css in selectors:
            if not is_selector(css):
                self._fail(section, name, css, _CSS)
        return selectors

    def _values(self, section: str, value: Mapping[str, Any], name: str, *, needed: bool = False) -> tuple[Value, ...]:
        if name != "prompt" and isinstance(value.get(name), list):
            self._fail(section, name, value[name], _VALUE)
        found = []
        for text in self._texts(section, value, name, _VALUE, needed):
            match = _ATTRIBUTE.fullmatch(text)
            made = Value(match[1].strip(), match[2].lower()) if match else Value(text, None)
            if made.css and not is_selector(made.css):
                self._fail(section, name, text, _VALUE)
            found.append(made)
        return tuple(found)

    def _link(self, section: str, value: Mapping[str, Any], name: str, *, needed: bool = False) -> Value | None:
        found = self._values(section, value, name, needed=needed)
        if not found:
            return None
        if not found[0].css:
            self._fail(section, name, value[name], _VALUE)
        return found[0] if found[0].attribute else Value(found[0].css, "href")

    def _globs(self, section: str, value: Mapping[str, Any], *, needed: bool = False) -> tuple[re.Pattern[str], ...]:
        """Addresses in which ``*`` stands for anything; no other sign is special, for addresses hold ``?`` and ``[``."""
        expected = "addresses, with * for anything, such as 'https://example.org/topics/*'"
        found = self._texts(section, value, "match", expected, needed)
        # One * for a run of them, so that no pattern takes long.
        forms = [".*".join(re.escape(part) for part in re.split(r"\*+", text)) for text in found]
        return tuple(re.compile(form, re.DOTALL) for form in forms)

    def _pattern(self, section: str, value: Mapping[str, Any], name: str) -> re.Pattern[str] | None:
        expected = "a regular expression with a group, such as '/thread/([0-9]+)'"
        text = self._text_field(section, value, name, expected=expected)
        if text is None:
            return None
        try:
            pattern = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            self._fail(section, name, text, f"{expected} (it is wrong here: {error})")
        if not pattern.groups:
            self._fail(section, name, text, expected)
        return pattern

    def _one_of(self, section: str, value: Mapping[str, Any], name: str, known: tuple[Any, ...]) -> Any:
        found = value.get(name, known[0])
        if found not in known:
            self._fail(section, name, found, " or ".join(known))
        return found

    def _offset(self, section: str, value: Mapping[str, Any]) -> timezone:
        text = self._text_field(section, value, "utc_offset") or "+00:00"
        match = _OFFSET.fullmatch(text)
        if not match or int(match[2]) > 14 or int(match[3]) > 59:
            self._fail(section, "utc_offset", text, "hours and minutes from UTC, such as '+08:00'")
        ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(ahead if match[1] == "+" else -ahead)

    def _where(self, section: str, name: str) -> str:
        """The file and the line of a field, as far as the file is written in the plain way."""
        inside = ""
        for number, line in enumerate(self._text.splitlines(), 1):
            header = re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line)
            if header:
                inside = header[1].strip("\"'")
                if not section and inside == name:
                    return f"{self._file}:{number}"
            elif inside == section and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]", line):
                return f"{self._file}:{number}"
        return str(self._file)

    def _fail(self, section: str, name: str, found: Any, expected: str) -> NoReturn:
        shown = repr(found)
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        raise ConfigurationError(
            f"[{section}] {name} is {shown}; expected {expected}", where=self._where(section, name)
        )


_DETAILS = ("id", "author", "time", "score")
