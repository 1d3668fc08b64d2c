"""The definition of a row in plain Python: what is well formed, what its values are, which texts are linked or marked.

The compiled scanner gives the same, many times as fast; this one stands in where it is not built, and says what is wrong with a
row that either finds malformed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tertulia.stackexchange.rows.block import MOST_PROBLEMS, Block, Problem, arrow_schema

if TYPE_CHECKING:
    from tertulia.stackexchange.rows.schema import Kind, RowSchema

__all__ = [
    "MalformedRowError",
    "has_link",
    "has_link_in_html",
    "has_marker",
    "row_values",
    "scan_rows_plainly",
    "without_tags",
]

Value = int | str | bool | None

# ---------------------------------------------------------------- a line

_FORBIDDEN = re.compile("[^\t\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTRIBUTE = re.compile(r'[ \t]+([A-Za-z_][A-Za-z0-9_.:-]*)="([^<"]*)"')
_END = re.compile(r"[ \t]*/>")
_REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos);|#([0-9]+);|#x([0-9A-Fa-f]+);)?")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SHOWN = 40


class MalformedRowError(ValueError):
    """A line that is no well-formed row; the message says what was found and what was expected."""


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _attributes(line: bytes) -> dict[str, str]:
    """The attributes of a row, their values as they stand in the line."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = line[error.start : error.start + 4]
        raise MalformedRowError(
            f"the bytes {found.hex(' ')} at column {error.start + 1} are not UTF-8; expected UTF-8"
        ) from None
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        raise MalformedRowError(
            f"the character U+{ord(forbidden.group()):04X} at column {forbidden.start() + 1}; expected what XML allows"
        )
    if not text.startswith("<row"):
        raise MalformedRowError(f'the line is {_excerpt(text)}; expected <row Name="value" ... />')
    attributes: dict[str, str] = {}
    position = len("<row")
    while match := _ATTRIBUTE.match(text, position):
        name, value = match.groups()
        if name in attributes:
            raise MalformedRowError(f"the attribute {_excerpt(name)} stands twice in the row; expected it once")
        attributes[name] = value
        position = match.end()
    if not _END.fullmatch(text, position):
        raise MalformedRowError(
            f"the row goes on with {_excerpt(text[position:])} at column {position + 1}; "
            'expected Name="value" with no < in it, or />'
        )
    return attributes


def _resolved(name: str, value: str) -> str:
    """The value with every reference replaced by its character; a raw tab reads as a space."""

    def character(match: re.Match[str]) -> str:
        named, decimal, hexadecimal = match.groups()
        if named:
            return _NAMED[named]
        digits = (decimal or hexadecimal or "").lstrip("0")
        if decimal or hexadecimal:
            number = int(digits or "0", 10 if decimal else 16) if len(digits) < 8 else 0x110000
            if (number <= 0x10FFFF and not _FORBIDDEN.match(chr(number))) or number in (0xA, 0xD):
                return chr(number)
            raise MalformedRowError(f"{name} has {_excerpt(match.group())}, a character that XML forbids")
        found = value[match.start() : match.start() + 12]
        raise MalformedRowError(
            f"{name} has {_excerpt(found)}; expected &lt; &gt; &amp; &quot; &apos; or a character reference after an &"
        )

    return _REFERENCE.sub(character, value.replace("\t", " ")) if "&" in value else value.replace("\t", " ")


