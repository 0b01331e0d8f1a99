"""Users in several regions: rows, plans against trying every number of replicas, and what breaks the rule."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from solver_cases import changed, node_groups, problem

from solver import build, constrain_services, constrain_slot_services, quality, regions
from solver.answer import answer
from solver.backend import Status
from solver.infeasible import explain_infeasible
from solver.known import Answer
from solver.problem import Problem, Resting, ServeOptions, Services, SlotDemand, Slots
from solver.program import Program
from solver.variables import empty
from solver.verify import verify
from solver.writing import write_program

TOLERANCE = 1e-6
FREE = {"holding_usd_per_node": np.zeros((1, 1)), "idle_usd_per_node": np.zeros((1, 1))}
HOME, AWAY, BOTH, ALL = 1, 2, 3, 0  # bits of regions


def service(
    answers: list[int], capacity: Any, usd: Any, share: Any = (0.6, 0.4), demand: Any = 100.0
) -> Problem:
    """Options of one service; a replica takes a node that is free, and costs `usd`."""
    count = len(answers)
    flat = np.ones((count, 1))
    group = changed(problem(periods=1, node_groups=node_groups(periods=1)), "node_groups", **FREE).node_groups
    found = problem(
        periods=1,
        node_groups=group,
        services=Services(name=("chat",), demand=np.array([[100.0]]), region_fraction=np.array([share])),
        serve_options=ServeOptions(
            service=np.zeros(count, dtype=int),
            node_group=np.zeros(count, dtype=int),
            capacity=np.array(capacity)[:, None] * flat,
            nodes=np.ones(count),
            standby_fraction=0 * flat,
            node_hours=100 * flat,
            active_kw=np.ones(count),
            usd=np.array(usd)[:, None] * flat,
            kgco2e=6 * flat,
            regions=np.array(answers),
        ),
    )
    assert isinstance(found, Problem)
    return found


def rows(constraint: Any, of: Problem) -> str:
    program: Program = empty(of, frozenset())
    before = set(program.model.constraints)
    constraint(program)
    named = {name: row for name, row in program.model.constraints.items() if name not in before}
    return "".join(row.asCplexLpConstraint(name) for name, row in named.items())


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=30.0)


def test_rows_of_regions() -> None:
    """At home 60 of 100 requests go to the first two, away 40 to the last two; all is the row of demand."""
    of = service([HOME, BOTH, AWAY], [10.0, 5.0, 10.0], [1.0, 1.0, 1.0])

    assert rows(constrain_services.answer_each_region, of) == (
        "region_0_0: replicas_0_0 + 0.5 replicas_1_0 >= 6\nregion_1_0: 0.5 replicas_1_0 + replicas_2_0 >= 4\n"
    )


def test_one_region_or_options_that_answer_all_have_no_row() -> None:
    for of in (
        service([HOME, ALL], [10.0, 5.0], [1.0, 1.0], share=(1.0,)),
        service([ALL, BOTH], [10.0, 5.0], [1.0, 1.0]),
        service([ALL, ALL], [10.0, 5.0], [1.0, 1.0], share=()),
    ):
        assert rows(constrain_services.answer_each_region, of) == ""


# Two regions that peak one after the other, and a third: shares of the peak by part of a day.
APART = np.array([[0.7, 0.2, 0.4], [0.2, 0.6, 0.3], [0.1, 0.2, 0.1]])


def apart(of: Problem, loads: Any) -> Problem:
    """The same with regions that peak at hours of their own."""
    return dataclasses.replace(
        of, services=dataclasses.replace(of.services, region_load_fraction=np.array([loads]))
    )


def test_rows_of_regions_that_peak_apart() -> None:
    """At home up to 70 of 100 go to the first two, away up to 60 to the last two: more than 100 together."""
    of = service([HOME, BOTH, AWAY], [10.0, 5.0, 10.0], [1.0, 1.0, 1.0])
    loads = [[0.7, 0.4], [0.3, 0.6]]

    assert rows(constrain_services.answer_each_region, apart(of, loads)) == (
        "region_0_0: replicas_0_0 + 0.5 replicas_1_0 >= 7\nregion_1_0: 0.5 replicas_1_0 + replicas_2_0 >= 6\n"
    )


@pytest.mark.parametrize("seed", range(6))
def test_peaks_apart_equal_trying_every_number_of_replicas(seed: int) -> None:
    """What stands has to deal the requests of each part of a day, each for itself: a flow for each part."""
    rng = np.random.default_rng(seed)
    answers = [1, 2, int(rng.integers(3, 8)), 4]
    capacity = rng.integers(20, 60, 4).astype(float)
    of = apart(service(answers, capacity, rng.integers(5, 90, 4), APART.mean(axis=1)), APART)
    tops = [int(np.ceil(100.0 / each)) for each in capacity]
    costs = sorted(
        (float(np.array(counts) @ of.serve_options.usd[:, 0]), counts)
        for counts in itertools.product(*(range(top + 1) for top in tops))
        if np.array(counts) @ capacity >= 100.0
    )
    wanted = next(
        cost for cost, counts in costs if all(can_be_dealt(of, counts, part) for part in APART.T.tolist())
    )

    found = best(of)
    assert found.objective == pytest.approx(wanted)
    assert found.solution is not None
    assert verify(of, found.solution, TOLERANCE) == []


def can_be_dealt(of: Problem, replicas: tuple[int, ...], loads: Any = None) -> bool:
    """Whether the requests of each region can be dealt to options that answer it: a flow."""
    serves = of.serve_options
    share = of.services.region_fraction[0] if loads is None else np.array(loads)
    demand, capacity = share * of.services.demand[0, 0], serves.capacity[:, 0] * replicas
    pairs = [
        (r, v)
        for r in range(len(share))
        for v in range(len(serves))
        if serves.regions[v] == 0 or serves.regions[v] >> r & 1
    ]
    sent, taken = np.zeros((len(share), len(pairs))), np.zeros((len(serves), len(pairs)))
    for k, (r, v) in enumerate(pairs):
        sent[r, k] = taken[v, k] = 1.0
    found = linprog(np.zeros(len(pairs)), A_ub=taken, b_ub=capacity + 1e-7, A_eq=sent, b_eq=demand)
    return bool(found.status == 0)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_equals_trying_every_number_of_replicas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(3))
    answers = [1, 2, int(rng.integers(3, 8)), 4]
    capacity = rng.integers(20, 60, 4).astype(float)
    of = service(answers, capacity, rng.integers(5, 90, 4), share)
    tops = [int(np.ceil(100.0 / each)) for each in capacity]
    costs = sorted(
        (float(np.array(counts) @ of.serve_options.usd[:, 0]), counts)
        for counts in itertools.product(*(range(top + 1) for top in tops))
        if np.array(counts) @ capacity >= 100.0
    )
    wanted = next(cost for cost, counts in costs if can_be_dealt(of, counts))

    assert best(of).objective == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("loads", [None, APART])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_paid_for_instead_is_left_in_all_regions_alike(seed: int, loads: Any) -> None:
    """Each number of replicas, with the most of all regions that can be dealt; the rest at its price."""
    rng = np.random.default_rng(seed)
    capacity, usd = rng.integers(20, 60, 4).astype(float), rng.integers(5, 90, 4).astype(float)
    share = APART.mean(axis=1) if loads is not None else rng.dirichlet(np.ones(3))
    of = service([1, 2, int(rng.integers(3, 8)), 4], capacity, usd, share)
    of = of if loads is None else apart(of, loads)
    unmet = float(rng.uniform(0.3, 2.0))
    of = dataclasses.replace(of, services=dataclasses.replace(of.services, unmet_usd=np.array([[unmet]])))
    tops = [int(np.ceil(100.0 / each)) for each in capacity]
    parts = [share] if loads is None else loads.T
    wanted = min(
        float(np.array(counts) @ usd) + unmet * 100.0 * (1 - most_dealt(of, counts, parts))
        for counts in itertools.product(*(range(top + 1) for top in tops))
    )

    found = best(of)
    assert found.objective == pytest.approx(wanted)
    assert found.solution is not None
    assert verify(of, found.solution, TOLERANCE) == []


def most_dealt(of: Problem, replicas: tuple[int, ...], parts: Any) -> float:
    """The largest part of all requests that can be dealt, by the least cut: sums over sets of regions."""
    carried, answers = of.serve_options.capacity[:, 0] * replicas, of.serve_options.regions
    cuts = [1.0]
    for size in range(1, 4):
        for some in itertools.combinations(range(3), size):
            mask = sum(1 << r for r in some)
            has = float(carried[(answers & mask) > 0].sum())
            cuts += [has / (100.0 * float(np.sum(part[list(some)]))) for part in parts]
    return min(cuts)


def losing(of: Problem, lost: Any, limit: float) -> Problem:
    """The same with options that lose a part of the quality, and what requests may lose on average."""
    serves = dataclasses.replace(of.serve_options, lost_fraction=np.array(lost))
    services = dataclasses.replace(of.services, mean_loss_limit_fraction=np.array([limit]))
    return dataclasses.replace(of, serve_options=serves, services=services)


def least_lost(of: Problem, replicas: Any) -> float:
    """What requests lose at least where those of each region are dealt to options: a linear program."""
    serves, share = of.serve_options, of.services.region_fraction[0]
    pairs = [(r, v) for r in range(len(share)) for v in range(len(serves)) if serves.regions[v] >> r & 1]
    sent, taken = np.zeros((len(share), len(pairs))), np.zeros((len(serves), len(pairs)))
    for k, (r, v) in enumerate(pairs):
        sent[r, k] = taken[v, k] = 1.0
    found = linprog(
        [serves.lost_fraction[v] for _, v in pairs],
        A_ub=taken,
        b_ub=serves.capacity[:, 0] * replicas + 1e-9,
        A_eq=sent,
        b_eq=share * 100.0,
    )
    return float(found.fun) if found.status == 0 else np.inf


def mixed(seed: int) -> Problem:
    """Three regions, and options of three losses that answer one or several of them."""
    rng = np.random.default_rng(seed)
    answers = [1, 2, 4, int(rng.integers(3, 8)), int(rng.integers(3, 8))]
    lost = rng.choice([-0.02, 0.0, 0.1, 0.3], 5)
    of = service(
        answers, rng.integers(20, 60, 5).astype(float), rng.integers(5, 90, 5), rng.dirichlet([2] * 3)
    )
    return losing(of, lost, float(rng.uniform(0.0, 0.12)))


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_quality_hold_where_the_best_dealing_loses_little_enough(seed: int) -> None:
    """For replicas drawn at random: rows of the program, the least that a flow loses, who answers what."""
    of, rng = mixed(seed), np.random.default_rng(seed)
    _, gains = quality.gains(of)
    _, answers, share = regions.columns(of)
    limit, seen = float(of.services.mean_loss_limit_fraction[0]), set()
    for _ in range(60):
        replicas = rng.integers(0, 5, 5)
        carried = of.serve_options.capacity[:, 0] * replicas
        dealt = carried.sum() >= 100 and (answers @ carried >= share * 100.0 - 1e-9).all()
        least = least_lost(of, replicas)
        assert dealt == np.isfinite(least)
        if not dealt:
            continue
        assert (gains @ carried >= 100.0 - 1e-7).all() == (least <= limit * 100.0 + 1e-7)
        answered = quality.answered(of, carried[:, None], np.array([[100.0]]))
        assert answered.sum() == pytest.approx(100.0)
        assert (answered[:, 0] <= carried + 1e-9).all()
        assert of.serve_options.lost_fraction @ answered[:, 0] == pytest.approx(least, abs=1e-6)
        seen.add(least <= limit * 100.0 + 1e-7)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_plan_with_a_mean_of_quality_equals_trying_every_number_of_replicas(seed: int) -> None:
    of = mixed(seed)
    limit = float(of.services.mean_loss_limit_fraction[0])
    capacity = of.serve_options.capacity[:, 0]
    costs = sorted(
        (float(np.array(counts) @ of.serve_options.usd[:, 0]), counts)
        for counts in itertools.product(*(range(int(np.ceil(100.0 / each)) + 1) for each in capacity))
        if np.array(counts) @ capacity >= 100.0
    )
    wanted = next((cost for cost, each in costs if least_lost(of, each) <= limit * 100.0 + 1e-7), None)
    found = best(of)

    if wanted is None:
        assert found.status is Status.INFEASIBLE
        return
    assert found.objective == pytest.approx(wanted)
    assert found.solution is not None
    assert verify(of, found.solution, TOLERANCE) == []


def test_rows_of_quality_of_two_regions_by_hand() -> None:
    """Home is answered well or not, away only badly: 0.4 x 0.2 are lost there, 0.02 more may be at home."""
    of = losing(service([HOME, HOME, AWAY], [10.0, 10.0, 10.0], [2.0, 1.0, 1.0]), [0.0, 0.2, 0.2], 0.1)
    plan = best(of).solution
    assert plan is not None

    # 60 at home, of which 10 may be answered badly: 40 + 10 of 100 lose 0.2, which is 0.1 on average.
    assert plan.replicas[:, 0].tolist() == [5, 1, 4]
    tighter = losing(of, [0.0, 0.2, 0.2], 0.079)
    assert explain_infeasible(tighter, gap_fraction=0.0, time_limit_s=20).reasons == (
        "service chat: every way to serve it loses more quality than it may on average",
    )


def test_rows_of_regions_are_written_by_name(tmp_path: Path) -> None:
    of = service([HOME, BOTH, AWAY], [10.0, 5.0, 10.0], [1.0, 1.0, 1.0])
    write_program(of, tmp_path / "p.lp", period_names=["2027"])
    text = (tmp_path / "p.lp").read_text()

    assert "region_chat_users_0_2027:" in text
    assert "region_chat_users_1_2027:" in text


def test_a_region_that_nothing_answers_is_said() -> None:
    of = service([HOME, HOME], [10.0, 20.0], [1.0, 1.0])
    found = explain_infeasible(of, gap_fraction=0.0, time_limit_s=20)

    assert best(of).status is Status.INFEASIBLE
    assert found.reasons == ("service chat: nothing answers the users of one of its regions",)


def test_a_plan_that_leaves_a_region_short_breaks_a_rule() -> None:
    of = service([HOME, AWAY], [10.0, 10.0], [1.0, 2.0])
    plan = best(of).solution
    assert plan is not None
    short = dataclasses.replace(plan, replicas=np.array([[7], [3]]))

    assert plan.replicas[:, 0].tolist() == [6, 4]
    assert verify(of, plan, TOLERANCE) == []
    assert {one.rule for one in verify(of, short, TOLERANCE)} >= {"region"}


def at_night(of: Problem) -> Problem:
    """The same with a night of half the demand, in which replicas of two options may rest."""
    hours = np.array([[[60.0, 40.0]]]) * np.ones((2, 1, 1))
    return dataclasses.replace(
        of,
        slots=Slots(hours=[[60.0], [40.0]], days=[[5.0], [5.0]], day_type=[0, 0], before=[1, 0]),  # type: ignore[arg-type]
        resting=Resting(
            may_rest=[True] * 2,  # type: ignore[arg-type]
            quiet_usd=0 * hours,
            quiet_kgco2e=0 * hours,
            rest_usd=np.array([-0.01, -0.005])[:, None, None] * hours,
            rest_kgco2e=-0.1 * hours,
            wake_usd=np.zeros((2, 1)),
            wake_kgco2e=np.zeros((2, 1)),
        ),
        slot_demand=SlotDemand(ready_fraction=np.array([[[1.0, 0.5]]])),
    )


def test_a_slot_is_ready_for_the_regions_that_are_awake() -> None:
    """By day 70 of 100 requests come from home, at night 20 of 50; the others from away."""
    of = apart(at_night(service([HOME, AWAY], [10.0, 10.0], [1.0, 2.0])), [[0.7, 0.2], [0.3, 0.3]])
    text = rows(constrain_slot_services.answer_each_region_in_a_slot, of)
    plan = best(of).solution

    assert [line.rpartition(">= ")[2] for line in text.splitlines()] == ["7", "2", "3", "3"]
    assert plan is not None
    assert plan.slots is not None
    assert np.array(plan.slots.rest)[:, 0, 1].tolist() == pytest.approx([5.0, 0.0])
    assert verify(of, plan, TOLERANCE) == []


def test_what_is_awake_at_night_answers_each_region() -> None:
    """At night half of the demand: three replicas at home and two away rest, not four and one."""
    of = at_night(service([HOME, AWAY], [10.0, 10.0], [1.0, 2.0]))
    text = rows(constrain_slot_services.answer_each_region_in_a_slot, of).splitlines()
    plan = best(of).solution
    assert plan is not None
    assert plan.slots is not None
    rested = np.array(plan.slots.rest)

    assert text[1] == "slot_region_0_0_1: - quiet_0_0_1 + replicas_0_0 - rest_0_0_1 >= 3"
    assert rested[:, 0, 1].tolist() == pytest.approx([3.0, 2.0])
    other = np.array([[[0.0, 4.0]], [[0.0, 1.0]]])
    asleep = dataclasses.replace(plan, slots=dataclasses.replace(plan.slots, rest=other))
    assert "region in a slot" in {one.rule for one in verify(of, asleep, TOLERANCE)}


def test_the_largest_of_sets_that_the_same_options_answer_is_enough() -> None:
    """Three regions at one place: of six sets one row is left for it, and one for the other place."""
    of = service([1 + 2 + 4, 8], [10.0, 10.0], [1.0, 1.0], share=(0.2, 0.3, 0.1, 0.4))
    _, answers, share = regions.columns(of)

    assert len(list(regions.every_set(of))) == 14
    assert answers.tolist() == [[True, False], [False, True]]
    assert share == pytest.approx([0.6, 0.4])
    assert build.build(of).model.name
