"""`futures` and `replay`: plans for more than one future."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from planner.cli import arguments
from planner.cli.console import (
    ANSWER,
    INTERRUPTED,
    NO_PLAN,
    clear,
    say,
    show_answer,
    stoppable,
    watcher,
    write_file,
)
from planner.cli.loading import named_scenario, see_store


def add_commands(command: arguments.AddCommand) -> None:
    """One plan for all futures, and a plan that is made anew each period."""
    futures = command("futures", run_futures, "one plan for several futures, and what hedging is worth")
    arguments.scenario_options(futures)
    futures.add_argument(
        "--out",
        metavar="PLACE",
        help="write the page, Markdown, JSON and csv/ into this folder; FILE.json: the JSON alone",
    )
    futures.add_argument("--save", action="store_true", help="save the plan, with what it was made from")
    arguments.store_option(futures)
    arguments.quiet_option(futures)

    played = command("replay", run_replay, "planned again each period, in the future that came; its regret")
    arguments.scenario_options(played)
    came = played.add_mutually_exclusive_group(required=True)
    came.add_argument("--realised", metavar="FILE", help="a TOML file: the future that came")
    came.add_argument("--draw", type=arguments.seed, metavar="SEED", help="a future that came by chance")
    played.add_argument("--persist", action="store_true", help="expect later periods as the last one was")
    arguments.quiet_option(played)


def run_futures(options: argparse.Namespace) -> int:
    """Plan one scenario for all of its futures: what to order now, whatever comes."""
    from planner.answers.futures.commands import plan_for_futures

    scenario = named_scenario(options)
    if options.save:
        see_store(options.store)
    with stoppable() as should_stop:
        document, text = plan_for_futures(scenario, watch=watcher(options), should_stop=should_stop)
    clear(options)
    show_answer(options, (document, text))
    if options.out is not None:
        _write_futures(document, Path(options.out))
    if options.save:
        from planner.answers.saved.commands import save_futures

        say(save_futures(options.store, scenario, document))
    if should_stop():
        return INTERRUPTED
    return ANSWER if document["status"]["verified"] else NO_PLAN


def _write_futures(document: dict[str, Any], place: Path) -> None:
    """Write the report into a folder, or the document alone into a file, and say so."""
    from planner.answers.futures.page import save_futures
    from planner.report.shape import answer_json

    if place.suffix == ".json":
        write_file(place, answer_json(document))
    else:
        paths = save_futures(document, place)
        say(f"report: {next(path for path in paths if path.suffix == '.html')}")


def run_replay(options: argparse.Namespace) -> int:
    """Play a scenario through: planned again each period with what is known then."""
    from planner.answers.futures.commands import replay_scenario

    with stoppable() as should_stop:
        document, text = replay_scenario(
            named_scenario(options),
            realised=None if options.realised is None else Path(options.realised),
            draw=options.draw,
            persist=options.persist,
            watch=watcher(options),
            should_stop=should_stop,
        )
    clear(options)
    show_answer(options, (document, text))
    if should_stop():
        return INTERRUPTED
    return ANSWER if document["status"]["verified"] else NO_PLAN
