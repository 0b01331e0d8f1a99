"""Using a fleet: rented hours, parked nodes, power caps, pausable and repeated jobs, demand not carried.

Costs are compared with sums by hand of prices that the scenario states; directions need no published value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explained import explained
from plain import plain
from scipy.stats import poisson

from carbon.power import capped_clock_fraction, capped_throughput_fraction
from planner.answers.plan.document import plan_document
from planner.answers.plan.tables import plan_tables
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.reference import json_schema
from planner.inputs.scenario import (
    Scenario,
    ScenarioError,
    canonical_text,
    load_scenario,
    parse_scenario,
    with_changes,
)
from planner.inputs.software import default_stack
from planner.program.plan import Plan, plan_fleet
from planner.report.page import to_html
from planner.report.text import to_markdown
from planner.trace.records import plain_rows
from solver.answer import answer
from solver.backend import Status

JOB = "training.train-8b"
CLOUD = {"name": "cloud", "sku": "h100-8", "grid": "se", "pue": 1.2, "price": "2 USD/h"}
PAUSABLE = {f"{JOB}.pausable": True}
OPTIONAL = {f"{JOB}.may_be_left_out": True}
ROUNDING = 1e-9


def one_job() -> Scenario:
    return load_scenario(data_folder() / "scenarios" / "one-training-job.toml")


def serving() -> Scenario:
    """One service in one period on new nodes: small enough to be solved at once."""
    text = plain("serving-only").read_text(encoding="utf-8")
    scenario = parse_scenario(text)
    rate, service = "25 /s", canonical_text(scenario)
    chat = service.index("[[services]]")
    code = service.index("[[services]]", chat + 1)
    alone = parse_scenario(service[:chat] + service[code:])
    few = {"horizon.periods": 1, "services.code.peak_rate": rate, "services.code.skus": ["h100-8"]}
    return with_changes(alone, {**few, "policy.objective": "money", "fleet": []})


def planned(scenario: Scenario, changes: Mapping[str, Any]) -> Plan:
    return plan_fleet(with_changes(scenario, {"solve.gap": "0 %"} | dict(changes)), baselines=False)


def usd(plan: Plan) -> float:
    assert plan.answer.solution is not None
    assert plan.answer.status in (Status.OPTIMAL, Status.WITHIN_GAP)
    return plan.answer.solution.usd


def problems(changes: Mapping[str, Any], scenario: Scenario | None = None) -> str:
    with pytest.raises(ScenarioError) as found:
        check_scenario(with_changes(scenario or one_job(), changes), load_catalogue())
    return str(found.value)


# What may be written


def test_what_is_written_wrongly_is_refused_with_a_remedy() -> None:
    """Every problem at once, each with its place in the file: the user's first guide."""
    twice = {"rental": [CLOUD, CLOUD | {"name": "stockholm", "grid_intensity": "20 g/kWh"}]}
    said = problems(twice)
    assert "rental[1].name: 'stockholm' is also a site" in said
    assert "say the same thing twice" in said
    assert "rental[1].name: 'cloud' is also rental[0]" in problems({"rental": [CLOUD, CLOUD]})
    assert "neither grid nor grid_intensity" in problems({"rental": [{"name": "cloud", "sku": "h100-8"}]})
    assert "rental.cloud.price: 'cheap'" in problems({"rental": [CLOUD | {"price": "cheap"}]})
    assert "rental.cloud.price: is missing" in problems(
        {"rental": [{"name": "cloud", "sku": "gaudi2-8", "grid": "se"}]}
    )
    assert "rental.cloud.grid" in problems({"rental": [CLOUD | {"grid": "us-camx"}]})
    assert "partial: has no effect without pausable" in problems({f"{JOB}.partial": True} | OPTIONAL)
    assert "needs a price for what is not done" in problems({f"{JOB}.partial": True} | PAUSABLE)
    assert "power_caps[0]" in problems({f"{JOB}.power_caps": ["10 %"]})
    assert "count" in problems({f"{JOB}.count": 0})
    assert "fleet[0].site" in problems(
        {"rental": [CLOUD], "fleet": [{"sku": "h100-8", "site": "cloud", "nodes": 2, "in_service": "x"}]}
    )


