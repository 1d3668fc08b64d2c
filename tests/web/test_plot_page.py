"""A plot as a page, in a real browser: it draws itself with nothing from outside, and a nasty name stays text."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tertulia.artefact import Manifest
from tertulia.corpus.model import Record
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.corpus.statistics.figures import figure_of
from tertulia.corpus.statistics.plots import write_plot
from tertulia.corpus.store import write_corpus

from ..conftest import dialogue
from .browser import Findings

pytestmark = pytest.mark.browser
NASTY = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>"


def test_a_plot_draws_itself_with_nothing_from_outside(tmp_path: Path, browser: Browser, findings: Findings) -> None:
    records = [Record(dialogue(f"d{n}", ["one", "two"] * (n % 4 + 1), ["films", NASTY][n % 2])) for n in range(12)]
    with write_corpus(tmp_path / "c", records, Manifest("corpus")) as corpus:
        write_plot(figure_of(corpus_statistics(corpus), "domains"), NASTY, tmp_path / "plot.html")
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    context = browser.new_context(viewport={"width": 900, "height": 700})
    page = context.new_page()
    findings.watch(page)
    page.route(lambda url: not url.startswith("file:"), refuse)
    page.goto((tmp_path / "plot.html").as_uri())
    drawing = page.locator("svg, canvas").first
    expect(drawing).to_be_visible()
    box = drawing.bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert box["height"] > 100
    assert page.evaluate("window.hit") is None
    assert asked == []
    assert findings.unexpected == []
    assert findings.dialogs == []
    context.close()
