"""Shifting against brute force, against bounds, and on real hours; a forecast never sees the future."""

import csv
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from carbon.grid import weighted_kgco2e_per_kwh
from carbon.hourly import HourlyIntensity
from carbon.pausing import chosen_hours
from carbon.shifting import (
    best_hours_kgco2e_per_kwh,
    best_starts,
    best_window_kgco2e_per_kwh,
    forecast_kgco2e_per_kwh,
    forecast_starts,
    run_kgco2e_per_kwh,
)
from carbon.shifts import Shift, pause_shift, place_shift, start_shift
from carbon.signals import GridSignal, MixedSignals

SIGNAL = GridSignal("average", "life-cycle", "consumption")
FIRST = np.datetime64("2023-01-01T00")
TWO_DAYS = arrays(float, 48, elements=st.floats(0, 1.2))


def random_grid(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def hourly(values, zone="home", signal=SIGNAL):
    return HourlyIntensity(zone, signal, FIRST, values)


@pytest.fixture(scope="module")
def real(shared):
    """Life-cycle intensity of a zone in 2023, hour by hour."""

    def read(zone):
        path = shared / "data" / "grid_hourly_electricitymaps" / f"{zone}_2023_hourly.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            place = next(i for i, name in enumerate(next(rows)) if name.endswith("(LCA)"))
            return hourly(np.array([float(row[place]) for row in rows]) / 1000, zone)

    return read


# ---- runs that cannot be paused


@given(grid=TWO_DAYS, run=st.integers(1, 12), slack=st.integers(0, 30))
def test_the_best_start_is_that_of_trying_each(grid, run, slack):
    """Independent route: a Python loop over every arrival and every wait."""
    got = best_starts(grid_kgco2e_per_kwh=grid, run_hours=run, slack_hours=slack)
    tried = [
        min(grid[a + w : a + w + run].mean() for w in range(slack + 1)) for a in range(48 - run - slack + 1)
    ]

    assert got.grid_kgco2e_per_kwh == pytest.approx(tried, abs=1e-12)
    assert (got.wait_hours >= 0).all()
    assert (got.wait_hours <= slack).all()


def test_of_equal_starts_the_earliest_is_taken():
    """On a flat grid nothing is gained by waiting, so nobody waits."""
    got = best_starts(grid_kgco2e_per_kwh=np.full(100, 0.25), run_hours=4, slack_hours=40)

    assert not got.wait_hours.any()


def test_waits_by_forecast_are_those_of_a_plain_loop():
    """Each arrival: the mean of the last three days by hour, repeated, and the start that looks best."""
    grid, run, slack, days = random_grid(300), 30, 40, 3
    got = forecast_starts(grid_kgco2e_per_kwh=grid, run_hours=run, slack_hours=slack, forecast_days=days)

    assert got.first_arrival == 72
    assert len(got.wait_hours) == 300 - 72 - run - slack + 1
    for n, wait in enumerate(got.wait_hours):
        now = 72 + n
        typical = np.mean([grid[now - 24 * d : now - 24 * d + 24] for d in range(1, days + 1)], axis=0)
        looks = [typical[np.arange(w, w + run) % 24].sum() for w in range(24)]
        assert looks[wait] == pytest.approx(min(looks))
        assert got.grid_kgco2e_per_kwh[n] == pytest.approx(grid[now + wait : now + wait + run].mean())


@given(now=st.integers(48, 120), seed=st.integers(0, 50))
def test_a_forecast_does_not_see_the_future(now, seed):
    """Whatever comes from an arrival on, the wait chosen for it is the same."""
    grid, other = random_grid(200, seed=seed), random_grid(200, seed=seed + 1)
    other[:now] = grid[:now]
    waits = [
        forecast_starts(grid_kgco2e_per_kwh=one, run_hours=5, slack_hours=20, forecast_days=2).wait_hours[
            now - 48
        ]
        for one in (grid, other)
    ]
    windows = [
        forecast_kgco2e_per_kwh(grid_kgco2e_per_kwh=one, window_hours=40, forecast_days=2)
        for one in (grid, other)
    ]
    begins = now // 40 * 40

    assert waits[0] == waits[1]
    assert windows[0][: begins + 40] == pytest.approx(windows[1][: begins + 40], nan_ok=True)


def test_a_grid_that_repeats_is_forecast_without_error():
    """With the same day every day, yesterday is today: the forecast reaches the bound."""
    day = random_grid(24)
    series = hourly(np.tile(day, 30))
    start = start_shift(series=series, run_hours=6, slack_hours=23, forecast_days=1)
    pause = pause_shift(series=series, run_hours=6, window_hours=24, pauses=2, forecast_days=1)

    for got in (start, pause):
        assert got.moved_kgco2e_per_kwh == pytest.approx(got.bound_kgco2e_per_kwh)
        assert got.unmoved_kgco2e_per_kwh == pytest.approx(day.mean(), rel=0.02)
        assert got.bound_fraction > 0.1


def test_the_forecast_of_a_window_uses_whole_days_before_it():
    """Two-day windows: hour 30 of the one from hour 96 on looks two days back, to hour 78; D = 2 adds 54."""
    grid = np.arange(192.0) / 1000
    got = forecast_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, window_hours=48, forecast_days=2)

    assert got[96 + 30] == pytest.approx((0.078 + 0.054) / 2)
    assert got[96 + 5] == pytest.approx((0.077 + 0.053) / 2)
    assert np.isnan(got[:48]).all()


