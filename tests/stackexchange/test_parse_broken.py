"""Dumps that are not what they should be: one clear error, or a counted skip."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tertulia.errors import InputError
from tertulia.stackexchange import ranges
from tertulia.stackexchange.parse import Parsed
from tests.stackexchange.dumps import answer, comment, question, row_line, table_bytes, write_dump
from tests.stackexchange.parsing import parse, rows_of

GOOD = [question(1, 7), answer(2, 1, 8), answer(3, 1, 9), answer(4, 1, 10)]


def dump(folder: Path, posts: bytes | None = None, **tables: Any) -> Path:
    """A good dump, its Posts.xml replaced by these bytes."""
    write_dump(folder, GOOD, **tables)
    if posts is not None:
        (folder / "Posts.xml").write_bytes(posts)
    return folder


def posts_with(*lines: str, newline: str = "\r\n") -> bytes:
    """A Posts.xml of these lines: the first of them is line 3 of the file."""
    return newline.join(['<?xml version="1.0" encoding="utf-8"?>', "<posts>", *lines, "</posts>"]).encode()


def error_of(folder: Path, cache: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        parse([folder], cache, **options)
    return caught.value.one_line()


ROWS = [row_line(row) for row in GOOD]
BAD = {
    "no Id": row_line({"PostTypeId": 1, "CreationDate": "2020-01-01T00:00:00"}),
    "an Id that is no number": row_line(GOOD[0] | {"Id": "one"}),
    "an Id too large": row_line(GOOD[0] | {"Id": 10**18}),
    "a date that is none": row_line(GOOD[0] | {"CreationDate": "2020-02-30T00:00:00.000"}),
    "an unknown entity": ROWS[0].replace("What is it?", "&nbsp;"),
    "a bare ampersand": ROWS[0].replace("What is it?", "R&D"),
    "a forbidden character": ROWS[0].replace("What is it?", "&#0;"),
    "half a surrogate pair": ROWS[0].replace("What is it?", "&#xD83D;"),
    "a row on two lines": ROWS[0].replace(" Score", "\n Score"),
    "two rows on a line": ROWS[0] + ROWS[1],
    "an attribute twice": ROWS[0].replace(" Score", ' Score="1" Score'),
    "a row that is no row": "  <badge />",
    "a row that is not closed": ROWS[0].replace(" />", ">"),
    "a comment": "<!-- a comment -->",
    "an end tag in the middle": "</posts>",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("size", [1 << 26, 150])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_malformed_row_is_named_or_counted(tmp_path: Path, bad: str, size: int, workers: int) -> None:
    folder = dump(tmp_path / "beer", posts_with(*ROWS, "", bad, *ROWS[1:]))
    options = {"range_size": size, "workers": workers}
    said = error_of(folder, tmp_path / "cache", **options)
    assert said.startswith(f"{folder}/Posts.xml:8: "), said
    assert said.endswith("(--skip-bad leaves such rows out)")
    assert "expected" in said or "forbids" in said
    parsed = parse([folder], tmp_path / "cache", skip_bad=True, **options)
    finding = parsed.report.skipped["malformed rows"]
    assert finding.count == 1 + bad.count("\n")
    assert finding.first is not None
    assert finding.first.startswith("Posts.xml:8: ")
    assert len(rows_of(parsed, "posts")) == 7


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    folder = dump(tmp_path / "beer", posts_with(*ROWS).replace(b"What is it?", b"caf\xe9"))
    assert re.match(r".*/Posts.xml:3: the bytes e9.* are not UTF-8", error_of(folder, tmp_path / "cache"))


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_the_first_malformed_row_is_said_whatever_runs_first(tmp_path: Path, workers: int) -> None:
    lines = [row_line(answer(i, 1, 8)) for i in range(2, 400)]
    for at in (150, 151, 300, 397):
        lines[at] = "<row />"
    folder = dump(tmp_path / "beer", posts_with(*lines), comments=[comment(1, 2, 7) | {"Id": "x"}])
    for number in range(2):
        said = error_of(folder, tmp_path / f"cache{number}", range_size=400, workers=workers)
        assert f"{folder}/Posts.xml:153: " in said, said
    parsed = parse([folder], tmp_path / "cache0", range_size=400, workers=workers, skip_bad=True)
    found = parsed.report.skipped["malformed rows"]
    assert found.count == 5
    assert found.first is not None
    assert found.first.startswith("Posts.xml:153: ")


def test_what_was_skipped_once_is_an_error_when_it_may_not_be(tmp_path: Path) -> None:
    folder = dump(tmp_path / "beer", posts_with(*ROWS, "<row />"))
    first = error_of(folder, tmp_path / "cache", range_size=200)
    parse([folder], tmp_path / "cache", range_size=200, skip_bad=True)
    assert error_of(folder, tmp_path / "cache", range_size=200) == first


def test_places_name_the_dump_where_there_are_several(tmp_path: Path) -> None:
    dumps = [dump(tmp_path / "beer_202001", posts_with("<row />")), dump(tmp_path / "wine")]
    parsed = parse(dumps, tmp_path / "cache", skip_bad=True)
    first = parsed.report.skipped["malformed rows"].first
    assert first is not None
    assert first.startswith("beer/Posts.xml:3: ")


class TestCutOff:
    @pytest.mark.parametrize("size", [1 << 26, 200])
    def test_every_way_to_cut_a_table(self, tmp_path: Path, size: int) -> None:
        data = table_bytes("posts", GOOD)
        ends = data.rindex(b"</posts>") + len(b"</posts>")
        for length in [*range(0, 60, 3), 1, 2, *range(60, ends, 97), ends - 1]:
            folder = dump(tmp_path / "beer", data[:length])
            said = error_of(folder, tmp_path / "cache", range_size=size)
            if length == 0:
                assert "beer/Posts.xml: is empty (0 bytes); expected <posts> with rows (--skip-bad" in said
            else:
                assert (
                    "beer/Posts.xml: ends without </posts>, so it is cut off (--skip-bad takes what is there)" in said
                )
            parsed = parse([folder], tmp_path / "cache", range_size=size, skip_bad=True)
            finding = parsed.report.skipped["tables that end before their end tag"]
            assert (finding.count, finding.first) == (1, "Posts.xml")
            whole = data[:length].count(b" />")
            assert len(rows_of(parsed, "posts")) == whole

    @pytest.mark.parametrize("table", ["Comments.xml", "Users.xml", "Votes.xml"])
    def test_an_empty_table(self, tmp_path: Path, table: str) -> None:
        folder = dump(tmp_path / "beer")
        (folder / table).write_bytes(b"")
        assert f"beer/{table}: is empty (0 bytes)" in error_of(folder, tmp_path / "cache")
        parsed = parse([folder], tmp_path / "cache", skip_bad=True)
        assert parsed.report.skipped["tables that end before their end tag"].first == table

    def test_a_cut_is_said_before_anything_is_read(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer", posts_with("<row />").removesuffix(b"</posts>"))
        assert "cut off" in error_of(folder, tmp_path / "cache")

    def test_a_table_without_rows_is_whole(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer", posts_with())
        assert parse([folder], tmp_path / "cache").report.skipped == {}


class TestEncoding:
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
    def test_utf_16(self, tmp_path: Path, encoding: str) -> None:
        folder = dump(tmp_path / "beer", posts_with(*ROWS).decode().encode(encoding))
        for skip in (False, True):
            said = error_of(folder, tmp_path / "cache", skip_bad=skip)
            assert said == f"{folder}/Posts.xml: is UTF-16 or UTF-32 text; expected UTF-8"

    def test_another_declaration(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer", posts_with(*ROWS).replace(b"utf-8", b"windows-1252"))
        assert "is declared as windows-1252; expected UTF-8" in error_of(folder, tmp_path / "cache", skip_bad=True)

    def test_another_table(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer", table_bytes("comments", []))
        said = error_of(folder, tmp_path / "cache", skip_bad=True)
        assert "Posts.xml: begins with '<comments>" in said
        assert "expected an XML declaration and <posts>" in said


class TestLongLines:
    @pytest.mark.parametrize("size", [1 << 26, 3000, 900])
    @pytest.mark.parametrize("ends", [True, False])
    def test_a_line_that_is_too_long_is_an_error_with_its_number(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, ends: bool
    ) -> None:
        monkeypatch.setattr(ranges, "LONGEST_LINE", 1000)
        monkeypatch.setattr(ranges, "_SEARCHED", 100)
        long = ROWS[0].replace("What is it?", "x" * 5000)
        data = posts_with(*ROWS, long, *ROWS) if ends else posts_with(*ROWS, long).replace(b"\r\n</posts>", b"</posts>")
        folder = dump(tmp_path / "beer", data)
        for skip in (False, True):
            said = error_of(folder, tmp_path / "cache", range_size=size, block_size=64, skip_bad=skip, workers=3)
            assert said == f"{folder}/Posts.xml:7: the line is longer than 64 MB; expected one row"

    def test_a_long_line_is_read_across_blocks_and_ranges(self, tmp_path: Path) -> None:
        rows = [*GOOD, answer(5, 1, 8, "x" * 300_000), answer(6, 1, 8)]
        folder = write_dump(tmp_path / "beer", rows)
        parsed = parse([folder], tmp_path / "cache", range_size=10_000, block_size=100)
        assert [len(row["body"]) for row in rows_of(parsed, "posts")][4:] == [300_000, len(rows[5]["Body"])]


class TestTheDisk:
    def test_a_cache_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "cache").write_bytes(b"")
        with pytest.raises(Exception, match=r"cache: cannot be used as a cache: .*--cache names another folder"):
            parse([dump(tmp_path / "beer")], tmp_path / "cache")

    def test_a_table_that_changes_while_it_is_read(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer")

        def grow(_done: int, _total: int | None) -> None:
            with (folder / "Posts.xml").open("ab") as file:
                file.write(b"\n")

        with pytest.raises(InputError, match=r"Posts.xml: was changed while it was read; expected a dump at rest"):
            parse([folder], tmp_path / "cache", progress=grow)

    def test_a_table_that_is_cut_while_it_is_read(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer")

        def shrink(done: int, _total: int | None) -> None:
            if done:
                os.truncate(folder / "Posts.xml", 200)

        with pytest.raises(InputError, match=r"Posts.xml: (became shorter|was changed) while it was read"):
            parse([folder], tmp_path / "cache", progress=shrink, range_size=200, workers=1)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_table_that_cannot_be_read(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "beer")
        (folder / "Posts.xml").chmod(0)
        assert "Posts.xml: cannot be read: Permission denied" in error_of(folder, tmp_path / "cache")

    def test_a_disk_that_takes_no_more(self, tmp_path: Path) -> None:
        import resource

        folder = write_dump(tmp_path / "beer", [answer(i, 1, 8, "x" * 1000) for i in range(2, 400)])
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        try:
            said = error_of(folder, tmp_path / "cache")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "part-00000.parquet: cannot be written: " in said
        assert "--cache names a folder on another disk" in said
        assert not list((tmp_path / "cache").rglob("*.part"))


def test_an_error_leaves_the_cache_usable(tmp_path: Path) -> None:
    folder = dump(tmp_path / "beer", posts_with(*ROWS, "<row />"))
    for _ in range(2):
        error_of(folder, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.part"))
    (folder / "Posts.xml").write_bytes(posts_with(*ROWS))
    parsed: Parsed = parse([folder], tmp_path / "cache")
    assert len(rows_of(parsed, "posts")) == 4
