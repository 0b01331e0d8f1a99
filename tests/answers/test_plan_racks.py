"""Racks that bind: their power, how they are cooled, and nodes that have no place in them."""

from __future__ import annotations

import re

import pytest
from test_plan_ownership import FLEET, planned, solved

from planner.answers.check import check
from planner.answers.plan.tables import plan_tables
from planner.inputs.housing import not_housed
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.physics.equations.ownership import powered_racks_per_node
from planner.program.plan import plan_fleet

BUSY = {"services.chat.peak_rate": "2500 /s"}


def site(**keys: str) -> str:
    """The fleet with keys of the northern site."""
    written = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return FLEET.replace('name = "north"\n', f'name = "north"\n{written}')


def test_nodes_of_a_rack_are_counted_by_its_power() -> None:
    """10.2 kW a node: one in a rack of 12 or 20 kW, two in one of 21; five of 8 units in one of 90."""
    units = 8 / 42

    def racks(kw: float) -> float:
        return float(powered_racks_per_node(racks=units, node_kw=10.2, rack_kw=kw))

    assert [racks(kw) for kw in (12.0, 20.0, 21.0, 90.0)] == pytest.approx([1.0, 1.0, 0.5, units])
    assert powered_racks_per_node(racks=1 / 18, node_kw=132 / 18, rack_kw=132.0) == pytest.approx(1 / 18)


@pytest.mark.nightly
def test_the_power_of_racks_binds() -> None:
    """Of 20 racks of 12 kW no more than 20 nodes of 10.2 kW; without it they take a fifth of a rack each."""
    free = planned(BUSY)
    tight = planned(BUSY | {"sites.north.rack_power": "12 kW", "sites.north.racks": 4})
    used = [r["used"] for r in plan_tables(tight)["limits"] if (r["limit"], r["where"]) == ("racks", "north")]
    north = tight.problem.node_groups.site == 0

    assert solved(free).in_service[north, -1].sum() > 4 >= solved(tight).in_service[north, -1].sum()
    assert used[-1] == pytest.approx(solved(tight).in_service[north, -1].sum())


def test_a_rack_of_trays_is_one_rack() -> None:
    """132 kW of GB200 do not spread over racks of 60 kW, though a tray takes 7.3."""
    catalogue = load_catalogue()
    north = parse_scenario(site(rack_power='"60 kW"')).sites[0]
    sku = catalogue.skus["gb200-nvl72"]
    said = not_housed(north, sku, catalogue.fact)

    assert said == "a rack of gb200-nvl72 takes up to 132 kW, and a rack of north has 60 kW (rack_power)"
    assert not_housed(north.but(rack_power_kw=132.0), sku, catalogue.fact) is None
    assert not_housed(north.but(rack_power_kw=60.0), catalogue.skus["h100-8"], catalogue.fact) is None


def test_what_is_cooled_by_liquid_has_no_place_in_air() -> None:
    """Where an offer names no sites it is for those that can house it, and the plan says which cannot."""
    text = site(cooling='"air"').replace('"h100-8"\nprice = "250 kUSD"', '"mi355x-8"\nprice = "9 kUSD"')
    changed = parse_scenario(text)
    plan = plan_fleet(changed.but(solve=changed.solve.but(gap_fraction=0.05)), baselines=False)
    reasons = [row["reason"] for row in plan_tables(plan)["alternatives_dropped"] if row["what"] == "orders"]

    assert reasons == ["mi355x-8 is cooled by liquid, and the racks of north by air (cooling)"]
    assert [plan.problem.site_names[plan.problem.node_groups.site[p]] for p in range(2)] == ["south", "south"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            site(cooling='"air"')
            .replace('lead_time = "0 d"', 'lead_time = "0 d"\nsites = ["north"]')
            .replace('sku = "h100-8"\nprice', 'sku = "mi355x-8"\nprice'),
            "market.mi355x-8.sites[0]: mi355x-8 is cooled by liquid, and the racks of north by air (cooling)"
            ": remove it",
        ),
        (
            FLEET.replace("pue = 1.1\n", 'pue = 1.1\nrack_power = "8 kW"\n').replace(
                "pue = 1.2\n", 'pue = 1.2\nrack_power = "9 kW"\n'
            ),
            "market.h100-8: no site can house it: a node of h100-8 takes up to 10.2 kW, and a rack of north "
            "has 8 kW (rack_power); a node of h100-8",
        ),
        (
            FLEET.replace("pue = 1.2\n", 'pue = 1.2\nrack_power = "6 kW"\n'),
            "fleet[0].site: a node of a100-80-8 takes up to 6.5 kW, and a rack of south has 6 kW",
        ),
        (
            site(rack_power='"6 kW"')
            + '\n[[moves]]\nfrom = "south"\nto = "north"\ncost = "1 kUSD"\ndowntime = "0 d"\n',
            "moves[0].to: a node of a100-80-8 takes up to 6.5 kW",
        ),
    ],
)
def test_nodes_without_a_place_are_refused(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        check(text, "racks.toml")

    assert said in str(error.value)


def test_nodes_that_stood_before_their_chip_was_sold_are_refused() -> None:
    text = re.sub(r"in_service = \S+", "in_service = 2019-12-31", FLEET)
    with pytest.raises(ScenarioError) as error:
        check(text, "racks.toml")
    assert "fleet[0].in_service: 2019-12-31 is before a100-80-8 was sold, 2020" in str(error.value)
