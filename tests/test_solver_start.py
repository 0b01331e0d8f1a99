"""The first plan of a large fleet: it holds, it is no better than the best, and stopping in it keeps it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import one_job, problem, run_option, service
from test_solver_optimum import best, draw

from solver import answer as answers
from solver.answer import answer
from solver.backend import Status
from solver.start import first_plan
from solver.verify import objective_value, verify


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_a_first_plan_is_a_plan(seed: int) -> None:
    """It keeps every rule and costs no less than the optimum; where there is no plan, it has none either."""
    case = draw(seed)
    optimum = best(case)
    plan, stopped = first_plan(case, gap_fraction=0.0, time_limit_s=20)

    assert not stopped
    if optimum.solution is None:
        assert plan is None
    elif plan is not None:
        assert verify(case, plan, 1e-6) == []
        assert objective_value(case, plan) >= optimum.objective - 1e-6 * abs(optimum.objective) - 1e-6


def test_the_head_start_does_not_change_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is solved whole afterwards, so that what was barred at first is open again."""
    case = draw(11)
    monkeypatch.setattr(answers, "LARGE", 1)

    assert answer(case, gap_fraction=0.0, time_limit_s=20).objective == pytest.approx(best(case).objective)


def test_stopping_in_the_head_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop is a stop: no second search begins, and what was found is kept with no bound claimed."""
    case = problem(jobs=one_job(), run_options=run_option([[2]]), **service([25.0]))
    plan = best(case).solution
    monkeypatch.setattr(answers, "LARGE", 1)
    monkeypatch.setattr(answers, "first_plan", lambda *_, **__: (plan, True))
    kept = answer(case, gap_fraction=0.0, time_limit_s=20)
    monkeypatch.setattr(answers, "first_plan", lambda *_, **__: (None, True))
    nothing = answer(case, gap_fraction=0.0, time_limit_s=20)

    assert (kept.status, kept.solution, kept.gap_fraction) == (Status.INTERRUPTED, plan, math.inf)
    assert (nothing.status, nothing.solution) == (Status.NO_INCUMBENT, None)
