"""A benchmark goes on when its systems fail, goes on where it was killed, and gives the same bytes for the same seed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tertulia.artefact import verify
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.benchmark.options import BenchmarkOptions
from tertulia.ranking.benchmark.run import BENCHMARK, Benchmark, run_benchmark
from tertulia.ranking.benchmark.writing import COST_FILES, table_json

from ..rankers.made import example, made_splits
from ..sets import write_examples, write_made_set
from .plugins import install

QUICK = BenchmarkOptions(
    rankers=("random", "length"), seeds=2, trials=1, replicates=50, permutations=200, sentence_model="none"
)


def options(tmp_path: Path, **changes: object) -> BenchmarkOptions:
    fields = {name: getattr(QUICK, name) for name in QUICK.__dataclass_fields__}
    return BenchmarkOptions(**{**fields, "cache": tmp_path / "cache", **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_set(tmp_path_factory.mktemp("set") / "made")


def files(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_fails_is_reported_and_the_rest_go_on(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(tmp_path / "plugins", monkeypatch)
    bad = ["crashing", "raising", "leaving", "needing", "unfinished", "silent", "short", "huge"]
    said: list[str] = []
    found = run_benchmark(
        made,
        tmp_path / "out",
        options(tmp_path, rankers=("length", "peeking", "chatty", *bad), seeds=1),
        say=said.append,
    )
    assert [result.name for result in found.results] == ["length", "chatty", "peeking"]
    assert list(found.left_out) == ["needing"]
    assert "wonder" in found.left_out["needing"]
    reasons = {failure.system: failure.reason for failure in found.failures}
    assert sorted(reasons) == sorted(set(bad) - {"needing"})
    assert "SIGSEGV" in reasons["crashing"]
    assert reasons["raising"] == "ValueError: no more"
    assert "exit code 3" in reasons["leaving"]
    assert "finite" in reasons["unfinished"]
    assert "no scores for the context" in reasons["silent"]
    assert "6 scores of the context" in reasons["short"]
    assert reasons["huge"] == "ran out of memory"
    assert all("\n" not in reason for reason in reasons.values())
    # Relevance is hidden from who scores: looking at it gives what equal scores give.
    peeking = found.results[-1]
    assert found.held.means[2].tolist() == pytest.approx(ties_alone(found), abs=1e-12)
    assert not peeking.outside
    saved = json.loads((tmp_path / "out" / "systems.json").read_bytes())
    assert set(saved["systems"]) == {"length", "peeking", "chatty"}
    assert {each["system"] for each in saved["failed"]} == set(reasons)
    assert saved["left_out"] == found.left_out
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "What is not in the table" in html
    assert "SIGSEGV" in html
    manifest = verify(tmp_path / "out", BENCHMARK)
    assert manifest.counts["systems"] == 3
    assert folder.exists()
    # The process of the ranker that crashed has left its last words.
    assert any("Traceback" in log.read_text() for log in (tmp_path / "cache" / "logs").glob("raising-*"))


def ties_alone(found: Benchmark) -> list[float]:
    protocol = found.plan.protocol
    kept = {"scores": np.zeros(sum(map(len, found.plan.splits.test)))}
    return np.nanmean(protocol.measured(found.plan.measures, kept, protocol.relevances), axis=1).tolist()


def test_a_system_that_hangs_is_ended_with_all_that_it_started(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(tmp_path / "plugins", monkeypatch)
    found = run_benchmark(
        made, tmp_path / "out", options(tmp_path, rankers=("length", "hanging"), seeds=3, limit_minutes=0.15)
    )
    assert [result.name for result in found.results] == ["length"]
    # It would take as long with every seed, so that it is not tried again.
    [failure] = found.failures
    assert "limit of 0.15 minutes" in failure.reason
    for pid in map(int, (folder / "hanging.pids").read_text().split()):
        assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process is there and runs; one that only waits for its parent to take note of its end does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


PROGRAM = """\
import sys
from pathlib import Path
from tertulia.ranking.benchmark.options import BenchmarkOptions
from tertulia.ranking.benchmark.run import run_benchmark

