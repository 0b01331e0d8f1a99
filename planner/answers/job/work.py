"""Work on accelerators: its node-hours and its IT energy, predicted, from hours, or from a metered file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from carbon.energy import job_energy_kwh, job_energy_parts
from planner.answers.job.equations import run_cycles
from planner.answers.job.federated import FederatedWork
from planner.answers.job.setting import Setting
from planner.inputs.consistency import check_scenario
from planner.inputs.fits import is_fit
from planner.inputs.job.schema_work import Work
from planner.inputs.model_kinds import RECOMMENDATION, kind_of_model
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import ScenarioError
from planner.inputs.scenario.files import read_toml
from planner.inputs.scenario.reading import checked
from planner.inputs.software import default_stack
from planner.performance.power import node_power_kw, stalled_power_kw
from planner.physics.equations.training import ettr_ratio
from planner.physics.nodes import host_facts, node_columns, working_node_kw
from planner.physics.training import training_runs
from planner.physics.training_options import training_candidates
from planner.physics.training_step import ADAPTER_RANK
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, fixed_text, how_many, many_text, number_text
from planner.trace.quantities import Fact, Parts, Source, Traced, children, chosen, derive, derive_parts, rows
from reliability.checkpoint import hours_by_state

HELD = "Node-hours that accelerator-hours take; a share of a node takes its share of the host"

if TYPE_CHECKING:
    from planner.inputs.metering import MeteredEnergy


@dataclass(frozen=True)
class States:
    """What a predicted run did: hours of one pass through its states, and IT energy of all of them."""

    hours: Parts
    energy: Parts
    renewal: Mapping[str, Traced]
    powers: Mapping[str, Traced]


@dataclass(frozen=True)
class Done:
    """Node-hours and IT energy of a phase; how long it took and what was useful, where that is known."""

    sku: str
    node_h: Traced
    it_kwh: Traced
    duration_h: Traced | None = None
    useful: Traced | None = None
    states: States | None = None
    said: str = ""
    notes: tuple[str, ...] = ()
    start: date | None = None
    tool: str = ""  # that metered it
    tool_kgco2e: float | None = None  # its own figure


@dataclass(frozen=True)
class Phase:
    """One phase: electricity and hardware; None where it has none of it."""

    name: str
    it_kwh: Traced | None = None
    facility_kwh: Traced | None = None
    grid: Traced | None = None
    operational: Traced | None = None
    embodied: Traced | None = None
    boundary: str = "server"
    done: Done | None = None
    federated: FederatedWork | None = None
    said: str = ""


def _contrasts(setting: Setting, sku: str, found: MeteredEnergy) -> Iterator[str]:
    """What the file says of itself next to what the job counts with."""
    if found.own_kgco2e is not None:
        yield (
            f"{found.tool}'s own figure is {number_text(found.own_kgco2e)} kgCO2e: electricity alone, "
            "by its own grid factor and PUE"
        )
    from planner.inputs.metering.names import named_by_meter

    named, grid = named_by_meter(found, setting.catalogue), setting.job.site.grid or "of the job's own"
    for key, said, counted in (("grid", found.countries, grid), ("sku", found.models, sku)):
        if not said or named.get(key) == counted:
            continue
        what = "grid" if key == "grid" else "node"
        here = f"is {what} {named[key]} here" if key in named else f"has no one {what} in the catalogue"
        yield f"the file names {', '.join(said)}, which {here}: counted is {what} {counted}"
    if found.regions and named.get("grid") == grid:
        said_of = ", ".join(found.regions)
        yield f"the file names the region {said_of}: counted is the grid of the whole country, {grid}"


def metered_work(setting: Setting, phase: str, work: Work) -> Done:
    """Node-hours and IT energy of a phase from its metered file.

    Raises:
        InputError: the file is of no kind that can be read, or does not say how many accelerators it saw.
    """
    from planner.inputs.metering import read_metered  # brings pandas, which takes half a second to load

    assert work.metered is not None, "checked by the caller"
    path = setting.folder / work.metered
    found = read_metered(
        path,
        zone=work.metered_zone,
        columns=work.metered_columns,
        interval_s=work.metered_sampling_s,
        accelerators=work.metered_accelerators,
        covers=work.metered_covers,  # type: ignore[arg-type]  # a word
    )
    if found.accelerator_h is None:
        raise InputError(
            f"{phase}: {path.name} does not say how many accelerators it saw: write metered_accelerators"
        )
    sku = setting.sku(work.sku)
    hours = _metered(path, found, f"{phase}.accelerator_hours", found.accelerator_h, "h")
    count = setting.fact(f"server.{sku.server}.accelerators")
    node_h = (hours / count).named("held_node_h", HELD)
    it: Traced = _metered(path, found, f"{phase}.energy", found.it_kwh, "kWh")
    added = ""
    if found.covers == "accelerators":
        host = setting.fact(f"server.{sku.server}.host_power")
        it = (it + (node_h * host).named("host_kwh", "IT energy of the hosts")).named(
            "hosted_it_kwh",
            "IT energy where a meter saw the accelerators alone; the host is that of the catalogue",
        )
        added = "; the host is added from the catalogue"
    notes = [f"{path.name}: {found.seen}{added}", *(f"{path.name}: {note}" for note in found.notes)]
    notes += [f"{path.name}: {said}" for said in _contrasts(setting, sku.name, found)]
    notes += [f"{path.name}: {row}" for row in found.bad_rows]
    if found.gaps_h:
        notes.append(f"{path.name}: {number_text(found.gaps_h, 3)} h were not metered and are not counted")
    duration = _metered(path, found, f"{phase}.duration", found.duration_h, "h") if found.first else None
    useful = (
        None if work.useful_fraction is None else setting.yours(f"{phase}.useful", work.useful_fraction, "1")
    )
    return Done(
        sku.name,
        node_h,
        it,
        duration,
        useful,
        None,
        f"{number_text(found.accelerator_h)} accelerator-hours on {sku.name} (metered by {found.tool})",
        tuple(notes),
        None if found.first is None else found.first.date(),
        tool=found.tool,
        tool_kgco2e=found.own_kgco2e,
    )


def _metered(path: Path, found: MeteredEnergy, name: str, value: float, unit: str) -> Fact:
    source = Source("metered", f"metered file of {found.tool}", link=path.name)
    return Fact(value, unit, key=f"job.{name}", source=source, locator=found.covers, kind="measured")


FIRST_YEAR = 2025  # of a calendar that only has to be long enough: no result depends on it
MOST_YEARS = 10  # a run that takes longer is refused rather than extrapolated
FAILURES, STORAGE, PRECISION = "meta-llama-3-405b", "parallel-fs", "bf16"


def done_work(setting: Setting, phase: str, work: Work) -> Done:
    """Node-hours and energy of a phase of work, in the way that it is stated."""
    if work.metered is not None:
        return metered_work(setting, phase, work)
    if work.accelerator_hours is not None:
        return _measured(setting, phase, work)
    return _predicted(setting, phase, work)


def hours_done(setting: Setting, phase: str, hours: float, power_kw: float | None, sku: str | None) -> Done:
    """Node-hours and energy of accelerator-hours at a stated power, or at that of training."""
    one = setting.sku(sku)
    count = setting.fact(f"server.{one.server}.accelerators")
    node_h = (setting.yours(f"{phase}.accelerator_hours", hours, "h") / count).named("held_node_h", HELD)
    node_kw = node_kw_of(setting, phase, power_kw, sku, "performance.power.training")
    it = (node_h * node_kw).named("drawn_it_kwh", "IT energy of node-hours")
    return Done(one.name, node_h, it, said=f"{count_text(hours)} accelerator-hours on {one.name} (measured)")


def node_kw_of(setting: Setting, phase: str, power_kw: float | None, sku: str | None, state: str) -> Traced:
    """Power of a node: from what an accelerator draws with its share of the host, else by state."""
    one = setting.sku(sku)
    count = setting.fact(f"server.{one.server}.accelerators")
    if power_kw is not None:
        each: Traced = setting.yours(f"{phase}.power", power_kw, "kW")
        host: Traced = chosen("host_kw", 0.0, "the stated power holds the share of the host")
        return derive(node_power_kw, host_kw=host, accelerators=count, accelerator_kw=each)
    ends = host_facts(setting.fact, one)
    drawn = derive(stalled_power_kw, tdp_kw=ends["tdp_kw"], stall_fraction=setting.fact(state))
    return working_node_kw(ends, count, drawn)


def _measured(setting: Setting, phase: str, work: Work) -> Done:
    assert work.accelerator_hours is not None, "checked by the caller"
    done = hours_done(setting, phase, work.accelerator_hours, work.power_kw, work.sku)
    useful = None
    if work.useful_fraction is not None:
        useful = setting.yours(f"{phase}.useful", work.useful_fraction, "1")
    it = done.it_kwh
    if work.energy_kwh is not None:
        it = setting.yours(f"{phase}.energy", work.energy_kwh, "kWh")
    lasted = None if work.duration_h is None else setting.yours(f"{phase}.duration", work.duration_h, "h")
    return Done(done.sku, done.node_h, it, lasted, useful, said=done.said, start=work.start)


def _predicted(setting: Setting, phase: str, work: Work) -> Done:
    """A described run, with failures and checkpoints."""
    sku = setting.sku(work.sku).name
    row, powers, useful_h = _run(setting, phase, work, sku)
    if work.interval_h is not None:
        row = {**row, "interval_h": setting.yours(f"{phase}.interval", work.interval_h, "h")}
    hours = derive_parts(hours_by_state, **row)
    ettr = derive(ettr_ratio, **hours)
    duration = (useful_h / ettr).named("expected_duration_h", "Expected hours from start to finish")
    nodes = setting.yours(f"{phase}.nodes", float(work.nodes or 0), "1")
    node_h = (nodes * duration).named("run_node_h", "Node-hours of a run")
    spent: dict[str, Traced] = {
        **hours,
        **powers,
        "nodes": derive(run_cycles, node_h=node_h, **hours),
        "idle_h": chosen("idle_h", 0.0, "a run leaves no node of its own idle"),
        "idle_kw": powers["restart_kw"],
    }
    return Done(
        sku,
        node_h,
        derive(job_energy_kwh, **spent),
        duration,
        ettr,
        States(hours, derive_parts(job_energy_parts, **spent), row, powers),
        said=f"{_amount(work)} of {_trained(setting, work)} on {how_many(work.nodes or 0, 'node')} of {sku} "
        "(predicted)",
        notes=tuple(f"{phase}: {note}" for note in _predicted_as(setting, work)),
        start=work.start,
    )


def _predicted_as(setting: Setting, work: Work) -> Iterator[str]:
    """What a prediction takes for granted."""
    if kind_of_model(setting.catalogue, work.model) == RECOMMENDATION:
        yield "predicted with tables cut across all accelerators and layers copied"
    else:
        yield f"predicted as {default_stack(setting.sku(work.sku).accelerator).says} trains"
    if work.method == "lora":
        yield "adapters on all four attention projections; all other weights are frozen"


def _run(
    setting: Setting, phase: str, work: Work, sku: str
) -> tuple[dict[str, Traced], dict[str, Traced], Traced]:
    """Failures and stalls, power by state and useful hours of the run in its fastest layout."""
    key = (phase, work, sku)
    if key not in setting.kept:
        setting.kept[key] = _planned(setting, phase, work, sku)
    found: tuple[dict[str, Traced], dict[str, Traced], Traced] = setting.kept[key]
    return found


def _planned(
    setting: Setting, phase: str, work: Work, sku: str
) -> tuple[dict[str, Traced], dict[str, Traced], Traced]:
    inputs = training_inputs(setting, phase, work, sku)
    single, dropped = training_candidates(inputs)
    where = f"{_trained(setting, work)} on {how_many(work.nodes or 0, 'node')} of {sku}"
    if not len(single):
        raise InputError(f"{phase}: {where}: {dropped[0].reason}")
    runs = training_runs(inputs, node_columns(inputs), single)
    if not len(runs.candidate):
        years = runs.duration_h.value[0] / HOURS_PER_YEAR
        raise InputError(
            f"{phase}: {where} would take {fixed_text(years, 1)} years; more than {MOST_YEARS} are not "
            "planned: "
            "use more nodes"
        )
    first = np.array(0)  # the interval of least time
    powers = {
        name: rows(node, first) for name, node in children(runs.node_kw).items() if name.endswith("_kw")
    }
    renewal = {name: rows(node, first) for name, node in runs.progress.renewal.items()}
    return renewal, powers, rows(runs.progress.useful_h, first)


def _amount(work: Work) -> str:
    """What a run trains on, in words."""
    key = "tokens" if work.samples is None else "samples"
    return many_text(getattr(work, key), key)


def _trained(setting: Setting, work: Work) -> str:
    """What of a model is trained, in words."""
    if work.method != "lora":
        return str(work.model)
    rank = work.adapter_rank or int(setting.fact(ADAPTER_RANK).value)
    return f"rank-{rank} adapters of {work.model}"


def _method(work: Work) -> str:
    """The keys of what is trained, as a scenario has them."""
    stated = {"method": work.method, "adapter_rank": work.adapter_rank}
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in stated.items() if value is not None)


def training_inputs(setting: Setting, phase: str, work: Work, sku: str) -> Inputs:
    """The run as a scenario of its own, on nodes that stand already."""
    sequence = work.sequence_tokens or int(setting.fact("job.sequence_tokens").value)
    if work.samples is None:
        amount = (
            f"tokens = {work.tokens!r}\nsequence_tokens = {sequence}\n"
            f"batch_tokens = {work.batch_tokens or setting.fact('job.batch_tokens').value!r}"
        )
    else:
        batch = work.batch_samples or int(setting.fact("job.batch_samples").value)
        amount = f"samples = {work.samples!r}\nbatch_samples = {batch}"
    text = f"""
