"""Samples of monitoring as one table, built row by row within limits."""

from __future__ import annotations

import math
from collections import Counter as Count
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from planner.inputs.telemetry.counters import COUNTERS
from planner.trace.errors import InputError
from planner.trace.numbers import count_text

MOST_SAMPLES = 2_000_000  # three days of 64 accelerators and six counters, every minute
LARGEST = 1e18  # as of a metered number
FIRST_S, LAST_S = 0.0, 253_402_300_799.0  # 1970 to the last second of 9999
COLUMNS = ("counter", "quantity", "node", "device", "model", "time_s", "value")
# What labels call a node, an accelerator and its kind, by exporter; the first that is there counts.
NODE = ("Hostname", "hostname", "node", "host.name", "kubernetes_node", "instance")
DEVICE = ("UUID", "uuid", "gpu", "hw.id", "device", "engine")
MODEL = ("modelName", "modelname", "hw.model", "model_name")


@dataclass
class Samples:
    """What was read so far, and what was left out, by reason."""

    name: str
    rows: list[tuple[str, str, str, str, str, float, float]] = field(default_factory=list)
    left_out: Count[str] = field(default_factory=Count)
    unknown: Count[str] = field(default_factory=Count)  # counters that are not understood

    def add(self, counter: str, labels: Mapping[str, str], time_s: float, value: float) -> None:
        """A sample; one that is no number, or of a counter that is not understood, is counted and left out.

        Raises:
            InputError: there are too many.
        """
        known = COUNTERS.get(counter)
        if known is None:
            self.unknown[counter] += 1
            return
        if not (FIRST_S <= time_s <= LAST_S):
            self.left_out["a time of no calendar"] += 1
            return
        if not math.isfinite(value) or not 0 <= value <= LARGEST:
            self.left_out["no number from 0 to 1e18"] += 1
            return
        if len(self.rows) >= MOST_SAMPLES:
            raise InputError(
                f"{self.name}: holds more than {count_text(MOST_SAMPLES)} samples: query a longer step, or "
                "fewer counters"
            )
        node, device, model = (_label(labels, names) for names in (NODE, DEVICE, MODEL))
        self.rows.append((counter, known.quantity, node, device, model, time_s, value * known.scale))

    def frame(self) -> pd.DataFrame:
        """Samples in order of time, one of each series a moment."""
        found = pd.DataFrame(self.rows, columns=list(COLUMNS))
        keys = ["quantity", "node", "device", "time_s"]
        return found.drop_duplicates(keys, keep="last").sort_values("time_s", kind="stable")


def _label(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((str(labels[name])[:200] for name in names if labels.get(name)), "")
