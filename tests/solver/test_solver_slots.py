"""Slots inside a period: the rows as the LP file shows them, the optimum by trying everything, and limits."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from sizes import size
from solver_cases import cohort, limits, node_groups, problem, service, work

from benchmarks.fleets import fleet
from benchmarks.studies.slots import with_slots, with_work
from solver import (
    account,
    account_slots,
    backend,
    build,
    constrain_slot_services,
    constrain_slots,
    constrain_tasks,
    totals,
)
from solver.answer import answer
from solver.fewer_slots import fewer_slots
from solver.infeasible import explain_infeasible
from solver.known import Answer, check
from solver.levers import LEVERS, allowed_levers, operated, with_levers
from solver.many_slots import bound_of_means, plan_of_one_slot
from solver.mean_slots import mean_slots
from solver.operating import best_operation
from solver.problem import (
    Cohorts,
    Contracts,
    Jobs,
    Objective,
    PausableOptions,
    Places,
    Problem,
    ProblemError,
    Resting,
    ServeOptions,
    Services,
    Shifting,
    SlotDemand,
    Slots,
    Solution,
    Switching,
    Windows,
)
from solver.program import Program
from solver.stochastic import Futures, hedge
from solver.variables import empty
from solver.verify import objective_value, verify

DAY, NIGHT = 0, 1
# Names of variables that only a problem with slots has.
SLOT_FAMILIES = (
    "work_in",
    "work_stop",
    "done_in",
    "done_stop",
    "lent",
    "quiet",
    "rest",
    "wake",
    "off",
    "boot",
    "above",
)


def two_slots(periods: int = 1) -> Slots:
    """One type of day in 100 h: 60 h of day, 40 h of night, over 5 days."""
    return Slots(
        hours=np.array([[60.0] * periods, [40.0] * periods]),
        before=np.array([1, 0]),
        day_type=np.array([0, 0]),
        days=np.full((2, periods), 5.0),
    )


def shifting(kgco2e: list[float], **columns: Any) -> Shifting:
    """One option: a node-hour emits so much more than in the mean in each slot; stopping loses nothing."""
    by_slot = np.array([[kgco2e]])
    plain: dict[str, Any] = {
        "may_move": [True],
        "usd_per_node_h": 0 * by_slot,
        "kgco2e_per_node_h": by_slot,
        "stop_h": [0.0],
    }
    return Shifting(**(plain | columns))


def everything(**parts: Any) -> Problem:
    """One service of up to 4 replicas and one work on 6 nodes; in the night a quarter of the requests come.

    A replica takes a node. Resting it saves 1 kg an hour, quiet it saves 0.4 kg; a lent node that works emits
    0.5 kg an hour, at 0.9 of the speed. Moving work from day to night saves 0.02 + 0.03 kg an hour.
    """
    hours = two_slots().hours.T[None]
    plain: dict[str, Any] = {
        "cohorts": cohort(nodes=6),
        **service([40.0], standby=[[1]], capacity=10.0),
        **work([150.0]),
        "slots": two_slots(),
        "work_shifts": shifting(
            [0.02, -0.03],
            may_borrow=[True],
            lent_usd_per_node_h=np.zeros((1, 1, 2)),
            lent_kgco2e_per_node_h=np.full((1, 1, 2), 0.5),
            lent_speed_fraction=[0.9],
            stop_h=[0.5],
            stop_usd=[[0.1]],
            stop_kgco2e=[[0.05]],
        ),
        "windows": Windows(within_day=[True], may_wait_fraction=[0.8]),
        "resting": Resting(
            may_rest=[True],
            quiet_usd=0 * hours,
            quiet_kgco2e=-0.4 * hours,
            rest_usd=0 * hours,
            rest_kgco2e=-1.0 * hours,
            wake_usd=[[0.2]],
            wake_kgco2e=[[0.1]],
        ),
        "slot_demand": SlotDemand(ready_fraction=[[[1.0, 0.25]]]),
        "switching": Switching(
            may_switch=[True], off_usd=0 * hours, off_kgco2e=-0.1 * hours, boot_usd=[[0.3]]
        ),
        "limits": limits(power_kw=[[20.0]]),
        "places": Places(np.zeros((1, 1)), np.zeros((1, 1)), np.full((1, 1), 2.0)),
        "objective": Objective(money_weight=1.0, carbon_weight=10.0),
    }
    return problem(**(plain | parts))


def pausing(jobs: int = 2) -> Problem:
    """Two jobs that may pause, of 2 nodes and 60 node-hours each, and the slots of `everything`."""
    return problem(
        cohorts=cohort(nodes=4),
        jobs=Jobs(name=("train",), optional=[False], left_out_usd=[0.0], left_out_kgco2e=[0.0], count=[jobs]),
        pausable_options=PausableOptions(
            job=[0],
            node_group=[0],
            nodes=[2],
            node_hours=[60.0],
            node_hours_limit=[[200.0]],
            active_kw=[1.0],
            usd_per_node_h=[[0.1]],
            kgco2e_per_node_h=[[0.05]],
        ),
        slots=two_slots(),
        pausable_shifts=shifting([0.02, -0.03], stop_h=[0.5], stop_usd=[[0.1]], stop_kgco2e=[[0.05]]),
        objective=Objective(money_weight=1.0, carbon_weight=10.0),
    )


def rows(constraint: Callable[[Program], None], of: Problem) -> str:
    program = empty(of, frozenset())
    constraint(program)
    return "".join(row.asCplexLpConstraint(name) for name, row in program.model.constraints.items())


GOLDEN = {
    constrain_slots.spread_over_slots: """
spread_work_0_0: - work_0_0 + 0.6 work_in_0_0_0 + 0.4 work_in_0_0_1
 - 0.025 work_stop_0_0_0 - 0.025 work_stop_0_0_1 = 0
""",
    constrain_slots.stop_what_shrinks: """
