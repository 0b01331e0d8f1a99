"""Measured numbers as facts of one's own, and what rows of a calibration have in common."""

from __future__ import annotations

from planner.answers.calibration.reading import Measurement, Served
from planner.trace.quantities import Chosen, Fact, Source, Traced, calculated, chosen
from planner.trace.units import unit_of


def stated(one: Measurement | Served, name: str, value: float) -> Fact:
    """A number of a line of a file, in the unit that its name ends in."""
    source = Source("measured", one.source or "your own measurement")
    return Fact(
        value,
        unit_of(name),
        key=name,
        source=source,
        locator=f"{one.file}, line {one.line}" if one.line else one.file,
        kind="measured",
    )


def measured_rate(one: Measurement) -> Traced:
    """Tokens a second of the whole system, from what a line measured."""
    work = one.workload
    name, unit = "measured_tokens_per_s", "1/s"
    if one.quantity == "step_time":
        return calculated(
            name,
            "batch_sequences * sequence_tokens / step_s",
            unit,
            batch_sequences=stated(one, "batch_sequences", work.batch_sequences),
            sequence_tokens=stated(one, "sequence_tokens", work.sequence_tokens),
            step_s=stated(one, "step_s", one.value),
        )
    if one.quantity == "tokens_rate_per_accelerator":
        return calculated(
            name,
            "tokens_per_s * accelerators",
            unit,
            "the rate that was measured is of each accelerator",
            tokens_per_s=stated(one, "tokens_per_s", one.value),
            accelerators=stated(one, "accelerators", work.accelerators),
        )
    return stated(one, name, one.value)


def error_of(name: str, ours: Traced, measured: Traced) -> Traced:
    """How far off ours is, as a share of what was measured."""
    return calculated(name, "ours / measured - 1", "1", ours=ours, measured=measured)


def range_of(rate: Traced, worst: Traced) -> dict[str, Traced]:
    """Both ends of a rate that may be off by so much."""
    return {
        "low_tokens_per_s": calculated(
            "low_tokens_per_s", "tokens_per_s / (1 + worst)", "1/s", tokens_per_s=rate, worst=worst
        ),
        "high_tokens_per_s": calculated(
            "high_tokens_per_s", "tokens_per_s * (1 + worst)", "1/s", tokens_per_s=rate, worst=worst
        ),
    }


def looked_at(accelerators: int) -> Chosen:
    """A size that is looked at."""
    return chosen("accelerators", accelerators, "a size that is looked at")
