import pytest

from tertulia.bot.topics import TopicMap, drift


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("films", "films"),
        ("Movies", "films"),
        ("the movies", "films"),
        ("film", "films"),
        ("science fiction", "science_fiction"),
        ("sci-fi", "science_fiction"),
        ("tea", "coffee_and_tea"),
        ("book", "books"),
        ("quantum plumbing", None),
        ("", None),
    ],
)
def test_a_persons_word_finds_the_banks_topic(words: str, topic: str | None) -> None:
    assert TopicMap(["films", "science_fiction", "coffee_and_tea", "books"]).find(words) == topic


def test_a_topic_that_the_bank_has_wins_over_a_synonym() -> None:
    topics = TopicMap(["movies", "films"])
    assert topics.find("movies") == "movies"
    assert topics.find("films") == "films"


def test_two_replies_in_a_row_move_the_talk_and_one_does_not() -> None:
    assert drift(None, None, "food") == "food"
    assert drift("food", "food", "travel") == "food"
    assert drift("food", "travel", "travel") == "travel"
    assert drift("food", "travel", None) == "food"
