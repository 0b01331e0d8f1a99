"""Samples of monitoring as one table, built row by row within limits."""

from __future__ import annotations

import math
from array import array
from collections import Counter as Count
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from planner.inputs.telemetry.counters import COUNTERS
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

MOST_SAMPLES = 2_000_000  # three days of 64 accelerators and six counters, every minute
LARGEST = 1e18  # as of a metered number
FIRST_S, LAST_S = 0.0, 253_402_300_799.0  # 1970 to the last second of 9999
GAP_INTERVALS = 10.0
SECONDS_PER_H = 3600.0
TIMED_FROM_S = 1e8  # 1973: what is before it counts from the first scrape, which had no time
COLUMNS = ("counter", "quantity", "node", "device", "model", "time_s", "value")
# What labels call a node, an accelerator and its kind, by exporter; the first that is there counts.
NODE = ("Hostname", "hostname", "node", "host.name", "kubernetes_node", "instance")
DEVICE = ("UUID", "uuid", "gpu", "hw.id", "device", "engine")
MODEL = ("modelName", "modelname", "hw.model", "model_name")


Key = tuple[str, str, str, str]  # counter, node, device, model


@dataclass
class Samples:
    """What was read so far by series, and what was left out, by reason."""

    name: str
    series: dict[Key, tuple[array[float], array[float]]] = field(default_factory=dict)
    left_out: Count[str] = field(default_factory=Count)
    unknown: Count[str] = field(default_factory=Count)  # counters that are not understood
    count: int = 0

    def key(self, counter: str, labels: Mapping[str, str]) -> Key | None:
        """The series of a counter with these labels; None, and counted, where it is not understood."""
        if counter not in COUNTERS:
            self.unknown[counter] += 1
            return None
        return counter, _label(labels, NODE), _label(labels, DEVICE), _label(labels, MODEL)

    def add(self, key: Key | None, time_s: float, value: float) -> None:
        """A sample of a series; one that is no number is counted and left out.

        Raises:
            InputError: there are too many.
        """
        if key is None:
            return
        if not (FIRST_S <= time_s <= LAST_S):
            self.left_out["a time of no calendar"] += 1
            return
        if not math.isfinite(value) or not 0 <= value <= LARGEST:
            self.left_out["no number from 0 to 1e18"] += 1
            return
        if self.count >= MOST_SAMPLES:
            raise InputError(
                f"{self.name}: holds more than {count_text(MOST_SAMPLES)} samples: query a longer step, or "
                "fewer counters"
            )
        self.count += 1
        times, values = self.series.setdefault(key, (array("d"), array("d")))
        times.append(time_s)
        values.append(value)

    def frame(self) -> pd.DataFrame:
        """Samples in order of time, one of each quantity and accelerator a moment."""
        sizes = [len(times) for times, _ in self.series.values()]
        known = [COUNTERS[key[0]] for key in self.series]
        names = [(key[0], one.quantity, *key[1:]) for key, one in zip(self.series, known, strict=True)]
        texts = {
            column: np.repeat(np.array([name[at] for name in names], dtype=object), sizes)
            for at, column in enumerate(COLUMNS[:5])
        }
        scales = np.repeat([one.scale for one in known], sizes)
        times, values = (
            np.concatenate([np.asarray(pair[at]) for pair in self.series.values()]) for at in (0, 1)
        )
        found = pd.DataFrame(texts | {"time_s": times, "value": values * scales})
        keys = ["quantity", "node", "device", "time_s"]
        return found.drop_duplicates(keys, keep="last").sort_values("time_s", kind="stable")


def seen_node_h(frame: pd.DataFrame) -> tuple[dict[str, float], float]:
    """Hours in which each node was seen, and the usual seconds between two of its samples.

    Times without a sample that are longer than ten usual ones were not seen.
    """
    times = frame.groupby("node")["time_s"].unique().map(np.sort)
    steps = np.concatenate([np.diff(one) for one in times]) if len(times) else np.array([])
    usual_s = float(np.median(steps)) if steps.size else 0.0
    hours = {
        str(node): float(np.sum(gaps[gaps <= GAP_INTERVALS * usual_s])) / SECONDS_PER_H
        for node, gaps in times.map(np.diff).items()
    }
    return hours, usual_s


def _label(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((str(labels[name])[:200] for name in names if labels.get(name)), "")
