"""Two pools instead of one: transfer, sizes, and the comparison with a joint pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_constants import VLLM, served_chip, served_layout, served_transformer

from planner.performance.bundles import bundled
from planner.performance.capacity import (
    Guesses,
    Limits,
    Measured,
    Requests,
    Targets,
    replica_capacity,
)
from planner.performance.disaggregation import (
    DisaggregatedTargets,
    apart_requests_per_s,
    disaggregated_replicas,
    kv_transfer_s,
    prefill_replicas,
)
from planner.performance.engine import step_times
from planner.performance.queueing import mmc_wait_h, servers_needed

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


def test_readers_of_exponential_prompts_are_servers_of_an_mmc_queue():
    """Agreement: with Ca^2 = Cs^2 = 1 the pool is M/M/c, sized by `servers_needed` for what is left."""
    got = prefill_replicas(
        requests_per_s=20.0,
        prefill_s=0.4,
        prefill_scv_ratio=1.0,
        arrival_scv_ratio=1.0,
        ttft_target_s=1.0,
        met_fraction=0.95,
        occupancy_fraction=0.9,
    )

    assert got == servers_needed(
        offered_load=8.0,
        service_h=0.4 / 3600,
        wait_target_h=0.6 / 3600,
        met_fraction=0.95,
        occupancy_fraction=0.9,
    )


def parts(**hardware):
    """Llama 3.3 70B in 16 bits on four accelerators."""
    return {
        "model": served_transformer("Llama 3.3 70B"),
        "chip": served_chip(H100, **hardware),
        "engine": VLLM,
        "layout": served_layout(H100, 4.0),
    }


def step_s(batch, prefill_tokens=0.0, **hardware):
    """A step of Llama 3.3 70B on four accelerators, without prompts or with one."""
    return step_times(
        **parts(**hardware),
        writing=batch,
        prefill_tokens=prefill_tokens,
        context_tokens=2200.0,
        prompt_tokens=2000.0,
    ).total_s


def pools(**change):
    states = np.arange(1.0, 193.0)
    arguments = {
        "requests_per_s": 20.0,
        "prefill_s": float(step_s(0.0, prefill_tokens=2000.0)),
        "prefill_scv_ratio": 0.9,
        "arrival_scv_ratio": 1.2,
        "transfer_s": 0.02,
        "decode_step_s": step_s(np.minimum(states, 128.0)),
        "output_tokens": 200.0,
        "batch_limit": 128.0,
        "queue_places": 64.0,
        "ttft_target_s": 1.0,
        "tpot_target_s": 0.04,
        "handover_target_s": 0.2,
        "quantile_fraction": 0.9,
        "utilisation_fraction": 0.75,
    }
    return disaggregated_replicas(**bundled(arguments | change, targets=DisaggregatedTargets))


def test_pools_hold_their_load_with_the_margin_that_was_asked_for():
    """Both pools stay at or below 75 % and one replica fewer would not; waits follow Allen-Cunneen."""
    got = pools()
    load = 20.0 * float(step_s(0.0, prefill_tokens=2000.0))

    assert load / got.prefill_replicas <= 0.75
    assert got.decode_replicas == np.ceil(20.0 / got.decode_requests_per_s)
    poisson_s = 3600 * mmc_wait_h(
        servers=got.prefill_replicas, offered_load=load, service_h=load / 20.0 / 3600
    )
    assert got.ttft_s == pytest.approx(load / 20.0 + poisson_s * (1.2 + 0.9) / 2)
    assert got.ttft_s < 1.0


def test_a_tight_token_time_is_cheaper_apart_and_a_loose_one_is_not_out_of_reach_together():
    """Reading 2,000 tokens takes a joint step far beyond 25 ms a token, so that only separate pools keep it.

    DistServe and Splitwise report this interference as the reason to separate. The joint replica is sized
    by `replica_capacity` on the same hardware, targets and margin.
    """
    joint = parts() | {
        "requests": Requests(input_tokens=2000.0, output_tokens=200.0),
        "limits": Limits(batch_limit=128.0, queue_places=64.0, chunk_tokens=2048.0),
        "measured": Measured(),
        "arrival_scv_ratio": 1.2,
        "utilisation_fraction": 0.75,
    }

    def together(target_s):
        targets = Targets(ttft_target_s=1.0, tpot_target_s=target_s, quantile_fraction=0.9)
        return replica_capacity(**joint, targets=targets).requests_per_s

    tight, loose = together(0.025), together(0.2)
    apart = pools(tpot_target_s=0.025)

    assert apart.prefill_replicas + apart.decode_replicas < (20.0 / tight if tight > 0 else np.inf)
    assert loose > 0


def test_targets_out_of_reach_give_infinite_pools():
    column = pools(ttft_target_s=np.array([0.01, 1.0, 1.0]), handover_target_s=np.array([0.2, 0.01, 0.2]))

    assert column.prefill_replicas[0] == np.inf
    assert column.ttft_s[0] == np.inf
    assert column.decode_replicas[1] == np.inf
    assert np.isfinite([column.prefill_replicas[2], column.decode_replicas[2]]).all()


@pytest.mark.slow
@given(rate=st.floats(0.5, 60.0), more=st.floats(1.0, 3.0), better=st.floats(1.0, 4.0))
@pytest.mark.nightly
def test_more_load_needs_no_fewer_and_more_bandwidth_no_more_replicas(rate, more, better):
    states = np.minimum(np.arange(1.0, 193.0), 128.0)
    base = pools(requests_per_s=rate)
    loaded = pools(requests_per_s=rate * more)
    swift = pools(requests_per_s=rate, decode_step_s=step_s(states, memory_gb_per_s=better * 3350.0))

    assert loaded.prefill_replicas >= base.prefill_replicas
    assert loaded.decode_replicas >= base.decode_replicas
    assert swift.decode_replicas <= base.decode_replicas


def apart(**change):
    """One way to read (two places of 0.5 s on one accelerator) and one to write (3/s on four)."""
    asked = {
        "accelerators": 16.0,
        "reading_s": np.array([0.5]),
        "reading_places": np.array([2.0]),
        "reading_accelerators": np.array([1.0]),
        "writing_requests_per_s": np.array([3.0]),
        "writing_accelerators": np.array([4.0]),
        "ttft_target_s": 1e4,
        "quantile_fraction": 0.99,
    }
    return apart_requests_per_s(**(asked | change))


def test_a_system_is_split_where_readers_and_writers_meet():
    """Three writers of four give 9/s, the four accelerators left read 16/s; with two writers 6 and 32."""
    assert apart() == pytest.approx(9.0, rel=1e-3)
    assert apart(reading_s=np.array([2.0])) == pytest.approx(6.0, rel=1e-3)  # 4/s by four, 8/s by eight
    assert apart(accelerators=4.0) == 0.0


@pytest.mark.slow
def test_readers_keep_the_first_token():
    """Eight places of 0.5 s and 0.7 s in all: the load at which Erlang's wait keeps 0.2 s in 99 %."""
    got = apart(ttft_target_s=0.7, writing_requests_per_s=np.array([100.0]))
    loads = np.linspace(0.01, 8.0, 4000)

    def kept(load):
        needed = servers_needed(
            offered_load=load,
            service_h=0.5 / 3600,
            wait_target_h=0.2 / 3600,
            met_fraction=0.99,
            occupancy_fraction=1.0,
        )
        return needed <= 16  # eight accelerators read with two places each, two writers of four carry 200/s

    wide = max(load for load in 2 * loads if kept(load)) / 0.5
    narrow = apart(ttft_target_s=0.7, accelerators=12.0, writing_requests_per_s=np.array([100.0]))
    assert narrow == pytest.approx(wide, rel=0.01)
    assert got > narrow


def test_the_best_way_of_each_is_found():
    """Agreement: all ways at once give the most that any two of them give alone."""
    ways = {
        "reading_s": [0.5, 0.9, 3.0],
        "reading_places": [2.0, 8.0, 32.0],
        "reading_accelerators": [1.0, 2.0, 4.0],
    }
    written = {"writing_requests_per_s": [1.0, 3.0, 14.0], "writing_accelerators": [1.0, 2.0, 8.0]}
    every = {name: np.array(values) for name, values in (ways | written).items()}

    alone = [
        apart(
            ttft_target_s=1.5,
            **{name: np.array(values[i : i + 1]) for name, values in ways.items()},
            **{name: np.array(values[j : j + 1]) for name, values in written.items()},
        )
        for i in range(3)
        for j in range(3)
    ]

    assert apart(ttft_target_s=1.5, **every) == pytest.approx(max(alone), rel=1e-6)


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
