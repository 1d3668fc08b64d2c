"""The catalogue of public corpora that can be fetched: entries and rules as data, checked when they are read.

What ships is ``catalogue.toml`` beside this module; a user's own file in the same form comes before it. An entry names files with
their addresses; a rule makes an entry of any name of a form (``convokit/{NAME}``). ``docs/fetch.md`` documents every field.
"""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tertulia.errors import ConfigurationError, InputError, NotFoundError

__all__ = ["DIGESTS", "FETCHED", "PART", "Catalogue", "Entry", "RemoteFile", "Rule", "safe_name"]

FETCHED = "fetched.json"
PART = ".part"
# What a digest may be given in, the strongest first, with its hexadecimal digits. "git" is the SHA-1 of a file as a git object.
DIGESTS = {"sha256": 64, "sha1": 40, "git": 40, "md5": 32}
_PLACEHOLDER = re.compile(r"\{([A-Z]+)\}")
_VALUE = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ABOUT = ("title", "about", "licence", "asks", "citation", "homepage", "note", "next")
_ENTRY = {*_ABOUT, "name", "base", "files"}
_RULE = {*_ABOUT, "names", "addresses", "urls", "licences", "listings", "wanted"}
_FILE = {"name", "urls", "bytes", *DIGESTS}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a corpus where it is published.

    ``name`` is its path in the folder that it is fetched into; ``urls`` are tried in turn; ``bytes`` and ``digests`` (kind →
    hexadecimal digits) are what is known of it before it is fetched.
    """

    name: str
    urls: tuple[str, ...]
    bytes: int | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def packing(self) -> str:
        """What packs it, by its name: ``zip``, ``gz``, ``zst``, ``7z`` or ``none``."""
        suffix = PurePosixPath(self.name).suffix[1:].lower()
        return suffix if suffix in {"zip", "gz", "zst", "7z"} else "none"


@dataclass(frozen=True, slots=True)
class Entry:
    """A corpus that can be fetched: what it is, what its licence asks, and its files.

    Where ``listing`` is the address of a list of files, the files are those of its names that match the first pattern of
    ``wanted`` that any name matches; ``files`` is empty until the list has been read.
    """

    name: str
    title: str
    about: str
    licence: str
    asks: str
    citation: str
    homepage: str | None
    note: str | None
    files: tuple[RemoteFile, ...]
    listing: str | None = None
    wanted: tuple[str, ...] = ()
    next: str | None = None

    @property
    def bytes(self) -> int | None:
        """The bytes of all files; ``None`` where one is not known."""
        sizes = [file.bytes for file in self.files]
        return None if not sizes or None in sizes else sum(size for size in sizes if size is not None)

    @property
    def terms(self) -> str:
        """The licence and what it asks, as it is shown and as its acceptance is remembered."""
        return f"{self.licence}\n{self.asks}".strip()

    def next_command(self, folder: Path) -> str | None:
        """The command to go on with once the corpus lies in ``folder``."""
        if self.next is None:
            return None
        output = Path(PurePosixPath(self.name).name)
        if output.absolute() == folder.absolute():
            output = output.with_name(f"{output.name}-corpus")
        values = {"folder": folder, "file": folder / self.files[0].name if self.files else folder, "output": output}
        return re.sub(r"\{(folder|file|output)\}", lambda match: shlex.quote(str(values[match[1]])), self.next)


@dataclass(frozen=True, slots=True)
class Rule:
    """A form of names, with placeholders in capitals, and where the files of such a name are.

    The first of ``names`` that a name fits binds the placeholders; ``{name}`` in the title is what follows its first slash. Of
    ``addresses``, ``listings`` and ``wanted`` those count
    whose placeholders are all bound; ``urls`` has the addresses and ``licences`` the licences of names that are exceptions.
    """

    names: tuple[str, ...]
    fields: Mapping[str, str]
    addresses: tuple[str, ...] = ()
    urls: Mapping[str, str] = field(default_factory=dict)
    licences: Mapping[str, str] = field(default_factory=dict)
    listings: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()

    def entry(self, name: str) -> Entry | None:
        """The entry of a name, or ``None`` where it is not of this form."""
        bound = next((found for form in self.names if (found := _bind(form, name)) is not None), None)
        if bound is None:
            return None
        listing = next(iter(_filled(self.listings, bound)), None)
        urls = [self.urls[name]] if name in self.urls else _filled(self.addresses, bound)[:1]
        files = () if listing else (RemoteFile(_last_part(urls[0]), (urls[0],)),)
        texts: dict[str, Any] = {key: self.fields.get(key) for key in ("homepage", "note", "next")}
        texts |= {key: self.fields[key] for key in ("title", "licence", "asks", "citation")}
        texts["title"] = texts["title"].replace("{name}", name.partition("/")[2])
        texts["licence"] = self.licences.get(name, texts["licence"])
        wanted = tuple(_filled(self.wanted, bound)) if listing else ()
        return Entry(name=name, about="", files=files, listing=listing, wanted=wanted, **texts)


class Catalogue:
    """Entries and rules by name; where two have one name, the first counts.

    Parameters
    ----------
    own:
        A user's catalogue file, which comes before what ships.

    Raises
    ------
    ConfigurationError
        A catalogue that is not TOML, or an entry of it that does not hold, by name.
    InputError
        There is no file at ``own``.
    """

    def __init__(self, own: str | Path | None = None) -> None:
        self.entries: dict[str, Entry] = {}
        self.rules: list[Rule] = []
        if own is not None:
            self._add(str(own), _read(Path(own)))
        shipped = resources.files("tertulia.formats.fetching") / "catalogue.toml"
        self._add("catalogue.toml", shipped.read_text(encoding="utf-8"))

    def get(self, name: str) -> Entry:
        """The entry of a name, by itself or by a rule.

        Raises
        ------
        NotFoundError
            Neither; names that are close are said.
        """
        if name in self.entries:
            return self.entries[name]
        for rule in self.rules:
            entry = rule.entry(name)
            if entry is not None:
                return entry
        known = [*self.entries, *(known for rule in self.rules for known in {**rule.urls, **rule.licences})]
        forms = [form for rule in self.rules for form in rule.names[-1:]]
        close = difflib.get_close_matches(name, known, 3, 0.6)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise NotFoundError(
            f"there is no corpus {name!r} in the catalogue; {meant}there are: {', '.join([*self.entries, *forms])}",
            hint="tertulia fetch lists them",
        )

    def _add(self, where: str, text: str) -> None:
        try:
            content = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigurationError(f"is not TOML: {error}", where=where) from None
        unknown = sorted(set(content) - {"corpus", "rule"})
        if unknown:
            raise ConfigurationError(f"has {unknown[0]!r}; expected [[corpus]] and [[rule]] only", where=where)
        for kind, add in (("corpus", self._add_entry), ("rule", self._add_rule)):
            items = content.get(kind, [])
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise ConfigurationError(f"{kind} is not a list of tables; expected [[{kind}]]", where=where)
            for number, item in enumerate(items, 1):
                names = item.get("names")
                label = item.get("name") or (names[-1] if isinstance(names, list) and names else None)
                add(item, f"{where}: [[{kind}]] {number}" + (f" ({label})" if label else ""))

    def _add_entry(self, item: dict[str, Any], where: str) -> None:
        _refuse_unknown(item, _ENTRY, where)
        name = _text(item, "name", where)
        if not re.fullmatch(rf"{_VALUE}(/{_VALUE})*", name):
            raise ConfigurationError(f"the name {name!r} holds more than letters, digits and . _ - /", where=where)
        base = _optional(item, "base", where) or ""
        files = tuple(_file(value, base, where) for value in _list(item, "files", where))
        if not files:
            raise ConfigurationError("names no file; expected files = [{ name = ..., urls = [...] }]", where=where)
        folders = {str(parent) for file in files for parent in PurePosixPath(file.name).parents}
        names = [file.name for file in files]
        twice = sorted({name for name in names if names.count(name) > 1 or name in folders})
        if twice:
            raise ConfigurationError(f"names the file {twice[0]!r} twice, or as a folder too", where=where)
        self.entries.setdefault(name, Entry(name=name, files=files, **_about(item, where)))

    def _add_rule(self, item: dict[str, Any], where: str) -> None:
        _refuse_unknown(item, _RULE, where)
        texts = {key: value for key, value in _about(item, where).items() if value is not None}
        lists = {key: tuple(_strings(item, key, where)) for key in ("names", "addresses", "listings", "wanted")}
        urls, licences = (_table(item, key, where) for key in ("urls", "licences"))
        if not lists["names"] or bool(lists["addresses"]) == bool(lists["listings"]):
            raise ConfigurationError("needs names, and either addresses or listings with wanted", where=where)
        for url in (*lists["addresses"], *lists["listings"], *urls.values()):
            _check_url(_PLACEHOLDER.sub("x", url), where)
        for form in lists["names"]:
            if len(set(_PLACEHOLDER.findall(form))) != len(_PLACEHOLDER.findall(form)):
                raise ConfigurationError(f"names the same placeholder twice in {form}", where=where)
            bound = dict.fromkeys(_PLACEHOLDER.findall(form), "x")
            for key in ("addresses",) if lists["addresses"] else ("listings", "wanted"):
                if not _filled(lists[key], bound):
                    raise ConfigurationError(f"{key} has nothing for names of the form {form}", where=where)
        self.rules.append(Rule(fields=texts, urls=urls, licences=licences, **lists))


def safe_name(name: str, where: str) -> str:
    """A file's name as it may be written inside a folder: relative, in its plain form, and none of ours.

    Raises
    ------
    ConfigurationError
        It is not.
    """
    path = PurePosixPath(name)
    bad = (
        not path.parts
        or path.is_absolute()
        or path.as_posix() != name
        or any(part in {"..", "."} or part.startswith(".") for part in path.parts)
        or re.search(r'[\x00-\x1f\x7f\\:*?"<>|\ud800-\udfff]', name) is not None
        or name.endswith((PART, f"{PART}.json"))
        or name == FETCHED
    )
    if bad:
        raise ConfigurationError(f"the file name {name!r} cannot be used inside a folder", where=where)
    return name


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError("is not UTF-8 text", where=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path) from None


def _file(value: Any, base: str, where: str) -> RemoteFile:
    if not isinstance(value, dict):
        raise ConfigurationError(f"holds {value!r} among its files; expected {{ name = ..., ... }}", where=where)
    _refuse_unknown(value, _FILE, where)
    name = safe_name(_text(value, "name", where), where)
    urls = _strings(value, "urls", where) or ([base + quote(name)] if base else [])
    if not urls:
        raise ConfigurationError(f"the file {name!r} has no urls, and there is no base", where=where)
    for url in urls:
        _check_url(url, where)
    size = value.get("bytes")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise ConfigurationError(f"the bytes of {name!r} are {size!r}; expected a whole number", where=where)
    digests = {}
    for kind, digits in DIGESTS.items():
        digest = _optional(value, kind, where)
        if digest is None:
            continue
        if not re.fullmatch(rf"[0-9a-f]{{{digits}}}", digest):
            raise ConfigurationError(
                f"the {kind} of {name!r} is {digest!r}; expected {digits} hexadecimal digits", where=where
            )
        digests[kind] = digest
    return RemoteFile(name, tuple(urls), size, digests)


def _check_url(url: str, where: str) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not host or parts.username or re.search(r"[\s\x00-\x1f]", url):
        raise ConfigurationError(f"{url!r} is not an address that can be fetched; expected https://...", where=where)


def _about(item: dict[str, Any], where: str) -> dict[str, Any]:
    needed = {key: _text(item, key, where) for key in ("title", "licence")}
    texts = {key: _optional(item, key, where) for key in _ABOUT if key not in needed}
    for key in ("about", "asks", "citation"):
        texts[key] = texts[key] or ""
    return {**needed, **texts}


def _refuse_unknown(item: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(item) - known)
    if unknown:
        raise ConfigurationError(f"has an unknown field {unknown[0]!r}; known: {', '.join(sorted(known))}", where=where)


def _optional(item: Mapping[str, Any], key: str, where: str) -> str | None:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"{key} is {value!r}; expected text", where=where)
    return value.strip() or None if value else None


def _text(item: Mapping[str, Any], key: str, where: str) -> str:
    value = _optional(item, key, where)
    if value is None:
        raise ConfigurationError(f"has no {key}", where=where)
    return value


def _list(item: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = item.get(key, [])
    if not isinstance(value, list):
        raise ConfigurationError(f"{key} is {value!r}; expected a list", where=where)
    return value


def _strings(item: Mapping[str, Any], key: str, where: str) -> list[str]:
    values = _list(item, key, where)
    if not all(isinstance(value, str) and value for value in values):
        raise ConfigurationError(f"{key} holds something that is not text", where=where)
    return values


def _table(item: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = item.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ConfigurationError(f"{key} is not a table of names and texts", where=where)
    return value


def _bind(form: str, name: str) -> dict[str, str] | None:
    """The values of a form's placeholders in a name; ``None`` where the name is not of that form."""
    pattern = "".join(
        f"(?P<{part}>{_VALUE})" if place % 2 else re.escape(part) for place, part in enumerate(_PLACEHOLDER.split(form))
    )
    match = re.fullmatch(pattern, name)
    return match.groupdict() if match else None


def _fill(template: str, bound: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: bound.get(match[1], match[0]), template)


def _filled(templates: Iterable[str], bound: Mapping[str, str]) -> list[str]:
    """The templates whose placeholders are all bound, filled."""
    return [_fill(template, bound) for template in templates if set(_PLACEHOLDER.findall(template)) <= set(bound)]


def _last_part(url: str) -> str:
    return safe_name(unquote(PurePosixPath(urlsplit(url).path).name), url)