stops_work_0_0_0: - work_in_0_0_0 + work_in_0_0_1 - work_stop_0_0_0 <= 0
stops_work_0_0_1: work_in_0_0_0 - work_in_0_0_1 - work_stop_0_0_1 <= 0
wakes_0_0_0: - rest_0_0_0 + rest_0_0_1 - wake_0_0_0 <= 0
wakes_0_0_1: rest_0_0_0 - rest_0_0_1 - wake_0_0_1 <= 0
boots_0_0_0: - boot_0_0_0 - off_0_0_0 + off_0_0_1 <= 0
boots_0_0_1: - boot_0_0_1 + off_0_0_0 - off_0_0_1 <= 0
""",
    constrain_slots.keep_days_whole: """
work_day_0_0_0: 0.54 lent_0_0_0 + 0.36 lent_0_0_1 + 0.6 work_in_0_0_0
 + 0.4 work_in_0_0_1 - 0.025 work_stop_0_0_0 - 0.025 work_stop_0_0_1 >= 1.5
""",
    constrain_slots.keep_what_cannot_wait: """
work_now_0_0_0: 0.9 lent_0_0_0 + work_in_0_0_0 >= 0.3
work_now_0_0_1: 0.9 lent_0_0_1 + work_in_0_0_1 >= 0.3
""",
    constrain_slots.use_what_is_free_in_a_slot: """
slot_nodes_0_0_0: - in_service_0_0 + replicas_0_0 + spares_0_0 + work_in_0_0_0
 <= 0
slot_nodes_0_0_1: - in_service_0_0 + replicas_0_0 + spares_0_0 + work_in_0_0_1
 <= 0
""",
    constrain_slots.lend_what_rests: """
lend_0_0_0: lent_0_0_0 - rest_0_0_0 <= 0
lend_0_0_1: lent_0_0_1 - rest_0_0_1 <= 0
""",
    constrain_slot_services.stay_ready: """
ready_0_0_0: - quiet_0_0_0 + replicas_0_0 - rest_0_0_0 - serves_0_0 >= 4
ready_0_0_1: - quiet_0_0_1 + replicas_0_0 - rest_0_0_1 - serves_0_0 >= 1
asleep_0_0_0: quiet_0_0_0 - replicas_0_0 + rest_0_0_0 + serves_0_0 <= 0
asleep_0_0_1: quiet_0_0_1 - replicas_0_0 + rest_0_0_1 + serves_0_0 <= 0
""",
    constrain_slots.switch_off_what_is_free: """
slot_off_0_0_0: - in_service_0_0 + lent_0_0_0 + off_0_0_0 + replicas_0_0
 - rest_0_0_0 + spares_0_0 + work_in_0_0_0 <= 0
slot_off_0_0_1: - in_service_0_0 + lent_0_0_1 + off_0_0_1 + replicas_0_0
 - rest_0_0_1 + spares_0_0 + work_in_0_0_1 <= 0
""",
    constrain_slots.stay_within_power_in_a_slot: """
slot_power_0_0_0: in_service_0_0 + lent_0_0_0 - off_0_0_0 + replicas_0_0
 - rest_0_0_0 + 0 work_0_0 + work_in_0_0_0 <= 20
slot_power_0_0_1: in_service_0_0 + lent_0_0_1 - off_0_0_1 + replicas_0_0
 - rest_0_0_1 + 0 work_0_0 + work_in_0_0_1 <= 20
""",
    constrain_slots.pay_for_the_highest_slot: """
slot_peak_0_0_0: - above_0_0 + lent_0_0_0 - off_0_0_0 - rest_0_0_0 - work_0_0
 + work_in_0_0_0 <= 0
slot_peak_0_0_1: - above_0_0 + lent_0_0_1 - off_0_0_1 - rest_0_0_1 - work_0_0
 + work_in_0_0_1 <= 0
