"""The file that a person writes becomes numbers in one unit each, and says the same when written back."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from planner.answers.check import check_file
from planner.inputs.loading import data_folder
from planner.inputs.reference import json_schema
from planner.inputs.scenario import (
    Horizon,
    Scenario,
    ScenarioError,
    canonical_text,
    digest,
    load_scenario,
    parse_scenario,
    with_changes,
)
from planner.inputs.scenario.base import part_in, rule_of
from planner.inputs.scenario.fields import Frame, Quantity, Range, Rule
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.trace.units import unit_of

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "data/scenarios").glob("*.toml"))

# Every key of the format at least once.
WHOLE = """
title = "Every key, once: \\"quoted\\" \\\\ ünïcode"

[horizon]
start = 2028-01-01
periods = 2
period = "quarter"

[[sites]]
name = "North 1.a"
grid = "se"
pue = 1.1
power_cap = ["1 MW", "1500 kW"]
racks = 10
electricity_price = "60 USD/MWh"
egress_price = "0.02 USD/GB"
curtailment = "100 kW"
curtailment_hours = "50 h"
curtailment_event = "2 h"
curtailment_notice = "30 min"
curtailment_payment = "6 USD/kW/month"
curtailment_obliged = true
space = "owned"
demand_charge = "15 USD/kW/month"
wue = "200 mL/kWh"
hourly_shape = "gb-2021"

[[sites]]
name = "south"
grid_intensity = "250 g/kWh"
market_intensity = "400 g/kWh"
pue = 1.3
power_cap = "2e6 W"
racks = 20
rack_power = "20 kW"
cooling = "liquid"
space_price = ["170 USD/kW/month", "0.18 kUSD/kW/month"]
space_committed = "0.1 MW"
storage = "20 PB"
storage_medium = "ssd"
storage_reads_ratio = 8
solar = "0.4 MW"
solar_more = "3 MW"
solar_price = "1500 USD/kW"
solar_upkeep = "1.2 %"
solar_embodied = "1900 kg/kW"
solar_life = "30 y"
solar_spread = 0.35
solar_from = 2028-04-01
solar_yield = "18 %"
solar_latitude = 36.8
solar_longitude = -119.8
battery = "2 MWh"
battery_hours = "4 h"
battery_efficiency = 0.86
battery_price = "300 USD/kWh"
battery_embodied = "104 kg/kWh"
battery_life = "12 y"
battery_from = 2028-04-01

[[power_groups]]
name = "campus"
sites = ["North 1.a", "south"]
power_cap = ["2 MW", "2500 kW"]

[[links]]
sites = ["North 1.a", "south"]
bandwidth = "400 Gbit/s"
latency = "12 ms"
oversubscription = 1.5

[[fleet]]
sku = "a100-80-8"
site = "south"
nodes = 4
in_service = 2028-01-01
life = "6 y"
extend_to = "8 y"
extension_cost = "6 kUSD/y"
paid = "300 kUSD"
resale = "8 kUSD"
second_life = 3
resale_decline = "25 %"

[[market]]
sku = "h100-8"
price = ["280 kUSD", "0.26 MUSD"]
lead_time = "2 week"
order_nodes = 4
single_spares = [2, 0]
supply_nodes = [8, 0]
sites = ["south"]
minimum_nodes = 2
tiers = [{ from_nodes = 4, rebate = "5 %" }, { from_nodes = 8, rebate = 0.08 }]

[[moves]]
sku = "a100-80-8"
from = "south"
to = "North 1.a"
cost = "1.5 kUSD"
downtime = "14 d"
distance = "800 km"

[[moves]]
from = "south"
to = "North 1.a"
cost = "2 kUSD"
downtime = "0 d"
carbon = "60 kg"

[[rental]]
name = "cloud"
sku = "h100-8"
grid_intensity = "90 g/kWh"
pue = 1.2
price = ["3.2 USD/h", "3 USD/h"]
per = "accelerator"
nodes = [16, 8]
commitment = "block"
starts = 2028-04-01
ends = 2028-07-01

[[rental]]
name = "spare-cloud"
sku = "h100-8"
grid_intensity = "90 g/kWh"
commitment = "spot"
interruption_rate = "0.3 /month"

[[rental]]
name = "cloud 2"
sku = "h100-8"
grid = "se"

[[rental]]
name = "signed-cloud"
sku = "h100-8"
grid = "se"
commitment = "1 year"
nodes = 2
starts = 2028-04-01
signed = true

