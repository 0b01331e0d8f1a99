"""Optima by search, hours by state and write times, against trying everything, play, and published values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from planner.performance.bundles import bundled
from reliability.checkpoint import (
    checkpoint_size_gb,
    checkpoint_write_h,
    objective_optimal_interval_h,
    optimal_interval_h,
    two_level_plan,
    weighted_hours_ratio,
)
from reliability.ettr import asynchronous_ettr_fraction, ettr_fraction
from reliability.policies import flat_region_h
from reliability.two_level import (
    HourWeights,
    SaveLevels,
    two_level_flat_h,
    two_level_hours_by_state,
    two_level_optimal_plan,
    two_level_weighted_hours_ratio,
)
from reliability.two_level_ettr import two_level_ettr_fraction
from reliability.writing import asynchronous_write, write_bandwidth_gb_per_s

RATIOS = np.geomspace(1e-5, 2.0, 25)  # write time over MTTF
WEIGHTS = {"work_weight_factor": 1.0, "write_weight_factor": 0.3, "restart_weight_factor": 0.4}
# 13 failures a day, 80 % of them local, writes of 0.1 and 5 min, restarts of 2 and 10 min.
PATTERN = {
    "local_rate_per_h": 0.8 * 13 / 24,
    "remote_rate_per_h": 0.2 * 13 / 24,
    "local_write_h": 0.1 / 60,
    "remote_write_h": 5 / 60,
    "local_restart_h": 2 / 60,
    "remote_restart_h": 10 / 60,
}
TWO_WEIGHTS = {
    "work_weight_factor": 1.0,
    "local_write_weight_factor": 0.3,
    "remote_write_weight_factor": 0.6,
    "restart_weight_factor": 0.4,
}


def levels(**values: Any) -> dict[str, Any]:
    """Arguments of two-level patterns, by their plain names."""
    return bundled(values, levels=SaveLevels, weights=HourWeights)


def most(function: Callable[[float], float], guess: float) -> float:
    """The highest value of a function near a guess, by SciPy in the logarithm."""
    found = minimize_scalar(
        lambda log: -function(float(np.exp(log))),
        bounds=(np.log(guess / 50), np.log(guess * 50)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(found.fun)


# Optima


@pytest.mark.parametrize("ratio", RATIOS)
def test_blocking_intervals_reach_the_true_optimum(ratio: float) -> None:
    """SciPy's search on the exact ETTR finds nothing better than 1e-6, for C/M from 1e-5 to 2."""
    job = {"mttf_h": 1.0, "restart_h": 0.1}
    best_h = float(optimal_interval_h(mttf_h=1.0, write_h=ratio))
    reached = ettr_fraction(interval_h=best_h, write_h=ratio, **job)
    assert reached == pytest.approx(
        most(lambda w: float(ettr_fraction(interval_h=w, write_h=ratio, **job)), best_h), abs=1e-6
    )

    behind = {"write_h": ratio / 20, "persist_h": ratio}  # stored in the background: as the answers ask it
    alike = dict.fromkeys(WEIGHTS, 1.0)
    behind_h = float(objective_optimal_interval_h(**behind, **job, **alike))
    tried = np.maximum(np.geomspace(behind_h / 30, behind_h * 30, 4001), ratio - ratio / 20)
    stalls = {"blocking_h": ratio / 20, "persist_h": ratio}
    every = asynchronous_ettr_fraction(interval_h=tried, **stalls, **job)
    assert asynchronous_ettr_fraction(interval_h=behind_h, **stalls, **job) >= np.max(every) - 1e-12


def two_level_cases(count: int) -> list[dict[str, float]]:
    """Random jobs from quiet to hopeless, seeded."""
    random = np.random.default_rng(7)
    cases = []
    for _ in range(count):
        rate, share = float(np.exp(random.uniform(-5, 1))), float(random.uniform(0.1, 0.95))
        remote_h = float(np.exp(random.uniform(-6, 0)))
        cases.append(
            {
                "local_rate_per_h": share * rate,
                "remote_rate_per_h": (1 - share) * rate,
                "local_write_h": remote_h * float(np.exp(random.uniform(-5, -0.5))),
                "remote_write_h": remote_h,
                "local_restart_h": float(random.uniform(0, 0.2)),
                "remote_restart_h": float(random.uniform(0, 0.5)),
            }
        )
    return cases


