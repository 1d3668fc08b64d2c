"""``tertulia ranking rankers``: which rankers there are, and what can be set of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tertulia.cli.options import Json
from tertulia.cli.output import print_json, table
from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    from tertulia.ranking.ranker import Ranker, Setting

__all__ = ["rankers"]


def rankers(json_: Json = False) -> None:
    """List the rankers. What each is, whether it learns from relevance, and its settings."""
    from tertulia.ranking.registry import RANKERS

    found = {name: _described(name) for name in RANKERS.names()}
    if json_:
        print_json(found)
        return
    rows = [[name, "yes" if part["supervised"] else "no", part["summary"]] for name, part in found.items()]
    print(table(["ranker", "learns from relevance", "what it is"], rows))
    settings = [
        [name, setting, _shown(known["default"]), known["help"]]
        for name, part in found.items()
        for setting, known in part["settings"].items()
    ]
    print("\nSettings (--setting NAME=VALUE):\n")
    print(table(["ranker", "setting", "default", "what it does"], settings))


def _described(name: str) -> dict[str, Any]:
    """What a ranker says of itself; one of another package that cannot be loaded hides no other."""
    from tertulia.ranking.registry import RANKERS

    try:
        factory: type[Ranker] = RANKERS.factory(name)
    except ConfigurationError as error:
        return {"summary": error.message, "supervised": False, "settings": {}}
    settings = {setting: _setting(known) for setting, known in factory.known_settings.items()}
    return {"summary": factory.summary, "supervised": factory.supervised, "settings": settings}


def _setting(known: Setting) -> dict[str, Any]:
    return {"default": known.default, "tried": list(known.tried), "help": known.help}


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
