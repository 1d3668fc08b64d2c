"""The catalogue: what ships holds, what users write is checked, names of a form become entries, lists of the Archive are read."""

import copy
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import ConfigurationError, InputError, NotFoundError, TertuliaError
from tertulia.formats.fetching.catalogue import DIGESTS, Catalogue, Entry, RemoteFile, safe_name
from tertulia.formats.fetching.download import digests_of
from tertulia.formats.fetching.listing import files_of_listing

from ..conftest import REPOSITORY

SHIPPED = Catalogue()
OURS = """
[[corpus]]
name = "ours/letters"
title = "Letters of the office"
licence = "CC0-1.0"
files = [{ name = "letters 1.jsonl", bytes = 12, sha256 = "%s" }]
base = "https://letters.example/2024/"
""" % ("a" * 64)


def own(tmp_path: Path, text: str) -> Catalogue:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    return Catalogue(path)


# -- what ships -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", SHIPPED.entries.values(), ids=lambda entry: entry.name)
def test_every_entry_says_what_a_user_must_know(entry: Entry) -> None:
    assert entry.title
    assert entry.about
    assert entry.asks.endswith(".")
    assert entry.citation
    assert entry.homepage is not None
    assert urlsplit(entry.homepage).scheme == "https"
    assert entry.next is not None
    assert entry.next.startswith("tertulia corpus import ")
    assert "{" not in str(entry.next_command(Path("DIR")))
    unknown = [file.name for file in entry.files if not file.digests]
    if unknown:
        assert "digest" in (entry.note or ""), "what is not known is said"


def test_files_of_repositories_are_pinned() -> None:
    for entry in SHIPPED.entries.values():
        for file in entry.files:
            for url in file.urls:
                if "githubusercontent" in url:
                    assert re.search(r"/[0-9a-f]{40}/", url), url
                    assert file.digests, file.name
            assert file.digests or entry.name in {"rated-tsv"} or entry.name.startswith("mantis"), file.name


def test_names_of_a_kind() -> None:
    assert {"self-dialogue", "ccpe", "dialeval", "mantis", "rated-tsv", "xiaomi", "usr", "dstc9"} <= set(
        SHIPPED.entries
    )
    movie = SHIPPED.get("convokit/movie-corpus")
    assert movie.files[0].urls == (
        "https://zissou.infosci.cornell.edu/convokit/datasets/movie-corpus/movie-corpus.zip",
    )
    assert movie.title == "movie-corpus, as ConvoKit distributes it"
    assert movie.next_command(Path("my dir")) == (
        "tertulia corpus import convokit 'my dir/movie-corpus.zip' -o movie-corpus"
    )
    assert str(movie.next_command(Path("movie-corpus"))).endswith(" -o movie-corpus-corpus")
    ends = {
        "convokit/supreme-2019": "supreme-corpus/supreme-2019.zip",
        "convokit/supreme-corpus": "supreme-corpus/supreme-corpus.zip",
        "convokit/iq2-corpus": "iq2-corpus/iq2_corpus.zip",
        "convokit/wikiconv-english-2014": "english/wikiconv-2014/full.corpus.zip",
    }
    for name, end in ends.items():
        assert SHIPPED.get(name).files[0].urls[0].endswith(f"/{end}")
    assert SHIPPED.get("convokit/friends-corpus").licence == "Apache-2.0"


def test_an_unknown_name_is_answered_with_those_that_are_close() -> None:
    with pytest.raises(NotFoundError) as failure:
        SHIPPED.get("self-dialog")
    assert "did you mean self-dialogue?" in failure.value.one_line()
    for name in ("", "convokit/", "convokit/a/b", "convokit/../x", "stackexchange/a b", "stackexchange/@1", "CCPE"):
        with pytest.raises(NotFoundError):
            SHIPPED.get(name)


@pytest.mark.parametrize("name", ["self-dialogue", "xiaomi", "usr", "dstc9", "predictive-engagement"])
def test_the_digests_are_those_of_the_public_data(data: Path, name: str) -> None:
    """Files of the same name under the public data are byte for byte what the catalogue says."""
    folders = {
        "self-dialogue": "self_dialogue",
        "usr": "rated_responses/usr_topicalchat",
        "dstc9": "rated_responses/dstc9",
        "predictive-engagement": "rated_responses/predictive_engagement",
        "xiaomi": "rated_responses/xiaomi_nlpcc2023",
    }
    held = 0
    for file in SHIPPED.get(name).files:
        for path in (data / folders[name] / file.name, data / folders[name] / Path(file.name).name):
            if path.is_file():
                assert digests_of(path, tuple(file.digests)) == file.digests
                assert path.stat().st_size == file.bytes
                held += 1
                break
    assert held or name == "xiaomi"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("content", [b"", b"one\n", bytes(range(256)) * 40])
