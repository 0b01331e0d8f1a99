"""`pareto` and `sensitivity`: what a plan is compared with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from planner.cli import arguments
from planner.cli.console import ANSWER, INTERRUPTED, NO_PLAN, clear, say, show_answer, stoppable, watcher
from planner.cli.loading import named_scenario


def add_commands(command: arguments.AddCommand) -> None:
    """The front between money and carbon, and where the fleet changes."""
    pareto = command("pareto", run_pareto, "money against carbon: the front between them, and its knee")
    arguments.scenario_options(pareto)
    pareto.add_argument("--points", type=arguments.points, default=15, metavar="N", help="plans to make; 15")
    sensitivity = command("sensitivity", run_sensitivity, "which price, rate or grid would change the fleet")
    arguments.scenario_options(sensitivity)
    sensitivity.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="WHAT=LOW..HIGH",
        help="electricity, grid, failures, prices, rent, carbon_price, as a factor, or a path: "
        "'policy.carbon_price=0..400 USD/t'; default: all of them, 0.5..2",
    )
    for one in (pareto, sensitivity):
        one.add_argument("--out", metavar="FOLDER", help="write the page, Markdown, JSON and csv/ there")
        arguments.quiet_option(one)


def run_pareto(options: argparse.Namespace) -> int:
    """Trade money against carbon: the cheapest plan at each level of carbon, and the knee."""
    from planner.answers.tradeoffs.carbon_front import front_document

    scenario = named_scenario(options)
    return _found(options, front_document(scenario, points=options.points, watch=watcher(options)))


def run_sensitivity(options: argparse.Namespace) -> int:
    """Say which price, rate or grid would change the fleet, where, and what keeping it would cost then."""
    from planner.answers.tradeoffs.sensitivity import sensitivity_document

    scenario = named_scenario(options)
    with stoppable() as should_stop:
        document = sensitivity_document(
            scenario, vary=options.vary, watch=watcher(options), should_stop=should_stop
        )
    return _found(options, document)


def _found(options: argparse.Namespace, document: dict[str, Any]) -> int:
    """Print a document of sections and save it, if it is requested."""
    from planner.report import findings

    clear(options)
    show_answer(options, (document, findings.to_terminal(document)))
    if options.out is not None:
        from planner.answers.tradeoffs.saving import save_findings

        paths = save_findings(document, Path(options.out))
        say(f"report: {next(path for path in paths if path.suffix == '.html')}")
    if not any(section["tables"] for section in document["sections"].values()):
        return NO_PLAN
    return ANSWER if document["complete"] else INTERRUPTED
