"""Requests made from the API's own description, and off it: none brings the server down, every refusal is one line."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia.bot.service import Conversations

# Half surrogate pairs too: JSON can spell them.
texts = st.text(st.characters(), max_size=80)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


class Api:
    """The operations of an OpenAPI document, as strategies for requests."""

    def __init__(self, document: dict[str, Any], known: dict[str, list[str]]) -> None:
        self._document = document
        self._known = known
        self.operations = [
            (method, path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]

    def described(self, schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
        """Values of a schema, some of them names that are there."""
        if "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        if "anyOf" in schema:
            return st.one_of(*(self.described(option, name) for option in schema["anyOf"]))
        match schema["type"]:
            case "null":
                return st.none()
            case "integer":
                return st.integers(schema.get("minimum"), schema.get("maximum")) | st.integers(1, 3)
            case "string":
                text = st.text(
                    st.characters(), min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 80)
                )
                known = self._known.get(name, [])
                return st.sampled_from(known) | text if known else text
            case "object":
                required = set(schema.get("required", []))
                fields = {key: self.described(value, key) for key, value in schema["properties"].items()}
                return st.fixed_dictionaries(
                    {key: value for key, value in fields.items() if key in required},
                    optional={key: value for key, value in fields.items() if key not in required},
                )
        raise AssertionError(f"a schema that this test does not know: {schema}")

    def request(self, draw: st.DrawFn) -> tuple[str, str, bytes | None, dict[str, Any]]:
        method, path, operation = draw(st.sampled_from(self.operations))
        for parameter in operation.get("parameters", []):
            name, schema = parameter["name"], parameter["schema"]
            value = draw(st.one_of(self.described(schema, name), self.described(schema, name), st.text(max_size=30)))
            path = path.replace(f"{{{name}}}", quote(str(value), safe="", errors="replace"))
        body = None
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            value = draw(st.one_of(self.described(schema), self.described(schema), anything))
            body = draw(st.just(json.dumps(value).encode()) | st.binary(max_size=60))
        return method, path, body, operation


@pytest.fixture
def api(client: TestClient, conversations: Conversations) -> Api:
    conversation = conversations.start()
    conversations.say(conversation, "what is your favourite film")
    return Api(
        client.get("/openapi.json").json(),
        {
            "conversation": [conversation],
            "bot": ["small"],
            "dialogue_id": ["food-1"],
            "topic": ["films"],
            "text": ["what is your favourite film", "i am hungry"],
        },
    )


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_request_brings_the_server_down(client: TestClient, api: Api, data: st.DataObject) -> None:
    method, path, body, operation = data.draw(st.composite(api.request)())
    headers = {"Content-Type": "application/json"} if body is not None else {}
    response = client.request(method, path, content=body, headers=headers)
    assert response.status_code < 500, (method, path, body, response.text)
    if response.status_code >= 400:
        line = response.json()["error"]
        assert line
        assert "\n" not in line
    if response.status_code != 405 and not response.text.startswith('{"error":"Not Found"'):
        # But for a path that a name took elsewhere, every status is one that the description names.
        assert str(response.status_code) in operation["responses"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.text() | anything.map(json.dumps) | st.binary(), max_size=4))
def test_no_frame_brings_the_socket_down(
    client: TestClient, conversations: Conversations, frames: list[str | bytes]
) -> None:
    conversation = conversations.start()
    with client.websocket_connect(f"/api/conversations/{conversation}/stream") as socket:
        for frame in frames:
            socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_text(frame)
            assert socket.receive_json()["status"] in {400, 422}
        socket.send_json({"type": "say", "text": "i am hungry"})
        assert socket.receive_json() == {"type": "accepted"}
