"""Plans: verified, accounted for to the last cent, moved the right way by each input, open to their sources.

The directions need no published value: a dearer or scarcer input cannot make the best plan better. They are
solved to a gap of 0, where that holds exactly.
"""

from __future__ import annotations

import _thread
import contextlib
import dataclasses
import html
import itertools
import json
import math
import re
import threading
import time
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from explained import explained
from plain import plain
from sizes import at_night, size

from planner.answers.check import check as check_text
from planner.answers.plan.document import plan_document
from planner.answers.plan.summary import why_this_plan
from planner.cli import main
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, parse_scenario, with_changes
from planner.inputs.service_requests import request_classes, request_tokens
from planner.performance.bundles import Requests
from planner.performance.capacity import average_step
from planner.performance.experts import layer_weights
from planner.performance.memory import kv_cache_gb_per_token
from planner.performance.mix import class_context_tokens
from planner.physics.divisible_work import check_pools, pool_layouts
from planner.physics.engines import served_replica
from planner.physics.equations.training import run_finish_quantile_h
from planner.physics.replica_kinds import replica_kinds
from planner.physics.serving import serving_candidates
from planner.physics.training import TrainingRuns
from planner.physics.training_options import EXPERTS, training_arguments
from planner.program import plan as program_plan
from planner.program.assembly import Assembled, assemble
from planner.program.baselines import COST_ONLY, USUAL_PRACTICE, fleet_taken_over
from planner.program.plan import Plan, _Search, plan_fleet
from planner.report.page import to_html
from planner.report.text import to_markdown
from planner.trace.explain import explain
from planner.trace.origins import facts_of
from planner.trace.quantities import Fact, Traced, children
from planner.trace.recomputation import recompute
from planner.trace.uncertainty import spread, tornado
from reliability.finish import finish_quantile_h
from reliability.spares import installed_for_availability, spares_for_confidence
from solver.account import spares_of_promise
from solver.answer import answer
from solver.backend import Status
from solver.known import Answer
from solver.problem import Objective, Solution
from solver.verify import objective_value, verify

JOB, SERVING, QUARTER = "one-training-job", "serving-only", "next-quarter"
THE_QUARTER = pytest.param(QUARTER, marks=pytest.mark.nightly)  # takes half a minute
EXACT = {"solve.gap": "0 %"}
RATIO = "reliability.spares.variance_to_mean"
ROUNDING = 1e-9
DEADLINE = "training.train-8b.deadline"
ONE_QUARTER = {"horizon.periods": 1, "services.code.peak_rate": "25 /s"}
# One fleet stands at both sites; California's power is cleaner and here 10 USD/MWh dearer.
TWIN_SITES = ONE_QUARTER | {
    "sites.california.electricity_price": "80 USD/MWh",
    "fleet": [
        {"sku": "a100-80-8", "site": site, "nodes": 20, "in_service": date(2022, 6, 1)}
        for site in ("virginia", "california")
    ],
}


def shipped(name: str) -> Scenario:
    return load_scenario(plain(name))


def planned(name: str, changes: Mapping[str, Any] | None = None) -> Plan:
    return plan_fleet(with_changes(shipped(name), EXACT | dict(changes or {})), baselines=False)


@cache
def plan_of(name: str) -> Plan:
    """The plan of a shipped scenario, solved once; the larger two by day to 3 %, a quarter of the work."""
    rough = {"solve.gap": "3 %"} if name in (QUARTER, SERVING) and not at_night() else {}
    return plan_fleet(with_changes(shipped(name), rough), baselines=False)


@cache
def document_of(name: str) -> dict[str, Any]:
    return plan_document(plan_of(name))


def cost(plan: Plan) -> float:
    """Money of the best plan, infinite where there is none."""
    return np.inf if plan.answer.solution is None else plan.answer.solution.usd


def carbon(plan: Plan) -> float:
    return np.inf if plan.answer.solution is None else plan.answer.solution.kgco2e


def node_periods(plan: Plan, sku: str) -> int:
    """Periods that bought nodes of a SKU are in service."""
    problem, solution = plan.problem, plan.answer.solution
    assert solution is not None
    mine = problem.node_groups.sku == problem.sku_names.index(sku)
    return int(solution.bought_in_service[mine].sum())


def nodes_at(plan: Plan, site: str) -> int:
    problem, solution = plan.problem, plan.answer.solution
    assert solution is not None
    return int(solution.in_service[problem.node_groups.site == problem.site_names.index(site)].sum())


def rises(values: list[float]) -> bool:
    return all(after >= before - 1e-6 * abs(before) for before, after in itertools.pairwise(values))


# One plan, many accounts


@pytest.mark.parametrize("name", [JOB, SERVING, THE_QUARTER])
def test_a_plan_passes_plain_sums(name: str) -> None:
    """No rule is broken by sums that know nothing of the engine, and they give the engine's objective."""
    plan = plan_of(name)
    solution = plan.answer.solution
    assert solution is not None

    assert plan.answer.status in (Status.OPTIMAL, Status.WITHIN_GAP)
    assert verify(plan.problem, solution, 1e-6) == []
    assert plan.answer.objective == pytest.approx(objective_value(plan.problem, solution), rel=ROUNDING)
    assert plan.answer.bound <= plan.answer.objective * (1 + 1e-6)


@pytest.mark.parametrize("name", [JOB, SERVING, THE_QUARTER])
def test_the_objective_is_the_sum_of_its_terms(name: str) -> None:
    """What the solver minimised = the traced total = the sum of the terms that the report lists."""
    plan = plan_of(name)
    ledger, aim = plan.ledger, plan.problem.objective
    usd = sum(float(term.value) for term in ledger.usd_terms.values())
    kgco2e = sum(float(term.value) for term in ledger.kgco2e_terms.values())
    kwh = sum(float(term.value) for term in ledger.kwh_terms.values())

    assert ledger.cost.value == pytest.approx(usd, rel=ROUNDING)
    assert ledger.carbon.value == pytest.approx(kgco2e, rel=ROUNDING)
    assert ledger.energy.value == pytest.approx(kwh, rel=ROUNDING)
    weighted = aim.money_weight * usd + aim.carbon_weight * kgco2e
    assert ledger.objective.value == pytest.approx(weighted, rel=ROUNDING)
    assert plan.answer.objective == pytest.approx(weighted, rel=1e-6)


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_the_document_says_what_the_ledger_says(name: str) -> None:
    """Totals, tables and periods are three views of one sum; an explanation begins with it."""
    document, ledger = document_of(name), plan_of(name).ledger
    totals = {total["name"]: total["value"] for total in document["totals"]}
    tables = document["tables"]

    assert totals["cost"] == pytest.approx(sum(row["usd"] for row in tables["cost"]), rel=ROUNDING)
    assert totals["carbon"] == pytest.approx(sum(row["kgco2e"] for row in tables["carbon"]), rel=ROUNDING)
    for column in ("cost_usd", "carbon_kgco2e", "energy_kwh", "capex_usd"):
        total = column.partition("_")[0]
        by_period = sum(row[column] for row in tables["by_period"])
        assert totals[total] == pytest.approx(by_period, rel=ROUNDING), total
    assert document["objective"]["value"] == ledger.objective.value
    for total in document["totals"]:
        assert explained(document, total["explain"]).steps[0].value == total["value"]
    for row in tables["cost"]:
        assert explained(document, row["explain"]).steps[0].value == row["usd"]
    for row in tables["carbon"]:
        assert explained(document, row["explain"]).steps[0].value == row["kgco2e"]


