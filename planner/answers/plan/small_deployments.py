"""Why a plan keeps a deployment that carries next to nothing of its service."""

from __future__ import annotations

from collections.abc import Iterator

from planner.program.assembly import objective_unit
from planner.program.deployments import SmallDeployment, small_deployments
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import mass, money, percent_text

# What is short where a further replica of another deployment would break a rule of the plan.
SHORT = {
    "nodes in use": "no node is free",
    "node-hours": "no hours of nodes are free",
    "power": "no power is left",
    "shared power": "the sites that share power have none left",
    "spares": "no node is left as a spare",
    "promise": "the availability promised would not be kept",
    "term": "nodes would have to be rented for a term",
}


def small_deployment_sentences(plan: Plan, solution: Solution) -> list[str]:
    """One sentence for each deployment of less than a twentieth of its service."""
    return [_sentence(plan, one) for one in small_deployments(plan.problem, solution)]


def _sentence(plan: Plan, one: SmallDeployment) -> str:
    problem, labels = plan.problem, plan.inputs.scenario.horizon.period_labels
    serves = problem.serve_options
    name = problem.services.name[serves.service[one.option]]
    where = problem.node_group_name(int(serves.node_group[one.option]))
    when = ", ".join(labels[t] for t in one.periods)
    said = f"{where} carries {percent_text(one.most_fraction)} or less of {name} in {when}"
    return f"{said}: {'; '.join(_reasons(plan, one))}."


def _reasons(plan: Plan, one: SmallDeployment) -> Iterator[str]:
    if one.dearer is None:
        short = [SHORT[rule] for rule in one.broken if rule in SHORT]
        yield f"where else it runs, {' and '.join(short) or 'there is no room'}"
    elif one.dearer >= 0:
        yield f"more replicas of another deployment would take {_amount(plan, one.dearer)} more"
    else:
        yield (
            f"without it the plan would take {_amount(plan, -one.dearer)} less, "
            "which is within the gap of the search"
        )


def _amount(plan: Plan, value: float) -> str:
    return money(value) if objective_unit(plan.problem.objective) == "USD" else mass(value)
