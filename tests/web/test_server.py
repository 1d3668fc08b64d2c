"""The server as it runs, over real sockets: what browsers never send, it survives, and says nothing of it in its log."""

import contextlib
import json
import socket
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tertulia.web.security import BODY_LIMIT
from tests.web.conftest import Server

FILM = json.dumps({"type": "say", "text": "what is your favourite film"})


def post(server: Server, path: str, value: object) -> dict:
    request = urllib.request.Request(
        f"{server.url}/api/{path}", json.dumps(value).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def stream(server: Server, conversation: str, **options: object) -> ClientConnection:
    address = f"{server.url.replace('http', 'ws')}/api/conversations/{conversation}/stream"
    return connect(address, proxy=None, **options)


def turns(server: Server, conversation: str) -> int:
    with urllib.request.urlopen(f"{server.url}/api/conversations/{conversation}", timeout=10) as response:
        return len(json.load(response)["turns"])


def raw(server: Server, data: bytes) -> bytes:
    """What the server answers to these bytes before it closes the connection, or falls silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=2) as connection:
        connection.sendall(data)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65536):
                answer += chunk
        return answer


@pytest.fixture
def conversation(server: Server) -> str:
    return post(server, "conversations", {})["conversation"]


def log_of(server: Server) -> str:
    """Everything the server wrote, once it has ended."""
    assert server.process is not None
    server.process.terminate()
    _, errors = server.process.communicate(timeout=20)
    server.process = None
    return errors.decode()


def test_clients_that_leave_in_the_middle_leave_no_trace(server: Server, conversation: str) -> None:
    for _ in range(20):
        with stream(server, conversation) as client:
            client.send(FILM)
            client.socket.shutdown(socket.SHUT_RDWR)
    with stream(server, conversation) as client:
        client.send(FILM)
        assert json.loads(client.recv()) == {"type": "accepted"}
        while json.loads(client.recv())["type"] != "reply":
            pass
    assert turns(server, conversation) >= 1
    assert "Traceback" not in log_of(server)


def test_frames_that_are_no_text_and_frames_that_are_too_large(server: Server, conversation: str) -> None:
    with stream(server, conversation) as client:
        client.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed):
            client.recv()
    with stream(server, conversation) as client:
        client.send("a" * (BODY_LIMIT + 1))
        with pytest.raises(ConnectionClosed):
            client.recv()
    with stream(server, conversation) as client:
        client.send(FILM)
        assert json.loads(client.recv()) == {"type": "accepted"}


def test_sockets_of_other_sites_are_refused_before_they_open(server: Server, conversation: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        stream(server, conversation, origin="http://evil.example")
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /c/%ff%00 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /static/%00 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /static/..%2f..%2fapp.py HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{",
        b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
    ],
)
def test_bytes_that_are_no_request_and_requests_that_are_none(server: Server, data: bytes) -> None:
    answer = raw(server, data)
    assert b"create_app" not in answer
    assert b" 500 " not in answer.split(b"\r\n")[0]
    assert post(server, "chat", {"text": "what is your favourite film"})["turn"] == 1
    assert "Traceback" not in log_of(server)


def test_a_message_of_a_megabyte_is_refused(server: Server) -> None:
    body = json.dumps({"text": "film " * 200_000}).encode()
    head = b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    stated = head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:1000]
    assert raw(server, stated).startswith(b"HTTP/1.1 413")
    assert post(server, "chat", {"text": "what is your favourite film"})["turn"] == 1


def test_an_address_that_is_taken_is_one_clear_line(server: Server, small_bot: Path, tmp_path: Path) -> None:
    second = Server([small_bot], tmp_path / "second.sqlite", port=server.port)
    process = second.launch()
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    line = errors.decode().strip().splitlines()[-1]
    assert str(server.port) in line
    assert "Traceback" not in errors.decode()
