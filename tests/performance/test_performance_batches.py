"""Requests answered in batches: the chain from batch to batch against a simulation of single requests."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.batches import batch_sizes, batched_capacity, batched_use

IMAGES = {"fixed_s": 0.05, "each_s": 0.65, "start_s": 0.02, "target_s": 5.0, "most": 8}
# One film, or four images, at once, and time for several of them: who comes too many waits.
FILMS = {"fixed_s": 0.0, "each_s": 3.0, "start_s": 0.02, "target_s": 30.0, "most": 1}
WAITING = {"fixed_s": 0.05, "each_s": 0.65, "start_s": 0.02, "target_s": 30.0, "most": 4}
SCORES = {"fixed_s": 1e-3, "each_s": 0.1e-3, "start_s": 0.2e-3, "target_s": 6e-3, "most": 400}


def asked(case: dict[str, float], **other: float) -> dict[str, np.ndarray]:
    """The arguments of a case as columns of one row."""
    case = {**case, **other}
    sizes = batch_sizes(largest=case["most"])
    return {
        "batch_requests": sizes[None],
        "batch_s": (case["fixed_s"] + case["each_s"] * sizes)[None],
        "start_s": np.array([case["start_s"]]),
        "response_target_s": np.array([case["target_s"]]),
        "arrival_scv_ratio": np.array([case.get("spread", 1.0)]),
    }


def limit_per_s(case: dict[str, float], quantile: float = 0.9, **other: float) -> float:
    found = batched_capacity(
        **asked(case, **other), quantile_fraction=quantile, utilisation_fraction=np.float64(0.8)
    )
    return float(np.asarray(found.limit_requests_per_s)[0])


def played(case: dict[str, float], rate_per_s: float, requests: int = 60_000) -> tuple[float, float, float]:
    """Share in time, mean response and share of time at work of requests that come at random."""
    draw = np.random.default_rng(7)
    comes = np.cumsum(draw.exponential(1.0 / rate_per_s, requests))
    sizes = batch_sizes(largest=case["most"])
    time_s = case["fixed_s"] + case["each_s"] * sizes
    most = int(sizes[case["start_s"] + time_s <= case["target_s"]].max())
    free, at, busy, responses = 0.0, 0, 0.0, []
    while at < requests:
        begin = max(free, comes[at])
        waiting = int(np.searchsorted(comes, begin, side="right")) - at
        taken = min(waiting, most)
        lasts = case["fixed_s"] + case["each_s"] * taken
        responses.append(begin + case["start_s"] + lasts - comes[at : at + taken])
        free = begin + max(case["start_s"], lasts)
        busy += free - begin
        at += waiting  # those beyond the batch are refused
    found = np.concatenate(responses)
    return float((found <= case["target_s"]).sum() / requests), float(found.mean()), busy / free


@pytest.mark.slow
@pytest.mark.parametrize("case", [IMAGES, SCORES])
def test_the_largest_rate_keeps_the_quantile_in_a_simulation(case: dict[str, float]) -> None:
    """At the rate found nine of ten simulated requests are in time; sizes of batches are interpolated."""
    in_time, _, _ = played(case, limit_per_s(case))

    assert in_time == pytest.approx(0.9, abs=0.015)


@pytest.mark.slow
def test_response_and_use_are_those_of_a_simulation() -> None:
    """Mean response and share of time at work at the planned load, 60,000 requests played one by one."""
    arguments = asked(IMAGES)
    found = batched_capacity(**arguments, quantile_fraction=0.9, utilisation_fraction=np.float64(0.8))
    rate = float(np.asarray(found.requests_per_s)[0])
    use = batched_use(
        **arguments,
        batch_memory_fraction=np.float64(0.3),
        batch_compute_fraction=np.float64(0.5),
        requests_per_s=np.array([rate]),
    )
    _, response_s, busy = played(IMAGES, rate)

    assert float(np.asarray(found.ttft_s)[0]) == pytest.approx(response_s, rel=0.02)
    assert float(np.asarray(use.busy_fraction)[0]) == pytest.approx(busy, rel=0.02)
    assert float(np.asarray(use.memory_use_fraction)[0]) == pytest.approx(0.3, rel=1e-6)


def test_limits_of_sense() -> None:
    """More time, faster batches and calmer arrivals never carry less; too little time carries none."""
    base = limit_per_s(SCORES)

    assert limit_per_s(SCORES, target_s=8e-3) > base
    assert limit_per_s(SCORES, each_s=0.05e-3) > base
    assert limit_per_s(SCORES, spread=4.0) < base
    assert limit_per_s(SCORES, quantile=0.99) < base
    assert base < 1.0 / SCORES["each_s"]  # no request takes less than its own part of a batch
    assert limit_per_s(SCORES, target_s=1.2e-3) == 0.0


def test_loads_on_an_axis_are_as_loads_one_by_one() -> None:
    """Power over a day asks for several loads at once."""
    rates = np.array([0.2, 0.9])
    several = batched_use(
        **asked(IMAGES) | {"arrival_scv_ratio": np.float64(1.0)},
        batch_memory_fraction=np.full((1, 8), 0.2),
        batch_compute_fraction=np.linspace(0.1, 0.8, 8)[None],
        requests_per_s=rates[None],
    )
    for at, rate in enumerate(rates):
        alone = batched_use(
            **asked(IMAGES) | {"arrival_scv_ratio": np.float64(1.0)},
            batch_memory_fraction=np.full((1, 8), 0.2),
            batch_compute_fraction=np.linspace(0.1, 0.8, 8)[None],
            requests_per_s=np.array([rate]),
        )
        assert np.asarray(several.compute_use_fraction)[0, at] == pytest.approx(
            float(np.asarray(alone.compute_use_fraction)[0])
        )


def waited(case: dict[str, float], rate_per_s: float, requests: int = 60_000) -> float:
    """Share in time of requests that wait in one line for batches of the engine's size."""
    draw = np.random.default_rng(11)
    comes = np.cumsum(draw.exponential(1.0 / rate_per_s, requests))
    free, at, late = 0.0, 0, 0
    while at < requests:
        begin = max(free, comes[at])
        taken = min(int(np.searchsorted(comes, begin, side="right")) - at, int(case["most"]))
        lasts = case["fixed_s"] + case["each_s"] * taken
        responses = begin + case["start_s"] + lasts - comes[at : at + taken]
        late += int((responses > case["target_s"]).sum())
        free, at = begin + max(case["start_s"], lasts), at + taken
    return 1.0 - late / requests


@pytest.mark.slow
@pytest.mark.parametrize("case", [FILMS, WAITING])
def test_who_finds_the_largest_batch_full_waits_for_the_next(case: dict[str, float]) -> None:
    """The largest rate holds in a line of single requests, and a tenth more does not."""
    found = limit_per_s(case)

    assert waited(case, found) >= 0.895
    assert waited(case, 1.1 * found) < 0.9
    assert found > 0.75 * case["most"] / (case["fixed_s"] + case["each_s"] * case["most"])


def test_more_time_carries_more_where_the_engine_sets_the_batch() -> None:
    """Eight images together: 15, 30 and 60 s are not one target."""
    rates = [limit_per_s(IMAGES, target_s=target) for target in (5.6, 15.0, 30.0, 60.0)]

    assert rates == sorted(set(rates))
    assert rates[-1] < 8 / (IMAGES["fixed_s"] + 8 * IMAGES["each_s"])
