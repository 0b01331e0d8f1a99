"""Plans that are made whole period by period: they keep every rule, and get no worse."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import pytest
from sizes import size
from test_solver_optimum import draw_more

from solver import backend, by_periods
from solver.build import build
from solver.by_periods import better_by_periods, plan_by_periods
from solver.program import Program
from solver.steps import Search, choices, cost, hold, nodes, ranges
from solver.verify import verify


def search() -> Search:
    return Search(0.0, time.monotonic() + 60, None)


def held(seed: int) -> tuple[Program, backend.Outcome]:
    """A drawn program with the choices of its best plan held, and that plan."""
    program = build(draw_more(seed))
    program.count_replicas()
    best = backend.solve(program.model, gap_fraction=0.0, time_limit_s=60)
    if best.status.has_plan:
        hold(choices(program), best.values)
    return program, best


def cases(count: int) -> list[int]:
    """Seeds of drawn fleets with spares, several periods and a plan."""
    seeds = (
        seed
        for seed in itertools.count()
        if (case := draw_more(seed)).periods > 1 and len(case.spare_steps) and len(case.serve_options)
    )
    return list(itertools.islice(seeds, count))


@pytest.mark.parametrize("seed", cases(size(8, nightly=60)))
def test_a_plan_by_periods_is_a_plan(seed: int) -> None:
    """It costs no less than the best, each further one less than the one before; the program stays."""
    program, best = held(seed)
    before = ranges(program)
    found = plan_by_periods(program, search()) if best.status.has_plan else None
    assert ranges(program) == before
    if found is None:
        return
    assert verify(program.problem, program.solution(found.values), 1e-6) == []
    costs = [cost(found), *(cost(each) for each in better_by_periods(program, found, search()))]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] >= cost(best) - 1e-6 * abs(cost(best)) - 1e-9
    assert ranges(program) == before


def test_the_best_plan_gets_no_better() -> None:
    """From the best plan on, one round is enough to see that no period can be cheaper."""
    seed = next(seed for seed in cases(8) if held(seed)[1].status.has_plan)
    program, best = held(seed)

    assert list(better_by_periods(program, best, search())) == []


def test_a_stop_ends_the_rounds_with_the_plan_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found is told as stopped, and the program is open again."""
    seed = next(seed for seed in cases(8) if held(seed)[1].status.has_plan)
    program, best = held(seed)
    before = ranges(program)

    def stopped(self: Search, *_: Any, **__: Any) -> backend.Outcome:
        return backend.Outcome(
            backend.Status.NO_INCUMBENT, math.nan, -math.inf, math.inf, 0.0, {}, stopped=True
        )

    monkeypatch.setattr(by_periods.Search, "__call__", stopped)
    (last,) = better_by_periods(program, best, search())
    assert last.stopped
    assert last.values == best.values
    assert ranges(program) == before


def test_each_period_starts_from_the_one_before_with_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is known is told but what counts nodes: a fraction rounded up may want one more."""
    seed = next(seed for seed in cases(8) if held(seed)[1].status.has_plan)
    program, _ = held(seed)
    counted = {each.name for part in nodes(program) for each in part.ravel()}
    solved, told = Search.__call__, list[tuple[dict[str, float] | None, backend.Outcome]]()

    def watched(self: Search, program: Program, start: Any, *share: Any) -> backend.Outcome:
        told.append((start, solved(self, program, start, *share)))
        return told[-1][1]

    monkeypatch.setattr(by_periods.Search, "__call__", watched)
    plan_by_periods(program, search())
    assert told[0][0] is None
    assert len(told) > 1
    for (_, before), (start, _) in itertools.pairwise(told):
        assert start == {name: value for name, value in before.values.items() if name not in counted}
