"""What is wrong between the keys of a run: how much it trains on, when, and what it may leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.scenario.data_mix import (
    bought_twice,
    generated_for_nothing,
    generated_samples,
    without_price,
)
from planner.inputs.scenario.problems import Problem
from planner.inputs.scenario.schema import Horizon
from planner.inputs.scenario.schema_training import TrainingJob
from planner.trace.numbers import EXACT, number_text

TOKENS = {"tokens": "2e12", "sequence_tokens": "8192", "batch_tokens": "4e6"}
SAMPLES = {"samples": "4e12", "batch_samples": "65536"}


def amount_problems(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """What a run states of its tokens, or of its samples; never of both."""
    by_samples = [key for key in SAMPLES if key in entry]
    if not by_samples:
        yield from _missing(entry, at, TOKENS)
        return
    for key in TOKENS:
        if key in entry:
            yield Problem(f"{at}.{key}", f"is next to {by_samples[0]}: a run has tokens or samples, keep one")
    yield from _missing(entry, at, SAMPLES)


def at_one_site(entry: Mapping[str, Any], at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """What two sites may share: a run by tokens, in one piece, over a link."""
    if not entry.get("across"):
        return
    if not document.get("links"):
        yield Problem(
            f"{at}.across", "has no effect without [[links]]: state the link between two sites, or remove it"
        )
    for key in ("pausable", "samples"):
        if entry.get(key):
            yield Problem(f"{at}.across", f"is of runs in one piece, by tokens: remove it, or {key}")
    if entry.get("method") == "lora":
        yield Problem(
            f"{at}.across", "is of runs that train all weights: adapters need no second site; remove it"
        )


def partial_without_pause(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be done in part has to be able to pause."""
    if job.partial and not job.pausable:
        yield Problem(f"{at}.partial", "has no effect without pausable = true: write that, or remove it")


def ramp_without_pause(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that does not pause has nothing to ramp."""
    if job.ramp_per_h is not None and not job.pausable:
        yield Problem(f"{at}.ramp", "has no effect without pausable = true: write that, or remove it")


def partial_without_price(job: TrainingJob, at: str) -> Iterator[Problem]:
    """What is not done of a job has to have a price."""
    if job.partial and not job.may_be_left_out:
        yield Problem(
            f"{at}.partial",
            "needs a price for what is not done: write may_be_left_out = true and "
            'for example left_out_penalty = "5 MUSD"',
        )


def less_than_a_step(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job does whole steps of the optimiser."""
    stated = job.samples is not None or job.tokens is not None
    if not stated or (job.batch_samples is None and job.batch_tokens is None):
        return
    if job.amount < job.step_amount:
        yield Problem(f"{at}.{job.amount_key}", less_than_a_step_text(job.amount, job.step_amount))


def less_than_a_step_text(amount: float, step: float) -> str:
    """That tokens, or samples, do not fill one step."""
    least = number_text(step, EXACT)
    return f"{number_text(amount, EXACT)} are less than one step of the optimiser: write {least} or more"


def leaving_out(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A job that may be left out has a penalty, and only that one."""
    priced = job.has("left_out_penalty_usd")
    if job.may_be_left_out and not priced:
        yield Problem(
            f"{at}.left_out_penalty",
            'is missing, and may_be_left_out needs it: write for example left_out_penalty = "5 MUSD"',
        )
    if priced and not job.may_be_left_out:
        yield Problem(f"{at}.left_out_penalty", "has no effect: write may_be_left_out = true, or remove it")


def target_without_curve(job: TrainingJob, at: str) -> Iterator[Problem]:
    """A loss is reached along a curve."""
    if job.has("target_loss") and not job.has("curve"):
        yield Problem(f"{at}.target", 'has no effect without curve: write for example curve = "runs.csv"')


def pausable_fed(job: Any, at: str) -> Iterator[Problem]:
    """Workers stand by a run that holds its nodes in one piece."""
    if job.has("ingestion") and job.pausable:
        yield Problem(
            f"{at}.ingestion",
            "is of runs in one piece, and this job may pause: remove one of them",
        )


OF_DATA = (bought_twice, without_price, generated_samples, generated_for_nothing)
OF_JOBS = (
    target_without_curve,
    partial_without_pause,
    ramp_without_pause,
    less_than_a_step,
    partial_without_price,
    leaving_out,
    pausable_fed,
    *OF_DATA,
)


def early_jobs(job: TrainingJob, at: str, horizon: Horizon) -> Iterator[Problem]:
    """A run starts within the horizon."""
    if job.earliest < horizon.start:
        yield Problem(
            f"{at}.earliest",
            f"{job.earliest} is before the horizon's start, {horizon.start}: write that day or a later one",
        )


def deadlines(job: TrainingJob, at: str, horizon: Horizon) -> Iterator[Problem]:
    """A run ends after it may start, within the horizon."""
    if job.deadline <= job.earliest:
        yield Problem(
            f"{at}.deadline",
            f"{job.deadline} is not after earliest, {job.earliest}: write a later deadline",
        )
    elif job.deadline > horizon.end:
        yield Problem(
            f"{at}.deadline",
            f"{job.deadline} is after the horizon's end, {horizon.end}: "
            "write an earlier deadline, or more periods",
        )


def _missing(entry: Mapping[str, Any], at: str, keys: Mapping[str, str]) -> Iterator[Problem]:
    for key, example in keys.items():
        if key not in entry:
            yield Problem(f"{at}.{key}", f"is missing: write for example {key} = {example}")