def test_new_keys_are_written_back_and_described() -> None:
    """Reading what was written gives the same scenario; editors are told of every key."""
    changes = {
        "rental": [CLOUD],
        f"{JOB}.power_caps": ["80 %", 1.0],
        f"{JOB}.count": 3,
        "policy.park_idle": True,
        f"{JOB}.sites": ["cloud"],
        **PAUSABLE,
    }
    scenario = with_changes(one_job(), changes)
    assert parse_scenario(canonical_text(scenario)) == scenario
    held = json_schema("scenario")["properties"]
    assert held["rental"]["items"]["properties"]["price"]["description"]
    assert held["services"]["items"]["properties"]["power_caps"]["description"]
    service = with_changes(serving(), {"services.code.power_caps": ["80 %", 1.0]})
    assert parse_scenario(canonical_text(service)) == service
    job = held["training"]["items"]["properties"]
    for key in ("pausable", "partial", "count", "power_caps"):
        assert job[key]["description"], key
    assert job["pausable"]["type"] == "boolean"


# Rental


def test_cheap_hours_are_rented_and_cost_what_they_say() -> None:
    """Rent = node-hours x accelerators x price, and nothing else: electricity is in it, nodes go back."""
    owned, rented = planned(one_job(), {}), planned(one_job(), {"rental": [CLOUD]})
    runs, solution = rented.ledger.runs, rented.answer.solution
    assert runs is not None
    assert solution is not None

    hours = float(runs.node_h.value[rented.ledger.run_rows].sum())
    assert usd(rented) == pytest.approx(hours * 8 * 2.0, rel=ROUNDING)
    assert usd(rented) < usd(owned)
    assert solution.orders.sum() == 0
    grid = rented.inputs.grid[-1].value
    assert float(runs.facility_kwh.value[rented.ledger.run_rows].sum()) == pytest.approx(
        runs.kgco2e.value[rented.ledger.run_rows].sum() / grid, rel=1e-3
    )  # the grid declines a little between the periods


def test_rented_carbon_is_electricity_and_a_share_of_the_making() -> None:
    """C = E x grid + C_owned / (u x H) x h: what owning a node emits, over the hours that are rented out."""
    plan = planned(one_job(), {"rental": [CLOUD]})
    solution, rented = plan.answer.solution, plan.assembled.rented
    assert solution is not None
    assert plan.ledger.runs is not None
    first = plan.inputs.scenario.horizon.hours[0]
    owned = plan.problem.node_groups.holding_kgco2e_per_node[rented.node_group[0], 0]
    hours = float(plan.ledger.runs.node_h.value[plan.ledger.run_rows].sum())
    shared = owned / (load_catalogue().fact("rental.utilisation").value * first) * hours
    drawn = float(plan.ledger.runs.kgco2e.value[plan.ledger.run_rows].sum())
    assert solution.kgco2e == pytest.approx(drawn + shared, rel=1e-3)


def test_dear_hours_are_not_rented() -> None:
    """At 100 USD an accelerator-hour owning is cheaper, and an offer that nobody wants changes nothing."""
    assert usd(planned(one_job(), {"rental": [CLOUD | {"price": "100 USD/h"}]})) == pytest.approx(
        usd(planned(one_job(), {})), rel=ROUNDING
    )


@pytest.mark.nightly
def test_a_limit_on_rented_nodes_is_kept() -> None:
    """No more than two nodes at once, of three whose price is by the node: the dearer half is owned."""
    plan = planned(one_job(), {"rental": [CLOUD | {"nodes": 2, "price": "16 USD/h", "per": "node"}]})
    solution = plan.answer.solution
    assert solution is not None
    assert solution.rented.max() == 2
    assert usd(plan) == pytest.approx(usd(planned(one_job(), {"rental": [CLOUD]})), rel=ROUNDING)
    none = planned(one_job(), {"rental": [CLOUD | {"nodes": 1}], f"{JOB}.sites": ["cloud"]})
    assert none.answer.status is Status.INFEASIBLE


