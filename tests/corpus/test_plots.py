"""Figures and their pictures: what they show is what the statistics say, and a page needs nothing from outside."""

import builtins
import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import Manifest
from tertulia.corpus.model import (
    Annotation,
    Candidate,
    Context,
    Dialogue,
    RankingRecord,
    Rating,
    Record,
    Turn,
    Utterance,
)
from tertulia.corpus.ranking_set import write_ranking_set
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.corpus.statistics.figures import FIGURES, Bar, Figure, figure_of
from tertulia.corpus.statistics.plots import check_target, specification, write_plot
from tertulia.corpus.statistics.ranking import ranking_statistics
from tertulia.corpus.statistics.tally import Tally
from tertulia.corpus.store import write_corpus
from tertulia.errors import ConfigurationError, InputError, MissingExtraError, TertuliaError, UsageError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The statistics of a small corpus with intents by two annotators and ratings by one."""
    made = []
    for n in range(12):
        utterances = [Utterance(i, i, "AB"[i % 2], "word " * (i + 1)) for i in range(n % 4 + 1)]
        notes = [Annotation(f"d{n:02d}", "intent", who, 0, label="OQ") for who in ("ann", "bob")]
        notes += [Annotation(f"d{n:02d}", "intent", "ann", 0, label="FD")] if n % 3 == 0 else []
        notes += [Annotation(f"d{n:02d}", "rating", "ann", None, value=float(n % 5 + 1))]
        made.append(Record(Dialogue(f"d{n:02d}", utterances, ["films", "食物"][n % 2], ["train", "dev"][n % 2]), notes))
    with write_corpus(tmp_path_factory.mktemp("c") / "c", made, Manifest("corpus")) as opened:
        return corpus_statistics(opened)


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The statistics of a small ranking set with mean ratings."""
    made = [
        RankingRecord(
            Context(f"c{n}", [Turn("user", "good morning")], None, "talk", "train"),
            [Candidate(i, "morning", 1 + (n + i) % 9 / 2, [Rating("ann", 3.0)]) for i in range(n % 3 + 1)],
        )
        for n in range(9)
    ]
    with write_ranking_set(tmp_path_factory.mktemp("r") / "r", made, Manifest("ranking-set")) as opened:
        return ranking_statistics(opened)


def bars(figure: Figure) -> dict[str, int]:
    return {bar.name: bar.count for bar in figure.bars}


def test_figures_show_what_the_statistics_say(corpus: dict[str, Any], ranking: dict[str, Any]) -> None:
    assert bars(figure_of(corpus)) == corpus["turns_per_dialogue"]["histogram"]
    assert bars(figure_of(corpus, "words-per-utterance")) == corpus["words_per_utterance"]["histogram"]
    assert bars(figure_of(corpus, "domains")) == corpus["domains"]
    assert bars(figure_of(corpus, "splits")) == corpus["splits"]
    assert bars(figure_of(ranking)) == ranking["candidates_per_context"]["histogram"]
    ratings = figure_of(ranking, "rating-distribution")
    assert bars(ratings) == ranking["relevance"]["values"]
    assert sum(bar.share for bar in ratings.bars) == pytest.approx(1)
    assert ratings.sample == "n = 18 responses · mean 3.00"


def test_intents_are_shares_of_utterances(corpus: dict[str, Any]) -> None:
    figure = figure_of(corpus, "intents")
    assert [(bar.name, bar.count, round(bar.share, 3)) for bar in figure.bars] == [("OQ", 24, 1.0), ("FD", 4, 0.167)]
    assert figure.sample == "n = 24 answers of 2 annotators on 12 places"


def test_labels_stand_side_by_side_for_each_annotator(corpus: dict[str, Any]) -> None:
    figure = figure_of(corpus, "labels", layer="intent")
    assert [(bar.series, bar.name, bar.count) for bar in figure.bars] == [
        ("ann", "OQ", 12), ("ann", "FD", 4), ("bob", "OQ", 12), ("bob", "FD", 0),
    ]  # fmt: skip
    values = figure_of(corpus, "labels", layer="rating")
    assert values.ordered
    assert bars(values) == {"1": 3, "2": 3, "3": 2, "4": 2, "5": 2}


