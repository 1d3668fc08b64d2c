"""Dumps into Parquet: every value, whatever the ranges, the workers and the size of a block."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.errors import MissingExtraError
from tertulia.stackexchange.dumps import FILES
from tertulia.stackexchange.parse import parse_dumps
from tertulia.stackexchange.tables import arrow_schema
from tests.stackexchange.dumps import answer, comment, question, write_dump
from tests.stackexchange.parsing import parse, plain_rows, rows_of

ALL = tuple(FILES)


def small(folder: Path) -> Path:
    """A dump with a bit of everything."""
    posts = [
        question(1, 7, "<p>Why? EDIT: see <a href='https://example.org'>this</a></p>", AcceptedAnswerId=2),
        answer(2, 1, 8, "<p>So &amp; so — ✓</p>", LastEditDate="2020-02-01T00:00:00.5"),
        answer(3, 1, None, "", OwnerDisplayName="Ann O'Nym"),
        answer(4, 1, None, OwnerDisplayName="", ContentLicense=None, Score=None),
        answer(5, 1, None, "a\nb\tc"),
        question(6, -1, at="2009-02-28T23:59:59.999") | {"PostTypeId": 5},
        question(7, 7, at="1969-12-31T23:59:59.999"),
    ]
    comments = [
        comment(1, 2, 7, "See http://example.org"),
        comment(2, 2, None, "edited: no", UserDisplayName="user7"),
        comment(3, 99, None, "", ContentLicense=None),
    ]
    votes = [{"Id": i, "PostId": i % 5, "VoteTypeId": i % 17, "CreationDate": "2020-01-01"} for i in range(60)]
    users = [{"Id": -1, "DisplayName": "Community"}, {"Id": 7, "DisplayName": "Grüße & Küsse"}, {"Id": 9}]
    history = [{"Id": i, "PostId": i % 7, "PostHistoryTypeId": i % 11, "Text": "x"} for i in range(40)]
    return write_dump(folder, posts, comments, users, votes, history)


def test_every_value_of_a_small_dump(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    parsed = parse([folder], tmp_path / "cache", tables=ALL)
    for table in ALL:
        assert rows_of(parsed, table) == plain_rows(folder, table), table
        for path in parsed.tables[table]:
            assert pq.read_schema(path).equals(arrow_schema(table)), table
    posts = {row["id"]: row for row in rows_of(parsed, "posts")}
    assert [posts[i]["person"] for i in (1, 2, 3, 4, 5, 7)] == ["7", "8", "~Ann O'Nym", "?p4", "?p5", "7"]
    assert posts[7]["created"] == -1
    assert 6 not in posts
    assert [row["person"] for row in rows_of(parsed, "comments")] == ["7", "~user7", "?c3"]


def test_the_report_says_what_is_worth_knowing(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    (folder / "Users.xml").unlink()
    parsed = parse([folder], tmp_path / "cache")
    assert parsed.report.skipped == {}
    assert {reason: (finding.count, finding.first) for reason, finding in parsed.report.noted.items()} == {
        "posts that are neither question nor answer": (1, None),
        "posts without a user id": (3, "Posts.xml, id 3"),
        "comments without a user id": (2, "Comments.xml, id 2"),
        "dumps without Users.xml": (1, "dump: there is no Users.xml"),
    }


def test_with_several_dumps_places_name_the_dump(tmp_path: Path) -> None:
    folders = [small(tmp_path / "wine_202001"), write_dump(tmp_path / "beer", [question(5, 1)], users=None, votes=None)]
    parsed = parse(folders, tmp_path / "cache")
    assert parsed.report.noted["posts without a user id"].first == "wine/Posts.xml, id 3"
    assert parsed.report.noted["dumps without Votes.xml"].first == "beer: there is no Votes.xml"
    assert {row["site"] for row in rows_of(parsed, "comments")} == {1}
    for table in ("posts", "comments", "users", "votes"):
        want = plain_rows(folders[1], table, 0) + plain_rows(folders[0], table, 1)
        assert rows_of(parsed, table) == want, table


def test_a_table_that_is_not_there_is_one_file_without_rows(tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump", [question(1, 7)], comments=None, users=None, votes=())
    parsed = parse([folder], tmp_path / "cache")
    assert list(parsed.tables) == list(FILES)
    for table in ("comments", "users", "votes", "history"):
        (path,) = parsed.tables[table]
        assert pq.read_table(path).num_rows == 0
        assert pq.read_schema(path).equals(arrow_schema(table))
    assert "dumps without PostHistory.xml" not in parsed.report.noted, "it was not asked for"


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\t\r:<>&\"'"), max_size=20
)
NUMBER = st.none() | st.integers(-5, 10**6)
POST = st.fixed_dictionaries(
    {
        "Id": st.integers(-(10**17), 10**17),
        "PostTypeId": st.sampled_from([1, 2, 2, 4, 7]),
        "CreationDate": st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds")),
        "ParentId": NUMBER,
        "OwnerUserId": NUMBER,
        "OwnerDisplayName": st.none() | TEXT,
        "LastEditDate": st.none() | st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds")),
        "Body": st.none() | TEXT | st.sampled_from(["<a href='x'>y</a>", "edit: z", "http://a.b"]),
        "Tags": st.none() | TEXT,
    }
)


def can_be_xml(row: dict[str, Any]) -> bool:
    return not any(isinstance(v, str) and any(c in v for c in "\ufffe\uffff") for v in row.values())


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(POST.filter(can_be_xml), max_size=12),
    st.integers(20, 3000),
    st.integers(10, 3000),
    st.sampled_from(["\n", "\r\n", "\r\n\r\n \t\n"]),
)
def test_any_dump_in_any_ranges(
    tmp_path_factory: pytest.TempPathFactory, posts: list[dict[str, Any]], size: int, block: int, newline: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    dump = write_dump(folder / "dump", posts, comments=None, users=None, votes=None, newline=newline)
    parsed = parse([dump], folder / "cache", range_size=size, block_size=block)
    assert rows_of(parsed, "posts") == plain_rows(dump, "posts")


def test_tiny_ranges_equal_one_range(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    whole = parse([folder], tmp_path / "cache", tables=ALL)
    for size in (90, 1000):
        parsed = parse([folder], tmp_path / "cache", tables=ALL, range_size=size, block_size=64, workers=4)
        assert len(parsed.tables["posts"]) >= (folder / "Posts.xml").stat().st_size // size // 2
        for table in ALL:
            assert rows_of(parsed, table) == rows_of(whole, table), (size, table)
        assert parsed.report == whole.report


def test_files_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    found = []
    for workers in (1, 2, 5):
        cache = tmp_path / f"cache{workers}"
        parse([folder], cache, tables=ALL, workers=workers, range_size=300)
        found.append({path.relative_to(cache): path.read_bytes() for path in cache.rglob("*") if path.is_file()})
    assert found[0] == found[1] == found[2]
    assert len(found[0]) > 30


def test_a_large_table_has_several_row_groups(tmp_path: Path) -> None:
    votes = ({"Id": i, "PostId": i, "VoteTypeId": 4} for i in range(150_000))
    folder = write_dump(tmp_path / "dump", [question(1, 7)], votes=votes, comments=None, users=None)
    parsed = parse([folder], tmp_path / "cache", block_size=1 << 20)
    (path,) = parsed.tables["votes"]
    metadata = pq.read_metadata(path)
    assert metadata.num_rows == 150_000
    assert metadata.num_row_groups > 2
    assert pq.read_table(path)["post"].to_pylist() == list(range(150_000))


def test_inputs_are_named_and_digested(tmp_path: Path) -> None:
    folder = small(tmp_path / "beer_20200531")
    parsed = parse([folder], tmp_path / "cache", range_size=1 << 30)
    names = [f"beer_20200531/{FILES[table]}" for table in ("posts", "comments", "users", "votes")]
    assert [item["name"] for item in parsed.inputs] == names
    for item in parsed.inputs:
        data = (tmp_path / item["name"]).read_bytes()
        assert item["bytes"] == len(data)
        # Of a file of one range, the digest of its digest.
        assert item["blake3"] == blake3(blake3(data).digest()).hexdigest()
    assert parsed.bytes == sum(item["bytes"] for item in parsed.inputs)


def test_the_digest_is_over_those_of_the_ranges(tmp_path: Path) -> None:
    folder = small(tmp_path / "beer")
    data = (folder / "Posts.xml").read_bytes()
    parsed = parse([folder], tmp_path / "cache", range_size=700)
    parts, at, start = blake3(), 0, data.index(b"<posts>") + len(b"<posts>")
    end = data.index(b"</posts>")
    for border in [*range(start + 700, end, 700), None]:
        stop = len(data) if border is None else data.index(b"\n", border - 1) + 1
        parts.update(blake3(data[at:stop]).digest())
        at = stop
    assert parsed.inputs[0]["blake3"] == parts.hexdigest()


def test_progress_is_told_in_bytes_and_comes_to_the_total(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    total = sum((folder / FILES[table]).stat().st_size for table in ALL)
    for _ in range(2):
        seen: list[tuple[int, int | None]] = []
        parse(
            [folder],
            tmp_path / "cache",
            tables=ALL,
            range_size=500,
            workers=3,
            progress=lambda done, of, seen=seen: seen.append((done, of)),
        )
        assert sum(done for done, _ in seen) == total
        assert {of for _, of in seen} == {total}


def test_without_blake3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "blake3", None)
    with pytest.raises(MissingExtraError, match="needs the package 'blake3'"):
        parse_dumps([tmp_path], tmp_path / "cache")


def test_the_tables_of_the_real_dumps(data: Path, tmp_path: Path) -> None:
    folders = sorted((data / "stackexchange").iterdir())
    parsed = parse(folders, tmp_path / "cache", tables=ALL, range_size=1 << 20)
    for table in ALL:
        want = [
            row for site in parsed.sites for row in plain_rows(data / "stackexchange" / site.label, table, site.index)
        ]
        got = rows_of(parsed, table)
        assert len(got) == len(want)
        assert got == want
    assert {table: len(rows_of(parsed, table)) for table in ALL} == {
        "posts": 11956,
        "comments": 15633,
        "users": 19691,
        "votes": 39,
        "history": 1559,
    }
    assert parsed.report.skipped == {}
    assert parsed.report.noted["posts that are neither question nor answer"].count == 551


def test_nothing_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parse([small(tmp_path / "dump")], tmp_path / "cache")
    assert capsys.readouterr() == ("", "")


def test_a_dump_may_be_read_only(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    parse([folder], tmp_path / "cache", tables=ALL)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


def test_rows_on_the_line_of_the_root_tag(tmp_path: Path) -> None:
    folder = small(tmp_path / "dump")
    want = plain_rows(folder, "users")
    text = (
        (folder / "Users.xml").read_text("utf-8-sig").replace("<users>\n", "<users>").replace("\n</users>", "</users>")
    )
    assert "<users>  <row" in text
    (folder / "Users.xml").write_text(text, "utf-8")
    assert rows_of(parse([folder], tmp_path / "cache"), "users") == want
