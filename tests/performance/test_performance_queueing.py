"""Queues against closed forms, published values and an event simulation."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from performance_states import replica_state, ttft_met_fraction

from planner.performance.queueing import (
    departures_per_s,
    erlang_c_fraction,
    mmc_wait_h,
    pooled_use_fraction,
    servers_needed,
    servers_wait_h,
    state_probability_fraction,
)


@pytest.mark.parametrize(
    ("servers", "load", "published"),
    [
        (10, 8.0, 0.4091801508),
        (4, 3.4, 0.6893162217),
        (100, 95.0, 0.5064568539),
        (11, 10.0, 0.6821182047),
        (13, 10.0, 0.285270453),
    ],
)
def test_erlang_c(servers, load, published):
    """Closed form, cross-checked with pyworkforce by the source; ten digits."""
    assert erlang_c_fraction(servers=servers, offered_load=load) == pytest.approx(published, abs=1e-9)


@given(servers=st.integers(1, 300), occupancy=st.floats(0.01, 0.999))
def test_erlang_c_against_the_recursion(servers, occupancy):
    """Independent route: Erlang B by recursion, B_k = A B / (k + A B); ours is a gamma function."""
    load = servers * occupancy
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)

    expected = blocked / (1 - occupancy * (1 - blocked))

    assert erlang_c_fraction(servers=servers, offered_load=load) == pytest.approx(expected, rel=1e-9)


def test_waits_in_a_pool():
    """M/M/10 at load 8 (closed form; Ciw simulated 0.217) and M/D/1 at 0.8 (Pollaczek-Khinchine)."""
    assert mmc_wait_h(servers=10, offered_load=8.0, service_h=1.0) == pytest.approx(0.2045900754, abs=1e-9)
    deterministic = servers_wait_h(
        servers=1, offered_load=0.8, service_h=1.0, arrival_scv_ratio=1.0, service_scv_ratio=0.0
    )
    assert deterministic == pytest.approx(2.0, rel=1e-9)


def test_a_call_centre():
    """Example of pyworkforce: 100 calls in 30 min of 3 min each, 80 % within 20 s, at most 85 % busy: 14."""
    column = servers_needed(
        offered_load=np.array([10.0, 10.0]),
        service_h=3 / 60,
        wait_target_h=20 / 3600,
        met_fraction=np.array([0.8, 0.99]),
        occupancy_fraction=0.85,
    )

    assert column[0] == 14
    assert column[1] > 14


def test_use_of_few_servers_is_less_than_of_many():
    """By hand: ln 100 = 4.6 over 2 x 8 x 10 services of slack, and over 2 x 10 of one server."""
    asked = {"service_s": 2.0, "wait_target_s": 20.0, "late_fraction": 0.01}
    one, eight = (float(pooled_use_fraction(servers=servers, **asked)) for servers in (1.0, 8.0))
    assert one == pytest.approx(1.0 - np.log(100.0) / 20.0)
    assert eight == pytest.approx(1.0 - np.log(100.0) / 160.0)
    assert float(pooled_use_fraction(servers=1.0, **(asked | {"wait_target_s": 1.0}))) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2, 8])
def test_pooled_use_against_an_event_simulation(servers):
    """Services of one length, Poisson arrivals: about one in a hundred starts too late."""
    wait_s, late = 6.0, 0.01
    use = float(pooled_use_fraction(servers=servers, service_s=1.0, wait_target_s=wait_s, late_fraction=late))
    draw = np.random.default_rng(1)
    arrivals = np.cumsum(draw.exponential(1.0 / (use * servers), 400_000))
    free, waits = [0.0] * servers, np.empty(arrivals.size)
    for k, time in enumerate(arrivals):
        start = max(time, heapq.heappop(free))
        waits[k] = start - time
        heapq.heappush(free, start + 1.0)
    assert 0.3 * late < np.mean(waits > wait_s) < 1.6 * late


def test_a_replica_with_constant_rates_is_an_mmc_queue():
    """Independent route: with mu(k) = min(k, c) mu and room for everyone the chain is M/M/c."""
    servers, load, places = 10, 8.0, 400
    rates = np.minimum(np.arange(1, places + 1), servers) * 1.0

    state = replica_state(
        arrivals_per_s=load, departures_per_s=rates, batch_limit=servers, places=places, arrival_scv_ratio=1.0
    )

    assert state.wait_s == pytest.approx(0.2045900754, rel=1e-9)
    assert state.running == pytest.approx(load, rel=1e-9)
    assert state.refused_fraction < 1e-12


def test_one_server_with_few_places_is_mm1k():
    """M/M/1/K closed form: p_K = (1 - r) r^K / (1 - r^(K+1)); Kleinrock 1975, section 3.6."""
    r, places = 0.9, 5
    p = state_probability_fraction(arrivals_per_s=r, departures_per_s=np.ones(places), places=places)

    assert p[-1] == pytest.approx((1 - r) * r**places / (1 - r ** (places + 1)), rel=1e-12)


# A replica that slows down as it fills: ITL(k) = 20 ms + 0.5 ms k, prefill 60 ms + 1 ms k, 50 tokens,
# 16 at once.
BATCH, PLACES, TOKENS = 16, 40, 50
STATES = np.arange(1, PLACES + 1)
RUNNING = np.minimum(STATES, BATCH)
TOKEN_S = 0.020 + 0.0005 * RUNNING
PREFILL_S = 0.060 + 0.001 * RUNNING
RATES = departures_per_s(running=RUNNING, prefill_s=PREFILL_S, tpot_s=TOKEN_S, output_tokens=TOKENS)


def simulate(arrivals_per_s: float, requests: int, target_s: float, seed: int) -> dict[str, float]:
    """The replica as events: exponential work, shared by those that run at the rate of their number.

    Written without any of our formulas: each running request carries its own exponential amount of
    work, all works shrink at the speed of the current number, first come first served from the queue.
    """
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / arrivals_per_s, requests))
    works = rng.exponential(1.0, requests)
    running: list[float] = []  # work levels at which requests leave, smallest first
    queue: list[tuple[float, int]] = []
    clock, level, head, area, waits, late, refused = 0.0, 0.0, 0, 0.0, 0.0, 0, 0
    for i, arrival in enumerate(arrivals):
        while running:
            speed = RATES[len(running) - 1] / len(running)
            leaves = clock + (running[0] - level) / speed
            if leaves > arrival:
                break
            area += len(running) * (leaves - clock)
            clock, level = leaves, heapq.heappop(running)
            if head < len(queue):
                joined, j = queue[head]
                head += 1
                waits += clock - joined
                heapq.heappush(running, level + works[j])
                late += (clock - joined) + PREFILL_S[len(running) - 1] > target_s
        if running:
            level += (arrival - clock) * RATES[len(running) - 1] / len(running)
            area += len(running) * (arrival - clock)
        clock = arrival
        if len(running) < BATCH:
            heapq.heappush(running, level + works[i])
            late += PREFILL_S[len(running) - 1] > target_s
        elif len(queue) - head < PLACES - BATCH:
            queue.append((arrival, i))
        else:
            refused += 1
    accepted = requests - refused
    return {
        "running": area / clock,
        "wait_s": waits / accepted,
        "refused": refused / requests,
        "met": 1 - late / accepted,
    }


@pytest.mark.slow
@pytest.mark.parametrize("utilisation", [0.7, 0.95])
def test_replica_against_an_event_simulation(utilisation):
    """Independent route: twelve seeded runs; four standard errors (t with 11 degrees: 0.2 %), plus 1e-4."""
    arrivals = utilisation * RATES[-1]
    target_s = 0.30
    runs = [simulate(arrivals, 40_000, target_s, seed) for seed in range(100, 112)]
    state = replica_state(
        arrivals_per_s=arrivals,
        departures_per_s=RATES,
        batch_limit=BATCH,
        places=PLACES,
        arrival_scv_ratio=1.0,
    )
    met = ttft_met_fraction(
        arrivals_per_s=arrivals,
        departures_per_s=RATES,
        prefill_s=PREFILL_S,
        batch_limit=BATCH,
        places=PLACES,
        arrival_scv_ratio=1.0,
        ttft_target_s=target_s,
    )
    ours = {"running": state.running, "wait_s": state.wait_s, "refused": state.refused_fraction, "met": met}
    for name, value in ours.items():
        simulated = np.array([run[name] for run in runs])
        error = simulated.std(ddof=1) / np.sqrt(len(runs))
        assert abs(simulated.mean() - value) < 4 * error + 1e-4, (name, simulated.mean(), value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: erlang_c_fraction(servers=4, offered_load=4.0), "offered_load must stay below servers"),
    ],
)
def test_impossible_queues_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
