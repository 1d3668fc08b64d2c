"""Registries: what ships and what packages add come through the same door."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace

import pytest

from tertulia import registry
from tertulia.errors import ConfigurationError
from tertulia.formats.registry import FORMATS
from tertulia.registry import Registry

GROUP = "tertulia.test-parts"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Registry[object]:
    (tmp_path / "broken_part.py").write_text("raise RuntimeError('out of order')\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints(
        EntryPoint(name, value, GROUP)
        for name, value in (
            ("added", "collections:OrderedDict"),
            ("dotted", "pathlib:Path.cwd"),
            ("missing", "no_such_module:Part"),
            ("nameless", "collections:NoSuchThing"),
            ("broken", "broken_part:Part"),
        )
    )
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: points.select(**wanted))
    shipped = {"own": "types:SimpleNamespace", "unimportable": "tertulia.no_such_module:Part"}
    return Registry("part", group=GROUP, shipped=shipped)


def test_names_are_of_both_kinds(parts: Registry[object]) -> None:
    assert parts.names() == ["added", "broken", "dotted", "missing", "nameless", "own", "unimportable"]


def test_parts_are_made_from_either_door(parts: Registry[object]) -> None:
    assert parts.get("own") == SimpleNamespace()
    assert type(parts.get("added")).__name__ == "OrderedDict"
    assert parts.get("dotted") == Path.cwd()


def test_nothing_is_imported_before_it_is_asked_for(parts: Registry[object]) -> None:
    parts.names()
    parts.get("own")
    assert "broken_part" not in sys.modules


@pytest.mark.parametrize("name", ["missing", "nameless", "broken", "unimportable"])
def test_a_part_that_cannot_be_loaded_is_one_clear_error(parts: Registry[object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the part '{name}' cannot be loaded: "):
        parts.get(name)


def test_an_unknown_name_is_answered_with_the_known_ones(parts: Registry[object]) -> None:
    with pytest.raises(ConfigurationError, match="there is no part 'x'; there are: added, broken"):
        parts.factory("x")


def test_every_shipped_format_is_what_a_format_must_be() -> None:
    for name in FORMATS.names():
        part = FORMATS.get(name)
        assert part.name == name
        assert part.summary
        assert isinstance(part.writes, bool)
