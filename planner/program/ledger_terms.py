"""What each decision of a plan costs, emits and draws, and how many of a kind there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.deployments import Deployments
from planner.physics.equations.totals import (
    weighted_total_kgco2e,
    weighted_total_kwh,
    weighted_total_usd,
)
from planner.physics.existing_fleet import Standing
from planner.physics.procurement import Buying, Vintages, paid_usd
from planner.physics.serving_demand import unmet_items
from planner.program.assembly import Assembled
from planner.program.chosen_work import ChosenWork
from planner.trace.quantities import Chosen, Part, Traced, chosen, derive, pick, rows
from planner.trace.sums import over_all, sums
from solver.account import active_node_h, begun, nodes_apart, totals_by, unfilled_nodes
from solver.problem import Solution

SUMS: dict[str, Callable[..., Any]] = {
    "usd": weighted_total_usd,
    "kgco2e": weighted_total_kgco2e,
    "kwh": weighted_total_kwh,
}
for _function in SUMS.values():
    sums(over_all)(_function)


def ownership_usd_terms(
    buying: Buying, standing: Standing, rebate: Traced | None, solution: Solution, ordered_nodes: NDArray[Any]
) -> dict[str, tuple[Traced, Chosen]]:
    """Money of ordering, owning, selling, retiring and moving: what each costs and how many there are."""
    found: dict[str, tuple[Traced, Chosen]] = {}
    if ordered_nodes.any():
        found["ordered"] = paid_usd(buying.order_usd, rebate), decided("nodes ordered", ordered_nodes)
    if standing.capital_usd is not None and solution.kept.any():
        found["standing_capital"] = standing.capital_usd, decided("standing nodes kept", solution.kept)
    vintages = buying.vintages
    if vintages is not None and (row := ordered_vintages(vintages, ordered_nodes)).size:
        sold = vintages.sold(solution.sold)
        held = held_nodes(vintages, ordered_nodes, sold)[row]
        of_group = None if rebate is None else rows(rebate, vintages.node_group[row])
        each = paid_usd(rows(vintages.value.capital_usd, row), of_group)
        found["capital"] = each, decided("nodes of an order in service", held)
        if sold.any():
            found["sold"] = rows(vintages.value.sale_usd, row), decided("nodes sold", sold[row])
    if standing.retire_usd is not None and solution.retired.any():
        found["retired"] = standing.retire_usd, decided("nodes retired", solution.retired)
    if standing.moving is not None and solution.moved.any():
        found["moved"] = standing.moving.usd, decided("nodes moved", solution.moved)
    if standing.second_life is not None and solution.reused.any():
        found["reused"] = standing.second_life.usd, decided("nodes that go on", solution.reused)
    return found


def ordered_vintages(vintages: Vintages | None, ordered_nodes: NDArray[Any]) -> NDArray[np.intp]:
    """Rows of the vintages of which something was ordered."""
    if vintages is None:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(ordered_nodes[vintages.node_group, vintages.ordered])


def held_nodes(
    vintages: Vintages, ordered_nodes: NDArray[Any], sold: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Nodes of each vintage in service, by period (W, T)."""
    ordered = ordered_nodes[vintages.node_group, vintages.ordered][:, None]
    held: NDArray[np.float64] = ordered * vintages.held(sold.shape[1]) - np.cumsum(sold, axis=1)
    return held


def ownership_kgco2e_terms(standing: Standing, solution: Solution) -> dict[str, tuple[Traced, Chosen]]:
    """Carbon of moving, where something moves, and what a second life avoids."""
    found: dict[str, tuple[Traced, Chosen]] = {}
    if standing.moving is not None and solution.moved.any():
        found["moved"] = standing.moving.kgco2e, decided("nodes moved", solution.moved)
    if standing.second_life is not None and solution.reused.any():
        found["reused"] = standing.second_life.kgco2e, decided("nodes that go on", solution.reused)
    return found


Kind = Literal["usd", "kgco2e", "kwh"]


