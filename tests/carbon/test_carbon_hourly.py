"""Hourly series: signals never mix, gaps are counted, days have 23 to 25 hours, years 8,760 or 8,784."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carbon.hourly import (
    HourlyIntensity,
    filled,
    mix_kgco2e_per_kwh,
    year_hours,
)
from carbon.shifting import best_hours_kgco2e_per_kwh, best_window_kgco2e_per_kwh
from carbon.signals import GridSignal
from carbon.synthetic import GridProfile, synthetic_kgco2e_per_kwh

DIRECT = GridSignal("average", "direct", "production")
LIFE_CYCLE = GridSignal("average", "life-cycle", "production")
FIRST = np.datetime64("2024-01-01T00")
GAP = float("nan")


def series(*values, zone="home", signal=DIRECT, first=FIRST):
    return HourlyIntensity(zone, signal, first, np.array(values, dtype=float))


# ---- signals


@pytest.mark.parametrize(
    "tag",
    ["average/direct/production", "marginal/life-cycle/consumption", "average/direct/consumption/market"],
)
def test_a_signal_reads_back_from_its_tag(tag):
    """The tag is what facts carry as `grid=`; location-based is the rule and not written."""
    assert str(GridSignal.parse(tag)) == tag


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("average", "written like average/direct/production, got 'average'"),
        ("mean/direct/production", "weighting is average or marginal, got 'mean'"),
        ("average/lca/production", "scope is direct or life-cycle, got 'lca'"),
    ],
)
def test_a_tag_that_is_no_signal_is_refused(tag, message):
    with pytest.raises(ValueError, match=message):
        GridSignal.parse(tag)


# ---- gaps and hours


def test_gaps_are_counted_and_filled_by_the_rule_asked_for():
    """A line from 0.2 to 0.5 over two missing hours: 0.3, 0.4; the last hour has no right neighbour."""
    with_gaps = series(0.2, GAP, GAP, 0.5, GAP)
    got = filled(series=with_gaps, rule="line", longest_gap_hours=2)

    assert with_gaps.missing_hours == got.filled_hours == 3
    assert with_gaps.mean_kgco2e_per_kwh == pytest.approx(0.35)
    assert got.series.grid_kgco2e_per_kwh == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"3 of 5 hours are missing, first 2024-01-01T01Z: fill them"):
        with_gaps.complete()
    with pytest.raises(ValueError, match="a gap of 2 hours, longest_gap_hours is 1"):
        filled(series=with_gaps, rule="line", longest_gap_hours=1)


def test_a_gap_over_two_days_takes_the_same_hour_before_it():
    """Hours 30 to 53 are missing: 30 to 47 repeat 6 to 23, the rest repeat what was filled."""
    values = np.linspace(0.1, 0.9, 72)
    values[30:54] = GAP
    got = filled(series=series(*values), rule="day before", longest_gap_hours=24).series.grid_kgco2e_per_kwh

    assert got[30:54] == pytest.approx(got[6:30])
    with pytest.raises(ValueError, match="no day before it: fill by 'line'"):
        filled(series=series(0.1, GAP), rule="day before", longest_gap_hours=9)


@pytest.mark.parametrize(("year", "hours"), [(2023, 8760), (2024, 8784), (1900, 8760), (2000, 8784)])
def test_leap_years_have_a_day_more(year, hours):
    """Divisible by 4, not by 100 unless by 400: the Gregorian rule."""
    assert year_hours(year) == hours


@given(
    st.lists(st.sampled_from([23, 24, 25]), min_size=1, max_size=9), st.integers(1, 23), st.integers(0, 99)
)
def test_days_of_other_lengths_are_weighed_one_by_one(lengths, best, seed):
    """Independent route: a Python loop over the days, sorting each."""
    grid = np.random.default_rng(seed).random(sum(lengths))
    days = np.split(grid, np.cumsum(lengths)[:-1])
    lowest = [np.sort(day)[:best].mean() for day in days]
    windows = [min(day[s : s + best].mean() for s in range(len(day) - best + 1)) for day in days]

    got = best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, best_hours=best, day_hours=lengths)
    assert got == pytest.approx(np.mean(lowest))
    got = best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, window_hours=best, day_hours=lengths)
    assert got == pytest.approx(np.mean(windows))


def test_local_days_must_cover_the_series():
    with pytest.raises(ValueError, match="day_hours add up to the 48 hours of the series, got 47"):
        best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(48), best_hours=8, day_hours=(24, 23))


# ---- when the job really draws power


def test_intensity_of_a_generation_mix():
    """IPCC medians for 60 % gas (490) and 40 % wind (11): 298.4 g/kWh."""
    got = mix_kgco2e_per_kwh(
        generation_kwh=np.array([[60.0, 40.0], [0.0, 7.0]]), source_kgco2e_per_kwh=np.array([0.490, 0.011])
    )

    assert got == pytest.approx([0.2984, 0.011])
    with pytest.raises(ValueError, match="sum_of_generation_kwh is finite and above 0"):
        mix_kgco2e_per_kwh(generation_kwh=np.zeros(2), source_kgco2e_per_kwh=np.ones(2))


# ---- synthetic profile


PLAIN = {
    "solar_fraction": 0.0,
    "evening_fraction": 0.0,
    "evening_h": 19.0,
    "evening_width_h": 3.0,
    "season_fraction": 0.0,
    "season_day": 15.0,
    "weather_fraction": 0.0,
    "weather_h": 24.0,
}


def synthetic(year=2023, **changes):
    return synthetic_kgco2e_per_kwh(
        yearly_kgco2e_per_kwh=0.3,
        year=year,
        latitude_deg=40.0,
        longitude_deg=0.0,
        profile=GridProfile(**{**PLAIN, **changes}),
        seed=1,
    )


@pytest.mark.slow
@given(solar=st.floats(0, 0.2), evening=st.floats(0, 0.5), weather=st.floats(0, 0.5))
def test_a_synthetic_year_keeps_the_yearly_mean(solar, evening, weather):
    """Scaled to it, whatever the shape; nothing is negative."""
    got = synthetic(solar_fraction=solar, evening_fraction=evening, weather_fraction=weather)

    assert got.mean() == pytest.approx(0.3, rel=1e-12)
    assert got.min() >= 0


def test_each_part_of_a_synthetic_year_does_what_it_says():
    """Flat without parts; lowest at solar noon; highest at the evening hour; a leap year has its day."""
    assert synthetic() == pytest.approx(np.full(8760, 0.3))
    assert len(synthetic(year=2024)) == 8784
    assert set(synthetic(solar_fraction=0.15).reshape(-1, 24).argmin(axis=1)) <= {11, 12}
    assert set(synthetic(evening_fraction=0.2).reshape(-1, 24).argmax(axis=1)) <= {18, 19}
    assert synthetic(season_fraction=0.2).argmax() // 24 in (14, 15)
    noise = np.log(synthetic(weather_fraction=0.1))
    assert np.std(noise) == pytest.approx(0.1, rel=0.15)
    assert np.corrcoef(noise[:-24], noise[24:])[0, 1] == pytest.approx(np.exp(-1), abs=0.1)


def test_more_sun_than_power_is_refused():
    with pytest.raises(ValueError, match="more than all power at noon in summer"):
        synthetic(solar_fraction=0.5)
