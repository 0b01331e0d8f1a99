"""A process for each question: it ends with the answer, or when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import json
from multiprocessing import forkserver, get_all_start_methods, get_context
from typing import Any

from planner.serve.worker import work

# Forked from one that has imported and read what answers need: to begin with nothing takes longer than most
# answers do. Where a system cannot fork, each begins with nothing.
_FORKS = "forkserver" in get_all_start_methods()
_CONTEXT: Any = get_context("forkserver" if _FORKS else "spawn")


def be_ready() -> None:
    """Start what the processes of questions are forked from; it ends with this process."""
    if _FORKS:
        _CONTEXT.set_forkserver_preload(["__main__", "planner.serve.ahead"])
        forkserver.ensure_running()


async def worked_on(question: str, body: Any) -> dict[str, Any]:
    """What `planner.serve.worker` says to a question: an answer, problems, or a fault."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    worker = _CONTEXT.Process(target=work, args=(theirs, question, body), daemon=True)
    with ours:
        try:
            await asyncio.to_thread(worker.start)  # waits for the process that it is forked from
            theirs.close()
            said = await asyncio.to_thread(ours.recv_bytes)
        except EOFError:
            return {"fault": "the process that worked on it ended early: ask for less at once"}
        finally:
            theirs.close()
            if worker.pid is not None:
                worker.kill()
                await asyncio.to_thread(worker.join)
    found: dict[str, Any] = json.loads(said)
    return found
