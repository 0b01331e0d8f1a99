"""A scenario played through: each period is planned again with what is known then, and its decisions stay.

A period's own demand, work and prices are known when it begins. Later periods are as the scenario states, or
as seen last where that is requested. Tokens, failures, grids and set values are seen in the first period and
known from the second on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.schema_futures import Future
from planner.program.assembly import Assembled, assemble
from planner.program.engines import refusing
from planner.program.future_scenarios import (
    AT_ONCE,
    BY_PERIOD,
    in_future,
    require_one_objective,
    without_futures,
)
from planner.program.plan import Plan
from planner.trace.columns import Floats
from solver import bounds
from solver.answer import answer
from solver.known import Answer
from solver.problem import Problem, Solution
from solver.stochastic import FirstStage, answer_held

# job, node groups, first period, nodes of the first, hours into it -> how many such runs
Begun = dict[tuple[int, tuple[int, ...], int, int, float], int]


@dataclass(frozen=True)
class Replay:
    """How a scenario fared in what came: planned again each period, once for all, and with all known before.

    `made` are the plans of each period; the last answers hold their decisions in what came. Where a period
    had no plan any more, or the search was `stopped`, `made` ends before it and there is no `again`.
    """

    scenario: Scenario
    realised: Future
    inputs: Inputs
    assembled: Assembled
    made: tuple[Solution, ...]
    decided: FirstStage
    again: Answer | None
    once: Answer | None
    known: Answer
    stopped: bool = False

    @property
    def plan(self) -> Plan | None:
        """What was done in the end, with its ledger."""
        if self.again is None or self.again.solution is None:
            return None
        return Plan(self.inputs, self.assembled, self.again, {}, None)

    def regret(self, one: Answer | None) -> float | None:
        """How much more an answer takes than had all been known; none without both plans."""
        if one is None or one.solution is None or self.known.solution is None:
            return None
        return one.objective - self.known.objective


@refusing
def replay(
    scenario: Scenario,
    realised: Future,
    *,
    catalogue: Catalogue | None = None,
    persist: bool = False,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Replay:
    """Play a scenario through in what is realised.

    Args:
        scenario: what is planned, and what is expected of later periods.
        realised: what comes.
        catalogue: facts; the shipped ones if none are given.
        persist: whether later periods are expected as the last one was, and not as stated.
        watch: called with a message on the progress.
        should_stop: called while solving; one yes ends the whole replay, what was planned before is kept.

    Raises:
        ScenarioError: what is realised is no scenario.
    """
    require_one_objective(scenario)
    tell, facts = watch or (lambda _: None), catalogue or load_catalogue()
    stop = should_stop or (lambda: False)
    stated = without_futures(scenario)
    effort: dict[str, Any] = {
        "gap_fraction": scenario.solve.gap_fraction,
        "time_limit_s": scenario.solve.time_limit_s,
        "should_stop": stop,
    }
    inputs, assembled = _seen(stated, realised, facts)
    truth = assembled.problem
    tell("the best plan had all been known")
    known = answer(truth, **effort)
    made, decided, begun = _planned(stated, realised, facts, truth, persist, tell, effort)
    played = partial(Replay, scenario, realised, inputs, assembled, tuple(made), decided)
    if len(made) < truth.periods or stop():
        return played(None, None, known, stop())
    tell("what that came to")
    everything = {**effort, "shared_periods": truth.periods, "siblings": [truth]}
    runs = _held_runs(truth, begun, truth.periods)
    again = answer_held(truth, decided, also=runs, **everything)
    once = answer_held(truth, FirstStage.of(made[0]), **everything)
    return played(again, once, known, stop())


def _planned(
    stated: Scenario,
    realised: Future,
    facts: Catalogue,
    truth: Problem,
    persist: bool,
    tell: Callable[[str], None],
    effort: dict[str, Any],
) -> tuple[list[Solution], FirstStage, Begun]:
    """The plan of each period and what they decide, up to the first period that has none."""
    decided, begun, made = _nothing(truth), Begun(), list[Solution]()
    labels, stop = stated.horizon.period_labels, effort["should_stop"]
    for period, label in enumerate(labels):
        tell(f"planning in {label}")
        view = known_in(realised, period, len(labels), persist)
        problem = _seen(stated, view, facts)[1].problem
        found = _again(problem, truth, decided, begun, made, period, effort)
        if found.solution is None or stop():
            break
        made.append(found.solution)
        _keep(decided, begun, problem, found.solution, period)
    return made, decided, begun


def known_in(realised: Future, period: int, periods: int, persist: bool) -> Future:
    """What is expected at the beginning of a period: what came up to it, then what is stated or was last."""
    known: dict[str, Any] = {}
    for name in BY_PERIOD:
        came = getattr(realised, name)
        if came is not None:
            later = came[period] if persist else 1.0
            known[name] = (*came[: period + 1], *(later,) * (periods - period - 1))
    if period > 0:
        known |= {name: getattr(realised, name) for name in AT_ONCE} | {"values": realised.values}
    return Future.model_construct(name="known", probability_fraction=1.0, **known)


def _seen(stated: Scenario, future: Future, catalogue: Catalogue) -> tuple[Inputs, Assembled]:
    changed = in_future(stated, future, catalogue)
    inputs = Inputs(changed, with_cards(changed, catalogue))
    return inputs, assemble(inputs)


def _nothing(problem: Problem) -> FirstStage:
    shape = problem.periods
    groups = len(problem.node_groups)
    rows = (groups, len(problem.cohorts), len(problem.sales), len(problem.moves), groups)
    return FirstStage(*(np.zeros((count, shape), dtype=np.int64) for count in rows))


def _again(
    problem: Problem,
    truth: Problem,
    decided: FirstStage,
    begun: Begun,
    made: list[Solution],
    period: int,
    effort: dict[str, Any],
) -> Answer:
    """The plan of a period, with all that was decided before it."""
    if period == 0:
        return answer(problem, **effort)
    held = _held_runs(problem, begun, period)
    held += _held_pace(problem, made, period)
    return answer_held(
        problem, decided, shared_periods=period, siblings=[problem, truth], also=held, **effort
    )


def _keep(decided: FirstStage, begun: Begun, problem: Problem, plan: Solution, period: int) -> None:
    """Write down what the plan of a period decides for it."""
    pairs = (
        (decided.orders, plan.orders),
        (decided.retired, plan.retired),
        (decided.sold, plan.sold),
        (decided.moved, plan.moved),
        (decided.committed, plan.committed),
    )
    for kept, planned in pairs:
        kept[:, period] = planned[:, period]
    runs = problem.run_options
    groups = _groups_of_runs(problem)
    for row in np.flatnonzero((plan.run > 0) & (runs.start == period) & runs.counts):
        nodes, from_h = int(runs.nodes[row].max()), float(runs.from_h[row, period])
        key = (int(runs.job[row]), tuple(np.flatnonzero(groups[row]).tolist()), period, nodes, from_h)
        begun[key] = begun.get(key, 0) + int(plan.run[row])


def _held_runs(problem: Problem, begun: Begun, period: int) -> list[tuple[str, Floats]]:
    """Runs that began before a period go on where they are; of those that did not, none began.

    The option that is most like a run is held: its nodes if they are still on offer, at the least cost. A run
    that can no longer be in time is given up, and its job may begin anew.
    """
    runs, jobs = problem.run_options, problem.jobs
    held = np.where(runs.start < period, 0.0, np.nan)
    in_time = runs.late_h <= jobs.allowed_late_h[runs.job]
    groups = _groups_of_runs(problem)
    for (job, places, start, nodes, from_h), count in begun.items():
        same = np.isin(np.arange(groups.shape[1]), places)
        like = (groups == same).all(axis=1) & (runs.job == job) & (runs.start == start) & in_time
        rows = np.flatnonzero(like)
        if len(rows):
            size = np.abs(runs.nodes[rows].max(axis=1) - nodes)
            away_h = np.abs(runs.from_h[rows, start] - from_h)
            held[rows[np.lexsort((runs.usd[rows].sum(axis=1), size, away_h))[0]]] += count
    return [("run", held[runs.first])]


def _groups_of_runs(problem: Problem) -> Floats:
    """1 where a run holds nodes of a group, at the row by which it counts; 0 at the others of its rows."""
    runs = problem.run_options
    return runs.of_whole_run(np.eye(len(problem.node_groups))[runs.node_group])


def _held_pace(problem: Problem, made: list[Solution], period: int) -> list[tuple[str, Floats]]:
    """Hours that pausable jobs have worked before a period, as the plan of each of them said."""
    shape = problem.pausable_options.node_hours_limit.shape
    if not shape[0] or any(plan.done_node_h.shape != shape for plan in made):
        return []
    held = np.full(shape, np.nan)
    for past in range(period):
        held[:, past] = made[past].done_node_h[:, past] / problem.node_groups.hours[past]
    return [("done", np.minimum(held, bounds.most_done(problem)))]
