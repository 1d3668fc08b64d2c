"""Broken dumps through the command line: one clear error and nothing left behind, or a counted skip; never a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tertulia.cli.main import main
from tertulia.corpus.model import Dialogue
from tertulia.corpus.opening import open_collection
from tests.stackexchange.dumps import answer, comment, question, write_dump

HOUR = "2020-02-02T{:02}:00:00"


def thread(first: int, **more: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A question, its answer and comments that meet all criteria."""
    posts = [question(first, 1, at=HOUR.format(1), **more), answer(first + 1, first, 2, at=HOUR.format(2))]
    said = [(1, "How long?"), (2, "For a week."), (1, "Thanks, that is great!")]
    comments = [
        comment(10 * first + place, first + 1, user, text, at=HOUR.format(3 + place))
        for place, (user, text) in enumerate(said)
    ]
    return posts, comments


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A good dump of two threads, to be broken."""
    (one, said), (other, more) = thread(1), thread(5)
    users = [{"Id": 1, "DisplayName": "Ann"}, {"Id": 2, "DisplayName": "Bob"}]
    votes = [{"Id": 1, "PostId": 1, "VoteTypeId": 2}]
    return write_dump(tmp_path / "dumps" / "tea_20240401", [*one, *other], [*said, *more], users, votes)


@pytest.fixture
def build(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: object) -> tuple[int, str, str]:
        options = ["-o", tmp_path / "out" / "corpus", "--cache", tmp_path / "cache", "--workers", 1, "--json"]
        (tmp_path / "out").mkdir(exist_ok=True)
        capfd.readouterr()
        code = main(["stackexchange", "build", *map(str, [*words, *options])])
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


Build = Callable[..., tuple[int, str, str]]


def expect_error(tmp_path: Path, result: tuple[int, str, str], *said: str) -> None:
    """One line that says so, exit code 1, and nothing at the output path or beside it."""
    code, out, err = result
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert "Traceback" not in err
    for words in said:
        assert words in err
    assert list((tmp_path / "out").iterdir()) == []


def expect_corpus(
    tmp_path: Path, result: tuple[int, str, str], dialogues: int
) -> tuple[list[Dialogue], dict[str, Any]]:
    code, out, err = result
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["counts"]["dialogues"] == dialogues
    with open_collection(tmp_path / "out" / "corpus", check_digests=True) as corpus:
        return [record.dialogue for record in corpus.records()], found["report"]


def replace(file: Path, old: bytes, new: bytes) -> None:
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new, 1))


def test_the_good_dump(dump: Path, build: Build, tmp_path: Path) -> None:
    dialogues, report = expect_corpus(tmp_path, build(dump), 2)
    assert [dialogue.id for dialogue in dialogues] == ["tea-1-2", "tea-5-6"]
    assert report["skipped"] == {}


# The file, what is replaced in it by what, and the line that is bad then.
BAD_ROWS: dict[str, tuple[str, bytes, bytes, int]] = {
    "a question without an Id": ("Posts.xml", b' Id="1"', b"", 3),
    "an answer without an Id": ("Posts.xml", b' Id="2"', b"", 4),
    "an Id that is no number": ("Posts.xml", b' Id="1"', b' Id="one"', 3),
    "an Id that is empty": ("Posts.xml", b' Id="1"', b' Id=""', 3),
    "an Id beyond 64 bits": ("Posts.xml", b' Id="1"', b' Id="99999999999999999999"', 3),
    "an Id in other digits": ("Posts.xml", b' Id="1"', ' Id="\u0661"'.encode(), 3),
    "a score with a point": ("Posts.xml", b'Score="3"', b'Score="3.5"', 3),
    "no type": ("Posts.xml", b' PostTypeId="1"', b"", 3),
    "no date": ("Posts.xml", b' CreationDate="2020-02-02T01:00:00"', b"", 3),
    "a day that is not in the calendar": ("Posts.xml", b"2020-02-02T01", b"2021-02-29T01", 3),
    "a date in words": ("Posts.xml", b"2020-02-02T01:00:00", b"yesterday", 3),
    "an entity that there is not": ("Posts.xml", b"&lt;p&gt;", b"&lp;p&gt;", 3),
    "an entity of HTML": ("Posts.xml", b"&lt;p&gt;", b"&nbsp;", 3),
    "a bare ampersand": ("Posts.xml", b"&lt;p&gt;", b"& ", 3),
    "a reference to NUL": ("Posts.xml", b"&lt;p&gt;", b"&#0;", 3),
    "a reference to half a surrogate pair": ("Posts.xml", b"&lt;p&gt;", b"&#xD83C;", 3),
    "a reference beyond Unicode": ("Posts.xml", b"&lt;p&gt;", b"&#x110000;", 3),
    "a control character": ("Posts.xml", b"&lt;p&gt;", b"\x01", 3),
    "bytes that are not UTF-8": ("Posts.xml", b"&lt;p&gt;", b"\xff\xfe", 3),
    "a surrogate in UTF-8": ("Posts.xml", b"&lt;p&gt;", b"\xed\xa0\xbc", 3),
    "an angle bracket in a value": ("Posts.xml", b"&lt;p&gt;", b"<p>", 3),
    "an attribute twice": ("Posts.xml", b' Id="1"', b' Id="1" Id="1"', 3),
    "a value without quotes": ("Posts.xml", b' Id="1"', b" Id=1", 3),
    "a row that does not close": ("Posts.xml", b" />\r\n", b">\r\n", 3),
    "no row at all": ("Posts.xml", b'  <row Id="1"', b'  <rows Id="1"', 3),
    "something between rows": ("Posts.xml", b'  <row Id="1"', b'<!-- x -->  <row Id="1"', 3),
    "a comment without its post": ("Comments.xml", b' PostId="2"', b"", 3),
    "a comment without text": ("Comments.xml", b' Text="How long?"', b"", 3),
    "a vote without its post": ("Votes.xml", b' PostId="1"', b"", 3),
    "a user without an Id": ("Users.xml", b' Id="1"', b"", 3),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row(case: str, dump: Path, build: Build, tmp_path: Path) -> None:
    file, old, new, line = BAD_ROWS[case]
    replace(dump / file, old, new)
    expect_error(tmp_path, build(dump), f"{dump / file}:{line}:")


def test_bad_rows_are_counted(dump: Path, build: Build, tmp_path: Path) -> None:
    """Every bad row once, after the good ones: they cost themselves and nothing else."""
    good = {file: (dump / file).read_bytes() for file, *_ in BAD_ROWS.values()}
    for file, old, new, line in BAD_ROWS.values():
        bad = good[file].replace(old, new, 1).split(b"\r\n")[line - 1]
        end = f"</{file.removesuffix('.xml').lower()}>".encode()
        replace(dump / file, end, bad + b"\r\n" + end)
    dialogues, report = expect_corpus(tmp_path, build(dump, "--skip-bad"), 2)
    assert [dialogue.id for dialogue in dialogues] == ["tea-1-2", "tea-5-6"]
    [(_, finding)] = report["skipped"].items()
    assert finding["count"] == len(BAD_ROWS)
    assert "Posts.xml:7" in finding["first"]


@pytest.mark.parametrize("file", ["Posts.xml", "Comments.xml", "Users.xml", "Votes.xml"])
def test_a_table_that_ends_in_a_row(file: str, dump: Path, build: Build, tmp_path: Path) -> None:
    data = (dump / file).read_bytes()
    (dump / file).write_bytes(data[: data.rindex(b"<row") + 20])
    expect_error(tmp_path, build(dump), file)
    code, out, _ = build(dump, "--skip-bad")
    report = json.loads(out)["report"]["skipped"]
    assert code == 0
    assert "tables that end before their end tag" in report


def test_a_table_that_ends_between_rows(dump: Path, build: Build, tmp_path: Path) -> None:
    replace(dump / "Comments.xml", b"</comments>", b"")
    expect_error(tmp_path, build(dump), "Comments.xml")
    _, report = expect_corpus(tmp_path, build(dump, "--skip-bad"), 2)
    assert list(report["skipped"]) == ["tables that end before their end tag"]


@pytest.mark.parametrize("file", ["Posts.xml", "Comments.xml", "Votes.xml"])
def test_an_empty_file(file: str, dump: Path, build: Build, tmp_path: Path) -> None:
    (dump / file).write_bytes(b"")
    expect_error(tmp_path, build(dump), file)
    code, out, _ = build(dump, "--skip-bad")
    assert code == 0
    assert json.loads(out)["report"]["skipped"]["tables that end before their end tag"]["count"] == 1


def test_a_table_without_rows_is_fine(dump: Path, build: Build, tmp_path: Path) -> None:
    (dump / "Comments.xml").write_bytes(
        b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>\r\n<comments>\r\n</comments>'
    )
    dialogues, report = expect_corpus(tmp_path, build(dump), 0)
    assert dialogues == []
    assert report["skipped"] == {}


def a_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def a_link_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere.xml")


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def in_utf_16(file: Path) -> None:
    file.write_bytes(file.read_text("utf-8-sig").replace("utf-8", "utf-16").encode("utf-16"))


def in_latin_1(file: Path) -> None:
    replace(file, b'encoding="utf-8"', b'encoding="iso-8859-1"')


def another_root(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"<posts>", b"<users>").replace(b"</posts>", b"</users>"))


def an_image(file: Path) -> None:
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))


def a_web_page(file: Path) -> None:
    file.write_bytes(b"<!DOCTYPE html>\n<html><body>404 not found</body></html>\n")


def a_bomb(file: Path) -> None:
    """Entities of a document type: ten of ten of ten..."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "tea"}">\n' for n in range(9))
    kind = f"<!DOCTYPE posts [\n{entities}]>\r\n<posts>".encode()
    replace(file, b"<posts>", kind)
    replace(file, b"&lt;p&gt;", b"&e8;")


