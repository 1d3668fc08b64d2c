"""Writes small dumps that look like the real ones: a byte-order mark, a declaration, one escaped row a line."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["answer", "comment", "question", "row_line", "table_bytes", "write_dump"]

Row = Mapping[str, object]
FILES = {
    "posts": "Posts.xml",
    "comments": "Comments.xml",
    "users": "Users.xml",
    "votes": "Votes.xml",
    "history": "PostHistory.xml",
}
_ROOTS = {table: file.removesuffix(".xml").lower() for table, file in FILES.items()}
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
# Line ends and tabs must be references: raw ones end the row or read as spaces.
_ESCAPED = re.compile('[&<>"\t\n\r\x85\u2028]')


def row_line(row: Row) -> str:
    """A row as a dump has it; attributes that are ``None`` are left out."""
    attributes = "".join(f' {name}="{_escaped(str(value))}"' for name, value in row.items() if value is not None)
    return f"  <row{attributes} />"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _NAMED.get(match[0]) or f"&#x{ord(match[0]):X};", text)


def table_bytes(table: str, rows: Iterable[Row], *, newline: str = "\r\n") -> bytes:
    """The bytes of a table's file."""
    root = _ROOTS[table]
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<{root}>", *map(row_line, rows), f"</{root}>"]
    return b"\xef\xbb\xbf" + newline.join(lines).encode()


def write_dump(
    folder: Path,
    posts: Iterable[Row] = (),
    comments: Iterable[Row] | None = (),
    users: Iterable[Row] | None = (),
    votes: Iterable[Row] | None = (),
    history: Iterable[Row] | None = None,
    *,
    newline: str = "\r\n",
) -> Path:
    """Write a dump with these rows (XML attribute → value); a table that is ``None`` is absent. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"posts": posts, "comments": comments, "users": users, "votes": votes, "history": history}
    for table, rows in tables.items():
        if rows is not None:
            (folder / FILES[table]).write_bytes(table_bytes(table, rows, newline=newline))
    return folder


def question(
    identifier: int, user: int | None, body: str = "<p>What is it?</p>", *, at: str = "2020-01-01", **more: object
) -> dict[str, object]:
    """A row of a question; ``at`` is a date or a time, ``more`` are attributes by their XML names."""
    row = {"Id": identifier, "PostTypeId": 1, "CreationDate": _time(at), "Score": 3, "Body": body, "OwnerUserId": user}
    return row | {"Title": f"Question {identifier}", "Tags": "<one><two>", "ContentLicense": "CC BY-SA 4.0"} | more


def answer(
    identifier: int,
    parent: int,
    user: int | None,
    body: str = '<p>See <a href="https://example.org/page">the page</a>.</p>',
    *,
    at: str = "2020-01-02",
    **more: object,
) -> dict[str, object]:
    """A row of an answer, by default with a link."""
    row = {"Id": identifier, "PostTypeId": 2, "ParentId": parent, "CreationDate": _time(at), "Score": 5, "Body": body}
    return row | {"OwnerUserId": user, "ContentLicense": "CC BY-SA 4.0"} | more


def comment(
    identifier: int,
    post: int,
    user: int | None,
    text: str = "Thanks, great!",
    *,
    at: str = "2020-01-03",
    **more: object,
) -> dict[str, object]:
    """A row of a comment."""
    row = {"Id": identifier, "PostId": post, "Score": 0, "Text": text, "CreationDate": _time(at), "UserId": user}
    return row | {"ContentLicense": "CC BY-SA 4.0"} | more


def _time(at: str) -> str:
    return at if "T" in at else f"{at}T12:00:00.000"
