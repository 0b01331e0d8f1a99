"""Nodes of a run that are slow without failing, and steps that vary: how much longer all of its steps are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.inputs.resolved import Inputs
from planner.trace.quantities import Fact, Traced, chosen, derive
from reliability.step_time import waiting_factor

NONE = "not stated"


@dataclass(frozen=True)
class SlowSteps:
    """Share of the nodes that are slow, how slow those are, and the spread of the step of one node."""

    slow_fraction: Traced
    slowdown: Traced
    variation: Traced

    def factor(self, nodes: Traced) -> Traced:
        """How much longer the steps of so many nodes are, which wait for each other."""
        return derive(
            waiting_factor,
            nodes=nodes,
            slow_fraction=self.slow_fraction,
            slowdown_factor=self.slowdown,
            variation_fraction=self.variation,
        )


def slow_steps(
    fact: Callable[[str], Fact], slow: Traced | None, slowdown: Traced | None, spread: Traced | None
) -> SlowSteps | None:
    """Slow nodes and spread as stated, how slow they are else as published; None where neither is stated."""
    if slow is None and spread is None:
        return None
    usual = slowdown or fact("reliability.degraded_node.slowdown")
    return SlowSteps(
        chosen("slow_fraction", 0.0, NONE) if slow is None else slow,
        chosen("slowdown_factor", 1.0, NONE) if slow is None else usual,
        chosen("variation_fraction", 0.0, NONE) if spread is None else spread,
    )


def slow_steps_of(inputs: Inputs) -> SlowSteps | None:
    """What a scenario states of them."""
    said = inputs.scenario.reliability

    def stated(key: str, value: float | None) -> Traced | None:
        return None if value is None else inputs.yours(f"reliability.{key}", value, "1")

    return slow_steps(
        inputs.fact,
        stated("slow_nodes", said.slow_nodes_fraction),
        stated("slowdown", said.slowdown_factor),
        stated("step_spread", said.step_spread_fraction),
    )
