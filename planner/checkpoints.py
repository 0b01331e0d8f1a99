"""Checkpoint intervals side by side: what each does to time, money and carbon, and which is best."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carbon.attribution import calendar_share_kgco2e, lifetime_h
from carbon.embodied import server_kgco2e
from carbon.operational import facility_energy_kwh, operational_kgco2e
from planner.catalogue import Catalogue, load_catalogue
from planner.coefficients.owning import node_failure_rate_per_node_h, owned_usd
from planner.coefficients.runs import checkpoint_gb_per_s, ettr_ratio, persist_h, stall_h
from planner.costs import capital_charge_usd, energy_usd, maintenance_usd, space_usd
from planner.errors import InputError
from planner.explain import explain, format_value
from planner.inputs import HOURS_PER_YEAR
from planner.performance.power import node_power_kw, stalled_power_kw
from planner.question import given
from planner.timing import drawn_kwh
from planner.trace import Traced, chosen, derive, derive_parts, ratio
from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    daly_interval_h,
    hours_by_state,
    objective_optimal_interval_h,
    weighted_hours_ratio,
    young_interval_h,
)
from reliability.fleet import job_mttf_h

Column = float | NDArray[Any]
Record = dict[str, Any]

ROWS = 41
SPAN = 20.0  # the table runs from a twentieth of the best interval to twenty times it
KINDS = {
    "failures": "fleet with failures", "skus": "SKU", "storages": "checkpoint storage", "models": "model",
    "grids": "grid region",
}  # fmt: skip
FLAT = 0.001  # intervals that lose less than this share of the best ETTR are as good as the best


def node_hour_usd(*, owned_usd: Column, energy_usd: Column) -> Column:
    """Money of one node for one hour in a state.

    m = owning + energy

    Source: sum of parts.
    """
    return owned_usd + energy_usd


def node_hour_kgco2e(*, embodied_kgco2e: Column, operational_kgco2e: Column) -> Column:
    """Carbon of one node for one hour in a state.

    c = embodied share + energy

    Source: sum of parts.
    """
    return embodied_kgco2e + operational_kgco2e


def useful_hour_usd(*, nodes: Column, working_usd: Column, weighted_hours_ratio: Column) -> Column:
    """Money of one useful hour of the job, with stalls, lost work and restarts.

    M = N * m_work * (weighted hours for one useful hour)

    Source: hours by state at the price of each state.
    """
    return nodes * working_usd * weighted_hours_ratio


def useful_hour_kgco2e(*, nodes: Column, working_kgco2e: Column, weighted_hours_ratio: Column) -> Column:
    """Carbon of one useful hour of the job, with stalls, lost work and restarts.

    C = N * c_work * (weighted hours for one useful hour)

    Source: hours by state at the carbon of each state.
    """
    return nodes * working_kgco2e * weighted_hours_ratio


@dataclass(frozen=True)
class _Setting:
    """One job on one fleet, as traced quantities."""

    nodes: Traced
    mttf_h: Traced
    write_h: Traced
    persist_h: Traced
    restart_h: Traced
    usd: dict[str, Traced]
    kgco2e: dict[str, Traced]

    def renewal(self) -> dict[str, Traced]:
        """What the renewal equations want beside the interval."""
        return {
            "mtbf_h": self.mttf_h,
            "write_h": self.write_h,
            "restart_h": self.restart_h,
            "persist_h": self.persist_h,
        }

    def weights(self, each: dict[str, Traced] | None) -> dict[str, Traced]:
        """Weights of an hour of work, of a stall and of a restart; all one where time alone counts."""
        names = {
            "work": "work_weight_factor",
            "write": "write_weight_factor",
            "restart": "restart_weight_factor",
        }
        if each is None:
            return {name: chosen(name, 1.0, "time counts alike in every state") for name in names.values()}
        return {name: ratio(each[state], each["work"]) for state, name in names.items()}


def checkpoint_document(
    failures: str = "meta-llama-3-405b",
    sku: str = "h100-8",
    nodes: int = 64,
    storage: str = "parallel-fs",
    restart_min: float = 10.0,
    model: str = "llama-3.1-70b",
    asynchronous: bool = False,
    grid: str = "us",
) -> Record:
    """Intervals from far too short to far too long, with the best for time, money and carbon.

    Raises:
        InputError: a name is unknown or a number is out of range.
    """
    catalogue = load_catalogue()
    choices = _choices(catalogue)
    asked = {"failures": failures, "skus": sku, "storages": storage, "models": model, "grids": grid}
    _check(asked, choices, nodes, restart_min)
    setting = _setting(catalogue, failures, sku, nodes, storage, restart_min, model, asynchronous, grid)
    best = {
        "time-optimal": setting.weights(None),
        "money-optimal": setting.weights(setting.usd),
        "carbon-optimal": setting.weights(setting.kgco2e),
    }
    intervals: dict[str, Traced] = {
        name: derive(objective_optimal_interval_h, **setting.renewal(), **weights)
        for name, weights in best.items()
    }
    if not asynchronous:
        intervals["Young"] = derive(young_interval_h, mtbf_h=setting.mttf_h, write_h=setting.write_h)
        intervals["Daly"] = derive(daly_interval_h, mtbf_h=setting.mttf_h, write_h=setting.write_h)
    marks = [{"name": name, **_row(setting, interval)} for name, interval in intervals.items()]
    middle = float(intervals["time-optimal"].value)
    least = max(middle / SPAN, float(setting.persist_h.value) - float(setting.write_h.value), 1e-6)
    column = chosen("interval_h", np.geomspace(least, middle * SPAN, ROWS), "a row of the table")
    table = _columns(setting, column)
    rows = [{name: float(values[i]) for name, values in table.items()} for i in range(ROWS)]
    return {
        "inputs": {
            "failures": failures,
            "sku": sku,
            "nodes": nodes,
            "storage": storage,
            "restart_min": restart_min,
            "model": model,
            "asynchronous": asynchronous,
            "grid": grid,
            "mttf_h": float(setting.mttf_h.value),
            "write_min": float(setting.write_h.value) * 60,
            "persist_min": float(setting.persist_h.value) * 60,
        },
        "rows": rows,
        "marks": marks,
        "flat": _flat(setting, intervals["time-optimal"]),
        "explanations": {
            "ettr": explain(_ettr(setting, intervals["time-optimal"])).to_dict(),
            **{f"interval.{name}": explain(interval).to_dict() for name, interval in intervals.items()},
        },
        "choices": choices,
    }


def to_text(document: Record) -> str:
    """The document as a table for a terminal, the best intervals marked."""
    inputs = document["inputs"]
    lines = [
        f"{inputs['model']} on {inputs['nodes']} nodes of {inputs['sku']}, failures as {inputs['failures']}: "
        f"one every {format_value(inputs['mttf_h'])} h; a checkpoint to {inputs['storage']} takes "
        f"{format_value(inputs['write_min'] * 60)} s, a restart {format_value(inputs['restart_min'])} min",
        "",
        f"{'interval min':>14} {'ETTR':>8} {'lost':>8} {'stalled':>8} {'restart':>8} "
        f"{'USD/useful h':>14} {'kg/useful h':>13}",
    ]
    named = [(mark["interval_min"], f"  {mark['name']}", mark) for mark in document["marks"]]
    marked = [mark["interval_min"] for mark in document["marks"]]
    plain = [
        (row["interval_min"], "", row)
        for row in document["rows"][::4]
        if not np.isclose(row["interval_min"], marked, rtol=1e-6).any()
    ]
    for _, name, row in sorted(named + plain, key=lambda one: one[0]):
        lines.append(
            f"{row['interval_min']:>14.2f} {row['ettr_fraction']:>8.2%} {row['lost_fraction']:>8.2%} "
            f"{row['checkpoint_fraction']:>8.2%} {row['restart_fraction']:>8.2%} "
            f"{row['usd_per_useful_h']:>14,.2f} {row['kgco2e_per_useful_h']:>13,.3f}{name}"
        )
    flat = document["flat"]
    lines += [
        "",
        f"From {flat['low_min']:.1f} to {flat['high_min']:.1f} min the loss is below "
        f"{flat['loss_fraction']:.1%} of the best.",
    ]
    return "\n".join(lines)


def _setting(
    catalogue: Catalogue, failures: str, sku: str, nodes: int, storage: str, restart_min: float, model: str,
    asynchronous: bool, grid: str,
) -> _Setting:  # fmt: skip
    fact = catalogue.fact
    one = catalogue.skus[sku]
    server, accelerator = f"server.{one.server}", f"accelerator.{one.accelerator}"
    count = fact(f"{server}.accelerators")
    size = given("nodes", float(nodes), "1")
    rate = derive(
        node_failure_rate_per_node_h, reference_rate_per_node_h=fact(f"reliability.{failures}.failure_rate"),
        accelerators=count, reference_accelerators=fact(f"reliability.{failures}.accelerators_per_node"),
        ageing_fraction_per_y=fact("reliability.ageing"), age_y=chosen("age_y", 0.0, "new nodes"),
    )  # fmt: skip
    state_gb = derive(
        checkpoint_size_gb, parameters=fact(f"model.{model}.parameters"),
        bytes_per_parameter=fact("checkpoint.bytes_per_parameter"),
    )  # fmt: skip
    to_storage, to_host = (_write(catalogue, name, size, state_gb) for name in (storage, "host-memory"))
    flag = chosen("asynchronous", float(asynchronous), "asked for")
    powers = {
        "work": fact("performance.power.training"),
        "write": fact("performance.power.checkpoint_stall"),
        "restart": fact("performance.power.idle"),
    }
    node_kw: dict[str, Traced] = {
        state: derive(
            node_power_kw, host_kw=fact(f"{server}.host_power"), accelerators=count,
            accelerator_kw=derive(stalled_power_kw, tdp_kw=fact(f"{accelerator}.tdp"), stall_fraction=share),
        )
        for state, share in powers.items()
    }  # fmt: skip
    usd, kgco2e = _node_hour(catalogue, server, accelerator, count, node_kw, grid)
    return _Setting(
        nodes=size, mttf_h=derive(job_mttf_h, nodes=size, failure_rate_per_node_h=rate),
        write_h=derive(stall_h, storage_write_h=to_storage, host_write_h=to_host, asynchronous=flag),
        persist_h=derive(persist_h, storage_write_h=to_storage, asynchronous=flag),
        restart_h=given("restart", restart_min / 60.0, "h"), usd=usd, kgco2e=kgco2e,
    )  # fmt: skip


def _write(catalogue: Catalogue, storage: str, nodes: Traced, size: Traced) -> Traced:
    bandwidth = derive(
        checkpoint_gb_per_s, nodes=nodes,
        node_gb_per_s=catalogue.fact(f"checkpoint_storage.{storage}.bandwidth_per_node"),
        storage_gb_per_s=catalogue.fact(f"checkpoint_storage.{storage}.bandwidth"),
    )  # fmt: skip
    return derive(checkpoint_write_h, size_gb=size, bandwidth_gb_per_s=bandwidth)


def _node_hour(
    catalogue: Catalogue, server: str, accelerator: str, count: Traced, node_kw: dict[str, Traced], grid: str
) -> tuple[dict[str, Traced], dict[str, Traced]]:
    """Money and carbon of one node for one hour of work, of a stall and of a restart."""
    fact = catalogue.fact
    hour, year = chosen("hours_h", 1.0, "one hour"), chosen("hours_per_year_h", HOURS_PER_YEAR, "365.25 days")
    price, life = fact(f"{server}.price"), fact("finance.capex_life")
    capital = derive(
        capital_charge_usd, price_usd=price, discount_fraction=fact("finance.discount_rate"), life_y=life,
        residual_fraction=fact("finance.residual_value"), hours_h=hour, hours_per_year_h=year,
    )  # fmt: skip
    upkeep = derive(
        maintenance_usd,
        price_usd=price,
        maintenance_fraction=fact("finance.maintenance"),
        hours_h=hour,
        hours_per_year_h=year,
    )
    space = derive(
        space_usd,
        provisioned_kw=fact(f"{server}.max_power"),
        space_usd_per_kw_h=fact("finance.space"),
        hours_h=hour,
    )
    owned = derive(owned_usd, capital_usd=capital, maintenance_usd=upkeep, space_usd=space)
    made = derive(
        server_kgco2e,
        "embodied=server",
        accelerators=count,
        accelerator_kgco2e=fact(f"{accelerator}.embodied"),
        host_kgco2e=fact(f"{server}.embodied"),
    )
    share = derive(
        calendar_share_kgco2e, embodied_kgco2e=made, used_h=hour,
        lifetime_h=derive(lifetime_h, lifetime_y=fact("embodied.lifetime")),
    )  # fmt: skip
    known = catalogue.has(f"electricity.{grid}.price")
    tariff = fact(f"electricity.{grid}.price" if known else "electricity.default_price")
    usd: dict[str, Traced] = {}
    kgco2e: dict[str, Traced] = {}
    for state, power in node_kw.items():
        energy = derive(
            facility_energy_kwh,
            it_energy_kwh=derive(drawn_kwh, power_kw=power, active_h=hour),
            pue=fact("pue.default"),
        )
        bill = derive(energy_usd, facility_energy_kwh=energy, electricity_usd_per_kwh=tariff)
        burnt = derive(
            operational_kgco2e, facility_energy_kwh=energy, grid_kgco2e_per_kwh=fact(f"grid.{grid}.intensity")
        )
        usd[state] = derive(node_hour_usd, owned_usd=owned, energy_usd=bill)
        kgco2e[state] = derive(node_hour_kgco2e, embodied_kgco2e=share, operational_kgco2e=burnt)
    return usd, kgco2e


def _ettr(setting: _Setting, interval: Traced) -> Traced:
    return derive(ettr_ratio, **derive_parts(hours_by_state, interval_h=interval, **setting.renewal()))


def _columns(setting: _Setting, interval: Traced) -> dict[str, NDArray[np.float64]]:
    """The columns of the table for some intervals."""
    states = derive_parts(hours_by_state, interval_h=interval, **setting.renewal())
    ettr = derive(ettr_ratio, **states)
    money, carbon = (
        derive(weighted_hours_ratio, interval_h=interval, **setting.renewal(), **setting.weights(each))
        for each in (setting.usd, setting.kgco2e)
    )
    usd = derive(
        useful_hour_usd, nodes=setting.nodes, working_usd=setting.usd["work"], weighted_hours_ratio=money
    )
    kgco2e = derive(
        useful_hour_kgco2e,
        nodes=setting.nodes,
        working_kgco2e=setting.kgco2e["work"],
        weighted_hours_ratio=carbon,
    )
    return {
        "interval_min": np.asarray(interval.value) * 60.0,
        "ettr_fraction": np.asarray(ettr.value),
        "lost_fraction": np.asarray(states.lost_h.value * ettr.value),
        "checkpoint_fraction": np.asarray(states.checkpoint_h.value * ettr.value),
        "restart_fraction": np.asarray(states.restart_h.value * ettr.value),
        "usd_per_useful_h": np.asarray(usd.value),
        "kgco2e_per_useful_h": np.asarray(kgco2e.value),
    }


def _row(setting: _Setting, interval: Traced) -> dict[str, float]:
    return {name: float(value) for name, value in _columns(setting, interval).items()}


def _flat(setting: _Setting, best: Traced) -> Record:
    """Intervals around the best one that lose next to nothing."""
    fine = chosen("interval_h", float(best.value) * np.geomspace(1 / SPAN, SPAN, 2001), "a fine search")
    ettr = np.asarray(_ettr(setting, fine).value)
    good = np.asarray(fine.value)[ettr >= (1 - FLAT) * float(_ettr(setting, best).value)]
    return {"low_min": float(good.min()) * 60, "high_min": float(good.max()) * 60, "loss_fraction": FLAT}


def _check(asked: dict[str, str], choices: dict[str, list[str]], nodes: int, restart_min: float) -> None:
    """Every unknown name, with the nearest known ones, and every number out of range in one message."""
    problems = []
    for kind, name in asked.items():
        if name not in choices[kind]:
            near = difflib.get_close_matches(name, choices[kind], n=3)
            hint = f"near: {', '.join(near)}" if near else f"there are: {', '.join(choices[kind])}"
            problems.append(f"no {KINDS[kind]} '{name}'; {hint}")
    if nodes < 1:
        problems.append(f"nodes has to be 1 or more, got {nodes}")
    if not 0 <= restart_min < 10_000:
        problems.append(f"restart_min has to be from 0 to below 10,000, got {restart_min}")
    if problems:
        raise InputError("\n".join(problems))


def _choices(catalogue: Catalogue) -> dict[str, list[str]]:
    fleets = catalogue.names("reliability", "failure_rate")
    return {
        "failures": [name for name in fleets if catalogue.has(f"reliability.{name}.accelerators_per_node")],
        "skus": sorted(catalogue.skus),
        "storages": list(catalogue.names("checkpoint_storage", "bandwidth")),
        "models": list(catalogue.names("model", "layers")),
        "grids": list(catalogue.names("grid", "intensity")),
    }
