"""Lifetimes and their fits: closed forms, seeded samples, and the GPUs of Titan."""

import subprocess
import sys
from math import gamma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability import (
    Exponential,
    Weibull,
    expected_failures,
    failure_fraction,
    fit_exponential,
    fit_weibull,
    hazard_per_h,
    kaplan_meier,
    mean_h,
    quantile_h,
    survival_band,
    survival_fraction,
)

TITAN = Path(__file__).parents[2] / "shared/data/titan_gpu_life/gc_summary_loc.csv"
scales_h = st.floats(0.1, 1e6)
shapes = st.floats(0.3, 6)


@given(scale_h=scales_h, shape=shapes, dead=st.floats(1e-6, 0.999))
def test_weibull_follows_from_its_cumulative_hazard(scale_h, shape, dead):
    """Quantile, hazard and mean are found numerically; here against their closed forms."""
    lifetime = Weibull(scale_h=scale_h, shape=shape)
    age_h = quantile_h(lifetime, dead_fraction=dead)

    assert age_h == pytest.approx(scale_h * (-np.log1p(-dead)) ** (1 / shape), rel=1e-9)
    assert survival_fraction(lifetime, age_h=age_h) == pytest.approx(1 - dead, rel=1e-9)
    assert hazard_per_h(lifetime, age_h=age_h) == pytest.approx(
        shape / scale_h * (age_h / scale_h) ** (shape - 1), rel=1e-8
    )
    assert mean_h(lifetime) == pytest.approx(scale_h * gamma(1 + 1 / shape), rel=1e-8)


def test_exponential_does_not_age():
    """Hazard 1 / mean and the same chance to die in the next day at any age."""
    lifetime, ages_h = Exponential(mean_h=500.0), np.array([0.0, 10.0, 5000.0])

    assert hazard_per_h(lifetime, age_h=ages_h[1:]) == pytest.approx([1 / 500] * 2, rel=1e-9)
    assert failure_fraction(lifetime, age_h=ages_h, window_h=24.0) == pytest.approx(
        [1 - np.exp(-24 / 500)] * 3
    )
    assert mean_h(lifetime) == pytest.approx(500, rel=1e-9)


def test_deaths_and_repairs_in_a_window():
    """H = (t / 2)^2: from age 2 to 4 it rises from 1 to 4, so 3 repairs, or a death with 1 - exp(-3)."""
    lifetime = Weibull(scale_h=2.0, shape=2.0)

    assert expected_failures(lifetime, age_h=2.0, window_h=2.0) == pytest.approx(3, rel=1e-14)
    assert failure_fraction(lifetime, age_h=2.0, window_h=2.0) == pytest.approx(1 - np.exp(-3), rel=1e-14)


def test_a_window_that_starts_new_is_one_minus_survival():
    lifetime, window_h = Weibull(scale_h=7.0, shape=2.6), np.array([0.5, 3.0, 20.0])
    died = failure_fraction(lifetime, age_h=0.0, window_h=window_h)

    assert died == pytest.approx(1 - survival_fraction(lifetime, age_h=window_h), rel=1e-12)


def censored_sample(lifetime, units, seed):
    random = np.random.default_rng(seed)
    death_h = quantile_h(lifetime, dead_fraction=random.random(units))
    end_h = random.uniform(0.2, 1.5, units) * quantile_h(lifetime, dead_fraction=0.6)
    return np.minimum(death_h, end_h), death_h <= end_h


def test_weibull_fit_recovers_what_was_drawn():
    """20,000 units, about half censored: both parameters within three of the fit's own standard errors."""
    duration_h, died = censored_sample(Weibull(scale_h=30_000.0, shape=1.7), 20_000, seed=8)
    fit = fit_weibull(duration_h=duration_h, observed=died)
    errors = np.sqrt(np.diag(fit.covariance))

    assert abs(fit.model.scale_h - 30_000) < 3 * errors[0]
    assert abs(fit.model.shape - 1.7) < 3 * errors[1]
    assert errors[1] / 1.7 < 0.01


def test_interval_of_the_shape_holds_it_as_often_as_it_says():
    """40 samples of 300 units: the 90 % interval holds the true shape in 32 to 40 (binomial, 99 %)."""
    held = 0
    for seed in range(40):
        duration_h, died = censored_sample(Weibull(scale_h=100.0, shape=0.8), 300, seed)
        low, high = fit_weibull(duration_h=duration_h, observed=died).parameter_interval(
            "shape", confidence_fraction=0.9
        )
        held += low < 0.8 < high

    assert 32 <= held <= 40


def test_exponential_fit_is_time_at_risk_over_deaths():
    """Closed form, with late entry and weights: (3 * 10 + 2 * (20 - 5) + 40) h over 3 + 0 + 1 deaths."""
    fit = fit_exponential(
        duration_h=[10.0, 20.0, 40.0], observed=[True, False, True], entry_h=[0.0, 5.0, 0.0], weight=[3, 2, 1]
    )

    assert fit.failures == 4
    assert fit.model.mean_h == pytest.approx(100 / 4, rel=1e-5)
    assert fit.log_likelihood == pytest.approx(-4 * np.log(25) - 4, rel=1e-9)
    assert fit.aic == pytest.approx(2 - 2 * fit.log_likelihood)


