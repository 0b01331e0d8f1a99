"""Lifetimes and their fits: closed forms, seeded samples, lifelines, SciPy, and the GPUs of Titan."""

import subprocess
import sys
from math import gamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.fitting import (
    fit_best,
    fit_exponential,
    fit_generalised_gamma,
    fit_log_logistic,
    fit_log_normal,
    fit_weibull,
    survival_band,
)
from reliability.lifetimes import (
    Exponential,
    GeneralisedGamma,
    LogLogistic,
    LogNormal,
    Weibull,
    expected_failures,
    failure_fraction,
    mean_h,
    quantile_h,
    survival_fraction,
)

scales_h = st.floats(0.1, 1e6)
shapes = st.floats(0.3, 6)


@pytest.mark.slow
@given(scale_h=scales_h, shape=shapes, dead=st.floats(1e-6, 0.999))
def test_weibull_follows_from_its_cumulative_hazard(scale_h, shape, dead):
    """Quantile and mean are found numerically; here against their closed forms."""
    lifetime = Weibull(scale_h=scale_h, shape=shape)
    age_h = quantile_h(lifetime, dead_fraction=dead)

    assert age_h == pytest.approx(scale_h * (-np.log1p(-dead)) ** (1 / shape), rel=1e-9)
    assert survival_fraction(lifetime, age_h=age_h) == pytest.approx(1 - dead, rel=1e-9)
    assert mean_h(lifetime) == pytest.approx(scale_h * gamma(1 + 1 / shape), rel=1e-8)