def flexibility_terms(kind: Kind, inputs: Inputs, assembled: Assembled, work: ChosenWork) -> dict[str, Part]:
    """Each kind of use that the plan makes: what one of it costs, emits or draws, and how many there are."""
    found: dict[str, Part] = {}
    pausable, solution = work.pausable, work.solution
    if pausable is not None:
        each = getattr(pausable.jobs, "facility_kwh" if kind == "kwh" else kind)
        found["pausable"] = used_part(each, pausable.rows, solution.done_node_h[pausable.options], "node_h")
    rented = assembled.rented
    hours = rented_node_h(assembled, solution)
    rate = None if kind == "kwh" else getattr(rented, kind)
    if rate is not None and hours.any():
        found["rental"] = used_part(rate, np.arange(len(rented.node_group)), hours, "node_h")
    reserved = assembled.reserved
    each = None if kind == "kwh" else getattr(reserved, kind)
    taken = solution.rented[reserved.node_group]
    if each is not None and taken.any():
        found["reserved"] = used_part(each, np.arange(len(taken)), taken, "nodes under a term")
    begun = solution.committed[reserved.node_group]
    if kind == "usd" and reserved.left_usd is not None and begun.any():
        found["term_left"] = used_part(
            reserved.left_usd, np.arange(len(begun)), begun, "nodes whose term begins"
        )
    if assembled.parked is not None and solution.parked.any():
        groups = np.flatnonzero(solution.parked.sum(axis=1))
        each = getattr(assembled.parked, kind)
        found["parked"] = used_part(each, groups, solution.parked[groups], "parked nodes")
    if kind == "usd" and solution.shed_fraction.any():
        items = unmet_items(inputs)
        index = np.arange(len(items) * inputs.periods).reshape(len(items), inputs.periods)
        price = pick([item for row in items.values() for item in row], index)
        shed = solution.shed_fraction[list(items)]
        found["unmet"] = price, chosen("shed_fraction", shed, DECIDED, "1")
    return found


def hours_in_use(assembled: Assembled, solution: Solution) -> NDArray[np.float64]:
    """Node-hours in which something runs, by node group and period."""
    return active_node_h(
        assembled.problem, solution.run, solution.replicas, solution.work_node_h, solution.done_node_h
    )


def rented_node_h(assembled: Assembled, solution: Solution) -> NDArray[np.float64]:
    """Hours that are paid of nodes rented by the hour, by node group and period: in use, and left over."""
    left = unfilled_nodes(assembled.problem, solution) * assembled.problem.node_groups.hours
    hours: NDArray[np.float64] = (hours_in_use(assembled, solution) + left)[assembled.rented.node_group]
    return hours


def rented_at_once(assembled: Assembled, solution: Solution) -> NDArray[np.int64]:
    """The most nodes at once of those rented by the hour, by node group and period; whole ones.

    Work fills what replicas leave of the nodes that they lie on. Jobs of a pool fill a share of the nodes
    that are there: more of them are there at once than work.
    """
    problem, rented = assembled.problem, assembled.rented.node_group
    works, length = problem.work_options, problem.node_groups.hours
    active = hours_in_use(assembled, solution) / length
    more = totals_by(
        works.node_group, len(problem.node_groups), (works.held_ratio - 1.0) * solution.work_node_h
    )
    mean = active + np.maximum(unfilled_nodes(problem, solution), more / length)
    most = np.maximum.reduce([solution.in_use, nodes_apart(problem, solution.replicas), mean])
    found: NDArray[np.int64] = np.ceil(most - ROUNDING)[rented].astype(np.int64)
    return found


DECIDED = "decided by the program"
ROUNDING = 1e-6  # of nodes that are shared by replicas, or held on average
KIND_UNITS = {"usd": "USD", "kgco2e": "kgCO2e", "kwh": "kWh"}


def people_terms(each: Deployments, work: ChosenWork) -> dict[str, Part | None]:
    """People's time for the deployments of a plan: to keep them, and to set them up."""
    begins = begun(work.solution.replicas)[work.replica_options]
    return {
        "deployed": used_part(each.kept_usd, work.replica_rows, work.replica_counts > 0, "deployments"),
        "set_up": used_part(each.begun_usd, work.replica_rows, begins, "deployments that begin"),
    }


def terms_of(kind: str, parts: Mapping[str, tuple[Traced, Chosen] | None]) -> dict[str, Traced]:
    """A sum for each name of a part."""
    return {f"{name}_{kind}": term_of(kind, name, part) for name, part in parts.items()}


def term_of(kind: str, name: str, part: tuple[Traced, Chosen] | None) -> Traced:
    """One sum over decisions, or a plain zero where the plan decides nothing of the kind."""
    if part is None or not np.any(part[1].value):
        return chosen(name, 0.0, "nothing of this kind in the plan", KIND_UNITS[kind])
    return derive(SUMS[kind], **{f"each_{kind}": part[0], "counts": part[1]})


def used_part(
    each: Traced, index: NDArray[np.intp], counts: NDArray[Any], name: str = "counts"
) -> tuple[Traced, Chosen]:
    """What one of each of some rows takes, and how many of them there are."""
    return rows(each, np.asarray(index, dtype=np.intp)), decided(name, counts)


def decided(name: str, counts: NDArray[Any]) -> Chosen:
    """How many the program decided on."""
    return chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")