@pytest.mark.slow
@pytest.mark.parametrize("weights", [{}, TWO_WEIGHTS], ids=["time", "weighted"])
def test_two_level_pattern_is_within_reach_of_trying_everything(weights: dict[str, float]) -> None:
    """Every n to 300 with 121 intervals each: none is better by 0.2 points, nor by 1e-5 of the cost."""
    saves, factors = np.arange(1.0, 301.0)[:, None], np.geomspace(0.05, 20, 121)
    for case in two_level_cases(25):
        plan = two_level_optimal_plan(**levels(**case, **weights))
        tried_h = plan.interval_h * factors
        every = two_level_weighted_hours_ratio(
            interval_h=tried_h, local_saves=saves, **levels(**case, **weights)
        )
        found = two_level_weighted_hours_ratio(
            interval_h=plan.interval_h, local_saves=plan.local_saves, **levels(**case, **weights)
        )
        least = float(np.nanmin(np.asarray(every)))
        assert 1 / found >= 1 / least - 0.002
        assert found <= least * (1 + 1e-5)
        assert float(plan.local_saves).is_integer()


def test_two_level_columns_are_their_rows() -> None:
    """One call on columns gives what one call for each row gives."""
    cases = two_level_cases(4)
    columns = {name: np.array([case[name] for case in cases]) for name in cases[0]}
    together = two_level_optimal_plan(**levels(**columns))

    for i, case in enumerate(cases):
        alone = two_level_optimal_plan(**levels(**case))
        assert (together.local_saves[i], together.interval_h[i]) == (alone.local_saves, alone.interval_h)


def test_two_level_search_starts_at_benoits_pattern_and_beats_it() -> None:
    """Benoit et al. 2016: n 14 and 5.3 min to first order; exact: n 14 too, 5.0 min, and a higher ETTR."""
    first = two_level_plan(**{name: PATTERN[name] for name in list(PATTERN)[:4]})
    exact = two_level_optimal_plan(**levels(**PATTERN))
    at = {
        name: two_level_ettr_fraction(interval_h=plan.interval_h, local_saves=plan.local_saves, **PATTERN)
        for name, plan in (("first", first), ("exact", exact))
    }

    assert first.local_saves == exact.local_saves == 14
    assert exact.interval_h * 60 == pytest.approx(4.98, abs=0.01)
    assert at["first"] < at["exact"] < at["first"] + 5e-4
    assert at["exact"] == pytest.approx(0.809, abs=0.001)  # an event simulation of the reference gave 0.809


# Hours by state


@given(
    interval_h=st.floats(0.01, 3),
    local_saves=st.integers(1, 40),
    local_rate=st.floats(0, 2),
    remote_rate=st.floats(0, 1),
    writes=st.tuples(st.floats(0, 0.1), st.floats(0, 0.5)),
    restarts=st.tuples(st.floats(0, 0.5), st.floats(0, 1)),
)
def test_two_level_hours_add_up_to_one_over_ettr(
    interval_h: float,
    local_saves: int,
    local_rate: float,
    remote_rate: float,
    writes: tuple[float, float],
    restarts: tuple[float, float],
) -> None:
    """The chain solved for hours and the chain solved for ETTR are two roads to the same number."""
    case = {
        "interval_h": interval_h,
        "local_saves": local_saves,
        "local_rate_per_h": local_rate,
        "remote_rate_per_h": remote_rate,
        "local_write_h": writes[0],
        "remote_write_h": writes[1],
        "local_restart_h": restarts[0],
        "remote_restart_h": restarts[1],
    }
    ettr = float(two_level_ettr_fraction(**case))
    if ettr < 1e-9:
        return
    hours = two_level_hours_by_state(**bundled(case, levels=SaveLevels))
    states = [float(getattr(hours, name)) for name in hours.__slots__]

    assert sum(states) == pytest.approx(1 / ettr, rel=1e-9)
    assert min(states) >= -1e-12


