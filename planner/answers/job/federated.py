"""Federated learning: sessions of devices in several countries, the network between, and a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from carbon.federated import device_grid_kgco2e_per_kwh, federated_carbon, server_facility_kw, session_energy
from carbon.participation import Participation
from carbon.rounds import (
    asynchronous_h,
    asynchronous_sessions,
    ensemble_sessions,
    synchronous_h,
    synchronous_sessions,
)
from planner.answers.job.equations import federated_facility_kwh, federated_kgco2e, mean_compute_h
from planner.answers.job.setting import Setting
from planner.inputs.job.schema_work import Federated
from planner.trace.numbers import count_text, number_text
from planner.trace.quantities import Parts, Traced, chosen, convert, derive, derive_parts, pick
from planner.trace.units import DIMENSIONLESS


@dataclass(frozen=True)
class FederatedWork:
    """A federated job: what its parts emit, and what its server and its devices draw."""

    parts: Parts
    carbon: Traced
    server_it_kwh: Traced
    facility_kwh: Traced
    said: str
    notes: tuple[str, ...]


def federated_work(setting: Setting, stated: Federated) -> FederatedWork:
    """Rounds of sessions, or a buffer without rounds, under the grids of the devices."""
    times = _session_times(setting, stated)
    energy = derive_parts(
        session_energy,
        **times,
        compute_kw=setting.fact("federated.device.compute_power"),
        upload_kw=chosen("upload_kw", 0.0, "the router's power replaces the radio's"),
        download_kw=chosen("download_kw", 0.0, "the router's power replaces the radio's"),
        network_kw=setting.fact("federated.network.router_power"),
    )
    sessions, lasts = _sessions(setting, stated, times)
    server = {
        "aggregator_it_kw": setting.fact("federated.server.aggregator_power"),
        "selector_it_kw": setting.fact("federated.server.selector_power"),
    }
    server_kw = derive(server_facility_kw, pue=setting.pue, **server)
    parts = derive_parts(
        federated_carbon,
        sessions=sessions,
        **{f"session_{name}": part for name, part in energy.items()},
        device_grid_kgco2e_per_kwh=_device_grid(setting, stated),
        server_facility_kw=server_kw,
        server_h=lasts,
        server_grid_kgco2e_per_kwh=setting.grid(),
    )
    return FederatedWork(
        parts,
        derive(federated_kgco2e, **parts),
        ((server["aggregator_it_kw"] + server["selector_it_kw"]) * lasts).named(
            "server_it_kwh", "IT energy of a federated job's servers"
        ),
        derive(
            federated_facility_kwh,
            sessions=sessions,
            server_kw=server_kw,
            server_h=lasts,
            **dict(energy.items()),
        ),
        f"{_rounds(stated)}: {count_text(sessions.value)} sessions of devices, "
        f"{count_text(stated.concurrency)} at once{_ensemble(stated)}, "
        f"{number_text(lasts.value, 3)} h",
        tuple(_notes(setting, stated)),
    )


def _notes(setting: Setting, stated: Federated) -> Iterator[str]:
    """What the numbers do not say: who is left out, and what working without rounds costs."""
    for warning in _participation(setting, stated):
        yield f"fairness: {warning}"
    yield "not counted: making the phones, routers and servers, of which no share is known"
    if stated.mode == "asynchronous":
        yield (
            "without rounds a run ends sooner by the clock; carbon goes with sessions, and to the same "
            "quality Green FL counted more of it than in rounds"
        )
    if stated.tiers:
        yield "tiers differ in how long they compute; their power is taken to be alike"


def _ensemble(stated: Federated) -> str:
    return f" for each of {stated.models} models" if (stated.models or 1) > 1 else ""


def _rounds(stated: Federated) -> str:
    """What `rounds` counts in the job's mode."""
    if stated.mode == "asynchronous":
        return (
            f"{number_text(stated.rounds, 10)} updates of {number_text(stated.buffer, 10)} sessions "
            "each, without rounds"
        )
    return f"{number_text(stated.rounds, 10)} rounds of all devices at once"