def test_exponential_fit_against_lifelines():
    """The closed form against the package's own search, with late entry and weights."""
    from lifelines import ExponentialFitter

    duration_h, died = censored_sample(Exponential(mean_h=50.0), 400, seed=2)
    entry_h, weight = 0.3 * duration_h, np.arange(400) % 3 + 1
    ours = fit_exponential(duration_h=duration_h, observed=died, entry_h=entry_h, weight=weight)
    theirs = ExponentialFitter().fit(duration_h, died, entry=entry_h, weights=weight)

    assert ours.model.mean_h == pytest.approx(theirs.lambda_, rel=1e-4)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert ours.aic == pytest.approx(theirs.AIC_, rel=1e-9)
    assert ours.covariance[0, 0] == pytest.approx(theirs.variance_matrix_.iloc[0, 0], rel=1e-3)


def test_one_kind_of_row_is_enough_unless_a_shape_is_asked():
    """25 units dead at 10 h: mean 10 h; the curve drops from 1 to 0; no Weibull shape can be told."""
    rows = {"duration_h": np.full(25, 10.0), "observed": np.ones(25, bool)}
    curve = kaplan_meier(**rows)

    assert fit_exponential(**rows).model.mean_h == pytest.approx(10)
    assert curve.survival_at(time_h=np.array([9.9, 10.0])).tolist() == [1, 0]
    with pytest.raises(
        ValueError, match="duration_h tells no shape: every death is at the last age seen, 10"
    ):
        fit_weibull(**rows)


def test_late_entry_is_not_survival_from_new():
    """Units first seen at 60 % of the median life; ignoring that would make them live longer than they do."""
    truth = Weibull(scale_h=1000.0, shape=2.0)
    random = np.random.default_rng(12)
    death_h = quantile_h(truth, dead_fraction=random.random(30_000))
    entry_h = random.uniform(0, 1200, 30_000)
    seen = death_h > entry_h
    rows = {"duration_h": death_h[seen], "observed": np.ones(seen.sum(), bool)}
    fit = fit_weibull(entry_h=entry_h[seen], **rows)
    blind = fit_weibull(**rows)

    assert abs(fit.model.scale_h - 1000) < 3 * np.sqrt(fit.covariance[0, 0])
    assert blind.model.scale_h > 1150


def test_counting_rows_once_with_weights_changes_nothing():
    """2000 units at a day's resolution are a few dozen different rows: weights or copies fit alike."""
    duration_h, died = censored_sample(Weibull(scale_h=400.0, shape=1.3), 2000, seed=3)
    days_h = np.ceil(duration_h / 24) * 24
    rows, counts = np.unique(np.column_stack([days_h, died]), axis=0, return_counts=True)
    copies = fit_weibull(duration_h=days_h, observed=died)
    weighted = fit_weibull(duration_h=rows[:, 0], observed=rows[:, 1] > 0, weight=counts)

    assert len(rows) < 100
    assert weighted.model == copies.model
    assert weighted.log_likelihood == copies.log_likelihood


# lifelines issue 1068: units by age, the first four rows failures, the rest still running.
FEW_FAILURES_AGE = [
    20, 37, 46, 63, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 30, 31, 32, 35,
    37, 38, 40, 41, 42, 45, 47, 49, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77,
    78, 79, 80, 81, 82, 83, 87, 88,
]  # fmt: skip
FEW_FAILURES_UNITS = [
    1, 1, 1, 2, 1, 2, 3, 1, 3, 1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2, 1, 2, 1, 1,
    1, 1, 3, 1, 1, 1, 1, 73, 75, 54, 31, 77, 81, 69, 80, 98, 86, 48, 88, 113, 112, 145, 240, 35, 1, 1, 11, 5,
    4, 1, 3, 3,
]  # fmt: skip


def test_five_failures_among_1588_units():
    """ReliaSoft: scale 1351.86, shape 1.94, S(720) 0.7452. A plain normal band runs from -0.13 to 1.62."""
    fit = fit_weibull(
        duration_h=FEW_FAILURES_AGE, observed=np.arange(len(FEW_FAILURES_AGE)) < 4, weight=FEW_FAILURES_UNITS
    )
    band = survival_band(fit, age_h=720.0, confidence_fraction=0.95)
    low, high = fit.parameter_interval("shape", confidence_fraction=0.95)

    assert sum(FEW_FAILURES_UNITS) == 1588
    assert fit.model.scale_h == pytest.approx(1351.86, rel=0.001)
    assert fit.model.shape == pytest.approx(1.943, rel=0.001)
    assert band.survival_fraction == pytest.approx(0.7452, abs=0.0002)
    assert 0 <= band.low_fraction < 0.01
    assert 0.97 < band.high_fraction <= 1
    assert 0 < low < 1 < 4 < high


