"""Settings of rankers: what is given is read as what it should be, or refused in one line."""

from typing import Any, ClassVar

import pytest

from tertulia.errors import ConfigurationError
from tertulia.ranking.ranker import Ranker, Setting, chosen_settings
from tertulia.ranking.registry import RANKERS


class Model:
    name = "model"
    known_settings: ClassVar[dict[str, Setting]] = {
        "on": Setting(False, ""),
        "count": Setting(3, "", low=1, high=10),
        "rate": Setting(0.5, "", low=0),
        "kind": Setting("words", "", choices=("words", "characters")),
        "depth": Setting(None, "", tried=(None, 4)),
        "cut": Setting(None, "", low=-5),
        "path": Setting(None, ""),
    }


def chosen(**given: Any) -> dict[str, Any]:
    return chosen_settings(Model, given)  # type: ignore[arg-type]


def test_defaults_stand_for_what_is_not_given() -> None:
    defaults = {name: setting.default for name, setting in Model.known_settings.items()}
    assert chosen() == chosen_settings(Model, None) == defaults  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("on", "yes", True),
        ("on", "0", False),
        ("on", True, True),
        ("count", "7", 7),
        ("count", 7.0, 7),
        ("rate", "1e-3", 0.001),
        ("rate", 2, 2.0),
        ("kind", "characters", "characters"),
        ("depth", "6", 6),
        ("depth", "none", None),
        ("cut", "2.5", 2.5),
        ("cut", None, None),
        ("path", "a/b", "a/b"),
    ],
)
def test_a_text_is_read_as_the_kind_of_the_setting(name: str, given: Any, value: Any) -> None:
    found = chosen(**{name: given})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("on", "perhaps", "true or false"),
        ("count", "7.5", "a whole number"),
        ("count", 7.5, "a whole number"),
        ("count", float("inf"), "a whole number"),
        ("count", "9" * 5_000, "a whole number"),
        ("count", 11, "a finite number from 1 to 10"),
        ("count", None, "a whole number"),
        ("rate", "nan", "a finite number from 0"),
        ("rate", "inf", "a finite number"),
        ("rate", "fast", "a number"),
        ("rate", [1], "a number"),
        ("kind", "lines", "one of words, characters"),
        ("kind", 3, "a text"),
        ("depth", "deep", "a whole number"),
        ("cut", "-6", "a finite number from -5"),
        ("size", 1, "it has: on, count"),
    ],
)
def test_what_does_not_hold_is_refused_in_a_short_line(name: str, given: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected) as caught:
        chosen(**{name: given})
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", RANKERS.names())
def test_every_ranker_that_ships_says_what_its_settings_are(name: str) -> None:
    factory: type[Ranker] = RANKERS.factory(name)
    assert factory.name == name
    for setting in factory.known_settings.values():
        assert setting.help
        assert not setting.help.endswith(".")
    # The defaults and all that tuning tries hold.
    for key, setting in factory.known_settings.items():
        for value in (setting.default, *setting.tried):
            assert factory({key: value}).settings[key] == value
