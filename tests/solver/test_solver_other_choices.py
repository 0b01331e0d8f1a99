"""The choices of a plan and all others: two bounds that are one of the whole, and plans that cost less."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from sizes import size
from test_solver_optimum import best, draw, draw_more

from solver import backend
from solver.alike_runs import places_taken, with_alike_runs_joined
from solver.answer import answer
from solver.build import THOUSAND, build
from solver.operating import best_operation
from solver.other_choices import among_its_own, among_others
from solver.problem import Problem
from solver.start import plan_of_choices
from solver.steps import choices
from solver.variables import empty
from solver.verify import objective_value, verify


def open_choices(case: Problem) -> int:
    return sum(each.lowBound != each.upBound for part in choices(empty(case)) for each in part.ravel())


def cases(count: int) -> list[int]:
    """Seeds of drawn fleets with two choices or more, and a plan of some of them."""
    seeds = (
        seed
        for seed in itertools.count()
        if open_choices(case := draw_more(seed)) > 1
        and case.serve_options.whole.all()
        and plan_of_choices(build(case), gap_fraction=0.0, time_limit_s=20).plan is not None
    )
    return list(itertools.islice(seeds, count))


@pytest.mark.solve
@pytest.mark.parametrize("seed", cases(size(8, nightly=40)))
def test_two_parts_are_the_whole(seed: int) -> None:
    """The lower of both bounds is the optimum; what is found in a part is a plan that costs less."""
    case = draw_more(seed)
    optimum = best(case).objective
    first = plan_of_choices(build(case), gap_fraction=0.0, time_limit_s=20)
    cost = objective_value(case, first.plan)
    options = {"gap_fraction": 0.0, "time_limit_s": 20.0}
    parts = [part(build(case), first.plan, **options) for part in (among_its_own, among_others)]
    lowest = min(part.bound for part in parts) * THOUSAND
    assert lowest == pytest.approx(optimum, rel=1e-6, abs=1e-4)
    for plan in (part.plan for part in parts if part.plan is not None):
        assert verify(case, plan, 1e-6) == []
        assert objective_value(case, plan) < cost
    found = [objective_value(case, part.plan) for part in parts if part.plan is not None]
    assert min([cost, *found]) == pytest.approx(optimum, rel=1e-6, abs=1e-4)


def test_nothing_else_to_choose_bounds_nothing() -> None:
    case = next(one for one in map(draw, itertools.count()) if open_choices(one) == 0 and best(one).solution)
    found = among_others(build(case), best(case).solution, gap_fraction=0.0, time_limit_s=20)
    assert (found.plan, found.bound) == (None, math.inf)


def twins(share: float) -> Problem:
    """A drawn fleet whose run of the best plan has a twin of so much fewer hours, and a little dearer."""
    for seed in itertools.count():
        case = draw(seed)
        found = best(case).solution
        if found is not None and found.run.any():
            break
    runs, (run, *_) = case.run_options, np.flatnonzero(found.run)
    both = [*range(len(runs)), run]
    columns = {each.name: getattr(runs, each.name)[both] for each in dataclasses.fields(runs)}
    columns["node_hours"] = columns["node_hours"].copy()
    columns["node_hours"][-1] *= 1 - share
    columns["usd"] = columns["usd"].copy()
    columns["usd"][-1] += 1e-4 * abs(columns["usd"][-1])
    return dataclasses.replace(case, run_options=dataclasses.replace(runs, **columns))


def test_twins_are_joined_and_others_are_not() -> None:
    """One is barred and the other takes the least of both: no plan gets dearer, and hardly one cheaper."""
    case = twins(0.001)
    joined, apart = with_alike_runs_joined(case), with_alike_runs_joined(twins(0.1))
    allowed = case.jobs.allowed_late_h[case.run_options.job]
    barred = joined.run_options.late_h > allowed
    assert barred.sum() == 1 + (case.run_options.late_h > allowed).sum()
    assert (joined.run_options.node_hours <= case.run_options.node_hours).all()
    assert ((apart.run_options.late_h > allowed) == (case.run_options.late_h > allowed)).all()
    of_joined, of_case = best(joined).objective, best(case).objective
    assert of_joined <= of_case + 1e-9
    assert of_joined == pytest.approx(of_case, rel=1e-2)


def test_a_plan_of_joined_runs_takes_the_best_of_them() -> None:
    """The twin stands in for the run of the plan where it is cheaper, and no other run does."""
    case = twins(0.001)
    plan = best(case).solution
    runs, places = case.run_options, places_taken(case, plan)
    taken, twin = int(np.flatnonzero(plan.run)[0]), len(runs) - 1
    assert places[taken]
    assert places[twin]
    assert (runs.nodes[places] == runs.nodes[taken]).all()
    swapped = dataclasses.replace(plan, run=plan.run.copy())
    swapped.run[[taken, twin]] = swapped.run[[twin, taken]]
    again = best_operation(case, swapped, time_limit_s=20, instead=places)
    assert objective_value(case, again) == pytest.approx(objective_value(case, plan), rel=1e-6)


@pytest.mark.solve
@pytest.mark.parametrize("seed", range(size(20, nightly=100)))
def test_no_plan_is_below_the_best_of_joined_runs(seed: int) -> None:
    case = draw_more(seed)
    joined, plain = (
        answer(each, gap_fraction=0.0, time_limit_s=20) for each in (with_alike_runs_joined(case), case)
    )
    if plain.status is backend.Status.OPTIMAL:
        assert joined.objective <= plain.objective + 1e-6 * abs(plain.objective) + 1e-6
