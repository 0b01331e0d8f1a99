"""Questions over HTTP: the answers of the command, who may ask, and what is refused.

A real server answers in a process of its own; what takes odd limits is asked of the application itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import everfleet as ef
from planner import cli
from planner.serve import api
from planner.serve import http as door
from planner.serve.assistants import MOST_CHARACTERS, TOOLS, text_of
from planner.serve.http import LOCAL, Limits
from planner.serve.questions import MOST_BYTES, NOT_OVER_HTTP, QUESTIONS, parameters_of, schema_of
from planner.serve.worker import answered

SECRET = "a long word"
LOG = Path(__file__).parent.parent / "logs"
Said = tuple[int, Any]
T = TypeVar("T")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "planner.cli", "serve", "--port", str(port)]
    running = subprocess.Popen(
        command, env={**os.environ, "EVERFLEET_TOKEN": SECRET}, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5)
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield address
    finally:
        running.kill()
        running.wait()


def ask(address: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Said:
    """A question by a client of the standard library; of an answer its status and its JSON."""
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    sent = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    request = urllib.request.Request(f"{address}{path}", data=data, headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=100) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ended(talk: Coroutine[Any, Any, T]) -> T:
    """What a talk comes to, in a thread of its own: a browser of other tests may hold this one's loop."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(asyncio.run, talk).result()


def of_app(app: Any, path: str, *parts: bytes, host: str = "localhost", method: str = "POST") -> Said:
    """The same asked of an application without a network."""
    return ended(of_app_now(app, path, *parts, host=host, method=method))