@pytest.mark.parametrize("name", [JOB, SERVING, THE_QUARTER])
def test_recomputing_from_the_leaves_gives_the_plan_again(name: str) -> None:
    """Every fact is handed in anew at its own value, so that every equation is called once more."""
    ledger = plan_of(name).ledger
    totals: list[Traced] = [ledger.objective, ledger.cost, ledger.carbon, ledger.energy, ledger.capex]
    same = {key: float(fact.value) for key, fact in facts_of(*totals).items()}

    again = recompute(totals, same)

    assert again == pytest.approx([total.value for total in totals], rel=ROUNDING)


# Directions


def test_a_dirtier_grid_raises_carbon_by_exactly_its_share() -> None:
    """At a fixed plan, operational carbon is linear in grid intensity, embodied carbon apart from it."""
    ledger = plan_of(JOB).ledger
    key = "grid.se.intensity"
    terms = ledger.kgco2e_terms
    operational = sum(terms[f"{name}_kgco2e"].value for name in ("training", "serving", "pools", "idle"))
    fact = facts_of(ledger.carbon)[key]

    doubled = recompute([ledger.carbon, ledger.cost], {key: 2 * fact.value})

    assert doubled[0] - ledger.carbon.value == pytest.approx(operational, rel=ROUNDING)
    assert operational > 0.1 * ledger.carbon.value
    assert doubled[1] == ledger.cost.value


@pytest.mark.nightly
def test_a_dirtier_grid_drives_the_carbon_plan_away() -> None:
    """Carbon of the carbon-optimal plan cannot fall when a grid gets dirtier, and at last the plan moves."""

    def at(intensity: str) -> Plan:
        own = {"sites.california.grid": None, "sites.california.grid_intensity": f"{intensity} kgCO2e/kWh"}
        return planned(SERVING, ONE_QUARTER | own)

    plans = [at(intensity) for intensity in ("0.1", "0.2", "0.5", "0.9")]

    assert rises([carbon(plan) for plan in plans])
    assert carbon(plans[1]) > carbon(plans[0])
    assert nodes_at(plans[0], "california") > 0
    assert nodes_at(plans[0], "virginia") == 0
    assert nodes_at(plans[-1], "california") == 0
    assert carbon(plans[-1]) == pytest.approx(
        carbon(plans[-2]), rel=1e-6
    )  # moved away: no longer touched by it


def test_a_scenario_may_overrule_a_grid_fact() -> None:
    """`[facts]` may replace any shipped fact; a doubled one doubles the carbon that rests on it."""
    key = "grid.se.intensity"
    twice = f"{2 * load_catalogue().fact(key).value} kgCO2e/kWh"
    plain, plan = planned(JOB), planned(JOB, {f"facts.{key}": twice})

    there = facts_of(plain.ledger.carbon)[key]
    doubled = recompute([plain.ledger.carbon], {key: 2 * there.value})[0]

    assert facts_of(plan.ledger.carbon)[key].kind == "yours"
    assert carbon(plan) == pytest.approx(doubled, rel=ROUNDING)


def test_dearer_electricity_raises_cost() -> None:
    """The energy bill is linear in the price at a fixed plan; the best plan cannot get cheaper."""
    ledger = plan_of(JOB).ledger
    key = "scenario.sites.stockholm.electricity_price"
    bill = ledger.usd_terms["training_usd"].value + ledger.usd_terms["idle_usd"].value

    tripled = recompute([ledger.cost], {key: 3 * facts_of(ledger.cost)[key].value})[0]

    assert tripled - ledger.cost.value == pytest.approx(2 * bill, rel=ROUNDING)
    prices = ("30 USD/MWh", "65 USD/MWh", "400 USD/MWh")
    costs = [cost(planned(JOB, {"sites.stockholm.electricity_price": price})) for price in prices]
    assert rises(costs)
    assert costs[0] < costs[1] < costs[2]


@pytest.mark.nightly
def test_a_dearer_node_is_never_bought_more() -> None:
    """Revealed preference: the plan's cost is linear in the price, so the optimum holds no more of it."""
    prices = ("100 kUSD", "176 kUSD", "300 kUSD", "400 kUSD", "900 kUSD")
    plans = [planned(JOB, {"facts.server.dgx-a100-80.price": price}) for price in prices]
    bought = [node_periods(plan, "a100-80-8") for plan in plans]

    assert rises([cost(plan) for plan in plans])
    assert bought == sorted(bought, reverse=True)
    assert bought[0] > 0
    assert bought[-1] == 0
    assert node_periods(plans[-1], "h100-8") > 0  # the work is done on the other one


def test_more_failures_mean_longer_runs_shorter_intervals_more_spares() -> None:
    """In each configuration by itself ETTR falls and the best interval shortens (Young: as 1/sqrt(rate))."""
    rates = ("0.1 /month", "0.4 /month", "1.6 /month")
    fixed: dict[str, Any] = {"training.train-8b.nodes": "[8]", "reliability.failures": None}
    plans = [planned(JOB, fixed | {"reliability.failure_rate": rate}) for rate in rates]

    for less, more in itertools.pairwise(plans):
        before, after = less.assembled.runs, more.assembled.runs
        assert before is not None
        assert after is not None
        assert np.all(after.duration_h.value > before.duration_h.value)
        assert np.all(after.ettr.value < before.ettr.value)
        assert np.all(after.mttf_h.value == pytest.approx(before.mttf_h.value / 4))
        by_time = before.policy == 0  # Young, to first order; the exact optimum lies near it
        shorter = (after.interval_h.value / before.interval_h.value)[by_time]
        assert shorter == pytest.approx(0.5, rel=0.02)
        assert np.all(after.interval_h.value < before.interval_h.value)
        assert cost(more) >= cost(less)
    spares = [int(plan.answer.solution.spares.max()) for plan in plans if plan.answer.solution]
    assert spares == sorted(spares)
    assert spares[-1] > spares[0]