def test_exponential_does_not_age():
    """The same chance to die in the next day at any age."""
    lifetime, ages_h = Exponential(mean_h=500.0), np.array([0.0, 10.0, 5000.0])

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
    """25 units dead at 10 h: mean 10 h; no Weibull shape can be told."""
    rows = {"duration_h": np.full(25, 10.0), "observed": np.ones(25, bool)}

    assert fit_exponential(**rows).model.mean_h == pytest.approx(10)
    with pytest.raises(
        ValueError, match="duration_h does not determine a shape: every death is at the last age seen, 10"
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
    assert weighted.model.shape == pytest.approx(copies.model.shape, rel=1e-12)
    assert weighted.model.scale_h == pytest.approx(copies.model.scale_h, rel=1e-12)
    assert weighted.log_likelihood == pytest.approx(copies.log_likelihood, rel=1e-12)


# lifelines issue 1068: units by age, the first four rows failures, the rest still running.
FEW_FAILURES_AGE = [
    20,
    37,
    46,
    63,
    5,
    6,
    7,
    8,
    9,
    10,
    13,
    14,
    15,
    16,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    26,
    27,
    28,
    30,
    31,
    32,
    35,
    37,
    38,
    40,
    41,
    42,
    45,
    47,
    49,
    60,
    61,
    62,
    63,
    64,
    65,
    66,
    67,
    68,
    69,
    70,
    71,
    72,
    73,
    74,
    75,
    76,
    77,
    78,
    79,
    80,
    81,
    82,
    83,
    87,
    88,
]
FEW_FAILURES_UNITS = [
    1,
    1,
    1,
    2,
    1,
    2,
    3,
    1,
    3,
    1,
    2,
    1,
    1,
    2,
    1,
    2,
    1,
    2,
    1,
    2,
    2,
    1,
    1,
    2,
    1,
    2,
    1,
    2,
    1,
    1,
    1,
    1,
    3,
    1,
    1,
    1,
    1,
    73,
    75,
    54,
    31,
    77,
    81,
    69,
    80,
    98,
    86,
    48,
    88,
    113,
    112,
    145,
    240,
    35,
    1,
    1,
    11,
    5,
    4,
    1,
    3,
    3,
]


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


@pytest.fixture(scope="module")
def titan(shared):
    import pandas as pd

    accelerators = pd.read_csv(
        shared / "data/titan_gpu_life/gc_summary_loc.csv", usecols=["years", "dead", "batch"]
    )
    return accelerators[accelerators["batch"] == "old"]


def test_titan_wears_out(titan):
    """Old batch, by others: Weibull 2.638 and 7.1125 y at ln L -16448.60; exponential 15.07 y at -18663.0."""
    weibull = fit_weibull(duration_h=titan["years"], observed=titan["dead"])
    constant = fit_exponential(duration_h=titan["years"], observed=titan["dead"])

    assert weibull.model.shape == pytest.approx(2.638, rel=0.0005)
    assert weibull.model.scale_h == pytest.approx(7.1125, rel=0.0002)
    assert weibull.log_likelihood == pytest.approx(-16448.60, abs=0.01)
    assert constant.model.mean_h == pytest.approx(15.07, rel=0.001)
    assert constant.log_likelihood == pytest.approx(-18663.0, abs=0.05)
    assert weibull.aic < constant.aic - 4000


def test_fit_does_not_depend_on_the_unit(titan):
    """Years or hours: the same shape, the scale 8760 times, the density 8760 times thinner at each death."""
    years = fit_weibull(duration_h=titan["years"], observed=titan["dead"])
    hours = fit_weibull(duration_h=titan["years"] * 8760, observed=titan["dead"])

    assert hours.model.scale_h == pytest.approx(8760 * years.model.scale_h, rel=1e-6)
    assert hours.log_likelihood == pytest.approx(years.log_likelihood - 5027 * np.log(8760), rel=1e-9)
    assert hours.covariance[0, 0] == pytest.approx(8760**2 * years.covariance[0, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"duration_h": [5.0, 0.0]}, "duration_h must be above 0 .*, got 0 in row 1"),
        ({"entry_h": [0.0, 9.0]}, "entry_h must be from 0 up and below duration_h, got 9 in row 1"),
        ({"observed": [False, False]}, "observed must hold at least one death, got none in 2 rows"),
        ({"duration_h": [5.0, -3.0]}, "duration_h must be above 0 .*, got -3 in row 1"),
        ({"duration_h": [np.nan, 8.0]}, "duration_h must be above 0 .*, got nan in row 0"),
        ({"weight": [1.0, -1.0]}, "weight must be above 0, got -1 in row 1"),
        ({"weight": [0.0, 1.0]}, "weight must be above 0, got 0 in row 0"),
    ],
)
def test_rows_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        fit_exponential(**({"duration_h": [5.0, 8.0], "observed": [True, False]} | change))


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        (Weibull, (10.0, 0.0), "shape must be a finite number above 0, got 0"),
        (LogNormal, (10.0, -1.0), "log_deviation must be a finite number above 0, got -1"),
        (LogLogistic, (np.inf, 1.0), "median_h must be a finite number above 0, got inf"),
        (GeneralisedGamma, (10.0, 1.0, np.nan), "shape must be a finite number, got nan"),
    ],
)
def test_models_refuse_what_is_no_parameter(model, parameters, message):
    with pytest.raises(ValueError, match=message):
        model(*parameters)


ages_h = st.floats(1e-3, 1e4)


@given(median_h=scales_h, spread=st.floats(0.2, 3), age_h=ages_h)
def test_log_families_against_scipy(median_h, spread, age_h):
    """Log-normal by SciPy and log-logistic by its odds of death, (t / median)^shape; far into both tails."""
    from scipy.stats import lognorm

    normal, logistic = LogNormal(median_h, spread), LogLogistic(median_h, 1 / spread)

    assert normal.cumulative_hazard(age_h=age_h) == pytest.approx(
        -lognorm.logsf(age_h, spread, scale=median_h), rel=1e-9, abs=1e-300
    )
    assert logistic.cumulative_hazard(age_h=age_h) == pytest.approx(
        np.log1p((age_h / median_h) ** (1 / spread)), rel=1e-9
    )


