"""The command line: results on stdout, talk on stderr; exit 0 an answer, 1 no plan exists, 2 wrong input.

Each command imports what it needs when it runs, so that `--help` stays quick.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import InputError

if TYPE_CHECKING:
    from planner.failures import FitAsked
    from planner.jobs.parts import Job
    from planner.scenario import Scenario
    from reliability.logs import FailureLog

ANSWER, NO_PLAN, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

# Options of `checkpoint` that a scenario speaks for.
SCENARIO_STATES = ("model", "storage", "restart_min", "grid", "asynchronous", "spare_confidence_fraction")
CHECKPOINT_FLAGS = {name: f"--{name.replace('_', '-').removesuffix('-fraction')}" for name in SCENARIO_STATES}
CHECKPOINT_FLAGS |= {"job": "--job", "changes": "--set"}

# Options of `carbon` that a job file speaks for, and what holds where neither says it.
JOB_FLAGS = (
    "model", "tokens", "accelerator_hours", "metered", "sku", "nodes", "grid", "hourly", "start", "pue",
    "lifetime", "utilisation", "power", "interval", "failures", "storage",
)  # fmt: skip
JOB_DEFAULTS = {"sku": "h100-8", "nodes": 8, "grid": "us"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except InputError as error:
        return _wrong(str(error))
    except KeyboardInterrupt:
        _say("stopped; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe left early (`| head`): not our error
        sys.stderr.close()
        return ANSWER
    return code


def run_plan(options: argparse.Namespace) -> int:
    """Plan a scenario, print the plan, write the report."""
    from planner.report import save, to_json, to_terminal

    scenario = _load(options.scenario, dict(change.partition("=")[::2] for change in options.changes))
    document = _solve(scenario, quiet=options.quiet, baselines=not options.no_baselines)
    _show(to_json(document) if options.json else to_terminal(document))
    if options.out is not None:
        paths = save(document, Path(options.out))
        report = next((path for path in paths if path.suffix == ".html"), paths[0])
        _say(f"report: {report}")
    return ANSWER if document["status"]["verified"] else NO_PLAN


def run_check(options: argparse.Namespace) -> int:
    """Read scenarios and report every problem of every file."""
    from planner.scenario import ScenarioError

    answers: list[dict[str, Any]] = []
    for name in options.scenarios:
        try:
            scenario = _load(name)
            answers.append({"file": name, "ok": True, "title": scenario.title, "problems": []})
        except ScenarioError as error:
            problems = [{"path": problem.path, "message": problem.message} for problem in error.problems]
            answers.append({"file": name, "ok": False, "problems": problems})
            _say(str(error))
    if options.json:
        print(json.dumps(answers, indent=2))
    else:
        for answer in answers:
            count = len(answer["problems"])
            print(f"{answer['file']}: {'fine' if answer['ok'] else f'{count} problem' + 's' * (count > 1)}")
    return ANSWER if all(answer["ok"] for answer in answers) else WRONG_INPUT


def run_explain(options: argparse.Namespace) -> int:
    """Open one number of a plan down to its sources."""
    from planner.explain import explanation_from

    document = _document(options)
    known = document["explanations"]
    if not known:
        _say(document["status"]["text"])
        return NO_PLAN
    if options.number is None or options.number not in known:
        if options.number is not None:
            return _wrong(f"no number '{options.number}' in this plan; it has: {', '.join(sorted(known))}")
        print(json.dumps(sorted(known)) if options.json else "\n".join(sorted(known)))
        return ANSWER
    steps = known[options.number]
    print(json.dumps(steps, indent=2) if options.json else explanation_from(steps).to_text(options.depth))
    return ANSWER


def run_facts(options: argparse.Namespace) -> int:
    """List facts whose key, note or source holds every word."""
    from planner.catalogue import load_catalogue
    from planner.explain import format_value
    from planner.records import fact_record

    found = load_catalogue().search(" ".join(options.words))
    if options.json:
        print(json.dumps([fact_record(fact) for fact in found], indent=2))
        return ANSWER
    for fact in found:
        spread = f" [{format_value(fact.low)} .. {format_value(fact.high)}]" if fact.low is not None else ""
        unit = "" if fact.unit == "1" else f" {fact.unit}"
        where = ", ".join(part for part in (fact.source.name, fact.locator) if part)
        print(f"{fact.key} = {format_value(fact.value)}{unit}{spread}  ({fact.kind}; {where})")
    _say(f"{len(found)} facts")
    return ANSWER if found else NO_PLAN


def run_carbon(options: argparse.Namespace) -> int:
    """State the carbon, energy and water of one job, of a file or of what flags say."""
    from planner.catalogue import load_catalogue
    from planner.jobs import job_document, to_card, to_text

    document = job_document(_job(options), load_catalogue(), why_embodied=options.why_embodied)
    if options.json:
        print(json.dumps(document, indent=2))
    elif options.card:
        _show(to_card(document))
    else:
        _show(to_text(document, why=options.why))
    if options.out is not None:
        from planner.report.jobs import save_job

        paths = save_job(document, Path(options.out))
        _say(f"report: {next(path for path in paths if path.suffix == '.html')}")
    return ANSWER


def _job(options: argparse.Namespace) -> Job:
    """The job of a file, of a shipped one by name, or of flags."""
    from planner.catalogue import data_folder, load_catalogue
    from planner.jobs import job_from_flags, load_job

    said = [f"--{name.replace('_', '-')}" for name in JOB_FLAGS if getattr(options, name) is not None]
    if options.job is None:
        asked = {name: getattr(options, name) for name in JOB_FLAGS}
        defaults = {name: value for name, value in JOB_DEFAULTS.items() if asked[name] is None}
        if asked["model"] is None:
            defaults.pop("nodes", None)
        if asked["hourly"] is not None:
            defaults.pop("grid", None)
        return job_from_flags(asked | defaults, load_catalogue())
    if said:
        raise InputError(f"the job file says what {', '.join(said)} would: leave it out, or edit the file")
    path = Path(options.job)
    shipped = data_folder() / "jobs" / f"{options.job}.toml"
    return load_job(shipped if not path.exists() and shipped.is_file() else path, load_catalogue())


def run_checkpoint(options: argparse.Namespace) -> int:
    """Print checkpoint intervals and policies with the best for time, money and carbon marked."""
    from planner.checkpoints import scenario_text, to_text

    of_scenario = options.scenario is not None
    document = (_scenario_checkpoints if of_scenario else _flag_checkpoints)(options)
    text = (scenario_text if of_scenario else to_text)(document)
    if options.out is not None:
        from planner.report.checkpoints import save_checkpoints

        paths = save_checkpoints(document, text, Path(options.out))
        _say(f"curve and tables: {next(path for path in paths if path.suffix == '.html')}")
    print(json.dumps(document, indent=2) if options.json else text)
    return ANSWER


def _flag_checkpoints(options: argparse.Namespace) -> dict[str, Any]:
    """The document of a job that flags describe."""
    from planner.checkpoints import checkpoint_document

    for name in ("job", "changes"):
        if getattr(options, name):
            raise InputError(f"{CHECKPOINT_FLAGS[name]} is about a scenario: name one")
    named = ("failures", "sku", "nodes", *SCENARIO_STATES)
    asked = {name: getattr(options, name) for name in named if getattr(options, name) is not None}
    return checkpoint_document(**asked, **_shared_checkpoints(options), **_run_of(options))


def _scenario_checkpoints(options: argparse.Namespace) -> dict[str, Any]:
    """The document of a scenario's training jobs."""
    from planner.checkpoints import Asked, scenario_document

    said = [CHECKPOINT_FLAGS[name] for name in SCENARIO_STATES if getattr(options, name) is not None]
    if said:
        raise InputError(f"the scenario says what {', '.join(said)} would: leave it out, or use --set")
    scenario = _load(options.scenario, dict(change.partition("=")[::2] for change in options.changes))
    return scenario_document(
        scenario, job=options.job, sku=options.sku, nodes=options.nodes, failures=options.failures,
        asked=Asked(**_shared_checkpoints(options)), **_run_of(options),
    )  # fmt: skip