[[training]]
name = "{phase}"
model = "{work.model}"
{amount}
precision = "{work.precision or PRECISION}"
{_method(work)}
deadline = {FIRST_YEAR + MOST_YEARS}-01-01
nodes = [{work.nodes}]
checkpoint_storage = "{work.checkpoint_storage or STORAGE}"
"""
    return inputs_of_work(setting, text, [sku], work.nodes or 1, work.failures or FAILURES)


def inputs_of_work(
    setting: Setting, text: str, skus: Sequence[str], nodes: int, failures: str = FAILURES
) -> Inputs:
    """Inputs of one piece of work on nodes of each SKU that stand already, and nothing else."""
    fleet = "\n".join(
        f'[[fleet]]\nsku = "{sku}"\nsite = "site"\nnodes = {nodes}\nin_service = {FIRST_YEAR}-01-01'
        for sku in skus
    )
    whole = f"""
title = {json.dumps(setting.job.title)}
[horizon]
start = {FIRST_YEAR}-01-01
periods = {MOST_YEARS * 4}
period = "quarter"
[[sites]]
name = "site"
grid_intensity = "0 kg/kWh"
pue = 1.0
power_cap = "1000 MW"
racks = 1000000
{fleet}
{text}
[reliability]
{"log" if is_fit(failures) else "failures"} = {json.dumps(failures)}
restart = "{setting.fact("reliability.restart_time").value} h"
repair = "5 d"
spare_confidence = 0.95
[policy]
objective = "carbon"
discount_rate = 0.08
node_life = "5 y"
"""
    try:
        scenario = checked(read_toml(whole, "job"), "job", setting.folder)
        check_scenario(scenario, setting.catalogue)
    except ScenarioError as error:
        raise InputError("\n".join(f"{one.path}: {one.message}" for one in error.problems)) from None
    return Inputs(scenario, setting.catalogue)
