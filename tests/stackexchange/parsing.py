"""What the tests of parsing share: a plain definition of the Parquet tables, and parsing into rows."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tertulia.stackexchange.parse import Parsed, parse_dumps
from tertulia.stackexchange.rows.plain import has_link, has_link_in_html, has_marker, without_tags
from tests.stackexchange.dumps import FILES

__all__ = ["ParsedRow", "parse", "plain_rows", "rows_of"]

ParsedRow = dict[str, Any]


def parse(dumps: Sequence[Path], cache: Path, **options: Any) -> Parsed:
    """Parse, and let go of the cache."""
    parsed = parse_dumps(dumps, cache, **options)
    parsed.close()
    return parsed


def rows_of(parsed: Parsed, table: str) -> list[ParsedRow]:
    """The rows of all part files of a table, in order."""
    import pyarrow.parquet as pq

    return [row for path in parsed.tables[table] for row in pq.read_table(path).to_pylist()]


def plain_rows(folder: Path, table: str, site: int = 0) -> list[ParsedRow]:
    """The definition: what the Parquet table of a well-formed dump holds, by an XML parser and plain Python."""
    path = folder / FILES[table]
    if not path.exists():
        return []
    elements = ElementTree.parse(path).getroot()
    found = []
    for attributes in (dict(element.attrib) for element in elements):
        made = _ROWS[table](attributes)
        if made is not None:
            found.append({"site": site, **made})
    return found


def _post(row: dict[str, str]) -> ParsedRow | None:
    if int(row["PostTypeId"]) not in (1, 2):
        return None
    body = row.get("Body", "")
    return {
        "id": int(row["Id"]),
        "type": int(row["PostTypeId"]),
        "parent": _integer(row.get("ParentId")),
        "created": _milliseconds(row["CreationDate"]),
        "score": _integer(row.get("Score")),
        "user": _integer(row.get("OwnerUserId")),
        "person": _person(row, "OwnerUserId", "OwnerDisplayName", "?p"),
        "name": row.get("OwnerDisplayName"),
        "title": row.get("Title"),
        "tags": row.get("Tags"),
        "accepted": _integer(row.get("AcceptedAnswerId")),
        "licence": row.get("ContentLicense"),
        "edited_at": _milliseconds(row["LastEditDate"]) if "LastEditDate" in row else None,
        "body": row.get("Body"),
        "linked": has_link_in_html(body),
        "marked": has_marker(without_tags(body)),
    }


def _comment(row: dict[str, str]) -> ParsedRow:
    return {
        "id": int(row["Id"]),
        "post": int(row["PostId"]),
        "created": _milliseconds(row["CreationDate"]),
        "score": _integer(row.get("Score")),
        "user": _integer(row.get("UserId")),
        "person": _person(row, "UserId", "UserDisplayName", "?c"),
        "name": row.get("UserDisplayName"),
        "licence": row.get("ContentLicense"),
        "text": row["Text"],
        "linked": has_link(row["Text"]),
        "marked": has_marker(row["Text"]),
    }


def _vote(row: dict[str, str]) -> ParsedRow | None:
    kind = int(row["VoteTypeId"])
    return {"post": int(row["PostId"]), "type": kind} if kind in (4, 12) else None


def _user(row: dict[str, str]) -> ParsedRow:
    return {"id": int(row["Id"]), "name": row.get("DisplayName")}


def _history(row: dict[str, str]) -> ParsedRow | None:
    return {"post": int(row["PostId"])} if int(row["PostHistoryTypeId"]) in (5, 8) else None


_ROWS = {"posts": _post, "comments": _comment, "votes": _vote, "users": _user, "history": _history}


def _integer(text: str | None) -> int | None:
    return None if text is None else int(text)


def _person(row: dict[str, str], user: str, name: str, nobody: str) -> str:
    if user in row:
        return str(int(row[user]))
    return f"~{row[name]}" if row.get(name) else nobody + row["Id"]


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