def _shared_checkpoints(options: argparse.Namespace) -> dict[str, Any]:
    """Options about a job that no scenario states."""
    from planner.checkpoints import parse_restart_parts

    parts = options.restart_parts
    return {
        "queue_min": options.queue_min,
        "storage_others_fraction": options.storage_others,
        "state": options.state,
        "restart_parts": None if parts is None else parse_restart_parts(parts),
    }


def _run_of(options: argparse.Namespace) -> dict[str, Any]:
    """Options about a whole run."""
    useful_h = options.useful_hours if options.days is None else 24.0 * options.days
    return {
        "useful_h": useful_h, "replicas": options.simulate, "seed": options.seed, "linear": options.linear
    }  # fmt: skip


def run_fit(options: argparse.Namespace) -> int:
    """Read a failure or job log: how often, how long, what it costs, what to hold and what to expect."""
    from planner.failures import proposed_mapping_text

    if options.show_mapping:
        text = proposed_mapping_text(Path(options.log))
        print(json.dumps({"mapping": text}) if options.json else text, end="\n" if options.json else "")
        return ANSWER
    from planner.failures import fit_document
    from planner.report import findings, to_json

    log, asked = _failure_log(options), _asked_of_log(options)
    document = fit_document(log, asked, watch=None if options.quiet else _progress)
    _clear(options)
    _show(to_json(document) if options.json else findings.to_terminal(document))
    if options.out is not None:
        paths = findings.save_fit(document, Path(options.out))
        _say(f"report: {next(path for path in paths if path.suffix == '.html')}")
    return ANSWER


