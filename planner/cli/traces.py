"""`trace`: what execution traces of training say."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, show, show_json


def add_commands(command: arguments.AddCommand) -> None:
    """What a run did, from its own traces."""
    trace = command("trace", run_trace, "an execution trace: busy time, exposed communication, slowest rank")
    trace.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="Kineto, PyTorch or Chakra (JSON or protobuf), gzip or not; one a rank",
    )
    trace.add_argument(
        "--represent",
        type=arguments.count,
        metavar="K",
        help="name the K traces that stand for all, each with its weight",
    )


def run_trace(options: argparse.Namespace) -> int:
    """Read execution traces: compute, communication, idle time, bytes by collective, the slowest rank."""
    from planner.answers.traces import traces_document, traces_text

    document = traces_document([Path(file) for file in options.files], options.represent)
    if options.json:
        show_json(document)
    else:
        show(traces_text(document))
    return ANSWER
