import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.encoders.sentence_cache import VectorCache, key_of
from tertulia.errors import ArtefactError

DIGEST = "ab" * 32
SIZE = 16 + 4 + 4 * 3


def vectors_of(texts: list[str], dimension: int = 3) -> np.ndarray:
    """Some vector that follows from the text."""
    rows = [np.random.default_rng(list(key_of(text))).normal(size=dimension) for text in texts]
    return np.array(rows, dtype=np.float32).reshape(len(texts), dimension)


def add(cache: VectorCache, texts: list[str]) -> None:
    cache.write([key_of(text) for text in texts], vectors_of(texts))


def check(cache: VectorCache, there: list[str], absent: list[str] = []) -> None:  # noqa: B006
    found, vectors = cache.read([key_of(text) for text in [*absent, *there]])
    assert found.tolist() == [False] * len(absent) + [True] * len(there)
    np.testing.assert_array_equal(vectors, vectors_of(there))


def test_what_was_written_is_read_by_this_and_by_others(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "deep" / "er", DIGEST, 3)
    check(cache, [], ["a"])
    add(cache, ["a", "b"])
    other = VectorCache(tmp_path / "deep" / "er", DIGEST, 3)
    check(other, ["b", "a", "b"], ["c"])
    add(other, ["c", "\ud800", ""])
    check(cache, ["a", "c", "", "\ud800", "b"], ["d"])
    assert len(cache) == 5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), max_size=5), max_size=6), st.data())
def test_as_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, written: list[list[str]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cache")
    caches = [VectorCache(path, DIGEST, 3) for _ in range(2)]
    known: dict[str, None] = {}
    for texts in written:
        add(data.draw(st.sampled_from(caches)), texts)
        known |= dict.fromkeys(texts)
        asked = data.draw(st.lists(st.text(max_size=3), max_size=5)) + list(known)
        check(
            data.draw(st.sampled_from(caches)), [t for t in asked if t in known], [t for t in asked if t not in known]
        )


@pytest.mark.parametrize("cut", range(1, SIZE))
def test_a_record_that_was_half_written_is_cut_off(tmp_path: Path, cut: int) -> None:
    cache = VectorCache(tmp_path, DIGEST, 3)
    add(cache, ["a", "b", "c"])
    os.truncate(cache.path, cache.path.stat().st_size - cut)
    check(VectorCache(tmp_path, DIGEST, 3), ["a", "b"], ["c"])
    check(cache, ["a", "b"], ["c"])
    add(cache, ["d"])
    check(cache, ["a", "b", "d"], ["c"])
    assert cache.path.stat().st_size == 64 + 3 * SIZE


@pytest.mark.parametrize("place", range(64 + SIZE, 64 + 2 * SIZE))
def test_a_record_whose_bytes_have_changed_is_as_if_it_were_not_there(tmp_path: Path, place: int) -> None:
    cache = VectorCache(tmp_path, DIGEST, 3)
    add(cache, ["a", "b", "c"])
    data = bytearray(cache.path.read_bytes())
    data[place] ^= 1
    cache.path.write_bytes(data)
    check(cache, ["a", "c"], ["b"])
    add(cache, ["b"])
    check(cache, ["a", "b", "c"])


@pytest.mark.parametrize("size", range(0, 64, 7))
def test_a_head_that_was_half_written_is_written_anew(tmp_path: Path, size: int) -> None:
    path = VectorCache(tmp_path, DIGEST, 3).path
    os.truncate(path, size)
    cache = VectorCache(tmp_path, DIGEST, 3)
    add(cache, ["a"])
    check(cache, ["a"])


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = VectorCache(tmp_path, DIGEST, 3).path
    path.write_bytes(b"my diary " * 20)
    with pytest.raises(ArtefactError, match=r"not a file of vectors.*delete it"):
        VectorCache(tmp_path, DIGEST, 3)
    assert path.read_bytes() == b"my diary " * 20
    path.unlink()
    VectorCache(tmp_path, DIGEST, 3)
    with pytest.raises(ArtefactError, match="not a file of vectors"):
        VectorCache(tmp_path, DIGEST, 4)


def test_a_directory_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArtefactError, match="cannot be written"):
        VectorCache(tmp_path / "file" / "below", DIGEST, 3)
    path = VectorCache(tmp_path, DIGEST, 3).path
    path.unlink()
    path.mkdir()
    with pytest.raises(ArtefactError, match="cannot be written"):
        VectorCache(tmp_path, DIGEST, 3)


WRITER = """
import sys
from tertulia.encoders.sentence_cache import VectorCache
from tests.encoders.test_sentence_cache import DIGEST, add
cache = VectorCache(sys.argv[1], DIGEST, 3)
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    add(cache, [f"{sys.argv[2]} {number} {part}" for part in range(40)])
"""


def start(path: Path, name: str, blocks: int) -> "subprocess.Popen[str]":
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(blocks)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer.stdout:
        assert writer.stdout.readline() == "ready\n"
    return writer


def test_two_writers_at_a_time_lose_nothing(tmp_path: Path) -> None:
    writers = [start(tmp_path, name, 30) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    cache = VectorCache(tmp_path, DIGEST, 3)
    check(cache, [f"{name} {number} {part}" for name in ("one", "two") for number in range(30) for part in range(40)])
    assert len(cache) == 2400


def test_threads_that_share_one_lose_nothing(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, DIGEST, 3)

    def work(name: int) -> None:
        for number in range(30):
            add(cache, [f"{name} {number} {part}" for part in range(5)])
            check(cache, [f"{name} {number} {part}" for part in range(5)], [f"{name} {number} no"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(cache) == 600


def test_a_writer_that_is_killed_leaves_what_it_had_written(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, DIGEST, 3)
    for number in range(3):
        before = len(cache)
        writer = start(tmp_path, f"killed {number}", 1_000_000)
        while len(cache) < before + 80:
            assert writer.poll() is None
            time.sleep(0.001)
        add(cache, [f"mine {number}"])
        writer.send_signal(signal.SIGKILL)
        writer.wait(60)
    add(cache, ["last"])
    check(cache, ["last", *(f"mine {number}" for number in range(3))])
    assert (cache.path.stat().st_size - 64) % SIZE == 0
    keys = [key_of(f"killed {number} 0 {part}") for number in range(3) for part in range(40)]
    assert cache.read(keys)[0].all()
