"""The checker finds what is wrong with a plan: each rule broken once, by tampering with a plan that holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from solver_cases import (
    changed,
    cohort,
    limits,
    node_groups,
    one_job,
    problem,
    promise_steps,
    run_option,
    service,
    steps,
    work,
)

from solver import account
from solver.answer import answer
from solver.known import WrongAnswer
from solver.problem import (
    Cohorts,
    Contracts,
    Jobs,
    Moves,
    PausableOptions,
    Problem,
    Sales,
    Services,
    Solution,
)
from solver.verify import CHECKS, quality_is_kept, slots_hold, stages_share_the_time, verify

TOLERANCE = 1e-6


def case() -> Problem:
    return problem(
        periods=2,
        node_groups=node_groups(periods=2, purchase_allowed=[[1, 0]]),
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
    copy[index] = copy[index] + by
    return copy


def test_a_plan_that_holds_has_no_violation() -> None:
    assert verify(case(), plan(case()), TOLERANCE) == []


@pytest.mark.parametrize(
    ("part", "index", "by", "rules"),
    [
        ("orders", (0, 0), -1, {"nodes in use", "node-hours"}),
        ("orders", (0, 1), 1, {"purchase allowed"}),
        ("run", 0, -1, {"job runs once"}),
        ("run", 1, 1, {"job runs once", "run late"}),
        ("left_out", 0, 1, {"job runs once"}),
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
        ("carbon_cap_by_period_kgco2e", [100.0, 10.0], "carbon cap by period"),
        ("money_cap_usd", 100.0, "money cap"),
    ],
)
def test_a_limit_that_is_too_low_is_found(limit: str, value: Any, rule: str) -> None:
    """The same plan, checked against a narrower limit, breaks this limit and nothing else."""
    narrow = changed(case(), "limits", **{limit: value})

    assert {violation.rule for violation in verify(narrow, plan(case()), TOLERANCE)} == {rule}


def test_what_a_run_buys_beyond_the_budget_is_found() -> None:
    """A run that begins in period 0 buys more than its budget holds: nothing else is broken."""
    of = case()
    buys = changed(of, "run_options", bought_usd=np.full(len(of.run_options), 5e4))
    narrow = changed(buys, "limits", budget_usd=[4e4, np.inf])

    assert {violation.rule for violation in verify(narrow, plan(of), TOLERANCE)} == {"budget"}


def test_a_shared_power_that_is_too_low_is_found() -> None:
    narrow = changed(
        case(),
        "limits",
        shared_power_kw=[[12.0, np.inf]],
        shared_power_sites=[[True]],
        shared_power_name=("campus",),
    )

    assert {violation.rule for violation in verify(narrow, plan(case()), TOLERANCE)} == {"shared power"}


@pytest.mark.parametrize("name", ["usd_terms", "kgco2e_terms"])
@pytest.mark.parametrize(
    "term",
    [
        *("purchase", "order", "rental", "keep", "retire", "run", "serve", "idle", "parked", "unmet"),
        *("left_out", "space", "peak"),
    ],
)
def test_a_false_total_is_found(name: str, term: str) -> None:
    """A cent or ten grams too much in any term."""
    good = plan(case())
    terms = getattr(good, name)
    false = dataclasses.replace(terms, **{term: moved(getattr(terms, term), 0, 0.01)})
    bad = dataclasses.replace(good, **{name: false})

    assert {violation.rule for violation in verify(case(), bad, TOLERANCE)} == {f"{name}.{term}"}


def other_case() -> Problem:
    """Two sites, two periods: nodes may move, be rented and park; a job may be done in part."""
    flat = np.ones((2, 2))
    return problem(
        periods=2,
        count=2,
        site_names=("oregon", "finland"),
        sku_names=("h100",),
        node_groups=node_groups(
            periods=2,
            count=2,
            sku=[0, 0],
            site=[0, 1],
            purchase_allowed=0 * flat,
            rental_limit_nodes=[[0, 0], [0, 1]],
            rental_usd_per_node=30 * flat,
            may_park=[True, False],
            idle_kwh_per_node=100 * flat,
        ),
        cohorts=Cohorts(
            node_group=[0, 1],
            nodes=[4, 0],
            keep_usd_per_node=10 * flat,
            keep_kgco2e_per_node=0 * flat,
            retire_usd_per_node=500 * flat,
            must_retire_by=[2, 2],
            available_fraction=[[1, 0.5], [1, 1]],
        ),
        moves=Moves([0], [1], [1], 5 * flat[:1], flat[:1]),  # type: ignore[arg-type]
        jobs=Jobs(
            name=("tune",),
            optional=[True],
            left_out_usd=[5000],
            left_out_kgco2e=[0],
            partial=[True],  # type: ignore[arg-type]
        ),
        pausable_options=PausableOptions(
            job=[0],
            node_group=[1],
            nodes=[3],
            node_hours=[600],
            node_hours_limit=[[300, 300]],
            active_kw=[2],  # type: ignore[arg-type]
            usd_per_node_h=flat[:1],
            kgco2e_per_node_h=flat[:1],
            kwh_per_node_h=3 * flat[:1],
        ),
        **service([10.0, 18.0])
        | {
            "services": Services(name=("chat",), demand=[[10.0, 18.0]], unmet_usd=[[np.inf, 0.5]])  # type: ignore[arg-type]
        },
        contracts=Contracts([0], -0.01 * flat[:1], 0.4 * flat[:1], 100 * flat[:1], [True]),  # type: ignore[arg-type]
        limits=limits(periods=2, sites=2),
    )


def test_the_other_case_holds_and_decides_everything() -> None:
    """By hand: finland has nothing at first, so that 3 nodes that leave at once do 300 of 600 h in period 1.

    The one node that stays carries 10 requests/s; half of it is down in period 1, when it carries none of 18.
    Its replica is made to draw nothing in period 0, and a contract of a fixed share has to be level.
    """
    good = plan(other_case())

    assert verify(other_case(), good, TOLERANCE) == []
    assert good.moved.tolist() == [[3, 0]]
    assert good.completed == pytest.approx([0.5])
    assert good.left_out == pytest.approx([0.5])
    assert good.shed_fraction[0] == pytest.approx([0.0, 1.0])
    assert good.matched_kwh[0] == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(
    ("part", "index", "by", "rule"),
    [
        ("moved", (0, 0), 2, "retired once"),
        ("moved", (0, 1), 1, "arrival"),
        ("rented", (1, 1), 2, "rental"),
        ("parked", (0, 0), 9, "parked"),
        ("parked", (1, 1), 1, "parked"),
        ("chosen", 0, -1, "pausable pace"),
        ("chosen", 0, 1, "jobs begun"),
        ("completed", 0, 0.1, "pausable work"),
        ("completed", 0, 0.6, "pausable part"),
        ("done_node_h", (0, 1), 50, "node-hours"),
        ("left_out", 0, -0.25, "job runs once"),
        ("shed_fraction", (0, 1), -0.5, "demand"),
        ("shed_fraction", (0, 0), 0.5, "shed"),
        ("matched_kwh", (0, 0), 500, "contract"),
        ("matched_kwh", (0, 1), 50, "level contract"),
        ("matched_kwh", (0, 1), 90000, "clean energy"),
    ],
)
def test_another_tampered_decision_is_found(part: str, index: Any, by: float, rule: str) -> None:
    of = other_case()
    good = plan(of)
    bad = with_decisions(of, dataclasses.replace(good, **{part: moved(getattr(good, part), index, by)}))

    assert rule in {violation.rule for violation in verify(of, bad, TOLERANCE)}


def test_a_pausable_job_on_too_few_nodes_is_found() -> None:
    """It works on the three nodes that came to finland, and of another four there are not enough.

    One more rented node would do, one that is parked would not.
    """
    of = other_case()
    good = plan(of)
    more = changed(of, "pausable_options", nodes=np.array([4]), nodes_least=np.array([4]))
    rented = dataclasses.replace(good, rented=moved(good.rented, (1, 1), 1))

    assert {each.rule for each in verify(more, good, TOLERANCE)} == {"pausable nodes"}
    assert "pausable nodes" not in {
        each.rule for each in verify(more, with_decisions(more, rented), TOLERANCE)
    }
    parked = dataclasses.replace(rented, parked=moved(rented.parked, (1, 1), 1))
    assert "pausable nodes" in {each.rule for each in verify(more, with_decisions(more, parked), TOLERANCE)}


def test_standby_does_not_carry() -> None:
    """All replicas of `case` are needed; where one of them stands by, demand is short."""
    of = case()
    strict = changed(of, "serve_options", standby=np.ones(of.serve_options.usd.shape))

    assert "demand" in {each.rule for each in verify(strict, plan(of), TOLERANCE)}


def test_a_deployment_that_is_too_small_is_found() -> None:
    """3 replicas where 4 are the least; none at all is no deployment."""
    of = problem(**service([25.0], least=[[4]]))
    good = plan(of)

    assert good.replicas.tolist() == [[4]]
    few = with_decisions(of, dataclasses.replace(good, replicas=np.array([[3]])))
    assert [str(each) for each in verify(of, few, TOLERANCE)] == [
        "least replicas[0, 0]: 3 where 4 is the limit"
    ]


def test_a_job_that_must_run_may_not_be_left_out() -> None:
    good = plan(case())
    out = dataclasses.replace(good, run=np.array([False, False]), left_out=np.array([True]))
    strict = changed(case(), "jobs", optional=[False])

    assert "job left out" not in {
        each.rule for each in verify(case(), with_decisions(case(), out), TOLERANCE)
    }
    assert "job left out" in {each.rule for each in verify(strict, with_decisions(strict, out), TOLERANCE)}


def test_a_term_that_is_cut_short_is_found() -> None:
    """Three nodes are rented for two periods: nobody may give one back after the first."""
    groups = node_groups(
        periods=2,
        purchase_allowed=[[0, 0]],
        rental_limit_nodes=[[9, 9]],
        rental_usd_per_node=[[50, 50]],
        rental_term_periods=[2],
    )
    of = problem(periods=2, node_groups=groups, **service([25.0, 5.0]))
    good = plan(of)
    assert good.committed.tolist() == [[3, 0]]
    assert good.rented.tolist() == [[3, 3]]
    assert good.usd_terms.rental.sum() == 300.0

    given_back = with_decisions(of, dataclasses.replace(good, rented=moved(good.rented, (0, 1), -1)))
    assert {violation.rule for violation in verify(of, given_back, TOLERANCE)} == {"term"}
    late = changed(of, "node_groups", rental_start_allowed=[[False, True]])
    assert {violation.rule for violation in verify(late, good, TOLERANCE)} == {"term begun"}


def test_a_number_that_is_none_breaks_a_rule() -> None:
    """NaN compares false with everything; a checker that asks 'is it above?' would let it pass."""
    good = plan(case())
    bad = dataclasses.replace(good, work_node_h=good.work_node_h * np.nan)

    assert "work" in {violation.rule for violation in verify(case(), bad, TOLERANCE)}


def test_a_violation_says_what_and_by_how_much() -> None:
    """Two nodes run, three serve, 3 spares reach that far, half a node works: 9 nodes."""
    narrow = changed(case(), "limits", racks=[4.0])

    assert str(verify(narrow, plan(case()), TOLERANCE)[0]) == "space[0, 0]: 9 where 4 is the limit"


def test_racks_hold_what_stands_next_to_runs() -> None:
    """The same nine nodes, and half a rack next to the run in a room for nine."""
    held = changed(changed(case(), "limits", racks=[9.0]), "run_options", racks=[[0.5, 0.0], [0.0, 0.0]])

    assert verify(changed(held, "run_options", racks=np.zeros((2, 2))), plan(case()), TOLERANCE) == []
    assert str(verify(held, plan(case()), TOLERANCE)[0]) == "space[0, 0]: 9.5 where 9 is the limit"


def test_a_wrong_plan_does_not_leave_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that returned half of a plan would be caught before anyone reads it."""
    fixed = account.solution

    def halved(of: Problem, chosen: account.Decisions) -> Solution:
        return fixed(of, dataclasses.replace(chosen, orders=chosen.orders // 2))

    monkeypatch.setattr(account, "solution", halved)
    with pytest.raises(WrongAnswer, match=r"breaks \d+ rules"):
        plan(case())


@pytest.mark.nightly
def test_every_rule_of_the_program_has_its_check() -> None:
    """The tampering above reaches each check at least once; a new check needs a new case."""
    reached: set[Callable[..., Any]] = set()
    of, good = case(), plan(case())
    narrow = limits(periods=2, racks=[1.0], supply_nodes=[[1.0, 1.0]], budget_usd=[1.0, 1.0])
    changes = [(dataclasses.replace(of, limits=narrow), good)]
    decisions = {"orders": ((0, 1), 1), "run": (0, -1), "replicas": ((0, 0), -1), "spares": ((0, 0), -9)}
    hours = {"work_node_h": ((0, 0), -9), "retired": ((0, 0), 1)}
    for part, (index, by) in (decisions | hours).items():
        changes.append((of, dataclasses.replace(good, **{part: moved(getattr(good, part), index, by)})))
    for problem_, plan_ in changes:
        reached |= {check for check in CHECKS if list(check(problem_, plan_, TOLERANCE))}
    other = plan(other_case())
    for part in ("completed", "matched_kwh"):
        false = dataclasses.replace(other, **{part: getattr(other, part) + 1e4})
        reached |= {check for check in CHECKS if list(check(other_case(), false, TOLERANCE))}
    strict = changed(other_case(), "pausable_options", nodes=np.array([4]), nodes_least=np.array([4]))
    reached |= {check for check in CHECKS if list(check(strict, other, TOLERANCE))}
    longer = dataclasses.replace(good, committed=good.committed + 1)
    reached |= {check for check in CHECKS if list(check(of, longer, TOLERANCE))}
    sales = Sales(node_group=[0], ordered=[0], usd_per_node=[[0, 0]], may_sell=[[False, True]])  # type: ignore[arg-type]
    of_orders = dataclasses.replace(of, sales=sales)
    sold = with_decisions(of_orders, dataclasses.replace(good, sold=np.array([[0, 99]])))
    reached |= {check for check in CHECKS if list(check(of_orders, sold, TOLERANCE))}
    planted = problem(jobs=one_job(), run_options=run_option([[0]]))
    reached |= {check for check in CHECKS if list(check(planted, plan_of_one_run(planted), TOLERANCE))}
    kept = plan(promising_case())
    fewer = dataclasses.replace(kept, spares=kept.spares - 1)
    reached |= {check for check in CHECKS if list(check(promising_case(), fewer, TOLERANCE))}
    larger = changed(of, "serve_options", least=np.full((1, 2), 99))
    reached |= {check for check in CHECKS if list(check(larger, good, TOLERANCE))}

    # Those of slots are broken one by one in test_solver_slots.py, those of services in files of their own.
    assert reached == set(CHECKS) - {quality_is_kept, slots_hold, stages_share_the_time}


def promising_case() -> Problem:
    """Three replicas carry, one stands by; 2 nodes that are down may not be missed of 3, 3 of more."""
    return problem(
        **service([25.0], promise=[1], standby=[[1]], covers=[[1]]),
        spare_steps=promise_steps((0, 0, 1, 9), (1, 0, 2, 3), (1, 0, 3, 9)),
    )


def test_a_promise_is_kept_by_spares_and_standby_together() -> None:
    """Of the 2 nodes that may be down one is that of the replica on standby: 1 spare, 5 nodes in all."""
    kept = plan(promising_case())

    assert (kept.replicas.item(), kept.spares.item(), kept.in_service.item()) == (4, 1, 5)
    none = dataclasses.replace(kept, spares=kept.spares - 1)
    assert {each.rule for each in verify(promising_case(), none, TOLERANCE)} == {"spares", "promise"}
    alone = changed(promising_case(), "serve_options", covers=[[0]])
    assert plan(alone).in_service.item() == 7  # four nodes in use, and 3 spares


@pytest.mark.nightly
def test_nodes_are_whole_however_short_a_run_is() -> None:
    """A run of no time at all on nodes that nobody owns is no plan, whatever its share of time."""
    vanishing = run_option([[0]], node_hours=[[1e-15]])
    planted = problem(jobs=one_job(), run_options=vanishing)
    rules = {each.rule for each in verify(planted, plan_of_one_run(planted), TOLERANCE)}
    assert rules == {"run without nodes"}

    held = problem(jobs=one_job(), run_options=run_option([[2]], node_hours=[[1e-15]]))
    rules = {each.rule for each in verify(held, plan_of_one_run(held), TOLERANCE)}
    assert "nodes in use" in rules


def plan_of_one_run(of: Problem) -> Solution:
    """Run the first option, and buy nothing."""
    decisions = account.Decisions(
        **{
            part.name: np.zeros_like(getattr(plan(problem()), part.name))
            for part in dataclasses.fields(account.Decisions)
        }
        | {"run": np.array([1]), "left_out": np.zeros(1)}
    )
    return account.solution(of, decisions)


def test_a_small_demand_is_no_less_a_demand() -> None:
    """1e-9 requests a second that nobody serves are not served."""
    of = problem(**service([1e-9], capacity=1e-9))
    served = plan(of)
    assert served.replicas.tolist() == [[1]]
    none = with_decisions(of, dataclasses.replace(served, replicas=0 * served.replicas))

    assert "demand" in {each.rule for each in verify(of, none, TOLERANCE)}
