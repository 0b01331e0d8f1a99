"""Carbon, energy and water of one training job, each with its range and the source of every number.

Either the job is described (model, tokens, nodes) and its hours are predicted, failures and checkpoints
included, or its accelerator-hours were measured and are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import embodied_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.operational import facility_energy_kwh, operational_kgco2e, water_l
from planner.candidates import training_candidates
from planner.catalogue import Catalogue, Sku, UnknownFact, load_catalogue
from planner.coefficients.nodes import node_columns
from planner.coefficients.training import TrainingRuns, training_runs
from planner.errors import InputError
from planner.explain import explain, explanation_from, format_value
from planner.inputs import HOURS_PER_YEAR, Inputs, check_scenario, data_year
from planner.performance.power import node_power_kw, stalled_power_kw
from planner.question import given
from planner.records import fact_record, swing_records, total_records
from planner.scenario import ScenarioError, parse_scenario
from planner.trace import Fact, Traced, derive, facts_of, rows
from planner.uncertainty import tornado
from planner.units import parse_quantity
from planner.wording import energy, mass

Column = float | NDArray[Any]
Record = dict[str, Any]

DRAWS = 400
MOST_YEARS = 10  # a job that takes longer is refused rather than extrapolated


@dataclass(frozen=True, slots=True)
class JobInput:
    """What was asked, as text and numbers from the command line."""

    model: str | None = None
    tokens: float | None = None
    accelerator_hours: float | None = None
    sku: str = "h100-8"
    nodes: int = 8
    grid: str = "us"
    pue: float | None = None
    power: str | None = None
    failures: str = "meta-llama-3-405b"
    storage: str = "parallel-fs"

    @classmethod
    def from_text(cls, options: Mapping[str, Any]) -> JobInput:
        """The options that belong to a job.

        Raises:
            InputError: neither hours nor model and tokens are given, or both, or numbers are out of range.
        """
        asked = cls(**{f.name: options[f.name] for f in fields(cls) if options.get(f.name) is not None})
        problems = []
        described = (asked.model is not None, asked.tokens is not None)
        if described != 2 * (asked.accelerator_hours is None,):
            problems.append("give --model with --tokens, or --accelerator-hours: one of the two")
        if asked.power is not None and asked.accelerator_hours is None:
            problems.append("--power belongs to --accelerator-hours; with --model it is predicted")
        for name in ("tokens", "accelerator_hours", "nodes", "pue"):
            value = getattr(asked, name)
            least = 1.0 if name in ("nodes", "pue") else 0.0
            if value is not None and not (least <= value < np.inf and (value > 0)):
                wanted = "at least 1" if least else "above 0"
                problems.append(f"--{name.replace('_', '-')} has to be {wanted}, got {value}")
        if problems:
            raise InputError("\n".join(problems))
        return asked


def accelerator_time_h(*, node_h: Column, accelerators: Column) -> Column:
    """Accelerator-hours of node-hours.

    h = N_h * a

    Source: definition.
    """
    return node_h * accelerators


def held_node_h(*, accelerator_time_h: Column, accelerators: Column) -> Column:
    """Node-hours that accelerator-hours take.

    N_h = h / a

    Source: definition; a share of a node takes its share of the host.
    """
    return np.divide(accelerator_time_h, accelerators)


def run_node_h(*, nodes: Column, duration_h: Column) -> Column:
    """Node-hours of a run.

    N_h = N * T

    Source: definition.
    """
    return nodes * duration_h


def drawn_it_kwh(*, node_h: Column, node_kw: Column) -> Column:
    """IT energy of node-hours.

    E_IT = N_h * P

    Source: definition.
    """
    return node_h * node_kw


def job_kgco2e(*, operational_kgco2e: Column, embodied_kgco2e: Column) -> Column:
    """Carbon of the job: energy, and its share of making the hardware.

    C = operational + embodied

    Location-based. Data, experiments, storage, network and building are not in it.

    Source: sum of parts.
    """
    return operational_kgco2e + embodied_kgco2e


def job_document(asked: JobInput, catalogue: Catalogue | None = None) -> Record:
    """Totals with ranges, what moves them, explanations, facts, and a paragraph for a model card.

    Raises:
        InputError: a name is unknown, or no layout of the model fits.
    """
    catalogue = catalogue or load_catalogue()
    pue = given("pue", asked.pue, "1") if asked.pue is not None else catalogue.fact("pue.default")
    details: Record = {}
    if asked.accelerator_hours is None:
        node_h, node_kw, details = _predicted(asked, catalogue)
    else:
        node_h, node_kw = _measured(asked, catalogue)
    sku = _sku(asked, catalogue)
    count = catalogue.fact(f"server.{sku.server}.accelerators")
    it = derive(drawn_it_kwh, node_h=node_h, node_kw=node_kw)
    facility = derive(facility_energy_kwh, it_energy_kwh=it, pue=pue)
    grid = _grid(asked, catalogue)
    running = derive(operational_kgco2e, facility_energy_kwh=facility, grid_kgco2e_per_kwh=grid)
    made = derive(
        server_kgco2e,
        "embodied=server",
        accelerators=count,
        host_kgco2e=catalogue.fact(f"server.{sku.server}.embodied"),
        accelerator_kgco2e=catalogue.fact(f"accelerator.{sku.accelerator}.embodied"),
    )
    share = derive(
        embodied_share_kgco2e, embodied_kgco2e=made, used_h=node_h,
        lifetime_h=derive(lifetime_h, lifetime_y=catalogue.fact("embodied.lifetime")),
        utilisation_fraction=catalogue.fact("embodied.utilisation"),
    )  # fmt: skip
    water = derive(
        water_l, it_energy_kwh=it, pue=pue, onsite_l_per_kwh=catalogue.fact("wue.default"),
        offsite_l_per_kwh=_offsite_water(asked, catalogue),
    )  # fmt: skip
    total = derive(job_kgco2e, operational_kgco2e=running, embodied_kgco2e=share)
    named: dict[str, tuple[str, Traced]] = {
        "carbon": ("Carbon, location-based", total),
        "operational": ("of it from electricity", running),
        "embodied": ("of it from making the hardware", share),
        "energy": ("Energy at the meter", facility),
        "water": ("Water, on site and at power stations", water),
        "accelerator_hours": (
            "Accelerator-hours",
            derive(accelerator_time_h, node_h=node_h, accelerators=count),
        ),
    }
    document: Record = {
        "inputs": {f.name: getattr(asked, f.name) for f in fields(asked)} | details,
        "boundary": dict(total.boundary),
        "totals": total_records(named, DRAWS),
        "tornado": swing_records(tornado(total, most=8)),
        "explanations": {name: explain(node).to_dict() for name, (_, node) in named.items()},
        "facts": [fact_record(fact) for _, fact in sorted(facts_of(total, water).items())],
    }
    document["model_card"] = _card(document)
    return document


def to_text(document: Record, why: bool = False) -> str:
    """The document for a terminal; with `why` the total opened down to its sources."""
    lines = [f"{'':<40}{'value':>14}  {'p5 .. p95':<30}"]
    for total in document["totals"]:
        spread_text = f"{_said(total['p5'], total['unit'])} .. {_said(total['p95'], total['unit'])}"
        lines.append(f"{total['label']:<40}{_said(total['value'], total['unit']):>14}  {spread_text:<30}")
    lines += ["", "What moves it most (carbon with the fact at its low and its high end):"]
    for swing in document["tornado"]:
        lines.append(f"  {swing['fact']:<52}{mass(swing['at_low']):>13} .. {mass(swing['at_high'])}")
    lines += ["", document["model_card"]]
    if why:
        lines += ["", explanation_from(document["explanations"]["carbon"]).to_text()]
    return "\n".join(lines)


def _predicted(asked: JobInput, catalogue: Catalogue) -> tuple[Traced, Traced, Record]:
    """Node-hours and mean node power of a described job, with failures and checkpoints."""
    inputs = _inputs(asked, catalogue)
    single, dropped = training_candidates(inputs)
    if not len(single):
        raise InputError(f"{asked.model} on {asked.nodes} nodes of {asked.sku}: {dropped[0].reason}")
    runs = training_runs(inputs, node_columns(inputs), single)
    if not len(runs.candidate):
        years = runs.duration_h.value[0] / HOURS_PER_YEAR
        raise InputError(
            f"{asked.model} on {asked.nodes} nodes of {asked.sku} would take {years:.1f} years; "
            f"more than {MOST_YEARS} are not planned: use more nodes"
        )
    first = np.array(0)
    node_h = derive(
        run_node_h, nodes=given("nodes", float(asked.nodes), "1"), duration_h=rows(runs.duration_h, first)
    )
    return node_h, rows(runs.node_kw, first), _details(runs)


def _details(runs: TrainingRuns) -> Record:
    return {
        "duration_h": float(runs.duration_h.value[0]), "ettr_fraction": float(runs.ettr.value[0]),
        "interval_min": float(runs.interval_h.value[0]) * 60, "mttf_h": float(runs.mttf_h.value[0]),
        "tokens_per_s": float(runs.tokens_per_s_per_gpu.value[0] * runs.gpus.value[0]),
    }  # fmt: skip


def _measured(asked: JobInput, catalogue: Catalogue) -> tuple[Traced, Traced]:
    """Node-hours and node power of a job whose accelerator-hours are known."""
    sku = _sku(asked, catalogue)
    count = catalogue.fact(f"server.{sku.server}.accelerators")
    hours = given("accelerator_hours", float(asked.accelerator_hours or 0), "h")
    node_h = derive(held_node_h, accelerator_time_h=hours, accelerators=count)
    if asked.power is not None:
        each: Traced = given("power", parse_quantity(asked.power, "kW"), "kW")
        host: Traced = given("host", 0.0, "kW")
    else:
        each = derive(
            stalled_power_kw, tdp_kw=catalogue.fact(f"accelerator.{sku.accelerator}.tdp"),
            stall_fraction=catalogue.fact("performance.power.training"),
        )  # fmt: skip
        host = catalogue.fact(f"server.{sku.server}.host_power")
    return node_h, derive(node_power_kw, host_kw=host, accelerators=count, accelerator_kw=each)


def _inputs(asked: JobInput, catalogue: Catalogue) -> Inputs:
    """The job as a scenario of its own, on nodes that stand already."""
    year = data_year(_grid(asked, catalogue))
    sequence, batch = (catalogue.fact(f"job.{name}_tokens") for name in ("sequence", "batch"))
    text = f"""
