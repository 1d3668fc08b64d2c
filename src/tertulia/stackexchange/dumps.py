"""Which dumps there are: the site that each is of, and where its tables stand, in a folder or in archives."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tertulia.errors import ConfigurationError, InputError
from tertulia.stackexchange.archives import members

__all__ = ["FILES", "Site", "TableFile", "domain_of", "find_sites", "host_of"]

FILES: Mapping[str, str] = {
    "posts": "Posts.xml",
    "comments": "Comments.xml",
    "users": "Users.xml",
    "votes": "Votes.xml",
    "history": "PostHistory.xml",
}
"""Table → the name of its file, which is compared without case; the file's root tag is that name in lower case."""
_TABLES = {file.lower(): table for table, file in FILES.items()}
# The tables of a large site come in archives of their own, those that are of no use here too.
_TABLE_SUFFIX = re.compile(r"-(posts|comments|users|votes|posthistory|badges|postlinks|tags)$", re.IGNORECASE)
_DATE_SUFFIX = re.compile(r"_[0-9]{6,8}$")
_BIG = frozenset({"stackoverflow", "serverfault", "superuser", "askubuntu", "stackapps"})
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")
_NAMING = "--site NAME=HOST says which site a dump is of"


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of one table: an XML file, or a member of an archive.

    ``path`` is the file on disk, ``size`` the bytes of the XML, ``name`` what messages and the manifest call it.
    """

    table: str
    path: Path
    size: int
    name: str
    member: str | None = None

    @property
    def shown(self) -> str:
        """The file as the user named it, an archive's member behind the archive."""
        return str(self.path) if self.member is None else f"{self.path}/{self.member}"


@dataclass(frozen=True, slots=True)
class Site:
    """A dump and the site it is of.

    ``index`` is its place among the sites of a build, in order of domain; ``name`` what tells it from the others in messages,
    ``label`` the same with the date that it may end in; ``tables`` has the tables that are there, of those that were asked for.
    """

    index: int
    name: str
    label: str
    host: str
    domain: str
    tables: Mapping[str, TableFile]


@dataclass
class _Found:
    """What belongs to one dump, before it is known which site it is."""

    label: str
    paths: list[Path] = field(default_factory=list)
    tables: dict[str, TableFile] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return _DATE_SUFFIX.sub("", self.label)

    def names(self) -> set[str]:
        """All names that a user may call it by."""
        whole = {_base_name(path) for path in self.paths}
        return {self.name, self.label, *whole, *(_without_7z(name) for name in whole)}


def host_of(name: str) -> str:
    """The host that a dump's name tells: ``beer`` → ``beer.stackexchange.com``, ``stackoverflow`` → ``stackoverflow.com``."""
    name = name.lower()
    if name.endswith((".com", ".net", ".org")):
        return name
    if name in _BIG:
        return f"{name}.com"
    if name == "mathoverflow":
        return "mathoverflow.net"
    main = name.removesuffix(".meta")
    if main != name and (main in _BIG or main == "mathoverflow"):
        return f"meta.{host_of(main)}"
    return f"{name}.stackexchange.com"


def domain_of(host: str) -> str:
    """The domain of a site's dialogues: ``beer.stackexchange.com`` → ``beer``, ``mathoverflow.net`` → ``mathoverflow``."""
    short = host.removesuffix(".stackexchange.com")
    return short if short != host else host.rpartition(".")[0] or host


def find_sites(
    dumps: Sequence[Path], names: Mapping[str, str] | None = None, tables: Collection[str] = tuple(FILES)
) -> list[Site]:
    """The sites of these dumps in order of domain, with those of the named tables that are there.

    Parameters
    ----------
    dumps:
        Folders and ``.7z`` archives; archives that each hold one table of a site (``NAME-Posts.7z``) are one dump.
    names:
        Name of a dump → host, where the name does not tell it.
    tables:
        The tables that matter (``FILES``).

    Raises
    ------
    InputError
        A path that is no dump, a dump without ``Posts.xml``, a table that is there twice, two dumps of one domain.
    ConfigurationError
        A name that no dump has, a host that is none.
    MissingExtraError
        There is an archive, and the package that reads them is not installed.
    """
    hosts = dict(names or {})
    found = _gather(dumps, tables)
    _check_names(hosts, found)
    sites: list[tuple[Site, _Found]] = []
    for dump in found:
        if "posts" not in dump.tables:
            raise _no_posts(dump)
        host = _host(dump, hosts)
        in_order = {table: dump.tables[table] for table in FILES if table in dump.tables}
        sites.append((Site(0, dump.name, dump.label, host, domain_of(host), in_order), dump))
    sites.sort(key=lambda pair: pair[0].domain)
    for (one, first), (other, second) in pairwise(sites):
        if one.domain == other.domain:
            raise InputError(
                f"is a dump of the domain {other.domain!r}, as {first.paths[0]} is; expected one dump of a site",
                where=second.paths[0],
                hint="leave one out, or tell them apart by --site NAME=HOST",
            )
    return [Site(i, s.name, s.label, s.host, s.domain, s.tables) for i, (s, _) in enumerate(sites)]


