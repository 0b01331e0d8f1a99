"""Which limits cannot be kept together: the conflict in words, before the repairs."""

from __future__ import annotations

from planner.answers.plan.names import labels_of, limit_key, limit_place, limit_text
from planner.inputs.consistency import serves_from
from planner.program.plan import Plan
from planner.program.solution import Index
from planner.trace.numbers import number_text
from planner.trace.records import Record


def conflict_records(plan: Plan) -> list[Record]:
    """One row for each limit of the conflict."""
    if plan.conflict is None:
        return []
    rows = []
    for member in plan.conflict.members:
        where, period = limit_place(plan.problem, labels_of(plan), member.family, member.index)
        rows.append({"limit": member.family, "where": where, "period": period})
    return rows


def _key_of(plan: Plan, family: str, index: Index) -> str:
    """The key of the file that a limit is stated by, in brackets."""
    where, _ = limit_place(plan.problem, labels_of(plan), family, index)
    key = limit_key(plan.inputs.scenario, family, where)
    return f" ({key})" if key else ""


def conflict_text(plan: Plan) -> str:
    """The conflict as one sentence; empty where it was not found."""
    conflict = plan.conflict
    if conflict is None or not conflict.members or not conflict.proven:
        return ""
    named = list(
        dict.fromkeys(
            f"{limit_text(plan.problem, labels_of(plan), member.family, member.index)}"
            f"{_key_of(plan, member.family, member.index)}"
            for member in conflict.members
        )
    )
    if len(named) == 1:
        return f"No plan keeps {named[0]}, whatever the other limits."
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    rest = (
        "without any one of them there is a plan" if conflict.irreducible else "not all may be needed for it"
    )
    return f"These cannot be kept together: {listed}; {rest}."


def late_orders_text(plan: Plan) -> str:
    """From when on what is ordered serves a run in the conflict: no limit of the program says so."""
    scenario, conflict = plan.inputs.scenario, plan.conflict
    named = {(one.family, one.index[0]) for one in conflict.members if one.index} if conflict else set()
    for number, job in enumerate(scenario.training):
        offers = [one for one in scenario.market if not job.skus or one.sku in job.skus]
        first = min((serves_from(scenario, one) for one in offers), default=None)
        if first is None or not (("deadlines", number) in named or ("jobs", number) in named):
            continue
        if first <= (job.earliest or scenario.horizon.start):
            continue
        soonest = min(offers, key=lambda one: one.lead_time_h)
        month = '; with period = "month" they wait less' if scenario.horizon.period == "quarter" else ""
        return (
            f"What is ordered serves {job.name} from {first.isoformat()} on, and no earlier: "
            f"market.{soonest.sku}.lead_time is {number_text(soonest.lead_time_h / 24)} d, and nodes serve "
            f"from the first day of a period{month}."
        )
    return ""
