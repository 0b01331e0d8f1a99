"""How long plans take with slots, one size and one number of slots a process.

    python -m benchmarks.studies.slots SIZE SLOTS [SECONDS]
    python -m benchmarks.studies.slots --page

SIZE is S, M or L, the made-up fleets of `benchmarks/fleets.py` with work and the levers laid on; or
quarter or quarter-16, the shipped quarter as it is and with sixteen times as much to search, with all levers.
SLOTS are those of a period: 1, or a number of days of 12. SECONDS is the limit; default: what is aimed at.
Prints a row of the table that `table` heads. `--page` runs every size with 1, 24 and 96 slots, one after
the other, and writes docs/slot-times.md: on a quiet machine, twenty minutes.
"""

from __future__ import annotations

import dataclasses
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import peak_mb
from benchmarks.fleets import HOURS, SIZES, fleet
from benchmarks.scenarios import COPIES, grown
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario, with_changes
from planner.program.assembly import assemble
from solver.answer import answer
from solver.build import build
from solver.problem import (
    Problem,
    Resting,
    Shifting,
    SlotDemand,
    Slots,
    Switching,
    Windows,
    Work,
    WorkOptions,
)

Floats = NDArray[np.float64]

A_DAY, DAY_H = 12, 24.0
LEVERS = ["shift", "pack", "lend"]
HEAD = (
    "| size | slots | columns | whole | rows | build, s | plan, s | limit, s "
    "| gap asked | gap | status | peak memory, MB |"
)
PAGE_SLOTS = (1, 2 * A_DAY, 8 * A_DAY)
# What a row may take beyond its limit, as large programs take long to be built and written.
MOST_MEMORY_GB, MOST_MORE_S = 16, 120.0
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "slot-times.md"
ABOUT = """# How long plans with slots take

Written by `python -m benchmarks.studies.slots --page`. Each row is a process of its own, one after the other,
and one reading. S, M and L are made-up fleets (`benchmarks/fleets.py`) with divisible work and all levers;
`quarter` is the shipped `next-quarter` with all levers, `quarter-16` the same with sixteen times as much to
search. With one slot the period is one. The gap asked within the limit is the aim. A plan that ends at its
limit says how far it may be from the best; `none` is a plan without a bound. The checks and the account of
the plan come on top of the limit.
"""
ENDS = f"""A row may hold {MOST_MEMORY_GB} GB and last {MOST_MORE_S:g} s longer than its limit; one that needs
more says so.
"""


class Aim(NamedTuple):
    """How near and how fast a plan is meant to be found."""

    gap_fraction: float
    seconds: float


AIMS = {
    "S": Aim(0.005, 10.0),
    "M": Aim(0.005, 60.0),
    "L": Aim(0.01, 180.0),
    "quarter": Aim(0.005, 20.0),
    "quarter-16": Aim(0.02, 60.0),
}
# Made-up levers: shares of the power above idle that quiet and resting replicas save, and of idle power that
# nodes save which are off.
QUIET, RESTED, OFF = 0.4, 0.8, 0.7
LENT_SPEED, MAY_WAIT, RESERVE = 0.9, 0.7, 1.2


