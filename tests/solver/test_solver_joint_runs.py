"""Runs that several sites share: one decision for all their rows, next to trying every way by hand."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from solver_cases import changed, limits, node_groups, problem

from solver import build, constrain_tasks
from solver.answer import answer
from solver.backend import Status
from solver.infeasible import explain_infeasible
from solver.known import Answer
from solver.problem import Jobs, Problem, RunOptions
from solver.tables import ProblemError
from solver.tighten import _full_price_of_runs
from solver.variables import empty
from solver.verify import verify

TOLERANCE = 1e-6


def case(
    nodes: list[int], group: list[int], joint: list[int], usd: list[float], racks: list[float], count: int = 1
) -> Problem:
    """One SKU at two sites; a node costs 100 USD, a run its `usd` on top, for one period."""
    rows = np.array(nodes, dtype=float)[:, None]
    found = problem(
        count=2,
        site_names=("dallas", "oregon"),
        sku_names=("h100",),
        node_groups=node_groups(count=2, sku=[0, 0], site=[0, 1]),
        jobs=Jobs(
            name=("train",),
            optional=[False],  # type: ignore[arg-type]
            left_out_usd=[0.0],  # type: ignore[arg-type]
            left_out_kgco2e=[0.0],  # type: ignore[arg-type]
            count=[count],  # type: ignore[arg-type]
        ),
        run_options=RunOptions(
            job=np.zeros(len(nodes), dtype=int),
            node_group=np.array(group),
            start=np.zeros(len(nodes), dtype=int),
            late_h=np.zeros(len(nodes)),
            nodes=rows.astype(int),
            node_hours=100.0 * rows,
            active_kw=2.0 * rows,
            usd=np.array(usd)[:, None],
            kgco2e=8.0 * rows,
            joint=np.array(joint),
        ),
        limits=limits(skus=1, sites=2, racks=np.array(racks)),
    )
    assert isinstance(found, Problem)
    return found


def shared(racks: list[float] | None = None, count: int = 1) -> Problem:
    """Eight nodes at either site, or four at each for more money."""
    return case([8, 8, 4, 4], [0, 1, 0, 1], [0, 0, 1, 1], [10, 20, 30, 5], racks or [5, 5], count)


def best(of: Problem) -> Answer:
    return answer(of, gap_fraction=0.0, time_limit_s=30.0)


def test_rows_of_a_shared_run_are_one_variable() -> None:
    program = build.build(shared())
    rows = {name: row.asCplexLpConstraint(name) for name, row in program.model.constraints.items()}

    assert rows["job_0"] == "job_0: left_out_0 + run_0 + run_1 + run_2 = 1\n"
    assert rows["in_use_0_0"] == "in_use_0_0: in_use_0_0 - 8 run_0 - 4 run_2 = 0\n"
    assert rows["in_use_1_0"] == "in_use_1_0: in_use_1_0 - 8 run_1 - 4 run_2 = 0\n"
    assert program.model.objective is not None
    assert program.model.objective[program.run[3]] == pytest.approx(0.035 - 8 * 0.005)  # less idling


def test_late_rows_of_a_shared_run_count_once() -> None:
    late = changed(shared(), "run_options", late_h=np.array([0.0, 0.0, 7.0, 7.0]))
    program = empty(late, frozenset({"deadlines"}))
    constrain_tasks.keep_deadlines(program)
    (row,) = program.model.constraints.values()

    assert row[program.run[2]] == 7.0


def test_what_no_site_holds_takes_two() -> None:
    """Five racks at each site hold no run of eight nodes; four at each cost 8 * 100 + 30 + 5."""
    alone = case([8, 8], [0, 1], [0, 0], [10, 20], [5, 5])
    assert best(alone).status is Status.INFEASIBLE
    found = best(shared())

    assert found.solution is not None
    assert found.solution.run.tolist() == [0, 0, 1, 1]
    assert found.solution.usd == pytest.approx(835)
    assert found.solution.in_use.tolist() == [[4], [4]]
    assert verify(shared(), found.solution, TOLERANCE) == []


def test_a_site_that_holds_it_is_cheaper() -> None:
    found = best(shared([8, 5]))

    assert found.solution is not None
    assert found.solution.run.tolist() == [1, 0, 0, 0]


def test_half_a_shared_run_is_no_run() -> None:
    of = shared()
    found = best(of).solution
    assert found is not None
    halved = dataclasses.replace(found, run=np.array([0, 0, 1, 0]))

    assert "run at all its sites" in {one.rule for one in verify(of, halved, TOLERANCE)}


def test_a_shared_run_that_lacks_room_is_explained() -> None:
    found = explain_infeasible(shared([3, 7]), gap_fraction=0.0, time_limit_s=30.0)

    assert any(each.names == ("space",) and each.suffices for each in found.families)


def least_usd(of: Problem) -> float:
    """Every way to give the jobs their options, shared ones as a whole."""
    runs, racks, count = of.run_options, of.limits.racks, int(of.jobs.count[0])
    whole = np.flatnonzero(runs.counts)
    found = np.inf
    for taken in itertools.combinations_with_replacement(whole.tolist(), count):
        rows = [row for one in taken for row in np.flatnonzero(runs.first == one).tolist()]
        held = np.zeros(2)
        for row in rows:
            held[runs.node_group[row]] += runs.nodes[row, 0]
        if (held <= racks).all():
            found = min(found, 100.0 * held.sum() + float(runs.usd[rows].sum()))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = int(rng.integers(4, 10))
    part = rng.integers(1, whole, 3)
    nodes = [whole, whole, *itertools.chain.from_iterable((int(p), whole - int(p)) for p in part)]
    usd = rng.integers(0, 400, 8).astype(float).tolist()
    racks = rng.integers(whole // 2, 2 * whole, 2).astype(float).tolist()
    of = case(nodes, [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3], usd, racks, int(rng.integers(1, 3)))
    found, least = best(of), least_usd(of)

    if np.isinf(least):
        assert found.status is Status.INFEASIBLE
    else:
        assert found.solution is not None
        assert found.solution.usd == pytest.approx(least)


def test_the_bound_of_a_rebate_counts_a_shared_run_whole() -> None:
    """At a full share nothing is above it: 8 nodes of the SKU, not the 4 of one site."""
    of = case([4, 4], [0, 1], [1, 1], [0, 0], [8, 8])
    program = empty(of)
    share = np.array([program.rented[0, 0]])
    _full_price_of_runs(program, 0, share, "full")
    (row,) = [one for name, one in program.model.constraints.items() if name.startswith("full")]

    assert abs(row[share[0]]) == abs(row[program.run[0]]) == 8


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"job": [0, 0, 0, 1]}, r"run_options.job\[3\]"),
        ({"node_group": [0, 1, 0, 0]}, "joint has a run with a node group twice"),
    ],
)
def test_rows_that_are_no_run_are_refused(columns: dict[str, list[int]], said: str) -> None:
    two = dataclasses.replace(
        shared(),
        jobs=Jobs(name=("a", "b"), optional=[0, 0], left_out_usd=[0, 0], left_out_kgco2e=[0, 0]),  # type: ignore[arg-type]
    )
    with pytest.raises(ProblemError, match=said):
        changed(two, "run_options", **{name: np.array(one) for name, one in columns.items()})
