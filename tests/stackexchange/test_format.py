"""A dump as a format of ``corpus import``."""

from pathlib import Path

import pytest

from tertulia.corpus.exchange import Report
from tertulia.corpus.store import Corpus
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.importing import import_corpus

from .test_build import built, dump, talk


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def test_an_import_is_the_build_under_another_name(tmp_path: Path) -> None:
    source = dump(tmp_path / "beer_20200531", talk(1, AcceptedAnswerId=2), talk(11), talk(21, end="No."))
    _, dialogues = built(tmp_path, source)
    report = Report()
    imported = import_corpus("stackexchange", str(source), tmp_path / "imported", report)
    assert len(dialogues) == 2
    assert list(imported.dialogues()) == dialogues
    assert report.noted["exact duplicates of another conversation"].count == 1
    assert imported.manifest.inputs[0]["name"] == "beer_20200531"


def test_the_options_of_a_build(tmp_path: Path) -> None:
    source = dump(tmp_path / "old", talk(1, end="No."), votes=None)
    values = {"criteria": "two-users, grounded", "text": "html", "site": "tea.stackexchange.com"}
    report = Report()
    import_corpus("stackexchange", str(source), tmp_path / "imported", report, values=values)
    with Corpus(tmp_path / "imported") as corpus:
        [dialogue] = corpus.dialogues()
    assert dialogue.domain == "tea"
    assert "<" in dialogue.texts[1]
    assert report.noted["dumps without Votes.xml"].count == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("criteria", "pretty", "no criterion 'pretty'"),
        ("text", "latex", "text is 'latex'"),
        ("positive_threshold", "high", "expected a score from -1 to 1"),
    ],
)
def test_options_that_do_not_hold(tmp_path: Path, name: str, value: str, message: str) -> None:
    source = dump(tmp_path / "beer", talk(1))
    with pytest.raises(ConfigurationError, match=message):
        import_corpus("stackexchange", str(source), tmp_path / "imported", Report(), values={name: value})
    assert not (tmp_path / "imported").exists()


def test_a_dump_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"Posts\.xml"):
        import_corpus("stackexchange", str(tmp_path / "empty"), tmp_path / "imported", Report())
