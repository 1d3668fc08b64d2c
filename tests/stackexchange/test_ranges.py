"""The file of a table cut into ranges of whole lines."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.stackexchange import ranges
from tertulia.stackexchange.ranges import Frame, LongLineError, line_start, pieces, range_starts, read_frame

BOM = b"\xef\xbb\xbf"
DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>'


def frame_of(tmp_path: Path, data: bytes, root: str = "posts") -> Frame:
    path = tmp_path / "Posts.xml"
    path.write_bytes(data)
    return read_frame(path, "Posts.xml", root)


class TestFrame:
    @pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
    @pytest.mark.parametrize("bom", [b"", BOM])
    @pytest.mark.parametrize(
        "before",
        [
            DECLARATION,
            b"",
            b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
            b"<?xml version='1.0' encoding='UTF8'?>",
            DECLARATION + b"\n<!DOCTYPE posts SYSTEM 'posts.dtd'>",
            DECLARATION + b"\n<!-- a dump -->\n\n<!-- of a site -->",
        ],
    )
    @pytest.mark.parametrize("after", [b"", b"\n", b"\r\n \t\n"])
    def test_rows_stand_between_the_tags_of_the_root(
        self, tmp_path: Path, newline: bytes, bom: bytes, before: bytes, after: bytes
    ) -> None:
        rows = newline + b"  <row />" + newline
        data = bom + before + newline + b"<posts>" + rows + b"</posts>" + after
        frame = frame_of(tmp_path, data)
        assert data[frame.start : frame.end] == rows
        assert frame.is_whole
        assert frame.size == len(data)
        assert frame.line == data[: data.index(b"<posts>")].count(b"\n") + 1

    @pytest.mark.parametrize("root", [b"<posts/>", b"<posts />", b"<posts></posts>", b"<posts>\n</posts \n>\n"])
    def test_a_table_without_rows(self, tmp_path: Path, root: bytes) -> None:
        data = DECLARATION + b"\n" + root
        frame = frame_of(tmp_path, data)
        assert frame.is_whole
        assert not data[frame.start : frame.end].strip()

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\n\n",
            BOM,
            BOM + DECLARATION,
            BOM + b"<?xml version",
            DECLARATION + b"\n<pos",
            DECLARATION + b"\n<posts>",
            DECLARATION + b"\n<posts>\n  <row />",
            DECLARATION + b"\n<posts>\n  <row />\n</post",
            DECLARATION + b"\n<posts>\n  <row />\n</comments>",
            DECLARATION + b"\n<posts>\n  <row />\n</posts>\n\x00\x00",
        ],
    )
    def test_a_file_that_is_cut_off(self, tmp_path: Path, data: bytes) -> None:
        frame = frame_of(tmp_path, data)
        assert not frame.is_whole
        assert frame.end == frame.size == len(data)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ((BOM + DECLARATION + b"<posts></posts>").decode("utf-8-sig").encode("utf-16"), "is UTF-16 or UTF-32 text"),
            (DECLARATION.decode().encode("utf-16-le"), "is UTF-16 or UTF-32 text"),
            (DECLARATION.decode().encode("utf-32"), "is UTF-16 or UTF-32 text"),
            (
                b'<?xml version="1.0" encoding="ISO-8859-1"?><posts></posts>',
                "is declared as ISO-8859-1; expected UTF-8",
            ),
            (DECLARATION + b"<comments></comments>", "begins with '<comments></comments>'; expected .* and <posts>"),
            (DECLARATION + b"<Posts></Posts>", "begins with '<Posts></Posts>'"),
            (b"Id,PostTypeId\n1,2\n", "begins with 'Id,PostTypeId"),
            (b"7z\xbc\xaf\x27\x1c\x00\x04", "begins with .7z"),
            (b"<" * 70_000, "begins with '<<<"),
            (b"<!DOCTYPE x [<!ENTITY a 'b'>]><posts></posts>", "begins with .<!DOCTYPE"),
        ],
    )
    def test_a_file_that_is_no_such_table(self, tmp_path: Path, data: bytes, message: str) -> None:
        with pytest.raises(InputError, match=rf"Posts.xml: {message}"):
            frame_of(tmp_path, data)

    def test_a_file_that_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"beer/Posts.xml: cannot be read: No such file"):
            read_frame(tmp_path / "gone", "beer/Posts.xml", "posts")


def split_plainly(data: bytes, frame: Frame, size: int) -> list[bytes]:
    """The definition: every line goes to the range that its first byte is in."""
    starts = range_starts(frame, size)
    found = [b""] * len(starts)
    at = frame.start
    for line in data[frame.start : frame.end].splitlines(keepends=True):
        found[(at - frame.start) // size] += line
        at += len(line)
    return found


# Only \n ends a line here; bytes.splitlines() knows \r too, so it is left out of what is made up.
LINES = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=30)


@settings(deadline=None, max_examples=300)
@given(LINES, st.integers(1, 60), st.integers(1, 40), st.binary(max_size=5), st.booleans())
def test_ranges_hold_every_line_once(lines: list[bytes], size: int, block: int, head: bytes, ends: bool) -> None:
    body = b"\n".join(lines) + (b"\n" if ends else b"")
    data = head + body + b"</posts>"
    frame = Frame(len(data), len(head), len(head) + len(body), 1, True)
    file = io.BytesIO(data)
    starts = range_starts(frame, size)
    found = []
    for start, stop in zip(starts, [*starts[1:], None], strict=True):
        end = frame.end if stop is None else line_start(file, stop, frame)
        parts = [bytes(piece) for piece in pieces(file, line_start(file, start, frame), end, block)]
        assert all(part.endswith(b"\n") for part in parts[:-1])
        found.append(b"".join(parts))
    assert found == split_plainly(data, frame, size)


def test_a_line_longer_than_a_block_is_one_piece() -> None:
    data = b"a\n" + b"b" * 5000 + b"\nc\n"
    found = [bytes(piece) for piece in pieces(io.BytesIO(data), 0, len(data), 16)]
    assert b"".join(found) == data
    assert found[0] == b"a\n"
    assert all(piece.endswith(b"\n") for piece in found)


def test_a_line_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LONGEST_LINE", 100)
    data = b"a\n" + b"b" * 99 + b"\n" + b"c" * 150 + b"\nd\n"
    found = pieces(io.BytesIO(data), 0, len(data), 10)
    assert [len(next(found)), len(next(found))] == [2, 100]
    with pytest.raises(LongLineError):
        next(found)


def test_the_search_for_a_line_does_not_go_on_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LONGEST_LINE", 100)
    monkeypatch.setattr(ranges, "_SEARCHED", 10)
    file = io.BytesIO(b"x" * 10_000)
    with pytest.raises(LongLineError):
        line_start(file, 50, Frame(10_000, 0, 10_000, 1, False))
    assert file.tell() < 200


def test_a_file_that_became_shorter() -> None:
    found = pieces(io.BytesIO(b"a\nb\n"), 0, 10, 2)
    with pytest.raises(EOFError):
        list(found)