@pytest.mark.parametrize(
    "breaking",
    [a_directory, a_loop, a_link_to_nothing, a_pipe, in_utf_16, in_latin_1, another_root, an_image, a_web_page, a_bomb],
)
@pytest.mark.timeout(60)
def test_what_is_no_table(breaking: Callable[[Path], None], dump: Path, build: Build, tmp_path: Path) -> None:
    breaking(dump / "Posts.xml")
    expect_error(tmp_path, build(dump), "Posts.xml")
    assert build(dump, "--skip-bad")[0] == 1
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is readable for root")
def test_an_unreadable_table(dump: Path, build: Build, tmp_path: Path) -> None:
    (dump / "Votes.xml").chmod(0)
    expect_error(tmp_path, build(dump), "Votes.xml")


def test_what_is_no_dump(dump: Path, build: Build, tmp_path: Path) -> None:
    expect_error(tmp_path, build(tmp_path / "nothing"), "nothing")
    expect_error(tmp_path, build(dump / "Posts.xml"), "Posts.xml")
    (tmp_path / "empty").mkdir()
    expect_error(tmp_path, build(tmp_path / "empty"), "Posts.xml")
    (dump / "Posts.xml").unlink()
    expect_error(tmp_path, build(dump), "Posts.xml", str(dump))


