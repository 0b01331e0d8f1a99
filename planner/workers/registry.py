"""The works of this process: who waits, who works, what came of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.workers.messages import ENDED, Record, Seen, Step, line, message_of, work_key
from planner.workers.tasks import TASKS

MOST_AT_ONCE = 2  # others wait their turn
MOST_KEPT = 32  # works that have ended, the latest
STOP = b"stop\n"
MOST_STEPS = 1000  # of a trail; a longer one keeps every second step


@dataclass(eq=False)
class _Work:
    """One piece of work and its process. Changed by its own thread alone, under the lock of the registry."""

    key: str
    address: str
    arguments: Record
    state: str = "waiting"
    text: str = ""
    trail: list[Step] = field(default_factory=list)
    parts: list[Record] = field(default_factory=list)
    result: Record | None = None
    error: str = ""
    asked_to_stop: bool = False
    handed_over: bool = False  # the worker knows its task, and what comes next is an order
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    process: subprocess.Popen[bytes] | None = None

    def take(self, message: Record) -> None:
        """Note what the worker said."""
        self.text = message.get("text", self.text)
        self.result = message.get("result", self.result)
        self.error = message.get("error", self.error)
        if "part" in message:
            self.parts.append(message["part"])
        if "step" in message:
            self.trail.append(Step(*message["step"]))
            if len(self.trail) > MOST_STEPS:
                del self.trail[1::2]

    def end(self, code: int) -> None:
        """Note how it ended."""
        self.ended = time.monotonic()
        if self.error:
            self.state = "failed"
        elif self.result is not None:
            self.state = "stopped" if self.asked_to_stop else "done"
        else:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self.state = "died"
            self.error = (
                f"The solver ended unexpectedly ({how}). Nothing of the scenario was lost: solve again."
            )

    def seen(self) -> Seen:
        """A copy for who looks."""
        elapsed = (self.ended or time.monotonic()) - self.began
        return Seen(
            self.state, self.text, tuple(self.trail), tuple(self.parts), self.result, self.error, elapsed,
            stopping=self.asked_to_stop and self.ended is None,
        )  # fmt: skip


class Registry:
    """Works by their key, so many at once."""

    def __init__(self, most_at_once: int = MOST_AT_ONCE) -> None:
        self.most_at_once = most_at_once
        self.works: dict[str, _Work] = {}
        self.lock = threading.RLock()

    def start(self, task: str, arguments: Mapping[str, Any]) -> str:
        """Have it worked on, unless it is there already; gives its key."""
        key = work_key(task, arguments)
        with self.lock:
            if key not in self.works:
                self.works[key] = _Work(key, TASKS[task], dict(arguments))
                self._drop_old()
                self._begin_next()
        return key

    def seen(self, key: str) -> Seen | None:
        """How it stands; None where there is no such work."""
        with self.lock:
            work = self.works.get(key)
            return None if work is None else work.seen()

    def stop(self, key: str) -> None:
        """Ask it to end and to keep the best that it has."""
        with self.lock:
            work = self.works.get(key)
            if work is None or work.state in ENDED or work.asked_to_stop:
                return
            work.asked_to_stop = True
            if work.process is None:
                work.state, work.ended = "stopped", time.monotonic()
            elif work.handed_over:
                _tell(work.process, STOP)

    def forget(self, key: str) -> None:
        """End it at once, if need be, and know nothing of it any more."""
        with self.lock:
            work = self.works.pop(key, None)
            if work is not None and work.process is not None and work.state not in ENDED:
                work.process.kill()

    def _begin_next(self) -> None:
        """Whoever waits longest, where there is room."""
        waiting = [work for work in self.works.values() if work.state == "waiting"]
        working = sum(work.state == "working" for work in self.works.values())
        for work in waiting[: max(0, self.most_at_once - working)]:
            work.state, work.began = "working", time.monotonic()
            folder = tempfile.TemporaryDirectory(prefix="everfleet-", ignore_cleanup_errors=True)
            work.process = _started(folder.name)
            following = (work, work.process, folder)
            threading.Thread(target=self._follow, args=following, daemon=True).start()

    def _follow(
        self, work: _Work, process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]
    ) -> None:
        """Read what a worker says until it ends."""
        assert process.stdout is not None
        _tell(process, line({"task": work.address, "arguments": work.arguments}))
        with self.lock:
            work.handed_over = True
            if work.asked_to_stop:
                _tell(process, STOP)
        for said in process.stdout:
            if said.endswith(b"\n"):  # the last line of one that was killed may be torn
                with self.lock:
                    work.take(message_of(said))
        process.stdout.close()
        code = process.wait()
        folder.cleanup()
        with self.lock:
            work.end(code)
            _close(process)
            self._begin_next()

    def _drop_old(self) -> None:
        """Forget what ended longest ago."""
        old = [work for work in self.works.values() if work.state in ENDED]
        for work in sorted(old, key=lambda work: work.ended or 0.0)[: max(0, len(old) - MOST_KEPT)]:
            del self.works[work.key]


def _started(folder: str) -> subprocess.Popen[bytes]:
    """A fresh interpreter that finds modules where this one does; what it needs for a while is in `folder`.

    Not by `multiprocessing`, whose workers would run the app's own script once more to begin with.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "planner.workers.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths} | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder),
    )


def _tell(process: subprocess.Popen[bytes], said: bytes) -> None:
    """Say something to a worker; one that is gone hears nothing, which its end will tell."""
    assert process.stdin is not None
    try:
        process.stdin.write(said)
        process.stdin.flush()
    except (OSError, ValueError):
        return


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.close()
    except OSError:  # what was still to be said to one that is gone
        return


_HERE = Registry()


def start(task: str, **arguments: Any) -> str:
    """Have a task of `TASKS` worked on with these arguments, plain data and bytes; gives the key of the work.

    What was asked for before is not begun again, however it ended: `forget` it to have it anew.
    """
    return _HERE.start(task, arguments)


def seen(key: str) -> Seen | None:
    """How a piece of work stands; None where there is none, or it ended long ago."""
    return _HERE.seen(key)


def stop(key: str) -> None:
    """Ask a piece of work to end and to keep the best that it has."""
    _HERE.stop(key)


def forget(key: str) -> None:
    """End a piece of work at once and know nothing of it any more."""
    _HERE.forget(key)
