"""How many options a second, what the seam costs, and how long the two small questions take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.clock import Record, in_turns, repeated
from benchmarks.scenarios import grown
from carbon.energy import energy_kwh
from carbon.operational import operational_kgco2e
from carbon.pue import facility_energy_kwh
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import parse_scenario
from planner.performance.bundles import SplitLimits, bundled, step_bundles
from planner.performance.layouts import layout_candidates
from planner.performance.training import training_step_s
from planner.physics.equations.money import energy_usd
from planner.physics.equations.totals import weighted_usd
from planner.physics.nodes import node_columns
from planner.physics.serving import replica_columns, serving_candidates
from planner.physics.training import training_runs
from planner.physics.training_options import (
    OUTSIDE_STEP,
    SHAPE,
    job_workload,
    training_arguments,
    training_candidates,
)
from planner.trace.quantities import Chosen, chosen, derive

ROWS_ONE_AT_A_TIME = 300
CHAIN_ROWS = (1, 1_000, 100_000)


def inputs_of(copies: int) -> Inputs:
    """A grown scenario, read and joined with the facts."""
    return Inputs(parse_scenario(grown(copies)), load_catalogue())


def option_rates(copies: int, repeats: int) -> list[Record]:
    """Layout searches and coefficient rows, each with how many there are."""
    inputs = inputs_of(copies)
    training, _ = training_candidates(inputs)
    serving, _ = serving_candidates(inputs)
    nodes = node_columns(inputs)
    searched = set(zip(training.job, inputs.node_group_sku[training.node_group], training.nodes, strict=True))
    runs = len(training_runs(inputs, nodes, training).candidate)
    timed: list[tuple[str, int, Callable[[], object]]] = [
        ("layout searches", len(searched), lambda: training_candidates(inputs)),
        ("rows of training runs", runs, lambda: training_runs(inputs, nodes, training)),
        ("rows of replicas", len(serving), lambda: replica_columns(inputs, nodes, serving)),
    ]
    return [
        {"what": what, "copies": copies, "count": count, "s": repeated(work, repeats)}
        for what, count, work in timed
    ]


def step_rates(repeats: int, rows: int = ROWS_ONE_AT_A_TIME) -> Record:
    """Step times of every layout of one job: one call on columns, against the same function row by row."""
    inputs = inputs_of(1)
    job = inputs.scenario.training[0]
    work, sku = job_workload(inputs, job), 0
    accelerators = max(job.nodes) * int(inputs.server("accelerators")[sku].value)
    traced = training_arguments(inputs, work.model, sku, work.precision)
    facts: dict[str, Any] = {name: node.value for name, node in traced.items() if name not in OUTSIDE_STEP}
    shape = {name: int(facts[name]) for name in SHAPE if name in ("layers", "heads", "kv_heads")}
    layouts = layout_candidates(
        **bundled(
            {
                "accelerators": accelerators,
                "global_batch": work.batch_sequences,
                "sequence_tokens": work.sequence_tokens,
                "link_domain": int(facts["link_domain"]),
                **shape,
            },
            limits=SplitLimits,
        )
    )
    layouts.pop("dp")
    count = len(layouts["tp"])
    fixed = facts | {
        "accelerators": float(accelerators),
        "global_batch": float(work.batch_sequences),
        "sequence_tokens": float(work.sequence_tokens),
    }
    sample = np.linspace(0, count - 1, min(rows, count)).astype(int)
    single = [{name: float(column[i]) for name, column in layouts.items()} for i in sample]

    def one_at_a_time() -> list[float]:
        return [float(training_step_s(**step_bundles({**fixed, **row})).total_s) for row in single]

    whole = np.asarray(training_step_s(**step_bundles({**fixed, **layouts})).total_s)
    assert np.allclose(whole[sample], one_at_a_time(), rtol=1e-12), "a column and its rows disagree"
    columns_s, rows_s = in_turns(
        [lambda: training_step_s(**step_bundles({**fixed, **layouts})), one_at_a_time], repeats
    )
    return {"count": count, "sample": len(sample), "columns_s": columns_s, "rows_s": rows_s}


def derive_overhead(repeats: int, rows: int) -> Record:
    """Five equations from power to a weighted cost, bare and through `derive`, on columns of some length."""
    power, hours = np.linspace(5.0, 15.0, rows), np.linspace(100.0, 2000.0, rows)
    pue, price, grid, weight = 1.1, 0.06, 0.3, 0.15

    def bare() -> Any:
        energy = energy_kwh(power_kw=power, duration_h=hours)
        facility = facility_energy_kwh(it_energy_kwh=energy, pue=pue)
        bill = energy_usd(facility_energy_kwh=facility, electricity_usd_per_kwh=price)
        emitted = operational_kgco2e(facility_energy_kwh=facility, grid_kgco2e_per_kwh=grid)
        return weighted_usd(
            plan_usd=bill, plan_kgco2e=emitted, money_weight_ratio=1.0, carbon_weight_usd_per_kgco2e=weight
        )

    def given(name: str, value: Any) -> Chosen:
        return chosen(name, value, "benchmark")

    power_, hours_ = given("power_kw", power), given("duration_h", hours)
    pue_, price_ = given("pue", pue), given("electricity_usd_per_kwh", price)
    grid_, weight_ = given("grid_kgco2e_per_kwh", grid), given("carbon_usd_per_kgco2e", weight)
    one_ = given("money_weight_ratio", 1.0)

    def traced() -> Any:
        energy = derive(energy_kwh, power_kw=power_, duration_h=hours_)
        facility = derive(facility_energy_kwh, it_energy_kwh=energy, pue=pue_)
        bill = derive(energy_usd, facility_energy_kwh=facility, electricity_usd_per_kwh=price_)
        emitted = derive(operational_kgco2e, facility_energy_kwh=facility, grid_kgco2e_per_kwh=grid_)
        return derive(
            weighted_usd,
            plan_usd=bill,
            plan_kgco2e=emitted,
            money_weight_ratio=one_,
            carbon_weight_usd_per_kgco2e=weight_,
        )

    assert np.array_equal(traced().value, bare()), "derive changed a number"
    calls = max(1, min(300, 1_000_000 // rows))
    bare_s, derive_s = in_turns([bare, traced], repeats, calls)
    return {"rows": rows, "bare_s": bare_s, "derive_s": derive_s}


def questions(repeats: int) -> Record:
    """The checkpoint table and the carbon of one job, as the command line asks for them."""
    from planner.answers.checkpoints import checkpoint_document
    from planner.answers.job import job_document, job_from_flags
    from planner.inputs.loading import load_catalogue

    flags = {"model": "llama-3.1-70b", "tokens": 1e12, "nodes": 64, "sku": "h100-8", "grid": "us"}
    job = job_from_flags(flags, load_catalogue())
    return {
        "checkpoint table": repeated(checkpoint_document, repeats),
        "carbon of one job": repeated(lambda: job_document(job), repeats),
        "lifelines_loaded": "lifelines" in sys.modules,
    }


def all_rates(repeats: int, largest: int) -> Record:
    """Everything of this file."""
    return {
        "options": [one for copies in sorted({1, largest}) for one in option_rates(copies, repeats)],
        "steps": step_rates(repeats),
        "derive": [derive_overhead(4 * repeats, rows) for rows in CHAIN_ROWS],
        "questions": questions(repeats),
    }
