"""A fitted ranker on disk: an artefact whose manifest says which ranker it is and what it was made of."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tertulia.artefact import Manifest, canonical_json, create, verify
from tertulia.errors import ArtefactError, ConfigurationError, TertuliaError
from tertulia.ranking.ranker import Ranker, chosen_settings
from tertulia.ranking.registry import RANKERS
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "RANKER",
    "Head",
    "load_ranker",
    "read_arrays",
    "read_head",
    "read_json",
    "save_ranker",
    "write_arrays",
    "write_head",
    "write_json",
]

RANKER = "ranker"
_HEAD = "ranker.json"


def save_ranker(ranker: Ranker, path: str | Path, manifest: Manifest, *, overwrite: bool = False) -> None:
    """Write a fitted ranker as the artefact at ``path``; the manifest's details get its name, settings and report.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written (it exists, and ``overwrite`` is not given).
    """
    with create(path, manifest, overwrite=overwrite) as draft:
        manifest.details |= {"ranker": ranker.name, "settings": ranker.settings, "report": ranker.report()}
        ranker.save(draft.directory)


def load_ranker(path: str | Path) -> Ranker:
    """The ranker at ``path``, its files held against their digests first.

    Raises
    ------
    InputError
        There is nothing.
    ArtefactError
        It is no ranker, or damaged.
    ConfigurationError
        It is of a kind that is not installed.
    """
    directory = Path(path)
    manifest = verify(directory, RANKER)
    name = manifest.details.get("ranker")
    if not isinstance(name, str):
        raise ArtefactError("names no ranker in its manifest", where=directory, hint="train it again")
    factory: type[Ranker] = RANKERS.factory(name)
    try:
        return factory.load(directory)
    except TertuliaError:
        raise
    except Exception as error:
        # What a library says of a file that is whole by its digest but not what it should be.
        raise ArtefactError(
            f"cannot be loaded as the ranker {name!r}: {type(error).__name__}: {error}",
            where=directory,
            hint="train it again",
        ) from error


class Head(NamedTuple):
    """What nearly every ranker keeps: its settings, how it reads texts, and a few values of its own (JSON)."""

    settings: dict[str, Any]
    wording: Wording
    more: dict[str, Any]


def write_head(directory: Path, ranker: Ranker, wording: Wording, **more: Any) -> None:
    """Write the settings of a ranker, its wording and other values into ``ranker.json``."""
    head = {"ranker": ranker.name, "settings": ranker.settings, "wording": wording.to_json(), "more": more}
    write_json(directory / _HEAD, head)


def read_head(directory: Path, ranker: type[Ranker]) -> Head:
    """What ``write_head`` wrote, held against the settings that the ranker knows; ``more`` is for the ranker to check.

    Raises
    ------
    ArtefactError
        There is none, it is of another ranker, or a value does not hold.
    """
    path = directory / _HEAD
    head = read_json(path)
    if not isinstance(head, dict) or head.get("ranker") != ranker.name:
        raise ArtefactError(f"is not the head of a ranker {ranker.name!r}", where=path, hint="train it again")
    settings, wording, more = head.get("settings"), head.get("wording"), head.get("more")
    if not isinstance(settings, dict) or not isinstance(wording, dict) or not isinstance(more, dict):
        raise ArtefactError("has no settings, wording and further values", where=path, hint="train it again")
    if missing := sorted(ranker.known_settings.keys() - settings):
        raise ArtefactError(f"has no setting {missing[0]!r}", where=path, hint="train it again")
    try:
        return Head(chosen_settings(ranker, settings), Wording.from_json(wording), more)
    except (ArtefactError, ConfigurationError) as error:
        raise ArtefactError(error.message, where=path, hint="train it again") from None


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON with sorted keys."""
    # Half a surrogate pair, which a text of a set may hold, becomes the escape that JSON has for it.
    path.write_bytes((canonical_json(value) + "\n").encode("utf-8", "backslashreplace"))


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises
    ------
    ArtefactError
        There is no such file, or it is not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ArtefactError(f"cannot be read: {error.strerror}", where=path, hint="train it again") from None
    except (ValueError, RecursionError) as error:
        raise ArtefactError(f"is not JSON: {error}", where=path, hint="train it again") from None


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name into one ``.npz``: numbers only, and byte for byte the same for the same arrays.

    ``numpy.savez`` writes the time of day into the archive; this does not.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in sorted(arrays.items()):
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` by name; one that holds objects, which only a pickle could, is refused.

    Raises
    ------
    ArtefactError
        There is no such file, or it does not hold arrays of numbers.
    """
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as file:
                    arrays[name.removesuffix(".npy")] = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise ArtefactError(f"cannot be read: {error.strerror or error}", where=path, hint="train it again") from None
    except Exception as error:
        # A damaged archive makes the two libraries fail in more ways than they document.
        raise ArtefactError(f"does not hold arrays of numbers: {error}", where=path, hint="train it again") from None
    return arrays