def federated_variants(setting: Setting, stated: Federated) -> Iterator[tuple[str, str, str, Federated, str]]:
    """Levers of the federated job: smaller updates, and only the devices on the cleanest grid."""
    factor = setting.fact("federated.compression.int8").value
    if stated.compression is None:
        yield (
            "updates sent",
            "whole",
            f"{factor:g} times smaller",
            stated.but(compression=factor),
            "8-bit updates; its effect on quality is not counted",
        )
    clean = min(stated.devices or {}, key=lambda name: float(setting.fact(f"grid.{name}.intensity").value))
    if len(stated.devices or {}) > 1:
        picked = stated.but(devices={clean: 1.0}, population=stated.population or stated.devices)
        unheard = "; ".join(str(warning) for warning in _participation(setting, picked))
        yield "devices requested", "as they are", f"{clean} alone", picked, f"fairness: {unheard}"
    if stated.tiers and len(stated.tiers) > 1:
        ratios = stated.tier_compute or {}
        fast = min(stated.tiers, key=ratios.__getitem__)
        quick = stated.but(tiers={fast: 1.0}, tier_population=stated.tier_population or stated.tiers)
        unheard = "; ".join(str(warning) for warning in _participation(setting, quick))
        yield "tiers of devices", "as they are", f"{fast} alone", quick, f"fairness: {unheard}"


def _session_times(setting: Setting, stated: Federated) -> dict[str, Traced]:
    smaller = setting.yours("federated.compression", stated.compression or 1.0, DIMENSIONLESS)
    moved = {
        name: (setting.yours(f"federated.{name}", hours, "h") / smaller).named(
            "compressed_h", "Time of a transfer of smaller updates"
        )
        for name, hours in (("upload", stated.upload_h or 0.0), ("download", stated.download_h or 0.0))
    }
    return {
        "compute_h": _compute(setting, stated),
        "upload_h": moved["upload"],
        "download_h": moved["download"],
    }


def _compute(setting: Setting, stated: Federated) -> Traced:
    """Time that a session computes, in the mean over the tiers of devices."""
    alike = setting.yours("federated.compute", stated.compute_h or 0.0, "h")
    if not stated.tiers:
        return alike
    ratios = stated.tier_compute or {}
    index = np.arange(len(stated.tiers))
    return derive(
        mean_compute_h,
        compute_h=alike,
        tier_ratio=pick(
            [setting.yours(f"federated.tier_compute.{name}", ratios[name], "1") for name in stated.tiers],
            index,
        ),
        tier_weight=pick(
            [setting.yours(f"federated.tiers.{name}", share, "1") for name, share in stated.tiers.items()],
            index,
        ),
    )


def _sessions(setting: Setting, stated: Federated, times: dict[str, Traced]) -> tuple[Traced, Traced]:
    """Sessions of the whole job, and how long it takes."""
    at_once = setting.yours("federated.concurrency", float(stated.concurrency or 0), DIMENSIONLESS)
    updates = setting.yours("federated.rounds", stated.rounds or 0.0, DIMENSIONLESS)
    if stated.mode != "asynchronous":
        slowest = setting.stated("federated.slowest", stated.slowest_h, "h", "federated.session.time_limit")
        member = derive(synchronous_sessions, rounds=updates, concurrency=at_once)
        return (
            _of_all(setting, stated, member),
            derive(synchronous_h, rounds=updates, slowest_session_h=convert(slowest, "h")),
        )
    sessions = derive(
        asynchronous_sessions,
        server_updates=updates,
        buffer_sessions=setting.yours("federated.buffer", stated.buffer or 0.0, DIMENSIONLESS),
        dropped_fraction=setting.yours("federated.dropped", stated.dropped_fraction or 0.0, "1"),
    )
    mean = (times["compute_h"] + times["upload_h"] + times["download_h"]).named(
        "mean_session_h", "Length of a device's session"
    )
    lasts = derive(asynchronous_h, sessions=sessions, mean_session_h=mean, concurrency=at_once)
    return _of_all(setting, stated, sessions), lasts


def _of_all(setting: Setting, stated: Federated, member: Traced) -> Traced:
    """Sessions of all models of an ensemble; one model is no ensemble."""
    if not stated.models:
        return member
    models = setting.yours("federated.models", float(stated.models), DIMENSIONLESS)
    return derive(ensemble_sessions, models=models, member_sessions=member)


def _device_grid(setting: Setting, stated: Federated) -> Traced:
    """Grid of the devices' countries, weighted by their sessions."""
    shares = stated.devices or {}
    index = np.arange(len(shares))
    return derive(
        device_grid_kgco2e_per_kwh,
        grid_kgco2e_per_kwh=pick([setting.fact(f"grid.{name}.intensity") for name in shares], index),
        sessions=pick(
            [setting.yours(f"federated.devices.{name}", share, "1") for name, share in shares.items()], index
        ),
    )


def _participation(setting: Setting, stated: Federated) -> tuple[Any, ...]:
    """Groups that take part far less than they would by their numbers."""
    groups = ((stated.devices, stated.population), (stated.tiers, stated.tier_population))
    parity = setting.fact("federated.participation.least_parity").value
    return tuple(
        warning
        for picked, population in groups
        if population
        for warning in Participation.of(
            picked=picked or {}, population=population, least_parity_ratio=parity
        ).warnings
    )
