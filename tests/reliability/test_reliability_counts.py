"""Counts and shares that single questions ask for: who fails, what waits, what an interruption takes."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from reliability.checkpoint import two_level_plan
from reliability.ettr import interval_goodput_fraction, not_training_h
from reliability.fleet import failing_nodes, lognormal_count_quantile, mean_count
from reliability.lemons import worst_nodes_fraction
from reliability.outages import down_history, nodes_down_quantile
from reliability.restart import retried_restart_h, weibull_retried_restart_h
from reliability.two_level_ettr import (
    two_level_ettr_fraction,
    two_level_least_waste_fraction,
    two_level_restart_can_fail_ettr_fraction,
)
from reliability.writing import write_stop_fraction

LEVELS = {
    "interval_h": 0.4,
    "local_saves": 4.0,
    "local_rate_per_h": 0.5,
    "remote_rate_per_h": 0.2,
    "local_write_h": 0.02,
    "remote_write_h": 0.1,
    "local_restart_h": 0.3,
    "remote_restart_h": 0.8,
}


def test_nodes_that_fail_in_a_fortnight():
    """1 % a week of 1,000 nodes: 10 in one week, 19.9 in two, since some fail in both."""
    assert failing_nodes(nodes=1000, weekly_failure_fraction=0.01, period_h=168) == pytest.approx(10)
    assert failing_nodes(nodes=1000, weekly_failure_fraction=0.01, period_h=336) == pytest.approx(19.9)


def test_a_mean_count_is_rate_times_time():
    """0.5 for each million hours, 16,384 accelerators, 54 days: 10.6."""
    got = mean_count(units=16384, rate_per_unit_h=0.5e-6, period_h=54 * 24)

    assert got == pytest.approx(16384 * 54 * 24 * 0.5e-6)


@pytest.mark.parametrize(("sigma", "share"), [(0.0, 0.5), (0.5, 0.5), (1.2, 0.9)])
def test_counts_of_a_lognormal_belief_beside_drawn_ones(sigma, share):
    """75 failures at the median rate: the quantile is that of 200,000 drawn counts, to a few of them."""
    random = np.random.default_rng(4)
    drawn = random.poisson(75.0 * np.exp(sigma * random.standard_normal(200_000)))

    got = lognormal_count_quantile(
        median_per_node_h=1e-4, log_sigma=sigma, node_h=750_000, quantile_fraction=share
    )

    assert got == pytest.approx(np.quantile(drawn, share), rel=0.01, abs=1)
    if sigma == 0.0:
        assert got == stats.poisson(75.0).ppf(share)


def test_one_interval_with_one_failure():
    """1,800 s with 900 s lost, 60 s to reschedule and 300 s to restart: 900 of 2,160 s."""
    times = {"lost_h": 0.25, "reschedule_h": 60 / 3600, "restart_h": 300 / 3600}

    assert interval_goodput_fraction(interval_h=0.5, **times) == pytest.approx(900 / 2160)
    with pytest.raises(ValueError, match="no more was done"):
        interval_goodput_fraction(interval_h=0.2, **times)


def test_hours_that_train_nothing():
    assert not_training_h(ettr_fraction=0.9, period_h=54 * 24) == pytest.approx(129.6)


def test_writes_stop_a_run_or_hide():
    """49.14 s after ten steps of 116.39 s: 4.05 %. In the background nothing, until the next is due first."""
    blocking = write_stop_fraction(write_h=49.14, compute_h=1163.9, blocking=True)

    assert blocking == pytest.approx(0.0405, rel=2e-3)
    assert write_stop_fraction(write_h=49.14, compute_h=1163.9, blocking=False) == 0.0
    assert write_stop_fraction(write_h=3.0, compute_h=2.0, blocking=False) == pytest.approx(1 / 3)


def test_the_worst_nodes_hold_their_part_of_the_record():
    counts = [5, 0, 1, 3, 1]

    assert worst_nodes_fraction(failures=counts, worst=2) == pytest.approx(0.8)
    assert worst_nodes_fraction(failures=counts, worst=5) == 1.0
    with pytest.raises(ValueError, match="from 1 to the 5 nodes"):
        worst_nodes_fraction(failures=counts, worst=6)


def test_nodes_down_for_a_share_of_the_time():
    """None for 6 h, one for 3 h, two for 1 h."""
    history = down_history(start_h=[2.0, 3.0], end_h=[5.0, 4.0 + 1.0], window_end_h=10.0)
    seen = [nodes_down_quantile(history, time_fraction=share) for share in (0.7, 0.71, 0.8, 0.99)]

    assert seen == [0, 1, 1, 2]


@given(
    local=st.floats(0.01, 1),
    remote=st.floats(0.001, 0.2),
    write=st.floats(1e-5, 1e-3),
    far=st.floats(1e-3, 1e-2),
)
def test_least_waste_is_that_of_the_best_pattern(local, remote, write, far):
    """Writes and rework of the best pattern; a whole number of saves costs a little more."""
    assume(local * far > remote * write)  # otherwise every save is a remote one
    rates = {"local_rate_per_h": local, "remote_rate_per_h": remote}
    writes = {"local_write_h": write, "remote_write_h": far}
    best = two_level_plan(**rates, **writes)

    overhead = np.add(write, far / best.local_saves) / best.interval_h
    rework = (local + remote * best.local_saves) * best.interval_h / 2  # half a stretch after each failure
    least = two_level_least_waste_fraction(**rates, **writes)

    assert least <= (overhead + rework) * (1 + 1e-9)
    assert overhead + rework <= 1.07 * least


def test_two_levels_whose_restarts_fail_beside_played_ones():
    """Played failure by failure; restarts that cannot fail would be 5 % too good here."""
    random = np.random.default_rng(11)
    rate = LEVELS["local_rate_per_h"] + LEVELS["remote_rate_per_h"]
    local_share = LEVELS["local_rate_per_h"] / rate
    hours, patterns = 0.0, 6000

    def failed(length_h):
        """Whether a stage of work or restart failed, and with which kind."""
        nonlocal hours
        until = random.exponential(1 / rate)
        hours += min(until, length_h)
        if until >= length_h:
            return ""
        return "local" if random.random() < local_share else "remote"

    for _ in range(patterns):
        save = 0
        while save < LEVELS["local_saves"]:
            last = save == LEVELS["local_saves"] - 1
            stage_h = LEVELS["interval_h"] + LEVELS["local_write_h"] + last * LEVELS["remote_write_h"]
            kind = failed(stage_h)
            save += not kind
            while kind:
                save = 0 if kind == "remote" else save
                again = failed(LEVELS[f"{kind}_restart_h"])
                kind = "remote" if kind == "remote" and again else again
    played = patterns * LEVELS["local_saves"] * LEVELS["interval_h"] / hours

    got = two_level_restart_can_fail_ettr_fraction(**LEVELS)
    assert got == pytest.approx(played, rel=0.015)
    assert got < 0.95 * two_level_ettr_fraction(**LEVELS)


@given(restart=st.floats(0.01, 5), mttf=st.floats(0.5, 100))
def test_a_weibull_restart_of_shape_one_is_the_exponential_one(restart, mttf):
    got = weibull_retried_restart_h(restart_h=restart, mttf_h=mttf, weibull_shape=1.0)

    assert got == pytest.approx(float(retried_restart_h(restart_h=restart, mttf_h=mttf)), rel=1e-9)


def test_a_weibull_restart_beside_drawn_attempts():
    random = np.random.default_rng(2)
    scale = 2.0 / math.gamma(1 + 1 / 0.6)
    lives = scale * random.weibull(0.6, size=400_000)
    ended = lives >= 1.0
    mean_h = np.minimum(lives, 1.0).sum() / ended.sum()

    got = weibull_retried_restart_h(restart_h=1.0, mttf_h=2.0, weibull_shape=0.6)

    assert got == pytest.approx(mean_h, rel=0.01)
