"""The ASGI application, made from what it serves; nothing of it is global."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from tertulia import __version__
from tertulia.web.chat import chat_router
from tertulia.web.pages import STATIC, pages_router
from tertulia.web.problems import add_handlers
from tertulia.web.security import Guard
from tertulia.web.speaking import Speaking
from tertulia.web.stream import stream_router

if TYPE_CHECKING:
    from tertulia.bot.service import Conversations

__all__ = ["create_app"]

_DESCRIPTION = """\
Talk with an agent that answers from people's conversations, and ask it why it said what it said.

Bodies are JSON in UTF-8 with the content type application/json, at most 64 KiB. An error is {"error": one line}.

While an answer is being found, the WebSocket /api/conversations/{conversation}/stream tells how it goes. Send \
{"type": "say", "text": "..."}; it sends {"type": "accepted"}, a {"type": "step"} for each component that was consulted, and \
{"type": "reply"} with the turn; or {"type": "error"} with a message and the status the JSON API would have."""


def create_app(conversations: Conversations, *, allowed_hosts: list[str]) -> FastAPI:
    """The pages and the API over these conversations.

    Parameters
    ----------
    conversations:
        The bots and the log.
    allowed_hosts:
        Names and addresses, without ports, that the server answers for; ``*`` stands for any.
    """
    app = FastAPI(
        title="Tertulia",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_tags=[
            {"name": "talk", "description": "Hold a conversation."},
            {"name": "explain", "description": "Ask where a reply came from."},
            {"name": "rate", "description": "Say how good a reply was."},
            {"name": "bots", "description": "What the server has to offer."},
        ],
    )
    speaking = Speaking(conversations)
    app.include_router(chat_router(conversations, speaking))
    app.include_router(stream_router(conversations, speaking))
    app.include_router(pages_router())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    add_handlers(app)
    app.add_middleware(Guard, allowed_hosts=allowed_hosts)
    return app
