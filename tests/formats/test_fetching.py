"""Fetching a corpus into a folder: what is kept in it, what a second run does, what is never replaced."""

import gzip
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tertulia.errors import ArtefactError, ConfigurationError, InputError, TertuliaError
from tertulia.formats.fetching.catalogue import Entry, RemoteFile
from tertulia.formats.fetching.download import DownloadOptions
from tertulia.formats.fetching.fetch import Fetched, FetchOptions, fetch

from .test_catalogue import listing
from .web_server import Site, answer, serve

ONE, TWO = b"Seen anything good?\n" * 500, b"A film about a whale.\n" * 700


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(site: Site, *, known: bool = True, **changes: Any) -> Entry:
    """Two files, one of them in a folder."""
    files = tuple(
        RemoteFile(
            name,
            (site.put(f"/{name}", serve(content, modified="Mon, 02 Mar 2020 10:00:00 GMT")),),
            len(content) if known else None,
            {"sha256": sha(content)} if known else {},
        )
        for name, content in (("one.txt", ONE), ("more/two.txt", TWO))
    )
    values = {
        "name": "letters",
        "title": "Letters",
        "about": "letters",
        "licence": "CC0-1.0",
        "asks": "Nothing.",
        "citation": "",
        "homepage": None,
        "note": None,
        "files": files,
    }
    return Entry(**{**values, **changes})


def run(what: Entry, folder: Path, *, accept: bool = True, **options: Any) -> Fetched:
    quick = DownloadOptions(timeout_s=5, tries=2, sleep=lambda _seconds: None)
    return fetch(what, folder, FetchOptions(accept=lambda _entry: accept, download=quick, **options))


def record(folder: Path) -> Any:
    return json.loads((folder / "fetched.json").read_text(encoding="utf-8"))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_the_folder_says_what_it_holds(site: Site, tmp_path: Path) -> None:
    fetched = run(entry(site), tmp_path / "new" / "f")
    assert fetched.new == ["one.txt", "more/two.txt"]
    assert fetched.bytes == len(ONE) + len(TWO)
    assert names(fetched.folder) == ["fetched.json", "more/two.txt", "one.txt"]
    assert (fetched.folder / "more" / "two.txt").read_bytes() == TWO
    assert record(fetched.folder) == {
        "fetched": 1,
        "name": "letters",
        "title": "Letters",
        "licence": "CC0-1.0",
        "asks": "Nothing.",
        "citation": "",
        "homepage": None,
        "files": {
            name: {
                "url": f"{site.address}/{name}",
                "bytes": len(content),
                "sha256": sha(content),
                "etag": '"one"',
                "last_modified": "Mon, 02 Mar 2020 10:00:00 GMT",
                "checked": ["sha256"],
            }
            for name, content in (("more/two.txt", TWO), ("one.txt", ONE))
        },
        "unpacked": {},
    }


