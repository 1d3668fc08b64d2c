"""``tertulia corpus clean`` as it is typed."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tertulia.artefact import Manifest
from tertulia.cli.corpus_clean import CLEAN_EPILOG, clean
from tertulia.corpus.store import Corpus, write_corpus
from tertulia.errors import TertuliaError

from .makers import record

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command("clean", epilog=CLEAN_EPILOG)(clean)


def typed(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    records = [record("a", "write to a@example.com", "no thanks"), record("b", "what the fuck", "calm down please")]
    write_corpus(tmp_path / "in", records, Manifest("corpus"))
    return tmp_path / "in"


def test_it_prints_what_was_found(corpus: Path, tmp_path: Path) -> None:
    code, out, err = typed(corpus, "-o", tmp_path / "out", "--filters", "offensive:drop,personal:mask,short")
    assert code == 0
    assert out.splitlines()[0] == f"{tmp_path / 'out'}: 1 of 2 dialogues kept, 1 dropped"
    rows = [line.split() for line in out.splitlines()[4:7]]
    assert rows == [
        ["offensive", "drop", "profanity", "1", "b,", "utterance", "0"],
        ["personal", "mask", "e-mail", "1", "a,", "utterance", "0"],
        ["short", "mark", "–", "0"],
    ]
    assert "1 dialogues dropped by offensive" in out
    assert "1 spans masked; 0 annotations moved with them, 0 were clipped" in out
    assert "Traceback" not in err


def test_json_has_what_the_table_has(corpus: Path, tmp_path: Path) -> None:
    code, out, _ = typed(corpus, "-o", tmp_path / "out", "--filters", "offensive", "--language", "en", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["output"] == str(tmp_path / "out")
    assert (found["read"], found["kept"], found["unit"], found["language"]) == (2, 2, "dialogues", "en")
    assert found["filters"] == [
        {
            "filter": "offensive",
            "action": "mark",
            "count": 1,
            "kinds": {"profanity": {"count": 1, "first": "b, utterance 0"}},
        }
    ]


def test_marks_are_applied(corpus: Path, tmp_path: Path) -> None:
    typed(corpus, "-o", tmp_path / "marked", "--filters", "offensive,personal")
    code, out, _ = typed(tmp_path / "marked", "-o", tmp_path / "out", "--apply", "drop", "--filters", "offensive")
    assert code == 0
    assert [item.dialogue.id for item in Corpus(tmp_path / "out").records()] == ["a"]
    assert "1 dialogues dropped by offensive" in out
    code, out, _ = typed(tmp_path / "marked", "-o", tmp_path / "none", "--apply", "drop", "--reviewed")
    assert "2 of 2 dialogues kept" in out
    assert "No mark was acted upon." in out


def test_the_filters_are_listed(corpus: Path) -> None:
    code, out, _ = typed("--list")
    assert code == 0
    assert all(name in out for name in ("offensive", "personal.regions", "duplicates.threshold"))
    found = json.loads(typed("--list", "--json")[1])
    assert found["short"]["settings"]["words"]["default"] == 2
    assert found["personal"]["masks"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "x"], "needs DIR and -o DIR"),
        (["x"], "needs DIR and -o DIR"),
        (["x", "-o", "y"], "needs --filters"),
        (["x", "-o", "y", "--filters", "short", "--reviewed"], "--reviewed goes with --apply"),
        (["x", "-o", "y", "--filters", "short:drop", "--apply", "drop"], "takes names of filters only"),
        (["x", "-o", "y", "--apply", "drop", "--set", "short.words=3"], "takes names of filters only"),
        (["x", "-o", "y", "--filters", "shrt"], "there is no filter 'shrt'"),
        (["x", "-o", "y", "--filters", "short"], "there is nothing at this path"),
    ],
)
def test_what_is_typed_wrongly_is_said(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TertuliaError, match=message):
        typed(*words)
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example() -> None:
    assert "Example: tertulia corpus clean" in " ".join(typed("--help")[1].split())
