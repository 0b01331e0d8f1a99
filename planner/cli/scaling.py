"""`scaling`: what a wanted loss takes, by runs of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, show, show_json


def add_commands(command: arguments.AddCommand) -> None:
    """From a target to compute or tokens."""
    scaling = command("scaling", run_scaling, "tokens or compute that a wanted loss takes, by your runs")
    scaling.add_argument("runs", metavar="RUNS", help="CSV: tokens, compute or parameters, and loss")
    scaling.add_argument(
        "--target", metavar="LOSS", type=float, required=True, help="the loss that is wanted"
    )
    scaling.add_argument(
        "--axis", choices=("tokens", "compute", "parameters"), help="which column, where there are several"
    )
    scaling.add_argument("--model", metavar="MODEL", help="whose tokens a compute budget is stated in")


def run_scaling(options: argparse.Namespace) -> int:
    """Fit a power law with a floor through your runs, and say what a wanted loss takes."""
    from planner.answers.scaling import scaling_document, scaling_text

    document = scaling_document(
        Path(options.runs), target=options.target, axis=options.axis, model=options.model
    )
    if options.json:
        show_json(document)
    else:
        show(scaling_text(document))
    return ANSWER if document["reached"] else NO_PLAN
