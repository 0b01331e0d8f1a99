"""`carbon` and `checkpoint`: questions about one job."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli import arguments
from planner.cli.console import ANSWER, say, show, show_json
from planner.cli.loading import named_scenario

if TYPE_CHECKING:
    from planner.answers.checkpoints import Question


def add_commands(command: arguments.AddCommand) -> None:
    """What a job emits, and how often it is to write its state."""
    carbon = command("carbon", run_carbon, "carbon, energy and water of a job, from data to end of life")
    _carbon_options(carbon)
    checkpoint = command("checkpoint", run_checkpoint, "which interval is best for time, money and carbon")
    _checkpoint_options(checkpoint)


def run_carbon(options: argparse.Namespace) -> int:
    """State the carbon, energy and water of one job, of a file or of what flags say."""
    from planner.answers.job import job_document, open_job, to_card, to_text
    from planner.inputs.catalogue import load_catalogue
    from planner.inputs.job.reading import FLAGS

    job = open_job(options.job, {name: getattr(options, name) for name in FLAGS})
    document = job_document(job, load_catalogue(), why_embodied=options.why_embodied)
    if options.explain is not None:
        from planner.answers.job.cells import named_explanation

        opened = named_explanation(document, options.explain)
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


def _checkpoint_question(options: argparse.Namespace) -> Question:
    """What the options ask, with the parts of a restart and the length of a run as the question has them."""
    from planner.answers.checkpoints import Question, parse_restart_parts

    said = {name: value for name, value in vars(options).items() if name in Question.__dataclass_fields__}
    parts = options.restart_parts
    return Question(
        **said
        | {
            "restart_parts": None if parts is None else parse_restart_parts(parts),
            "storage_others_fraction": options.storage_others,
            "useful_h": options.useful_hours if options.days is None else 24.0 * options.days,
            "replicas": options.simulate,
        }
    )


def _carbon_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "job", nargs="?", metavar="JOB", help="a TOML file, or the name of a shipped job; else the flags"
    )
    flags = parser.add_argument_group("a training job by flags")
    flags.add_argument("--model", help="model, or its config.json; with --tokens the hours are predicted")
    flags.add_argument("--tokens", type=float, help="training tokens")
    flags.add_argument(
        "--accelerator-hours", type=float, help="hours that you measured, instead of model and tokens"
    )
    flags.add_argument("--metered", metavar="FILE", help="energy that was metered: CodeCarbon, GPU or Slurm")
    flags.add_argument("--sku", help="h100-8")
    flags.add_argument("--nodes", type=int, help="8")
    flags.add_argument("--grid", help="grid region of the catalogue; us")
    flags.add_argument(
        "--region", metavar="NAME", help="of `everfleet regions`, in place of --grid: aws/eu-central-1"
    )
    flags.add_argument("--hourly", metavar="NAME|FILE", help="hourly grid intensity of the job's hours")
    flags.add_argument(
        "--start", type=arguments.day, metavar="DAY", help="first day of the job, such as 2025-03-01"
    )
    flags.add_argument("--pue", type=float, help="default: an assumption of the catalogue, with its range")
    flags.add_argument("--lifetime", help="life of the hardware, '5 y'")
    flags.add_argument(
        "--utilisation", type=arguments.share, help="share of that life in use, 0.85 or '85 %%'"
    )
    flags.add_argument(
        "--power", help="measured power of one accelerator with its share of the node, '650 W'"
    )
    flags.add_argument("--interval", help="checkpoint interval, '30 min'; default: that of least time")
    flags.add_argument("--failures", help="fleet whose failure rate holds; meta-llama-3-405b")
    flags.add_argument("--storage", help="checkpoint storage class; parallel-fs")
    parser.add_argument("--why", action="store_true", help="open the total down to its sources")
    parser.add_argument(
        "--explain",
        metavar="NUMBER",
        help="open one number instead: table of the JSON, row and column, as in changes.3.change_kgco2e",
    )
    parser.add_argument(
        "--why-embodied", action="store_true", help="why others print other figures for the accelerator"
    )
    parser.add_argument("--card", action="store_true", help="print Markdown for a model card")
    parser.add_argument("--out", metavar="FOLDER", help="write job.html, job.md, job.json and csv/ there")


def _checkpoint_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="a scenario: every size of its training jobs; with --sku and --nodes that size in full",
    )
    parser.add_argument("--job", help="one training job of the scenario; default: all")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="changes", help="change the scenario"
    )
    parser.add_argument("--failures", help="fleet whose failure rate holds, or a fit.json; meta-llama-3-405b")
    parser.add_argument("--sku", help="h100-8")
    parser.add_argument("--nodes", type=int, help="64")
    parser.add_argument("--model", help="model whose state is written, or its config.json; llama-3.1-70b")
    parser.add_argument("--storage", help="checkpoint storage class; parallel-fs")
    parser.add_argument("--restart-min", type=float, help="minutes from a failure to running again; 10")
    parser.add_argument("--grid", help="grid region of the catalogue; us")
    parser.add_argument(
        "--asynchronous", action="store_true", default=None, help="the table for writes in the background"
    )
    parser.add_argument(
        "--spare-confidence",
        type=float,
        dest="spare_confidence_fraction",
        metavar="FRACTION",
        help="share of time for which the spares suffice; 0.95",
    )
    parser.add_argument(
        "--restart-parts",
        nargs="?",
        const="",
        metavar="PART=MIN,...",
        help="restart as a sum: detect, replace, initialise, warm_up (else the catalogue's) and the load",
    )
    parser.add_argument("--queue-min", type=float, default=0.0, help="minutes in the queue after a failure")
    parser.add_argument(
        "--storage-others",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="share of the storage's bandwidth that other jobs take",
    )
    parser.add_argument("--state", default="", help="what is written, such as bf16-adam-8bit-moments")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--useful-hours",
        type=float,
        metavar="H",
        help="hours of a run without failures: also says when it ends",
    )
    length.add_argument("--days", type=float, help="the same in days")
    parser.add_argument(
        "--simulate", type=int, default=0, metavar="N", help="play the best intervals N times"
    )
    parser.add_argument("--seed", type=arguments.seed, default=0, help="of the play")
    parser.add_argument(
        "--today-min", type=float, metavar="MIN", help="your interval of today: what it loses a month"
    )
    parser.add_argument("--linear", action="store_true", help="the published straight line, too")
    parser.add_argument("--out", metavar="FOLDER", help="write the curve and the tables there")