@pytest.mark.slow
def test_two_level_states_are_those_of_a_played_job() -> None:
    """A plain loop over failures, each state clocked: every state is within 3 standard errors."""
    plan = two_level_optimal_plan(**levels(**PATTERN))
    saves, interval_h = int(plan.local_saves), float(plan.interval_h)
    hours = two_level_hours_by_state(interval_h=interval_h, local_saves=saves, levels=SaveLevels(**PATTERN))
    random = np.random.default_rng(11)
    played = np.array([play_pattern(random, saves, interval_h, PATTERN) for _ in range(4000)])
    ours = [
        1 + hours.lost_h,
        hours.local_write_h,
        hours.remote_write_h,
        hours.local_restart_h,
        hours.remote_restart_h,
    ]
    each = played / (saves * interval_h)

    errors = (each.mean(axis=0) - np.array(ours, dtype=float)) / (each.std(axis=0) / np.sqrt(len(each)))
    assert np.abs(errors).max() < 3


def play_pattern(
    random: np.random.Generator, saves: int, interval_h: float, case: dict[str, float]
) -> list[float]:
    """Hours of work, local and remote writes and both restarts until one pattern is through."""
    local, remote = case["local_rate_per_h"], case["remote_rate_per_h"]
    spent, stage = [0.0] * 5, 0
    while stage < saves:
        last = stage == saves - 1
        parts = (interval_h, case["local_write_h"], case["remote_write_h"] if last else 0.0)
        up = random.exponential(1 / (local + remote))
        for i, part in enumerate(parts):
            spent[i] += min(max(up - sum(parts[:i]), 0.0), part)
        if up >= sum(parts):
            stage += 1
        elif random.random() < local / (local + remote):
            spent[3] += case["local_restart_h"]
        else:
            spent[4] += case["remote_restart_h"]
            stage = 0
    return spent


# Flat regions


@pytest.mark.parametrize("weights", [{}, WEIGHTS], ids=["time", "weighted"])
def test_flat_region_ends_where_the_cost_is_a_thousandth_more(weights: dict[str, float]) -> None:
    """SciPy's root of cost(W) = 1.001 * least on either side; the reference road for the halving."""
    job = {"mttf_h": 12.0, "write_h": 0.05, "restart_h": 0.2}
    every = {**{name: 1.0 for name in WEIGHTS}, **weights}
    best_h = float(objective_optimal_interval_h(**job, **every))

    def more(interval_h: float) -> float:
        cost = weighted_hours_ratio(interval_h=interval_h, **job, **every)
        return float(cost / weighted_hours_ratio(interval_h=best_h, **job, **every)) - 1.001

    flat = flat_region_h(interval_h=best_h, loss_fraction=0.001, **job, **weights)
    assert flat.low_h == pytest.approx(brentq(more, best_h / 100, best_h, xtol=1e-13), rel=1e-8)
    assert flat.high_h == pytest.approx(brentq(more, best_h, best_h * 100, xtol=1e-13), rel=1e-8)


def test_flat_region_of_a_background_write_stops_where_one_snapshot_is_in_flight() -> None:
    """P - b is the shortest interval there is: where the optimum lies on it, the region starts there."""
    job = {"mttf_h": 12.0, "write_h": 0.01, "restart_h": 0.2, "persist_h": 2.0}
    even = {name: 1.0 for name in WEIGHTS}
    best_h = float(objective_optimal_interval_h(**job, **even))
    flat = flat_region_h(interval_h=best_h, loss_fraction=0.001, **job)

    assert best_h == flat.low_h == pytest.approx(1.99)
    assert flat.high_h > best_h


