"""The chart of how close ours come to published values."""

from __future__ import annotations

from typing import Any

from planner.report.charts.accuracy import WIDEST_PERCENT, errors_by_name


def group(name: str, worst: float) -> dict[str, Any]:
    return {"name": name, "scored": 3, "median_error": 0.02, "worst_error": worst, "worst_id": f"{name}-1"}


def test_an_error_beyond_the_axis_is_written_before_its_tick() -> None:
    """Behind it there is no room, least of all on a phone; the words say the error itself."""
    picture = errors_by_name([group("power", 0.42), group("recommendation", 1.7)])
    assert picture is not None
    spec = picture.chart.to_dict()
    power, far = sorted(spec["data"]["values"], key=lambda row: row["worst"])
    text = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "text")

    assert (power["label"], power["beyond"]) == ("42 %", False)
    assert (far["worst"], far["label"], far["beyond"]) == (WIDEST_PERCENT, "170 % (beyond the axis)", True)
    assert text["mark"]["align"] == {"expr": "datum.beyond ? 'right' : 'left'"}
    assert "recommendation: median 2.0 %, worst 170 %" in picture.alt
