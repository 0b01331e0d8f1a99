"""One question, three doors: a plan, a table of hardware and a job's carbon give a replica one capacity."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from planner.answers.job.inference import answered
from planner.answers.job.setting import setting_of
from planner.answers.opening import path_of
from planner.answers.throughput import Question, throughput_document
from planner.inputs.job.reading import read_job
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, Service, load_scenario, with_changes
from planner.inputs.scenario.files import read_toml
from planner.physics.nodes import node_columns
from planner.physics.serving import replica_columns, serving_candidates

CATALOGUE = load_catalogue()
CODE = 1  # place of the service in its scenario
TRACES = ("azure-2023-conv", "azure-2023-code")


def shipped() -> Iterator[tuple[str, str]]:
    """Every service of every shipped scenario whose requests are of a trace."""
    for path in sorted((data_folder() / "scenarios").glob("*.toml")):
        for service in load_scenario(path).services:
            if service.traffic is not None:
                yield path.stem, service.name


@cache
def scenario(name: str) -> Scenario:
    return load_scenario(data_folder() / "scenarios" / f"{name}.toml")


def by_plan(inputs: Inputs, service: int, sku: str) -> dict[int, float]:
    """Requests a second of a replica of each size in the first period, as the program is given them."""
    candidates, _ = serving_candidates(inputs)
    node_group_sku = np.array([inputs.skus[k].name for k in inputs.node_group_sku])[candidates.node_group]
    plain = candidates.power_cap_fraction == candidates.power_cap_fraction.max()
    mine = np.flatnonzero((candidates.service == service) & (node_group_sku == sku) & plain)
    _, first = np.unique(candidates.accelerators[mine], return_index=True)
    few = candidates.some(mine[first])
    rate = np.asarray(replica_columns(inputs, node_columns(inputs), few).requests_per_s.value)[:, 0]
    return {int(size): float(each) for size, each in zip(few.accelerators, rate, strict=True) if each > 0}


def by_throughput(wanted: Service, sku: str, demand_per_s: float | None) -> dict[int, float]:
    document = throughput_document(
        Question(
            wanted.model,
            serve=True,
            precision=wanted.precision,
            skus=(sku,),
            mix=wanted.traffic,
            ttft_s=wanted.first_token_s,
            tpot_s=wanted.per_token_s,
            requests_per_s=demand_per_s,
        ),
        CATALOGUE,
    )
    return {row["accelerators"]: row["rate_per_s"] for row in document["rows"] if row["fits"]}


def by_carbon(wanted: Service, sku: str, demand_per_s: float | None) -> tuple[int, float]:
    """Size that a job takes, and requests a second of a replica of it, from its requests and node-hours."""
    mean = wanted.mean_to_peak_fraction
    requests = "requests = 1e6\n" if demand_per_s is None else ""
    if demand_per_s is not None:
        requests = f'requests_per_day = {demand_per_s * mean * 86_400!r}\nduration = "30 d"\n'
    text = (
        f'title = "a service"\n[site]\ngrid = "us"\npue = 1.1\n[hardware]\nsku = "{sku}"\n'
        f'[inference]\nmodel = "{wanted.model}"\nprecision = "{wanted.precision}"\n{requests}'
        f'traffic = "{wanted.traffic}"\nmean_to_peak = {mean!r}\n'
        f'first_token = "{wanted.first_token_s!r} s"\nper_token = "{wanted.per_token_s!r} s"\n'
    )
    setting = setting_of(read_job(read_toml(text, "job"), "job.toml", CATALOGUE), CATALOGUE)
    assert setting.job.inference is not None
    found = answered(setting, setting.job.inference)
    stated = re.search(r"(\d+) accelerators? each", found.done.said)
    assert stated is not None
    size = int(stated[1])
    each = CATALOGUE.fact(f"server.{CATALOGUE.skus[sku].server}.accelerators").value
    hours = float(found.done.node_h.value) * each / size
    return size, float(found.requests.value) / (3600.0 * mean * hours)


def agree(wanted: Service, sku: str, planned: dict[int, float], demand_per_s: float | None) -> None:
    hardware = by_throughput(wanted, sku, demand_per_s)
    size, carried = by_carbon(wanted, sku, demand_per_s)

    assert planned
    assert {size: hardware[size] for size in planned} == pytest.approx(planned, rel=1e-9)
    assert carried == pytest.approx(planned[size], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "service"), list(shipped()))
def test_a_shipped_service_has_one_capacity(name: str, service: str) -> None:
    """Agreement at the service's own demand, on the first SKU that serves it."""
    inputs = Inputs(scenario(name), CATALOGUE)
    place = [one.name for one in inputs.scenario.services].index(service)
    wanted = inputs.scenario.services[place]
    for sku in inputs.skus:
        planned = by_plan(inputs, place, sku.name)
        if planned:
            agree(wanted, sku.name, planned, wanted.peak_requests_per_s[0])
            return
    raise AssertionError(f"no SKU serves {service}")


def one_service(trace: str, demand_per_s: float) -> Inputs:
    """A shipped service with another model, trace and demand."""
    changes = {"model": "llama-3.1-8b", "traffic": trace, "peak_rate": f"{demand_per_s!r} /s"}
    changed = {f"services.code.{key}": value for key, value in changes.items()}
    return Inputs(with_changes(scenario("serving-only"), changed), CATALOGUE)


@pytest.mark.slow
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("demand_per_s", [None, 2.0, 60.0])
def test_a_trace_has_one_capacity_at_every_door(trace: str, demand_per_s: float | None) -> None:
    """Little demand, whose bursts few replicas share, more of it, and none stated: a large pool's."""
    stated = demand_per_s or CATALOGUE.fact("job.pool_rate").value
    inputs = one_service(trace, stated)

    agree(inputs.scenario.services[CODE], "h100-8", by_plan(inputs, CODE, "h100-8"), demand_per_s)


def test_bursts_of_a_large_pool_are_thin() -> None:
    """Where no demand is stated a replica carries what it would of Poisson arrivals, within 2 %."""
    large, larger = (by_plan(one_service(TRACES[1], rate), CODE, "h100-8") for rate in (1000.0, 1e5))

    assert large == pytest.approx(larger, rel=0.02)


def test_a_name_that_is_nearly_shipped_is_told() -> None:
    """`next-quater` was no such file, and nothing said that scenarios and jobs are shipped by name."""
    for named, folder, near in (("next-quater", "scenarios", "next-quarter"), ("blom", "jobs", "bloom")):
        with pytest.raises(ScenarioError, match=f"no such file; did you mean '{near}', which is shipped"):
            path_of(named, folder)
    with pytest.raises(
        ScenarioError, match=r"growth\.toml: no such file; did you mean 'growth', which is shipped"
    ):
        path_of("growth.toml", "scenarios")
    with pytest.raises(ScenarioError, match="no such file; shipped by name are bloom"):
        path_of("nosuch", "jobs")
    assert path_of("no/such", "scenarios") == Path("no/such")
    assert path_of("next-quater.toml", "scenarios") == Path("next-quater.toml")
