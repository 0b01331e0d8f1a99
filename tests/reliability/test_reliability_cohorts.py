"""Ageing fleets: failures by age, renewals, jobs on units of several ages, and what a fit leaves open."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.cohorts import (
    AfterFailure,
    cohort_failures,
    cohort_forecast,
    renewal_failures,
)
from reliability.fitting import fit_exponential, fit_weibull
from reliability.lifetimes import Exponential, Weibull, expected_failures

YEAR_H = 8760.0


@dataclass(frozen=True)
class Erlang2:
    """Two exponential stages of mean 1: H(t) = t - ln(1 + t)."""

    def cumulative_hazard(self, *, age_h):
        return age_h - np.log1p(age_h)


# Renewals


@pytest.mark.parametrize("window_h", [0.5, 2.0, 10.0])
def test_renewals_of_two_stages_against_the_closed_form(window_h):
    """M(t) = t / 2 - 1 / 4 + e^(-2t) / 4 for two exponential stages (Barlow and Proschan 1965, chapter 3)."""
    known = window_h / 2 - 0.25 + math.exp(-2 * window_h) / 4

    assert renewal_failures(Erlang2(), age_h=0.0, window_h=window_h) == pytest.approx(known, rel=2e-6)


@given(age=st.floats(0, 50), window=st.floats(0.01, 10))
def test_renewals_without_ageing_come_at_one_rate(age, window):
    """Exponential: w / mean, at any age and though it was replaced; 3e-5 off at ten mean lives."""
    ours = renewal_failures(Exponential(mean_h=1.0), age_h=age, window_h=window)

    assert ours == pytest.approx(window, rel=3e-5)


@pytest.mark.parametrize(("shape", "age_h"), [(0.5, 0.0), (0.5, 0.7), (3.0, 0.0), (3.0, 0.7)])
def test_renewals_against_playing_them(shape, age_h):
    """200 000 places played for two scales, infant deaths or wear-out, new or used: three standard errors."""
    random = np.random.default_rng(21)
    due_h = (age_h**shape + random.exponential(size=200_000)) ** (1 / shape) - age_h
    count = np.zeros(due_h.size)
    while (running := due_h <= 2.0).any():
        count[running] += 1
        due_h[running] += random.weibull(shape, running.sum())
    ours = renewal_failures(Weibull(scale_h=1.0, shape=shape), age_h=age_h, window_h=2.0)

    assert ours == pytest.approx(count.mean(), abs=3 * count.std() / math.sqrt(count.size))


def test_what_follows_a_failure_decides_how_many_there_are():
    """Wear-out, 100 units at their scale: repaired they fail 100 * (2^2 - 1) times, gone 100 * (1 - e^-3).

    New units are younger than repaired ones, and more than none: between the two.
    """
    given_ = {"age_h": np.array([1.0]), "units": 100.0, "window_h": 1.0}
    lifetime = Weibull(scale_h=1.0, shape=2.0)
    repaired, gone, replaced = (
        cohort_failures(lifetime, after_failure=after, **given_)[0]
        for after in (AfterFailure.REPAIRED, AfterFailure.GONE, AfterFailure.REPLACED)
    )

    assert repaired == pytest.approx(300)
    assert gone == pytest.approx(100 * (1 - math.exp(-3)))
    assert gone < replaced < repaired
    assert cohort_failures(lifetime, after_failure=AfterFailure.REPLACED, **given_ | {"window_h": 0.0}) == 0


# Forecasts


@pytest.mark.slow
def test_interval_of_the_mean_against_drawn_parameters():
    """Parameters drawn from the fit's normal, 4000 times: 5th and 95th of the expected failures, to 2 %."""
    covariance = np.array([[400.0, -0.8], [-0.8, 0.01]])
    given_ = {"age_h": [500.0, 100.0], "units": [300.0, 500.0], "window_h": 300.0}
    ours = cohort_forecast(
        Weibull(scale_h=1000.0, shape=2.0),
        covariance=covariance,
        confidence_fraction=0.9,
        after_failure=AfterFailure.GONE,
        **given_,
    )
    drawn = [
        cohort_failures(
            Weibull(scale_h=scale, shape=shape),
            after_failure=AfterFailure.GONE,
            **{name: np.asarray(value) for name, value in given_.items()},
        ).sum()
        for scale, shape in np.random.default_rng(23).multivariate_normal([1000, 2], covariance, 4000)
    ]

    assert ours.cohort_failures.sum() == pytest.approx(ours.failures)
    assert [ours.low_expected_failures, ours.high_expected_failures] == pytest.approx(
        np.quantile(drawn, [0.05, 0.95]), rel=0.02
    )


