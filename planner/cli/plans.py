"""`plan`, `check` and `explain`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli import arguments
from planner.cli.console import (
    ANSWER,
    INTERRUPTED,
    NO_PLAN,
    WRONG_INPUT,
    clear,
    say,
    show,
    show_answer,
    show_json,
    watcher,
    write_file,
    wrong,
)
from planner.cli.loading import named_scenario, opened_document, see_store, solve, stated_labels
from planner.inputs.plan_question import PlanQuestion
from planner.inputs.question_fields import fields_of
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from planner.program.plan import Plan


def add_commands(command: arguments.AddCommand) -> None:
    """Make a plan, look at a scenario, open a number."""
    plan = command("plan", run_plan, "what to buy, keep, retire and place, and why")
    arguments.scenario_options(plan)
    plan.add_argument("--out", metavar="FOLDER", help="write plan.html, .md, .json, .xlsx and csv/ there")
    plan.add_argument(
        "--program",
        type=arguments.program_file,
        metavar="FILE",
        help="write the integer program there: .lp or .mps",
    )
    plan.add_argument("--save", action="store_true", help="save the plan, with what it was made from")
    arguments.label_options(plan)
    arguments.store_option(plan)
    arguments.quiet_option(plan)
    arguments.question_options(plan, PlanQuestion)

    start = command("start", run_start, "a scenario out of spreadsheets, or of a cluster's list of nodes")
    start.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="CSV, XLSX, JSON of kubectl get nodes, kubectl get pods or scontrol show nodes",
    )
    start.add_argument("--out", type=Path, metavar="FILE", help="the scenario to write; else it is printed")
    start.add_argument("--title", default="From spreadsheets", help="of the scenario")
    start.add_argument("--site", metavar="NAME", help="where nodes stand that state no site")
    start.add_argument(
        "--in-service", type=arguments.day, metavar="DAY", help="since when nodes work that state no day"
    )
    start.add_argument("--templates", type=Path, metavar="FOLDER", help="write tables to fill in there")

    check = command("check", run_check, "whether a scenario or a job is right; every problem at once")
    check.add_argument(
        "scenarios", nargs="+", metavar="FILE", help="TOML files, or names of shipped scenarios and jobs"
    )

    explain = command("explain", run_explain, "where does a number come from")
    explain.add_argument(
        "plan",
        metavar="PLAN",
        help="the folder or the JSON of any answer, or a scenario (then solved)",
    )
    explain.add_argument(
        "number",
        nargs="?",
        metavar="NUMBER",
        help="a total or term, such as cost, or a cell: purchases.1.capex_usd; without it, a list",
    )
    explain.add_argument("--tree", action="store_true", help="and every step, down to the sources")
    explain.add_argument("--depth", type=arguments.whole, help="and so many levels of its steps")


def run_plan(options: argparse.Namespace) -> int:
    """Plan a scenario, print the plan, write the report."""
    from planner.answers.plan.document import plan_document
    from planner.program.plan import silent
    from planner.report.saving import save
    from planner.report.text import to_terminal

    labels = stated_labels(options)
    if labels is not None and not options.save:
        raise InputError("--name, --note, --tag and --owner are of a saved plan: use --save, too")
    scenario = named_scenario(options)
    if options.save:
        see_store(options.store)
    question = _plan_question(options)
    plan = solve(scenario, quiet=options.quiet, baselines=question.baselines, anew=question.anew)
    plan = _defended(plan, question, options)
    document = plan_document(plan, watch=watcher(options) or silent)
    clear(options)
    show_answer(options, (document, to_terminal(document)))
    if options.out is not None:
        paths = save(document, Path(options.out))
        report = next((path for path in paths if path.suffix == ".html"), paths[0])
        say(f"report: {report}")
    if options.program is not None:
        _write_program(plan, options.program)
    if options.save:
        from planner.answers.saved.commands import save_plan

        say(save_plan(options.store, scenario, document, baselines=question.baselines, labels=labels))
    if document["status"]["name"] == "interrupted":
        return INTERRUPTED
    return ANSWER if document["status"]["verified"] else NO_PLAN


def _plan_question(options: argparse.Namespace) -> PlanQuestion:
    """What the options ask next to the scenario."""
    said = {name: getattr(options, name) for name in fields_of(PlanQuestion)}
    return PlanQuestion(**{name: value for name, value in said.items() if value is not None})


def _defended(plan: Plan, question: PlanQuestion, options: argparse.Namespace) -> Plan:
    """The plan with its services played, the worth of its limits and its alternatives, where requested."""
    from planner.answers.plan.evidence import defended

    left_out = "stopped; the plan is there, what was still being looked for is left out"
    plan = defended(plan, question, watch=watcher(options), stopped=lambda: say(left_out))
    clear(options)
    return plan


def _write_program(plan: Plan, path: Path) -> None:
    """Write the integer program of a plan, and say so."""
    from planner.program.searches import write_program

    try:
        write_program(plan.problem, path, period_names=plan.inputs.scenario.horizon.period_labels)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    say(f"program: {path}")


def run_start(options: argparse.Namespace) -> int:
    """Make a scenario out of spreadsheets, and say what was assumed in it."""
    from planner.answers.start import start_from, started_record, write_templates

    if options.templates is not None:
        for path in write_templates(options.templates):
            say(f"written: {path}")
        if not options.files:
            return ANSWER
    if not options.files:
        raise InputError("name the files to start from, or --templates FOLDER for tables to fill in")
    started = start_from(
        [Path(file) for file in options.files],
        title=options.title,
        site=options.site,
        in_service=options.in_service,
    )
    if options.out is not None:
        if options.out.exists():
            raise InputError(f"{options.out}: is there already: name another file")
        write_file(options.out, started.text)
    if options.json:
        show_json(started_record(started))
    elif options.out is None:
        show(started.text.rstrip())
    for note in started.notes:
        say(note)
    if options.out is not None:
        say(f"written: {options.out}; next: everfleet plan {options.out}")
    return ANSWER


def run_check(options: argparse.Namespace) -> int:
    """Read scenarios and jobs, and report every problem of every file."""
    from planner.answers.check import check_file
    from planner.answers.opening import path_of
    from planner.inputs.scenario import ScenarioError

    answers: list[dict[str, Any]] = []
    for name in options.scenarios:
        try:
            title, notes = check_file(path_of(name, "scenarios", "jobs"))
            answers.append({"file": name, "ok": True, "title": title, "problems": [], "notes": notes})
            for note in notes:
                say(f"{name}: {note}")
        except ScenarioError as error:
            problems = [{"path": problem.path, "message": problem.message} for problem in error.problems]
            answers.append({"file": name, "ok": False, "problems": problems})
            say(str(error))
    if options.json:
        show_json(answers)
    else:
        for answer in answers:
            count = len(answer["problems"])
            print(f"{answer['file']}: {'fine' if answer['ok'] else f'{count} problem' + 's' * (count > 1)}")
    return ANSWER if all(answer["ok"] for answer in answers) else WRONG_INPUT


def run_explain(options: argparse.Namespace) -> int:
    """Open one number of an answer, kept by name or a cell of a table: its parts; by `--tree` every step."""
    from planner.report.cells import named_cell
    from planner.report.shape import written
    from planner.report.why import labels_of, why_terminal
    from planner.trace.explain import kept_step as explained

    document = written(opened_document(options))
    known = sorted(document["explanations"])
    if not known and "status" in document:
        say(document["status"]["text"])
        return NO_PLAN
    if options.number is None:
        if options.json:
            show_json(known)
        else:
            show("\n".join(known))
        return ANSWER
    explanation = explained(document, options.number)
    if explanation is None and "." not in options.number:
        return wrong(f"no number '{options.number}' in this answer; it has: {', '.join(known)}")
    explanation = explanation or named_cell(document, options.number)
    if options.json:
        show_json(explanation.to_dict())
    else:
        show(why_terminal(explanation, labels_of(document, options.number)))
        if options.tree or options.depth is not None:
            show("\n" + explanation.to_text(options.depth))
        else:
            say("every step, down to the sources: --tree, or --depth 2 for two levels of it")
    return ANSWER
