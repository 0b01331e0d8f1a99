"""Starting a deployment: hours of double running, weights that load, and where a service runs today."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plain import plain
from solver_cases import problem

from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, with_changes
from planner.physics.equations.serving import deployment_usd, setting_up_usd, starting_h, starting_usd
from planner.physics.serving_options import served_models
from planner.program import remedies
from planner.program.assembly import assemble
from planner.program.deployments import small_deployments
from planner.program.plan import plan_fleet
from solver import account
from solver.account import started
from solver.answer import answer
from solver.bounds import most_replicas
from solver.problem import Cohorts, Problem, ServeOptions, Services

SHORT: dict[str, Any] = {
    "horizon.periods": 2,
    "services.chat.peak_rate": ["300 /s", "420 /s"],
    "pools.research.gpu_time": ["160000 h", "210000 h"],
    "solve.gap": "1 %",
}


def short(changes: dict[str, Any] | None = None) -> Scenario:
    return with_changes(load_scenario(plain("clean-and-dirty-sites")), SHORT | (changes or {}))


def test_the_hours_of_a_start() -> None:
    """140 GB at 1 GB/s are 140 s; four hours of double running; nothing where it is not charged."""
    taken = {"double_running_h": 4.0, "parameters": 70e9, "weight_bytes": 2.0, "load_gb_per_s": 1.0}
    assert starting_h(**taken, charged_ratio=1.0) == pytest.approx(4.0 + 140.0 / 3600.0)
    assert starting_h(**taken, charged_ratio=0.0) == 0.0


def test_nobody_is_paid_for_a_start() -> None:
    """Electricity of 20 USD in 2,000 h is 0.04 USD in 4; rent of 3 USD an hour on half a node is 6."""
    hours = {"starting_h": 4.0, "period_h": 2000.0, "node_h": 2.0}
    assert starting_usd(running_usd=20.0, hour_usd=3.0, **hours) == pytest.approx(6.04)
    assert starting_usd(running_usd=-20.0, hour_usd=0.0, **hours) == 0.0


def test_a_start_takes_its_hours_of_the_period_and_is_free_where_it_runs_today() -> None:
    """Each option: 4 h and its weights, of its energy of the period; the first period by what is stated."""
    plain_inputs = Inputs(short(), load_catalogue())
    unknown = assemble(plain_inputs).problem
    sites = [site.name for site in plain_inputs.sites]
    stated = assemble(Inputs(short({"services.chat.sites_today": [sites[0]]}), load_catalogue())).problem
    serves, hours = unknown.serve_options, unknown.node_groups.hours
    parameters = served_models(plain_inputs, np.array([0]), np.array([0])).parameters.value[0]
    elsewhere = unknown.node_groups.site[serves.node_group] != 0

    assert (serves.start_kwh[:, 0] == 0).all(), "where it runs today is not known"
    ratio = serves.start_kwh[:, 1] / serves.kwh[:, 1] * hours[1]
    assert ratio == pytest.approx(4.0 + parameters * 2 / 1e9 / 3600.0, rel=1e-6)
    assert serves.start_usd[:, 1] == pytest.approx(serves.usd[:, 1] * ratio / hours[1])
    assert ((stated.serve_options.start_usd[:, 0] > 0) == elsewhere).all()
    assert elsewhere.any()


def test_a_deployment_is_as_large_as_stated_or_as_the_service_needs() -> None:
    """At least 5 replicas, or as many as carry the service, those on standby with them, where fewer do."""
    stated = assemble(Inputs(short({"services.chat.least_replicas": 5}), load_catalogue())).problem
    serves, alone = stated.serve_options, most_replicas(stated)

    assert (serves.least == np.minimum(5, alone)).all()
    assert (serves.least == 5).any()
    assert (assemble(Inputs(short(), load_catalogue())).problem.serve_options.least == 1).all()


@pytest.mark.solve
def test_what_starts_is_in_the_accounts_of_the_plan() -> None:
    """Demand grows, so that replicas start in the second period: money, carbon and energy by hand."""
    plan = plan_fleet(short(), baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    begun = started(solution.replicas)
    serves = plan.problem.serve_options

    assert begun[:, 1].any()
    for kind, terms in (
        ("usd", plan.ledger.usd_terms),
        ("kgco2e", plan.ledger.kgco2e_terms),
        ("kwh", plan.ledger.kwh_terms),
    ):
        by_hand = float((getattr(serves, f"start_{kind}") * begun).sum())
        assert by_hand > 0
        assert terms[f"starting_{kind}"].value == pytest.approx(by_hand)
    assert float(np.sum(solution.usd_terms.start)) == pytest.approx(
        plan.ledger.usd_terms["starting_usd"].value
    )


@pytest.mark.parametrize(
    ("key", "name", "why"),
    [("sites_today", "atlantis", "is no site here"), ("skus_today", "abacus-8", "abacus-8")],
)
def test_where_it_runs_today_has_to_exist(key: str, name: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why) as refused:
        short({f"services.chat.{key}": [name]})
    assert f"{key}[0]" in str(refused.value)


def test_a_least_number_that_leaves_no_plan_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine are stated and there is a plan with up to three: that is what the file has to say."""
    scenario = short({"services.chat.least_replicas": 9})
    trials = remedies._Trials(scenario, load_catalogue(), lambda: False)
    key = "services.chat.least_replicas"
    monkeypatch.setattr(remedies._Trials, "has_plan", lambda _, changes: changes[key] <= 3)

    assert list(remedies._deployments(trials)) == [remedies.Remedy(key, "9", "3", {key: 3})]
    monkeypatch.setattr(remedies._Trials, "has_plan", lambda *_: False)
    assert list(remedies._deployments(trials)) == []


