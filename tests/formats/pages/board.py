"""A small made-up message board: its selectors, and its pages."""

from html import escape
from pathlib import Path
from typing import Any

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import RankingRecord
from tertulia.formats.pages.format import PagesFormat

SELECTORS = """
[site]
name = "allotment"
language = "en"
licence = "CC BY 4.0"

[index]
match = "https://allotment.example/topics*"
thread = "a.thread"
next = "a.next@href"

[thread]
match = "https://allotment.example/t/*"
id = '/t/([0-9]+)'
title = "h1"
prompt = ".first .body"
prompt_author = ".first .author"
prompt_time = ".first time@datetime"
response = ".post"
response_text = ".body"
response_id = "@id"
response_author = ".author"
response_time = "time@datetime"
response_score = ".votes"
next = "a[rel=next]"
"""
SITE = "https://allotment.example"


def post(number: int, text: str, author: str = "ivy", *, first: bool = False, votes: str | None = None) -> str:
    """The HTML of a post."""
    kind = "post first" if first else "post"
    score = "" if votes is None else f"<span class=votes>{votes}</span>"
    return (
        f'<div class="{kind}" id="p{number}"><b class=author>{author}</b> '
        f'<time datetime="2016-05-0{number % 9 + 1}T08:00:00+02:00">that day</time>'
        f"<div class=body>{text}</div>{score}</div>\n"
    )


def page(address: str | None, *parts: str, title: str = "Slugs!", following: str | None = None) -> str:
    """The HTML of a page that says its address."""
    canonical = "" if address is None else f'<link href="{escape(address)}" rel="canonical">'
    after = "" if following is None else f'<a rel="next" href="{escape(following)}">more</a>'
    return (
        f"<!DOCTYPE html><html><head><meta charset=utf-8>{canonical}</head>"
        f"<body><h1>{title}</h1>{''.join(parts)}{after}</body></html>"
    )


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    """The folder with these files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def rules(folder: Path, text: str = SELECTORS) -> str:
    """The path of a file of selectors."""
    path = folder / "selectors.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def read(
    source: Path | str, selectors: str, part: PagesFormat | None = None, *, skip_bad: bool = False, **values: Any
) -> tuple[list[RankingRecord], Report]:
    """The threads of a source and the report."""
    report = Report()
    options = ReadOptions(skip_bad=skip_bad, values={"selectors": selectors, **values})
    return list((part or PagesFormat()).read(str(source), report, options)), report
