"""Traps of web apps, each designed out: caches that mix data up, sessions that leak, addresses that kill."""

from __future__ import annotations

import hashlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from sizes import size
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.testing.v1 import AppTest

from benchmarks.app import crowd
from benchmarks.serving import Served, app_served, wait_for
from benchmarks.sessions import Session
from planner.cli import main
from planner.inputs.editing import Found
from planner.store.addresses import read_only
from planner.ui import launch, scenario_imports, session, shared
from planner.ui.frame import ADDRESSES
from planner.ui.workers import registry
from planner.ui.workers.messages import Seen, work_key
from solver import backend

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 answers on Linux only")
ROWS = 1_000_000
JUNK = ("inf", "1e400", "-1", "nan", "9" * 400, "x" * 10_000, "a\0b", "../../etc/passwd", "<b>$x$")
PARAMETERS = ("plan", "nodes", "scenario", "fact", "job.example", "measure")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """The app as it is served, with a store of its own."""
    with app_served() as found:
        yield found


# Caches


def test_one_cell_in_a_million_rows_is_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit's own key of such a frame looks at a sample of it; ours is the SHA-256 of the file."""

    def read(name: str, content: bytes, scenario: Any, at: str, **options: Any) -> Found:
        return Found(what=hashlib.sha256(content).hexdigest(), facts=())

    monkeypatch.setattr(scenario_imports, "series_found", read)
    monkeypatch.setattr(scenario_imports, "_scenario", lambda: None)
    first = bytearray(b"0.123456\n" * ROWS)
    before = scenario_imports._cached("series", "a.csv", bytes(first), "oregon")
    again = scenario_imports._cached("series", "a.csv", bytes(first), "oregon")
    first[9 * (ROWS // 2) + 7] = ord("7")
    after = scenario_imports._cached("series", "a.csv", bytes(first), "oregon")

    assert before.what == again.what
    assert after.what == hashlib.sha256(first).hexdigest() != before.what


def test_a_log_is_known_by_every_byte_of_it() -> None:
    """Work that is kept by key: of two logs that differ in their last byte, each is read by itself."""
    content = b"node-7,2026-01-01T00:00:00Z\n" * 1000

    assert work_key("read-log", {"content": content}) != work_key("read-log", {"content": content[:-1]})


# Sessions


def test_no_visitor_is_sent_what_another_one_wrote(served: Served) -> None:
    """Some side by side over 6 pages, each with a title of its own in its scenario: none is mixed up."""
    visitors, rounds = size(3, nightly=5), size(2, nightly=3)
    found = crowd(served, visitors=visitors, rounds=rounds)

    assert (found["runs"], found["leaks"], found["failed"]) == (visitors * rounds, 0, 0)


# Addresses


@pytest.mark.parametrize("page", ADDRESSES)
def test_no_address_kills_a_page(served: Served, page: str) -> None:
    """Numbers that are none, more than any address holds, a path, a NUL: each page still has its title.

    By day a page gets every fifth of them, from a first that moves from page to page; by night all.
    """
    every = size(5, nightly=1)
    for junk in JUNK[list(ADDRESSES).index(page) % every :: every]:
        query = "&".join(f"{name}={quote(junk)}" for name in PARAMETERS)
        with Session(served.url) as visitor:
            run = visitor.run(ADDRESSES[page], query)
        kinds = [element.WhichOneof("type") for element in run.elements()]

        assert not run.failed(), junk[:20]
        assert kinds.count("heading") >= 1, junk[:20]
        if page == "plan":
            assert run.holds("The address names no plan"), junk[:20]


# Who is served


def test_only_this_machine_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the configuration, and by the command, which no variable of the environment can widen."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    noted: list[dict[str, Any]] = []
    monkeypatch.setattr("sys.argv", ["everfleet"])
    monkeypatch.setattr("streamlit.config._main_script_path", None)
    monkeypatch.setattr("streamlit.starlette.App.run", lambda _, *, config: noted.append(config))

    assert launch.serve(port=8123) == 0
    assert noted == [{"server.port": 8123, "server.address": "127.0.0.1"}]
    assert config["server"]["address"] == "127.0.0.1"
    assert config["server"]["allowedHosts"] == ["127.0.0.1", "localhost"]
    assert (config["client"]["showErrorDetails"], config["client"]["showErrorLinks"]) == ("none", False)
    assert config["logger"]["hideWelcomeMessage"] is True, "or it asks a machine outside on 0.0.0.0"


def test_another_address_is_served_on_request_and_says_what_it_means(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container: `--host` alone does it, and host names stay those of the configuration."""
    noted: list[dict[str, Any]] = []
    monkeypatch.setattr("sys.argv", ["everfleet"])
    monkeypatch.setattr("streamlit.config._main_script_path", None)
    monkeypatch.setattr("streamlit.starlette.App.run", lambda _, *, config: noted.append(config))

    assert main(["app", "--host", "0.0.0.0", "--port", "8123"]) == 0
    assert noted == [{"server.port": 8123, "server.address": "0.0.0.0"}]
    assert "other machines can reach this address" in capsys.readouterr().err


def test_read_only_by_flag_is_told_to_pages_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is what a page and a worker process look at; without the flag it is not set."""
    said: list[bool] = []
    monkeypatch.setattr("sys.argv", ["everfleet"])
    monkeypatch.setattr("streamlit.config._main_script_path", None)
    monkeypatch.setattr("streamlit.starlette.App.run", lambda _, *, config: said.append(read_only()))
    monkeypatch.setenv("EVERFLEET_READ_ONLY", "")

    assert main(["app", "--port", "8123"]) == 0
    assert main(["app", "--port", "8123", "--read-only"]) == 0
    assert said == [False, True]


@pytest.mark.parametrize("port", ["99999", "80", "0", "-1", "eight"])
def test_a_port_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], port: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["app", f"--port={port}"])

    assert f"'{port}' is no port: write a number from 1024 to 65535" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is announced that does not come."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        assert main(["app", f"--port={taken}"]) == 2

    said = capsys.readouterr().err
    assert f"port {taken} is in use" in said
    assert "everfleet is at" not in said


@LINUX
def test_another_address_of_this_machine_is_closed(served: Served) -> None:
    """127.0.0.2 would answer if the app listened on every interface."""
    port = urlsplit(served.url).port
    assert port is not None

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=5)


