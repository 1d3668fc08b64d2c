"""Whole builds of small dumps: from XML to the corpus, its funnel, its manifest and its report."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tertulia.artefact import read_manifest
from tertulia.corpus.model import Dialogue
from tertulia.corpus.store import Corpus
from tertulia.errors import ArtefactError, ConfigurationError, InputError, TertuliaError, UsageError
from tertulia.stackexchange.build import BuildResult, build_corpus
from tertulia.stackexchange.criteria import CRITERIA
from tertulia.stackexchange.options import BuildOptions

from ..log.conftest import environment
from .dumps import answer, comment, question, write_dump

USERS = [{"Id": 1, "DisplayName": "Ann"}, {"Id": 2, "DisplayName": "Bob"}, {"Id": 3, "DisplayName": "Cy"}]


def talk(first: int, end: str = "Thanks, great!", **more: Any) -> tuple[list[Any], list[Any]]:
    """A thread that meets all criteria: its posts and its comments."""
    day = f"2020-01-{1 + first % 28:02d}"
    posts = [question(first, 1, at=day, **more), answer(first + 1, first, 2, at=day)]
    said = [(1, "But how?"), (2, "Slowly."), (1, end)]
    return posts, [
        comment(10 * first + n, first + 1, user, text, at=f"{day}T13:00:0{n}") for n, (user, text) in enumerate(said)
    ]


def dump(folder: Path, *talks: tuple[list[Any], list[Any]], **tables: Any) -> Path:
    posts = [row for found, _ in talks for row in found]
    comments = [row for _, found in talks for row in found]
    return write_dump(folder, posts, comments, **{"users": USERS, **tables})


def built(tmp_path: Path, *dumps: Path, overwrite: bool = True, **options: Any) -> tuple[BuildResult, list[Dialogue]]:
    settings = BuildOptions(**{"cache": tmp_path / "cache", "workers": 1, **options})
    result = build_corpus(list(dumps), tmp_path / "out", settings, overwrite=overwrite)
    with Corpus(tmp_path / "out", check_digests=True) as corpus:
        return result, list(corpus.dialogues())


def steps(result: BuildResult) -> dict[str, tuple[int, int]]:
    return {step["step"]: (step["kept"], step["removed"]) for step in result.funnel}


def test_one_thread(tmp_path: Path) -> None:
    result, [dialogue] = built(tmp_path, dump(tmp_path / "beer_20200531", talk(1, AcceptedAnswerId=2)))
    assert dialogue.id == "beer-1-2"
    assert dialogue.split == "train"
    assert dialogue.texts == [
        "What is it?",
        "See the page (https://example.org/page).",
        "But how?",
        "Slowly.",
        "Thanks, great!",
    ]
    assert [u.attributes["author"] for u in dialogue.utterances] == ["Ann", "Bob", "Ann", "Bob", "Ann"]
    assert dialogue.utterances[1].attributes["is_answer"] == 1
    assert [step["step"] for step in result.funnel] == ["questions", "answers", "candidates", *CRITERIA, "dialogues"]
    assert steps(result)["dialogues"] == (1, 0)
    assert result.counts == {"dialogues": 1, "utterances": 5, "annotations": 0}


def test_each_criterion_removes_its_thread(tmp_path: Path) -> None:
    third = talk(100)
    third[1].append(comment(9_001, 101, 3, "Me too", at="2020-03-01"))
    short = talk(200)
    del short[1][:]
    ungrounded = talk(300)
    ungrounded[0][1] = answer(301, 300, 2, "<p>No link</p>")
    spam = talk(400)
    marked = talk(500, "Edit: thanks, great!")
    sad = talk(600, "This is terrible.")
    own = [question(700, 1), answer(701, 700, 1), answer(702, 999, 2)]
    path = dump(
        tmp_path / "beer", talk(1), third, short, ungrounded, spam, marked, sad, (own, []), votes=[
            {"Id": 1, "PostId": 401, "VoteTypeId": 12, "CreationDate": "2020-01-01T00:00:00.000"},
            {"Id": 2, "PostId": 1, "VoteTypeId": 2, "CreationDate": "2020-01-01T00:00:00.000"},
        ]
    )  # fmt: skip
    result, dialogues = built(tmp_path, path)
    assert [d.id for d in dialogues] == ["beer-1-2"]
    assert steps(result) == {
        "questions": (8, 0),
        "answers": (8, 1),
        "candidates": (7, 1),
        "two-users": (6, 1),
        "two-utterances-each": (5, 1),
        "grounded": (4, 1),
        "not-offensive": (3, 1),
        "not-edited": (2, 1),
        "positive-ending": (1, 1),
        "dialogues": (1, 0),
    }
    assert all(step["alone"] == 1 for step in result.funnel[3:9])
    few, dialogues = built(tmp_path, path, criteria=("positive-ending", "two-users"))
    assert list(steps(few))[3:] == ["positive-ending", "two-users", "dialogues"]
    assert len(dialogues) == 5
    _, everything = built(tmp_path, path, criteria=())
    assert len(everything) == 7
    third_person = next(d for d in everything if d.id == "beer-100-101").utterances[-1]
    assert (third_person.role, third_person.attributes["author"]) == (None, "Cy")


def test_edited_by_history(tmp_path: Path) -> None:
    talks = [talk(1), talk(100, "Edit: thanks, great!")]
    history = [{"Id": 1, "PostHistoryTypeId": 5, "PostId": 2, "CreationDate": "2020-01-01T00:00:00.000"}]
    path = dump(tmp_path / "beer", *talks, history=history)
    assert [d.id for d in built(tmp_path, path)[1]] == ["beer-1-2"]
    assert [d.id for d in built(tmp_path, path, edited="history")[1]] == ["beer-100-101"]


def test_edited_by_history_where_there_is_none(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1), talk(100, LastEditDate="2020-02-01T00:00:00.000"))
    result, dialogues = built(tmp_path, path, edited="history")
    assert [d.id for d in dialogues] == ["beer-1-2"]
    assert any("PostHistory.xml" in reason for reason in result.report.noted)


def test_several_sites_and_their_thresholds(tmp_path: Path) -> None:
    beer = dump(tmp_path / "beer", talk(1), talk(50, "ok"))
    other = dump(tmp_path / "mine_202001", talk(1), talk(50, "ok"))
    _, dialogues = built(tmp_path, beer, other, sites={"mine": "wine.stackexchange.com"}, thresholds={"wine": -1.0})
    assert [d.id for d in dialogues] == ["beer-1-2", "wine-1-2", "wine-50-51"]
    assert dialogues[1].attributes["url"] == "https://wine.stackexchange.com/a/2"
    with pytest.raises(ConfigurationError, match="no dump is of that domain; there are: beer, mine"):
        built(tmp_path, beer, other, thresholds={"wine": 0.1})


def test_splits_follow_time_and_keep_threads_together(tmp_path: Path) -> None:
    talks = [talk(number) for number in range(1, 57, 2)]
    more = answer(1_000, 1, 3, at="2021-01-01")
    talks[0][0].append(more)
    talks[0][1].extend(
        comment(5_000 + n, 1_000, user, "Thanks!", at=f"2021-02-0{1 + n}") for n, user in enumerate((1, 3, 1))
    )
    path = dump(tmp_path / "beer", *talks)
    _, dialogues = built(tmp_path, path)
    assert len(dialogues) == 29
    by_split: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        by_split.setdefault(str(dialogue.split), []).append(dialogue)
    assert {name: len(found) for name, found in by_split.items()} == {"train": 20, "dev": 5, "test": 4}
    last = {name: max(d.started_at for d in found if d.started_at) for name, found in by_split.items()}
    assert last["train"] <= last["dev"] <= last["test"]
    assert len({d.split for d in dialogues if d.attributes["thread"] == "beer-1"}) == 1
    assert {d.split for d in built(tmp_path, path, split=None)[1]} == {None}
    assert {d.split for d in built(tmp_path, path, split={"all": 1.0})[1]} == {"all"}


def test_the_manifest(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer_20200531", talk(1), votes=None)
    built(tmp_path, path, workers=2, criteria=("grounded",))
    manifest = read_manifest(tmp_path / "out")
    assert manifest.command == ["tertulia", "stackexchange", "build", "beer_20200531"]
    assert manifest.options["criteria"] == ["grounded"]
    assert not {"workers", "cache", "engine", "master", "keep"} & manifest.options.keys()
    assert [entry["name"] for entry in manifest.inputs] == [
        f"beer_20200531/{t}.xml" for t in ("Posts", "Comments", "Users")
    ]
    assert manifest.licence is not None
    assert manifest.licence.startswith("CC BY-SA")
    assert [step["step"] for step in manifest.details["funnel"]][-2:] == ["grounded", "dialogues"]
    assert "dumps without Votes.xml" in manifest.report["noted"]
    assert str(tmp_path) not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", *(talk(number) for number in range(1, 80, 2)))
    found = []
    for workers, cache in ((1, "one"), (2, "one"), (2, "two")):
        built(tmp_path, path, workers=workers, cache=tmp_path / cache)
        found.append({file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()})
    assert found[0] == found[1] == found[2]


def test_the_parsed_tables_are_kept_unless_told(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1))
    cache = tmp_path / "cache"
    built(tmp_path, path)
    kept = sorted(file for file in cache.rglob("*.parquet"))
    assert {file.parent.parent for file in kept} == {cache}
    assert not [entry for entry in cache.iterdir() if "build" in entry.name]
    stamps = {file: file.stat().st_mtime_ns for file in kept}
    built(tmp_path, path, criteria=())
    assert {file: file.stat().st_mtime_ns for file in kept} == stamps
    built(tmp_path, path, keep=False)
    assert not list(cache.glob("beer-*"))


def test_an_empty_site(tmp_path: Path) -> None:
    result, dialogues = built(tmp_path, write_dump(tmp_path / "beer"))
    assert dialogues == []
    assert {kept for kept, _ in steps(result).values()} == {0}


def test_malformed_rows(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1), ([question(90, 1) | {"Id": None}], []))
    with pytest.raises(InputError, match=r"Posts\.xml:5: "):
        built(tmp_path, path)
    assert not (tmp_path / "out").exists()
    result, dialogues = built(tmp_path, path, skip_bad=True)
    assert len(dialogues) == 1
    assert sum(finding.count for finding in result.report.skipped.values()) == 1


def test_the_output_is_looked_at_before_anything_is_read(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1))
    built(tmp_path, path)
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    (path / "Posts.xml").write_bytes(b"<posts>")
    with pytest.raises(ArtefactError, match="exists already"):
        built(tmp_path, path, overwrite=False)
    with pytest.raises(InputError):
        built(tmp_path, path)
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".part")]


@pytest.mark.parametrize(
    "options",
    [
        {"criteria": ("nice",)},
        {"criteria": ("grounded", "grounded")},
        {"text": "pdf"},
        {"edited": "perhaps"},
        {"engine": "abacus"},
        {"master": "spark://localhost:7077"},
        {"positive_threshold": 2.0},
        {"thresholds": {"beer": float("nan")}},
        {"split": {"train": 0.5}},
        {"split": {}},
        {"workers": 0},
    ],
    ids=str,
)
def test_options_that_do_not_hold(options: dict[str, Any]) -> None:
    with pytest.raises((ConfigurationError, UsageError)):
        BuildOptions(**options)


def test_a_cache_that_cannot_be_one(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1))
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(TertuliaError, match="cache"):
        built(tmp_path, path)
    assert not (tmp_path / "out").exists()


def test_a_cache_inside_the_output(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", talk(1))
    for cache in ("out", "out/cache"):
        with pytest.raises(ConfigurationError, match="inside the output"):
            built(tmp_path, path, cache=tmp_path / cache)
    assert not (tmp_path / "out").exists()


PROGRAM = """
import sys
from pathlib import Path
from tertulia.stackexchange import build
from tertulia.stackexchange.options import BuildOptions

