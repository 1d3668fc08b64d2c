"""``ranking rankers``: every ranker that ships, with its settings as they are."""

import json

import pytest

from tertulia.cli.main import main
from tertulia.ranking.registry import RANKERS


def test_every_ranker_and_setting_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranking", "rankers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == RANKERS.names()
    assert len(found) >= 12
    for name, part in found.items():
        factory = RANKERS.factory(name)
        assert part["summary"] == factory.summary
        assert part["supervised"] is factory.supervised
        assert {each: known["default"] for each, known in part["settings"].items()} == {
            each: known.default for each, known in factory.known_settings.items()
        }


def test_people_read_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranking", "rankers"]) == 0
    out = capsys.readouterr().out
    assert "k1" in out
    assert max(len(line) for line in out.splitlines()) < 200
