"""The worker's side: one task, its progress and its answer to standard output, orders from standard input.

Standard input closes when the process at its other end is gone, however that ended: the worker then ends too.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from dataclasses import astuple
from importlib import import_module
from typing import IO

from planner.trace.errors import InputError
from planner.trace.records import Record
from planner.ui.workers.messages import Step, Task, line, message_of

POLITE = 5  # the pages are drawn first


def main() -> None:
    """Run the task that the first line names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    if hasattr(os, "nice"):
        os.nice(POLITE)
    # What a library prints must not end up between the messages.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    request = message_of(sys.stdin.buffer.readline())
    stop = threading.Event()
    threading.Thread(target=_listen, args=(stop,), daemon=True).start()
    _Teller(channel).answer(request["task"], request["arguments"], stop)
    os._exit(0)  # an engine that was left behind keeps nobody waiting


def _listen(stop: threading.Event) -> None:
    """The only order is to stop; the end of the orders is the end of the one who gave them."""
    for _ in sys.stdin.buffer:
        stop.set()
    os._exit(1)


class _Teller:
    """Writes whole lines, from whichever thread speaks."""

    def __init__(self, channel: IO[bytes]) -> None:
        self.channel, self.lock = channel, threading.Lock()

    def __call__(self, text: str = "", *, step: Step | None = None, part: Record | None = None) -> None:
        """Say how far the work is."""
        message: Record = {"text": text} if text else {}
        if step is not None:
            message["step"] = astuple(step)
        if part is not None:
            message["part"] = part
        self.write(message)

    def write(self, message: Record) -> None:
        """One message."""
        with self.lock:
            self.channel.write(line(message))
            self.channel.flush()

    def answer(self, address: str, arguments: Record, stop: threading.Event) -> None:
        """Run a task, and say what came of it."""
        module, _, name = address.partition(":")
        try:
            task: Task = getattr(import_module(module), name)
            self.write({"result": task(arguments, self, stop.is_set)})
        except InputError as error:
            self.write({"error": str(error)})
        except Exception as error:  # a fault of ours: its story is for the log, not for the page
            traceback.print_exc()
            self.write({"error": f"This is a fault of the program: {type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