title = "One job"
[horizon]
start = {year}-01-01
periods = {MOST_YEARS * 4}
period = "quarter"
[[sites]]
name = "site"
grid = "{asked.grid}"
pue = {float(asked.pue or 1.0)}
power_cap = "1000 MW"
racks = 1000000
[[fleet]]
sku = "{asked.sku}"
site = "site"
nodes = {asked.nodes}
in_service = {year}-01-01
[[training]]
name = "job"
model = "{asked.model}"
tokens = {asked.tokens!r}
sequence_tokens = {sequence.value:.0f}
batch_tokens = {batch.value:.0f}
precision = "bf16"
deadline = {year + MOST_YEARS}-01-01
nodes = [{asked.nodes}]
checkpoint_storage = "{asked.storage}"
[reliability]
failures = "{asked.failures}"
restart = "{catalogue.fact("reliability.restart_time").value} h"
repair = "5 d"
spare_confidence = 0.95
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
"""
    try:
        scenario = parse_scenario(text, "job")
        check_scenario(scenario, catalogue)
    except ScenarioError as error:
        raise InputError(
            "\n".join(f"{problem.path}: {problem.message}" for problem in error.problems)
        ) from None
    return Inputs(scenario, catalogue)


def _sku(asked: JobInput, catalogue: Catalogue) -> Sku:
    if asked.sku not in catalogue.skus:
        raise InputError(f"no SKU '{asked.sku}'; there are: {', '.join(sorted(catalogue.skus))}")
    return catalogue.skus[asked.sku]


def _grid(asked: JobInput, catalogue: Catalogue) -> Fact:
    try:
        return catalogue.fact(f"grid.{asked.grid}.intensity")
    except UnknownFact as error:
        raise InputError(f"--grid: {error}") from None


def _offsite_water(asked: JobInput, catalogue: Catalogue) -> Fact:
    """Water of generation: of the country where it is known, else an assumption with a wide range."""
    known = f"water.{asked.grid.partition('-')[0]}.electricity"
    return catalogue.fact(known if catalogue.has(known) else "water.default.electricity")


def _said(value: float, unit: str) -> str:
    match unit:
        case "kgCO2e":
            return mass(value)
        case "kWh":
            return energy(value)
        case "L":
            return f"{value / 1000:,.1f} m3"
        case _:
            return f"{format_value(float(f'{value:.4g}'))} {unit}"


def _card(document: Record) -> str:
    """A paragraph to paste into a model card."""
    totals = {total["name"]: total for total in document["totals"]}
    asked = document["inputs"]
    how = (
        f"predicted for {asked['tokens']:.3g} tokens of {asked['model']} on {asked['nodes']} nodes"
        if asked["tokens"] is not None
        else "measured"
    )
    said = {name: mass(totals[name]["value"]) for name in ("carbon", "operational", "embodied")}
    low, high = (mass(totals["carbon"][quantile]) for quantile in ("p5", "p95"))
    hours, drawn = f"{totals['accelerator_hours']['value']:,.0f}", energy(totals["energy"]["value"])
    signal = document["boundary"].get("grid", "boundary not stated")
    return (
        f"Training used {hours} accelerator-hours on {asked['sku']} ({how}) and "
        f"{drawn} at the meter. It caused {said['carbon']} ({low} to {high}, p5 to p95): "
        f"{said['operational']} from electricity (location-based, {signal}, region {asked['grid']}) and "
        f"{said['embodied']} as the share of making servers and accelerators. Experiments, data, storage, "
        "network and building are not included."
    )
