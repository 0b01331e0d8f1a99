"""Plans of whole scenarios: two engines agree, and changes that may not matter do not.

The scenarios are the shipped families cut short, so that each is solved to the end within a second.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from plain import plain
from sizes import size

from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, canonical_text, load_scenario, parse_scenario, with_changes
from planner.inputs.scenario.writing import tables
from planner.program.assembly import Assembled, assemble
from solver.answer import answer
from solver.backend import Status
from solver.known import Answer

Changes = Mapping[str, Any]
EXACT = 1e-6  # of an optimum, as both engines state it

# Two periods each, and carbon at its price.
SHORT: dict[str, dict[str, Any]] = {
    "one-training-job": {"policy.objective": "weighted", "policy.carbon_price": "200 USD/t"},
    "long-training": {"horizon.periods": 2},
    "tight-power": {
        "horizon.periods": 2,
        "services.chat.peak_rate": ["24 /s", "64 /s"],
        "pools.fine-tuning.gpu_time": ["160000 h", "290000 h"],
    },
    "spot-shortage": {
        "horizon.periods": 2,
        "services.chat.peak_rate": ["30 /s", "54 /s"],
        "pools.experiments.gpu_time": ["120000 h", "150000 h"],
        "market.h200-8.price": ["430 kUSD", "400 kUSD"],
        "market.h200-8.supply_nodes": [2, 12],
        "market.l40s-8.price": ["130 kUSD", "120 kUSD"],
        "market.l40s-8.supply_nodes": [4, 16],
    },
    "clean-and-dirty-sites": {
        "horizon.periods": 2,
        "services.chat.peak_rate": ["300 /s", "420 /s"],
        "pools.research.gpu_time": ["160000 h", "210000 h"],
    },
}
FAMILIES = tuple(SHORT)
DECISIONS = ("orders", "retired", "run", "replicas", "spares")


def short(name: str) -> Scenario:
    return with_changes(load_scenario(plain(name)), SHORT[name])


def assembled(scenario: Scenario) -> Assembled:
    return assemble(Inputs(scenario, load_catalogue()))


def best(scenario: Scenario, engine: str = "highs") -> Answer:
    """The optimum, or the proof that there is none."""
    found = answer(assembled(scenario).problem, gap_fraction=0.0, time_limit_s=120, engine=engine)
    # A search to the end may leave a gap of rounding.
    assert found.status in (Status.OPTIMAL, Status.INFEASIBLE) or found.gap_fraction <= EXACT / 100
    return found


@cache
def best_of(name: str) -> Answer:
    found = best(short(name))
    assert found.solution is not None
    return found


def least(found: Answer) -> float:
    """The objective of the best plan, infinite where there is none."""
    return np.inf if found.solution is None else found.objective


def same_plan(one: Answer, other: Answer) -> None:
    """The same counts of everything, money and carbon."""
    assert one.solution is not None
    assert other.solution is not None
    for name in DECISIONS:
        np.testing.assert_array_equal(getattr(one.solution, name), getattr(other.solution, name))
    assert other.solution.usd == pytest.approx(one.solution.usd, rel=EXACT)
    assert other.solution.kgco2e == pytest.approx(one.solution.kgco2e, rel=EXACT)


# Two engines

INSTANCES: list[tuple[str, dict[str, Any]]] = [
    (
        "one-training-job",
        {"policy.objective": aim, "reliability.failures": fleet, "training.train-8b.deadline": deadline},
    )
    for aim, fleet, deadline in itertools.product(
        ("money", "carbon", "weighted"), ("meta-rsc-1", "meta-rsc-2"), ("2027-03-31", "2027-06-30")
    )
] + [
    (name, {"policy.objective": aim, "reliability.spare_confidence": confidence})
    for name, aim, confidence in itertools.product(FAMILIES[1:], ("money", "carbon", "weighted"), (0.9, 0.99))
]


@pytest.mark.nightly
@pytest.mark.slow
def test_two_engines_agree_on_scenarios() -> None:
    """HiGHS and CBC share no code: programs as users get them, each solved to the end by both.

    By day one in five, which meets each aim and each confidence; at night all.
    """
    assert len(INSTANCES) >= 30
    for name, changes in INSTANCES[:: size(5, nightly=1)]:
        scenario = with_changes(short(name), changes)
        ours, theirs = best(scenario), best(scenario, "cbc")

        assert ours.status is theirs.status, (name, changes)
        assert least(ours) == pytest.approx(least(theirs), rel=EXACT), (name, changes)


# Limits

WIDER: list[tuple[str, str, tuple[Any, ...]]] = [  # from the tight to the wide
    ("one-training-job", "training.train-8b.deadline", ("2027-02-15", "2027-03-31", "2027-06-30")),
    ("one-training-job", "policy.budget", ("300 kUSD", "600 kUSD", "5 MUSD")),
    ("one-training-job", "sites.stockholm.racks", (1, 2, 12)),
    ("one-training-job", "market.a100-80-8.lead_time", ("120 d", "0 d")),
    ("one-training-job", "market.a100-80-8.order_nodes", (8, 4, 1)),
    ("one-training-job", "training.train-8b.deadline_confidence", (0.99, 0.9, 0.5)),
    ("long-training", "reliability.spare_confidence", (0.999, 0.99, 0.9)),
    ("long-training", "sites.montreal.power_cap", ("300 kW", "600 kW", "1200 kW")),
    ("tight-power", "sites.ashburn.power_cap", ("60 kW", "70 kW", "80 kW", "200 kW")),
    ("tight-power", "services.chat.per_token", ("20 ms", "40 ms", "80 ms")),
    ("spot-shortage", "market.h200-8.supply_nodes", ([0, 0], [2, 2], [20, 20])),
    ("clean-and-dirty-sites", "sites.lulea.power_cap", ("60 kW", "130 kW", "260 kW")),
]


@pytest.mark.parametrize(("name", "path", "values"), WIDER, ids=[f"{row[0]}: {row[1]}" for row in WIDER])
def test_a_wider_limit_is_never_worse(name: str, path: str, values: tuple[Any, ...]) -> None:
    """Every plan within the narrow limit is within the wide one; the narrowest costs more, or has none."""
    objectives = [least(best(with_changes(short(name), {path: value}))) for value in values]

    for narrow, wide in itertools.pairwise(objectives):
        assert wide <= narrow * (1 + EXACT)
    assert objectives[-1] < np.inf


@pytest.mark.nightly
def test_limits_that_are_tried_do_bind() -> None:
    """The property above would hold of limits that nothing reaches: most of these change the optimum."""
    ends = [
        [least(best(with_changes(short(name), {path: values[end]}))) for end in (0, -1)]
        for name, path, values in WIDER
    ]
    binding = [narrow > wide * (1 + EXACT) for narrow, wide in ends]

    assert sum(binding) >= 8, [row[:2] for row, binds in zip(WIDER, binding, strict=True) if not binds]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_cap_at_the_plan_s_own_carbon_changes_nothing(name: str) -> None:
    """The best plan keeps a cap that it just meets; below the cleanest plan's carbon there is none."""
    plain = best_of(name)
    assert plain.solution is not None
    own = {"policy.carbon_cap": f"{plain.solution.kgco2e * 1.0001} kgCO2e"}
    capped = best(with_changes(short(name), own))
    cleanest = best(with_changes(short(name), {"policy.objective": "carbon"}))
    assert cleanest.solution is not None
    below = {"policy.carbon_cap": f"{cleanest.solution.kgco2e * 0.99} kgCO2e"}

    assert capped.objective == pytest.approx(plain.objective, rel=EXACT)
    assert best(with_changes(short(name), below)).status is Status.INFEASIBLE


