"""Two pools instead of one: transfer, sizes, and the comparison with a joint pool."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_constants import VLLM, served_chip, served_layout, served_transformer

from planner.performance.bundles import Guesses, Limits, Measured, Requests, Targets
from planner.performance.capacity import replica_capacity
from planner.performance.disaggregation import (
    best_pairs,
    dealt_scv_ratio,
    kv_transfer_s,
    unit_accelerator_kw,
    unit_capacity,
)

H100 = "H100-80GB-SXM"


def test_the_cache_of_a_prompt_crosses_the_network():
    """Llama 3.3 70B: 2 x 80 x 8 x 128 x 2 B = 0.328 MB a token; 2,000 of them take 13.1 ms at 50 GB/s.

    Split over four accelerators with a port each a quarter of that; layer by layer one eightieth.
    """
    token_gb = 2 * 80 * 8 * 128 * 2 / 1e9
    common = {"input_tokens": 2000.0, "state_gb": 0.0, "network_gb_per_s": 50.0, "latency_s": 0.0}

    whole = kv_transfer_s(**common, kv_cache_gb_per_token=token_gb, exposed_fraction=1.0)
    split = kv_transfer_s(**common, kv_cache_gb_per_token=token_gb / 4, exposed_fraction=1.0)
    layers = kv_transfer_s(**common, kv_cache_gb_per_token=token_gb, exposed_fraction=1 / 80)

    assert whole == pytest.approx(0.0131072)
    assert (split, layers) == pytest.approx((whole / 4, whole / 80))


def parts(**hardware):
    """Llama 3.3 70B in 16 bits on four accelerators."""
    return {
        "model": served_transformer("Llama 3.3 70B"),
        "chip": served_chip(H100, **hardware),
        "engine": VLLM,
        "layout": served_layout(H100, 4.0),
    }


def unit(**change):
    """Three readers of 2/s and one writer of 5/s; a cache takes 20 ms, of the ports 10 ms of either side."""
    asked = {
        "readers": 3.0,
        "writers": 1.0,
        "reading_limit_per_s": 2.0,
        "writing_limit_per_s": 5.0,
        "reading_ttft_s": 0.3,
        "reading_wait_s": 0.1,
        "writing_tpot_s": 0.02,
        "writing_running": 40.0,
        "transfer_s": 0.02,
        "sending_s": 0.01,
        "receiving_s": 0.01,
        "utilisation_fraction": 0.75,
    }
    return unit_capacity(**(asked | change))


def test_a_unit_carries_what_its_weaker_side_does():
    """Readers take 6/s and the writer 5; two writers 10, so that the readers decide. 0.3 + 0.02 s."""
    assert unit().limit_requests_per_s == 5.0
    assert unit(writers=2.0).limit_requests_per_s == 6.0
    assert unit().requests_per_s == 0.75 * 5.0
    assert unit().ttft_s == pytest.approx(0.32)
    assert unit(reading_limit_per_s=0.0).requests_per_s == unit(reading_limit_per_s=0.0).ttft_s == 0.0


def test_caches_pass_the_ports_one_after_the_other():
    """At 0.5 s a cache three readers send 6/s and one writer receives 2."""
    assert unit(sending_s=0.75).limit_requests_per_s == pytest.approx(4.0)
    assert unit(receiving_s=0.5).limit_requests_per_s == pytest.approx(2.0)


def test_without_a_way_and_with_nothing_to_write_a_unit_is_its_readers():
    """Limit: a way of no time, and writers that never are too few."""
    limits = np.array([0.5, 2.0, 7.0])
    free = {"transfer_s": 0.0, "sending_s": 0.0, "receiving_s": 0.0, "writing_limit_per_s": 1e9}
    got = unit(reading_limit_per_s=limits, readers=1.0, **free)

    assert got.limit_requests_per_s == pytest.approx(limits)
    assert got.ttft_s == pytest.approx(np.full(3, 0.3))


RATES = st.lists(st.floats(0.1, 9.0), min_size=1, max_size=3)


@given(reads=RATES, writes=RATES, wanted=st.floats(0.5, 40.0), passed=st.floats(0.5, 20.0))
def test_the_units_offered_reach_the_fewest_accelerators_of_all(reads, writes, wanted, passed):
    """Independent route: whole units of one kind for a demand, next to trying every count of every kind."""
    sizes = (1, 2, 4)
    kinds = len(reads), len(writes)
    pairs = best_pairs(
        reading_per_s=np.repeat(np.array(reads)[:, None], kinds[1], axis=1),
        reading_accelerators=np.array(sizes[: kinds[0]]),
        writing_per_s=np.array(writes),
        writing_accelerators=np.array(sizes[: kinds[1]]),
        most=3,
        wanted_per_s=wanted,
        ports_per_s=np.full((2, *kinds), passed),
    )

    def accelerators(readers, reading, writers, writing):
        reads_per_s = readers * min(reads[reading], passed)
        carried = min(reads_per_s, writers * min(writes[writing], passed))
        units = math.ceil(wanted / carried - 1e-9)
        return units * (readers * sizes[reading] + writers * sizes[writing])

    every = itertools.product(range(1, 4), range(kinds[0]), range(1, 4), range(kinds[1]))
    fewest = min(itertools.starmap(accelerators, every))
    assert min(accelerators(p.readers, p.reading, p.writers, p.writing) for p in pairs) == fewest


def test_a_unit_draws_the_mean_of_its_accelerators():
    """Two readers of four at 0.6 kW and one writer of eight at 0.3 kW: 0.45 kW, at one load or several."""
    counts = {"readers": 2.0, "writers": 1.0, "reading_accelerators": 4.0, "writing_accelerators": 8.0}

    assert unit_accelerator_kw(**counts, reading_kw=0.6, writing_kw=0.3) == pytest.approx(0.45)
    loads = unit_accelerator_kw(
        **{name: np.array([n]) for name, n in counts.items()},
        reading_kw=np.array([[0.6, 0.2]]),
        writing_kw=np.array([[0.3, 0.4]]),
    )
    assert loads == pytest.approx(np.array([[0.45, 0.3]]))


def test_bursts_that_are_dealt_to_several_are_thinned():
    """Dealing to four leaves a quarter of what is beyond Poisson's spread, whatever is tried."""
    assert dealt_scv_ratio(arrival_scv_ratio=5.0, replicas=4.0) == 2.0
    several = dealt_scv_ratio(
        arrival_scv_ratio=np.array([[1.0, 5.0], [3.0, 9.0]]), replicas=np.array([4.0, 2.0])
    )
    assert several == pytest.approx(np.array([[1.0, 2.0], [2.0, 5.0]]))


