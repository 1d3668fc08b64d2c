"""``tertulia fetch``: bring a public corpus into a folder, by its registered address, size and digest."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tertulia.cli.output import line_width, number, print_json, progress, remark, table, visible

if TYPE_CHECKING:
    from tertulia.formats.fetching.catalogue import Catalogue, Entry
    from tertulia.formats.fetching.fetch import Fetched

__all__ = ["fetch"]

_OWN = "TERTULIA_CATALOGUE"
_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def fetch(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A corpus of the catalogue; none: list the catalogue.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="The folder to fetch into; none: describe it.")
    ] = None,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Accept the corpus's licence without being asked.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PATTERN", help="Only files of such names, such as '*Posts*'; may be repeated."),
    ] = None,
    unpack: Annotated[
        bool, typer.Option("--unpack", help="Unpack zip and gzip files; readers do not need it.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Fetch anew what is there already.")] = False,
    max_size: Annotated[
        str, typer.Option("--max-size", metavar="SIZE", help="The most for a file of unknown size, such as 500M.")
    ] = "20G",
    proxy: Annotated[
        str | None, typer.Option("--proxy", metavar="URL", help="An HTTP proxy; none is taken from the environment.")
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option("--catalogue", metavar="FILE", help=f"Entries of your own, as TOML; or {_OWN} names the file."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Fetch a public corpus. Resumes what broke off, checks sizes and digests, shows the licence first."""
    from tertulia.formats.fetching.catalogue import Catalogue
    from tertulia.formats.fetching.download import DownloadOptions
    from tertulia.formats.fetching.fetch import FetchOptions
    from tertulia.formats.fetching.fetch import fetch as fetch_corpus

    known = Catalogue(catalogue or os.environ.get(_OWN) or None)
    if name is None:
        _print_catalogue(known, json_)
        return
    entry = known.get(name)
    if output is None:
        _print_entry(entry, json_)
        return
    options = FetchOptions(
        accept=lambda entry: _ask(entry, accept_licence),
        only=only or [],
        overwrite=overwrite,
        unpack=unpack,
        download=DownloadOptions(max_bytes=_bytes(max_size), proxy=proxy, say=remark),
    )
    fetched = fetch_corpus(entry, output, options, lambda: progress(f"fetching {name}", unit="bytes"))
    _print_fetched(fetched, json_)


def _bytes(text: str) -> int:
    """A size such as ``500M`` or ``1.5 GB`` in bytes."""
    digits = text.strip().upper().removesuffix("B").rstrip()
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    try:
        size = float(digits[: len(digits) - len(unit)]) * _UNITS[unit]
        if not 0 <= size < 10**18:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a size; expected a number such as 500M or 20G") from None
    return int(size)


def _ask(entry: Entry, accepted: bool) -> bool:
    """Show the licence on stderr, and ask for it where somebody can answer."""
    from tertulia.errors import ConfigurationError

    remark("\n".join(_about(entry)) + "\n")
    if accepted:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigurationError(
            f"the licence of {entry.name} has to be accepted first, and nobody can be asked here",
            hint="read what stands above, and give --accept-licence",
        )
    return typer.confirm("Do you accept these terms?", err=True)


def _print_catalogue(catalogue: Catalogue, json_: bool) -> None:
    if json_:
        print_json(
            {
                "corpora": {name: _entry_json(entry) for name, entry in catalogue.entries.items()},
                "rules": [
                    {"names": list(rule.names), **{key: rule.fields.get(key) for key in ("title", "about", "licence")}}
                    for rule in catalogue.rules
                ],
            }
        )
        return
    rows = [
        [entry.name, _size(entry.bytes), _checked(entry), _short(entry.licence), entry.title]
        for entry in catalogue.entries.values()
    ]
    print(table(["name", "size", "digest", "licence", "what it is"], rows, right={1}))
    for rule in catalogue.rules:
        print()
        print(_wrapped(f"{rule.names[-1].replace('{', '').replace('}', '')}: {rule.fields['about']}"))
    remark("\nlook closer: tertulia fetch NAME    fetch it: tertulia fetch NAME -o DIR")


