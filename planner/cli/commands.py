"""Every command by its name, and how one is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from planner.cli import arguments, failures, futures, hardware, jobs, own, plans, saved, traces, tradeoffs
from planner.cli import reference as about
from planner.cli.console import ANSWER, INTERRUPTED, say, wrong
from planner.cli.loading import own_data_here
from planner.trace.errors import InputError

# What reads no facts, or names its own files by `--data`.
WITHOUT_DATA = ("validate", "schema", "add")
# The order of `--help`.
SUBJECTS = (plans, tradeoffs, futures, saved, jobs, failures, hardware, traces, own, about)


def main(given: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parser().parse_args(given)
    try:
        with own_data_here(getattr(options, "own_data", None)):
            code: int = options.run(options)
    except InputError as error:
        return wrong(str(error))
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe left early (`| head`): not our error
        sys.stderr.close()
        return ANSWER
    return code


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    whole = argparse.ArgumentParser(
        prog="everfleet", description="Plan AI fleets: work done, on time, at the least carbon and money."
    )
    commands = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=run.__doc__)
        added.add_argument("--json", action="store_true", help="print the answer as JSON")
        if name not in WITHOUT_DATA:
            arguments.data_option(added)
        added.set_defaults(run=run)
        return added

    for subject in SUBJECTS:
        subject.add_commands(command)
    return whole
