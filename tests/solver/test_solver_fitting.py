"""Whole replicas for whole orders: all is carried, and where they use too many nodes that is told."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import changed, problem, service
from test_solver_optimum import best, draw_more

from solver import account, steps
from solver.build import build
from solver.fitting import Fitted, _changes, _Fitting, fit
from solver.problem import Problem, Services
from solver.program import Program
from solver.verify import objective_value, verify


def search(time_limit_s: float = 60.0) -> steps.Search:
    return steps.Search(0.0, time.monotonic() + time_limit_s, None)


def services(*demand: float) -> Problem:
    """One after the other, in replicas of 10 requests/s that fill a node."""
    one = service([10.0])["serve_options"]
    count = len(demand)
    fields = {
        each.name: np.repeat(getattr(one, each.name), count, axis=0) for each in dataclasses.fields(one)
    }
    serves = dataclasses.replace(one, **(fields | {"service": np.arange(count)}))
    named = tuple(f"service-{number}" for number in range(count))
    return problem(services=Services(name=named, demand=np.array(demand)[:, None]), serve_options=serves)


def fitted(program: Program, ordered: dict[str, float]) -> Fitted | None:
    """With the choices of `ordered` held; all is as open as before."""
    before = steps.ranges(program)
    program.count_replicas()
    steps.hold(steps.choices(program), ordered)
    found = fit(program, ordered, search())
    steps.restore(before)
    return found


def finished(program: Program, found: dict[str, float]) -> dict[str, float]:
    """What is still a fraction made whole."""
    held = (program.replicas, program.order, program.retire, program.move)
    steps.hold((*held, *steps.choices(program)), found)
    outcome = search()(program, None)
    assert outcome.status.has_plan
    return dict(outcome.values)


def test_changes_are_all_of_up_to_two_more_and_two_less() -> None:
    changes = _changes(3).tolist()

    assert len({tuple(each) for each in changes}) == len(changes)
    assert all(sum(max(part, 0) for part in each) <= 2 for each in changes)
    assert all(sum(max(-part, 0) for part in each) <= 2 for each in changes)
    for expected in ([0, 0, 0], [2, 0, 0], [1, 1, -2], [0, -1, 1], [-1, -1, 2]):
        assert expected in changes
    assert [3, 0, 0] not in changes


@pytest.mark.parametrize("nodes", [5, 6])
def test_what_has_no_room_is_told(nodes: int) -> None:
    """2.5 replicas each of two services fill 5 nodes as fractions; whole they are 3 each, on one more."""
    program = build(services(25.0, 25.0))
    relaxed = search().relax(program)
    found = fitted(program, {**relaxed.values, program.order[0, 0].name: float(nodes)})

    assert found is not None
    assert steps.reader(found.values)(program.replicas).ravel().tolist() == [3, 3]
    assert found.too_full.tolist() == [nodes < 6]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(8, nightly=40), deadline=None, derandomize=True)
def test_a_plan_that_fits_stays_and_fractions_become_one(seed: int) -> None:
    """From the best plan on nothing moves; from fractions for its orders on, what is found is a plan."""
    case = draw_more(seed)
    if (optimum := best(case)).solution is None:
        return
    program = build(case)
    program.count_replicas()
    whole = search()(program, None)
    assert whole.status.has_plan
    kept = fitted(program, dict(whole.values))
    assert kept is not None
    assert not kept.too_full.any()
    assert steps.reader(kept.values)(program.replicas) == pytest.approx(
        np.rint(steps.reader(whole.values)(program.replicas)), abs=1e-6
    )

    steps.hold((*steps.choices(program), program.order, program.retire, program.move), whole.values)
    fractions = search().relax(program)
    program = build(case)
    found = fitted(program, {**whole.values, **fractions.values})
    if found is None or found.too_full.any():
        return
    plan = program.solution(finished(program, found.values))
    assert verify(case, plan, 1e-6) == []
    assert objective_value(case, plan) >= optimum.objective - 1e-6 * abs(optimum.objective) - 1e-6


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(5, nightly=20), deadline=None, derandomize=True)
def test_room_is_what_nothing_else_takes(seed: int) -> None:
    """Nodes in service and rented, less spares, those down, runs and jobs; what is over is no room."""
    case = draw_more(seed)
    program = build(case)
    program.count_replicas()
    whole = search()(program, None)
    if not whole.status.has_plan:
        return
    steps.hold(steps.choices(program), whole.values)
    fitting, read = _Fitting(program, dict(whole.values), search()), steps.reader(whole.values)
    replicas = np.rint(read(program.replicas))
    own = account.totals_by(
        case.serve_options.node_group, len(case.node_groups), case.serve_options.nodes[:, None] * replicas
    )
    down = account.down_nodes(case, read(program.standing))  # type: ignore[arg-type]
    there = read(program.in_service) + read(program.rented) * (case.node_groups.rental_limit_nodes > 0) - down
    over = np.ones_like(there)
    room = fitting._room_for(replicas, whole.values, over)

    there = there - account.nodes_under_way(case, read(program.move), mean=False)  # type: ignore[arg-type]
    assert room == pytest.approx(there - read(program.spares) - (read(program.in_use) - own) - over, abs=1e-6)


def test_a_node_group_that_stays_too_full_gets_dearer() -> None:
    """Two services want five nodes of a group of four: in the end a node there costs more than it did."""
    program = build(services(25.0, 25.0))
    relaxed = search().relax(program)
    fitting = _Fitting(program, {**relaxed.values, program.order[0, 0].name: 4.0}, search())
    fitting._room[0, 0] = 4.0
    fitting._settle(0, 0)

    assert fitting._replicas[:, 0].tolist() == [3, 3]
    assert fitting._dearer[0, 0] > fitting._steep


def test_options_of_one_node_group_fill_it_together() -> None:
    """What is told of the nodes in use is what the replicas use, whichever of two sizes they are."""
    one = service([24.0])["serve_options"]
    both = {field.name: np.repeat(getattr(one, field.name), 2, axis=0) for field in dataclasses.fields(one)}
    sizes = {"capacity": np.array([[10.0], [7.0]]), "nodes": np.array([1.0, 0.5])}
    serves = dataclasses.replace(one, **(both | sizes))
    case = problem(services=Services(name=("a",), demand=np.array([[24.0]])), serve_options=serves)
    program = build(case)
    relaxed = search().relax(program)
    fitting = _Fitting(program, {**relaxed.values, program.order[0, 0].name: 2.0}, search())
    fitting._replicas[:, 0], fitting._room[0, 0], used = (2, 1), 2.0, np.array([2.5])
    fitting._improve(np.array([0, 1]), 0, 0, used)

    replicas = fitting._replicas[:, 0]
    assert used[0] == pytest.approx(replicas @ [1.0, 0.5])
    assert used[0] <= 2.0
    assert replicas.tolist() == [1, 2]


def test_standby_carries_nothing() -> None:
    """Where 1 of an option stands by, 2.5 replicas' worth of demand takes 4, as in the program."""
    case = changed(services(25.0), "serve_options", standby=np.array([[1]]))
    program = build(case)
    relaxed = search().relax(program)
    found = fitted(program, {**relaxed.values, program.order[0, 0].name: 4.0})

    assert found is not None
    assert steps.reader(found.values)(program.replicas).ravel().tolist() == [4]
