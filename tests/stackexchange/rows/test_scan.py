"""The compiled scanner gives what the plain definition gives, whatever the bytes."""

import gc
import mmap
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.stackexchange.rows.block import MOST_PROBLEMS, Block
from tertulia.stackexchange.rows.plain import scan_rows_plainly
from tertulia.stackexchange.rows.scan import compiled_scan, scan_rows
from tertulia.stackexchange.rows.schema import SCHEMAS, Column, RowSchema
from tests.formats.mutate import MUTATIONS
from tests.stackexchange.rows.material import ALL_SCHEMAS, ODD, SOUND, damaged, documents

compiled = pytest.mark.skipif(compiled_scan() is None, reason="the scanner is not compiled here")
FILES = {"posts": "posts", "comments": "comments", "votes": "votes", "users": "users", "posthistory": "history"}


def scanned_as_defined(data: bytes, schema: RowSchema) -> Block:
    """The block that both give."""
    fast, plain = scan_rows(data, schema), scan_rows_plainly(data, schema)
    fast.table.validate(full=True)
    assert fast.table.schema == plain.table.schema
    assert fast.table.equals(plain.table)
    assert fast[1:] == plain[1:]
    return fast


# ---------------------------------------------------------------- the same, whatever the bytes


@compiled
@pytest.mark.parametrize("schema", ALL_SCHEMAS, ids=lambda schema: schema.table)
def test_sound_rows(schema: RowSchema) -> None:
    block = scanned_as_defined(SOUND[schema.table], schema)
    assert block.problem_count == 0
    assert block.rows == block.lines == SOUND[schema.table].count(b"\n")
    assert block.table.num_rows == block.rows - block.left_out > 0


@compiled
@pytest.mark.parametrize("schema", ALL_SCHEMAS, ids=lambda schema: schema.table)
def test_nearly_sound_rows(schema: RowSchema) -> None:
    @settings(max_examples=60, deadline=None)
    @given(documents(schema))
    def check(data: bytes) -> None:
        scanned_as_defined(data, schema)

    check()


@compiled
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(ALL_SCHEMAS))
def test_any_bytes(data: bytes, schema: RowSchema) -> None:
    scanned_as_defined(data, schema)
    scanned_as_defined(b'<row Id="1" Text="' + data + b'"/>', schema)


@compiled
def test_damaged_rows() -> None:
    chance = random.Random(20)
    sound = malformed = 0
    for _ in range(max(10_000, MUTATIONS)):
        schema = chance.choice(ALL_SCHEMAS)
        block = scanned_as_defined(damaged(chance, SOUND[schema.table]), schema)
        sound += block.rows
        malformed += block.problem_count
    assert sound > MUTATIONS
    assert malformed > MUTATIONS // 4


@compiled
def test_flags_of_tags_and_words_in_any_order() -> None:
    pieces = [
        "&lt;",
        "&lt;",
        "&lt;a ",
        "&lt;a&#10;",
        "&lt;b",
        "&gt;",
        ">",
        "href",
        "HREF =",
        "=",
        "'",
        "'x",
        "&quot;y",
        "a",
        " ",
        "é",
    ]
    pieces += ["edit", "Edited", "deprecated", ":", ":", "/", "//", "://", "http", "HTTPS", "s", "9", "[", "_"]
    chance = random.Random(8)
    rows = ["".join(chance.choices(pieces, k=chance.randrange(24))) for _ in range(20 * MUTATIONS)]
    block = scanned_as_defined("".join(f'<row Text="{row}"/>\n' for row in rows).encode(), ODD)
    assert block.rows == len(rows)
    for flag in ("linked_html", "linked_text", "marked_html", "marked_text"):
        assert MUTATIONS // 100 < sum(block.table[flag].to_pylist()) < len(rows) - MUTATIONS, flag


