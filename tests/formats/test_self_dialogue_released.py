"""The released self-dialogue files, where they are present: what is known of them, to the last figure."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tertulia.corpus.exchange import Report
from tertulia.corpus.statistics.dialogues import corpus_statistics
from tertulia.formats.importing import export_corpus, import_corpus
from tertulia.formats.verification.publication import verify_corpus

from .amt import counts


@pytest.fixture
def released(data: Path) -> Path:
    source = data / "self_dialogue"
    if not source.is_dir():
        pytest.skip(f"the self-dialogue corpus is not at {source}")
    return source


@pytest.mark.data
def test_the_released_files_hold_what_is_known_of_them(released: Path, tmp_path: Path) -> None:
    with import_corpus("self-dialogue", str(released), tmp_path / "sd", Report()) as corpus:
        statistics = corpus_statistics(corpus)
        people = {dialogue.attributes["worker"] for dialogue in corpus.dialogues()}
        report = counts(corpus.manifest.report)
        empty = [dialogue for dialogue in corpus.dialogues() if not dialogue.utterances]
        recounted = verify_corpus(corpus)
    assert (statistics["dialogues"], statistics["utterances"], statistics["words"]) == (24_165, 372_718, 3_646_364)
    assert len(people) == 2_521
    assert len(empty) == 1
    assert report["rows read"] == 24_249
    assert report["rejected rows"] == 21
    assert report["rows by blocked workers"] == 63
    assert report["empty answers in all rows"] == 1_134
    assert report["rows that repeat another row's answers, those left out included"] == 59
    assert report["conversations with an empty answer in the middle"] == 3
    assert report["conversations without any answer"] == 1
    assert report["answers with a tab"] == 5
    assert report["blank answers"] == 2

    check_recount(recounted)


def check_recount(found: dict[str, Any]) -> None:
    assert (found["topics"], found["topics_met"]) == (18, 13)
    off = {
        figure["what"]: (figure["published"], figure["found"])
        for figure in found["figures"]
        if figure["measure"] == "conversations" and figure["difference"]
    }
    assert off == {
        "all topics": (24_283, 24_165),
        "Movies": (4_126, 4_125),
        "Disney": (2_331, 2_332),
        "Star Wars": (1_726, 1_728),
        "Music": (4_911, 4_914),
        "NFL Football": (2_801, 2_802),
    }
    [contradiction] = found["contradictions"]
    assert "141,945 turns" in contradiction
    assert "346,216" in contradiction
    assert found["misprints"] == ["the words of Horror are printed as “428,33”, read here as 42,833"]


@pytest.mark.data
def test_released_files_go_out_and_come_in_again(released: Path, tmp_path: Path) -> None:
    report = Report()
    # Fashion has an empty answer in the middle of a conversation.
    for topic in ("fashion", "action"):
        shutil.copytree(released / "corpus" / topic, tmp_path / "some" / "corpus" / topic)
    import_corpus("self-dialogue", str(tmp_path / "some"), tmp_path / "first", Report()).close()
    export_corpus("self-dialogue", tmp_path / "first", tmp_path / "again", report)
    assert report.skipped == {}
    import_corpus("self-dialogue", str(tmp_path / "again"), tmp_path / "sd", Report()).close()
    for table in ("dialogues", "utterances", "annotations"):
        assert (tmp_path / "sd" / f"{table}.parquet").read_bytes() == (
            tmp_path / "first" / f"{table}.parquet"
        ).read_bytes()
