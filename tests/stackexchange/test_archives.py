"""Dumps in 7z archives, whole and hostile."""

import io
import os
import random
import resource
import subprocess
import sys
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path

import pytest

from tertulia.errors import InputError, MissingExtraError
from tertulia.stackexchange import archives
from tertulia.stackexchange.archives import members, unpack
from tertulia.stackexchange.dumps import find_sites
from tertulia.stackexchange.parse import Parsed, parse_dumps
from tests.stackexchange.dumps import answer, comment, question, table_bytes, write_dump

py7zr = pytest.importorskip("py7zr")

POSTS = table_bytes("posts", [question(1, 7), answer(2, 1, 8)])
COMMENTS = table_bytes("comments", [comment(3, 2, 7)])
MUTATIONS = int(os.environ.get("TERTULIA_MUTATIONS", "60"))


def pack(path: Path, files: Mapping[str, bytes], **options: object) -> Path:
    with py7zr.SevenZipFile(path, "w", **options) as archive:
        for name, data in files.items():
            archive.writef(io.BytesIO(data), "x")
            # Names that the library would not write: as a hostile packer does.
            archive.header.files_info.files[-1]["filename"] = name
            archive.files[len(archive.files) - 1]._file_info["filename"] = name
    return path


@pytest.fixture
def beer(tmp_path: Path) -> Path:
    return pack(tmp_path / "beer.7z", {"Posts.xml": POSTS, "Comments.xml": COMMENTS})


def parse(paths: list[Path], cache: Path, **options: object) -> Parsed:
    parsed = parse_dumps(paths, cache, **options)  # type: ignore[arg-type]
    parsed.close()
    return parsed


