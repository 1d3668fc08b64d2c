"""Sources: files, folders and archives, packed or not, give the same bytes; damage is one clear error."""

import gzip
import random
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import ReadOptions
from tertulia.errors import InputError
from tertulia.formats.files.sources import source_files

from .mutate import MUTATIONS, mutate

OPTIONS = ReadOptions()
FILES = {"b.csv": b"two\n", "a/c.csv": b"one\n" * 50_000, "a/.hidden.csv": b"no\n", "a/other.txt": b"no\n"}


def zstd_file(path: Path, data: bytes) -> None:
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(data)


def contents(source: Path, *patterns: str) -> dict[str, bytes]:
    found = {}
    for file in source_files(str(source), *(patterns or ("*.csv",)), expected="tables", options=OPTIONS):
        with file.open(OPTIONS) as stream:
            found[file.name] = stream.read()
    return found


def folder(path: Path, pack: str = "") -> Path:
    for name, data in FILES.items():
        file = path / (name + pack)
        file.parent.mkdir(parents=True, exist_ok=True)
        if pack == ".gz":
            file.write_bytes(gzip.compress(data))
        elif pack == ".zst":
            zstd_file(file, data)
        else:
            file.write_bytes(data)
    return path


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


WANTED = {"a/c.csv": FILES["a/c.csv"], "b.csv": FILES["b.csv"]}


@pytest.mark.parametrize("pack", ["", ".gz", ".zst"])
def test_a_folder_gives_what_matches_in_order_of_name(tmp_path: Path, pack: str) -> None:
    found = contents(folder(tmp_path / "f", pack))
    assert found == WANTED
    assert list(found) == ["a/c.csv", "b.csv"]


def test_an_archive_is_like_the_folder(tmp_path: Path) -> None:
    extra = {"__MACOSX/a/c.csv": b"no", "packed.csv.gz": gzip.compress(b"three")}
    assert contents(archive(tmp_path / "f.zip", FILES | extra)) == WANTED | {"packed.csv": b"three"}


def test_an_archive_of_one_file_is_that_file_whatever_its_name(tmp_path: Path) -> None:
    assert contents(archive(tmp_path / "f.zip", {"x/data": b"1"})) == {"x/data": b"1"}


def test_compression_is_told_by_the_bytes_not_by_the_name(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_bytes(b"not packed")
    (tmp_path / "packed").write_bytes(gzip.compress(b"packed"))
    assert contents(tmp_path / "plain.gz") == {"plain": b"not packed"}
    assert contents(tmp_path / "packed") == {"packed": b"packed"}
    # Two members one after the other are one text: this is how parallel packers write.
    (tmp_path / "twice").write_bytes(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert contents(tmp_path / "twice") == {"twice": b"one two"}


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=2_000), times=st.integers(1, 200))
def test_any_bytes_come_through_any_packing(tmp_path_factory: pytest.TempPathFactory, data: bytes, times: int) -> None:
    path = tmp_path_factory.mktemp("s")
    data = b"." + data * times
    (path / "a.gz").write_bytes(gzip.compress(data))
    zstd_file(path / "a.zst", data)
    archive(path / "a.zip", {"a": data})
    for name in ("a.gz", "a.zst", "a.zip"):
        assert list(contents(path / name).values()) == [data]


def test_progress_reports_the_stored_bytes_and_their_total(tmp_path: Path) -> None:
    for source in (folder(tmp_path / "f", ".gz"), archive(tmp_path / "f.zip", FILES), folder(tmp_path / "g")):
        told: list[tuple[int, int | None]] = []
        options = ReadOptions(progress=lambda done, total, told=told: told.append((done, total)))
        files = source_files(str(source), "*.csv", expected="tables", options=options)
        for file in files:
            with file.open(options) as stream:
                while stream.read(10_000):
                    pass
        total = sum(file.size for file in files)
        assert {known for _, known in told} == {total}
        assert abs(sum(done for done, _ in told) - total) <= len(files)


@pytest.mark.parametrize("cut", [1, 9, 40])
@pytest.mark.parametrize("pack", ["gz", "zst", "zip"])
def test_what_is_cut_off_is_one_error_with_the_name(tmp_path: Path, pack: str, cut: int) -> None:
    data = bytes(range(256)) * 3 + b"end"
    path = tmp_path / f"a.{pack}"
    if pack == "gz":
        path.write_bytes(gzip.compress(data))
    elif pack == "zst":
        zstd_file(path, data)
    else:
        archive(path, {"a": data})
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match=rf"a\.{pack}.*(cannot be read|is not a zip archive)"):
        contents(path)


def test_a_flipped_bit_is_found_by_the_checksum(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a": b"text that is long enough to be hit" * 30})
    data = bytearray(path.read_bytes())
    data[40] ^= 4
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="cannot be read"):
        contents(path)


def test_a_locked_archive_says_so(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a": b"text"})
    data = bytearray(path.read_bytes())
    # The flag of encryption, in the member's header and in the directory.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="encrypted"):
        contents(path)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is nothing at this path"):
        contents(tmp_path / "none")
    with pytest.raises(InputError, match=r"holds no \*\.csv file; expected tables"):
        contents(tmp_path)
    with pytest.raises(InputError, match=r"holds no \*\.csv file; expected tables"):
        contents(archive(tmp_path / "empty.zip", {}))
    with pytest.raises(InputError, match=r"there is nothing|embedded null byte"):
        contents(Path("a\0b"))


@pytest.mark.parametrize("pack", ["gz", "zst", "zip"])
def test_damage_of_what_is_packed_ends_in_bytes_or_one_error(tmp_path: Path, pack: str) -> None:
    chance = random.Random(7)
    path = tmp_path / f"a.{pack}"
    data = b"some lines of text\n" * 40 + bytes(range(256))
    if pack == "gz":
        path.write_bytes(gzip.compress(data, mtime=0))
    elif pack == "zst":
        zstd_file(path, data)
    else:
        archive(path, {"one.csv": data, "two.csv": data})
    whole = path.read_bytes()
    errors = 0
    for _ in range(MUTATIONS):
        path.write_bytes(mutate(chance, whole))
        said = None
        try:
            contents(path)
        except InputError as error:
            said = error.one_line()
        if said is not None:
            assert str(path) in said
            assert "\n" not in said
            errors += 1
    assert errors > MUTATIONS // 4
