"""What an ensemble keeps on disk: how it combines, and its members, each an artefact of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from tertulia.errors import ArtefactError
from tertulia.ranking.combining.choice import Mixture
from tertulia.ranking.combining.linear import WeightedSum
from tertulia.ranking.combining.trees import Boosted, tree_names
from tertulia.ranking.lambdamart import Trees
from tertulia.ranking.model import load_ranker, read_arrays, read_json, write_arrays, write_json
from tertulia.ranking.registry import RANKERS

if TYPE_CHECKING:
    from tertulia.ranking.combining.choice import Combiner
    from tertulia.ranking.ranker import Ranker

__all__ = ["load_combiner", "load_members", "save_combiner"]

_HINT = "train it again"


def save_combiner(combiner: Mixture, directory: Path) -> None:
    """Write the parts of a mixture into a new directory, each as arrays."""
    directory.mkdir()
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(combiner.parts):
        if isinstance(part, WeightedSum):
            write_arrays(directory / f"{number}.npz", part.arrays())
            parts.append({"kind": "sum", "inputs": part.inputs})
        elif isinstance(part, Boosted):
            write_arrays(directory / f"{number}.npz", part.trees.to_arrays())
            parts.append({"kind": "trees", "inputs": part.inputs, "bags": part.bags})
    write_json(directory / "parts.json", parts)


def load_combiner(directory: Path, members: tuple[str, ...], features: tuple[str, ...]) -> Mixture:
    """The mixture that was saved, over these members and features.

    Raises
    ------
    ArtefactError
        What is there does not hold.
    """
    file = directory / "parts.json"
    kept = read_json(file)
    if not isinstance(kept, list) or not kept or not all(isinstance(part, dict) for part in kept):
        raise ArtefactError("has no list of what is combined", where=file, hint=_HINT)
    try:
        return Mixture(tuple(_part(directory, number, part, members, features) for number, part in enumerate(kept)))
    except ArtefactError as error:
        raise ArtefactError(error.message, where=error.where or directory, hint=_HINT) from None


def _part(
    directory: Path, number: int, part: Mapping[str, Any], members: tuple[str, ...], features: tuple[str, ...]
) -> Combiner:
    kind, inputs, bags = part.get("kind"), part.get("inputs"), part.get("bags")
    file = directory / f"{number}.npz"
    if kind == "sum" and isinstance(inputs, str):
        return WeightedSum.of_arrays(inputs, read_arrays(file), len(members), features)
    if kind == "trees" and inputs in ("scores", "all") and isinstance(bags, int) and bags > 0:
        width = len(tree_names(inputs, members, features))
        try:
            return Boosted(inputs, Trees.from_arrays(read_arrays(file), width), bags)
        except (KeyError, ValueError) as error:
            raise ArtefactError(f"does not hold trees: {error}", where=file) from None
    raise ArtefactError(f"names a way to combine that there is not: {str(kind)[:40]!r} over {str(inputs)[:40]!r}")


def load_members(directory: Path, described: object) -> dict[str, tuple[Ranker, float, float]]:
    """The rankers under a directory, with the mean and the deviation of their scores over train.

    Raises
    ------
    ArtefactError
        One is not described as it should be, is not there, or is damaged.
    MissingExtraError
        A package that one needs is not installed.
    """
    if not isinstance(described, dict) or not described:
        raise ArtefactError("describes no members", where=directory, hint=_HINT)
    known = set(RANKERS.names()) - {"ensemble"}
    members = {}
    for name, scaling in sorted(described.items()):
        if name not in known:
            raise ArtefactError(f"has the member {name!r}, a ranker that is not installed", where=directory)
        center, scale = (scaling.get("center"), scaling.get("scale")) if isinstance(scaling, dict) else (None, None)
        if not _finite(center) or not _finite(scale) or scale <= 0:
            raise ArtefactError(f"has no mean and deviation of the scores of {name!r}", where=directory, hint=_HINT)
        ranker = load_ranker(directory / name)
        if ranker.name != name:
            raise ArtefactError(f"is the ranker {ranker.name!r}; expected {name!r}", where=directory / name, hint=_HINT)
        members[name] = (ranker, float(center), float(scale))
    return members


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and math.isfinite(value)
