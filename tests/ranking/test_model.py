"""Rankers on disk: what is refused, and that nothing is unpickled."""

import io
import json
import zipfile

import numpy as np
import pytest

from tertulia.artefact import Manifest, read_manifest, write_manifest
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.model import (
    RANKER,
    load_ranker,
    read_arrays,
    read_head,
    read_json,
    save_ranker,
    write_arrays,
    write_head,
    write_json,
)
from tertulia.ranking.rankers.chance import Chance
from tertulia.ranking.rankers.length import Length
from tertulia.ranking.wording import Wording

from .rankers.contract import fitted
from .rankers.made import made_splits


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "length"
    save_ranker(fitted(Length, made_splits()), path, Manifest(RANKER, licence="CC0-1.0"))
    return path


def test_the_manifest_says_what_ranker_it_is(saved) -> None:
    manifest = read_manifest(saved)
    assert manifest.kind == "ranker"
    assert manifest.details["ranker"] == "length"
    assert manifest.details["settings"] == {"order": "longest", "by": "words"}
    assert manifest.details["report"]["tuning"]["tried"] == 1
    assert manifest.licence == "CC0-1.0"


def test_a_changed_file_is_seen_by_its_digest(saved) -> None:
    head = saved / "ranker.json"
    head.write_bytes(head.read_bytes().replace(b"longest", b"shorter"))
    with pytest.raises(ArtefactError, match=r"ranker\.json"):
        load_ranker(saved)


@pytest.mark.parametrize(
    ("details", "error", "match"),
    [
        ({}, ArtefactError, "names no ranker"),
        ({"ranker": ["length"]}, ArtefactError, "names no ranker"),
        ({"ranker": "no such"}, ConfigurationError, "there is no ranker 'no such'"),
        ({"ranker": "random"}, ArtefactError, "is not the head of a ranker 'random'"),
    ],
)
def test_a_manifest_that_names_another_ranker_is_refused(saved, details, error, match: str) -> None:
    manifest = read_manifest(saved)
    manifest.details = details
    write_manifest(saved, manifest)
    with pytest.raises(error, match=match):
        load_ranker(saved)


def test_what_is_no_ranker_is_refused(tmp_path, small_corpus) -> None:
    with pytest.raises(InputError, match="there is nothing"):
        load_ranker(tmp_path / "nowhere")
    with pytest.raises(ArtefactError, match="is a corpus; expected a ranker"):
        load_ranker(small_corpus)
    with pytest.raises(ArtefactError, match=r"has no manifest\.json"):
        load_ranker(tmp_path)


def test_a_head_comes_back_and_one_that_does_not_hold_is_refused(tmp_path) -> None:
    ranker = Length({"order": "shortest"})
    write_head(tmp_path, ranker, Wording("zh", 2, 1.0), note=["half \ud83d", 1])
    head = read_head(tmp_path, Length)
    assert head.settings == {"order": "shortest", "by": "words"}
    assert head.wording == Wording("zh", 2, 1.0)
    assert head.more == {"note": ["half \ud83d", 1]}
    with pytest.raises(ArtefactError, match="not the head of a ranker 'random'"):
        read_head(tmp_path, Chance)
    value = json.loads((tmp_path / "ranker.json").read_bytes())
    for name, wrong in [
        ("settings", {"order": "shortest"}),
        ("settings", {"order": "widest", "by": "words"}),
        ("settings", {"order": "longest", "by": "words", "other": 1}),
        ("settings", []),
        ("wording", {}),
        ("wording", None),
        ("more", 3),
    ]:
        write_json(tmp_path / "ranker.json", value | {name: wrong})
        with pytest.raises(ArtefactError, match=r"ranker\.json"):
            read_head(tmp_path, Length)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null null"])
def test_a_file_that_is_not_json_is_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ArtefactError, match="is not JSON"):
        read_json(tmp_path / "x.json")


def test_a_directory_or_nothing_is_not_read(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ArtefactError, match="cannot be read"):
            read_json(path)
        with pytest.raises(ArtefactError, match="cannot be read"):
            read_arrays(path)


def test_arrays_come_back_and_their_bytes_are_always_the_same(tmp_path) -> None:
    arrays = {
        "b.weights": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "a": np.array([], dtype=np.int64),
        "c": np.array(2.5),
    }
    write_arrays(tmp_path / "one.npz", arrays)
    write_arrays(tmp_path / "two.npz", dict(reversed(arrays.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    found = read_arrays(tmp_path / "one.npz")
    assert sorted(found) == ["a", "b.weights", "c"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    with np.load(tmp_path / "one.npz", allow_pickle=False) as archive:
        assert sorted(archive.files) == ["a", "b.weights", "c"]


def archive_of(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


def npy_of(array: np.ndarray, **options) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


HUGE = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000000000,), }"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(npy_of(np.arange(3)), id="one array and no archive"),
        pytest.param(archive_of(npy_of(np.array([{}], dtype=object), allow_pickle=True)), id="a pickle in an archive"),
        pytest.param(archive_of(b"nothing"), id="no array"),
        pytest.param(archive_of(npy_of(np.arange(3))[:-1]), id="cut"),
        pytest.param(archive_of(HUGE.ljust(127) + b"\n"), id="more than memory"),
        pytest.param(archive_of(npy_of(np.arange(3)))[:-30], id="no directory"),
        pytest.param(archive_of(npy_of(np.arange(3))).replace(b"\x02\x00\x00\x00", b"\x03\x00\x00\x00"), id="flipped"),
    ],
)
def test_what_is_no_archive_of_numbers_is_refused(tmp_path, content: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ArtefactError, match="does not hold arrays of numbers") as caught:
        read_arrays(tmp_path / "x.npz")
    assert "\n" not in str(caught.value)
