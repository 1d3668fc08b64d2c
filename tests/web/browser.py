"""What the browser tests share: words for what one does in the page, and a watch on what must not happen."""

import re
from dataclasses import dataclass, field

from playwright.sync_api import ConsoleMessage, Dialog, Locator, Page, expect

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


def say(page: Page, text: str, number: int = 1) -> None:
    """Type and send a message, and wait for the reply to it."""
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    expect(turn(page, number)).to_be_visible()


def turn(page: Page, number: int) -> Locator:
    return page.locator(f".turn[data-turn='{number}']")


def reply(page: Page, number: int) -> Locator:
    return turn(page, number).locator(".bot .said")