def run_backtest(options: argparse.Namespace) -> int:
    """Test forecasts and pools of spares on a log: each made from the past of its moment alone."""
    from planner.failures import backtest_document
    from planner.report import findings, to_json

    log, asked = _failure_log(options), _asked_of_log(options)
    document = backtest_document(
        log, asked, first_periods=options.first_periods, exact_period=options.period_days is not None
    )
    _clear(options)
    print(to_json(document) if options.json else findings.to_terminal(document))
    return ANSWER


def _failure_log(options: argparse.Namespace) -> FailureLog:
    """The log that the options name, read by their mapping or by the one that fits it."""
    from planner.failures import mapping_for, read_failures

    path = Path(options.log)
    if not options.quiet:
        _progress(f"reading {path.name}")
    return read_failures(
        path,
        mapping_for(path, None if options.mapping is None else Path(options.mapping)),
        fleet_size=options.fleet_size,
        severities=_names(options.severities),
        with_planned=options.with_planned,
    )


def _asked_of_log(options: argparse.Namespace) -> FitAsked:
    """What the options ask of a log; those that the command does not have stay as they are."""
    from planner.failures import FitAsked

    said = {
        "name": getattr(options, "name", None),
        "accelerators_per_node": getattr(options, "accelerators_per_node", None),
        "interval_fraction": options.interval,
        "spare_confidence_fraction": options.confidence,
        "period_d": options.period_days,
        "with_planned": options.with_planned,
        "review_d": options.review_days,
        "covariates": None if getattr(options, "covariates", None) is None else _names(options.covariates),
        "cross_check": getattr(options, "cross_check", None),
        "prior": getattr(options, "prior", None),
        "write_min": getattr(options, "write_min", None),
        "restart_min": getattr(options, "restart_min", None),
    }
    return FitAsked(**{name: value for name, value in said.items() if value is not None})


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _clear(options: argparse.Namespace) -> None:
    """End the line of progress."""
    if not options.quiet:
        _progress("")


def run_calibrate(options: argparse.Namespace) -> int:
    """Read measurements of your hardware, or probe it: what they change, and how wrong the rest may be."""
    from planner.calibration import calibration_document, facts_toml, to_text

    if options.measure:
        return _probe(options)
    if options.measurements is None:
        raise InputError("name a CSV of measurements, or use --measure on a machine with an NVIDIA device")
    document = calibration_document(Path(options.measurements), options.sizes)
    _show(json.dumps(document, indent=2) if options.json else to_text(document))
    if options.out is not None:
        _write(Path(options.out), facts_toml(document))
    return ANSWER


