"""The checker finds what is wrong with a plan: each rule broken once, by tampering with a plan that holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from solver_cases import changed, cohort, limits, one_job, pools, problem, run_option, service, steps, work

from solver import account
from solver.answer import WrongAnswer, answer
from solver.problem import Problem, Solution
from solver.verify import CHECKS, verify

TOLERANCE = 1e-6


def case() -> Problem:
    return problem(
        periods=2,
        pools=pools(periods=2, purchase_allowed=[[1, 0]]),
        jobs=one_job(optional=True, left_out_usd=9000.0),
        run_options=run_option([[2, 0], [0, 2]], late_h=[0, 5]),
        cohorts=cohort(nodes=3, periods=2, must_retire_by=[1]),
        **service([25.0, 25.0]),
        **work([50.0, 80.0]),
        spare_steps=steps((0, 1, 1), (0, 2, 3), (0, 3, 12), (0, 4, 20)),
        limits=limits(periods=2, minimum_nodes=[2.0]),
    )


def plan(of: Problem) -> Solution:
    found = answer(of, gap_fraction=0.0, time_limit_s=20).solution
    assert found is not None
    return found


def with_decisions(of: Problem, tampered: Solution) -> Solution:
    """The sums follow the tampered decisions, so that only the rule itself is broken."""
    chosen = {part.name: getattr(tampered, part.name) for part in dataclasses.fields(account.Decisions)}
    return account.solution(of, account.Decisions(**chosen))


def moved(column: Any, index: Any, by: float) -> Any:
    copy = np.array(column)
    copy[index] = copy[index] + by if copy.dtype != bool else by
    return copy


def test_a_plan_that_holds_has_no_violation() -> None:
    assert verify(case(), plan(case()), TOLERANCE) == []


@pytest.mark.parametrize(
    ("part", "index", "by", "rules"),
    [
        ("orders", (0, 0), -1, {"nodes in use", "node-hours"}),
        ("orders", (0, 1), 1, {"purchase allowed"}),
        ("run", 0, False, {"job runs once"}),
        ("run", 1, True, {"job runs once", "run late"}),
        ("left_out", 0, True, {"job runs once"}),
        ("replicas", (0, 0), -1, {"demand"}),
        ("replicas", (0, 1), 50, {"nodes in use", "node-hours", "spares"}),
        ("work_node_h", (0, 1), -1, {"work"}),
        ("work_node_h", (0, 1), -81, {"work", "work_node_h"}),
        ("spares", (0, 1), -1, {"spares"}),
        ("retired", (0, 0), 1, {"retired once"}),
        ("retired", (0, 1), -1, {"end of life"}),
    ],
)
def test_a_tampered_decision_is_found(part: str, index: Any, by: float, rules: set[str]) -> None:
    """The rule that the change breaks is among those named."""
    of = case()
    good = plan(of)
    bad = with_decisions(of, dataclasses.replace(good, **{part: moved(getattr(good, part), index, by)}))

    assert rules & {violation.rule for violation in verify(of, bad, TOLERANCE)}


@pytest.mark.parametrize(
    ("limit", "value", "rule"),
    [
        ("power_kw", [[12.0, np.inf]], "power"),
        ("racks", [4.0], "space"),
        ("supply_nodes", [[3.0, np.inf]], "supply"),
        ("budget_usd", [100.0, np.inf], "budget"),
        ("carbon_cap_kgco2e", 100.0, "carbon cap"),
        ("minimum_nodes", [50.0], "minimum order"),
    ],
)
def test_a_limit_that_is_too_low_is_found(limit: str, value: Any, rule: str) -> None:
    """The same plan, checked against a narrower limit, breaks this limit and nothing else."""
    narrow = changed(case(), "limits", **{limit: value})

    assert {violation.rule for violation in verify(narrow, plan(case()), TOLERANCE)} == {rule}


@pytest.mark.parametrize("name", ["usd_terms", "kgco2e_terms"])
@pytest.mark.parametrize("term", ["purchase", "keep", "retire", "run", "serve", "work", "idle", "left_out"])
def test_a_false_total_is_found(name: str, term: str) -> None:
    """A cent or ten grams too much in any term."""
    good = plan(case())
    terms = getattr(good, name)
    false = dataclasses.replace(terms, **{term: moved(getattr(terms, term), 0, 0.01)})
    bad = dataclasses.replace(good, **{name: false})

    assert {violation.rule for violation in verify(case(), bad, TOLERANCE)} == {f"{name}.{term}"}


def test_a_job_that_must_run_may_not_be_left_out() -> None:
    good = plan(case())
    out = dataclasses.replace(good, run=np.array([False, False]), left_out=np.array([True]))
    strict = changed(case(), "jobs", optional=[False])

    assert "job left out" not in {
        each.rule for each in verify(case(), with_decisions(case(), out), TOLERANCE)
    }
    assert "job left out" in {each.rule for each in verify(strict, with_decisions(strict, out), TOLERANCE)}


def test_a_number_that_is_none_breaks_a_rule() -> None:
    """NaN compares false with everything; a checker that asks 'is it above?' would let it pass."""
    good = plan(case())
    bad = dataclasses.replace(good, work_node_h=good.work_node_h * np.nan)

    assert "work" in {violation.rule for violation in verify(case(), bad, TOLERANCE)}


def test_a_violation_says_what_and_by_how_much() -> None:
    """Two nodes run, three serve, 3 spares reach that far, half a node works: 9 nodes."""
    narrow = changed(case(), "limits", racks=[4.0])

    assert str(verify(narrow, plan(case()), TOLERANCE)[0]) == "space[0, 0]: 9 where 4 is the limit"


def test_a_wrong_plan_does_not_leave_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that returned half of a plan would be caught before anyone reads it."""
    fixed = account.solution

    def halved(of: Problem, chosen: account.Decisions) -> Solution:
        return fixed(of, dataclasses.replace(chosen, orders=chosen.orders // 2))

    monkeypatch.setattr(account, "solution", halved)
    with pytest.raises(WrongAnswer, match=r"breaks \d+ rules"):
        plan(case())


def test_every_rule_of_the_program_has_its_check() -> None:
    """The tampering above reaches each check at least once; a new check needs a new case."""
    reached: set[Callable[..., Any]] = set()
    of, good = case(), plan(case())
    narrow = limits(periods=2, racks=[1.0], supply_nodes=[[1.0, 1.0]], budget_usd=[1.0, 1.0])
    changes = [(dataclasses.replace(of, limits=narrow), good)]
    decisions = {"orders": ((0, 1), 1), "run": (0, False), "replicas": ((0, 0), -1), "spares": ((0, 0), -9)}
    hours = {"work_node_h": ((0, 0), -9), "retired": ((0, 0), 1)}
    for part, (index, by) in (decisions | hours).items():
        changes.append((of, dataclasses.replace(good, **{part: moved(getattr(good, part), index, by)})))
    for problem_, plan_ in changes:
        reached |= {check for check in CHECKS if list(check(problem_, plan_, TOLERANCE))}

    assert reached == set(CHECKS)
