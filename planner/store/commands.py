"""What the commands about saved plans answer: for each the data and the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planner.explain import format_value
from planner.report.texts import to_terminal
from planner.scenario import Scenario
from planner.store.comparing import compare_plans
from planner.store.exporting import export_plan
from planner.store.packing import Record
from planner.store.plans import SavedPlan, open_store
from planner.store.repeating import recompute
from planner.wording import mass, money

Said = tuple[Any, str]
SHORT = 10  # characters of a digest that a list shows
MOST_LINES = 20


def save_plan(
    address: str | None, scenario: Scenario, document: Mapping[str, Any], *, baselines: bool
) -> str:
    """Save a plan that was just made; gives the line that says so."""
    store = open_store(address)
    digest = store.save_plan(scenario, document, baselines=baselines)
    return f"saved as {digest[:SHORT]} in {store.address}"


def list_plans(address: str | None, *, title: str = "") -> Said:
    """Saved plans, the newest first."""
    plans = open_store(address).plans(title=title)
    lines = [_line(plan) for plan in plans]
    return [_record(plan) for plan in plans], "\n".join(lines) or "no plans are saved"


def show_plan(address: str | None, digest: str) -> Said:
    """A saved plan as `plan` printed it."""
    document = open_store(address).document(digest)
    return document, to_terminal(document)


def compare_saved(address: str | None, before: str, after: str) -> Said:
    """Two saved plans: what was asked and what came out differently."""
    found = compare_plans(open_store(address), before, after)
    heads = [
        f"{which}  {plan['digest'][:SHORT]}  {plan['title']} ({plan['status']})"
        for which, plan in zip(("before", "after "), found["plans"], strict=True)
    ]
    parts = [
        _part("inputs", [_change_line(row) for row in found["inputs"]]),
        _part("files with other content", found["files"]),
        _part("facts", [_change_line(row) for row in found["facts"]]),
        _part("versions", [_change_line(row) for row in found["versions"]]),
        _part("totals", [_total_line(row) for row in found["totals"] if row["difference"] != 0]),
        _part("decisions", [f"only {row['only']}: {row['text']}" for row in found["decisions"]]),
    ]
    return found, "\n".join([*heads, *filter(None, parts)])


def export_saved(address: str | None, digest: str, folder: str) -> Said:
    """A saved plan as files: scenario, plan.json and the report."""
    paths = export_plan(open_store(address), digest, Path(folder))
    return [str(path) for path in paths], "\n".join(str(path) for path in paths)


def recompute_saved(address: str | None, digest: str) -> tuple[Record, str]:
    """A saved plan worked out again from what is stored: is it the same, and what has changed since."""
    repeat = recompute(open_store(address), digest)
    said = "the same to the last bit" if repeat.same else f"differs in {len(repeat.differences)} places"
    lines = [f"{row.path}: {_shown(row.before)} -> {_shown(row.after)}" for row in repeat.differences]
    parts = [
        f"{repeat.digest[:SHORT]}: {said}",
        _part("changed since", repeat.changed),
        _part("differences", lines),
    ]
    record = {
        "digest": repeat.digest, "same": repeat.same, "changed": list(repeat.changed),
        "differences": [asdict(row) for row in repeat.differences],
    }  # fmt: skip
    return record, "\n".join(filter(None, parts))


def _record(plan: SavedPlan) -> Record:
    return asdict(plan) | {"versions": dict(plan.versions)}


def _line(plan: SavedPlan) -> str:
    totals = "no plan"
    if plan.cost_usd is not None and plan.carbon_kgco2e is not None:
        totals = f"{money(plan.cost_usd)}, {mass(plan.carbon_kgco2e)}"
    when = plan.saved[:16].replace("T", " ")
    return f"{plan.digest[:SHORT]}  {when}  {plan.status:<12}  {totals:<26}  {plan.title}"


def _part(title: str, lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([f"\n{title}", *(f"  {line}" for line in [*lines[:MOST_LINES], *more])]) if lines else ""


def _change_line(row: Mapping[str, Any]) -> str:
    return f"{row['path']}: {_shown(row['before'])} -> {_shown(row['after'])}"


def _total_line(row: Mapping[str, Any]) -> str:
    unit = "" if row["unit"] == "1" else f" {row['unit']}"
    was, now = (
        "none" if value is None else f"{format_value(value)}{unit}" for value in (row["before"], row["after"])
    )
    share = row["difference_fraction"]
    return f"{row['label']}: {was} -> {now}" + ("" if share is None else f" ({share:+.1%})")


def _shown(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
