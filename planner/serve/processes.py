"""A process for each question: it ends with the answer, or when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any


async def worked_on(question: str, body: Any) -> dict[str, Any]:
    """What `planner.serve.worker` says to a question: an answer, problems, or a fault."""
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "planner.serve.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        said, _ = await worker.communicate(json.dumps({"question": question, "body": body}).encode())
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    if worker.returncode != 0:
        return {"fault": "the process that worked on it ended early: ask for less at once"}
    found: dict[str, Any] = json.loads(said)
    return found