@pytest.mark.nightly
def test_the_default_price_is_a_dated_fact_and_every_term_can_be_explained() -> None:
    """Without a price of one's own the rent rests on a row of the catalogue, named with its source."""
    without = {key: value for key, value in CLOUD.items() if key not in ("price", "pue")}
    document = plan_document(planned(one_job(), {"rental": [without], f"{JOB}.sites": ["cloud"]}))
    for name in ("cost.rental", "carbon.rental"):
        assert explained(document, name).facts()
    named = {fact["key"] for fact in document["tables"]["facts"]}
    assert {"rental.h100-sxm-80gb.price", "rental.pue", "rental.utilisation"} <= named
    said = " ".join(document["headline"])
    assert "Rent h100-8 at cloud by the hour, at most so many nodes at once: 2 in 2027 Q1;" in said
    assert document["tables"]["rental"][0]["rent_usd_per_node_h"] == pytest.approx(
        8 * load_catalogue().fact("rental.h100-sxm-80gb.price").value
    )
    assert "What to rent" in to_markdown(document)
    assert "What to rent" in to_html(document)


def test_services_may_rent_and_pay_all_hours_of_their_replicas() -> None:
    """A replica stands all the time, on whole nodes: rent = nodes x hours x price."""
    scenario = serving()
    offer = CLOUD | {"grid": "us-camx", "price": "0.5 USD/h"}
    plan = planned(scenario, {"rental": [offer]})
    solution = plan.answer.solution
    assert solution is not None
    options, hours = plan.problem.serve_options, scenario.horizon.hours[0]
    nodes = float(np.ceil(options.nodes @ solution.replicas[:, 0]))
    people = plan.ledger.usd_terms["deployed_usd"].value
    assert usd(plan) - people == pytest.approx(nodes * hours * 8 * 0.5, rel=ROUNDING)
    assert usd(plan) < usd(planned(scenario, {}))


# Parking


def test_an_hour_of_a_pool_by_the_hour_costs_its_price_on_as_many_nodes_as_it_asks_for() -> None:
    """10,000 accelerator-hours: 1,250 of a node, which jobs fill to four fifths of what is there at once."""
    pool = {"name": "lab", "model": "llama-3-8b", "reference": "h100-8", "utilisation": 0.8}
    pool |= {"gpu_time": ["10000 h", "0 h"]}
    plan = planned(one_job(), {"rental": [CLOUD], "market": [], "training": [], "pools": [pool]})
    tables = {name: plain_rows(rows) for name, rows in plan_tables(plan).items()}
    (row,), (work, *_) = tables["rental"], tables["unit_costs"]
    hours = plan.inputs.scenario.horizon.hours[0]
    assert row["node_h"] == pytest.approx(1250)
    assert row["nodes"] == math.ceil(1250 / 0.8 / hours) == solved_nodes(plan)
    assert (work["amount"], work["usd_per_unit"]) == pytest.approx((10_000, 2.0))


def solved_nodes(plan: Plan) -> int:
    assert plan.answer.solution is not None
    return int(plan.answer.solution.rented.max())


@pytest.mark.nightly
def test_parked_nodes_draw_little_and_the_rest_of_the_plan_stays() -> None:
    """Nodes that stand for a later peak are off before it, and save the difference of idle and off power.

    Saving = parked node-hours x (idle - off power) x PUE x price of electricity.
    """
    standing = [{"sku": "h100-8", "site": "california", "nodes": 10, "in_service": one_job().horizon.start}]
    stated = {"horizon.periods": 2, "fleet": standing, "market": [], "policy.retirement": "none"}
    stated["services.code.peak_rate"] = ["20 /s", "60 /s"]
    kept, off = (planned(serving(), stated | {"policy.park_idle": park}) for park in (False, True))
    solution = off.answer.solution
    assert solution is not None
    assert kept.answer.solution is not None
    facts, hours = load_catalogue().fact, np.array(off.inputs.scenario.horizon.hours)
    server = "server.hgx-h100.host_idle_power"
    idle_kw = facts(server).value + 8 * facts("accelerator.h100-sxm-80gb.idle_power").value
    off_kw = facts("performance.power.off").value
    parked_h = float((solution.parked * hours).sum())
    assert parked_h > hours[0]
    assert np.array_equal(solution.retired, kept.answer.solution.retired)
    saved = parked_h * (idle_kw - off_kw) * 1.12 * 0.14
    assert usd(kept) - usd(off) == pytest.approx(saved, rel=1e-6)
    document = plan_document(off)
    assert explained(document, "cost.parked").facts()
    assert any(line.startswith("Switch idle nodes off for") for line in document["headline"])


