"""What commands read: scenarios and documents that other commands wrote."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.arguments import CHANGE_EXAMPLE
from planner.cli.console import progress
from planner.inputs.files import parse_json, read_limited
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario
    from planner.program.plan import Plan


def load(name: str, changes: Mapping[str, str] | None = None) -> Scenario:
    """A scenario file, or a shipped scenario by name, with some values changed, checked whole."""
    from planner.answers.check import checked_scenario

    return checked_scenario(file_of(name, "scenarios"), changes)


def file_of(name: str, *folders: str) -> Path:
    """A file, or the shipped one of that name in the first of these folders that has it."""
    from planner.inputs.catalogue import data_folder

    path = Path(name)
    shipped = [data_folder() / folder / f"{name}.toml" for folder in folders]
    return next((file for file in shipped if not path.exists() and file.is_file()), path)


def asked_scenario(options: argparse.Namespace) -> Scenario:
    """The scenario that the options name, with what `--set` changes."""
    changes = {}
    for change in options.changes:
        path, stated, value = change.partition("=")
        if not stated:
            raise InputError(f"--set '{change}' has no value: write for example '{CHANGE_EXAMPLE}'")
        changes[path] = value
    return load(options.scenario, changes)


def solve(scenario: Scenario, *, quiet: bool, baselines: bool) -> Plan:
    """Plan, with progress on stderr; the first Ctrl-C stops the solver and keeps its best plan."""
    from planner.program.plan import plan_fleet

    plan = plan_fleet(scenario, baselines=baselines, watch=None if quiet else progress)
    if not quiet:
        progress("")
    return plan


def see_store(address: str | None) -> None:
    """See that a store can be opened: what cannot be saved is better known before the work."""
    from planner.store import open_store

    open_store(address).close()


def opened(options: argparse.Namespace) -> dict[str, Any]:
    """The document of a folder or a file, or of a scenario that is solved for it."""
    path = Path(options.plan)
    held = (path / name for name in ("plan.json", "fit.json", "job.json", "futures.json"))
    file = next((file for file in held if file.is_file()), path / "plan.json") if path.is_dir() else path
    if file.suffix == ".json" and file.is_file():
        return _saved(file)
    from planner.answers.plan.document import plan_document

    return plan_document(solve(load(options.plan), quiet=False, baselines=False))


def _saved(file: Path) -> dict[str, Any]:
    """The document of a plan.json, refused where it is none of ours."""
    from planner.inputs.scenario import Problem, ScenarioError
    from planner.report.editions import up_to_date

    try:
        document = parse_json(read_limited(file).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(str(file), [Problem("", f"cannot be read as a plan: {error}")]) from None
    if (
        not isinstance(document, dict)
        or "explanations" not in document
        or not ({"status", "everfleet_fit", "everfleet_job"} & document.keys())
    ):
        raise ScenarioError(str(file), [Problem("", "is not a plan: name a plan.json that `plan` wrote")])
    return up_to_date(document)