@given(
    sigma=st.floats(0.3, 2),
    shape=st.floats(0.05, 3),
    sign=st.sampled_from([-1, 1]),
    z=st.floats(-3, 3),
)
def test_generalised_gamma_against_scipy(sigma, shape, sign, z):
    """SciPy's gengamma has a = 1 / q^2, c = q / sigma and another scale; q of both signs."""
    from scipy.stats import gengamma

    q, age_h = sign * shape, np.exp(sigma * z)
    other = gengamma(q**-2, q / sigma, scale=q ** (2 * sigma / q) if q > 0 else abs(q) ** (2 * sigma / q))
    ours = GeneralisedGamma(1.0, sigma, q)

    assert survival_fraction(ours, age_h=age_h) == pytest.approx(other.sf(age_h), rel=1e-7, abs=1e-12)


@given(sigma=st.floats(0.3, 2), z=st.floats(-5, 5))
def test_generalised_gamma_holds_its_special_cases(sigma, z):
    """Shape 1 is Weibull of shape 1 / sigma, 0 log-normal, sigma gamma; there is no step beside 0."""
    from scipy.special import gammaincc

    age_h = 7.0 * np.exp(sigma * z)
    weibull = Weibull(7.0, 1 / sigma).cumulative_hazard(age_h=age_h)
    normal = LogNormal(7.0, sigma).cumulative_hazard(age_h=age_h)
    order = sigma**-2

    assert GeneralisedGamma(7.0, sigma, 1.0).cumulative_hazard(age_h=age_h) == pytest.approx(
        weibull, rel=1e-9
    )
    assert GeneralisedGamma(7.0, sigma, 0.0).cumulative_hazard(age_h=age_h) == pytest.approx(normal, rel=1e-9)
    assert survival_fraction(GeneralisedGamma(7.0, sigma, sigma), age_h=age_h) == pytest.approx(
        gammaincc(order, order * age_h / 7.0), rel=1e-9, abs=1e-300
    )
    for near in (-1e-3, -1e-5, 1e-5, 1e-3):
        reference = GeneralisedGamma(7.0, sigma, near).cumulative_hazard(age_h=age_h)
        steep = GeneralisedGamma(7.0, sigma, 10 * near).cumulative_hazard(age_h=age_h)
        assert (reference - normal) == pytest.approx((steep - normal) / 10, rel=0.15, abs=1e-11)


@pytest.mark.parametrize("shape", [-1.0, -0.4, -0.01, 0.0, 0.01, 0.4, 3.0])
def test_generalised_gamma_has_no_step_where_survival_underflows(shape):
    """S goes below 1e-290 on the way; H goes on with the same slope, so that nobody seems immortal there."""
    lifetime = GeneralisedGamma(1.0, 0.5, shape)
    low, high = (quantile_by_hazard(lifetime, hazard) for hazard in (600.0, 720.0))
    ages_h = np.exp(np.linspace(np.log(low), np.log(high), 400))
    hazard = lifetime.cumulative_hazard(age_h=ages_h)

    assert np.all(np.diff(hazard) > 0)
    assert np.diff(hazard, 2) == pytest.approx(0, abs=0.02)


def quantile_by_hazard(lifetime, wanted):
    """Age of a cumulative hazard beyond what a share can say."""
    low, high = -5.0, 5000.0
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            below = lifetime.cumulative_hazard(age_h=np.exp(np.minimum(middle, 700.0))) < wanted
        low, high = (middle, high) if below else (low, middle)
    return np.exp(min(low, 700.0))


def test_means_in_closed_form():
    """Log-normal exp(mu + sigma^2 / 2); log-logistic pi / b / sin(pi / b), which is infinite up to b = 1."""
    assert mean_h(LogNormal(10.0, 1.2)) == pytest.approx(10 * np.exp(0.72), rel=1e-8)
    for shape in (3.0, 1.5, 1.05):
        assert mean_h(LogLogistic(10.0, shape)) == pytest.approx(
            10 * np.pi / shape / np.sin(np.pi / shape), rel=1e-4
        )
    assert mean_h(LogLogistic(10.0, 1.0)) == np.inf