# ---- runs with pauses


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("run", "pauses"), [(1, 0), (3, 0), (3, 1), (4, 2), (5, 9), (8, 1)])
def test_chosen_hours_are_those_of_trying_every_choice(run, pauses, seed):
    """Independent route: all ways to take k of 8 hours with at most p + 1 unbroken runs."""
    grid = random_grid(3, 8, seed=seed)
    got = chosen_hours(grid_kgco2e_per_kwh=grid, run_hours=run, window_hours=8, pauses=pauses)

    for window, mask in zip(grid, got, strict=True):
        tried = (
            window[list(hours)].sum()
            for hours in combinations(range(8), run)
            if sum(b > a + 1 for a, b in pairwise(hours)) <= pauses
        )
        hours = np.flatnonzero(mask)
        assert len(hours) == run
        assert np.sum(np.diff(hours) > 1) <= pauses
        assert window[mask].sum() == pytest.approx(min(tried))


@given(grid=TWO_DAYS, run=st.integers(1, 24))
def test_no_pause_is_the_best_window_and_many_are_the_best_hours(grid, run):
    """The ends of the scale, by two other functions; each further pause helps or does nothing."""
    met = [
        weighted_kgco2e_per_kwh(
            grid_kgco2e_per_kwh=grid,
            load_kwh=chosen_hours(
                grid_kgco2e_per_kwh=grid, run_hours=run, window_hours=24, pauses=pauses
            ).astype(float),
        )
        for pauses in (0, 1, 2, 23)
    ]

    assert met[0] == pytest.approx(
        best_window_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, window_hours=run), abs=1e-12
    )
    assert met[-1] == pytest.approx(
        best_hours_kgco2e_per_kwh(grid_kgco2e_per_kwh=grid, best_hours=run), abs=1e-12
    )
    assert all(more <= fewer + 1e-12 for fewer, more in pairwise(met))


# ---- what may be said


def test_california_2023_can_have_most_of_its_bound(real):
    """8 of 24 hours: the bound is 25.9 % (reference), yesterday's hours get within two points of it."""
    got = pause_shift(series=real("US-CAL-CISO"), run_hours=8, window_hours=24, pauses=7, forecast_days=1)

    assert got.bound_fraction == pytest.approx(0.2587, abs=5e-4)
    assert got.bound_fraction - 0.02 < got.saving_fraction < got.bound_fraction


def test_norway_2023_keeps_little_of_its_bound(real):
    """Bound 10 %: a good part of it is weather, which no forecast by the clock can have."""
    got = start_shift(series=real("NO"), run_hours=6, slack_hours=18, forecast_days=7)

    assert got.bound_fraction == pytest.approx(0.0984, abs=5e-4)
    assert 0.4 < got.saving_fraction / got.bound_fraction < 0.8


def test_place_beats_time_by_far(real):
    """From California to Norway saves 88 %, waiting at home 27 %: by place, nearly the bound is had."""
    home = real("US-CAL-CISO")
    got = place_shift(
        home=home, others=[real("NO"), real("ES")], run_hours=6, slack_hours=12, forecast_days=7
    )
    stay = start_shift(series=home, run_hours=6, slack_hours=12, forecast_days=7)

    assert got.saving_fraction > 3 * stay.saving_fraction
    assert got.saving_fraction > 0.98 * got.bound_fraction


