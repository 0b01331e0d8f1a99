"""What each step of a replica takes, in every state that its queue may have."""

from dataclasses import fields
from typing import Any

import numpy as np

from planner.performance.bundles import Guesses, Measured, Requests
from planner.performance.calibrate_serving import calibrated_step_s, serving_factor_at, step_arithmetic_s
from planner.performance.columns import Column, Floats
from planner.performance.engine import (
    Chip,
    Engine,
    ReplicaLayout,
    StepTimes,
    Transformer,
    matrix_parameters,
    on_axes,
    step_times,
)
from planner.performance.mix import class_context_tokens
from planner.performance.prefill_queue import PromptReading, excess_of_fullest
from planner.performance.serving import prefill_steps

# States in which a step is worked out: every one up to the first figure, then so many to each doubling.
_EVERY, _TO_A_DOUBLING = 8, 6


class Steps:
    """Step times of every candidate in every state tried, on the axes candidate, class of prompts, state."""

    def __init__(
        self,
        model: Transformer,
        chip: Chip,
        engine: Engine,
        layout: ReplicaLayout,
        requests: Requests,
        measured: Measured,
        running: Floats,
        chunk_tokens: Floats,
        guesses: Guesses | None = None,
        context_tokens: Column | None = None,
    ) -> None:
        self.parts = {
            "model": on_axes(model, 2),
            "chip": on_axes(chip, 2),
            "engine": on_axes(engine, 2),
            "layout": on_axes(layout, 2),
        }
        self.running, self.requests = running, requests
        self.drafts = wide(0.0 if guesses is None else guesses.draft_tokens)
        self.context = wide(context_tokens_of(requests) if context_tokens is None else context_tokens)
        self.groups, self.stages = wide(layout.dp), wide(layout.pp)
        self.stage_wait = wide(engine.stage_wait_fraction)
        # Groups that read prompts of their own, of which all wait for the fullest.
        self.apart = 1.0 + wide(engine.group_wait_fraction) * (self.groups - 1.0)
        self.ranks = wide(np.multiply(layout.tp, layout.dp))
        self.chunk = chunk_tokens
        self.parameters = wide(matrix_parameters(model))
        self.peak = wide(chip.peak_tflop_per_s)
        self.factor = np.asarray(
            serving_factor_at(
                batch=(running * self.groups * self.stages)[..., 0, :],
                measured_batches=np.asarray(measured.batches)[..., None, :],
                factors=np.asarray(measured.factors)[..., None, :],
            )
        )[..., None, :]

        answers = np.asarray(requests.output_tokens, dtype=np.float64)
        self.answer = wide(np.maximum(answers, 1.0))
        self.prompts = (np.asarray(requests.input_tokens)[..., None] * requests.input_ratio)[..., None]
        self.chunks = prefill_steps(input_tokens=self.prompts, chunk_tokens=chunk_tokens)
        self.share = np.asarray(requests.share_fraction, dtype=np.float64)[..., None]

    def average(self) -> tuple[StepTimes, Floats]:
        """Steps in which prompts join as answers leave: as modelled, and as measured."""
        return self._mean(self.running * (1.0 - 1.0 / self.answer), self.running)

    def between_tokens_s(self) -> Floats:
        """Steps between two tokens of a request: prompts of the others join, its own was read before."""
        others = np.maximum(self.running - 1.0, 0.0)
        return self._mean(1.0 + others * (1.0 - 1.0 / self.answer), others)[1]

    def without_prompts_s(self) -> Floats:
        """Steps between two tokens of a request while no prompt is read."""
        writing = 1.0 + np.maximum(self.running - 1.0, 0.0) * (1.0 - 1.0 / self.answer)
        return self._step(writing, 0.0, (self.groups - 1.0) * writing * (1.0 + self.drafts))[1]

    def with_prompt_s(self) -> Floats:
        """Steps in which one group reads a part of a prompt of each class, next to all others that run.

        One part is what any group reads in such a step: where more prompts join than steps are taken, the
        other groups read no more of theirs in it than this one.
        """
        writing = np.maximum(self.running - 1.0, 0.0)
        return self._step(writing, self.prompts / self.chunks, self._one_part_each(writing))[1]

    def reading(self, found: Floats, limit: Floats, interval_steps: Floats, pooled: Column) -> PromptReading:
        """What prompts wait for one another: steps without one, and with a chunk full of them.

        a_j = (T(C) - T(C/2))/(C/2) at the length of class j,  b_j = a_j isl_j,  h = T(0) - (T(C) - a C)

        Half a chunk hides nothing any more. A full chunk holds prompts as long as its tokens meet them. Where
        prompts are read in every m-th step, what is read at once waits for m steps without: t = m T(0).
        Other groups, and batches of each on the stages, step together: all wait for the fullest, and experts
        take tokens of all groups.
        """
        writing = np.maximum(self.running - 1.0, 0.0)
        others = self._others(writing, np.zeros_like(writing))
        met = np.sum(self.share * self.prompts**2, axis=-2, keepdims=True) / np.sum(
            self.share * self.prompts, axis=-2, keepdims=True
        )

        def slope(states: slice, lengths: Floats) -> tuple[Floats, Floats, Floats]:
            here = writing[..., states], others[..., states]
            (times, full), (half_times, half) = (
                self._step(here[0], part * self.chunk, here[1], lengths, states) for part in (1.0, 0.5)
            )
            longer = np.maximum(times.total_s - half_times.total_s, np.finfo(np.float64).tiny)
            experts = (times.expert_s - half_times.expert_s) / longer
            return full, np.maximum(full - half, 0.0) / (self.chunk / 2.0), np.clip(experts, 0.0, 1.0)

        every = slice(None)
        calm = self._step(writing, 0.0, others, np.ones((1, 1)), every)[1]
        full, token_s, _ = slope(every, met)
        _, class_token_s, experts = slope(slice(0, 1), self.prompts)
        work = class_token_s * self.prompts
        batches = self.apart * (1.0 + self.stage_wait * (self.stages - 1.0))
        hidden = np.clip(calm - (full - token_s * self.chunk), 0.0, calm)
        saved = np.sum(self.share * np.minimum(hidden, work), axis=-2)
        return PromptReading(
            found=found,
            own_s=self.chunks * self._step(writing, self.prompts / self.chunks, others)[1],
            calm_s=(interval_steps * calm)[..., 0, :],
            hidden_s=saved,
            work_s=work[..., 0],
            share_fraction=self.share[..., 0],
            chunk_s=(token_s * self.chunk)[..., 0, 0],
            limit=limit,
            others=batches[..., 0, 0] - 1.0,
            groups=self.groups[..., 0, 0],
            shared_s=(work * experts * (self.groups > 1.0))[..., 0],
            servers=np.broadcast_to(np.asarray(pooled, dtype=np.float64), limit.shape),
        )

    def _one_part_each(self, writing: Floats) -> Floats:
        """Tokens of the others in a step that reads a part of a prompt: no more than a part of theirs."""
        parts = np.sum(self.share * self.chunks, axis=-2, keepdims=True) * self.running / self.answer
        return self._others(writing, self.running / np.maximum(parts, 1.0))

    def _others(self, writing: Floats, reading: Floats, beyond: Column = 0.0) -> Floats:
        """Tokens of a step of the other groups, of which each writes and reads on average as much.

        The fullest reads `beyond` of the mean more, which the others then do not.
        """
        joining = np.sum(self.share * self.prompts, axis=-2, keepdims=True) * reading / self.answer
        written = (self.groups - 1.0) * writing * (1.0 + self.drafts)
        result: Floats = written + np.maximum(self.groups - 1.0 - beyond, 0.0) * joining
        return result

    def _beyond(self, chunks: Floats, calm_s: Floats, reads_s: Floats) -> Floats:
        """What the fullest of several groups reads beyond the mean, over it: no more than a chunk.

        e = (1 - y) e(x t/T) + y e(x r/T),  T = (1 - y) t + y r

        Prompts of a step came in the one before, which read (r) or did not (t): more come in long steps, in
        all groups, so that they differ less than if all steps were alike.
        """
        more = self.apart - 1.0
        often = np.minimum(chunks + excess_of_fullest(chunks, more)[0], 1.0)
        step_s = (1.0 - often) * calm_s + often * reads_s
        excess = (1.0 - often) * excess_of_fullest(chunks * calm_s / step_s, more)[0]
        excess = excess + often * excess_of_fullest(chunks * reads_s / step_s, more)[0]
        part = np.sum(self.share * self.prompts / self.chunks, axis=-2, keepdims=True)
        room = np.maximum(self.chunk / part - chunks, 0.0)
        found: Floats = np.where(more > 0.0, np.minimum(excess, room), 0.0)
        return found / np.maximum(chunks, 1e-12)

    def _mean(self, writing: Floats, reading: Floats) -> tuple[StepTimes, Floats]:
        """Mean step: some read a chunk of a prompt, the others none; with many prompts all read more.

        Its time is that of the fullest group (`step_moments`), what is used of an accelerator that of all.
        """
        each = self.share * self.chunks
        each, whole = each / np.sum(each, axis=-2, keepdims=True), np.sum(each, axis=-2, keepdims=True)
        mean = whole * reading / self.answer  # chunks that a step reads

        def steps(chunks: Floats, beyond: Column) -> tuple[Floats, tuple[StepTimes, Floats], tuple[Any, Any]]:
            """How often a step reads, and steps that read nothing or so much."""
            others, more = self._others(writing, reading, beyond), np.maximum(chunks, 1.0)
            part = self.prompts / self.chunks * more
            full = np.maximum(part / self.chunk, 1.0)  # parts that are read at once fill chunks up
            without = self._step(writing, 0.0, others, np.ones((1, 1)))
            times, seconds = self._step(writing, part, others, reading_steps=full)
            parts = {
                f.name: np.sum(each * getattr(times, f.name), axis=-2, keepdims=True) for f in fields(times)
            }
            read_s = np.sum(each * seconds, axis=-2, keepdims=True)
            return np.minimum(chunks, 1.0), without, (StepTimes(**parts), read_s)

        own, (without, without_s), (reads, reads_s) = steps(mean, 0.0)
        parts = {
            f.name: (1.0 - own) * getattr(without, f.name) + own * getattr(reads, f.name)
            for f in fields(reads)
        }
        if np.any(self.apart > 1.0):
            beyond = self._beyond(mean, without_s, reads_s)
            own, (without, without_s), (reads, reads_s) = steps(mean * (1.0 + beyond), beyond)
        # Batches on the stages wait for the one that reads.
        often = own + (1.0 - own) * self.stage_wait * (1.0 - (1.0 - own) ** (self.stages - 1.0))
        parts["total_s"] = (1.0 - often) * without.total_s + often * reads.total_s
        return StepTimes(**parts), (1.0 - often) * without_s + often * reads_s

    def _step(
        self,
        writing: Floats,
        prompts: Column,
        others: Floats,
        lengths: Floats | None = None,
        states: slice = slice(None),
        reading_steps: Floats | None = None,
    ) -> tuple[StepTimes, Floats]:
        """Steps in which a group writes and reads so much, and the other groups read so many tokens.

        `lengths` are those of the prompts, by class where none are given; `states` which of those tried;
        `reading_steps` as of `step_times`.
        """
        times = step_times(
            **self.parts,  # type: ignore[arg-type]
            writing=writing,
            prefill_tokens=prompts,
            context_tokens=self.context,
            prompt_tokens=self.prompts if lengths is None else lengths,
            other_tokens=others,
            draft_tokens=self.drafts,
            reading_steps=reading_steps,
        )
        least = step_arithmetic_s(
            active_parameters=self.parameters,
            tokens=np.maximum(writing * (1.0 + self.drafts) + prompts + others, 1e-9),
            tp=self.ranks,
            peak_tflop_per_s=self.peak,
        )
        return times, np.asarray(
            calibrated_step_s(step_s=times.total_s, factor=self.factor[..., states], least_s=least)
        )