@compiled
def test_real_dumps(data: Path) -> None:
    scanned = 0
    for path in sorted((data / "stackexchange").glob("*/*.xml")):
        table = FILES.get(path.stem.lower())
        if table is not None:
            block = scanned_as_defined(path.read_bytes(), SCHEMAS[table])
            # What is malformed is what is no row: the declaration, a document type, the root's tags.
            assert all(problem.line < 3 or problem.line == block.lines - 1 for problem in block.problems), path
            assert block.rows > 500
            scanned += 1
    assert scanned == 33


@compiled
@pytest.mark.parametrize("shift", range(0, 70, 3))
def test_wherever_a_row_ends_in_memory(shift: int) -> None:
    """The last bytes of the data are read from a copy: every place where that begins, and every length of a value."""
    row = b'<row Id="5" PostId="2" Text="' + b"x" * shift + b'" CreationDate="2020-05-31T01:40:47.307" />'
    for lines in ([row], [row, row], [row, b""], [row, b'<row Id="1"/>'], [b"", row[:-1]], [row + b"\r", b" \t", row]):
        scanned_as_defined(b"\n".join(lines), SCHEMAS["comments"])


# ---------------------------------------------------------------- enemies


def problems(data: bytes, schema: RowSchema) -> list[str]:
    return [problem.message for problem in scanned_as_defined(data, schema).problems]


@compiled
def test_a_long_value() -> None:
    text = "a&amp;é" * 2_000_000
    data = f'<row Id="1" PostId="1" CreationDate="2020-05-31T01:40:47" Text="{text}" />\n'.encode()
    block = scan_rows(data, SCHEMAS["comments"])
    assert block.problems == []
    assert block.table["text"].to_pylist() == ["a&é" * 2_000_000]
    assert scan_rows(data[:-5] + b"\n", SCHEMAS["comments"]).problem_count == 1


@compiled
@pytest.mark.parametrize(
    "text", ["&lt;" * 300_000, ":" * 300_000, "&lt;a " * 300_000, "&lt;a href=" * 300_000, "edit" + " " * 10**6]
)
def test_flags_take_time_in_proportion_to_the_text(text: str) -> None:
    scanned_as_defined(f'<row Text="{text}" />'.encode(), ODD)
    scanned_as_defined(f'<row Text="{text}&gt;" />'.encode(), ODD)


@compiled
def test_very_many_attributes() -> None:
    names = " ".join(f'a{i}="{i}"' for i in range(100_000))
    assert problems(f'<row {names} Id="1" />'.encode(), ODD) == []
    again = scanned_as_defined(f'<row {names} a99="1" />\n<row {names} a77777="1" />'.encode(), ODD).problems
    assert [(p.line, p.message.split(";")[0]) for p in again] == [
        (0, "the attribute 'a99' stands twice in the row"),
        (1, "the attribute 'a77777' stands twice in the row"),
    ]