""",
}


@pytest.mark.parametrize("constraint", GOLDEN, ids=lambda one: one.__name__)
def test_rows_of_slots(constraint: Callable[[Program], None]) -> None:
    assert rows(constraint, everything()) == GOLDEN[constraint].lstrip("\n")


def test_every_constraint_of_slots_has_its_golden_rows() -> None:
    modules = {constrain_slots.__name__, constrain_slot_services.__name__}
    of_slots = {one for one in build.CONSTRAINTS if one.__module__ in modules}
    others = {constrain_slots.keep_the_pace_in_a_slot, constrain_slots.keep_the_ramp}
    others |= {constrain_slot_services.keep_mean_quality_in_a_slot}  # in test_solver_services.py
    others |= {constrain_slot_services.answer_in_time_in_a_slot}  # in test_solver_pipelines.py
    others |= {constrain_slot_services.answer_each_region_in_a_slot}  # in test_solver_regions.py
    assert of_slots == set(GOLDEN) | others


def test_a_type_of_day_that_no_day_is_of_asks_for_nothing() -> None:
    """Its slots have no hours: nothing has to be done in them, by the rows and by the rules."""
    before = two_slots()
    slots = Slots(
        hours=np.vstack([before.hours, 0 * before.hours]),
        before=np.array([1, 0, 3, 2]),
        day_type=np.array([0, 0, 1, 1]),
        days=np.vstack([before.days, 0 * before.days]),
    )
    plain = shifting([0.02, -0.03, 0.0, 0.0])
    none = everything()
    case = problem(
        work=none.work,
        work_options=none.work_options,
        node_groups=none.node_groups,
        cohorts=none.cohorts,
        slots=slots,
        windows=none.windows,
        work_shifts=plain,
    )
    assert "work_now_0_0_1" in rows(constrain_slots.keep_what_cannot_wait, case)
    assert "work_now_0_0_2" not in rows(constrain_slots.keep_what_cannot_wait, case)
    found = answer(case, gap_fraction=0.0, time_limit_s=5.0).solution
    assert found is not None
    assert not verify(case, found, 1e-6)


def test_rows_of_jobs_that_pause() -> None:
    assert rows(constrain_slots.keep_the_pace_in_a_slot, pausing()) == (
        "slot_pace_0_0_0: - 2 choose_0 + done_in_0_0_0 <= 0\n"
        "slot_pace_0_0_1: - 2 choose_0 + done_in_0_0_1 <= 0\n"
    )
    assert rows(constrain_slots.keep_the_pace_in_a_slot, pausing(jobs=1)) == ""
    assert "0.6 done_in_0_0_0" in rows(constrain_slots.spread_over_slots, pausing())


def with_ramps(work_ramp: float, job_ramp: float) -> tuple[Problem, Problem]:
    """Work of 1.5 nodes, and two jobs: how far they may change from a slot to the next."""
    slow = Windows(within_day=[True], may_wait_fraction=[0.8], ramp_fraction=[work_ramp])
    jobs = pausing()
    shifts = dataclasses.replace(jobs.pausable_shifts, ramp_nodes=np.array([job_ramp]))
    return everything(windows=slow), dataclasses.replace(jobs, pausable_shifts=shifts)


def test_rows_of_ramps() -> None:
    """A fifth of 1.5 nodes from day to night and back, lent work included; of each job half a node."""
    worked, jobs = with_ramps(0.2, 0.5)
    assert rows(constrain_slots.keep_the_ramp, worked) == (
        "rises_work_0_0_0: 0.9 lent_0_0_0 - 0.9 lent_0_0_1 + work_in_0_0_0\n - work_in_0_0_1 <= 0.3\n"
        "rises_work_0_0_1: - 0.9 lent_0_0_0 + 0.9 lent_0_0_1 - work_in_0_0_0\n + work_in_0_0_1 <= 0.3\n"
        "falls_work_0_0_0: - 0.9 lent_0_0_0 + 0.9 lent_0_0_1 - work_in_0_0_0\n + work_in_0_0_1 <= 0.3\n"
        "falls_work_0_0_1: 0.9 lent_0_0_0 - 0.9 lent_0_0_1 + work_in_0_0_0\n - work_in_0_0_1 <= 0.3\n"
    )
    assert rows(constrain_slots.keep_the_ramp, jobs).splitlines()[::3] == [
        "rises_done_0_0_0: - 0.5 choose_0 + done_in_0_0_0 - done_in_0_0_1 <= 0",
        "falls_done_0_0_1: - 0.5 choose_0 + done_in_0_0_0 - done_in_0_0_1 <= 0",
    ]
    assert not rows(constrain_slots.keep_the_ramp, everything()) + rows(
        constrain_slots.keep_the_ramp, pausing()
    )


def even_slots(ramp: float) -> Problem:
    """Work of 1.5 nodes in two slots of 50 h, 0.06 kg an hour dearer in the first than in the second."""
    return problem(
        cohorts=cohort(nodes=6, may_retire=np.zeros((1, 1), dtype=bool)),
        **work([150.0]),
        slots=Slots(hours=np.array([[50.0], [50.0]]), before=[1, 0], day_type=[0, 0], days=[[4.0], [4.0]]),
        work_shifts=shifting([0.03, -0.03]),
        windows=Windows(within_day=[True], may_wait_fraction=[1.0], ramp_fraction=[ramp]),
        objective=Objective(money_weight=1.0, carbon_weight=10.0),
    )


@pytest.mark.parametrize("ramp", [0.0, 0.2, 0.5, 5.0, np.inf])
def test_a_ramp_leaves_its_share_of_what_moving_saves(ramp: float) -> None:
    """Half of it on each side of the mean: 0.03 kg * 50 h * ramp * 1.5 nodes; at most all in one slot."""
    found, free = solved(even_slots(ramp)), solved(even_slots(np.inf))
    assert found.solution is not None
    saved = solved(even_slots(0.0)).objective - found.objective
    assert saved == pytest.approx(10 * 0.03 * 50 * min(ramp, 2.0) * 1.5, rel=1e-6)
    assert found.objective >= free.objective - 1e-9
    assert not verify(even_slots(ramp), found.solution, 1e-6)
    if ramp < 2.0:
        tighter = even_slots(ramp / 2 - 1e-3 if ramp else 0.0)
        broken = {one.rule for one in verify(tighter, found.solution, 1e-6)}
        assert broken == ({"ramp of work"} if ramp else set())


@pytest.mark.parametrize("ramp", [0.0, 0.5])
def test_nodes_of_a_job_keep_their_ramp(ramp: float) -> None:
    case = with_ramps(np.inf, ramp)[1]
    found, free = solved(case), solved(pausing())
    assert found.solution is not None
    assert free.solution is not None
    used, moved = (one.solution.slots.done[0, 0] for one in (found, free))  # type: ignore[union-attr]
    assert abs(used[0] - used[1]) <= 2 * ramp + 1e-6 < abs(moved[0] - moved[1])
    assert found.objective >= free.objective
    assert "ramp of a job" in {one.rule for one in verify(case, free.solution, 1e-6)}


def test_lent_nodes_count_for_the_work() -> None:
    assert rows(constrain_tasks.do_the_work, everything()) == (
        "work_0_0: 0.54 lent_0_0_0 + 0.36 lent_0_0_1 + work_0_0 >= 1.5\n"
    )


def test_a_problem_without_slots_has_no_row_and_no_variable_of_them() -> None:
    plain = everything().by_period()
    program = build.build(plain)
    assert all(not rows(constraint, plain) for constraint in GOLDEN)
    names = {variable.name for variable in program.model.variables()}
    assert not [name for name in names if name.startswith(SLOT_FAMILIES)]


def solved(of: Problem) -> Answer:
    found = answer(of, gap_fraction=0.0, time_limit_s=30.0)
    assert found.solution is not None
    return found


def some_use(of: Problem, seed: int) -> Solution:
    """A plan with something of everything in slots; only what it costs is asked."""
    rng = np.random.default_rng(seed)
    zero = account.Decisions(
        orders=np.zeros((1, 1), dtype=int),
        rented=np.zeros((1, 1), dtype=int),
        committed=np.zeros((1, 1), dtype=int),
        retired=np.zeros((1, 1), dtype=int),
        sold=np.zeros((0, 1), dtype=int),
        moved=np.zeros((0, 1), dtype=int),
        run=np.zeros(0, dtype=int),
        chosen=np.zeros(len(of.pausable_options), dtype=int),
        completed=np.zeros(len(of.pausable_options)),
        done_node_h=rng.uniform(10, 30, (len(of.pausable_options), 1)),
        left_out=np.zeros(len(of.jobs)),
        replicas=np.full((len(of.serve_options), 1), 5),
        shed_fraction=np.zeros((len(of.services), 1)),
        work_node_h=rng.uniform(10, 30, (len(of.work_options), 1)),
        spares=np.zeros((1, 1), dtype=int),
        parked=np.zeros((1, 1)),
        matched_kwh=np.zeros((0, 1)),
    )
    nothing = account_slots.no_use(of)
    used = {
        part.name: rng.uniform(0.1, 3.0, getattr(nothing, part.name).shape)
        for part in dataclasses.fields(nothing)
    }
    return account.solution(of, dataclasses.replace(zero, slots=type(nothing)(**used)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", [everything(), pausing()], ids=["services", "jobs"])
def test_the_program_charges_what_the_account_adds_up(case: Problem, seed: int) -> None:
    plan = some_use(case, seed)
    assert totals.charged(build.build(case), plan) == pytest.approx(plan.usd + 10 * plan.kgco2e, rel=1e-9)
    for terms in (plan.usd_terms, plan.kgco2e_terms):
        assert float(terms.by_period().sum() + terms.left_out.sum()) == pytest.approx(terms.total)


@pytest.mark.parametrize("family", SLOT_FAMILIES)
def test_a_false_price_is_caught(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = pausing() if family.startswith("done") else everything()
    plan, program, right = some_use(case, 1), build.build(case), totals._of_slots

    def charges() -> list[str]:
        return [str(each) for each in check(program, plan, 1e-6) if each.rule == "what the program charges"]

    def false(*args: Any) -> dict[str, Any]:
        return {name: each * (1.05 if name == family else 1.0) for name, each in right(*args).items()}

    assert not charges()
    monkeypatch.setattr(totals, "_of_slots", false)
    assert charges()


def two_pools(seed: int, *, share: float = 1.0) -> Problem:
    """Two kinds of work, two node groups of 3 nodes at two sites, two slots of equal length; drawn prices."""
    rng = np.random.default_rng(seed)
    flat = np.ones((2, 1))
    slots = Slots(
        hours=np.array([[50.0], [50.0]]),
        before=np.array([1, 0]),
        day_type=np.array([0, 0]),
        days=np.full((2, 1), 4.0),
    )
    beyond = rng.uniform(-0.04, 0.04, (2, 1))[[0, 1, 0, 1]]
    return problem(
        count=2,
        site_names=("dallas", "oregon"),
        node_groups=node_groups(
            count=2, site=[0, 1], hours=[100.0], idle_usd_per_node=0 * flat, purchase_allowed=0 * flat
        ),
        cohorts=dataclasses.replace(
            cohort(nodes=3),
            **{
                name: np.repeat(getattr(cohort(nodes=3), name), 2, axis=0)
                for name in Cohorts.SHAPES
                if name not in ("node_group", "may_retire")
            },
            node_group=np.array([0, 1]),
            may_retire=np.zeros((2, 1), dtype=bool),
        ),
        work=type(work([1.0])["work"])(
            name=("notebooks", "search"), demand_h=100.0 * share * rng.integers(1, 4, (2, 1))
        ),
        work_options=type(work([1.0])["work_options"])(
            work=[0, 0, 1, 1],
            node_group=[0, 1, 0, 1],
            speed=np.ones(4),
            active_kw=np.ones(4),
            usd_per_node_h=rng.uniform(0.1, 0.2, (4, 1)),
            kgco2e_per_node_h=np.zeros((4, 1)),
        ),
        slots=slots,
        work_shifts=Shifting(
            may_move=np.ones(4),
            usd_per_node_h=np.stack([beyond, -beyond], axis=2),
            kgco2e_per_node_h=np.zeros((4, 1, 2)),
            stop_h=np.zeros(4),
            stop_usd=rng.choice([0.0, 0.1], (4, 1)),
        ),
        windows=Windows(within_day=np.zeros(2), may_wait_fraction=rng.choice([0.0, 1.0], 2)),
        limits=limits(sites=2, skus=2),
    )


@pytest.mark.parametrize("seed", range(size(3, nightly=12)))
def test_two_pools_in_two_slots_as_if_all_were_tried(seed: int) -> None:
    """Slots are equally long and nodes whole, so that the best corner is a whole number of nodes."""
    case = two_pools(seed)
    hours, options, shifts = 50.0, case.work_options, case.work_shifts
    best = np.inf
    for flat in product(range(4), repeat=8):
        nodes = np.array(flat, dtype=float).reshape(4, 2)  # options x slots
        if (np.add.reduceat(nodes[[0, 2, 1, 3]], [0, 2]) > 3).any():
            continue
        done = np.stack([nodes[:2].sum(axis=0), nodes[2:].sum(axis=0)])
        wanted = case.work.demand_h[:, 0] / 100.0
        least = (1 - case.windows.may_wait_fraction) * wanted
        if (done.mean(axis=1) < wanted).any() or (done < least[:, None]).any():
            continue
        cost = float((options.usd_per_node_h * nodes.sum(axis=1, keepdims=True) * hours).sum())
        cost += float((shifts.usd_per_node_h[:, 0] * nodes * hours).sum())
        stops = np.maximum(nodes[:, ::-1] - nodes, 0.0).sum(axis=1)
        best = min(best, cost + float((shifts.stop_usd[:, 0] * stops).sum() * 4.0))
    found = answer(case, gap_fraction=0.0, time_limit_s=30.0)
    kept = 60.0  # six nodes that stand
    if np.isinf(best):
        assert found.solution is None
    else:
        assert found.objective == pytest.approx(best + kept, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_no_slot_makes_a_plan_worse(seed: int) -> None:
    case = two_pools(seed, share=0.7)
    assert answer(case, gap_fraction=0.0, time_limit_s=30.0).objective <= (
        answer(case.by_period(), gap_fraction=0.0, time_limit_s=30.0).objective + 1e-6
    )
    assert solved(everything()).objective < solved(everything().by_period()).objective - 1.0


def test_a_flat_grid_makes_moving_worth_nothing() -> None:
    """Alike in every slot, and stopping takes something: the plan is that of the period."""
    case = everything(
        work_shifts=shifting([0.0, 0.0], stop_h=[0.5], stop_usd=[[0.1]], stop_kgco2e=[[0.05]]),
        resting=Resting.none(0),
        switching=Switching.none(0),
    )
    found, plain = solved(case), solved(case.by_period())
    assert found.objective == pytest.approx(plain.objective, rel=1e-9)
    used = found.solution.slots.work  # type: ignore[union-attr]
    assert used[0, 0, 0] == pytest.approx(used[0, 0, 1], abs=1e-6)


def test_one_slot_is_the_plan_of_the_period() -> None:
    one = Slots(hours=np.array([[100.0]]), before=[0], day_type=[0], days=[[5.0]])
    found = solved(everything(
        slots=one,
        work_shifts=shifting([0.0]),
        resting=Resting.none(0),
        slot_demand=SlotDemand(ready_fraction=np.ones((1, 1, 1))),
        switching=Switching.none(0),
    ))  # fmt: skip
    assert found.objective == pytest.approx(solved(everything().by_period()).objective, rel=1e-9)


def only_work(nodes: int, demand_h: float, **columns: Any) -> Problem:
    """Work alone on nodes that stand and may not go; a node-hour of the night emits 0.05 kg less."""
    return everything(
        cohorts=dataclasses.replace(cohort(nodes=nodes), may_retire=np.zeros((1, 1), dtype=bool)),
        services=Services.none(1),
        serve_options=ServeOptions.none(1),
        resting=Resting.none(0),
        slot_demand=SlotDemand.none(0),
        switching=Switching.none(0),
        places=Places.none(0),
        **work([demand_h]),
        **{
            "work_shifts": shifting([0.02, -0.03]),
            "windows": Windows(within_day=[True], may_wait_fraction=[1.0]),
            **columns,
        },
    )


def test_what_moving_saves_goes_from_nothing_to_all_of_it() -> None:
    """Nodes that work all the time have nothing to move; few hours all go into the cleanest slot."""
    full, few = only_work(3, 300.0), only_work(3, 40.0)
    full_saves, few_saves = (solved(one.by_period()).objective - solved(one).objective for one in (full, few))
    assert full_saves == pytest.approx(0.0, abs=1e-6)
    assert few_saves == pytest.approx(10 * 0.03 * 40.0)


def test_what_cannot_wait_stays() -> None:
    """Half of the work is done in every slot alike: half of the saving is left."""
    half = Windows(within_day=[True], may_wait_fraction=[0.5])
    saves = [
        solved(one.by_period()).objective - solved(one).objective
        for one in (only_work(9, 40.0), only_work(9, 40.0, windows=half))
    ]
    assert saves[1] == pytest.approx(saves[0] / 2)


def test_stopping_takes_hours_and_money() -> None:
    """Forty hours in nights of 8 h: a node stops on each of 5 days, loses half an hour and takes 0.1 USD."""
    stops = {"stop_h": [0.5], "stop_usd": [[0.1]], "stop_kgco2e": [[0.05]]}
    plan = solved(only_work(3, 40.0, work_shifts=shifting([0.02, -0.03], **stops))).solution
    assert plan is not None
    used = plan.slots.work[0, 0]  # type: ignore[union-attr]
    assert used[DAY] == pytest.approx(0.0, abs=1e-9)
    # 40 h of night at x nodes, less 0.5 h for each of x nodes on 5 days, are 40 h of work.
    assert used[NIGHT] == pytest.approx(40.0 / (40.0 - 2.5))
    assert plan.usd_terms.shift.sum() == pytest.approx(0.1 * used[NIGHT] * 5)
    assert plan.kgco2e_terms.shift.sum() == pytest.approx(-0.03 * 40.0 * used[NIGHT] + 0.05 * used[NIGHT] * 5)


def test_power_holds_in_every_slot() -> None:
    """All of it in the night takes 3 nodes; the feed has room for 2 that work next to 3 that idle."""
    free = solved(only_work(3, 120.0)).solution
    held = solved(only_work(3, 120.0, limits=limits(power_kw=[[5.0]]))).solution
    assert free is not None
    assert held is not None
    assert free.slots.work[0, 0, NIGHT] == pytest.approx(3.0)  # type: ignore[union-attr]
    assert held.slots.work[0, 0, NIGHT] == pytest.approx(2.0)  # type: ignore[union-attr]
    assert held.slots.work[0, 0, DAY] == pytest.approx(120.0 / 60.0 - 2.0 * 40.0 / 60.0)  # type: ignore[union-attr]


def lending(**columns: Any) -> Problem:
    """Four replicas that carry, one on standby; in the night one carries. Resting alone saves nothing."""
    nothing = np.zeros((1, 1, 2))
    case = everything(
        switching=Switching.none(0),
        limits=limits(),
        windows=Windows(within_day=[False], may_wait_fraction=[1.0]),
        work_shifts=shifting(
            [0.0, 0.0],
            may_borrow=[True],
            lent_usd_per_node_h=nothing,
            lent_kgco2e_per_node_h=nothing,
            lent_speed_fraction=[0.9],
        ),
        resting=Resting(
            may_rest=[True], quiet_usd=nothing, quiet_kgco2e=nothing, rest_usd=nothing, rest_kgco2e=nothing
        ),
        places=Places.none(0),
    )
    return dataclasses.replace(case, **columns)


def test_lent_nodes_do_the_work_that_nodes_were_needed_for() -> None:
    """Three replicas rest through 40 h and do 0.9 * 120 h of the 150 h: 0.42 nodes of its own are enough."""
    plan = solved(lending()).solution
    assert plan is not None
    assert plan.replicas.tolist() == [[5]]
    assert plan.slots.rest[0, 0] == pytest.approx([0.0, 3.0])  # type: ignore[union-attr]
    assert plan.in_service.tolist() == [[6]]
    assert solved(lending().by_period()).solution.in_service.tolist() == [[7]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "columns",
    [
        {"slot_demand": SlotDemand(ready_fraction=np.ones((1, 1, 2)))},
        {"work_shifts": dataclasses.replace(lending().work_shifts, lent_speed_fraction=np.zeros(1))},
        {"work_shifts": dataclasses.replace(lending().work_shifts, may_borrow=np.zeros(1, dtype=bool))},
    ],
    ids=["all are needed at all times", "lent nodes do nothing", "nothing may borrow"],
)
def test_lending_that_cannot_help_is_no_lending(columns: dict[str, Any]) -> None:
    case = lending(**columns)
    assert solved(case).objective == pytest.approx(solved(case.by_period()).objective, rel=1e-9)


def test_standby_is_never_lent() -> None:
    """Even where no request comes at all, the replica on standby stays awake."""
    plan = solved(lending(slot_demand=SlotDemand(ready_fraction=np.array([[[1.0, 0.0]]])))).solution
    assert plan is not None
    used = plan.slots
    assert used is not None
    assert (used.rest + used.quiet)[0, 0, NIGHT] <= plan.replicas[0, 0] - 1 + 1e-9


def test_without_requests_lent_nodes_are_nodes() -> None:
    """Ready for nothing, at full speed: 4 replicas' nodes work as nodes of the pool would."""
    shifts = dataclasses.replace(lending().work_shifts, lent_speed_fraction=np.ones(1))
    case = lending(
        work_shifts=shifts,
        slot_demand=SlotDemand(ready_fraction=np.zeros((1, 1, 2))),
        work=type(lending().work)(name=("notebooks",), demand_h=np.array([[400.0]])),
    )
    plan = solved(case).solution
    assert plan is not None
    assert plan.in_service.tolist() == [[5]]  # four that carry, and the one that stands by


