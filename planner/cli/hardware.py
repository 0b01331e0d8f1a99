"""`throughput` and `calibrate`: what hardware delivers, predicted and measured."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, say, show, show_json, write_file
from planner.inputs.hardware_question import Question, Stated
from planner.inputs.question_fields import fields_of
from planner.trace.errors import InputError


def add_commands(command: arguments.AddCommand) -> None:
    """What any hardware delivers, and yours measured."""
    throughput = command("throughput", run_throughput, "what any hardware delivers and draws for a model")
    _throughput_options(throughput)

    calibrate = command("calibrate", run_calibrate, "your measured point applied to all sizes")
    calibrate.add_argument(
        "measurements",
        nargs="*",
        metavar="FILE",
        help="CSV of tokens a second, step times, power; results of InferenceX, GuideLLM, AIPerf, "
        "GenAI-Perf, `bench serve` and MLPerf Inference; or execution traces of a run, one a rank",
    )
    calibrate.add_argument(
        "--sizes",
        type=arguments.sizes,
        default=(),
        metavar="N,...",
        help="accelerators to show; a half, 1, 2 and 4 times yours",
    )
    calibrate.add_argument(
        "--at",
        default="",
        metavar="LAYOUT;...",
        help="other layouts of the first run, ranked: 'dp=16,batch=64; tp=4,pp=2,dp=8'; the rest as measured",
    )
    calibrate.add_argument(
        "--measure", action="store_true", help="probe this machine's NVIDIA device, by PyTorch and NVML"
    )
    calibrate.add_argument(
        "--out", metavar="FILE", help="write the [facts] of a scenario; with --measure rows of data/facts"
    )
    arguments.question_options(calibrate, Stated)


def run_calibrate(options: argparse.Namespace) -> int:
    """Read measurements of your hardware, or probe it: what they change, and how wrong the rest may be."""
    from planner.answers.calibration import calibration_document, facts_toml, to_text

    if options.measure:
        return _probe(options)
    if not options.measurements:
        raise InputError(
            "name a CSV of measurements, results of a benchmark or traces, or use --measure on a machine "
            "with an NVIDIA device"
        )
    said = {name: getattr(options, name) for name in fields_of(Stated)}
    stated = Stated(**{name: value for name, value in said.items() if value is not None})
    paths = [Path(name) for name in options.measurements]
    document = calibration_document(paths, options.sizes, stated=stated, layouts=options.at)
    if options.json:
        show_json(document)
    else:
        show(to_text(document))
    if options.out is not None:
        write_file(Path(options.out), facts_toml(document))
    return ANSWER


def _probe(options: argparse.Namespace) -> int:
    """Measure the device of this machine; where there is none that is the answer."""
    from planner.answers.calibration import (
        NothingToMeasure,
        cuda_device,
        probe_csv,
        probe_document,
        probe_text,
    )

    if options.measurements or options.sizes or options.at:
        raise InputError("--measure takes no measurements, --sizes or --at: it makes them")
    try:
        document = probe_document(cuda_device(), date.today())
    except NothingToMeasure as missing:
        say(str(missing))
        return NO_PLAN
    if options.json:
        show_json(document)
    else:
        show(probe_text(document))
    if options.out is not None:
        write_file(Path(options.out), probe_csv(document))
    return ANSWER


def run_throughput(options: argparse.Namespace) -> int:
    """Say what hardware delivers and draws for a model: every SKU at every size, with range and reasons."""
    from planner.answers.throughput import throughput_document, to_csv, to_text

    question = _hardware_question(options)
    if question.across or question.link:
        if options.graph is not None:
            raise InputError("--graph: is of one site: leave out --across")
        return _run_across(options, question)
    if options.graph is not None:
        _write_graph(Path(options.graph), question)
    document = throughput_document(question)
    if options.json:
        show_json(document)
    else:
        show((to_csv if options.csv else to_text)(document))
    rows = document["reached" if "reached" in document else "rows"]
    return ANSWER if any(row["fits"] for row in rows) else NO_PLAN


def _write_graph(path: Path, question: Question) -> None:
    """Write one step of one rank as a Chakra graph."""
    from planner.answers.throughput import step_graph
    from planner.report.chakra import chakra_json, chakra_messages

    if path.suffix not in (".json", ".et"):
        raise InputError(f"--graph: '{path}' is no graph: end it in .json, or in .et for protobuf")
    operations = step_graph(question)
    write_file(path, chakra_json(operations) if path.suffix == ".json" else chakra_messages(operations))


def _run_across(options: argparse.Namespace, question: Question) -> int:
    """What crosses the link between sites, and what each way takes."""
    from planner.answers.throughput import across_document, across_text
    from planner.report.spreadsheets import csv_of

    document = across_document(question)
    if options.json:
        show_json(document)
    else:
        show(
            csv_of(document["options"], line_end="\n").rstrip("\n") if options.csv else across_text(document)
        )
    return ANSWER if any(row["fits"] for row in document["options"]) else NO_PLAN


def _hardware_question(options: argparse.Namespace) -> Question:
    """The question that the options ask; quantities in their units, every one that is wrong at once."""
    from planner.answers.throughput import question_of

    said = {name: getattr(options, name) for name in ("model", "serve", *fields_of(Question))}
    return question_of(said)


def _throughput_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="of `everfleet facts model.`, or its config.json")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--train", action="store_true", help="training; the default")
    work.add_argument("--serve", action="store_true", help="serving: replicas within targets, or scoring")
    parser.add_argument("--csv", action="store_true", help="print the rows as CSV")
    parser.add_argument(
        "--graph",
        metavar="FILE",
        help="write a step of one rank, of one SKU and size, as a Chakra graph: .json, or .et for protobuf",
    )
    arguments.question_options(parser, Question)
