"""The page in a real Chromium, against a real server process: what one does there, and what may go wrong."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect

from tertulia.bot.build import BotOptions, build_bot
from tests.conftest import SMALL
from tests.web.browser import AWAY, CASABLANCA, FILM, Findings, reply, say, turn
from tests.web.conftest import Server

pytestmark = pytest.mark.browser


def test_talk_and_see_who_answered(page: Page) -> None:
    expect(page.get_by_role("heading", name="Hello from the small bot.")).to_be_visible()
    say(page, FILM)
    expect(reply(page, 1)).to_contain_text(CASABLANCA)
    about = turn(page, 1).locator(".about")
    expect(about.locator(".who")).to_have_text("matching")
    expect(about.get_by_role("meter", name="Confidence")).to_have_attribute(
        "aria-valuenow", re.compile(r"0\.\d\d|1\.00")
    )
    expect(about.locator(".time")).to_have_text(re.compile(r"^[\d.]+ ms$"))
    expect(page.get_by_role("button", name="Topic")).to_contain_text("films")
    expect(page.locator("#announcer")).to_contain_text(CASABLANCA)
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f]{32}$"))


def test_an_opener_begins_the_talk(page: Page) -> None:
    page.get_by_role("button", name=FILM).click()
    expect(reply(page, 1)).to_contain_text(CASABLANCA)
    expect(page.locator("#welcome")).to_be_hidden()


def test_the_trace_shows_the_source_and_every_component(page: Page) -> None:
    say(page, FILM)
    why = turn(page, 1).get_by_role("button", name="Why?")
    why.click()
    panel = page.get_by_role("dialog", name="Why this reply?")
    expect(panel.locator(".source-turn.matched")).to_contain_text(FILM)
    expect(panel.locator(".source-turn.reply")).to_contain_text(CASABLANCA)
    expect(panel.get_by_text("i prefer comedies with bad weather")).to_be_visible()
    expect(panel.locator(".source-head")).to_contain_text("films-1")
    names = panel.locator(".step-name").all_text_contents()
    assert (names[0], names[-1]) == ("rules", "backup")
    expect(panel.locator(".step").first).to_contain_text("abstained")
    expect(panel.locator(".step").last).to_contain_text("not consulted")
    said = panel.locator(".candidate.chosen")
    expect(said).to_have_count(1)
    expect(said.locator(".verdict")).to_have_text("said")
    expect(said.get_by_role("img", name=re.compile("confidence .* threshold"))).to_be_visible()
    expect(panel.locator(".total")).to_contain_text("ms from message to reply")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(why).to_be_focused()


def test_a_line_shows_its_file_and_line(page: Page) -> None:
    say(page, "xyzzy plugh")
    turn(page, 1).get_by_role("button", name="Why?").click()
    place = page.locator(".place")
    expect(place).to_contain_text("backup.txt")
    expect(place).to_contain_text(re.compile(r"Line\s*\d+"))


def test_ratings_survive_a_reload(page: Page) -> None:
    say(page, FILM)
    turn(page, 1).get_by_role("button", name="Bad reply").click()
    turn(page, 1).get_by_role("button", name="Good reply").click()
    turn(page, 1).get_by_role("button", name="Rate", exact=True).click()
    with page.expect_response(lambda response: response.url.endswith("/rating")):
        page.get_by_role("radio", name="4 human-like, less interesting").check()
    page.reload()
    expect(turn(page, 1).get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "true")
    expect(turn(page, 1).get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "false")
    turn(page, 1).get_by_role("button", name="Rated 4").click()
    expect(page.get_by_role("radio", name="4 human-like, less interesting")).to_be_checked()
    with page.expect_response(lambda response: response.url.endswith("/rating")):
        turn(page, 1).get_by_role("button", name="Good reply").click()
    page.reload()
    expect(turn(page, 1).get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "false")


def test_a_conversation_survives_a_reload_and_a_new_one_begins(page: Page) -> None:
    say(page, FILM)
    page.reload()
    expect(reply(page, 1)).to_contain_text(CASABLANCA)
    say(page, "i prefer comedies with bad weather", 2)
    old = page.url
    page.get_by_role("link", name="New conversation", exact=True).click()
    expect(page.get_by_role("heading", name="Hello from the small bot.")).to_be_visible()
    expect(page.locator(".turn[data-turn]")).to_have_count(0)
    page.goto(old)
    expect(page.locator(".turn[data-turn]")).to_have_count(2)


def test_a_conversation_survives_a_restart_of_the_server(page: Page, server: Server, findings: Findings) -> None:
    findings.expect(AWAY)
    say(page, FILM)
    server.stop()
    expect(page.get_by_role("status").filter(has_text="Trying again")).to_be_visible()
    server.start()
    expect(page.get_by_role("status").filter(has_text="Trying again")).to_have_count(0)
    say(page, "i am hungry and there is only cabbage", 2)
    page.reload()
    expect(page.locator(".turn[data-turn]")).to_have_count(2)


def test_what_was_not_heard_is_offered_again_and_said_once(page: Page, server: Server, findings: Findings) -> None:
    findings.expect(AWAY)
    say(page, FILM)
    server.stop()
    page.get_by_label("Your message").fill("i am hungry and there is only cabbage")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("may not have arrived")
    server.start()
    expect(page.locator(".connection")).to_be_empty()
    expect(page.locator("#pending")).to_contain_text("only cabbage")
    expect(page.locator(".turn[data-turn]")).to_have_count(1)
    page.reload()  # It is offered after a reload as well.
    page.get_by_role("button", name="Send it again").click()
    expect(turn(page, 2)).to_contain_text("only cabbage")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.reload()
    expect(page.locator(".turn[data-turn]")).to_have_count(2)


def test_an_answer_that_was_lost_on_the_way_is_found_and_not_asked_for_again(page: Page) -> None:
    """The socket breaks after the server heard the message; the page finds the turn in the log."""
    page.route_web_socket(re.compile("/stream$"), lambda socket: lose_the_answer(socket))
    say_at = page.get_by_label("Your message")
    say_at.fill(FILM)
    page.keyboard.press("Enter")
    expect(turn(page, 1)).to_contain_text(CASABLANCA)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#pending")).to_have_count(0)


def lose_the_answer(socket) -> None:
    server = socket.connect_to_server()

    def from_server(message: str) -> None:
        if '"reply"' in message:
            socket.close()
        else:
            socket.send(message)

    server.on_message(from_server)


def test_a_log_that_does_not_answer_is_said_and_waited_for(page: Page, findings: Findings) -> None:
    findings.expect("503")
    say(page, FILM)
    trouble = {"status": 503, "json": {"error": "the log does not answer just now"}}
    page.route(re.compile(r"/api/conversations/[\w-]+$"), lambda route: route.fulfill(**trouble))
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("The log does not answer just now. Trying again…")
    page.unroute_all()
    expect(reply(page, 1)).to_contain_text(CASABLANCA)
    expect(page.get_by_role("status")).to_be_empty()


def test_two_windows_do_not_talk_at_cross_purposes(page: Page, findings: Findings) -> None:
    say(page, FILM)
    other = page.context.new_page()
    findings.watch(other)
    other.goto(page.url)
    expect(reply(other, 1)).to_contain_text(CASABLANCA)
    say(page, "i am hungry and there is only cabbage", 2)
    other.get_by_label("Your message").fill("where should i travel in october")
    other.keyboard.press("Enter")
    expect(other.get_by_role("alert")).to_contain_text("another window")
    expect(other.locator(".turn[data-turn]")).to_have_count(2)
    expect(other.get_by_label("Your message")).to_have_value("where should i travel in october")
    other.keyboard.press("Enter")
    expect(turn(other, 3)).to_contain_text("Lisbon")


def test_one_of_several_bots_is_chosen(
    open_page: Callable[..., Page], serve: Callable[..., Server], small_bot: Path, tmp_path: Path
) -> None:
    build_bot(SMALL, tmp_path / "other", BotOptions(name="other", greeting="Hello from the other bot."))
    page = open_page()
    page.goto(serve(small_bot, tmp_path / "other").url)
    page.get_by_label("The bot to talk with").select_option("other")
    expect(page.get_by_role("heading", name="Hello from the other bot.")).to_be_visible()
    say(page, FILM)
    page.reload()
    expect(page.get_by_label("The bot to talk with")).to_have_value("other")
    expect(turn(page, 1)).to_contain_text(CASABLANCA)


def test_without_websocket_messages_go_by_post(
    open_page: Callable[..., Page], server: Server, findings: Findings
) -> None:
    page = open_page()
    page.add_init_script(
        "window.WebSocket = class extends EventTarget { static CONNECTING = 0; static OPEN = 1; readyState = 3; close() {}"
        " constructor() { super(); setTimeout(() => this.dispatchEvent(new CloseEvent('close'))); } };"
    )
    page.goto(server.url)
    with page.expect_request(lambda request: request.url.endswith("/api/chat")):
        say(page, FILM)
    expect(reply(page, 1)).to_contain_text(CASABLANCA)
    say(page, "i am hungry and there is only cabbage", 2)
    expect(page.locator(".connection")).to_be_empty()


XSS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "\"><iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "javascript:alert(1)",
    "{{7*7}}${alert(1)}",
    "</textarea><style>*{display:none}</style><a href='javascript:alert(1)'>film</a>",
]


def test_markup_in_messages_is_text(page: Page) -> None:
    for number, text in enumerate(XSS, start=1):
        say(page, text, number)
        expect(turn(page, number).locator(".user .said")).to_contain_text(text)
    page.reload()
    expect(turn(page, len(XSS))).to_be_visible()
    turn(page, 1).get_by_role("button", name="Why?").click()
    expect(page.locator(".step").first).to_be_visible()
    assert page.locator("#turns :is(script, img, iframe, style, a, svg[onload])").count() == 0
    expect(turn(page, 1)).not_to_contain_text("49")


def test_the_policy_stops_what_would_run(open_page: Callable[..., Page], server: Server, findings: Findings) -> None:
    page = open_page()
    page.goto(server.url)
    expect(page.get_by_role("heading", name="Hello from the small bot.")).to_be_visible()
    findings.expect("Content Security Policy|TrustedHTML")
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>no</b>'")
    page.evaluate("document.body.append(Object.assign(document.createElement('style'), {textContent: '*{}'}))")
    assert "style-src-elem" in page.evaluate("violations")
    page.evaluate("violations.length = 0")


def test_a_topic_is_wished_for(page: Page) -> None:
    page.get_by_role("button", name="Topic").click()
    page.get_by_role("option", name="food").click()
    expect(page.get_by_role("button", name="Topic")).to_contain_text("food")
    page.reload()
    expect(page.get_by_role("button", name="Topic")).to_contain_text("food")


def test_too_long_a_message_is_held_back_in_the_page(page: Page) -> None:
    box = page.get_by_label("Your message")
    box.fill("🎬" * 4001)
    expect(page.locator("#count")).to_have_text("4,001 of 4,000 characters")
    page.keyboard.press("Enter")
    expect(box).not_to_have_value("")
    expect(page.get_by_role("button", name="Send")).to_have_attribute("aria-disabled", "true")
    box.fill("🎬" * 4000)
    page.keyboard.press("Enter")
    expect(turn(page, 1)).to_be_visible()


def test_refusals_are_said_in_the_page_and_lose_nothing(page: Page) -> None:
    page.get_by_label("Your message").fill("\u200b\u200b")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The message is empty")
    expect(page.get_by_label("Your message")).to_have_value("\u200b\u200b")
    say(page, FILM)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_unknown_conversation_says_so(page: Page, server: Server, findings: Findings) -> None:
    findings.expect("404")
    page.goto(f"{server.url}/c/nothing-of-that-name")
    expect(page.get_by_role("alert")).to_contain_text("no conversation at this address")
    page.get_by_role("button", name="Start a new one").click()
    expect(page.get_by_role("heading", name="Hello from the small bot.")).to_be_visible()
