"""Hosts, origins, sizes, content types, headers."""

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.websockets import WebSocketDisconnect

from tertulia.bot.service import Conversations
from tertulia.web.security import BODY_LIMIT, is_allowed_host, is_same_origin

HELLO = {"text": "what is your favourite film"}


@pytest.mark.parametrize(
    "path",
    ["/", "/c/any", "/docs", "/openapi.json", "/api/bots", "/api/nothing", "/static/css/base.css", "/static/nothing"],
)
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["connect-src"] == "'self' ws://testserver wss://testserver"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")


def test_refusals_and_failures_have_the_headers_too(
    app: FastAPI, conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "start", lambda *_: 1 / 0)
    client = TestClient(app)
    answers = [
        client.post("/api/chat", json=HELLO),
        client.post("/api/chat", content=b"x" * (BODY_LIMIT + 1), headers={"Content-Type": "application/json"}),
        client.get("/", headers={"Host": "evil.example"}),
    ]
    assert [answer.status_code for answer in answers] == [500, 413, 400]
    for answer in answers:
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert "evil" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "testserver.evil.example", "testserver@evil.example", "test server", ""]
)
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    for response in (
        client.get("/", headers={"Host": host}),
        client.get("/api/bots", headers={"Host": host}),
        client.post("/api/chat", json=HELLO, headers={"Host": host}),
    ):
        assert response.status_code == 400
        assert list(response.json()) == ["error"]


@pytest.mark.parametrize("host", ["testserver", "testserver:8000", "TestServer:443"])
def test_the_host_may_have_a_port(client: TestClient, host: str) -> None:
    assert client.get("/api/bots", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "allowed", "expected"),
    [
        ("localhost:8000", ["localhost"], True),
        ("[::1]:8000", ["::1"], True),
        ("[::1]", ["[::1]"], True),
        ("127.0.0.1:80", ["localhost"], False),
        ("anything.example", ["*"], True),
        ("a; script-src *", ["*"], False),
        ("a\r\nb", ["*"], False),
        ("", ["*"], False),
        ("LOCALHOST", ["LocalHost"], True),
    ],
)
def test_is_allowed_host(host: str, allowed: list[str], expected: bool) -> None:
    assert is_allowed_host(host, allowed) is expected


@given(st.text())
def test_no_host_can_write_a_header(host: str) -> None:
    if is_allowed_host(host, ["*"]):
        assert re.fullmatch(r"[\w.:\[\]-]+", host)


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("http://localhost", "localhost:80", True),
        ("https://talk.example", "talk.example", True),
        ("https://talk.example", "talk.example:443", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost:8001", "localhost:8000", False),
        ("http://evil.example", "localhost:8000", False),
        ("http://localhost.evil.example:8000", "localhost:8000", False),
        ("null", "localhost:8000", False),
        ("file://", "localhost", False),
        ("", "localhost", False),
        ("http://localhost:99999", "localhost", False),
        ("http://[", "localhost", False),
    ],
)
def test_is_same_origin(origin: str, host: str, expected: bool) -> None:
    assert is_same_origin(origin, host) is expected


@given(st.text(), st.text())
def test_odd_origins_are_answered(origin: str, host: str) -> None:
    assert is_same_origin(origin, host) in (True, False)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://testserver:8001"])
def test_pages_of_other_sites_change_nothing(client: TestClient, conversations: Conversations, origin: str) -> None:
    conversation = conversations.start()
    headers = {"Origin": origin}
    address = f"/api/conversations/{conversation}"
    for response in (
        client.post("/api/chat", json=HELLO | {"conversation": conversation}, headers=headers),
        client.post("/api/conversations", json={}, headers=headers),
        client.put(f"{address}/topic", json={"topic": "films"}, headers=headers),
    ):
        assert response.status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(f"{address}/stream", headers=headers):
        pytest.fail("the socket was accepted")
    state = conversations.history(conversation)
    assert (state["turns"], state["topic"]) == ([], None)


def test_the_page_itself_may(client: TestClient, conversations: Conversations) -> None:
    headers = {"Origin": "http://testserver"}
    assert client.post("/api/chat", json=HELLO, headers=headers).status_code == 200
    address = f"/api/conversations/{conversations.start()}/stream"
    with client.websocket_connect(address, headers=headers) as socket:
        socket.send_json({"type": "say", **HELLO})
        assert socket.receive_json() == {"type": "accepted"}


def test_a_socket_of_another_host_is_refused(client: TestClient, conversations: Conversations) -> None:
    address = f"/api/conversations/{conversations.start()}/stream"
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(address, headers={"Host": "evil.example", "Origin": "http://evil.example"}),
    ):
        pytest.fail("the socket was accepted")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonp"],
)
def test_what_a_form_can_send_is_refused(client: TestClient, content_type: str) -> None:
    response = client.post("/api/chat", content=b'{"text": "hello"}', headers={"Content-Type": content_type})
    assert response.status_code == 415


def test_json_with_a_charset_is_json(client: TestClient) -> None:
    response = client.post(
        "/api/chat", content=b'{"text": "hello"}', headers={"Content-Type": "Application/JSON; charset=utf-8"}
    )
    assert response.status_code == 200


def test_a_body_is_bounded_stated_or_not(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    large = b'{"text": "' + b"a" * BODY_LIMIT + b'"}'

    def chunks() -> Iterator[bytes]:
        yield from (large[start : start + 8192] for start in range(0, len(large), 8192))

    assert client.post("/api/chat", content=large, headers=headers).status_code == 413
    assert client.post("/api/chat", content=chunks(), headers=headers).status_code == 413
    assert client.post("/api/chat", content=b"a" * 1_000_000, headers=headers).status_code == 413
    # As large as may be: it is read, and the message in it is too long.
    fitting = b'{"text": "' + b"a" * (BODY_LIMIT - 12) + b'"}'
    assert len(fitting) == BODY_LIMIT
    assert client.post("/api/chat", content=fitting, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%00", "/static/css"]
)
def test_only_static_files_are_static(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code in {400, 404}
    assert "create_app" not in response.text
