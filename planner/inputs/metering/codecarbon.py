"""CodeCarbon's `emissions.csv`: a row for each run, its energy multiplied by the PUE that it was told."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from planner.inputs.metering.result import MeteredEnergy
from planner.inputs.metering.samples import SECONDS_PER_HOUR
from planner.inputs.metering.stamps import find_zone, moment, seconds_of
from planner.inputs.metering.table import Table
from planner.trace.columns import Floats
from planner.trace.errors import InputError

Rows = NDArray[np.bool_]

NEEDED = ("duration", "energy_consumed")
PARTS = ("cpu_energy", "gpu_energy", "ram_energy")
PLACES = ("country_iso_code", "region"), ("cloud_provider", "cloud_region")

_COUNTED = re.compile(r"^\d+ x ")  # CodeCarbon writes '4 x NVIDIA A100-SXM4-80GB'
_LONGEST_H = 876_600.0  # 100 years: what ran longer began on no date of a computer's calendar
_SUM_TOLERANCE = 1e-3  # CodeCarbon converts joules with six digits


def run_energy(table: Table, zone: str | None) -> MeteredEnergy:
    """Energy of all runs in the file, without the PUE.

    Version 2 multiplies energies by the PUE of its settings, version 3 powers too; the column `pue` says by
    which. A run that was written several times counts once, with its last row: each holds the run so far.
    """
    duration_h = table.numbers("duration") / SECONDS_PER_HOUR
    energy_kwh = table.numbers("energy_consumed", unit="kWh", inside="kWh")
    parts = {
        name: table.numbers(name, unit="kWh", inside="kWh", empty=True) for name in PARTS if table.has(name)
    }
    pue = table.numbers("pue", empty=True) if table.has("pue") else np.full(len(table.rows), np.nan)
    pue = np.where(np.isnan(pue), 1.0, pue)
    strange = pue < 1
    table.drop(strange, (f"pue is {value:g}, below 1" for value in pue[strange]))
    long = duration_h > _LONGEST_H
    table.drop(
        long,
        (
            f"duration is {value * SECONDS_PER_HOUR:g} s, more than 100 years: its start is not a date of a "
            "calendar"
            for value in duration_h[long]
        ),
    )
    readable = np.isfinite(duration_h) & np.isfinite(energy_kwh) & ~strange & ~long
    kept = _last_of_each_run(table, readable)
    if not kept.any():
        problem = "no run has a duration and an energy"
        raise InputError("\n".join(f"{table.name}: {text}" for text in (problem, *table.bad_rows[:3])))
    _note_runs(table, kept)
    _note_pue(table, pue[kept])
    _check_parts(table, parts, energy_kwh, kept)
    counted = table.numbers("gpu_count", empty=True) if table.has("gpu_count") else None
    accelerators = None if counted is None else np.nan_to_num(counted[kept])
    gpu_kwh = parts.get("gpu_energy")
    ends_s, in_utc = _ends(table, zone)
    starts_s = ends_s - duration_h * SECONDS_PER_HOUR
    _note_overlap(table, starts_s[kept], ends_s[kept])
    dated = kept & np.isfinite(ends_s)
    return MeteredEnergy(
        tool="codecarbon",
        it_kwh=float(np.sum(energy_kwh[kept] / pue[kept])),
        accelerators_kwh=None if gpu_kwh is None else float(np.nansum(gpu_kwh[kept] / pue[kept])),
        duration_h=float(np.sum(duration_h[kept])),
        accelerators=None if accelerators is None else int(accelerators.max()),
        accelerator_h=None if accelerators is None else float(np.sum(accelerators * duration_h[kept])),
        covers="components",
        first=moment(float(starts_s[dated].min()), in_utc) if dated.any() else None,
        last=moment(float(ends_s[dated].max()), in_utc) if dated.any() else None,
        gaps_h=0.0,
        places=_places(table, kept),
        notes=tuple(table.notes),
        bad_rows=tuple(table.bad_rows),
        countries=_words(table, "country_iso_code", kept),
        models=tuple(dict.fromkeys(_COUNTED.sub("", name) for name in _words(table, "gpu_model", kept))),
        own_kgco2e=_own_kgco2e(table, kept),
        regions=_words(table, "region", kept),
    )


def _last_of_each_run(table: Table, readable: Rows) -> Rows:
    """Rows that count; those of tasks are parts of a run and all count."""
    if not table.has("run_id") or table.has("task_name"):
        return readable
    run = table.text("run_id").where(readable)
    earlier = np.asarray(run.duplicated(keep="last") & (run != ""), dtype=bool) & readable
    if earlier.any():
        table.notes.append(f"earlier states of a run that has a later row, not added: {int(earlier.sum())}")
    return readable & ~earlier


def _note_runs(table: Table, kept: Rows) -> None:
    """Runs of one file are one phase of a job: whoever expected one of them has to know."""
    runs = _words(table, "run_id", kept)
    if len(runs) > 1:
        table.notes.append(f"{len(runs)} runs are added up: {', '.join(runs[:4])}{' …' * (len(runs) > 4)}")


def _words(table: Table, column: str, kept: Rows) -> tuple[str, ...]:
    """Different texts of a column, in their order."""
    found = table.text(column)[kept] if table.has(column) else ()
    return tuple(dict.fromkeys(filter(None, found)))


def _own_kgco2e(table: Table, kept: Rows) -> float | None:
    """CodeCarbon's own emissions of the runs that count, where each has them."""
    if not table.has("emissions"):
        return None
    own = table.numbers("emissions", empty=True)[kept]
    return float(own.sum()) if np.isfinite(own).all() else None


