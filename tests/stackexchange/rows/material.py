"""Rows of dumps made here: sound ones, strategies for nearly sound ones, and damage."""

import random

from hypothesis import strategies as st

from tertulia.stackexchange.rows.schema import SCHEMAS, Column, RowSchema

# One attribute fills columns of every kind, in an order that no table has.
ODD = RowSchema(
    "odd",
    (
        Column("number", "Id", "integer"),
        Column("first", "Id", "text"),
        Column("second", "Id", "text"),
        Column("when", "When", "time"),
        Column("words", "When", "text"),
        Column("linked_html", "Text", "linked-html"),
        Column("linked_text", "Text", "linked-text"),
        Column("marked_text", "Text", "marked-text"),
        Column("marked_html", "Text", "marked-html"),
        Column("text", "Text", "text"),
        Column("again", "Text", "text"),
    ),
)
ALL_SCHEMAS = [*SCHEMAS.values(), ODD]

POSTS = """\
  <row Id="1" PostTypeId="1" AcceptedAnswerId="2" CreationDate="2019-02-28T20:26:05.383" Score="19" ViewCount="7" \
Body="&lt;p&gt;How do I keep &lt;b&gt;bread&lt;/b&gt; fresh?&lt;/p&gt;&#xA;" OwnerUserId="7" Title="Bread &amp; paper bags" \
Tags="&lt;bread&gt;&lt;storage&gt;" ContentLicense="CC BY-SA 4.0" />
  <row Id="2" PostTypeId="2" ParentId="1" CreationDate="2020-02-29T00:00:00" Score="-3" Body="&lt;p&gt;See \
&lt;a href=&quot;https://x.example/keep?a=1&amp;amp;b=2&quot;&gt;this page&lt;/a&gt;. EDIT 2: not in summer.&lt;/p&gt;&#xD;&#xA;"\
 OwnerDisplayName="Zoë &#x1F35E;" LastEditDate="2020-03-01T23:59:59.9999" Tags="|a|b|" />
  <row Id="3" PostTypeId="5" CreationDate="2021-12-31T23:59:59.1" Body="" />
  <row Id="4" PostTypeId="2" CreationDate="1969-12-31T23:59:59.001" Body="see http://[::1]/ or https://名.example " />
"""
COMMENTS = """\
  <row Id="5" PostId="2" Score="0" Text="Thanks, it works: https://bread.example/q &quot;really&quot;" \
CreationDate="2020-05-31T01:40:47.307" UserId="-1" ContentLicense="CC BY-SA 4.0" />
  <row Id="6" PostId="2" Text="Credit: nobody. (edited 12: twice)" CreationDate="2020-05-31T01:40:47" UserDisplayName="a	b" />
"""
VOTES = """\
  <row Id="1" PostId="1" VoteTypeId="2" CreationDate="2014-01-21T00:00:00.000" />
  <row Id="2" PostId="1" VoteTypeId="4" CreationDate="2014-01-21" />
  <row Id="3" PostId="9" VoteTypeId="12" UserId="7"/>
"""
USERS = """\
  <row Id="-1" Reputation="1" DisplayName="Community" AboutMe="&lt;p&gt;I&apos;m no person.&lt;/p&gt;" Age="" />
  <row Id="7" DisplayName="&lt;Anna&gt;" />
"""
HISTORY = """\
  <row Id="1" PostHistoryTypeId="5" PostId="1" Text="How do I keep bread fresh?" />
  <row Id="2" PostHistoryTypeId="2" PostId="2" Text="" />
"""
ODDITIES = """\
  <row Id="12" When="2000-02-29T12:00:00.5" Text="&lt;a href='x'&gt;edit:&lt;/a&gt; http&lt;b&gt;://a" />
  <row Text="plain" />
  <row/>
"""
SOUND = {
    "posts": POSTS.encode(),
    "comments": COMMENTS.encode(),
    "votes": VOTES.encode(),
    "users": USERS.encode(),
    "history": HISTORY.encode(),
    "odd": ODDITIES.encode(),
}

