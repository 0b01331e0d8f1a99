"""Who does the work: this process, some processes of this machine, or a Dask cluster. One interface.

An executor maps a function that can be pickled over tasks that can, and yields what came of each as it
finishes, in any order. What a task raises is its outcome, and a worker that dies loses nothing: its task
runs once more, elsewhere. Asked to stop, an executor begins nothing new; local ones yield what was under way.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from os import _exit
from typing import Any, Protocol

from planner.program.draws import Stop
from planner.trace.errors import InputError

TRIES = 2  # a task whose worker died twice is taken to be what kills them
POLL_S = 0.2  # how soon a wish to stop is heard

Work = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of task `number`: its value, or the error that it ended with."""

    number: int
    value: Any = None
    error: str | None = None


class Executor(Protocol):
    """Anything that maps a function over tasks."""

    def run(self, work: Work, tasks: Sequence[Any], should_stop: Stop) -> Iterator[Outcome]:
        """What came of each task, as it finishes."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """One task after another, here."""

    def run(self, work: Work, tasks: Sequence[Any], should_stop: Stop) -> Iterator[Outcome]:
        """What came of each task, in order."""
        for number, task in enumerate(tasks):
            if should_stop():
                return
            yield _outcome(number, partial(work, task))


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Some processes of this machine, started afresh: no thread or lock of this one comes along.

    Each worker is a pool of its own, so that one that dies takes no other along and names its task.
    """

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be 1 or more, got {self.workers}")

    def run(self, work: Work, tasks: Sequence[Any], should_stop: Stop) -> Iterator[Outcome]:
        """What came of each task, as it finishes."""
        waiting = deque((number, 1) for number in range(len(tasks)))
        idle = [_worker() for _ in range(min(self.workers, len(tasks)))]
        busy: dict[Future[Any], tuple[ProcessPoolExecutor, int, int]] = {}
        try:
            while busy or (waiting and not should_stop()):
                while idle and waiting and not should_stop():
                    pool, (number, tries) = idle.pop(), waiting.popleft()
                    busy[pool.submit(work, tasks[number])] = pool, number, tries
                for future in wait(busy, timeout=POLL_S, return_when=FIRST_COMPLETED).done:
                    pool, number, tries = busy.pop(future)
                    if not isinstance(future.exception(), BrokenProcessPool):
                        idle.append(pool)
                        yield _outcome(number, future.result)
                        continue
                    pool.shutdown()
                    idle.append(_worker())
                    if tries < TRIES:
                        waiting.append((number, tries + 1))
                    else:
                        yield Outcome(number, error=f"its worker died {tries} times: too little memory?")
        finally:
            for pool in [*idle, *(pool for pool, *_ in busy.values())]:
                pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """The workers of a Dask cluster, by the address of its scheduler; everfleet is installed on each."""

    address: str
    patience_s: float = 10.0

    def run(self, work: Work, tasks: Sequence[Any], should_stop: Stop) -> Iterator[Outcome]:
        """What came of each task, as it finishes; Dask itself runs the tasks of a lost worker elsewhere.

        Raises:
            InputError: Dask is not installed, or nothing answers at the address.
        """
        with self._client() as client:
            futures = {client.submit(work, task, pure=False): n for n, task in enumerate(tasks)}
            pending = set(futures)
            while pending:
                done = {future for future in pending if future.done()}
                for future in done:
                    yield _outcome(futures[future], future.result)
                    future.release()  # the scheduler need not hold what we have
                pending -= done
                if should_stop():
                    client.cancel(list(pending))
                    return
                if not done:
                    time.sleep(POLL_S / 4)

    def _client(self) -> Any:
        try:
            distributed = import_module("distributed")
        except ModuleNotFoundError:
            raise InputError("Dask is not installed: pip install 'everfleet[dask]'") from None
        try:
            return distributed.Client(self.address, timeout=self.patience_s, set_as_default=False)
        except (OSError, ValueError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise InputError(
                f"{self.address}: no Dask scheduler answers there ({why}): start one, or see that the "
                "address is like tcp://host:8786"
            ) from None


def _outcome(number: int, result: Callable[[], Any]) -> Outcome:
    """A result, or in words what went wrong: one point that fails ends no sweep."""
    try:
        return Outcome(number, value=result())
    except InputError as error:
        return Outcome(number, error=str(error))
    except Exception as error:  # a fault of ours is kept next to the point that shows it
        return Outcome(number, error=f"{type(error).__name__}: {error}")


def _worker() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin_worker)


def _begin_worker() -> None:
    """Ctrl-C is for the process that asked; a worker that it left behind ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        _exit(1)
