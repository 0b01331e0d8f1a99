"""What a command costs before it does anything, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.clock import Record, in_turns

COMMANDS = {
    "bare Python": ("-c", "pass"),
    "everfleet --help": ("-m", "planner.cli", "--help"),
    "everfleet check next-quarter": ("-m", "planner.cli", "check", "next-quarter"),
    "import of the planner": ("-c", "import planner.program.plan, sys; sys.exit('lifelines' in sys.modules)"),
}


def startup(repeats: int) -> Record:
    """Seconds of each command; one that fails is an error, never a quick success."""
    works = [partial(_run, arguments) for arguments in COMMANDS.values()]
    return dict(zip(COMMANDS, in_turns(works, repeats), strict=True))


def _run(arguments: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=60)
