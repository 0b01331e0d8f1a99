"""Where there is no plan, the limit that stands in the way is named, and the repair is proven."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from infeasible_cases import fleet_of_every_kind, has_plan, without_plan
from sizes import size
from solver_cases import changed, cohort, limits, node_groups, one_job, problem, run_option, service, work
from test_solver_optimum import best, draw, try_everything

from solver import backend
from solver.backend import Outcome, Status
from solver.build import build
from solver.conflict import Conflict, find_conflict, without
from solver.infeasible import (
    Give,
    Infeasibility,
    explain_infeasible,
    label,
    quick_reasons,
    relaxed,
)
from solver.problem import Problem
from solver.program import FAMILIES


def busy(**parts: Any) -> Problem:
    """A job of 2 nodes (2 kW each above idle), 3 replicas (1 kW), half a node of work (1 kW): 6 nodes.

    Power 6 + 4 + 3 + 0.5 = 13.5 kW; 6 racks; 2400 USD cash; 97.5 kg.
    """
    plain: dict[str, Any] = {"jobs": one_job(), "run_options": run_option([[2]])}
    return problem(**(plain | service([25.0]) | work([50.0]) | parts))


def conflict(case: Problem) -> Conflict:
    found = find_conflict(case, gap_fraction=0.0, time_limit_s=20)
    assert found is not None
    return found


def explain(case: Problem) -> Infeasibility:
    return explain_infeasible(case, gap_fraction=0.0, time_limit_s=20)


@pytest.mark.parametrize(
    ("limit", "value", "family", "amount", "share"),
    [
        ("power_kw", [[10.0]], "power", 3.5, 0.35),
        ("racks", [4.0], "space", 2.0, 0.5),
        ("supply_nodes", [[5.0]], "supply", 1.0, 0.2),
        ("budget_usd", [2000.0], "budget", 400.0, 0.2),
        ("carbon_cap_kgco2e", 78.0, "carbon cap", 19.5, 0.25),
    ],
)
def test_the_narrow_limit_is_named(limit: str, value: Any, family: str, amount: float, share: float) -> None:
    """The amounts are those of the plan worked out in `busy`; the repaired plan is that plan, 692.5 USD."""
    case = busy(limits=limits(**{limit: value}))
    assert best(case).status is Status.INFEASIBLE

    infeasibility = explain(case)

    found = {each.names[0]: each for each in infeasibility.families}[family]
    assert found.suffices
    assert found.verified
    assert [give.amount for give in found.gives] == [pytest.approx(amount, rel=1e-6)]
    assert [give.share for give in found.gives] == [pytest.approx(share, rel=1e-6)]
    assert found.usd == pytest.approx(692.5)
    assert infeasibility.joint is None


def test_a_deadline_is_moved_by_the_least_lateness() -> None:
    """On time there is no power for it; 3 h late the small run fits, 9 h late a smaller one would, too."""
    late = run_option([[4], [2], [1]], late_h=[0.0, 3.0, 9.0])
    infeasibility = explain(busy(run_options=late, limits=limits(power_kw=[[14.0]])))
    found = {each.names[0]: each for each in infeasibility.families}

    assert found["deadlines"].total("deadlines") == pytest.approx(3.0)
    assert found["deadlines"].verified
    assert found["deadlines"].gives[0].label == "deadlines, train"


def test_no_limit_alone_is_enough() -> None:
    """Power and space both stand in the way: each alone fails, the two together by 3.5 kW and 2 racks."""
    infeasibility = explain(busy(limits=limits(power_kw=[[10.0]], racks=[4.0])))
    alone = {each.names[0]: each.suffices for each in infeasibility.families}

    assert alone["power"] is False
    assert alone["space"] is False
    assert infeasibility.joint is not None
    assert {give.label: pytest.approx(give.amount) for give in infeasibility.joint.gives} == {
        "power, oregon, period 0": 3.5,
        "space, oregon": 2.0,
    }
    assert infeasibility.joint.verified


def test_end_of_life_gives_way() -> None:
    """Nothing can be bought, and the three standing nodes end before the job: they would have to stay."""
    case = problem(
        periods=2,
        node_groups=node_groups(periods=2, purchase_allowed=[[0, 0]]),
        jobs=one_job(),
        run_options=run_option([[0, 2]]),
        cohorts=cohort(nodes=3, periods=2, must_retire_by=[1]),
    )
    found = {each.names[0]: each for each in explain(case).families}

    assert found["end of life"].total("end of life") == pytest.approx(2.0)
    assert found["end of life"].verified
    assert found["jobs"].total("jobs") == 1.0


def test_a_minimum_order_gives_way() -> None:
    """Two nodes can be had, two are needed, and eight would have to be ordered."""
    case = problem(
        jobs=one_job(),
        run_options=run_option([[2]]),
        limits=limits(supply_nodes=[[2.0]], minimum_nodes=[8.0]),
    )
    found = {each.names[0]: each for each in explain(case).families}

    assert found["minimum order"].total("minimum order") == pytest.approx(6.0)
    assert found["minimum order"].verified
    assert found["supply"].total("supply") == pytest.approx(6.0)


def test_what_is_asked_for_gives_way_last() -> None:
    """Nothing can be bought, and two standing nodes carry 20 of 25 requests/s: 5 stay unserved."""
    case = problem(**service([25.0]), cohorts=cohort(nodes=2), limits=limits(supply_nodes=[[0.0]]))
    found = {each.names[0]: each for each in explain(case).families}

    assert found["demand"].total("demand") == pytest.approx(5.0)
    assert found["demand"].gives[0].share == pytest.approx(0.2)
    assert found["demand"].verified


def test_reasons_that_need_no_solving() -> None:
    nothing = problem(jobs=one_job(), **service([25.0], capacity=0.0), **work([50.0], speed=[0.0]))
    late = problem(jobs=one_job(), run_options=run_option([[2]], late_h=[30.0]))

    assert list(quick_reasons(nothing)) == [
        "job train: there is no way to run it",
        "service chat: no way to serve it carries any load",
        "work notebooks: there is no node group to do it on",
    ]
    assert list(quick_reasons(late)) == ["job train: every way to run it is late, by 30 h at least"]
    assert list(quick_reasons(busy())) == []
    assert explain(nothing).joint is not None


def test_a_zero_limit_is_measured_by_its_neighbours() -> None:
    """No share of nothing: a budget of 0 in one period is counted in budgets of the other."""
    case = changed(
        problem(periods=2, **service([25.0, 25.0]), limits=limits(periods=2)),
        "limits",
        budget_usd=[0.0, 600.0],
    )
    found = {each.names[0]: each for each in explain(case).families}

    assert [(give.amount, give.share) for give in found["budget"].gives] == [
        (pytest.approx(1200.0), pytest.approx(2.0))
    ]


def test_of_a_budget_of_nothing_there_is_no_share() -> None:
    """Buying is forbidden in both periods: the amount is told, and no percentage of 0."""
    case = changed(
        problem(periods=2, **service([25.0, 25.0]), limits=limits(periods=2)), "limits", budget_usd=[0.0, 0.0]
    )
    found = {each.names[0]: each for each in explain(case).families}

    assert [(give.amount, give.share) for give in found["budget"].gives] == [
        (pytest.approx(1200.0), math.inf)
    ]


@pytest.mark.nightly
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(10, nightly=25), deadline=None, derandomize=True)
def test_every_repair_holds_and_is_needed(seed: int) -> None:
    """With the repair there is a plan, by trying everything; with nine tenths of a single give, none."""
    case = draw(seed)
    if best(case).status is not Status.INFEASIBLE:
        return
    infeasibility = explain(case)

    assert infeasibility.repairs
    for repair in infeasibility.repairs:
        assert np.isfinite(try_everything(relaxed(case, repair.gives)))
        only = repair.gives[0]
        if len(repair.gives) == 1 and only.family not in (
            "jobs",
            "end of life",
            "availability",
        ):  # those give way whole
            less = dataclasses.replace(only, amount=0.9 * only.amount)
            assert np.isinf(try_everything(relaxed(case, [less])))


def test_a_conflict_names_only_what_cannot_be_kept_together() -> None:
    """25 requests/s ask for 3 racks of 2; a job of one node and half a node of work would fit together."""
    wide = limits(racks=[2.0], power_kw=[[50.0]], budget_usd=[9000.0])
    found = conflict(busy(run_options=run_option([[1]]), limits=wide))

    assert [each.label for each in found.members] == ["space, oregon", "demand, chat, period 0"]
    assert found.proven
    assert found.irreducible


def test_a_deadline_in_conflict_with_power() -> None:
    """On time the job needs 4 nodes and 12 kW; 3 h late 2 nodes and 6 kW: there are 8 kW."""
    case = problem(
        jobs=one_job(),
        run_options=run_option([[4], [2]], late_h=[0.0, 3.0]),
        limits=limits(power_kw=[[8.0]], racks=[9.0]),
    )

    assert [each.label for each in conflict(case).members] == [
        "power, oregon, period 0",
        "deadlines, train",
        "jobs, train",
    ]


def test_there_is_no_conflict_where_there_is_a_plan() -> None:
    assert find_conflict(busy(), gap_fraction=0.0, time_limit_s=20) is None


def test_a_search_without_time_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no solve comes to an end, every limit may be needed, and nothing is proven."""
    unknown = Outcome(Status.NO_INCUMBENT, math.nan, -math.inf, math.inf, 0.0, {})
    monkeypatch.setattr("solver.conflict.solve_checked", lambda program, **effort: (unknown, None))
    found = conflict(busy(limits=limits(racks=[2.0])))

    assert [each.family for each in found.members] == ["space", "demand", "jobs", "work"]
    assert not found.proven
    assert not found.irreducible


