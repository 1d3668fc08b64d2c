"""The file of selectors: what it may say, and what one is told who writes it wrongly."""

import random
import re
import sys
from pathlib import Path

import pytest

from tertulia.errors import ConfigurationError, InputError, MissingExtraError, TertuliaError
from tertulia.formats.pages.selectors import Selectors, Thread, Value, fits, read_selectors

from .. import mutate
from .board import SELECTORS, rules

SMALL = '[site]\nname = "x"\n[thread]\nprompt = "h1"\nresponse = "li"\n'


def made(folder: Path, text: str) -> Selectors:
    return read_selectors(rules(folder, text))


def test_a_small_file(tmp_path: Path) -> None:
    found = made(tmp_path, SMALL)
    assert found == Selectors("x", Thread((Value("h1", None),), "li"))
    assert (found.index, found.thread.text, found.thread.time_format) == (None, "plain", "iso")


def test_values_take_text_or_an_attribute(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        SMALL
        + """response_time = 'a[href*="@"] > time@DateTime'\nresponse_id = "@data-id"\nresponse_author = 'a[href*="me@x"]'\n""",
    ).thread
    assert found.response_time == Value('a[href*="@"] > time', "datetime")
    assert found.response_id == Value("", "data-id")
    assert found.response_author == Value('a[href*="me@x"]', None)


def test_links_are_of_their_href_unless_told_otherwise(tmp_path: Path) -> None:
    found = made(tmp_path, SELECTORS)
    assert found.index is not None
    assert (found.index.thread, found.index.next) == (Value("a.thread", "href"), Value("a.next", "href"))


@pytest.mark.parametrize(
    ("pattern", "address", "does"),
    [
        ("https://x.example/t/*", "https://x.example/t/1?page=2", True),
        ("https://x.example/t?id=*", "https://x.example/t?id=1", True),
        ("https://x.example/t?id=*", "https://x.example/txid=1", False),
        ("https://x.example/[a]", "https://x.example/[a]", True),
        ("https://x.example/[a]", "https://x.example/a", False),
        ("*.html", "threads/a.html", True),
        ("https://x.example/", "https://x.example/t", False),
        ("**********************b", "a" * 5000, False),
    ],
)
def test_addresses_have_stars_and_no_other_signs(tmp_path: Path, pattern: str, address: str, does: bool) -> None:
    for match in (f'"{pattern}"', f'["https://y.example/", "{pattern}"]'):
        assert fits(address, made(tmp_path, SMALL + f"match = {match}\n").thread.match) == does


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "selectors.toml: has no section [site], which is needed"),
        ('site = "x"', "selectors.toml: site holds 'x'; expected a section [site]"),
        ("[[site]]\nname = 1", "site holds [{'name': 1}]; expected a section"),
        ('[site]\nname = "x"', "has no section [thread]"),
        ("[site]\n[thread]\n", "[site] has no name; expected a text"),
        ('[site]\nname = ""\n[thread]\n', "selectors.toml:2: [site] name is ''; expected a text"),
        ('[site]\nname = ["a"]\n[thread]\n', "[site] name is ['a']; expected a text"),
        ('[site]\nname = "x"\n[thread]\nprompt = "h1"\n', "[thread] has no response; expected a CSS selector"),
        (
            '[site]\nname = "x"\n[thread]\nresponse = "h1"\n',
            "[thread] has no prompt; expected a CSS selector, or one with",
        ),
        (
            SMALL + "[forum]\nx = 1\n",
            "selectors.toml:6: the section or field 'forum' is not known; known are index, site, thread",
        ),
        (
            SMALL + 'promt = "p"\n',
            "selectors.toml:6: the field 'promt' of [thread] is not known; known are block, id, match,",
        ),
        (
            SMALL + "title = 'p::text'\n",
            "selectors.toml:6: [thread] title is 'p::text'; expected a CSS selector, or one with an",
        ),
        (SMALL + "title = ['p', 'b']\n", "[thread] title is ['p', 'b']; expected a CSS selector"),
        (SMALL + "title = 1979-05-27\n", "[thread] title is datetime.date(1979, 5, 27); expected"),
        (SMALL + "title = '@'\n", "[thread] title is '@'; expected a CSS selector"),
        (SMALL + "block = 'div@id'\n", "[thread] block is 'div@id'; expected a CSS selector, such as"),
        (SMALL + "remove = ['b', '[']\n", "[thread] remove is '['; expected a CSS selector"),
        (SMALL + "remove = []\n", "[thread] remove is []; expected"),
        (
            SMALL + "id = '/t/[0-9]+'\n",
            "selectors.toml:6: [thread] id is '/t/[0-9]+'; expected a regular expression with a group",
        ),
        (
            SMALL + "id = '/t/('\n",
            "expected a regular expression with a group, such as '/thread/([0-9]+)' (it is wrong here: missing",
        ),
        (
            SMALL + "next = 'a'\n",
            "selectors.toml:6: a thread has next pages but no id; expected the regular expression",
        ),
        (SMALL + "prompt_id = '@id'\n", "prompt_id is for pages of several prompts, so it needs block"),
        (SMALL + "next = '@href'\nblock = 'p'\n", "[thread] next is '@href'; expected"),
        (SMALL + "text = 'markdown'\n", "[thread] text is 'markdown'; expected plain or line"),
        (
            SMALL + "time_format = 'ISO'\n",
            "[thread] time_format is 'ISO'; expected iso, unix, unix-ms, or a form such as",
        ),
        (
            SMALL + "utc_offset = '8'\n",
            "[thread] utc_offset is '8'; expected hours and minutes from UTC, such as '+08:00'",
        ),
        (SMALL + "utc_offset = '+25:00'\n", "expected hours and minutes from UTC"),
        (SMALL + "[index]\nthread = 'a'\n", "[index] has no match; expected addresses, with * for anything"),
        (SMALL + "[index]\nmatch = '*'\n", "[index] has no thread"),
        (SMALL + "[index]\nmatch = 7\nthread = 'a'\n", "selectors.toml:7: [index] match is 7; expected addresses"),
        ("[site\nname = 1", "selectors.toml: is not TOML: "),
        ("x = " + "[" * 100_000, "selectors.toml: is not TOML: "),
        ("#" * 1_000_001, "is longer than 1,000,000 bytes; expected a small file of selectors"),
    ],
)
def test_what_does_not_hold_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        made(tmp_path, text)
    assert str(tmp_path / "selectors.toml") in caught.value.one_line()
    assert len(caught.value.one_line()) < len(str(tmp_path)) + 700


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"bytes\.toml: is not UTF-8"):
        read_selectors(tmp_path / "bytes.toml")
    for path in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(InputError, match="the file of selectors cannot be read"):
            read_selectors(path)


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert read_selectors(tmp_path / "a.toml").name == "x"


def test_damage_ends_in_selectors_or_one_error(tmp_path: Path) -> None:
    chance = random.Random(5)
    path, good = tmp_path / "selectors.toml", 0
    for _ in range(mutate.MUTATIONS):
        path.write_bytes(mutate.mutate(chance, SELECTORS.encode()))
        problem = None
        try:
            read_selectors(path)
        except TertuliaError as error:
            problem = error.one_line()
        if problem is None:
            good += 1
        else:
            assert str(path) in problem
            assert "\n" not in problem
    assert mutate.MUTATIONS // 40 < good < mutate.MUTATIONS


def test_without_selectolax_one_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(MissingExtraError, match=r"reading web pages needs the package 'selectolax'.*tertulia\[full\]"):
        made(tmp_path, SMALL)
