"""Nodes that the plan parts with, and those that it keeps without work: when, for how much, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from planner.answers.plan.fleet import nodes_text, place
from planner.answers.plan.places import space_held
from planner.answers.plan.unit_costs import free_node_h
from planner.program.ledger_terms import DECIDED
from planner.program.plan import Plan
from planner.program.solution import Solution, reused
from planner.trace.numbers import count_text, mass, money
from planner.trace.quantities import Traced, chosen, total
from planner.trace.records import Record, plain_rows


class Parting(NamedTuple):
    """Nodes of one entry of the fleet, or of one order, that leave at the start of a period."""

    group: int
    period: int
    nodes: int
    origin: str
    at_end_of_life: bool
    value_usd: Traced | None
    sale_usd: Traced | None
    held: tuple[Traced, ...]  # what a node costs from then on, period by period


def disposal_records(plan: Plan, solution: Solution) -> list[Record]:
    """What leaves the fleet: sold, scrapped or disposed of, for how much, and what keeping it would cost."""
    labels = plan.inputs.scenario.horizon.period_labels
    found: list[Record] = []
    for one in sorted(_partings(plan, solution), key=lambda one: (one.period, one.group)):
        nodes = chosen("nodes", one.nodes, DECIDED)
        row: Record = {
            "period": labels[one.period],
            **place(plan, one.group),
            "from": one.origin,
            "nodes": nodes,
        }
        if one.value_usd is not None and one.sale_usd is not None:
            brought = (one.value_usd - one.sale_usd).named("proceeds_usd")
            row |= {
                "value_usd_per_node": one.value_usd,
                "sale_usd_per_node": one.sale_usd,
                "proceeds_usd": (nodes * brought).named("proceeds_usd"),
            }
        parts = {label: each for label, each in zip(labels[one.period :], one.held, strict=True)}
        row["keeping_usd_per_node"] = total("keeping_usd", parts, "from then on to the end of the horizon")
        row["what"] = _what(one)
        row["because"] = "the end of their life" if one.at_end_of_life else _because(plan)
        found.append(row)
    return found


def disposal_sentences(plan: Plan, solution: Solution) -> list[str]:
    """What to sell or scrap, when and why."""
    said = []
    for row in plain_rows(disposal_records(plan, solution)):
        count, where = nodes_text(int(row["nodes"])), f"{row['sku']} at {row['site']}"
        line = f"{row['what']} {count} of {where} in {row['period']}"
        if row["what"] == "Sell":
            line += f" for {money(row['proceeds_usd'])}"
        if row["because"] == "the end of their life":
            said.append(f"{line}, at the end of {'its' if row['nodes'] == 1 else 'their'} life.")
            continue
        keeping = f"keeping one to the end of the horizon would cost {money(row['keeping_usd_per_node'])}"
        if "sale_usd_per_node" in row:
            keeping += f", parting with it takes {money(row['sale_usd_per_node'])}"
        said.append(f"{line}: {keeping}.")
    return said


def second_life_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Retired nodes that go on in a lower tier: how many, what they are worth there, and what that avoids."""
    standing, labels = plan.assembled.standing, plan.inputs.scenario.horizon.period_labels
    if standing.second_life is None or standing.value is None:
        return []
    said = []
    for h, t in np.argwhere(reused(plan.problem, solution) > 0).tolist():
        count, avoided = int(solution.reused[h, t]), -float(standing.second_life.kgco2e.value[h, t])
        more = -float(standing.second_life.usd.value[h, t])
        where = plan.problem.node_group_name(int(standing.node_group[h]))
        worth = f"{money(more)} more than its sale" if more >= 0 else f"{money(-more)} less than its sale"
        said.append(
            f"Of those, {nodes_text(count)} of {where} go on in a lower tier from {labels[t]}: one is worth "
            f"{worth}, and spares {mass(avoided)} of making within the horizon. That tier pays for them, no "
            "buyer: what is received is a transfer within the firm."
        )
    return said


MUCH = 0.2  # of the standing fleet: leaving so much deserves a word of warning


def undeclared_sentences(plan: Plan, solution: Solution) -> list[str]:
    """That much of the fleet goes for lack of declared work, and what to write if that is not so."""
    early = sum(one.nodes for one in _partings(plan, solution) if not one.at_end_of_life)
    stood = int(plan.problem.cohorts.nodes.sum())
    if early <= MUCH * stood:
        return []
    leave, their, them = ("leaves", "its", "it") if early == 1 else ("leave", "their", "them")
    reason = (
        "the plan of least carbon has no work for"
        if _carbon_first(plan)
        else "no declared work pays for keeping"
    )
    return [
        f"{nodes_text(early)} {leave} before the end of {their} life ({count_text(stood)} stand today), "
        f'because {reason} {them}: state the work that follows, or write policy.retirement = "end of life".'
    ]