# Software


@pytest.mark.nightly
def test_a_plan_names_the_software_of_each_run_and_service() -> None:
    """Rates are those of a stack and an engine of some year: next to each decision it says of which."""
    trains, serves = plan_tables(planned(one_job(), {})), plan_tables(planned(serving(), {}))
    chip = {sku.name: sku.accelerator for sku in load_catalogue().skus.values()}

    assert {row["software"] for row in trains["jobs"]} == {
        default_stack(chip[row["sku"]]).says for row in trains["jobs"]
    }
    assert "of 202" in trains["jobs"][0]["software"]
    assert {row["engine"] for row in serves["services"]} == {"vLLM 0.24"}
    stated = plan_tables(planned(serving(), {"services.code.engine": "sglang"}))
    assert {row["engine"] for row in stated["services"]} == {"SGLang 0.5"}


# Power caps


def test_a_cap_slows_a_run_as_its_equations_say_and_saves_carbon() -> None:
    """Tokens/s under a cap = uncapped x share by the clock; where carbon is to be least, a cap is taken."""
    aim = {"policy.objective": "carbon"}
    free = planned(one_job(), aim)
    capped = planned(one_job(), aim | {f"{JOB}.power_caps": ["100 %", "60 %"]})
    assert capped.answer.solution is not None
    assert free.answer.solution is not None
    assert capped.answer.solution.kgco2e < free.answer.solution.kgco2e

    record = plan_tables(capped)["jobs"][0]
    assert record["power_cap_fraction"] == 0.6
    every = capped.assembled.runs
    assert every is not None
    each = every.candidates
    same = (each.node_group == each.node_group[0]) & (each.nodes == each.nodes[0])
    rates = every.tokens_per_s_per_gpu.value
    rate = {cap: rates[same & (each.power_cap_fraction == cap)][0] for cap in (1.0, 0.6)}
    facts = load_catalogue().fact
    sku = capped.inputs.skus[capped.inputs.node_group_sku[every.candidates.node_group[0]]].accelerator
    tdp, idle = facts(f"accelerator.{sku}.tdp").value, facts(f"accelerator.{sku}.idle_power").value
    law = facts("performance.power.training").value * tdp  # training runs at its ceiling
    shares = (facts(f"performance.power_cap.{name}").value for name in ("linear_share", "steep_exponent"))
    curve = dict(zip(("linear_fraction", "steep_exponent"), shares, strict=True))
    clock = capped_clock_fraction(cap_kw=0.6 * tdp, uncapped_kw=law, static_kw=idle, **curve)
    share = capped_throughput_fraction(clock_fraction=clock, clock_bound_fraction=1.0)
    assert rate[0.6] / rate[1.0] == pytest.approx(float(share), rel=0.02)
    assert rate[0.6] / rate[1.0] < 1


@pytest.mark.nightly
def test_a_cap_on_a_service_slows_its_prompts_and_keeps_its_latencies() -> None:
    """Under a cap the clock and the matrix rate fall: less is carried, at less power, within the targets."""
    caps = {"services.code.power_caps": ["100 %", "50 %"], "policy.objective": "carbon"}
    plan = planned(serving(), caps)
    every = plan.assembled.replicas
    assert every is not None
    share, tp = every.candidates.power_cap_fraction, every.candidates.accelerators
    rate, drawn = every.requests_per_s.value.min(axis=1), every.increment_kw.value
    for split in np.unique(tp[rate > 0]):
        full, half = ((tp == split) & (share == cap) for cap in (1.0, 0.5))
        assert np.all(rate[half] <= rate[full])
        assert np.all(drawn[half] <= drawn[full])
    works = rate > 0
    assert np.any(rate[(share == 0.5) & works] < 0.99 * rate[(share == 1.0) & works].max())
    targets = plan.inputs.scenario.services[0]
    assert np.all(every.ttft_s.value[works] <= targets.first_token_s)
    assert np.all(every.tpot_s.value[works] <= targets.per_token_s)

    free = planned(serving(), {"policy.objective": "carbon"})
    assert 0.5 in {row["power_cap_fraction"] for row in plan_tables(plan)["services"]}
    assert "power_cap_fraction" not in plan_tables(free)["services"][0]
    assert plan.answer.solution is not None
    assert free.answer.solution is not None
    assert plan.answer.solution.kgco2e < free.answer.solution.kgco2e
    assert "services.code.power_caps[0]" in problems({"services.code.power_caps": ["10 %"]}, serving())


