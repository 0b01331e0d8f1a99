"""The works of this process: who waits, who works, what came of them.

Places are few and everybody's. A visitor keeps more than one only while no other waits; each piece of work
has a longest time; and what its visitors have left gives way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.trace.numbers import count_text
from planner.trace.records import Record
from planner.ui.workers.folders import WorkerFolder, clear_left
from planner.ui.workers.messages import ENDED, Seen, Step, line, message_of, work_key
from planner.ui.workers.tasks import LONGEST_S, LONGEST_SEARCH_S, TASKS

MOST_AT_ONCE = 2  # others wait their turn
MOST_KEPT = 32  # works that have ended, the latest
STOP = b"stop\n"
MOST_STEPS = 1000  # of a trail; a longer one keeps every second step
LOOK_EVERY_S = 0.25
STOPPED = "It did not end on request"
LEFT = "Everybody who had its page open has left"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long work may take, in seconds.

    Args:
        longest_s: of each task that has all of its answer or none.
        search_s: of every other task; it is then asked for the best that it has.
        stop_s: between being asked to stop, or what it last said after that, and being killed.
        left_s: after its last visitor has left, while somebody else waits.
        forgotten_s: after its last visitor has left, where nobody waits.
    """

    longest_s: Mapping[str, float] = field(default_factory=lambda: LONGEST_S)
    search_s: float = LONGEST_SEARCH_S
    stop_s: float = 60.0
    left_s: float = 30.0
    forgotten_s: float = 900.0


def nobody() -> str:
    """Who asks, where no visitors are distinguished."""
    return ""


@dataclass(eq=False)
class _Work:
    """One piece of work and its process. Changed by its own thread alone, under the lock of the registry."""

    key: str
    task: str
    address: str
    arguments: Record
    owner: str = ""  # who asked first
    visitors: set[str] = field(default_factory=set)
    left: float | None = None  # when the last of them went
    state: str = "waiting"
    text: str = ""
    trail: list[Step] = field(default_factory=list)
    parts: list[Record] = field(default_factory=list)
    result: Record | None = None
    error: str = ""
    stop_requested: bool = False
    stop_requested_s: float = 0.0  # when
    heard_s: float = 0.0  # when it last said something
    cut: str = ""  # why it was ended, where nobody asked for that
    killed: bool = False  # by us
    has_task: bool = False  # the worker knows its task, and what comes next is an order
    requested_s: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    process: subprocess.Popen[bytes] | None = None

    def take(self, message: Record) -> None:
        """Note what the worker said."""
        self.heard_s = time.monotonic()
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
        """Note how it ended; what it was asked with is not needed any more."""
        self.ended = time.monotonic()
        self.arguments = {}
        if self.error:
            self.state = "failed"
        elif self.result is not None:
            self.state = "stopped" if self.stop_requested else "done"
        elif self.cut:
            self.state, self.error = "failed", f"{self.cut}. Start it again if it is still wanted."
        elif self.killed:
            self.state = "stopped"
        else:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self.state = "died"
            self.error = (
                f"The solver ended unexpectedly ({how}). Nothing of the scenario was lost: solve again."
            )

    def wait_again(self) -> None:
        """Give its place back: what was done is done again at its next turn."""
        self.state, self.process, self.has_task = "waiting", None, False
        self.text, self.began = "", self.requested_s
        self.trail.clear()
        self.parts.clear()

    def seen(self, place: int = 0) -> Seen:
        """A copy for who looks; `place` is its own among those that wait."""
        elapsed = (self.ended or time.monotonic()) - self.began
        return Seen(
            self.state,
            self.text,
            tuple(self.trail),
            tuple(self.parts),
            self.result,
            self.error,
            elapsed,
            stopping=self.stop_requested and self.ended is None,
            place=place,
        )


