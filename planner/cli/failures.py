"""`fit` and `backtest`: questions to a failure or job log."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli import arguments
from planner.cli.console import ANSWER, cleaning_up, clear, progress, say, show_answer, watcher
from planner.cli.loading import see_store
from planner.inputs.log_question import OF_A_FIT, OF_EVERY_LOG, FitQuestion
from planner.inputs.question_fields import fields_of
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from reliability.logs import FailureLog


def add_commands(command: arguments.AddCommand) -> None:
    """What a log says, and what forecasts from it would have been worth."""
    fit = command("fit", run_fit, "what your failure or job log says: rate, lifetimes, spares, forecast")
    _log_options(fit)
    _fit_options(fit)

    backtest = command("backtest", run_backtest, "how forecasts and spares would have fared on your log")
    _log_options(backtest)
    backtest.add_argument(
        "--first-periods",
        type=arguments.count,
        default=2,
        metavar="N",
        help="periods seen before the first forecast",
    )


def run_fit(options: argparse.Namespace) -> int:
    """Read a failure or job log: how often, how long, what it costs, what to hold and what to expect."""
    from planner.answers.failures import proposed_mapping_text

    if options.show_mapping:
        with cleaning_up():
            text = proposed_mapping_text(Path(options.log))
        print(json.dumps({"mapping": text}) if options.json else text, end="\n" if options.json else "")
        return ANSWER
    from planner.answers.failures import fit_document
    from planner.report import findings

    if options.save:
        see_store(options.store)
    log, question = _failure_log(options), _question_of_log(options)
    document = fit_document(log, question, watch=watcher(options))
    clear(options)
    show_answer(options, (document, findings.to_terminal(document)))
    if options.out is not None:
        paths = findings.save_fit(document, Path(options.out))
        say(f"report: {next(path for path in paths if path.suffix == '.html')}")
    if options.save:
        from planner.answers.saved.commands import save_fit

        say(save_fit(options.store, document))
    return ANSWER


def run_backtest(options: argparse.Namespace) -> int:
    """Test forecasts and pools of spares on a log: each made from the past of its moment alone."""
    from planner.answers.failures import backtest_document
    from planner.report import findings

    log, question = _failure_log(options), _question_of_log(options)
    document = backtest_document(
        log, question, first_periods=options.first_periods, exact_period=options.period_d is not None
    )
    clear(options)
    return show_answer(options, (document, findings.to_terminal(document)))


def _failure_log(options: argparse.Namespace) -> FailureLog:
    """The log that the options name, read by their mapping or by the one that fits it."""
    from planner.answers.failures import open_log

    path = Path(options.log)
    if not options.quiet:
        progress(f"reading {path.name or path}")
    with cleaning_up():  # a packed log lies unpacked in a temporary folder while it is read
        try:
            return open_log(
                path,
                None if options.mapping is None else Path(options.mapping),
                fleet_size=options.fleet_size,
                severities=options.severities,
                with_planned=options.with_planned,
            )
        except InputError as error:
            if options.fleet_size is None:
                raise InputError(str(error).replace("state fleet_size", "state --fleet-size")) from None
            # The reader names it as a mapping has it, and the option was taken in place of the mapping's.
            raise InputError(re.sub(r"\bfleet_size\b", "--fleet-size", str(error))) from None


def _question_of_log(options: argparse.Namespace) -> FitQuestion:
    """What the options ask of a log; those that the command does not have stay as they are."""
    said = {name: getattr(options, name, None) for name in fields_of(FitQuestion)}
    return FitQuestion(**{name: value for name, value in said.items() if value is not None})


def _log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log", metavar="LOG", help="sacct text, event or life table, Xid lines; .gz and .xz too"
    )
    parser.add_argument(
        "--mapping", metavar="FILE", help="what its columns mean; default: what fits the header"
    )
    parser.add_argument(
        "--fleet-size",
        type=arguments.whole,
        metavar="NODES",
        help="nodes in the log, with those that never failed",
    )
    parser.add_argument(
        "--severities",
        type=arguments.names,
        default=(),
        metavar="NAME,...",
        help="count failures of these alone",
    )
    arguments.question_options(parser, FitQuestion, OF_EVERY_LOG)
    arguments.quiet_option(parser)


def _fit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--show-mapping", action="store_true", help="print the mapping that fits, to edit; read no more"
    )
    arguments.question_options(parser, FitQuestion, OF_A_FIT)
    parser.add_argument("--out", metavar="FOLDER", help="write fit.json, fit.html, fit.md and csv/ there")
    parser.add_argument("--save", action="store_true", help="save the fit")
    arguments.store_option(parser)
