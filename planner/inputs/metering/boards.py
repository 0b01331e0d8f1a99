"""Samples of accelerator boards: nvidia-smi, DCGM as a table, and the screen output of `dcgmi dmon`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.inputs.metering.result import BadRow, MeteredEnergy
from planner.inputs.metering.samples import (
    SECONDS_PER_HOUR,
    Integral,
    Series,
    counter_integral,
    longest_interval_s,
    power_integral,
    series_of,
)
from planner.inputs.metering.stamps import find_zone, moment, seconds_of
from planner.inputs.metering.table import Table
from planner.trace.columns import Floats
from planner.trace.errors import InputError
from planner.trace.units import convert_factor

STAMPS = ("timestamp", "time", "datetime", "stamp")
DEVICES = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial", "index", "gpu", "entity")
LOCAL_DEVICES = ("index", "gpu", "entity")  # these begin at 0 on each host
HOSTS = ("hostname", "host", "node", "instance")
POWERS = ("power.draw", "power.draw.average", "power.draw.instant", "dcgm_fi_dev_power_usage", "power")
COUNTERS = ("dcgm_fi_dev_total_energy_consumption", "totec")

_DCGM_BLANK = 2.0**47  # DCGM's blank values, in W and mJ, are all of at least this
_DMON_HEADER = "#Entity"
_DMON_SAMPLE = re.compile(r"(?P<before>.*?)\s*\b(?P<entity>GPU(?:-I|-CI)?\s+\d+)\s+(?P<values>.*)")
_DMON_TITLE = re.compile(rf"{_DMON_HEADER}\b|(\A|\s)ID\b")  # the header, and the line of units


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """What a file of samples does not say, and how long a time without one may be."""

    zone: str | None
    interval_s: float | None
    accelerators: int | None
    gap_intervals: float


def is_dmon(lines: Sequence[str]) -> bool:
    """Whether these lines are what `dcgmi dmon` prints."""
    return any(_DMON_HEADER in line for line in lines[:5])


def dmon_table(name: str, lines: Sequence[str]) -> Table:
    """What `dcgmi dmon` prints, as a table; a stamp before each line, as of `ts`, becomes a column.

    The header is printed again and again, a line of units under it.
    """
    before, _, names = next(line for line in lines if _DMON_HEADER in line).partition(_DMON_HEADER)
    columns = names.lower().split()
    header = [*(["stamp"] if before.strip() else []), "entity", *columns]
    table = Table(name, header, [""] * len(header), [], [])
    for number, line in enumerate(lines, start=1):
        row = _DMON_SAMPLE.fullmatch(line.strip())
        values = row["values"].split() if row else []
        if row and len(values) == len(columns):
            table.rows.append([*([row["before"]] if before.strip() else []), row["entity"], *values])
            table.lines.append(number)
        elif row:
            reason = f"has {len(values)} values, {len(columns)} were expected"
            table.bad_rows.append(BadRow(number, reason))
        elif line.strip() and not _DMON_TITLE.search(line):
            table.bad_rows.append(BadRow(number, "is no sample of a GPU"))
    return table


def board_energy(table: Table, tool: str, settings: BoardSettings) -> MeteredEnergy:
    """Energy of a table of samples, from its counter where it has one.

    Raises:
        InputError: a column that is needed is missing, or no accelerator has two samples.
    """
    power, counter, stamp = (table.first_of(names) for names in (POWERS, COUNTERS, STAMPS))
    _check_columns(table, power, counter, stamp, settings)
    devices = _devices(table)
    time_s, in_utc = _times(table, stamp, devices, settings)
    by_power = _metered(table, power, devices, time_s, settings) if power else None
    by_counter = _metered(table, counter, devices, time_s, settings) if counter else None
    chosen = by_counter or by_power
    assert chosen is not None
    table.notes.append(f"energy is of {counter or power}")
    if by_counter and by_power:
        table.notes.append(
            f"{power} gives {by_power.energy_kwh:g} kWh, {counter} {by_counter.energy_kwh:g} kWh"
        )
    return MeteredEnergy(
        tool=tool,
        it_kwh=chosen.energy_kwh,
        accelerators_kwh=chosen.energy_kwh,
        duration_h=(chosen.last_s - chosen.first_s) / SECONDS_PER_HOUR,
        accelerators=len(chosen.parts),
        accelerator_h=sum(part.metered_h for part in chosen.parts),
        covers="accelerators",
        first=moment(chosen.first_s, in_utc) if stamp else None,
        last=moment(chosen.last_s, in_utc) if stamp else None,
        gaps_h=float(np.mean([part.gap_h for part in chosen.parts])),
        places=(),
        notes=tuple(table.notes),
        bad_rows=tuple(table.bad_rows),
    )


@dataclass(frozen=True, slots=True)
class _Metered:
    """All accelerators by one column."""

    parts: list[Integral]
    first_s: float
    last_s: float

    @property
    def energy_kwh(self) -> float:
        return sum(part.energy_kwh for part in self.parts)


def _metered(
    table: Table, column: str, devices: NDArray[np.object_], time_s: Floats, settings: BoardSettings
) -> _Metered:
    counts = column in COUNTERS
    unit, inside = ("mJ", "kWh") if counts else ("W", "kW")
    value = table.numbers(column, unit=unit, inside=inside)
    _leave_blanks(table, column, value, _DCGM_BLANK * convert_factor(unit, inside))
    everything = series_of(devices, time_s, value, table.notes)
    series = [one for one in everything if one.time_s.size > 1]
    table.notes += [f"{one.device} has one sample and is left out" for one in everything if one not in series]
    if not series:
        raise InputError(_nothing_read(table, f"no accelerator has two samples of {column}"))
    first_s, last_s = min(one.time_s[0] for one in series), max(one.time_s[-1] for one in series)
    longest_s = longest_interval_s(series, settings.gap_intervals)
    integral = counter_integral if counts else power_integral
    parts = [integral(one, first_s=first_s, last_s=last_s, longest_s=longest_s) for one in series]
    gap_h = sum(part.gap_h for part in parts)
    if gap_h:
        table.notes.append(f"{gap_h:g} accelerator-hours in gaps above {longest_s:g} s were not metered")
    if counts:
        _note_resets(table, series)
    return _Metered(parts, float(first_s), float(last_s))


def _check_columns(
    table: Table, power: str | None, counter: str | None, stamp: str | None, settings: BoardSettings
) -> None:
    problems = []
    if power is None and counter is None:
        problems.append(
            f"no column of power or energy; one of {', '.join((*POWERS, *COUNTERS))} was expected"
        )
    if stamp is None and settings.interval_s is None:
        problems.append(
            "no column of time stamps; give interval_s, the seconds between samples (dcgmi dmon -d)"
        )
    if settings.interval_s is not None and not settings.interval_s > 0:
        problems.append(f"interval_s is above 0, got {settings.interval_s}")
    if not settings.gap_intervals >= 1:
        problems.append(f"gap_intervals is at least 1, got {settings.gap_intervals}")
    if table.first_of(DEVICES) is None and settings.accelerators != 1:
        problems.append("no column says which accelerator (index or uuid); if it was one, say accelerators=1")
    if problems:
        raise InputError("\n".join(f"{table.name}: {problem}" for problem in problems))


def _devices(table: Table) -> NDArray[np.object_]:
    """Name of the accelerator of each row; with its host where its own name begins anew on each."""
    column, host = table.first_of(DEVICES), table.first_of(HOSTS)
    if column is None:
        return np.full(len(table.rows), "accelerator", dtype=object)
    names = table.text(column)
    if host is not None and column in LOCAL_DEVICES:
        names = table.text(host) + "/" + names
    return names.to_numpy(dtype=object)


def _times(
    table: Table, stamp: str | None, devices: NDArray[np.object_], settings: BoardSettings
) -> tuple[Floats, bool]:
    if stamp is not None:
        return seconds_of(table, stamp, find_zone(settings.zone))
    assert settings.interval_s is not None
    table.notes.append(f"no stamps: samples of an accelerator are read as {settings.interval_s:g} s apart")
    turns: dict[str, int] = {}
    order = []
    for device in devices:
        turns[device] = turns.get(device, -1) + 1
        order.append(turns[device])
    return np.array(order, dtype=float) * settings.interval_s, False


def _leave_blanks(table: Table, column: str, value: Floats, least: float) -> None:
    """Leave out what DCGM writes in place of a reading; nvidia-smi writes a word."""
    blank = value >= least
    value[blank] = np.nan
    reason = f"{column} is so large a number that DCGM means: no reading"
    table.drop(blank, (reason for _ in range(int(blank.sum()))))


def _note_resets(table: Table, series: list[Series]) -> None:
    for one in series:
        resets = int(np.sum(np.diff(one.value) < 0))
        if resets:
            table.notes.append(
                f"{one.device}: resets of the counter: {resets}; what it counted between the last "
                "reading and a reset is missing"
            )


def _nothing_read(table: Table, problem: str) -> str:
    """A problem with the first rows that were left out, which are likely to be its cause."""
    return "\n".join(f"{table.name}: {text}" for text in (problem, *table.bad_rows[:3]))
