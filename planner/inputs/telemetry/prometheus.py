"""Prometheus: the JSON of `query_range` and `query`, and the text that an exporter shows.

Sources: Prometheus, HTTP API (range vectors); Prometheus and OpenMetrics, text-based formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.telemetry.samples import Key, Samples
from planner.trace.errors import InputError

_SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(?P<labels>.*)\})?\s+"
    r"(?P<value>[-+]?(?:[0-9.][0-9.eE+-]*|NaN|[iI]nf))(?:\s+(?P<time>[-+0-9.eE]+))?\s*"
)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
MILLISECONDS_FROM = 1e11  # a time above it counts milliseconds: in seconds it would be the year 5138


def is_prometheus(held: Any) -> bool:
    """Whether this is the answer of the HTTP API."""
    data = held.get("data") if isinstance(held, Mapping) else None
    return isinstance(data, Mapping) and isinstance(data.get("result"), list)


def read_answer(held: Mapping[str, Any], samples: Samples) -> None:
    """Samples of an answer of the HTTP API.

    Raises:
        InputError: it is an error, or holds no series.
    """
    if held.get("status") != "success":
        said = str(held.get("error", "its status is not success"))[:200]
        raise InputError(f"{samples.name}: Prometheus answered with an error: {said}")
    for series in held["data"]["result"]:
        labels = series.get("metric") if isinstance(series, Mapping) else None
        if not isinstance(labels, Mapping):
            samples.left_out["a series without labels"] += 1
            continue
        words = {str(key): str(value) for key, value in labels.items()}
        key = samples.key(words.get("__name__", ""), words)
        for point in _points(series):
            if isinstance(point, list) and len(point) == 2:
                samples.add(key, *_pair(point))
            else:
                samples.left_out["a point that is no pair"] += 1


def read_scrapes(text: str, samples: Samples, *, interval_s: float | None, first_s: float) -> None:
    """Samples of the text of one scrape or of several behind each other.

    Where samples have no time, a series that comes again begins the next scrape, `interval_s` later.

    Raises:
        InputError: there are several scrapes without a time, and nobody has said how far apart they are.
    """
    seen: set[tuple[str, str]] = set()
    keys: dict[tuple[str, str], Key | None] = {}
    time_s, scrapes = first_s, 1
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        found = _SAMPLE.fullmatch(line)
        if found is None:
            samples.left_out["a line that is no sample"] += 1
            continue
        stamp, series = found["time"], (found["name"], found["labels"] or "")
        if stamp is None:
            if series in seen:
                scrapes, time_s = scrapes + 1, time_s + (interval_s or 0.0)
                seen.clear()
            seen.add(series)
        if series not in keys:
            keys[series] = samples.key(series[0], _labels(series[1]))
        samples.add(keys[series], time_s if stamp is None else _seconds(stamp), _number(found["value"]))
    if scrapes > 1 and interval_s is None:
        raise InputError(
            f"{samples.name}: holds {scrapes} scrapes without times: say how far apart they are, "
            "interval_s in seconds"
        )


def _points(series: Mapping[str, Any]) -> Iterator[Any]:
    values = series.get("values")
    if isinstance(values, list):
        yield from values
    elif "value" in series:
        yield series["value"]


def _pair(point: list[Any]) -> tuple[float, float]:
    return _number(point[0]), _number(point[1])


def _number(said: Any) -> float:
    """A number as JSON or text has it; NaN where it is none."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return float("nan")
    try:
        return float(said)
    except (ValueError, OverflowError):
        return float("nan")


def _seconds(stamp: str) -> float:
    """A time of a sample: milliseconds in the text of Prometheus, seconds in OpenMetrics."""
    time = _number(stamp)
    return time / 1000.0 if time > MILLISECONDS_FROM else time


def _labels(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text) and (one := _LABEL.match(text, at)) is not None:
        found[one[1]] = re.sub(r"\\(.)", r"\1", one[2])
        at = one.end()
    return found