def test_equal_fetches_give_equal_bytes(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    for folder in ("a", "b"):
        run(what, tmp_path / folder)
    assert (tmp_path / "a" / "fetched.json").read_bytes() == (tmp_path / "b" / "fetched.json").read_bytes()
    assert str(tmp_path) not in (tmp_path / "a" / "fetched.json").read_text()


@pytest.mark.parametrize("known", [True, False])
def test_a_second_run_fetches_nothing(site: Site, tmp_path: Path, known: bool) -> None:
    what = entry(site, known=known)
    first = run(what, tmp_path / "f")
    before = (tmp_path / "f" / "fetched.json").read_bytes()
    site.requests.clear()
    again = run(what, tmp_path / "f", accept=False)
    assert site.requests == []
    assert again.new == []
    assert again.files == first.files
    assert (tmp_path / "f" / "fetched.json").read_bytes() == before


def test_only_what_is_missing_is_fetched(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    run(what, tmp_path / "f")
    (tmp_path / "f" / "one.txt").unlink()
    assert run(what, tmp_path / "f").new == ["one.txt"]
    assert (tmp_path / "f" / "one.txt").read_bytes() == ONE


def test_files_by_their_names(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    assert run(what, tmp_path / "f", only=["*two*"]).new == ["more/two.txt"]
    assert names(tmp_path / "f") == ["fetched.json", "more/two.txt"]
    assert run(what, tmp_path / "f").new == ["one.txt"]
    with pytest.raises(
        ConfigurationError, match=r"no file of letters is named like x or y; there are: one.txt, more/two"
    ):
        run(what, tmp_path / "g", only=["x", "y"])
    assert not (tmp_path / "g").exists()


def test_a_broken_fetch_goes_on_with_what_is_missing(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    site.put("/more/two.txt", serve(TWO, cut=1000), answer(404))
    with pytest.raises(InputError, match="404"):
        run(what, tmp_path / "f")
    assert list(record(tmp_path / "f")["files"]) == ["one.txt"]
    assert (tmp_path / "f" / "more" / "two.txt.part").stat().st_size == 1000
    site.put("/more/two.txt", serve(TWO))
    site.requests.clear()
    assert run(what, tmp_path / "f", accept=False).new == ["more/two.txt"]
    assert [headers.get("range") for _, headers in site.requests] == ["bytes=1000-"]


# -- digests that are not known beforehand ----------------------------------------------------------------------------


def test_a_digest_is_recorded_the_first_time_and_held_against_from_then_on(site: Site, tmp_path: Path) -> None:
    what = entry(site, known=False)
    assert run(what, tmp_path / "f").files["one.txt"]["checked"] == []
    (tmp_path / "f" / "one.txt").unlink()
    site.put("/one.txt", serve(ONE[::-1], etag='"two"'))
    with pytest.raises(InputError, match=f"sent a file with the sha256 {sha(ONE[::-1])}; expected {sha(ONE)}"):
        run(what, tmp_path / "f")
    assert record(tmp_path / "f")["files"]["one.txt"]["sha256"] == sha(ONE)
    # Wanted all the same: --overwrite.
    assert run(what, tmp_path / "f", overwrite=True).files["one.txt"]["sha256"] == sha(ONE[::-1])


# -- what is there already --------------------------------------------------------------------------------------------


def test_a_file_that_was_changed_is_never_replaced_unasked(site: Site, tmp_path: Path) -> None:
    for known in (True, False):
        folder = tmp_path / str(known)
        what = entry(site, known=known)
        run(what, folder)
        (folder / "one.txt").write_bytes(b"my notes")
        site.requests.clear()
        with pytest.raises(ArtefactError, match=r"one.txt: is not as it was fetched"):
            run(what, folder)
        assert (folder / "one.txt").read_bytes() == b"my notes"
        assert site.requests == []
        run(what, folder, overwrite=True)
        assert (folder / "one.txt").read_bytes() == ONE


def test_overwriting_keeps_the_old_until_the_new_is_there(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    run(what, tmp_path / "f")
    site.put("/one.txt", serve(ONE[:-1] + b"!"))
    with pytest.raises(InputError, match="sha256"):
        run(what, tmp_path / "f", overwrite=True)
    assert (tmp_path / "f" / "one.txt").read_bytes() == ONE
    assert run(what, tmp_path / "f").new == []


def test_a_file_put_there_by_hand_is_taken_where_its_digest_is_right(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    run(what, tmp_path / "f", only=["one.txt"])
    (tmp_path / "f" / "more").mkdir()
    (tmp_path / "f" / "more" / "two.txt").write_bytes(TWO)
    fetched = run(what, tmp_path / "f")
    assert fetched.new == []
    assert fetched.files["more/two.txt"]["sha256"] == sha(TWO)
    unknown = entry(site, known=False)
    run(unknown, tmp_path / "g", only=["one.txt"])
    (tmp_path / "g" / "more").mkdir()
    (tmp_path / "g" / "more" / "two.txt").write_bytes(TWO)
    with pytest.raises(ArtefactError, match="is there already, and was not fetched by this command"):
        run(unknown, tmp_path / "g")


def test_a_catalogue_that_says_otherwise_now_is_believed(site: Site, tmp_path: Path) -> None:
    run(entry(site), tmp_path / "f")
    newer = entry(site)
    files = (replace(newer.files[0], digests={"sha256": "0" * 64}), newer.files[1])
    with pytest.raises(ArtefactError, match="or not what the catalogue says now"):
        run(replace(newer, files=files), tmp_path / "f")


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_folder_of_somebody_elses_is_left_alone(site: Site, tmp_path: Path, overwrite: bool) -> None:
    what = entry(site)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("nothing")
    run(replace(what, name="other"), tmp_path / "other")
    site.requests.clear()
    for folder, said in (
        ("mine", "holds other files and no fetched.json"),
        ("file", "is a file; expected the path of a folder"),
        ("other", "holds other, and letters is to be fetched"),
        ("file/below", "cannot be"),
        ("link", "is a link to nothing"),
    ):
        with pytest.raises(ArtefactError, match=said):
            run(what, tmp_path / folder, overwrite=overwrite)
    assert site.requests == []
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"fetched": 2}',
        b'{"fetched": 1, "name": "letters"}',
        b'{"fetched": 1, "name": "letters", "licence": "", "asks": "", "files": {"one.txt": 7}, "unpacked": {}}',
        b'{"fetched": 1, "name": "letters", "licence": "", "asks": "", "files": [], "unpacked": {}}',
        b'{"fetched": 1, "name": "letters", "licence": "", "asks": "", "files": {}, "unpacked": {"a": {"b": 1}}}',
        b'{"fetched": 1, "name": "letters", "licence": "", "asks": "", "files": {}, "unpacked": {}, "listed": [{}]}',
        b'{"fetched": 1, "name": "letters", "licence": "", "asks": "", "files": {}, "unpacked": {}, "listed": '
        b'[{"name": "../x", "urls": [], "bytes": 1, "digests": {}}]}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_damaged_record_is_said(site: Site, tmp_path: Path, content: bytes) -> None:
    what = entry(site)
    run(what, tmp_path / "f")
    (tmp_path / "f" / "fetched.json").write_bytes(content)
    with pytest.raises(ArtefactError, match="is not what a fetch has written"):
        run(what, tmp_path / "f")
    assert len(run(what, tmp_path / "f", overwrite=True).new) == 2
    assert record(tmp_path / "f")["name"] == "letters"


def test_a_link_that_leads_out_is_not_followed(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    run(what, tmp_path / "f", only=["one.txt"])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "f" / "more").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtefactError, match="leads out of the folder"):
        run(what, tmp_path / "f")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_two_fetches_into_one_folder_do_not_meet(site: Site, tmp_path: Path) -> None:
    what = entry(site)
    inner: list[TertuliaError] = []

    def say(_message: str) -> None:
        with pytest.raises(ArtefactError) as failure:
            run(what, tmp_path / "f")
        inner.append(failure.value)

    site.put("/one.txt", answer(503), serve(ONE))
    quick = DownloadOptions(say=say, sleep=lambda _seconds: None)
    fetch(what, tmp_path / "f", FetchOptions(accept=lambda _entry: True, download=quick))
    assert "is being fetched into by another process" in inner[0].one_line()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir(mode=0o500)
    with pytest.raises(ArtefactError, match="cannot be written"):
        run(entry(site), tmp_path / "f")


# -- the licence ------------------------------------------------------------------------------------------------------


def test_nothing_comes_before_the_licence_is_accepted(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="letters was not fetched: its licence was not accepted"):
        run(entry(site), tmp_path / "f", accept=False)
    assert site.requests == []
    assert not (tmp_path / "f").exists()


def test_other_terms_are_asked_for_again(site: Site, tmp_path: Path) -> None:
    run(entry(site), tmp_path / "f")
    assert run(entry(site), tmp_path / "f", accept=False).new == []
    for changes in ({"licence": "research only"}, {"asks": "Your first-born."}):
        with pytest.raises(ConfigurationError, match="not accepted"):
            run(entry(site, **changes), tmp_path / "f", accept=False)


# -- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_progress_is_of_all_files(site: Site, tmp_path: Path, known: bool) -> None:
    told: list[tuple[int, int | None]] = []

    @contextmanager
    def progress() -> Iterator[Any]:
        yield lambda step, total: told.append((step, total))

    site.put("/one.txt", serve(ONE, cut=4000, ranges=False), serve(ONE, ranges=False))
    quick = DownloadOptions(sleep=lambda _seconds: None)
    fetch(entry(site, known=known), tmp_path / "f", FetchOptions(accept=lambda _e: True, download=quick), progress)
    assert sum(step for step, _ in told) == len(ONE) + len(TWO)
    assert told[-1][1] == len(ONE) + len(TWO)
    assert (None in [total for _, total in told]) == (not known)


# -- lists of files ---------------------------------------------------------------------------------------------------


def listed(site: Site) -> Entry:
    content = b"7z" * 400
    text = listing("d/beer.stackexchange.com.7z", size="800")
    for letter, kind in ((b"c" * 40, "sha1"), (b"b" * 32, "md5")):
        text = text.replace(letter, hashlib.new(kind, content).hexdigest().encode())
    site.put("/item/files.xml", serve(text))
    site.put("/item/d/beer.stackexchange.com.7z", serve(content))
    return entry(
        site, name="stackexchange/beer", files=(), listing=f"{site.address}/item/files.xml", wanted=("beer.*.7z",)
    )


def test_the_files_of_a_list_are_fetched_and_held_against_it(site: Site, tmp_path: Path) -> None:
    what = listed(site)
    fetched = run(what, tmp_path / "f")
    assert fetched.new == ["beer.stackexchange.com.7z"]
    assert fetched.files["beer.stackexchange.com.7z"]["checked"] == ["sha1", "md5"]
    site.requests.clear()
    assert run(what, tmp_path / "f").new == []
    assert site.requests == [], "a second run does not ask for the list either"
    (tmp_path / "f" / "beer.stackexchange.com.7z").unlink()
    assert run(what, tmp_path / "f").new == ["beer.stackexchange.com.7z"]
    assert [path for path, _ in site.requests] == ["/item/d/beer.stackexchange.com.7z"]
    run(what, tmp_path / "f", overwrite=True)
    assert "/item/files.xml" in [path for path, _ in site.requests]


def test_a_list_that_cannot_be_had(site: Site, tmp_path: Path) -> None:
    what = listed(site)
    site.put("/item/files.xml", answer(503))
    with pytest.raises(InputError, match=r"files.xml: the server answers 503"):
        run(what, tmp_path / "f")
    assert not (tmp_path / "f").exists()


# -- unpacking --------------------------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def packed(site: Site, name: str, content: bytes) -> Entry:
    file = RemoteFile(name, (site.put(f"/{name}", serve(content)),), len(content), {"sha256": sha(content)})
    return entry(site, files=(file,))


def test_what_is_packed_is_unpacked_when_asked(site: Site, tmp_path: Path) -> None:
    what = packed(site, "data.zip", zipped({"data/a.json": b"[]", "b.txt": ONE, "__MACOSX/data/._a": b"x"}))
    assert run(what, tmp_path / "f").unpacked == {}
    fetched = run(what, tmp_path / "f", unpack=True)
    assert fetched.new == []
    assert names(tmp_path / "f") == ["data.zip", "data/b.txt", "data/data/a.json", "fetched.json"]
    assert record(tmp_path / "f")["unpacked"] == {
        "data.zip": {"path": "data", "files": 2, "bytes": 2 + len(ONE), "left_out": 1}
    }
    # A second time it is left as it is, changed or not.
    (tmp_path / "f" / "data" / "b.txt").write_text("mine")
    assert run(what, tmp_path / "f", unpack=True).unpacked == fetched.unpacked
    assert (tmp_path / "f" / "data" / "b.txt").read_text() == "mine"


def test_a_gzip_file_is_unpacked_beside_itself(site: Site, tmp_path: Path) -> None:
    what = packed(site, "letters.jsonl.gz", gzip.compress(ONE))
    fetched = run(what, tmp_path / "f", unpack=True)
    assert (tmp_path / "f" / "letters.jsonl").read_bytes() == ONE
    assert fetched.unpacked["letters.jsonl.gz"].bytes == len(ONE)


def test_what_is_not_packed_stays(site: Site, tmp_path: Path) -> None:
    assert run(entry(site), tmp_path / "f", unpack=True).unpacked == {}
    assert run(packed(site, "a.7z", b"7z\xbc\xaf\x27\x1c"), tmp_path / "g", unpack=True).unpacked == {}


def test_nothing_of_the_users_is_replaced_by_unpacking(site: Site, tmp_path: Path) -> None:
    what = packed(site, "data.zip", zipped({"a.json": b"[]"}))
    run(what, tmp_path / "f")
    (tmp_path / "f" / "data").mkdir()
    (tmp_path / "f" / "data" / "mine").write_text("x")
    with pytest.raises(ArtefactError, match=r"stands where data.zip is to be unpacked"):
        run(what, tmp_path / "f", unpack=True)
    assert (tmp_path / "f" / "data" / "mine").read_text() == "x"


def link(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/hostname")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zipped({"../out.txt": b"x"}), "leads out of the folder"),
        (zipped({"/etc/out.txt": b"x"}), "leads out of the folder"),
        (zipped({"a/../../out.txt": b"x"}), "leads out of the folder"),
        (zipped({"a\\..\\out.txt": b"x"}), "out of the folder|^$"),
        (zipped({"C:out.txt": b"x"}), "leads out of the folder"),
        (link("link"), "is no plain file"),
        (zipped({"a": b"x", "a/b": b"y"}), "cannot be unpacked"),
        (zipped({"bomb": bytes(400_000_000)}), "unpacks to far more"),
        (zipped({"a": ONE})[:-30], "cannot be unpacked"),
        (zipped({"a": ONE}).replace(zipped({"a": ONE})[40:60], bytes(20)), "cannot be unpacked"),
        (zipped({"a": ONE})[:4], "cannot be unpacked"),
    ],
)
def test_an_archive_is_not_trusted(site: Site, tmp_path: Path, content: bytes, said: str) -> None:
    what = packed(site, "bad.zip", content)
    with pytest.raises(TertuliaError, match=said) as failure:
        run(what, tmp_path / "f", unpack=True)
    assert "\n" not in failure.value.one_line()
    assert names(tmp_path) == ["f/bad.zip", "f/fetched.json"]


def test_an_encrypted_member_is_refused(site: Site, tmp_path: Path) -> None:
    content = bytearray(zipped({"a": ONE}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="has an encrypted member 'a'"):
        run(packed(site, "bad.zip", bytes(content)), tmp_path / "f", unpack=True)


@pytest.mark.parametrize("kind", ["cut", "damaged", "bomb"])
def test_a_gzip_file_is_not_trusted(site: Site, tmp_path: Path, kind: str) -> None:
    whole = gzip.compress(ONE if kind != "bomb" else bytes(400_000_000))
    content = {"cut": whole[:-10], "damaged": whole[:20] + b"junk" * 9, "bomb": whole}[kind]
    with pytest.raises(TertuliaError, match="unpack"):
        run(packed(site, "a.txt.gz", content), tmp_path / "f", unpack=True)
    assert names(tmp_path) == ["f/a.txt.gz", "f/fetched.json"]