def _because(plan: Plan) -> str:
    return "no work in the plan of least carbon" if _carbon_first(plan) else "keeping costs more than parting"


def _carbon_first(plan: Plan) -> bool:
    """Whether money decides only among plans of much the same carbon: nodes that would pay may go then."""
    policy = plan.inputs.scenario.policy
    return policy.objective == "carbon" or (policy.objective == "lexicographic" and policy.first == "carbon")


def unused_sentences(plan: Plan, solution: Solution) -> list[str]:
    """Standing nodes that no work holds in the last period and that are kept: what they are worth, and why.

    What work holds and does not use is its headroom: without it, work would wait.
    """
    labels, standing = plan.inputs.scenario.horizon.period_labels, plan.assembled.standing
    free = free_node_h(plan, solution)[:, -1] / plan.problem.node_groups.hours[-1]
    idle = np.floor(free - solution.spares[:, -1] + 1e-6)
    said = []
    for p in np.flatnonzero(idle > 0):
        rows = np.flatnonzero((standing.node_group == p) & (solution.kept[:, -1] > 0))
        if standing.value is None or not len(rows):
            continue
        count = int(min(idle[p], solution.kept[rows, -1].sum()))
        worth, parting = (
            float(np.average(column.value[rows, -1], weights=solution.kept[rows, -1]))
            for column in (standing.value.usd, standing.value.sale_usd)
        )
        said.append(
            f"Keep {nodes_text(count)} of {plan.problem.node_group_name(int(p))} without work in "
            f"{labels[-1]}: one is worth {money(worth)} then, and parting with it takes {money(parting)}."
        )
    return said


def _what(one: Parting) -> str:
    if one.value_usd is None or one.sale_usd is None:
        return "Retire"
    brought = float(one.value_usd.value) - float(one.sale_usd.value)
    return "Sell" if brought > 0 else "Scrap" if brought == 0 else "Pay for the disposal of"


def _standing_usd(plan: Plan, group: int, period: int) -> Traced:
    """Space and electricity of a node that stands idle through a period."""
    idle = plan.assembled.nodes.idle_usd[group, period]
    return (space_held(plan, group, period) + idle).named("standing_usd")


def _partings(plan: Plan, solution: Solution) -> Iterator[Parting]:
    """Each of them, of the standing fleet first."""
    periods, scenario = plan.inputs.periods, plan.inputs.scenario
    standing, vintages = plan.assembled.standing, plan.assembled.buying.vintages
    for h, t in np.argwhere(solution.retired > 0).tolist():
        keep, capital = standing.keep_usd, standing.capital_usd
        yield Parting(
            group=int(standing.node_group[h]),
            period=t,
            nodes=int(solution.retired[h, t]),
            origin=f"in service since {scenario.fleet[standing.home[h]].in_service.isoformat()}",
            at_end_of_life=t == int(standing.must_retire_by[h]),
            value_usd=None if standing.value is None else standing.value.usd[h, t],
            sale_usd=None if standing.value is None else standing.value.sale_usd[h, t],
            held=tuple(
                (keep[h, s] + held if capital is None else keep[h, s] + capital[h, s] + held).named(
                    "held_usd"
                )
                for s in range(t, periods)
                for held in [_standing_usd(plan, int(standing.node_group[h]), s)]
            ),
        )
    if vintages is None:
        return
    labels, holding = scenario.horizon.period_labels, plan.assembled.buying.holding_usd
    sold = vintages.sold(solution.sold)
    for w, t in np.argwhere(sold > 0).tolist():
        group = int(vintages.node_group[w])
        yield Parting(
            group=group,
            period=t,
            nodes=int(sold[w, t]),
            origin=f"ordered in {labels[vintages.ordered[w]]}",
            at_end_of_life=False,
            value_usd=vintages.value.usd[w, t],
            sale_usd=vintages.value.sale_usd[w, t],
            held=tuple(
                (holding[group, s] + vintages.value.capital_usd[w, s] + _standing_usd(plan, group, s)).named(
                    "held_usd"
                )
                for s in range(t, periods)
            ),
        )