def _probe(options: argparse.Namespace) -> int:
    """Measure the device of this machine; where there is none that is the answer."""
    from planner.calibration import NothingToMeasure, cuda_device, probe_csv, probe_document, probe_text

    if options.measurements is not None or options.sizes:
        raise InputError("--measure takes neither measurements nor --sizes: it makes them")
    try:
        document = probe_document(cuda_device(), date.today())
    except NothingToMeasure as missing:
        _say(str(missing))
        return NO_PLAN
    _show(json.dumps(document, indent=2) if options.json else probe_text(document))
    if options.out is not None:
        _write(Path(options.out), probe_csv(document))
    return ANSWER


def _write(path: Path, text: str) -> None:
    """Write one file of an answer, and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    _say(f"written: {path}")


def run_validate(options: argparse.Namespace) -> int:
    """Set our values beside published ones."""
    from planner.validation import quantities_text, report_text, validate, write_readme_table

    if options.list:
        print(quantities_text())
        return ANSWER
    result = validate([Path(file) for file in options.files], [Path(folder) for folder in options.data])
    if options.readme is not None:
        write_readme_table(result, Path(options.readme))
    print(json.dumps(result, indent=2) if options.json else report_text(result))
    summary = result["summary"]
    return ANSWER if summary["outside"] == summary["not understood"] == 0 else NO_PLAN


def run_schema(options: argparse.Namespace) -> int:
    """Print the JSON Schema of the scenario."""
    from planner.scenario import schema

    print(json.dumps(schema(), indent=2))
    return ANSWER


def run_app(options: argparse.Namespace) -> int:
    """Serve the app on this machine until interrupted."""
    from planner.ui.launch import serve

    return serve(port=options.port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="everfleet", description="Plan AI fleets: work done, on time, at the least carbon and money."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=run.__doc__)
        added.add_argument("--json", action="store_true", help="print the answer as JSON")
        added.set_defaults(run=run)
        return added

    plan = command("plan", run_plan, "what to buy, keep, retire and place, and why")
    _scenario_options(plan)
    plan.add_argument("--out", metavar="FOLDER", help="write plan.html, plan.md, plan.json and csv/ there")
    plan.add_argument("--quiet", action="store_true", help="no progress on stderr")
    plan.add_argument("--no-baselines", action="store_true", help="solve only the plan itself")

    check = command("check", run_check, "is the scenario right; every problem at once")
    check.add_argument("scenarios", nargs="+", metavar="SCENARIO")

    explain = command("explain", run_explain, "where does a number come from")
    explain.add_argument(
        "plan", help="a folder of a plan, a fit or a job, its JSON, or a scenario (then solved)"
    )
    explain.add_argument("number", nargs="?", help="a total or term, such as cost or carbon; none lists them")
    explain.add_argument("--depth", type=int, help="open so many levels only")

    facts = command("facts", run_facts, "every fact with value, range, kind and source")
    facts.add_argument("words", nargs="*", help="words that the key, note or source must hold")

    carbon = command("carbon", run_carbon, "carbon, energy and water of a job, from data to end of life")
    _carbon_options(carbon)

    checkpoint = command("checkpoint", run_checkpoint, "which interval is best for time, money and carbon")
    _checkpoint_options(checkpoint)

    fit = command("fit", run_fit, "what your failure or job log says: rate, lifetimes, spares, forecast")
    _log_options(fit)
    _fit_options(fit)

    backtest = command("backtest", run_backtest, "how forecasts and spares would have fared on your log")
    _log_options(backtest)
    backtest.add_argument(
        "--first-periods", type=int, default=2, metavar="N", help="periods seen before the first forecast"
    )  # fmt: skip

    calibrate = command("calibrate", run_calibrate, "your measured point carried to all sizes")
    calibrate.add_argument(
        "measurements", nargs="?", metavar="MEASUREMENTS", help="CSV: tokens a second, step times, power"
    )
    calibrate.add_argument(
        "--sizes", type=_sizes, default=(), metavar="N,...",
        help="accelerators to show; a half, 1, 2 and 4 times yours",
    )  # fmt: skip
    calibrate.add_argument(
        "--measure", action="store_true", help="probe this machine's NVIDIA device, by PyTorch and NVML"
    )
    calibrate.add_argument(
        "--out", metavar="FILE", help="write the [facts] of a scenario; with --measure rows of data/facts"
    )

    validate = command("validate", run_validate, "ours beside published values")
    validate.add_argument("files", nargs="*", metavar="FILE", help="CSV files; none: the shipped rows")
    validate.add_argument(
        "--data", action="append", default=[], metavar="FOLDER",
        help="where files lie that may not be shipped; rows about them are not run without",
    )  # fmt: skip
    validate.add_argument("--list", action="store_true", help="print every quantity with its inputs")
    validate.add_argument("--readme", metavar="FILE", help="write the accuracy table into this file")

    command("schema", run_schema, "JSON Schema of the scenario, for editors")
    app = command("app", run_app, "the same in a browser, on this machine only")
    app.add_argument("--port", type=int, default=8501)
    return parser


def _scenario_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a shipped scenario")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="changes",
        help="change one value, for example --set 'policy.carbon_price=300 USD/t'",
    )  # fmt: skip


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
    flags.add_argument("--hourly", metavar="NAME|FILE", help="hourly grid intensity of the job's hours")
    flags.add_argument("--start", type=_day, metavar="DAY", help="first day of the job, such as 2025-03-01")
    flags.add_argument("--pue", type=float, help="default: an assumption of the catalogue, with its range")
    flags.add_argument("--lifetime", help="life of the hardware, '5 y'")
    flags.add_argument("--utilisation", type=_share, help="share of that life in use, 0.85 or '85 %%'")
    flags.add_argument(
        "--power", help="measured power of one accelerator with its share of the node, '650 W'"
    )
    flags.add_argument("--interval", help="checkpoint interval, '30 min'; default: that of least time")
    flags.add_argument("--failures", help="fleet whose failure rate holds; meta-llama-3-405b")
    flags.add_argument("--storage", help="checkpoint storage class; parallel-fs")
    parser.add_argument("--why", action="store_true", help="open the total down to its sources")
    parser.add_argument(
        "--why-embodied", action="store_true", help="why others print other figures for the accelerator"
    )
    parser.add_argument("--card", action="store_true", help="print Markdown for a model card")
    parser.add_argument("--out", metavar="FOLDER", help="write job.html, job.md, job.json and csv/ there")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a day: write for example 2025-03-01") from None


def _share(text: str) -> float | str:
    """A number, or text in percent as it stands: the job's rules read both."""
    try:
        return float(text)
    except ValueError:
        return text


