"""From errors to answers: a status and one line, in JSON; never a traceback."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tertulia.errors import InputError, NotFoundError, StaleError, StoreError, TertuliaError
from tertulia.web.models import Problem

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.exceptions import ValidationException
    from starlette.requests import Request

__all__ = ["add_handlers", "documented", "status_and_line"]

_logger = logging.getLogger(__name__)

_STORE_PROBLEM = (
    "the log of conversations does not answer just now, so nothing was said or changed; try again in a moment"
)

_DESCRIPTIONS = {
    400: "The message or a name does not do: empty, too long, or a body that is not JSON in UTF-8.",
    404: "There is nothing of that name.",
    409: "The conversation went on since; nothing was said.",
    413: "The body is larger than 64 KiB.",
    415: "The content type is not application/json.",
    422: "The body is JSON, but not of the shape that is described here.",
    503: "The log of conversations does not answer.",
}


def documented(*statuses: int) -> dict[int | str, dict[str, object]]:
    """What the API's reference says of these statuses."""
    return {status: {"model": Problem, "description": _DESCRIPTIONS[status]} for status in statuses}


def status_and_line(error: TertuliaError) -> tuple[HTTPStatus, str]:
    """The status of an error that a message can explain, and the message.

    That of the store keeps to itself what it knows of the database: its address can hold a password.
    """
    match error:
        case NotFoundError():
            return HTTPStatus.NOT_FOUND, error.one_line()
        case StaleError():
            return HTTPStatus.CONFLICT, error.one_line()
        case InputError():
            return HTTPStatus.BAD_REQUEST, error.one_line()
        case StoreError():
            _logger.error("%s", error)
            return HTTPStatus.SERVICE_UNAVAILABLE, _STORE_PROBLEM
        case _:
            _logger.error("%s", error)
            return HTTPStatus.INTERNAL_SERVER_ERROR, "the bot cannot answer; the server's log says why"


def _line_of(error: ValidationException) -> tuple[HTTPStatus, str]:
    first, *others = error.errors()
    if first["type"] == "json_invalid":
        return HTTPStatus.BAD_REQUEST, "the body is not JSON; expected a JSON object"
    place = ".".join(str(part) for part in first["loc"] if part not in {"body", "path", "query"}) or "the body"
    more = f" (and {len(others)} more)" if others else ""
    return HTTPStatus.UNPROCESSABLE_ENTITY, f"{place}: {first['msg']}{more}"


def add_handlers(app: FastAPI) -> None:
    """Give the application its answers to errors."""

    @app.exception_handler(TertuliaError)
    async def _explained(_: Request, error: TertuliaError) -> JSONResponse:
        status, line = status_and_line(error)
        return JSONResponse({"error": line}, status_code=status)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        status, line = _line_of(error)
        return JSONResponse({"error": line}, status_code=status)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, status_code=error.status_code, headers=error.headers)