def test_the_digest_of_git_is_what_git_says(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    said = subprocess.run(
        ["git", "hash-object", "--no-filters", "file"], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert digests_of(tmp_path / "file", ("git",))["git"] == said.stdout.strip()


# -- what users write -------------------------------------------------------------------------------------------------


def test_a_users_own_entries_come_first(tmp_path: Path) -> None:
    catalogue = own(tmp_path, OURS + OURS.replace("ours/letters", "ccpe"))
    file = catalogue.get("ours/letters").files[0]
    assert file == RemoteFile(
        "letters 1.jsonl", ("https://letters.example/2024/letters%201.jsonl",), 12, {"sha256": "a" * 64}
    )
    assert catalogue.get("ours/letters").bytes == 12
    assert catalogue.get("ccpe").title == "Letters of the office"
    assert list(catalogue.entries)[:2] == ["ours/letters", "ccpe"]


def test_a_rule_of_ones_own(tmp_path: Path) -> None:
    rule = """
    [[rule]]
    names = ["forum/{BOARD}-{YEAR}", "forum/{BOARD}"]
    title = "The board {name}"
    licence = "our own"
    addresses = ["http://forum.example/{YEAR}/{BOARD}.zip", "http://forum.example/all/{BOARD}.zip"]
    """
    catalogue = own(tmp_path, rule)
    assert catalogue.get("forum/cats-2020").files[0].urls == ("http://forum.example/2020/cats.zip",)
    assert catalogue.get("forum/cats").files[0].urls == ("http://forum.example/all/cats.zip",)
    assert catalogue.get("forum/cats").title == "The board cats"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("name =", "nam ="), "has an unknown field 'nam'"),
        (('"ours/letters"', '"ours letters"'), "holds more than letters"),
        (('"ours/letters"', '"../x"'), "holds more than letters"),
        (('"ours/letters"', "7"), "name is 7; expected text"),
        (("licence = ", "homepage = "), "has no licence"),
        (('"CC0-1.0"', '" "'), "has no licence"),
        (("https://", "file://"), "is not an address that can be fetched"),
        (("https://", "https://me:secret@"), "is not an address that can be fetched"),
        (("https://letters.example", "https://"), "is not an address that can be fetched"),
        (("https://letters", "https://[letters"), "is not an address that can be fetched"),
        (("base =", "note ="), "has no urls, and there is no base"),
        (("letters 1.jsonl", "../letters"), "cannot be used inside a folder"),
        (("letters 1.jsonl", "/etc/letters"), "cannot be used inside a folder"),
        (("letters 1.jsonl", "fetched.json"), "cannot be used inside a folder"),
        (("letters 1.jsonl", "letters.part"), "cannot be used inside a folder"),
        (("letters 1.jsonl", ""), "has no name"),
        (("bytes = 12", "bytes = -1"), "expected a whole number"),
        (("bytes = 12", "bytes = true"), "expected a whole number"),
        (("bytes = 12", "bytes = 1.5"), "expected a whole number"),
        (("a" * 64, "a" * 63), "expected 64 hexadecimal digits"),
        (("a" * 64, "A" * 64), "expected 64 hexadecimal digits"),
        (("sha256", "sha512"), "has an unknown field 'sha512'"),
        (("[{ name", "[7, { name"), "holds 7 among its files"),
        (("files = [", "files = 7 #"), "files is 7; expected a list"),
        (("[{ name", "[{ name = 'letters 1.jsonl' }, { name"), "names the file 'letters 1.jsonl' twice"),
        (("[{ name", "[{ name = 'letters 1.jsonl/x' }, { name"), "twice, or as a folder too"),
        (("[[corpus]]", "[[corpora]]"), "has 'corpora'; expected [[corpus]] and [[rule]] only"),
        (("[[corpus]]", "[corpus]"), "corpus is not a list of tables"),
        (('"ours/letters"', '"ours/letters'), "is not TOML"),
    ],
)
def test_what_does_not_hold_is_said(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError) as failure:
        own(tmp_path, OURS.replace(*change))
    message = failure.value.one_line()
    assert said in message
    assert "own.toml" in message
    assert "\n" not in message