# ---------------------------------------------------------------- values


def _one_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split(" "))


_INTEGERS = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.integers(-20, 20).map(str),
    st.sampled_from(
        ["", "-", "--1", "+1", "1 ", "01", "-0", "1_0", "9" * 18, "9" * 19, "-" + "9" * 18, "-" + "9" * 19, "１", "1e3"]
    ),
    st.sampled_from(["&#49;2", "1&#x32;", "&#45;1", "0" * 18, "0" * 19]),
)
_TIMES = st.one_of(
    st.datetimes().map(lambda time: time.isoformat()),
    st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds")),
    st.builds(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}".format,
        st.integers(0, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
        st.integers(0, 25),
        st.integers(0, 61),
        st.integers(0, 61),
        st.sampled_from(["", ".", ".1", ".12", ".123", ".123456", ".1234567", "Z", ".12x"]),
    ),
    st.sampled_from(["2020-01-01", "", "2020-01-01 00:00:00", "2020&#45;01-01T00:00:00", "20200-01-01T00:00:0"]),
)
FRAGMENTS = st.one_of(
    _one_of(
        "&lt; &gt; &amp; &quot; &apos; &#xA; &#xD; &#9; &#10; &#x1F600; &#65; &#0065; &#xe9; &#xFFFD; &#x10FFFF;"
        " &lt;a &lt;A&#9;href=&quot;x&quot;&gt; href=&quot; &lt;a&#32;title='h'&#32;HREF=&#10;'y'&gt; &lt;b&gt; &lt;/a&gt; > :"
        " http:// https://x http://9 HTTPS://[ ftp://x ://x http edit: EDIT&#32;2: edited: deprecated: credit: edit&#32;123456789:"
        " edit12345678: _edit: éedit: Edit : tib &lt;i&gt;edit&lt;/i&gt;:"
    ),
    st.sampled_from(
        [" ", "\t", "é", "ы", "漢", "😀", "\u2028", "\x85", "\x7f", "\ufffd", "\U0010ffff", "'", "/>", "]]>", "="]
    ),
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters='<&"\ufffe\uffff'), max_size=20
    ),
)
BAD_FRAGMENTS = _one_of(
    "< & &; &#; &#x; &lt &LT; &nbsp; &#x0; &#0; &#xD800; &#xDFFF; &#xFFFE; &#xFFFF; &#x110000; &#X41; &#1; &#31; &#xg; &#12a;"
    " &#99999999999999999999; &#x; &amp &quo; &apo; &g; \0 \x01 \x0b \x0c \x1b \x1f \r \ufffe \uffff"
)
VALUES = st.one_of(
    st.lists(FRAGMENTS, max_size=12).map("".join),
    st.lists(st.one_of(FRAGMENTS, FRAGMENTS, BAD_FRAGMENTS), max_size=6).map("".join),
)
_ATTRIBUTES = sorted({column.attribute for schema in ALL_SCHEMAS for column in schema.columns})
_NAMES = st.one_of(
    st.sampled_from(_ATTRIBUTES),
    st.sampled_from(
        ["ViewCount", "a", "_", "a-b.c:d", "A" * 29, "B" * 30, "C" * 31, "Ids", "PostIdx", "é", "1a", "", "-a"]
    ),
)


def value_of(attribute: str) -> st.SearchStrategy[str]:
    """Values for an attribute: mostly of the type that some table wants of it."""
    kinds = {column.kind for schema in ALL_SCHEMAS for column in schema.columns if column.attribute == attribute}
    likely = _TIMES if "time" in kinds else _INTEGERS if "integer" in kinds else VALUES
    return st.one_of(likely, likely, likely, VALUES)


_BLANKS = st.sampled_from([" ", " ", " ", " ", "  ", "\t", " \t", ""])
_ATTRIBUTE = _NAMES.flatmap(
    lambda name: st.builds(
        '{}{}{}"{}"'.format,
        _BLANKS,
        st.just(name),
        st.sampled_from(["=", "=", "=", "=", " =", "= ", "==", "=''"]),
        value_of(name),
    )
)