def test_a_tight_token_time_is_cheaper_apart_and_a_loose_one_is_not_out_of_reach_together():
    """Reading 2,000 tokens takes a joint step far beyond 25 ms a token, so that only others keep it.

    DistServe and Splitwise report this interference as the reason to separate. All three are sized by
    `replica_capacity` on the same hardware, targets and margin.
    """
    common = parts() | {
        "limits": Limits(batch_limit=128.0, queue_places=64.0, chunk_tokens=2048.0),
        "measured": Measured(),
        "arrival_scv_ratio": 1.2,
        "utilisation_fraction": 0.75,
    }

    def rate(target_s, ttft_s=1.0, output_tokens=200.0, **more):
        targets = Targets(ttft_target_s=ttft_s, tpot_target_s=target_s, quantile_fraction=0.9)
        requests = Requests(input_tokens=2000.0, output_tokens=output_tokens)
        return replica_capacity(**common, requests=requests, targets=targets, **more).requests_per_s

    known = Guesses(draft_tokens=0.0, accepted_tokens=1.0, read_fraction=0.0)
    reads, writes = rate(0.025, output_tokens=1.0), rate(0.025, ttft_s=0.05, guesses=known)
    tight, loose = rate(0.025), rate(0.2)

    assert reads > 0
    assert 1 / reads + 1 / writes < (1 / tight if tight > 0 else np.inf)
    assert loose > 0


def guessing(drafts, accepted, tpot_target_s=0.04, output_tokens=400.0):
    """Largest rate of Llama 3.3 70B on four H100 whose tokens are guessed so; waits are not asked about."""
    found = replica_capacity(
        **parts(),
        requests=Requests(input_tokens=200.0, output_tokens=output_tokens, output_scv_ratio=np.zeros(1)),
        limits=Limits(batch_limit=np.array([256.0]), queue_places=512.0, chunk_tokens=8192.0),
        targets=Targets(ttft_target_s=1e3, tpot_target_s=tpot_target_s, quantile_fraction=0.9),
        measured=Measured(),
        arrival_scv_ratio=1.0,
        utilisation_fraction=1.0,
        guesses=None if drafts is None else Guesses(draft_tokens=drafts, accepted_tokens=accepted),
    )
    return float(np.squeeze(found.limit_requests_per_s)), float(np.squeeze(found.tpot_s))


def test_no_guesses_change_nothing():
    assert guessing(0.0, 1.0) == pytest.approx(guessing(None, 1.0), rel=1e-9)


def test_guesses_pay_where_a_token_may_take_little_time():
    """Three guesses of which two and a half tokens come: more at 20 ms a token, less than 2.5 times as much.

    A target that even a request alone breaks without them is kept with them.
    """
    plain, _ = guessing(None, 1.0, tpot_target_s=0.025)
    guessed, token_s = guessing(3.0, 2.5, tpot_target_s=0.025)
    assert plain < guessed
    assert token_s <= 0.025 * (1 + 1e-6)
    alone, _ = guessing(None, 1.0, tpot_target_s=0.012)
    together, _ = guessing(3.0, 2.5, tpot_target_s=0.012)
    assert alone == 0.0 < together


def test_guesses_that_fail_cost():
    """Property: of guesses that give one token a step nothing is won."""
    assert guessing(3.0, 1.0)[0] < guessing(None, 1.0)[0]