def test_two_level_flat_region_ends_where_the_cost_is_a_thousandth_more() -> None:
    """The cost at either end is 1.001 of the least, by the definition of the region."""
    plan = two_level_optimal_plan(**levels(**PATTERN, **TWO_WEIGHTS))
    at = levels(local_saves=plan.local_saves, **PATTERN, **TWO_WEIGHTS)
    flat = two_level_flat_h(interval_h=plan.interval_h, loss_fraction=0.001, **at)
    least = two_level_weighted_hours_ratio(interval_h=plan.interval_h, **at)

    for end_h in (flat.low_h, flat.high_h):
        cost = two_level_weighted_hours_ratio(interval_h=end_h, **at)
        assert cost / least == pytest.approx(1.001, rel=1e-9)
    assert flat.low_h < plan.interval_h < flat.high_h


# Write times


def test_published_write_times() -> None:
    """Gemini, SOSP'23: 530B at 20 Gbit/s takes 42 min; Llama 3: 4.9 TB at 2 TB/s take 2.4 s."""
    gemini = checkpoint_size_gb(parameters=530e9, bytes_per_parameter=12)
    shared = write_bandwidth_gb_per_s(nodes=64, node_gb_per_s=12.5, shared_gb_per_s=2.5)
    assert checkpoint_write_h(size_gb=gemini, bandwidth_gb_per_s=shared) * 60 == pytest.approx(42.4, abs=0.05)

    llama = checkpoint_size_gb(parameters=405e9, bytes_per_parameter=12)
    tectonic = write_bandwidth_gb_per_s(nodes=2048, node_gb_per_s=1.0, shared_gb_per_s=2000.0)
    write_s = checkpoint_write_h(size_gb=llama, bandwidth_gb_per_s=tectonic) * 3600
    assert write_s == pytest.approx(2.43, abs=0.01)


def test_other_jobs_take_from_the_shared_limit_alone() -> None:
    """min(N b, (1 - o) B): ten nodes of 1 GB/s on 100 GB/s notice others only beyond nine tenths."""
    found = write_bandwidth_gb_per_s(
        nodes=10.0, node_gb_per_s=1.0, shared_gb_per_s=100.0, others_fraction=np.array([0.0, 0.9, 0.95])
    )

    assert found == pytest.approx([10.0, 10.0, 5.0])
    assert write_bandwidth_gb_per_s(nodes=3, node_gb_per_s=2.0, shared_gb_per_s=np.inf) == 6.0


def test_a_background_write_splits_into_copy_and_store() -> None:
    """GLM-65B (DLRover): 780 GB from 192 nodes at 20 GB/s each take 0.2 s; 6.5 GB/s store it in 2 min."""
    found = asynchronous_write(size_gb=780, nodes=192, host_gb_per_s=20, bandwidth_gb_per_s=6.5)

    assert found.blocking_h * 3600 == pytest.approx(0.2, abs=0.01)
    assert found.persist_h * 60 == pytest.approx(2.0, abs=0.01)


# Wrong input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: write_bandwidth_gb_per_s(
                nodes=1, node_gb_per_s=1, shared_gb_per_s=1, others_fraction=1.0
            ),
            "others_fraction must leave some of the shared limit, wanted below 1, got 1.0",
        ),
        (
            lambda: two_level_optimal_plan(**levels(**PATTERN | {"local_rate_per_h": 0.0})),
            "local_rate_per_h must be a finite number above 0, got 0",
        ),
        (
            lambda: two_level_optimal_plan(**levels(**PATTERN, work_weight_factor=0.0)),
            "work_weight_factor must be a finite number above 0, got 0",
        ),
        (
            lambda: two_level_hours_by_state(interval_h=1.0, local_saves=0.5, levels=SaveLevels(**PATTERN)),
            "local_saves must be a finite number from 1 up, got 0.5",
        ),
        (
            lambda: flat_region_h(interval_h=1, mttf_h=1, write_h=1, restart_h=0, loss_fraction=0.0),
            "loss_fraction must be a finite number above 0, got 0",
        ),
    ],
)
def test_wrong_values_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as raised:
        call()

    assert str(raised.value) == message
