"""Step time of the slowest of many ranks, against drawn steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.step_time import (
    RankGroup,
    StepTime,
    slow_ranks_factor,
    slowest,
    slowest_quantile_s,
    waiting_factor,
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: slowest(groups=[]), "at least one RankGroup, got none"),
        (
            lambda: slowest(groups=[RankGroup(2, StepTime(1.0, 0.1, certain_s=1.0))]),
            "certain_s must be below mean_s",
        ),
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
    ],
)
def test_what_makes_no_sense_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_nodes_that_wait_for_slow_ones_as_drawn():
    """Sixteen nodes, each slow with 5 % and then by half, steps 2 % apart: 40,000 steps drawn."""
    rng = np.random.default_rng(7)
    slow = np.where(rng.random((40_000, 16)) < 0.05, 1.5, 1.0)
    drawn = (slow * rng.gamma(2500.0, 1 / 2500.0, slow.shape)).max(axis=1).mean()

    found = waiting_factor(nodes=16, slow_fraction=0.05, slowdown_factor=1.5, variation_fraction=0.02)

    assert found == pytest.approx(drawn, rel=0.005)


def test_limits_of_waiting():
    """Nobody waits alone or for nobody; of many nodes one is always slow; more nodes never wait less."""
    nodes = np.array([1.0, 8.0, 64.0, 1024.0, 16384.0])
    plain = {"slowdown_factor": 1.2, "variation_fraction": 0.0}
    waits = waiting_factor(nodes=nodes, slow_fraction=0.001, **plain)

    assert waiting_factor(nodes=nodes, slow_fraction=0.0, **plain) == pytest.approx(np.ones(5))
    assert waits[0] == pytest.approx(1.0 + 0.001 * 0.2)
    assert waits[-1] == pytest.approx(1.2, rel=1e-6)
    assert np.all(np.diff(waits) > 0)
    noisy = waiting_factor(nodes=1024, slow_fraction=0.0, slowdown_factor=1.0, variation_fraction=0.01)
    assert noisy == pytest.approx(1.032, abs=0.003)  # PRISM, arXiv 2510.15596: 1,024 ranks of 1 %
