"""Stops that throw stored work away: the intervals, the hours by state and the finish, by other routes."""

from __future__ import annotations

import numpy as np
import pytest

from reliability.checkpoint import hours_by_state, objective_optimal_interval_h, weighted_hours_ratio
from reliability.finish import finish_quantile_h
from reliability.policies import flat_region_h
from reliability.rollback import (
    checked_h,
    corruptions_per_h,
    hours_with_checks,
    joined_mttf_h,
    mean_rolled_back_h,
    useful_and_repeated_h,
)
from reliability.two_level import (
    SaveLevels,
    two_level_hours_by_state,
    two_level_optimal_plan,
    two_level_weighted_hours_ratio,
)

JOB = {"mttf_h": 8.0, "write_h": 0.05, "restart_h": 0.3}
WEIGHTS = {"work_weight_factor": 1.0, "write_weight_factor": 0.4, "restart_weight_factor": 0.2}
LEVELS = SaveLevels(
    local_rate_per_h=0.09,
    remote_rate_per_h=0.03,
    local_write_h=0.004,
    remote_write_h=0.05,
    local_restart_h=0.1,
    remote_restart_h=0.3,
)


def test_rates_add_and_the_mean_goes_by_cause():
    """Ten failures, four spikes of half an hour and one corruption of two hours in a thousand hours."""
    mttf_h = joined_mttf_h(mttf_h=100.0, other_stops_per_h=0.005)
    assert mttf_h == pytest.approx(1000.0 / 15.0)
    back_h = mean_rolled_back_h(
        mttf_h=mttf_h,
        spikes_per_h=0.004,
        spike_back_h=0.5,
        corruptions_per_h=0.001,
        corruption_back_h=2.0,
    )
    assert back_h == pytest.approx((4 * 0.5 + 2.0) / 15.0)


def test_llama_3_saw_as_many_corruptions_as_the_published_rate_says():
    """6 silent corruptions in 54 days on 16,384 accelerators (arXiv 2407.21783, table 5)."""
    rate = corruptions_per_h(accelerators=16384.0, corruptions_per_accelerator_h=4.3e-7)
    assert rate * 54 * 24 == pytest.approx(9.1, rel=0.01)
    assert 3 < 6 < 2 * 9.1  # six are within two standard deviations of nine


@pytest.mark.simulation
def test_hours_and_finish_are_those_of_played_jobs():
    """A spike in four stops throws three intervals away: the mean finish, failure by failure."""
    interval_h, cycle_h, rates, back = 0.5, 0.55, np.array([0.09, 0.03]), np.array([0.0, 3.0])
    random, stored, finish_h = np.random.default_rng(5), np.zeros(300), np.zeros(300)
    running = np.arange(300)
    while running.size:
        up_h = random.exponential(1.0 / rates.sum(), running.size)
        left_h = (2000 - stored[running]) * cycle_h
        fails = up_h < left_h
        finish_h[running] += np.where(fails, up_h + 0.3, left_h)
        kind = random.choice(2, running.size, p=rates / rates.sum())
        stored[running] += np.where(fails, np.floor(up_h / cycle_h) - back[kind], 0.0)
        stored[running] = np.maximum(stored[running], 0.0)
        running = running[fails]
    rolled_back_h = interval_h * float(back @ rates) / float(rates.sum())
    job = {"mttf_h": 1.0 / float(rates.sum()), "write_h": 0.05, "restart_h": 0.3}
    hours = hours_by_state(interval_h=interval_h, rolled_back_h=rolled_back_h, **job)
    error = finish_h.std() / np.sqrt(300)
    assert abs(finish_h.mean() - 1000.0 / hours.ettr_fraction) < 3 * error
    median = finish_quantile_h(
        useful_h=1000.0, interval_h=interval_h, quantile_fraction=0.5, rolled_back_h=rolled_back_h, **job
    )
    assert median == pytest.approx(np.median(finish_h), rel=0.01)


