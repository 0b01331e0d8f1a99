"""Commands about saved plans, and `sweep`, which saves its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, INTERRUPTED, NO_PLAN, clear, put_files, say, show_answer, watcher
from planner.cli.loading import named_scenario, stated_labels
from planner.trace.errors import InputError


def add_commands(command: arguments.AddCommand) -> None:
    """Commands about saved plans, and sweeps, which save theirs."""
    listed = command("list", run_list, "saved plans, fits and plans for futures, the newest first")
    listed.add_argument("words", nargs="*", help="words that the title or name must hold")
    show = command("show", run_show, "what was saved, as it was printed")
    compare = command("compare", run_compare, "two plans: how their inputs and their results differ")
    compare.add_argument("before", metavar="BEFORE", help="a saved plan's digest, its beginning, or a folder")
    compare.add_argument("after", metavar="AFTER", help="and of another's")
    export = command("export", run_export, "a plan as files: scenario and report, or a published format")
    export.add_argument(
        "--out", metavar="FOLDER", help="write scenario/ and plan/, or files of a format, there"
    )
    arguments.format_option(
        export, "dynamo, focus, frictionless, kserve, kueue, llm-d, slurm; PLAN may be a folder, too"
    )
    recompute = command("recompute", run_recompute, "a saved plan worked out again: is it the same")
    for one in (show, export, recompute):
        one.add_argument("digest", metavar="PLAN", help="first characters of its digest")

    label = command("label", run_label, "a saved plan called otherwise: name, note, tags, owner")
    label.add_argument("digest", metavar="PLAN", help="first characters of its digest")
    arguments.label_options(label)

    sweep = command("sweep", run_sweep, "one scenario with many changes, by one process or a cluster")
    arguments.scenario_options(sweep)
    sweep.add_argument(
        "--vary", action="append", default=[], metavar="PATH=VALUE,...", help="every combination of these"
    )
    sweep.add_argument("--pareto", metavar="PRICES", help="a ladder of carbon prices: '0,50,100,200 USD/t'")
    sweep.add_argument(
        "--draws", type=arguments.count, metavar="N", help="facts drawn within their ranges, N times"
    )
    sweep.add_argument("--seed", type=arguments.seed, default=0, help="of the draws")
    where = sweep.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=arguments.count, default=1, metavar="N", help="processes of this machine; 1"
    )
    where.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, tcp://host:8786")
    sweep.add_argument("--out", metavar="FOLDER", help="write sweep.json and csv/ there")
    arguments.quiet_option(sweep)
    for one in (listed, show, compare, export, recompute, label, sweep):
        arguments.store_option(one)


def run_list(options: argparse.Namespace) -> int:
    """List saved plans, fits and plans for several futures, the newest first."""
    from planner.answers.saved.commands import list_saved

    return show_answer(options, list_saved(options.store, title=" ".join(options.words)))


def run_show(options: argparse.Namespace) -> int:
    """Print what was saved as the command that made it did: `plan`, `fit` or `futures`."""
    from planner.answers.saved.commands import show_saved

    return show_answer(options, show_saved(options.store, options.digest))


def run_compare(options: argparse.Namespace) -> int:
    """Set two saved plans side by side: how their inputs and their results differ."""
    from planner.answers.saved.commands import compare_saved

    return show_answer(options, compare_saved(options.store, options.before, options.after))


def run_export(options: argparse.Namespace) -> int:
    """Write a saved plan as files, its scenario and its report; or any plan in a published format."""
    from planner.answers.saved.commands import export_saved, saved_or_written

    if options.written_as is not None:
        from planner.report.standards import write_as

        document = saved_or_written(options.store, options.digest)
        return put_files(write_as(document, options.written_as), options)
    if options.out is None:
        raise InputError("say where to: --out FOLDER, or --as NAME for a published format")
    return show_answer(options, export_saved(options.store, options.digest, options.out))


def run_recompute(options: argparse.Namespace) -> int:
    """Work a saved plan out again from what is stored: is it the same to the last bit."""
    from planner.answers.saved.commands import recompute_saved
    from planner.answers.saved.recompute import recompute_futures

    record, text = recompute_saved(options.store, options.digest, futures=recompute_futures)
    show_answer(options, (record, text))
    return ANSWER if record["same"] else NO_PLAN


def run_label(options: argparse.Namespace) -> int:
    """Call a saved plan otherwise; what is not stated stays."""
    from planner.answers.saved.commands import label_saved

    if (stated := stated_labels(options)) is None:
        raise InputError("say what it is called: --name, --note, --tag or --owner")
    return show_answer(options, label_saved(options.store, options.digest, stated, _given(options)))


def _given(options: argparse.Namespace) -> frozenset[str]:
    """The labels that were stated, an empty one to take it away."""
    held = {"name": options.name, "note": options.note, "tags": options.tag, "owner": options.owner}
    return frozenset(name for name, value in held.items() if value is not None)


def run_sweep(options: argparse.Namespace) -> int:
    """Plan one scenario with many changes into the store; goes on where it was stopped."""
    from planner.answers.sweeps.commands import executor_for, grid_for, save_sweep, sweep

    scenario = named_scenario(options)
    grid = grid_for(
        scenario, vary=options.vary, prices=options.pareto, draws=options.draws, seed=options.seed
    )
    executor = executor_for(workers=options.workers, dask=options.dask)
    try:
        document, text = sweep(
            scenario,
            grid,
            address=options.store,
            executor=executor,
            watch=watcher(options),
        )
    except KeyboardInterrupt:
        say("stopped; the points that are done are saved: the same command goes on from there")
        return INTERRUPTED
    clear(options)
    show_answer(options, (document, text))
    if options.out is not None:
        say(f"sweep: {save_sweep(document, Path(options.out))[0]}")
    return ANSWER if any(row["cost_usd"] is not None for row in document["points"]) else NO_PLAN
