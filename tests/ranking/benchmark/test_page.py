"""The page of a benchmark in a real browser: it shows itself with nothing from outside, in light and dark, on a phone too."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tertulia.ranking.benchmark.options import BenchmarkOptions
from tertulia.ranking.benchmark.run import run_benchmark

from ..rankers.made import example, made_splits
from ..sets import write_examples

pytestmark = pytest.mark.browser
NASTY = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'><svg onload='window.hit = 3'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    splits = made_splits(2, train=20, dev=8, test=8, odd=False)
    parts = zip(("train", "dev", "test"), splits[:3], strict=True)
    examples = [(each, name) for name, part in parts for each in part]
    # Where every system fails: the good response is the shortest, and has no word of the prompt.
    examples.append((example("test-hard", [NASTY, "p q r s"], ["x", f"p q r s {NASTY}"], [5.0, 1.0]), "test"))
    options = BenchmarkOptions(
        rankers=("length", "bm25"), seeds=1, trials=1, replicates=50, permutations=100, cache=folder / "cache"
    )
    run_benchmark(write_examples(folder / NASTY[-9:-2], examples), folder / "out", options)
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium on the path; install it, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_shows_itself_and_nothing_runs(report: Path, chromium: Browser, scheme: str, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert said == []
    assert asked == [report.as_uri()]
    assert page.evaluate("window.hit") is None
    # What is wide scrolls by itself; the page does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawings = page.locator("figure svg")
    assert drawings.count() >= 4
    colours = page.evaluate(
        "['svg text', 'body'].map((name) => { const style = getComputedStyle(document.querySelector(name));"
        " return name === 'body' ? style.backgroundColor : style.fill; })"
    )
    text, ground = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
    assert (text < ground) == (scheme == "light")
    assert page.get_by_text("0 of 1 right").first.is_visible() or page.get_by_text("0 of 2 right").first.is_visible()
    hard = page.locator("details", has_text="test-hard")
    assert NASTY in (hard.locator(".turns").text_content() or "")
    links = page.locator("nav a").evaluate_all("all => all.map((each) => !!document.querySelector(each.hash))")
    assert len(links) >= 5
    assert all(links)
    context.close()