@st.composite
def rows(draw: st.DrawFn, schema: RowSchema) -> bytes:
    """A line: mostly a row that is sound for the schema, with its attributes in any order and some beside them."""
    wanted = sorted({column.attribute for column in schema.columns if column.required or draw(st.booleans())})
    parts = [f' {name}="{draw(value_of(name))}"' for name in draw(st.permutations(wanted))]
    parts += draw(st.lists(_ATTRIBUTE, max_size=2))
    line = (
        draw(st.sampled_from(["", "  ", "  ", "\t"]))
        + "<row"
        + "".join(parts)
        + draw(st.sampled_from([" />", "/>", "\t/>"]))
    )
    line += draw(st.sampled_from(["", "", "", "\r", " ", " \r", "\r ", "\r\r", "x", "<row/>", "\x0c"]))
    return line.encode("utf-8", "surrogatepass")


OTHER_LINES = st.sampled_from(
    [
        b"",
        b" \t",
        b"\r",
        b" \r",
        b"<row",
        b"<row/",
        b"<row>",
        b"<rows/>",
        b"</posts>",
        b"<!-- x -->",
        b"<row a=",
        b'<row a="',
        b"\xef\xbb\xbf",
        b"<row Id='1' />",
        b'<Row Id="1"/>',
        b"\x00",
        b"\xff",
        b'<row Id="1" Id="1"/>',
        b'<row Id="\xed\xa0\x80"/>',
        b'<row Id="\xc0\x80"/>',
        b'<row Text="\xf4\x90\x80\x80"/>',
        b'<row Text="\xe2\x82"/>',
        b'<row Text="\xf0\x8f\xbf\xbf"/>',
        b'<row Text="\x80"/>',
        b'<row a="1"b="2"/>',
    ]
)


@st.composite
def documents(draw: st.DrawFn, schema: RowSchema) -> bytes:
    """Some lines, with line ends of both kinds, the last with or without one."""
    lines = draw(st.lists(st.one_of(rows(schema), rows(schema), rows(schema), OTHER_LINES), max_size=6))
    return b"\n".join(lines) + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


# ---------------------------------------------------------------- damage

TELLING = [
    b'"',
    b"'",
    b"<",
    b">",
    b"/>",
    b"&",
    b"&lt;",
    b"&#",
    b";",
    b"=",
    b" ",
    b"\t",
    b"\r",
    b"\n",
    b"\0",
    b"\x1f",
    b":",
    b"-",
    b"9",
]
TELLING += [
    b"\xff",
    b"\xc3",
    b"\xa9",
    b"\xe2\x80\xa8",
    b"\xef\xbf\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x8d\x9e",
    b"<row ",
    b' Id="1"',
    b"9" * 19,
]
TELLING += [
    b"https://x",
    b"edit:",
    b"&lt;a href=&quot;b&quot;&gt;",
    b"&gt;",
    b"T24:00:00",
    b"2020-02-30",
    b"&#x0;",
    b"&#xD800;",
]


def damaged(chance: random.Random, data: bytes) -> bytes:
    """The data with one to three changes: something put in, replaced, taken out, repeated, moved, or a bit flipped."""
    for _ in range(chance.choice([1, 1, 2, 3])):
        place = chance.randrange(len(data) + 1)
        end = min(len(data), place + chance.choice([1, 1, 2, 5, 40]))
        action = chance.randrange(6)
        if action == 0:
            data = data[:place] + chance.choice(TELLING) + data[place:]
        elif action == 1:
            data = data[:place] + chance.choice(TELLING) + data[end:]
        elif action == 2:
            data = data[:place] + data[end:]
        elif action == 3:
            data = data[:end] + data[place:]
        elif action == 4:
            other = chance.randrange(len(data) + 1)
            data = data[:other] + data[place:end] + data[other:]
        elif place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
    return data
