"""The program as a file that other engines and people read: LP or MPS, with names in place of numbers.

Inside, variables and rows are named by index, because written labels may conflict. In the file a row
such as `power_1_0` is `power_oregon_2027_Q1`; a name that two would share carries its indices as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pulp

from solver import regions
from solver.build import build
from solver.problem import Problem
from solver.quality import losses_above

FORMATS = (".lp", ".mps")
LONGEST = 100  # letters in a name that every reader of these formats takes

# What the indices of a variable and of a row point to, by the letters of `solver.problem`.
_VARIABLES = {
    "order": "PT",
    "retire": "HT",
    "sell": "BT",
    "move": "MT",
    "standing": "HT",
    "tier": "G",
    "rebated": "GPT",
    "rented": "PT",
    "whole": "PT",
    "unfilled": "PT",
    "commit": "PT",
    "spares": "PT",
    "parked": "PT",
    "in_service": "PT",
    "in_use": "PT",
    "step": "PT",
    "run": "R",
    "choose": "E",
    "completed": "E",
    "done": "ET",
    "left_out": "J",
    "replicas": "VT",
    "started": "VT",
    "begun": "VT",
    "shed": "IT",
    "work": "OT",
    "adopt": "A",
    "lost": "OT",
    "sign": "S",
    "reuse": "HT",
    "matched": "CT",
    "beyond": "ST",
    "some": "P",
    "works": "ET",
    "free": "PT",
    "serves": "VT",
    "promise_step": "QPT",
    "work_in": "OT",
    "work_stop": "OT",
    "done_in": "ET",
    "done_stop": "ET",
    "lent": "OT",
    "quiet": "VT",
    "rest": "VT",
    "wake": "VT",
    "off": "PT",
    "boot": "PT",
    "above": "ST",
}
_ROWS = {
    "starts": "VT",
    "set_up": "VT",
    "least": "VT",
    "job": "J",
    "pausable": "E",
    "pace": "ET",
    "part": "E",
    "chosen": "J",
    "demand": "IT",
    "quality": "NT",
    "region": "UT",
    "slot_region": "UT",
    "slot_quality": "NT",
    "one_share": "IT",
    "work": "WT",
    "adopted": "AT",
    "lost": "OT",
    "curtailed": "ST",
    "reuse": "HT",
    "reuse_limit": "H",
    "in_service": "PT",
    "standing": "HT",
    "retire_once": "H",
    "sell_once": "B",
    "end_of_life": "H",
    "in_use": "PT",
    "in_use_at": "PT",
    "nodes": "PT",
    "term": "PT",
    "whole": "PT",
    "unfilled": "PT",
    "hours": "PT",
    "parked": "PT",
    "reach": "PT",
    "in_turn": "PT",
    "spares": "PT",
    "power": "ST",
    "space": "ST",
    "shared_power": "FT",
    "occupied": "ST",
    "supply": "KT",
    "minimum": "P",
    "ordered": "PT",
    "tier": "G",
    "one_tier": "K",
    "rebated": "PT",
    "rebate": "GPT",
    "budget": "T",
    "clean": "ST",
    "level": "CT",
    "carbon_cap_by_period": "T",
    "works": "ET",
    "nodes_least": "ET",
    "free": "PT",
    "serves": "VT",
    "promise_reach": "QPT",
    "promise_in_turn": "QPT",
    "promise_spares": "QPT",
    "spread_work": "OT",
    "spread_done": "ET",
    "slot_pace": "ET",
    "stops_work": "OT",
    "stops_done": "ET",
    "wakes": "VT",
    "boots": "PT",
    "work_day": "WT",
    "work_now": "WT",
    "rises_work": "WT",
    "falls_work": "WT",
    "rises_done": "ET",
    "falls_done": "ET",
    "slot_nodes": "PT",
    "lend": "PT",
    "ready": "IT",
    "asleep": "VT",
    "slot_off": "PT",
    "slot_power": "ST",
    "slot_shared_power": "FT",
    "slot_peak": "ST",
    "stands_by": "VT",
}


def write_program(problem: Problem, path: Path, *, period_names: Sequence[str]) -> None:
    """Write the program of a problem as LP or MPS, by the suffix of the file.

    Its objective is in thousands (kUSD, tCO2e), as in `solver.build`. What no decision changes, such as the
    upkeep of standing nodes, stands in it as the cost of the variable `constant`, which is fixed at 1: some
    readers drop a bare constant.
    """
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"path ends in {' or '.join(FORMATS)}, got {path.name!r}")
    if len(period_names) != problem.periods:
        raise ValueError(f"period_names has a name for each of {problem.periods} periods, got {period_names}")
    model = _renamed(build(problem).model, _labels(problem, period_names))
    if path.suffix.lower() == ".lp":
        model.writeLP(str(path), max_length=LONGEST)
    else:
        model.writeMPS(str(path))


def _renamed(model: Any, labels: Mapping[str, Sequence[str]]) -> Any:
    """The same program under readable names; the given one is used up."""
    variables = model.variables()
    names = _readable([each.name for each in variables], _VARIABLES, labels)
    for variable in variables:
        variable.name = names[variable.name]
    fresh = pulp.LpProblem(model.name, model.sense)
    constant = pulp.LpVariable("constant", 1, 1)
    fresh.setObjective(model.objective + model.objective.constant * (constant - 1))
    rows = _readable(list(model.constraints), _ROWS, labels)
    for row, constraint in model.constraints.items():
        fresh.addConstraint(constraint, rows[row])
    return fresh


def _readable(
    names: Iterable[str], axes: Mapping[str, str], labels: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """A name for each, in which indices are labels as far as it is known what they point to."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        stem, numbers = _parts(name)
        letters = axes.get(stem, "")
        said = [labels[letter][number] for letter, number in zip(letters, numbers, strict=False)]
        rest = [str(number) for number in numbers[len(letters) :]]
        readable = "_".join([stem, *said, *rest])
        if readable in taken or len(readable) > LONGEST:
            suffix = "_".join(["", *map(str, numbers)])
            readable = readable[: LONGEST - len(suffix)] + suffix
        if readable in taken:  # a label may look like indices
            readable = name
        found[name] = readable
        taken.add(readable)
    return found