def _gather(dumps: Sequence[Path], tables: Collection[str]) -> list[_Found]:
    if not dumps:
        raise ConfigurationError("no dump is named; expected folders with Posts.xml, or .7z archives")
    found: list[_Found] = []
    by_archive: dict[str, _Found] = {}
    seen: dict[str, Path] = {}
    for path in dumps:
        kind = _kind(path)
        real = os.path.realpath(path)
        if real in seen:
            also = "" if str(seen[real]) == str(path) else f", also as {seen[real]}"
            raise InputError(f"is named twice{also}; expected every dump once", where=path)
        seen[real] = path
        base = _base_name(path)
        if kind == "folder":
            found.append(_Found(_TABLE_SUFFIX.sub("", base), [path], _tables_in_folder(path, tables)))
            continue
        label = _TABLE_SUFFIX.sub("", _without_7z(base))
        dump = by_archive.get(label) if label != _without_7z(base) else None
        if dump is None:
            dump = _Found(label)
            found.append(dump)
            if label != _without_7z(base):
                by_archive[label] = dump
        dump.paths.append(path)
        for table, file in _tables_in_archive(path, tables).items():
            if table in dump.tables:
                raise InputError(
                    f"holds {file.member}, which {dump.tables[table].path} holds too; expected one file for a table",
                    where=path,
                )
            dump.tables[table] = file
    return found


def _kind(path: Path) -> str:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        what = "is a link to nothing" if path.is_symlink() else "is not there"
        raise InputError(f"{what}; expected a folder with Posts.xml, or a .7z archive", where=path) from None
    except (OSError, ValueError) as error:
        raise _cannot_read(error, path) from None
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode) and path.name.lower().endswith(".7z"):
        return "archive"
    hint = "name the folder that it is in" if path.name.lower() in _TABLES else None
    raise InputError("is no dump; expected a folder with Posts.xml, or a .7z archive", where=path, hint=hint)


def _tables_in_folder(folder: Path, tables: Collection[str]) -> dict[str, TableFile]:
    found: dict[str, TableFile] = {}
    try:
        entries = sorted(os.listdir(folder))
    except OSError as error:
        raise _cannot_read(error, folder) from None
    for entry in entries:
        table = _TABLES.get(entry.lower())
        if table is None or table not in tables:
            continue
        path = folder / entry
        if table in found:
            raise InputError(f"and {found[table].path.name} are both there; expected one file for a table", where=path)
        try:
            state = path.stat()
        except FileNotFoundError:
            raise InputError("is a link to nothing; expected a file", where=path) from None
        except OSError as error:
            raise _cannot_read(error, path) from None
        if not stat.S_ISREG(state.st_mode):
            what = "is a folder" if stat.S_ISDIR(state.st_mode) else "is no regular file"
            raise InputError(f"{what}; expected the file of a table", where=path)
        found[table] = TableFile(table, path, state.st_size, FILES[table])
    return found


def _tables_in_archive(archive: Path, tables: Collection[str]) -> dict[str, TableFile]:
    found: dict[str, TableFile] = {}
    for member in members(archive):
        table = _TABLES.get(member.base.lower())
        if table is None or table not in tables or member.depth > 1:
            continue
        if table in found:
            raise InputError(
                f"holds both {found[table].member} and {member.name}; expected one file for a table", where=archive
            )
        if not member.is_file:
            raise InputError(f"holds {member.name} as a folder or link; expected the file of a table", where=archive)
        found[table] = TableFile(table, archive, member.size, FILES[table], member.name)
    return found


def _check_names(hosts: Mapping[str, str], found: Sequence[_Found]) -> None:
    known = {name for dump in found for name in dump.names()}
    for name, host in hosts.items():
        if name not in known:
            raise ConfigurationError(
                f"--site names {name!r}, and there is no such dump; there are: {', '.join(dump.label for dump in found)}"
            )
        if not _HOST.fullmatch(host) or "." not in host:
            raise ConfigurationError(
                f"--site {name}={host}: {host!r} is no host; expected one such as beer.stackexchange.com"
            )


def _host(dump: _Found, hosts: Mapping[str, str]) -> str:
    # The most exact name counts: a dump's own file before the name that it shares with dumps of other dates.
    exact = [
        *map(_base_name, dump.paths),
        *(_without_7z(_base_name(path)) for path in dump.paths),
        dump.label,
        dump.name,
    ]
    named = next((hosts[name] for name in exact if name in hosts), None)
    host = named or host_of(dump.name)
    if not _HOST.fullmatch(host) or ".." in host:
        raise InputError(f"the name {dump.name!r} tells no site", where=dump.paths[0], hint=_NAMING)
    return host


def _no_posts(dump: _Found) -> InputError:
    where: Any = dump.paths[0] if len(dump.paths) == 1 else ", ".join(map(str, dump.paths))
    if dump.paths[0].is_dir():
        inside = sorted(entry for entry in os.listdir(dump.paths[0]) if entry.lower().endswith(".7z"))
        hint = f"it holds archives; name them, such as {dump.paths[0] / inside[0]}" if inside else None
        return InputError("has no Posts.xml; expected a dump", where=where, hint=hint)
    return InputError("has no Posts.xml at its top or in one folder; expected a dump", where=where)


def _base_name(path: Path) -> str:
    return os.path.basename(os.path.abspath(path))


def _without_7z(name: str) -> str:
    return name[:-3] if name.lower().endswith(".7z") else name


def _cannot_read(error: OSError | ValueError, where: Path) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"cannot be read: {reason}", where=where)
