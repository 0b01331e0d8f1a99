"""Money in another currency: one rate, read and shown; a scenario in it is the same plan.

The program counts in USD; what is shown is held against the USD of the document, at the rate by hand.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from plain import plain

from planner.answers.plan.cells import cell_explanation
from planner.answers.plan.document import plan_document
from planner.cli import main
from planner.inputs.exchange import default_rates, rates_in, shown_in, usd_text
from planner.inputs.scenario import (
    Scenario,
    ScenarioError,
    canonical_text,
    load_scenario,
    parse_scenario,
    with_changes,
)
from planner.notebook.plan_answers import plan_made
from planner.program.plan import plan_fleet
from planner.report.charts import PLAN_PICTURES
from planner.report.data import to_csv_files, to_json
from planner.report.page import to_html
from planner.report.table_columns import COLUMNS, column_unit
from planner.report.tables import table_of
from planner.report.text import to_markdown, to_terminal
from planner.report.workbook import to_workbook
from planner.trace.currency import Currency, code_in, currency_of, showing, shown_unit
from planner.trace.explain import kept_step
from planner.trace.numbers import money, quantity_text, scale_of, stated_text, tonne_price
from planner.trace.records import Record

SCENARIOS = Path(__file__).resolve().parents[2] / "data" / "scenarios"
SMALL = {
    "horizon.periods": 2,
    "pools": None,
    "services.chat.peak_rate": ["40 /s", "64 /s"],
    "market.h200-8.lead_time": "0 d",
    "fleet[0].nodes": 12,
}
PRICES = {
    "market.h200-8.price": "300 k{}",
    "market.b200-8.price": "0.4 M{}",
    "sites.ashburn.electricity_price": "0.08 {}/kWh",
    "sites.ashburn.space_price": "150 {}/kW/month",
    "fleet[0].paid": "120 k{}",
    "fleet[0].resale": "8 k{}",
    "policy.carbon_price": "200 {}/t",
    "policy.money_cap": "90 M{}",
    "policy.budget": "60 M{}",
    "policy.objective": "weighted",
    "facts.finance.maintenance": "6 %",
}


def in_currency(code: str, **more: Any) -> Scenario:
    """A small scenario whose money is written in a currency."""
    base = load_scenario(plain("tight-power"), SMALL)
    changes = {path: text.format(code) for path, text in PRICES.items()}
    return with_changes(base, changes | {path.replace("__", "."): value for path, value in more.items()})


def at_rate(rate: float) -> dict[str, Any]:
    return {"currency": "EUR", "exchange__EUR": f"{rate} USD", "exchange__date": date(2026, 11, 20)}


@cache
def document(kind: str) -> Record:
    """Of the scenario in USD; in EUR at 1; shown in EUR at 1.25; written and shown in EUR at 1.25."""
    scenario = {
        "usd": lambda: in_currency("USD"),
        "at one": lambda: in_currency("EUR", **at_rate(1.0)),
        "shown": lambda: in_currency("USD", **at_rate(1.25)),
        "written": lambda: in_currency("EUR", **at_rate(1.25)),
    }[kind]()
    return plan_document(plan_fleet(scenario, baselines=False))


def money_in(text: str, code: str) -> list[tuple[float, str]]:
    found = re.findall(rf"(-?[\d,]+(?:\.\d+)?) ([kMG]?){code}\b", text)
    return [(float(number.replace(",", "")), size) for number, size in found]


# Reading


@pytest.mark.parametrize(
    ("written", "usd"),
    [
        ("300 kEUR", 375e3),
        ("0.3 MEUR", 375e3),
        ("300000 EUR", 375e3),
        ("375 kUSD", 375e3),
        ("100 kGBP", 1e5 * default_rates()["GBP"]),
    ],
)
def test_money_is_read_in_any_known_currency(written: str, usd: float) -> None:
    scenario = in_currency("USD", **at_rate(1.25), **{"market__h200-8__price": written})
    assert scenario.market[0].price_usd is not None
    assert scenario.market[0].price_usd[0] == pytest.approx(usd)


def test_a_mixed_file_is_written_back_as_it_was() -> None:
    """Each amount keeps its currency, and reads to the same USD again."""
    scenario = in_currency("EUR", **at_rate(1.25), **{"market__b200-8__price": "500 kUSD"})
    text = canonical_text(scenario)

    assert 'price = "300000.0 EUR"' in text
    assert 'price = "500000.0 USD"' in text
    assert 'space_price = "150.0 EUR/kW/month"' in text
    assert 'carbon_price = "0.2 EUR/kgCO2e"' in text
    assert parse_scenario(text) == scenario
    assert "currency" not in canonical_text(in_currency("USD"))


def test_a_rate_moves_what_was_written_in_its_currency_alone() -> None:
    cheap, dear = (in_currency("EUR", **at_rate(rate)) for rate in (1.0, 1.2))
    assert dear.market[0].price_usd == pytest.approx((360e3, 360e3))
    assert cheap.market[0].price_usd == pytest.approx((300e3, 300e3))


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"currency": "NOQ"}, "currency", "no rate of NOQ is known"),
        ({"currency": "euro"}, "currency", "three letters"),
        ({"market.h200-8.price": "3 kNOQ"}, "market.h200-8.price", "NOQ = "),
        ({"exchange.EUR": "1.1 GBP"}, "exchange.EUR", "is not in USD"),
        ({"exchange.EUR": "0 USD"}, "exchange.EUR", "out of range"),
        ({"exchange.euro": "1 USD"}, "exchange.euro", "three letters"),
        ({"exchange.date": "soon"}, "exchange.date", "is not a date"),
    ],
)
def test_a_wrong_currency_gets_one_message(changes: dict[str, Any], place: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        with_changes(in_currency("USD"), changes)
    (problem,) = caught.value.problems
    assert problem.path == place
    assert said in problem.message


def test_an_unknown_currency_lists_those_that_are_known_and_may_be_stated() -> None:
    with pytest.raises(ScenarioError, match=r"USD, AUD, CAD, CHF, .*\[exchange\] as NOQ"):
        with_changes(in_currency("USD"), {"market.h200-8.price": "3 MNOQ"})
    stated = in_currency("USD", exchange__NOQ="0.1 USD", **{"market__h200-8__price": "3 MNOQ"})
    assert stated.market[0].price_usd == pytest.approx((3e5, 3e5))


def test_a_fact_of_ones_own_may_be_in_another_currency() -> None:
    scenario = in_currency("USD", **at_rate(1.25), **{"facts__finance.space": "100 EUR/kW/month"})
    assert scenario.facts["finance.space"] == "100 EUR/kW/month"
    assert usd_text("100 EUR/kW/month", {"EUR": 1.25}) == "125.0 USD/kW/month"
    assert rates_in({"facts": {"exchange.eur.rate": "1.3 USD"}})["EUR"] == 1.3


def test_units_are_no_currencies() -> None:
    assert [code_in(text) for text in ("2 MWh", "80 GB", "9 TFLOP/s", "3 kUSD", "4 kEUR", "1 SEK/kWh")] == [
        "",
        "",
        "",
        "",
        "EUR",
        "SEK",
    ]


def test_a_default_rate_is_a_fact_with_a_range_and_a_day() -> None:
    currency = shown_in(with_changes(in_currency("USD"), {"currency": "GBP"}))
    assert (currency.code, currency.usd, currency.date) == ("GBP", default_rates()["GBP"], "mean of 2024")
    assert "exchange.gbp.rate" in currency.source


# Showing


def test_numbers_are_shown_at_the_rate() -> None:
    """By hand: a million dollars at 1.25 are 800,000 EUR."""
    with showing(Currency("EUR", 1.25)):
        assert quantity_text(1e6, "USD") == "800 kEUR"
        assert quantity_text(1e3, "kW") == "1 MW"
        assert quantity_text(0.1, "USD/kWh") == "0.08 EUR/kWh"
        assert quantity_text(10.0, "kgCO2e/USD") == "12.5 kgCO2e/EUR"
        assert money(913.0) == "730 EUR"
        assert tonne_price(150.0) == "120 EUR/t"
        assert scale_of("USD", [2.5e6]) == (pytest.approx(1.25e6), "MEUR")
        assert shown_unit("USD/kW/h") == (pytest.approx(0.8), "EUR/kW/h")
    assert money(913.0) == "913 USD"


@pytest.mark.solve
@pytest.mark.nightly
def test_at_a_rate_of_one_all_is_as_in_dollars() -> None:
    """Numbers are the same; words differ in the name of the currency alone."""
    usd, one = document("usd"), document("at one")

    costs = [[row["usd"] for row in found["tables"]["cost"]] for found in (one, usd)]
    assert costs[0] == pytest.approx(costs[1])
    assert [line.replace("EUR", "USD") for line in one["headline"]] == usd["headline"]
    assert "currency" not in usd
    assert one["currency"]["code"] == "EUR"


@pytest.mark.solve
def test_written_in_the_currency_it_is_the_plan_of_the_dollars_that_it_means() -> None:
    """300 kEUR at 1.25 are 375 kUSD: the plan of that, in each term."""
    scale = {
        path: re.sub(r"^[\d.]+", lambda found: f"{float(found[0]) * 1.25:.12g}", text).format("USD")
        for path, text in PRICES.items()
        if "{}" in text
    }
    dollars = plan_document(plan_fleet(with_changes(in_currency("USD"), scale), baselines=False))
    for mine, theirs in zip(document("written")["totals"], dollars["totals"], strict=True):
        assert mine["value"] == pytest.approx(theirs["value"], rel=1e-9), mine["name"]


@pytest.mark.solve
def test_each_amount_is_shown_at_the_rate_and_data_stay_in_dollars() -> None:
    usd, eur = document("usd"), document("shown")
    for name in ("cost", "purchases", "cash", "accounts", "present_value", "by_period", "unit_costs"):
        rows = eur["tables"][name]
        assert len(rows) == len(usd["tables"][name])
        with showing(currency_of(eur)):
            shown = table_of(name, rows)
        plain = table_of(name, rows)
        for key, heading, other, *columns in zip(
            shown.keys,
            shown.headings,
            plain.headings,
            zip(*shown.values, strict=True),
            zip(*plain.values, strict=True),
            strict=True,
        ):
            if "USD" not in other:
                continue
            unit, base = (re.search(r"\(([kMG]?)(EUR|USD)\)", text)[1] for text in (heading, other))
            size = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
            for mine, theirs in zip(*columns, strict=True):
                if isinstance(mine, float):
                    wanted = theirs * size[base] / 1.25
                    assert mine * size[unit] == pytest.approx(wanted, abs=1e-6), (name, key)
    text = json.loads(to_json(eur))
    assert text["currency"] == {
        "code": "EUR",
        "usd": 1.25,
        "date": "2026-11-20",
        "source": "as the file states it",
    }
    assert text["totals"][0]["value"] == pytest.approx(usd["totals"][0]["value"])
    assert text["schema"] == usd["schema"]


@pytest.mark.solve
@pytest.mark.parametrize("written", [to_terminal, to_markdown, to_html])
def test_no_dollar_is_left_but_in_facts(written: Any) -> None:
    """A report in EUR names USD where it says the rate, and where a fact is as its source has it."""
    text = written(document("shown"))

    assert "1 EUR = 1.25 USD (2026-11-20" in " ".join(text.split())
    assert money_in(text, "EUR")
    head = re.split(r"Facts and their sources|## Facts", text)[0]
    head = re.sub(r"<pre.*?</pre>", "", head, flags=re.DOTALL)
    head = re.sub(r"1 EUR = 1.25 USD", "", " ".join(head.split()))
    assert not money_in(head, "USD"), money_in(head, "USD")


@pytest.mark.solve
def test_shown_terms_still_add_up() -> None:
    """As they are rounded: to half of the last digit of each."""
    eur = document("shown")
    with showing(currency_of(eur)):
        table = table_of("cost", eur["tables"]["cost"])
        (column,) = [i for i, heading in enumerate(table.headings) if "EUR" in heading]
        total = next(one for one in eur["totals"] if one["name"] == "cost")
        factor, _ = scale_of("USD", [row["usd"] for row in eur["tables"]["cost"]])
    cells = [float(row[column].replace(",", "")) for row in table.cells]
    last = [10.0 ** -len(row[column].partition(".")[2]) for row in table.cells]

    assert sum(cells) == pytest.approx(total["value"] / factor, abs=sum(last) / 2 + 1e-9)


@pytest.mark.solve
def test_an_explanation_leads_to_the_rate_and_its_day() -> None:
    written = document("written")
    rows = written["tables"]["purchases"]
    found = cell_explanation(written, "purchases", rows[0], "price_usd_per_node")
    assert found is not None
    steps = {step.name: step for step in found.steps}
    rate = steps["scenario.exchange.EUR"]

    assert (rate.value, rate.unit) == (1.25, "USD/EUR")
    assert "2026-11-20" in rate.about
    assert rate.low is None
    assert next(step for step in found.steps if step.unit == "EUR").kind == "yours"
    text = found.to_text()
    assert "USD/EUR" in text
    assert "Money is shown in EUR: 1 EUR = 1.25 USD (2026-11-20" in text
    cost = kept_step(written, "cost")
    assert cost is not None
    assert re.search(r"^plan_usd = [\d.,e+]+ EUR", cost.to_text())


@pytest.mark.solve
def test_a_catalogue_price_is_told_as_its_source_has_it_and_as_it_is_shown() -> None:
    eur = document("shown")
    texts = [found.to_text() for name in eur["explanations"] if (found := kept_step(eur, name)) is not None]
    assert re.search(r"server\.\S+price = [\d,.]+ USD, [\d,.]+ EUR", "\n".join(texts)) or "EUR" in texts[0]


@pytest.mark.solve
def test_csv_and_workbook_and_charts_are_in_the_currency() -> None:
    eur = document("shown")
    files = to_csv_files(eur)
    rows = list(csv.DictReader(io.StringIO(files["cash.csv"])))
    units = {row["column"]: row["unit"] for row in csv.DictReader(io.StringIO(files["columns.csv"]))}
    total = next(row for row in csv.DictReader(io.StringIO(files["totals.csv"])) if row["name"] == "cost")

    assert float(rows[-1]["so_far_eur"]) == pytest.approx(eur["tables"]["cash"][-1]["so_far_usd"] / 1.25)
    assert units["so_far_eur"] == "EUR"
    assert (float(total["value"]), total["unit"]) == (pytest.approx(eur["totals"][0]["value"] / 1.25), "EUR")
    assert to_workbook(eur)
    with showing(currency_of(eur)):
        drawn = {name: draw(eur) for name, draw in PLAN_PICTURES.items()}
    assert "EUR" in drawn["cost"].alt  # type: ignore[union-attr]
    assert "USD" not in json.dumps(drawn["cash"].chart.to_dict())  # type: ignore[union-attr]


@pytest.mark.solve
@pytest.mark.nightly
def test_python_shows_the_currency_and_keeps_dollars_in_tables() -> None:
    answer = plan_made(document("shown"))

    assert "EUR" in answer.to_text()
    assert "EUR" in answer._repr_html_()
    assert "EUR" in answer["cost"]._repr_html_()
    assert answer["cost"][0]["usd"] == document("shown")["tables"]["cost"][0]["usd"]
    assert "EUR" in answer.explain("cost").to_text()


@pytest.mark.solve
def test_the_command_takes_a_currency(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "one-training-job", "--currency", "EUR", "--quiet", "--no-baselines"]) == 0
    shown = capsys.readouterr().out

    assert "Money is shown in EUR: 1 EUR = 1.082 USD" in shown
    assert not money_in(shown.replace("= 1.082 USD", ""), "USD")


@pytest.mark.solve
@pytest.mark.nightly
def test_ways_out_of_a_conflict_are_in_the_currency() -> None:
    scenario = in_currency("EUR", **at_rate(1.25), policy__money_cap="40 kEUR")
    found = plan_document(plan_fleet(scenario, baselines=False))
    (way,) = [one for one in found["clash"]["ways"] if one["key"] == "policy.money_cap"]

    assert way["stated"] == "40 kEUR"
    assert way["needed"].endswith("EUR")
    assert plan_fleet(with_changes(scenario, {way["key"]: way["needed"]}), baselines=False).answer.solution


FUTURES = """
[[futures]]
name = "as stated"
probability = 0.5

