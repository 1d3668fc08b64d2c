"""Devices, seeds, and tensors on disk."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tertulia.encoders.runtime import device_of, fill, load_torch, read_tensors, reproducible, write_tensors
from tertulia.errors import ArtefactError, ConfigurationError, MissingExtraError

CPU = torch.device("cpu")


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_what_is_not_installed_is_named_with_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=f"the ranker 'x' needs the package '{package}'") as caught:
        load_torch("the ranker 'x'")
    assert "tertulia[neural]" in str(caught.value)


def test_devices() -> None:
    assert device_of("cpu") == CPU
    assert device_of("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ConfigurationError, match="the device is 'tpu'; expected one of auto, cpu, cuda"):
        device_of("tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_not_used() -> None:
    with pytest.raises(ConfigurationError, match="finds no GPU here"):
        device_of("cuda")


def test_the_same_seed_gives_the_same_and_all_is_as_before_afterwards() -> None:
    torch.manual_seed(1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    drawn = []
    for _ in range(2):
        with reproducible(7, CPU, 1):
            assert torch.get_num_threads() == 1
            drawn.append(torch.rand(4))
    assert torch.equal(*drawn)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    with pytest.raises(ZeroDivisionError), reproducible(7, CPU, threads + 1):
        raise ZeroDivisionError
    assert torch.get_num_threads() == threads


def test_tensors_come_back_byte_for_byte_the_same(tmp_path: Path) -> None:
    tensors = {"b": torch.rand(2, 3), "a": torch.arange(4).t(), "of nothing": torch.zeros(0, 5)}
    write_tensors(tmp_path / "one", tensors)
    write_tensors(tmp_path / "two", dict(reversed(tensors.items())))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found = read_tensors(tmp_path / "one")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], value) for name, value in tensors.items())


def test_what_is_no_file_of_tensors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    with pytest.raises(ArtefactError, match="cannot be read"):
        read_tensors(path)
    with pytest.raises(ArtefactError, match="cannot be read"):
        read_tensors(tmp_path)
    write_tensors(path, {"a": torch.rand(50)})
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    damaged = [b"", whole[:-1], whole[:20], whole + b"x", b"\xff" * 8 + whole[8:], pickle.dumps({"a": 1}), b"[]\n"]
    damaged += [whole[:8] + random.bytes(len(whole) - 8) for _ in range(20)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ArtefactError, match="is not a file of safetensors"):
            read_tensors(path)


def test_a_module_takes_only_its_own_finite_tensors(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 3)
    good = {name: torch.rand_like(value) for name, value in module.state_dict().items()}
    fill(module, good, tmp_path)
    assert torch.equal(module.weight, good["weight"])
    bad: list[tuple[dict[str, torch.Tensor], str]] = [
        ({}, "is on one side only"),
        ({**good, "more": torch.rand(1)}, "'more' is on one side only"),
        ({**good, "weight": torch.rand(3, 3)}, r"expected \(3, 2\)"),
        ({**good, "weight": good["weight"].double()}, "float64"),
        ({**good, "bias": torch.tensor([0.0, float("nan"), 1.0])}, "not finite"),
        ({**good, "bias": torch.tensor([0.0, float("inf"), 1.0])}, "not finite"),
    ]
    for tensors, message in bad:
        with pytest.raises(ArtefactError, match=message):
            fill(torch.nn.Linear(2, 3), tensors, tmp_path)
