"""The plain definition of narrowing, a few loops over rows as dictionaries, and small tables for both to read."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tertulia.stackexchange.criteria import CRITERIA
from tertulia.stackexchange.narrow import Narrowed

Row = dict[str, Any]
_SCHEMAS = {
    "posts": "site int32, id int64, type int64, parent int64, created int64, score int64, user int64, person string, "
    "name string, title string, tags string, accepted int64, licence string, edited_at int64, body string, "
    "linked bool, marked bool",
    "comments": "site int32, id int64, post int64, created int64, score int64, user int64, person string, "
    "name string, licence string, text string, linked bool, marked bool",
    "votes": "site int32, post int64, type int64",
    "users": "site int32, id int64, name string",
    "history": "site int32, post int64",
}
_TYPES = {"int32": pa.int32(), "int64": pa.int64(), "string": pa.string(), "bool": pa.bool_()}
SCHEMAS = {
    table: pa.schema([(name, _TYPES[kind]) for name, kind in (column.split() for column in text.split(", "))])
    for table, text in _SCHEMAS.items()
}


@dataclass
class Site:
    """What narrowing asks of a dump."""

    domain: str
    tables: dict[str, object] = field(default_factory=dict)


def question(identifier: int, person: str, **more: Any) -> Row:
    return _post(identifier, 1, person, title=f"Title {identifier}", **more)


def answer(identifier: int, parent: int | None, person: str, **more: Any) -> Row:
    return _post(identifier, 2, person, parent=parent, **more)


def _post(identifier: int, kind: int, person: str, **more: Any) -> Row:
    user = int(person) if person.lstrip("-").isdigit() else None
    row = {
        "site": 0,
        "id": identifier,
        "type": kind,
        "created": identifier * 1000,
        "user": user,
        "person": person,
        "name": None if user is not None else person.lstrip("~"),
        "body": f"<p>body of {identifier}</p>",
        "edited_at": None,
        "linked": False,
        "marked": False,
    }
    return row | more


def comment(identifier: int, post: int, person: str, **more: Any) -> Row:
    row = _post(identifier, 0, person, text=f"comment {identifier}", post=post)
    return {name: value for name, value in row.items() if name not in ("type", "body")} | more


def write_tables(folder: Path, rows: Mapping[str, Sequence[Row]], *, files: int = 1) -> dict[str, list[Path]]:
    """Parquet files of the five tables, the rows dealt out to so many files."""
    paths: dict[str, list[Path]] = {}
    for table, schema in SCHEMAS.items():
        (folder / table).mkdir(parents=True)
        paths[table] = []
        for number in range(files):
            part = list(rows.get(table, ()))[number::files]
            columns = {name: [row.get(name) for row in part] for name in schema.names}
            path = folder / table / f"part-{number:05d}.parquet"
            pq.write_table(pa.table(columns, schema=schema), path)
            paths[table].append(path)
    return paths


def narrow_plainly(
    rows: Mapping[str, Sequence[Row]], criteria: Iterable[str], edited: str, sites: Sequence[Site] = ()
) -> tuple[Narrowed, list[Row]]:
    """The counts (without files), and the threads in order of site and answer."""
    posts = {(row["site"], row["id"]): row for row in rows["posts"]}
    users = {(row["site"], row["id"]): row["name"] for row in rows["users"]}
    flagged = {(row["site"], row["post"]) for row in rows["votes"]}
    events = {(row["site"], row["post"]) for row in rows["history"]}
    comments = defaultdict(list)
    for row in rows["comments"]:
        comments[row["site"], row["post"]].append(row)
    bits = [1 << CRITERIA.index(name) for name in criteria if name != "positive-ending"]
    counts: Counter[str] = Counter()
    masks: Counter[tuple[int, bool]] = Counter()
    threads = []
    for (site, identifier), post in sorted(posts.items()):
        counts["questions"] += post["type"] == 1
        if post["type"] != 2:
            continue
        asked = posts.get((site, post["parent"]))
        if asked is None or asked["type"] != 1:
            counts["orphans"] += 1
            continue
        counts["answers"] += 1
        if asked["person"] == post["person"]:
            counts["own"] += 1
            continue
        said = sorted(comments[site, identifier], key=lambda row: (row["created"], row["id"]))
        mask = _mask(asked, post, said, flagged, _edited(asked, post, said, events, edited, sites))
        people = [asked["person"], post["person"], *(row["person"] for row in said)]
        seeker_last = people[-1] == asked["person"]
        masks[mask, seeker_last] += 1
        survives = all(mask & bit for bit in bits)
        if survives or (seeker_last and "positive-ending" in criteria):
            threads.append(_thread(asked, post, said, users, mask, survives=survives, seeker_last=seeker_last))
    counted = Narrowed(
        counts["questions"],
        counts["answers"],
        counts["orphans"],
        sum(masks.values()),
        counts["own"],
        dict(masks),
        [],
    )
    return counted, threads


def _mask(asked: Row, answered: Row, said: Sequence[Row], flagged: set[tuple[int, int]], edited: bool) -> int:
    people = [asked["person"], answered["person"], *(row["person"] for row in said)]
    merged = [person for index, person in enumerate(people) if index == 0 or person != people[index - 1]]
    provider = answered["person"]
    met = [
        len(set(people)) == 2,
        merged.count(asked["person"]) >= 2 and merged.count(provider) >= 2,
        any(row["linked"] for row in [answered, *said] if row["person"] == provider),
        not any((row["site"], row["id"]) in flagged for row in (asked, answered)),
        not edited,
    ]
    return sum(1 << index for index, holds in enumerate(met) if holds)


def _edited(
    asked: Row,
    answered: Row,
    said: Sequence[Row],
    events: set[tuple[int, int]],
    edited: str,
    sites: Sequence[Site],
) -> bool:
    if edited == "marker":
        return any(row["marked"] for row in [asked, answered, *said])
    if sites and "history" not in sites[asked["site"]].tables:
        return any(row["edited_at"] is not None for row in (asked, answered))
    return any((row["site"], row["id"]) in events for row in (asked, answered))


def _thread(
    asked: Row,
    answered: Row,
    said: list[Row],
    users: Mapping[tuple[int, int], str | None],
    mask: int,
    *,
    survives: bool,
    seeker_last: bool,
) -> Row:
    if not survives:
        said = said[max(i + 1 for i, r in enumerate([answered, *said]) if r["person"] != asked["person"]) - 1 :]
    fields = ("id", "created", "score", "user", "person", "licence", "text")
    row = {
        "site": asked["site"],
        "question": asked["id"],
        "answer": answered["id"],
        "mask": mask,
        "survives": survives,
        "seeker_last": seeker_last,
        "seeker": asked["person"],
        "provider": answered["person"],
        "comments": [{f: r.get(f) for f in fields} | {"name": _author(r, users)} for r in said],
        "accepted": asked.get("accepted") if survives else None,
        "seeker_name": _author(asked, users) if survives else None,
        "provider_name": _author(answered, users) if survives else None,
    }
    for name in ("created", "score", "user", "name", "title", "tags", "licence", "body"):
        row[f"q_{name}"] = asked.get(name) if survives else None
        if name not in ("title", "tags"):
            row[f"a_{name}"] = answered.get(name) if survives else None
    return row


def _author(row: Row, users: Mapping[tuple[int, int], str | None]) -> str | None:
    """The display name: that of the table of users, else the row's own."""
    known = users.get((row["site"], row["user"])) if row.get("user") is not None else None
    return row.get("name") if known is None else known


def read_threads(paths: Sequence[Path]) -> list[Row]:
    """The rows of threads, with what has no order put in order, as the plain definition has it."""
    rows: list[Row] = []
    for path in paths:
        rows += pq.read_table(path).to_pylist()
    for row in rows:
        row["comments"] = sorted(row["comments"] or [], key=lambda said: (said["created"], said["id"]))
    return sorted(rows, key=lambda row: (row["site"], row["answer"]))
