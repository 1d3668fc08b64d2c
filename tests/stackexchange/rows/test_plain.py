"""The definition of a row: against two XML parsers, the calendar of the standard library, and examples."""

import re
from datetime import UTC, date, datetime, timedelta
from xml.parsers import expat

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from tertulia.stackexchange.rows.plain import (
    MalformedRowError,
    has_link,
    has_link_in_html,
    has_marker,
    problem_of,
    row_values,
    without_tags,
)
from tertulia.stackexchange.rows.scan import scan_rows
from tertulia.stackexchange.rows.schema import SCHEMAS, Column, RowSchema
from tests.stackexchange.rows.material import BAD_FRAGMENTS, FRAGMENTS

ONE = RowSchema("one", (Column("a", "a", "text"), Column("b", "b", "text")))


def value(kind: str, text: str) -> object:
    """What a column of this kind makes of an attribute's text, or the message."""
    schema = RowSchema("one", (Column("a", "a", kind),))  # type: ignore[arg-type]
    try:
        values = row_values(f'<row a="{text}"/>'.encode("utf-8", "surrogatepass"), schema)
    except MalformedRowError as error:
        return str(error)
    assert values is not None
    return values[0]


# ---------------------------------------------------------------- well formed


def by_expat(line: bytes) -> dict[str, str] | None:
    """The attributes of a row by expat, or none where it is not well formed."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, attributes: found.append((name, attributes))
    try:
        parser.Parse(line, True)
    except expat.ExpatError:
        return None
    assert [name for name, _ in found] == ["row"]
    return found[0][1]


def by_lxml(line: bytes) -> dict[str, str] | None:
    """The same by libxml2."""
    try:
        return dict(etree.fromstring(line, etree.XMLParser(encoding="utf-8", resolve_entities=False)).attrib)
    except etree.XMLSyntaxError:
        return None


def by_us(line: bytes, names: list[str]) -> dict[str, str] | None:
    """The same by the definition."""
    schema = RowSchema("all", tuple(Column(name, name, "text") for name in names))
    try:
        values = row_values(line, schema)
    except MalformedRowError:
        return None
    assert values is not None
    return {name: str(value) for name, value in zip(names, values, strict=True) if value is not None}


_TEXTS = st.lists(st.one_of(FRAGMENTS, FRAGMENTS, FRAGMENTS, BAD_FRAGMENTS), max_size=4).map(
    lambda parts: "".join(parts).encode()
)
_BROKEN = st.sampled_from(
    [b"\x80", b"\xc0\x80", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x8f\xbf\xbf", b"\xff"]
)
_PAIRS = st.tuples(
    st.sampled_from([b" ", b"  ", b"\t"]),
    st.sampled_from(["a", "b", "_c", "D-1.x"]),
    st.one_of(_TEXTS, _TEXTS, _TEXTS, _BROKEN),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PAIRS, max_size=3), st.sampled_from([b"", b" ", b"\t"]))
def test_a_row_is_well_formed_where_two_parsers_of_xml_say_so(
    pairs: list[tuple[bytes, str, bytes]], space: bytes
) -> None:
    """In the form that dumps have: double quotation marks, ASCII names, one line."""
    line = b"<row" + b"".join(s + n.encode() + b'="' + v + b'"' for s, n, v in pairs) + space + b"/>"
    if b"\r" in line:
        line = line.replace(b"\r", b"")  # a line break to XML; the next test has it
    names = sorted({name for _, name, _ in pairs})
    expected = by_expat(line)
    assert by_us(line, names) == expected
    assert by_lxml(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "<row a='1'/>",
        '<row a ="1"/>',
        '<row a= "1"/>',
        '<row a="1"></row>',
        '<row\na="1"/>',
        '<row é="1"/>',
        '<row a="x\ry"/>',
        '<row :a="1"/>',
    ],
)
def test_what_is_stricter_than_xml(line: str) -> None:
    """No dump has it; whoever writes it is told."""
    assert by_expat(line.encode()) is not None
    assert by_us(line.encode(), ["a"]) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'<row a="\xff"/>', "the bytes ff 22 2f 3e at column 9 are not UTF-8; expected UTF-8"),
        (b'<row a="\x00"/>', "the character U+0000 at column 9; expected what XML allows"),
        (b"</posts>", "the line is '</posts>'; expected <row Name=\"value\" ... />"),
        (b'<row a="1" a="1"/>', "the attribute 'a' stands twice in the row; expected it once"),
        (b'<row a="1', 'the row goes on with \' a="1\' at column 5; expected Name="value" with no < in it, or />'),
        (
            b'<row a="<"/>',
            'the row goes on with \' a="<"/>\' at column 5; expected Name="value" with no < in it, or />',
        ),
        (
            b"<row/><row/>",
            "the row goes on with '/><row/>' at column 5; expected Name=\"value\" with no < in it, or />",
        ),
        (
            b'<row a="&nbsp;"/>',
            "a has '&nbsp;'; expected &lt; &gt; &amp; &quot; &apos; or a character reference after an &",
        ),
        (b'<row a="&#xD800;"/>', "a has '&#xD800;', a character that XML forbids"),
        (b'<row c="&#0;"/>', "c has '&#0;', a character that XML forbids"),
    ],
)
def test_what_is_malformed_is_said(line: bytes, message: str) -> None:
    assert problem_of(line, ONE) == message


def test_a_message_is_short_whatever_the_row() -> None:
    for line in (
        b"x" * 10**6,
        b'<row a="' + b"&" * 10**6 + b'"/>',
        b"<row " + b"a" * 10**6,
        b'<row a="&#' + b"9" * 10**6 + b';"/>',
    ):
        message = problem_of(line, ONE)
        assert len(message) < 200
        assert "\n" not in message


def test_a_missing_attribute_is_named_with_those_that_are_expected() -> None:
    assert (
        problem_of(b'<row Id="1"/>', SCHEMAS["comments"])
        == "the row has no PostId; expected Id, PostId, CreationDate, Text"
    )
    for schema in SCHEMAS.values():
        for column in schema.columns:
            names = sorted({c.attribute for c in schema.columns if c.required and c is not column})
            row = (
                "<row" + "".join(f' {n}="{"2020-01-01T00:00:00" if n == "CreationDate" else 1}"' for n in names) + "/>"
            )
            assert (scan_rows(row.encode(), schema).problem_count == 1) == column.required


# ---------------------------------------------------------------- values


@settings(max_examples=300, deadline=None)
@given(st.datetimes(timezones=st.just(UTC)))
@example(datetime(1969, 12, 31, 23, 59, 59, 999999, UTC))
@example(datetime(2000, 2, 29, tzinfo=UTC))
def test_a_time_is_that_of_the_calendar(time: datetime) -> None:
    for spec in ("seconds", "milliseconds", "microseconds"):
        shown = time.isoformat(timespec=spec)
        exact = (datetime.fromisoformat(shown) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        assert value("time", shown.removesuffix("+00:00")) == exact


def test_every_day_of_four_centuries() -> None:
    """By whatever scans here: the days that there are, and no others."""
    schema = RowSchema("days", (Column("when", "w", "time", required=True),))
    days = [
        (y, m, d)
        for y in (1, 4, 1600, 1700, 1900, 1970, 2000, 2023, 2024, 2100, 9999)
        for m in range(14)
        for d in range(33)
    ]
    data = "".join(f'<row w="{y:04}-{m:02}-{d:02}T00:00:00"/>\n' for y, m, d in days).encode()
    block = scan_rows(data, schema)
    malformed = {problem.line for problem in block.problems}
    expected = []
    for number, (year, month, day) in enumerate(days):
        try:
            expected.append((date(year, month, day) - date(1970, 1, 1)).days * 86_400_000)
        except ValueError:
            expected.append(None)
        if block.problem_count <= 1000:
            assert (number in malformed) == (expected[-1] is None), days[number]
    assert block.table["when"].to_pylist() == [time for time in expected if time is not None]


@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01T24:00:00",
        "2020-01-01T23:60:00",
        "2020-01-01T23:59:60",
        "2019-02-29T00:00:00",
        "2020-13-01T00:00:00",
        "2020-00-01T00:00:00",
        "0000-01-01T00:00:00",
        "2020-01-01T00:00:00.",
        "2020-01-01T00:00:00.1234567",
        "2020-01-01T00:00:00Z",
        "2020-01-01",
        "2020-01-01 00:00:00",
        "",
        " 2020-01-01T00:00:00",
        "２020-01-01T00:00:00",
        "-020-01-01T00:00:00",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert value("time", text) == f"a is {text!r}; expected a time such as 2020-05-31T01:34:58.497"


def test_what_is_finer_than_a_millisecond_is_cut_off() -> None:
    assert value("time", "1970-01-01T00:00:01.9999") == 1999
    assert value("time", "1969-12-31T23:59:59.9999") == -1
    assert value("time", "1970-01-01T00:00:00.5") == 500


@pytest.mark.parametrize("text", ["0", "-0", "1", "-1", "007", "9" * 18, "-" + "9" * 18, "0" * 18])
def test_an_integer(text: str) -> None:
    assert value("integer", text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "-", "+1", " 1", "1 ", "1.0", "1e3", "9" * 19, "0" * 19, "--1", "1-", "１", "NaN", "0x1"]
)
def test_what_is_no_integer(text: str) -> None:
    assert value("integer", text) == f"a is {text!r}; expected an integer of at most 18 digits"


def test_references_and_tabs() -> None:
    assert (
        value("text", "&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#000067;&#x9;&#10;&#xD;\t&amp;lt;")
        == "<>&\"'ABC\t\n\r &lt;"
    )
    assert value("text", "&#x1F35E;&#xFFFD;&#x10FFFF;&#xE000;&#xD7FF;") == "\U0001f35e\ufffd\U0010ffff\ue000\ud7ff"
    assert value("integer", "&#49;&#x32;") == 12


# ---------------------------------------------------------------- flags


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ('<a href="https://x.example">x</a>', True),
        ("<A  title='t' HREF = 'x'>", True),
        ('<a\nrel="nofollow"\nhref="x">', True),
        ('<a href="">x</a>', False),
        ('<a href=" x">x</a>', False),
        ("<a href=x>x</a>", False),
        ('<a name="x">href="x"</a>', False),
        ('<abbr href="x">', False),
        ('<img src="https://x.example/a.png">', False),
        ("<p>see <code>https://x.example</code></p>", True),
        ("<p>HTTP://9.example</p>", True),
        ("<p>http://[::1]/</p>", True),
        ("<p>http://</p>", False),
        ("<p>http:// x</p>", False),
        ("<p>ftp://x.example</p>", False),
        ("ht<b>tp://x</b>", True),
        ('<a href="x"', False),
        ("a < b", False),
        ("a < b and <a href='x'>", False),
        ('<a href=">', True),
        ('<a href="', False),
        ("", False),
    ],
)
def test_linked_html(html: str, linked: bool) -> None:
    assert has_link_in_html(html) is linked
    assert (
        value(
            "linked-html", html.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("\n", "&#10;")
        )
        is linked
    )


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("see https://x.example", True),
        ("xhttp://y", True),
        ("<a href='x'>", False),
        ("https:/x", False),
        ("www.x.example", False),
    ],
)
def test_linked_text(text: str, linked: bool) -> None:
    assert has_link(text) is linked


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("EDIT: better now", True),
        ("edit : better now", True),
        ("Edit 2: better now", True),
        ("(edited:", True),
        ("Edited 2020 01: x", True),
        ("DEPRECATED: use the other", True),
        ("éedit:", True),
        ("credit: to whom", False),
        ("_edit: x", False),
        ("1edit: x", False),
        ("editor: x", False),
        ("edit - x:", False),
        ("edit 12345678:", False),
        ("edit 1234567:", True),
        ("edit\n:", False),
        ("I will edit it", False),
        ("", False),
    ],
)
def test_marked(text: str, marked: bool) -> None:
    assert has_marker(text) is marked
    assert value("marked-text", text.replace("\n", "&#10;")) is marked
    assert value("marked-html", text.replace("\n", "&#10;")) is marked


def test_tags_are_taken_out_before_markers_are_looked_for() -> None:
    assert value("marked-html", "&lt;strong&gt;EDIT&lt;/strong&gt;: x") is True
    assert value("marked-html", "&lt;p title='edit:'&gt; x") is False
    assert value("marked-html", "&lt;p title='edit:' x") is True  # no tag: nothing closes it
    assert value("marked-text", "&lt;b&gt;EDIT&lt;/b&gt;: x") is False


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("<>ab: \n"), max_size=30))
def test_a_tag_is_what_the_expression_says(html: str) -> None:
    assert without_tags(html) == re.sub(r"<[^>]*>", "", html)


def test_a_flag_is_never_null() -> None:
    for schema in (SCHEMAS["posts"], SCHEMAS["comments"]):
        row = '<row Id="1" PostTypeId="2" PostId="1" CreationDate="2020-01-01T00:00:00" Text=""/>'
        table = scan_rows(row.encode(), schema).table
        assert table["linked"].to_pylist() == table["marked"].to_pylist() == [False]