def _note_pue(table: Table, pue: Floats) -> None:
    if (pue > 1).any():
        said = ", ".join(f"{value:g}" for value in np.unique(pue))
        table.notes.append(
            f"energies were written with a PUE of {said}: divided by it, so that PUE enters once"
        )
    modes = sorted(set(table.text("tracking_mode")) - {""}) if table.has("tracking_mode") else []
    if modes:
        table.notes.append(
            f"CodeCarbon tracked by {' and '.join(modes)}; what it has no meter for, it models"
        )


def _check_parts(table: Table, parts: dict[str, Floats], energy_kwh: Floats, kept: Rows) -> None:
    if len(parts) < len(PARTS):
        return
    whole = np.sum([np.nan_to_num(part) for part in parts.values()], axis=0)
    unlike = kept & ~np.isclose(whole, energy_kwh, rtol=_SUM_TOLERANCE, atol=0)
    if unlike.any():
        line = table.lines[int(np.flatnonzero(unlike)[0])]
        table.notes.append(
            f"runs whose parts do not add up to their energy: {int(unlike.sum())}, first in line {line}"
        )


def _ends(table: Table, zone: str | None) -> tuple[Floats, bool]:
    if not table.has("timestamp"):
        return np.full(len(table.rows), np.nan), False
    return seconds_of(table, "timestamp", find_zone(zone))


def _note_overlap(table: Table, starts_s: Floats, ends_s: Floats) -> None:
    """Two trackers of one machine count each other's energy."""
    order = np.argsort(starts_s)
    latest = np.maximum.accumulate(ends_s[order])
    if np.any(starts_s[order][1:] < latest[:-1] - 1.0):  # stamps are whole seconds
        table.notes.append("runs overlap in time: on one machine, each counted the other's energy too")


def _places(table: Table, kept: Rows) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for columns in PLACES:
        known = [table.text(column)[kept] for column in columns if table.has(column)]
        if known:
            joined = pd.concat(known, axis=1).apply(lambda row: "/".join(filter(None, row)), axis=1)
            found |= dict.fromkeys(filter(None, joined))
    return tuple(found)