def check_conflict_and_repair(family: str, seed: int) -> None:
    """The fleet had a plan until one family was tightened, so that every conflict names one of that family.

    Independent routes: CBC finds no plan with the conflict alone, and the plain program has one, checked by
    plain sums, without any one of its members. The repair is solved and checked likewise.
    """
    case = without_plan(family, seed)
    found = conflict(case)
    keys = [(each.family, each.index) for each in found.members]
    every = find_every_limit(case)
    others = [key for key in every if key not in keys]

    assert found.proven
    assert found.irreducible
    assert family in {each.family for each in found.members}
    assert [each.label for each in found.members] == [label(case, *key) for key in keys]
    assert not has_plan(without(case, others), engine="cbc")
    for key in keys:
        assert has_plan(without(case, [*others, key]))

    program = build(case, FAMILIES)
    outcome = backend.solve(program.model, gap_fraction=0.1, time_limit_s=20)
    given = {key: amount for key, amount in program.given_way(outcome.values).items() if amount > 1e-6}
    assert has_plan(relaxed(case, [Give(*key, "", amount, amount) for key, amount in given.items()]))
    assert set(given) & set(keys)  # no repair leaves a conflict whole


def find_every_limit(case: Problem) -> list[tuple[str, tuple[int, ...]]]:
    """Families and indices of all that can be let go."""
    return list(build(case, FAMILIES).slacks)


def test_a_conflict_among_every_kind_of_decision() -> None:
    """Rented and moved nodes cannot save a fleet that may spend next to nothing: the money cap is named."""
    case = changed(fleet_of_every_kind(2), "limits", money_cap_usd=100.0)
    found = conflict(case)

    assert "money cap" in {each.family for each in found.members}
    assert found.proven
    assert found.irreducible


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fleet_tightened_by_one_family(family: str) -> None:
    """One fleet for each family of limits; up to a hundred are in the next test."""
    check_conflict_and_repair(family, seed=1000)


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(10))
def test_a_hundred_fleets_without_a_plan(chunk: int) -> None:
    """Ten fleets each, all families in turn: a verified irreducible conflict, and a repair that solves.

    By day each family is met once, above.
    """
    for seed in range(10 * chunk, 10 * chunk + 10):
        check_conflict_and_repair(FAMILIES[seed % len(FAMILIES)], seed)