@pytest.mark.nightly
def test_a_log_of_ones_own_reaches_the_totals_and_their_ranges(tmp_path: Path) -> None:
    """The rate is a fact of the carbon, a bar of the tornado, and what widens the finish beyond its luck."""

    def logged(name: str, low: float, high: float) -> Plan:
        text = (data_folder() / "scenarios" / f"{JOB}.toml").read_text(encoding="utf-8")
        text = re.sub(r"(?m)^failures = .*$", f'log = "{name}.json"', text)
        rate = {"value": 5.2, "low": low, "high": high, "unit": "1/(1000 node d)"}
        fit = {
            "everfleet_fit": 1,
            "name": name,
            "rate": rate,
            "accelerators_per_node": 8,
            "definition": "",
            "source": "log.csv",
            "outage": None,
            "variance_to_mean": None,
            "rate_shape": None,
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(fit), encoding="utf-8")
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        return plan_fleet(with_changes(load_scenario(tmp_path / f"{name}.toml"), EXACT), baselines=False)

    sure, unsure = logged("sure", 5.1, 5.3), logged("unsure", 1.0, 27.0)
    key = "fit.unsure.failure_rate"

    assert facts_of(unsure.ledger.objective)[key].kind == "yours"
    assert key in {swing.fact.key for swing in tornado(unsure.ledger.carbon, most=100)}
    assert key in {fact["key"] for fact in plan_document(unsure)["tables"]["facts"]}
    narrow, wide = (spread([plan.ledger.carbon])[0] for plan in (sure, unsure))
    assert wide.p95 - wide.p5 > narrow.p95 - narrow.p5
    ours, theirs = sure.assembled.runs, unsure.assembled.runs
    assert ours is not None
    assert theirs is not None
    assert theirs.duration_h.value == pytest.approx(ours.duration_h.value)
    of_luck = {VARIATION: 0.0}  # the spread of its pace hides that of its luck
    lucky, doubtful = (recompute([runs.finish_p95_h], of_luck)[0] for runs in (ours, theirs))
    assert np.all(doubtful > lucky)


@pytest.mark.nightly
def test_spares_of_a_plan_are_those_of_the_nodes_in_use() -> None:
    """None more or less, worked out again from each node group's failures and its share of the bursts."""
    plan, facts = plan_of(QUARTER), load_catalogue()
    solution, rates = plan.answer.solution, plan.assembled.nodes.failure_rate_per_node_h.value
    assert solution is not None
    ratio, fleet = facts.fact(RATIO).value, facts.fact("reliability.spares.fleet_nodes").value
    used = np.ceil(solution.in_use - 1e-9)
    need = spares_for_confidence(
        mean_down=used * np.asarray(rates)[:, None] * plan.inputs.repair().value,
        confidence_fraction=plan.inputs.scenario.reliability.spare_confidence_fraction,
        variance_to_mean_ratio=1 + (ratio - 1) * used / fleet,
    )

    need = np.maximum(need, spares_of_services(plan, solution))

    assert fleet == 400
    assert solution.spares.tolist() == need.tolist()
    assert solution.spares.max() >= 3
    short = dataclasses.replace(solution, spares=np.maximum(solution.spares - 1, 0))
    rules = [each for each in verify(plan.problem, short, 1e-6) if each.rule in ("spares", "promise")]
    broken = {each.index[-2:] for each in rules}
    assert broken == {tuple(index) for index in np.argwhere(solution.spares > 0).tolist()}


