"""Whole documents with many keys at once: each makes its own check, opens its numbers, and shows every key.

Two keys that each hold alone have broken the closing check together. So each scenario here has several.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import planner.answers.plan.document as plan_document_module
from planner.answers.plan.document import plan_document
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import parse_scenario
from planner.program.plan import plan_fleet
from planner.trace.explain import kept_step

pytestmark = pytest.mark.solve
RACK = """
[[fleet]]
sku = "gb200-nvl72 spare"
site = "near"
nodes = 1
in_service = 2026-06-01
[[market]]
sku = "gb200-nvl72"
lead_time = "0 d"
sites = ["near"]
single_spares = 6
[[training]]
name = "whole"
model = "llama-3-70b"
tokens = 100e9
sequence_tokens = 8192
batch_tokens = 4194304
precision = "bf16"
earliest = 2027-01-01
deadline = 2027-02-28
nodes = [18]
skus = ["gb200-nvl72"]
checkpoint_storage = "parallel-fs"
"""


SITES = """
[horizon]
start = 2027-01-01
periods = {periods}
period = "{period}"
[[sites]]
name = "near"
region = "aws/eu-central-1"
grid_intensity = "400 g/kWh"
electricity_price = "60 USD/MWh"
pue = 1.1
power_cap = "900 kW"
racks = 60
{contract}
[[sites]]
name = "north"
region = "aws/eu-north-1"
grid_intensity = "30 g/kWh"
electricity_price = "50 USD/MWh"
pue = 1.1
power_cap = "900 kW"
racks = 60
[[fleet]]
sku = "h100-8"
site = "near"
nodes = {nodes}
in_service = 2025-01-01
[[fleet]]
sku = "h100-8"
site = "north"
nodes = {nodes}
in_service = 2025-01-01
{fleet}
[reliability]
failures = "meta-rsc-2"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.9
{reliability}
[policy]
objective = "weighted"
carbon_price = "{carbon_price}"
discount_rate = 0.08
node_life = "5 y"
{policy}
"""
CURTAILED = """curtailment = "2 kW"
curtailment_hours = "40 h"
curtailment_event = "2 h"
curtailment_notice = "30 min"
curtailment_payment = "900 USD/kW/month"
"""
STORED = """hourly_shape = "synthetic-es"
demand_charge = "15 USD/kW/month"
battery = "2 MWh"
battery_hours = "4 h"
battery_efficiency = 0.86
battery_price = "5 USD/kWh"
battery_embodied = "5 kg/kWh"
battery_life = "12 y"
solar = "30 kW"
solar_yield = 0.2
solar_latitude = 40.0
solar_longitude = -3.0
"""
OLD = """[[fleet]]
sku = "a100-80-8"
site = "near"
nodes = 3
in_service = 2023-01-01
second_life = 2
"""
POOL = """
[[pools]]
name = "tuning"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "90000 h"
data_site = "near"
data_moved = "1 GB"
ramp = "20 %/h"
may_wait = 0.8
techniques = ["candidate-prediction"]
"""
CHAT = """
[[services]]
name = "chat"
model = "llama-3.1-70b"
models = ["llama-3.1-8b"]
mean_quality_budget = 0.05
users = "de"
precision = "bf16"
tokens_in = 1000
tokens_out = 200
peak_rate = "40 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "60 ms"
availability = 0.99
"""
STAGE = """
[[services]]
name = "{name}"
pipeline = "ranking"
model = "{model}"
precision = "fp16"
candidates = {candidates}
response_time = "30 ms"
peak_rate = "90 /s"
mean_to_peak = 0.5
availability = 0.99
sites = ["near"]
"""
STEPS = """[facts]
"planning.pipeline.time_steps" = "3"
"""
RUN = """
[[training]]
name = "{name}"
model = "{model}"
{amount}
precision = "bf16"
deadline = 2027-02-28
nodes = [2]
checkpoint_storage = "parallel-fs"
{more}
"""
MADE = """
[[pools]]
name = "writers"
model = "llama-3.1-8b"
feeds = "pretrain"
tokens_in = 200
tokens_out = 800
reference = "h100-8"
"""
TOKENS = "tokens = 2e9\nsequence_tokens = 8192\nbatch_tokens = 2e6"
SAMPLES = "samples = {count}\nbatch_samples = {batch}"
PRICED = """earliest = 2027-02-01
data_price = "0.5 USD / 1e6 tokens"
bought = 0.5
generated = 0.25
passes = 2
"""
PLACED = """tables = { file = "criteo_tables.csv", set = "mlperf_dlrm_dcnv2_multihot", ways = ["whole"] }
ingestion = { workers_per_node = 2, workers = 3 }
"""
LEVERS = 'levers = ["shift"]'
ACROSS = """across = ["gradients"]
data_site = "near"
data_moved = "50 TB"
ingestion = { workers_per_node = 2, workers = 9 }
"""
LINK = """
[[links]]
sites = ["near", "north"]
bandwidth = "800 Gbit/s"
latency = "20 ms"
oversubscription = 2
"""
APART = """
[[services]]
name = "code"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 4000
tokens_out = 200
peak_rate = "5 /s"
mean_to_peak = 0.5
first_token = "1 s"
per_token = "40 ms"
phases = "apart"
routing = "pooled"
availability = 0.99
data_moved = "20 GB"
data_site = "near"
"""
ALL_LEVERS = 'levers = ["shift", "pack", "lend"]\n[solve]\nslots = 12'
AWAY = 'data_site = "north"\ndata_moved = "2 TB"\nsites = ["near"]\npausable = true\n'
TALK = """
[[services]]
name = "talk"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 500
tokens_out = 200
peak_rate = "40 /s"
mean_to_peak = 0.5
busiest_time = "20 h"
first_token = "2 s"
per_token = "60 ms"
availability = 0.99
sites = ["near"]
data_site = "north"
data_moved = "140 GB"
logs_moved = "1 TB/month"
"""
SOUND = """
[[services]]
name = "calls"
model = "whisper-large-v3"
precision = "bf16"
audio = "4 min"
audio_rate = "20000 h/d"
mean_to_peak = 0.5
first_token = "3 s"
per_token = "60 ms"
availability = 0.99
[[pools]]
name = "archive"
model = "whisper-large-v3"
reference = "h100-8"
audio_rate = "40000 h/d"
audio = "50 s"
"""
WORLD = """
[[services]]
name = "world"
model = "llama-3.1-8b"
precision = "bf16"
tokens_in = 500
tokens_out = 200
peak_rate = "60 /s"
mean_to_peak = 0.5
first_token = "2 s"
per_token = "60 ms"
availability = 0.99
[[services.regions]]
users = "de"
share = 0.6
sites = ["near"]
busiest_time = "18 h"
[[services.regions]]
users = "us"
share = 0.4
sites = ["north"]
busiest_time = "1 h"
"""
GROUPS: dict[str, dict[str, Any]] = {
    "pools": {
        "work": POOL + SOUND,
        "period": "quarter",
        "carbon_price": "9000 USD/t",
        "contract": CURTAILED,
        "fleet": OLD,
        "policy": LEVERS,
    },
    "energy": {
        "work": TALK + WORLD + POOL + RUN.format(name="tune", model="llama-3.1-8b", amount=TOKENS, more=AWAY),
        "period": "quarter",
        "contract": CURTAILED + STORED,
        "policy": ALL_LEVERS,
    },
    "services": {
        "carbon_price": "9000 USD/t",
        "work": CHAT
        + STAGE.format(name="filter", model="rm3", candidates=2000)
        + STAGE.format(name="rank", model="dlrm-dcnv2", candidates=200)
        + STEPS,
    },
    "runs": {
        "work": RUN.format(name="pretrain", model="llama-3.1-8b", amount=TOKENS, more=PRICED)
        + MADE
        + RUN.format(
            name="rank", model="dlrm-dcnv2", amount=SAMPLES.format(count=1e12, batch=65536), more=PLACED
        )
        + RUN.format(name="draw", model="sd2", amount=SAMPLES.format(count=1e8, batch=512), more="")
        + RUN.format(name="see", model="vit-l-16", amount=SAMPLES.format(count=1e8, batch=4096), more=""),
        "periods": 2,
        "reliability": 'slow_nodes = "1 %"\nstep_spread = "1 %"',
    },
    "two sites": {
        "work": RUN.format(name="wide", model="llama-3.1-8b", amount=TOKENS, more=ACROSS).replace(
            "[2]", "[6]"
        )
        + LINK
        + APART,
        "nodes": 5,
        "periods": 2,
        "reliability": 'slow_nodes = "1 %"\nstep_spread = "1 %"',
    },
    "a rack": {
        "work": RACK,
        "nodes": 1,
        "periods": 2,
        "contract": 'cooling = "liquid"\nrack_power = "140 kW"',
        "reliability": 'slow_nodes = "1 %"\nspare_share = "6 %"',
        "policy": 'confidence = "80 %"',
    },
}


@cache
def document(group: str) -> dict[str, Any]:
    """The document, which refuses itself where its numbers disagree; drawn four times instead of 64."""
    said: dict[str, Any] = dict.fromkeys(("contract", "fleet", "reliability", "policy"), "")
    said |= {"nodes": 4, "periods": 1, "period": "month", "carbon_price": "200 USD/t", **GROUPS[group]}
    text = f"title = {group!r}\n".replace("'", '"') + SITES.format(**said) + said["work"]
    scenario = parse_scenario(text, group)
    check_scenario(scenario, load_catalogue())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan_document_module, "DRAWS", 4)
        return plan_document(plan_fleet(scenario, baselines=False))


# Key -> the scenario that states it, the table and the number that show it, and what its row says.
SHOWN = {
    "data_moved": ("pools", "cost", "usd", {"term": "egress"}),
    "curtailment": ("pools", "cost", "usd", {"term": "curtailment"}),
    "second_life": ("pools", "cost", "usd", {"term": "reused"}),
    "techniques of a pool": ("pools", "cost", "usd", {"term": "adopted"}),
    "ramp": ("pools", "pools", "node_h", {"pool": "tuning"}),
    "battery": ("energy", "cost", "usd", {"term": "battery"}),
    "solar": ("energy", "cost", "usd", {"term": "sun"}),
    "curtailment of pools and runs": ("energy", "cost", "usd", {"term": "stopped"}),
    "data_moved of runs and services": ("energy", "carbon", "kgco2e", {"term": "transfers"}),
    "hours of regions": ("energy", "services", "capacity_per_s", {"service": "world", "site": "north"}),
    "users": ("services", "services", "user_latency_s", {"service": "chat"}),
    "mean_quality_budget": ("services", "services", "mean_quality_loss_fraction", {"service": "chat"}),
    "pipeline": ("services", "services", "time_fraction", {"pipeline": "ranking"}),
    "data_price": ("runs", "data", "usd", {"origin": "bought"}),
    "generated": ("runs", "data", "usd", {"origin": "generated"}),
    "feeds": ("runs", "pools", "node_h", {"pool": "writers"}),
    "need of a pool": ("runs", "needs", "needed_h", {"pool": "writers"}),
    "audio_rate of a pool": ("pools", "needs", "needed_h", {"pool": "archive"}),
    "audio_rate of a service": ("pools", "unit_costs", "amount", {"work": "calls", "unit": "hour of sound"}),
    "hours that a pool hears": (
        "pools",
        "unit_costs",
        "amount",
        {"work": "archive", "unit": "hour of sound"},
    ),
    "tables": ("runs", "placements", "imbalance_ratio", {"work": "rank"}),
    "samples of scores": ("runs", "jobs", "samples_per_s", {"job": "rank"}),
    "samples of images that are made": ("runs", "jobs", "samples_per_s", {"job": "draw"}),
    "samples of images that are seen": ("runs", "jobs", "samples_per_s", {"job": "see"}),
    "ingestion": ("runs", "feeding", "usd", {"job": "rank"}),
    "across": ("two sites", "jobs", "energy_kwh", {"job": "wide"}),
    "workers of halves": ("two sites", "feeding", "usd", {"job": "wide"}),
    "data of halves": ("two sites", "cost", "usd", {"term": "transfers"}),
    "routing": ("two sites", "services", "capacity_per_s", {"service": "code"}),
    "phases": ("two sites", "services", "replicas", {"service": "code"}),
    "single_spares": ("a rack", "purchases", "capex_usd", {"sku": "gb200-nvl72 spare"}),
    "spares on the shelf": ("a rack", "fleet", "in_service_nodes", {"sku": "gb200-nvl72 spare"}),
    "slow_nodes": ("runs", "jobs", "waiting_factor", {"job": "pretrain"}),
}


# Numbers that the program decides rest on no fact.
DECIDED = ("in_service_nodes", "node_h", "replicas", "time_fraction")


@pytest.mark.parametrize("key", SHOWN)
def test_a_document_shows_the_key_and_opens_its_number(key: str) -> None:
    """The number stands in its table, is more than nothing, and is opened down to facts, ours or stated."""
    group, table, column, said = SHOWN[key]
    whole = document(group)
    rows = [
        (number, row)
        for number, row in enumerate(whole["tables"][table])
        if said.items() <= row.items() and row.get(column)
    ]

    assert rows, [row for row in whole["tables"][table] if said.items() <= row.items()]
    number, row = rows[0]
    found = kept_step(whole, whole["cells"][table][number][column])
    assert found is not None
    assert found.steps[0].value == pytest.approx(row[column])
    assert found.facts() or column in DECIDED


@pytest.mark.parametrize("group", GROUPS)
def test_the_ledger_of_a_document_adds_up(group: str) -> None:
    """Terms come to the totals, which have a range; the plan was verified by plain sums."""
    whole = document(group)
    totals = {one["name"]: one for one in whole["totals"]}

    assert whole["status"]["verified"]
    for name, unit in (("cost", "usd"), ("carbon", "kgco2e")):
        parts = sum(row[unit] for row in whole["tables"][name])
        assert parts == pytest.approx(totals[name]["value"], rel=1e-9)
        assert totals[name]["p5"] <= totals[name]["p95"]