def _parts(name: str) -> tuple[str, list[int]]:
    """The stem of a name and its indices."""
    stem = re.sub(r"(_\d+)+$", "", name)
    return stem, [int(number) for number in name[len(stem) :].split("_")[1:]]


def _labels(problem: Problem, period_names: Sequence[str]) -> dict[str, list[str]]:
    """What to call each member of each set, in letters, digits and underlines."""
    groups = [problem.node_group_name(group) for group in range(len(problem.node_groups))]
    cohorts = [f"{groups[group]} cohort {cohort}" for cohort, group in enumerate(problem.cohorts.node_group)]
    tiers, moves, contracts = problem.tiers, problem.moves, problem.contracts
    sites = problem.site_names
    named = {
        "T": period_names,
        "P": groups,
        "H": cohorts,
        "J": problem.jobs.name,
        "I": problem.services.name,
        "N": [
            f"{problem.services.name[i]} {' '.join(f'{one:g}' for one in dict.fromkeys(loss.tolist()))}"
            for i, loss in zip(*losses_above(problem), strict=True)
        ],
        "U": [
            f"{problem.services.name[one.service]} users {' '.join(map(str, one.numbers))}"
            for one in regions.sets(problem)
        ],
        "W": problem.work.name,
        "A": problem.adoptions.name,
        "Q": _promises(problem),
        "S": sites,
        "F": problem.limits.shared_power_name,
        "K": problem.sku_names,
        "M": [
            f"{cohorts[start]} to {cohorts[end]}"
            for start, end in zip(moves.from_cohort, moves.to_cohort, strict=True)
        ],
        "G": [
            f"{problem.sku_names[sku]} from {nodes:g}"
            for sku, nodes in zip(tiers.sku, tiers.from_nodes, strict=True)
        ],
        "B": [
            f"{groups[group]} ordered in {period_names[placed]}"
            for group, placed in zip(problem.sales.node_group, problem.sales.ordered, strict=True)
        ],
        "C": [f"contract {contract} at {sites[site]}" for contract, site in enumerate(contracts.site)],
    }
    named |= _option_labels(problem, groups, period_names)
    return {letter: [_plain(label) for label in labels] for letter, labels in named.items()}


def _promises(problem: Problem) -> list[str]:
    """The services of each promise."""
    serves, names = problem.serve_options, problem.services.name
    most = max(problem.spare_steps.promises(), default=0)
    return [
        " and ".join(names[i] for i in np.unique(serves.service[serves.promise == promise]))
        for promise in range(most + 1)
    ]


def _option_labels(
    problem: Problem, groups: Sequence[str], period_names: Sequence[str]
) -> dict[str, list[str]]:
    """What to call each way to do something: what is done, and on which node group."""
    runs, pausable = problem.run_options, problem.pausable_options
    standing = [f"{nodes.max()} {groups[p]}" for nodes, p in zip(runs.nodes, runs.node_group, strict=True)]
    for row in np.flatnonzero(~runs.counts).tolist():
        standing[runs.first[row]] += f" and {standing[row]}"

    def on_node_groups(names: Sequence[str], what: Iterable[int], group: Iterable[int]) -> list[str]:
        return [f"{names[number]} on {groups[place]}" for number, place in zip(what, group, strict=True)]

    return {
        "R": [
            f"{problem.jobs.name[job]} on {nodes} from {period_names[start]}"
            for job, nodes, start in zip(runs.job, standing, runs.start, strict=True)
        ],
        "E": [
            f"{problem.jobs.name[job]} on up to {nodes} {groups[group]}"
            for job, nodes, group in zip(pausable.job, pausable.nodes, pausable.node_group, strict=True)
        ],
        "V": on_node_groups(
            problem.services.name, problem.serve_options.service, problem.serve_options.node_group
        ),
        "O": [
            " with ".join([plain, *(problem.adoptions.name[a] for a in np.flatnonzero(uses))])
            for plain, uses in zip(
                on_node_groups(problem.work.name, problem.work_options.work, problem.work_options.node_group),
                problem.work_options.uses,
                strict=True,
            )
        ],
    }


def _plain(label: str) -> str:
    return re.sub(r"\W+", "_", label, flags=re.ASCII).strip("_")
