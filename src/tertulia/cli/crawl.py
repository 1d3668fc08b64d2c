"""``tertulia stackexchange links`` and ``crawl``: what the answers of a corpus link to, and the pages themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tertulia.cli.options import Json, Overwrite
from tertulia.cli.output import number, print_json, progress, remark, table
from tertulia.errors import InputError, UsageError

__all__ = ["crawl", "links"]

_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9}
# What each outcome means, in the order in which they are shown.
_OUTCOMES = {
    "ok": "a page was fetched",
    "robots": "its robots.txt does not allow it",
    "robots-unreachable": "its robots.txt could not be read, so nothing was asked for",
    "forbidden-address": "a private, local or reserved address, or a port that is not asked",
    "bad-address": "no address of a web page",
    "not-html": "not an HTML page",
    "too-large": "more bytes than a page may have",
    "timeout": "more time than a page may take",
    "redirects": "leads in a circle, or on and on",
    "dns": "its host's name has no address",
    "connection": "the connection failed",
    "tls": "its certificate does not hold",
    "bad-answer": "its answer cannot be understood",
    "http-error": "its server answers that it is not there, or not for us",
    "not-reached": "the time or the number of pages was over before",
}


def links(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="The corpus.")],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The file: JSON Lines, or by its name .tsv or .parquet."),
    ],
    role: Annotated[
        Literal["agent", "user", "any"],
        typer.Option("--role", help="Whose utterances: the provider's are the agent's."),
    ] = "agent",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write the web addresses of a corpus. Links and bare addresses of each utterance, with where they stand."""
    from tertulia.stackexchange.links import write_links

    with progress("looking for links", unit="dialogues") as advance:
        counts = write_links(corpus, output, whose=role, overwrite=overwrite, progress=advance)
    if json_:
        found = {name: getattr(counts, name) for name in ("links", "urls", "hosts", "utterances", "unusable", "kinds")}
        print_json({"output": str(output), **found})
        return
    found_in = f"{_many(counts.links, 'link')} in {_many(counts.utterances, 'utterance')}"
    print(f"{output}: {found_in}, {_many(counts.urls, 'address')} on {_many(counts.hosts, 'host')}")
    if counts.unusable:
        print(f"left out: {_many(counts.unusable, 'text')} that cannot be the address of a page")
    remark(f"\nfetch the pages: tertulia stackexchange crawl {output} -o DIR --contact YOU@EXAMPLE.ORG")


def crawl(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What links wrote, or a file with an address a line.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The crawl to write.")],
    contact: Annotated[
        str | None,
        typer.Option("--contact", metavar="ADDRESS", help="How a site's owner reaches you: a mail or web address."),
    ] = None,
    user_agent: Annotated[
        str | None, typer.Option("--user-agent", metavar="NAME/VERSION", help="Who asks; robots.txt is read for NAME.")
    ] = None,
    delay: Annotated[float, typer.Option("--delay", metavar="SECONDS", help="Between two requests to a host.")] = 1.0,
    max_delay: Annotated[
        float, typer.Option("--max-delay", metavar="SECONDS", help="The most that a robots.txt may ask for.")
    ] = 30.0,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Hosts asked at a time.")] = 32,
    max_size: Annotated[
        str, typer.Option("--max-size", metavar="SIZE", help="The most for a page, such as 5M.")
    ] = "5M",
    page_time: Annotated[float, typer.Option("--page-time", metavar="SECONDS", help="The most for a page.")] = 60.0,
    total_time: Annotated[
        float | None, typer.Option("--total-time", metavar="SECONDS", help="The most for the whole crawl.")
    ] = None,
    max_pages: Annotated[
        int | None, typer.Option("--max-pages", metavar="N", help="Addresses asked for at most.")
    ] = None,
    max_redirects: Annotated[int, typer.Option("--max-redirects", metavar="N", help="Redirects followed at most.")] = 5,
    tries: Annotated[int, typer.Option("--tries", metavar="N", help="Tries where a server is busy or breaks off.")] = 3,
    port: Annotated[
        list[int] | None, typer.Option("--port", metavar="N", help="Ports to ask; may be repeated. [default: 80, 443]")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget a crawl that was interrupted.")] = False,
    overwrite: Overwrite = False,
    json_: Json = False,
    allow_loopback: Annotated[
        bool, typer.Option("--allow-loopback", hidden=True, help="For tests: ask 127.0.0.1 and ::1 too, on any port.")
    ] = False,
) -> None:
    """Fetch the pages behind addresses, politely. Respects robots.txt, waits between requests, goes on after Ctrl-C."""
    from tertulia.artefact import digest_of_path
    from tertulia.crawl.crawler import crawl as run
    from tertulia.crawl.crawler import progress_of
    from tertulia.crawl.listing import read_addresses
    from tertulia.crawl.options import DEFAULT_AGENT, CrawlOptions

    options = CrawlOptions(
        user_agent=DEFAULT_AGENT if user_agent is None else user_agent,
        contact=contact,
        concurrency=concurrency,
        delay_s=delay,
        max_delay_s=max_delay,
        page_time_s=page_time,
        total_time_s=total_time,
        max_bytes=_bytes(max_size),
        max_redirects=max_redirects,
        ports=frozenset(port or (80, 443)),
        tries=tries,
        max_pages=max_pages,
        allow_loopback=allow_loopback,
    )
    if next(read_addresses(file), None) is None:
        raise InputError("has no address; expected what links wrote, or an address a line", where=file)
    if contact is None:
        remark("nobody can reach you: --contact names an address for the owners of the sites that are asked")
    try:
        with progress("crawling", unit="addresses") as advance:
            found = run(
                read_addresses(file),
                output,
                options,
                overwrite=overwrite,
                fresh=fresh,
                command=["tertulia", "stackexchange", "crawl", file.name],
                source=digest_of_path(file),
                progress=advance,
            )
    except KeyboardInterrupt:
        done, total = progress_of(output)
        remark(
            f"\ninterrupted: {number(done)} of {number(total)} addresses are done; the same command goes on from there"
        )
        raise
    outcomes = {name: found.manifest.details["outcomes"].get(name, 0) for name in _OUTCOMES}
    found.close()
    if json_:
        outcomes = {name: count for name, count in outcomes.items() if count}
        print_json({"crawl": str(output), **found.manifest.counts, "outcomes": outcomes})
        return
    print(
        f"{output}: {_many(found.manifest.counts['pages'], 'page')} of {_many(found.manifest.counts['addresses'], 'address')}"
    )
    rows = [[name, number(count), _OUTCOMES[name]] for name, count in outcomes.items() if count]
    print("\n" + table(["outcome", "addresses", "what it is"], rows, right={1}))


def _many(count: int, noun: str) -> str:
    """A count with its noun."""
    if count == 1:
        return f"1 {noun}"
    return f"{number(count)} {noun}{'es' if noun.endswith('s') else 's'}"


def _bytes(text: str) -> int:
    """A size such as ``5M`` in bytes."""
    digits = text.strip().upper().removesuffix("B").rstrip()
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    try:
        size = float(digits[: len(digits) - len(unit)]) * _UNITS[unit]
        if not 1 <= size <= 10**9:
            raise ValueError
    except ValueError:
        raise UsageError(f"--max-size is {text!r}; expected a size such as 500K or 5M, 1G at most") from None
    return int(size)