def spares_of_services(plan: Plan, solution: Solution) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What both services are promised: nodes up out of nodes in use and spares, in bursts; standby helps."""
    (promise,) = {service.availability_fraction for service in plan.inputs.scenario.services}
    serves, facts = plan.problem.serve_options, load_catalogue()
    up = 1 / (1 + np.asarray(plan.assembled.nodes.failure_rate_per_node_h.value) * plan.inputs.repair().value)
    ratio, fleet = facts.fact(RATIO).value, facts.fact("reliability.spares.fleet_nodes").value
    needed = np.zeros(solution.spares.shape)
    for p, t in np.ndindex(needed.shape):
        own = (serves.node_group == p) & (solution.replicas[:, t] > 0)
        standing = float(serves.covers[own, t].sum())
        nodes = math.ceil(float(serves.nodes[own] @ solution.replicas[own, t]) - standing - 1e-9)
        if nodes > 0:
            installed = installed_for_availability(
                needed=nodes,
                availability_fraction=up[p],
                target_fraction=1 - 0.5 * (1 - promise),
                correlation_fraction=(ratio / up[p] - 1) / (fleet - 1),
            )
            needed[p, t] = max(0, float(installed) - nodes - standing)
    return needed


@pytest.mark.nightly
def test_bursts_ask_for_more_spares() -> None:
    """The more the larger the node group, and never fewer than Poisson counts do."""
    scenario = shipped(QUARTER)
    bursts, poisson = (
        assemble(Inputs(with_changes(scenario, {f"facts.{RATIO}": ratio}), load_catalogue())).problem
        for ratio in ("5.78", "1")
    )

    for group in range(len(bursts.node_groups)):
        used = np.arange(1.0, bursts.spare_steps.reach[bursts.spare_steps.of_node_group(group)].max() + 1)
        column = np.zeros((len(bursts.node_groups), used.size))
        column[group] = used
        more = np.subtract(*(spares_of_promise(one, column, 0, 1e-9)[group] for one in (bursts, poisson)))
        assert more.min() >= 0
        assert more[-1] >= max(1, more.max() - 1)  # stairs that rise at other places


def test_an_earlier_deadline_is_never_cheaper() -> None:
    """A plan for the earlier deadline also meets the later one; in the end none is fast enough."""
    days = (
        date(2027, 6, 30),
        date(2027, 5, 15),
        date(2027, 3, 10),
        date(2027, 2, 15),
        date(2027, 1, 8),
        date(2027, 1, 2),
    )
    costs = [cost(planned(JOB, {DEADLINE: day})) for day in days]

    assert rises(costs)
    assert len(set(np.round(costs, 2))) >= 5
    assert costs[-1] == np.inf


def test_a_carbon_price_buys_carbon_with_money() -> None:
    """As the weight of carbon grows, carbon never rises and money never falls.

    Where the plan changes between two prices, what it pays for a tonne lies between them: neither plan would
    be the best at its own price otherwise.
    """
    prices = (0, 50, 150, 500, 5_000, 50_000)
    plans = [planned(SERVING, TWIN_SITES | {"policy.objective": "money"})]
    for price in prices[1:]:
        weighted = {"policy.objective": "weighted", "policy.carbon_price": f"{price} USD/t"}
        plans.append(planned(SERVING, TWIN_SITES | weighted))

    assert rises([cost(plan) for plan in plans])
    assert rises([-carbon(plan) for plan in plans])
    changes = 0
    for (low, before), (high, after) in itertools.pairwise(zip(prices, plans, strict=True)):
        if carbon(after) < carbon(before) * (1 - 1e-6):
            changes += 1
            paid = 1000 * (cost(after) - cost(before)) / (carbon(before) - carbon(after))
            assert low * (1 - 1e-3) <= paid <= high * (1 + 1e-3)
    assert changes >= 2  # first the work moves to the cleaner site, at last new hardware pays
    assert nodes_at(plans[0], "virginia") > 0
    assert nodes_at(plans[3], "virginia") == 0


def test_a_tighter_power_cap_is_never_cheaper() -> None:
    """A plan under the tighter cap also keeps the wider one."""
    caps = ("300 kW", "22.5 kW", "20.5 kW", "5 kW")
    plans = [planned(JOB, {DEADLINE: date(2027, 2, 15), "sites.stockholm.power_cap": cap}) for cap in caps]
    costs = [cost(plan) for plan in plans]

    assert rises(costs)
    assert costs[1] < costs[2] < np.inf
    assert costs[-1] == np.inf
    assert plans[-1].infeasibility is not None
    assert "power" in [name for family in plans[-1].infeasibility.families for name in family.names]


def test_an_offer_that_nobody_wants_changes_nothing() -> None:
    """A SKU at a thousand times its price is left on the shelf."""
    plain = planned(JOB)
    market = [{"sku": sku, "lead_time": "0 d", "order_nodes": 1} for sku in ("h100-8", "a100-80-8", "b200-8")]
    price = load_catalogue().fact("server.hgx-b200.price").value
    offered = planned(JOB, {"market": market, "facts.server.hgx-b200.price": f"{1000 * price} USD"})

    assert node_periods(offered, "b200-8") == 0
    assert cost(offered) == pytest.approx(cost(plain), rel=ROUNDING)
    assert carbon(offered) == pytest.approx(carbon(plain), rel=ROUNDING)


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_names_do_not_decide(name: str) -> None:
    """Sites called otherwise, and sorted otherwise, are planned alike."""
    text = plain(name).read_text(encoding="utf-8")
    for old, new in (("stockholm", "zug"), ("virginia", "zzyzx"), ("california", "aachen")):
        text = text.replace(old, new)
    short = ONE_QUARTER if name == SERVING else {}
    stated = planned(name, short)
    renamed = plan_fleet(with_changes(parse_scenario(text), EXACT | short), baselines=False)
    assert stated.answer.solution is not None
    assert renamed.answer.solution is not None

    assert cost(renamed) == pytest.approx(cost(stated), rel=ROUNDING)
    assert carbon(renamed) == pytest.approx(carbon(stated), rel=ROUNDING)
    assert np.array_equal(renamed.answer.solution.orders, stated.answer.solution.orders)


@pytest.mark.nightly
def test_the_order_of_sites_does_not_decide() -> None:
    """The same file with its sites and offers turned round has the same best objective."""
    scenario = with_changes(shipped(SERVING), EXACT | ONE_QUARTER)
    turned = scenario.model_copy(update={"sites": scenario.sites[::-1], "market": scenario.market[::-1]})

    again, plain = plan_fleet(turned, baselines=False), plan_fleet(scenario, baselines=False)

    assert again.answer.objective == pytest.approx(plain.answer.objective, rel=1e-6)


def test_work_that_may_be_left_out_is_left_out_only_where_it_costs_more_than_its_penalty() -> None:
    """A penalty below the job's cost is paid, one above it is not: the cheaper of the two is the optimum."""
    done = cost(planned(JOB))
    optional = {"training.train-8b.may_be_left_out": True}
    paid = planned(JOB, optional | {"training.train-8b.left_out_penalty": f"{0.9 * done:.0f} USD"})
    kept = planned(JOB, optional | {"training.train-8b.left_out_penalty": f"{1.1 * done:.0f} USD"})

    assert cost(paid) == pytest.approx(0.9 * done, abs=1)
    assert paid.answer.solution is not None
    assert paid.answer.solution.left_out.all()
    assert cost(kept) == pytest.approx(done, rel=1e-6)


# Facts to the screen


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_every_fact_behind_the_plan_reaches_the_screen(name: str) -> None:
    """Each fact under the totals stands with value, kind and citation in the document and in both reports."""
    ledger, document = plan_of(name).ledger, document_of(name)
    behind = facts_of(ledger.objective, ledger.cost, ledger.carbon, ledger.energy, ledger.capex)
    listed = {row["key"]: row for row in document["tables"]["facts"]}
    page, text = to_html(document), to_markdown(document).replace("\\", "")

    assert behind.keys() <= listed.keys()
    for key, fact in behind.items():
        row = listed[key]
        assert row["value"] == fact.value
        assert (row["unit"], row["kind"], row["locator"]) == (fact.unit, fact.kind, fact.locator)
        assert row["source"] == fact.source.cite()
        assert row["source"]
        assert html.escape(key) in page, key
        assert key in text, key
        for shown in (page, text):
            assert html.unescape(fact.source.cite()) in html.unescape(shown), key


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_no_fact_is_listed_that_nothing_rests_on(name: str) -> None:
    """A listed fact belongs to hardware and sites that the plan holds, works on, or decided to retire."""
    plan, document = plan_of(name), document_of(name)
    problem, solution = plan.problem, plan.answer.solution
    assert solution is not None
    held = solution.in_service.any(axis=1)
    held[problem.cohorts.node_group] = True
    skus = {problem.sku_names[k] for k in problem.node_groups.sku[held]}
    unused = [sku for sku in plan.inputs.skus if sku.name not in skus]
    foreign = tuple(
        f"{room}.{part}."
        for sku in unused
        for room, part in (("server", sku.server), ("accelerator", sku.accelerator))
    )
    listed = [row["key"] for row in document["tables"]["facts"]]

    assert unused, "the scenario offers nothing that the plan leaves on the shelf: the test would say nothing"
    assert [key for key in listed if key.startswith(foreign)] == []