def test_two_dumps_of_one_site(dump: Path, build: Build, tmp_path: Path) -> None:
    posts, comments = thread(1)
    other = write_dump(tmp_path / "dumps" / "tea_20231231", posts, comments)
    expect_error(tmp_path, build(dump, other), "--site", "'tea'")
    expect_error(tmp_path, build(dump, dump), "twice")
    expect_corpus(tmp_path, build(dump, other, "--site", "tea_20231231=oldtea.example.org"), 3)


# ------------------------------------------------------------------------------------------------------- archives


def test_an_archive_without_a_byte(build: Build, tmp_path: Path) -> None:
    archive = tmp_path / "tea.stackexchange.com.7z"
    archive.write_bytes(b"")
    expect_error(tmp_path, build(archive), archive.name)
    assert build(archive, "--skip-bad")[0] == 1


@pytest.mark.parametrize("kind", ["cut short", "turned over", "another format", "text"])
def test_a_damaged_archive(kind: str, dump: Path, build: Build, tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    archive = tmp_path / "tea.7z"
    with py7zr.SevenZipFile(archive, "w") as writer:
        writer.writeall(dump, "tea")
    data = bytearray(archive.read_bytes())
    if kind == "cut short":
        data = data[: len(data) // 2]
    elif kind == "turned over":
        data[40:60] = bytes(255 - byte for byte in data[40:60])
    else:
        data = bytearray(b"PK\x03\x04" + bytes(60) if kind == "another format" else b"404 not found\n")
    archive.write_bytes(data)
    expect_error(tmp_path, build(archive), archive.name)


@pytest.mark.parametrize(
    "name", ["../Posts.xml", "tea/../../Posts.xml", "/tmp/Posts.xml", "..\\Posts.xml", "C:\\Posts.xml"]
)
def test_an_archive_that_leads_out_of_its_folder(name: str, dump: Path, build: Build, tmp_path: Path) -> None:
    py7zr = pytest.importorskip("py7zr")
    archive = tmp_path / "tea.7z"
    with py7zr.SevenZipFile(archive, "w") as writer:
        # The library writes no such name by itself: one as long is put in its place.
        stand_in = "x" * (len(name) - 4) + ".xml"
        writer.writestr((dump / "Posts.xml").read_bytes(), stand_in)
        writer.header.files_info.files[0]["filename"] = name
    before = sorted(tmp_path.iterdir())
    expect_error(tmp_path, build(archive), archive.name)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name not in ("out", "cache")] == [
        path for path in before if path.name not in ("out", "cache")
    ]
    assert not list((tmp_path / "cache").rglob("*.xml"))


# ------------------------------------------------------------------------------------------------ odd, but no fault


@pytest.mark.parametrize("tags", ["<green-tea><gong-fu-cha>", "|green-tea|gong-fu-cha|"])
def test_tags_of_both_ages(tags: str, build: Build, tmp_path: Path) -> None:
    posts, comments = thread(1, Tags=tags)
    [dialogue], _ = expect_corpus(tmp_path, build(write_dump(tmp_path / "tea", posts, comments)), 1)
    assert dialogue.attributes["tags"] == ["green-tea", "gong-fu-cha"]


def test_deleted_users(build: Build, tmp_path: Path) -> None:
    """Without ids their names tell people apart; without names everybody is somebody else."""
    named, named_comments = thread(1)
    nameless, nameless_comments = thread(5)
    for row in (named[0], named_comments[0], named_comments[2]):
        del row[next(key for key in row if key.endswith("UserId"))]
        row["OwnerDisplayName" if "PostTypeId" in row else "UserDisplayName"] = "user99"
    for row in (nameless[0], nameless_comments[0], nameless_comments[2]):
        del row[next(key for key in row if key.endswith("UserId"))]
    dump = write_dump(tmp_path / "tea", [*named, *nameless], [*named_comments, *nameless_comments])
    [dialogue], _ = expect_corpus(tmp_path, build(dump), 1)
    assert [utterance.speaker for utterance in dialogue.utterances] == ["~user99", "2", "~user99", "2", "~user99"]
    assert [utterance.attributes.get("author") for utterance in dialogue.utterances[::2]] == ["user99"] * 3
    assert all("user" not in utterance.attributes for utterance in dialogue.utterances[::2])


def test_tables_that_are_not_there(dump: Path, build: Build, tmp_path: Path) -> None:
    for file in ("Users.xml", "Votes.xml"):
        (dump / file).unlink()
    _, report = expect_corpus(tmp_path, build(dump), 2)
    assert sum("Votes.xml" in said for said in report["noted"]) == 1


def test_the_layouts_that_there_have_been(dump: Path, build: Build, tmp_path: Path) -> None:
    """No byte-order mark, a document type, line feeds alone, blank lines, names in capitals, attributes nobody knows."""
    for file in ("Posts.xml", "Comments.xml"):
        data = (dump / file).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        root = file.removesuffix(".xml").lower()
        data = data.replace(f"<{root}>\n".encode(), f"<!DOCTYPE {root} SYSTEM '{root}.dtd'>\n<{root}>\n\n".encode(), 1)
        data = data.replace(b"<row Id", b'<row Mood="good &amp; calm" Id')
        (dump / file).unlink()
        (dump / file.upper()).write_bytes(data)
    expect_corpus(tmp_path, build(dump), 2)


@pytest.mark.timeout(120)
def test_texts_that_try_to_hurt(build: Build, tmp_path: Path) -> None:
    posts, comments = thread(1)
    deep = 100_000
    posts[0]["Body"] = "<div>" * deep + "the bottom" + "</div>" * deep
    posts[1]["Body"] = "<b>" * 50_000 + '<a href="http://tea.example/">a</a>' + "&" * 100_000 + "\U0001f375\u0000"[:1]
    comments[1]["Text"] = "[" * 50_000 + "(http://tea.example" + "(" * 50_000
    comments[2]["Text"] = "good " * 100_000
    [dialogue], _ = expect_corpus(tmp_path, build(write_dump(tmp_path / "tea", posts, comments)), 1)
    assert dialogue.texts[0] == "the bottom"


def test_numbers_at_the_edges(build: Build, tmp_path: Path) -> None:
    posts, comments = thread(1)
    posts[0] |= {
        "Id": 999_999_999_999_999_999,
        "Score": -999_999_999_999_999_999,
        "CreationDate": "0001-01-01T00:00:00",
    }
    posts[1] |= {"ParentId": 999_999_999_999_999_999, "CreationDate": "9999-12-31T23:59:59.999999", "Id": -2}
    for row in comments:
        row["PostId"] = -2
    [dialogue], _ = expect_corpus(tmp_path, build(write_dump(tmp_path / "tea", posts, comments)), 1)
    assert dialogue.id == "tea-999999999999999999--2"
    assert dialogue.utterances[0].attributes["votes"] == -999_999_999_999_999_999


def test_an_answer_to_an_answer_and_one_to_itself_are_orphans(build: Build, tmp_path: Path) -> None:
    posts, comments = thread(1)
    posts += [answer(20, 2, 3), answer(21, 21, 3), answer(22, 404, 3), answer(23, 404, None)]
    code, out, _ = build(write_dump(tmp_path / "tea", posts, comments))
    assert code == 0
    assert json.loads(out)["funnel"][:3] == [
        {"step": "questions", "kept": 1, "removed": 0},
        {"step": "answers", "kept": 1, "removed": 4},
        {"step": "candidates", "kept": 1, "removed": 0},
    ]
    assert json.loads(out)["counts"]["dialogues"] == 1


# ------------------------------------------------------------------------------------------------- what was there


def test_what_was_there_stays_when_a_build_fails(dump: Path, build: Build, tmp_path: Path) -> None:
    expect_corpus(tmp_path, build(dump), 2)
    corpus = tmp_path / "out" / "corpus"
    before = {file: file.read_bytes() for file in corpus.rglob("*") if file.is_file()}
    replace(dump / "Comments.xml", b"&#", b"&x") if b"&#" in (dump / "Comments.xml").read_bytes() else replace(
        dump / "Comments.xml", b' Id="', b' Id="x'
    )
    code, _, err = build(dump, "--overwrite")
    assert (code, err.count("\n")) == (1, 1)
    assert {file: file.read_bytes() for file in corpus.rglob("*") if file.is_file()} == before
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["corpus"]
    # And without --overwrite nothing is done at all.
    code, _, err = build(dump)
    assert (code, err.count("\n")) == (1, 1)
    assert "--overwrite" in err
