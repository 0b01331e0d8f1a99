"""Replicas of groups and stages: closed form next to replicas played step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sizes import at_night

from planner.answers.plan.verified import answers_of
from planner.inputs.loading import load_catalogue
from planner.performance.arrivals import Crew, Demand, dealt_stream, joined_streams
from planner.performance.bundles import Limits, Measured, Requests
from planner.performance.capacity import replica_queue
from planner.performance.engine import rows_of
from planner.performance.quantiles import first_token_quantile_s
from planner.performance.replica import mixed_state
from planner.performance.simulation import serve_stream
from planner.performance.step_table import step_table
from planner.performance.token_times import token_time_quantile_s
from planner.physics.engines import served_replica
from planner.physics.requests import inputs_of

CHUNK, PLACES, ROWS = 8192.0, 64.0, 16
QUANTILES = (0.5, 0.9, 0.99)
# Model, SKU, accelerators that share attention, groups, stages; prompt, answer, batch of a group; requests a
# second; how far quantiles of the first token and of the time per token may be off.
WIDE = ("qwen3-235b-a22b", "h200-8", 1, 8, 1)
PAIR = ("qwen3-235b-a22b", "h200-8", 2, 2, 1)
FOUR = ("llama-3.1-70b", "l40s-8", 1, 1, 4)
CASES = [(WIDE, (512, 512, 306), 11.0, (0.05, 0.08, 0.12), (0.05, 0.10, 0.10))]
NIGHT = [
    (WIDE, (512, 512, 306), 20.0, (0.05, 0.10, 0.12), (0.05, 0.10, 0.10)),
    (WIDE, (4000, 100, 112), 1.2, (0.06, 0.10, 0.12), (0.25, 0.90, 0.25)),
    (PAIR, (512, 512, 447), 11.0, (0.05, 0.06, 0.10), (0.05, 0.10, 0.10)),
    (PAIR, (4000, 100, 163), 2.3, (0.06, 0.08, 0.15), (0.35, 0.35, 0.40)),
    (FOUR, (256, 256, 101), 2.8, (0.05, 0.08, 0.22), (0.06, 0.08, 0.15)),
    (FOUR, (2000, 100, 35), 0.57, (0.05, 0.22, 0.28), (0.12, 0.35, 0.15)),
]


@pytest.mark.simulation
@pytest.mark.slow
@pytest.mark.parametrize(("layout", "lengths", "per_s", "first", "between"), CASES + at_night() * NIGHT)
def test_tokens_of_groups_and_stages_come_as_played(
    layout: tuple[Any, ...],
    lengths: tuple[int, int, int],
    per_s: float,
    first: tuple[float, ...],
    between: tuple[float, ...],
) -> None:
    """Independent route: P50, P90 and P99 of the first token and of the time per token; its mean within 5 %.

    Steps of groups were as long as the mean of them says: a tenth of those played where prompts are long.
    Where few requests with long prompts are inside, closed forms are on the late side: all groups count as
    full as one's own.
    """
    name, sku, tp, dp, pp = layout
    prompt, answer, batch = (float(n) for n in lengths)
    catalogue = load_catalogue()
    inputs = inputs_of(catalogue, ())
    accelerator = next(one.accelerator for one in inputs.skus if one.name == sku)
    parts = served_replica(
        inputs,
        model=name,
        accelerator=accelerator,
        precision="fp8",
        engine=catalogue.default_engine,
        tp=tp,
        dp=dp,
        pp=pp,
    )
    law: dict[str, Any] = dict(zip(("model", "chip", "engine", "layout"), parts, strict=True))
    queue = replica_queue(
        **law,
        requests=Requests(input_tokens=np.full(1, prompt), output_tokens=np.full(1, answer)),
        limits=Limits(batch_limit=np.full(1, batch), queue_places=PLACES, chunk_tokens=CHUNK),
        measured=Measured(),
        arrival_scv_ratio=np.ones(1),
    )
    at: dict[str, Any] = {"replica": queue, "arrivals_per_s": per_s / (dp * pp)}
    state = mixed_state(**at)
    inside_s = float(np.squeeze(state.queue.residence_s))
    demand = Demand(
        requests_per_s=per_s,
        trace_per_s=per_s,
        trace_scv_ratio=1.0,
        mix=None,
        input_tokens=prompt,
        output_tokens=answer,
    )
    crew = Crew(
        carrying=1, standby=0, groups=dp * pp, replica_nodes=1.0, failure_rate_per_node_h=0.0, down_s=0.0
    )
    draw = np.random.default_rng(3)
    warm_s, seconds = 4.0 * inside_s, 4.0 * inside_s + 9000.0 / per_s / ROWS
    whole_s = seconds + 4.0 * inside_s
    stream = joined_streams(
        [
            dealt_stream(demand=demand, crew=crew, outages=[[]], sampled=1, seconds=whole_s, draw=draw)
            for _ in range(ROWS)
        ]
    )
    each = np.ones(len(stream.arrival_s))
    table = step_table(
        **{key: rows_of(bundle, 0) for key, bundle in law.items()},
        measured=Measured(),
        batch_limit=batch,
        chunk_tokens=CHUNK,
        prompt_tokens=prompt,
    )
    served = serve_stream(
        stream=stream,
        tables=[table],
        table_of=np.zeros(len(each), dtype=np.int64),
        batch_limit=batch * each,
        queue_places=PLACES * each,
        chunk_tokens=CHUNK * each,
    )

    counts = (stream.arrival_s > warm_s) & (stream.arrival_s < seconds)
    taken = (served.first_s - stream.arrival_s)[counts]
    further = np.round(stream.output_tokens) - 1.0
    several = counts & (further > 0)
    written_s = (served.last_s - served.first_s)[several]
    answers: dict[str, Any] = dict(answers_of(demand))
    for share, first_off, off in zip(QUANTILES, first, between, strict=True):
        ours = first_token_quantile_s(**at, quantile_fraction=share)
        assert ours == pytest.approx(np.quantile(taken, share), rel=first_off), share
        ours = token_time_quantile_s(**at, quantile_fraction=share, **answers)
        assert ours == pytest.approx(np.quantile(written_s / further[several], share), rel=off), share
    if answer > 200:
        mean_s = written_s.sum() / further[several].sum()
        assert float(np.squeeze(state.tpot_s)) == pytest.approx(mean_s, rel=0.05)