[[training]]
name = "run"
data_site = "south"
data_moved = "40 TB"
model = "llama-3-8b"
tokens = 1e12
sequence_tokens = 4096
batch_tokens = 4194304
precision = "fp8"
earliest = 2028-02-01
deadline = 2028-07-01
nodes = [4, 8]
skus = ["h100-8"]
sites = ["south", "North 1.a"]
checkpoint_storage = "parallel-fs"
checkpoint = "asynchronous"
checkpoint_interval = "45 min"
deadline_confidence = "90 %"
may_be_left_out = true
left_out_penalty = "2 MUSD"
count = 2
pausable = true
partial = true
power_caps = ["80 %", 1]
clocks = ["90 %", 1]

[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "a100-80-8"
gpu_time = ["1000 h", "50 d"]
window = "period"
may_wait = 0.6
ramp = "20 %/h"
data_site = "south"
data_moved = "40 GB"
demand_error = "30 %"
utilisation = 0.75
skus = ["h100-8"]
sites = ["south"]

[[pools]]
name = "summaries"
model = "llama-3-8b"
precision = "fp8"
reference = "h100-8"
items = "5e6 /d"
tokens_in = 1200
tokens_out = 150
passes = 2
engine = "vllm"

[[pools]]
name = "reasoning"
model = "llama-3-8b"
reference = "h100-8"
prompts = "2e5 /d"
samples = 16
tokens_in = 200
tokens_out = 900
mode = "synchronous"
step_prompts = 64
longest_tokens = 4096
wasted = 0.2
reference_passes = 1
method = "lora"
adapter_rank = 8
job_nodes = 2
sequence_tokens = 4096
batch_sequences = 64

[[pools]]
name = "many"
model = "llama-3-8b"
reference = "h100-8"
jobs = "900 /month"
job_p50 = "70 h"
job_p99 = "3000 h"

[[pools]]
name = "tuned"
model = "llama-3-8b"
reference = "h100-8"
jobs = "40 /d"
job_tokens = 5e7

[[pools]]
name = "agents"
model = "llama-3-8b"
reference = "h100-8"
campaigns = "3 /month"
agents = 11
campaign_time = "24 h"
agent_accelerators = 2
success = 0.4

[[pools]]
name = "team"
model = "llama-3-8b"
reference = "h100-8"
people = [20, 25]
person_time = "300 h"

[[services]]
name = "chat"
model = "llama-3-8b"
precision = "fp16"
cache_precision = "fp8"
tokens_in = 1000
tokens_out = 200.5
data_site = "south"
data_moved = "140 GB"
logs_moved = "1 TB/month"
peak_rate = "600 /min"
demand_error = 0.2
mean_to_peak = 0.5
busiest_time = "15 h"
first_token = "1500 ms"
per_token = "0.05 s"
availability = "99.9 %"
unmet_penalty = ["0.5 USD", "0.4 USD"]
least_replicas = 2
skus_today = ["h100-8"]
sites_today = ["south"]
skus = ["h100-8"]
sites = ["south"]

[[contracts]]
name = "wind"
site = "south"
price_premium = "4 USD/MWh"
volume = "2 GWh"

[[contracts]]
name = "hydro"
site = "North 1.a"
price_premium = ["1 USD/MWh", "2 USD/MWh"]
power = "500 kW"
intensity = "6 g/kWh"
level = true

[reliability]
failure_rate = "4.2 /(1000 node d)"
restart = "600 s"
repair = "2 d"
spare_confidence = 0.99
spare_share = "10 %"
loss_spikes = "10 /month"
rollback = "30 min"
detect_corruption = true
slow_nodes = "0.5 %"
slowdown = 1.2
step_spread = "1 %"

[policy]
objective = "weighted"
carbon_price = "150 USD/t"
carbon_cap = "900 t"
carbon_cap_by_period = ["500 t", "450 t"]
money_cap = "40 MUSD"
budget = ["5 MUSD", "6 MUSD"]
discount_rate = 0.07
node_life = "4 y"
park_idle = true
confidence = 0.9
retirement = "end of life"
accounting = "market"
robust = "regret"
decide_until = 2028-06-01

[solve]
gap = "1 %"
time_limit = "2 min"
engine = "cbc"
slots = 12

[facts]
"accelerator.h100-sxm-80gb.tdp" = "650 W"
"grid.decline" = 0.05

[[futures]]
name = "boom"
probability = 0.25
demand = [1, 1.5]
work = 1.2
tokens = 1.1
failures = 1.5
grid = 0.8
electricity = [1.1, 1.4]
node_price = 0.9
set = { "sites.south.pue" = 1.25, "solve.gap" = "2 %" }

[[futures]]
name = "as stated"
probability = "75 %"
"""


@pytest.fixture(scope="module")
def whole() -> Scenario:
    return parse_scenario(WHOLE, "whole.toml")


def rules(part: type[BaseModel] = Scenario) -> Iterator[tuple[str, Rule]]:
    """Every field that is no table, with its rule."""
    for attribute, field in part.model_fields.items():
        rule = rule_of(part, attribute)
        if rule is None:
            yield from rules(part_in(field))
        else:
            yield attribute, rule


def plain(value: Any) -> Any:
    """TOML values as JSON has them: an editor sees a date as text."""
    return json.loads(json.dumps(value, default=lambda day: day.isoformat()))


# Reading


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios_are_read_to_the_letter(path: Path) -> None:
    """Beside a second reading of the file by hand: kilowatts, hours, dollars per kWh, requests per second."""
    scenario, raw = load_scenario(path), tomllib.loads(path.read_text(encoding="utf-8"))

    def number(text: str) -> float:
        return float(text.split()[0])

    assert scenario.path == path
    assert len(scenario.sites) == len(raw["sites"]) > 0
    for site, written in zip(scenario.sites, raw["sites"], strict=True):
        periods, cap = raw["horizon"]["periods"], written["power_cap"]
        caps = cap if isinstance(cap, list) else [cap] * periods
        kilowatts = [number(one) * {"kW": 1, "MW": 1000}[one.split()[1]] for one in caps]
        assert site.power_cap_kw == pytest.approx(kilowatts)
        if "electricity_price" in written:
            price = number(written["electricity_price"]) / 1000
            assert site.electricity_price_usd_per_kwh == pytest.approx((price,) * periods)
        else:
            assert site.electricity_price_usd_per_kwh is None
        assert (site.name, site.grid, site.pue) == (written["name"], written["grid"], written["pue"])
    for job, written in zip(scenario.training, raw.get("training", ()), strict=True):
        assert (job.amount, job.nodes) == (written[job.amount_key], tuple(written["nodes"]))
        assert job.deadline == written["deadline"]
    for service, written in zip(scenario.services, raw.get("services", ()), strict=True):
        if "audio_rate" in written:
            continue  # hours of sound, in test_batch_serving
        rates = written["peak_rate"] if isinstance(written["peak_rate"], list) else [written["peak_rate"]]
        assert list(dict.fromkeys(service.peak_requests_per_s)) == list(dict.fromkeys(map(number, rates)))
    reliability, policy, solve = raw["reliability"], raw["policy"], raw["solve"]
    assert scenario.reliability.restart_h == pytest.approx(number(reliability["restart"]) / 60)
    assert scenario.reliability.repair_h == pytest.approx(number(reliability["repair"]) * 24)
    assert scenario.policy.discount_rate_fraction == pytest.approx(number(policy["discount_rate"]) / 100)
    assert scenario.solve.gap_fraction == pytest.approx(number(solve["gap"]) / 100)


def test_every_key_is_read_into_its_unit(whole: Scenario) -> None:
    """Each value worked out by hand from `WHOLE`; 4.2 in 1,000 node-days are 4.2 / 24,000 an hour."""
    north, south = whole.sites
    job, service, offer = whole.training[0], whole.services[0], whole.market[0]

    assert whole.title == 'Every key, once: "quoted" \\ ünïcode'
    assert (north.power_cap_kw, south.power_cap_kw) == ((1000, 1500), (2000, 2000))
    assert north.electricity_price_usd_per_kwh == pytest.approx((0.06, 0.06))
    assert (north.wue_l_per_kwh, south.wue_l_per_kwh) == (pytest.approx(0.2), None)
    assert (south.grid, south.grid_kgco2e_per_kwh) == (None, pytest.approx((0.25, 0.25)))
    assert (north.space, north.demand_charge_usd_per_kw_month) == ("owned", pytest.approx((15, 15)))
    assert (south.space, south.space_price_usd_per_kw_month) == (None, pytest.approx((170, 180)))
    assert south.space_committed_kw == pytest.approx((100, 100))
    assert (south.storage_gb, south.storage_medium) == (pytest.approx(20e6), "ssd")
    assert (south.solar_kw, south.solar_yield_fraction) == pytest.approx((400, 0.18))
    assert (south.solar_more_kw, south.solar_price_usd_per_kw) == pytest.approx((3000, 1500))
    assert (south.battery_kwh, south.battery_full_power_h) == pytest.approx((2000, 4))
    assert whole.power_groups[0].power_cap_kw == (2000, 2500)
    assert (offer.price_usd, offer.lead_time_h) == (pytest.approx((280e3, 260e3)), 14 * 24)
    assert (offer.order_nodes, offer.supply_nodes, offer.sites) == (4, (8, 0), ("south",))
    assert offer.single_spares == (2, 0)
    assert (job.batch_tokens, job.precision, job.checkpoint) == (4194304.0, "fp8", "asynchronous")
    assert (job.deadline_confidence_fraction, job.left_out_penalty_usd) == (pytest.approx(0.9), 2e6)
    assert job.sites == ("south", "North 1.a")
    assert whole.pools[0].gpu_time_h == (1000, 1200)
    assert whole.pools[0].utilisation_fraction == pytest.approx(0.75)
    assert (service.tokens_in, service.tokens_out, service.traffic) == (1000, 200.5, None)
    assert service.peak_requests_per_s == pytest.approx((10, 10))
    assert (service.first_token_s, service.per_token_s) == pytest.approx((1.5, 0.05))
    assert service.availability_fraction == pytest.approx(0.999)
    assert whole.reliability.failure_rate_per_node_h == pytest.approx(4.2 / 24_000)
    assert whole.policy.carbon_price_usd_per_kgco2e == pytest.approx(0.15)
    assert (whole.policy.carbon_cap_kgco2e, whole.policy.budget_usd) == (900e3, (5e6, 6e6))
    assert (whole.solve.gap_fraction, whole.solve.time_limit_s, whole.solve.engine) == (0.01, 120, "cbc")
    assert whole.facts == {"accelerator.h100-sxm-80gb.tdp": "650 W", "grid.decline": "0.05"}


def test_whole_holds_every_key() -> None:
    """So that no field escapes the tests that use it."""
    keys = {attribute for attribute, _ in rules()}
    keys -= {"currency", "exchange"}  # in a test of their own, `test_currency`
    keys -= {"traffic", "failures", "log", "first", "tolerance_fraction"}
    keys -= {"calibration", "data"}  # files beside the scenario, as a log is
    keys -= {"region", "hourly"}  # in place of grid and PUE
    keys -= {
        "levers",
        "price_shape",
        "traffic_shape",
    }  # beside location-based accounting alone, in test_levers
    keys -= {"precisions", "models", "techniques", "quality_budget_fraction"}  # in test_ways
    keys -= {"mean_quality_budget_fraction"}  # the same
    keys -= {"across"}  # of runs that do not pause, in test_shared_runs
    keys -= {"phases", "routing", "pipeline", "users"}  # in test_apart, test_pipelines and test_users
    keys -= {"regions", "latency_s"}  # in test_users
    keys -= {"profile", "profile_latitude_deg", "profile_longitude_deg"}  # in test_levers
    keys -= {"curve", "target_loss", "growth_per_y"}  # in place of tokens and lists, in test_scaling
    keys -= {"draws", "reduce_to", "seed"}  # futures are named or drawn
    keys -= {"classes", "share_fraction", "cache_hits_fraction", "cached_tokens"}  # the same
    keys -= {"data_usd_per_million", "bought_fraction", "generated_fraction", "feeds"}  # in test_data_mix
    keys -= {"tables", "file", "table_set", "reuse", "reuse_set", "tiers", "ways"}  # in test_placed_works
    keys -= {"residual_value_fraction"}  # in place of resale_decline, in test_plan_ownership
    keys -= {"samples", "batch_samples"}  # in place of tokens, in test_sample_training
    keys -= {"ingestion", "workers_per_node", "workers"}  # in test_feeding
    keys -= {"audio_s", "audio_h_per_d", "candidates", "images", "response_time_s"}  # in test_service_kinds
    keys -= {"answers"}  # the same
    written = WHOLE + "grid traffic failures log"

    for part in _parts():
        for attribute, field in part.model_fields.items():
            assert attribute not in keys or f"{field.alias or attribute} =" in written or attribute == "facts"


def _parts(part: type[BaseModel] = Scenario) -> Iterator[type[BaseModel]]:
    yield part
    for attribute, field in part.model_fields.items():
        if rule_of(part, attribute) is None:
            yield from _parts(part_in(field))


WITHOUT_CONTRACTS = (
    WHOLE.partition("[[contracts]]")[0] + "[reliability]" + WHOLE.partition("[reliability]")[2]
)


def test_defaults_are_those_that_the_format_names() -> None:
    """What a file leaves out: one node to order, blocking writes, 95 %, 0.5 % within a minute, HiGHS."""
    lines = (
        "order_nodes",
        "checkpoint =",
        "deadline_conf",
        "may_be",
        "left_out",
        "partial",
        "earliest",
        "accounting",
        "robust",
        "decide_until",
        "market_intensity",
        "supply",
        "price =",
        "budget",
        "carbon_cap",
        "wue",
        "skus",
        "electricity",
        "demand_charge",
    )
    text = WITHOUT_CONTRACTS.partition("[solve]")[0]
    kept = [line for line in text.splitlines() if not line.startswith(lines)]
    scenario = parse_scenario("\n".join(kept))
    offer, job, site, solve = scenario.market[0], scenario.training[0], scenario.sites[0], scenario.solve

    assert (offer.order_nodes, offer.supply_nodes, offer.price_usd) == (1, None, None)
    assert (job.checkpoint, job.deadline_confidence_fraction) == ("blocking", 0.95)
    assert (job.earliest, job.skus) == (scenario.horizon.start, None)
    assert (job.may_be_left_out, job.left_out_penalty_usd) == (False, None)
    assert (site.electricity_price_usd_per_kwh, site.wue_l_per_kwh) == (None, None)
    assert (scenario.policy.accounting, scenario.policy.budget_usd) == ("location", None)
    assert (solve.gap_fraction, solve.time_limit_s, solve.engine) == (0.005, 60, "highs")
    assert scenario.facts == {}


def test_attributes_end_in_the_unit_that_they_hold() -> None:
    """`power_cap_kw` holds kW: the rule that reads a field and the name that the program uses agree."""
    quantities = [(name, rule.rule if isinstance(rule, EachPeriod) else rule) for name, rule in rules()]
    units = {name: rule.unit for name, rule in quantities if isinstance(rule, Quantity)}

    assert len(units) >= 18
    # Time per token, by its ending; read as a word it would be "per token and second".
    assert units.pop("per_token_s") == "s"
    assert {name: unit_of(name) for name in units} == units


def test_every_example_may_stand_where_it_is_recommended() -> None:
    """A remedy that is itself refused would send a person in circles."""
    for attribute, rule in rules():
        text = rule.example if attribute not in ("facts", "exchange") else f"{{ {rule.example} }}"
        assert rule.read(tomllib.loads(f"value = {text}")["value"], Frame(2)) is not None, attribute


def test_a_scenario_does_not_change(whole: Scenario) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        whole.title = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        whole.sites[0].pue = 1.0  # type: ignore[misc]


# Calendar

PERIODS = st.sampled_from(["month", "quarter"])


def test_quarters_of_a_leap_year_have_its_hours() -> None:
    """2028 is a leap year: its first quarter has 91 days, the year 8,784 hours."""
    horizon = Horizon(start=date(2028, 1, 1), periods=4, period="quarter")

    assert horizon.hours == (91 * 24, 91 * 24, 92 * 24, 92 * 24)
    assert sum(horizon.hours) == 8784
    assert horizon.end == date(2029, 1, 1)
    assert horizon.period_labels == ("2028 Q1", "2028 Q2", "2028 Q3", "2028 Q4")


def test_months_and_quarters_of_another_year_are_labelled() -> None:
    months = Horizon(start=date(2027, 11, 1), periods=3, period="month")
    fiscal = Horizon(start=date(2027, 11, 1), periods=2, period="quarter")

    assert months.period_labels == ("2027-11", "2027-12", "2028-01")
    assert fiscal.period_labels == ("2027-11..01", "2028-02..04")
    assert fiscal.period_starts == (date(2027, 11, 1), date(2028, 2, 1))


@given(st.dates(date(1990, 1, 1), date(2100, 1, 1)), st.integers(1, 40), PERIODS)
def test_periods_tile_the_horizon(start: date, periods: int, period: str) -> None:
    """The hours of the periods, added up, are those that the clock counts from start to end."""
    horizon = Horizon.model_validate({"start": start.replace(day=1), "periods": periods, "period": period})
    begin, end = (datetime.combine(day, datetime.min.time()) for day in (horizon.start, horizon.end))

    assert sum(horizon.hours) == (end - begin) / timedelta(hours=1) == horizon.hours_from_start(horizon.end)
    assert len(horizon.period_starts) == len(set(horizon.period_labels)) == periods
    assert all(horizon.date_after_h(horizon.hours_from_start(day)) == day for day in horizon.period_starts)


def test_a_day_lasts_until_midnight() -> None:
    horizon = Horizon(start=date(2027, 1, 1), periods=1, period="month")

    assert [horizon.date_after_h(h).day for h in (0, 23.99, 24, 47.5)] == [1, 1, 2, 2]
    assert horizon.date_after_h(math.inf) == date.max


# Writing back


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_canonical_text_says_the_same(path: Path) -> None:
    scenario = load_scenario(path)

    assert parse_scenario(canonical_text(scenario)) == scenario
    assert canonical_text(parse_scenario(canonical_text(scenario))) == canonical_text(scenario)


def test_canonical_text_of_every_key_says_the_same(whole: Scenario) -> None:
    assert parse_scenario(canonical_text(whole)) == whole


def test_the_digest_depends_on_meaning_only(whole: Scenario) -> None:
    """Units, order of keys, comments and defaults written out change nothing; any value does."""
    respelt = WHOLE.replace('pue = 1.3\npower_cap = "2e6 W"', 'power_cap = "2 MW"\npue = 1.3')
    respelt = respelt.replace('grid = "se"', 'grid = "se"  # Sweden').replace('"600 s"', '"10 min"')
    respelt = respelt.replace('accounting = "location"\n', "")

    assert respelt != WHOLE
    assert digest(parse_scenario(respelt)) == digest(whole)
    assert digest(parse_scenario(WHOLE.replace("pue = 1.3", "pue = 1.31"))) != digest(whole)
    assert digest(parse_scenario(WHOLE.replace("fp16", "fp8"))) != digest(whole)


@given(st.data())
def test_quantities_survive_writing_and_reading(data: st.DataObject) -> None:
    """For every quantity of the format and any value in its range: exact, to the last bit."""
    quantities = [rule.rule if isinstance(rule, EachPeriod) else rule for _, rule in rules()]
    rule = data.draw(st.sampled_from([rule for rule in quantities if isinstance(rule, Quantity)]))
    low, high = rule.range.least, rule.range.most
    value = data.draw(st.floats(low, high, exclude_min=rule.range.open))

    assert rule.read(rule.write(value), Frame()) == value


@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(-1e6, 1e6), st.floats(0, 1e6), st.booleans())
def test_ranges_hold_what_they_say(number: float, least: float, width: float, is_open: bool) -> None:
    bounds = Range(least, least + width, open=is_open)
    inside = (number > least if is_open else number >= least) and number <= least + width
    try:
        bounds.check(number, number)
    except ValueError:
        assert not inside
    else:
        assert inside


# A fitted log

FITTED = WHOLE.replace('failure_rate = "4.2 /(1000 node d)"', 'log = "fits/whole.json"').replace(
    'repair = "2 d"\n', ""
)
FITS = ROOT / "tests/broken/fits"


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    """A scenario with a log beside it, in a folder that nobody stands in."""
    shutil.copytree(FITS, tmp_path / "fits")
    (tmp_path / "s.toml").write_text(FITTED, encoding="utf-8")
    return tmp_path / "s.toml"


def test_a_log_is_read_from_beside_the_scenario(fitted: Path) -> None:
    """5.2 in 1,000 node-days are 5.2 / 24,000 an hour; the time to repair is left to the log."""
    scenario = load_scenario(fitted)

    assert (scenario.reliability.log, scenario.reliability.repair_h) == ("fits/whole.json", None)
    assert scenario.fit is not None
    assert scenario.fit.failure_rate.value == pytest.approx(5.2 / 24_000)
    assert 'log = "fits/whole.json"' in canonical_text(scenario)
    assert load_scenario(fitted) == scenario


def test_a_changed_scenario_keeps_its_log_or_drops_it(fitted: Path) -> None:
    """Other values leave the log as it is; without it a published fleet and a time to repair stand in."""
    scenario = load_scenario(fitted)
    cheaper = with_changes(scenario, {"policy.discount_rate": 0.05})
    without = {"reliability.log": None, "reliability.failures": "meta-rsc-1", "reliability.repair": "1 d"}

    assert cheaper.fit is not None
    assert cheaper.fit.failure_rate.value == pytest.approx(5.2 / 24_000)
    assert with_changes(scenario, without).fit is None
    with pytest.raises(ScenarioError, match="failures and log say the same thing: keep one"):
        with_changes(scenario, {"reliability.failures": "meta-rsc-1"})


def test_another_content_of_the_log_is_another_scenario(fitted: Path) -> None:
    """A plan is known by its digest: the same words over another log are not the same question."""
    before = load_scenario(fitted)
    log = fitted.parent / "fits/whole.json"
    log.write_text(log.read_text(encoding="utf-8").replace("5.2", "5.3"), encoding="utf-8")
    after = load_scenario(fitted)

    assert canonical_text(after) == canonical_text(before)
    assert after != before
    assert digest(after) != digest(before)


def test_a_text_without_a_file_names_no_log() -> None:
    """The app takes texts from anywhere: they must not choose which file of the machine is read."""
    with pytest.raises(ScenarioError, match=r"reliability\.log: is looked for in the folder of the scenario"):
        parse_scenario(FITTED)


def test_a_log_too_large_or_too_deep_is_refused_unread(fitted: Path) -> None:
    log = fitted.parent / "fits/whole.json"
    os.truncate(log, 50_000_001)
    with pytest.raises(ScenarioError, match=r"'fits/whole\.json' is too large for a fit"):
        load_scenario(fitted)
    log.write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"'fits/whole\.json' cannot be read"):
        load_scenario(fitted)


# Variants


def test_changes_reach_every_place(whole: Scenario) -> None:
    """By name (also one with a dot and a space), by number, by SKU, in a table, in the facts."""
    changed = with_changes(
        whole,
        {
            "policy.carbon_price": "300 USD/t",
            "sites.North 1.a.pue": 1.25,
            "sites[1].racks": 7,
            "title": "other",
            "fleet[0].nodes": 9,
            "market.h100-8.order_nodes": 2,
            "facts.grid.decline": "0.01",
            "services.chat.peak_rate": ["1 /s", "2 /s"],
            "policy.carbon_cap": None,
        },
    )

    assert changed.policy.carbon_price_usd_per_kgco2e == pytest.approx(0.3)
    assert [site.pue for site in changed.sites] == [1.25, 1.3]
    assert (changed.sites[1].racks, changed.fleet[0].nodes, changed.market[0].order_nodes) == (7, 9, 2)
    assert changed.facts == {**whole.facts, "grid.decline": "0.01"}
    assert changed.services[0].peak_requests_per_s == (1, 2)
    assert (changed.policy.carbon_cap_kgco2e, changed.title) == (None, "other")
    assert with_changes(whole, {}) == whole
    assert whole == parse_scenario(WHOLE)  # the original is as it was


def test_changes_from_a_command_line_are_text(whole: Scenario) -> None:
    """There `1.3`, `true`, a date or a list arrive as text and are read as TOML; quantities stay text."""
    changed = with_changes(
        whole,
        {
            "sites.south.pue": "1.4",
            "training.run.deadline": "2028-06-01",
            "training.run.nodes": "[4]",
            "policy.budget": "8 MUSD",
            "solve.gap": "2 %",
            "training.run.earliest": "2028-01-01",
        },
    )
    job = changed.training[0]

    assert (changed.sites[1].pue, job.deadline, job.nodes) == (1.4, date(2028, 6, 1), (4,))
    assert (changed.policy.budget_usd, changed.solve.gap_fraction) == ((8e6, 8e6), 0.02)
    assert job.earliest == changed.horizon.start


def test_a_default_earliest_follows_the_horizon(whole: Scenario) -> None:
    job = with_changes(whole, {"training.run.earliest": None})
    moved = with_changes(job, {"horizon.start": date(2028, 4, 1)})

    assert moved.training[0].earliest == date(2028, 4, 1)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            "sites.sout.pue",
            1.3,
            "sites.sout.pue: leads nowhere: no entry of sites is called so; did you mean 'south'?",
        ),
        ("sites[2].pue", 1.3, "sites[2].pue: leads nowhere: sites has 2 entries, counted from 0"),
        (
            "polcy.budget",
            "1 USD",
            "polcy.budget: leads nowhere: there is no polcy; did you mean 'policy' or 'pools'?",
        ),
        ("policy.bugdet", "1 USD", "policy.bugdet: is not known here; did you mean 'budget'?"),
        ("sites.south.pue", "12", "sites.south.pue: 12 is out of range: write a value from 1 to 3"),
        (
            "sites.south.power_cap",
            "2000",
            "sites.south.power_cap: '2000' has no unit: write one, for example '2 MW'",
        ),
        ("sites.south.name", "east", "fleet[0].site: 'south' is no site here; there is North 1.a, east"),
        (
            "horizon.periods",
            1,
            "sites.North 1.a.power_cap: the list has 2 values and the horizon has 1 period: write one value, "
            "or one for each period",
        ),
    ],
)
def test_a_wrong_change_is_refused_like_a_file(whole: Scenario, path: str, value: Any, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        with_changes(whole, {path: value})

    assert f"scenario: {said}" in str(error.value).splitlines()


def test_a_file_is_checked_as_it_is_changed(tmp_path: Path) -> None:
    """What a change puts right is no problem; what is left is told with the paths of the file."""
    file = tmp_path / "s.toml"
    file.write_text(WHOLE.replace('accounting = "market"', ""), encoding="utf-8")
    with pytest.raises(ScenarioError, match="market-based"):
        load_scenario(file)
    market = {"policy.accounting": "market"}
    name = parse_scenario(WHOLE).contracts[0].name

    assert load_scenario(file, market) == parse_scenario(WHOLE)
    with pytest.raises(ScenarioError) as error:
        load_scenario(file, market | {f"contracts.{name}.site": "texas"})
    assert [problem.path for problem in error.value.problems] == [f"contracts.{name}.site"]
    with pytest.raises(ScenarioError, match=r"s\.toml: polcy\.budget: leads nowhere"):
        load_scenario(file, market | {"polcy.budget": "1 USD"})


def test_changes_to_a_file_are_changes_to_its_scenario(tmp_path: Path) -> None:
    """Agreement: a right file may be changed before or after it is read, its defaults, too."""
    changes = {"sites.south.pue": "1.4", "policy.budget": "8 MUSD", "solve.gap": "2 %", "facts.a": "1 kW"}
    without_solve = WHOLE.partition("[solve]")[0] + "[[futures]]" + WHOLE.partition("[[futures]]")[2]
    file = tmp_path / "s.toml"
    for text in (WHOLE, without_solve):
        file.write_text(text, encoding="utf-8")
        assert load_scenario(file, changes) == with_changes(load_scenario(file), changes)


@pytest.mark.parametrize(
    ("text", "path"),
    [("policy = 3", "policy.budget"), ("sites = [3]", "sites[0].pue"), ("facts = 3", "facts.a")],
)
def test_a_change_of_what_is_no_table_is_refused(tmp_path: Path, text: str, path: str) -> None:
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match="leads nowhere"):
        load_scenario(tmp_path / "s.toml", {path: "1"})


# Schema


@pytest.mark.slow
def test_the_schema_is_one_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema("scenario"))
    tables = [json_schema("scenario")]
    while tables:
        for key, entry in tables.pop().get("properties", {}).items():
            assert entry["description"], key
            shown = re.search('"(examples|enum)":', json.dumps(entry))
            assert shown or entry.get("type") == "boolean" or key in ("facts", "exchange", "date"), key
            tables += [entry, entry.get("items", {})]


@pytest.mark.parametrize("text", [WHOLE, *(path.read_text("utf-8") for path in SHIPPED)])
def test_the_schema_takes_what_the_program_takes(text: str) -> None:
    assert (
        list(jsonschema.Draft202012Validator(json_schema("scenario")).iter_errors(plain(tomllib.loads(text))))
        == []
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "unknown-key",
        "unknown-table",
        "bare-number",
        "unitless-text",
        "no-power-cap",
        "low-pue",
        "high-pue",
        "hostile-name",
        "quoted-number",
        "zero-periods",
        "fractional-periods",
        "percent-as-share",
        "unknown-objective",
        "sizes-twice",
        "quoted-flag",
        "single-table",
        "many-problems",
    ],
)
def test_an_editor_marks_these_while_they_are_typed(name: str) -> None:
    document = tomllib.loads((ROOT / f"tests/broken/{name}.toml").read_text(encoding="utf-8"))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain(document), json_schema("scenario"))


def test_reading_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a file, in the folder of the scenario or in the one it is called from."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(WHOLE, encoding="utf-8")
    before = (tmp_path / "s.toml").read_bytes()

    digest(with_changes(load_scenario("s.toml"), {"sites.south.pue": 1.2}))

    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]
    assert (tmp_path / "s.toml").read_bytes() == before


def test_a_shipped_pool_that_hears_is_checked_without_a_policy():
    """Whether pools fit is asked before the rest is read: the clocks of a policy then have no say."""
    title, _ = check_file(data_folder() / "scenarios" / "media-platform.toml")

    assert title.startswith("A media platform")
