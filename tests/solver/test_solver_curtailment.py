"""Contracts for curtailment: signed where they pay, for power that is there to stop; work is made up for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from solver_cases import cohort, problem, work

from solver.answer import answer
from solver.problem import Problem
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
