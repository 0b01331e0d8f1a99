"""A short probe of one device: matrices, memory and power, as facts of kind `measured`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from statistics import median
from typing import Protocol

from planner.inputs.catalogue import COLUMNS
from planner.performance.calibrate import copied_gb_per_s, square_product_tflop_per_s
from planner.report.spreadsheets import csv_of
from planner.trace.numbers import fixed_text, number_text, written_text
from planner.trace.records import Record

SOURCE = "everfleet-probe"


class NothingToMeasure(Exception):
    """There is no device to probe, or nothing to probe it with; the message says which."""


@dataclass(frozen=True, slots=True)
class Load:
    """How long a load ran on the device, and the power that was read meanwhile."""

    elapsed_s: float
    power_w: tuple[float, ...]


class Device(Protocol):
    """What the probe asks of a device."""

    name: str
    driver: str
    software: str

    def multiply(self, width: int, repeats: int) -> Load:
        """Multiply square bf16 matrices."""

    def copy(self, size_gb: float, repeats: int) -> Load:
        """Copy a block within the device's memory."""

    def idle_power_w(self, samples: int) -> tuple[float, ...]:
        """Power while nothing runs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How large and how long the loads are; the power counter averages over a second."""

    widths: tuple[int, ...] = (4096, 8192)
    copy_gb: float = 1.0
    trials: int = 5
    trial_s: float = 0.5
    power_s: float = 6.0
    idle_samples: int = 20


@dataclass(frozen=True, slots=True)
class Seen:
    """Trials of one quantity: the middle one counts, the least and the largest bound it."""

    name: str
    unit: str
    trials: tuple[float, ...]
    note: str

    @property
    def value(self) -> float:
        """The median."""
        return median(self.trials)


def probe_document(device: Device, day: date, plan: Plan | None = None) -> Record:
    """What a device achieved and drew, each quantity with its spread over the trials."""
    plan = plan or Plan()
    idle = device.idle_power_w(plan.idle_samples)
    width, matrix = _best_width(device, plan)
    copies = _trials(partial(device.copy, plan.copy_gb), plan)
    steady = device.multiply(width, _repeats(partial(device.multiply, width), plan.power_s))
    seen = (
        Seen("achieved_bf16", "TFLOP/s", matrix, f"square matrices of {width}"),
        Seen(
            "achieved_memory_bandwidth",
            "GB/s",
            tuple(float(copied_gb_per_s(copied_gb=plan.copy_gb, repeats=n, elapsed_s=s)) for n, s in copies),
            f"copy of {plan.copy_gb:g} GB; read and write counted",
        ),
        Seen(
            "matrix_power",
            "W",
            _settled(steady.power_w),
            f"square matrices of {width} for {fixed_text(steady.elapsed_s, 1)} s",
        ),
        Seen("idle_power", "W", idle, "with an open context"),
    )
    name = f"accelerator.{_key_word(device.name)}"
    facts = [
        {
            "key": f"{name}.{one.name}@probe-{day.isoformat()}",
            "value": one.value,
            "unit": one.unit,
            "source": SOURCE,
            "locator": f"{device.name}, driver {device.driver}, {device.software}",
            "kind": "measured",
            "low": min(one.trials),
            "high": max(one.trials),
            "boundary": "",
            "note": one.note,
        }
        for one in seen
        if one.trials
    ]
    return {
        "everfleet_probe": 1,
        "device": device.name,
        "driver": device.driver,
        "software": device.software,
        "day": day.isoformat(),
        "facts": facts,
    }


def probe_text(document: Record) -> str:
    """The document for a terminal."""
    lines = [f"{document['device']}, driver {document['driver']}, {document['software']}, {document['day']}"]
    lines += [
        f"{one['key']} = {number_text(one['value'], 5)} {one['unit']} [{number_text(one['low'], 5)} .. "
        f"{number_text(one['high'], 5)}]  "
        f"({one['note']})"
        for one in document["facts"]
    ]
    return "\n".join(lines)


def probe_csv(document: Record) -> str:
    """The document as rows of `data/facts`."""
    shown = [
        {**one, **{end: float(written_text(one[end])) for end in ("value", "low", "high")}}
        for one in document["facts"]
    ]
    return csv_of(shown, COLUMNS, line_end="\n")


def _best_width(device: Device, plan: Plan) -> tuple[int, tuple[float, ...]]:
    """The width whose matrices run fastest, and the rate of each trial."""
    rates = {
        width: tuple(
            float(square_product_tflop_per_s(width=width, repeats=n, elapsed_s=s))
            for n, s in _trials(partial(device.multiply, width), plan)
        )
        for width in plan.widths
    }
    best = max(rates, key=lambda width: median(rates[width]))
    return best, rates[best]


def _trials(load: Callable[[int], Load], plan: Plan) -> list[tuple[int, float]]:
    """Repeats and seconds of each trial."""
    repeats = _repeats(load, plan.trial_s)
    return [(repeats, load(repeats).elapsed_s) for _ in range(plan.trials)]


def _repeats(load: Callable[[int], Load], wanted_s: float) -> int:
    """How often to repeat a load so that it lasts about as long as wanted; the first run only warms up."""
    load(1)
    few = 10
    return max(1, round(wanted_s * few / load(few).elapsed_s))


def _settled(power_w: Sequence[float]) -> tuple[float, ...]:
    """The later half of the readings: the counter averages over what ran before."""
    return tuple(power_w[len(power_w) // 2 :])


def _key_word(name: str) -> str:
    """A device's name as a word of a key."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"