@given(seed=st.integers(0, 30), run=st.integers(1, 30), slack=st.integers(0, 30), days=st.integers(1, 3))
def test_no_forecast_beats_the_bound(seed, run, slack, days):
    """Of starts, of pauses and of places; with a home alone, places are starts."""
    home, away = hourly(random_grid(240, seed=seed)), hourly(random_grid(240, seed=seed + 99), "away")
    ways = {"run_hours": run, "slack_hours": slack, "forecast_days": days}
    start, place = start_shift(series=home, **ways), place_shift(home=home, others=[away], **ways)
    pause = pause_shift(
        series=home, run_hours=min(run, 24), window_hours=24, pauses=slack, forecast_days=days
    )

    for got in (start, place, pause):
        assert got.bound_kgco2e_per_kwh <= min(got.moved_kgco2e_per_kwh, got.unmoved_kgco2e_per_kwh) + 1e-12
    assert place_shift(home=home, others=[], **ways) == start
    assert place.bound_kgco2e_per_kwh <= start.bound_kgco2e_per_kwh + 1e-12


def test_only_a_marginal_signal_says_what_the_grid_emits_less():
    """An average one moves shares of an inventory; a market-based one is refused."""
    marginal = Shift(GridSignal("marginal", "direct", "production"), 0.5, 0.4, 0.3)
    average = Shift(SIGNAL, 0.5, 0.4, 0.3)

    assert marginal.claim.startswith("emissions that the move avoids")
    assert average.claim.endswith("not what the grid emits less")
    assert (average.saving_fraction, average.bound_fraction) == (pytest.approx(0.2), pytest.approx(0.4))
    assert Shift(SIGNAL, 0.0, 0.0, 0.0).saving_fraction == 0.0
    with pytest.raises(
        MixedSignals, match="average/direct/production/market: moving work changes no contract"
    ):
        Shift(GridSignal("average", "direct", "production", "market"), 0.5, 0.4, 0.3)


def test_sites_of_other_signals_are_not_compared():
    direct = hourly(random_grid(240), "away", GridSignal("average", "direct", "consumption"))

    with pytest.raises(MixedSignals, match=r"home is average/life-cycle/.* and away is average/direct/"):
        place_shift(
            home=hourly(random_grid(240)), others=[direct], run_hours=4, slack_hours=2, forecast_days=1
        )


def test_fifty_sites_give_what_each_gives_alone():
    """A year of 50 sites at once; three of them again by themselves."""
    grid = random_grid(50, 8760)
    all_sites = best_starts(grid_kgco2e_per_kwh=grid, run_hours=6, slack_hours=168)

    assert all_sites.grid_kgco2e_per_kwh.shape == (50, 8760 - 6 - 168 + 1)
    for site in (0, 21, 49):
        alone = best_starts(grid_kgco2e_per_kwh=grid[site], run_hours=6, slack_hours=168)
        assert (all_sites.wait_hours[site] == alone.wait_hours).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: run_kgco2e_per_kwh(grid_kgco2e_per_kwh=np.ones(5), run_hours=6),
            "together at most the 5 hours of the series, got 6 and 0",
        ),
        (
            lambda: best_starts(grid_kgco2e_per_kwh=np.ones(9), run_hours=6, slack_hours=-1),
            "slack_hours at least 0, .* got 6 and -1",
        ),
        (
            lambda: forecast_starts(
                grid_kgco2e_per_kwh=np.ones(48), run_hours=6, slack_hours=0, forecast_days=2
            ),
            "forecast_days is a number of days of the series, at least 1, got 2",
        ),
        (
            lambda: forecast_starts(
                grid_kgco2e_per_kwh=np.ones(50), run_hours=6, slack_hours=0, forecast_days=2
            ),
            "forecast_days 2 leave no arrival in 50 hours",
        ),
        (
            lambda: chosen_hours(grid_kgco2e_per_kwh=np.ones(30), run_hours=6, window_hours=24, pauses=0),
            "whole windows of 24 hours, got 30",
        ),
        (
            lambda: chosen_hours(grid_kgco2e_per_kwh=np.ones(24), run_hours=25, window_hours=24, pauses=0),
            "run_hours is a number of hours of a window, 1 to 24, got 25",
        ),
        (
            lambda: chosen_hours(grid_kgco2e_per_kwh=np.ones(24), run_hours=2, window_hours=24, pauses=-1),
            "pauses is a count, at least 0, got -1",
        ),
        (
            lambda: best_starts(grid_kgco2e_per_kwh=np.full(9, np.nan), run_hours=2, slack_hours=1),
            "grid_kgco2e_per_kwh is finite and at least 0, got nan",
        ),
    ],
)
def test_moves_that_make_no_sense_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
