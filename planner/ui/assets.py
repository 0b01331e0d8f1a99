"""The scripts and styles that draw any page: kept in memory, the large ones fetched before they are needed.

Streamlit opens and reads each of them for each visitor, and a first page asks for some hundred: more work
than all else that the server does for it. A browser learns of those that draw charts and tables only when the
first of them has come.
"""

from __future__ import annotations

import json
import mimetypes
from functools import cache
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.file_util import get_static_dir

KINDS = (".js", ".css")
# What Streamlit calls the parts that draw charts and tables; of what they need, the files that take time.
DRAWN_BY = ("ArrowVegaLiteChart", "embed", "DataFrame")
LARGE_BYTES = 50_000
HEADERS = {"Cache-Control": "public, immutable, max-age=31536000"}  # a name changes with its content


class KeptAssets:
    """Answers for the files of Streamlit that never change; everything else is passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or pass on; a page names the files that it will need."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        file = assets().get(scope["path"]) if scope["method"] == "GET" else None
        if file is not None:
            kind = mimetypes.guess_type(file.name)[0]
            await Response(content(file), headers=HEADERS, media_type=kind)(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                if headers.get("content-type", "").startswith("text/html") and (ahead := fetched_ahead()):
                    headers["Link"] = ahead
                    message["headers"] = headers.raw
            await send(message)

        await self.app(scope, receive, send_on)


@cache
def assets() -> dict[str, Path]:
    """The files by their addresses: listed once, so that no address is ever made into a path."""
    root = Path(get_static_dir())
    found = (file for file in root.glob("static/*/*") if file.suffix in KINDS)
    return {f"/{file.relative_to(root).as_posix()}": file for file in found}


@cache
def content(file: Path) -> bytes:
    """What is in one of them."""
    return file.read_bytes()


@cache
def fetched_ahead() -> str:
    """Links to the large files that charts and tables need and the page does not name; "" where none is."""
    root = Path(get_static_dir())
    parts: dict[str, dict[str, Any]] = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    page = (root / "index.html").read_text(encoding="utf-8")
    needed = {key for key, part in parts.items() if part.get("name") in DRAWN_BY}
    while more := {key for part in needed for key in parts[part].get("imports", ())} - needed:
        needed |= more
    files = sorted(parts[key]["file"] for key in needed)
    large = [
        file
        for file in files
        if file not in page and file.endswith(".js") and (root / file).stat().st_size >= LARGE_BYTES
    ]
    return ", ".join(f"</{file}>; rel=modulepreload; crossorigin; fetchpriority=low" for file in large)