@pytest.mark.parametrize(
    ("name", "place", "by", "rule"),
    [
        ("work", (0, 0, DAY), 0.5, "work over slots"),
        ("lent", (0, 0, DAY), 1.0, "nodes that are lent"),
        ("rest", (0, 0, DAY), 1.0, "ready in a slot"),
        ("rest", (0, 0, NIGHT), 1.5, "standby awake"),
        ("quiet", (0, 0, DAY), 0.5, "ready in a slot"),
        ("off", (0, 0, DAY), 3.0, "nodes that are off"),
        ("rest", (0, 0, DAY), -1.0, "rest in a slot"),
    ],
)
def test_a_use_that_breaks_a_rule_is_found(name: str, place: tuple[int, ...], by: float, rule: str) -> None:
    case = everything()
    plan = solved(case).solution
    assert plan is not None
    assert plan.slots is not None
    assert not verify(case, plan, 1e-6)
    changed = getattr(plan.slots, name).copy()
    changed[place] += by
    bad = dataclasses.replace(plan, slots=dataclasses.replace(plan.slots, **{name: changed}))
    assert rule in {found.rule for found in verify(case, bad, 1e-6)}


def test_power_in_a_slot_is_verified() -> None:
    case = only_work(3, 120.0)
    plan = solved(case).solution
    assert plan is not None
    tight = dataclasses.replace(case, limits=limits(power_kw=[[5.0]]))
    assert "power in a slot" in {found.rule for found in verify(tight, plan, 1e-6)}