# Prices


def with_prices_times(scenario: Scenario, factor: float) -> Scenario:
    """Every price that the scenario rests on times a factor: its own, and each fact of the catalogue."""
    inputs = Inputs(scenario, load_catalogue())
    assemble(inputs)
    changes: dict[str, Any] = {
        f"facts.{key}": f"{factor * fact.value!r} {fact.unit}"
        for key, fact in inputs.facts_used.items()
        if "USD" in fact.unit
    }
    for site in scenario.sites:
        if site.electricity_price_usd_per_kwh is not None:
            stated = [f"{factor * one!r} USD/kWh" for one in site.electricity_price_usd_per_kwh]
            changes[f"sites.{site.name}.electricity_price"] = stated
        if site.space_price_usd_per_kw_month is not None:
            stated = [f"{factor * one!r} USD/kW/month" for one in site.space_price_usd_per_kw_month]
            changes[f"sites.{site.name}.space_price"] = stated
    for offer in scenario.market:
        if offer.price_usd is not None:
            changes[f"market.{offer.sku}.price"] = [f"{factor * one!r} USD" for one in offer.price_usd]
    price = scenario.policy.carbon_price_usd_per_kgco2e
    if price is not None:
        changes["policy.carbon_price"] = f"{factor * price!r} USD/kgCO2e"
    return with_changes(scenario, changes)


