"""Manners: robots.txt of all kinds, one request to a host at a time, waits between them, and servers that ask to wait."""

import itertools
import time
from email.utils import formatdate

import pytest

from .conftest import Crawler
from .test_safety import lookup_of
from .web import Web, endless, head, page, raw, redirect, reset, serve, silence, status

pytestmark = pytest.mark.timeout(60)
PAGE = serve(page("Larches turn gold in October, and the huts close soon after."))


def robots(text: str | bytes):
    return serve(text if isinstance(text, bytes) else text.encode(), "text/plain")


def test_what_is_disallowed_is_not_asked_for(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", robots("User-agent: *\nDisallow: /private\nAllow: /private/open\n"))
    urls = [web.put(path, PAGE) for path in ("/a", "/private/x", "/private/open/y", "/%70rivate/z")]
    found = run(*urls)
    assert [found[url].outcome for url in urls] == ["ok", "robots", "ok", "robots"]
    assert web.asked("/robots.txt") == 1
    assert set(web.paths()) == {"/robots.txt", "/a", "/private/open/y"}


def test_a_group_for_us_counts_alone(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", robots("User-agent: *\nDisallow: /\n\nUser-agent: Tertulia/2.0\nDisallow: /no\n"))
    yes, no = web.put("/yes", PAGE), web.put("/no", PAGE)
    found = run(yes, no)
    assert (found[yes].outcome, found[no].outcome) == ("ok", "robots")
    other = run(yes, no, user_agent="otherbot/1.0", contact="me@a.example", overwrite=True)
    assert {result.outcome for result in other.values()} == {"robots"}
    assert web.requests[-1].headers["user-agent"] == "otherbot/1.0 (+me@a.example)"
    assert web.requests[-1].headers["from"] == "me@a.example"


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410])
def test_a_site_without_a_robots_txt_allows_all(web: Web, run: Crawler, code: int) -> None:
    web.put("/robots.txt", status(code))
    url = web.put("/a", PAGE)
    assert run(url)[url].outcome == "ok"


@pytest.mark.parametrize(
    "answer", [status(500), status(503), status(429), reset, silence(20)], ids=["500", "503", "429", "reset", "silent"]
)
def test_a_robots_txt_that_cannot_be_read_forbids_for_now(web: Web, run: Crawler, answer) -> None:
    web.put("/robots.txt", answer)
    url = web.put("/a", PAGE)
    assert run(url, page_time_s=0.3)[url].outcome in {"robots-unreachable", "connection", "timeout"}
    assert web.asked("/a") == 0


