"""What is kept between builds: taken over where it is whole, made again where it is not, shared, removed."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tertulia.errors import InputError
from tertulia.stackexchange import parts
from tertulia.stackexchange.cache import Cache, default_cache, put_file, put_json, read_json
from tertulia.stackexchange.parse import parse_dumps
from tests.stackexchange.dumps import answer, comment, question, write_dump
from tests.stackexchange.parsing import parse, plain_rows, rows_of

SIZE = 2000


def dump(folder: Path, answers: int = 60) -> Path:
    posts = [question(1, 7), *(answer(i, 1, i, f"<p>{'word ' * (i % 40)}</p>") for i in range(2, answers))]
    return write_dump(folder, posts, [comment(i, i, 7) for i in range(2, answers)])


def files(cache: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(cache)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(cache.rglob("*"))
        if path.is_file()
    }


def contents(cache: Path) -> dict[str, bytes]:
    return {name: data for name, (data, _) in files(cache).items()}


def test_nothing_is_parsed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dump(tmp_path / "dump")
    first = parse([folder], tmp_path / "cache", range_size=SIZE)
    before = files(tmp_path / "cache")
    monkeypatch.setattr(parts, "scan_rows", None)
    second = parse([folder], tmp_path / "cache", range_size=SIZE)
    assert files(tmp_path / "cache") == before
    assert (second.report, second.inputs, second.tables, second.bytes) == (
        first.report,
        first.inputs,
        first.tables,
        first.bytes,
    )


def test_a_dump_that_changed_is_parsed_again(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    parse([folder], tmp_path / "cache")
    path = folder / "Posts.xml"
    path.write_bytes(path.read_bytes().replace(b"word word", b"worm worm"))
    assert rows_of(parse([folder], tmp_path / "cache"), "posts") == plain_rows(folder, "posts")


def test_a_dump_at_another_place_is_another_one(tmp_path: Path) -> None:
    one, other = dump(tmp_path / "a" / "dump"), dump(tmp_path / "b" / "dump")
    path = other / "Posts.xml"
    path.write_bytes(path.read_bytes().replace(b"word word", b"worm worm"))
    for name in ("Posts.xml", "Comments.xml"):
        os.utime(one / name, ns=(10**18, 10**18))
        os.utime(other / name, ns=(10**18, 10**18))
    parse([one], tmp_path / "cache")
    assert rows_of(parse([other], tmp_path / "cache"), "posts") == plain_rows(other, "posts")


def test_the_number_of_a_site_is_part_of_what_is_kept(tmp_path: Path) -> None:
    wine, beer = dump(tmp_path / "wine"), dump(tmp_path / "beer")
    assert {row["site"] for row in rows_of(parse([wine], tmp_path / "cache"), "posts")} == {0}
    both = parse([wine, beer], tmp_path / "cache")
    assert {row["site"] for row in rows_of(both, "posts")} == {0, 1}


@pytest.mark.parametrize(
    "damage", ["cut", "gone", "no report", "empty report", "odd report", "other size", "half report"]
)
def test_a_part_that_is_not_whole_is_made_again(tmp_path: Path, damage: str) -> None:
    folder = dump(tmp_path / "dump")
    parsed = parse([folder], tmp_path / "cache", range_size=SIZE)
    want = contents(tmp_path / "cache")
    part = parsed.tables["posts"][1]
    report = part.with_suffix(".json")
    if damage == "cut":
        part.write_bytes(part.read_bytes()[:100])
    elif damage == "gone":
        part.unlink()
    elif damage == "no report":
        report.unlink()
    elif damage == "empty report":
        report.write_bytes(b"")
    elif damage == "odd report":
        report.write_text('["a", NaN]')
    elif damage == "other size":
        report.write_text(json.dumps(json.loads(report.read_text()) | {"size": 1}))
    else:
        report.write_text('{"size": 1}')
    again = parse([folder], tmp_path / "cache", range_size=SIZE)
    assert contents(tmp_path / "cache") == want
    assert again.inputs == parsed.inputs


@pytest.mark.parametrize("frame", ["", "[1]", '["a", 1, 1, 1, true]', "[9, 0, 9, 1, true]"])
def test_a_damaged_frame_is_read_again(tmp_path: Path, frame: str) -> None:
    folder = dump(tmp_path / "dump")
    parse([folder], tmp_path / "cache")
    want = contents(tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("frame.json"):
        path.write_text(frame)
    parse([folder], tmp_path / "cache")
    assert contents(tmp_path / "cache") == want


PROGRAM = """
import sys, time
from pathlib import Path
from tertulia.stackexchange.parse import parse_dumps
delay = float(sys.argv[3])
def progress(done, total):
    print(done, flush=True)
    time.sleep(delay)
