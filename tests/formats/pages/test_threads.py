"""Threads of saved pages: prompts with their responses, joined over pages."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.importing import import_corpus
from tertulia.formats.pages.format import PagesFormat
from tertulia.formats.registry import FORMATS

from ..ranking import counts
from .board import SELECTORS, SITE, page, post, put, read, rules


def texts(record: RankingRecord) -> list[str]:
    return [candidate.text for candidate in record.candidates]


def test_a_thread_is_a_context_with_its_responses(tmp_path: Path) -> None:
    html = page(
        f"{SITE}/t/12-slugs",
        post(1, "Slugs ate my <b>lettuce</b>.<p>What now?", first=True),
        post(2, "Beer traps.", "oak", votes="1,204 points"),
        post(3, "Toads", votes="-2"),
    )
    [record], report = read(put(tmp_path / "saved", {"a.html": html}), rules(tmp_path), authors="keep")
    assert record == RankingRecord(
        Context(
            "allotment-12",
            [Turn("user", "Slugs ate my lettuce.\n\nWhat now?")],
            domain="allotment",
            attributes={
                "author": "ivy",
                "time": "2016-05-02T06:00:00Z",
                "url": f"{SITE}/t/12-slugs",
                "title": "Slugs!",
                "language": "en",
                "licence": "CC BY 4.0",
            },
        ),
        [
            Candidate(
                0,
                "Beer traps.",
                source=f"{SITE}/t/12-slugs",
                attributes={"author": "oak", "id": "p2", "score": 1204, "time": "2016-05-03T06:00:00Z"},
            ),
            Candidate(
                1,
                "Toads",
                source=f"{SITE}/t/12-slugs",
                attributes={"author": "ivy", "id": "p3", "score": -2, "time": "2016-05-04T06:00:00Z"},
            ),
        ],
    )
    assert counts(report) == {}


def test_authors_are_hashed_unless_told_otherwise(tmp_path: Path) -> None:
    html = page(f"{SITE}/t/1", post(1, "q", first=True), post(2, "r"), post(3, "s", "oak"), post(4, "t"))
    saved, selectors = put(tmp_path / "saved", {"a.html": html}), rules(tmp_path)
    [record], _ = read(saved, selectors)
    names = [candidate.attributes["author"] for candidate in record.candidates]
    assert names[0] == names[2] == record.context.attributes["author"] != names[1]
    assert all(name.startswith("person-") and "ivy" not in name for name in names)
    other = rules(tmp_path, SELECTORS.replace('"allotment"', '"other"'))
    assert read(saved, other)[0][0].candidates[0].attributes["author"] != names[0]
    [record], _ = read(saved, rules(tmp_path), authors="drop")
    assert not any("author" in candidate.attributes for candidate in record.candidates)
    with pytest.raises(ConfigurationError, match="authors is 'show'; expected hash, keep, drop"):
        read(saved, selectors, authors="show")


def test_pages_of_a_thread_are_joined_by_their_links(tmp_path: Path) -> None:
    # In order of name: p10, p2, p9; only the links tell the order.
    files: dict[str, str | bytes] = {
        "p9.html": page(f"{SITE}/t/5", post(1, "q", first=True), post(2, "one"), following="/t/5?page=2"),
        "p2.html": page(
            f"{SITE}/t/5?page=2", post(1, "q", first=True), post(2, "one"), post(3, "two"), following="/t/5?page=3"
        ),
        "p10.html": page(f"{SITE}/t/5?page=3", post(4, "three"), post(5, "&nbsp; <img src=x>"), following="/t/5"),
        "z.html": page(f"{SITE}/t/6", post(1, "another", first=True)),
        "topics.html": page(f"{SITE}/topics/vegetables", "<a class=thread href=/t/5>Slugs</a>"),
        "about.html": page(f"{SITE}/about", post(1, "q", first=True)),
        "no-id.html": page(f"{SITE}/t/rules", post(1, "q", first=True)),
    }
    found, report = read(put(tmp_path / "saved", files), rules(tmp_path))
    assert [(record.context.id, texts(record)) for record in found] == [
        ("allotment-5", ["one", "two", "three"]),
        ("allotment-6", []),
    ]
    assert counts(report) == {
        "responses that stood in their thread before": 1,
        "responses without a text": 1,
        "pages that are neither a topic index nor a thread": 1,
        "thread pages whose address does not have the id": 1,
        "pages of the topic index": 1,
        "threads without a response": 1,
    }
    assert report.skipped["responses that stood in their thread before"].first == "p2.html"


@settings(max_examples=50, deadline=None)
@given(count=st.integers(1, 9), seed=st.integers(0, 10**6), circle=st.booleans())
def test_the_order_of_files_is_no_matter(
    tmp_path_factory: pytest.TempPathFactory, count: int, seed: int, circle: bool
) -> None:
    numbers = list(range(count))
    names = [f"{name}.html" for name in random.Random(seed).sample(range(10, 99), count)]
    files: dict[str, str | bytes] = {}
    for number in numbers:
        following = f"?page={number + 1}" if number + 1 < count else "?page=0" if circle and count > 1 else None
        first = post(0, "q", first=True) if number == 0 else ""
        files[names[number]] = page(
            f"{SITE}/t/7?page={number}", first, post(number + 1, f"r{number}"), following=following
        )
    folder = tmp_path_factory.mktemp("pages")
    [record], _ = read(put(folder / "saved", files), rules(folder))
    found = [int(text[1:]) for text in texts(record)]
    if circle and count > 1:
        # A circle has no beginning; it is gone round once, from the file that comes first.
        start = found[0]
        assert found == [(start + step) % count for step in range(count)]
    else:
        assert found == numbers


def test_a_page_that_begins_with_no_prompt_loses_no_response(tmp_path: Path) -> None:
    selectors = rules(tmp_path, SELECTORS.replace('".first .body"', '".post .body"'))
    files: dict[str, str | bytes] = {
        "a.html": page(f"{SITE}/t/5", post(1, "q"), post(2, "one"), following="?page=2"),
        "b.html": page(f"{SITE}/t/5?page=2", post(3, "two"), post(4, "three")),
    }
    [record], report = read(put(tmp_path / "saved", files), selectors)
    assert (record.context.texts, texts(record)) == (["q"], ["one", "two", "three"])
    assert [finding.first for finding in report.noted.values()] == ["b.html"]


def test_without_an_id_the_text_the_author_and_the_time_tell_responses_apart(tmp_path: Path) -> None:
    selectors = rules(tmp_path, SELECTORS.replace('response_id = "@id"\n', ""))
    html = page(
        f"{SITE}/t/5", post(1, "q", first=True), post(2, "+1"), post(2, "+1"), post(2, "+1", "oak"), post(3, "+1")
    )
    [record], report = read(put(tmp_path / "saved", {"a.html": html}), selectors)
    assert len(record.candidates) == 3
    assert counts(report)["responses that stood in their thread before"] == 1


BLOCKS = """
[site]
name = "square"
[thread]
block = "article"
prompt = [".head", ".say"]
prompt_id = "@data-id"
response = "li"
remove = ["li i", ".ad"]
text = "line"
next = "a.next"
"""


def test_a_page_of_several_prompts(tmp_path: Path) -> None:
    one = "<article data-id=a1><p class=head>Rain</p><p class=say>or<br>shine?</p>"
    one += "<ul><li>Rain. <i>like</i><li class=ad>Buy <b class=ad>now</b>!</ul></article>"
    two = "<article data-id=b2><p class=say>Tea?</p><ul><li>Please.<li>  <li>No</ul></article>"
    more = "<article data-id=a1><p class=head>Rain</p><p class=say>or shine?</p><ul><li>Rain.<li>Shine</ul></article>"
    bare = "<article><p class=say>Bare</p></article>"
    files: dict[str, str | bytes] = {"1.html": one + two + bare, "2.html": more, "3.html": "<p>nothing here"}
    found, report = read(put(tmp_path / "saved", files), rules(tmp_path, BLOCKS))
    assert [(record.context.id, record.context.texts, texts(record)) for record in found] == [
        ("square-1.html#3", ["Bare"], []),
        ("square-a1", ["Rain or shine?"], ["Rain.", "Shine"]),
        ("square-b2", ["Tea?"], ["Please.", "No"]),
    ]
    assert found[1].context.attributes["url"] == "1.html"
    assert counts(report)["thread pages without a block"] == 1


@pytest.mark.parametrize(
    ("form", "spelled", "time"),
    [
        ("iso", "2016-05-01", "2016-04-30T16:00:00Z"),
        ("iso", "2016-05-01T10:00:00Z", "2016-05-01T10:00:00Z"),
        ("%d.%m.%Y %H:%M", "1.5.2016 10:30", "2016-05-01T02:30:00Z"),
        ("%d.%m.%Y %H:%M %z", "1.5.2016 10:30 +0000", "2016-05-01T10:30:00Z"),
        ("unix", "1462096800", "2016-05-01T10:00:00Z"),
        ("unix-ms", "1462096800500", "2016-05-01T10:00:00.500000Z"),
        ("iso", "two hours ago", None),
        ("unix", "999999999999999", None),
        ("%d.%m.%Y", "31.2.2016", None),
        ("%Y %", "2016", None),
    ],
)
def test_times(tmp_path: Path, form: str, spelled: str, time: str | None) -> None:
    selectors = rules(tmp_path, SELECTORS + f"time_format = '{form}'\nutc_offset = '+08:00'\n")
    html = page(f"{SITE}/t/5", post(1, "q", first=True).replace("2016-05-02T08:00:00+02:00", spelled))
    [record], report = read(put(tmp_path / "saved", {"a.html": html}), selectors)
    assert record.context.attributes.get("time") == time
    assert (time is None) == ("times of another form than time_format says" in report.noted)


@pytest.mark.parametrize(
    ("spelled", "score"),
    [
        ("42 points", 42),
        ("−3", -3),
        ("1,234,567", 1234567),
        ("12.5k", None),
        ("3 of 5", None),
        ("many", None),
        ("1,23", None),
    ],
)
def test_scores(tmp_path: Path, spelled: str, score: int | None) -> None:
    html = page(f"{SITE}/t/5", post(1, "q", first=True), post(2, "r", votes=spelled))
    [record], report = read(put(tmp_path / "saved", {"a.html": html}), rules(tmp_path))
    assert record.candidates[0].attributes.get("score") == score
    assert (score is None) == ("scores that are not one whole number" in report.noted)


def test_an_id_of_nothing_is_none(tmp_path: Path) -> None:
    selectors = rules(tmp_path, SELECTORS.replace("'/t/([0-9]+)'", "'/t/([0-9]*)(x)?'"))
    files: dict[str, str | bytes] = {
        "a.html": page(f"{SITE}/t/", post(1, "none", first=True)),
        "b.html": page(f"{SITE}/t/4x", post(1, "q", first=True)),
    }
    [record], report = read(put(tmp_path / "saved", files), selectors)
    assert record.context.id == "allotment-4-x"
    assert report.skipped["thread pages whose address does not have the id"].first == "a.html"


def test_selectors_of_another_site_find_nothing_and_say_so(tmp_path: Path) -> None:
    saved = put(tmp_path / "saved", {"a.html": page("https://elsewhere.example/t/1", post(1, "q", first=True))})
    with pytest.raises(
        InputError, match=r"no thread with a prompt; 1 pages were read, 0 parts .*neither .*first a\.html"
    ):
        read(saved, rules(tmp_path))
    saved = put(tmp_path / "saved", {"a.html": page(f"{SITE}/t/1", post(1, "q"))})
    with pytest.raises(InputError, match="1 parts of threads found: threads without a prompt"):
        read(saved, rules(tmp_path))


def test_pages_become_a_ranking_set_twice_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS._shipped, "pages", "tertulia.formats.pages.format:PagesFormat")
    saved = put(tmp_path / "saved", {"a.html": page(f"{SITE}/t/1", post(1, "q", first=True), post(2, "r"))})
    digests = []
    for name in ("one", "two"):
        values = {"selectors": rules(tmp_path)}
        with import_corpus("pages", str(saved), tmp_path / name, Report(), values=values) as made:
            assert made.manifest.counts == {"contexts": 1, "candidates": 1}
            assert [entry["name"] for entry in made.manifest.inputs] == ["saved", "selectors.toml"]
            assert made.manifest.options["values"] == {"selectors": "selectors.toml"}
            digests.append({name: entry.sha256 for name, entry in made.manifest.files.items()})
    assert digests[0] == digests[1]


def test_what_the_format_asks_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"needs a file of CSS selectors \(--option selectors=FILE"):
        list(PagesFormat().read(str(tmp_path), Report(), ReadOptions()))
    with pytest.raises(ConfigurationError, match="delay is for a live site"):
        read(tmp_path, rules(tmp_path), delay="2")
    with pytest.raises(InputError, match="there is nothing at this path"):
        read(tmp_path / "none", rules(tmp_path))
    with pytest.raises(ConfigurationError, match="read, not written"):
        PagesFormat().write(iter([]), str(tmp_path / "x"), Report())
