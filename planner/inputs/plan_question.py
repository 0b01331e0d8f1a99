"""What is asked of a plan next to its scenario, stated once: `everfleet plan`, `ef.plan`."""

from __future__ import annotations

from dataclasses import dataclass

from planner.inputs.question_fields import question_field


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What is looked for next to a plan."""

    baselines: bool = question_field(
        "solve only the plan itself: nothing next to it, no ties", True, reads="flag", option="--no-baselines"
    )
    prices: bool = question_field("what one more of each limit is worth", False, reads="flag")
    verify: bool = question_field(
        "play its services request by request, next to the closed form of the plan", False, reads="flag"
    )
    alternatives: int = question_field("N other plans that cost little more", 0, reads="whole", value="N")
    within_fraction: float = question_field(
        "how much more they may cost, '2 %'", 0.02, reads="excess", option="--within", value="SHARE"
    )
    anew: bool = question_field("search again what was searched before", False, reads="flag")