parse_dumps([Path(sys.argv[1])], Path(sys.argv[2]), range_size=2000, block_size=500, workers=2, progress=progress)
"""


def started(folder: Path, cache: Path, delay: float) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", PROGRAM, str(folder), str(cache), str(delay)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_parts(process: "subprocess.Popen[bytes]", cache: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(cache.glob("*/part-*.json"))) < count:
        assert process.poll() is None, process.stderr.read() if process.stderr else None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    whole = parse([folder], tmp_path / "whole", range_size=SIZE, block_size=500)
    cache = tmp_path / "cache"
    with started(folder, cache, 0.02) as process:
        wait_for_parts(process, cache, 3)
        process.kill()
    (cache / next(cache.glob("*-posts-*")).name / "part-00000.parquet.1-abc.part").write_bytes(b"left behind")
    before = files(cache)
    finished = [name for name in before if name.endswith(".parquet") and name.replace(".parquet", ".json") in before]
    assert 3 <= len(finished) < len(whole.tables["posts"]) + len(whole.tables["comments"])
    resumed = parse([folder], cache, range_size=SIZE, block_size=500)
    assert contents(cache) == contents(tmp_path / "whole")
    assert resumed.inputs == whole.inputs
    assert resumed.report == whole.report
    after = files(cache)
    assert [after[name] for name in finished] == [before[name] for name in finished], "what was whole is not made again"


def test_ctrl_c_ends_it_soon_and_leaves_whole_parts(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    cache = tmp_path / "cache"
    with started(folder, cache, 0.05) as process:
        wait_for_parts(process, cache, 2)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.wait(30)
        assert time.monotonic() - began < 5
        assert process.stderr is not None
        assert b"KeyboardInterrupt" in process.stderr.read()
        assert process.stdout is not None
        process.stdout.read()
    assert not list(cache.rglob("*.part"))
    parse([folder], cache, range_size=SIZE, block_size=500)
    parse([folder], tmp_path / "whole", range_size=SIZE, block_size=500)
    assert contents(cache) == contents(tmp_path / "whole")


def test_builds_at_the_same_time_do_not_harm_each_other(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    want = parse([folder], tmp_path / "whole", range_size=SIZE)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: parse([folder], tmp_path / "cache", range_size=SIZE), range(8)))
    assert all(parsed.inputs == want.inputs and parsed.report == want.report for parsed in found)
    assert contents(tmp_path / "cache") == contents(tmp_path / "whole")


class TestRemoving:
    def test_what_a_build_used_is_removed(self, tmp_path: Path) -> None:
        one, other = dump(tmp_path / "one"), dump(tmp_path / "other")
        parse([other], tmp_path / "cache")
        others = {path.name for path in (tmp_path / "cache").iterdir()}
        parsed = parse_dumps([one], tmp_path / "cache")
        assert len(parsed.entries) == 4
        parsed.remove()
        assert {path.name for path in (tmp_path / "cache").iterdir()} == others
        assert len(rows_of(parse([one], tmp_path / "cache"), "posts")) == 59

    def test_not_while_another_build_is_at_work(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "dump")
        working = parse_dumps([folder], tmp_path / "cache")
        parse_dumps([folder], tmp_path / "cache").remove()
        assert len(rows_of(working, "posts")) == 59
        working.remove()
        assert not any(path.exists() for path in working.tables["posts"])

    def test_what_is_let_go_without_a_word_is_let_go(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "dump")
        parse_dumps([folder], tmp_path / "cache")
        last = parse_dumps([folder], tmp_path / "cache")
        last.remove()
        assert not any(path.exists() for path in last.tables["posts"])

    def test_a_build_that_failed_holds_nothing(self, tmp_path: Path) -> None:
        folder = dump(tmp_path / "dump")
        kept = parse([folder], tmp_path / "cache")
        (folder / "Votes.xml").write_bytes(b"")
        with pytest.raises(InputError, match=r"Votes.xml: is empty") as caught:
            parse_dumps([folder], tmp_path / "cache")
        cache = Cache(tmp_path / "cache")
        assert cache.remove(kept.entries), caught
        cache.close()


def test_the_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache().name == "stackexchange"
    assert not list(tmp_path.iterdir()), "it is made when it is used"


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"a.bin: cannot be written: No space left on device"):
        put_file(tmp_path / "a.bin", fail)
    assert not list(tmp_path.iterdir())


def test_json_comes_back(tmp_path: Path) -> None:
    put_json(tmp_path / "a.json", {"message": "é\udcff"})
    assert read_json(tmp_path / "a.json") == {"message": "é\udcff"}
    assert read_json(tmp_path / "b.json") is None
    (tmp_path / "c.json").mkdir()
    assert read_json(tmp_path / "c.json") is None
    (tmp_path / "d.json").write_text("[" * 100_000)
    assert read_json(tmp_path / "d.json") is None
