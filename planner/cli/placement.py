"""`place`: embedding tables on the memories of nodes."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, show, show_json, write_file
from planner.inputs.placement_question import PlacementQuestion
from planner.inputs.question_fields import fields_of, with_times


def add_commands(command: arguments.AddCommand) -> None:
    """Where the tables of a recommendation model lie."""
    place = command("place", run_place, "embedding tables on devices, host memory and drives of nodes")
    place.add_argument(
        "tables",
        metavar="TABLES",
        help="CSV with table, rows, dim, pooling and, if not 4, bytes_per_param; or criteo_tables.csv",
    )
    place.add_argument("--csv", action="store_true", help="print where each table lies as CSV")
    place.add_argument("--out", metavar="FILE", help="write the imbalance as [facts] of a scenario")
    arguments.question_options(place, PlacementQuestion)


def run_place(options: argparse.Namespace) -> int:
    """Place embedding tables on devices and tiers: least time of a step or fewest nodes, with the bound."""
    from planner.answers.placement import facts_toml, placement_document, to_csv, to_text

    said = {name: getattr(options, name) for name in fields_of(PlacementQuestion)}
    question = PlacementQuestion(**with_times(PlacementQuestion, said))
    document = placement_document(Path(options.tables), question)
    if options.json:
        show_json(document)
    else:
        show((to_csv if options.csv else to_text)(document))
    if options.out is not None:
        write_file(Path(options.out), facts_toml(document))
    return ANSWER if document.get("placed") else NO_PLAN
