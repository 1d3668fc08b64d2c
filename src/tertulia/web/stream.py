"""The WebSocket of a conversation: one hears at once that a message arrived, then each component, then the reply.

The client sends ``{"type": "say", "text", "after"?}``. The server sends ``{"type": "accepted"}``, a ``step`` for each component
that was consulted, and ``reply``; or ``error`` with a message and the status that the JSON API would answer with.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from tertulia.errors import TertuliaError
from tertulia.web.models import ChatRequest, Name
from tertulia.web.problems import status_and_line
from tertulia.web.security import BODY_LIMIT

if TYPE_CHECKING:
    from tertulia.bot.service import Conversations
    from tertulia.bot.turn import Step
    from tertulia.web.speaking import Speaking

__all__ = ["stream_router"]

_logger = logging.getLogger(__name__)

# Close codes of the application's own range; the page knows them: there is no point in coming back.
_NOT_FOUND = 4404
_TOO_LARGE = 1009


def stream_router(conversations: Conversations, speaking: Speaking) -> APIRouter:
    """The route of the WebSocket."""
    router = APIRouter()

    @router.websocket("/api/conversations/{conversation}/stream")
    async def stream(socket: WebSocket, conversation: Name) -> None:
        await socket.accept()
        # A client may go away at any moment, in the middle of an answer too; the turn is in the log by then.
        with contextlib.suppress(WebSocketDisconnect):
            await _serve(socket, conversation, conversations, speaking)

    return router


async def _serve(socket: WebSocket, conversation: str, conversations: Conversations, speaking: Speaking) -> None:
    try:
        await run_in_threadpool(conversations.history, conversation)
    except TertuliaError as error:
        status, line = status_and_line(error)
        await _send_error(socket, status, line)
        await socket.close(_NOT_FOUND if status == HTTPStatus.NOT_FOUND else 1011)
        return
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        frame = message.get("text")
        if frame is None:
            await _send_error(socket, HTTPStatus.BAD_REQUEST, "a binary message; expected JSON as text")
            continue
        if len(frame.encode(errors="surrogatepass")) > BODY_LIMIT:
            await _send_error(
                socket,
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the message is larger than {BODY_LIMIT} bytes; expected less",
            )
            await socket.close(_TOO_LARGE)
            return
        try:
            request = _parse(frame)
        except ValueError as error:
            await _send_error(socket, HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
            continue
        await _answer(socket, conversation, request, speaking)


def _parse(frame: str) -> ChatRequest:
    expected = 'expected {"type": "say", "text": "..."}'
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        raise ValueError(f"a message that is not JSON; {expected}") from None
    if not isinstance(value, dict) or value.pop("type", None) != "say" or value.keys() - {"text", "after"}:
        raise ValueError(f"a message of another shape; {expected}")
    try:
        return ChatRequest.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg']}; {expected}") from None


async def _answer(socket: WebSocket, conversation: str, request: ChatRequest, speaking: Speaking) -> None:
    """Say the message, and pass on each step as its component, in another thread, is done with it."""
    await socket.send_json({"type": "accepted"})
    steps: asyncio.Queue[Step | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def on_step(step: Step) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    speech = asyncio.create_task(speaking.say(conversation, request.text, after=request.after, on_step=on_step))
    speech.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            await socket.send_json({"type": "step", **_without_candidates(step)})
        turn = await speech
    except TertuliaError as error:
        await _send_error(socket, *status_and_line(error))
    except WebSocketDisconnect:
        # The client left; the thread goes on to its end and logs the turn, and what comes of it is looked at here.
        await asyncio.gather(speech, return_exceptions=True)
        raise
    except Exception:
        _logger.exception("a turn of a conversation failed")
        await _send_error(
            socket, HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong in the server; its log says what"
        )
    else:
        await socket.send_json({"type": "reply", "conversation": conversation, **turn.to_json()})


def _without_candidates(step: Step) -> dict[str, Any]:
    return {key: value for key, value in step.to_json().items() if key != "candidates"}


async def _send_error(socket: WebSocket, status: HTTPStatus, message: str) -> None:
    await socket.send_json({"type": "error", "status": int(status), "message": message})