def test_exponential_band_is_that_of_the_log_mean():
    """One parameter: ln H moves by z / sqrt(deaths), exactly."""
    fit = fit_exponential(duration_h=np.full(25, 10.0), observed=np.ones(25, bool))
    band = survival_band(fit, age_h=np.array([4.0, 10.0]), confidence_fraction=0.95)
    reach = np.exp(1.959964 / 5)

    assert band.low_fraction == pytest.approx(np.exp(-np.array([0.4, 1.0]) * reach), rel=1e-4)
    assert band.high_fraction == pytest.approx(np.exp(-np.array([0.4, 1.0]) / reach), rel=1e-4)


def test_kaplan_meier_by_hand():
    """Deaths at 2 (of 5), 4 (of 3), 7 (of 1): 4/5, then 2/3 of that, then 0; the band never leaves [0, 1]."""
    curve = kaplan_meier(duration_h=[2, 3, 4, 5, 7], observed=[True, False, True, False, True])

    assert curve.time_h.tolist() == [2, 4, 7]
    assert curve.at_risk.tolist() == [5, 3, 1]
    assert curve.survival_fraction == pytest.approx([0.8, 0.8 * 2 / 3, 0.0])
    assert curve.survival_at(time_h=np.array([0.0, 1.9, 2.0, 6.9, 99.0])) == pytest.approx(
        [1, 1, 0.8, 0.8 * 2 / 3, 0]
    )
    assert np.all((curve.low_fraction >= 0) & (curve.low_fraction <= curve.survival_fraction))
    assert np.all((curve.high_fraction <= 1) & (curve.high_fraction >= curve.survival_fraction))


@pytest.fixture(scope="module")
def titan():
    if not TITAN.exists():
        pytest.skip("the Titan GPU lifetimes are not beside this checkout")
    import pandas as pd

    return pd.read_csv(TITAN, usecols=["years", "dead", "batch"])


def test_titan_deaths(titan):
    """Ostrouchov et al., SC'20: 30,207 lifetimes, 5,089 dead, over 100,000 GPU-years."""
    assert len(titan) == 30_207
    assert titan["dead"].sum() == 5_089
    assert titan["years"].sum() == pytest.approx(100_889.5, rel=1e-4)


def test_titan_survival_curve(titan):
    """Old batch after 1 to 5 years, by lifelines 0.30.3 on the plain rows."""
    old = titan[titan["batch"] == "old"]
    curve = kaplan_meier(duration_h=old["years"] * 8760, observed=old["dead"])

    ours = curve.survival_at(time_h=np.arange(1, 6) * 8760.0)
    assert ours == pytest.approx([0.9991, 0.9909, 0.8766, 0.7675, 0.6768], abs=0.0001)


def test_titan_wears_out(titan):
    """Old batch, by others: Weibull 2.638 and 7.1125 y at ln L -16448.60; exponential 15.07 y at -18663.0."""
    old = titan[titan["batch"] == "old"]
    weibull = fit_weibull(duration_h=old["years"], observed=old["dead"])
    constant = fit_exponential(duration_h=old["years"], observed=old["dead"])

    assert weibull.model.shape == pytest.approx(2.638, rel=0.0005)
    assert weibull.model.scale_h == pytest.approx(7.1125, rel=0.0002)
    assert weibull.log_likelihood == pytest.approx(-16448.60, abs=0.01)
    assert constant.model.mean_h == pytest.approx(15.07, rel=0.001)
    assert constant.log_likelihood == pytest.approx(-18663.0, abs=0.05)
    assert weibull.aic < constant.aic - 4000


def test_fit_does_not_depend_on_the_unit(titan):
    """Years or hours: the same shape, the scale 8760 times, the density 8760 times thinner at each death."""
    old = titan[titan["batch"] == "old"]
    years = fit_weibull(duration_h=old["years"], observed=old["dead"])
    hours = fit_weibull(duration_h=old["years"] * 8760, observed=old["dead"])

    assert hours.model.scale_h == pytest.approx(8760 * years.model.scale_h, rel=1e-6)
    assert hours.log_likelihood == pytest.approx(years.log_likelihood - 5027 * np.log(8760), rel=1e-9)
    assert hours.covariance[0, 0] == pytest.approx(8760**2 * years.covariance[0, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration_h": [5.0, 0.0]}, "duration_h must be above 0 .*, got 0 in row 1"),
        ({"entry_h": [0.0, 9.0]}, "entry_h must be from 0 up and below duration_h, got 9 in row 1"),
        ({"observed": [False, False]}, "observed must hold at least one death, got none in 2 rows"),
        ({"weight": [1.0, -1.0]}, "weight must be above 0, got -1 in row 1"),
    ],
)
def test_rows_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        fit_exponential(**({"duration_h": [5.0, 8.0], "observed": [True, False]} | change))


def test_models_refuse_what_is_no_parameter():
    with pytest.raises(ValueError, match="shape must be a finite number above 0, got 0"):
        Weibull(scale_h=10.0, shape=0.0)


def test_import_is_light():
    """Loading lifelines takes over a second, scipy.stats nearly one: neither comes before it is needed."""
    heavy = "lifelines", "pandas", "scipy.stats", "scipy.optimize", "matplotlib"
    code = f"import sys, reliability; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