def test_no_fact_that_moves_a_total_is_left_out() -> None:
    """Every fact anywhere in the graph is raised and lowered by a fifth; whatever moves a total is listed."""
    ledger = plan_of(JOB).ledger
    totals: list[Traced] = [ledger.cost, ledger.carbon, ledger.energy, ledger.capex]
    listed = {row["key"] for row in document_of(JOB)["tables"]["facts"]}
    waiting: list[Traced] = list(totals)
    seen: dict[int, Traced] = {}
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            waiting += children(node).values()
    moving = set()
    for fact in {node.key: node for node in seen.values() if isinstance(node, Fact)}.values():
        for factor in (0.8, 1.2):
            with contextlib.suppress(ValueError):  # a share above one is refused: then the other way counts
                if recompute(totals, {fact.key: factor * fact.value}) != [total.value for total in totals]:
                    moving.add(fact.key)

    assert len(moving) > 30
    assert moving - listed == set()


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_every_explanation_ends_in_sources(name: str) -> None:
    """Each leaf is a fact with a source or a choice with a reason; each step above it has an equation."""
    for number in document_of(name)["explanations"]:
        steps = explained(document_of(name), number).to_dict()
        below = {child for step in steps for child in step.get("inputs", {}).values()}
        assert below == set(range(1, len(steps))), f"{number}: a step that nothing refers to"
        for step in steps:
            if "inputs" in step:
                assert step["kind"] == "derived"
                assert step["equation"], f"{number}: {step['name']} has no equation"
            elif step["kind"] == "chosen":
                assert step["about"], f"{number}: {step['name']} has no reason"
            else:
                assert step["source"], f"{number}: {step['name']} has no source"
        if steps[0]["value"] and number != "cost.left_out":
            assert any("source" in step for step in steps), f"{number}: rests on no fact"


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_ranges_are_ordered_and_swings_move_the_objective(name: str) -> None:
    """p5 <= p50 <= p95; each swing goes through the objective itself, widest first."""
    document = document_of(name)
    objective = document["objective"]["value"]

    for total in document["totals"]:
        assert total["p5"] <= total["p50"] <= total["p95"], total["name"]
    spread = {total["name"]: total for total in document["totals"]}
    assert spread["carbon"]["p5"] < spread["carbon"]["value"] < spread["carbon"]["p95"]
    widths = []
    for swing in document["tornado"]:
        ends = sorted((swing["at_low"], swing["at_high"]))
        assert ends[0] * (1 - ROUNDING) <= objective <= ends[1] * (1 + ROUNDING), swing["fact"]
        widths.append(ends[1] - ends[0])
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0


# The real quarter


@pytest.fixture(scope="module")
def next_to_cost_only() -> Plan:
    """The shipped quarter with the plan beside it that looks at money alone."""
    plan = plan_of(QUARTER)
    solve = plan.inputs.scenario.solve
    cheap = answer(
        replace(plan.problem, objective=Objective(1.0, 0.0)),
        gap_fraction=solve.gap_fraction,
        time_limit_s=solve.time_limit_s,
    )
    return replace(plan, baselines={COST_ONLY: cheap})


@pytest.mark.nightly
def test_the_carbon_price_changes_the_real_quarter(next_to_cost_only: Plan) -> None:
    """Cleaner than the cost-only plan, not cheaper beyond the gap, and the reasons name what differs."""
    plan, cheap = next_to_cost_only, next_to_cost_only.baselines[COST_ONLY]
    assert plan.answer.solution is not None
    assert cheap.solution is not None
    gap = plan.inputs.scenario.solve.gap_fraction

    assert plan.answer.solution.kgco2e < cheap.solution.kgco2e
    assert plan.answer.solution.usd >= cheap.solution.usd * (1 - 2 * gap)
    # Each is best by its own measure, within the gap.
    assert plan.answer.objective <= objective_value(plan.problem, cheap.solution) * (1 + gap)
    _, reasons = why_this_plan(plan)
    assert any(reason.startswith("Against the cost-only plan") for reason in reasons)
    assert any(reason.startswith("It differs in ") for reason in reasons)


@pytest.mark.nightly
def test_the_real_quarter_keeps_its_promises() -> None:
    """The run ends before its deadline, services carry their peaks, pools get their hours."""
    plan = plan_of(QUARTER)
    problem, solution, runs = plan.problem, plan.answer.solution, plan.ledger.runs
    assert solution is not None
    assert runs is not None

    for row in plan.ledger.run_rows:
        candidate = runs.candidate[row]
        ends = runs.start_h.value[row, 0] + runs.finish_p95_h.value[candidate]
        job = plan.inputs.scenario.training[runs.candidates.job[candidate]]
        assert (
            plan.inputs.scenario.horizon.date_after_h(float(ends)).isoformat()[:10]
            <= job.deadline.isoformat()
        )
    for i in range(len(problem.services.name)):
        mine = problem.serve_options.service == i
        carried = (problem.serve_options.capacity[mine] * solution.replicas[mine]).sum(axis=0)
        assert np.all(carried >= problem.services.demand[i] * (1 - 1e-6))
    for w in range(len(problem.work.name)):
        mine = problem.work_options.work == w
        done = problem.work_options.speed[mine] @ solution.work_node_h[mine]
        assert np.all(done >= problem.work.demand_h[w] * (1 - 1e-6))


def test_a_better_baseline_within_the_gap_is_the_plan_with_its_bound() -> None:
    """The bound of the search holds for both: nothing is searched again, and the gap only shrinks."""
    plan = planned("one-training-job")
    best = plan.answer
    assert best.solution is not None
    search = _Search(
        plan.problem, plan.inputs.scenario.solve, 0.0, None, None, None, lambda: plan.problem, None
    )
    worse = replace(
        best,
        objective=1.0005 * best.objective,
        gap_fraction=5e-4,
        status=Status.WITHIN_GAP,
        bound=best.objective,
    )
    found = search._not_beaten(worse, [best.solution])

    assert found.solution is best.solution
    assert found.objective == pytest.approx(best.objective, rel=1e-9)
    assert (found.status, found.bound) == (Status.WITHIN_GAP, worse.bound)
    assert found.gap_fraction < worse.gap_fraction
    assert search._not_beaten(best, [best.solution]) is best


def test_two_caps_of_the_horizon_that_clash_have_an_answer() -> None:
    """Neither alone is enough, and neither names any work: looking for remedies was an error of an index."""
    caps = {"policy.carbon_cap": "1 kg", "policy.money_cap": "1 USD"}
    plan = plan_fleet(with_changes(shipped("one-training-job"), caps), baselines=False)
    assert plan.answer.status is Status.INFEASIBLE
    assert plan.infeasibility is not None


def test_a_baseline_that_looked_for_money_alone_is_operated_for_the_plan() -> None:
    """Its fleet may be the best within the gap, its clean energy is not: at 1 USD/MWh it bought none."""
    contract = {"name": "wind", "site": "stockholm", "price_premium": "1 USD/MWh"}
    weighted = {"policy.objective": "weighted", "policy.carbon_price": "500 USD/t"}
    market = {"policy.accounting": "market", "contracts": [contract]}
    plan = plan_fleet(with_changes(shipped("one-training-job"), EXACT | weighted | market))
    best, cheap = plan.answer, plan.baselines[COST_ONLY].solution
    assert best.solution is not None
    assert cheap is not None
    assert best.solution.matched_kwh.sum() > 0
    assert cheap.matched_kwh.sum() == 0
    search = _Search(
        plan.problem, plan.inputs.scenario.solve, 0.0, None, None, None, lambda: plan.problem, None
    )
    worse = replace(best, objective=1.5 * best.objective, status=Status.WITHIN_GAP)
    found = search._not_beaten(worse, [cheap])

    assert found.solution is not None
    assert found.solution.matched_kwh.sum() == pytest.approx(best.solution.matched_kwh.sum())
    assert found.objective == pytest.approx(best.objective, rel=1e-4)


