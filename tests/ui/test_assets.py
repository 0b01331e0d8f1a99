"""The files that any page needs: as they are on the disk, and nothing else by their road."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send
from streamlit.file_util import get_static_dir

from planner.ui.assets import KeptAssets, assets, fetched_ahead

STATIC = Path(get_static_dir())


async def others(scope: Scope, receive: Receive, send: Send) -> None:
    """Whatever is passed on: the page at the root, and words elsewhere."""
    page = scope["path"] == "/"
    answer = HTMLResponse("<h1>page</h1>") if page else PlainTextResponse("passed on")
    await answer(scope, receive, send)


def request(address: str, method: str = "GET") -> httpx.Response:
    """The answer to one request."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(KeptAssets(others))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, address)

    with ThreadPoolExecutor(1) as apart:  # a browser's test of this process may hold the loop of its thread
        return apart.submit(asyncio.run, ask()).result()


def test_every_file_that_a_page_names_is_the_one_on_the_disk() -> None:
    named = re.findall(r'"\./(static/(?:js|css)/[^"]+)"', (STATIC / "index.html").read_text(encoding="utf-8"))
    assert len(named) > 20

    for name in named:
        for _ in range(2):  # read, then kept
            answer = request(f"/{name}")
            assert answer.content == (STATIC / name).read_bytes(), name
            assert answer.headers["content-type"].startswith(("text/javascript", "text/css")), name
            assert "immutable" in answer.headers["cache-control"]


def test_nothing_else_is_answered_from_memory() -> None:
    """No other folder, no way up, no page, and no file that does not exist."""
    first = next(iter(assets()))

    for address in ("/static/js/none.js", "/static/js/../../index.html", "/index.html", f"{first}/"):
        assert request(address).text == "passed on", address
    assert request(first, "POST").text == "passed on"


def test_a_page_names_the_large_files_that_charts_and_tables_need() -> None:
    """Each exists and is fetched as a part of a program; only pages name them."""
    links = fetched_ahead().split(", ")
    files = [re.match(r"</(static/js/[^>]+\.js)>; rel=modulepreload; crossorigin", link) for link in links]

    assert request("/").headers["link"] == ", ".join(links)
    assert "link" not in request("/elsewhere").headers
    assert all(found is not None and (STATIC / found[1]).is_file() for found in files)
    assert any("/embed." in link for link in links), "what draws charts"
    assert any("/DataFrame." in link for link in links), "what draws tables"
    assert len(", ".join(links)) < 2000, "proxies refuse long headers"