@pytest.mark.parametrize(
    ("name", "layer", "message"),
    [
        ("nonsense", None, "a corpus has no figure 'nonsense'; expected one of turns-per-dialogue, "),
        ("labels", None, "needs --layer; its layers are: intent, rating"),
        ("labels", "mood", "has no layer 'mood'; its layers are: intent, rating"),
        ("domains", "intent", "--layer goes with 'labels' and 'intents'"),
    ],
)
def test_what_cannot_be_drawn_is_said(corpus: dict[str, Any], name: str, layer: str | None, message: str) -> None:
    with pytest.raises((ConfigurationError, InputError), match=message):
        figure_of(corpus, name, layer=layer)


def test_an_empty_corpus_has_no_figures(tmp_path: Path) -> None:
    with write_corpus(tmp_path / "c", [], Manifest("corpus")) as opened:
        empty = corpus_statistics(opened)
    with write_ranking_set(tmp_path / "r", [], Manifest("ranking-set")) as opened_set:
        empty_set = ranking_statistics(opened_set)
    for statistics in (empty, empty_set):
        for name in FIGURES[statistics["kind"]]:
            with pytest.raises(TertuliaError, match=r"has no|have no|layers are: none"):
                figure_of(statistics, name)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 50), st.integers(0, 100_000)), min_size=1, max_size=60))
def test_bars_of_a_histogram_lose_nothing_and_are_few(numbers: list[int]) -> None:
    import numpy as np

    tally = Tally()
    tally.add(np.array(numbers))
    figure = figure_of({"kind": "corpus", "words_per_utterance": tally.summary()}, "words-per-utterance")
    assert sum(bar.count for bar in figure.bars) == len(numbers)
    assert sum(bar.share for bar in figure.bars) == pytest.approx(1)
    assert len(figure.bars) <= 41
    assert len({bar.name for bar in figure.bars}) == len(figure.bars)
    for bar in figure.bars:
        low, _, high = bar.name.replace(",", "").partition("–")
        if low.endswith("+"):
            inside = [n for n in numbers if n >= int(low[:-1])]
        else:
            inside = [n for n in numbers if int(low) <= n <= int(high or low)]
        assert len(inside) == bar.count, bar


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 5), min_size=1, max_size=80))
def test_bars_of_ratings_lose_nothing(values: dict[float, int]) -> None:
    listed = {repr(value): count for value, count in sorted(values.items())}
    block = {"number": sum(values.values()), "values": listed, "mean": 0.0}
    figure = figure_of({"kind": "ranking-set", "relevance": block}, "rating-distribution")
    assert sum(bar.count for bar in figure.bars) == sum(values.values())
    assert len(figure.bars) <= 41


def test_bars_of_many_ratings_have_round_edges() -> None:
    listed = {f"{n / 100:g}": 1 for n in range(101)}
    block = {"number": 101, "values": listed, "mean": 0.5}
    figure = figure_of({"kind": "ranking-set", "relevance": block}, "rating-distribution")
    assert [bar.name for bar in figure.bars][:3] == ["0–0.1", "0.1–0.2", "0.2–0.3"]
    assert [bar.count for bar in figure.bars] == [10] * 10 + [1]


def test_too_many_names_end_in_one_bar() -> None:
    counts = {f"domain {n:02d}": 100 - n for n in range(40)}
    figure = figure_of({"kind": "corpus", "domains": counts}, "domains")
    assert len(figure.bars) == 26
    assert figure.bars[0] == Bar("domain 00", 100, 100 / sum(counts.values()))
    assert figure.bars[-1].name == "(15 others)"
    assert sum(bar.count for bar in figure.bars) == sum(counts.values())


# -- pictures ---------------------------------------------------------------------------------------------------------

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
NASTY = "</script><script>alert(1)</script>"


@pytest.mark.parametrize("name", FIGURES["corpus"])
def test_every_figure_of_a_corpus_is_drawn(corpus: dict[str, Any], tmp_path: Path, name: str) -> None:
    layer = "intent" if name == "labels" else None
    figure = figure_of(corpus, name, layer=layer)
    write_plot(figure, "Small talk", tmp_path / "a.svg")
    text = picture_text(tmp_path / "a.svg")
    assert f"Small talk: {figure.heading}" in text
    assert figure.sample in text
    assert figure.up in text
    assert figure.across in text
    for bar in figure.bars:
        assert bar.name in text


