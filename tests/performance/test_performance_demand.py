"""Demand, growth, feeding of trainers, single collectives, busy time, and counts that are whole."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.collectives import RING_TRIPS, chain_s, ring_s
from planner.performance.demand import agent_experiments_per_d, growth_ratio, lognormal_mean_h, pass_h
from planner.performance.experts import static_slots_ratio
from planner.performance.hardware import idle_excess_fraction, power_at_equal_peak_kw
from planner.performance.ingestion import drives_for_reads, hot_tier_gb, preprocessing_workers
from planner.performance.rounding import rounded_up
from planner.performance.timeline import busy_fraction, covered_s, exposed_s


def test_the_mean_of_lognormal_jobs_beside_drawn_ones():
    """Sustainable AI: half of the jobs above 2.96 GPU-days, 1 % above 125: 10.8 on average."""
    mean = lognormal_mean_h(median_h=2.96, high_h=125.0, high_fraction=0.99)
    random = np.random.default_rng(0)
    drawn = random.lognormal(math.log(2.96), math.log(125 / 2.96) / 2.32635, size=2_000_000)

    assert mean == pytest.approx(10.8, rel=0.01)
    assert mean == pytest.approx(drawn.mean(), rel=0.02)


def test_going_through_a_set_of_items():
    """43,090 items of 300 tokens at 2,000 tokens/s: 1.795 h."""
    assert pass_h(items=43_090, tokens_per_item=300, tokens_per_s=2000) == pytest.approx(1.795, rel=1e-3)


def test_agents_that_wait_do_not_use_further_workers():
    assert agent_experiments_per_d(workers=8, experiments_per_d=10, asynchronous=True) == 80
    assert agent_experiments_per_d(workers=8, experiments_per_d=10, asynchronous=False) == 10


@given(ratio=st.floats(0.5, 10), period=st.floats(0.2, 5), years=st.integers(1, 6))
def test_growth_compounds(ratio, period, years):
    yearly = growth_ratio(ratio=ratio, period_y=period, horizon_y=1.0)

    assert growth_ratio(ratio=ratio, period_y=period, horizon_y=years) == pytest.approx(yearly**years)


def test_workers_and_drives_are_whole():
    assert preprocessing_workers(trainers=3, workers_per_trainer=9.5) == 29
    assert drives_for_reads(capacity_drives=1000, iops_demand_ratio=8) == 8000
    assert drives_for_reads(capacity_drives=1000, iops_demand_ratio=0.5) == 1000


@given(hot=st.floats(0.01, 0.5), reads=st.floats(0.6, 0.95), hit=st.floats(0.05, 1.0))
def test_a_fast_tier_grows_with_what_it_must_hit(hot, reads, hit):
    """It is the published point at the published share, and everything where every read must hit."""
    shape = {"stored_gb": 1e7, "hot_fraction": hot, "hot_reads_fraction": reads}

    assert hot_tier_gb(**shape, hit_fraction=reads) == pytest.approx(1e7 * hot)
    assert hot_tier_gb(**shape, hit_fraction=1.0) == pytest.approx(1e7)
    assert hot_tier_gb(**shape, hit_fraction=hit) <= 1e7 * hit * (1 + 1e-9)  # hotter than the average byte


def test_rings_between_two_sites():
    """140 GB over 1 TB/s with 2 ms each way: 144 ms; an all-reduce is a scatter and a gather."""
    link = {"ranks": 2, "size_gb": 140, "bandwidth_gb_per_s": 1000, "latency_s": 0.002}
    took = {name: ring_s(trips=trips, **link) for name, trips in RING_TRIPS.items()}

    assert took["all_reduce"] == pytest.approx(0.144)
    assert took["all_reduce"] == pytest.approx(took["reduce_scatter"] + took["all_gather"])
    assert ring_s(trips=2, **link, oversubscription_ratio=2) == pytest.approx(0.284)
    assert ring_s(trips=2, **{**link, "ranks": 1}) == 0.0


interval = st.tuples(st.integers(0, 60), st.integers(0, 20), st.booleans())


@given(rows=st.lists(interval, min_size=1, max_size=12))
def test_covered_and_exposed_time_by_counting_slots(rows):
    """On a whole-number clock a time is covered where a slot is in any interval."""
    start = [one[0] for one in rows]
    end = [one[0] + one[1] for one in rows]
    sends = [one[2] for one in rows]
    slots = {t for a, b in zip(start, end, strict=True) for t in range(a, b)}
    other = {t for a, b, c in zip(start, end, sends, strict=True) if not c for t in range(a, b)}

    assert covered_s(start_s=start, end_s=end) == len(slots)
    assert exposed_s(start_s=start, end_s=end, is_communication=sends) == len(slots - other)
    if max(end) > min(start):
        assert busy_fraction(start_s=start, end_s=end) == pytest.approx(len(slots) / (max(end) - min(start)))


@pytest.mark.parametrize(
    ("value", "whole"),
    [(3.0, 3), (3.0 + 5e-10, 3), (3.0 - 5e-10, 3), (3.001, 4), (1e9 + 1e-7, 1e9), (0.0, 0)],
)
def test_a_quotient_within_a_billionth_of_a_whole_number_is_that_number(value, whole):
    assert rounded_up(value) == whole


def test_a_third_of_three_tenths_is_no_fourth_device():
    """0.3 / 0.1 is 2.9999999999999996 and 3 * 1.1 / 1.1 is 3.0000000000000004 in floats."""
    assert list(rounded_up(np.array([0.3 / 0.1, 3 * 1.1 / 1.1, 2.5]))) == [3, 3, 3]


def test_static_gating_computes_empty_slots():
    """Towards MoE Deployment: 512 experts, capacity factor 0.05, two a token: 12.8."""
    assert static_slots_ratio(experts=512, capacity_factor=0.05, experts_per_token=2) == pytest.approx(12.8)


def test_data_sheets_beside_each_other():
    """Twice the peak in 1.5 times the power: three quarters for as much peak, and back again."""
    sheet = {"tdp_kw": 1.05, "peak_tflop_per_s": 2000.0}
    reference = {"reference_tdp_kw": 0.7, "reference_peak_tflop_per_s": 1000.0}

    assert power_at_equal_peak_kw(reference_kw=10, **sheet, **reference) == pytest.approx(7.5)
    shares = np.array([0.3, 0.8])
    assert idle_excess_fraction(idle_fractions=shares, reference_idle_fraction=0.2) == pytest.approx(0.6)


def test_a_chain_passes_everything_on_once():
    """A broadcast to three: 140 GB over 1 TB/s, and two hops of 2 ms; half the bandwidth, twice the time."""
    link = {"ranks": 3, "size_gb": 140, "bandwidth_gb_per_s": 1000, "latency_s": 0.002}

    assert chain_s(**link) == pytest.approx(0.144)
    assert chain_s(**link, oversubscription_ratio=2) == pytest.approx(0.284)
    assert chain_s(**{**link, "ranks": 1}) == 0.0
    assert chain_s(**link) > ring_s(trips=1, **link)  # a gather keeps its own part at home