class Stages(build.Silent):
    def narrowing(self, what):
        print(what, flush=True)

if __name__ == "__main__":
    options = BuildOptions(cache=Path(sys.argv[2]), workers=1)
    build.build_corpus([Path(sys.argv[1])], Path(sys.argv[3]), options, stages=Stages())
"""


def test_a_killed_build_leaves_nothing_and_the_next_goes_on(tmp_path: Path) -> None:
    path = dump(tmp_path / "beer", *(talk(number) for number in range(1, 80, 2)))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(path), str(tmp_path / "cache"), str(tmp_path / "out")]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    process.stdout.close()
    assert not (tmp_path / "out").exists()
    parsed = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").glob("*/part-*.parquet")}
    assert parsed
    _, dialogues = built(tmp_path, path)
    assert len(dialogues) == 40
    assert {file: file.stat().st_mtime_ns for file in parsed} == parsed
    left = [entry for folder in (tmp_path, tmp_path / "cache") for entry in os.listdir(folder) if ".part" in entry]
    assert left == []


def test_processes_end_with_the_build_that_started_them(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, os, time\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from tertulia.stackexchange.finish.pool import _prepare\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessPoolExecutor(1, multiprocessing.get_context('spawn'), _prepare, (None, None))\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, str(program)], env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait(timeout=60)
    process.stdout.close()
    end = time.monotonic() + 30
    while (
        Path(f"/proc/{child}").exists() and Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    ):
        assert time.monotonic() < end
        time.sleep(0.05)
