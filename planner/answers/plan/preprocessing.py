"""Workers that feed training runs: how many, how long, their power, room, money and carbon; and stalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planner.answers.plan.fleet import place
from planner.program.ledger_terms import DECIDED
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import count_text, percent_text
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record, plain_rows


@dataclass(frozen=True, slots=True)
class _Fed:
    """A run that workers feed: its row and candidate, its option of the program, and how many such runs."""

    row: int
    candidate: int
    option: int
    count: Traced


def feeding_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each run that is fed: its workers, what they take, and the share of the data that they supply."""
    runs, labels = plan.ledger.runs, plan.inputs.scenario.horizon.period_labels
    found: list[Record] = []
    for one in _fed(plan, solution):
        assert runs is not None, "some run is fed"
        assert runs.fed is not None, "some run is fed"
        assert runs.fed_hours is not None, "some run is fed"
        fed, hours, c = runs.fed, runs.fed_hours, one.candidate
        job = int(runs.candidates.job[c])

        def over(column: Traced, name: str, row: int = one.row, count: Traced = one.count) -> Traced:
            parts = {
                label: (count * column[row, t]).named(name)
                for t, label in enumerate(labels)
                if column.value[row, t]
            }
            return total(name, parts, "period by period", most=max(len(parts), 1))

        site = place(plan, int(runs.candidates.node_group[c]))["site"]
        found.append(
            {
                "job": plan.inputs.scenario.training[job].name,
                "site": site,
                "sku": fed.sku[job],
                "workers": (one.count * fed.workers[c]).named("workers"),
                "supplied_fraction": fed.supplied[c],
                "power_kw": (one.count * fed.workers[c] * fed.working_kw[c]).named("power_kw"),
                "racks": (one.count * fed.racks[c]).named("racks"),
                "worker_h": over(hours.worker_h, "worker_h"),
                "usd": over(hours.usd, "usd"),
                "kgco2e": over(hours.kgco2e, "kgco2e"),
            }
        )
    return found


def feeding_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Who feeds each run, and how long its nodes wait for their data."""
    found = []
    for row in plain_rows(feeding_records(plan, solution)):
        said = f"{count_text(row['workers'])} workers of {row['sku']} feed {row['job']}"
        if row["supplied_fraction"] < 1:
            waits = percent_text(1.0 - row["supplied_fraction"], 0)
            said += f": too few, so that its nodes wait for data in {waits} of their hours"
        found.append(f"{said}.")
    if found:
        found.append(
            "Those workers have to be there: they are charged by the hour, and none is in the orders."
        )
    return found


def fed_racks(plan: Plan, site: int, period: str) -> dict[str, Traced]:
    """Room of the workers at a site in a period, run by run."""
    solution, runs = plan.answer.solution, plan.ledger.runs
    assert solution is not None, "there is a plan"
    groups, t = plan.problem.node_groups, plan.inputs.scenario.horizon.period_labels.index(period)
    found: dict[str, Traced] = {}
    for one in _fed(plan, solution):
        group = int(plan.problem.run_options.node_group[one.option])
        if groups.site[group] == site and not groups.off_site[group]:
            assert runs is not None, "some run is fed"
            assert runs.fed is not None, "some run is fed"
            if runs.held[one.row, t]:
                job = plan.inputs.scenario.training[int(runs.candidates.job[one.candidate])]
                each = (one.count * runs.fed.racks[one.candidate]).named("racks")
                found[f"workers of {job.name}, option {one.option}"] = each
    return found


def _fed(plan: Plan, solution: Solution) -> Iterator[_Fed]:
    """Runs of the plan that workers feed."""
    runs = plan.ledger.runs
    if runs is None or runs.fed is None:
        return
    for row, option in zip(plan.ledger.run_rows.tolist(), np.flatnonzero(solution.run).tolist(), strict=True):
        candidate = int(runs.candidate[row])
        if runs.fed.sku[int(runs.candidates.job[candidate])]:
            count = chosen("count", float(solution.run[option]), DECIDED, "1")
            yield _Fed(row, candidate, option, count)