# ---------------------------------------------------------------- values

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _integer(name: str, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise MalformedRowError(f"{name} is {_excerpt(text)}; expected an integer of at most 18 digits")
    return int(text)


def _time(name: str, text: str) -> int:
    """Milliseconds since 1970; what is finer is cut off."""
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
        whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    except ValueError:
        raise MalformedRowError(
            f"{name} is {_excerpt(text)}; expected a time such as 2020-05-31T01:34:58.497"
        ) from None
    fraction = (match.group(7) or "").ljust(3, "0")[:3]
    return (whole.days * 86400 + whole.seconds) * 1000 + int(fraction)


# ---------------------------------------------------------------- flags

_TAG = re.compile(r"<[^>]*>")
_ANCHOR = re.compile(r"<a\s[^>]*href\s*=\s*[\"'][^\"'\s]", re.I | re.A)
_URL = re.compile(r"https?://[0-9a-z\[]", re.I | re.A)
_MARKER = re.compile(r"(?<![0-9A-Za-z_])(?:edit|edited|deprecated)[ 0-9]{0,8}:", re.I | re.A)


def without_tags(html: str) -> str:
    """The HTML with its tags taken out; a ``<`` that no ``>`` follows is no tag."""
    # Behind the last > there is no tag; the expression would look for one from every < there, to the end each time.
    end = html.rfind(">") + 1
    return _TAG.sub("", html[:end]) + html[end:]


def has_link_in_html(html: str) -> bool:
    """Whether HTML links to something: an ``a`` with a ``href``, or a bare URL in its text."""
    tags = _TAG.finditer(html[: html.rfind(">") + 1])
    return any(_ANCHOR.match(tag.group()) for tag in tags) or has_link(without_tags(html))


def has_link(text: str) -> bool:
    """Whether a URL stands in a plain text."""
    return _URL.search(text) is not None


def has_marker(text: str) -> bool:
    """Whether a plain text says that it was edited: ``EDIT:``, ``edited 2:``, ``deprecated:`` as words of their own."""
    return _MARKER.search(text) is not None


_CONVERTERS: dict[Kind, Callable[[str, str], Value]] = {
    "integer": _integer,
    "time": _time,
    "text": lambda _name, text: text,
    "linked-html": lambda _name, html: has_link_in_html(html),
    "marked-html": lambda _name, html: has_marker(without_tags(html)),
    "linked-text": lambda _name, text: has_link(text),
    "marked-text": lambda _name, text: has_marker(text),
}


# ---------------------------------------------------------------- rows


def row_values(line: bytes, schema: RowSchema) -> tuple[Value, ...] | None:
    """The values of a row, one for each column of the schema; ``None`` for a row that the schema leaves out.

    ``line`` has neither its line end nor spaces and tabs around it.

    Raises
    ------
    MalformedRowError
        The line is no well-formed row, lacks a required attribute or has a value of another type.
    """
    attributes = {name: _resolved(name, value) for name, value in _attributes(line).items()}
    values: list[Value] = []
    for column in schema.columns:
        text = attributes.get(column.attribute)
        if text is not None:
            values.append(_CONVERTERS[column.kind](column.attribute, text))
        elif column.required:
            wanted = ", ".join(c.attribute for c in schema.columns if c.required)
            raise MalformedRowError(f"the row has no {column.attribute}; expected {wanted}")
        else:
            values.append(None if column.kind in ("integer", "time", "text") else False)
    if schema.keep is not None:
        names = [column.name for column in schema.columns]
        if values[names.index(schema.keep[0])] not in schema.keep[1]:
            return None
    return tuple(values)


def problem_of(line: bytes, schema: RowSchema) -> str:
    """What is wrong with a line that is no well-formed row."""
    try:
        row_values(_stripped(line), schema)
    except MalformedRowError as error:
        return str(error)
    raise AssertionError(f"a row was found malformed that is not: {line[:200]!r}")


def _stripped(line: bytes) -> bytes:
    """The line without its carriage return and the spaces and tabs around it."""
    return line.removesuffix(b"\r").strip(b" \t")


def scan_rows_plainly(data: bytes | memoryview, schema: RowSchema) -> Block:
    """What :func:`tertulia.stackexchange.rows.scan.scan_rows` gives, a row at a time."""
    import pyarrow as pa

    kept: list[tuple[Value, ...]] = []
    problems: list[Problem] = []
    rows = left_out = problem_count = 0
    lines = bytes(data).split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines):
        stripped = _stripped(line)
        if not stripped:
            continue
        try:
            values = row_values(stripped, schema)
        except MalformedRowError as error:
            problem_count += 1
            if len(problems) < MOST_PROBLEMS:
                problems.append(Problem(number, str(error)))
            continue
        rows += 1
        if values is None:
            left_out += 1
        else:
            kept.append(values)
    fields = arrow_schema(schema)
    columns = [pa.array([row[i] for row in kept], type=field.type) for i, field in enumerate(fields)]
    table = pa.Table.from_arrays(columns, schema=fields)
    return Block(table, len(lines), rows, left_out, problems, problem_count)
