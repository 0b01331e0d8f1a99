"""Why there is no plan, and what would have to give way for there to be one.

For each family of limits alone: is there a plan if only this family gives way, and by how much, in shares of
each limit? If no limit alone is enough, all of them together. A repair is proven by solving the repaired
problem, which also tells its cost.
Which limits conflict in the first place is said by `solver.conflict`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solver import backend, pipelines, quality, regions
from solver.answer import answer
from solver.build import build
from solver.known import Answer
from solver.problem import Problem
from solver.program import FAMILIES, Index
from solver.tables import Flags, Floats

TASKS = (
    "demand",
    "jobs",
    "work",
)  # what the plan is for; giving these up always helps, and is the last resort
LIMITS = tuple(family for family in FAMILIES if family not in TASKS)
UNITS = {
    "power": "kW",
    "space": "racks",
    "shared power": "kW",
    "supply": "nodes",
    "minimum order": "nodes",
    "budget": "USD",
    "carbon cap": "kgCO2e",
    "carbon cap by period": "kgCO2e",
    "money cap": "USD",
    "curtailment": "kW",
    "end of life": "nodes",
    "availability": "spare nodes",
    "deadlines": "h",
    "demand": "requests/s",
    "jobs": "jobs",
    "work": "node-h",
}
MARGIN = 1e-6  # a repaired limit is this share wider than the least, so that rounding does not close it again
WHOLE = 1e-4  # of a node: what a search may leave above a whole number of spares
NOTHING = 1e-9  # shares below this are rounding


@dataclass(frozen=True, slots=True)
class Give:
    """One limit that gives way: by `amount` in its unit, and as a share of a limit that is not 0."""

    family: str
    index: Index
    label: str
    amount: float
    share: float


@dataclass(frozen=True, slots=True)
class Family:
    """What happens if only this family gives way (several names: only these together).

    `suffices` is None where time ran out before that was known. The repair is the least in sum of shares, and
    `repaired` is the cheapest plan found for the problem with that repair.
    """

    names: tuple[str, ...]
    suffices: bool | None
    gives: tuple[Give, ...] = ()
    repaired: Answer | None = None

    @property
    def verified(self) -> bool:
        """Was a plan found, and checked, for the repaired problem?"""
        return self.repaired is not None and self.repaired.solution is not None

    @property
    def usd(self) -> float:
        """What the repaired plan costs; NaN without one."""
        return self.repaired.solution.usd if self.repaired and self.repaired.solution else float("nan")

    def total(self, family: str) -> float:
        """By how much a family gives way in all, in its unit."""
        return sum(give.amount for give in self.gives if give.family == family)


@dataclass(frozen=True, slots=True)
class Infeasibility:
    """Why there is no plan: what can be seen without solving, each family alone, and the limits together."""

    reasons: tuple[str, ...]
    families: tuple[Family, ...]
    joint: Family | None

    @property
    def repairs(self) -> tuple[Family, ...]:
        """The repairs that were proven, the smallest in sum of shares first."""
        proven = [each for each in (*self.families, self.joint) if each is not None and each.verified]
        return tuple(sorted(proven, key=lambda each: sum(give.share for give in each.gives)))


def explain_infeasible(
    problem: Problem,
    *,
    gap_fraction: float,
    time_limit_s: float,
    should_stop: backend.Stop | None = None,
) -> Infeasibility:
    """Look for repairs of a problem without a plan; the time limit is that of each of about twenty solves."""

    def attempt(names: Sequence[str]) -> Family | None:
        return _give_way(problem, names, gap_fraction, time_limit_s, should_stop)

    families = tuple(tried for name in FAMILIES if (tried := attempt([name])) is not None)
    alone = {family.names[0] for family in families if family.suffices}
    joint = None
    if not alone & set(LIMITS):
        joint = attempt(LIMITS)
    if not alone and (joint is None or not joint.suffices):
        joint = attempt(FAMILIES) or joint
    return Infeasibility(reasons=tuple(quick_reasons(problem)), families=families, joint=joint)


def quick_reasons(problem: Problem) -> Iterable[str]:
    """What cannot be done by any of its options, whatever the limits."""
    jobs, runs = problem.jobs, problem.run_options
    for job in np.flatnonzero(~jobs.optional):
        late = runs.late_h[runs.job == job]
        if (problem.pausable_options.job == job).any():
            continue  # the hours of a pausable option keep the deadline by themselves
        if late.size == 0:
            yield f"job {jobs.name[job]}: there is no way to run it"
        elif late.min() > jobs.allowed_late_h[job]:
            yield f"job {jobs.name[job]}: every way to run it is late, by {late.min():.0f} h at least"
    serves, may_lose = problem.serve_options, problem.services.mean_loss_limit_fraction
    for service in np.flatnonzero(problem.services.demand.any(axis=1)):
        if not serves.capacity[serves.service == service].any():
            yield f"service {problem.services.name[service]}: no way to serve it carries any load"
        elif may_lose[service] < quality.least_loss(problem, int(service)) < math.inf:
            yield (
                f"service {problem.services.name[service]}: every way to serve it loses more quality than it "
                "may on average"
            )
    yield from _too_little_time(problem)
    for short in sorted({one.service for one in regions.every_set(problem) if not one.answers.any()}):
        yield f"service {problem.services.name[short]}: nothing answers the users of one of its regions"
    options = problem.work_options
    for work in np.flatnonzero(problem.work.demand_h.any(axis=1)):
        if not options.speed[options.work == work].any():
            yield f"work {problem.work.name[work]}: there is no node group to do it on"


def _too_little_time(problem: Problem) -> Iterable[str]:
    """Pipelines whose stages take too long even at their fastest."""
    stage, share = pipelines.shares(problem)
    fastest = np.zeros(len(problem.services))
    first = np.unique(stage, return_index=True)[1]
    fastest[stage[first]] = share[first]
    for number in np.flatnonzero(pipelines.of_pipelines(problem, fastest) > 1 + NOTHING).tolist():
        own = np.flatnonzero(problem.services.pipeline == number + 1)
        names = " and ".join(problem.services.name[i] for i in own)
        yield f"services {names}: the least times of these stages add up to more than their response time"


def relaxed(problem: Problem, gives: Iterable[Give]) -> Problem:
    """The problem with its limits moved by what gives way, and a hair more."""
    for give in gives:
        problem = moved(problem, give.family, give.index, give.amount * (1 + MARGIN) + MARGIN)
    return problem


def moved(problem: Problem, family: str, index: Index, amount: float) -> Problem:
    """The problem in which one limit gives way by an amount in its unit; a negative amount tightens it.

    No limit or demand falls below 0. The end of a cohort's life and a job that has to run give way whole.
    """
    changed: Problem = _MOVES[family](problem, index, amount)
    return changed


def _give_way(
    problem: Problem,
    names: Sequence[str],
    gap_fraction: float,
    time_limit_s: float,
    should_stop: backend.Stop | None,
) -> Family | None:
    """The least that these families have to give, by share; None where they hold no limit."""
    program = build(problem, names)
    if not program.slacks:
        return None
    outcome = backend.solve(
        program.model, gap_fraction=gap_fraction, time_limit_s=time_limit_s, should_stop=should_stop
    )
    if not outcome.status.has_plan:
        return Family(tuple(names), False if outcome.status is backend.Status.INFEASIBLE else None)
    gives = []
    for (family, index), amount in program.given_way(outcome.values).items():
        slack = program.slacks[family, index]
        if amount / slack.size > NOTHING:
            share = amount / slack.size if slack.is_share else math.inf  # of nothing there is no share
            gives.append(Give(family, index, label(problem, family, index), amount, share))
    repaired = answer(
        relaxed(problem, gives),
        gap_fraction=gap_fraction,
        time_limit_s=time_limit_s,
        should_stop=should_stop,
        start=program.solution(outcome.values),
    )
    return Family(tuple(names), True, tuple(gives), repaired)


def label(problem: Problem, family: str, index: Index) -> str:
    """What a person calls one limit of a family."""
    names: dict[str, Sequence[str]] = {
        "power": problem.site_names,
        "space": problem.site_names,
        "shared power": problem.limits.shared_power_name,
        "curtailment": problem.site_names,
        "supply": problem.sku_names,
        "deadlines": problem.jobs.name,
        "jobs": problem.jobs.name,
        "demand": problem.services.name,
        "work": problem.work.name,
    }
    if family == "minimum order":
        what = problem.node_group_name(index[0])
    elif family == "end of life":
        what = f"cohort {index[0]}, {problem.node_group_name(int(problem.cohorts.node_group[index[0]]))}"
    elif family == "availability":
        what = f"{promised(problem, index[0])} on {problem.node_group_name(index[1])}"
        return f"{family}, {what}"
    elif family in ("budget", "carbon cap by period"):
        return f"{family.removesuffix(' by period')}, period {index[0]}"
    elif family in ("carbon cap", "money cap"):
        return family
    else:
        what = names[family][index[0]]
    return f"{family}, {what}" + (f", period {index[1]}" if len(index) > 1 else "")


def promised(problem: Problem, promise: int) -> str:
    """What a promise is for: all nodes in use, or the services that are promised so much or more."""
    serves = problem.serve_options
    own = np.unique(serves.service[serves.promise >= promise]).tolist() if promise else []
    return " and ".join(problem.services.name[i] for i in own) or "all nodes in use"


def _moved(column: Any, index: Index, amount: float, least: float = 0.0) -> Floats:
    """A copy of a column with one entry moved, not below `least`."""
    copy = np.array(column, dtype=np.float64)
    copy[index] = max(copy[index] + amount, least)
    return copy


def _limit(column: str, sign: float = 1.0) -> Any:
    def move(problem: Problem, index: Index, amount: float) -> Problem:
        limits = problem.limits
        wider = _moved(getattr(limits, column), index, sign * amount)
        return replace(problem, limits=replace(limits, **{column: wider}))  # type: ignore[arg-type]

    return move


def _cap(column: str) -> Any:
    def move(problem: Problem, index: Index, amount: float) -> Problem:
        cap = getattr(problem.limits, column) + amount
        return replace(problem, limits=replace(problem.limits, **{column: cap}))

    return move


def _end_of_life(problem: Problem, index: Index, amount: float) -> Problem:
    """The cohort may stay to the end; how many of its nodes do is the plan's choice."""
    until = np.array(problem.cohorts.must_retire_by)
    until[index] = problem.periods
    return replace(problem, cohorts=replace(problem.cohorts, must_retire_by=until))


