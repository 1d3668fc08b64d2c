"""The page in a real Chromium: by keyboard, on a phone, in light and dark, for every eye."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser import FILM, say, turn
from tests.web.conftest import Server

pytestmark = pytest.mark.browser


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