def test_what_the_usual_practice_buys_is_operated_as_the_plan_may() -> None:
    """A search that time ended behind the usual practice takes its fleet: the plan is no worse than that."""
    plan = plan_fleet(with_changes(shipped("one-training-job"), EXACT))
    usual, its_problem = plan.baselines[USUAL_PRACTICE], plan.own_baselines[USUAL_PRACTICE][1].problem
    assert plan.answer.solution is not None
    assert usual.solution is not None
    search = _Search(
        plan.problem, plan.inputs.scenario.solve, 0.0, None, None, None, lambda: its_problem, None
    )
    behind = replace(
        plan.answer, objective=2.0 * plan.answer.objective, gap_fraction=0.5, status=Status.TIME_LIMIT
    )
    operated = search._usual_fleet(behind, plan.baselines)
    found = search._not_beaten(behind, operated)

    assert np.array_equal(operated[0].in_service.sum(), usual.solution.in_service.sum())
    # Its checkpoint every hour is no option of the plan, whose interval is the best to within 0.01 % here.
    assert found.objective == pytest.approx(objective_value(plan.problem, usual.solution), rel=1e-4)
    assert found.status is (
        Status.WITHIN_GAP
        if found.gap_fraction <= plan.inputs.scenario.solve.gap_fraction
        else Status.TIME_LIMIT
    )
    assert search._usual_fleet(plan.answer, plan.baselines) == []


def test_a_fleet_that_the_other_program_does_not_know_is_not_taken_over() -> None:
    """Nodes of another site, and standing nodes that are others, are no decisions of that program."""
    plan, other = planned("one-training-job"), planned("research-lab")
    assert plan.answer.solution is not None

    same = fleet_taken_over(plan.answer.solution, plan.problem, plan.problem)
    assert same is not None
    assert np.array_equal(same.orders, plan.answer.solution.orders)
    assert fleet_taken_over(plan.answer.solution, plan.problem, other.problem) is None


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_the_baselines_keeps_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is proved already; only what would stand beside it is given up, and its thread ends."""
    ended = threading.Event()

    def endless(search: _Search) -> dict[str, Answer]:
        while not search._should_stop():
            time.sleep(0.01)
        ended.set()
        return {}

    def watch(text: str) -> None:
        if text == "solving the baselines":
            _thread.interrupt_main()

    monkeypatch.setattr(_Search, "_baselines", endless)
    plan = plan_fleet(load_scenario(data_folder() / "scenarios" / f"{JOB}.toml"), watch=watch)

    assert plan.answer.status is Status.OPTIMAL
    assert plan.baselines == {}
    assert ended.is_set()


def test_working_out_the_options_counts_in_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet so large that its options take all of the time: no search begins, and the plan says so."""

    def slowly(inputs: Inputs) -> Assembled:
        time.sleep(0.2)
        return assemble(inputs)

    monkeypatch.setattr(program_plan, "assemble", slowly)
    document = plan_document(planned(JOB, {"solve.time_limit": "0.1 s"}))

    assert document["status"]["name"] == "no incumbent"
    assert document["status"]["text"].startswith(
        "Stopped before the search began: working out what each option takes counts in the 0.1 s"
    )


@pytest.mark.parametrize("name", [JOB, SERVING])
def test_every_fact_that_was_weighed_reaches_the_screen(name: str) -> None:
    """Memory sizes, rack units and the hardware left on the shelf decide too: all of it is shown."""
    plan, document = plan_of(name), document_of(name)
    listed = {row["key"] for table in ("facts", "facts_weighed") for row in document["tables"][table]}
    page = to_html(document)

    assert plan.inputs.facts_used.keys() <= listed
    assert {"performance.serving.usable_memory", "performance.training.usable_memory"} & listed
    assert all(html.escape(key) in page for key in listed)


def test_an_infeasible_plan_says_why_its_options_were_dropped() -> None:
    """405B parameters with gradients, optimizer state and activations do not fit on 16 nodes of 80 GB."""
    document = plan_document(planned(JOB, {"training.train-8b.model": "llama-3.1-405b"}))
    text = document["clash"]["text"]

    assert document["status"]["name"] == "infeasible"
    assert "job train-8b: there is no way to run it (train-8b on 2 nodes of h100-8: the smallest of" in text
    assert "GB are usable" in text


def test_a_supply_of_nothing_is_named() -> None:
    """Nothing stands and nothing can be bought: the supply is what has to give way."""
    changes = {"market.h100-8.supply_nodes": 0, "market.a100-80-8.supply_nodes": 0}
    infeasibility = planned(JOB, changes).infeasibility

    assert infeasibility is not None
    assert "supply" in {name for family in infeasibility.families if family.suffices for name in family.names}


def test_a_job_left_out_is_the_headline() -> None:
    """At a penalty of 1 kUSD training is not worth its nodes."""
    changes = {"training.train-8b.may_be_left_out": True, "training.train-8b.left_out_penalty": "1 kUSD"}
    headline, _ = why_this_plan(planned(JOB, changes))

    assert "Buy nothing." in headline
    assert "Leave out train-8b at its penalty of 1.00 kUSD; it costs more." in headline


# Mixtures of experts

MODEL = "training.train-8b.model"
VARIATION = "performance.training.run_variation"
EXPOSED = "performance.training.expert_exposed"
IMBALANCE = "performance.training.load_imbalance"
CALIBRATION = "performance.training.expert_calibration_factor@wide"


def runs_of(model: str, **facts: str) -> TrainingRuns:
    changes = {MODEL: model, **{f"facts.{key}": value for key, value in facts.items()}}
    runs = assemble(Inputs(with_changes(shipped(JOB), changes), load_catalogue())).runs
    assert runs is not None
    return runs


@pytest.mark.parametrize("name", [JOB, THE_QUARTER])
def test_dense_models_know_nothing_of_experts(name: str) -> None:
    """No number of a plan of dense models rests on what was added for experts, but for an engine's bundle."""
    facts = facts_of(plan_of(name).ledger.objective)

    own = [key for key in facts if not key.startswith("performance.engine.")]
    assert not [key for key in own if "expert" in key or "load_imbalance" in key]


