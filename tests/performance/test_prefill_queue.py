"""What prompts wait for one another inside a replica: closed form next to steps drawn one by one."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sizes import at_night

from planner.performance.prefill_queue import (
    GatedQueue,
    PromptWait,
    prompt_wait,
    step_moments,
    wait_in_time_fraction,
)

CALM_S = 0.02
WORK_S = np.array([0.005, 0.02, 0.06, 0.2])
SHARE = np.array([0.2, 0.4, 0.3, 0.1])
WIDE = 1e6  # a chunk that holds every prompt


def gaps_s(*, load: float, arrival_scv: float, count: int, draw: np.random.Generator) -> np.ndarray:
    """Gaps of two exponentials with balanced means, or of one."""
    often = 0.5 * (1.0 + np.sqrt((arrival_scv - 1.0) / (arrival_scv + 1.0)))
    rates = 2.0 * load * np.where(draw.random(count) < often, often, 1.0 - often)
    return draw.exponential(1.0 / (rates if arrival_scv > 1.0 else np.full(count, load)))


def drawn_s(
    *, load: float, hidden_s: float, chunk_s: float, arrival_scv: float = 1.0, prompts: int = 200_000
) -> np.ndarray:
    """A plain event loop: prompts in turn, steps as long as a chunk of them lets, never a pause.

    Gives the time from the arrival of a prompt to the end of the step that ends it.
    """
    draw = np.random.default_rng(7)
    # Lists from here on: one number of an array at a time costs more than the loop itself.
    arrival = np.cumsum(gaps_s(load=load, arrival_scv=arrival_scv, count=prompts, draw=draw)).tolist()
    own = WORK_S[draw.choice(len(WORK_S), prompts, p=SHARE)].tolist()
    taken: list[float] = []
    now, come, head, left = 0.0, 0, 0, own[0]
    while head < prompts:
        if arrival[head] > now:  # as many steps without a prompt as it takes until one has come
            now += math.ceil((arrival[head] - now) / CALM_S) * CALM_S
        come = bisect_right(arrival, now, lo=come)
        room, begun = chunk_s, head
        while head < come and room > 0.0:
            part = min(left, room)
            room, left = room - part, left - part
            if left > 1e-12:
                break
            head += 1
            left = own[head] if head < prompts else 0.0
        now += CALM_S + max(chunk_s - room - hidden_s, 0.0)
        taken += [now - came for came in arrival[begun:head]]
    return np.array(taken[1000:])


def waits(
    *, load: float, hidden_s: float = 0.0, chunk_s: float = WIDE, arrival_scv: float = 1.0
) -> PromptWait:
    queue = GatedQueue(
        arrivals_per_s=load,
        calm_s=CALM_S,
        hidden_s=hidden_s,
        work_s=WORK_S,
        share_fraction=SHARE,
        chunk_s=chunk_s,
    )
    return prompt_wait(queue, empty_fraction=0.0, arrival_scv_ratio=arrival_scv)


def test_one_queue_for_several_servers_is_that_of_drawn_prompts() -> None:
    """Independent route: prompts one at a time, in order, by whichever server is free first."""
    servers, calm_s = 4, 1e-6
    draw = np.random.default_rng(5)
    load = 0.8 / float(SHARE @ WORK_S)  # of one server
    arrival = np.cumsum(draw.exponential(1.0 / (servers * load), 30_000)).tolist()
    own = WORK_S[draw.choice(len(WORK_S), len(arrival), p=SHARE)].tolist()
    free, waited = [0.0] * servers, []
    for came, work in zip(arrival, own, strict=True):
        begun = max(heapq.heappop(free), came)
        waited.append(begun - came)
        heapq.heappush(free, begun + work)

    def closed(count: float) -> PromptWait:
        queue = GatedQueue(
            arrivals_per_s=load,
            calm_s=calm_s,
            hidden_s=0.0,
            work_s=WORK_S,
            share_fraction=SHARE,
            chunk_s=1e-3,
        )
        return prompt_wait(queue, empty_fraction=0.0, arrival_scv_ratio=1.0, servers=count)

    assert closed(servers).mean_s == pytest.approx(np.mean(waited), rel=0.15)
    assert closed(servers).delayed_fraction == pytest.approx(np.mean(np.array(waited) > calm_s), rel=0.15)
    assert closed(1.0).mean_s > 5.0 * closed(servers).mean_s
    assert closed(1e4).mean_s == pytest.approx(calm_s / 2.0, rel=1e-6)


def quantile(wait: PromptWait, own_s: np.ndarray, share: float) -> float:
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2.0
        met = wait_in_time_fraction(wait=wait, own_s=own_s, spare_s=middle)
        low, high = (low, middle) if float(np.sum(SHARE * met)) >= share else (middle, high)
    return high


@pytest.mark.simulation
@pytest.mark.parametrize("load", [2.0, 8.0, 14.0] if at_night() else [8.0])
def test_steps_are_as_long_as_drawn_ones(load: float) -> None:
    """Independent route: steps drawn one after the other, each reading what came in the one before."""
    draw = np.random.default_rng(3)
    lengths, steps = np.empty((500, 400)), np.full(400, CALM_S)  # 400 servers, each step after its last one
    for _ in range(50):
        steps = CALM_S + draw.poisson(load * np.outer(steps, SHARE)) @ WORK_S  # prompts of each length
    for k in range(len(lengths)):
        lengths[k] = steps = CALM_S + draw.poisson(load * np.outer(steps, SHARE)) @ WORK_S
    moments = step_moments(
        GatedQueue(arrivals_per_s=load, calm_s=CALM_S, hidden_s=0.0, work_s=WORK_S, share_fraction=SHARE)
    )

    assert moments.mean_s == pytest.approx(lengths.mean(), rel=0.02)
    assert moments.met_s == pytest.approx((lengths**2).mean() / lengths.mean(), rel=0.04)
    assert moments.met_s2 == pytest.approx((lengths**3).mean() / lengths.mean(), rel=0.12)


def read_s(*, hidden_s: float, chunk_s: float) -> np.ndarray:
    """What reading a prompt takes where nobody else has one."""
    steps = np.maximum(np.ceil(WORK_S / chunk_s), 1.0)
    return steps * CALM_S + np.maximum(WORK_S - hidden_s, 0.0)


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("load", "hidden_s", "chunk_s", "arrival_scv", "within"),
    [
        (2.0, 0.0, WIDE, 1.0, (0.02, 0.02, 0.04)),
        (8.0, 0.0, WIDE, 1.0, (0.02, 0.02, 0.04)),
        (12.0, 0.0, WIDE, 1.0, (0.10, 0.02, 0.05)),
        (8.0, 0.01, WIDE, 1.0, (0.05, 0.05, 0.06)),
        (8.0, 0.0, 0.2, 1.0, (0.03, 0.05, 0.05)),
        (10.0, 0.0, 0.2, 1.0, (0.10, 0.08, 0.05)),
        (4.0, 0.0, WIDE, 4.0, (0.10, 0.10, 0.10)),
        (8.0, 0.0, WIDE, 4.0, (0.10, 0.10, 0.10)),
        (8.0, 0.0, 0.2, 4.0, (0.12, 0.10, 0.12)),
    ],
)
def test_prompts_wait_as_long_as_drawn_ones(
    load: float, hidden_s: float, chunk_s: float, arrival_scv: float, within: tuple[float, float, float]
) -> None:
    """Independent route: P50, P90 and P99 from arrival to first token, over prompts read in turn."""
    taken = drawn_s(load=load, hidden_s=hidden_s, chunk_s=chunk_s, arrival_scv=arrival_scv)
    own_s = read_s(hidden_s=hidden_s, chunk_s=chunk_s)
    wait = waits(load=load, hidden_s=hidden_s, chunk_s=chunk_s, arrival_scv=arrival_scv)

    for share, most in zip((0.5, 0.9, 0.99), within, strict=True):
        assert quantile(wait, own_s, share) == pytest.approx(np.quantile(taken, share), rel=most), share


def drawn_on_stages_s(
    *, load: float, work_s: np.ndarray, hidden_s: float, chunk_s: float, batches: int, prompts: int
) -> np.ndarray:
    """Batches that step together: each reads prompts of its own, up to a chunk, and all wait for the fullest.

    Gives the time from the arrival of a prompt to the end of the step that ends it.
    """
    draw = np.random.default_rng(11)
    arrival = np.cumsum(draw.exponential(1.0 / load, (batches, prompts)), axis=1)
    own = draw.choice(work_s, (batches, prompts))
    behind = np.concatenate([np.zeros((batches, 1)), np.cumsum(own, axis=1)], axis=1)
    done, head, now, taken = np.zeros(batches), np.zeros(batches, dtype=int), 0.0, []
    while now < arrival[:, -1].min():
        come = [int(np.searchsorted(arrival[k], now, side="right")) for k in range(batches)]
        waiting = behind[np.arange(batches), come] - done
        read = np.where(waiting > 1e-12, np.minimum(waiting, chunk_s), 0.0)
        now += CALM_S + max(read.max() - hidden_s, 0.0)
        done += read
        for k in np.flatnonzero(read):
            ended = int(np.searchsorted(behind[k], done[k] + 1e-9, side="right")) - 1
            taken += (now - arrival[k, head[k] : ended]).tolist()
            head[k] = ended
    return np.array(taken)


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("load", "hidden_s", "chunk_s", "batches"),
    [
        (5.0, 0.0, WIDE, 4),
        (20.0, 0.0, WIDE, 4),
        (20.0, 0.01, WIDE, 2),
        (20.0, 0.01, 0.3, 4),
        *([(12.0, 0.01, WIDE, 4), (12.0, 0.0, 0.3, 2), (5.0, 0.01, WIDE, 2)] if at_night() else []),
    ],
)
def test_prompts_on_stages_wait_for_the_fullest_batch(
    load: float, hidden_s: float, chunk_s: float, batches: int
) -> None:
    """Independent route: P50 and P90 over prompts read by batches in step, which wait 3 to 8 times as long.

    Before the fullest of all counted, the closed form took 0.12 s for the 0.38 s of 19 prompts a second that
    take 33 ms each, on four stages. Where chunks bind, waits below the median come out too short.
    """
    work_s = np.array([0.03])
    taken = drawn_on_stages_s(
        load=load, work_s=work_s, hidden_s=hidden_s, chunk_s=chunk_s, batches=batches, prompts=12_000
    )
    at: dict[str, Any] = {"empty_fraction": 0.0, "arrival_scv_ratio": 1.0}
    queue = GatedQueue(
        arrivals_per_s=load,
        calm_s=CALM_S,
        hidden_s=hidden_s,
        work_s=work_s,
        share_fraction=np.ones(1),
        chunk_s=chunk_s,
    )
    wait = prompt_wait(replace(queue, others=batches - 1.0), **at)
    own_s = CALM_S - hidden_s + work_s

    for share in (0.5, 0.9):
        spare_s = np.quantile(taken, share)
        assert wait_in_time_fraction(wait=wait, own_s=own_s, spare_s=spare_s).item() == pytest.approx(
            share, abs={0.5: (0.10, 0.25), 0.9: (0.05, 0.08)}[share][chunk_s < WIDE]
        )
    alone = prompt_wait(queue, **at)
    assert wait.mean_s > alone.mean_s
    assert prompt_wait(replace(queue, others=1e-9), **at).mean_s == pytest.approx(
        float(alone.mean_s), rel=1e-6
    )


def test_a_lone_prompt_waits_for_the_step_in_progress_alone() -> None:
    """Hand calculation: with nobody else a step without prompts is met anywhere, half of it on average."""
    wait = waits(load=1e-6)

    assert wait.mean_s == pytest.approx(CALM_S / 2.0, rel=1e-4)
    assert wait.delayed_fraction == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("arrival_scv", [1.0, 4.0, 100.0])
def test_more_prompts_wait_longer(arrival_scv: float) -> None:
    """Property: the wait grows with the load and with bursts; where reading never ends, nobody is in time."""
    loads = np.linspace(0.5, 20.0, 60)
    means = [float(waits(load=load, arrival_scv=arrival_scv).mean_s) for load in loads]

    assert np.all(np.diff(means) > 0)
    assert all(means >= np.array([float(waits(load=load).mean_s) for load in loads]) * (1 - 1e-9))
    never = waits(load=1.01 / float(SHARE @ WORK_S), arrival_scv=arrival_scv)
    assert np.sum(SHARE * wait_in_time_fraction(wait=never, own_s=WORK_S, spare_s=1e6)) < 0.2


def test_bursts_of_none_are_poissons() -> None:
    """Limit: the correction for bursts vanishes with them."""
    calm, almost = waits(load=8.0), waits(load=8.0, arrival_scv=1.0 + 1e-9)

    for name in ("delayed_fraction", "shape", "scale_s", "mean_s"):
        assert float(getattr(almost, name)) == pytest.approx(float(getattr(calm, name)), rel=1e-6)
