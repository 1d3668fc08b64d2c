import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tertulia.bot.pipeline import Bot
from tertulia.bot.service import Conversations
from tertulia.bot.why import find_turn
from tertulia.errors import InputError, NotFoundError, StaleError, StoreError
from tertulia.log.store import LogStore


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.sqlite'}"


@pytest.fixture
def conversations(small_bot: Path, database: str) -> Iterator[Conversations]:
    opened = Conversations([Bot(small_bot)], LogStore(database))
    yield opened
    opened.close()


def test_a_turn_is_answered_from_the_bank_and_logged(conversations: Conversations) -> None:
    identifier = conversations.start()
    turn = conversations.say(identifier, "I was hungry and there was only cabbage!")
    assert turn.component == "matching"
    assert turn.reply == "Slice it thin, fry it in butter, and add caraway seeds."
    history = conversations.history(identifier)
    assert history["turns"][0]["reply"] == turn.reply
    assert history["turns"][0]["evidence"] == {
        "type": "dialogue",
        "dialogue_id": "food-1",
        "position": 1,
        "topic": "food",
        "context": "i am hungry and there is only cabbage",
    }
    trace = conversations.turn(identifier, 1)["trace"]
    assert [step["component"] for step in trace["steps"]] == ["rules", "matching", "matching-2", "backup"]
    assert conversations.source(history["turns"][0]["evidence"]) == {
        "dialogue_id": "food-1",
        "topic": "food",
        "utterances": conversations.bot().dialogue("food-1")["utterances"],
    }


def test_a_conversation_goes_on_in_another_process_as_if_there_had_been_no_break(
    conversations: Conversations, small_bot: Path, database: str
) -> None:
    identifier = conversations.start()
    first = conversations.say(identifier, "where should i travel in october")
    other = Conversations([Bot(small_bot)], LogStore(database))
    second = other.say(identifier, "where should i travel in october?")
    assert second.number == 2
    assert second.reply != first.reply
    third = conversations.say(identifier, "i was hoping for mountains")
    assert third.number == 3
    assert [turn["turn"] for turn in other.history(identifier)["turns"]] == [1, 2, 3]
    other.close()


def test_replies_do_not_depend_on_a_restart(small_bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _n: "the-same-conversation")
    said = ["hello", "my name is Ada", "tell me a joke", "i am hungry", "hm", "tell me a joke", "what's my name?"]

    def talk(path: Path, restart: bool) -> list[str]:
        service = Conversations([Bot(small_bot)], LogStore(str(path)))
        identifier = service.start()
        replies = []
        for text in said:
            replies.append(service.say(identifier, text).reply)
            if restart:
                service.close()
                service = Conversations([Bot(small_bot)], LogStore(str(path)))
        service.close()
        return replies

    assert talk(tmp_path / "a.sqlite", restart=True) == talk(tmp_path / "b.sqlite", restart=False)


def test_a_wish_for_a_topic_is_kept_until_the_next_turn(conversations: Conversations) -> None:
    identifier = conversations.start()
    assert conversations.wish_topic(identifier, "movies") == "films"
    assert conversations.history(identifier)["topic"] == "films"
    turn = conversations.say(identifier, "qwertyuiop asdfghjkl")
    assert turn.topic == "films"
    assert conversations.history(identifier)["topic"] == "films"
    with pytest.raises(NotFoundError, match="there is no topic 'alchemy'; there are: films, food, travel"):
        conversations.wish_topic(identifier, "alchemy")


def test_ratings_are_kept_changed_and_taken_back(conversations: Conversations) -> None:
    identifier = conversations.start()
    conversations.say(identifier, "i am hungry and there is only cabbage")
    assert conversations.rate(identifier, 1, thumb=1) == {"thumb": 1, "grade": None}
    assert conversations.rate(identifier, 1, thumb=-1, grade=4) == {"thumb": -1, "grade": 4}
    assert conversations.rate(identifier, 1, thumb=0) == {"thumb": None, "grade": 4}
    assert conversations.history(identifier)["turns"][0]["rating"] == {"thumb": None, "grade": 4}
    for wrong in ({"thumb": 2}, {"grade": 6}, {"grade": -1}):
        with pytest.raises(InputError):
            conversations.rate(identifier, 1, **wrong)
    with pytest.raises(NotFoundError):
        conversations.rate(identifier, 2, thumb=1)