async def of_app_now(
    app: Any, path: str, *parts: bytes, host: str = "localhost", method: str = "POST"
) -> Said:
    sent: list[dict[str, Any]] = []
    left = list(parts)

    async def receive() -> dict[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    await app({**scope, "headers": headers, "server": ("localhost", 80), "scheme": "http"}, receive, send)
    body = b"".join(each.get("body", b"") for each in sent)
    try:
        return sent[0]["status"], json.loads(body)
    except ValueError:
        return sent[0]["status"], body.decode()


# Answers


@pytest.mark.parametrize(
    ("question", "body", "command", "kind"),
    [
        ("checkpoint", {"nodes": 64}, "checkpoint --nodes 64", "checkpoints"),
        pytest.param(
            "plan",
            {"scenario": "one-training-job", "baselines": False},
            "plan one-training-job --no-baselines --quiet",
            "plan",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_an_answer_over_http_is_that_of_the_command(
    server: str, capsys: pytest.CaptureFixture[str], question: str, body: Any, command: str, kind: str
) -> None:
    status, answer = ask(server, f"/{question}", body)
    assert cli.main([*command.split(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    timed = ("seconds", "elapsed_s")
    for one in (document, answer["document"]):
        if "status" in one:
            one["status"] = {name: value for name, value in one["status"].items() if name not in timed}

    assert status == 200
    assert (answer["kind"], answer["title"]) == (kind, document["title"])
    assert answer["document"] == document


def test_a_log_that_is_sent_is_fitted_as_in_python(server: str) -> None:
    log = next(iter(sorted(LOG.glob("*.csv"))))
    try:
        expected = ef.fit(log)
    except ef.InputError:
        pytest.skip("the first log needs a mapping")
    status, answer = ask(
        server, "/fit", {"log": log.name, "files": {log.name: log.read_text(encoding="utf-8")}}
    )

    assert status == 200
    assert answer["said"] == list(expected.said)


@pytest.mark.parametrize(
    ("question", "body", "text", "said"),
    [
        (
            "place",
            {"tables": "sent.csv", "nodes": [1]},
            "table,rows,dim,pooling\na,1e6,64,10\n",
            "1 tables of",
        ),
        (
            "scaling",
            {"runs": "sent.csv", "target": 2.5},
            (LOG.parent.parent / "data" / "samples" / "scaling-runs.csv").read_text(encoding="utf-8"),
            "sent.csv: loss =",
        ),
    ],
)
def test_tables_and_runs_that_are_sent_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, body: Any, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = answered(question, {**body, "files": {"sent.csv": text}})

    assert found["answer"]["said"][0].startswith(said)
    assert "outside of `files`" in str(answered(question, {**body, next(iter(body)): "/etc/passwd"}))


def test_tables_of_a_scenario_are_planned_and_words_are_looked_for(server: str) -> None:
    tables = {"title": "nothing", "horizon": {"start": "2027-01-01", "periods": 1, "period": "quarter"}}
    status, wrong = ask(
        server, "/scenario", {"scenario" if "scenario" in parameters_of("scenario") else "named": tables}
    )
    found, facts = ask(server, "/facts", {"words": ["pue.default"]})

    assert status == 422
    assert any("there is no work to plan" in one["message"] for one in wrong["problems"])
    assert found == 200
    assert [row["key"] for row in facts["document"]] == ["pue.default"]


def test_the_description_names_every_question_and_its_arguments(server: str) -> None:
    status, index = ask(server, "/")
    described, document = ask(server, "/openapi.json")

    assert (status, described) == (200, 200)
    assert set(index["questions"]) == set(QUESTIONS)
    for name in QUESTIONS:
        body = document["paths"][f"/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body == schema_of(name)
        assert set(body["properties"]) == {*parameters_of(name), "files", "explain"}
        assert not set(NOT_OVER_HTTP) & set(body["properties"])
    plan = schema_of("plan")
    assert plan["required"] == ["scenario"]
    assert plan["properties"]["alternatives"]["type"] == "integer"
    assert "how many other plans" in plan["properties"]["alternatives"]["description"]


@pytest.mark.nightly
def test_a_client_has_its_numbers_explained(server: str) -> None:
    """Down to the facts, by a client that people use; an unknown number is told which there are."""
    run = {"accelerator_hours": 1e5, "sku": "a100-80-8", "grid": "us-srvc"}
    headers = {"Authorization": f"Bearer {SECRET}"}
    with httpx.Client(base_url=server, headers=headers, timeout=100) as client:
        right = client.post("/job_carbon", json=run | {"explain": ["carbon"]})
        wrong = client.post("/job_carbon", json=run | {"explain": ["karbon"]})

    assert right.status_code == 200
    assert right.json()["text"] == ef.job_carbon(**run).to_text()  # type: ignore[arg-type]
    assert "grid.us-srvc" in right.json()["explained"]["carbon"]
    assert wrong.status_code == 422
    assert "there is no number 'karbon'" in wrong.json()["problems"][0]["message"]


def test_a_client_is_refused_as_it_expects(server: str) -> None:
    """By httpx: no token, a wrong one, too large a body, no JSON; afterwards it answers."""
    known = {"Authorization": f"Bearer {SECRET}"}
    with httpx.Client(base_url=server, timeout=100) as client:
        bare = client.post("/facts", json={"words": ["pue"]})
        wrong = client.post("/facts", json={"words": ["pue"]}, headers={"Authorization": "Bearer guess"})
        huge = client.post("/fit", json={"log": "a", "files": {"a": "x" * MOST_BYTES}}, headers=known)
        form = client.post("/facts", data={"words": "pue"}, headers=known)
        right = client.post("/facts", json={"words": ["pue.default"]}, headers=known)

    assert [one.status_code for one in (bare, wrong, huge, form, right)] == [401, 401, 413, 415, 200]
    assert bare.headers["www-authenticate"] == "Bearer"
    assert huge.json() == {"error": "the body is larger than 8 MB: send less of the files"}
    assert SECRET not in bare.text + wrong.text


def test_an_assistant_asks_by_its_protocol() -> None:
    """The client of the protocol's own library: tools with their schemas, an answer, and a refusal."""

    async def talk() -> tuple[Any, Any, Any, list[Any]]:
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "planner.cli", "mcp"], env=dict(os.environ)
        )
        async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
            right = await session.call_tool("facts", {"words": ["pue.default"], "explain": []})
            wrong = await session.call_tool("plan", {"scenario": "no-such", "speed": 3})
            refused = [
                await session.call_tool("checkpoint", {"nodes": "many"}),
                await session.call_tool("fit", {"log": "a.csv", "files": {"a.csv": "x" * MOST_BYTES}}),
                await session.call_tool("no-such", {}),
            ]
            return tools, right, wrong, refused

    tools, right, wrong, refused = ended(talk())
    assert {tool.name: tool.inputSchema for tool in tools.tools} == {
        name: schema_of(question) for name, question in TOOLS.items()
    }
    assert not right.isError
    assert "pue.default" in right.content[0].text
    assert wrong.isError
    assert "speed: plan takes no such argument" in wrong.content[0].text
    assert all(one.isError for one in refused)
    for one, said in zip(
        refused, ("is not a whole number", "larger than 8 MB", "there is no tool"), strict=True
    ):
        assert said in one.content[0].text


def test_a_long_answer_is_cut_and_says_so() -> None:
    answer = {"text": "x" * (MOST_CHARACTERS + 5), "explained": {}}

    assert text_of({"answer": answer}).endswith("5 characters more: ask for less")
    with pytest.raises(ef.InputError, match="a fault of the program: E: e"):
        text_of({"fault": "E: e"})


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_shell_completes_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("plan", "checkpoint", "throughput", "serve"))


# Refusals


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/plan", {}, "scenario: is missing"),
        ("/plan", {"scenario": "no-such"}, "no-such"),
        ("/plan", {"scenario": 3}, "3 is not"),
        ("/plan", [], "the body is no object"),
        ("/plan", {"scenario": "next-quarter", "wathc": 1}, "takes no such argument"),
        ("/plan", {"scenario": "next-quarter", "data": "mine"}, "takes no such argument"),
        ("/plan", {"scenario": "/etc/passwd"}, "lies outside"),
        ("/plan", {"scenario": "../x.toml"}, "lies outside"),
        ("/plan", {"scenario": "folder/x.toml"}, "lies outside"),
        (
            "/plan",
            {"scenario": "next-quarter", "changes": {"reliability.log": "/etc/passwd"}},
            "lies outside",
        ),
        (
            "/plan",
            {"scenario": "a.toml", "files": {"a.toml": 'title = "x"\n[reliability]\nlog = "/etc/fit.json"'}},
            "lies outside",
        ),
        ("/plan", {"scenario": "a.toml", "files": {"../a.toml": ""}}, "has a folder"),
        ("/plan", {"scenario": "a.toml", "files": {"a.toml": 3}}, "are no texts by name"),
        ("/facts", {"words": "pue"}, "words: is not a list"),
        (
            "/plan",
            {"scenario": "one-training-job", "baselines": "no"},
            "baselines: 'no' is not True or False",
        ),
        ("/plan", {"scenario": "one-training-job", "alternatives": 1.5}, "alternatives: 1.5 is not a whole"),
        ("/plan", {"scenario": "one-training-job", "alternatives": -1}, "-1 is no number of plans"),
        ("/plan", {"scenario": "x" * 5000}, "lies outside"),
        ("/fit", {"log": "x" * 5000}, "lies outside"),
        ("/checkpoint", {"nodes": 1e308}, "larger than anything"),
        ("/throughput", {"model": "llama-3.1-8b", "nodes": [2**60]}, "are no counts"),
        ("/job_carbon", {"model": ["llama-3.1-8b"]}, "model: ['llama-3.1-8b'] is not"),
        ("/throughput", {"model": "llama-3.1-8b", "nodes": "many"}, "nodes"),
    ],
)
def test_a_wrong_question_is_told_what_is_wrong(tmp_path: Path, path: str, body: Any, said: str) -> None:
    """By what the process of a question calls, as JSON brings it there; over HTTP such answers are 422."""
    with contextlib.chdir(tmp_path):
        answer = answered(path.removeprefix("/"), json.loads(json.dumps(body)))

    assert any(said in f"{one['where']}: {one['message']}" for one in answer["problems"]), answer


@pytest.mark.parametrize(
    ("raw", "headers", "status", "said"),
    [
        (b"{", {}, 400, "is no JSON"),
        (b'{"a": NaN}', {}, 400, "NaN is no number"),
        (b"[" * 100_000, {}, 400, "is no JSON"),
        (b"\xff\xfe", {}, 400, "is no JSON"),
        (b"{}", {"Content_Type": "text/plain"}, 415, "send JSON"),
        (b"{}", {"Authorization": "Bearer other"}, 401, "Bearer TOKEN"),
        (b"{}", {"Authorization": "Basic YTpi"}, 401, "Bearer TOKEN"),
        (b"{}", {"Authorization": ""}, 401, "Bearer TOKEN"),
    ],
)
def test_what_is_no_question_is_refused(
    server: str, raw: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    found, answer = ask(server, "/plan", raw=raw, **headers)

    assert found == status
    assert said in answer["error"]


def test_other_places_and_ways_are_named(server: str) -> None:
    assert ask(server, "/plans", {})[0] == 404
    assert "POST to one of /plan" in ask(server, "/plans", {})[1]["error"]
    assert ask(server, "/plan")[0] == 405


def test_a_body_is_read_no_further_than_it_may_be() -> None:
    read = [b"x" * 1000] * 50
    status, answer = of_app(api(limits=Limits(body_bytes=1500)), "/plan", *read)

    assert (status, "larger than 0.0015 MB" in answer["error"]) == (413, True)


def test_a_foreign_name_of_this_machine_is_refused() -> None:
    assert of_app(api(hosts=LOCAL), "/health", b"", host="evil.example", method="GET")[0] == 400
    assert of_app(api(hosts=LOCAL), "/health", b"", method="GET") == (200, {"status": "answers"})


def test_too_many_wait_and_too_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(self: Any, request: Any, name: str, body: Any) -> dict[str, Any]:
        await asyncio.sleep(0.3)
        return {"answer": name}

    async def three() -> list[Said]:
        app = api(limits=Limits(at_once=1, waiting=1))
        return await asyncio.gather(*(of_app_now(app, "/plan", b"{}") for _ in range(3)))

    monkeypatch.setattr(door._Door, "answered", slow)
    found = sorted(ended(three()), key=lambda one: one[0])
    assert [status for status, _ in found] == [200, 200, 503]
    assert "ask again later" in found[-1][1]["error"]

    monkeypatch.undo()
    status, answer = of_app(api(limits=Limits(longest_s=0.2)), "/plan", b'{"scenario": "next-quarter"}')
    assert status == 504
    assert "no answer in 0.2 s" in answer["error"]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are not listed here")
def test_who_leaves_takes_the_work_along(server: str) -> None:
    """The process of a long question is there while somebody waits, and gone soon after they have left."""

    def processes() -> int:
        """Those that questions are forked from, and those of questions."""
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        return sum(b"multiprocessing.forkserver" in line for line in lines)

    def comes_to(wanted: int) -> bool:
        for _ in range(200):
            if processes() == wanted:
                return True
            time.sleep(0.05)
        return False

    before = processes()
    waiting = http.client.HTTPConnection(server.removeprefix("http://"))
    headers = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}
    waiting.request("POST", "/plan", json.dumps({"scenario": "next-quarter"}), headers)
    assert comes_to(before + 1)
    waiting.close()
    assert comes_to(before)


def test_other_machines_need_a_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("EVERFLEET_TOKEN", raising=False)

    assert cli.main(["serve", "--host", "0.0.0.0"]) == 2
    assert "set EVERFLEET_TOKEN" in capsys.readouterr().err
