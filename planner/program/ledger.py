"""Money, carbon and energy of a solved plan, traced to facts.

The coefficients of what was chosen are worked out once more, on their own, so that an explanation opens a
handful of rows and not every candidate. Their sums must equal what the solver reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.deployments import Starts, deployment_columns, start_columns
from planner.physics.equations.totals import (
    weighted_kgco2e,
    weighted_usd,
)
from planner.physics.levers import levers
from planner.physics.procurement import paid_usd, rebate_by_node_group
from planner.physics.serving import Replicas
from planner.physics.training import TrainingRuns
from planner.program.assembly import Assembled, objective_unit
from planner.program.chosen_work import ChosenWork, PausableUse, chosen_work
from planner.program.group_terms import stopped_part, transfer_part
from planner.program.ledger_terms import (
    DECIDED,
    Kind,
    decided,
    flexibility_terms,
    ordered_vintages,
    ownership_kgco2e_terms,
    ownership_usd_terms,
    people_terms,
    term_of,
    terms_of,
    used_part,
)
from planner.program.market_based import at_location, contract_terms, location_kgco2e, matched_energy
from planner.program.one_off_costs import once_part
from planner.program.places import PlaceBills, place_bills
from planner.program.site_purchases import PutUp, put_up
from planner.program.slot_ledger import TERMS as SLOT_TERMS
from planner.program.slot_ledger import SlotChoice, moving_node_h, slot_parts
from planner.trace.quantities import Derived, Part, Traced, chosen, derive, rows, total
from solver.account import idle_nodes as unused_nodes
from solver.account import rebate_fraction, started, unfilled_nodes
from solver.account_energy import battery_kwh, solar_kw
from solver.account_slots import above_kw
from solver.problem import Objective, Solution


class Disagreement(RuntimeError):
    """The traced sums differ from what the solver reported: a fault of this program, never of its input."""


@dataclass(frozen=True)
class PlanLedger:
    """Totals, the terms that they are the sum of, and the chosen runs and replicas."""

    cost: Traced
    carbon: Traced
    energy: Traced
    objective: Derived
    capex: Traced
    sunk_carbon: Traced
    usd_terms: dict[str, Traced]
    kgco2e_terms: dict[str, Traced]
    kwh_terms: dict[str, Traced]
    parts: dict[Kind, dict[str, Part]]  # of the terms: what each takes by period, and how many there are
    part_groups: dict[str, NDArray[np.intp]]  # node group of each row of a part
    matched_kwh: Traced | None  # by contract and period
    rebate: Traced | None  # by node group
    runs: TrainingRuns | None
    run_rows: NDArray[np.intp]
    replicas: Replicas | None
    replica_options: NDArray[np.intp]
    pausable: PausableUse | None
    idle_nodes: NDArray[np.float64]
    by_slot: SlotChoice | None
    bills: PlaceBills
    location_carbon: Traced | None  # next to a market-based plan, never added to it


def plan_ledger(inputs: Inputs, assembled: Assembled, solution: Solution) -> PlanLedger:
    """Account for a plan.

    Raises:
        Disagreement: when the traced totals differ from the solver's by more than rounding.
    """
    problem, nodes = assembled.problem, assembled.nodes
    buying, standing = assembled.buying, assembled.standing
    work = chosen_work(inputs, assembled, solution)
    replicas = work.replicas
    starts = None if replicas is None else start_columns(assembled.tried, replicas, assembled.rented)
    by_slot = _slot_choice(inputs, assembled, work)
    idle = np.maximum(0.0, unused_nodes(problem, solution, solution.in_service))
    hourly = assembled.rented.node_group
    idle[hourly] = unfilled_nodes(problem, solution)[hourly]
    orders = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    rebate = rebate_by_node_group(inputs, buying, rebate_fraction(problem, solution.orders))
    adopted, adopted_by = once_part("adopted_usd", work, assembled.work)
    data, data_by = once_part("data_usd", work)
    each_deployment = None if replicas is None else deployment_columns(assembled.tried, replicas)
    bills = _place_bills(assembled, work)

    def parts(kind: Kind) -> dict[str, Part | None]:
        return _work_parts(kind, assembled, work, starts, idle)

    def flexible(kind: Kind) -> dict[str, Part | None]:
        return {
            **flexibility_terms(kind, inputs, assembled, work),
            **slot_parts(kind, problem, by_slot),
            **stopped_part(kind, inputs, assembled, work),
        }

    every: dict[Kind, dict[str, Part | None]] = {
        "usd": {
            **_owning(buying.holding_usd, standing.keep_usd, solution),
            **parts("usd"),
            **({} if each_deployment is None else people_terms(each_deployment, work)),
            **({} if adopted is None else {"adopted": adopted}),
            **({} if data is None else {"data": data}),
            **ownership_usd_terms(buying, standing, rebate, solution, orders),
            **flexible("usd"),
            **transfer_part("usd", work, each_deployment),
            **bills.parts(),
        },
        "kgco2e": {
            **_owning(nodes.owned_kgco2e, standing.keep_kgco2e, solution),
            **parts("kgco2e"),
            **ownership_kgco2e_terms(standing, solution),
            **flexible("kgco2e"),
            **transfer_part("kgco2e", work, each_deployment),
        },
        "kwh": parts("kwh") | flexible("kwh"),
    }
    usd = terms_of("usd", every["usd"])
    usd["left_out_usd"] = chosen(
        "left_out_usd", float(solution.usd_terms.left_out.sum()), "penalties of jobs left out"
    )
    kgco2e = terms_of("kgco2e", every["kgco2e"])
    drawn = every["kwh"]
    kwh = terms_of("kwh", drawn)
    places = _work_places(work, idle) | {"adopted": adopted_by, "data": data_by}
    matched = matched_energy(assembled.contracted, problem, solution, drawn, places)
    contracted = contract_terms(assembled.contracted, matched)
    places |= _owned_places(assembled, solution, orders)
    usd |= {name: term for name, term in contracted.items() if name.endswith("_usd")}
    kgco2e |= {name: term for name, term in contracted.items() if name.endswith("_kgco2e")}

    def kgco2e_at_location() -> dict[str, Traced]:
        electric = terms_of("kgco2e", at_location(inputs, drawn, places))
        return {name: term for name, term in kgco2e.items() if name != "contract_kgco2e"} | electric

    cost, carbon = _summed("plan_usd", usd), _summed("plan_kgco2e", kgco2e, ACCOUNTING)
    ordered = np.flatnonzero(orders.sum(axis=1))
    ledger = PlanLedger(
        cost=cost,
        carbon=carbon,
        energy=_summed("plan_kwh", kwh, "at the meters of all sites, rented nodes included"),
        objective=objective_of(inputs, problem.objective, cost, carbon),
        capex=_capex(
            used_part(paid_usd(nodes.price_usd, rebate), ordered, orders[ordered], "nodes ordered"),
            put_up(assembled.energy, problem, solution),
        ),
        sunk_carbon=term_of(
            "kgco2e",
            "sunk",
            (
                (rows(nodes.sunk_kgco2e, problem.cohorts.node_group) * standing.spread_fraction).named(
                    "making_kgco2e"
                ),
                decided("counts", solution.kept),
            ),
        ),
        usd_terms=usd,
        kgco2e_terms=kgco2e,
        kwh_terms=kwh,
        parts={
            kind: {name: part for name, part in found.items() if part is not None and np.any(part[1].value)}
            for kind, found in every.items()
        },
        part_groups=places,
        matched_kwh=matched,
        rebate=rebate,
        runs=work.runs,
        run_rows=work.run_rows,
        replicas=work.replicas,
        replica_options=work.replica_options,
        pausable=work.pausable,
        idle_nodes=idle,
        by_slot=by_slot,
        bills=bills,
        location_carbon=None
        if inputs.scenario.policy.accounting == "location"
        else _summed("plan_kgco2e", kgco2e_at_location(), "by the grids where energy is drawn"),
    )
    _agree("cost", cost.value, solution.usd)
    _agree("carbon", carbon.value, solution.kgco2e)
    if ledger.location_carbon is not None:
        by_sums = location_kgco2e(inputs, problem, solution)
        _agree("location-based carbon", ledger.location_carbon.value, by_sums)
    return ledger


def _capex(orders: Part, installed: Sequence[PutUp]) -> Traced:
    """Cash for orders, and for batteries and cells where any are put up."""
    nodes = term_of("usd", "capex", orders)
    if not installed:
        return nodes
    return total(
        "capex_usd",
        {"orders of nodes": nodes}
        | {
            f"put up: {one.what.what}": term_of("usd", "capex", (one.each.capex_usd, one.counts))
            for one in installed
        },
        "when it is due",
    )


def _work_parts(
    kind: Kind,
    assembled: Assembled,
    work: ChosenWork,
    starts: Starts | None,
    idle_nodes: NDArray[np.float64],
) -> dict[str, Part | None]:
    """Runs, replicas, pools and nodes that nothing uses: what one of each takes, and how many there are."""
    column, solution = "facility_kwh" if kind == "kwh" else kind, work.solution
    runs, replicas, pools = work.runs, work.replicas, getattr(assembled.work, column)
    found: dict[str, Part | None] = {}
    if kind != "kwh" and assembled.work.egress is not None:
        moving_h = moving_node_h(work.problem, solution)
        moved = np.flatnonzero(moving_h.sum(axis=1))
        found["egress"] = used_part(getattr(assembled.work.egress, kind), moved, moving_h[moved])
    if kind != "kwh" and runs is not None and runs.fed_hours is not None:
        found["feeding"] = used_part(getattr(runs.fed_hours, kind), work.run_rows, work.run_counts)
    found |= dict.fromkeys(("training", "serving", "starting", "pools"))
    if runs is not None:
        found["training"] = used_part(getattr(runs, column), work.run_rows, work.run_counts)
    if replicas is not None:
        found["serving"] = used_part(getattr(replicas, column), work.replica_rows, work.replica_counts)
    if starts is not None:
        begin = started(solution.replicas)[work.replica_options]
        found["starting"] = used_part(getattr(starts, kind), work.replica_rows, begin, "replicas that start")
    if pools is not None:
        found["pools"] = used_part(pools, work.pool_options, solution.work_node_h[work.pool_options])
    some = np.flatnonzero(idle_nodes.sum(axis=1))
    found["idle"] = used_part(getattr(assembled.nodes, f"idle_{kind}"), some, idle_nodes[some])
    return found


def _work_places(work: ChosenWork, idle_nodes: NDArray[np.float64]) -> dict[str, NDArray[np.intp]]:
    """Node group of each row of the parts of work."""
    problem, solution = work.problem, work.solution
    moved = np.flatnonzero(moving_node_h(problem, solution).sum(axis=1))
    return {
        **dict.fromkeys(("training", "feeding"), work.run_groups),
        **dict.fromkeys(("serving", "starting", "deployed", "set_up"), work.replica_groups),
        "pools": work.pool_groups,
        "egress": problem.work_options.node_group[moved],
        "idle": np.flatnonzero(idle_nodes.sum(axis=1)),
        "pausable": work.pausable_groups,
        "parked": np.flatnonzero(solution.parked.sum(axis=1)),
        **dict.fromkeys((*SLOT_TERMS, "stopped", "transfers"), np.arange(len(problem.node_groups))),
    }


def _owning(bought_each: Traced, kept_each: Traced, solution: Solution) -> dict[str, Part | None]:
    """What nodes take by being there: those that are bought, and those that stand and are kept."""
    has = np.flatnonzero(solution.bought_in_service.sum(axis=1))
    return {
        "bought": used_part(bought_each, has, solution.bought_in_service[has], "bought nodes in service"),
        "standing": (kept_each, decided("standing nodes kept", solution.kept)),
    }


def _owned_places(
    assembled: Assembled, solution: Solution, orders: NDArray[Any]
) -> dict[str, NDArray[np.intp]]:
    """Node group of each row of the parts of owning and renting."""
    problem, vintages = assembled.problem, assembled.buying.vintages
    standing = ("standing", "retired", "reused", "standing_capital")
    places = {
        "bought": np.flatnonzero(solution.bought_in_service.sum(axis=1)),
        "ordered": np.arange(len(problem.node_groups)),
        **dict.fromkeys(standing, problem.cohorts.node_group),
        "moved": problem.cohorts.node_group[problem.moves.from_cohort],
        "rental": assembled.rented.node_group,
        **dict.fromkeys(("reserved", "term_left"), assembled.reserved.node_group),
    }
    if vintages is not None:
        row = ordered_vintages(vintages, orders)
        places |= dict.fromkeys(("capital", "sold"), vintages.node_group[row])
    return places


def _slot_choice(inputs: Inputs, assembled: Assembled, work: ChosenWork) -> SlotChoice | None:
    """What is decided by slot, with the coefficients of what was chosen; nothing where nothing is."""
    if assembled.levers is None or work.solution.slots is None:
        return None
    none, pausable = np.zeros(0, dtype=np.intp), work.pausable
    found = levers(
        inputs,
        assembled.levers.times,
        assembled.nodes,
        assembled.work,
        None if pausable is None else pausable.jobs,
        work.replicas,
        assembled.parked,
    )
    return SlotChoice(
        found,
        work.solution.slots,
        work.replica_options,
        none if pausable is None else pausable.rows,
        none if pausable is None else pausable.options,
        assembled.energy,
        battery_kwh(problem=assembled.problem, chosen=work.solution),
        solar_kw(problem=assembled.problem, chosen=work.solution),
    )


def _place_bills(assembled: Assembled, work: ChosenWork) -> PlaceBills:
    """What the sites charge for what stands there and for what it draws at the highest."""
    problem, nodes, hours = work.problem, assembled.nodes, work.problem.node_groups.hours
    solution, runs, replicas, pausable = work.solution, work.runs, work.replicas, work.pausable
    stand = np.flatnonzero(solution.in_service.sum(axis=1))
    off = np.flatnonzero(solution.parked.sum(axis=1))

    def at_work(each: Traced, index: NDArray[np.intp], counts: NDArray[Any]) -> Part:
        return rows(each, index[:, None] if np.ndim(each.value) == 1 else index), decided("counts", counts)

    drawn: dict[str, Part | None] = {
        "nodes": used_part(
            nodes.idle_facility_kw, stand, (solution.in_service - solution.parked)[stand], "nodes"
        )
    }
    if assembled.parked is not None:
        drawn["parked"] = used_part(assembled.parked.facility_kw, off, solution.parked[off], "parked nodes")
    if runs is not None:
        drawn["training"] = at_work(runs.increment_kw, work.run_rows, work.run_counts)
    if replicas is not None:
        drawn["serving"] = at_work(replicas.increment_kw, work.replica_rows, work.replica_counts)
    if assembled.work.increment_kw is not None:
        mean = solution.work_node_h[work.pool_options] / hours
        drawn["pools"] = at_work(assembled.work.increment_kw, work.pool_options, mean)
    if pausable is not None:
        mean = solution.done_node_h[pausable.options] / hours
        drawn["pausable"] = at_work(pausable.jobs.increment_kw, pausable.rows, mean)
    places = {
        "nodes": stand,
        "parked": off,
        "training": work.run_groups,
        "serving": work.replica_groups,
        "pools": work.pool_groups,
        "pausable": work.pausable_groups,
    }
    above = above_kw(problem, solution)
    highest = np.flatnonzero(above.any(axis=1))
    if highest.size:
        one_kw = chosen("kw", np.ones(above.shape), "by how much the highest slot is above the period", "kW")
        drawn["highest slot"] = used_part(one_kw, highest, above[highest], "kilowatts")
        ours = ~problem.node_groups.off_site
        first = [np.flatnonzero((problem.node_groups.site == site) & ours)[0] for site in highest]
        places["highest slot"] = np.array(first, dtype=np.intp)
    rated = used_part(assembled.terms.rated_kw, stand, solution.in_service[stand], "nodes in service")
    bills = place_bills(problem, assembled.terms, rated, stand, drawn, places)
    contracts = assembled.curtailment
    if contracts is None or not solution.signed.any():
        return bills
    signed = chosen("signed", solution.signed[:, None].astype(float), DECIDED)
    return replace(bills, curtailment_usd=(contracts.usd * signed).named("curtailment_usd"))


ACCOUNTING = "by the accounting of the policy; what standing nodes took to make is shown separately"


def _summed(name: str, terms: Mapping[str, Traced], about: str = "within the horizon") -> Traced:
    """A total of its terms, those of which the plan has something."""
    return total(name, {term: node for term, node in terms.items() if node.value}, about, most=len(terms))


def objective_of(inputs: Inputs, weights: Objective, cost: Traced, carbon: Traced) -> Derived:
    """What the program minimises: the weighted sum of both, in the unit of the one that weighs as such."""
    why = f"policy.objective is {inputs.scenario.policy.objective}"
    if objective_unit(weights) == "USD":
        return derive(
            weighted_usd,
            plan_usd=cost,
            plan_kgco2e=carbon,
            money_weight_ratio=chosen("money_weight_ratio", weights.money_weight, why),
            carbon_weight_usd_per_kgco2e=_carbon_weight(inputs, weights.carbon_weight),
        )
    return derive(
        weighted_kgco2e,
        plan_usd=cost,
        plan_kgco2e=carbon,
        money_weight_kgco2e_per_usd=chosen("money_weight_kgco2e_per_usd", weights.money_weight, why),
        carbon_weight_ratio=chosen("carbon_weight_ratio", weights.carbon_weight, why),
    )


def _carbon_weight(inputs: Inputs, weight: float) -> Traced:
    if inputs.scenario.policy.objective == "weighted":
        stated = inputs.scenario.policy.carbon_price_usd_per_kgco2e
        return inputs.money("policy.carbon_price", weight if stated != weight else stated, "USD/kgCO2e")
    return chosen(
        "carbon_weight_usd_per_kgco2e", weight, f"policy.objective is {inputs.scenario.policy.objective}"
    )


def _agree(name: str, ours: float, theirs: float) -> None:
    if abs(ours - theirs) > 1e-6 * max(1.0, abs(theirs)):
        raise Disagreement(
            f"the {name} of the plan is {ours} by its traced terms and {theirs} by the solver's sums"
        )
