"""Grid factors against the EPA's, shifting against three years of real hours in four zones."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from carbon.grid import (
    market_kgco2e_per_kwh,
    pounds_kgco2e_per_kwh,
    projected_kgco2e_per_kwh,
    weighted_kgco2e_per_kwh,
)
from carbon.shifting import best_hours_kgco2e_per_kwh, best_window_kgco2e_per_kwh

TWO_DAYS = arrays(float, 48, elements=st.floats(0, 1.2))

# Life-cycle intensity, UTC days: yearly mean, best 8 hours a day, best 6 hours in a row, in g/kWh to 0.1.
SHIFTING = [
    ("US-CAL-CISO", 2021, 274.3, 204.8, 198.7),
    ("US-CAL-CISO", 2022, 261.3, 191.3, 185.7),
    ("US-CAL-CISO", 2023, 261.2, 193.6, 188.7),
    ("ES", 2021, 174.3, 152.4, 150.9),
    ("ES", 2022, 219.3, 184.4, 181.7),
    ("ES", 2023, 160.1, 120.2, None),
    ("NO", 2021, 32.3, 29.0, 29.1),
    ("NO", 2023, 34.1, 30.7, 30.6),
    ("BR", 2021, 171.0, 157.4, 157.6),
    ("BR", 2022, 92.8, 85.0, 85.4),
    ("BR", 2023, 83.1, 76.3, 76.6),
]


@pytest.fixture(scope="module")
def hours(shared):
    """Life-cycle intensity of a zone and year, hour by hour, in kgCO2e/kWh."""

    def read(zone, year):
        path = shared / "data" / "grid_hourly_electricitymaps" / f"{zone}_{year}_hourly.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            column = next(name for name in rows.fieldnames if name.endswith("(LCA)"))
            return np.array([float(row[column]) for row in rows]) / 1000

    return read


@pytest.mark.parametrize(("lb_per_mwh", "g_per_kwh"), [(429.983, 195.037), (596.326, 270.489)])
def test_epa_prints_pounds(lb_per_mwh, g_per_kwh):
    """EPA eGRID2023 rev 2: California (CAMX) and Virginia/Carolina (SRVC)."""
    assert 1000 * pounds_kgco2e_per_kwh(lb_per_mwh=lb_per_mwh) == pytest.approx(g_per_kwh, rel=1e-5)


@pytest.mark.parametrize(("zone", "year", "mean", "best_8", "window_6"), SHIFTING)
def test_shifting_on_real_hours(hours, zone, year, mean, best_8, window_6):
    """Worked apart from this program on Electricity Maps' hourly data, printed to 0.1 g/kWh.

    The tolerance is half of the last digit, and a tenth of that for values that were rounded twice.
    """
    series = hours(zone, year)

    assert len(series) == 8760
    assert 1000 * weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, load_kwh=1.0) == pytest.approx(
        mean, abs=0.055
    )
    got = best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, best_hours=8)
    assert 1000 * got == pytest.approx(best_8, abs=0.055)
    if window_6 is not None:
        got = best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, window_hours=6)
        assert 1000 * got == pytest.approx(window_6, abs=0.055)


def test_california_2023_to_more_digits(hours):
    """The same data to 0.05 %: mean 261.16, best eight hours of each day 193.59 g/kWh."""
    series = hours("US-CAL-CISO", 2023)

    assert 1000 * weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, load_kwh=1.0) == pytest.approx(
        261.16, rel=5e-4
    )
    got = best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, best_hours=8)
    assert 1000 * got == pytest.approx(193.59, rel=5e-4)


@given(series=TWO_DAYS, hours=st.integers(1, 24))
def test_hours_chosen_freely_are_never_worse_than_a_window_nor_that_than_the_mean(series, hours):
    """Each is the best of a larger choice; with all 24 hours there is no choice."""
    free = best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, best_hours=hours)
    window = best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, window_hours=hours)
    tolerance = 1e-12

    assert free <= window + tolerance
    assert window <= series.reshape(2, 24).max(axis=1).mean() + tolerance
    assert free <= series.mean() + tolerance
    if hours == 24:
        assert free == pytest.approx(series.mean())
        assert window == pytest.approx(series.mean())


def test_the_best_hours_of_a_day_made_by_hand():
    """A day of 1.0 with hours 3, 4 and 20 at 0.2, 0.4 and 0.1: two free hours 0.15, two in a row 0.3."""
    day = np.ones(24)
    day[[3, 4, 20]] = [0.2, 0.4, 0.1]

    assert best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=day, best_hours=2) == pytest.approx(0.15)
    assert best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=day, window_hours=2) == pytest.approx(0.3)


def test_a_zone_per_row():
    """Two zones at once give what each gives alone: series lie along the last axis."""
    zones = np.array([np.linspace(0.1, 0.5, 48), np.linspace(0.9, 0.2, 48)])
    load = np.tile(np.arange(24.0), 2)

    for got, alone in [
        (
            best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=zones, best_hours=5),
            [best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=zone, best_hours=5) for zone in zones],
        ),
        (
            best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=zones, window_hours=5),
            [best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=zone, window_hours=5) for zone in zones],
        ),
        (
            weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=zones, load_kwh=load),
            [weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=zone, load_kwh=load) for zone in zones],
        ),
    ]:
        assert got == pytest.approx(alone)


@given(series=TWO_DAYS, load=arrays(float, 48, elements=st.floats(0.01, 10)), times=st.floats(0.1, 10))
def test_the_weighted_mean_gives_back_the_carbon_hour_by_hour(series, load, times):
    """Energy times the weighted mean is the sum over the hours; the size of the load does not matter."""
    mean = weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, load_kwh=load)

    assert mean * load.sum() == pytest.approx(float(series @ load))
    assert weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=series, load_kwh=times * load) == pytest.approx(mean)


def test_a_grid_that_declines():
    """3 % a year for ten years leaves 73.7 %; nothing happens in no time."""
    years = np.array([0.0, 10.0])
    got = projected_kgco2e_per_kwh(grid_kgco2e_per_kwh=0.35, decline_fraction_per_y=0.03, years_ahead_y=years)

    assert got == pytest.approx([0.35, 0.35 * 0.737424], rel=1e-6)


def test_market_based_takes_the_residual_mix():
    """A quarter without contract at a residual mix of 0.5 kg/kWh: 0.125, whatever the grid average is."""
    got = market_kgco2e_per_kwh(
        contracted_fraction=0.75, contract_kgco2e_per_kwh=0.0, residual_kgco2e_per_kwh=0.5
    )

    assert got == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(25), best_hours=8),
            "whole days of 24 hours, got 25 hours",
        ),
        (
            lambda: best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(24), best_hours=0),
            "best_hours is a number of hours of a day, 1 to 24, got 0",
        ),
        (
            lambda: best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(24), window_hours=25),
            "window_hours is a number of hours of a day, 1 to 24, got 25",
        ),
        (
            lambda: best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.full(24, np.nan), best_hours=8),
            "grid_kgco2e_per_kwh is finite and at least 0, got nan",
        ),
        (
            lambda: weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(24), load_kwh=np.full(24, -1.0)),
            "load_kwh is finite and at least 0, got -1",
        ),
        (
            lambda: weighted_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(24), load_kwh=np.zeros(24)),
            "sum_of_load_kwh is finite and above 0, got 0",
        ),
    ],
)
def test_hours_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
