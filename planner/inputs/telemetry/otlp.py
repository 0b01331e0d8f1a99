"""OpenTelemetry: metrics as OTLP JSON, one export or one a line.

Source: OpenTelemetry protocol, opentelemetry/proto/metrics/v1/metrics.proto in its JSON mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.telemetry.samples import Samples

NANOSECONDS_PER_S = 1e9
POINTS = ("gauge", "sum")


def is_otlp(held: Any) -> bool:
    """Whether this is an export of metrics."""
    return isinstance(held, Mapping) and isinstance(held.get("resourceMetrics"), list)


def read_export(held: Mapping[str, Any], samples: Samples) -> None:
    """Samples of one export; the labels of a point go before those of its resource."""
    for resource in _tables(held.get("resourceMetrics")):
        shared = _attributes(_inside(resource, "resource"))
        for scope in _tables(resource.get("scopeMetrics")):
            for metric in _tables(scope.get("metrics")):
                for kind in POINTS:
                    for point in _tables(_inside(metric, kind).get("dataPoints")):
                        _add(samples, str(metric.get("name", "")), shared, point)


def _add(samples: Samples, name: str, shared: dict[str, str], point: Mapping[str, Any]) -> None:
    labels = shared | _attributes(point)
    if name in ("hw.power", "hw.energy") and labels.get("hw.type", "gpu") != "gpu":
        samples.left_out["power or energy of what is no accelerator"] += 1
        return
    if name == "hw.gpu.utilization" and labels.get("hw.gpu.task", "general") != "general":
        return  # encoders and decoders of video
    value = point.get("asDouble", point.get("asInt"))
    time_s = _number(point.get("timeUnixNano")) / NANOSECONDS_PER_S
    samples.add(samples.key(name, labels), time_s, _number(value))


def _attributes(held: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for one in _tables(held.get("attributes")):
        value = _inside(one, "value")
        said = next((value[key] for key in ("stringValue", "intValue", "doubleValue") if key in value), None)
        if said is not None and isinstance(one.get("key"), str):
            found[one["key"]] = str(said)
    return found


def _tables(held: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(held, list):
        yield from (one for one in held if isinstance(one, Mapping))


def _inside(held: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = held.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(said: Any) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return float("nan")
    try:
        return float(said)
    except (ValueError, OverflowError):
        return float("nan")