@pytest.mark.parametrize("model", ["mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3"])
def test_experts_are_held_whole_and_met_by_few(model: str) -> None:
    """What a layer multiplies and holds adds up to the published active and whole weights, to 3 %.

    Left out in both: norms. Counted otherwise: the 3 dense layers of DeepSeek-V3 as layers of experts (2 %
    of its weights), and by Qwen one embedding table among the active weights.
    """
    inputs = Inputs(with_changes(shipped(JOB), {MODEL: model}), load_catalogue())
    arguments = training_arguments(inputs, model, 0, "bf16")
    of = {name: float(node.value) for name, node in arguments.items()}
    names = ("hidden", "heads", "kv_heads", "ffn", "gated", "mixer_parameters", *EXPERTS)
    layer = layer_weights(**{name: of[name] for name in names})
    ends = 2 * of["hidden"] * of["vocabulary"]
    common = of["layers"] * layer.common_parameters + ends
    known = load_catalogue()

    active = common + of["layers"] * layer.active_routed_parameters
    assert active == pytest.approx(known.fact(f"model.{model}.active_parameters").value, rel=0.03)
    whole = common + of["layers"] * layer.held_routed_parameters
    assert whole == pytest.approx(known.fact(f"model.{model}.parameters").value, rel=0.06)


def test_a_mixture_spreads_its_experts_and_says_what_it_rests_on() -> None:
    """Its assumptions are facts of its hours; a busier expert and an open exchange make it longer."""
    runs, at_once = runs_of("mixtral-8x7b"), runs_of("mixtral-8x7b", **{IMBALANCE: "1.5"})
    hidden = runs_of("mixtral-8x7b", **{EXPOSED: "0.05"})

    assert np.any(runs.candidates.layout["ep"] > 1)
    assert {IMBALANCE, EXPOSED, CALIBRATION} <= facts_of(runs.duration_h).keys()
    assert np.all(at_once.duration_h.value > runs.duration_h.value)
    assert np.all(hidden.duration_h.value <= runs.duration_h.value)


def test_the_hours_of_a_mixture_are_as_unsure_as_its_published_rates() -> None:
    """The range of the fact is that of its published runs; hours follow 1/rate."""
    runs = runs_of("mixtral-8x7b")
    useful = runs.progress.useful_h
    fact = facts_of(useful)[CALIBRATION]

    assert 0.4 <= fact.low < fact.value < fact.high <= 1.3
    for factor in (fact.low, fact.high):
        again = recompute([useful], {CALIBRATION: float(factor or 0)})[0]
        ratio = again / useful.value
        assert ratio == pytest.approx(fact.value / factor, rel=ROUNDING)


@pytest.mark.nightly
def test_a_served_mixture_holds_all_weights_and_reads_what_it_meets() -> None:
    """Mixtral 8x7B (46.7 B weights, 12.9 B active, 2 of 8 experts) on two H100, by direct calls.

    Memory: 0.9 x 80 GB less half of all experts and the weights that each group holds, over whole requests.
    Step: at the mean number that run (3 %: the mean step of a queue is not the step of its mean).
    """
    changes = {"services.chat.model": "mixtral-8x7b"}
    inputs = Inputs(with_changes(shipped(SERVING), changes), load_catalogue())
    kinds, _ = replica_kinds(inputs, serving_candidates(inputs)[0])
    h100 = [sku.name for sku in inputs.skus].index("h100-8")
    row = np.flatnonzero((kinds.service == 0) & (kinds.sku == h100) & (kinds.accelerators.value == 2))[0]
    service = inputs.scenario.services[0]
    spread_of_lengths = dataclasses.asdict(request_classes(inputs, service))
    prompt, answer = (float(tokens.value) for tokens in request_tokens(inputs, service))
    whole = class_context_tokens(
        input_tokens=prompt, output_tokens=answer, written_fraction=1.0, **spread_of_lengths
    )
    groups = int(kinds.groups[row])
    split = 2 // groups
    routed = (46.702792704e9 - 12.879925248e9) / (1 - 2 / 8)
    held_gb = 2 * ((46.702792704e9 - routed) / split + routed / 2) / 1e9
    cache_gb = 2 * 32 * 8 * 128 * 2 / split / 1e9

    assert kinds.batch.value[row] == groups * np.floor((72.0 - held_gb) / (cache_gb * whole))
    model, chip, engine, layout = served_replica(
        inputs,
        model="mixtral-8x7b",
        accelerator="h100-sxm-80gb",
        precision="bf16",
        engine="vllm",
        tp=split,
        dp=groups,
    )
    step = average_step(
        model=model,
        chip=chip,
        engine=engine,
        layout=layout,
        requests=Requests(input_tokens=prompt, output_tokens=answer, **spread_of_lengths),
        running=kinds.capacity["running"].value[row],
        chunk_tokens=inputs.fact("performance.engine.vllm.chunk_tokens").value,
    )
    assert kinds.capacity["step_s"].value[row] == pytest.approx(float(np.squeeze(step.total_s)), rel=0.03)
    read = held_gb - 2 * (routed / 2) / 1e9 * 0.75 ** float(kinds.capacity["running"].value[row])
    assert float(np.squeeze(step.read_gb)) > 0.9 * read  # the weights that it meets, and caches


def test_a_dense_job_beside_a_mixture_is_planned_as_alone() -> None:
    """Columns that hold both kinds are the two plans side by side."""
    text = (data_folder() / "scenarios" / f"{JOB}.toml").read_text(encoding="utf-8")
    dense = tomllib.loads(text)["training"][0]
    jobs = [dense, dense | {"name": "experts", "model": "mixtral-8x7b"}]
    both = assemble(Inputs(with_changes(shipped(JOB), {"training": jobs}), load_catalogue())).runs
    assert both is not None

    for job, model in enumerate((dense["model"], "mixtral-8x7b")):
        alone, mine = runs_of(model), both.candidates.job == job
        assert both.duration_h.value[mine] == pytest.approx(alone.duration_h.value, rel=1e-12)
        assert both.node_kw.value[mine] == pytest.approx(alone.node_kw.value, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "tables", "cache_bytes"),
    [("gemma-7b", 1, 458_752), ("mistral-nemo-12b", 2, 163_840), ("qwen3-0.6b", 1, 114_688)],
)
def test_heads_are_as_wide_as_their_configuration_says(model: str, tables: int, cache_bytes: int) -> None:
    """Released configurations, in which heads x head_dim is not the width: weights to 0.1 %, cache exactly.

    Cache of a token is 2 L kv d B: 2 x 28 x 16 x 256 x 2 (Gemma), 2 x 40 x 8 x 128 x 2 (Nemo), 2 x 28 x 8 x
    128 x 2 (Qwen3); norms are left out of the weights.
    """
    inputs = Inputs(with_changes(shipped(JOB), {MODEL: model}), load_catalogue())
    of = {name: float(node.value) for name, node in training_arguments(inputs, model, 0, "bf16").items()}
    names = ("hidden", "heads", "kv_heads", "ffn", "gated", "head_dim")
    layer = layer_weights(**{name: of[name] for name in names})

    whole = of["layers"] * layer.common_parameters + tables * of["hidden"] * of["vocabulary"]
    assert whole == pytest.approx(load_catalogue().fact(f"model.{model}.parameters").value, rel=1e-3)
    cache = kv_cache_gb_per_token(
        layers=of["layers"], kv_heads=of["kv_heads"], head_dim=of["head_dim"], kv_bytes=2.0, tp=1.0
    )
    assert cache * 1e9 == pytest.approx(cache_bytes)