[[futures]]
name = "dearer power"
probability = 0.5
electricity = 1.5
"""


@pytest.mark.solve
@pytest.mark.parametrize(
    "command",
    [
        ["pareto", "run.toml", "--points", "2"],
        ["sensitivity", "run.toml", "--vary", "policy.carbon_price=50..200 USD/t"],
        ["futures", "futures.toml"],
    ],
)
def test_commands_that_plan_many_times_show_the_currency(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences, tables and marks; at 1.25, 100 USD/t are 80 EUR/t."""
    text = (SCENARIOS / "one-training-job.toml").read_text(encoding="utf-8")
    text = text.replace('objective = "money"', 'objective = "weighted"\ncarbon_price = "100 USD/t"')
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(text, encoding="utf-8")
    Path("futures.toml").write_text(f"{text}\n{FUTURES}", encoding="utf-8")

    assert main([*command, "--currency", "EUR", "--set", "exchange.EUR=1.25 USD", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "EUR" in shown
    assert "USD" not in shown


@pytest.mark.solve
@pytest.mark.nightly  # by day a plan, a job and a card are
def test_a_sweep_and_checkpoints_are_shown_in_the_currency(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = ["--store", str(tmp_path / "plans.sqlite")]
    euros = ["--set", "currency=EUR", "--set", "exchange.EUR=1.25 USD"]
    assert (
        main(
            ["sweep", "one-training-job", "--vary", "sites.stockholm.pue=1.1,1.3", *euros, *store, "--quiet"]
        )
        == 0
    )
    assert re.search(r"\d+(\.\d+)? kEUR", capsys.readouterr().out)
    question = ["checkpoint", "one-training-job", "--sku", "h100-8", "--nodes", "4"]
    assert main(question) == 0
    dollars = capsys.readouterr().out
    assert main([*question, *euros]) == 0
    shown = capsys.readouterr().out
    assert "EUR/useful h" in shown
    assert "USD" not in shown
    cost = [
        float(re.findall(r"(\d+) (?:USD|EUR) a day", text.replace(",", ""))[0]) for text in (dollars, shown)
    ]
    assert cost[1] == pytest.approx(cost[0] / 1.25, abs=1.0)


@pytest.mark.solve
def test_the_price_of_a_budget_is_in_the_currency() -> None:
    """One more EUR of a budget saves as much EUR as one more USD saves USD."""
    found = table_of(
        "prices",
        [
            {
                "limit": "budget",
                "where": "all sites",
                "period": "2027 Q1",
                "unit": "USD",
                "saving_unit": "USD",
                "relaxed_saving_per_unit": 0.5,
                "more_by": 1000.0,
                "more_change": 500.0,
            }
        ],
    ).records()[0]
    with showing(Currency("EUR", 1.25)):
        shown = table_of(
            "prices",
            [
                {
                    "limit": "budget",
                    "where": "all sites",
                    "period": "2027 Q1",
                    "unit": "USD",
                    "saving_unit": "USD",
                    "relaxed_saving_per_unit": 0.5,
                    "more_by": 1000.0,
                    "more_change": 500.0,
                }
            ],
        ).records()[0]
    numbers = [
        (mine, theirs)
        for mine, theirs in zip(shown.values(), found.values(), strict=True)
        if isinstance(mine, float)
    ]

    assert numbers == [(0.5, 0.5), (800.0, 1000.0), (400.0, 500.0)]
    assert "EUR" in shown.values()


@pytest.mark.parametrize(("word", "unit"), [("usd", "USD"), ("kgco2e", "kgCO2e")])
def test_every_column_with_money_or_carbon_in_its_name_says_its_unit(word: str, unit: str) -> None:
    """What has no unit is shown as it is kept: in USD, whatever currency is asked for."""
    named = [(table, key) for table, keys in COLUMNS.items() for key in keys if word in key.split("_")]

    assert len(named) > 10
    assert [(table, key) for table, key in named if column_unit(key) != unit] == []


def test_a_long_stated_number_has_its_thousands_apart() -> None:
    """180556 USD stood next to 286,506 EUR, which was converted; what was written short stays as it is."""
    assert stated_text("180556 USD") == "180,556 USD"
    assert stated_text("65 USD/MWh") == "65 USD/MWh"
    assert stated_text("2.50 USD/h") == "2.50 USD/h"