def _sizes(text: str) -> tuple[int, ...]:
    """Counts of accelerators, apart by commas."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' are no counts of accelerators: write for example 64,512")
    return sizes


def _checkpoint_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario", nargs="?", metavar="SCENARIO",
        help="a scenario: every size of its training jobs; with --sku and --nodes that size in full",
    )  # fmt: skip
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
        "--spare-confidence", type=float, dest="spare_confidence_fraction", metavar="FRACTION",
        help="share of time for which the spares suffice; 0.95",
    )  # fmt: skip
    parser.add_argument(
        "--restart-parts", nargs="?", const="", metavar="PART=MIN,...",
        help="restart as a sum: detect, replace, initialise, warm_up (else the catalogue's) and the load",
    )  # fmt: skip
    parser.add_argument("--queue-min", type=float, default=0.0, help="minutes in the queue after a failure")
    parser.add_argument(
        "--storage-others", type=float, default=0.0, metavar="FRACTION",
        help="share of the storage's bandwidth that other jobs take",
    )  # fmt: skip
    parser.add_argument("--state", default="", help="what is written, such as bf16-adam-8bit-moments")
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--useful-hours", type=float, metavar="H", help="hours of a run without failures: asks for its finish"
    )
    length.add_argument("--days", type=float, help="the same in days")
    parser.add_argument(
        "--simulate", type=int, default=0, metavar="N", help="play the best intervals N times"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the play")
    parser.add_argument("--linear", action="store_true", help="the published straight line, too")
    parser.add_argument("--out", metavar="FOLDER", help="write the curve and the tables there")


def _log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log", metavar="LOG", help="sacct text, event or life table, Xid lines; .gz and .xz too"
    )
    parser.add_argument(
        "--mapping", metavar="FILE", help="what its columns mean; default: what fits the header"
    )
    parser.add_argument(
        "--fleet-size", type=int, metavar="NODES", help="nodes watched, with those that never failed"
    )
    parser.add_argument("--severities", default="", metavar="NAME,...", help="count failures of these alone")
    parser.add_argument("--with-planned", action="store_true", help="count planned stops as failures")
    parser.add_argument("--interval", type=float, metavar="FRACTION", help="what intervals are to hold; 0.9")
    parser.add_argument(
        "--confidence", type=float, metavar="FRACTION", help="share of time that spares suffice; 0.99"
    )
    parser.add_argument("--period-days", type=float, metavar="D", help="length of the periods compared; 91")
    parser.add_argument(
        "--review-days", type=float, metavar="D", help="days until the spares are sized anew; 7"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _fit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--show-mapping", action="store_true", help="print the mapping that fits, to edit; read no more"
    )
    parser.add_argument("--name", help="name of the fleet; default: that of the file")
    parser.add_argument("--accelerators-per-node", type=int, metavar="N", help="8")
    parser.add_argument(
        "--covariates", metavar="NAME,...", help="for hazard ratios; default: all with few levels"
    )
    parser.add_argument(
        "--cross-check", action="store_true", help="lifetimes and ratios by lifelines too; takes seconds"
    )
    parser.add_argument(
        "--prior", metavar="NAME", help="published fleet to start from, or none; 'prior': all of them"
    )
    parser.add_argument(
        "--write-min", type=float, metavar="MIN", help="blocking checkpoint write, for ETTR by size"
    )
    parser.add_argument(
        "--restart-min", type=float, metavar="MIN", help="restart after a failure, for ETTR by size"
    )
    parser.add_argument("--out", metavar="FOLDER", help="write fit.json, fit.html, fit.md and csv/ there")


def _load(name: str, changes: Mapping[str, str] | None = None) -> Scenario:
    """A scenario file, or a shipped scenario by name, with some values changed; names checked last."""
    from planner.catalogue import data_folder, load_catalogue
    from planner.inputs import check_scenario
    from planner.scenario import load_scenario, with_changes

    path = Path(name)
    shipped = data_folder() / "scenarios" / f"{name}.toml"
    scenario = load_scenario(shipped if not path.exists() and shipped.is_file() else path)
    if changes:
        scenario = with_changes(scenario, changes)
    check_scenario(scenario, load_catalogue())
    return scenario


def _document(options: argparse.Namespace) -> dict[str, Any]:
    path = Path(options.plan)
    held = (path / name for name in ("plan.json", "fit.json", "job.json"))
    file = next((file for file in held if file.is_file()), path / "plan.json") if path.is_dir() else path
    if file.suffix == ".json" and file.is_file():
        return _saved(file)
    return _solve(_load(options.plan), quiet=False, baselines=False)


def _saved(file: Path) -> dict[str, Any]:
    """The document of a plan.json, refused where it is none of ours."""
    from planner.scenario import Problem, ScenarioError

    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(str(file), [Problem("", f"cannot be read as a plan: {error}")]) from None
    if (
        not isinstance(document, dict)
        or "explanations" not in document
        or not ({"status", "everfleet_fit", "everfleet_job"} & document.keys())
    ):
        raise ScenarioError(str(file), [Problem("", "is not a plan: name a plan.json that `plan` wrote")])
    return document


def _solve(scenario: Scenario, *, quiet: bool, baselines: bool) -> dict[str, Any]:
    """Plan, with progress on stderr; the first Ctrl-C stops the solver and keeps its best plan."""
    from planner.document import plan_document
    from planner.plan import plan_fleet

    plan = plan_fleet(scenario, baselines=baselines, watch=None if quiet else _progress)
    if not quiet:
        _progress("")
    return plan_document(plan)


def _progress(text: str) -> None:
    """One line that overwrites itself on a terminal; in a log only the steps, not every second."""
    if sys.stderr.isatty():
        print(f"\r{text:<78}", end="" if text else "\r", file=sys.stderr, flush=True)
    elif text and ", bound" not in text:
        _say(text)


def _show(text: str) -> None:
    """Print what is also to be saved: a reader that left early (`| head`) does not stop the saving."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _wrong(text: str) -> int:
    _say(text)
    return WRONG_INPUT


if __name__ == "__main__":
    sys.exit(main())
