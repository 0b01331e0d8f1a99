"""What commands read: scenarios and documents that other commands wrote."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.arguments import CHANGE_EXAMPLE
from planner.cli.console import progress, say
from planner.trace.errors import InputError

# As planner.inputs.catalogue has it, which is not loaded for `--help`.
VARIABLE = "EVERFLEET_DATA"

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario
    from planner.program.plan import Plan
    from planner.store import Labels


@contextmanager
def own_data_here(path: str | None) -> Iterator[None]:
    """Inside, this command and the processes that it starts take the facts of one's own at a path."""
    before = os.environ.get(VARIABLE)
    if path is not None:
        os.environ[VARIABLE] = str(Path(path).absolute())
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def load(name: str, changes: Mapping[str, str] | None = None) -> Scenario:
    """A scenario file, or a shipped scenario by name, with some values changed, checked whole."""
    from planner.answers.opening import open_scenario

    return open_scenario(name, changes)


def named_scenario(options: argparse.Namespace) -> Scenario:
    """The scenario that the options name, with what `--set` changes."""
    changes = {}
    for change in options.changes:
        path, stated, value = change.partition("=")
        if not stated:
            raise InputError(f"--set '{change}' has no value: write for example '{CHANGE_EXAMPLE}'")
        changes[path] = value
    if getattr(options, "currency", None) is not None:  # questions without a plan have no such option
        changes["currency"] = options.currency
    scenario = load(options.scenario, changes)
    files = {option: _by_name(options, option) for option in ("traffic", "hourly", "electricity")}
    if not any(files.values()):
        return scenario
    from planner.answers.opening import with_series

    scenario, notes = with_series(scenario, **files)
    for note in notes:
        say(note)
    return scenario


def _by_name(options: argparse.Namespace, option: str) -> dict[str, Path]:
    """The file for each name, as in `--hourly lund=hours.csv`."""
    found = {}
    for text in getattr(options, option, ()):
        name, stated, path = text.partition("=")
        if not (name and stated and path):
            raise InputError(f"--{option} '{text}' names no file: write for example --{option} NAME=file.csv")
        if name in found:
            raise InputError(f"--{option} names {name} twice: keep one")
        found[name] = Path(path)
    return found


def solve(scenario: Scenario, *, quiet: bool, baselines: bool, anew: bool = False) -> Plan:
    """Plan, with progress on stderr; the first Ctrl-C stops the solver and keeps its best plan.

    What was searched before is found again, but `anew`.
    """
    from planner.program.plan import plan_fleet
    from planner.store.searches import kept_searches

    memory = kept_searches(anew=anew)
    plan = plan_fleet(scenario, baselines=baselines, memory=memory, watch=None if quiet else progress)
    if not quiet:
        progress("")
    return plan


def stated_labels(options: argparse.Namespace) -> Labels | None:
    """What the options call a saved plan; none where they say nothing of it.

    Raises:
        StoreError: a label is too long.
    """
    if all(one is None for one in (options.name, options.note, options.tag, options.owner)):
        return None
    from planner.store import labels_of

    return labels_of(
        name=options.name or "", note=options.note or "", tags=options.tag or (), owner=options.owner or ""
    )


def see_store(address: str | None) -> None:
    """See that a store can be opened: what cannot be saved is better known before the work."""
    from planner.store import open_store

    open_store(address).close()


def opened_document(options: argparse.Namespace) -> dict[str, Any]:
    """The document of a folder or a file, or of a scenario that is solved for it."""
    from planner.answers.opening import open_answer
    from planner.answers.plan.document import plan_document

    held = open_answer(Path(options.plan))
    return plan_document(solve(load(options.plan), quiet=False, baselines=False)) if held is None else held
