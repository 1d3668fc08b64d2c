"""Take the pictures of the page that the documentation shows, with the starter bot: ``python docs/images/make.py``.

It needs Chromium, by ``CHROMIUM`` or on the path. The conversation is a real one; nothing in the pictures is staged but
what the user says.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from tertulia.bot.pipeline import Bot
from tertulia.bot.service import Conversations
from tertulia.bot.starter import starter_bot
from tertulia.log.store import LogStore
from tertulia.web.app import create_app

HERE = Path(__file__).parent
LAPTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
TALK = [
    "What's your favourite film?",
    "Mountains or the sea, for a holiday?",
    "I never understood jazz",
    "Tell me a joke",
]
EXPLAINED = 2


def say(page: Page, text: str) -> None:
    """Say something and wait for the reply."""
    turns = page.locator(".turn[data-turn]")
    number = turns.count() + 1
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    page.locator(f".turn[data-turn='{number}']").wait_for()


def picture(page: Page, name: str) -> None:
    """One picture, once fonts and movements have come to rest."""
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(500)
    page.screenshot(path=HERE / f"{name}.png")


def pictures(browser: Browser, url: str) -> None:
    """All pictures, of one conversation."""
    light = browser.new_page(viewport=LAPTOP, color_scheme="light", reduced_motion="reduce")
    light.goto(url)
    for text in TALK:
        say(light, text)
    light.locator(".turn[data-turn='2']").get_by_role("button", name="Good reply").click()
    light.get_by_label("Your message").focus()
    picture(light, "chat-light")
    light.locator(f".turn[data-turn='{EXPLAINED}']").get_by_role("button", name="Why?").click()
    light.locator(".source-turn.reply, .place").first.wait_for()
    picture(light, "chat-trace")
    dark = browser.new_page(viewport=LAPTOP, color_scheme="dark", reduced_motion="reduce")
    dark.goto(light.url)
    dark.locator(f".turn[data-turn='{len(TALK)}']").wait_for()
    picture(dark, "chat-dark")
    phone = browser.new_context(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True).new_page()
    phone.goto(light.url)
    phone.locator(f".turn[data-turn='{len(TALK)}']").wait_for()
    picture(phone, "chat-phone")


def main() -> None:
    """Serve the starter bot on a free port and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        parser.error("there is no chromium on the path; install it, or name one in CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        conversations = Conversations([Bot(starter_bot())], LogStore(f"sqlite:///{folder}/log.sqlite"))
        app = create_app(conversations, allowed_hosts=["127.0.0.1"])
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="websockets-sansio"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
                pictures(browser, f"http://127.0.0.1:{port}")
                browser.close()
        finally:
            server.should_exit = True
            thread.join()
            conversations.close()


if __name__ == "__main__":
    main()