source, output, cache, gate = sys.argv[1:]
options = BenchmarkOptions(
    rankers=("length", "waiting"), seeds=2, trials=1, replicates=50, permutations=200, sentence_model="none", cache=Path(cache),
    settings={"waiting": {"gate": gate}},
)
run_benchmark(source, output, options, say=lambda line: print(line, flush=True))
"""


def test_a_benchmark_that_was_killed_goes_on_where_it_was(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install(tmp_path / "plugins", monkeypatch)
    gate = tmp_path / "gate"
    path = os.pathsep.join([str(folder), *sys.path])
    arguments = [sys.executable, "-c", PROGRAM, str(made), str(tmp_path / "out"), str(tmp_path / "cache"), str(gate)]
    process = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
    waiting = gate.with_suffix(".1")
    wait_for(waiting.exists)
    wait_for(lambda: waiting.read_text() != "")
    worker = int(waiting.read_text())
    assert alive(worker)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    # Its worker ends by itself, and there is no half of an artefact.
    wait_for(lambda: not alive(worker))
    assert not (tmp_path / "out").exists()
    gate.with_suffix(".open").touch()
    said: list[str] = []
    found = run_benchmark(
        made,
        tmp_path / "out",
        options(tmp_path, rankers=("length", "waiting"), settings={"waiting": {"gate": str(gate)}}),
        say=said.append,
    )
    assert [line for line in said if "there already" in line] == [
        "length, seed 0: there already",
        "length, seed 1: there already",
        "waiting, seed 0: there already",
    ]
    assert sum("waiting, seed 1: fitted" in line for line in said) == 1
    assert len(found.results) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def wait_for(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_same_seed_gives_the_same_files_to_the_last_byte(made: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        run_benchmark(
            made,
            tmp_path / name,
            options(tmp_path, rankers=("random", "bm25"), cache=tmp_path / f"cache-{name}"),
        )
        found.append(files(tmp_path / name))
    one, two = found
    assert list(one) == list(two)
    differing = {name for name in one if one[name] != two[name]}
    assert differing <= {*COST_FILES, "manifest.json"}
    assert {"table.md", "table.csv", "table.tex", "per_context.parquet", "systems.json"} <= set(one)
    other = run_benchmark(made, tmp_path / "three", options(tmp_path, rankers=("random",), seeds=1, seed=7))
    assert files(tmp_path / "three")["table.csv"] != one["table.csv"]
    assert [result.seeds for result in other.results] == [[7]]


def test_values_of_every_context_are_kept_and_give_the_means(made: Path, tmp_path: Path) -> None:
    found = run_benchmark(made, tmp_path / "out", options(tmp_path))
    rows = pq.read_table(tmp_path / "out" / "per_context.parquet").to_pylist()
    comparison = found.held
    assert len(rows) == 2 * 2 * len(comparison.measures) * len(comparison.contexts)
    table = table_json(found)
    for system in ("random", "length"):
        for measure in map(str, comparison.measures):
            values = [row["value"] for row in rows if (row["system"], row["measure"]) == (system, measure)]
            mean = np.mean([value for value in values if value is not None])
            assert table["systems"][system][measure]["mean"] == pytest.approx(mean, abs=1e-12)
            low, high = (table["systems"][system][measure][end] for end in ("low", "high"))
            assert low <= mean <= high
            assert values.count(None) == 2 * table["contexts"][measure]["left_out"]
    json.dumps(table, allow_nan=False)


def test_runs_are_kept_and_come_back_as_those_of_an_outside_system(made: Path, tmp_path: Path) -> None:
    first = run_benchmark(made, tmp_path / "out", options(tmp_path, rankers=("length",), seeds=1))
    runs = {"their-system": tmp_path / "out" / "runs" / "length-0.run"}
    second = run_benchmark(made, tmp_path / "again", options(tmp_path, rankers=("length",), seeds=1, runs=runs))
    assert second.held.systems == ("length", "their-system")
    assert second.held.means[1].tolist() == first.held.means[0].tolist() == second.held.means[0].tolist()
    assert set(second.held.letters[0]) == {"a"}
    only = run_benchmark(made, tmp_path / "only", options(tmp_path, rankers=(), runs=runs))
    assert only.held.systems == ("their-system",)
    assert "their-system" in (tmp_path / "only" / "table.md").read_text(encoding="utf-8")


def test_contexts_that_a_run_does_not_answer_count_nothing(made: Path, tmp_path: Path) -> None:
    run_benchmark(made, tmp_path / "out", options(tmp_path, rankers=("length",), seeds=1))
    lines = (tmp_path / "out" / "runs" / "length-0.run").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("test-1")]
    (tmp_path / "part.run").write_text("".join(kept), encoding="utf-8")
    found = run_benchmark(
        made, tmp_path / "again", options(tmp_path, rankers=("length",), seeds=1, runs={"part": tmp_path / "part.run"})
    )
    missing = [number for number, name in enumerate(found.held.contexts) if name.startswith("test-1")]
    values = found.held.values[1][:, missing]
    assert len(missing) == 11
    assert np.nanmax(values) == 0
    assert "11 of 20 contexts have no answer" in found.results[1].note
    assert found.held.means[1].max() < found.held.means[0].max()


def test_what_is_wrong_is_said_before_anything_is_fitted(made: Path, tmp_path: Path) -> None:
    def refuse(kind: type[Exception], text: str, **changes: object) -> None:
        with pytest.raises(kind, match=text):
            run_benchmark(made, tmp_path / "out", options(tmp_path, **changes))
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "cache").exists()

    refuse(ConfigurationError, "there is no ranker 'oracle'", rankers=("oracle",))
    refuse(ConfigurationError, "has no setting 'colour'", settings={"length": {"colour": 1}})
    refuse(ConfigurationError, "is not among the rankers", settings={"bm25": {"k1": 1}})
    refuse(ConfigurationError, "there is no ranker and no run", rankers=())
    refuse(ConfigurationError, "inside the output", cache=tmp_path / "out" / "cache")
    refuse(ConfigurationError, "inside the set", cache=made / "cache")
    refuse(ConfigurationError, "is no name", runs={"../up": made})
    refuse(ConfigurationError, "as a ranker is", runs={"length": made})
    refuse(ConfigurationError, "protocol full alone", pool=3)
    refuse(ConfigurationError, "candidates alone", protocol="full", runs={"x": made})
    refuse(ConfigurationError, "confidence of 1.5", confidence=1.5)
    refuse(ConfigurationError, "above 0", limit_minutes=float("nan"))
    refuse(InputError, "is no measure", measures=("P@", "MAP"))
    refuse(InputError, "reaches a cut", cuts=(6.0,), measures=("MAP",))
    with pytest.raises(InputError):
        run_benchmark(made, tmp_path / "out", options(tmp_path, runs={"x": tmp_path / "nowhere.run"}))
    with pytest.raises(InputError, match="nothing at this path"):
        run_benchmark(tmp_path / "nowhere", tmp_path / "out", options(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtefactError, match="is a file"):
        run_benchmark(made, tmp_path / "file", options(tmp_path))
    with pytest.raises(ConfigurationError, match="is a file"):
        run_benchmark(made, tmp_path / "out", options(tmp_path, cache=tmp_path / "file"))


def test_nothing_is_replaced_unasked_and_nothing_written_when_all_fail(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "plugins", monkeypatch)
    run_benchmark(made, tmp_path / "out", options(tmp_path, rankers=("length",), seeds=1))
    before = files(tmp_path / "out")
    with pytest.raises(ArtefactError, match="exists already"):
        run_benchmark(made, tmp_path / "out", options(tmp_path))
    with pytest.raises(InputError, match="no system is left to compare: raising: ValueError: no more"):
        run_benchmark(made, tmp_path / "out", options(tmp_path, rankers=("raising",)), overwrite=True)
    assert files(tmp_path / "out") == before


def test_what_was_kept_and_is_damaged_is_made_again(made: Path, tmp_path: Path) -> None:
    chosen = options(tmp_path, rankers=("length",), seeds=1)
    run_benchmark(made, tmp_path / "out", chosen)
    [scores] = (tmp_path / "cache" / "scores").glob("length-0-*/scores.npz")
    [model] = (tmp_path / "cache" / "fits").glob("length-0-*/model")
    expected = scores.read_bytes()
    scores.write_bytes(b"no archive")
    (model / "manifest.json").write_text("{")
    said: list[str] = []
    run_benchmark(made, tmp_path / "again", chosen, say=said.append)
    assert any("fitted and scored" in line for line in said)
    assert scores.read_bytes() == expected
    assert files(tmp_path / "again")["table.csv"] == files(tmp_path / "out")["table.csv"]


def test_all_responses_of_the_split_can_be_ranked(made: Path, tmp_path: Path) -> None:
    full = run_benchmark(made, tmp_path / "full", options(tmp_path, rankers=("length",), seeds=1, protocol="full"))
    some = run_benchmark(
        made, tmp_path / "some", options(tmp_path, rankers=("length",), seeds=1, protocol="full", pool=5)
    )
    own = run_benchmark(made, tmp_path / "own", options(tmp_path, rankers=("length",), seeds=1))
    # The fit is the same, so it is done once.
    assert len(list((tmp_path / "cache" / "fits").iterdir())) == 1
    assert len(list((tmp_path / "cache" / "scores").iterdir())) == 3
    counts = [found.plan.protocol.describe()["candidates"] for found in (own, some, full)]
    assert counts == sorted(set(counts))
    means = [found.held.means[0] for found in (own, some, full)]
    assert (means[0] >= means[1]).all()
    assert (means[1] >= means[2]).all()
    assert not (tmp_path / "full" / "runs").exists()
    assert "count as not relevant" in (tmp_path / "full" / "report.html").read_text(encoding="utf-8")


def test_votes_widen_intervals(tmp_path: Path) -> None:
    from tertulia.artefact import Manifest
    from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
    from tertulia.corpus.ranking_set import RANKING_SET, write_ranking_set

    random = np.random.default_rng(3)

    def records(voted: bool) -> list[RankingRecord]:
        made = []
        for number in range(60):
            votes = [(int(likes), int(3 - likes)) for likes in random.integers(0, 4, 5)]
            candidates = [
                Candidate(
                    place,
                    "word " * (1 + likes),
                    (likes + 1) / 5,
                    attributes={"likes": likes, "dislikes": dislikes} if voted else {},
                )
                for place, (likes, dislikes) in enumerate(votes)
            ]
            split = ("train", "dev", "test")[number % 3]
            made.append(
                RankingRecord(Context(f"c{number}", [Turn("user", f"topic {number}")], split=split), candidates)
            )
        return made

    widths = []
    for voted in (True, False):
        random = np.random.default_rng(3)
        write_ranking_set(tmp_path / f"set-{voted}", records(voted), Manifest(RANKING_SET)).close()
        found = run_benchmark(
            tmp_path / f"set-{voted}",
            tmp_path / f"out-{voted}",
            options(tmp_path, rankers=("random", "length"), seeds=1, measures=("MAP",), cuts=(0.5,), replicates=400),
        )
        comparison = found.held
        assert comparison.votes is voted
        assert (comparison.low <= comparison.means).all()
        assert (comparison.means <= comparison.high).all()
        widths.append(float((comparison.high - comparison.low)[0, 0]))
    assert widths[0] > widths[1]


def test_odd_contexts_are_compared_too(tmp_path: Path) -> None:
    splits = made_splits(1, train=20, dev=8, test=8, odd=True)
    usable = [
        (each, name)
        for name, part in zip(("train", "dev", "test"), splits[:3], strict=True)
        for each in part
        if not each.id.endswith("surrogate")
    ]
    usable.append(
        (example("test-<b>&", ["<script>alert(1)</script>", "<i>\u202e\x07"], ["a|b", "<b>"], [5.0, 1.0]), "test")
    )
    source = write_examples(tmp_path / "set", usable)
    found = run_benchmark(source, tmp_path / "out", options(tmp_path, rankers=("length", "bm25"), seeds=1))
    assert found.held.systems == ("length", "bm25")
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html
    assert "⟨U+202E⟩⟨U+0007⟩" in html


def test_every_context_is_test_once_where_the_set_is_cross_validated(made: Path, tmp_path: Path) -> None:
    found = run_benchmark(made, tmp_path / "out", options(tmp_path, rankers=("random", "bm25"), seeds=1, folds=3))
    assert len(found.held.contexts) == len(set(found.held.contexts)) == 100
    assert [len(fold.test) for fold in found.plan.folds] == [34, 33, 33]
    details = json.loads((tmp_path / "out" / "systems.json").read_bytes())["systems"]["bm25"]["seeds"]
    assert [(each["seed"], each["fold"]) for each in details] == [(0, 0), (0, 1), (0, 2)]
    run = (tmp_path / "out" / "runs" / "bm25-0.run").read_text(encoding="utf-8")
    assert len({line.split()[0] for line in run.splitlines()}) == 100
    assert found.results[1].costs[0].candidates == sum(map(len, found.plan.splits.test))
    # As an outside system would be held against it.
    again = run_benchmark(
        made,
        tmp_path / "again",
        options(tmp_path, rankers=(), folds=3, runs={"theirs": tmp_path / "out" / "runs" / "bm25-0.run"}),
    )
    assert again.held.means[0].tolist() == found.held.means[1].tolist()


def test_a_cache_that_cannot_be_written_ends_it_all(made: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "logs").write_text("")
    with pytest.raises(ConfigurationError, match="--cache names another folder"):
        run_benchmark(made, tmp_path / "out", options(tmp_path))
