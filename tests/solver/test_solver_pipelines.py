"""Stages that share a response time: rows, plans against trying every split, and what breaks the rule."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from solver_cases import changed, node_groups, problem

from solver import account, build, constrain_services, constrain_slot_services, constrain_tasks, pipelines
from solver.answer import answer
from solver.backend import Status
from solver.infeasible import explain_infeasible
from solver.known import Answer
from solver.problem import Problem, Resting, ServeOptions, Services, SlotDemand, Slots
from solver.program import Program
from solver.variables import empty
from solver.verify import verify

TOLERANCE = 1e-6


def stages(
    stage: list[int], time: list[float], capacity: Any, usd: Any, demand: Any = ((100.0,), (100.0,))
) -> Problem:
    """Two stages of one pipeline; a replica takes a node of 100 USD in each period and costs `usd` on top."""
    count, periods = len(stage), len(demand[0])
    flat = np.ones((count, periods))
    found = problem(
        periods=periods,
        node_groups=node_groups(periods=periods),
        services=Services(name=("filter", "rank"), demand=demand, pipeline=[1, 1]),  # type: ignore[arg-type]
        serve_options=ServeOptions(
            service=stage,  # type: ignore[arg-type]
            node_group=np.zeros(count, dtype=int),
            capacity=np.array(capacity)[:, None] * flat,
            nodes=np.ones(count),
            standby_fraction=0 * flat,
            node_hours=100 * flat,
            active_kw=np.ones(count),
            usd=np.array(usd)[:, None] * flat,
            kgco2e=6 * flat,
            time_fraction=time,  # type: ignore[arg-type]
        ),
    )
    assert isinstance(found, Problem)
    return found


def case() -> Problem:
    """The slower, the more a replica carries: of the first stage 10, 20, 25; of the second 5, 10, 50."""
    return stages(
        [0, 0, 0, 1, 1, 1], [0.2, 0.5, 0.8, 0.2, 0.5, 0.8], [10.0, 20.0, 25.0, 5.0, 10.0, 50.0], [15.0] * 6
    )


def rows(constraint: Any, of: Problem, relaxed: tuple[str, ...] = ()) -> str:
    program: Program = empty(of, frozenset(relaxed))
    if relaxed:
        constrain_tasks.meet_demand(program)
    before = set(program.model.constraints)
    constraint(program)
    named = {name: row for name, row in program.model.constraints.items() if name not in before}
    return "".join(row.asCplexLpConstraint(name) for name, row in named.items())


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=30.0)


def test_rows_of_stages() -> None:
    """Of each stage the shares up to 0.2 and up to 0.5 are rows: what takes no more counts, in replicas."""
    assert rows(constrain_services.share_response_time, case()) == (
        "stage_0_0: replicas_0_0 - 10 takes_0 >= 0\n"
        "stage_1_0: 0.5 replicas_0_0 + replicas_1_0 - 5 takes_0 - 5 takes_1 >= 0\n"
        "stage_2_0: replicas_3_0 - 20 takes_3 >= 0\n"
        "stage_3_0: 0.5 replicas_3_0 + replicas_4_0 - 10 takes_3 - 10 takes_4 >= 0\n"
        "one_share_0_0: takes_0 + takes_1 + takes_2 >= 1\n"
        "one_share_1_0: takes_3 + takes_4 + takes_5 >= 1\n"
        "shares_0: 0.2 takes_0 + 0.5 takes_1 + 0.8 takes_2 + 0.2 takes_3 + 0.5 takes_4\n"
        " + 0.8 takes_5 <= 1\n"
    )


def test_rows_of_stages_give_way_with_the_demand() -> None:
    text = rows(constrain_services.share_response_time, case(), ("demand",))

    assert text.startswith("stage_0_0: 10 over_demand_0_0 + replicas_0_0 - 10 takes_0 >= 0")
    assert "one_share_1_0: over_demand_1_0 + takes_3 + takes_4 + takes_5 >= 1\n" in text


def test_services_of_no_pipeline_have_no_row_and_no_variable() -> None:
    plain = changed(case(), "services", pipeline=np.zeros(2, dtype=int))
    program = build.build(plain)

    assert rows(constrain_services.share_response_time, plain) == ""
    assert program.takes is None


def draw(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    stage = np.repeat([0, 1], 3).tolist()
    time = np.concatenate([rng.choice([0.2, 0.4, 0.5, 0.6, 0.8], 3) for _ in range(2)]).tolist()
    capacity = rng.integers(8, 30, 6).astype(float) * (0.5 + np.array(time))
    demand = rng.integers(10, 45, (2, 2)).astype(float)
    return stages(stage, time, capacity, rng.integers(5, 90, 6), demand)


def cheapest_split(of: Problem) -> float:
    """The least USD of every split of the time and all numbers of replicas; one split for all periods."""
    serves, demand = of.serve_options, of.services.demand

    def cost(stage: int, share: float) -> float:
        own = np.flatnonzero((serves.service == stage) & (serves.time_fraction <= share))
        total = 0.0
        for t in range(of.periods):
            tops = [int(np.ceil(demand[stage, t] / serves.capacity[v, t])) for v in own]
            able = [
                np.array(counts) @ (100.0 + serves.usd[own, t])
                for counts in itertools.product(*(range(top + 1) for top in tops))
                if np.array(counts) @ serves.capacity[own, t] >= demand[stage, t] - 1e-9
            ]
            total += min(able, default=np.inf)
        return total

    shares = [np.unique(serves.time_fraction[serves.service == stage]).tolist() for stage in (0, 1)]
    splits = [(a, b) for a in shares[0] for b in shares[1] if a + b <= 1 + 1e-9]
    return min((cost(0, a) + cost(1, b) for a, b in splits), default=np.inf)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_equals_trying_every_split(seed: int) -> None:
    of = draw(seed)
    # A node bought stays, so that periods are not apart: nodes are free, replicas carry their 100 USD.
    free = changed(
        of, "node_groups", holding_usd_per_node=np.zeros((1, 2)), idle_usd_per_node=np.zeros((1, 2))
    )
    free = changed(free, "serve_options", usd=of.serve_options.usd + 100.0)
    found, wanted = best(free), cheapest_split(of)

    if np.isinf(wanted):
        assert found.status is Status.INFEASIBLE
    else:
        assert found.objective == pytest.approx(wanted)


def test_the_split_goes_where_time_is_worth_most() -> None:
    """The second stage carries five times as much in 0.8: it takes that, and the first 0.2."""
    plan = best(case()).solution
    assert plan is not None
    carried = account.carried_by_option(case(), plan.replicas)

    assert plan.replicas[:, 0].tolist() == [10, 0, 0, 0, 0, 2]
    assert pipelines.taken_fraction(case(), carried, case().services.demand).tolist() == [0.2, 0.8]


def test_stages_that_are_too_slow_even_at_their_fastest_are_said_to() -> None:
    """Of 0.5 and 0.6 no two fit: only letting go of the demand of a stage helps."""
    of = changed(case(), "serve_options", time_fraction=[0.5, 0.5, 0.8, 0.6, 0.7, 0.8])
    found = explain_infeasible(of, gap_fraction=0.0, time_limit_s=20)

    assert best(of).status is Status.INFEASIBLE
    assert found.reasons == (
        "services filter and rank: the least times of these stages add up to more than their response time",
    )
    (demand,) = (each for each in found.families if each.suffices)
    assert demand.names == ("demand",)
    assert demand.verified


def test_stages_that_take_too_long_together_break_a_rule() -> None:
    plan = best(case()).solution
    assert plan is not None
    slower = dataclasses.replace(plan, replicas=np.array([[0], [5], [0], [0], [0], [2]]))

    assert "response time" in {one.rule for one in verify(case(), slower, TOLERANCE)}
    assert verify(case(), plan, TOLERANCE) == []


def test_what_is_awake_at_night_keeps_the_same_split() -> None:
    """At night every other replica rests: no more of the first stage, which has 0.2 of the time."""
    hours = np.array([[[60.0, 40.0]]]) * np.ones((6, 1, 1))
    of = dataclasses.replace(
        case(),
        slots=Slots(hours=[[60.0], [40.0]], days=[[5.0], [5.0]], day_type=[0, 0], before=[1, 0]),  # type: ignore[arg-type]
        resting=Resting(
            may_rest=[True] * 6,  # type: ignore[arg-type]
            quiet_usd=0 * hours,
            quiet_kgco2e=0 * hours,
            rest_usd=-0.1 * hours,
            rest_kgco2e=-0.1 * hours,
            wake_usd=np.zeros((6, 1)),
            wake_kgco2e=np.zeros((6, 1)),
        ),
        slot_demand=SlotDemand(ready_fraction=np.array([[[1.0, 0.5]]] * 2)),
    )
    text = rows(constrain_slot_services.answer_in_time_in_a_slot, of).splitlines()
    plan = best(of).solution
    assert plan is not None
    assert plan.slots is not None
    rested = np.array(plan.slots.rest)

    assert text[0] == "slot_stage_0_0_0: - quiet_0_0_0 + replicas_0_0 - rest_0_0_0 - 10 takes_0 >= 0"
    assert rested[0, 0, 1] == pytest.approx(5.0)
    rested[0, 0, 1] += 1.0
    asleep = dataclasses.replace(plan, slots=dataclasses.replace(plan.slots, rest=rested))
    assert "response time" in {one.rule for one in verify(of, asleep, TOLERANCE)}