def test_people_look_after_a_deployment_by_the_month_and_set_it_up_once() -> None:
    """8 h a month at 100 USD are 2,400 USD in a quarter of a year; 40 h are 4,000 USD, or none today."""
    quarter = {"hours_h": 2190.0, "year_h": 8760.0}
    assert deployment_usd(monthly_person_h=8.0, person_usd_per_h=100.0, **quarter) == pytest.approx(2400.0)
    assert setting_up_usd(person_h=40.0, person_usd_per_h=100.0, charged_ratio=1.0) == 4000.0
    assert setting_up_usd(person_h=40.0, person_usd_per_h=100.0, charged_ratio=0.0) == 0.0


def test_every_deployment_is_charged_alike_and_a_scenario_may_leave_people_out() -> None:
    people = assemble(Inputs(short(), load_catalogue())).problem.serve_options
    free = {"planning.keeping.person_time": "0 h", "planning.starting.person_time": "0 h"}
    none = assemble(Inputs(short({"facts": free}), load_catalogue())).problem.serve_options

    assert people.deployed_usd == pytest.approx(np.full(people.deployed_usd.shape, 2400.0), rel=0.02)
    assert (people.begun_usd[:, 0] == 0).all(), "where it runs today is not known"
    assert (people.begun_usd[:, 1] == 4000.0).all()
    assert people.chosen_or_not.all()
    assert not none.deployed_usd.any()
    assert not none.begun_usd.any()


@pytest.mark.solve
def test_people_in_the_accounts_of_the_plan() -> None:
    """Lines of cost by hand: each option that serves in a period, and each that did not before."""
    plan = plan_fleet(short(), baselines=False)
    solution = plan.answer.solution
    assert solution is not None
    serves, runs = plan.problem.serve_options, solution.replicas > 0
    new = runs & ~np.pad(runs, ((0, 0), (1, 0)))[:, :-1]

    assert plan.ledger.usd_terms["deployed_usd"].value == pytest.approx((serves.deployed_usd * runs).sum())
    assert plan.ledger.usd_terms["set_up_usd"].value == pytest.approx((serves.begun_usd * new).sum())
    assert float(solution.usd_terms.deploy.sum()) == pytest.approx(
        plan.ledger.usd_terms["deployed_usd"].value + plan.ledger.usd_terms["set_up_usd"].value
    )


def two_deployments(*, stand: int) -> Problem:
    """305/s, 10 a replica: a node group of so many nodes, and one of five where a replica is dearer."""
    serves = ServeOptions(
        service=np.array([0, 0]),
        node_group=np.array([0, 1]),
        capacity=np.full((2, 1), 10.0),
        nodes=np.ones(2),
        standby_fraction=np.zeros((2, 1)),
        node_hours=np.full((2, 1), 100.0),
        active_kw=np.ones(2),
        usd=np.array([[15.0], [16.0]]),
        kgco2e=np.zeros((2, 1)),
        deployed_usd=np.full((2, 1), 40.0),
    )
    cohorts = Cohorts(
        node_group=np.array([0, 1]),
        nodes=np.array([stand, 5]),
        keep_usd_per_node=np.zeros((2, 1)),
        keep_kgco2e_per_node=np.zeros((2, 1)),
        retire_usd_per_node=np.zeros((2, 1)),
        must_retire_by=np.array([1, 1]),
    )
    services = Services(name=("chat",), demand=np.array([[305.0]]))
    return problem(count=2, cohorts=cohorts, services=services, serve_options=serves)


@pytest.mark.parametrize(
    ("stand", "dearer", "broken"), [(40, -41.0, ()), (30, None, ("nodes in use", "node-hours"))]
)
def test_a_deployment_of_a_few_percent_says_why_it_stays(
    stand: int, dearer: float | None, broken: tuple[str, ...]
) -> None:
    """One of 31 replicas elsewhere: 40 USD of people and 1 of power could be spared, if there is a node."""
    case = two_deployments(stand=stand)
    found = answer(case, gap_fraction=0.0, time_limit_s=10).solution
    assert found is not None
    apart = account.solution(case, replace(found, replicas=np.array([[30], [1]])))

    (one,) = small_deployments(case, apart)
    assert (one.option, one.periods, one.broken) == (1, (0,), broken)
    assert one.most_fraction == pytest.approx(10 / 305)
    assert one.dearer == (None if dearer is None else pytest.approx(dearer))
    assert found.replicas.ravel().tolist() == ([31, 0] if stand == 40 else [30, 1])
    if stand == 40:
        assert small_deployments(case, found) == []