def watched_late(units=2000):
    """Weibull lives, a third censored, half of them entered late, of weights 1 to 3."""
    random = np.random.default_rng(0)
    life_h, end_h = 100 * random.weibull(1.5, units), random.uniform(20, 200, units)
    duration_h = np.minimum(life_h, end_h)
    entry_h = np.where(random.random(units) < 0.5, 0, duration_h * random.random(units))
    return {
        "duration_h": duration_h,
        "observed": life_h <= end_h,
        "entry_h": entry_h,
        "weight": random.integers(1, 4, units),
    }


def by_lifelines(fitter, rows):
    return fitter.fit(rows["duration_h"], rows["observed"], entry=rows["entry_h"], weights=rows["weight"])


@pytest.mark.slow
def test_weibull_and_log_logistic_against_lifelines():
    """Late entry, censoring and weights at once; likelihood, parameters and errors."""
    from lifelines import LogLogisticFitter, WeibullFitter

    rows = watched_late()
    for ours, theirs, names in (
        (fit_weibull(**rows), by_lifelines(WeibullFitter(), rows), ("lambda_", "rho_")),
        (fit_log_logistic(**rows), by_lifelines(LogLogisticFitter(), rows), ("alpha_", "beta_")),
    ):
        mine = [ours.model.scale_h if names[0] == "lambda_" else ours.model.median_h, ours.model.shape]
        assert mine == pytest.approx([getattr(theirs, name) for name in names], rel=1e-5)
        assert ours.log_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
        assert ours.aic == pytest.approx(theirs.AIC_, rel=1e-9)
        assert ours.covariance == pytest.approx(theirs.variance_matrix_.to_numpy(), rel=1e-4)


@pytest.mark.slow
def test_log_normal_against_lifelines():
    from lifelines import LogNormalFitter

    rows = watched_late()
    ours, theirs = fit_log_normal(**rows), by_lifelines(LogNormalFitter(), rows)
    errors = np.sqrt(np.diag(theirs.variance_matrix_))

    assert np.log(ours.model.median_h) == pytest.approx(theirs.mu_, rel=1e-5)
    assert ours.model.log_deviation == pytest.approx(theirs.sigma_, rel=1e-5)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(errors * [ours.model.median_h, 1], rel=1e-3)


@pytest.mark.slow
def test_generalised_gamma_against_lifelines():
    """Its search stops at about 1e-5; ours is never lower. It needs a start, the Weibull."""
    from lifelines import GeneralizedGammaFitter

    rows = watched_late(600)
    ours, weibull = fit_generalised_gamma(**rows), fit_weibull(**rows).model
    theirs = GeneralizedGammaFitter().fit(
        rows["duration_h"],
        rows["observed"],
        entry=rows["entry_h"],
        weights=rows["weight"],
        initial_point=np.array([np.log(weibull.scale_h), -np.log(weibull.shape), 1.0]),
    )
    units = [ours.model.scale_h, ours.model.log_deviation, 1.0]

    assert np.log(ours.model.scale_h) == pytest.approx(theirs.mu_, abs=1e-4)
    assert np.log(ours.model.log_deviation) == pytest.approx(theirs.ln_sigma_, abs=2e-4)
    assert ours.model.shape == pytest.approx(theirs.lambda_, abs=1e-3)
    assert -1e-7 <= ours.log_likelihood - theirs.log_likelihood_ < 1e-4
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(
        np.sqrt(np.diag(theirs.variance_matrix_)) * units, rel=0.01
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.8, 0.0, 0.6])
def test_generalised_gamma_recovers_what_was_drawn(shape):
    """4000 units, half censored: each parameter within three of its errors, and not below a nested family."""
    duration_h, died = censored_sample(GeneralisedGamma(300.0, 0.7, shape), 4000, seed=11)
    fit = fit_generalised_gamma(duration_h=duration_h, observed=died)
    errors = np.sqrt(np.diag(fit.covariance))
    found = np.array([fit.model.scale_h, fit.model.log_deviation, fit.model.shape])
    low, high = fit.parameter_interval("shape", confidence_fraction=0.997)

    assert np.all(np.abs(found - [300.0, 0.7, shape]) < 3 * errors)
    assert low < shape < high
    assert fit.log_likelihood >= fit_log_normal(duration_h=duration_h, observed=died).log_likelihood


