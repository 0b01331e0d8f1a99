"""An independent route: jobs played failure by failure against the closed forms. Seeds are fixed."""

import math
import random

import numpy as np
import pytest
from scipy import stats
from sizes import size

from reliability.checkpoint import hours_by_state
from reliability.ettr import (
    asynchronous_ettr_fraction,
    ettr_fraction,
    weibull_ettr_fraction,
)
from reliability.finish import finish_quantile_h
from reliability.sampling_error import monte_carlo
from reliability.simulate import simulate_job
from reliability.two_level_ettr import two_level_ettr_fraction
from reliability.two_level_simulation import simulate_two_level_finish_h

RANDOM = np.random.default_rng(2025)
JOBS = [
    dict(zip(("interval_h", "mttf_h", "write_h", "restart_h"), row, strict=True))
    for row in 10 ** RANDOM.uniform([-1, -0.3, -2.5, -1.5], [0.2, 1.5, -0.7, 0.3], (12, 4))
]


def standard_errors_off(sample, expected):
    return abs(sample.mean() - expected) / (sample.std() / np.sqrt(sample.size))


def plain_loop(
    *, intervals, interval_h, mttf_h, write_h, restart_h, replicas, seed, persist_h=0.0, weibull_shape=1.0
):
    """The job of `simulate_job` in plain Python, uptime by uptime: finish, checkpoint, lost, failures."""
    draw = random.Random(seed)
    scale_h = mttf_h / math.gamma(1 + 1 / weibull_shape)
    cycle_h = interval_h + write_h
    played = []
    for _ in range(replicas):
        left, up_h, writing_h, failures = intervals, 0.0, 0.0, 0
        while (life_h := draw.weibullvariate(scale_h, weibull_shape)) < left * cycle_h + persist_h:
            whole = life_h // cycle_h
            up_h += life_h
            writing_h += whole * write_h + max(life_h - whole * cycle_h - interval_h, 0.0)
            left -= max((life_h - persist_h) // cycle_h, 0)
            failures += 1
        up_h += left * cycle_h + persist_h
        writing_h += left * write_h + persist_h
        lost_h = up_h - writing_h - intervals * interval_h
        played.append((up_h + failures * restart_h, writing_h, lost_h, failures))
    return np.array(played).T


@pytest.mark.parametrize("weibull_shape", [1.0, 0.7])
@pytest.mark.parametrize("persist_h", [0.0, 0.15, 0.9])
def test_the_same_law_as_a_plain_loop(persist_h, weibull_shape):
    """Exponential jobs are drawn by failed attempts, not by uptimes: same law by Kolmogorov's test.

    The loop uses Python's own generator. Of 24 comparisons one below 1e-4 would be rare.
    """
    job = {"intervals": 40, "interval_h": 0.5, "mttf_h": 2.0, "write_h": 0.1, "restart_h": 0.2}
    job |= {"persist_h": persist_h, "weibull_shape": weibull_shape, "replicas": 3000, "seed": 21}
    ours = simulate_job(**job)
    states = (ours.finish_h, ours.checkpoint_h, ours.lost_h, ours.failures)

    for vectorised, plain in zip(states, plain_loop(**job), strict=True):
        assert stats.ks_2samp(vectorised, plain).pvalue > 1e-4
        assert vectorised.std() == pytest.approx(plain.std(), rel=0.08)


def test_each_replica_may_have_its_own_rate():
    """A column of two rates in turn gives each replica the mean of a run with that rate alone."""
    job = {"intervals": 200, "interval_h": 0.5, "write_h": 0.05, "restart_h": 0.2, "persist_h": 0.1}
    rates = np.tile([2.0, 20.0], 3000)
    mixed = simulate_job(mttf_h=rates, replicas=6000, seed=31, **job)

    for mttf_h in (2.0, 20.0):
        alone = simulate_job(mttf_h=mttf_h, replicas=3000, seed=32, **job)
        for state in ("finish_h", "checkpoint_h", "lost_h"):
            mine, others = getattr(mixed, state)[rates == mttf_h], getattr(alone, state)
            assert stats.ks_2samp(mine, others).pvalue > 1e-4


def test_a_block_of_failures_may_end_anywhere():
    """150,000 failures of one job span three blocks, and jobs without a failure lie between: sums hold.

    The finish has a mean and a deviation in closed form; one job of 100,000 MTTFs is within 3 deviations.
    """
    job = {"interval_h": 1.0, "mttf_h": 1.0, "write_h": 0.0, "restart_h": 0.1}
    long = simulate_job(intervals=90_000, replicas=1, seed=5, **job)
    rare = simulate_job(intervals=2, replicas=50, seed=5, **job | {"mttf_h": 1e4})
    mean_h = 90_000 / ettr_fraction(**job)
    # Var[T] = M^2 (e^2x - 2x e^x - 1) + u0 e^x (2M (e^x - 1 - x) + u0 (e^x - 1)) at x = 1
    variance = np.e**2 - 2 * np.e - 1 + 0.1 * np.e * (2 * (np.e - 2) + 0.1 * (np.e - 1))

    assert long.failures[0] > 2 * 65_536
    assert abs(long.finish_h[0] - mean_h) < 3 * np.sqrt(90_000 * variance)
    assert set(rare.finish_h[rare.failures == 0]) == {2.0}


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("stored_share", [0.0, 0.6])
def test_hours_by_state_against_played_jobs(job, stored_share):
    """Twelve random jobs, blocking and asynchronous: each state within three standard errors.

    The first storing wait of a run comes on top of the long-run share; 400 intervals keep it below the error.
    """
    persist_h = stored_share * job["interval_h"]
    played = simulate_job(intervals=400, replicas=300, seed=40 + JOBS.index(job), persist_h=persist_h, **job)
    hours = hours_by_state(persist_h=persist_h, **job)
    useful_h = 400 * job["interval_h"]

    for state in ("checkpoint_h", "lost_h", "restart_h"):
        sample = getattr(played, state) / useful_h
        first_wait = persist_h / useful_h if persist_h else 0.0
        assert abs(sample.mean() - getattr(hours, state)) < 3 * sample.std() / np.sqrt(300) + 1.5 * first_wait
    total = played.useful_h + played.checkpoint_h + played.lost_h + played.restart_h
    assert played.finish_h == pytest.approx(total, rel=1e-12)


def test_exact_ettr_of_thirteen_failures_a_day():
    """Finish times average to useful / ETTR: 0.7210, which others find as 0.7206 +- 0.0001 over 60 days."""
    job = {"interval_h": 1.0, "mttf_h": 24 / 13, "write_h": 0.0, "restart_h": 5 / 60}
    played = simulate_job(intervals=1000, replicas=20_000, seed=3, **job)

    assert standard_errors_off(played.finish_h, 1000 / ettr_fraction(**job)) < 3
    assert 1000 / played.finish_h.mean() == pytest.approx(0.7210, abs=0.0003)


@pytest.mark.parametrize("shape", [0.5, 0.7, 1.8])
def test_weibull_ettr_against_played_jobs(shape):
    """Renewal theory holds in the long run: the played ETTR of 4000 h is within 0.3 %."""
    job = {"interval_h": 1.0, "mttf_h": 24 / 13, "write_h": 0.05, "restart_h": 5 / 60, "weibull_shape": shape}
    played = simulate_job(intervals=4000, replicas=300, seed=5, **job)

    assert 4000 / played.finish_h.mean() == pytest.approx(weibull_ettr_fraction(**job), rel=0.003)


@pytest.mark.parametrize("saves", [1, 5, 14])
def test_two_level_ettr_against_played_jobs(saves):
    """Exact chain of stages against the same pattern played with both kinds of failure."""
    pattern = {
        "interval_h": 0.09,
        "local_saves": saves,
        "local_rate_per_h": 0.43,
        "remote_rate_per_h": 0.11,
        "local_write_h": 0.002,
        "remote_write_h": 0.08,
        "local_restart_h": 0.03,
        "remote_restart_h": 0.17,
    }
    finish_h = simulate_two_level_finish_h(patterns=3000 // saves, replicas=400, seed=9, **pattern)
    useful_h = 3000 // saves * saves * 0.09

    assert standard_errors_off(finish_h, useful_h / two_level_ettr_fraction(**pattern)) < 3


def random_job(draw):
    """Cycle from 0.01 to 2 MTTFs, writes up to half of it, restart from 0.001 to 1 MTTF."""
    mttf_h = 10 ** draw.uniform(-0.5, 2.0)
    cycle_h = mttf_h * 10 ** draw.uniform(-2.0, 0.3)
    write_h = cycle_h * draw.uniform(0.0, 0.5)
    restart_h = mttf_h * 10 ** draw.uniform(-3.0, 0.0)
    job = {"interval_h": cycle_h - write_h, "mttf_h": mttf_h, "write_h": write_h, "restart_h": restart_h}
    return job, max(int(60 / np.expm1(cycle_h / mttf_h)), 3)


def blocking_score(draw, seed):
    """Failures without memory: n intervals take n * W / ETTR on average, for any n."""
    job, intervals = random_job(draw)
    finish_h = simulate_job(intervals=intervals, replicas=400, seed=seed, **job).finish_h
    return score(finish_h, intervals * job["interval_h"] / ettr_fraction(**job))


def asynchronous_score(draw, seed):
    """As above, and one wait for storing at the start: (M + u0) * (exp(P / M) - 1)."""
    job, intervals = random_job(draw)
    persist_h = draw.uniform() * (job["interval_h"] + job["write_h"])
    blocking_h, job["persist_h"] = job.pop("write_h"), persist_h
    ettr = asynchronous_ettr_fraction(blocking_h=blocking_h, **job)
    first_h = (job["mttf_h"] + job["restart_h"]) * np.expm1(persist_h / job["mttf_h"])
    finish_h = simulate_job(intervals=intervals, replicas=400, seed=seed, write_h=blocking_h, **job).finish_h
    return score(finish_h, intervals * job["interval_h"] / ettr + first_h)


def weibull_score(draw, seed):
    """Renewal holds in the long run: the second half of a run, its start forgotten, takes n * W / ETTR."""
    job, _ = random_job(draw)
    job["weibull_shape"] = draw.uniform(0.5, 2.5)
    ettr = weibull_ettr_fraction(**job)
    intervals = max(int(60 * job["mttf_h"] * ettr / job["interval_h"]), 3)
    half_h = simulate_job(intervals=intervals, replicas=400, seed=seed, **job).finish_h
    whole_h = simulate_job(intervals=2 * intervals, replicas=400, seed=seed + 10**6, **job).finish_h
    second_h = whole_h.mean() - half_h.mean() - intervals * job["interval_h"] / ettr
    return second_h / np.sqrt((half_h.var(ddof=1) + whole_h.var(ddof=1)) / 400)


def two_level_score(draw, seed):
    """Each pattern ends in a remote save, where all starts anew: p patterns take p * n * W / ETTR."""
    mttf_h, local, saves = 10 ** draw.uniform(-0.5, 2.0), draw.uniform(0.05, 0.95), int(draw.integers(1, 12))
    cycle_h = mttf_h * 10 ** draw.uniform(-2.5, -0.5)
    pattern = {
        "interval_h": 0.8 * cycle_h,
        "local_saves": saves,
        "local_rate_per_h": local / mttf_h,
        "remote_rate_per_h": (1 - local) / mttf_h,
        "local_write_h": 0.2 * cycle_h * draw.random(),
        "remote_write_h": 3 * cycle_h * draw.random(),
        "local_restart_h": mttf_h * 10 ** draw.uniform(-3, -0.5),
        "remote_restart_h": mttf_h * 10 ** draw.uniform(-2, 0),
    }
    ettr, useful_h = two_level_ettr_fraction(**pattern), saves * pattern["interval_h"]
    patterns = max(int(60 * mttf_h * ettr / useful_h), 3)
    finish_h = simulate_two_level_finish_h(patterns=patterns, replicas=400, seed=seed, **pattern)
    return score(finish_h, patterns * useful_h / ettr)


def score(sample, expected):
    return (sample.mean() - expected) / (sample.std(ddof=1) / np.sqrt(sample.size))


SCORES = [blocking_score, asynchronous_score, weibull_score, two_level_score]


def assert_standard_normal(scores):
    """Scores of true means are standard normal: of 1,000 some three lie beyond 3, so no one score decides.

    Their number beyond 3, their mean and their sum of squares may each be as unlikely as 1 in 1,000. The
    mean finds forms that are all off to one side by a tenth of their error, the squares those off to both.
    """
    n = scores.size
    assert np.sum(np.abs(scores) > 3) <= stats.binom.ppf(0.999, n, 2 * stats.norm.sf(3))
    assert abs(scores.mean()) * np.sqrt(n) < stats.norm.ppf(0.9995)
    assert stats.chi2.ppf(0.0005, n) < np.sum(scores**2) < stats.chi2.ppf(0.9995, n)


@pytest.mark.parametrize("family_score", SCORES)
def test_closed_forms_within_the_error_of_played_jobs(family_score):
    """Sixty random parameter sets of each kind: scores of the closed form are standard normal."""
    assert_standard_normal(np.array([family_score(np.random.default_rng([60, i]), i) for i in range(60)]))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("family_score", SCORES)
def test_a_thousand_closed_forms_within_the_error_of_played_jobs(family_score):
    """A thousand random parameter sets of each kind, 250 by day: a mean 0.21 standard errors off is found.

    By night 0.10 are found: the mean of n scores has an error of 1 / sqrt(n), and 3.3 of them are told.
    """
    assert_standard_normal(
        np.array([family_score(np.random.default_rng([1, i]), i) for i in range(size(250, nightly=1000))])
    )


def test_scores_find_a_form_that_is_off():
    """The straight line's first-order loss, W/2 of each failure, is caught on sixty sets."""

    def off(draw, seed):
        job, intervals = random_job(draw)
        finish_h = simulate_job(intervals=intervals, replicas=400, seed=seed, **job).finish_h
        loss_h = job["restart_h"] + (job["interval_h"] + job["write_h"]) / 2
        cycles_h = intervals * (job["interval_h"] + job["write_h"])
        return score(finish_h, cycles_h * (1 + loss_h / job["mttf_h"]))

    with pytest.raises(AssertionError):
        assert_standard_normal(np.array([off(np.random.default_rng([60, i]), i) for i in range(60)]))


def test_errors_of_mean_and_percentiles():
    """Of 2,000 samples of 400 lognormals 68 % lie within one standard error of the truth.

    The spread over samples is the error itself: its mean estimate is within 6 % of it.
    """
    draw = np.random.default_rng(8)
    summaries = [monte_carlo(draw.lognormal(0.0, 0.5, 400)) for _ in range(2000)]
    truth = stats.lognorm.ppf([0.05, 0.5, 0.95], 0.5)
    for name, true in zip(("mean", "p5", "p50", "p95"), (np.exp(0.125), *truth), strict=True):
        errors_name = "standard_error" if name == "mean" else f"{name}_standard_error"
        found = np.array([getattr(summary, name) for summary in summaries])
        errors = np.array([getattr(summary, errors_name) for summary in summaries])
        assert errors.mean() == pytest.approx(found.std(), rel=0.06)
        assert np.mean(np.abs(found - true) < errors) == pytest.approx(0.683, abs=0.06)


@pytest.mark.parametrize("values", [[1.0], [[1.0, 2.0], [3.0, 4.0]], []])
def test_a_summary_needs_a_column(values):
    with pytest.raises(ValueError, match="a column of 2 or more, got shape"):
        monte_carlo(np.array(values))


def test_ten_thousand_replicas_of_a_54_day_run():
    """Llama 3's 16,384 GPUs at 3.79 failures in 1000 node-days: 4.1 million in 10,000 runs of 54 days.

    Each failure takes an uptime and a restart. ETTR p5/p50/p95 of 0.929, 0.933, 0.937 by others, to their
    last digit; our errors are below 1e-4.
    """
    mttf_h = 1000 * 24 / (3.79 * 16_384 / 8)
    played = simulate_job(intervals=9189, replicas=10_000, seed=12, **LLAMA_LIKE | {"mttf_h": mttf_h})
    ettr = monte_carlo(played.ettr_fraction)

    assert played.failures.sum() == pytest.approx(10_000 * 54 * 24 / (mttf_h + 5 / 60), rel=0.003)
    assert (ettr.p5, ettr.p50, ettr.p95) == pytest.approx((0.929, 0.933, 0.937), abs=0.0005)
    assert max(ettr.standard_error, ettr.p5_standard_error, ettr.p95_standard_error) < 1e-4


LLAMA_LIKE = {"interval_h": 7.9 / 60, "mttf_h": 24 / 7.76, "write_h": 10 / 3600, "restart_h": 5 / 60}
PERCENTILES = np.array([0.05, 0.5, 0.95])


def test_spread_of_a_54_day_run():
    """ETTR p5/p50/p95 of 0.929, 0.933, 0.937 by others; by playing 4000 runs and from the quantiles."""
    intervals = 9189  # 54 days at an ETTR of 0.933
    played = simulate_job(intervals=intervals, replicas=4000, seed=1, **LLAMA_LIKE)
    useful_h = intervals * LLAMA_LIKE["interval_h"]
    ours_h = finish_quantile_h(useful_h=useful_h, quantile_fraction=PERCENTILES, **LLAMA_LIKE)

    assert useful_h / ours_h[::-1] == pytest.approx([0.929, 0.933, 0.937], abs=0.0005)
    assert ours_h == pytest.approx(np.quantile(played.finish_h, PERCENTILES), rel=3e-4)


HARD = {"interval_h": 0.2, "mttf_h": 24 / 13, "write_h": 0.02, "restart_h": 0.1}


@pytest.mark.parametrize("persist_h", [0.0, 0.15])
def test_mean_and_spread_of_the_finish(persist_h):
    """Quantiles averaged over their shares are the mean: both moments are exact in any form."""
    played = simulate_job(intervals=500, replicas=20_000, seed=2, persist_h=persist_h, **HARD)
    shares, weights = np.polynomial.legendre.leggauss(400)
    finish_h = finish_quantile_h(
        useful_h=100.0, quantile_fraction=(shares + 1) / 2, persist_h=persist_h, **HARD
    )
    mean_h = np.average(finish_h, weights=weights)
    deviation_h = np.sqrt(np.average((finish_h - mean_h) ** 2, weights=weights))

    assert standard_errors_off(played.finish_h, mean_h) < 3
    assert deviation_h == pytest.approx(played.finish_h.std(), rel=3 / np.sqrt(2 * 20_000))


@pytest.mark.parametrize("failures", [1, 3, 10])
def test_a_run_with_few_failures(failures):
    """The added hours are skewed: 95 % within 0.5 % and median within 1.3 % of 50,000 played jobs."""
    job = {"interval_h": 1.0, "mttf_h": 10.0, "write_h": 0.05, "restart_h": 0.3}
    played = simulate_job(intervals=10 * failures, replicas=50_000, seed=6, **job)
    ours_h = finish_quantile_h(useful_h=10.0 * failures, quantile_fraction=PERCENTILES, **job)

    assert ours_h[2] == pytest.approx(np.quantile(played.finish_h, 0.95), rel=0.005)
    assert ours_h[1] == pytest.approx(np.quantile(played.finish_h, 0.5), rel=0.013)
    assert ours_h[0] >= 10.5 * failures


def test_doubt_about_the_rate_widens_the_finish():
    """Each of 20,000 runs with its own rate from Gamma(6): percentiles within 0.5 %, p99 within 1.5 %."""
    rates = np.random.default_rng(5).gamma(6.0, 1 / 6.0, 20_000)
    unsure = HARD | {"mttf_h": HARD["mttf_h"] / rates}
    played_h = simulate_job(intervals=1000, replicas=20_000, seed=4, **unsure).finish_h
    shares = np.array([0.05, 0.5, 0.95, 0.99])
    ours_h = finish_quantile_h(useful_h=200.0, quantile_fraction=shares, rate_shape=6.0, **HARD)
    sure_h = finish_quantile_h(useful_h=200.0, quantile_fraction=shares, **HARD)

    assert ours_h[:3] == pytest.approx(np.quantile(played_h, shares[:3]), rel=0.005)
    assert ours_h[3] == pytest.approx(np.quantile(played_h, 0.99), rel=0.015)
    assert ours_h[2] - ours_h[0] > 4 * (sure_h[2] - sure_h[0])


def test_a_run_without_failures_finishes_to_the_minute():
    """No failures, no spread: 10 intervals of 0.2 h with writes of 0.02 h take 2.2 h."""
    sure = HARD | {"mttf_h": np.inf}

    assert finish_quantile_h(useful_h=2.0, quantile_fraction=0.99, **sure) == pytest.approx(2.2, rel=1e-14)


def test_columns_give_what_single_values_give():
    """One call on columns of candidates is the same arithmetic as one call for each."""
    useful_h, mttf_h = np.array([50.0, 500.0]), np.array([1.0, 30.0])
    job = {"interval_h": 0.3, "write_h": 0.01, "restart_h": 0.2, "quantile_fraction": 0.95, "rate_shape": 4.0}
    column = finish_quantile_h(useful_h=useful_h, mttf_h=mttf_h, **job)
    single = [finish_quantile_h(useful_h=u, mttf_h=m, **job) for u, m in zip(useful_h, mttf_h, strict=True)]

    assert column.tolist() == single
    assert isinstance(single[0], float)
