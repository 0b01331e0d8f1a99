"""What was counted as a failure.

Fleets span 2.1 to 22 failures for each 1000 node-days, much of it by what they count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
