"""What was counted as a failure: rates of two definitions may not be side by side.

Fleets span 2.1 to 22 failures for each 1000 node-days, much of it by what they count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from reliability.domain import require_not_negative, require_positive

Column = float | NDArray[np.float64]


class FailureScope(StrEnum):
    """What a failure stopped."""

    JOB = "job"
    NODE = "node"
    COMPONENT = "component"


@dataclass(frozen=True, slots=True)
class FailureDefinition:
    """What a source counts as a failure; `severities` are the classes that it lets in, such as hardware."""

    planned_stops: bool
    severities: frozenset[str]
    scope: FailureScope

    def __post_init__(self) -> None:
        if not isinstance(self.severities, frozenset) or not self.severities:
            raise ValueError(
                "severities must be a frozenset with at least one class, as in frozenset({'hardware'}), "
                f"got {self.severities!r}"
            )

    def __str__(self) -> str:
        planned = "with" if self.planned_stops else "without"
        return f"{self.scope} failures {planned} planned stops ({', '.join(sorted(self.severities))})"


@dataclass(frozen=True, slots=True)
class CountedFailures:
    """Failures in so many node-hours, and what was counted."""

    failures: Column
    node_h: Column
    definition: FailureDefinition

    def __post_init__(self) -> None:
        require_not_negative(failures=self.failures)
        require_positive(node_h=self.node_h)


def require_same_definition(**definitions: FailureDefinition) -> None:
    """Refuse to set rates next to each other that count different things.

    Source: fleets span 2.1 to 22 failures for each 1000 node-days, much of it by definition.
    """
    (first_name, first), *others = definitions.items()
    for name, other in others:
        if other != first:
            raise ValueError(
                f"{first_name} and {name} must count the same, got {first} for {first_name} "
                f"and {other} for {name}; restate one where a source gives both"
            )


def combined_failures(*, counts: Sequence[CountedFailures]) -> CountedFailures:
    """Counts of several fleets or periods as one.

        n = sum n_i,  t = sum t_i

    All must count the same; `restated_failures` brings one to the definition of another.

    Source: counts of independent Poisson processes add up.
    """
    if not counts:
        raise ValueError("counts must hold at least one count, got none")
    names = (f"counts[{index}]" for index in range(len(counts)))
    require_same_definition(**dict(zip(names, (count.definition for count in counts), strict=True)))
    return CountedFailures(
        failures=sum(count.failures for count in counts),
        node_h=sum(count.node_h for count in counts),
        definition=counts[0].definition,
    )


def restated_failures(
    *, counts: CountedFailures, stated: CountedFailures, restated: CountedFailures
) -> CountedFailures:
    """Counts under another definition, in the ratio of a source that gives one run under both.

        n' = n * r_restated / r_stated

    The ratio is taken to hold for the other fleet too, and its own error is left out.

    Source: such as Llama 3 (arXiv 2407.21783): 466 interruptions with planned stops, 419 without.
    """
    require_same_definition(counts=counts.definition, stated=stated.definition)
    require_positive(stated_failures=stated.failures)
    ratio = np.divide(restated.failures, restated.node_h) / np.divide(stated.failures, stated.node_h)
    return CountedFailures(counts.failures * ratio, counts.node_h, restated.definition)
