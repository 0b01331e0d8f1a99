"""Batteries and cells that a plan puts up: by when, what is paid, charged and written off, in every table."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pytest
from site_energy_cases import BATTERY, HOURLY, MORE_SUN, POOL, SUN, at_site, shipped

from planner.answers.futures.document import futures_document
from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.answers.plan.money import cost_label
from planner.answers.plan.summary import why_this_plan
from planner.answers.plan.tables import plan_tables
from planner.answers.plan.view_lines import Views
from planner.answers.plan.views import life_records
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.physics.site_energy import SiteEnergy, site_energy
from planner.physics.slots import slot_times
from planner.program.baselines import without_purchases
from planner.program.futures import plan_futures
from planner.program.plan import Plan, plan_fleet
from planner.report.charts.plans import cash_by_month
from planner.report.integrity import disagreements
from planner.report.page import to_html
from planner.report.standards import write_as
from planner.report.text import to_markdown, to_terminal
from planner.trace.numbers import quantity_text
from planner.trace.records import is_number

PERIODS = ("2027 Q1", "2027 Q2")


@cache
def later(*budget: str) -> Plan:
    """A pool for least carbon: its site may buy a battery at once, cells from within the first quarter on."""
    energy = MORE_SUN | BATTERY | {"battery_price": "9 USD/kWh", "solar_from": date(2027, 2, 1)}
    changes = (
        POOL
        | HOURLY
        | at_site(energy)
        | {"policy.objective": "carbon", "policy.budget": list(budget) or None}
    )
    return plan_fleet(shipped(changes), baselines=False)


def test_what_is_put_up_is_paid_once_and_stands_in_every_table_with_its_day() -> None:
    """Cells that may come in February are in use, and due, from the second quarter on."""
    plan = later()
    solution = plan.answer.solution
    assert solution is not None
    kwh, kw = float(solution.battery_kwh[0]), float(solution.solar_kw[0])
    document = plan_document(plan)
    tables = document["tables"]
    assert disagreements(document) == []
    battery, cells = tables["installations"]
    assert (battery["battery_kwh"], battery["ready_by"], battery["period"]) == (kwh, "2027-01-01", "2027 Q1")
    assert (cells["solar_kw"], cells["ready_by"], cells["period"]) == (kw, "2027-04-01", "2027 Q2")
    due = [battery["capex_usd"], cells["capex_usd"]]
    assert due == pytest.approx([9 * kwh, 1500 * kw])
    charged = {row["term"]: row["usd"] for row in tables["cost"]}
    assert [battery["charged_usd"], cells["charged_usd"]] == pytest.approx(
        [charged["battery"], charged["solar"]]
    )
    put_up = [row for row in tables["actions"] if row["action"] == "Put up"]
    assert [(row["by"], row["amount"], row["unit"], row["sku"]) for row in put_up] == [
        ("2027-01-01", kwh, "kWh", "battery"),
        ("2027-04-01", kw, "kW", "sun's cells"),
    ]
    assert [row["cash_usd"] for row in put_up] == due
    orders = [sum(row["capex_usd"] for row in tables["purchases"] if row["period"] == one) for one in PERIODS]
    assert [row["capex_usd"] for row in tables["by_period"]] == pytest.approx(np.add(orders, due))
    months = {row["month"]: row["installed_usd"] for row in tables["cash"] if row["installed_usd"]}
    assert months == pytest.approx({"2027-01": due[0], "2027-04": due[1]})
    [capex] = [one for one in document["totals"] if one["name"] == "capex"]
    assert capex["value"] == pytest.approx(sum(orders) + sum(due))
    for table in ("installations", "actions", "cash"):
        for line in tables[table]:
            for key in [key for key, value in line.items() if is_number(value)]:
                assert cell_explanation(document, table, line, key) is not None, (table, key)


def test_futures_say_what_to_put_up_whatever_comes() -> None:
    """One lot for both, within the limits of each; each future has it in its own tables."""
    halves = [
        {"name": "low", "probability": 0.5},
        {"name": "high", "probability": 0.5, "set": {"sites.stockholm.grid": "us-srvc"}},
    ]
    energy = MORE_SUN | BATTERY | {"battery_price": "9 USD/kWh", "solar_from": date(2027, 2, 1)}
    changes = POOL | HOURLY | at_site(energy) | {"policy.objective": "carbon", "futures": halves}
    found = plan_futures(shipped(changes))
    document = futures_document(found)
    put_up = [row for row in document["first_stage"] if row["decision"] == "put up"]
    assert [(row["pool"], row["unit"], row["period"]) for row in put_up] == [
        ("battery at stockholm", "kWh", "2027 Q1"),
        ("sun's cells at stockholm", "kW", "2027 Q2"),
    ]
    for plan in found.plans:
        battery, cells = plan_tables(plan)["installations"]
        assert [battery["battery_kwh"], cells["solar_kw"]] == pytest.approx([row["amount"] for row in put_up])
    said = f"Put up {quantity_text(put_up[1]['amount'], 'kW')} of sun's cells at stockholm in 2027 Q2"
    assert f"{said}, whatever comes." in document["headline"]
    assert disagreements(document) == []


def test_every_report_says_what_to_put_up() -> None:
    """The terminal in the table of what to do; page and Markdown with price, charge and day as well."""
    document = plan_document(later())
    assert "Put up" in to_terminal(document).partition("What to do, by when")[2].partition("Nodes in")[0]
    for text in (to_markdown(document), to_html(document)):
        assert "What to put up at the sites" in text
        assert "What batteries and the sun at the sites do" in text
    bills = list(csv.DictReader(io.StringIO(write_as(document, "focus")["focus.csv"])))
    put_up = [row for row in bills if row["ChargeDescription"].startswith("batteries and the sun's cells")]
    billed = sum(float(row["BilledCost"]) for row in bills)
    assert [row["ChargeCategory"] for row in put_up] == ["Purchase", "Purchase"]
    assert billed == pytest.approx(sum(row["cash_usd"] for row in document["tables"]["cash"]))
    bars = cash_by_month(document)
    assert bars is not None
    assert "batteries and cells" in json.dumps(bars.chart.to_dict())


def test_cash_has_the_price_and_the_cost_the_charge() -> None:
    """Cash holds no charge by the period, the accounts write off by the life, and the rest has a value."""
    plan = later()
    solution = plan.answer.solution
    assert solution is not None
    tables = plan_tables(plan)
    battery, cells = tables["installations"]
    lines = {row["line"]: row for row in tables["views"]}
    half = sum(plan.inputs.scenario.horizon.hours) / 8766
    quarter = plan.inputs.scenario.horizon.hours[1] / 8766
    bare = replace(solution, battery_kwh=0 * solution.battery_kwh, solar_kw=0 * solution.solar_kw)
    views, without = Views(plan, solution), Views(plan, bare)
    upkeep = 0.012 * cells["capex_usd"] * quarter
    orders = sum(row["capex_usd"] for row in tables["purchases"])

    assert lines["Purchases"]["cash_usd"] == pytest.approx(orders + battery["capex_usd"] + cells["capex_usd"])
    [bills] = [row for line, row in lines.items() if line.startswith("Upkeep")]
    terms = {row["term"]: row["usd"] for row in tables["cost"]}
    paid = sum(usd for term, usd in terms.items() if term not in ("capital", "battery", "solar", "ordered"))
    assert bills["cash_usd"] == pytest.approx(paid + upkeep)

    def more(name: str) -> float:
        return sum(float(mine.value - its.value) for mine, its in zip(*lines_of(name), strict=True))

    def lines_of(name: str) -> tuple[Any, Any]:
        return getattr(views, name), getattr(without, name)

    assert more("depreciation") == pytest.approx(
        battery["capex_usd"] * half / 12 + cells["capex_usd"] * quarter / 30
    )
    charged = battery["charged_usd"] + cells["charged_usd"] - upkeep
    assert more("fall") + more("interest") == pytest.approx(charged)
    assert more("fall") > 0
    assert more("interest") > 0
    last = views.periods[-1]
    left = float(views.worth(last).value - without.worth(last).value)
    assert left == pytest.approx(battery["capex_usd"] + cells["capex_usd"] - more("fall"))
    assert views.sale_at_end.value - without.sale_at_end.value == pytest.approx(left)


def test_over_the_life_of_the_hardware_batteries_and_cells_are_charged_on() -> None:
    """Three years: the charges of the second quarter go on, and the rest of the prices is worth something."""
    plan = later()
    solution = plan.answer.solution
    assert solution is not None
    bare = replace(solution, battery_kwh=0 * solution.battery_kwh, solar_kw=0 * solution.solar_kw)
    cost = plan.ledger.cost
    mine, its = (life_records(Views(plan, one), cost)[0] for one in (solution, bare))
    battery, cells = plan_tables(plan)["installations"]
    hours = plan.inputs.scenario.horizon.hours
    later_y = 3 - sum(hours) / 8766

    def annuity(life_y: float) -> float:
        return 0.08 / (1 - 1.08**-life_y)

    def left(life_y: float, age_y: float) -> float:
        return (1 - 1.08 ** (age_y - life_y)) / (1 - 1.08**-life_y)

    paid = battery["capex_usd"], cells["capex_usd"]
    yearly = paid[0] * annuity(12) + paid[1] * annuity(30)
    more = mine["later_capital_usd"].value - its["later_capital_usd"].value
    assert more == pytest.approx(yearly * later_y, rel=1e-6)
    upkeep = mine["later_bills_usd"].value - its["later_bills_usd"].value
    assert upkeep == pytest.approx(paid[1] * 0.012 * later_y, rel=1e-6)
    worth = paid[0] * left(12, 3) + paid[1] * left(30, 3 - hours[0] / 8766)
    assert mine["left_usd"].value - its["left_usd"].value == pytest.approx(worth, rel=1e-6)


def test_where_money_is_counted_when_it_is_spent_the_charge_by_the_period_is_told() -> None:
    """The cost has the charge there, too, and says so; cash has the price, and all sums come out even."""
    energy = BATTERY | {"battery_price": "9 USD/kWh", "battery_embodied": "0 kg/kWh"}
    charged = {"electricity_price": "62 USD/MWh", "demand_charge": "15 USD/kW/month"}
    pool = {"pools": [POOL["pools"][0] | {"may_wait": 0.0}]}  # type: ignore[index]
    changes = POOL | HOURLY | at_site(SUN | energy | charged) | pool | {"policy.objective": "cash"}
    plan = plan_fleet(shipped(changes), baselines=False)
    document = plan_document(plan)
    assert disagreements(document) == []
    [battery] = document["tables"]["installations"]
    terms = {row["term"]: row["usd"] for row in document["tables"]["cost"]}
    assert terms["battery"] == pytest.approx(battery["charged_usd"])
    assert battery["charged_usd"] < 0.1 * battery["capex_usd"]
    assert cost_label(plan).endswith("orders in full, batteries and cells by the period")
    headline, _ = why_this_plan(plan)
    assert any("with orders counted in full, batteries and cells by the period" in one for one in headline)


def test_a_budget_binds_what_is_put_up() -> None:
    """60 kUSD of the second quarter pay 40 kW of cells, and the limit says so."""
    plan = later("932 kUSD", "60 kUSD")
    solution = plan.answer.solution
    assert solution is not None
    assert solution.solar_kw == pytest.approx([40.0])
    rows = {row["period"]: row for row in plan_tables(plan)["limits"] if row["limit"] == "budget"}
    assert rows["2027 Q2"]["used"] == pytest.approx(60e3)
    assert rows["2027 Q2"]["binding"]
    headline, _ = why_this_plan(plan)
    [put_up] = [one for one in headline if "of the sun's cells at stockholm" in one]
    assert "in the purchases of 2027 Q2 and in its budget" in put_up


def test_without_purchases_nothing_is_put_up() -> None:
    problem = without_purchases(later().problem)
    assert not problem.site_energy.stated().any()
    standing = replace(problem.site_energy, sun_kw=np.ones_like(problem.site_energy.sun_kw))
    assert without_purchases(replace(problem, site_energy=standing)).site_energy.stated().all()


def test_a_price_is_due_again_where_a_life_ends_within_the_horizon() -> None:
    """A battery of a year and a quarter is put up in the first of eight quarters, and again in the sixth.

    One of a year is put up once in the leap year of 2028, whose days are more than those of a mean year.
    """

    def of(life: str, start: date, periods: int) -> SiteEnergy:
        pool = POOL["pools"][0] | {"gpu_time": ["40000 h"] * periods}  # type: ignore[index]
        when = {"horizon.start": start, "horizon.periods": periods, "training": None, "pools": [pool]}
        inputs = Inputs(shipped(at_site(BATTERY | {"battery_life": life}) | HOURLY | when), load_catalogue())
        found = site_energy(inputs, slot_times(inputs))
        assert found is not None
        return found

    whole = of("1 y", date(2028, 1, 1), 4)
    assert whole.battery.capex_usd.value == pytest.approx(np.array([[300.0, 0.0, 0.0, 0.0]]))
    assert whole.battery.to_usd.value[0, -1] == 0.0
    battery = of("1.25 y", date(2027, 1, 1), 8).battery
    assert battery.capex_usd.value == pytest.approx(300.0 * np.eye(8)[[0, 5]].sum(axis=0)[None, :])
    assert battery.from_usd.value[0, 0] == 0.0
    assert np.all(battery.to_usd.value > 0)
    assert np.all(battery.to_usd.value < 300)
    falls = battery.from_usd.value + battery.capex_usd.value - battery.to_usd.value
    assert np.all(falls > 0)
    assert falls.sum() == pytest.approx(600 - battery.to_usd.value[0, -1])
