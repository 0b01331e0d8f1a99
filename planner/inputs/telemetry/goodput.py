"""ml-goodput-measurement: time of training jobs by what it went into, as Cloud Monitoring lists it.

The library sends running sums of each job, so that the last point of a series is the whole.

Source: Google, ml-goodput-measurement, BadputType and metrics compute.googleapis.com/workload/*; Cloud
Monitoring API v3, projects.timeSeries.list.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

WORKLOAD = "compute.googleapis.com/workload/"
PRODUCTIVE, LOST, STOPS, ELAPSED = "goodput_time", "badput_time", "disruptions", "total_elapsed_time"
SUMS = "CUMULATIVE"  # the window of running sums; those of the last minutes are another
MOST_S = 100 * 365.25 * 86400.0


@dataclass(frozen=True, slots=True)
class LostTime:
    """Jobs together: seconds in all, of steps that count and by class of lost time; stops, and moments."""

    jobs: int
    elapsed_s: float
    productive_s: float
    lost_s: Mapping[str, float]
    stops: int
    first_s: float
    last_s: float
    left_out: int


def is_goodput(held: Any) -> bool:
    """Whether this lists time series of workloads."""
    series = held.get("timeSeries") if isinstance(held, Mapping) else None
    return isinstance(series, list) and any(_measure(one) for one in series)


def read_goodput(held: Mapping[str, Any]) -> LostTime:
    """What all jobs of a list come to; series without a number from 0 up are counted and left out."""
    last: dict[tuple[str, str, str], tuple[float, float]] = {}
    left_out = 0
    for one in held["timeSeries"]:
        measure = _measure(one)
        labels = _labels(one, "metric")
        if (
            measure not in (PRODUCTIVE, LOST, STOPS, ELAPSED)
            or labels.get("window_type", SUMS).upper() != SUMS
        ):
            continue
        found = max(_points(one), default=None)
        if found is None:
            left_out += 1
            continue
        key = measure, labels.get("badput_source", ""), _labels(one, "resource").get("workload_id", "")
        last[key] = max(found, last.get(key, found))
    sums, lost_s = defaultdict[str, float](float), defaultdict[str, float](float)
    for (measure, source, _), (_, value) in last.items():
        sums[measure] += value
        if measure == LOST:
            lost_s[source] += value
    ends = [time_s for time_s, _ in last.values()]
    end_s = max(ends, default=0.0)
    return LostTime(
        jobs=len({job for _, _, job in last}),
        elapsed_s=sums[ELAPSED],
        productive_s=sums[PRODUCTIVE],
        lost_s=dict(lost_s),
        stops=round(sums[STOPS]),
        first_s=max(0.0, end_s - sums[ELAPSED]),
        last_s=end_s,
        left_out=left_out,
    )


def _measure(one: Any) -> str:
    """What a series measures; empty where it is not of a workload."""
    kind = one.get("metric") if isinstance(one, Mapping) else None
    text = kind.get("type") if isinstance(kind, Mapping) else None
    return text.removeprefix(WORKLOAD) if isinstance(text, str) and text.startswith(WORKLOAD) else ""


def _labels(one: Any, part: str) -> dict[str, str]:
    held = one.get(part) if isinstance(one, Mapping) else None
    labels = held.get("labels") if isinstance(held, Mapping) else None
    return (
        {str(key): str(value)[:200] for key, value in labels.items()} if isinstance(labels, Mapping) else {}
    )


def _points(one: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    """Moments and values of a series."""
    points = one.get("points")
    for point in points if isinstance(points, list) else []:
        held = point if isinstance(point, Mapping) else {}
        interval, said = held.get("interval"), held.get("value")
        text = interval.get("endTime") if isinstance(interval, Mapping) else None
        number = said.get("doubleValue", said.get("int64Value")) if isinstance(said, Mapping) else None
        try:
            moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
            value = float(number) if isinstance(number, int | float | str) else math.nan
            time_s = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            continue
        if 0 <= value <= MOST_S and time_s >= 0:
            yield time_s, value
