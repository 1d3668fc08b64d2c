"""What ``stackexchange build`` makes of a dump equals, field by field, what the plain definition makes of it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Dialogue
from tertulia.corpus.opening import open_collection
from tertulia.stackexchange.build import build_corpus
from tertulia.stackexchange.options import BuildOptions
from tests.stackexchange import dumps
from tests.stackexchange import reference as plainly

# Of all layouts that there are: 2016, 2018 without votes and with a document type, 2020 with all tables, 2024 with posts alone.
FOUR = ["ai_201612", "history.meta_201809", "beer_20200531", "datascience.meta_posts_only"]
CASES: dict[str, tuple[plainly.Options, dict[str, Any]]] = {
    "as shipped": (plainly.Options(), {}),
    "every candidate": (plainly.Options(criteria=()), {"criteria": ()}),
    "markdown, the criteria backwards": (
        plainly.Options(criteria=plainly.ALL[::-1], text="markdown"),
        {"criteria": plainly.ALL[::-1], "text": "markdown"},
    ),
    "html, edited by the history": (
        plainly.Options(text="html", edited="history", split=None),
        {"text": "html", "edited": "history", "split": None},
    ),
    "two criteria, other thresholds and shares": (
        plainly.Options(
            criteria=("positive-ending", "not-edited"),
            threshold=0.8,
            thresholds={"beer": -0.5},
            split={"test": 0.5, "train": 0.5},
        ),
        {
            "criteria": ("positive-ending", "not-edited"),
            "positive_threshold": 0.8,
            "thresholds": {"beer": -0.5},
            "split": {"test": 0.5, "train": 0.5},
        },
    ),
}


def built(folders: Sequence[Path], work: Path, **options: Any) -> tuple[list[Dialogue], list[dict[str, Any]]]:
    result = build_corpus(folders, work / "corpus", BuildOptions(workers=1, cache=work / "cache", **options))
    with open_collection(result.corpus) as corpus:
        return [record.dialogue for record in corpus.records()], result.funnel


def expect_equal(found: list[Dialogue], expected: list[Dialogue]) -> None:
    """Equal one by one, so that a difference is shown as one of two short dialogues."""
    assert [dialogue.id for dialogue in found] == [dialogue.id for dialogue in expected]
    for one, other in zip(found, expected, strict=True):
        assert one == other


@pytest.mark.data
def test_beer(data: Path, tmp_path: Path) -> None:
    dump = data / "stackexchange" / "beer_20200531"
    expected, funnel = plainly.build([dump], plainly.Options())
    found, found_funnel = built([dump], tmp_path)
    assert len(found) == 47
    expect_equal(found, expected)
    assert found_funnel == funnel
    assert {dialogue.split for dialogue in found} == {"train", "dev", "test"}


@pytest.mark.data
@pytest.mark.parametrize("case", CASES)
def test_real_dumps(case: str, data: Path, tmp_path: Path) -> None:
    nine = sorted((data / "stackexchange").iterdir())
    assert len(nine) == 9
    # All nine agree in every case; four keep the tests short.
    folders = nine if case == "as shipped" else [folder for folder in nine if folder.name in FOUR]
    plain_options, options = CASES[case]
    expected, funnel = plainly.build(folders, plain_options)
    found, found_funnel = built(folders, tmp_path, **options)
    assert len(found) > 10
    expect_equal(found, expected)
    assert found_funnel == funnel


# -------------------------------------------------------------------------------------------------- made-up dumps

BODIES = [
    "<p>Which malt?</p>",
    '<p>See <a href="https://malt.example/pale">the pale one</a> &amp; others.</p>',
    "<p>Look at http://hop.example/cones, please.</p>",
    "<p>EDIT: it was the water.</p>",
    "<p>The credit: all yours.</p><ul><li>one</li><li>two</li></ul>",
    "<p><strong>Deprecated</strong> 2: no more.</p>",
    "<pre><code>edit:\n\tboil()\n</code></pre>",
    "",
]
TEXTS = [
    "Thanks, that is great!",
    "That is terrible, I hate it.",
    "See [the page](http://yeast.example/ale_(warm)).",
    "https://yeast.example/lager?x=1&y=2",
    "Edit 3: no.",
    "Which one?",
    "caf\u00e9 \U0001f37a \u201cfoam\u201d",
]
USERS = [1, 2, 2, 3, -1, None]
NAMES = [None, "Ann", "user7", "Bj\u00f6rn"]
TIMES = ["2011-01-01T00:00:00", "2015-05-05T10:00:00.123", "2015-05-05T10:00:00.123999", "2018-05-02T00:00:00.000"]


def attributes(**possible: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(possible)


CREDITS = {
    "ContentLicense": st.sampled_from([None, "CC BY-SA 3.0"]),
    "Score": st.sampled_from([None, -1, 0, 7]),
    "CreationDate": st.sampled_from(TIMES),
}


@st.composite
def made_up_dumps(draw: st.DrawFn) -> dict[str, Any]:
    """The tables of a small site: few people, so that threads with two of them are not rare."""
    posts: list[dict[str, Any]] = []
    comments: list[dict[str, Any]] = []
    for question in range(1, draw(st.integers(1, 3)) + 1):
        number = 10 * question
        posts.append(
            {"Id": number, "PostTypeId": 1}
            | draw(
                attributes(
                    Body=st.sampled_from(BODIES),
                    OwnerUserId=st.sampled_from(USERS),
                    OwnerDisplayName=st.sampled_from(NAMES),
                    Title=st.sampled_from([None, "Why so bitter?"]),
                    Tags=st.sampled_from([None, "<hops><malt-bill>", "|hops|c++|", ""]),
                    AcceptedAnswerId=st.sampled_from([None, number + 1, 999]),
                    LastEditDate=st.sampled_from([None, "2020-01-01T00:00:00"]),
                    **CREDITS,
                )
            )
        )
        for answer in range(number + 1, number + 1 + draw(st.integers(0, 2))):
            posts.append(
                {"Id": answer, "PostTypeId": 2, "ParentId": draw(st.sampled_from([number, number, number, 77]))}
                | draw(
                    attributes(
                        Body=st.sampled_from(BODIES),
                        OwnerUserId=st.sampled_from(USERS),
                        OwnerDisplayName=st.sampled_from(NAMES),
                        **CREDITS,
                    )
                )
            )
            comments += (
                {"Id": 100 * answer + place, "PostId": answer}
                | draw(
                    attributes(
                        Text=st.sampled_from(TEXTS),
                        UserId=st.sampled_from(USERS),
                        UserDisplayName=st.sampled_from(NAMES),
                        **CREDITS,
                    )
                )
                for place in range(draw(st.integers(0, 4)))
            )
    numbers = [post["Id"] for post in posts]
    some_posts = st.lists(st.sampled_from(numbers), max_size=2)
    votes = [
        {"Id": n, "PostId": post, "VoteTypeId": draw(st.sampled_from([2, 4, 12]))}
        for n, post in enumerate(draw(some_posts))
    ]
    history = [
        {"Id": n, "PostId": post, "PostHistoryTypeId": draw(st.sampled_from([2, 5, 8]))}
        for n, post in enumerate(draw(some_posts))
    ]
    return {
        "posts": draw(st.permutations(posts)),
        "comments": draw(st.permutations(comments)) if draw(st.integers(0, 9)) else None,
        "users": [{"Id": 1, "DisplayName": "Ada"}, {"Id": 2}] if draw(st.booleans()) else None,
        "votes": votes if draw(st.booleans()) else None,
        "history": history if draw(st.booleans()) else None,
    }


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    made_up_dumps(),
    made_up_dumps(),
    st.permutations(plainly.ALL).flatmap(lambda order: st.integers(0, 6).map(lambda count: tuple(order[:count]))),
    st.sampled_from(["plain", "markdown", "html"]),
    st.sampled_from(["marker", "history"]),
)
def test_made_up_dumps(
    one: dict[str, Any], other: dict[str, Any], criteria: tuple[str, ...], text: Any, edited: Any
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        folders = [
            dumps.write_dump(work / "wine.meta_20200101", **one),
            dumps.write_dump(work / "superuser", **other, newline="\n"),
        ]
        options = plainly.Options(criteria=criteria, text=text, edited=edited)
        expected, funnel = plainly.build(folders, options)
        found, found_funnel = built(folders, work, criteria=criteria, text=text, edited=edited)
    expect_equal(found, expected)
    assert found_funnel == funnel
