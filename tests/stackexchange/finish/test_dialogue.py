"""One thread as a dialogue, field by field."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest

from tertulia.stackexchange.finish.dialogue import Comment, Post, SiteNames, Thread, dialogue_of, last_word, licence_at

BEER = SiteNames("beer", "beer.stackexchange.com")


def at(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


def comment(number: int, person: str, text: str, **more: Any) -> Comment:
    known = {"score": None, "user": int(person) if person.isdigit() else None, "name": None, "licence": None}
    return Comment(**{"id": number, "created": at(2020, 1, number), "person": person, "text": text, **known, **more})


def thread(*comments: Comment, **more: Any) -> Thread:
    question = Post(10, at(2010, 1, 1, 8), 4, 1, "1", "Ann", None, "<p>Why is it <b>cloudy</b>?</p>")
    answer = Post(
        20, at(2015, 1, 1), None, 2, "2", None, "CC BY-SA 3.0", '<p>Cold. See <a href="http://a.org">a</a></p>'
    )
    parts = {
        "site": BEER,
        "question": question,
        "answer": answer,
        "title": "Haze",
        "tags": "<ale><haze>",
        "accepted": 20,
    }
    return Thread(**{**parts, "comments": comments, **more})


def test_every_field() -> None:
    talk = thread(
        comment(1, "2", "Chill [haze](http://b.org/h), to be exact", score=2, name="Bob", licence="CC BY-SA 4.0"),
        comment(2, "1", "Thanks", score=0, name="Ann"),
        comment(3, "2", "Welcome"),
    )
    dialogue = dialogue_of(talk, "plain")
    assert asdict(dialogue) | {"utterances": None} == {
        "id": "beer-10-20",
        "utterances": None,
        "domain": "beer",
        "split": None,
        "title": "Haze",
        "started_at": datetime(2010, 1, 1, 8, tzinfo=UTC),
        "attributes": {
            "thread": "beer-10",
            "question": 10,
            "answer": 20,
            "accepted": True,
            "tags": ["ale", "haze"],
            "site": "beer.stackexchange.com",
            "url": "https://beer.stackexchange.com/a/20",
        },
    }
    question, answer, thanks, welcome = dialogue.utterances
    assert [u.position for u in dialogue.utterances] == [u.turn for u in dialogue.utterances] == [0, 1, 2, 3]
    assert [(u.speaker, u.role) for u in dialogue.utterances] == [("1", "user"), ("2", "agent")] * 2
    assert (question.id, question.text, question.sent_at) == (
        "10",
        "Why is it cloudy?",
        datetime(2010, 1, 1, 8, tzinfo=UTC),
    )
    assert question.attributes == {
        "post": 10,
        "user": 1,
        "author": "Ann",
        "licence": "CC BY-SA 2.5",
        "url": "https://beer.stackexchange.com/q/10",
        "votes": 4,
        "is_answer": 0,
    }
    assert answer.text == "Cold. See a (http://a.org)\n\nChill haze (http://b.org/h), to be exact"
    assert answer.attributes == {
        "post": 20,
        "user": 2,
        "licence": "CC BY-SA 3.0",
        "url": "https://beer.stackexchange.com/a/20",
        "is_answer": 1,
        "links": ["http://a.org", "http://b.org/h"],
        "merged": [
            {
                "id": "20_1",
                "post": 20,
                "comment": 1,
                "licence": "CC BY-SA 4.0",
                "url": "https://beer.stackexchange.com/a/20#comment1_20",
                "sent_at": "2020-01-01T00:00:00.000",
                "votes": 2,
            }
        ],
    }
    assert (thanks.id, thanks.attributes["comment"], thanks.attributes["votes"]) == ("20_2", 2, 0)
    assert thanks.attributes["licence"] == "CC BY-SA 4.0"
    assert "votes" not in welcome.attributes
    assert "author" not in welcome.attributes


def test_each_style_of_text() -> None:
    talk = thread(comment(1, "1", "see [x](http://x.org) & go"))
    texts = {style: dialogue_of(talk, style).texts for style in ("plain", "markdown", "html")}  # type: ignore[arg-type]
    assert [texts[style][0] for style in texts] == [
        "Why is it cloudy?",
        "Why is it **cloudy**?",
        "<p>Why is it <b>cloudy</b>?</p>",
    ]
    assert [texts[style][2] for style in texts] == [
        "see x (http://x.org) & go",
        "see [x](http://x.org) & go",
        'see <a href="http://x.org">x</a> &amp; go',
    ]


def test_a_third_person_has_no_role_and_parts_them() -> None:
    dialogue = dialogue_of(thread(comment(1, "2", "a"), comment(2, "~Cy", "b"), comment(3, "2", "c")), "plain")
    assert [(u.speaker, u.role) for u in dialogue.utterances][1:] == [("2", "agent"), ("~Cy", None), ("2", "agent")]
    assert [u.turn for u in dialogue.utterances] == [0, 1, 2, 3]


def test_what_is_missing_is_left_out() -> None:
    bare = thread(
        question=Post(10, at(2019, 1, 1), None, None, "?p10", None, None, None), title=None, tags=None, accepted=None
    )
    dialogue = dialogue_of(bare, "plain")
    assert dialogue.title is None
    assert dialogue.attributes["accepted"] is False
    assert "tags" not in dialogue.attributes
    assert dialogue.utterances[0].text == ""
    assert set(dialogue.utterances[0].attributes) == {"post", "licence", "url", "is_answer"}
    assert dialogue.utterances[1].attributes["is_answer"] == 0


@pytest.mark.parametrize("tags", ["<a-b><c#>", "|a-b|c#|"])
def test_both_spellings_of_tags(tags: str) -> None:
    assert dialogue_of(thread(tags=tags), "plain").attributes["tags"] == ["a-b", "c#"]


def test_empty_parts_leave_no_blank_lines() -> None:
    dialogue = dialogue_of(thread(comment(1, "1", ""), comment(2, "1", " yes "), comment(3, "1", "\x00")), "plain")
    assert dialogue.texts[2] == "yes"
    assert [part["id"] for part in dialogue.utterances[2].attributes["merged"]] == ["20_2", "20_3"]


def test_the_last_word_is_the_seekers_comments_at_the_end() -> None:
    talk = [
        comment(1, "1", "first"),
        comment(2, "2", "no"),
        comment(3, "1", "[yes](http://y.org)"),
        comment(4, "1", "ok"),
    ]
    assert last_word("1", talk) == "yes (http://y.org)\n\nok"
    assert last_word("2", talk) == ""


def test_licences_by_time() -> None:
    assert licence_at(at(2011, 4, 8) - 1) == "CC BY-SA 2.5"
    assert licence_at(at(2011, 4, 8)) == "CC BY-SA 3.0"
    assert licence_at(at(2018, 5, 2) - 1) == "CC BY-SA 3.0"
    assert licence_at(at(2018, 5, 2)) == "CC BY-SA 4.0"
