"""What a person calls the limits and decisions that the solver knows by index."""

from __future__ import annotations

from collections.abc import Sequence

from planner.inputs.scenario import Scenario
from planner.program.plan import Plan
from planner.program.searches import Difference
from planner.program.solution import Index, Problem, promised

EVERYWHERE = ("budget", "carbon cap", "carbon cap by period", "money cap")
BY_PERIOD = ("budget", "carbon cap by period")  # their only index is the period


def labels_of(plan: Plan) -> Sequence[str]:
    """The names of a plan's periods."""
    return plan.inputs.scenario.horizon.period_labels


def limit_place(problem: Problem, labels: Sequence[str], family: str, index: Index) -> tuple[str, str]:
    """Where a limit holds, and in which period; over the whole horizon where it knows no period."""
    if family in EVERYWHERE:
        return "all sites", labels[index[0]] if family in BY_PERIOD else "horizon"
    if family == "availability":
        return f"{promised(problem, index[0])} on {problem.node_group_name(index[1])}", "horizon"
    period = labels[index[1]] if len(index) > 1 else "horizon"
    return _where(problem, family, index[0]), period


def _where(problem: Problem, family: str, row: int) -> str:
    match family:
        case "power" | "space" | "curtailment":
            return problem.site_names[row]
        case "shared power":
            return problem.limits.shared_power_name[row]
        case "supply":
            return problem.sku_names[row]
        case "minimum order":
            return problem.node_group_name(row)
        case "end of life":
            return f"standing {problem.node_group_name(int(problem.cohorts.node_group[row]))}"
        case "demand":
            return problem.services.name[row]
        case "work":
            return problem.work.name[row]
        case _:
            return problem.jobs.name[row]


KEYS = {
    "power": "sites.{}.power_cap",
    "space": "sites.{}.racks",
    "shared power": "power_groups.{}.power_cap",
    "curtailment": "sites.{}.curtailment",
    "supply": "market.{}.supply_nodes",
    "minimum order": "market.{}.minimum_nodes",
    "deadlines": "training.{}.deadline",
    "jobs": "training.{}.may_be_left_out",
    "demand": "services.{}.peak_rate",
    "budget": "policy.budget",
    "carbon cap": "policy.carbon_cap",
    "carbon cap by period": "policy.carbon_cap_by_period",
    "money cap": "policy.money_cap",
}


def limit_key(scenario: Scenario, family: str, where: str) -> str:
    """The key of the file that states a limit; empty where its words name it, or none does."""
    if family == "end of life":
        sku, _, site = where.removeprefix("standing ").partition(" at ")
        found = [i for i, one in enumerate(scenario.fleet) if (one.sku, one.site) == (sku, site)]
        return " and ".join(f"fleet[{i}].life" for i in found)
    if family == "availability":
        names = where.partition(" on ")[0].split(" and ")
        known = {one.name for one in scenario.services}
        return " and ".join(f"services.{name}.availability" for name in names if name in known)
    if family == "work":
        return f"pools.{where}.{next(one.way.key for one in scenario.pools if one.name == where)}"
    return KEYS.get(family, "").format(where.partition(" at ")[0] if family == "minimum order" else where)


def limit_text(problem: Problem, labels: Sequence[str], family: str, index: Index) -> str:
    """A limit in words, as part of a sentence."""
    where, period = limit_place(problem, labels, family, index)
    when = "" if period == "horizon" else f" in {period}"
    match family:
        case "availability" if index[0] == 0:
            return f"the spares (reliability.spare_confidence) for {where}"
        case "deadlines":
            return f"the deadline of {where}"
        case "jobs":
            return f"that {where} has to run"
        case "end of life":
            return f"the end of life of {where}"
        case "demand":
            return f"the demand of {where}{when}"
        case "work":
            return f"the work of {where}{when}"
        case "carbon cap" | "money cap":
            return f"the {family}"
        case "carbon cap by period" | "budget":
            return f"the {family.removesuffix(' by period')}{when}"
        case "minimum order":
            return f"the minimum order of {where}"
        case "curtailment":
            return f"the power that {where} is obliged to stop"
        case _:
            return f"the {family} of {where}{when}"


def change_text(problem: Problem, labels: Sequence[str], change: Difference) -> str:
    """One decision that two plans take differently, the second one's first."""
    before, after = f"{change.before:g}", f"{change.after:g}"
    first = change.index[0]
    if change.kind == "job":
        what = f"{problem.jobs.name[first]} on {problem.node_group_name(change.index[1])}"
        return what if change.after > change.before else f"no {what}" if change.after == 0 else f"less {what}"
    if change.kind == "left_out":
        name = problem.jobs.name[first]
        return f"leave out {name}" if change.after > change.before else f"run {name}"
    when = labels[change.index[1]]
    if change.kind == "orders":
        unit = int(problem.node_groups.order_unit_nodes[first])
        nodes = f"{change.after * unit:g} instead of {change.before * unit:g}"
        return f"order {nodes} nodes of {problem.node_group_name(first)} in {when}"
    if change.kind == "rented":
        return f"rent {after} instead of {before} nodes of {problem.node_group_name(first)} in {when}"
    if change.kind == "committed":
        return f"reserve {after} instead of {before} nodes of {problem.node_group_name(first)} from {when}"
    if change.kind == "sold":
        group = problem.node_group_name(int(problem.sales.node_group[first]))
        return f"sell {after} instead of {before} new nodes of {group} in {when}"
    cohort = first if change.kind == "retired" else int(problem.moves.from_cohort[first])
    group = problem.node_group_name(int(problem.cohorts.node_group[cohort]))
    if change.kind == "retired":
        return f"retire {after} instead of {before} nodes of {group} in {when}"
    goal = problem.site_names[
        problem.node_groups.site[problem.cohorts.node_group[problem.moves.to_cohort[first]]]
    ]
    return f"move {after} instead of {before} nodes of {group} to {goal} in {when}"


def changes_text(
    problem: Problem, labels: Sequence[str], changes: Sequence[Difference], most: int = 4
) -> str:
    """The largest changes of a fleet in one line; how many more there are."""

    def nodes(change: Difference) -> float:
        unit = problem.node_groups.order_unit_nodes[change.index[0]] if change.kind == "orders" else 1
        return -abs(change.after - change.before) * float(unit)

    # What a job leaves is said by where it goes.
    shown = [each for each in changes if not (each.kind == "job" and each.after < each.before)] or list(
        changes
    )
    said = [change_text(problem, labels, each) for each in sorted(shown, key=nodes)]
    more = f"; and {len(said) - most} more" if len(said) > most else ""
    return "; ".join(said[:most]) + more
