"""The shipped hours of US grids: each step from EIA's form 930 to the file, on a small piece in its form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies import eia_hours
from planner.inputs.loading import load_catalogue

HOURS = 96
KINDS = {"Coal": 1_000.0, "Natural Gas": 2_000.0, "Nuclear": 1_000.0, "Wind": 1_000.0}


def form(folder: Path, zone: str = "NYIS", **changes: dict[int, object]) -> Path:
    """Rows as EIA writes them, four days of the same hour; `changes` are cells by kind and hour."""
    end = pd.date_range(f"{eia_hours.YEAR}-01-01T01", periods=HOURS, freq="h")
    rows = pd.DataFrame({eia_hours.ZONE: zone, eia_hours.END: end.strftime("%m/%d/%Y %I:%M:%S %p")})
    for kind, mw in KINDS.items():
        cells: list[object] = [f"{mw:,.0f}"] * HOURS
        for hour, cell in changes.get(kind.replace(" ", "_"), {}).items():
            cells[hour] = cell
        rows[f"Net Generation (MW) from {kind}"] = pd.Series(cells, dtype=object)
    rows["Net Generation (MW) from Geothermal"] = ""  # a kind that it does not have
    path = folder / "EIA930_BALANCE_2022_Jan_Jun.csv"
    rows.to_csv(path, index=False)
    return path


def hours(path: Path, zone: str = "NYIS") -> pd.Series[float]:
    return eia_hours.series_of([path], [zone]).iloc[:, 0][:HOURS]


def per_kwh(coal: float, gas: float, others: float) -> float:
    """By hand: direct factors times generation, over all of it."""
    fact = load_catalogue().fact
    burnt: float = (
        coal * fact("energy_source.coal.direct").value + gas * fact("energy_source.gas.direct").value
    )
    return 1000.0 * burnt / (coal + gas + others)


def test_an_hour_is_generation_times_factors_and_begins_before_its_end(tmp_path: Path) -> None:
    """PJM names the start of an hour in the same column."""
    ny, pjm = hours(form(tmp_path)), hours(form(tmp_path, "PJM"), "PJM")

    assert ny.notna().all()
    assert ny.to_numpy() == pytest.approx(per_kwh(1000, 2000, 2000), abs=0.05)
    assert list(np.flatnonzero(pjm.isna())) == [0]


def test_hours_that_are_not_believed_are_gaps(tmp_path: Path) -> None:
    """A missing value, a sum that doubles, coal that drops out for two hours; plants that draw make none."""
    found = hours(form(tmp_path, Coal={30: "", 40: 0, 41: 10}, Natural_Gas={50: "9,000"}, Wind={60: "-50"}))

    assert list(np.flatnonzero(found.isna())) == [30, 40, 41, 50]
    assert found.iloc[60] == pytest.approx(per_kwh(1000, 2000, 1000), abs=0.05)


def test_nuclear_that_is_not_reported_for_days_is_a_line(tmp_path: Path) -> None:
    """New York's stood as 0 for 22 days. Half a day of it would be a gap, as in any steady source."""
    long = hours(form(tmp_path, Nuclear=dict.fromkeys(range(30, 70), 0)))
    short = hours(form(tmp_path, Nuclear=dict.fromkeys(range(30, 40), 0)))

    assert long.to_numpy() == pytest.approx(per_kwh(1000, 2000, 2000), abs=0.05)
    assert list(np.flatnonzero(short.isna())) == list(range(30, 40))


def test_the_file_has_the_form_of_the_shipped_one(tmp_path: Path) -> None:
    shipped = eia_hours.SERIES.read_text(encoding="utf-8").splitlines()
    made = eia_hours.csv_text(eia_hours.series_of([form(tmp_path)], ["NYIS"])).splitlines()

    assert shipped[0] == "time," + ",".join(f"{zone.lower()}_gco2e_per_kwh" for zone in eia_hours.ZONES)
    assert made[1].split(",")[0] == shipped[1].split(",")[0] == "2022-01-01T00Z"
    assert len(made) == HOURS + 1
