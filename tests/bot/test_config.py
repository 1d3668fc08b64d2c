import re
from pathlib import Path

import pytest

from tertulia.bot.config import load_config
from tertulia.errors import ConfigurationError

GOOD = """
[bot]
name = "tester"

[[component]]
kind = "backup"
path = "backup.txt"
"""


def write(tmp_path: Path, text: str) -> Path:
    (tmp_path / "bot.toml").write_text(text, encoding="utf-8")
    (tmp_path / "backup.txt").write_text("Go on.\n", encoding="utf-8")
    return tmp_path


def test_a_small_configuration_gets_sensible_defaults(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD))
    assert (config.name, config.language, config.seed, config.privacy) == ("tester", "en", 0, "standard")
    assert [(part.kind, part.threshold, part.deadline_ms) for part in config.components] == [("backup", 0.0, 1000.0)]


def test_a_kind_that_stands_twice_gets_two_names(tmp_path: Path) -> None:
    text = GOOD.replace(
        "[[component]]", '[[component]]\nkind = "matching"\n[[component]]\nkind = "matching"\n[[component]]'
    )
    assert [part.name for part in load_config(write(tmp_path, text)).components] == ["matching", "matching-2", "backup"]


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (
            ('kind = "backup"', 'kind = "oracle"'),
            6,
            "there is no component 'oracle'; there are: backup, matching, rules",
        ),
        (('path = "backup.txt"', 'threshold = "high"'), 7, 'threshold is "high"; expected a number from 0 to 1'),
        (('path = "backup.txt"', "threshold = 1.5"), 7, "threshold is 1.5; expected a number from 0 to 1"),
        (('path = "backup.txt"', "threshold = true"), 7, "threshold is True; expected a number from 0 to 1"),
        (('path = "backup.txt"', "threshold = nan"), 7, "threshold is nan; expected a number from 0 to 1"),
        (('path = "backup.txt"', "deadline_ms = 0"), 7, "deadline_ms is 0; expected a number from 1 to 600000"),
        (('name = "tester"', "name = 3"), 3, "name is 3; expected a text"),
        (('name = "tester"', 'name = "a/b"'), 3, "name is \"a/b\"; expected a text without '/'"),
        (('name = "tester"', 'name = "x"\nlanguage = "elvish"'), 4, 'language is "elvish"; expected one of en, zh'),
        (('name = "tester"', 'name = "x"\nseed = -1'), 4, "seed is -1; expected a whole number from 0"),
        (('name = "tester"', 'name = "x"\nnam = "y"'), 4, "[bot] has no option 'nam'"),
        (('name = "tester"', ""), 2, "[bot] has no name, which is required"),
        (('kind = "backup"', 'kind = "matching"'), 6, "the last component is 'matching'; expected 'backup'"),
        (('name = "tester"', 'name = "x"\nopeners = ["a", 2]'), 4, "openers is ['a', 2]; expected a list of texts"),
    ],
)
def test_what_does_not_hold_is_said_with_its_line(
    tmp_path: Path, change: tuple[str, str], line: int, message: str
) -> None:
    directory = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        load_config(directory)
    assert caught.value.where == f"{directory / 'bot.toml'}:{line}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[bot\nname = 1", "is not TOML"),
        ("", "has no [bot] table"),
        ("[bot]\nname='x'\n[cupboard]\n", "has the unknown table [cupboard]"),
        ("[bot]\nname='x'\n", "has no [[component]]"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_config(write(tmp_path, text))


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not there"):
        load_config(tmp_path)
    (tmp_path / "bot.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_config(tmp_path)


@pytest.mark.parametrize("value", ["../backup.txt", "/etc/passwd"])
def test_a_path_must_stay_inside_the_bot(tmp_path: Path, value: str) -> None:
    inside = tmp_path / "bot"
    inside.mkdir()
    (tmp_path / "backup.txt").write_text("outside", encoding="utf-8")
    config = load_config(write(inside, GOOD.replace('"backup.txt"', f'"{value}"')))
    with pytest.raises(ConfigurationError, match="expected a path inside the bot's directory"):
        config.components[0].options.path("path", "backup.txt")


def test_an_option_nobody_reads_is_refused(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD + "treshold = 0.5\n"))
    part = config.components[0]
    part.options.path("path", "backup.txt")
    with pytest.raises(ConfigurationError, match="the component 'backup' has no option 'treshold'"):
        part.options.finish("the component 'backup'")