def rows(parsed: Parsed, table: str) -> list[dict[str, object]]:
    import pyarrow.parquet as pq

    return [row for path in parsed.tables[table] for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("folder", ["", "beer/", "./", "dump of beer/"])
def test_an_archive_is_a_dump(tmp_path: Path, folder: str) -> None:
    archive = pack(
        tmp_path / "beer.stackexchange.com.7z",
        {f"{folder}posts.xml": POSTS, f"{folder}Badges.xml": b"<badges/>", f"{folder}Comments.xml": COMMENTS},
    )
    write_dump(tmp_path / "beer", [question(1, 7), answer(2, 1, 8)], [comment(3, 2, 7)], users=None, votes=None)
    packed = parse([archive], tmp_path / "cache")
    plain = parse([tmp_path / "beer"], tmp_path / "cache")
    assert [site.domain for site in packed.sites] == ["beer"]
    for table in plain.tables:
        assert rows(packed, table) == rows(plain, table)
    assert [(i["bytes"], i["blake3"]) for i in packed.inputs] == [(i["bytes"], i["blake3"]) for i in plain.inputs]
    assert [i["name"] for i in packed.inputs] == [
        "beer.stackexchange.com/Posts.xml",
        "beer.stackexchange.com/Comments.xml",
    ]
    assert not list((tmp_path / "cache").rglob("*.xml")), "the XML is removed when it has been parsed"


def test_an_archive_for_each_table(tmp_path: Path) -> None:
    paths = [
        pack(tmp_path / "stackoverflow.com-Posts.7z", {"Posts.xml": POSTS}),
        pack(tmp_path / "beer.7z", {"Posts.xml": POSTS}),
        pack(tmp_path / "stackoverflow.com-Comments.7z", {"Comments.xml": COMMENTS}),
        pack(tmp_path / "stackoverflow.com-Badges.7z", {"Badges.xml": b"<badges/>"}),
    ]
    parsed = parse(paths, tmp_path / "cache", workers=3)
    assert [(site.domain, list(site.tables)) for site in parsed.sites] == [
        ("beer", ["posts"]),
        ("stackoverflow", ["posts", "comments"]),
    ]
    assert len(rows(parsed, "posts")) == 4
    assert [row["site"] for row in rows(parsed, "comments")] == [1]


def test_an_archive_is_not_unpacked_again(beer: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    parse([beer], tmp_path / "cache", progress=lambda done, total: seen.append((done, total)))
    size = len(POSTS) + len(COMMENTS)
    assert sum(done for done, _ in seen) == 2 * size
    assert {total for _, total in seen} == {2 * size}, "unpacked once and read once"
    seen.clear()
    parsed = parse([beer], tmp_path / "cache", progress=lambda done, total: seen.append((done, total)))
    assert sum(done for done, _ in seen) == size
    assert {total for _, total in seen} == {size}
    assert parsed.bytes == size


def test_what_was_unpacked_is_taken_over(beer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = pack(tmp_path / "wine.7z", {"Posts.xml": POSTS.replace(b'Id="2"', b'Id="two"'), "Comments.xml": COMMENTS})
    with pytest.raises(InputError, match=r"wine.7z/Posts.xml:4: Id is 'two'"):
        parse([bad], tmp_path / "cache")
    assert list((tmp_path / "cache").rglob("Posts.xml"))
    monkeypatch.setattr("tertulia.stackexchange.parse.unpack", None)
    assert len(rows(parse([bad], tmp_path / "cache", skip_bad=True), "posts")) == 1
    assert not list((tmp_path / "cache").rglob("*.xml"))


@pytest.mark.parametrize("comments", [b"", COMMENTS])
def test_an_empty_table_in_an_archive(tmp_path: Path, comments: bytes) -> None:
    archive = pack(tmp_path / "beer.7z", {"Posts.xml": b"", "Comments.xml": comments})
    with pytest.raises(InputError, match=r"beer.7z/Posts.xml: is empty \(0 bytes\); expected <posts> with rows"):
        parse([archive], tmp_path / "cache")
    parsed = parse([archive], tmp_path / "cache", skip_bad=True)
    assert parsed.report.skipped["tables that end before their end tag"].first == "Posts.xml"
    assert len(rows(parsed, "comments")) == bool(comments)


def test_stopping_while_unpacking_leaves_nothing_half(beer: Path, tmp_path: Path) -> None:
    def stop(done: int, _total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse([beer], tmp_path / "cache", progress=stop)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".part", ".xml")]
    assert len(rows(parse([beer], tmp_path / "cache"), "posts")) == 2


class TestHostileNames:
    @pytest.mark.parametrize(
        "name",
        [
            "../Posts.xml",
            "beer/../../Posts.xml",
            "/etc/Posts.xml",
            "C:/Posts.xml",
            "c:\\Posts.xml",
            "..\\Posts.xml",
            "\\\\host\\share\\Posts.xml",
            "beer/..",
        ],
    )
    @pytest.mark.parametrize("beside", [{}, {"Posts.xml": POSTS}])
    def test_a_name_that_leads_out(self, tmp_path: Path, name: str, beside: dict[str, bytes]) -> None:
        archive = pack(tmp_path / "beer.7z", {**beside, name: POSTS})
        with pytest.raises(InputError, match=r"beer.7z: holds .*, a name that leads out of the folder") as caught:
            parse([archive], tmp_path / "cache")
        assert "\n" not in caught.value.one_line()
        assert {path.name for path in tmp_path.iterdir()} == {"beer.7z", "cache"}

    def test_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_bytes(POSTS)
        (tmp_path / "Posts.xml").symlink_to("secret")
        with py7zr.SevenZipFile(tmp_path / "beer.7z", "w") as archive:
            archive.write(tmp_path / "Posts.xml", "Posts.xml")
        with pytest.raises(InputError, match=r"beer.7z: holds the link 'Posts.xml'; expected plain files only"):
            find_sites([tmp_path / "beer.7z"])

    def test_a_table_that_is_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "Posts.xml").mkdir()
        with py7zr.SevenZipFile(tmp_path / "beer.7z", "w") as archive:
            archive.write(tmp_path / "Posts.xml", "Posts.xml")
        with pytest.raises(InputError, match=r"beer.7z: holds Posts.xml as a folder or link"):
            find_sites([tmp_path / "beer.7z"])

    @pytest.mark.parametrize("names", [("Posts.xml", "posts.xml"), ("Posts.xml", "beer/Posts.xml"), ("Posts.xml",) * 2])
    def test_a_table_twice(self, tmp_path: Path, names: tuple[str, str]) -> None:
        path = tmp_path / "beer.7z"
        with py7zr.SevenZipFile(path, "w") as archive:
            for name in names:
                archive.writef(io.BytesIO(POSTS), name)
        with pytest.raises(InputError, match=r"beer.7z: holds both .* and .*; expected one file for a table"):
            find_sites([path])

    def test_a_table_in_two_archives(self, tmp_path: Path) -> None:
        one = pack(tmp_path / "beer-Posts.7z", {"Posts.xml": POSTS})
        other = pack(tmp_path / "beer-Comments.7z", {"Posts.xml": POSTS})
        with pytest.raises(InputError, match=r"beer-Comments.7z: holds Posts.xml, which .*beer-Posts.7z holds too"):
            find_sites([one, other])

    @pytest.mark.parametrize("files", [{"a/b/Posts.xml": POSTS}, {"Comments.xml": COMMENTS}, {"Posts.xml.txt": POSTS}])
    def test_no_posts(self, tmp_path: Path, files: dict[str, bytes]) -> None:
        with pytest.raises(InputError, match=r"beer.7z: has no Posts.xml at its top or in one folder"):
            find_sites([pack(tmp_path / "beer.7z", files)])

    def test_a_working_directory_with_links_is_no_matter(
        self, beer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cwd").mkdir()
        (tmp_path / "cwd" / "Posts.xml").symlink_to("/dev/null")
        monkeypatch.chdir(tmp_path / "cwd")
        assert len(rows(parse([beer], tmp_path / "cache"), "posts")) == 2


class TestBroken:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", r"is empty \(0 bytes\); expected a 7z archive"),
            (b"7z", "begins with b'7z'; expected a 7z archive"),
            (b"PK\x03\x04" * 10, "begins with b'PK"),
            (b"7z\xbc\xaf\x27\x1c", "is damaged or cut off"),
            (b"7z\xbc\xaf\x27\x1c" + bytes(100), "is damaged or cut off"),
            (b"7z\xbc\xaf\x27\x1c\x00\x04" + b"\xff" * 1000, "is damaged or cut off"),
        ],
    )
    def test_no_archive(self, tmp_path: Path, data: bytes, message: str) -> None:
        (tmp_path / "beer.7z").write_bytes(data)
        with pytest.raises(InputError, match=rf"beer.7z: {message}"):
            parse([tmp_path / "beer.7z"], tmp_path / "cache")

    @pytest.mark.parametrize("header", [False, True])
    def test_an_encrypted_archive(self, tmp_path: Path, header: bool) -> None:
        archive = pack(tmp_path / "beer.7z", {"Posts.xml": POSTS}, password="secret", header_encryption=header)
        with pytest.raises(InputError, match=r"beer.7z: is encrypted; expected an archive without a password"):
            parse([archive], tmp_path / "cache")

    def test_a_method_that_is_not_known(self, beer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def unsupported(*_args: object, **_options: object) -> None:
            raise py7zr.UnsupportedCompressionMethodError(b"\x03\x03\x01\x1b", "BCJ2 is not supported")

        monkeypatch.setattr(py7zr.SevenZipFile, "extract", unsupported)
        with pytest.raises(InputError, match=r"packed by a method that cannot .*\(unpack it and name the folder\)"):
            parse([beer], tmp_path / "cache")

    def test_every_cut_of_an_archive(self, beer: Path, tmp_path: Path) -> None:
        data = beer.read_bytes()
        for length in range(0, len(data), 7):
            (tmp_path / "cut.7z").write_bytes(data[:length])
            with pytest.raises(InputError, match=r"cut.7z: "):
                parse([tmp_path / "cut.7z"], tmp_path / "cache")
            assert not list((tmp_path / "cache").rglob("*.part"))

    def test_bytes_that_were_changed(self, tmp_path: Path) -> None:
        """One error or the right rows, and nothing else: no other error, no rows that differ."""
        chance = random.Random(7)
        good = pack(tmp_path / "good.7z", {"Posts.xml": POSTS}).read_bytes()
        want = rows(parse([tmp_path / "good.7z"], tmp_path / "cache"), "posts")
        said: list[str] = []
        for number in range(MUTATIONS):
            data = bytearray(good)
            for _ in range(chance.randint(1, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            path = tmp_path / f"bad{number}.7z"
            path.write_bytes(data)
            try:
                parsed = parse([path], tmp_path / "cache")
            except InputError as error:
                said.append(error.one_line())
            else:
                assert rows(parsed, "posts") == want
            path.unlink()
        assert said
        assert all("bad" in line and "\n" not in line for line in said)

    def test_more_than_the_disk_has(self, beer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(archives.shutil, "disk_usage", lambda _path: usage(10, 0, 10))
        with pytest.raises(InputError, match=r"beer.7z: unpacks to [\d,]+ bytes, and 10 are free at .*--cache"):
            parse([beer], tmp_path / "cache")

    def test_a_large_file_is_streamed(self, tmp_path: Path) -> None:
        size = 100 << 20
        program = (
            "import io, resource, sys\n"
            "from pathlib import Path\n"
            "from tertulia.stackexchange.archives import unpack\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            f"unpack(Path(sys.argv[1]), {{'Posts.xml': Path(sys.argv[2])}}, {{'Posts.xml': {size}}}, lambda count: None)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        )

        with (tmp_path / "zeros").open("wb") as file:
            file.truncate(size)
        with py7zr.SevenZipFile(tmp_path / "beer.7z", "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
            archive.write(tmp_path / "zeros", "Posts.xml")
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "beer.7z"), str(tmp_path / "out.xml")],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert (tmp_path / "out.xml").stat().st_size == size
        assert int(done.stdout) < 60_000, "KiB more than before"

    def test_a_disk_that_takes_no_more(self, beer: Path, tmp_path: Path) -> None:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(InputError, match=r"Posts.xml.*part: cannot be written: File too large"):
                unpack(beer, {"Posts.xml": tmp_path / "Posts.xml"}, {"Posts.xml": len(POSTS)}, lambda _count: None)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert [path.name for path in tmp_path.iterdir()] == ["beer.7z"]

    def test_a_size_that_lies(self, beer: Path, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"damaged or cut off: Posts.xml has [\d,]+ bytes; 1 were declared"):
            unpack(beer, {"Posts.xml": tmp_path / "Posts.xml"}, {"Posts.xml": 1}, lambda _count: None)
        assert not (tmp_path / "Posts.xml").exists()

    def test_without_the_library(self, beer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "py7zr", None)
        with pytest.raises(MissingExtraError, match=r"reading beer.7z needs the package 'py7zr'.*tertulia\[full\]"):
            members(beer)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_an_archive_that_cannot_be_read(self, beer: Path) -> None:
        beer.chmod(0)
        with pytest.raises(InputError, match=r"beer.7z: cannot be read: Permission denied"):
            members(beer)


def test_the_real_dump_from_an_archive(data: Path, tmp_path: Path) -> None:
    folder = data / "stackexchange" / "beer_20200531"
    with py7zr.SevenZipFile(
        tmp_path / "beer_20200531.7z", "w", filters=[{"id": py7zr.FILTER_ZSTD, "level": 1}]
    ) as archive:
        for name in ("Posts.xml", "Comments.xml", "Users.xml", "Votes.xml", "Tags.xml"):
            archive.write(folder / name, name)
    packed = parse([tmp_path / "beer_20200531.7z"], tmp_path / "cache")
    plain = parse([folder], tmp_path / "cache")
    assert packed.inputs == plain.inputs
    for table in plain.tables:
        assert [p.read_bytes() for p in packed.tables[table]] == [p.read_bytes() for p in plain.tables[table]]
