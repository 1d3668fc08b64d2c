"""The JSON API: what it gives, and how it refuses."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tertulia.bot.service import Conversations
from tertulia.errors import ConfigurationError, StoreError

FILM = "what is your favourite film"
TURN_KEYS = {"turn", "text", "reply", "component", "confidence", "evidence", "topic", "candidates", "elapsed_ms"}


def say(client: TestClient, text: str = FILM, **more: object) -> dict:
    response = client.post("/api/chat", json={"text": text, **more})
    assert response.status_code == 200, response.text
    return response.json()


def problem(response, status: int) -> str:
    """The one line of an error."""
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    line = response.json()["error"]
    assert line
    assert "\n" not in line
    return line


def test_a_message_gets_a_reply_with_its_evidence(client: TestClient) -> None:
    turn = say(client)
    assert set(turn) == TURN_KEYS | {"conversation"}
    assert turn["component"] == "matching"
    assert turn["reply"] == "Casablanca, for the last scene at the airport. And yours?"
    assert turn["evidence"] == {
        "type": "dialogue",
        "dialogue_id": "films-1",
        "position": 1,
        "topic": "films",
        "context": FILM,
    }
    assert [c["verdict"] for c in turn["candidates"] if c["text"] == turn["reply"]][-1] == "said"


def test_a_conversation_goes_on_and_can_be_read(client: TestClient) -> None:
    first = say(client)
    second = say(client, "i prefer comedies with bad weather", conversation=first["conversation"])
    assert (first["turn"], second["turn"]) == (1, 2)
    state = client.get(f"/api/conversations/{first['conversation']}").json()
    assert set(state) == {"conversation", "bot", "channel", "started_at", "topic", "turns"}
    assert (state["bot"], state["channel"]) == ("small", "page")
    assert [turn["reply"] for turn in state["turns"]] == [first["reply"], second["reply"]]
    assert state["turns"][0]["rating"] == {"thumb": None, "grade": None}


def test_conversations_have_long_names_of_their_own(client: TestClient) -> None:
    names = {client.post("/api/conversations", json={}).json()["conversation"] for _ in range(20)}
    assert len(names) == 20
    assert min(map(len, names)) >= 22  # 128 bits in base 64


def test_starting_names_the_bot(client: TestClient) -> None:
    response = client.post("/api/conversations", json={"bot": "small"})
    assert response.status_code == 201
    assert response.json()["bot"] == "small"
    assert client.post("/api/conversations", json={}).json()["bot"] == "small"


def test_the_trace_explains_a_turn(client: TestClient) -> None:
    turn = say(client)
    traced = client.get(f"/api/conversations/{turn['conversation']}/turns/1").json()
    assert traced["reply"] == turn["reply"]
    outcomes = [(step["kind"], step["outcome"]) for step in traced["trace"]["steps"]]
    assert outcomes[0] == ("rules", "abstained")
    assert ("matching", "replied") in outcomes
    assert outcomes[-1] == ("backup", "not consulted")


def test_ratings_are_kept_changed_and_taken_back(client: TestClient) -> None:
    conversation = say(client)["conversation"]
    address = f"/api/conversations/{conversation}/turns/1/rating"
    assert client.put(address, json={"thumb": -1}).json() == {"thumb": -1, "grade": None}
    assert client.put(address, json={"grade": 4}).json() == {"thumb": -1, "grade": 4}
    assert client.put(address, json={"thumb": 1, "grade": 5}).json() == {"thumb": 1, "grade": 5}
    assert client.put(address, json={"thumb": 0}).json() == {"thumb": None, "grade": 5}
    state = client.get(f"/api/conversations/{conversation}").json()
    assert state["turns"][0]["rating"] == {"thumb": None, "grade": 5}


@pytest.mark.parametrize(
    ("rating", "status"),
    [
        ({}, 400),
        ({"grade": 6}, 422),
        ({"grade": -1}, 422),
        ({"grade": "5"}, 422),
        ({"grade": 4.5}, 422),
        ({"thumb": 2}, 422),
        ({"thumb": True}, 422),
        ({"stars": 5}, 422),
        ([], 422),
    ],
)
def test_ratings_off_the_scale_are_refused(client: TestClient, rating: object, status: int) -> None:
    conversation = say(client)["conversation"]
    problem(client.put(f"/api/conversations/{conversation}/turns/1/rating", json=rating), status)
    assert client.get(f"/api/conversations/{conversation}").json()["turns"][0]["rating"] == {
        "thumb": None,
        "grade": None,
    }


def test_a_topic_can_be_wished_for(client: TestClient) -> None:
    conversation = client.post("/api/conversations", json={}).json()["conversation"]
    address = f"/api/conversations/{conversation}/topic"
    assert client.put(address, json={"topic": "the movies"}).json() == {"topic": "films"}
    assert client.get(f"/api/conversations/{conversation}").json()["topic"] == "films"
    assert "quantum" in problem(client.put(address, json={"topic": "quantum knitting"}), 404)


def test_bots_and_health(client: TestClient) -> None:
    bots = client.get("/api/bots").json()["bots"]
    assert [bot["name"] for bot in bots] == ["small"]
    assert bots[0]["greeting"] == "Hello from the small bot."
    assert bots[0]["openers"] == [FILM]
    assert bots[0]["topics"] == ["films", "food", "travel"]
    assert bots[0]["counts"]["dialogues"] == 4
    assert client.get("/api/health").json()["bots"] == ["small"]


def test_a_source_dialogue_can_be_read(client: TestClient) -> None:
    dialogue = client.get("/api/bots/small/dialogues/food-1").json()
    assert dialogue["topic"] == "food"
    assert dialogue["utterances"][1].startswith("Slice it thin")
    problem(client.get("/api/bots/small/dialogues/food-9"), 404)
    problem(client.get("/api/bots/large/dialogues/food-1"), 404)


def test_what_is_not_there_is_said_to_be_not_there(client: TestClient) -> None:
    conversation = say(client)["conversation"]
    problem(client.get("/api/conversations/nothing"), 404)
    problem(client.get(f"/api/conversations/{conversation}/turns/2"), 404)
    problem(client.get("/api/conversations/nothing/turns/1"), 404)
    problem(client.put("/api/conversations/nothing/turns/1/rating", json={"thumb": 1}), 404)
    problem(client.post("/api/chat", json={"text": "hello", "conversation": "nothing"}), 404)
    problem(client.post("/api/chat", json={"text": "hello", "bot": "nobody"}), 404)
    problem(client.get("/api/conversations"), 405)  # There is no list of conversations.
    problem(client.get("/api/nothing"), 404)
    problem(client.get(f"/api/conversations/{conversation}/turns/99999999999999999999"), 422)
    problem(client.get(f"/api/conversations/{conversation}/turns/one"), 422)


def test_messages_that_do_not_do_are_refused_and_start_nothing(
    client: TestClient, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "start", lambda *_: pytest.fail("a conversation was started"))
    assert "4,000" in problem(client.post("/api/chat", json={"text": "a" * 4001}), 400)
    problem(client.post("/api/chat", json={"text": ""}), 400)
    problem(client.post("/api/chat", json={"text": " \u200b\x00\n"}), 400)
    problem(client.post("/api/chat", json={"text": "hello", "conversation": "a", "bot": "small"}), 400)
    assert problem(client.post("/api/chat", json={}), 422).startswith("text:")
    problem(client.post("/api/chat", json={"text": 7}), 422)
    problem(client.post("/api/chat", json={"text": "hello", "colour": "red"}), 422)


def test_the_longest_message_is_answered(client: TestClient) -> None:
    assert say(client, "film " * 800)["text"].startswith("film")


def test_control_characters_and_markup_are_text(client: TestClient) -> None:
    text = "<script>alert(1)</script> \x07\x1b[31m what is your favourite film & why\u202e"
    assert say(client, text)["text"] == "<script>alert(1)</script> [31m what is your favourite film & why"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"film",
        b'{"text": "caf\xe9"}',
        b"\xff\xfe",
        b"[" * 30_000,
        b'{"text": "a", "after": ' + b"9" * 6000 + b"}",
        b'{"text": NaN}',
        b'{"text": "\\ud800"}',
        b'{"text": "hello", "conversation": "\\ud800"}',
        b'{"text": "hello", "conversation": "\\u0000"}',
        b'{"text": "hello", "bot": "\\udfff"}',
        b"null",
        b'"text"',
    ],
)
def test_bodies_that_are_no_json_object_are_refused(client: TestClient, body: bytes) -> None:
    response = client.post("/api/chat", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code in {400, 422}
    problem(response, response.status_code)


def test_a_message_that_arrived_is_not_said_again(client: TestClient) -> None:
    conversation = say(client)["conversation"]
    line = problem(client.post("/api/chat", json={"text": FILM, "conversation": conversation, "after": 0}), 409)
    assert "nothing was said" in line
    assert len(client.get(f"/api/conversations/{conversation}").json()["turns"]) == 1
    assert say(client, "and food?", conversation=conversation, after=1)["turn"] == 2


def test_a_log_that_does_not_answer_is_503_and_keeps_its_address(
    client: TestClient, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = say(client)["conversation"]

    def fail(*_: object, **__: object) -> None:
        raise StoreError("cannot be reached", where="postgresql://user:secret@host/log")

    for method in ("say", "start", "history", "turn", "rate", "wish_topic"):
        monkeypatch.setattr(conversations, method, fail)
    of_conversation = f"/api/conversations/{conversation}"
    for response in (
        client.post("/api/chat", json={"text": FILM}),
        client.post("/api/chat", json={"text": FILM, "conversation": conversation}),
        client.post("/api/conversations", json={}),
        client.get(of_conversation),
        client.get(f"{of_conversation}/turns/1"),
        client.put(f"{of_conversation}/turns/1/rating", json={"thumb": 1}),
        client.put(f"{of_conversation}/topic", json={"topic": "films"}),
    ):
        assert "secret" not in problem(response, 503)


@pytest.mark.parametrize("error", [RuntimeError("a secret"), ConfigurationError("a secret")])
def test_failures_within_show_nothing_of_themselves(
    client: TestClient, conversations: Conversations, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(conversations, "say", fail)
    line = problem(client.post("/api/chat", json={"text": FILM}), 500)
    assert "secret" not in line
    assert client.get("/api/health").status_code == 200


def test_every_route_is_described(app: FastAPI, client: TestClient) -> None:
    api = client.get("/openapi.json").json()
    assert len(api["paths"]) == 9
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (path, method)
            assert operation["description"], (path, method)
            assert operation["tags"], (path, method)
            problems = [answer for status, answer in operation["responses"].items() if status >= "400"]
            for answer in problems:
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/Problem"), (path, method)


def test_pages_are_html_without_anything_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/c/any-name", "/docs"):
        response = client.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        assert "http:" not in response.text
        assert "https:" not in response.text
        assert " style=" not in response.text
