"""The pages: the chat, and the reference of the API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, FileSystemLoader

from tertulia.bot.preprocess import LONGEST_MESSAGE

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["STATIC", "pages_router"]

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
"""The directory of style sheets, scripts, fonts and icons."""


def pages_router() -> APIRouter:
    """The routes that give HTML. The pages hold no data: their scripts ask the API."""
    environment = Environment(loader=FileSystemLoader(_HERE / "templates"), autoescape=True)
    templates = Jinja2Templates(env=environment)
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

    def page(request: Request, name: str) -> Response:
        return templates.TemplateResponse(request, name, {"longest_message": LONGEST_MESSAGE})

    @router.get("/")
    @router.get("/c/{conversation}")
    def chat(request: Request) -> Response:
        return page(request, "chat.html")

    @router.get("/docs")
    def reference(request: Request) -> Response:
        return page(request, "reference.html")

    return router