RULE = """
[[rule]]
names = ["forum/{BOARD}"]
title = "A board"
licence = "our own"
addresses = ["http://forum.example/{BOARD}.zip"]
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("addresses", "listings"), "wanted has nothing for names of the form forum/{BOARD}"),
        (("{BOARD}.zip", "{YEAR}.zip"), "addresses has nothing for names of the form forum/{BOARD}"),
        (("forum/{BOARD}", "forum/{BOARD}{BOARD}"), "names the same placeholder twice"),
        (("names =", "wanted ="), "needs names"),
        (("http://forum", "gopher://forum"), "is not an address"),
        (("http://forum.example", "{BOARD}"), "is not an address"),
        (("licence =", "urls ="), "no licence"),
        (('licence = "our own"', 'licence = "our own"\nurls = 7'), "urls is not a table"),
        (('["forum/{BOARD}"]', "[7]"), "names holds something that is not text"),
    ],
)
def test_a_rule_that_does_not_hold_is_said(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError) as failure:
        own(tmp_path, RULE.replace(*change))
    assert said in failure.value.one_line()


def test_a_catalogue_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Catalogue(tmp_path / "none.toml")
    with pytest.raises(InputError, match="Is a directory"):
        Catalogue(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(ConfigurationError, match="is not UTF-8"):
        Catalogue(tmp_path / "latin.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigurationError, match="is not TOML"):
        Catalogue(tmp_path / "deep.toml")


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.floats()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
        max_leaves=6,
    ),
    st.sampled_from(
        ["name", "title", "about", "licence", "asks", "note", "next", "base", "files", "names", "addresses"]
    ),
    st.booleans(),
)
def test_any_value_anywhere_holds_or_is_said(value: Any, key: str, rule: bool) -> None:
    # By the way that a parsed file takes, past the parser.
    catalogue = copy.copy(SHIPPED)
    catalogue.entries, catalogue.rules = {}, []
    item: dict[str, Any] = {"title": "t", "licence": "l"}
    if rule:
        item |= {"names": ["f/{X}"], "addresses": ["http://f.example/{X}"], key: value}
    else:
        item |= {"name": "n", "files": [{"name": "f", "urls": ["http://f.example/"]}], key: value}
    try:
        (catalogue._add_rule if rule else catalogue._add_entry)(item, "here")
    except TertuliaError as error:
        said = error.one_line()
    else:
        said = "here: nothing"
    assert said.startswith("here: ")


@given(st.text(max_size=20))
def test_a_safe_name_stays_inside(name: str) -> None:
    root = Path("/a/b")
    try:
        safe_name(name, "here")
    except ConfigurationError:
        return
    path = root / name
    assert path.is_relative_to(root)
    assert ".." not in path.parts
    assert path != root
    name.encode()


# -- lists of the Internet Archive ------------------------------------------------------------------------------------


def listing(*names: str, size: str = "12") -> bytes:
    files = "".join(
        f'<file name="{name}" source="original"><mtime>1</mtime><size>{size}</size><md5>{"b" * 32}</md5>'
        f"<crc32>00</crc32><sha1>{'c' * 40}</sha1><format>7z</format></file>"
        for name in names
    )
    return f"<?xml version='1.0' encoding='UTF-8'?><files>{files}</files>".encode()


SITES = listing(
    "beer.stackexchange.com.7z",
    "beer.meta.stackexchange.com.7z",
    "meta.apple.stackexchange.com.7z",
    "askubuntu.com.7z",
    "meta.askubuntu.com.7z",
    "mathoverflow.net.7z",
    "meta.stackexchange.com.7z",
    "es.stackoverflow.com.7z",
    "stackoverflow.com-Posts.7z",
    "stackoverflow.com-Users.7z",
    "license.txt",
)


@pytest.mark.parametrize(
    ("site", "files"),
    [
        ("beer", ["beer.stackexchange.com.7z"]),
        ("beer.meta", ["beer.meta.stackexchange.com.7z"]),
        ("meta.beer", ["beer.meta.stackexchange.com.7z"]),
        ("apple.meta", ["meta.apple.stackexchange.com.7z"]),
        ("askubuntu", ["askubuntu.com.7z"]),
        ("meta.askubuntu", ["meta.askubuntu.com.7z"]),
        ("mathoverflow", ["mathoverflow.net.7z"]),
        ("meta", ["meta.stackexchange.com.7z"]),
        ("es.stackoverflow", ["es.stackoverflow.com.7z"]),
        ("beer.stackexchange.com", ["beer.stackexchange.com.7z"]),
        ("stackoverflow", ["stackoverflow.com-Posts.7z", "stackoverflow.com-Users.7z"]),
    ],
)
def test_the_dump_of_any_site(site: str, files: list[str]) -> None:
    entry = SHIPPED.get(f"stackexchange/{site}")
    assert entry.listing == "https://archive.org/download/stackexchange/stackexchange_files.xml"
    found = files_of_listing(entry, SITES)
    assert [file.name for file in found] == files
    assert found[0].urls == (f"https://archive.org/download/stackexchange/{files[0]}",)
    assert found[0].bytes == 12
    assert found[0].digests == {"sha1": "c" * 40, "md5": "b" * 32}


def test_a_dated_dump_has_its_files_in_a_folder() -> None:
    entry = SHIPPED.get("stackexchange/beer@20251231")
    assert entry.listing == "https://archive.org/download/stackexchange_20251231/stackexchange_20251231_files.xml"
    file = files_of_listing(entry, listing("stackexchange_20251231/beer.stackexchange.com.7z"))[0]
    assert file.name == "beer.stackexchange.com.7z"
    assert file.urls == (
        "https://archive.org/download/stackexchange_20251231/stackexchange_20251231/beer.stackexchange.com.7z",
    )


def test_a_site_that_is_not_there_is_answered_with_those_that_are_close() -> None:
    with pytest.raises(NotFoundError, match="has no file for 'stackexchange/askubunto'; did you mean askubuntu"):
        files_of_listing(SHIPPED.get("stackexchange/askubunto"), SITES)
    with pytest.raises(NotFoundError, match="it has 11 other files"):
        files_of_listing(SHIPPED.get("stackexchange/zzzzzz"), SITES)


@pytest.mark.parametrize("size", ["", "-1", "1.5", "many", "9" * 14, "99999999999999", "\u0663"])
def test_a_size_that_is_none_is_not_known(size: str) -> None:
    assert (
        files_of_listing(SHIPPED.get("stackexchange/beer"), listing("beer.stackexchange.com.7z", size=size))[0].bytes
        is None
    )


BOMB = b'<!DOCTYPE f [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><files><file name="&b;"/></files>'


@pytest.mark.parametrize(
    "content", [b"", b"<files/>", b"<html>no</html>", b"<files><file name='x'>", b"\xff\xfe", b"{}", BOMB]
)
def test_what_is_no_list_is_said(content: bytes) -> None:
    with pytest.raises(InputError, match=r"list|declares entities"):
        files_of_listing(SHIPPED.get("stackexchange/beer"), content)


def test_names_from_a_list_stay_inside() -> None:
    entry = SHIPPED.get("stackexchange/beer")
    file = files_of_listing(entry, listing("../../beer.stackexchange.com.7z"))[0]
    assert file.name == "beer.stackexchange.com.7z"
    assert urlsplit(file.urls[0]).hostname == "archive.org"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SITES)), st.binary(max_size=4))
def test_a_damaged_list_is_a_list_or_said(at: int, junk: bytes) -> None:
    content = SITES[:at] + junk + SITES[at + len(junk) :]
    try:
        found = files_of_listing(SHIPPED.get("stackexchange/stackoverflow"), content)
    except (InputError, ConfigurationError):
        found = ()
    assert all(set(file.digests) <= set(DIGESTS) for file in found)


def test_every_field_and_option_is_documented() -> None:
    from typer.main import get_command

    from tertulia.cli.fetch import fetch
    from tertulia.formats.fetching import catalogue

    app = typer.Typer(add_completion=False)
    app.command()(fetch)
    text = (REPOSITORY / "docs" / "fetch.md").read_text(encoding="utf-8")
    fields = {*catalogue._ENTRY, *catalogue._RULE, *catalogue._FILE}
    options = {name for parameter in get_command(app).params for name in parameter.opts if name.startswith("-")}
    assert len(options) > 8
    for name in sorted(fields | options):
        assert f"`{name}`" in text or f"`{name} " in text, name


def test_the_examples_of_the_documentation_hold(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "fetch.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    catalogue = own(tmp_path, "\n".join(examples))
    assert [file.packing for file in catalogue.get("letters").files] == ["none", "gz"]
    assert catalogue.get("forum/cats-2020").files[0].urls == ("https://forum.example/2020/cats.zip",)
