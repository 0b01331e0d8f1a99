"""A benchmark of serving on an accelerator: its requests, and what a replica of each layout gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from planner.inputs.loading import load_catalogue
from planner.performance.bundles import Guesses, Limits, Measured, Requests, Targets
from planner.performance.capacity import average_step, replica_capacity
from planner.performance.disaggregation import handover_target_s
from planner.performance.engine import attended_tokens
from planner.performance.memory import kv_cache_gb_per_token, largest_batch, replica_weights_gb
from planner.performance.serving import (
    output_tokens_per_s,
    reread_tokens,
)
from planner.physics.engines import engine_fact
from planner.physics.precisions import kernels_of
from planner.physics.serving_options import split_state_gb
from planner.validation.aliases import catalogue_name, constant
from planner.validation.filed_engines import (
    MLPERF,
    PEER,
    free_cache_of,
)
from planner.validation.forms import NotUnderstood
from planner.validation.mixed_weights import mixed_weights
from planner.validation.serving import inputs_around, lengths, replica_of

SPLITS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class BenchmarkRun:
    """A benchmark on an accelerator: its requests, and what a replica of each layout gives."""

    benchmark: str
    chip: str
    precision: str
    age_factor: float  # time of a step over that of the newest round
    ring_factor: float = 1.0  # time of a ring over that of its volume
    pieces: float = 1.0  # replicas that run next to each other on one accelerator, each on its share of it
    interval_steps: float = 1.0  # that the engine schedules at once, prompts in the first of them alone
    request_s: float | None = None  # host time of each running request, where it is not the chip's usual one
    wide_attention: bool = False  # matrices of attention are in 16 bits where tokens are written
    engine: str = MLPERF

    @property
    def beams(self) -> float:
        """Answers written at once of which one is kept."""
        return self._number("beams") if load_catalogue().has(f"benchmark.{self.benchmark}.beams") else 1.0

    @property
    def kept_tokens(self) -> float:
        """Tokens of the answer that is kept."""
        return self._number("output_tokens")

    @property
    def requests(self) -> Requests:
        """Mean lengths; beams share their prompt, so that each holds a part of it and its own answer.

        Where answers spread a step meets long ones more often. Pages are filled as they are written: those
        of half of a long answer are as many as those of a whole mean one.
        """
        spread = f"benchmark.{self.benchmark}.answer_scv"
        scv = constant(spread, "scv_ratio") if load_catalogue().has(spread) else 0.0
        return lengths(self._number("input_tokens") / self.beams, self.kept_tokens, scv)

    @property
    def chunk_tokens(self) -> float:
        """Most tokens of prompts that a step reads."""
        return engine_number(self.engine, self.chip, "chunk_tokens")

    def _number(self, part: str) -> float:
        return constant(f"benchmark.{self.benchmark}.{part}", part)

    @property
    def mixture(self) -> bool:
        """Whether the model has experts that tokens choose."""
        return bool(np.any(self.parts(1, 1)["model"].routed_parameters > 0))

    @property
    def wide_fraction(self) -> float:
        """Share of the weights that TensorRT keeps in 16 bits in an engine that is filed as one of 8."""
        key, known = f"benchmark.{self.benchmark}.wide_weights", load_catalogue()
        tuned = self.engine == MLPERF and known.engines[PEER].runs_on(self.chip)
        return constant(key, "wide_fraction") if tuned and self.precision == "fp8" and known.has(key) else 0.0

    def stages(self, round: str) -> tuple[int, ...]:
        """Stages in a row over which the layers of a model without experts may spread.

        By the chip's own engine, or by TensorRT of a round.
        """
        usual, known = f"performance.engine.{MLPERF}.stages", load_catalogue()
        keys = [f"{usual}@{self.chip}"]
        if known.engines[PEER].runs_on(self.chip):
            keys.append(f"{usual}@{round.replace('.', '-')}")
        own = next((key for key in keys if known.has(key)), usual)
        most = constant(usual if self.mixture else own, "stages")
        return tuple(n for n in SPLITS if n <= most)

    def layouts(self, accelerators: int) -> list[tuple[int, int]]:
        """Accelerators that share attention, and groups of them; of a mixture groups may repeat attention.

        Where replicas share an accelerator, none lies on two.
        """
        if self.pieces > 1.0:
            return [(1, 1)]
        mixture = self.mixture
        domain = constant(f"accelerator.{self.chip}.link_domain", "accelerators")
        sizes = [n for n in SPLITS if n <= accelerators and n <= max(8.0, domain)]
        return [
            (n // groups, groups)
            for n in sizes
            for groups in ((1, *(d for d in SPLITS[1:] if d <= n)) if mixture else (1,))
            if n // groups <= 16
        ]

    def parts(self, tp: int, dp: int, stages: int = 1) -> dict[str, Any]:
        """What a replica of a layout is made of; the cache is in 8 bits where values are no wider.

        Beams are compared and put in order after each token, which the host waits for. Who schedules several
        steps at once looks after each running request once for all of them.
        """
        cache = "bf16" if kernels_of(self.precision) == "bf16" else "fp8"

        def made_of(weights: str) -> dict[str, Any]:
            return replica_of(self.benchmark, self.chip, weights, tp, tp * dp, self.engine, cache, stages)

        parts = made_of(self.precision)
        if self.wide_fraction > 0.0:
            parts = mixed_weights(parts, made_of("bf16"), self.wide_fraction)
        if self.wide_attention:
            written = self.kept_tokens / (self._number("input_tokens") + self.kept_tokens)
            parts = mixed_weights(parts, made_of("bf16"), written, experts=False)
        if self.pieces != 1.0:
            names = ("peak_tflop_per_s", "half_peak_tflop_per_s", "memory_gb_per_s")
            shares = {name: getattr(parts["chip"], name) / self.pieces for name in names}
            parts["chip"] = replace(parts["chip"], **shares)
        if self.ring_factor != 1.0:
            parts["engine"] = replace(parts["engine"], ring_factor=self.ring_factor)
        if self.beams > 1.0:
            beam_s = constant(f"performance.engine.{MLPERF}.beam_time", "beam_s")
            engine = parts["engine"]
            parts["engine"] = replace(engine, sequence_s=engine.sequence_s + beam_s)
        if self.interval_steps > 1.0 or self.request_s is not None:
            engine = parts["engine"]
            each_s = engine.sequence_s if self.request_s is None else self.request_s
            parts["engine"] = replace(engine, sequence_s=each_s / self.interval_steps)
        return parts

    def held(self, tp: int, dp: int, stages: int = 1) -> float:
        """Requests that a replica has memory for, in all its stages; 0 where the weights do not fit."""
        parts = self.parts(tp, dp, stages)
        prompt = self._number("input_tokens") / self.beams
        context = prompt + self.kept_tokens
        return dp * stages * held_requests(parts, self.chip, context, self.engine, 1.0 / self.pieces)

    def targets_s(self, scenario: str) -> tuple[float, float]:
        """Times to the first token and for each further one that the rules ask for."""
        target = f"benchmark.{self.benchmark}.{scenario.lower()}"
        return constant(f"{target}_ttft", "ttft_s"), constant(f"{target}_tpot", "tpot_s")

    def drafts(self, scenario: str) -> tuple[float, float]:
        """Tokens guessed ahead in a scenario whose rules allow it, and tokens that a step then gives."""
        key = f"benchmark.{self.benchmark}.{scenario.lower()}"
        if not load_catalogue().has(f"{key}_drafts"):
            return 0.0, 1.0
        return constant(f"{key}_drafts", "tokens"), constant(f"{key}_accepted", "tokens")

    def apart_tokens_per_s(self, accelerators: int, scenario: str) -> float:
        """Tokens a second of a system that reads prompts on some accelerators and writes on the others.

        One scheduler deals prompts to readers that are free, as to `pooled` replicas of a plan; caches cross
        inside one domain of links while their layers are read. Time per token is compared as a mean: who
        knows its prompts steps evenly, and a batch that is held to the target keeps it for all.
        """
        ways = [
            (tp * dp, accelerators // (tp * dp), *self._phases(tp, dp, scenario))
            for tp, dp in self.layouts(accelerators)
            if self.held(tp, dp) >= dp
        ]
        tried = []
        for reading_size, most, reads, _ in ways:
            for size, _, _, written_per_s in ways:
                for writers in range(1, (accelerators - reading_size) // size + 1):
                    readers = (accelerators - writers * size) // reading_size
                    bound = min(writers * written_per_s, readers * reads(most))
                    tried.append((bound, readers, reads, writers * written_per_s))
        best = 0.0
        # The more readers share a queue the more each takes: the best of those bounds first.
        for bound, readers, reads, written in sorted(tried, key=lambda one: -one[0]):
            if bound <= best:
                break
            best = max(best, min(readers * reads(readers), written))
        return best * self.kept_tokens / self.age_factor

    def _phases(self, tp: int, dp: int, scenario: str) -> tuple[Callable[[int], float], float]:
        """Requests/s of a replica that reads alone, by the readers of its queue, and of one that writes."""
        drafts, accepted = self.drafts(scenario)
        ttft_s, tpot_s = (seconds / self.age_factor for seconds in self.targets_s(scenario))
        soon_s = float(handover_target_s(tpot_target_s=tpot_s, accepted_tokens=accepted))
        prompts = lengths(self._number("input_tokens"), 1.0, 1.0)
        guesses = Guesses(draft_tokens=drafts, accepted_tokens=accepted, read_fraction=0.0)

        @cache
        def reads(readers: int) -> float:
            return self._limit_per_s(tp, dp, scenario, prompts, (ttft_s, tpot_s, 0.0), pooled=readers)

        return reads, self._limit_per_s(tp, dp, scenario, self.requests, (soon_s, tpot_s, 0.0), guesses)

    def _limit_per_s(
        self,
        tp: int,
        dp: int,
        scenario: str,
        requests: Requests,
        targets_s: tuple[float, float, float],
        guesses: Guesses | None = None,
        *,
        stages: int = 1,
        pooled: int = 1,
    ) -> float:
        """Largest load of a replica by the function of plans; targets and the quantile of times per token."""
        in_time = constant("benchmark.in_time", "quantile_fraction")
        ttft_s, tpot_s, token_quantile = targets_s
        found = replica_capacity(
            **self.parts(tp, dp, stages),
            requests=requests,
            limits=Limits(
                batch_limit=np.array([self.held(tp, dp, stages) / (dp * stages)]),
                queue_places=4096.0,
                chunk_tokens=self.chunk_tokens,
                interval_steps=self.interval_steps,
                pooled=pooled,
            ),
            targets=Targets(
                ttft_target_s=ttft_s,
                tpot_target_s=tpot_s,
                quantile_fraction=in_time,
                tpot_quantile_fraction=token_quantile,
            ),
            measured=Measured(),
            arrival_scv_ratio=1.0,  # LoadGen's queries come as a Poisson process
            utilisation_fraction=1.0,
            guesses=guesses,
        )
        return as_number(found.limit_requests_per_s)

    def _requests_read(self, held: float, tp: int, dp: int, stages: int) -> Requests:
        """The requests with what is read again: prompts that were thrown out, where the cache is full."""
        most = engine_number(self.engine, self.chip, "largest_batch") * dp * stages
        if held >= most:
            return self.requests
        again = reread_tokens(
            context_tokens=self._number("input_tokens") / self.beams + self.kept_tokens,
            interval_steps=self.interval_steps,
            free_fraction=free_cache_of(self.benchmark, self.chip),
        )
        whole = self.requests
        return replace(whole, input_tokens=whole.input_tokens + again * whole.output_tokens)

    def tokens_per_s(self, tp: int, dp: int, scenario: str, stages: int = 1) -> float:
        """Tokens a second of a replica; 0 where it has no room or keeps no target.

        Where layers lie on p stages in a row, p batches are under way, one in each. What is won is room: the
        weights of a batch lie on p times the memory.
        """
        held = self.held(tp, dp, stages)
        if held < 1:
            return 0.0
        parts = self.parts(tp, dp, stages)
        # What an answer ends before the steps that were scheduled with it is written in vain.
        kept = self.kept_tokens / (self.kept_tokens + (self.interval_steps - 1.0) / 2.0)
        if scenario == "Offline":
            step, again = (
                average_step(**parts, requests=requests, running=held, chunk_tokens=self.chunk_tokens)
                for requests in (self.requests, self._requests_read(held, tp, dp, stages))
            )
            # What is read again lengthens no context.
            step_s = again.total_s - again.cache_s + step.cache_s
            full = as_number(output_tokens_per_s(batch=kept * held / self.beams, step_s=step_s))
            return full / self.age_factor
        ttft_s, tpot_s = (seconds / self.age_factor for seconds in self.targets_s(scenario))
        in_time = constant("benchmark.in_time", "quantile_fraction")
        drafts, accepted = self.drafts(scenario)
        guesses = Guesses(draft_tokens=drafts, accepted_tokens=accepted) if drafts else None
        targets_s = ttft_s, tpot_s, in_time
        limit = self._limit_per_s(tp, dp, scenario, self.requests, targets_s, guesses, stages=stages)
        return limit * self.kept_tokens / self.beams / self.age_factor


def held_requests(
    parts: dict[str, Any], chip: str, context_tokens: float, engine: str, share_fraction: float = 1.0
) -> float:
    """Requests of a batch that each group of a replica has memory for; 0 where the weights do not fit.

    `share_fraction` is the replica's share of the memory of each accelerator.
    """
    model, layout = parts["model"], parts["layout"]
    return as_number(
        largest_batch(
            memory_gb=share_fraction * constant(f"accelerator.{chip}.memory", "memory_gb"),
            usable_fraction=constant("performance.serving.usable_memory", "usable_fraction"),
            weights_gb=replica_weights_gb(
                parameters=model.parameters,
                routed_parameters=model.routed_parameters,
                weight_bytes=model.weight_bytes,
                tp=layout.tp,
                dp=layout.dp,
                pp=layout.pp,
            ),
            kv_cache_gb_per_token=kv_cache_gb_per_token(
                layers=model.layers,
                kv_heads=model.kv_heads,
                head_dim=model.head_dim,
                kv_bytes=model.kv_bytes,
                tp=layout.tp,
            ),
            context_tokens=attended_tokens(model=model, context_tokens=context_tokens),
            batch_limit=engine_number(engine, chip, "largest_batch"),
            state_gb=split_state_gb(state_bytes=model.state_bytes, tp=layout.tp),
            pp=layout.pp,
        )
    )


def engine_number(engine: str, gpu: str, key: str) -> float:
    """A limit of an engine on an accelerator."""
    chip = catalogue_name("accelerator", gpu)
    inputs = inputs_around(chip)
    at = next((k for k, one in enumerate(inputs.skus) if one.accelerator == chip), None)
    if at is None:
        raise NotUnderstood(f"no SKU has the accelerator '{chip}'")
    return float(engine_fact(inputs, engine, at, key).value)


def as_number(value: object) -> float:
    """The one number of a column of one row."""
    return float(np.squeeze(np.asarray(value)))
