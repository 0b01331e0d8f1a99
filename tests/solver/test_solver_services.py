"""What answers of a service lose on average: rows, plans against trying everything, what breaks the rule."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from solver_cases import changed, limits, problem

from solver import account, build, constrain_services, constrain_slot_services, constrain_tasks, quality
from solver.answer import answer
from solver.backend import Status
from solver.infeasible import quick_reasons
from solver.known import Answer
from solver.problem import Problem, Resting, ServeOptions, Services, SlotDemand, Slots
from solver.program import Program
from solver.variables import empty
from solver.verify import verify

TOLERANCE = 1e-6


def options(
    lost: list[float], limit: float, demand: float = 100.0, carries: Sequence[float] = (), **columns: Any
) -> Problem:
    """One service with an option for each loss; a node costs 100 USD, and a replica on it 15 on top."""
    count = len(lost)
    flat = np.ones((count, 1))
    plain: dict[str, Any] = {
        "service": np.zeros(count),
        "node_group": np.zeros(count),
        "capacity": np.array(carries or [10.0] * count)[:, None],
        "nodes": np.ones(count),
        "standby_fraction": 0 * flat,
        "node_hours": 100 * flat,
        "active_kw": np.ones(count),
        "usd": 15 * flat,
        "kgco2e": 6 * flat,
        "lost_fraction": lost,
    }
    found = problem(
        services=Services(name=("chat",), demand=[[demand]], mean_loss_limit_fraction=[limit]),  # type: ignore[arg-type]
        serve_options=ServeOptions(**(plain | columns)),
    )
    assert isinstance(found, Problem)
    return found


def rows(constraint: Any, of: Problem, relaxed: tuple[str, ...] = ()) -> str:
    program: Program = empty(of, frozenset(relaxed))
    if relaxed:
        constrain_tasks.meet_demand(program)
        before = set(program.model.constraints)
        constraint(program)
        named = {name: row for name, row in program.model.constraints.items() if name not in before}
        return "".join(row.asCplexLpConstraint(name) for name, row in named.items())
    constraint(program)
    return "".join(row.asCplexLpConstraint(name) for name, row in program.model.constraints.items())


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=30.0)


# Losses of 0, 2 and 6 % where 1 % may be lost: what loses nothing counts 2 / 1 and 6 / 5 times, what loses
# 2 % only where the threshold is 6 %, 4 / 5 times. Each row is divided by its largest coefficient.
GOLDEN = {
    constrain_services.keep_mean_quality: (
        "quality_0_0: replicas_0_0 >= 5\n"
        "quality_1_0: replicas_0_0 + 0.666666666667 replicas_1_0 >= 8.33333333333\n"
    ),
}


def test_rows_of_the_mean_quality() -> None:
    case = options([0.0, 0.02, 0.06], 0.01)
    for constraint, text in GOLDEN.items():
        assert "".join(rows(constraint, case).split()) == "".join(text.split())
    others = {constrain_services.share_response_time}  # in test_solver_pipelines.py
    others |= {constrain_services.answer_each_region}  # in test_solver_regions.py
    of_services = {one for one in build.CONSTRAINTS if one.__module__ == constrain_services.__name__}
    assert of_services == set(GOLDEN) | others


def test_rows_give_way_with_the_demand() -> None:
    """Half of the demand that is let go is half of what the row wants."""
    text = rows(constrain_services.keep_mean_quality, options([0.0, 0.02], 0.01), ("demand",))

    assert text.split() == ["quality_0_0:", "5", "over_demand_0_0", "+", "replicas_0_0", ">=", "5"]


def test_without_a_limit_there_is_no_row() -> None:
    assert rows(constrain_services.keep_mean_quality, options([0.0, 0.02], np.inf)) == ""


def draw(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    return options(
        rng.choice([-0.02, 0.0, 0.01, 0.03, 0.05], count, replace=False).tolist(),
        float(rng.choice([0.0, 0.01, 0.025])),
        demand=float(rng.integers(20, 60)),
        carries=tuple(rng.integers(5, 25, count).astype(float)),
        usd=rng.integers(10, 90, (count, 1)).astype(float),
        standby=rng.integers(0, 2, (count, 1)),
    )


def cheapest_mix(of: Problem) -> float:
    """The least USD of all numbers of replicas, with requests to what loses least first."""
    serves, demand = of.serve_options, float(of.services.demand[0, 0])
    limit = float(of.services.mean_loss_limit_fraction[0])
    order = np.argsort(serves.lost_fraction)
    tops = np.ceil(demand / serves.capacity[:, 0]).astype(int) + serves.standby[:, 0]
    least = np.inf
    for counts in itertools.product(*(range(top + 1) for top in tops)):
        left, lost = demand, 0.0
        for v in order.tolist():
            taken = min(left, serves.capacity[v, 0] * max(counts[v] - serves.standby[v, 0], 0))
            left, lost = left - taken, lost + taken * serves.lost_fraction[v]
        kept = all(n == 0 or n >= s for n, s in zip(counts, serves.standby[:, 0], strict=True))
        if kept and left < 1e-9 and lost <= limit * demand + 1e-9:
            least = min(least, float(np.array(counts) @ (100.0 + serves.usd[:, 0])))
    return least


@pytest.mark.parametrize("seed", range(6))
def test_a_mix_equals_trying_everything_and_no_single_option_beats_it(seed: int) -> None:
    case = draw(seed)
    found, wanted = best(case), cheapest_mix(case)

    if np.isinf(wanted):
        assert found.status is Status.INFEASIBLE
        return
    assert found.objective == pytest.approx(wanted)
    for v in np.flatnonzero(case.serve_options.lost_fraction <= case.services.mean_loss_limit_fraction):
        alone = np.ceil(case.services.demand[0, 0] / case.serve_options.capacity[v, 0] - 1e-9)
        usd = (alone + case.serve_options.standby[v, 0]) * (100.0 + case.serve_options.usd[v, 0])
        assert found.objective <= usd + 1e-6


def mixing() -> Problem:
    """What loses 4 % carries four times as much: with 1 % to lose, it answers a quarter of 100 requests/s."""
    return options([0.0, 0.04], 0.01, carries=(5.0, 25.0))


def test_a_mix_by_hand() -> None:
    plan = best(mixing()).solution
    assert plan is not None
    carries = account.carried_by_option(mixing(), plan.replicas)
    shares = quality.answered(mixing(), carries, mixing().services.demand)

    assert plan.replicas.tolist() == [[15], [1]]
    assert shares.tolist() == [[75.0], [25.0]]


def test_fractions_of_replicas_are_rounded_up_and_keep_the_quality() -> None:
    case = options([0.0, 0.04], 0.01, demand=97.0, carries=(5.0, 25.0))
    plan = best(changed(case, "serve_options", whole=[False, False])).solution

    assert plan is not None
    assert verify(case, plan, TOLERANCE) == []
    assert plan.replicas.tolist() == [[15], [1]]


def test_what_no_option_carries_well_enough_is_paid_for() -> None:
    """Of six nodes five carry 25 requests/s well; a third as many may lose 4 %. The rest costs its price."""
    case = mixing()
    unmet = dataclasses.replace(case.services, unmet_usd=np.array([[1e4]]))
    few = limits(supply_nodes=[[6.0]])
    plan = best(dataclasses.replace(case, services=unmet, limits=few)).solution

    assert plan is not None
    assert plan.replicas.tolist() == [[5], [1]]
    assert plan.shed_fraction[0, 0] == pytest.approx(1 - 100 / 3 / 100)


def test_options_that_all_lose_too_much_are_said_to() -> None:
    case = options([0.03, 0.05], 0.01)

    assert best(case).status is Status.INFEASIBLE
    assert list(quick_reasons(case)) == [
        "service chat: every way to serve it loses more quality than it may on average"
    ]


def test_too_much_of_what_loses_more_breaks_a_rule() -> None:
    case, plan = mixing(), best(mixing()).solution
    assert plan is not None
    fewer = dataclasses.replace(plan, replicas=plan.replicas + np.array([[-1], [1]]))

    assert "mean quality" in {one.rule for one in verify(case, fewer, TOLERANCE)}
    assert "mean quality" not in {one.rule for one in verify(case, plan, TOLERANCE)}


def sleeping() -> Problem:
    """`mixing` with a day and a night, in which half of the requests come and every replica may rest."""
    hours = np.array([[[60.0, 40.0]]]) * np.ones((2, 1, 1))
    return dataclasses.replace(
        mixing(),
        slots=Slots(hours=[[60.0], [40.0]], days=[[5.0], [5.0]], day_type=[0, 0], before=[1, 0]),  # type: ignore[arg-type]
        resting=Resting(
            may_rest=[True, True],  # type: ignore[arg-type]
            quiet_usd=0 * hours,
            quiet_kgco2e=0 * hours,
            rest_usd=-0.1 * hours,
            rest_kgco2e=-0.1 * hours,
            wake_usd=np.zeros((2, 1)),
            wake_kgco2e=np.zeros((2, 1)),
        ),
        slot_demand=SlotDemand(ready_fraction=[[[1.0, 0.5]]]),  # type: ignore[arg-type]
    )


def test_at_night_the_mean_quality_is_kept_by_what_is_awake() -> None:
    """At night 50 requests/s: 37.5 of them well, by 7.5 replicas of 15, and one of the other kind."""
    case = sleeping()
    text = rows(constrain_slot_services.keep_mean_quality_in_a_slot, case)
    plan = best(case).solution
    assert plan is not None
    assert plan.slots is not None
    awake = 15 - plan.slots.rest[0, 0, 1]

    assert "".join(text.split()).startswith("slot_quality_0_0_0:-quiet_0_0_0+replicas_0_0-rest_0_0_0>=15")
    assert "slot_quality_0_0_1:-quiet_0_0_1+replicas_0_0-rest_0_0_1>=7.5" in "".join(text.split())
    assert awake == pytest.approx(7.5, abs=1e-6)
    rested = np.array(plan.slots.rest)
    rested[0, 0, 1] += 1.0
    asleep = dataclasses.replace(plan, slots=dataclasses.replace(plan.slots, rest=rested))
    assert "mean quality in a slot" in {one.rule for one in verify(case, asleep, TOLERANCE)}