@pytest.mark.parametrize("rolled_back_h", [0.2, 2.0])
def test_the_interval_of_least_weighted_hours_is_that_of_a_fine_grid(rolled_back_h):
    """Cheaper stalls move it; what is thrown away moves it back towards that of least time."""
    grid = np.geomspace(0.05, 20.0, 200_001)
    cost = weighted_hours_ratio(interval_h=grid, rolled_back_h=rolled_back_h, **JOB, **WEIGHTS)
    best_h = objective_optimal_interval_h(rolled_back_h=rolled_back_h, **JOB, **WEIGHTS)
    assert best_h == pytest.approx(grid[np.argmin(cost)], rel=2e-4)
    kept_h = objective_optimal_interval_h(**JOB, **WEIGHTS)
    by_time_h = objective_optimal_interval_h(**JOB, **dict.fromkeys(WEIGHTS, 1.0))
    assert min(kept_h, by_time_h) < best_h < max(kept_h, by_time_h)


def test_time_alone_has_one_best_interval_whatever_is_thrown_away():
    """What a stop throws away does not depend on the interval: what is stored between stops does."""
    equal = dict.fromkeys(WEIGHTS, 1.0)
    best_h = objective_optimal_interval_h(rolled_back_h=np.array([0.0, 0.5, 3.0]), **JOB, **equal)
    assert best_h == pytest.approx(np.full(3, best_h[0]), rel=1e-9)
    ends = flat_region_h(interval_h=best_h[2], loss_fraction=0.001, rolled_back_h=3.0, **JOB)
    assert ends.low_h < best_h[2] < ends.high_h


def test_two_levels_pay_the_same_factor():
    """What is kept is a share of what is stored: up hours times stops times what each throws away."""
    plan = two_level_optimal_plan(rolled_back_h=0.4, levels=LEVELS)
    pattern = {"interval_h": plan.interval_h, "local_saves": plan.local_saves}
    kept = two_level_hours_by_state(levels=LEVELS, **pattern)
    back = two_level_hours_by_state(rolled_back_h=0.4, levels=LEVELS, **pattern)
    up_h = 1.0 + kept.lost_h + kept.local_write_h + kept.remote_write_h
    assert (1.0 + back.lost_h) / (1.0 + kept.lost_h) == pytest.approx(1.0 / (1.0 - 0.4 * 0.12 * up_h))
    total = sum(getattr(back, name) for name in back.__dataclass_fields__)
    assert two_level_weighted_hours_ratio(rolled_back_h=0.4, levels=LEVELS, **pattern) == pytest.approx(total)


def test_checks_lengthen_all_but_the_useful_hour():
    """Hours by state with an overhead of 2 % add up to 1.02 times those without."""
    hours = hours_by_state(interval_h=1.0, **JOB)
    states = {name: getattr(hours, name) for name in hours.__dataclass_fields__}
    checked = hours_with_checks(**states, check_fraction=0.02)
    assert 1.0 / checked.ettr_fraction == pytest.approx(1.02 / hours.ettr_fraction)
    assert checked.useful_h == hours.useful_h
    assert checked_h(hours_h=50.0, check_fraction=0.02) == pytest.approx(51.0)


def test_checks_of_a_job_that_never_ends_take_no_end_either():
    """Hours without end are an answer, not a bad value; hours below zero and no numbers still are refused."""
    endless = {
        "useful_h": 1.0,
        "checkpoint_h": np.inf,
        "lost_h": np.array([0.1, np.inf]),
        "restart_h": np.inf,
    }
    checked = hours_with_checks(**endless, check_fraction=0.02)
    np.testing.assert_allclose(checked.lost_h, [1.1 * 1.02 - 1.0, np.inf])
    np.testing.assert_array_equal(checked.ettr_fraction, [0.0, 0.0])
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="hours_h must be from 0 up"):
            checked_h(hours_h=wrong, check_fraction=0.02)


def test_a_job_that_goes_back_further_than_it_comes_never_ends():
    """Fifteen hours of work are stored between stops, twenty are thrown away."""
    job = {"interval_h": 1.0, "mttf_h": 16.0, "write_h": 0.05}
    assert useful_and_repeated_h(useful_h=100.0, rolled_back_h=20.0, **job) == np.inf
    assert useful_and_repeated_h(useful_h=100.0, rolled_back_h=0.0, **job) == 100.0
    with pytest.raises(ValueError, match="rolled_back_h"):
        useful_and_repeated_h(useful_h=100.0, rolled_back_h=-1.0, **job)
