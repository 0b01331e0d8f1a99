"""Where there is no plan, the limit that stands in the way is named, and the repair is proven."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import changed, cohort, limits, one_job, pools, problem, run_option, service, work
from test_solver_optimum import best, draw, try_everything

from solver.backend import Status
from solver.infeasible import Clash, explain_infeasible, quick_reasons, relaxed
from solver.problem import Problem


def busy(**parts: Any) -> Problem:
    """A job of 2 nodes (2 kW each above idle), 3 replicas (1 kW), half a node of work (1 kW): 6 nodes.

    Power 6 + 4 + 3 + 0.5 = 13.5 kW; 6 racks; 2400 USD cash; 97.5 kg.
    """
    plain: dict[str, Any] = {"jobs": one_job(), "run_options": run_option([[2]])}
    return problem(**(plain | service([25.0]) | work([50.0]) | parts))


def explain(case: Problem) -> Clash:
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

    clash = explain(case)

    found = {each.names[0]: each for each in clash.families}[family]
    assert found.suffices
    assert found.verified
    assert [give.amount for give in found.gives] == [pytest.approx(amount, rel=1e-6)]
    assert [give.share for give in found.gives] == [pytest.approx(share, rel=1e-6)]
    assert found.usd == pytest.approx(692.5)
    assert clash.joint is None


def test_a_deadline_is_moved_by_the_least_lateness() -> None:
    """On time there is no power for it; 3 h late the small run fits, 9 h late a smaller one would, too."""
    late = run_option([[4], [2], [1]], late_h=[0.0, 3.0, 9.0])
    clash = explain(busy(run_options=late, limits=limits(power_kw=[[14.0]])))
    found = {each.names[0]: each for each in clash.families}

    assert found["deadlines"].total("deadlines") == pytest.approx(3.0)
    assert found["deadlines"].verified
    assert found["deadlines"].gives[0].label == "deadlines, train"


def test_no_limit_alone_is_enough() -> None:
    """Power and space both stand in the way: each alone fails, the two together by 3.5 kW and 2 racks."""
    clash = explain(busy(limits=limits(power_kw=[[10.0]], racks=[4.0])))
    alone = {each.names[0]: each.suffices for each in clash.families}

    assert alone["power"] is False
    assert alone["space"] is False
    assert clash.joint is not None
    assert {give.label: pytest.approx(give.amount) for give in clash.joint.gives} == {
        "power, oregon, period 0": 3.5,
        "space, oregon": 2.0,
    }
    assert clash.joint.verified


def test_end_of_life_gives_way() -> None:
    """Nothing can be bought, and the three standing nodes end before the job: they would have to stay."""
    case = problem(
        periods=2,
        pools=pools(periods=2, purchase_allowed=[[0, 0]]),
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
    nothing = problem(
        jobs=one_job(), **service([25.0], capacity=0.0), **work([50.0], speed=[0.0])
    )  # fmt: skip
    late = problem(jobs=one_job(), run_options=run_option([[2]], late_h=[30.0]))

    assert list(quick_reasons(nothing)) == [
        "job train: there is no way to run it",
        "service chat: no way to serve it carries any load",
        "work notebooks: there is no pool to do it on",
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


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_every_repair_holds_and_is_needed(seed: int) -> None:
    """With the repair there is a plan, by trying everything; with nine tenths of a single give, none."""
    case = draw(seed)
    if best(case).status is not Status.INFEASIBLE:
        return
    clash = explain(case)

    assert clash.repairs
    for repair in clash.repairs:
        assert np.isfinite(try_everything(relaxed(case, repair.gives)))
        only = repair.gives[0]
        if len(repair.gives) == 1 and only.family not in ("jobs", "end of life"):  # those give way whole
            less = dataclasses.replace(only, amount=0.9 * only.amount)
            assert np.isinf(try_everything(relaxed(case, [less])))