@pytest.mark.parametrize("identifier", ["", "nobody", "x" * 1000, "'; drop table tertulia_turn; --"])
def test_an_unknown_conversation_is_not_found(conversations: Conversations, identifier: str) -> None:
    for call in (conversations.history, lambda i: conversations.say(i, "hi"), lambda i: conversations.turn(i, 1)):
        with pytest.raises(NotFoundError):
            call(identifier)


def test_a_refused_message_leaves_nothing_behind(conversations: Conversations) -> None:
    identifier = conversations.start()
    for text in ("", "x" * 5000, "\x00"):
        with pytest.raises(InputError):
            conversations.say(identifier, text)
    assert conversations.history(identifier)["turns"] == []
    assert conversations.say(identifier, "hello").number == 1


def test_a_turn_that_cannot_be_logged_has_not_happened(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = conversations.start()
    first = conversations.say(identifier, "i am hungry and there is only cabbage")

    def refuse(*_args: object) -> None:
        raise StoreError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(LogStore, "append", refuse)
        with pytest.raises(StoreError, match="disk full"):
            conversations.say(identifier, "caraway tastes like soap to me")
    assert [t["turn"] for t in conversations.history(identifier)["turns"]] == [first.number]
    assert conversations.say(identifier, "caraway tastes like soap to me").number == 2


def test_two_at_once_in_one_conversation_make_two_turns(small_bot: Path, database: str) -> None:
    services = [Conversations([Bot(small_bot)], LogStore(database)) for _ in range(2)]
    identifier = services[0].start()
    problems: list[Exception] = []

    def talk(service: Conversations) -> None:
        for number in range(8):
            try:
                service.say(identifier, f"hello number {number}")
            except StoreError as error:
                problems.append(error)

    threads = [threading.Thread(target=talk, args=(service,)) for service in services for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [turn["turn"] for turn in services[0].history(identifier)["turns"]]
    assert problems == []
    assert numbers == list(range(1, 33))
    for service in services:
        service.close()


def test_a_message_sent_again_is_not_said_twice_even_by_another_process(
    conversations: Conversations, small_bot: Path, database: str
) -> None:
    identifier = conversations.start()
    assert conversations.say(identifier, "hello", after=0).number == 1
    other = Conversations([Bot(small_bot)], LogStore(database))
    for service in (conversations, other):
        with pytest.raises(StaleError, match="has 1 turns, you have seen 0, so nothing was said"):
            service.say(identifier, "hello", after=0)
    assert other.say(identifier, "and again", after=1).number == 2
    assert len(conversations.history(identifier)["turns"]) == 2
    other.close()


def test_bots_by_name(small_bot: Path, database: str) -> None:
    with pytest.raises(InputError, match="two bots have the name 'small'"):
        Conversations([Bot(small_bot), Bot(small_bot)], LogStore(database))
    service = Conversations([Bot(small_bot)], LogStore(database))
    with pytest.raises(NotFoundError, match="there is no bot 'large'; there are: small"):
        service.start("large")
    service.close()


def test_why_finds_a_turn_and_its_source(conversations: Conversations, small_bot: Path, database: str) -> None:
    identifier = conversations.start()
    conversations.say(identifier, "i am hungry and there is only cabbage")
    for name in ("last", identifier, f"{identifier}/1"):
        found, source = find_turn(database, name, small_bot)
        assert found["turn"] == 1
        assert found["trace"]["steps"][1]["outcome"] == "replied"
        assert source is not None
        assert source["utterances"][1] == found["reply"]
    for name, error in (
        (f"{identifier}/9", NotFoundError),
        ("nobody/1", NotFoundError),
        (f"{identifier}/x", InputError),
    ):
        with pytest.raises(error):
            find_turn(database, name, small_bot)
    with pytest.raises(StoreError, match="there is no database at this path"):
        find_turn(database + "x", "last", small_bot)
