"""What the short questions (job carbon, checkpoint table, hardware) share: values and SKUs from the asker."""

from __future__ import annotations

from collections.abc import Callable

from planner.inputs.catalogue import Catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.trace.quantities import Fact, Source

ASKER = Source("question", "the question that was asked")
# What a list of SKUs needs around it to be read as a scenario; none of it enters a result.
FRAME = """
title = "hardware, as requested"
[horizon]
start = 2025-01-01
periods = 1
period = "quarter"
[[sites]]
name = "site"
grid_intensity = "0 kg/kWh"
pue = 1.0
power_cap = "1000 MW"
racks = 1000000
{fleet}
[[training]]
name = "none"
model = "none"
tokens = 1
sequence_tokens = 1
batch_tokens = 1
precision = "bf16"
deadline = 2025-02-01
nodes = [1]
checkpoint_storage = "none"
[reliability]
failures = "none"
restart = "10 min"
repair = "5 d"
spare_confidence = 0.95
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
"""
NODE = '[[fleet]]\nsku = "{name}"\nsite = "site"\nnodes = 1\nin_service = 2025-01-01\n'
SERVICE = """
[[services]]
name = "service"
model = "{model}"
precision = "{precision}"
{lengths}
peak_rate = "{rate!r} /s"
mean_to_peak = 1.0
first_token = "{ttft_s!r} s"
per_token = "{tpot_s!r} s"
availability = {availability!r}
"""


SERVICE_OF_ITEMS = """
[[services]]
name = "service"
model = "{model}"
precision = "{precision}"
{key} = {items!r}
peak_rate = "{rate!r} /s"
mean_to_peak = 1.0
response_time = "{response_s!r} s"
availability = 0.999
"""


POOL_RATE, FIRST_TOKEN, PER_TOKEN = "job.pool_rate", "job.first_token", "job.per_token"


def peak_demand_per_s(stated_per_s: float | None, fact: Callable[[str], Fact]) -> float:
    """Requests a second at the peak hour that a question on a replica is about.

    How bursty arrivals at one replica are follows from how many share the demand. Where none is stated (a
    batch of requests, a table of hardware), the replica is one of a large pool: the same for every question.
    """
    return stated_per_s or fact(POOL_RATE).value


def given(name: str, value: float, unit: str) -> Fact:
    """A value that the question states."""
    return Fact(value, unit, key=f"question.{name}", source=ASKER, locator=name, kind="yours")


def inputs_of(catalogue: Catalogue, skus: tuple[str, ...], service: str = "") -> Inputs:
    """Inputs with these SKUs, all of the catalogue where none is named; `service` ends the scenario."""
    fleet = "".join(NODE.format(name=name) for name in dict.fromkeys(skus or catalogue.sold))
    return Inputs(parse_scenario(FRAME.format(fleet=fleet) + service, "hardware"), catalogue)