def test_limits_that_clash_are_named_with_slots_too() -> None:
    """Nodes for a third of the work: what gives way is found with the rows of slots in the program."""
    case = only_work(1, 300.0)
    case = dataclasses.replace(
        case,
        node_groups=dataclasses.replace(case.node_groups, purchase_allowed=np.zeros((1, 1), dtype=bool)),
        windows=Windows(within_day=[True], may_wait_fraction=[0.5]),
    )
    found = explain_infeasible(case, gap_fraction=0.0, time_limit_s=20.0)
    assert [family.names for family in found.families if family.suffices] == [("work",)]
    give = found.families[-1].gives[0]
    assert give.amount == pytest.approx(200.0, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"slots": dataclasses.replace(two_slots(), hours=np.array([[60.0], [30.0]]))}, "90 h in period 0"),
        ({"slots": dataclasses.replace(two_slots(), before=np.array([1, 5]))}, "no such slot"),
        ({"slots": dataclasses.replace(two_slots(), day_type=np.array([0, 1]))}, "another type of day"),
        ({"windows": Windows(within_day=[True] * 2, may_wait_fraction=[0.5] * 2)}, "has 2 rows"),
    ],
)
def test_slots_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        everything(**wrong)


def in_halves(whole: Problem) -> Problem:
    """Each slot in two equal halves."""
    twice = [0, 0, 1, 1]
    slots = Slots(
        hours=np.array([[30.0], [30.0], [20.0], [20.0]]),
        before=np.array([3, 0, 1, 2]),
        day_type=np.zeros(4, dtype=int),
        days=np.full((4, 1), 5.0),
    )

    def split(table: Any) -> Any:
        columns = {}
        for name, shape in table.SHAPES.items():
            column = getattr(table, name)
            if shape.axes == "*TY":
                saved = name.split("_")[0] in ("quiet", "rest", "off")
                column = column[:, :, twice] * (0.5 if saved else 1.0)
            columns[name] = column
        return type(table)(**columns)

    return dataclasses.replace(
        whole,
        slots=slots,
        work_shifts=split(whole.work_shifts),
        resting=split(whole.resting),
        slot_demand=split(whole.slot_demand),
        switching=split(whole.switching),
        drawing=split(whole.drawing),
        site_energy=split(whole.site_energy),
        pausable_shifts=Shifting.none(0),
    )