def _print_entry(entry: Entry, json_: bool) -> None:
    if json_:
        print_json(_entry_json(entry))
        return
    print("\n".join(_about(entry)))
    if entry.files:
        rows = [
            [file.name, _size(file.bytes), next(iter(file.digests), "recorded when fetched")] for file in entry.files
        ]
        print("\n" + table(["file", "size", "digest"], rows[:20], right={1}))
        if len(rows) > 20:
            print(f"… and {len(rows) - 20} more")
    else:
        print(f"\nIts files are listed at {entry.listing}")
    remark(f"\nfetch it: tertulia fetch {entry.name} -o DIR")


def _about(entry: Entry) -> list[str]:
    """What a user has to know before the first download."""
    lines = [visible(entry.title), *([_wrapped(entry.about, "  ")] if entry.about else [])]
    fields = {
        "size": _size(entry.bytes) if entry.bytes is not None else "not known beforehand",
        "licence": entry.licence,
        "asks": entry.asks,
        "cite": entry.citation,
        "page": entry.homepage or "",
        "note": " ".join([entry.note or "", _unsafe(entry)]).strip(),
    }
    lines += [_wrapped(f"{label:<8} {value}", " " * 11, "  ") for label, value in fields.items() if value]
    return lines


def _unsafe(entry: Entry) -> str:
    """What is to be said of files that nothing protects on the way."""
    plain = any(url.startswith("http:") and not file.digests for file in entry.files for url in file.urls)
    return (
        "It comes over plain http and no digest is known, so nobody can tell whether it was changed." if plain else ""
    )


def _wrapped(text: str, indent: str = "", first: str | None = None) -> str:
    return textwrap.fill(
        " ".join(visible(text).split()) if first is None else visible(text).replace("\n", " "),
        line_width(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _print_fetched(fetched: Fetched, json_: bool) -> None:
    entry, folder = fetched.entry, fetched.folder
    command = entry.next_command(folder)
    if json_:
        print_json(
            {
                "name": entry.name,
                "folder": str(folder),
                "files": fetched.files,
                "new": fetched.new,
                "bytes": fetched.bytes,
                "unpacked": {
                    name: {"path": done.path, "files": done.files, "bytes": done.bytes}
                    for name, done in fetched.unpacked.items()
                },
                "licence": entry.licence,
                "asks": entry.asks,
                "citation": entry.citation,
                "next": command,
            }
        )
        return
    count = len(fetched.files)
    held = f"{number(count)} file{'s' if count != 1 else ''}, {_size(fetched.bytes)}"
    if fetched.new:
        print(f"{folder}: {held}; {number(len(fetched.new))} fetched now")
    else:
        print(f"{folder}: {held}; everything is there and intact, nothing was fetched")
    unchecked = [name for name in fetched.new if not fetched.files[name]["checked"]]
    if unchecked:
        more = f" and {number(len(unchecked) - 3)} more" if len(unchecked) > 3 else ""
        named = visible(", ".join(unchecked[:3]))
        print(f"No digest was known of {named}{more}: it is recorded now, and held against from now on.")
    for name, done in fetched.unpacked.items():
        left = f"; {number(done.left_out)} left packed" if done.left_out else ""
        print(f"{name} is unpacked: {folder / done.path} ({number(done.files)} files, {_size(done.bytes)}{left})")
    if command:
        remark(f"\ngo on: {command}")


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "about": entry.about,
        "licence": entry.licence,
        "asks": entry.asks,
        "citation": entry.citation,
        "homepage": entry.homepage,
        "note": entry.note,
        "bytes": entry.bytes,
        "listing": entry.listing,
        "files": [
            {"name": f.name, "urls": list(f.urls), "bytes": f.bytes, "packing": f.packing, **f.digests}
            for f in entry.files
        ],
        "next": entry.next_command(Path("DIR")),
    }


def _checked(entry: Entry) -> str:
    known = sum(bool(file.digests) for file in entry.files)
    return "known" if known == len(entry.files) else ("some" if known else "–")


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


def _size(size: int | None) -> str:
    if size is None:
        return "–"
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