def _availability(problem: Problem, index: Index, amount: float) -> Problem:
    """Fewer spares are enough for a promise on a node group, in all periods; counts are whole."""
    steps, fewer = problem.spare_steps, np.array(problem.spare_steps.spares)
    rows = steps.of_node_group(index[1], index[0])
    less = fewer[rows] - np.ceil(min(amount, float(fewer.max(initial=0))) - WHOLE)
    fewer[rows] = np.maximum(less, 0).astype(np.int64)
    return replace(problem, spare_steps=replace(steps, spares=fewer))


def _curtailment(problem: Problem, index: Index, amount: float) -> Problem:
    """Less power has to stop when the site is called on."""
    less = _moved(problem.places.curtailed_kw, index, -amount)
    return replace(problem, places=replace(problem.places, curtailed_kw=less))


def _deadline(problem: Problem, index: Index, amount: float) -> Problem:
    later = _moved(problem.jobs.allowed_late_h, index, amount)
    return replace(problem, jobs=replace(problem.jobs, allowed_late_h=later))


def _job(problem: Problem, index: Index, amount: float) -> Problem:
    optional: Flags = np.array(problem.jobs.optional)
    optional[index] = True
    return replace(problem, jobs=replace(problem.jobs, optional=optional))


def _demand(problem: Problem, index: Index, amount: float) -> Problem:
    less = _moved(problem.services.demand, index, -amount)
    return replace(problem, services=replace(problem.services, demand=less))


def _work(problem: Problem, index: Index, amount: float) -> Problem:
    less = _moved(problem.work.demand_h, index, -amount)
    return replace(problem, work=replace(problem.work, demand_h=less))


_MOVES = {
    "power": _limit("power_kw"),
    "space": _limit("racks"),
    "shared power": _limit("shared_power_kw"),
    "supply": _limit("supply_nodes"),
    "minimum order": _limit("minimum_nodes", -1.0),
    "budget": _limit("budget_usd"),
    "carbon cap": _cap("carbon_cap_kgco2e"),
    "carbon cap by period": _limit("carbon_cap_by_period_kgco2e"),
    "money cap": _cap("money_cap_usd"),
    "curtailment": _curtailment,
    "end of life": _end_of_life,
    "availability": _availability,
    "deadlines": _deadline,
    "demand": _demand,
    "jobs": _job,
    "work": _work,
}
