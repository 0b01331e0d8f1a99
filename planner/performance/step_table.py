"""The law of a step made quick to ask: tables of what engines take, and steps of many of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.performance._checks import require_positive
from planner.performance.bundles import Measured
from planner.performance.calibrate_serving import serving_factor_at, step_arithmetic_s
from planner.performance.columns import Column, Counts, Floats
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    StepTimes,
    Transformer,
    matrix_parameters,
    step_times,
)

_TO_A_DOUBLING = 4  # points at which a step is worked out; between them it is a plane


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    """Seconds of a step of one group, by requests that write and prompt tokens that it reads.

    `base_s` is without caches and experts, and at `prompt_tokens`; a cached token adds `cached_token_s`, a
    prompt token of a prompt longer by one `prompt_pair_s`, experts `expert_s` by the tokens of all `groups`,
    each request of another group `shared_s`. The whole is no shorter than `least_s_per_request` of those that
    write; it is divided by `factors` (what an engine measured) and no shorter than the arithmetic of the
    tokens of all groups. A replica has `stages` batches under way, each of so many groups, which wait for one
    another at the stages as far as `stage_wait_fraction` says; groups wait for the slowest by
    `group_wait_fraction` of what it takes beyond their mean.
    """

    writing: Floats
    reading: Floats
    base_s: Floats
    prompt_tokens: float
    cached_token_s: float
    prompt_pair_s: float
    factors: Floats
    least_s_per_token: float
    tokens: Floats
    expert_s: Floats
    shared_s: float = 0.0
    least_s_per_request: float = 0.0
    groups: int = 1
    stages: int = 1
    stage_wait_fraction: float = 1.0
    group_wait_fraction: float = 1.0


def step_table(
    *,
    model: Transformer,
    chip: Chip,
    engine: Engine,
    layout: ReplicaLayout,
    measured: Measured,
    batch_limit: float,
    chunk_tokens: float,
    prompt_tokens: float,
) -> StepTable:
    """Table of `step_times` for one group of one replica.

    T(b, q, c, p, n) = T(b, q, 0, p_0, 0) + T_e(n) + t_c c + t_p q (p - p_0)

    The law is linear in cached tokens and in the length over which a prompt attends; its experts see the
    tokens n of all groups, everything else those of its own.

    Source: `step_times`; bilinear interpolation between its points.
    """
    require_positive(batch_limit=batch_limit, chunk_tokens=chunk_tokens, prompt_tokens=prompt_tokens)
    groups, stages = (round(float(np.asarray(value).item())) for value in (layout.dp, layout.pp))
    writing, reading = ladder(batch_limit), ladder(chunk_tokens)
    tokens = ladder(groups * (batch_limit + chunk_tokens))
    # What others do is counted by those who ask.
    own_engine = replace(engine, token_s=0.0, shared_s=0.0)

    def law(b: Column, q: Column, context: float, prompt: float, others: Column | None = 0.0) -> StepTimes:
        return step_times(
            model=model,
            chip=chip,
            engine=own_engine,
            layout=layout,
            writing=b,
            prefill_tokens=q,
            context_tokens=context,
            prompt_tokens=prompt,
            other_tokens=others,
        )

    def seconds(times: StepTimes) -> Floats:
        own: Floats = np.asarray(times.total_s, dtype=np.float64) - np.asarray(times.expert_s)
        return own

    def of_one(context: float, prompt: float) -> float:
        return float(seconds(law(1.0, 1.0, context, prompt)).item())

    one = of_one(0.0, prompt_tokens)
    factors = serving_factor_at(
        batch=np.maximum(writing, 1.0) * groups * stages,
        measured_batches=np.atleast_1d(np.asarray(measured.batches, dtype=np.float64)),
        factors=np.atleast_1d(np.asarray(measured.factors, dtype=np.float64)),
    )
    least = step_arithmetic_s(
        active_parameters=matrix_parameters(model),
        tokens=1.0,
        tp=np.multiply(layout.tp, layout.dp),
        peak_tflop_per_s=chip.peak_tflop_per_s,
    )
    experts = law(0.0, 0.0, 0.0, prompt_tokens, tokens).expert_s
    return StepTable(
        writing=writing,
        reading=reading,
        base_s=seconds(law(writing[:, None], reading[None, :], 0.0, prompt_tokens)),
        prompt_tokens=prompt_tokens,
        cached_token_s=(of_one(1e4, prompt_tokens) - one) / 1e4,
        prompt_pair_s=(of_one(0.0, prompt_tokens + 1e4) - one) / 1e4,
        factors=np.broadcast_to(np.asarray(factors, dtype=np.float64), writing.shape),
        least_s_per_token=float(np.asarray(least).item()),
        tokens=tokens,
        expert_s=np.broadcast_to(np.asarray(experts, dtype=np.float64), tokens.shape),
        shared_s=float(np.asarray(engine.shared_s).item()),
        least_s_per_request=stages * float(np.asarray(engine.token_s).item()),
        groups=groups,
        stages=stages,
        stage_wait_fraction=float(np.asarray(engine.stage_wait_fraction).item()),
        group_wait_fraction=float(np.asarray(engine.group_wait_fraction).item()),
    )


def ladder(largest: float) -> Floats:
    """0, 1, 2, ... and then so many points to each doubling, up to the largest or beyond."""
    doublings = np.arange(0.0, np.ceil(np.log2(max(largest, 2.0))) + 1e-9, 1.0 / _TO_A_DOUBLING)
    return np.concatenate([[0.0], np.unique(np.round(2.0**doublings))])


class StepLaws:
    """Tables of all engines, a row each, asked at once."""

    def __init__(self, tables: Sequence[StepTable], table_of: Counts) -> None:
        self._writing, self._reading, self._tokens = (
            ladder(max(float(getattr(one, name)[-1]) for one in tables))
            for name in ("writing", "reading", "tokens")
        )
        count = len(tables), len(self._writing), len(self._reading)
        base, factors = np.empty(count), np.empty(count[:2])
        experts = np.empty((count[0], len(self._tokens)))
        for k, one in enumerate(tables):
            # Ladders are alike but for their length; what lies beyond the end of one is never asked for.
            b = np.minimum(np.arange(count[1]), len(one.writing) - 1)
            q = np.minimum(np.arange(count[2]), len(one.reading) - 1)
            n = np.minimum(np.arange(len(self._tokens)), len(one.tokens) - 1)
            base[k], factors[k], experts[k] = one.base_s[np.ix_(b, q)], one.factors[b], one.expert_s[n]
        self._base, self._factors, self._experts = base.ravel(), factors.ravel(), experts.ravel()
        self._row_b, self._row_n = table_of * count[1], table_of * len(self._tokens)
        self._wide = count[2]
        self._at_b, self._way_b = _places(self._writing)
        self._at_q, self._way_q = _places(self._reading)
        names = ("prompt_tokens", "cached_token_s", "prompt_pair_s", "least_s_per_token", "shared_s")
        self._prompt, self._cached, self._pair, self._least, self._shared, self._each = (
            np.array([getattr(one, name) for one in tables])[table_of]
            for name in (*names, "least_s_per_request")
        )
        self._measured = bool(np.any(factors != 1.0))
        self._routes = bool(np.any(experts > 0.0))

    def step_s(
        self,
        rows: Counts,
        writing: Counts,
        cached: Floats,
        reading: Floats,
        read_lengths: Floats,
        others_writing: Counts,
        tokens: Floats,
    ) -> Floats:
        """Seconds that each of these groups takes for a step of its own.

        `read_lengths` is the sum of prompt lengths over tokens read, `others_writing` and `tokens` count
        requests of the other groups and tokens of all.
        """
        whole = reading.astype(np.int64)
        row, way_b, way_q = self._row_b[rows] + self._at_b[writing], self._way_b[writing], self._way_q[whole]
        corner = row * self._wide + self._at_q[whole]
        low = self._base[corner] * (1.0 - way_q) + self._base[corner + 1] * way_q
        high = self._base[corner + self._wide] * (1.0 - way_q) + self._base[corner + self._wide + 1] * way_q
        found = low * (1.0 - way_b) + high * way_b + self._shared[rows] * others_writing
        found += self._cached[rows] * cached + self._pair[rows] * (
            read_lengths - reading * self._prompt[rows]
        )
        if self._routes:
            place = np.searchsorted(self._tokens[1:-1], tokens, side="right")
            way = (tokens - self._tokens[place]) / (self._tokens[place + 1] - self._tokens[place])
            place = place + self._row_n[rows]
            found += self._experts[place] * (1.0 - way) + self._experts[place + 1] * way
        found = np.maximum(found, self._each[rows] * writing)
        if self._measured:
            found /= self._factors[row] * (1.0 - way_b) + self._factors[row + 1] * way_b
        result: Floats = np.maximum(found, self._least[rows] * tokens)
        return result


def _places(rungs: Floats) -> tuple[Counts, Floats]:
    """For each whole number up to the end of a ladder, the rung below it and the way to the next."""
    each = np.arange(rungs[-1] + 1.0)
    below = np.clip(np.searchsorted(rungs, each, side="right") - 1, 0, len(rungs) - 2)
    return below.astype(np.int64), (each - rungs[below]) / (rungs[below + 1] - rungs[below])
