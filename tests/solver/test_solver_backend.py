"""Each way in which a solve may end is told apart, and no value is read where there is no plan."""

from __future__ import annotations

import _thread
import math
import threading
import time
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pulp
import pytest

from solver import backend
from solver.backend import Progress, Status, solve
from solver.warm_relaxation import Fractions


def knapsack(items: int = 60, rows: int = 8) -> Any:
    """A market split: many choices that look alike, where a proof takes far longer than a first plan."""
    rng = np.random.default_rng(7)
    model = pulp.LpProblem("split", pulp.LpMinimize)
    take = [pulp.LpVariable(f"take_{item}", 0, 1, pulp.LpInteger) for item in range(items)]
    off = [pulp.LpVariable(f"off_{row}", 0) for row in range(2 * rows)]
    model += pulp.lpSum(off)
    for row in range(rows):
        weights = rng.integers(0, 100, items)
        total = pulp.lpSum(int(weight) * each for weight, each in zip(weights, take, strict=True))
        model += total + off[2 * row] - off[2 * row + 1] == int(weights.sum() // 2)
    return model


def small(constant: float = 0.0) -> Any:
    """Minimise 3 x + 2 y + constant, x + y >= 3.5, whole: y = 4 gives 8."""
    model = pulp.LpProblem("small", pulp.LpMinimize)
    x, y = (pulp.LpVariable(name, 0, 10, pulp.LpInteger) for name in "xy")
    model += 3 * x + 2 * y + constant
    model += x + y >= 3.5
    return model


def infeasible() -> Any:
    model = small()
    model += model.variables()[0] + model.variables()[1] <= 2
    return model


def unbounded(category: str) -> Any:
    model = pulp.LpProblem("unbounded", pulp.LpMinimize)
    x, y = (pulp.LpVariable(name, 0, None, category) for name in "xy")
    model += -1 * x - y
    model += x - y <= 2
    return model


def infeasible_and_open() -> Any:
    """No plan, although the objective would fall for ever: infeasible is the answer."""
    model = unbounded(pulp.LpInteger)
    model += model.variables()[0] <= -1
    return model


@pytest.mark.parametrize("engine", ["highs", "cbc"])
@pytest.mark.parametrize(
    ("make", "status"),
    [
        (small, Status.OPTIMAL),
        (infeasible, Status.INFEASIBLE),
        (lambda: unbounded(pulp.LpInteger), Status.UNBOUNDED),
        (lambda: unbounded(pulp.LpContinuous), Status.UNBOUNDED),
        (infeasible_and_open, Status.INFEASIBLE),
    ],
)
def test_statuses(make: Any, status: Status, engine: str) -> None:
    """Two engines, five models whose answer is known."""
    outcome = solve(make(), gap_fraction=0.0, time_limit_s=20, engine=engine)

    assert outcome.status is status
    assert bool(outcome.values) == status.has_plan
    assert math.isnan(outcome.objective) != status.has_plan


def test_optimum_and_values() -> None:
    outcome = solve(small(), gap_fraction=0.0, time_limit_s=20)

    assert outcome.objective == pytest.approx(8.0)
    assert outcome.bound == pytest.approx(8.0)
    assert outcome.gap_fraction == 0.0
    assert outcome.values == pytest.approx({"x": 0.0, "y": 4.0})


def test_constant_belongs_to_the_objective() -> None:
    """The library drops it on its way to the engine, which would make gaps relative to another figure."""
    outcome = solve(small(constant=100.0), gap_fraction=0.0, time_limit_s=20)

    assert outcome.objective == pytest.approx(108.0)
    assert outcome.bound == pytest.approx(108.0)


def test_time_limit_keeps_the_plan_and_does_not_call_it_optimal() -> None:
    outcome = solve(knapsack(), gap_fraction=0.0, time_limit_s=0.5)

    assert outcome.status is Status.TIME_LIMIT
    assert outcome.bound < outcome.objective
    assert outcome.gap_fraction == pytest.approx((outcome.objective - outcome.bound) / outcome.objective)
    assert outcome.values


def test_no_time_no_plan() -> None:
    outcome = solve(knapsack(items=300, rows=20), gap_fraction=0.0, time_limit_s=1e-6)

    assert outcome.status is Status.NO_INCUMBENT
    assert outcome.values == {}


def test_an_engine_that_forgets_its_limit_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on until the caller has its answer: only one that does not wait for it ever gets one."""
    answered = threading.Event()
    monkeypatch.setattr(backend, "GRACE_S", 0.0)
    monkeypatch.setattr(backend._Highs, "callSolver", lambda *_: answered.wait())
    outcome = solve(small(), gap_fraction=0.0, time_limit_s=0.1)
    answered.set()

    assert (outcome.status, outcome.values, outcome.stopped) == (Status.NO_INCUMBENT, {}, False)


def test_a_process_that_ends_waits_for_engines_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until they end, or for so long: under an engine at work the process would be aborted."""
    answered = threading.Event()
    monkeypatch.setattr(backend, "GRACE_S", 0.0)
    monkeypatch.setattr(backend, "_LEFT_BEHIND", [])
    monkeypatch.setattr(backend._Highs, "callSolver", lambda *_: answered.wait())
    solve(small(), gap_fraction=0.0, time_limit_s=0.1)
    (ended,) = backend._LEFT_BEHIND
    monkeypatch.setattr(backend, "AT_EXIT_S", 0.01)
    backend._await_left_behind()
    assert not ended.is_set()

    monkeypatch.setattr(backend, "AT_EXIT_S", 20.0)
    threading.Timer(0.05, answered.set).start()
    backend._await_left_behind()
    assert ended.is_set()


@pytest.mark.parametrize("looking", list(backend.Looking))
def test_the_optimum_does_not_depend_on_where_it_is_looked_for(looking: backend.Looking) -> None:
    """Only the way there differs: the same objective as by all that the engine does unasked."""
    outcome = solve(small(), gap_fraction=0.0, time_limit_s=20, looking=looking)

    assert outcome.status is Status.OPTIMAL
    assert outcome.objective == pytest.approx(solve(small(), gap_fraction=0.0, time_limit_s=20).objective)


def test_a_search_beside_all_else_has_its_own_model() -> None:
    """Once it has begun, the model may change: the answer is that of the model as it was."""
    alone = solve(small(), gap_fraction=0.0, time_limit_s=20)
    model = small()
    running = backend.begin(model, gap_fraction=0.0, time_limit_s=20)
    for variable in model.variables():
        variable.lowBound = variable.upBound = 0
    outcome = running.outcome()

    assert (outcome.status, outcome.objective) == (Status.OPTIMAL, pytest.approx(alone.objective))
    assert outcome.values == alone.values


def test_the_bound_beside_all_else_is_that_of_the_model_that_was_begun() -> None:
    """Of fractions it is their optimum, although they are whole numbers again once the search has begun."""
    model = small(constant=-20.0)
    for variable in model.variables():
        variable.cat = pulp.LpContinuous
    running = backend.begin(model, gap_fraction=0.0, time_limit_s=20)
    for variable in model.variables():
        variable.cat = pulp.LpInteger

    assert running.outcome().bound == pytest.approx(7.0 - 20.0)


def test_a_search_beside_all_else_ends_when_told() -> None:
    running = backend.begin(knapsack(), gap_fraction=0.0, time_limit_s=20)
    running.stop()
    outcome = running.outcome()

    assert outcome.stopped
    assert outcome.status in (Status.INTERRUPTED, Status.NO_INCUMBENT)


def test_a_wide_gap_is_not_called_optimal() -> None:
    """A gap of 100 000 % is reached by the first plan."""
    outcome = solve(knapsack(), gap_fraction=1000.0, time_limit_s=20)

    assert outcome.status is Status.WITHIN_GAP
    assert 0 < outcome.gap_fraction <= 1000


def test_what_bounds_the_rest_of_a_start_bounds_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that takes something for 1,000 costs as much, where less will do: no bound is above."""
    monkeypatch.setattr(backend, "WATCH_EVERY_S", 0.0)
    monkeypatch.setattr(backend, "NODES_OF_START", 5)
    model, seen = knapsack(), list[Progress]()
    model.objective += 1000 * pulp.LpVariable("dear", 0, 1, pulp.LpInteger)

    def bounded() -> bool:
        return any(math.isfinite(each.bound) and each.incumbent < 1000 for each in seen)

    start = {"dear": 1.0}
    outcome = solve(
        model, gap_fraction=0.0, time_limit_s=20, start=start, watch=seen.append, should_stop=bounded
    )

    assert (outcome.status, outcome.stopped) == (Status.INTERRUPTED, True)
    assert max(each.incumbent for each in seen if math.isfinite(each.incumbent)) >= 1000
    assert max(each.bound for each in seen) <= outcome.objective < 1000


def test_progress_is_told_and_a_wish_to_stop_is_heard() -> None:
    seen: list[Progress] = []
    began = time.monotonic()
    outcome = solve(
        knapsack(),
        gap_fraction=0.0,
        time_limit_s=60,
        watch=seen.append,
        should_stop=lambda: bool(seen) and seen[-1].incumbent < math.inf,
    )

    assert outcome.status is Status.INTERRUPTED
    assert outcome.values
    assert time.monotonic() - began < 10
    assert seen[-1].incumbent >= outcome.objective - 1e-6
    assert all(each.bound <= outcome.objective + 1e-6 for each in seen)
    assert [each.elapsed_s for each in seen] == sorted(each.elapsed_s for each in seen)


@pytest.mark.usefixtures("ctrl_c")
def test_control_c_keeps_the_plan() -> None:
    """Ctrl-C while the main thread waits becomes a wish to stop, not a lost solve."""
    threading.Timer(1.0, _thread.interrupt_main).start()
    outcome = solve(knapsack(), gap_fraction=0.0, time_limit_s=30)

    assert outcome.status is Status.INTERRUPTED
    assert outcome.values


def test_a_watcher_that_fails_is_heard() -> None:
    """An exception inside the engine's callback would vanish; it ends the solve and reaches the caller."""

    def fail(_: Progress) -> None:
        raise LookupError("the watcher broke")

    with pytest.raises(LookupError, match="the watcher broke"):
        solve(knapsack(), gap_fraction=0.0, time_limit_s=30, watch=fail)


def test_a_warm_start_is_used() -> None:
    """The first plan is as good as the one handed in, before any search: a wide gap stops right there."""
    known = solve(knapsack(), gap_fraction=0.0, time_limit_s=1.0)
    whole = {name: round(value) for name, value in known.values.items() if name.startswith("take")}
    cold = solve(knapsack(), gap_fraction=1000.0, time_limit_s=20)
    warm = solve(knapsack(), gap_fraction=1000.0, time_limit_s=20, start=whole)

    assert warm.objective <= known.objective + 1e-6
    assert warm.objective < cold.objective


def test_the_library_learns_nothing() -> None:
    """Values left in its variables would be read as a plan after the next, infeasible, solve."""
    model = small()
    solve(model, gap_fraction=0.0, time_limit_s=20)

    assert [variable.varValue for variable in model.variables()] == [None, None]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gap_fraction": -0.1}, "gap_fraction is a share of at least 0, got -0.1"),
        ({"gap_fraction": math.nan}, "gap_fraction is a share of at least 0, got nan"),
        ({"time_limit_s": 0.0}, "time_limit_s is a time above 0, got 0.0"),
        ({"engine": "abacus"}, "engine is 'highs' or 'cbc', got 'abacus'"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        solve(small(), **({"gap_fraction": 0.0, "time_limit_s": 1.0} | options))


def test_maximising_is_refused() -> None:
    model = pulp.LpProblem("up", pulp.LpMaximize)
    with pytest.raises(ValueError, match="the model maximises"):
        backend.solve(model, gap_fraction=0.0, time_limit_s=1.0)


def test_relaxation_lets_counts_be_fractions() -> None:
    """Without whole numbers y = 3.5 gives 7; one x would cost 1 more than the 2 that its y saves."""
    relaxed = backend.relax(small(), time_limit_s=20)

    assert relaxed.values == pytest.approx({"x": 0.0, "y": 3.5})
    assert relaxed.reduced_costs == pytest.approx({"x": 1.0, "y": 0.0})


def test_relaxation_without_a_plan() -> None:
    assert backend.relax(infeasible(), time_limit_s=20).status is Status.INFEASIBLE


@pytest.mark.parametrize(("apart", "status"), [(1e-9, Status.OPTIMAL), (1e-3, Status.NO_INCUMBENT)])
def test_an_optimum_in_doubt_is_one_where_plan_and_dual_agree(apart: float, status: Status) -> None:
    """The engine calls it unknown; what counts is how far apart the costs are."""
    running = backend.begin(small(), gap_fraction=0.0, time_limit_s=10, whole=False)
    running.outcome()
    info = running.engine.getInfo()
    info.primal_dual_objective_error = apart
    doubting = SimpleNamespace(
        getModelStatus=lambda: highspy.HighsModelStatus.kUnknown,
        getInfo=lambda: info,
        getSolution=running.engine.getSolution,
    )

    assert backend._read(doubting, running._observer, running._solver).status is status


def chain(held: bool = False) -> Any:
    """Minimise x + 2 y + 3 z, x + y + z >= 4, each up to 2: x = y = 2 gives 6; with z held at 1, 7."""
    model = pulp.LpProblem("chain", pulp.LpMinimize)
    x, y, z = (pulp.LpVariable(name, 0, 2) for name in "xyz")
    model += x + 2 * y + 3 * z + 0.5
    model += x + y + z >= 4
    model += x <= 2 * y
    if held:
        z.lowBound = z.upBound = 1
    return model


def moved(fractions: Fractions, model: Any, **bounds: tuple[float, float]) -> float:
    """The least cost with new bounds of some variables."""
    named = {each.name: each for each in model.variables()}
    for name, (least, most) in bounds.items():
        fractions.move(fractions.places(np.array([named[name]])), np.array([least]), np.array([most]))
    return fractions.solve()


def test_fractions_follow_their_bounds() -> None:
    """Solved again from where it was, each time the optimum for the bounds of that moment."""
    model = chain()
    fractions = Fractions(model, time_limit_s=20)

    assert fractions.solve() == pytest.approx(6.5)
    assert fractions.values() == pytest.approx({"x": 2.0, "y": 2.0, "z": 0.0})
    assert moved(fractions, model, x=(0.5, 0.5)) == pytest.approx(0.5 + 4 + 4.5 + 0.5)
    assert math.isinf(moved(fractions, model, y=(0, 1), z=(0, 1)))
    assert moved(fractions, model, x=(0, 2), y=(0, 2), z=(0, 2)) == pytest.approx(6.5)


def test_what_is_held_takes_no_part_in_fractions_and_counts() -> None:
    """It has no place, keeps its value, and its cost and what it gives are there."""
    model = chain(held=True)
    fractions = Fractions(model, time_limit_s=20)
    places = fractions.places(np.array([*model.variables(), None]))

    assert fractions.solve() == pytest.approx(0.5 + 2 + 2 + 3)
    assert places.tolist() == [0, 1, -1, -1]
    assert fractions.at(places) == pytest.approx([2.0, 1.0, 0.0, 0.0])
    assert fractions.values() == pytest.approx({"x": 2.0, "y": 1.0, "z": 1.0})


def test_fractions_above_a_cutoff_are_none() -> None:
    """What costs more is not told; without a cutoff it is, again."""
    model = chain()
    fractions = Fractions(model, time_limit_s=20)
    fractions.solve()
    x = fractions.places(np.array(model.variables()[:1]))
    fractions.move(x, np.zeros(1), np.zeros(1))

    assert math.isinf(fractions.solve(cutoff=7.0))
    assert fractions.solve() == pytest.approx(10.5)


def test_softened_rows_give_way_at_a_price() -> None:
    """X + y + z <= 3 does not go with >= 4: one is over, at 10."""
    model = chain()
    model += pulp.lpSum(model.variables()) <= 3
    fractions = Fractions(model, time_limit_s=20)
    assert math.isinf(fractions.solve())

    over = fractions.soften([[2]], 10.0)
    assert fractions.solve() == pytest.approx(6.5 + 10)
    assert fractions.at(over) == pytest.approx([1.0])
    assert set(fractions.values()) == {"x", "y", "z"}


def test_fractions_end_when_asked_or_out_of_time() -> None:
    """Nothing is told then; that somebody asked, is."""
    fractions = Fractions(chain(), time_limit_s=20, should_stop=lambda: True)
    fractions._observer.stopping.set()
    late = Fractions(chain(), time_limit_s=1e-9)

    assert math.isinf(fractions.solve())
    assert fractions.stopped
    assert math.isinf(late.solve())
    assert not late.stopped
