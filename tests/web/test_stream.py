"""The WebSocket of a conversation."""

import json
import threading
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from tertulia.bot.service import Conversations
from tertulia.errors import StoreError
from tertulia.web.security import BODY_LIMIT

FILM = "what is your favourite film"


@pytest.fixture
def conversation(conversations: Conversations) -> str:
    return conversations.start()


def answer(socket: WebSocketTestSession) -> list[dict]:
    """What the server sends up to a reply or an error."""
    messages = []
    while not messages or messages[-1]["type"] not in {"reply", "error"}:
        messages.append(socket.receive_json())
    return messages


def say(socket: WebSocketTestSession, text: str = FILM, **more: object) -> list[dict]:
    socket.send_text(json.dumps({"type": "say", "text": text, **more}))
    return answer(socket)


def test_steps_come_before_the_reply(client: TestClient, conversations: Conversations, conversation: str) -> None:
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        accepted, *steps, reply = say(socket)
    assert accepted == {"type": "accepted"}
    trace = conversations.turn(conversation, 1)["trace"]["steps"]
    consulted = [step["component"] for step in trace if step["outcome"] != "not consulted"]
    assert [(step["type"], step["component"]) for step in steps] == [("step", name) for name in consulted]
    assert all("candidates" not in step for step in steps)
    assert steps[-1]["outcome"] == "replied"
    assert reply["type"] == "reply"
    assert reply["reply"] == conversations.history(conversation)["turns"][0]["reply"]


def test_a_step_is_sent_while_the_turn_goes_on(
    client: TestClient, conversations: Conversations, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()
    plain = conversations.say

    def slow(name: str, text: str, *, after: int | None, on_step: Callable) -> object:
        def wait(step: object) -> None:
            on_step(step)
            assert seen.wait(20), "the step did not arrive before the turn was over"

        return plain(name, text, after=after, on_step=wait)

    monkeypatch.setattr(conversations, "say", slow)
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        socket.send_json({"type": "say", "text": FILM})
        assert socket.receive_json()["type"] == "accepted"
        assert socket.receive_json()["type"] == "step"
        seen.set()
        assert answer(socket)[-1]["type"] == "reply"


def test_a_message_sent_again_is_not_said_again(
    client: TestClient, conversations: Conversations, conversation: str
) -> None:
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        say(socket, after=0)
        error = say(socket, after=0)[-1]
        assert (error["type"], error["status"]) == ("error", 409)
        assert say(socket, "and food", after=1)[-1]["turn"] == 2
    assert len(conversations.history(conversation)["turns"]) == 2


def test_two_at_the_same_time_are_one(
    client: TestClient, conversations: Conversations, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is sent while the first is still being answered: on another socket, as after a break."""
    begun, go_on = threading.Event(), threading.Event()
    plain = conversations.say

    def slow(*arguments: object, **options: object) -> object:
        begun.set()
        assert go_on.wait(20)
        return plain(*arguments, **options)

    monkeypatch.setattr(conversations, "say", slow)
    address = f"/api/conversations/{conversation}/stream"
    with client.websocket_connect(address) as first, client.websocket_connect(address) as second:
        first.send_json({"type": "say", "text": FILM, "after": 0})
        assert begun.wait(20)
        second.send_json({"type": "say", "text": FILM, "after": 0})
        assert second.receive_json() == {"type": "accepted"}
        go_on.set()
        assert answer(first)[-1]["type"] == "reply"
        assert answer(second)[-1]["status"] == 409
    assert len(conversations.history(conversation)["turns"]) == 1


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "say",
        "{",
        "[]",
        "null",
        "[" * 60_000,
        json.dumps({"text": FILM}),
        json.dumps({"type": "say"}),
        json.dumps({"type": "say", "text": 3}),
        json.dumps({"type": "say", "text": FILM, "bot": "small"}),
        json.dumps({"type": "say", "text": FILM, "after": -1}),
        json.dumps({"type": ["say"], "text": FILM}),
        '{"type": "say", "text": "a", "after": ' + "9" * 6000 + "}",
    ],
)
def test_messages_of_another_shape_are_refused_and_the_socket_lives_on(
    client: TestClient, conversation: str, frame: str
) -> None:
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        socket.send_text(frame)
        error = socket.receive_json()
        assert (error["type"], error["status"]) == ("error", 422)
        assert "\n" not in error["message"]
        socket.send_bytes(b"\x00\xff")
        assert socket.receive_json()["status"] == 400
        assert say(socket)[-1]["type"] == "reply"


def test_messages_that_do_not_do_are_refused(client: TestClient, conversation: str) -> None:
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        assert say(socket, "a" * 4001)[-1]["status"] == 400
        assert say(socket, "\x00")[-1]["status"] == 400
        assert say(socket, "\ud800")[-1]["status"] == 400
        assert say(socket)[-1]["turn"] == 1


def test_a_message_that_is_too_large_ends_the_socket(client: TestClient, conversation: str) -> None:
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        socket.send_text("é" * (BODY_LIMIT // 2 + 1))
        assert socket.receive_json()["status"] == 413
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1009


def test_a_name_that_no_database_can_look_up_is_refused(client: TestClient) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/api/conversations/a%00b/stream") as socket,
    ):
        socket.receive_json()


def test_an_unknown_conversation_is_told(client: TestClient) -> None:
    with client.websocket_connect("/api/conversations/nothing/stream") as socket:
        assert socket.receive_json()["status"] == 404
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 4404


@pytest.mark.parametrize(("error", "status"), [(StoreError("a secret"), 503), (RuntimeError("a secret"), 500)])
def test_failures_are_told_without_details(
    client: TestClient,
    conversations: Conversations,
    conversation: str,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        monkeypatch.setattr(conversations, "say", fail)
        told = say(socket)[-1]
        assert told["status"] == status
        assert "secret" not in told["message"]
        monkeypatch.undo()
        assert say(socket)[-1]["type"] == "reply"


def test_a_client_that_leaves_in_the_middle_finds_its_turn_in_the_log(
    client: TestClient, conversations: Conversations, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, logged = threading.Event(), threading.Event()
    plain = conversations.say

    def slow(*arguments: object, **options: object) -> object:
        assert left.wait(20)
        turn = plain(*arguments, **options)
        logged.set()
        return turn

    monkeypatch.setattr(conversations, "say", slow)
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        socket.send_json({"type": "say", "text": FILM})
        assert socket.receive_json() == {"type": "accepted"}
        socket.close()
        left.set()
        assert logged.wait(20)
    assert len(conversations.history(conversation)["turns"]) == 1
