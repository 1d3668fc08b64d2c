"""What is wanted of each table of a dump: the attributes of a row, their types, and which rows are kept."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["FLAG_KINDS", "SCHEMAS", "Column", "Kind", "RowSchema"]

Kind = Literal["integer", "time", "text", "linked-html", "marked-html", "linked-text", "marked-text"]
"""What a column holds: an integer, a time (UTC, milliseconds since 1970), a text, or a flag told from the attribute's text.

``linked`` says that a text has a link, ``marked`` that it has an editing marker; ``html`` and ``text`` say what the text is.
"""
FLAG_KINDS: tuple[Kind, ...] = ("linked-html", "marked-html", "linked-text", "marked-text")
"""The kinds whose values are true or false, never null: an attribute that is not there is neither linked nor marked."""


class Column(NamedTuple):
    """A column of the scanned table, the attribute of a row it is read from, and whether a row without it is malformed."""

    name: str
    attribute: str
    kind: Kind
    required: bool = False


class RowSchema(NamedTuple):
    """The columns of a table; of its rows only those whose integer column ``keep[0]`` has a value among ``keep[1]``."""

    table: str
    columns: tuple[Column, ...]
    keep: tuple[str, frozenset[int]] | None = None


QUESTION, ANSWER = 1, 2
OFFENSIVE_VOTE, SPAM_VOTE = 4, 12
BODY_EDITED, BODY_ROLLED_BACK = 5, 8

SCHEMAS = {
    "posts": RowSchema(
        "posts",
        (
            Column("id", "Id", "integer", required=True),
            Column("type", "PostTypeId", "integer", required=True),
            Column("parent", "ParentId", "integer"),
            Column("created", "CreationDate", "time", required=True),
            Column("score", "Score", "integer"),
            Column("user", "OwnerUserId", "integer"),
            Column("name", "OwnerDisplayName", "text"),
            Column("title", "Title", "text"),
            Column("tags", "Tags", "text"),
            Column("accepted", "AcceptedAnswerId", "integer"),
            Column("licence", "ContentLicense", "text"),
            Column("edited_at", "LastEditDate", "time"),
            Column("body", "Body", "text"),
            Column("linked", "Body", "linked-html"),
            Column("marked", "Body", "marked-html"),
        ),
        keep=("type", frozenset({QUESTION, ANSWER})),
    ),
    "comments": RowSchema(
        "comments",
        (
            Column("id", "Id", "integer", required=True),
            Column("post", "PostId", "integer", required=True),
            Column("created", "CreationDate", "time", required=True),
            Column("score", "Score", "integer"),
            Column("user", "UserId", "integer"),
            Column("name", "UserDisplayName", "text"),
            Column("licence", "ContentLicense", "text"),
            Column("text", "Text", "text", required=True),
            Column("linked", "Text", "linked-text"),
            Column("marked", "Text", "marked-text"),
        ),
    ),
    "votes": RowSchema(
        "votes",
        (
            Column("post", "PostId", "integer", required=True),
            Column("type", "VoteTypeId", "integer", required=True),
        ),
        keep=("type", frozenset({OFFENSIVE_VOTE, SPAM_VOTE})),
    ),
    "users": RowSchema(
        "users",
        (
            Column("id", "Id", "integer", required=True),
            Column("name", "DisplayName", "text"),
        ),
    ),
    "history": RowSchema(
        "history",
        (
            Column("post", "PostId", "integer", required=True),
            Column("type", "PostHistoryTypeId", "integer", required=True),
        ),
        keep=("type", frozenset({BODY_EDITED, BODY_ROLLED_BACK})),
    ),
}
"""Table → what is read of its rows."""