def test_half_of_a_slot_is_the_slot() -> None:
    assert solved(in_halves(everything())).objective == pytest.approx(
        solved(everything()).objective, rel=1e-7
    )


def test_joined_halves_are_the_slot() -> None:
    """Days begin where the least more has to be ready: no half is joined to another slot."""
    whole = everything()
    joined = fewer_slots(in_halves(whole), 2)
    for name in ("slots", "work_shifts", "resting", "slot_demand", "switching"):
        for column in getattr(whole, name).SHAPES:
            got, wanted = (getattr(getattr(one, name), column) for one in (joined, whole))
            assert got == pytest.approx(wanted), f"{name}.{column}"
    assert fewer_slots(whole, 2) is whole


def test_joined_types_of_day_are_the_day() -> None:
    """Halves of two slots on days of two types, three of one and two of the other, with the same prices."""
    whole = everything()
    once = in_halves(whole)
    share = np.repeat([0.6, 0.4], 4)

    def twice(table: Any) -> Any:
        columns = {}
        for name, shape in table.SHAPES.items():
            column = getattr(table, name)
            if shape.axes == "*TY":
                saved = name.split("_")[0] in ("quiet", "rest", "off")
                column = np.tile(column, 2) * (share if saved else 1.0)
            columns[name] = column
        return type(table)(**columns)

    slots = Slots(
        hours=np.tile(once.slots.hours, (2, 1)) * share[:, None],
        before=np.array([3, 0, 1, 2, 7, 4, 5, 6]),
        day_type=np.repeat([0, 1], 4),
        days=5.0 * share[:, None],
    )
    names = ("work_shifts", "resting", "slot_demand", "switching", "drawing", "site_energy")
    case = dataclasses.replace(
        once,
        slots=slots,
        pausable_shifts=Shifting.none(0),
        **{name: twice(getattr(once, name)) for name in names},
    )
    joined = fewer_slots(case, 2)
    for name in ("slots", *names):
        for column in getattr(whole, name).SHAPES:
            got, wanted = (getattr(getattr(one, name), column) for one in (joined, whole))
            assert got == pytest.approx(wanted), f"{name}.{column}"
    best = best_operation(case, solved(joined).solution, time_limit_s=20.0)  # type: ignore[arg-type]
    assert best is not None
    assert not verify(case, best, 1e-6)
    assert best.usd + 10 * best.kgco2e <= solved(whole).objective + 1e-6


