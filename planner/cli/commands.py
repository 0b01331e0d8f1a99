"""Every command by its name, and how one is run."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from planner.cli import (
    arguments,
    failures,
    futures,
    hardware,
    jobs,
    own,
    placement,
    plans,
    saved,
    scaling,
    telemetry,
    traces,
    track,
    tradeoffs,
)
from planner.cli import reference as about
from planner.cli.console import ANSWER, INTERRUPTED, keep_stdout, nobody_reads, say, show, wrong
from planner.cli.loading import own_data_here
from planner.trace.errors import InputError

# What reads no facts, or names its own files by `--data`.
WITHOUT_DATA = ("validate", "schema", "add", "telemetry")
# The order of `--help`.
SUBJECTS = (
    plans,
    tradeoffs,
    futures,
    saved,
    track,
    jobs,
    scaling,
    failures,
    hardware,
    placement,
    traces,
    telemetry,
    own,
    about,
)


def main(given: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without one, show what there is."""
    if given is None:  # this process is the command
        keep_stdout()
        given = sys.argv[1:]
    if not given:
        parser().print_help()
        return ANSWER
    options, unknown = parser().parse_known_args(given)
    if unknown:
        options.command.error(_unknown(options.command, unknown))
    try:
        with own_data_here(getattr(options, "own_data", None)):
            code: int = options.run(options)
        sys.stdout.flush()
    except InputError as error:
        return wrong(str(error))
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe left early (`| head`): not our error
        nobody_reads()
        return ANSWER
    return code


def _unknown(command: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    """What a command does not take, and what it takes that is written alike; its usage stands above."""
    options = re.findall(r"--[\w-]+", command.format_help())
    near = [
        found
        for one in unknown
        if one.startswith("--")
        for found in difflib.get_close_matches(one.partition("=")[0], options, 1)
    ]
    said = f"unrecognized arguments: {' '.join(unknown)}"
    return f"{said}; did you mean {' or '.join(dict.fromkeys(near))}?" if near else said


class _Version(argparse.Action):
    """Say the version; it is looked up only then, which takes longer than the rest of `--help`."""

    def __init__(self, **named: Any) -> None:
        super().__init__(nargs=0, **named)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        show(f"everfleet {version('everfleet')}")
        parser.exit(ANSWER)


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    whole = argparse.ArgumentParser(
        prog="everfleet",
        description="Plan AI fleets: work done, on time, at the least carbon and money.",
        epilog="Exit codes: 0 an answer; 1 none, or a check failed; 2 wrong input; 130 stopped by Ctrl+C.",
    )
    whole.set_defaults(whole=whole)  # a script that completes commands is made from it
    whole.add_argument("--version", action=_Version, help="say the version and leave")
    commands = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=run.__doc__)
        added.add_argument("--json", action="store_true", help="print the answer as JSON")
        if name not in WITHOUT_DATA:
            arguments.data_option(added)
        added.set_defaults(run=run, command=added)
        return added

    for subject in SUBJECTS:
        subject.add_commands(command)
    return whole