def with_work(problem: Problem, seed: int) -> Problem:
    """The fleet with one divisible work for each second site, on all nodes of two sites."""
    rng, groups = np.random.default_rng([seed, 1]), problem.node_groups
    count, sites = max(1, len(problem.site_names) // 2), len(problem.site_names)
    own = [rng.choice(sites, min(2, sites), replace=False) for _ in range(count)]
    at = [np.flatnonzero(np.isin(groups.site, places)) for places in own]
    work = np.repeat(np.arange(count), [len(each) for each in at])
    group = np.concatenate(at)
    above = np.zeros(len(groups))
    np.maximum.at(above, problem.pausable_options.node_group, problem.pausable_options.active_kw)
    above = np.where(above > 0, above, above.max())
    usd, kgco2e = (price_of(problem, kind)[group] for kind in ("usd", "kgco2e"))
    busy = (groups.idle_kw + above)[group, None]
    needed = problem.services.demand.sum(axis=0).mean() * HOURS / 40
    return dataclasses.replace(
        problem,
        work=Work(
            name=tuple(f"work-{one}" for one in range(count)),
            demand_h=needed * rng.uniform(0.5, 1.5, (count, 1)) * np.ones((1, problem.periods)),
        ),
        work_options=WorkOptions(
            work=work,
            node_group=group,
            speed=1.0 + groups.sku[group] / max(1, len(problem.sku_names)),
            active_kw=above[group],
            usd_per_node_h=busy * usd,
            kgco2e_per_node_h=busy * kgco2e,
        ),
    )


def price_of(problem: Problem, kind: str) -> Floats:
    """Money or carbon of a kilowatt-hour of each node group by period [P, T], from what idling takes."""
    groups = problem.node_groups
    found: Floats = getattr(groups, f"idle_{kind}_per_node") / (groups.idle_kw[:, None] * HOURS)
    return found


def with_slots(problem: Problem, count: int, seed: int) -> Problem:
    """The problem with so many slots: days of 12 parts, each site with hours of its own, all levers."""
    rng, types = np.random.default_rng([seed, 2]), count // A_DAY
    share = np.repeat(rng.dirichlet(np.full(types, 5.0)), A_DAY) / A_DAY
    hours = (share * HOURS)[:, None] * np.ones(problem.periods)
    slot = np.arange(count)
    clock = 2 * np.pi * (slot % A_DAY) / A_DAY
    sites, services = len(problem.site_names), len(problem.services)
    phase, depth = rng.uniform(0, 2 * np.pi, (sites, 1)), rng.uniform(0.1, 0.6, (sites, 1))
    ratio = 1 + depth * np.cos(clock + phase) + 0.1 * rng.standard_normal((sites, count))
    ratio = np.maximum(ratio, 0.05)
    ratio /= (ratio * share).sum(axis=1, keepdims=True)
    busiest = rng.uniform(0, 2 * np.pi, (services, 1))
    load = 0.55 + 0.45 * np.cos(clock + busiest)
    groups, serves, works = problem.node_groups, problem.serve_options, problem.work_options
    pausable, long = problem.pausable_options, hours.T[None]
    usd, kgco2e = price_of(problem, "usd"), price_of(problem, "kgco2e")

    def by_slot(group: NDArray[np.int64], kw: Floats, price: Floats, flat: bool, less: float = 0.0) -> Floats:
        """What so many kilowatts take in an hour of each slot, less a share of the mean."""
        met = np.ones((len(group), 1, count)) if flat else ratio[groups.site[group]][:, None, :]
        found: Floats = kw[:, None, None] * price[group][:, :, None] * (met - less)
        return found

    def moving(group: NDArray[np.int64], kw: Floats, borrows: bool) -> Shifting:
        stopped = kw[:, None] * price_of(problem, "usd")[group] * 0.2
        return Shifting(
            may_move=np.ones(len(group), dtype=bool),
            usd_per_node_h=0 * by_slot(group, kw, usd, flat=True),
            kgco2e_per_node_h=by_slot(group, kw, kgco2e, flat=False, less=1.0),
            stop_h=np.full(len(group), 0.2),
            stop_usd=stopped,
            may_borrow=np.full(len(group), borrows),
            lent_usd_per_node_h=by_slot(group, kw, usd, flat=True),
            lent_kgco2e_per_node_h=by_slot(group, kw, kgco2e, flat=False),
            lent_speed_fraction=np.full(len(group), LENT_SPEED),
        )

    replica, every = serves.node_group, np.arange(len(groups))
    saved = {
        f"{state}_{kind}": -fraction * long * by_slot(replica, serves.active_kw, price, flat=kind == "usd")
        for state, fraction in (("quiet", QUIET), ("rest", RESTED))
        for kind, price in (("usd", usd), ("kgco2e", kgco2e))
    }
    off = {
        f"off_{kind}": -OFF * long * by_slot(every, groups.idle_kw, price, flat=kind == "usd")
        for kind, price in (("usd", usd), ("kgco2e", kgco2e))
    }
    return dataclasses.replace(
        problem,
        slots=Slots(
            hours=hours,
            before=np.where(slot % A_DAY == 0, slot + A_DAY - 1, slot - 1),
            day_type=np.repeat(np.arange(types), A_DAY),
            days=hours * A_DAY / DAY_H,
        ),
        work_shifts=moving(works.node_group, works.active_kw, borrows=True),
        pausable_shifts=moving(pausable.node_group, pausable.active_kw, borrows=False),
        windows=Windows(
            within_day=np.zeros(len(problem.work), dtype=bool),
            may_wait_fraction=np.full(len(problem.work), MAY_WAIT),
        ),
        resting=Resting(may_rest=np.ones(len(serves), dtype=bool), wake_usd=0.5 * serves.capacity, **saved),
        slot_demand=SlotDemand(
            ready_fraction=np.minimum(1.0, RESERVE * load)[:, None, :] * np.ones((1, problem.periods, 1))
        ),
        switching=Switching(may_switch=np.ones(len(groups), dtype=bool), boot_usd=2.0 + 0 * usd, **off),
    )


def problem_of(size: str, slots: int, seed: int = 0) -> Problem:
    """The program of a size with so many slots a period; with one, what is the same in all of them.

    Raises:
        ValueError: no such size, or no whole number of days.
    """
    if size not in AIMS:
        raise ValueError(f"{size} is no size: {', '.join(AIMS)}")
    if slots < 1 or (slots > 1 and slots % A_DAY):
        raise ValueError(
            f"{slots} slots are no days of {A_DAY}: write 1, {A_DAY}, {2 * A_DAY} or {8 * A_DAY}"
        )
    if size in SIZES:
        made = with_work(fleet(size, seed), seed)
        return made if slots == 1 else with_slots(made, slots, seed)
    copies = COPIES[16 if size == "quarter-16" else 1]
    changes = {"policy.levers": LEVERS, "solve.slots": slots}
    scenario = with_changes(parse_scenario(grown(copies)), changes)
    return assemble(Inputs(scenario, load_catalogue())).problem


def row(size: str, slots: int, seconds: float | None = None) -> str:
    """One line of the table: how large the program is, and how long a plan took."""
    aim = AIMS[size]
    limit = aim.seconds if seconds is None else seconds
    problem = problem_of(size, slots)
    began = time.perf_counter()
    model = build(problem).model
    built = time.perf_counter()
    found = answer(problem, gap_fraction=aim.gap_fraction, time_limit_s=limit)
    ended = time.perf_counter()
    variables = model.variables()
    whole = sum(each.cat == "Integer" for each in variables)
    gap = f"{found.gap_fraction:.2%}" if math.isfinite(found.gap_fraction) else "none"
    return (
        f"| {size} | {slots} | {len(variables):,} | {whole:,} | {len(model.constraints):,} "
        f"| {built - began:.1f} | {ended - built:.1f} | {limit:g} | {aim.gap_fraction:.1%} | {gap} "
        f"| {found.status.value} | {peak_mb():,.0f} |"
    )


def table() -> str:
    """The head of the table."""
    return f"{HEAD}\n|---|{'--:|' * (HEAD.count('|') - 3)}---|"


def measured(size: str, slots: int) -> str:
    """The row of a process of its own, or one that says what it ran out of."""
    aim = AIMS[size]
    held = MOST_MEMORY_GB * 10**9
    command = [sys.executable, "-m", "benchmarks.studies.slots", size, str(slots)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=aim.seconds + MOST_MORE_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (held, held)),
        )
    except subprocess.TimeoutExpired:
        return _ended_early(size, slots, "ran out of time before a plan was checked")
    if "MemoryError" in done.stderr or "bad_alloc" in done.stderr:
        return _ended_early(size, slots, f"takes more than {MOST_MEMORY_GB} GB")
    done.check_returncode()
    return done.stdout.strip()


def _ended_early(size: str, slots: int, why: str) -> str:
    aim = AIMS[size]
    return f"| {size} | {slots} | | | | | | {aim.seconds:g} | {aim.gap_fraction:.1%} | none | {why} | |"


def page() -> str:
    """Every size with each number of slots, in a table.

    Raises:
        subprocess.CalledProcessError: a row failed by something else than time or memory.
    """
    lines = []
    for size in AIMS:
        for slots in PAGE_SLOTS:
            print(f"{size} {slots}", file=sys.stderr, flush=True)
            lines.append(measured(size, slots))
    cores, load = os.cpu_count() or 1, os.getloadavg()[1]
    about = f"Measured with {cores} cores, of which {load:.1f} were busy at the end."
    return "\n".join([ABOUT, table(), *lines, "", ENDS.rstrip(), about, ""])


def main(arguments: list[str]) -> None:
    """Print the row that is asked for, or write the page; without any, how to ask."""
    if arguments == ["--page"]:
        PAGE.write_text(page(), encoding="utf-8")
        print(PAGE)
        return
    if len(arguments) not in (2, 3):
        print(__doc__)
        print(table())
        return
    size, slots, *limit = arguments
    print(row(size, int(slots), float(limit[0]) if limit else None), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