class Registry:
    """Works by their key, so many at once.

    `visitor` tells who asks. Work that nobody asked for by name is never taken for left.
    """

    def __init__(
        self,
        most_at_once: int = MOST_AT_ONCE,
        limits: Limits | None = None,
        visitor: Callable[[], str] = nobody,
    ) -> None:
        self.most_at_once = most_at_once
        self.limits = limits or Limits()
        self.visitor = visitor
        self.works: dict[str, _Work] = {}
        self.last_turns: dict[str, float] = {}  # of visitors, the latest last
        self.has_cleared = False  # what a server before this one left
        self.lock = threading.RLock()

    def start(self, task: str, arguments: Mapping[str, Any]) -> str:
        """Have it worked on, unless it is there already; gives its key."""
        key, visitor = work_key(task, arguments), self.visitor()
        with self.lock:
            if key not in self.works:
                self.works[key] = _Work(key, task, TASKS[task], dict(arguments), visitor)
                self._drop_old()
                self._begin_next()
            self._note(self.works[key], visitor)
        return key

    def seen(self, key: str) -> Seen | None:
        """How it stands; None where there is no such work."""
        visitor = self.visitor()
        with self.lock:
            work = self.works.get(key)
            if work is None:
                return None
            self._note(work, visitor)
            return work.seen(self._queue().index(work) + 1 if work.state == "waiting" else 0)

    def stop(self, key: str) -> None:
        """Ask it to end and to keep the best that it has; what has nothing to keep ends at once."""
        with self.lock:
            work = self.works.get(key)
            if work is None or work.state in ENDED or work.stop_requested:
                return
            work.stop_requested, work.stop_requested_s = True, time.monotonic()
            if work.process is None:
                work.state, work.ended = "stopped", time.monotonic()
            elif work.task in self.limits.longest_s:
                _kill(work)
            elif work.has_task:
                _tell(work.process, STOP)

    def forget(self, key: str) -> None:
        """End it at once, if need be, and know nothing of it any more."""
        with self.lock:
            work = self.works.pop(key, None)
            if work is not None and work.process is not None and work.state not in ENDED:
                work.process.kill()

    def leave(self, visitor: str) -> None:
        """Somebody has gone: work that nobody else has looked at has to give way after a while."""
        with self.lock:
            self.last_turns.pop(visitor, None)
            for work in self.works.values():
                if visitor in work.visitors:
                    work.visitors.remove(visitor)
                    work.left = None if work.visitors else time.monotonic()

    def _note(self, work: _Work, visitor: str) -> None:
        """Who asks for it, or looks at it, is there."""
        if visitor:
            work.visitors.add(visitor)
            work.left = None

    def _working(self) -> list[_Work]:
        return [work for work in self.works.values() if work.state == "working"]

    def _queue(self) -> list[_Work]:
        """Who waits, next first: with fewest places, whose last turn was longest ago, who asked first."""
        held = Counter(work.owner for work in self._working())
        waiting = [work for work in self.works.values() if work.state == "waiting"]
        return sorted(
            waiting,
            key=lambda work: (held[work.owner], self.last_turns.get(work.owner, 0.0), work.requested_s),
        )

    def _begin_next(self) -> None:
        """Whoever is next, as long as there is room."""
        for work in [work for work in self._queue() if self._is_left(work, others_wait=True)]:
            del self.works[work.key]
        while waiting := self._queue():
            if len(self._working()) >= self.most_at_once and not self._makes_room(waiting[0]):
                return
            self._begin(waiting[0])

    def _makes_room(self, waiting: _Work) -> bool:
        """Whether a visitor of several places gives the latest of them back to one who has none."""
        held = Counter(work.owner for work in self._working())
        second = [work for work in self._working() if held[work.owner] > 1 and not work.stop_requested]
        if not second or held[waiting.owner]:
            return False
        last = max(second, key=lambda work: work.began)
        assert last.process is not None
        last.process.kill()
        last.wait_again()
        return True

    def _begin(self, work: _Work) -> None:
        """A process of its own, one thread that hears it, and one that looks at the clock."""
        work.state, work.began = "working", time.monotonic()
        if work.owner:
            self.last_turns[work.owner] = work.began
        if not self.has_cleared:
            self.has_cleared = True
            clear_left()
        folder = WorkerFolder()
        work.process = _started(folder.name)
        over = threading.Event()
        for does, given in ((self._follow, (folder, over)), (self._bound, (over,))):
            threading.Thread(target=does, args=(work, work.process, *given), daemon=True).start()

    def _follow(
        self,
        work: _Work,
        process: subprocess.Popen[bytes],
        folder: WorkerFolder,
        over: threading.Event,
    ) -> None:
        """Read what a worker says until it ends; one that had to give its place back is heard no more."""
        assert process.stdout is not None
        _tell(process, line({"task": work.address, "arguments": work.arguments}))
        with self.lock:
            if work.process is process:
                work.has_task = True
                if work.stop_requested:
                    _tell(process, STOP)
        for said in process.stdout:
            if said.endswith(b"\n"):  # the last line of one that was killed may be torn
                with self.lock:
                    if work.process is process:
                        work.take(message_of(said))
        process.stdout.close()
        code = process.wait()
        over.set()
        folder.cleanup()
        with self.lock:
            if work.process is process:
                work.end(code)
            _close(process)
            self._begin_next()

    def _bound(self, work: _Work, process: subprocess.Popen[bytes], over: threading.Event) -> None:
        """Look at the clock until a worker ends."""
        while not over.wait(LOOK_EVERY_S):
            with self.lock:
                if work.process is process and not work.killed:
                    self._end_if_due(work)

    def _end_if_due(self, work: _Work) -> None:
        """End what does not stop, what takes too long, and what is left while others wait."""
        now, limits = time.monotonic(), self.limits
        longest_s = limits.longest_s.get(work.task, limits.search_s)
        others_wait = any(other.state == "waiting" for other in self.works.values())
        if work.stop_requested:
            # What it has found is still added up and its ranges drawn, which takes long on a busy machine.
            if now - max(work.stop_requested_s, work.heard_s) > limits.stop_s:
                work.cut = work.cut or STOPPED
                _kill(work)
        elif now - work.began > longest_s:
            work.cut = (
                f"It took longer than {count_text(longest_s)} s, which is the most that one piece of work may"
            )
            self.stop(work.key)
        elif self._is_left(work, others_wait=others_wait):
            work.cut = LEFT
            self.stop(work.key)

    def _is_left(self, work: _Work, *, others_wait: bool) -> bool:
        """Whether its last visitor went too long ago."""
        patience_s = self.limits.left_s if others_wait else self.limits.forgotten_s
        return work.left is not None and time.monotonic() - work.left > patience_s

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
        [sys.executable, "-P", "-m", "planner.ui.workers.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths} | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder),
    )


def _kill(work: _Work) -> None:
    """End its process at once."""
    assert work.process is not None
    work.killed = True
    work.process.kill()


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


def ask_as(visitor: Callable[[], str]) -> None:
    """Have `visitor` tell who asks: each has a turn, and work that all have left gives way."""
    _HERE.visitor = visitor


def leave(visitor: str) -> None:
    """Somebody has closed the page."""
    _HERE.leave(visitor)


def start(task: str, **arguments: Any) -> str:
    """Have a task of `TASKS` worked on with these arguments, plain data and bytes; gives the key of the work.

    What was requested before is not begun again, however it ended: `forget` it to have it anew.
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