FOREIGN = [
    ("evil.example", None, 400),
    ("evil.example", "http://evil.example", 400),
    ("[::1", None, 400),
    (None, "http://localhost:9999", 403),
    (None, "http://127.0.0.1", 403),
]


@pytest.mark.parametrize(
    ("host", "origin", "status"), [*FOREIGN, (None, None, 101), (None, "http://evil.example", 403)]
)
def test_a_foreign_page_cannot_reach_the_app(
    served: Served, host: str | None, origin: str | None, status: int
) -> None:
    """A name of another's that leads here (DNS rebinding), a page of another's, and one of this machine's."""
    headers = {
        "Origin": origin or served.url,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "streamlit",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }

    assert answer_to(served, "/_stcore/stream", host, headers)[0] == status


@pytest.mark.parametrize(("host", "origin", "status"), [*FOREIGN, (None, None, 200)])
def test_no_other_name_and_no_frame_shows_a_page(
    served: Served, host: str | None, origin: str | None, status: int
) -> None:
    """What is no WebSocket is refused by the same names; whatever is answered may not be framed."""
    shown, headers = answer_to(served, "/", host, {"Origin": origin} if origin else {})

    assert shown == status
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"


def answer_to(
    served: Served, path: str, host: str | None, headers: dict[str, str]
) -> tuple[int, http.client.HTTPMessage]:
    """Status and headers that a request gets which says that it is for `host`."""
    address = urlsplit(served.url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    connection.request("GET", path, headers={"Host": host or address.netloc, **headers})
    answer = connection.getresponse()
    connection.close()
    return answer.status, answer.headers


@pytest.mark.nightly
@POSIX
def test_ctrl_c_ends_the_app_while_somebody_looks_on(ctrl_c: None) -> None:
    """At once, with exit code 0 and without a traceback, although a page is open."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "planner.cli", "app", f"--port={port}"]
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for(f"http://127.0.0.1:{port}", server)
    with Session(f"http://127.0.0.1:{port}") as visitor:
        visitor.run("sources")
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=30)[1]

    assert server.returncode == 0
    assert b"Traceback" not in said


# Uploads


def test_what_is_too_large_is_refused_by_the_server(served: Served) -> None:
    """25 MB is a large failure log, with the lines around it: of more the server takes nothing."""
    assert upload_status(served.url, 25 * 2**20 - 1000) == 204
    assert upload_status(served.url, 25 * 2**20 + 1) == 413


def upload_status(url: str, size_bytes: int) -> int:
    """What the server answers to a file of that size, sent as a browser sends it."""
    address = urlsplit(url)
    assert address.hostname is not None
    with Session(url) as visitor:
        shown = [ForwardMsg.FromString(content) for content in visitor.run("failures").contents]
        begun = next(one.new_session for one in shown if one.WhichOneof("type") == "new_session")
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        connection.request("GET", "/_stcore/health")
        page = connection.getresponse()
        token = str(page.getheader("Set-Cookie")).partition("=")[2].partition(";")[0].strip('"')
        page.read()
        body = b'--cut\r\nContent-Disposition: form-data; name="log"; filename="a.csv"\r\n\r\n'
        body += bytes(size_bytes) + b"\r\n--cut--\r\n"
        headers = {
            "Content-Type": "multipart/form-data; boundary=cut",
            "Cookie": f"_streamlit_xsrf={token}",
            "X-Xsrftoken": token,
            "Origin": url,
        }
        connection.request("PUT", f"/_stcore/upload_file/{begun.initialize.session_id}/file", body, headers)
        status = connection.getresponse().status
        connection.close()
    return status


def test_a_scenario_that_is_too_large_is_refused_in_words() -> None:
    """Its page says how large it is and how large it may be; what stood before still stands."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    page.switch_page(str(ROOT / "planner" / "ui" / "scenario.py")).run()
    page.segmented_control("view").select("Import").run()
    page.segmented_control("kind").select("My scenario").run()
    content = shared.scenario_text(shared.FIRST).encode() + b"#" * 1_100_000
    page.file_uploader("file-scenario").set_value([("mine.toml", content, "text/plain")]).run()

    assert not page.exception
    assert "This scenario cannot be used." in [error.value for error in page.error]
    assert any("has 1.1 MB, and a scenario has at most 1 MB" in code.value for code in page.code)
    assert not [button for button in page.button if button.key == "use"]


# Who works


class NobodyWorks:
    """Workers that never begin: what a page shows meanwhile is all that it does itself."""

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def start(self, task: str, arguments: dict[str, Any]) -> str:
        self.tasks.append(task)
        return work_key(task, arguments)

    def seen(self, key: str) -> Seen | None:
        return Seen("waiting") if self.tasks else None


@pytest.mark.nightly
def test_no_page_solves_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a scenario that was never solved every page is opened: a solver that is called would fail here."""
    works = NobodyWorks()
    called: list[str] = []
    for name in ("solve", "relax"):
        monkeypatch.setattr(backend, name, lambda *_, **__: called.append("solver"))
    monkeypatch.setattr(registry, "_HERE", works)
    monkeypatch.setenv("EVERFLEET_STORE", str(tmp_path / "plans.sqlite"))
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    text = shared.scenario_text("one-training-job").replace('title = "', 'title = "Mine: ', 1)
    page.session_state[session._KEY] = session.History(session.Draft(text, "mine.toml", text))
    for name in ADDRESSES:
        page.switch_page(str(ROOT / "planner" / "ui" / f"{name}.py")).run()
        assert not page.exception, name

    assert called == []
    assert works.tasks == ["plan"], "only the page Plan begins work without being asked"
