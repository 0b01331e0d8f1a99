"""`futures` and `replay`: plans for more than one future."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.loading import asked_scenario
from planner.cli.talking import ANSWER, NO_PLAN, clear, told, watcher, write_file


def add_commands(command: arguments.AddCommand) -> None:
    """One plan for all futures, and a plan that is made anew each period."""
    futures = command("futures", run_futures, "one plan for several futures, and what hedging is worth")
    arguments.scenario_options(futures)
    futures.add_argument("--out", metavar="FILE", help="write the answer there as JSON, for `explain`")
    arguments.quiet_option(futures)

    played = command("replay", run_replay, "a plan made anew each period in what came, and its regret")
    arguments.scenario_options(played)
    came = played.add_mutually_exclusive_group(required=True)
    came.add_argument("--realised", metavar="FILE", help="what came: a TOML file with the keys of a future")
    came.add_argument("--draw", type=arguments.seed, metavar="SEED", help="what came, by chance")
    played.add_argument("--persist", action="store_true", help="expect later periods as the last one was")
    arguments.quiet_option(played)


def run_futures(options: argparse.Namespace) -> int:
    """Plan one scenario for all of its futures: what to order now, whatever comes."""
    from planner.futures.commands import plan_for_futures
    from planner.report import to_json

    document, text = plan_for_futures(asked_scenario(options), watch=watcher(options))
    clear(options)
    told(options, (document, text))
    if options.out is not None:
        write_file(Path(options.out), to_json(document))
    return ANSWER if document["status"]["verified"] else NO_PLAN


def run_replay(options: argparse.Namespace) -> int:
    """Play a scenario through: planned again each period with what is known then."""
    from planner.futures.commands import replay_scenario

    document, text = replay_scenario(
        asked_scenario(options),
        realised=None if options.realised is None else Path(options.realised),
        draw=options.draw,
        persist=options.persist,
        watch=watcher(options),
    )
    clear(options)
    told(options, (document, text))
    return ANSWER if document["status"]["verified"] else NO_PLAN
