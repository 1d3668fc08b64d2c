"""Run the app: pick the socket first, so that a port in use is one clear error, then serve."""

from __future__ import annotations

import ipaddress
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from tertulia.bot.service import Conversations
from tertulia.errors import ConfigurationError
from tertulia.web.app import create_app
from tertulia.web.security import BODY_LIMIT

__all__ = ["run_server"]

_LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


def run_server(
    conversations: Conversations,
    *,
    host: str,
    port: int,
    allowed_hosts: list[str],
    open_browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until interrupted. ``say`` is told the address once the server listens.

    Raises
    ------
    ConfigurationError
        The address cannot be listened on.
    """
    listener = _listen(host, port)
    name = _name_for_browsers(host)
    url = f"http://{name}:{listener.getsockname()[1]}/"
    app = create_app(conversations, allowed_hosts=[*_LOOPBACK, name, *allowed_hosts])
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=BODY_LIMIT,
        timeout_graceful_shutdown=5,
        server_header=False,
    )
    server = uvicorn.Server(config)
    say(f"Talk at {url}   (Ctrl-C stops)")
    if open_browser:
        # The socket listens already, so a browser that is early waits and is not refused.
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    server.run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, UnicodeError) as error:
        listener.close()
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error}", hint="--port takes another, 0 any that is free"
        ) from None
    return listener


def _name_for_browsers(host: str) -> str:
    """What a browser on this machine calls the server: an address for all interfaces is none."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "localhost"
    return f"[{host}]" if address.version == 6 else host
