"""The app as a server of its own, with what it takes of the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers at `url`. What it takes is said by Linux alone; elsewhere it is None."""

    url: str
    pid: int

    def cpu_s(self) -> float | None:
        """Processor time so far, of the server's own process."""
        text = _read_text(self.pid, "stat")
        if text is None:
            return None
        user, system = text.rpartition(") ")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float | None:
        """Memory that it holds now."""
        text = _read_text(self.pid, "statm")
        return None if text is None else int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def app_served() -> Iterator[Served]:
    """The app on a free port of this machine, with a store of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "app", f"--port={port}"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"EVERFLEET_STORE": str(Path(folder) / "plans.sqlite")},
        )
        try:
            wait_for(f"http://127.0.0.1:{port}", server)
            yield Served(f"http://127.0.0.1:{port}", server.pid)
        finally:
            server.terminate()
            server.wait(30)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Return once the server at `url` answers."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the app did not start at {url} in {PATIENCE_S:.0f} s")


def _read_text(pid: int, what: str) -> str | None:
    try:
        return Path(f"/proc/{pid}/{what}").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