def test_bands_of_every_family_stay_in_zero_to_one():
    """Few deaths, so wide bands."""
    duration_h, died = censored_sample(Weibull(100.0, 1.4), 60, seed=5)
    ages_h = np.array([0.01, 1.0, 20.0, 100.0, 500.0, 1e5])
    ranked = fit_best(duration_h=duration_h, observed=died)

    assert not ranked.failed
    for fit in ranked.fits:
        band = survival_band(fit, age_h=ages_h, confidence_fraction=0.95)
        assert np.all((band.low_fraction >= 0) & (band.low_fraction <= band.survival_fraction))
        assert np.all((band.high_fraction <= 1) & (band.high_fraction >= band.survival_fraction))


def test_titan_families_by_aic(titan):
    """AIC by lifelines where it converges: log-normal 32511.75, log-logistic 32633.46, Weibull 32901.20.

    lifelines' generalised gamma ends 2e-6 short, at ln L -16219.580485: 32445.16.
    """
    ranked = fit_best(duration_h=titan["years"], observed=titan["dead"])

    assert [type(fit.model).__name__ for fit in ranked.fits] == [
        "GeneralisedGamma",
        "LogNormal",
        "LogLogistic",
        "Weibull",
        "Exponential",
    ]
    assert [fit.aic for fit in ranked.fits[:4]] == pytest.approx(
        [32445.161, 32511.752, 32633.460, 32901.201], abs=0.002
    )
    assert ranked.best is ranked.fits[0]
    assert ranked.runner_up is ranked.fits[1]
    assert ranked.aic_difference == pytest.approx(66.59, abs=0.01)
    assert ranked.failed == {}


def test_a_family_without_a_fit_is_named_with_its_reason():
    """One death: a rate, no shape."""
    ranked = fit_best(duration_h=[5.0, 8.0, 9.0], observed=[True, False, False])

    assert [fit.model for fit in ranked.fits] == [Exponential(22.0)]
    assert ranked.runner_up is None
    assert ranked.aic_difference == np.inf
    assert set(ranked.failed) == {
        "Weibull",
        "log-normal",
        "log-logistic",
        "generalised gamma",
    }
    assert "one death" in ranked.failed["Weibull"]


def test_a_likelihood_without_a_top_is_said():
    """Five deaths at 1 to 5 h: the generalised gamma's likelihood grows without end (it has a sharp edge)."""
    rows = {"duration_h": [1.0, 2.0, 3.0, 4.0, 5.0], "observed": np.ones(5, bool)}

    with pytest.raises(ValueError, match="no parameters of highest likelihood were found for these 5"):
        fit_generalised_gamma(**rows)
    assert "generalised gamma" in fit_best(**rows).failed


def test_one_failure_tells_a_rate_and_no_shape():
    """40 h at risk and one death; a Weibull is refused, whatever its weight as long as that is one unit."""
    rows = {"duration_h": [10.0, 30.0], "observed": [True, False]}

    assert fit_exponential(**rows).model.mean_h == pytest.approx(40)
    with pytest.raises(ValueError, match="observed holds one death, which determines a rate but no shape"):
        fit_weibull(**rows)


def test_names_of_parameters_are_checked():
    fit = fit_weibull(duration_h=[1.0, 2.0, 4.0], observed=[True, True, False])

    with pytest.raises(ValueError, match="name must be one of scale_h, shape, got 'age'"):
        fit.parameter_interval("age", confidence_fraction=0.9)


def test_import_is_light():
    """Loading lifelines takes over a second, scipy.stats nearly one: neither comes before it is needed."""
    heavy = "lifelines", "pandas", "scipy.stats", "scipy.optimize", "matplotlib"
    code = f"import sys, reliability; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
