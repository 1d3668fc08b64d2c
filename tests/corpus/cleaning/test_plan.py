"""A plan is checked whole before anything is read."""

import pytest

from tertulia.corpus.cleaning.filter import Filter
from tertulia.corpus.cleaning.plan import parse_plan
from tertulia.corpus.cleaning.registry import FILTERS
from tertulia.errors import ConfigurationError


def test_a_plan_is_what_is_typed() -> None:
    plan = parse_plan(["offensive", " personal:mask "], ["personal.regions=GB"], "en")
    assert plan.to_json() == {
        "filters": {"offensive": "mark", "personal": "mask"},
        "settings": {"personal.regions": "GB"},
        "language": "en",
    }
    assert [(step.filter.name, step.action) for step in plan.steps("en")] == [
        ("offensive", "mark"),
        ("personal", "mask"),
    ]


def test_filters_that_look_ahead_come_last() -> None:
    plan = parse_plan(["duplicates:drop", "short"])
    assert plan.looks_ahead
    assert [step.filter.name for step in plan.steps("en")] == ["short", "duplicates"]
    assert not parse_plan(["short"]).looks_ahead


@pytest.mark.parametrize(
    ("filters", "settings", "language", "message"),
    [
        (["ofensive"], [], "en", r"there is no filter 'ofensive'; there are: duplicates, language"),
        (["short:mask"], [], "en", r"'short' cannot mask"),
        (["short:eat"], [], "en", r"is to 'eat'; expected one of: mark, drop, mask"),
        (["short", "short:drop"], [], "en", r"named twice"),
        ([], [], "en", r"no filter is named"),
        ([""], [], "en", r"there is no filter ''"),
        (["short"], [], "fr", r"the language is 'fr'; expected one of: auto, en, zh"),
        (["short"], ["words=3"], "en", r"expected FILTER\.NAME=VALUE"),
        (["short"], ["short.words"], "en", r"expected FILTER\.NAME=VALUE"),
        (["short"], ["personal.regions=GB"], "en", r"of a filter that is not in use; in use: short"),
        (["short"], ["short.length=3"], "en", r"has no setting 'length'; it has: words, utterances"),
        (["offensive"], ["offensive.x=3"], "en", r"it has: words"),
        (["needs-knowledge"], ["needs-knowledge.x=3"], "en", r"it has: none"),
        (["short"], ["short.words=three"], "en", r"words is 'three'; expected a whole number"),
        (["short"], ["short.words=-1"], "en", r"words is -1; expected a whole number from 0 to"),
        (["duplicates"], ["duplicates.threshold=nan"], "en", r"threshold is nan; expected a number from 0.1 to 1.0"),
        (["duplicates"], ["duplicates.threshold=1.5"], "en", r"threshold is 1.5"),
    ],
)
def test_a_plan_that_does_not_hold_is_refused(
    filters: list[str], settings: list[str], language: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_plan(filters, settings, language)


@pytest.mark.parametrize("name", FILTERS.names())
def test_every_filter_says_what_it_is_and_keeps_its_defaults(name: str) -> None:
    part: type[Filter] = FILTERS.factory(name)
    assert part.name == name
    assert part.summary
    defaults = {key: setting.default for key, setting in part.settings.items()}
    made = part("en", **defaults)  # type: ignore[call-arg]
    assert [hit.kind for hit in made.in_text("good morning to you all")] == []