@compiled
def test_only_a_line_feed_ends_a_line() -> None:
    row = b'<row Id="1" DisplayName="%s" />'
    for between in (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85"):
        block = scanned_as_defined(row % (b"a" + between + b"b"), SCHEMAS["users"])
        assert block.table["name"].to_pylist() == [("a" + between.decode() + "b")]
    for between in (b"\r", b"\x0b", b"\x0c", b"\x1c", b"\n"):
        block = scanned_as_defined(row % (b"a" + between + b"b"), SCHEMAS["users"])
        assert block.rows == 0
        assert block.lines == block.problem_count == (2 if between == b"\n" else 1)


@compiled
def test_so_many_problems_are_told_and_all_are_counted() -> None:
    block = scanned_as_defined(b"<x>\n" * (MOST_PROBLEMS + 7), SCHEMAS["votes"])
    assert len(block.problems) == MOST_PROBLEMS
    assert block.problem_count == block.lines == MOST_PROBLEMS + 7


@compiled
def test_a_row_does_not_leave_anything_to_the_next() -> None:
    row = '<row Id="{}" PostTypeId="{}" CreationDate="2020-01-01T00:00:00"{}/>\n'
    data = row.format(1, 1, ' Body="https://a" Title="one" Score="3"') + row.format(
        2, 4, ' Body="left out" Title="two"'
    )
    data += (
        row.format(3, 2, ' Body="bad" Title="three" Score="x"')
        + row.format(4, 2, "")
        + row.format(5, 2, ' Body="five"')
    )
    table = scanned_as_defined(data.encode(), SCHEMAS["posts"]).table
    assert table["id"].to_pylist() == [1, 4, 5]
    assert table["body"].to_pylist() == ["https://a", None, "five"]
    assert table["title"].to_pylist() == ["one", None, None]
    assert table["score"].to_pylist() == [3, None, None]
    assert table["linked"].to_pylist() == [True, False, False]


@compiled
def test_nothing_to_read() -> None:
    for data in (b"", b"\n", b"\r\n", b"  "):
        for schema in ALL_SCHEMAS:
            assert scanned_as_defined(data, schema).table.num_rows == 0


# ---------------------------------------------------------------- memory, threads, what it is given


@compiled
def test_the_table_outlives_the_data() -> None:
    data = bytearray(SOUND["posts"] * 300)
    table = scan_rows(memoryview(data), SCHEMAS["posts"]).table
    expected = scan_rows_plainly(SOUND["posts"] * 300, SCHEMAS["posts"]).table
    data[:] = b"\0" * len(data)
    del data
    gc.collect()
    assert table.slice(100).combine_chunks().equals(expected.slice(100).combine_chunks())


@compiled
def test_a_mapped_file_is_read_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(SOUND["posts"])
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
    ):
        block = scan_rows(view, SCHEMAS["posts"])
        with view[10:] as part:
            assert scan_rows(part, SCHEMAS["posts"]).problem_count == 1
    assert block.table.equals(scan_rows_plainly(SOUND["posts"], SCHEMAS["posts"]).table)


@compiled
def test_threads_scan_side_by_side() -> None:
    data = SOUND["posts"] * 2000
    expected = scan_rows_plainly(data, SCHEMAS["posts"])
    with ThreadPoolExecutor(4) as pool:
        for block in pool.map(lambda _: scan_rows(data, SCHEMAS["posts"]), range(12)):
            assert block.table.equals(expected.table)


@compiled
@pytest.mark.parametrize(
    "arguments",
    [
        (b"", (("Id", 7, True),), -1, (), 1),
        (b"", (("Id", -1, True),), -1, (), 1),
        (b"", (("Id", 0, True),), 1, (), 1),
        (b"", (("Id", 2, True),), 0, (), 1),
        (b"", (("Id", 0, True),), 0, (1 << 70,), 1),
        (b"", (("Id", 0, False),) * 65, -1, (), 1),
    ],
)
def test_the_kernel_refuses_what_it_cannot_do(arguments: tuple[object, ...]) -> None:
    scan = compiled_scan()
    assert scan is not None
    with pytest.raises((ValueError, OverflowError)):
        scan(*arguments)


@compiled
def test_sixty_four_columns() -> None:
    schema = RowSchema("wide", tuple(Column(f"c{i}", f"A{i % 50}", "text", required=i == 63) for i in range(64)))
    row = "<row " + " ".join(f'A{i}="{i}"' for i in range(50)) + "/>\n"
    block = scanned_as_defined((row + "<row/>\n" + row.replace('A13="13"', "")).encode(), schema)
    assert (block.rows, block.problem_count) == (1, 2)


# ---------------------------------------------------------------- without the kernel


def test_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package was built without a compiler there is no such module."""
    expected = {schema.table: scan_rows(SOUND[schema.table], schema) for schema in ALL_SCHEMAS}
    monkeypatch.setitem(sys.modules, "tertulia.stackexchange._rows", None)
    import tertulia.stackexchange

    monkeypatch.delattr(tertulia.stackexchange, "_rows", raising=False)
    found: Callable[..., object] | None = compiled_scan()
    assert found is None
    for schema in ALL_SCHEMAS:
        block = scan_rows(memoryview(SOUND[schema.table]), schema)
        assert block.table.equals(expected[schema.table].table)
        assert block[1:] == expected[schema.table][1:]
