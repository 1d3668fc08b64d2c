"""``corpus stats`` and ``corpus plot`` as a user meets them."""

import json
from pathlib import Path

import pytest

from tertulia.artefact import Manifest
from tertulia.cli.main import main
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
from tertulia.corpus.statistics.figures import FIGURES
from tertulia.corpus.statistics.text_counts import TextCounts
from tertulia.corpus.store import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two domains, two splits, one layer of labels by two annotators and one of grades by one."""
    path = tmp_path_factory.mktemp("stats") / "talks"
    records = []
    for number in range(10):
        name = f"d{number}"
        utterances = [Utterance(i, i, "AB"[i % 2], f"this is number {i}") for i in range(number % 3 + 1)]
        notes = [
            Annotation(name, "intent", who, 0, label=["OQ", "PA", "OQ"][(number + shift * (number % 4 == 0)) % 3])
            for shift, who in enumerate(("ann", "bob"))
        ]
        notes.append(Annotation(name, "rating", "ann", None, value=float(number % 5 + 1)))
        split = "train" if number < 8 else "test"
        records.append(Record(Dialogue(name, utterances, ["films", "food"][number % 2], split), notes))
    write_corpus(path, records, Manifest("corpus")).close()
    return path


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prompts with one to three responses, each rated by two."""
    path = tmp_path_factory.mktemp("stats") / "rated"
    records = [
        RankingRecord(
            Context(f"c{n}", [Turn("user", "早上 好")], None, None, "train"),
            [
                Candidate(i, "你 也 好", 2.5 + i / 2, [Rating("1", 2.0 + n % 2), Rating("2", 3.0)])
                for i in range(n % 3 + 1)
            ],
        )
        for n in range(6)
    ]
    write_ranking_set(path, records, Manifest("ranking-set")).close()
    return path


def said(capfd: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> tuple[str, str]:
    """What a command prints on stdout and on stderr."""
    assert main([str(argument) for argument in arguments]) == code
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return out, err


def test_stats_of_a_corpus_at_a_glance(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, err = said(capfd, "corpus", "stats", corpus)
    assert err == ""
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:6] == [
        "dialogues 10",
        "utterances 19",
        "turns 19",
        "words 76 by white space",
        "vocabulary 6",
        "speakers 2",
    ]
    assert "words per utterance 4.00 4 4 4 4 0.00" in lines
    assert "films 5 10 40 6 2.00 2.00 4.00" in lines
    assert "test 2 4 16 6 2.00 2.00 4.00" in lines
    assert any(line.startswith("intent 20 2 α ") and "10 units" in line and "OQ" in line for line in lines)
    assert "rating 10 1 – mean 3.00, from 1 to 5" in lines
    assert max(map(len, out.splitlines())) <= 120


def test_stats_of_a_ranking_set_at_a_glance(ranking: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capfd, "corpus", "stats", ranking)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:5] == ["contexts 6", "candidates 12", "turns 6", "words 48 by white space", "vocabulary 4"]
    assert "about the words: the Chinese text is segmented already: its words stand between spaces" in lines
    assert "candidates per context 2.00 2 1 3 3 0.82" in lines
    assert any(line.startswith("ratings 24 2.75 2 – 3 α ") for line in lines)
    assert "2.5 6 50.0%" in lines


def test_json_has_what_the_document_says(corpus: Path, ranking: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    for path in (corpus, ranking):
        found = json.loads(said(capfd, "corpus", "stats", path, "--json")[0])
        for key in found:
            assert f"`{key}`" in document, key
        for block in (found["labels"] if path == corpus else {}).values():
            for key in block:
                assert f"`{key}`" in document, key
    assert {"dialogues", "utterances", "words", "speakers", "domains", "splits", "layers"} <= set(
        json.loads(said(capfd, "corpus", "stats", corpus, "--json")[0])
    )


def test_more_domains_than_fit_are_shown_in_part(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = [Record(Dialogue(f"d{n}", [Utterance(0, 0, "A", "hi")], f"domain {n % 20:02d}")) for n in range(30)]
    write_corpus(tmp_path / "c", made, Manifest("corpus")).close()
    out, err = said(capfd, "corpus", "stats", tmp_path / "c")
    assert out.count("domain ") - 1 == 12
    assert err == "the largest 12 of 20 domains; --json has them all\n"


def test_the_way_to_count_words_can_be_named(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capfd, "corpus", "stats", corpus, "--words", "chinese", "--json")[0])
    assert found["tokenizer"]["method"] == "rjieba"
    out, err = said(capfd, "corpus", "stats", corpus, "--words", "letters", code=1)
    assert out == ""
    assert err == "error: there is no way 'letters' to count words; expected one of auto, spaces, chinese\n"


def test_the_default_picture(corpus: Path, ranking: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    out, err = said(capfd, "corpus", "plot", corpus, "-o", tmp_path / "a.svg")
    assert (out, err) == (
        f"{tmp_path / 'a.svg'}: turns per dialogue, n = 10 dialogues · mean 1.90, median 2, largest 3\n",
        "",
    )
    assert "talks: Turns per dialogue" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    found = json.loads(
        said(capfd, "corpus", "plot", ranking, "-o", tmp_path / "b.svg", "--title", "Mornings", "--json")[0]
    )
    assert found["output"] == str(tmp_path / "b.svg")
    assert found["figure"] == "responses-per-prompt"
    assert [(bar["name"], bar["count"]) for bar in found["bars"]] == [("1", 2), ("2", 2), ("3", 2)]
    assert "Mornings: Responses per prompt" in (tmp_path / "b.svg").read_text(encoding="utf-8")


def test_labels_of_a_layer(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    options = ("corpus", "plot", corpus, "-o", tmp_path / "a.html", "--figure", "labels")
    assert "needs --layer; its layers are: intent, rating" in said(capfd, *options, code=1)[1]
    assert not (tmp_path / "a.html").exists()
    said(capfd, *options, "--layer", "intent")
    assert "exists already (--overwrite replaces it)" in said(capfd, *options, "--layer", "intent", code=1)[1]
    said(capfd, *options, "--layer", "intent", "--overwrite")


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [("a.gif", 2, "ending in .svg, .png or .html"), ("a", 2, "ending in .svg"), ("folder.svg", 1, "is a directory")],
)
def test_a_path_that_is_no_picture_is_refused_before_anything_is_counted(
    corpus: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr(TextCounts, "add", None)
    (tmp_path / "folder.svg").mkdir()
    out, err = said(capfd, "corpus", "plot", corpus, "-o", tmp_path / name, code=code)
    assert out == ""
    assert message in err


def test_what_is_no_corpus_is_said_in_one_line(
    small_bot: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for words in (["stats"], ["plot", "-o", str(tmp_path / "a.svg")]):
        _, err = said(capfd, "corpus", words[0], small_bot, *words[1:], code=1)
        assert err == f"error: {small_bot}: is a bot; expected a corpus or a ranking set\n"
        _, err = said(capfd, "corpus", words[0], tmp_path / "nothing", *words[1:], code=1)
        assert err == f"error: {tmp_path / 'nothing'}: there is nothing at this path\n"


def test_help_and_document_name_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    text = "".join(said(capfd, "corpus", "plot", "--help")[0].split())
    document = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    for names in FIGURES.values():
        for name in names:
            assert name in text
            assert f"`{name}`" in document
