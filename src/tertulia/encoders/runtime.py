"""How neural encoders run: PyTorch where it is installed, on which device, by which seed, and tensors on disk without pickle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.errors import ArtefactError, ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import torch

__all__ = ["DEVICES", "device_of", "fill", "load_torch", "read_tensors", "reproducible", "write_tensors"]

DEVICES = ("auto", "cpu", "cuda")
_FILL = "fill_uninitialized_memory"


def load_torch(feature: str) -> Any:
    """The module ``torch``; ``feature`` says what needs it.

    Raises
    ------
    MissingExtraError
        PyTorch or safetensors is not installed.
    """
    for package in ("torch", "safetensors"):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtraError(feature, package=package, extra="neural") from None
    import torch

    return torch


def device_of(name: str) -> torch.device:
    """The device of a name of ``DEVICES``; ``auto`` is a GPU where PyTorch has one, else the processor.

    Raises
    ------
    ConfigurationError
        There is no such device, or this machine has none.
    """
    import torch

    if name not in DEVICES:
        raise ConfigurationError(f"the device is {name!r}; expected one of {', '.join(DEVICES)}")
    usable = torch.cuda.is_available()
    if name == "cuda" and not usable:
        raise ConfigurationError("the device is 'cuda', and PyTorch finds no GPU here; expected cpu or auto")
    return torch.device("cuda" if usable and name != "cpu" else "cpu")


@contextmanager
def reproducible(seed: int, device: torch.device, workers: int) -> Iterator[None]:
    """Within: chance begins at ``seed``, only deterministic algorithms run, on ``workers`` threads. After: all as before.

    What the encoders use of the processor's algorithms is deterministic; a GPU has others, which must be asked for.
    """
    import torch

    if device.type == "cuda":
        # cuBLAS is deterministic only with a workspace of a fixed size; it reads this when it starts.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    threads = torch.get_num_threads()
    filled = getattr(torch.utils.deterministic, _FILL)
    strict, lenient = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        torch.set_num_threads(max(1, workers))
        if device.type == "cuda":
            torch.use_deterministic_algorithms(True)
        # Nothing here reads memory before it is written, which is all that filling it would guard against.
        setattr(torch.utils.deterministic, _FILL, False)
        try:
            yield
        finally:
            setattr(torch.utils.deterministic, _FILL, filled)
            if device.type == "cuda":
                torch.use_deterministic_algorithms(strict, warn_only=lenient)
            torch.set_num_threads(threads)


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors by name as safetensors: numbers alone, byte for byte the same for the same tensors."""
    from safetensors.torch import save_file

    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in sorted(tensors.items())}, path)


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file by name.

    Raises
    ------
    ArtefactError
        There is no such file, or it is not one of safetensors.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors: dict[str, torch.Tensor] = load(path.read_bytes())
    except OSError as error:
        raise ArtefactError(f"cannot be read: {error.strerror}", where=path, hint="train it again") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ArtefactError(f"is not a file of safetensors: {error}", where=path, hint="train it again") from None
    return tensors


def fill(module: torch.nn.Module, tensors: Mapping[str, torch.Tensor], where: Path) -> None:
    """Give a module the tensors that were read, as its own: all it needs, no others, finite, of its shapes and kinds.

    Raises
    ------
    ArtefactError
        They are not those of the module.
    """
    import torch

    def wrong(what: str) -> ArtefactError:
        return ArtefactError(what, where=where, hint="train it again")

    expected = module.state_dict()
    if expected.keys() != tensors.keys():
        other = sorted(expected.keys() ^ tensors.keys())
        raise wrong(f"does not hold the weights of this model: {other[0]!r} is on one side only")
    for name, value in expected.items():
        found = tensors[name]
        if found.shape != value.shape or found.dtype != value.dtype:
            raise wrong(
                f"has for {name!r} {tuple(found.shape)} {found.dtype}; expected {tuple(value.shape)} {value.dtype}"
            )
        if not bool(torch.isfinite(found).all()):
            raise wrong(f"has in {name!r} a number that is not finite")
    module.load_state_dict(dict(tensors), assign=True)