def test_a_robots_txt_that_comes_late_is_waited_for(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", status(503), status(503), robots("User-agent: *\nDisallow: /b"))
    a, b = web.put("/a", PAGE), web.put("/b", PAGE)
    found = run(a, b)
    assert (found[a].outcome, found[b].outcome) == ("ok", "robots")


@pytest.mark.parametrize(
    "answer",
    [
        robots(b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /no"),
        robots("User-agent: *\rDisallow: /no\r"),
        robots(b"\xff\xfe\x00 garbage\nUser-agent: *\nDisallow: /no\n"),
        robots("User-agent: *\nDisallow: /no\n" + "# and so on\n" * 100_000),
        endless(head(200) + b"User-agent: *\nDisallow: /no\n", b"# and so on and on\n" * 1000),
        redirect("/elsewhere.txt"),
    ],
    ids=["mark", "mac", "garbage", "long", "endless", "redirect"],
)
def test_strange_files_are_read_all_the_same(web: Web, run: Crawler, answer) -> None:
    web.put("/robots.txt", answer)
    web.put("/elsewhere.txt", robots("User-agent: *\nDisallow: /no"))
    yes, no = web.put("/yes", PAGE), web.put("/no", PAGE)
    found = run(yes, no)
    assert (found[yes].outcome, found[no].outcome) == ("ok", "robots")


def test_a_robots_txt_that_leads_in_a_circle_is_none(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", redirect("/robots2.txt"))
    web.put("/robots2.txt", redirect("/robots.txt"))
    url = web.put("/a", PAGE)
    assert run(url)[url].outcome == "ok"


def test_each_hop_of_a_redirect_is_held_to_the_rules(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", robots("User-agent: *\nDisallow: /no"))
    web.put("/no", PAGE)
    url = web.put("/a", redirect("/no"))
    assert run(url)[url].outcome == "robots"
    assert web.asked("/no") == 0


def test_a_host_is_asked_one_thing_at_a_time_and_not_too_fast(web: Web, run: Crawler) -> None:
    async def slow(request):
        await serve(page("One."), Content_Length=len(page("One.")))(request)

    urls = [web.put(f"/{number}", slow) for number in range(5)]
    run(*urls, delay_s=0.15)
    times = [request.time for request in web.requests]
    assert len(times) == 6
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.14
    assert web.most_open == 1


def test_hosts_are_asked_at_the_same_time(web: Web, run: Crawler) -> None:
    async def slow(request):
        import asyncio

        await asyncio.sleep(1.0)
        await PAGE(request)

    web.put("/a", slow)
    lookup, _ = lookup_of(**{f"h{number}_example": [["127.0.0.1"]] for number in range(8)})
    began = time.monotonic()
    found = run(*(f"http://h{number}.example:{web.port}/a" for number in range(8)), lookup=lookup)
    assert {result.outcome for result in found.values()} == {"ok"}
    assert 4 <= web.most_open <= 8
    assert time.monotonic() - began < 20
    web.most_open = 0
    run(
        *(f"http://h{number}.example:{web.port}/a" for number in range(6)), lookup=lookup, concurrency=2, overwrite=True
    )
    assert web.most_open == 2


def test_the_delay_that_a_robots_txt_asks_for(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", robots("User-agent: *\nCrawl-delay: 0.3\n"))
    urls = [web.put(f"/{number}", PAGE) for number in range(3)]
    run(*urls)
    times = [request.time for request in web.requests]
    assert min(later - earlier for earlier, later in itertools.pairwise(times)) >= 0.29
    web.requests.clear()
    web.put("/robots.txt", robots("User-agent: *\nCrawl-delay: 86400\n"))
    began = time.monotonic()
    run(*urls, max_delay_s=0.1, overwrite=True)
    assert 0.2 < time.monotonic() - began < 20


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says(web: Web, run: Crawler, code: int) -> None:
    url = web.put("/a", status(code, Retry_After="1"), PAGE)
    assert run(url)[url].outcome == "ok"
    first, second = (request.time for request in web.requests if request.path == "/a")
    assert second - first >= 0.95


def test_waits_grow_where_a_busy_server_names_none(web: Web, run: Crawler) -> None:
    url = web.put("/a", status(503))
    (found,) = run(url, back_off_s=0.1, tries=4).values()
    assert (found.outcome, found.status) == ("http-error", 503)
    times = [request.time for request in web.requests if request.path == "/a"]
    assert len(times) == 4
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(wait >= least for wait, least in zip(waits, (0.09, 0.19, 0.39), strict=True)), waits


@pytest.mark.parametrize("when", ["99999999", "tomorrow"])
def test_who_asks_to_wait_too_long_is_left_alone(web: Web, run: Crawler, when: str) -> None:
    when = formatdate(time.time() + 86400, usegmt=True) if when == "tomorrow" else when
    url = web.put("/a", status(429, Retry_After=when))
    (found,) = run(url).values()
    assert found.outcome == "http-error"
    assert "asks to come back in" in (found.reason or "")
    assert web.asked("/a") == 1


@pytest.mark.parametrize("when", ["soon", "-1", "", "Mon, 99 Foo 2020", "1e9", formatdate(0, usegmt=True)])
def test_nonsense_about_when_to_come_back(web: Web, run: Crawler, when: str) -> None:
    url = web.put("/a", status(429, Retry_After=when), PAGE)
    assert run(url)[url].outcome == "ok"


def test_a_dead_host_is_given_up_and_its_pages_are_not_tried_one_by_one(run: Crawler) -> None:
    lookup, asked = lookup_of()
    urls = [f"http://gone.example/{number}" for number in range(50)]
    found = run(*urls, lookup=lookup)
    assert {result.outcome for result in found.values()} == {"dns"}
    assert len(asked) == 3


def test_a_host_that_never_answers_is_given_up(web: Web, run: Crawler) -> None:
    web.put("/robots.txt", robots(""))
    urls = [web.put(f"/{number}", reset) for number in range(30)]
    found = run(*urls, tries=1)
    assert {result.outcome for result in found.values()} == {"connection"}
    assert len(set(web.paths()) - {"/robots.txt"}) == 5
    assert sum("not asked for" in (result.reason or "") for result in found.values()) == 25


def test_a_host_is_not_blamed_for_where_it_leads(web: Web, run: Crawler) -> None:
    """A shortener of addresses may lead to many that are dead."""
    lookup, _ = lookup_of()
    dead = [web.put(f"/{number}", redirect(f"http://gone{number}.example/")) for number in range(12)]
    alive = web.put("/z", PAGE)
    found = run(*dead, alive, lookup=lookup, tries=1)
    assert {found[url].outcome for url in dead} == {"dns"}
    assert found[alive].outcome == "ok"


def test_what_is_no_http_is_no_reason_to_hammer(web: Web, run: Crawler) -> None:
    url = web.put("/a", raw(b"SSH-2.0-x\r\n"))
    assert run(url)[url].outcome in {"bad-answer", "connection"}
    assert web.asked("/a") <= 6