# Standby


@pytest.mark.parametrize(
    ("rate", "restart", "availability"),
    [
        ("0.3 /s", "10 min", 0.99999),
        ("1 /s", "10 min", 0.999),
        ("4 /s", "10 min", 0.99999),
        ("6 /s", "7 d", 0.9999),
        ("25 /s", "7 d", 0.999999),
    ],
)
def test_enough_replicas_are_up(rate: str, restart: str, availability: float) -> None:
    """P(R > k) is at most half of what may be short, by the Poisson law itself, and k - 1 would not do.

    R of the nodes (or of replicas of several nodes) restart at once; a node takes along all replicas on it.
    """
    stated = {
        "services.code.peak_rate": rate,
        "services.code.availability": availability,
        "reliability.restart": restart,
        "services.code.traffic": None,
        "services.code.tokens_in": 2000,
        "services.code.tokens_out": 50,
    }
    plan = planned(serving(), stated)
    solution, options = plan.answer.solution, plan.problem.serve_options
    assert solution is not None
    (v,) = np.flatnonzero(solution.replicas[:, 0])
    needed = math.ceil(plan.problem.services.demand[0, 0] / options.capacity[v, 0])
    hourly = plan.assembled.nodes.failure_rate_per_node_h.value[options.node_group[v]]
    nodes = float(options.nodes[v])
    at_once = float(hourly) * max(nodes, 1.0) * plan.inputs.scenario.reliability.restart_h
    lost = max(1, min(math.floor(1 / nodes + 1e-9), needed))
    stands = int(solution.replicas[v, 0])
    failures, rest = divmod(stands - needed, lost)
    units = math.ceil(needed * min(nodes, 1.0))
    most = 0.5 * (1 - availability)
    assert rest == 0
    assert poisson.sf(failures, (units + failures) * at_once) <= most
    assert failures == 0 or poisson.sf(failures - 1, (units + failures - 1) * at_once) > most
    (record,) = plan_tables(plan)["services"]
    assert record["standby"] == stands - needed


# Pausable, repeated and partial jobs


@pytest.mark.parametrize("better", [0, 1])
def test_a_pausable_job_waits_for_the_cheap_or_the_clean_period(better: int) -> None:
    """All node-hours fall into the better period, and cost, or emit, what they do there by hand."""
    prices, grids = ["4 USD/h", "4 USD/h"], ["400 g/kWh", "400 g/kWh"]
    prices[better], grids[better] = "2 USD/h", "20 g/kWh"
    by_hand = {"name": "cloud", "sku": "h100-8", "pue": 1.2}
    cheap = planned(one_job(), PAUSABLE | {"rental": [by_hand | {"grid": "se", "price": prices}]})
    clean = planned(
        one_job(),
        PAUSABLE
        | {
            "rental": [by_hand | {"grid_intensity": grids, "price": "2 USD/h"}],
            "policy.objective": "carbon",
            f"{JOB}.sites": ["cloud"],
        },
    )
    for plan in (cheap, clean):
        assert plan.answer.solution is not None
        done = plan.answer.solution.done_node_h.sum(axis=0)
        assert done[1 - better] == pytest.approx(0, abs=1e-6)
        if plan is cheap:
            assert usd(plan) == pytest.approx(done[better] * 8 * 2.0, rel=ROUNDING)
            continue
        pausable = plan.ledger.pausable
        assert pausable is not None
        drawn = done[better] * pausable.jobs.progress.node_kw.value[pausable.rows[0]] * 1.2
        assert plan.ledger.kgco2e_terms["pausable_kgco2e"].value == pytest.approx(drawn * 0.02, rel=1e-6)


