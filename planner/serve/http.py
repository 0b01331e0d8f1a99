"""Questions over HTTP: who may ask, how much at once, how long; the answers are those of Python."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from planner.serve.processes import be_ready, worked_on
from planner.serve.questions import MOST_BYTES, QUESTIONS, schema_of, summary_of
from planner.trace.errors import InputError

TOKEN = "EVERFLEET_TOKEN"
LOCAL = ("127.0.0.1", "localhost", "::1", "[::1]")
MOST_WAITING = 32  # questions
LONGEST_S = 900.0  # of an answer, its turn not counted

Answering = Callable[[str, Any], Coroutine[Any, Any, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be asked: questions at once and waiting, bytes of a body, seconds of an answer."""

    at_once: int = 2
    waiting: int = MOST_WAITING
    body_bytes: int = MOST_BYTES
    longest_s: float = LONGEST_S


def api(*, token: str = "", hosts: tuple[str, ...] = LOCAL, limits: Limits | None = None) -> Starlette:
    """The application: a route for each question, its description, and a sign of life.

    Args:
        token: what each request has to send; empty: none is needed.
        hosts: names that this server goes by; "*" is any.
        limits: how much may be asked.
    """
    door = _Door(token, limits or Limits())
    routes = [
        Route("/", door.index),
        Route("/health", _health),
        Route("/openapi.json", door.description),
        *(Route(f"/{name}", door.question(name), methods=["POST"]) for name in QUESTIONS),
    ]
    guards = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)]
    return Starlette(routes=routes, middleware=guards, exception_handlers={HTTPException: _refused})


def serve(*, host: str, port: int, at_once: int) -> int:
    """Answer until interrupted.

    Returns:
        The exit code, 0 after Ctrl-C.

    Raises:
        InputError: other machines could ask without a token, or another program listens at this port.
    """
    import uvicorn

    token, local = os.environ.get(TOKEN, ""), host in LOCAL
    if not local and not token:
        raise InputError(f"--host {host} lets other machines ask: set {TOKEN} to a long word that they send")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as asking:
        if asking.connect_ex((host, port)) == 0:
            raise InputError(f"port {port} is in use: end what listens there, or name another by --port")
    print(f"everfleet answers at http://{host}:{port} (Ctrl-C ends it)", file=sys.stderr, flush=True)
    be_ready()
    app = api(token=token, hosts=LOCAL if local else ("*",), limits=Limits(at_once=at_once))
    uvicorn.run(app, host=host, port=port, log_level="warning", server_header=False)
    return 0


class _Door:
    """Who may ask, and whose turn it is."""

    def __init__(self, token: str, limits: Limits) -> None:
        self.token, self.limits = token, limits
        self.turns, self.inside = asyncio.Semaphore(limits.at_once), 0

    async def index(self, request: Request) -> Response:
        """The questions, each with its first line."""
        self.see_token(request)
        return JSONResponse(
            {
                "everfleet": version("everfleet"),
                "questions": {name: summary_of(name) for name in QUESTIONS},
                "description": "/openapi.json",
            }
        )

    async def description(self, request: Request) -> Response:
        """The questions as OpenAPI has them."""
        self.see_token(request)
        return JSONResponse(openapi())

    def question(self, name: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers one question."""

        async def answer(request: Request) -> Response:
            self.see_token(request)
            body = await self.body_of(request)
            if self.inside >= self.limits.at_once + self.limits.waiting:
                raise HTTPException(503, "too many questions wait: ask again later", {"Retry-After": "30"})
            self.inside += 1
            try:
                async with self.turns:
                    found = await self.answered(request, name, body)
            finally:
                self.inside -= 1
            if "problems" in found:
                return JSONResponse({"error": "the question is wrong", **found}, status_code=422)
            if "fault" in found:
                return JSONResponse({"error": f"a fault of the program: {found['fault']}"}, status_code=500)
            return JSONResponse(found["answer"])

        return answer

    def see_token(self, request: Request) -> None:
        """See that a request has the token.

        Raises:
            HTTPException: 401.
        """
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(shown.strip().encode(), self.token.encode())
        if self.token and not (scheme.lower() == "bearer" and right):
            said = "the token is missing or wrong: send the header 'Authorization: Bearer TOKEN'"
            raise HTTPException(401, said, {"WWW-Authenticate": "Bearer"})

    async def body_of(self, request: Request) -> Any:
        """The JSON of a body; no more of it is read than may be.

        Raises:
            HTTPException: 400, 413 or 415.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "send JSON: 'Content-Type: application/json'")
        held = bytearray()
        try:
            async for part in request.stream():
                held += part
                if len(held) > self.limits.body_bytes:
                    most = self.limits.body_bytes / 1e6
                    raise HTTPException(413, f"the body is larger than {most:g} MB: send less of the files")
        except ClientDisconnect:
            raise HTTPException(400, "the body ended early") from None
        try:
            return json.loads(held, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, f"the body is no JSON: {error}") from None

    async def answered(self, request: Request, name: str, body: Any) -> dict[str, Any]:
        """What a process of its own says; it ends when nobody waits for it any more.

        Raises:
            HTTPException: 504.
        """
        said = asyncio.ensure_future(worked_on(name, body))
        gone = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait(
                {said, gone}, timeout=self.limits.longest_s, return_when=asyncio.FIRST_COMPLETED
            )
            if said.done():
                return said.result()
            if gone.done():
                raise HTTPException(499, "whoever asked has left")
            raise HTTPException(
                504, f"no answer in {self.limits.longest_s:g} s: ask for less, or limit solve"
            )
        finally:
            gone.cancel()
            said.cancel()  # its process ends with it


async def _left(request: Request) -> None:
    """Until whoever asked has left."""
    while not await request.is_disconnected():
        await asyncio.sleep(0.25)


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "answers"})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "no other error is handled here"
    said = error.detail
    if error.status_code == 404:
        said = f"there is no {request.url.path}: POST to one of {', '.join('/' + name for name in QUESTIONS)}"
    if error.status_code == 405:
        said = f"{request.url.path} is asked by POST, with a JSON body"
    return JSONResponse({"error": said}, status_code=error.status_code, headers=error.headers)


def openapi() -> dict[str, Any]:
    """OpenAPI of all questions."""
    answer = {
        "type": "object",
        "properties": {
            "kind": {"type": "string"},
            "title": {"type": "string"},
            "said": {"type": "array", "items": {"type": "string"}},
            "text": {"type": "string", "description": "what the command prints"},
            "explained": {"type": "object", "additionalProperties": {"type": "string"}},
            "document": {"description": "what `--json` of the command prints"},
        },
        "required": ["kind", "title", "said", "text", "explained", "document"],
    }
    error = {"type": "object", "properties": {"error": {"type": "string"}, "problems": {"type": "array"}}}
    refusals = {
        "400": "the body is no JSON",
        "401": "no token, or a wrong one",
        "413": "the body is too large",
        "415": "the body is not said to be JSON",
        "422": "the question is wrong; `problems` says where",
        "500": "a fault of the program",
        "503": "too many questions wait",
        "504": "no answer in time",
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "everfleet", "version": version("everfleet")},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            f"/{name}": {
                "post": {
                    "operationId": name,
                    "summary": summary_of(name),
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": schema_of(name)}},
                    },
                    "responses": {
                        "200": {
                            "description": "the answer",
                            "content": {"application/json": {"schema": answer}},
                        },
                        **{
                            code: {"description": said, "content": {"application/json": {"schema": error}}}
                            for code, said in refusals.items()
                        },
                    },
                }
            }
            for name in QUESTIONS
        },
    }


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")
