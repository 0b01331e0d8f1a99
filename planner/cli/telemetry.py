"""`telemetry`: monitoring of real nodes, as facts of one's own."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, say, show, show_json, write_file
from planner.cli.loading import VARIABLE


def add_commands(command: arguments.AddCommand) -> None:
    """What real nodes did, from what watches them."""
    telemetry = command("telemetry", run_telemetry, "monitoring of real nodes, as measured facts of your own")
    telemetry.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="Prometheus query_range JSON, text of an exporter, OTLP JSON, sacct --json, GCM, ml-goodput; "
        "gzip or not",
    )
    telemetry.add_argument(
        "--data",
        dest="folder",
        type=Path,
        metavar="FOLDER",
        help="write the facts there; else they are shown",
    )
    telemetry.add_argument("--name", default="own", help="of the fleet, for its failures: own")
    telemetry.add_argument(
        "--interval", type=arguments.positive, metavar="SECONDS", help="between scrapes without times"
    )
    telemetry.add_argument(
        "--traffic", type=Path, metavar="FILE", help="write requests and tokens there, as CSV"
    )


def run_telemetry(options: argparse.Namespace) -> int:
    """Read monitoring, say what it makes of facts and what is missing, and write the facts where asked."""
    from planner.answers.telemetry import plain_document, telemetry_answer, telemetry_text, traffic_csv

    folder = options.folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    files = [Path(file) for file in options.files]
    found, document, written = telemetry_answer(files, options.name, options.interval, folder)
    if options.json:
        show_json(plain_document(document))
    else:
        show(telemetry_text(document))
    if written:
        for file in written.files:
            say(f"written: {written.folder / file}")
    if options.traffic is not None:
        write_file(options.traffic, traffic_csv(found))
    return ANSWER