def context_tokens_of(requests: Requests) -> Column:
    """Tokens that a writing request reads, on average over the steps."""
    return class_context_tokens(
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
        share_fraction=requests.share_fraction,
        input_ratio=requests.input_ratio,
        output_ratio=requests.output_ratio,
        output_scv_ratio=requests.output_scv_ratio,
        written_fraction=0.5,
    )


def states_tried(largest: float) -> Floats:
    """States in which the step is worked out, the same for every candidate; the last is none below any."""
    doublings = np.log2(max(largest / _EVERY, 1.0))
    further = _EVERY * 2.0 ** (np.arange(1.0, np.ceil(doublings * _TO_A_DOUBLING) + 1.0) / _TO_A_DOUBLING)
    return np.concatenate([np.arange(1.0, _EVERY + 1.0), np.round(further)])


def between_states(values: Floats, tried: Floats, limit: Floats) -> Floats:
    """Values in every state from those in the states tried, by straight lines on the last axis.

    States tried beyond the limit of a candidate hold its value at the limit: nothing depends on who else is
    worked out with it.
    """
    every = np.arange(1.0, float(np.max(limit)) + 1.0)
    right = np.clip(np.searchsorted(tried, every, side="left"), 1, len(tried) - 1)
    left = tried[right - 1]
    way = np.clip(
        (every - left) / np.maximum(np.minimum(tried[right], limit[..., None]) - left, 1.0), 0.0, 1.0
    )
    result: Floats = values[..., right - 1] * (1.0 - way) + values[..., right] * way
    return result


def wide(value: Column) -> Floats:
    """A candidate each, before an axis of classes and one of states."""
    return np.asarray(value, dtype=np.float64)[..., None, None]
