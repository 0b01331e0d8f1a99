"""How late answers of several stages are together: added laws, drawn waits, every division."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_performance_batches import IMAGES, SCORES, asked, limit_per_s

from planner.performance.batches import batch_sizes, batched_in_time_fraction
from planner.performance.stages import each_alone_fraction, least_in_time_fraction, sum_in_time_fractions

Floats = np.ndarray


def drawn(case: dict[str, float], rate_per_s: float, seed: int, requests: int = 60_000) -> Floats:
    """Responses of requests that come at random, one by one; those who are refused never have theirs."""
    draw = np.random.default_rng(seed)
    comes = np.cumsum(draw.exponential(1.0 / rate_per_s, requests))
    sizes = batch_sizes(largest=case["most"])
    most = int(sizes[case["start_s"] + case["fixed_s"] + case["each_s"] * sizes <= case["target_s"]].max())
    free, at, found = 0.0, 0, np.full(requests, np.inf)
    while at < requests:
        begin = max(free, comes[at])
        waiting = int(np.searchsorted(comes, begin, side="right")) - at
        taken = min(waiting, most)
        lasts = case["fixed_s"] + case["each_s"] * taken
        found[at : at + taken] = begin + case["start_s"] + lasts - comes[at : at + taken]
        free = begin + max(case["start_s"], lasts)
        at += waiting
    return found


def law(case: dict[str, float], rate_per_s: float, within_s: Floats) -> Floats:
    asked_for = asked(case) | {"requests_per_s": np.array([rate_per_s]), "within_s": within_s}
    found: Floats = batched_in_time_fraction(**asked_for)[0]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("case", "load"), [(IMAGES, 1.0), (SCORES, 1.0), (SCORES, 1.08)])
def test_the_law_of_a_stage_is_that_of_drawn_requests(case: dict[str, float], load: float) -> None:
    """At every tenth of its time; where some are refused, as with more of it, they are never in time."""
    rate = load * limit_per_s(case)
    within_s = np.linspace(0.1, 1.0, 10) * case["target_s"]
    played = (drawn(case, rate, 7)[:, None] <= within_s).mean(axis=0)
    got = law(case, rate, within_s)

    assert np.all(got <= played + 0.015)
    assert got[-1] == pytest.approx(played[-1], abs=0.015)


def test_two_stages_are_never_looser_than_drawn_waits() -> None:
    """SCORES and a slower one, at the loads that keep nine of ten each in 6 and 12 ms: together in 18 ms.

    Requests go through both, dealt at random to many units of each. The share is above the product of both,
    0.81: time that is left in one stage makes up for what the other takes.
    """
    second = SCORES | {"fixed_s": 3e-3, "each_s": 0.2e-3, "target_s": 12e-3}
    whole_s = SCORES["target_s"] + second["target_s"]
    within_s = np.linspace(0.0, whole_s, 201)
    rates = [limit_per_s(case) for case in (SCORES, second)]
    laws = [law(case, rate, within_s) for case, rate in zip((SCORES, second), rates, strict=True)]
    got = sum_in_time_fractions(*laws)
    before, after = drawn(SCORES, rates[0], 0), drawn(second, rates[1], 1)
    played = float((np.random.default_rng(3).permutation(before) + after <= whole_s).mean())

    assert got[-1] <= played + 0.01
    assert got[-1] == pytest.approx(played, abs=0.04)
    assert got[-1] > 0.85


def test_sums_of_exponential_times_are_erlang() -> None:
    """1 - e^-x (1 + x) from below, and nearer with finer steps."""
    errors = []
    for parts in (50, 200):
        at = np.linspace(0.0, 4.0, parts + 1)
        one = 1.0 - np.exp(-at)
        errors.append(1.0 - np.exp(-4.0) * 5.0 - sum_in_time_fractions(one, one)[-1])

    assert 0 < errors[1] < errors[0] / 3


def test_a_stage_of_no_time_changes_nothing() -> None:
    """Limit: all that it does is at once, and so is all of both where neither takes any."""
    at_once, law_of_one = np.ones(9), np.linspace(0.2, 0.9, 9)

    assert sum_in_time_fractions(at_once, law_of_one) == pytest.approx(law_of_one)
    assert sum_in_time_fractions(law_of_one, at_once) == pytest.approx(law_of_one)


LAW = st.lists(st.floats(0.0, 1.0), min_size=13, max_size=13).map(lambda shares: np.sort(np.array(shares)))


@given(stages=st.lists(st.lists(st.none() | LAW, min_size=3, max_size=3), min_size=2, max_size=3))
def test_the_worst_division_is_no_better_than_any(stages: list[list[Floats | None]]) -> None:
    """Next to trying every division: one law for each stage, of as many steps as there are at most."""
    got = least_in_time_fraction(stages)
    steps = 3 + len(stages) - 1
    for each in itertools.product(range(3), repeat=len(stages)):
        laws = [law for stage, k in zip(stages, each, strict=True) if (law := stage[k]) is not None]
        if sum(each) + len(stages) > steps or len(laws) < len(stages):
            continue
        total = laws[0]
        for one in laws[1:]:
            total = sum_in_time_fractions(total, one)
        assert got <= total[-1] + 1e-9


def test_parts_that_all_keep_alone_are_kept_together() -> None:
    """Three stages of 0.9 ^ (1/3) that are in their parts at once: 0.9, and the law agrees."""
    alone = each_alone_fraction(together_fraction=0.9, stages=3)
    step = np.r_[np.zeros(4), np.full(9, alone)]  # in time at its own third, or never
    laws: list[list[Floats | None]] = [[step], [step], [step]]

    assert alone**3 == pytest.approx(0.9)
    assert least_in_time_fraction(laws) == pytest.approx(0.9)