def test_a_plan_of_longer_slots_is_one_of_the_problem() -> None:
    """Its fleet operated in the slots of the problem costs no more than in longer ones."""
    case = in_halves(everything())
    ready = np.array([[[1.0, 0.6, 0.4, 0.2]]])
    case = dataclasses.replace(case, slot_demand=SlotDemand(ready_fraction=ready))
    longer = solved(fewer_slots(case, 2))
    by_period = solved(case.by_period())
    for plan in (longer, by_period):
        assert plan.solution is not None
        best = best_operation(case, plan.solution, time_limit_s=20.0)
        assert best is not None
        assert not verify(case, best, 1e-6)
        assert best.usd + 10 * best.kgco2e < plan.objective - 0.01
        assert best.orders.tolist() == plan.solution.orders.tolist()
        assert best.replicas.tolist() == plan.solution.replicas.tolist()


def test_what_a_plan_does_not_have_needs_no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its best operation costs the same where slots of all else are written down, too."""
    case = in_halves(everything())
    plan = solved(case.by_period()).solution
    assert plan is not None
    few = best_operation(case, plan, time_limit_s=20.0)
    monkeypatch.setattr("solver.operating.for_this", lambda problem, _: problem)
    every = best_operation(case, plan, time_limit_s=20.0)
    assert few is not None
    assert every is not None
    assert objective_value(case, few) == pytest.approx(objective_value(case, every), rel=1e-6)


def test_a_fleet_that_is_not_enough_gets_more_nodes() -> None:
    """Orders of the best plan that are taken out come back, and what it retires may stay; no other way."""
    case = in_halves(everything())
    best = solved(case).solution
    assert best is not None
    assert best.orders.any() or best.retired.any() or best.rented.any()
    fewer = dataclasses.replace(
        best, orders=0 * best.orders, retired=0 * best.retired + case.cohorts.nodes[:, None]
    )
    assert best_operation(case, fewer, time_limit_s=20.0) is None
    again = best_operation(case, fewer, time_limit_s=20.0, more=True)
    assert again is not None
    assert not verify(case, again, 1e-6)
    assert objective_value(case, again) == pytest.approx(objective_value(case, best), rel=1e-3)


def test_a_short_time_holds_for_the_first_plans_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fleets of both first plans are operated in the time that is left."""
    best, seconds = solved(everything()).objective, list[float]()

    def operate(problem: Problem, plan: Solution, *, time_limit_s: float, **effort: Any) -> None:
        seconds.append(time_limit_s)

    monkeypatch.setattr("solver.from_slots.best_operation", operate)
    monkeypatch.setattr("solver.from_slots.FEW", 2)
    found = answer(in_halves(everything()), gap_fraction=0.0, time_limit_s=3.0)
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert len(seconds) == 2
    assert all(0 < one < 3.0 for one in seconds)


def test_what_a_lever_is_worth_on_the_fleet_of_a_plan() -> None:
    """All of them are the plan, none is the period, and a lever left out or alone stands between."""
    case = everything()
    plan = solved(case).solution
    assert plan is not None
    assert allowed_levers(case) == ("shift", "pack", "lend")
    assert allowed_levers(case.by_period()) == ()

    def taken(levers: tuple[str, ...]) -> float:
        worth = operated(with_levers(case, levers), plan, time_limit_s=20.0)
        assert worth is not None
        return worth.usd + 10 * worth.kgco2e

    everyone, none = taken(LEVERS), taken(())
    assert everyone == pytest.approx(plan.usd + 10 * plan.kgco2e, rel=1e-6)
    assert everyone < taken(("shift", "pack")) + 1e-6
    assert everyone < taken(("pack", "lend")) < none
    assert taken(("shift",)) < none
    held = operated(case.by_period(), plan, time_limit_s=20.0)
    assert held is not None
    assert none == pytest.approx(held.usd + 10 * held.kgco2e, rel=1e-6)


def test_each_future_decides_its_own_hours() -> None:
    """One fleet for two futures, one of them with twice the work: more of it is lent there."""
    case = lending()
    more = dataclasses.replace(case, work=dataclasses.replace(case.work, demand_h=2 * case.work.demand_h))
    futures = Futures((case, more), np.array([0.5, 0.5]), 1)
    by_period = Futures((case.by_period(), more.by_period()), np.array([0.5, 0.5]), 1)
    found, plain = (hedge(one, gap_fraction=0.0, time_limit_s=20.0) for one in (futures, by_period))
    few, many = (account_slots.lent_work_h(case, plan).sum() for plan in found.plans)
    assert 0 < few <= many
    assert found.plans[0].orders.tolist() == found.plans[1].orders.tolist()
    assert found.value < plain.value - 1.0