RUN = {"useful_h": 1000.0, "interval_h": 1.4, "write_h": 0.02, "restart_h": 0.2, "persist_h": 0.0}


@pytest.mark.parametrize(("mttf_h", "rate_shape"), [(20.0, np.inf), (200.0, 4.0), (5.0, 4.0)])
def test_a_run_is_late_by_failures_and_by_its_pace(mttf_h: float, rate_shape: float) -> None:
    """Independent route: paces, each a run of its own of as many hours, their finishes pooled; 1 %."""
    paces_tried = size(80, nightly=200)
    chances = (np.arange(paces_tried) + 0.5) / paces_tried
    deviation = np.sqrt(np.log1p(0.09**2))
    paces = [1000.0 * np.exp(NormalDist().inv_cdf(chance) * deviation) for chance in chances]
    run = RUN | {"mttf_h": mttf_h, "rate_shape": rate_shape}
    slower = run | {"useful_h": np.array(paces)[:, None]}
    pooled = np.ravel(finish_quantile_h(quantile_fraction=chances, **slower))

    for quantile in (0.5, 0.95):
        got = run_finish_quantile_h(quantile_fraction=quantile, run_variation_fraction=0.09, **run)
        assert got == pytest.approx(np.quantile(pooled, quantile), rel=0.01)
    steady = run_finish_quantile_h(quantile_fraction=0.95, run_variation_fraction=0.0, **run)
    assert steady == finish_quantile_h(quantile_fraction=0.95, **run)


def test_the_deadline_counts_how_runs_differ() -> None:
    """The 95 % finish rests on the published variation of runs, v = 0.09, and lies e^(1.645 s) after half."""
    runs = runs_of("llama-3.1-8b")

    assert VARIATION in facts_of(runs.finish_p95_h)
    spread_of_pace = np.exp(1.6449 * np.sqrt(np.log1p(0.09**2)))
    apart = np.asarray(runs.finish_p95_h.value) / np.asarray(runs.finish_p50_h.value)
    assert np.all(apart >= spread_of_pace * (1 - 1e-4))
    assert np.all(apart <= spread_of_pace * 1.05)


@pytest.mark.nightly
def test_a_trace_with_long_prompts_asks_for_more_than_its_means() -> None:
    """Same means, same bursts: hardware that is slow at long prompts carries the means but not the trace."""
    means = {
        "services.chat.tokens_in": 1154.6974,
        "services.chat.tokens_out": 211.1259,
        "services.chat.traffic": None,
    }
    traced, stated = (
        assemble(Inputs(with_changes(shipped(QUARTER), changes), load_catalogue())).replicas
        for changes in ({}, means)
    )
    assert traced is not None
    assert stated is not None

    mine = traced.candidates.service == 0
    by_trace, by_means = (np.asarray(each.requests_per_s.value) for each in (traced, stated))
    assert len(traced.candidates) == len(stated.candidates)
    assert np.any((by_means[mine] > 0) & (by_trace[mine] < 0.7 * by_means[mine]))


@pytest.mark.nightly
def test_longer_requests_of_a_trace_are_carried_by_fewer() -> None:
    """A mean of one's own stretches the whole mix: no candidate carries more of requests twice as long."""
    longer = {"facts.traffic.azure-2023-conv.mean_generated": "422"}
    before, after = (
        assemble(Inputs(with_changes(shipped(QUARTER), changes), load_catalogue())).replicas
        for changes in ({}, longer)
    )
    assert before is not None
    assert after is not None

    rates = [np.asarray(each.requests_per_s.value)[each.candidates.service == 0] for each in (before, after)]
    assert np.all(rates[1] <= rates[0])
    assert rates[1].max() < 0.9 * rates[0].max()


def test_explained_classes_are_those_of_the_own_service() -> None:
    """Where a column has classes of requests beside its rows, the largest class of the own row is opened."""
    inputs = Inputs(shipped(SERVING), load_catalogue())
    kinds, _ = replica_kinds(inputs, serving_candidates(inputs)[0])

    for i, service in enumerate(inputs.scenario.services):
        row = int(np.flatnonzero(kinds.service == i)[0])
        shown = next(step for step in explain(kinds.batch, row).steps if step.name == "share_fraction")
        classes = request_classes(inputs, service).share_fraction
        assert shown.value == classes.max()


POOL = """
[[pools]]
name = "tuning"
model = "llama-3.1-70b"
reference = "h100-8"
gpu_time = "100000 h"
"""


def test_a_pool_whose_reference_cannot_hold_its_model_is_refused(tmp_path, capsys):
    """It was checked as fine and then infeasible, "no pool to do it on", beside "shard them (ZeRO)"."""
    shipped = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(shipped + POOL, encoding="utf-8")

    assert main(["check", str(path)]) == 2
    shown = capsys.readouterr().err
    with pytest.raises(ScenarioError) as refused:
        plan_fleet(load_scenario(path))
    with pytest.raises(ScenarioError):
        check_text(shipped + POOL, "mine.toml")

    assert str(refused.value) in shown
    assert "pools.tuning.reference: 'h100-8' cannot train llama-3.1-70b: on one node it needs 1," in shown
    assert "h100-8 holds 640 GB" in shown
    assert "It would fit on b200-8, b300-8, mi300x-8, mi325x-8" in shown
    assert "ZeRO" not in shown


def test_a_pool_on_a_reference_that_holds_its_model_says_where_it_does_not_fit():
    """The advice for a whole run, to shard over more nodes, cannot be followed by a pool."""
    shipped = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    inputs = Inputs(parse_scenario(shipped + POOL.replace("h100-8", "b200-8"), "mine.toml"), load_catalogue())

    check_pools(inputs)
    found = pool_layouts(inputs, inputs.scenario.pools[0], list(range(len(inputs.skus))))

    reasons = {inputs.skus[k].name: one for k, one in found.items() if isinstance(one, str)}
    assert set(reasons) == {"h100-8", "a100-80-8"}
    assert all("runs of a pool stay on one node" in one and "ZeRO" not in one for one in reasons.values())
