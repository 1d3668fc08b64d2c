"""The log: what goes in comes out, from SQLite and from a real PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError, NotFoundError, StoreError
from tertulia.log.store import LogStore, TakenError

from .conftest import begin, stored_turn

# What PostgreSQL keeps in a text: every character but NUL; halves of surrogate pairs are not characters.
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


def test_a_conversation_is_kept_with_its_start(store: LogStore) -> None:
    before = datetime.now(UTC)
    begin(store)
    row = store.conversation("c1")
    assert row is not None
    assert before <= row.pop("started_at") <= datetime.now(UTC)
    assert row == {"id": "c1", "bot": "small", "bot_digest": "ab" * 32, "channel": "terminal", "wished_topic": None}
    assert store.conversation("c2") is None


def test_an_id_is_given_once(store: LogStore) -> None:
    begin(store)
    with pytest.raises(StoreError):
        begin(store)


def test_turns_come_back_as_they_were(store: LogStore) -> None:
    begin(store)
    turns = [stored_turn(number) for number in (1, 2, 3)]
    for turn in turns:
        store.append("c1", turn)
    assert store.turns("c1") == turns
    assert store.turn("c1", 2) == turns[1]
    assert store.turn("c1", 4) is None
    assert store.turns("c2") == []
    assert (store.last_number("c1"), store.last_number("c2")) == (3, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=TEXTS, reply=TEXTS, topic=st.none() | TEXTS, evidence=OBJECTS, trace=OBJECTS, memory=OBJECTS, data=st.data()
)
def test_any_text_and_any_json_comes_back(
    store: LogStore,
    text: str,
    reply: str,
    topic: str | None,
    evidence: dict,
    trace: dict,
    memory: dict,
    data: st.DataObject,
) -> None:
    if store.conversation("c1") is None:
        begin(store)
    number = store.last_number("c1") + 1
    turn = stored_turn(number, text=text, reply=reply, topic=topic, evidence=evidence, trace=trace, memory=memory)
    store.append("c1", turn)
    assert store.turn("c1", number) == turn


def test_every_character_is_kept(store: LogStore) -> None:
    begin(store)
    # All of Unicode that is text, in slices, noncharacters and private use among them.
    points = [point for point in range(1, 0x110000, 7) if not 0xD800 <= point <= 0xDFFF]
    points += [*range(1, 0x400), 0xFFFE, 0xFFFF, 0x10FFFF]
    text = "".join(map(chr, points))
    store.append("c1", stored_turn(1, text=text, reply=text[::-1], evidence={"text": text}))
    kept = store.turn("c1", 1)
    assert kept is not None
    assert kept.text == text
    assert kept.reply == text[::-1]
    assert kept.evidence == {"text": text}


@pytest.mark.parametrize("bad", ["nul \0 here", "half \ud800 a pair", "\udfff"])
@pytest.mark.parametrize("field", ["text", "reply", "topic"])
def test_what_no_database_keeps_is_refused_alike(store: LogStore, field: str, bad: str) -> None:
    begin(store)
    with pytest.raises(InputError, match=f"the {field} holds the character NUL or half of a surrogate pair"):
        store.append("c1", stored_turn(1, **{field: bad}))
    assert store.last_number("c1") == 0


def test_half_a_surrogate_pair_in_the_trace_is_one_clear_error(store: LogStore) -> None:
    begin(store)
    with pytest.raises(InputError, match="half of a surrogate pair"):
        store.append("c1", stored_turn(1, trace={"text": "\ud83d"}))
    assert store.turns("c1") == []


def test_a_number_that_json_does_not_know_is_refused(store: LogStore) -> None:
    begin(store)
    with pytest.raises(StoreError, match="JSON"):
        store.append("c1", stored_turn(1, trace={"score": float("nan")}))
    assert store.turns("c1") == []


def test_a_taken_number_is_told_apart(store: LogStore) -> None:
    begin(store)
    store.append("c1", stored_turn(1))
    with pytest.raises(TakenError, match="turn 1 was taken meanwhile"):
        store.append("c1", stored_turn(1, text="another"))
    kept = store.turn("c1", 1)
    assert kept is not None
    assert kept.text == "question 1"


def test_a_turn_of_no_conversation_is_not_called_taken(store: LogStore) -> None:
    with pytest.raises(StoreError) as caught:
        store.append("nobody", stored_turn(1))
    assert not isinstance(caught.value, TakenError)


def test_ratings_are_added_and_the_latest_of_a_kind_counts(store: LogStore) -> None:
    begin(store)
    begin(store, "c2")
    for number in (1, 2):
        store.append("c1", stored_turn(number))
    store.append("c2", stored_turn(1))
    given_ratings = [(1, "thumb", 1), (1, "grade", 2), (2, "grade", 5), (1, "thumb", -1), (1, "grade", None)]
    for number, kind, value in given_ratings:
        store.rate("c1", number, kind, value)
    assert store.ratings("c1") == {1: {"thumb": -1, "grade": None}, 2: {"thumb": None, "grade": 5}}
    assert store.ratings("c2") == {}
    history = store.rating_history("c1")
    assert [(row["turn"], row["kind"], row["value"]) for row in history] == given_ratings
    times = [row["rated_at"] for row in history]
    assert times == sorted(times)
    assert all(time.tzinfo is not None for time in times)


def test_only_what_was_said_is_rated(store: LogStore) -> None:
    begin(store)
    with pytest.raises(NotFoundError, match="has no turn 1"):
        store.rate("c1", 1, "thumb", 1)
    store.append("c1", stored_turn(1))
    with pytest.raises(InputError, match="there is no rating 'stars'; there are: thumb, grade"):
        store.rate("c1", 1, "stars", 5)
    assert store.rating_history("c1") == []


def test_a_wished_topic_stays_until_it_is_taken_up(store: LogStore) -> None:
    begin(store)
    begin(store, "c2")
    store.wish_topic("c1", "旅行 🧳")
    assert [row["wished_topic"] for row in store.conversations()] == ["旅行 🧳", None]
    store.wish_topic("c1", None)
    assert [row["wished_topic"] for row in store.conversations()] == [None, None]


def test_the_latest_turn_of_the_whole_log(store: LogStore) -> None:
    assert store.latest() is None
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for identifier in ("b", "a", "c"):
        begin(store, identifier)
        store.append(identifier, stored_turn(1, said_at=noon))
    assert store.latest() == ("a", 1), "of equal times the answer must not be left to chance"
    store.append("b", stored_turn(2, said_at=noon + timedelta(microseconds=1)))
    assert store.latest() == ("b", 2)
    store.append("c", stored_turn(2, said_at=noon.astimezone(timezone(timedelta(hours=9)))))
    assert store.latest() == ("b", 2)


def test_times_come_back_in_utc(store: LogStore) -> None:
    begin(store)
    said = datetime(2026, 3, 1, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-11, minutes=-30)))
    store.append("c1", stored_turn(1, said_at=said))
    kept = store.turn("c1", 1)
    assert kept is not None
    assert kept.said_at == said
    assert kept.said_at.tzinfo is UTC or kept.said_at.utcoffset() == timedelta(0)


def test_conversations_stream_in_order_of_id_while_others_read(store: LogStore) -> None:
    names = sorted(f"c{number:04d}" for number in range(520))
    for name in reversed(names):
        begin(store, name)
    found = []
    for row in store.conversations():
        found.append(row["id"])
        assert store.last_number(row["id"]) == 0
    assert found == names


def test_everything_is_there_after_reopening(database: str) -> None:
    with LogStore(database) as first:
        begin(first)
        first.append("c1", stored_turn(1))
        first.rate("c1", 1, "grade", 4)
        first.wish_topic("c1", "food")
    with LogStore(database, must_exist=True) as second:
        assert second.turns("c1") == [stored_turn(1)]
        assert second.ratings("c1") == {1: {"thumb": None, "grade": 4}}
        row = second.conversation("c1")
        assert row is not None
        assert row["wished_topic"] == "food"


@pytest.fixture
def two_stores(database: str) -> Iterator[tuple[LogStore, LogStore]]:
    with LogStore(database) as one, LogStore(database) as other:
        yield one, other


def test_what_one_has_written_another_sees_at_once(two_stores: tuple[LogStore, LogStore]) -> None:
    one, other = two_stores
    begin(one)
    for number in range(1, 6):
        writer, reader = (one, other) if number % 2 else (other, one)
        writer.append("c1", stored_turn(number))
        assert reader.last_number("c1") == number
        with pytest.raises(TakenError):
            reader.append("c1", replace(stored_turn(number), text="too late"))