@pytest.mark.parametrize("name", FIGURES["ranking-set"])
def test_every_figure_of_a_ranking_set_is_drawn(ranking: dict[str, Any], tmp_path: Path, name: str) -> None:
    figure = figure_of(ranking, name)
    write_plot(figure, "Talk", tmp_path / "a.svg")
    assert f"Talk: {figure.heading}" in picture_text(tmp_path / "a.svg")


def picture_text(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_the_same_figure_gives_the_same_bytes(corpus: dict[str, Any], tmp_path: Path) -> None:
    figure = figure_of(corpus, "words-per-utterance")
    for kind in ("svg", "png", "html"):
        for name in ("a", "b"):
            write_plot(figure, "Talk", tmp_path / f"{name}.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.png", "a.svg", "b.html", "b.png", "b.svg"]


def test_a_png_is_large_enough_to_print(corpus: dict[str, Any], tmp_path: Path) -> None:
    write_plot(figure_of(corpus), "Talk", tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1_200
    assert height > 600


def test_a_page_needs_nothing_from_outside_and_runs_nothing_of_the_corpus(
    corpus: dict[str, Any], tmp_path: Path
) -> None:
    write_plot(figure_of(corpus), "Talk", tmp_path / "good.html")
    write_plot(figure_of(corpus), NASTY, tmp_path / "nasty.html")
    good, nasty = (tmp_path / "good.html").read_text("utf-8"), (tmp_path / "nasty.html").read_text("utf-8")
    assert good.count("</script>") == nasty.count("</script>")
    assert "<title>Talk: Turns per dialogue</title>" in good
    for page in (good, nasty):
        assert re.findall(r"<(?:script|link|iframe)\b[^>]*\b(?:src|href)\s*=", page) == []
        assert not re.search(r"(?:cdn|unpkg|jsdelivr|googleapis)", page)
        assert "import(" not in re.sub(r"[\w.$]import\(", "", page)
    assert NASTY not in nasty


def test_a_layer_called_image_does_not_make_its_labels_addresses(corpus: dict[str, Any]) -> None:
    statistics = {**corpus, "labels": {"image": corpus["labels"]["intent"]}}
    spec = specification(figure_of(statistics, "labels"), "x")
    titles = {
        field["title"] for layer in spec["layer"] for field in layer["encoding"].get("tooltip", ()) if "title" in field
    }
    assert titles == {"annotator", "name", "number"}


def test_names_that_mean_something_to_vega_are_only_names(tmp_path: Path) -> None:
    counts = {"a.b": 1, "a[0]": 2, "datum.x": 3, "": 4, "line\nbreak": 5, "a" * 500: 6, "<b>&amp;": 7}
    figure = figure_of({"kind": "corpus", "domains": counts}, "domains")
    write_plot(figure, "x", tmp_path / "a.svg")
    text = picture_text(tmp_path / "a.svg")
    assert {"a.b", "a[0]", "datum.x", "<b>&amp;"} <= set(text)
    json.dumps(specification(figure, "x"))


def test_a_picture_replaces_only_a_file_and_only_when_told_to(corpus: dict[str, Any], tmp_path: Path) -> None:
    figure = figure_of(corpus)
    write_plot(figure, "one", tmp_path / "a.svg")
    before = (tmp_path / "a.svg").read_bytes()
    with pytest.raises(InputError, match=r"exists already .--overwrite replaces it"):
        write_plot(figure, "two", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() == before
    write_plot(figure, "two", tmp_path / "a.svg", overwrite=True)
    assert (tmp_path / "a.svg").read_bytes() != before
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        check_target(tmp_path / "folder.svg", overwrite=True)
    with pytest.raises(UsageError, match=r"ending in .svg, .png or .html"):
        check_target(tmp_path / "a.gif")
    with pytest.raises(TertuliaError, match="a part of its path is a file"):
        write_plot(figure, "x", tmp_path / "a.svg" / "b.svg")
    assert check_target(tmp_path / "b.PNG") == ".png"


def test_without_the_package_the_error_names_it(
    corpus: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtraError, match=r"drawing plots needs the package 'vl-convert-python'.*tertulia\[full\]"
    ):
        write_plot(figure_of(corpus), "x", tmp_path / "a.svg")
    assert list(tmp_path.iterdir()) == []