@pytest.mark.slow
def test_interval_of_the_count_covers_fit_and_chance():
    """300 logs of 400 units, fitted and forecast: nominal 90 % holds the next count in 85 to 95 % of them."""
    random = np.random.default_rng(24)
    true = Weibull(scale_h=1000.0, shape=1.5)
    held = 0
    for _ in range(300):
        life_h = true.scale_h * random.weibull(true.shape, 400)
        fit = fit_weibull(duration_h=np.minimum(life_h, 400.0), observed=life_h <= 400)
        alive = life_h[life_h > 400]
        ours = cohort_forecast(
            fit.model,
            covariance=fit.covariance,
            age_h=[400.0],
            units=[alive.size],
            window_h=100.0,
            after_failure=AfterFailure.GONE,
            confidence_fraction=0.9,
        )
        held += ours.low_failures <= np.sum(alive <= 500) <= ours.high_failures

    assert 0.85 <= held / 300 <= 0.95


def test_without_doubt_of_the_fit_the_count_is_poisson():
    """Exponential, 20 expected: SciPy's 5th and 95th percentile are 13 and 28; at ratio 4 they lie wider."""
    given_ = {
        "covariance": [[0.0]],
        "age_h": [0.0],
        "units": [20.0],
        "window_h": 5.0,
        "after_failure": AfterFailure.REPAIRED,
        "confidence_fraction": 0.9,
    }
    single = cohort_forecast(Exponential(mean_h=5.0), **given_)
    bursts = cohort_forecast(Exponential(mean_h=5.0), variance_to_mean_ratio=4.0, **given_)

    assert (single.failures, single.low_failures, single.high_failures) == (20, 13, 28)
    assert single.low_expected_failures == single.high_expected_failures == 20
    assert bursts.low_failures < 13
    assert bursts.high_failures > 28


def test_a_constant_rate_misses_the_wear_out_of_titan(shared):
    """Titan's old batch, what was known at age 2 years set against the deaths at ages 3 to 5.

    170 deaths then, 2305 later: a constant rate foresees 29 times too few, the Weibull shape 2.3 times. A
    year of data more does not make Weibull right: the hazard turns once the weak places are worn out, and
    it foresees 7 times too many. Only units that were watched are counted, for as long as they were.
    """
    rows = pd.read_csv(shared / "data/titan_gpu_life/gc_summary_loc.csv")
    old = rows[rows["batch"] == "old"]
    life_y, dead = old["years"].to_numpy(), old["dead"].to_numpy(dtype=bool)
    later = np.sum(dead & (life_y > 3) & (life_y <= 5))
    watched_h = (np.minimum(life_y[life_y > 3], 5.0) - 3.0) * YEAR_H

    def foreseen(fit, known_y):
        known = {"duration_h": np.minimum(life_y, known_y) * YEAR_H, "observed": dead & (life_y <= known_y)}
        return float(np.sum(expected_failures(fit(**known).model, age_h=3 * YEAR_H, window_h=watched_h)))

    assert (np.sum(dead & (life_y <= 2)), later) == (170, 2305)
    assert later / foreseen(fit_exponential, 2.0) == pytest.approx(28.8, abs=0.2)
    assert later / foreseen(fit_weibull, 2.0) == pytest.approx(2.23, abs=0.05)
    assert foreseen(fit_weibull, 3.0) / later == pytest.approx(7.4, abs=0.2)


def forecast(**given_):
    return cohort_forecast(
        given_.pop("lifetime", Exponential(mean_h=9.0)),
        **{
            "covariance": [[1.0]],
            "age_h": [1.0],
            "units": [5.0],
            "window_h": 2.0,
            "after_failure": AfterFailure.GONE,
            "confidence_fraction": 0.9,
        }
        | given_,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: forecast(units=[0.0]), "units must be such that a failure can be expected, got 0 failures"),
        (lambda: forecast(units=[-1.0]), "units must be a finite number from 0 up, got -1 in row 0"),
        (lambda: forecast(age_h=[math.nan]), "age_h must be a finite number from 0 up, got nan in row 0"),
        (lambda: forecast(window_h=0.0), "window_h must be a finite number above 0, got 0"),
        (
            lambda: forecast(lifetime=Weibull(scale_h=9.0, shape=2.0)),
            r"covariance must have a row and a column for each of scale_h, shape, got shape \(1, 1\)",
        ),
        (
            lambda: renewal_failures(Exponential(mean_h=1.0), age_h=0.0, window_h=1000.0, steps=10),
            "steps must be so many that few units die within one, got 10 for 1000 h: 100% of new ones",
        ),
        (
            lambda: renewal_failures(Exponential(mean_h=1.0), age_h=0.0, window_h=1.0, steps=0),
            "steps must be a finite number from 1 up, got 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
