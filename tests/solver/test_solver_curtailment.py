"""Contracts for curtailment: signed where they pay, for power that is there to stop; work is made up for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from solver_cases import cohort, one_job, problem, work

from solver.answer import answer
from solver.conflict import find_conflict
from solver.infeasible import explain_infeasible
from solver.prices import limit_uses, prices
from solver.problem import PausableOptions, Problem, Work, WorkOptions
from solver.verify import verify

LOST = 0.1  # half of the work stops in a fifth of the hours


def case(*, pays: float, least_kw: float = 0.2, obliged: bool = False) -> Problem:
    """Work of 100 h at 2 kW and 0.1 USD an hour, on nodes that stand and idle for nothing."""
    base = problem(
        cohorts=cohort(nodes=3, may_retire=np.zeros((1, 1), dtype=bool)),
        **work([100.0], stops_fraction=[0.5], active_kw=[2.0]),
    )
    groups = dataclasses.replace(base.node_groups, idle_usd_per_node=np.zeros((1, 1)))
    places = dataclasses.replace(
        base.places,
        curtailed_kw=np.array([least_kw]),
        curtailed_fraction=np.array([0.2]),
        curtailed_usd=np.array([[pays]]),
        curtailment_obliged=np.array([obliged]),
    )
    return dataclasses.replace(base, places=places, node_groups=groups)


def best(of: Problem) -> tuple[float, list[int], float]:
    """Money beyond keeping the nodes, what is signed, hours of work."""
    found = answer(of, gap_fraction=0.0, time_limit_s=20)
    assert found.solution is not None
    usd = found.solution.usd - float(found.solution.usd_terms.keep.sum())
    return usd, found.solution.signed.tolist(), float(found.solution.work_node_h.sum())


@pytest.mark.parametrize(
    ("pays", "least_kw", "signs"), [(5.0, 0.2, 1), (1.0, 0.2, 0), (5.0, 1.05, 1), (5.0, 1.2, 0)]
)
def test_it_is_signed_where_it_pays_and_power_enough_may_stop(
    pays: float, least_kw: float, signs: int
) -> None:
    """Lost hours are worked once more: 100 / 0.9 h; of 1.11 nodes at 2 kW half may stop, 1.11 kW.

    That takes 1.11 USD more: no less is paid. What is offered never makes a plan dearer.
    """
    usd, signed, hours = best(case(pays=pays, least_kw=least_kw))
    assert signed == [signs]
    assert hours == pytest.approx(100 / (1 - LOST * signs))
    assert usd == pytest.approx(0.1 * hours - pays * signs)
    assert usd <= 10.0 + 1e-6


def test_what_is_obliged_is_kept_though_it_pays_nothing() -> None:
    usd, signed, _ = best(case(pays=0.0, obliged=True))
    assert signed == [1]
    assert usd == pytest.approx(10.0 / (1 - LOST))
    assert answer(case(pays=0.0, least_kw=9.0, obliged=True), gap_fraction=0.0, time_limit_s=20).solution is (
        None
    ) or pytest.fail("9 kW of work is not there")


def test_a_contract_that_is_not_kept_is_no_plan() -> None:
    """Signed without the hours made up, or without the power that would have to stop."""
    of = case(pays=5.0)
    found = answer(of, gap_fraction=0.0, time_limit_s=20).solution
    assert found is not None
    short = dataclasses.replace(found, work_node_h=np.array([[100.0]]))
    assert "work" in {one.rule for one in verify(of, short, 1e-6)}
    weak = case(pays=5.0, least_kw=2.0)
    assert "curtailment" in {one.rule for one in verify(weak, found, 1e-6)}
    none = dataclasses.replace(of, places=dataclasses.replace(of.places, curtailed_kw=np.zeros(1)))
    assert "curtailment offered" in {one.rule for one in verify(none, found, 1e-6)}


def pausing(*, pays: float = 9.0, saves: float = 0.0, limit_h: float = 200.0) -> Problem:
    """A job of 100 node-hours at 2 kW and 0.1 USD an hour that may pause; a fifth of its hours is called."""
    base = case(pays=pays)
    return dataclasses.replace(
        base,
        work=Work.none(1),
        work_options=WorkOptions.none(1),
        jobs=one_job(),
        pausable_options=PausableOptions(
            job=np.array([0]),
            node_group=np.array([0]),
            nodes=np.array([3]),
            node_hours=np.array([100.0]),
            node_hours_limit=np.array([[limit_h]]),
            active_kw=np.array([2.0]),
            usd_per_node_h=np.array([[0.1]]),
            kgco2e_per_node_h=np.array([[0.0]]),
            stops_fraction=np.array([1.0]),
            stopped_usd_per_node_h=np.array([[saves]]),
        ),
    )


def test_a_job_that_pauses_stops_as_well() -> None:
    """It works 125 h, of which a fifth is lost; too tight a deadline leaves the contract unsigned."""
    found = answer(pausing(), gap_fraction=0.0, time_limit_s=5).solution
    assert found is not None
    assert found.signed.tolist() == [1]
    assert found.done_node_h.sum() == pytest.approx(125.0)
    assert found.completed.tolist() == [1.0]
    assert not verify(pausing(), found, 1e-6)
    short = dataclasses.replace(found, done_node_h=found.done_node_h * 0.9)
    assert "pausable work" in {one.rule for one in verify(pausing(), short, 1e-6)}
    tight = answer(pausing(limit_h=110.0), gap_fraction=0.0, time_limit_s=5).solution
    assert tight is not None
    assert tight.signed.tolist() == [0]
    assert tight.done_node_h.sum() == pytest.approx(100.0)


@pytest.mark.parametrize("saves", [0.0, 0.09, 0.1])
def test_what_calls_take_is_not_billed(saves: float) -> None:
    """Of 125 h 25 are lost: their electricity is not bought, and no more is lost than calls take."""
    found = answer(pausing(saves=saves), gap_fraction=0.0, time_limit_s=5).solution
    assert found is not None
    assert found.usd_terms.stopped.sum() == pytest.approx(-25.0 * saves)
    assert found.usd - found.usd_terms.keep.sum() == pytest.approx(12.5 - 9.0 - 25 * saves)
    work = dataclasses.replace(
        case(pays=5.0),
        work_options=dataclasses.replace(
            case(pays=5.0).work_options, stopped_usd_per_node_h=np.array([[saves]])
        ),
    )
    done = answer(work, gap_fraction=0.0, time_limit_s=5).solution
    assert done is not None
    assert done.usd_terms.stopped.sum() == pytest.approx(-saves * LOST * 100 / (1 - LOST))


def test_an_obliged_contract_that_cannot_be_kept_is_named_with_what_is_missing() -> None:
    """Of 1.11 nodes at work half may stop: 1.11 kW, where 1.2 kW are asked for. The repair is proven."""
    assert answer(case(pays=0.0, least_kw=1.1, obliged=True), gap_fraction=0.0, time_limit_s=5).solution
    short = case(pays=0.0, least_kw=1.2, obliged=True)
    assert answer(short, gap_fraction=0.0, time_limit_s=5).solution is None
    infeasible = explain_infeasible(short, gap_fraction=0.0, time_limit_s=5)
    (found,) = [one for one in infeasible.families if one.names == ("curtailment",)]
    [give] = found.gives
    assert (give.label, give.amount) == ("curtailment, oregon", pytest.approx(1.2 - 1 / 0.9, rel=1e-5))
    assert found.verified
    conflict = find_conflict(short, gap_fraction=0.0, time_limit_s=5)
    assert conflict is not None
    assert "curtailment" in {one.family for one in conflict.members}


def test_what_is_obliged_has_a_use_and_a_price() -> None:
    """1.11 kW may stop where 1 kW has to: 0.11 kW are left, and a kilowatt less is worth nothing."""
    edge = case(pays=0.0, least_kw=1.0, obliged=True)
    plan = answer(edge, gap_fraction=0.0, time_limit_s=5)
    assert plan.solution is not None
    (use,) = [one for one in limit_uses(edge, plan.solution, tolerance=1e-6) if one.family == "curtailment"]
    assert (use.used, use.limit) == (pytest.approx(1 / 0.9), 1.0)
    assert use.left == pytest.approx(1 / 0.9 - 1)
    (found,) = [
        one for one in prices(edge, plan, gap_fraction=0.0, time_limit_s=5) if one.family == "curtailment"
    ]
    assert found.saving_per_unit == pytest.approx(0.0, abs=1e-9)
