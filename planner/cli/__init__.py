"""The command line: results on stdout, talk on stderr; exit 0 an answer, 1 no plan exists, 2 wrong input.

Each command imports what it needs when it runs, so that `--help` stays quick.
"""

from planner.cli.commands import main
from planner.cli.console import ANSWER, INTERRUPTED, NO_PLAN, WRONG_INPUT

__all__ = ["ANSWER", "INTERRUPTED", "NO_PLAN", "WRONG_INPUT", "main"]
