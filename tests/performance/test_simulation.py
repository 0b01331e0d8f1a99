"""Replicas played step by step: against waiting lines that are known, the chain, Ciw, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import ciw
import numpy as np
import pytest
from sizes import at_night

from planner.performance.arrivals import Crew, Demand, arrival_times_s, dealt_stream, drawn_outages
from planner.performance.mix import request_mix
from planner.performance.simulation import Outage, Stopped, Stream, serve_stream
from planner.performance.step_table import StepTable, ladder

MEAN, STEP_S = 20.0, 0.01  # tokens of an answer, and a step that takes the same whatever it holds


def table(seconds=lambda tokens: STEP_S + 0.0 * tokens, batch=1.0, chunk=64.0, **more) -> StepTable:
    """A law of the tokens of a step alone: one of each request, where prompts are of one."""
    writing, reading = ladder(batch), ladder(chunk)
    tokens = ladder(more.get("groups", 1) * (batch + chunk))
    return StepTable(
        writing=writing,
        reading=reading,
        base_s=seconds(writing[:, None] + reading[None, :]),
        prompt_tokens=1.0,
        cached_token_s=0.0,
        prompt_pair_s=0.0,
        factors=np.ones(len(writing)),
        least_s_per_token=0.0,
        tokens=tokens,
        expert_s=np.zeros(len(tokens)),
        **more,
    )


def play(stream, law, batch, places=1e6, chunk=64.0, **more):
    rows = np.ones(len(stream.arrival_s))
    return serve_stream(
        stream=stream,
        tables=[law],
        table_of=np.zeros(len(rows), dtype=np.int64),
        batch_limit=batch * rows,
        queue_places=places * rows,
        chunk_tokens=chunk * rows,
        **more,
    )


def poisson(per_s, engines, requests, seed=1):
    draw = np.random.default_rng(seed)
    return Stream(
        np.cumsum(draw.exponential(1.0 / per_s, (engines, requests)), axis=1),
        np.ones((engines, requests)),
        draw.geometric(1.0 / MEAN, (engines, requests)).astype(float),
    )


def one_row(*requests):
    """A stream of (arrival, prompt, answer)."""
    return Stream(*(np.array([column], dtype=float) for column in zip(*requests, strict=True)))


def two_rows(one, other):
    """A stream of one request on each of two rows."""
    return Stream(*(np.array(both, dtype=float)[:, None] for both in zip(one, other, strict=True)))


@pytest.mark.simulation
@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8] if at_night() else [0.6])
def test_one_request_at_a_time_is_m_m_1(load):
    """M/M/1: P(wait > x) = rho e^{-(mu - lambda) x}; mean and P99 within 6 % over 90,000 requests."""
    mu = 1.0 / (MEAN * STEP_S)
    stream = poisson(load * mu, engines=300, requests=450)

    found = play(stream, table(), batch=1.0)

    late = stream.arrival_s > stream.arrival_s[:, [150]]
    wait = (found.first_s - stream.arrival_s)[late] - STEP_S
    assert np.mean(wait) == pytest.approx(load / (mu - load * mu), rel=0.06, abs=STEP_S)
    assert np.quantile(wait, 0.99) == pytest.approx(np.log(load / 0.01) / (mu - load * mu), rel=0.06)
    assert np.mean((found.last_s - found.first_s)[late]) == pytest.approx((MEAN - 1.0) * STEP_S, rel=0.02)


@pytest.mark.simulation
@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.6, 0.85] if at_night() else [0.6])
def test_a_batch_is_the_chain_of_the_closed_form(load):
    """Steps that slow down as they fill, short prompts: requests inside are those of the chain, within 3 %.

    mu(k) = k/(o T(k)); Kelly: the mean number inside depends on lengths by their mean alone.
    """
    batch = 24.0

    def seconds(tokens):
        return STEP_S * (1.0 + 0.1 * tokens)

    k = np.arange(1.0, batch + 1.0)
    rates = k / (MEAN * seconds(k))
    per_s = load * rates[-1]
    steps = np.log(per_s / np.concatenate([rates, np.full(4000, rates[-1])]))
    weights = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
    chain = float(np.arange(weights.size) @ weights / weights.sum())
    stream = poisson(per_s, engines=60, requests=700)

    found = play(stream, table(seconds, batch), batch)

    late = (stream.arrival_s > 0.15 * stream.arrival_s[:, [-1]]) & (
        stream.arrival_s < 0.9 * stream.arrival_s[:, [-1]]
    )
    # A step waits for nobody: who comes within it begins with the next, half a step later on average.
    inside = per_s * (np.mean((found.last_s - stream.arrival_s)[late]) - seconds(chain) / 2.0)
    assert inside == pytest.approx(chain, rel=0.05)


@pytest.mark.nightly
@pytest.mark.simulation
@pytest.mark.slow
def test_a_shared_engine_against_ciw():
    """Ciw, limited processor sharing: ten places of sixteen at full pace, mean time inside within 4 %."""
    batch, full_speed, load = 16, 10, 0.8
    per_s = load * full_speed / (MEAN * STEP_S)

    def seconds(tokens):
        return STEP_S * np.maximum(1.0, tokens / full_speed)

    stream = poisson(per_s, engines=60, requests=900)
    found = play(stream, table(seconds, batch), batch)
    late = stream.arrival_s > 0.2 * stream.arrival_s[:, [-1]]

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(per_s)],
        service_distributions=[ciw.dists.Exponential(1.0 / (MEAN * STEP_S))],
        number_of_servers=[batch],
        ps_thresholds=[full_speed],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network, node_class=ciw.PSNode)
    simulation.simulate_until_max_time(400.0)
    theirs = [
        one.exit_date - one.arrival_date for one in simulation.get_all_records() if one.arrival_date > 20
    ]

    ours = np.mean((found.last_s - stream.arrival_s)[late]) - STEP_S / 2.0
    assert ours == pytest.approx(np.mean(theirs), rel=0.04)


def test_prompts_are_read_in_turn_and_in_chunks():
    """By hand: 100 tokens in chunks of 64, then the rest of a step goes to the next prompt of 20."""
    stream = one_row((0.0, 100, 3), (0.001, 20, 1), (0.05, 5, 2))

    found = play(stream, table(batch=4.0), batch=4.0)

    assert found.first_s[0] == pytest.approx([0.02, 0.02, 0.06])
    assert found.last_s[0] == pytest.approx([0.04, 0.02, 0.07])


def test_who_finds_no_place_is_refused():
    """One runs, one waits, the third is refused; none of it is lost."""
    found = play(one_row((0.0, 1, 50), (0.1, 1, 1), (0.2, 1, 1), (2.0, 1, 1)), table(), 1.0, places=1.0)

    assert found.refused[0].tolist() == [False, False, True, False]
    assert not found.lost.any()
    assert found.last_s[0, 1] == pytest.approx(0.51)


def test_an_engine_that_fails_loses_what_it_holds():
    """What came before the failure and was not answered is lost; what comes after it waits for the return."""
    stream = one_row((0.0, 1, 2), (0.1, 1, 50), (0.2, 1, 1), (0.5, 1, 1), (5.0, 1, 1))

    found = play(stream, table(), 1.0, outages=[[Outage(0.305, 0.9), Outage(3.0, 4.0)]])

    assert found.lost[0].tolist() == [False, True, True, False, False]
    assert np.isnan(found.first_s[0, 1])
    assert found.last_s[0, [0, 3, 4]] == pytest.approx([0.02, 0.91, 5.01])


def test_groups_end_each_step_with_the_slowest():
    """By hand: 10 ms and 1 ms a token; while one reads 30 tokens the other writes on at its pace."""
    law = table(lambda tokens: STEP_S + 0.001 * tokens, batch=2.0, chunk=64.0, groups=2)
    stream = two_rows((0.0, 1, 4), (0.005, 30, 1))

    found = play(stream, law, 2.0)

    # Steps of one token end at 11 ms, of thirty at 51, then of one again.
    assert found.first_s[:, 0] == pytest.approx([0.011, 0.051])
    assert found.last_s[:, 0] == pytest.approx([0.073, 0.051])


def test_experts_see_the_tokens_of_all_groups():
    """By hand: 10 ms and 1 ms for each token of both groups, 5 and 30 of them."""
    law = table(batch=2.0, chunk=64.0, groups=2)
    law = replace(law, expert_s=0.001 * law.tokens)
    stream = two_rows((0.0, 5, 1), (0.0, 30, 1))

    assert play(stream, law, 2.0).last_s[:, 0] == pytest.approx([0.045, 0.045])


@pytest.mark.parametrize(("waits", "last"), [(1.0, (0.064, 0.0805)), (0.0, (0.064, 0.044))])
def test_batches_on_stages_do_not_overtake(waits, last):
    """By hand: 10 ms and 1 ms a token, half on each of two stages. A reads 32 tokens: 21 ms a stage.

    B is behind A: reads its token at 21 to 26.5 ms, has the second stage at 42 to 47.5.
    """
    law = table(lambda tokens: STEP_S + 0.001 * tokens, batch=2.0, stages=2, stage_wait_fraction=waits)
    stream = two_rows((0.0, 32, 3), (0.0, 1, 4))

    found = play(stream, law, 2.0)

    assert found.first_s[:, 0] == pytest.approx([0.042, 0.0475 if waits else 0.011])
    assert found.last_s[:, 0] == pytest.approx(last)


def test_it_stops_when_asked():
    with pytest.raises(Stopped):
        play(poisson(50.0, 4, 400), table(batch=64.0), 64.0, should_stop=lambda: True)


def test_arrivals_come_at_their_rate_and_spread():
    """Renewal theory: the count of a long stretch has mean r t, variance c^2 r t; one stream or many."""
    draw = np.random.default_rng(5)
    for demand_per_s, trace_per_s, scv in ((4.0, 4.0, 6.0), (12.0, 4.0, 6.0), (4.0, 4.0, 1.0)):
        demand = Demand(
            requests_per_s=demand_per_s,
            trace_per_s=trace_per_s,
            trace_scv_ratio=scv,
            mix=None,
            input_tokens=10.0,
            output_tokens=10.0,
        )
        counts = [arrival_times_s(demand=demand, seconds=100.0, draw=draw).size for _ in range(400)]
        assert np.mean(counts) == pytest.approx(100.0 * demand_per_s, rel=0.03)
        assert np.var(counts) / np.mean(counts) == pytest.approx(scv, rel=0.25)


def test_a_part_of_a_trace_is_thinned():
    """Half of a stream kept at random: the rate is half, and c^2 - 1 of its counts too."""
    draw = np.random.default_rng(5)
    demand = Demand(
        requests_per_s=2.0,
        trace_per_s=4.0,
        trace_scv_ratio=9.0,
        mix=None,
        input_tokens=10.0,
        output_tokens=10.0,
    )
    counts = [arrival_times_s(demand=demand, seconds=100.0, draw=draw).size for _ in range(500)]

    assert np.mean(counts) == pytest.approx(200.0, rel=0.04)
    assert np.var(counts) / np.mean(counts) == pytest.approx(5.0, rel=0.25)


def test_a_share_of_a_service_has_the_bursts_of_the_whole_thinned():
    """Random splitting: a tenth of the requests, of which the count has 1 + (c^2 - 1)/10 of its mean."""
    demand = Demand(
        requests_per_s=40.0,
        trace_per_s=40.0,
        trace_scv_ratio=21.0,
        mix=None,
        input_tokens=10.0,
        output_tokens=10.0,
        share_fraction=0.1,
    )
    crew = Crew(carrying=1, standby=0, groups=1, replica_nodes=1.0, failure_rate_per_node_h=0.0, down_s=0.0)
    draw = np.random.default_rng(7)
    counts = [
        np.isfinite(
            dealt_stream(demand=demand, crew=crew, outages=[[]], sampled=1, seconds=50.0, draw=draw).arrival_s
        ).sum()
        for _ in range(400)
    ]

    assert np.mean(counts) == pytest.approx(200.0, rel=0.04)
    assert np.var(counts) / np.mean(counts) == pytest.approx(3.0, rel=0.25)


CREW = Crew(carrying=6, standby=2, groups=1, replica_nodes=0.5, failure_rate_per_node_h=2.0, down_s=900.0)


def test_nodes_fail_at_their_rate_and_take_their_replicas_along():
    """Four nodes of two replicas: losses a place are rate x time; nobody stands by for all of them."""
    draw = np.random.default_rng(3)
    hours = 50.0
    outages = drawn_outages(crew=CREW, seconds=3600.0 * hours, draw=draw)
    lost = np.mean([sum(one.at_s >= 0 for one in each) for each in outages])
    up = 1.0 / (1.0 + CREW.failure_rate_per_node_h * CREW.down_s / 3600.0)

    assert lost == pytest.approx(CREW.failure_rate_per_node_h * hours * up, rel=0.25)
    assert any(one.until_s > one.at_s for each in outages for one in each)
    for each in outages:
        ends = [(one.at_s, one.until_s) for one in sorted(each, key=lambda one: one.at_s)]
        assert all(before[1] <= after[0] for before, after in pairwise(ends))


def test_requests_go_to_places_that_are_not_empty():
    demand = Demand(
        requests_per_s=30.0,
        trace_per_s=30.0,
        trace_scv_ratio=1.0,
        mix=request_mix(context_tokens=[10.0, 50.0], generated_tokens=[5.0, 9.0], requests=[3, 1]),
        input_tokens=20.0,
        output_tokens=6.0,
    )
    gone = [[Outage(10.0, 60.0)], *[[] for _ in range(5)]]
    stream = dealt_stream(
        demand=demand, crew=CREW, outages=gone, sampled=6, seconds=100.0, draw=np.random.default_rng(1)
    )
    came = np.isfinite(stream.arrival_s)

    assert not np.any((stream.arrival_s[0] >= 10.0) & (stream.arrival_s[0] < 60.0))
    assert came.sum() == pytest.approx(3000, rel=0.06)
    assert np.mean(stream.input_tokens[came]) == pytest.approx(20.0, rel=0.05)