def test_a_fleet_that_needs_a_lever_is_not_enough_without_it() -> None:
    case = lending()
    plan = solved(case).solution
    assert plan is not None
    assert operated(with_levers(case, ("shift",)), plan, time_limit_s=20.0) is None


@pytest.mark.parametrize("case", [in_halves(everything()), two_pools(1)], ids=["levers", "pools"])
def test_no_plan_costs_less_than_means_of_slots_do(case: Problem) -> None:
    mean = mean_slots(case, 1)
    assert len(mean.slots) == 1
    assert solved(mean).objective <= solved(case).objective + 1e-6


def test_means_of_slots_that_are_alike_are_the_slots() -> None:
    """Halves of a slot have its mean, its price and its changes; where a stop loses no hours, that is all."""
    case = everything()
    case = dataclasses.replace(case, work_shifts=dataclasses.replace(case.work_shifts, stop_h=[0.0]))
    mean = mean_slots(in_halves(case), 2, changes=True)
    assert len(mean.slots) == 2
    assert solved(mean).objective == pytest.approx(solved(case).objective, rel=1e-7)


@pytest.mark.solve
@pytest.mark.parametrize("dear", [1.0, 20.0])
@pytest.mark.parametrize("seed", range(size(2, nightly=10)))
def test_neighbours_joined_bound_what_changes_cost(seed: int, dear: float) -> None:
    """On two types of days, also in parts of unlike lengths: with fractions, no fewer slots cost more.

    They bound more than slots that are alike do, with changes free.
    """
    case = with_slots(with_work(fleet("S", seed), seed), 24, seed)
    case = dataclasses.replace(
        case,
        resting=dataclasses.replace(case.resting, wake_usd=dear * case.resting.wake_usd),
        switching=dataclasses.replace(case.switching, boot_usd=dear * case.switching.boot_usd),
    )

    def least(problem: Problem) -> float:
        return backend.relax(build.build(problem).model, time_limit_s=30).objective

    bounds = [least(mean_slots(case, parts, changes=True)) for parts in (1, 2, 5, 12)]
    assert max(bounds) <= least(case) * (1 + 1e-7)
    assert bounds[0] < bounds[1]
    assert bounds[2] > least(mean_slots(case, 5))


def test_a_large_problem_is_bounded_beside_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """By fractions with few slots."""
    case = in_halves(everything())
    ends = time.monotonic() + 20.0
    monkeypatch.setattr("solver.many_slots.MEANS", 4)
    assert bound_of_means(case, ends) is None  # as many as there are
    monkeypatch.setattr("solver.many_slots.MEANS", 2)
    means = bound_of_means(case, ends)
    assert means is not None
    fractions = backend.relax(build.build(mean_slots(case, 2, changes=True)).model, time_limit_s=20)
    bound = means.outcome().bound
    assert bound >= fractions.objective - 1e-7
    assert 1000 * bound <= solved(case).objective + 1e-6


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(size(1, nightly=10)))
def test_the_bound_of_a_large_problem_is_below_its_plans(seed: int) -> None:
    """With rebates and jobs that pause, rows of the tightened program lift it; plans stay above it."""
    case = with_slots(with_work(fleet("S", seed), seed), 24, seed)
    best = answer(case, gap_fraction=0.005, time_limit_s=60)
    assert best.solution is not None
    means = bound_of_means(case, time.monotonic() + 20.0)
    assert means is not None
    bound = means.outcome().bound
    fractions = backend.relax(build.build(mean_slots(case, 3, changes=True)).model, time_limit_s=20)
    assert bound > fractions.objective * (1 + 1e-4)
    assert 1000 * bound <= best.objective * (1 + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(2, nightly=10)))
def test_a_large_problem_is_planned_next_to_the_mean_of_its_slots(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its nodes are enough in every slot, near to the best, and all of its program is never written down."""
    case = with_slots(with_work(fleet("S", seed), seed), 24, seed)
    best = answer(case, gap_fraction=0.005, time_limit_s=60)
    found = plan_of_one_slot(case, gap_fraction=0.005, ends=time.monotonic() + 20, time_limit_s=20)
    assert found.plan is not None
    assert best_operation(case, found.plan, time_limit_s=20) is not None
    written, build_all = list[Problem](), build.build

    def recorded(problem: Problem) -> Program:
        written.append(problem)
        return build_all(problem)

    monkeypatch.setattr("solver.known.LARGE", 0)
    monkeypatch.setattr("solver.from_slots.HALF", 1.0)
    monkeypatch.setattr("solver.known.build", recorded)
    near = answer(case, gap_fraction=0.005, time_limit_s=20)
    assert near.solution is not None
    assert case not in written
    assert near.bound <= best.objective * (1 + 1e-7)
    assert best.bound <= near.objective * (1 + 1e-7)
    assert near.objective <= 1.1 * best.objective


def test_energy_by_the_hour_has_no_mean() -> None:
    """What is saved counts for less where a contract matches it: least prices bound nothing."""
    case = in_halves(everything())
    kwh = np.full((1, 1), 5.0)
    signed = dataclasses.replace(
        case, contracts=Contracts(site=[0], usd_per_kwh=kwh, kgco2e_per_kwh=kwh, limit_kwh=kwh)
    )
    shone = dataclasses.replace(
        case, site_energy=dataclasses.replace(case.site_energy, sun_kw=np.ones((1, 1, 4)))
    )
    assert mean_slots(case, 2) is not case
    for one in (signed, shone):
        assert mean_slots(one, 2) is one


@pytest.mark.parametrize("means", [1, 4])
def test_a_larger_problem_is_bounded_by_its_means(means: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is the best as without, and the bound is never above it."""
    monkeypatch.setattr("solver.from_slots.MEANS", means)
    case = in_halves(everything())
    best = solved(case).objective
    monkeypatch.setattr("solver.known.MIDDLE", 0)
    found = solved(case)
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert found.bound <= best + 1e-6
