"""The command line: results on stdout, talk on stderr; exit 0 an answer, 1 no plan exists, 2 wrong input.

Each command imports what it needs when it runs, so that `--help` stays quick.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import InputError

if TYPE_CHECKING:
    from planner.scenario import Scenario

ANSWER, NO_PLAN, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


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
    if options.json:
        print(to_json(document))
    else:
        print(to_terminal(document))
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
    """State the carbon, energy and water of one job."""
    from planner.job_carbon import JobInput, job_document, to_text

    document = job_document(JobInput.from_text(vars(options)))
    print(json.dumps(document, indent=2) if options.json else to_text(document, why=options.why))
    return ANSWER


def run_checkpoint(options: argparse.Namespace) -> int:
    """Print the table of checkpoint intervals with the optima marked."""
    from planner.checkpoints import checkpoint_document, to_text

    document = checkpoint_document(
        failures=options.failures, sku=options.sku, nodes=options.nodes, storage=options.storage,
        restart_min=options.restart_min, model=options.model, asynchronous=options.asynchronous,
        grid=options.grid,
    )  # fmt: skip
    print(json.dumps(document, indent=2) if options.json else to_text(document))
    return ANSWER


def run_validate(options: argparse.Namespace) -> int:
    """Set our values beside published ones."""
    from planner.validation import quantities_text, report_text, validate, write_readme_table

    if options.list:
        print(quantities_text())
        return ANSWER
    result = validate([Path(file) for file in options.files])
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
    explain.add_argument("plan", help="a plan folder, a plan.json, or a scenario (which is then solved)")
    explain.add_argument("number", nargs="?", help="a total or term, such as cost or carbon; none lists them")
    explain.add_argument("--depth", type=int, help="open so many levels only")

    facts = command("facts", run_facts, "every fact with value, range, kind and source")
    facts.add_argument("words", nargs="*", help="words that the key, note or source must hold")

    carbon = command("carbon", run_carbon, "carbon, energy and water of one job")
    _carbon_options(carbon)

    checkpoint = command("checkpoint", run_checkpoint, "which interval is best for time, money and carbon")
    checkpoint.add_argument("--failures", default="meta-llama-3-405b", help="fleet whose failure rate holds")
    checkpoint.add_argument("--sku", default="h100-8")
    checkpoint.add_argument("--nodes", type=int, default=64)
    checkpoint.add_argument("--model", default="llama-3.1-70b", help="model whose state is written")
    checkpoint.add_argument("--storage", default="parallel-fs", help="checkpoint storage class")
    checkpoint.add_argument(
        "--restart-min", type=float, default=10.0, help="minutes from a failure to running again"
    )
    checkpoint.add_argument("--grid", default="us", help="grid region of the catalogue")
    checkpoint.add_argument("--asynchronous", action="store_true", help="write in the background")

    validate = command("validate", run_validate, "ours beside published values")
    validate.add_argument("files", nargs="*", metavar="FILE", help="CSV files; none: the shipped rows")
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
    parser.add_argument("--model", help="model card; with --tokens the hours are predicted")
    parser.add_argument("--tokens", type=float, help="training tokens")
    parser.add_argument(
        "--accelerator-hours", type=float, help="hours that you measured, instead of model and tokens"
    )
    parser.add_argument("--sku", default="h100-8")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--grid", default="us", help="grid region of the catalogue")
    parser.add_argument("--pue", type=float, help="default: the survey mean of the catalogue")
    parser.add_argument(
        "--power", help="measured power of one accelerator with its share of the node, '650 W'"
    )
    parser.add_argument("--failures", default="meta-llama-3-405b")
    parser.add_argument("--storage", default="parallel-fs", help="checkpoint storage class")
    parser.add_argument("--why", action="store_true", help="open the total down to its sources")


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
    file = path / "plan.json" if path.is_dir() else path
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
    if not isinstance(document, dict) or not {"explanations", "status"} <= document.keys():
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


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _wrong(text: str) -> int:
    _say(text)
    return WRONG_INPUT


if __name__ == "__main__":
    sys.exit(main())
