"""`track`: a plan next to what happened."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, say, show, show_json, write_file
from planner.trace.errors import InputError


def add_commands(command: arguments.AddCommand) -> None:
    """What came of a plan."""
    track = command("track", run_track, "a plan next to what happened: what has left its band, and what now")
    track.add_argument(
        "plan", metavar="PLAN", help="the folder or the JSON of a plan, or a saved one's digest"
    )
    track.add_argument(
        "--actual",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help="CSV of month,measure,of,value; rows of FOCUS; monitoring as `telemetry` reads it",
    )
    track.add_argument(
        "--scenario", type=Path, metavar="FILE", help="that the plan was made from; a saved one has it"
    )
    track.add_argument(
        "--out", type=Path, metavar="FILE", help="write the scenario there that plans from here"
    )
    track.add_argument(
        "--interval", type=arguments.positive, metavar="SECONDS", help="between scrapes without times"
    )
    arguments.store_option(track)


def run_track(options: argparse.Namespace) -> int:
    """Set months next to the plan, name what has left its band, and write the scenario from here."""
    from planner.answers.saved.tracking import tracked
    from planner.answers.track import track_text

    if options.out is not None and options.out.exists():
        raise InputError(f"{options.out}: is there already: name another file")
    document, scenario, notes = tracked(
        options.plan,
        options.actual,
        store=options.store,
        scenario=options.scenario,
        again=options.out is not None,
        interval_s=options.interval,
    )
    if options.json:
        show_json(document)
    else:
        show(track_text(document))
    if scenario is not None:
        write_file(options.out, scenario)
        for note in notes:
            say(note)
        say(f"next: everfleet plan {options.out}")
    elif document["left"]:
        say("to plan again from here: --out from-here.toml")
    return NO_PLAN if document["left"] else ANSWER
