"""Terms of sites: space that is let, committed or owned, demand charges, power that is late or shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_plan_ownership import FLEET, planned, solved, term

from planner.answers.check import notes_on
from planner.answers.plan.document import plan_document
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.inputs.scenario import ScenarioError, parse_scenario
from planner.physics.places import peak_bill_usd, space_bill_usd
from planner.program.plan import Plan, plan_fleet
from planner.report.integrity import disagreements

MONTH_H = 8766.0 / 12
UNSTATED = FLEET.replace('space_price = "184.06 USD/kW/month"\n', "")
KEEP = {"policy.retirement": "none"}


def why(plan: Plan) -> str:
    return " ".join(why_this_plan(plan)[1])


def hours(plan: Plan) -> np.ndarray[Any, Any]:
    return np.array(plan.inputs.scenario.horizon.hours)


def test_committed_space_is_paid_whether_used_or_not() -> None:
    """100 kW under contract and 60 used: 100 are paid; 130 used: 130."""
    bill = space_bill_usd(
        space_usd_per_kw=196.0, occupied_kw=np.array([60.0, 130.0]), committed_kw=np.array([100.0, 100.0])
    )

    assert bill == pytest.approx([19_600.0, 25_480.0])
    assert peak_bill_usd(peak_usd_per_kw=14.57, peak_kw=1000.0) == pytest.approx(14_570.0)


def test_each_node_in_service_pays_for_its_rated_power() -> None:
    """8 old nodes of 6.5 kW at 184.06 USD/kW-month for a year of 8,760 h, and nothing more."""
    plan = planned(KEEP | {"market": None})
    rated = 8 * 6.5 * 184.06 / MONTH_H * 8760.0

    assert term(plan, "space") == pytest.approx(rated, rel=1e-9)
    rows = [row for row in plan_tables(plan)["places"] if row["site"] == "south"]
    assert [row["occupied_kw"] for row in rows] == pytest.approx([52.0] * 4)
    assert sum(row["space_usd"] for row in rows) == pytest.approx(rated)


def test_a_committed_site_costs_the_same_whatever_leaves_it() -> None:
    """Of 120 kW under contract, parting with nodes saves no space: the bill is that of 120 kW."""
    committed = {"sites.south.space_committed": "120 kW", "market": None}
    kept, free = planned(committed | KEEP), planned(committed)
    bill = 120 * 184.06 / MONTH_H * 8760.0

    assert term(kept, "space") == term(free, "space") == pytest.approx(bill, rel=1e-9)
    assert "south pays" in why(free)
    assert "for committed space that nothing uses, at most" in why(free)
    assert solved(free).retired.sum() <= solved(planned({"market": None})).retired.sum()


def test_only_what_is_beyond_the_commitment_is_paid_more() -> None:
    """8 nodes take 52 kW: 12 of them beyond the 40 under contract; in the last quarter nothing is beyond."""
    plan = planned(
        KEEP | {"market": None, "sites.south.space_committed": ["40 kW", "40 kW", "52 kW", "60 kW"]}
    )
    paid = np.array([52.0, 52.0, 52.0, 60.0]) * 184.06 / MONTH_H * hours(plan)

    assert term(plan, "space") == pytest.approx(float(paid.sum()), rel=1e-9)
    document = plan_document(plan)
    assert document["tables"]["places"]
    assert disagreements(document) == []


def test_an_owned_building_is_charged_to_nobody() -> None:
    plan = planned({"sites.north.space": "owned", "sites.north.space_price": None} | OWNED_SOUTH)

    assert term(plan, "space") == 0.0
    assert "Space at" not in why(plan)
    assert not any("Space at" in note for note in notes_on(plan.inputs.scenario))


OWNED_SOUTH = {"sites.south.space": "owned", "sites.south.space_price": None}


def test_a_price_that_nobody_stated_is_told_with_its_share() -> None:
    """Before the plan and in it; a price of one's own replaces the catalogue's."""
    plan = plan_fleet(parse_scenario(UNSTATED), baselines=False)
    half = plan_fleet(
        parse_scenario(
            UNSTATED.replace("[[fleet]]", '[facts]\n"finance.space" = "98 USD/kW/month"\n\n[[fleet]]')
        ),
        baselines=False,
    )
    share = term(plan, "space") / float(plan.ledger.cost.value)
    said = "Space at every site is charged at 195.94 USD/kW/month by the rated power of its nodes"

    assert said in why(plan)
    assert f", {100 * share:.0f} % of the cost." in why(plan)
    assert [said in note for note in notes_on(plan.inputs.scenario)] == [True, False]
    assert "Space at every site is charged at 98 USD/kW/month" in why(half)


def test_a_demand_charge_bills_the_power_that_the_cap_counts() -> None:
    """14.57 USD a kilowatt and month, of the peak of each quarter; the cap counts the same kilowatts."""
    plan = planned(KEEP | {"sites.south.demand_charge": "14.57 USD/kW/month", "market": None})
    rows = plan_tables(plan)
    capped = [r["used"] for r in rows["limits"] if (r["limit"], r["where"]) == ("power", "south")]
    peaks = [row["peak_kw"] for row in rows["places"] if row["site"] == "south"]

    assert peaks == pytest.approx(capped)
    assert term(plan, "peak") == pytest.approx(float((peaks * hours(plan)).sum()) * 14.57 / MONTH_H, rel=1e-9)
    assert "Demand charges of the sites come to" in why(plan)


def test_a_demand_charge_moves_work_away() -> None:
    """A hundred times the usual one at the southern site: the service goes north."""
    dear = planned({"sites.south.demand_charge": "1500 USD/kW/month"})
    without, billed = (
        [r["used"] for r in plan_tables(plan)["limits"] if (r["limit"], r["where"]) == ("power", "south")]
        for plan in (planned(), dear)
    )

    assert solved(dear).in_service[:, -1].sum() > 0
    assert sum(billed) < 0.8 * sum(without)


def test_nothing_runs_before_a_site_has_power() -> None:
    """No power in the north until July: legal, no node stands there before, and the plan is a plan."""
    later = {
        "sites.north.power_cap": ["0 kW", "0 kW", "400 kW", "400 kW"],
        "services.chat.peak_rate": "900 /s",
    }
    plan = planned(later)
    north = plan.problem.node_groups.site == plan.problem.site_names.index("north")
    stands = solved(plan).in_service[north].sum(axis=0)

    assert stands[:2].tolist() == [0, 0]
    assert disagreements(plan_document(plan)) == []


@pytest.mark.nightly
def test_sites_share_a_power_cap() -> None:
    """100 kW for both: each has room for what is wanted, both together have not."""
    group = {"power_groups": [{"name": "campus", "sites": ["north", "south"], "power_cap": "60 kW"}]}
    busy = {"services.chat.peak_rate": "900 /s"}
    free, shared = planned(busy), planned(busy | group)
    drawn = [
        row["used"]
        for row in plan_tables(shared)["limits"]
        if (row["limit"], row["where"]) == ("shared power", "campus")
    ]

    assert max(drawn) <= 60.0
    assert sum(row["used"] for row in plan_tables(free)["limits"] if row["limit"] == "power") >= sum(drawn)
    none = plan_fleet(
        parse_scenario(
            FLEET + '[[power_groups]]\nname = "campus"\nsites = ["north", "south"]\npower_cap = "0.1 kW"\n'
        ),
        baselines=False,
    )
    clash = plan_document(none)["clash"]
    assert "shared power" in [family["family"] for family in clash["families"]]
    assert "shared power of campus" in clash["text"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sites.north.space": "owned"}, "sites.north.space_price: has no effect on an owned building"),
        (
            OWNED_SOUTH | {"sites.south.space_committed": "5 kW"},
            "sites.south.space_committed: has no effect on an owned building",
        ),
        (
            {"sites.south.electricity_price": None, "sites.south.demand_charge": "9 USD/kW/month"},
            "sites.south.electricity_price: is missing, and demand_charge needs it",
        ),
        (
            {"power_groups": [{"name": "campus", "sites": ["west"], "power_cap": "60 kW"}]},
            "power_groups.campus.sites[0]: 'west' is no site here",
        ),
    ],
)
def test_terms_that_contradict_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said.replace("[", r"\[").replace("]", r"\]")):
        planned(changes)
