"""Traces of requests as others write them: which columns, which times, and how long a row counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.inputs.series.prices import price_rows
from planner.inputs.series.requests import hourly_requests, read_requests
from planner.inputs.series.shapes import hourly_output
from planner.trace.errors import InputError


def trace(folder: Path, header: str, *rows: str) -> Path:
    path = folder / "trace.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [
        ("timestamp,input_tokens,output_tokens", "1740960000", "1740963600"),
        ("timestamp,input_tokens,output_tokens", "1740960000000", "1740963600000"),
        ("created_at,prompt_tokens,completion_tokens", "2025-03-03T00:00:00Z", "2025-03-03T01:00:00Z"),
        ("timestamp;context_tokens;generated_tokens", "03.03.2025 00:00:00", "03.03.2025 01:00:00"),
    ],
)
def test_times_and_columns_of_others(tmp_path: Path, header: str, first: str, second: str) -> None:
    """Two requests, an hour apart from midnight of 2025-03-03 on."""
    mark = ";" if ";" in header else ","
    path = trace(tmp_path, header, f"{first}{mark}100{mark}10", f"{second}{mark}300{mark}30")
    found = read_requests(path)

    assert found.values == {"tokens_in": 200.0, "tokens_out": 20.0}
    assert dict(found.facts)["time"].startswith("2025-03-03 00:00 to 2025-03-03 01:00")


def test_a_row_of_an_hour_lasts_an_hour(tmp_path: Path) -> None:
    """24 rows are a day: they spanned 23 h, and said nothing of the rates."""
    rows = [f"2025-03-03T{hour:02d}:00Z,{3600 * (1 + (hour == 18))}" for hour in range(24)]
    path = trace(tmp_path, "hour,requests", *rows)
    found = read_requests(path)

    assert found.values["peak_rate"] == "2 /s"
    assert found.values["mean_to_peak"] == pytest.approx(25 / 24 / 2, abs=1e-4)
    assert hourly_requests(path).mean_ratio[18] == pytest.approx(2 / (25 / 24))


def test_rows_of_a_day_say_nothing_of_hours(tmp_path: Path) -> None:
    """The requests of a day fell into its first hour: a peak of 24 times the mean."""
    path = trace(tmp_path, "date,requests", *(f"2025-03-{day:02d},86400" for day in range(1, 15)))

    assert read_requests(path).values == {}
    assert read_requests(path).notes == (
        "Its rows are 24 h apart, which says nothing of hours: the rates of the service stay.",
    )
    with pytest.raises(InputError, match="its rows are 24 h apart, and hours are wanted"):
        hourly_requests(path)


def test_signs_of_currencies_with_one_meaning(tmp_path: Path) -> None:
    """A euro is a euro; a dollar is that of several countries, and is asked for."""
    row = "2025-03-03T00:00Z,80"

    assert price_rows(trace(tmp_path, "time,Price [€/MWh]", row)).unit == "EUR/MWh"
    with pytest.raises(InputError, match=r"name them for example time and price \(EUR/MWh\)"):
        price_rows(trace(tmp_path, "time,$/MWh", row))


@pytest.mark.parametrize("read", [price_rows, hourly_output])
def test_hours_of_no_zone_are_asked_for_it(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Evening prices of California are morning ones by UTC: they were taken for UTC in silence."""
    rows = ("2024-03-01 00:00,50,1", "2024-03-01 01:00,60,1")

    with pytest.raises(InputError, match="name no zone: end them with Z"):
        read(trace(tmp_path, "time,price (USD/MWh),power (MW)", *rows))
    read(trace(tmp_path, "time (UTC),price (USD/MWh),power (MW)", *rows))
