"""Step time of the slowest of many ranks, and its average over a day and a run, against drawn steps."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.pace import (
    averaged_variance_fraction,
    mean_step_factor,
    slow_time_fraction,
    step_quantile_factor,
)
from reliability.step_time import (
    RankGroup,
    StepTime,
    in_series,
    slow_ranks_factor,
    slowest,
    slowest_quantile_s,
)

FAMILIES = ["normal", "gamma", "lognormal"]
PERCENTILES = np.array([0.05, 0.5, 0.95])


def draw_s(random, time, size):
    mean_s, variation = time.mean_s, time.variation_fraction
    if time.family == "gamma":
        return random.gamma(1 / variation**2, mean_s * variation**2, size)
    if time.family == "normal":
        return random.normal(mean_s, mean_s * variation, size)
    sigma = np.sqrt(np.log1p(variation**2))
    return mean_s * random.lognormal(-(sigma**2) / 2, sigma, size)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variation", [0.0, 1e-3, 0.1, 0.8])
def test_the_slowest_of_one_is_that_one(family, variation):
    """The quadrature gives back the mean and the variation that it was given."""
    only = slowest(groups=[RankGroup(1, StepTime(3.0, variation, family))])

    assert only.mean_s == pytest.approx(3.0, rel=1e-12)
    assert only.variation_fraction == pytest.approx(variation, rel=1e-9, abs=1e-12)


def test_slowest_of_normal_ranks_by_known_order_statistics():
    """Largest of n standard normals: 2: 1 / sqrt(pi), 3: 1.5 / sqrt(pi), 10: 1.53875, 100: 2.50759.

    The last two are Tippett's table of 1925. The variance for 2 is 1 - 1 / pi.
    """
    ranks = np.array([2.0, 3.0, 10.0, 100.0])
    time = slowest(groups=[RankGroup(ranks, StepTime(1.0, 0.1, "normal"))])
    known = [1 / np.sqrt(np.pi), 1.5 / np.sqrt(np.pi), 1.53875, 2.50759]

    assert (time.mean_s - 1) / 0.1 == pytest.approx(known, abs=1e-5)
    assert (time.mean_s * time.variation_fraction)[0] == pytest.approx(0.1 * np.sqrt(1 - 1 / np.pi), rel=1e-9)


@pytest.mark.parametrize("shape", [1.0, 4.0])
def test_slowest_of_exponential_and_erlang_ranks(shape):
    """Exponential: the largest of n averages 1 + 1/2 + ... + 1/n. Erlang: by adding up 1 - F^n."""
    from scipy.special import gammainc

    time = slowest(groups=[RankGroup(64, StepTime(1.0, shape**-0.5, "gamma"))])
    grid = np.linspace(0, 60, 600_001)
    added = np.trapezoid(1 - gammainc(shape, shape * grid) ** 64, grid)

    assert time.mean_s == pytest.approx(added, rel=1e-8)
    if shape == 1:
        assert time.mean_s == pytest.approx((1 / np.arange(1, 65)).sum(), rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_slowest_of_unlike_groups_against_drawn_steps(family):
    """200 ranks, ten slower and eight noisier ones: mean in three standard errors, percentiles in 0.4 %."""
    groups = [
        RankGroup(200, StepTime(1.0, 0.05, family)),
        RankGroup(10, StepTime(1.1, 0.05, family)),
        RankGroup(8, StepTime(0.9, 0.2, family)),
    ]
    random = np.random.default_rng(4)
    drawn = [draw_s(random, g.time, (20_000, g.ranks)).max(axis=1) for g in groups]
    steps_s = np.max(drawn, axis=0)
    time = slowest(groups=groups)

    assert abs(steps_s.mean() - time.mean_s) < 3 * steps_s.std() / np.sqrt(20_000)
    assert time.mean_s * time.variation_fraction == pytest.approx(steps_s.std(), rel=0.02)
    assert slowest_quantile_s(groups=groups, quantile_fraction=PERCENTILES) == pytest.approx(
        np.quantile(steps_s, PERCENTILES), rel=0.004
    )


@given(
    ranks=st.floats(1, 1e6),
    variation=st.floats(0.001, 0.5),
    share=st.floats(0.01, 0.99),
    family=st.sampled_from(FAMILIES),
)
def test_a_group_in_two_halves_is_that_group(ranks, variation, share, family):
    """The search for unlike groups agrees with the closed form for one, up to a million ranks."""
    time = StepTime(2.0, variation, family, certain_s=0.5)
    halves = [RankGroup(ranks, time), RankGroup(ranks, time)]
    whole = [RankGroup(2 * ranks, time)]

    assert slowest_quantile_s(groups=halves, quantile_fraction=share) == pytest.approx(
        slowest_quantile_s(groups=whole, quantile_fraction=share), rel=1e-8
    )


def test_serial_parts_then_the_slowest_replica_against_drawn_steps():
    """Forward and collective in series in each of 128 replicas, which wait for each other: as PRISM composes.

    The sum is a gamma time of the right skewness: p5, p50 and p95 within 1 % of drawn steps (PRISM: 4.3 %).
    """
    compute, collective = StepTime(8.0, 0.03, "gamma"), StepTime(2.0, 0.2, "lognormal")
    inside = slowest(groups=[RankGroup(8, compute)])
    replica = in_series(parts=[inside, collective])
    random = np.random.default_rng(7)
    drawn_s = draw_s(random, compute, (4000, 128, 8)).max(axis=2) + draw_s(random, collective, (4000, 128))
    ours_s = slowest_quantile_s(groups=[RankGroup(128, replica)], quantile_fraction=PERCENTILES)

    assert replica.mean_s == pytest.approx(inside.mean_s + 2.0, rel=1e-14)
    assert replica.mean_s * replica.variation_fraction == pytest.approx(
        np.hypot(inside.mean_s * inside.variation_fraction, 0.4), rel=1e-14
    )
    assert ours_s == pytest.approx(np.quantile(drawn_s.max(axis=1), PERCENTILES), rel=0.01)


def test_one_hot_node_costs_what_the_noise_of_the_others_leaves_of_it():
    """PRISM: a hot node raises step time by 9 to 35 %; 1.35 does both, in quiet and among 64,000 ranks."""
    alone = slow_ranks_factor(ranks=8.0, slow_ranks=1.0, slowdown_factor=1.35, variation_fraction=0.0)
    noisy = slow_ranks_factor(
        ranks=np.array([8.0, 1000.0, 64_000.0]), slow_ranks=1.0, slowdown_factor=1.35, variation_fraction=0.05
    )

    assert alone == pytest.approx(1.35, rel=1e-12)
    assert np.all(np.diff(noisy) < 0)
    assert noisy[2] == pytest.approx(1.10, abs=0.01)


def test_a_hot_node_against_drawn_steps():
    """Means over 20,000 steps of 500 ranks, with the first slowed and without."""
    random = np.random.default_rng(8)
    steps_s = draw_s(random, StepTime(1.0, 0.05, "gamma"), (20_000, 500))
    well_s = steps_s.max(axis=1)
    hurt_s = np.maximum(steps_s[:, 1:].max(axis=1), 1.35 * steps_s[:, 0])
    ours = slow_ranks_factor(ranks=500, slow_ranks=1, slowdown_factor=1.35, variation_fraction=0.05)

    assert ours == pytest.approx(hurt_s.mean() / well_s.mean(), rel=0.002)


@given(ratio=st.floats(1e-6, 1e6))
def test_what_an_average_leaves_of_a_variance(ratio):
    """Two integrals of e^-|t - s| over the window, by quadrature of its one-dimensional form."""
    points, weights = np.polynomial.legendre.leggauss(60)
    # Split where the exponential has died away, so that both pieces are smooth.
    cuts = [0.0, min(1.0, 2 / ratio), min(1.0, 40 / ratio), 1.0]
    total = 0.0
    for low, high in pairwise(cuts):
        t = low + (high - low) * (points + 1) / 2
        total += (high - low) * (weights / 2 * 2 * (1 - t) * np.exp(-t * ratio)).sum()

    assert averaged_variance_fraction(window_h=ratio, lasting_h=1.0) == pytest.approx(total, rel=1e-9)


def test_independent_noise_averages_out_and_shared_noise_stays():
    """20 s steps: 10 % noise of single steps is 0.15 % of a day; 2 % that last stay 2 % of 54 days."""
    width = {}
    for name, noise in {"own": (0.1, 0.0), "shared": (0.0, 0.02)}.items():
        quantiles = step_quantile_factor(
            quantile_fraction=PERCENTILES,
            window_h=np.array([24.0, 54 * 24.0])[:, None],
            step_s=20.0,
            step_variation_fraction=noise[0],
            shared_variation_fraction=noise[1],
        )
        width[name] = (quantiles[:, 2] - quantiles[:, 0]) / (2 * 1.6449)

    assert width["own"] == pytest.approx([0.1 / np.sqrt(4320), 0.1 / np.sqrt(54 * 4320)], rel=1e-3)
    assert width["shared"] == pytest.approx([0.02, 0.02], rel=1e-3)


def test_a_shared_regime_of_a_day_shrinks_over_a_run():
    """v(54) = 2 * 53 / 54^2: the deviation over 54 days is 0.1907 of that of a step."""
    quantiles = step_quantile_factor(
        quantile_fraction=PERCENTILES[[0, 2]],
        window_h=54 * 24.0,
        step_s=20.0,
        step_variation_fraction=0.0,
        shared_variation_fraction=0.02,
        shared_lasting_h=24.0,
    )

    assert (quantiles[1] - quantiles[0]) / (2 * 1.6449) == pytest.approx(0.02 * 0.1907, rel=1e-3)


def play_windows(*, window_h, episodes_per_h, episode_h, slowdown_factor, replicas, seed):
    """Hours for each hour of work in windows with slow episodes, on at the start or begun later."""
    random = np.random.default_rng(seed)
    factors = np.empty(replicas)
    for replica in range(replicas):
        on, come = random.poisson(episodes_per_h * np.array([episode_h, window_h]))
        starts = np.concatenate([np.zeros(on), np.sort(random.uniform(0, window_h, come))])
        ends = np.minimum(starts + random.exponential(episode_h, on + come), window_h)
        covered = np.concatenate([[0.0], np.maximum.accumulate(ends)])[:-1] if on + come else starts
        slow = np.maximum(ends - np.maximum(starts, covered), 0).sum() / window_h
        factors[replica] = 1 / (1 - slow * (1 - 1 / slowdown_factor))
    return factors


@pytest.mark.parametrize("window_h", [1.0, 24.0, 240.0])
@pytest.mark.parametrize(("episodes_per_h", "episode_h"), [(0.02, 1.2), (0.2, 1.2), (0.02, 12.0)])
def test_percentiles_with_slow_episodes_against_played_windows(window_h, episodes_per_h, episode_h):
    """Rare, frequent and long episodes over an hour, a day and ten days: every percentile within 2.5 %."""
    episodes = {"episodes_per_h": episodes_per_h, "episode_h": episode_h, "slowdown_factor": 1.34}
    played = play_windows(window_h=window_h, replicas=6000, seed=17, **episodes)
    ours = step_quantile_factor(
        quantile_fraction=PERCENTILES, window_h=window_h, step_s=20.0, step_variation_fraction=0.0, **episodes
    )

    assert ours == pytest.approx(np.quantile(played, PERCENTILES), rel=0.025)
    assert np.all((ours >= 1 - 1e-9) & (ours <= 1.34 + 0.01))


def test_job_time_of_greyhound():
    """72 min episodes that halve the pace: 1.34 times the job time, GREYHOUND's figure, needs 0.59 an hour.

    Half of all hours are slow then: p = 2 * (1 - 1 / 1.34). Played for 500 windows of ten days.
    """
    slow = 2 * (1 - 1 / 1.34)
    episodes = {"episodes_per_h": -np.log1p(-slow) / 1.2, "episode_h": 1.2}
    played = play_windows(window_h=240.0, slowdown_factor=2.0, replicas=500, seed=18, **episodes)

    assert slow_time_fraction(**episodes) == pytest.approx(slow, rel=1e-12)
    assert mean_step_factor(slowdown_factor=2.0, **episodes) == pytest.approx(1.34, rel=1e-12)
    assert 500 / (1 / played).sum() == pytest.approx(1.34, rel=0.003)


def test_production_step_times_of_prism():
    """64,000 GPUs: p5, p50, p95 of 18.6, 18.8, 19.3 s, as of 0.7 % noise and a tenth of hours 3 % slow."""
    factor = step_quantile_factor(
        quantile_fraction=PERCENTILES,
        window_h=18.8 / 3600,
        step_s=18.8,
        step_variation_fraction=0.007,
        episodes_per_h=0.1 / 1.2,
        episode_h=1.2,
        slowdown_factor=1.03,
    )

    assert 18.8 * factor / factor[1] == pytest.approx([18.6, 18.8, 19.3], rel=0.003)


def test_columns_give_what_single_values_give():
    window_h, rate = np.array([1.0, 24.0, 500.0]), np.array([0.0, 0.1, 0.02])
    job = {
        "quantile_fraction": 0.95,
        "step_s": 20.0,
        "step_variation_fraction": 0.05,
        "episode_h": 1.2,
        "shared_variation_fraction": 0.01,
        "shared_lasting_h": 24.0,
        "slowdown_factor": 1.3,
    }
    column = step_quantile_factor(window_h=window_h, episodes_per_h=rate, **job)
    single = [
        step_quantile_factor(window_h=w, episodes_per_h=r, **job) for w, r in zip(window_h, rate, strict=True)
    ]

    assert column == pytest.approx(single, rel=1e-14)


def test_a_steady_job_takes_its_time():
    """No noise and no episodes: one hour for each hour, at every chance."""
    factor = step_quantile_factor(
        quantile_fraction=np.array([0.01, 0.99]), window_h=24.0, step_s=20.0, step_variation_fraction=0.0
    )

    assert factor == pytest.approx([1, 1], rel=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: slowest(groups=[]), "at least one RankGroup, got none"),
        (lambda: in_series(parts=[StepTime(1.0, 0.1, certain_s=1.0)]), "certain_s must be below mean_s"),
        (lambda: in_series(parts=[]), "at least one StepTime, got none"),
        (
            lambda: slowest(groups=[RankGroup(0, StepTime(1.0, 0.1))]),
            "ranks must be a finite number from 1 up",
        ),
        (lambda: slowest(groups=[RankGroup(2, StepTime(1.0, 0.1, "beta"))]), "'lognormal', got 'beta'"),
        (
            lambda: slowest(groups=[RankGroup(2, StepTime(0.0, 0.1))]),
            "mean_s must be a finite number above 0",
        ),
        (
            lambda: slow_ranks_factor(ranks=4, slow_ranks=4, slowdown_factor=2.0, variation_fraction=0.1),
            "slow_ranks must be fewer than ranks, got 4 of 4",
        ),
        (
            lambda: mean_step_factor(episodes_per_h=0.1, episode_h=1.0, slowdown_factor=0.9),
            "slowdown_factor must be a finite number from 1 up, got 0.9",
        ),
        (
            lambda: averaged_variance_fraction(window_h=0.0, lasting_h=1.0),
            "window_h must be a finite number above 0, got 0",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
