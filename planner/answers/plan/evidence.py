"""A plan with what defends it: services played, what limits are worth, plans that cost little more."""

from __future__ import annotations

from collections.abc import Callable

from planner.answers.plan.alternatives import with_alternatives
from planner.answers.plan.limit_prices import with_prices
from planner.answers.plan.verified import with_verification
from planner.inputs.plan_question import PlanQuestion
from planner.program.plan import Plan, Watch
from planner.trace.numbers import percent_text


def defended(
    plan: Plan,
    defence: PlanQuestion,
    *,
    watch: Watch | None = None,
    stopped: Callable[[], None] | None = None,
) -> Plan:
    """A plan with its services played, its limits' worth and its alternatives, as wanted.

    Args:
        plan: that was just made.
        defence: what is looked for next to it.
        watch: called with the progress.
        stopped: called where Ctrl-C ends the search for what defends the plan, which is then left out; where
            it is None the interrupt goes on.
    """
    tell = watch or (lambda _: None)
    seconds = plan.inputs.scenario.solve.time_limit_s
    try:
        if defence.verify:
            plan = with_verification(
                plan, tell=lambda share: tell(f"playing the services: {percent_text(share, 0)}")
            )
        if defence.prices:
            tell("looking for what the limits are worth")
            plan = with_prices(plan, time_limit_s=seconds)
        if defence.alternatives:
            tell("looking for plans that cost little more")
            plan = with_alternatives(
                plan,
                plans=defence.alternatives,
                within_fraction=defence.within_fraction,
                time_limit_s=seconds,
            )
    except KeyboardInterrupt:
        if stopped is None:
            raise
        stopped()
    return plan
