"""Serve the app on this machine only, until interrupted, to pages of its own alone."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planner.trace.errors import InputError
from planner.ui.assets import KeptAssets

READ_ONLY = "EVERFLEET_READ_ONLY"  # as the store has it, which is not loaded for `--help`

ADDRESS = "127.0.0.1"
LOCAL = (ADDRESS, "localhost")
# What every answer tells a browser: no page may frame the app, and a file is what it is said to be.
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def app_script() -> Path:
    """The script that streamlit runs: `app.py` of a checkout, or its copy in an installed package."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "app.py"
    return checkout if (package.parent / "pyproject.toml").is_file() else package / "_app.py"


def serve(*, port: int, host: str = ADDRESS, read_only: bool = False) -> int:
    """Run the script with the configuration next to it, on this machine's own address.

    The address is said here too: a variable of the environment would win against the configuration. On
    another one, as in a container, pages are still opened only by the names that the configuration has.

    Args:
        port: where it listens.
        host: the address of this machine on which it listens.
        read_only: whether nothing that visitors make is saved.

    Returns:
        The exit code, 0 after Ctrl-C.

    Raises:
        InputError: another program listens at this port.
    """
    from streamlit.starlette import App

    with socket.socket() as asking:
        if asking.connect_ex((host, port)) == 0:
            raise InputError(f"port {port} is in use: end what listens there, or name another by --port")
    print(f"everfleet is at http://{host}:{port} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    if host not in LOCAL:
        print(
            "other machines can reach this address: it knows no users, so put a proxy in front that does",
            file=sys.stderr,
            flush=True,
        )
    if read_only:
        os.environ[READ_ONLY] = "1"
    script = str(app_script())
    sys.argv = [script]  # Streamlit looks for its configuration next to the program that was called
    try:
        before = [Middleware(Guard), Middleware(_known_hosts), Middleware(KeptAssets)]
        App(script, middleware=before).run(config={"server.port": port, "server.address": host})
    except KeyboardInterrupt:
        pass
    return 0


def _known_hosts(app: ASGIApp) -> ASGIApp:
    """Refuse a host that the configuration does not name, which is read by now; none named is any."""
    from streamlit import config

    return TrustedHostMiddleware(app, config.get_option("server.allowedHosts") or ["*"], www_redirect=False)


class Guard:
    """Refuse the pages of this machine's other programs, and say in each answer what a browser may do."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what may pass."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] != "lifespan" and is_neighbour(Headers(scope=scope)):
            await PlainTextResponse("Another program's page", status_code=403)(scope, receive, send_on)
        else:
            await self.app(scope, receive, send_on)


def is_neighbour(headers: Headers) -> bool:
    """Whether the page that asks is another program's on this machine: ours by name, not by port."""
    page, app = (headers.get(name, "").rpartition("//")[2].partition(":") for name in ("origin", "host"))
    return page[0] in LOCAL and app[0] in LOCAL and page[2] != app[2]
