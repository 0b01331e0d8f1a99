"""`carbon` and `checkpoint`: questions about one job."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, put_files, say, show, show_json
from planner.cli.loading import named_scenario
from planner.inputs.job_question import CheckpointQuestion, JobQuestion, job_flags
from planner.inputs.question_fields import fields_of
from planner.trace.errors import InputError


def add_commands(command: arguments.AddCommand) -> None:
    """What a job emits, and how often it is to write its state."""
    carbon = command("carbon", run_carbon, "carbon, energy and water of a job, from data to end of life")
    _carbon_options(carbon)
    checkpoint = command("checkpoint", run_checkpoint, "which interval is best for time, money and carbon")
    _checkpoint_options(checkpoint)


def run_carbon(options: argparse.Namespace) -> int:
    """State the carbon, energy and water of one job, of a file or of what flags say."""
    from planner.answers.job import job_document, open_job, to_card, to_text
    from planner.inputs.loading import load_catalogue

    job = open_job(options.job, job_flags(vars(options)))
    document = job_document(job, load_catalogue(), why_embodied=options.why_embodied)
    if options.written_as is not None:
        from planner.report.standards import write_as

        return put_files(write_as(document, options.written_as), options)
    if options.explain is not None:
        from planner.report.cells import named_cell
        from planner.report.shape import written

        opened = named_cell(written(document), options.explain)
        if options.json:
            show_json(opened.to_dict())
        else:
            show(opened.to_text())
    elif options.json:
        show_json(document)
    elif options.card:
        show(to_card(document))
    else:
        show(to_text(document, why=options.why))
    if options.out is not None:
        from planner.answers.job.page import save_job

        paths = save_job(document, Path(options.out))
        say(f"report: {next(path for path in paths if path.suffix == '.html')}")
    return ANSWER


def run_checkpoint(options: argparse.Namespace) -> int:
    """Print checkpoint intervals and policies with the best for time, money and carbon marked."""
    from planner.answers.checkpoints import checkpoint_answer, scenario_text, to_text

    scenario = None if options.scenario is None else named_scenario(options)
    document = checkpoint_answer(_checkpoint_question(options), scenario, changed=bool(options.changes))
    text = (to_text if scenario is None else scenario_text)(document)
    if options.out is not None:
        from planner.answers.checkpoints.page import save_checkpoints

        paths = save_checkpoints(document, Path(options.out))
        say(f"curve and tables: {next(path for path in paths if path.suffix == '.html')}")
    if options.json:
        show_json(document)
    else:
        show(text)
    return ANSWER


def _checkpoint_question(options: argparse.Namespace) -> CheckpointQuestion:
    """What the options ask, with the parts of a restart and the length of a run as the question has them."""
    from planner.answers.checkpoints import parse_restart_parts

    said = {name: getattr(options, name) for name in fields_of(CheckpointQuestion)}
    if options.days is not None:
        if options.useful_h is not None:
            raise InputError("--days and --useful-hours say the same: use one of them")
        said["useful_h"] = 24.0 * options.days
    if options.restart_parts is not None:
        said["restart_parts"] = parse_restart_parts(options.restart_parts)
    return CheckpointQuestion(**{name: value for name, value in said.items() if value is not None})


def _carbon_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "job", nargs="?", metavar="JOB", help="a TOML file, or the name of a shipped job; else the flags"
    )
    arguments.question_options(parser, JobQuestion)
    parser.add_argument("--why", action="store_true", help="open the total down to its sources")
    parser.add_argument(
        "--explain",
        metavar="NUMBER",
        help="open one number instead: table of the JSON, row and column, as in changes.3.change_kgco2e",
    )
    parser.add_argument(
        "--why-embodied", action="store_true", help="why others print other figures for the accelerator"
    )
    arguments.format_option(parser, "sci, eu-model-form, hugging-face")
    parser.add_argument("--card", action="store_true", help="print Markdown for a model card")
    parser.add_argument("--out", metavar="FOLDER", help="write job.html, job.md, job.json and csv/ there")


def _checkpoint_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="a scenario: every size of its training jobs; with --sku and --nodes that size in full",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="changes", help="change the scenario"
    )
    arguments.question_options(parser, CheckpointQuestion)
    parser.add_argument("--days", type=float, help="--useful-hours in days")
    parser.add_argument("--out", metavar="FOLDER", help="write the curve and the tables there")