@pytest.mark.parametrize("name", FAMILIES)
def test_twice_the_prices_cost_twice_as_much(name: str) -> None:
    """Money is linear in prices, that of carbon among them: the same plan at twice the cost, same carbon."""
    plain, double = best_of(name), best(with_prices_times(short(name), 2.0))
    assert plain.solution is not None
    assert double.solution is not None

    assert double.objective == pytest.approx(2 * plain.objective, rel=EXACT)
    assert double.solution.usd == pytest.approx(2 * plain.solution.usd, rel=EXACT)
    assert double.solution.kgco2e == pytest.approx(plain.solution.kgco2e, rel=EXACT)
    for part in DECISIONS:
        np.testing.assert_array_equal(getattr(double.solution, part), getattr(plain.solution, part))


@pytest.mark.parametrize("name", FAMILIES)
def test_money_falls_and_carbon_rises_with_what_is_weighed(name: str) -> None:
    """Weighted sums: a higher carbon price never buys more carbon, nor a cheaper plan."""
    at = [
        best(with_changes(short(name), {"policy.carbon_price": price})).solution
        for price in ("20 USD/t", "200 USD/t", "2000 USD/t")
    ]
    for cheap, dear in itertools.pairwise(at):
        assert cheap is not None
        assert dear is not None
        assert dear.kgco2e <= cheap.kgco2e * (1 + EXACT)
        assert dear.usd >= cheap.usd * (1 - EXACT)


# Names, order, and what nobody needs


@pytest.mark.parametrize("name", FAMILIES)
def test_names_do_not_decide(name: str) -> None:
    """Sites, jobs, pools and services called otherwise, and sorted otherwise, are planned alike."""
    scenario = short(name)
    text = canonical_text(scenario)
    named: list[Any] = [*scenario.sites, *scenario.training, *scenario.pools, *scenario.services]
    for i, entry in enumerate(named):
        text = re.sub(rf'"{re.escape(entry.name)}"', f'"{"zyxwvutsrq"[i]}-renamed"', text)
    renamed = parse_scenario(text)

    assert {site.name for site in renamed.sites}.isdisjoint({site.name for site in scenario.sites})
    same_plan(best_of(name), best(renamed))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_order_of_the_file_does_not_decide(name: str) -> None:
    """Every list of the file turned round: the same best objective."""
    scenario = short(name)
    lists = ("sites", "fleet", "market", "training", "pools", "services")
    turned = scenario.model_copy(update={key: getattr(scenario, key)[::-1] for key in lists})

    assert best(turned).objective == pytest.approx(best_of(name).objective, rel=EXACT)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "offer",
    [
        {"sku": "gaudi2-8", "lead_time": "0 d", "supply_nodes": 0},
        {"sku": "gaudi2-8", "lead_time": "0 d", "price": "900 MUSD"},
        {"sku": "gaudi2-8", "lead_time": "1800 d"},
    ],
    ids=["none to be had", "at any price but this", "after the end"],
)
def test_a_useless_offer_changes_nothing(name: str, offer: dict[str, Any]) -> None:
    """One more SKU that is sold out, beyond all means, or late: the same objective, none of it bought."""
    scenario = short(name)
    offered = with_changes(scenario, {"market": [*tables(scenario)["market"], offer]})
    found = best(offered)
    problem = assembled(offered).problem
    assert found.solution is not None
    useless = problem.node_groups.sku == problem.sku_names.index("gaudi2-8")

    assert useless.any()
    assert not found.solution.orders[useless].any()
    assert found.objective == pytest.approx(best_of(name).objective, rel=EXACT)
