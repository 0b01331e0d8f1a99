"""Steps of spares taken in full: no plan breaks the rows, and the relaxation is nearer to the plans."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size
from solver_cases import cohort, limits, node_groups, one_job, problem, run_option
from test_solver_optimum import draw_more, try_everything
from test_solver_period_rows import few_nodes

from solver import answer as answers
from solver import backend, steps
from solver.build import THOUSAND, build
from solver.problem import Problem, SpareSteps
from solver.program import Program
from solver.spare_rows import add_spare_rows


def relaxed(program: Program) -> float:
    return steps.Search(0.0, time.monotonic() + 60, None).relax(program).objective


def spares(program: Program) -> float:
    """What the relaxation takes of them in the first node group and period."""
    found = steps.Search(0.0, time.monotonic() + 60, None).relax(program)
    return found.values[program.spares[0, 0].name]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=size(15, nightly=150), deadline=None, derandomize=True)
def test_the_best_plan_stays(seed: int) -> None:
    """Of all plans, tried one by one, the best keeps the rows, and the relaxation is no lower with them."""
    case = draw_more(seed)
    program = build(case)
    before = relaxed(program)
    if not add_spare_rows(program) or not case.serve_options.whole.all():
        return
    found, least = backend.solve(program.model, gap_fraction=0.0, time_limit_s=60), try_everything(case)

    assert found.status.has_plan == np.isfinite(least)
    if found.status.has_plan:
        assert found.objective * THOUSAND == pytest.approx(least, rel=1e-6, abs=1e-4)
        assert relaxed(program) >= before - 1e-6


def with_steps(nodes: int, **tasks: Any) -> Problem:
    """One node group; a first spare is enough for 5 nodes, a second for 100."""
    table = SpareSteps(
        node_group=np.zeros(2, dtype=np.int64), spares=np.array([1, 2]), reach=np.array([5.0, 100.0])
    )
    groups = node_groups(holding_usd_per_node=[[0.0]], order_usd_per_node=[[100.0]])
    standing = {"cohorts": cohort(nodes=nodes)} if nodes else {}
    return problem(node_groups=groups, spare_steps=table, limits=limits(), **standing, **tasks)


def test_a_run_takes_its_steps_in_full() -> None:
    """8 nodes need 2 spares, in parts a sixth of both steps, since 50 nodes could be in use."""
    both = run_option([[8], [50]])
    program = build(with_steps(0, jobs=one_job(), run_options=both))
    assert spares(program) < 1.2
    assert add_spare_rows(program) == 2
    assert spares(program) == pytest.approx(2.0, rel=1e-6)


def test_a_service_takes_the_first_step_as_far_as_it_is_there() -> None:
    """No more than 3 replicas of a node each carry it: so many are there where the step is taken in full."""
    program = build(few_nodes(25.0))
    assert add_spare_rows(program) == 1
    row = program.model.constraints["serves_step_0_0_0_0"]
    step = next(iter(program.reaches.values()))[0]
    assert row.expr == {program.replicas[0, 0]: 1.0, step: -3.0}
    assert row.getUb() == 0


def test_what_stands_is_used_as_far_as_its_steps_leave_it() -> None:
    """Of 8 nodes that stand 6 may be in use: the second step is taken in full where no more come."""
    program = build(with_steps(8, jobs=one_job(), run_options=run_option([[6]])))
    add_spare_rows(program)
    rows = {each: row for each, row in program.model.constraints.items() if each.startswith("stands_0_0_0")}

    assert sorted(rows) == ["stands_0_0_0_0", "stands_0_0_0_1"]
    second = rows["stands_0_0_0_1"]
    step = next(iter(program.reaches.values()))[1]
    assert (second.expr[step], second.getUb()) == (-(8 - 2 - 5), 5)


def test_a_large_program_gets_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first plan is looked for; what comes out is as good as without."""
    case, added = few_nodes(25.0), list[int]()
    alone = answers.answer(case, gap_fraction=0.0, time_limit_s=60)
    monkeypatch.setattr("solver.known.LARGE", 0)
    monkeypatch.setattr(answers, "add_spare_rows", lambda program: added.append(add_spare_rows(program)))
    found = answers.answer(case, gap_fraction=0.0, time_limit_s=60)

    assert added == [1]
    assert found.objective == pytest.approx(alone.objective, rel=1e-9)
