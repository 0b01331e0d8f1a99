"""What a run that several sites share sends over the link between them, and how long a step waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.performance.collectives import gradients_across_s, pipeline_across_s
from planner.trace.quantities import Derived, Fact, Parts, Traced, chosen, convert, derive, total

ONE, DATA, SMALL, APART, PIPELINE = "one site", "gradients", "small gradients", "weights", "activations"
CROSSES = (ONE, DATA, SMALL, APART, PIPELINE)
SAYS = {
    ONE: "nothing crosses",
    DATA: "gradients, every step",
    SMALL: "gradients in 8 bits, every step",
    APART: "weights, every so many steps",
    PIPELINE: "activations between stages",
}
_COMPUTING = ("matrix_s", "attention_s", "elementwise_s")
_OF_A_STAGE = (
    *_COMPUTING,
    *("tensor_parallel_s", "expert_parallel_s", "context_parallel_s"),
    *("launch_s", "weight_gather_s", "head_s"),
)
_VALUE = {DATA: "gradient_value", SMALL: "small_value", APART: "apart_value"}


@dataclass(frozen=True)
class Link:
    """What two sites are joined by."""

    bandwidth: Traced
    latency: Traced
    oversubscription: Traced

    @property
    def terms(self) -> dict[str, Traced]:
        """Arguments of what crosses it."""
        return {
            "bandwidth_gb_per_s": self.bandwidth,
            "latency_s": self.latency,
            "oversubscription_ratio": self.oversubscription,
        }


@dataclass(frozen=True)
class Waits:
    """What a step waits for the link, and what crosses it in a step."""

    link_s: Derived
    link_gb: Traced


def gradients(
    fact: Callable[[str], Fact],
    step: Parts,
    link: Link,
    *,
    parameters: Traced,
    hidden_fraction: Traced,
    sites: int,
    crosses: str,
) -> Waits:
    """Gradients or weights that cross, as exact as `crosses` says."""
    every = (
        fact("across.apart_steps") if crosses == APART else chosen("exchange_steps", 1.0, "after every step")
    )
    held = parameters * fact(f"across.{_VALUE[crosses]}")
    size = convert(held.named("number_bytes", "of all weights"), "GB").named("gradient_gb")
    share = _count(sites)
    waits = derive(
        gradients_across_s,
        sites=share,
        gradient_gb=size,
        **link.terms,
        exchange_steps=every,
        hidden_fraction=hidden_fraction,
        computing_s=total("computing_s", {name: step[name] for name in _COMPUTING}),
    )
    return Waits(
        waits,
        (2.0 * (share - 1.0) / share * size / every).named(
            "ring_gb", "Bytes that cross each link in a step of a ring all-reduce, on average over steps"
        ),
    )


def activations(
    step: Parts,
    link: Link,
    *,
    micro_batch: Traced,
    micro_batches: Traced,
    copies: Traced,
    sequence_tokens: Traced,
    hidden: Traced,
    sites: int,
) -> Waits:
    """Activations that cross from the stages of one site to those of the next."""
    activation = derive(
        activation_gb, micro_batch=micro_batch, sequence_tokens=sequence_tokens, hidden=hidden
    )
    stage = total("stage_s", {name: step[name] for name in _OF_A_STAGE})
    waits = derive(
        pipeline_across_s,
        sites=_count(sites),
        micro_batches=micro_batches,
        copies=copies,
        activation_gb=activation,
        **link.terms,
        micro_batch_s=(stage / micro_batches).named("micro_batch_s", "of one stage"),
    )
    crossing = (2.0 * micro_batches * copies * activation).named(
        "both_ways_gb", "Bytes that cross each link in a step: activations one way, their gradients the other"
    )
    return Waits(waits, crossing)


def waiting(step: Parts, waits: Waits) -> Parts:
    """A step with what it waits for the link."""
    longer = (step.total_s + waits.link_s).named("step_s", "the step at one site, and what it waits")
    return Parts({**step, "total_s": longer})


def _count(sites: int) -> Traced:
    return chosen("sites", float(sites), "that share the run")


def activation_gb(*, micro_batch: float, sequence_tokens: float, hidden: float) -> float:
    """Activations of a micro-batch between two stages, in 16 bits.

    A = b s h 2

    Source: Narayanan et al., SC 2021, arXiv 2104.04473.
    """
    return micro_batch * sequence_tokens * hidden * 2.0 / 1e9