@pytest.mark.parametrize("sizes", [[4, 8], [6]])
def test_a_pausable_job_has_its_smallest_size_wherever_it_works(sizes: list[int]) -> None:
    """Mean nodes would do with fewer: in every period with work, the nodes of the smallest size are there."""
    plan = planned(one_job(), PAUSABLE | {f"{JOB}.nodes": sizes})
    solution = plan.answer.solution
    assert solution is not None
    (e,) = np.flatnonzero(solution.chosen)
    group = plan.problem.pausable_options.node_group[e]
    works = solution.done_node_h[e] > 0.5
    there = (solution.in_service + solution.rented - solution.spares - solution.parked)[group]
    assert there[works].min() == sizes[0]
    assert solution.in_use[group].max() < sizes[0] - 1
    pausable = replace(plan.problem.pausable_options, nodes_least=np.zeros(0))
    found = answer(
        replace(plan.problem, pausable_options=pausable), gap_fraction=0.0, time_limit_s=20
    ).solution
    assert found is not None
    assert found.usd < usd(plan)


def test_pauses_and_failures_cost_node_hours() -> None:
    """Node-hours = nodes x (useful / ETTR + one checkpoint and one restart in each period of the window)."""
    plan = planned(one_job(), PAUSABLE)
    pausable = plan.assembled.pausable
    assert pausable is not None
    progress = pausable.progress
    pause_h = 2 * (progress.renewal["write_h"].value + progress.renewal["restart_h"].value)
    expected = pausable.candidates.nodes * (progress.useful_h.value / progress.ettr.value + pause_h)
    assert pausable.node_h.value == pytest.approx(expected, rel=ROUNDING)
    document = plan_document(plan)
    assert explained(document, "cost.pausable").facts()
    assert explained(document, "job.train-8b.node_hours").facts()
    assert sum(row["done_fraction"] for row in document["tables"]["pausable"]) == pytest.approx(1)


def test_a_window_that_is_too_short_is_infeasible_and_never_stretched() -> None:
    """Two nodes do not do in ten days what takes three weeks, and a deadline is kept at its confidence."""
    soon = one_job().horizon.start.replace(day=4)
    short = {f"{JOB}.deadline": soon, f"{JOB}.nodes": [2], f"{JOB}.skus": ["h100-8"]}
    assert planned(one_job(), PAUSABLE | short).answer.status is Status.INFEASIBLE


def test_identical_jobs_cost_the_sum_of_their_runs() -> None:
    """Three rented copies cost three times one: nothing is shared where everything is paid by the hour."""
    one, three = (planned(one_job(), {"rental": [CLOUD], f"{JOB}.count": count}) for count in (1, 3))
    assert usd(three) == pytest.approx(3 * usd(one), rel=ROUNDING)
    assert plan_document(three)["headline"][1].startswith("Run 3 x train-8b on")


def test_a_partial_job_is_done_as_far_as_it_pays() -> None:
    """Two rented nodes in a short window do a part; the rest is left out at its share of the penalty."""
    plan = planned(
        one_job(),
        PAUSABLE
        | OPTIONAL
        | {
            f"{JOB}.partial": True,
            f"{JOB}.left_out_penalty": "1 MUSD",
            "rental": [CLOUD | {"nodes": 2}],
            f"{JOB}.sites": ["cloud"],
            f"{JOB}.deadline": one_job().horizon.start.replace(day=4),
        },
    )
    solution = plan.answer.solution
    assert solution is not None
    assert 0 < solution.left_out[0] < 1
    assert solution.left_out[0] + solution.completed.sum() == pytest.approx(1)
    paid = float(solution.done_node_h.sum()) * 8 * 2.0
    assert usd(plan) == pytest.approx(paid + solution.left_out[0] * 1e6, rel=1e-6)


# Demand that is not carried


def test_demand_is_left_where_carrying_it_costs_more_than_its_penalty() -> None:
    """Penalty = requests of the period x price, at mean load; a high one changes nothing."""
    scenario = serving()
    cheap, dear = (planned(scenario, {"services.code.unmet_penalty": p}) for p in ("1e-7 USD", "10 USD"))
    requests = 25 * 0.35 * 3600 * scenario.horizon.hours[0]
    assert usd(cheap) == pytest.approx(requests * 1e-7, rel=ROUNDING)
    assert usd(dear) == pytest.approx(usd(planned(scenario, {})), rel=ROUNDING)
    document = plan_document(cheap)
    assert explained(document, "cost.unmet").facts()
    assert any("uncarried" in line for line in document["headline"])
