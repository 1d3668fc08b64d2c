"""The page in a real Chromium, against a real server process."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Error, Page, expect, sync_playwright

from tests.web.conftest import BROWSER_ARGUMENTS, Server

pytestmark = pytest.mark.browser

FILM = "what is your favourite film"
# What the browser says of requests while the server is away.
AWAY = "Failed to load resource|WebSocket connection"
CASABLANCA = "Casablanca, for the last scene at the airport. And yours?"


@dataclass
class Findings:
    """What a page must never have: errors in its console, scripts that a message brought in, dialogs."""

    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    expected: str | None = None

    def expect(self, pattern: str) -> None:
        """Some words in the console belong to what a test does: the browser reports every refused request."""
        self.expected = pattern

    @property
    def unexpected(self) -> list[str]:
        return [text for text in self.console if self.expected is None or not re.search(self.expected, text)]

    def watch(self, page: Page) -> None:
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("dialog", self._dismiss)
        page.add_init_script(
            "window.violations = [];"
            "addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));"
        )

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium's own remark when a page is left while its socket is still being opened.
        is_leaving = "closed before the connection is established" in message.text
        if message.type in {"error", "warning"} and not is_leaving:
            self.console.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def findings() -> Findings:
    return Findings()


@pytest.fixture
def open_page(browser: Browser, findings: Findings) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a context of its own with the options given; nothing they did may have gone wrong."""
    contexts: list[BrowserContext] = []

    def open_one(**options: object) -> Page:
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        findings.watch(page)
        return page

    yield open_one
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("violations") == []
        context.close()
    assert findings.dialogs == []
    assert findings.unexpected == []


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server) -> Page:
    page = open_page()
    page.goto(server.url)
    return page


def say(page: Page, text: str, number: int = 1) -> None:
    """Type and send a message, and wait for the reply to it."""
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    expect(turn(page, number)).to_be_visible()


def turn(page: Page, number: int):
    return page.locator(f".turn[data-turn='{number}']")


def reply(page: Page, number: int):
    return turn(page, number).locator(".bot .said")


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
    expect(page).to_have_url(re.compile(r"/c/[\w-]{22}$"))


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
    expect(page.get_by_role("status").filter(has_text="trying again")).to_be_visible()
    server.start()
    expect(page.get_by_role("status").filter(has_text="trying again")).to_have_count(0)
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


def test_by_keyboard_alone(page: Page) -> None:
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.type("a line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type(FILM)
    page.keyboard.press("Enter")
    expect(turn(page, 1)).to_be_visible()
    expect(page.get_by_label("Your message")).to_be_focused()

    page.keyboard.press("Shift+Tab")  # Back to the last reply.
    expect(turn(page, 1).get_by_role("button", name="Why?")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(turn(page, 1).get_by_role("button", name="Why?")).to_be_focused()

    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    expect(page.get_by_role("radio", name="5 human-like, interesting")).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="4 human-like, less interesting")).to_be_checked()
    page.keyboard.press("Escape")
    expect(turn(page, 1).get_by_role("button", name="Rated 4")).to_be_focused()

    page.get_by_role("button", name="Topic").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("t")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Topic")).to_contain_text("travel")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.press("ArrowUp")  # What was said last, to be changed.
    expect(page.get_by_label("Your message")).to_have_value(re.compile(FILM))


def test_focus_is_always_visible(page: Page) -> None:
    say(page, FILM)
    for _ in range(12):
        page.keyboard.press("Tab")
        outline = page.evaluate(
            "(() => { const e = document.activeElement.closest('.composer, .grade') ?? document.activeElement;"
            " const s = getComputedStyle(e); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'"
            " || e === document.body; })()"
        )
        assert outline, page.evaluate("document.activeElement.outerHTML")


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


def test_on_a_phone(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.goto(server.url)
    say(page, FILM)
    say(page, "w" * 400, 2)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    small = page.evaluate(
        "[...document.querySelectorAll('button, a, select')].filter((e) => e.offsetParent && e.className !== 'skip')"
        ".filter((e) => e.offsetWidth < 24 || e.offsetHeight < 24).map((e) => e.outerHTML)"
    )
    assert small == []
    turn(page, 1).get_by_role("button", name="Why?").tap()
    sheet = page.get_by_role("dialog", name="Why this reply?")
    expect(sheet.locator(".source-turn.reply")).to_be_visible()
    assert sheet.bounding_box()["width"] == 360
    page.touchscreen.tap(180, 30)  # Beside the sheet.
    expect(sheet).to_be_hidden()


CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const ground = (e) => {
    if (!e) return [255, 255, 255];
    const color = rgba(getComputedStyle(e).backgroundColor);
    return color[3] === 1 ? color.slice(0, 3) : over(color, ground(e.parentElement));
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest(".sr, .skip, noscript")) continue;
    const under = ground(e);
    const [a, b] = [light(over(rgba(getComputedStyle(e).color), under)), light(under)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(open_page: Callable[..., Page], server: Server, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.goto(server.url)
    expect(page.get_by_role("heading", name="Hello from the small bot.")).to_be_visible()
    texts = page.evaluate(CONTRAST)
    say(page, FILM)
    say(page, "xyzzy plugh", 2)
    turn(page, 1).get_by_role("button", name="Rate").click()
    page.get_by_role("radio", name="3 addresses part of the context").check()
    turn(page, 1).get_by_role("button", name="Why?").click()
    expect(page.locator(".step").first).to_be_visible()
    page.mouse.move(0, 0)
    texts += page.evaluate(CONTRAST)
    page.get_by_role("button", name="Topic").click()
    texts += page.evaluate(CONTRAST)
    page.goto(f"{server.url}/docs")
    expect(page.locator(".operation").first).to_be_visible()
    texts += page.evaluate(CONTRAST)
    assert len(texts) > 100
    assert [text for text in texts if text[0] < 4.5] == []


def test_dark_and_light_can_be_chosen(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page(color_scheme="light")
    page.goto(server.url)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    switch = page.get_by_role("button", name="Dark colours")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")  # The choice was the system's, so the page follows the system again.
    assert page.evaluate(ground) == dark


def test_the_reference_of_the_api(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/docs")
    expect(page.locator(".operation")).to_have_count(9)
    expect(page.locator("#chat_api_chat_post")).to_contain_text(f"curl -X POST {server.url}/api/chat")
    page.locator("#chat_api_chat_post summary").first.click()
    expect(page.locator("#chat_api_chat_post")).to_contain_text("elapsed_ms")


def test_nothing_comes_from_elsewhere(page: Page, server: Server) -> None:
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    page.reload()
    say(page, FILM)
    turn(page, 1).get_by_role("button", name="Why?").click()
    expect(page.locator(".step").first).to_be_visible()
    assert addresses
    assert [address for address in addresses if not address.startswith(server.url)] == []
