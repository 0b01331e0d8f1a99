"""Money, carbon and energy of a solved plan, traced to facts.

The coefficients of what was chosen are worked out once more, on their own, so that an explanation opens a
handful of rows and not every candidate. Their sums must equal what the solver reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.deployments import deployment_columns, start_columns
from planner.physics.equations.totals import (
    weighted_kgco2e,
    weighted_usd,
)
from planner.physics.levers import levers
from planner.physics.procurement import paid_usd, rebate_by_node_group
from planner.physics.serving import Replicas, replica_columns
from planner.physics.training import POLICIES, TrainingRuns, training_runs
from planner.program.assembly import Assembled, objective_unit
from planner.program.group_terms import stopped_part, transfer_part
from planner.program.ledger_terms import (
    DECIDED,
    Kind,
    PausableUse,
    decided,
    flexibility_terms,
    ordered_vintages,
    ownership_kgco2e_terms,
    ownership_usd_terms,
    pausable_use,
    people_terms,
    term_of,
    terms_of,
    used_part,
)
from planner.program.market_based import at_location, contract_terms, location_kgco2e, matched_energy
from planner.program.one_off_costs import once_part
from planner.program.places import PlaceBills, place_bills
from planner.program.slot_ledger import TERMS as SLOT_TERMS
from planner.program.slot_ledger import SlotChoice, moving_node_h, slot_parts
from planner.trace.quantities import Chosen, Derived, Part, Traced, chosen, derive, rows, total
from solver.account import idle_nodes as unused_nodes
from solver.account import rebate_fraction, started
from solver.account_energy import battery_kwh
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
    runs, run_rows = _chosen_runs(inputs, assembled, solution)
    replicas, options = _chosen_replicas(inputs, assembled, solution)
    starts = None if replicas is None else start_columns(assembled.tried, replicas, assembled.rented)
    pausable = pausable_use(inputs, assembled, solution)
    by_slot = _slot_choice(inputs, assembled, solution, replicas, options, pausable)
    idle = np.maximum(0.0, unused_nodes(problem, solution, solution.in_service))
    cohort_node_group = problem.cohorts.node_group

    moving_h = moving_node_h(problem, solution)
    moved = np.flatnonzero(moving_h.sum(axis=1))

    def parts(kind: str) -> dict[str, tuple[Traced, Chosen] | None]:
        work = getattr(assembled.work, "facility_kwh" if kind == "kwh" else kind)
        egress = None if kind == "kwh" else assembled.work.egress
        return {
            **(
                {} if egress is None else {"egress": used_part(getattr(egress, kind), moved, moving_h[moved])}
            ),
            **(
                {}
                if runs is None or runs.fed_hours is None or kind == "kwh"
                else {
                    "feeding": used_part(
                        getattr(runs.fed_hours, kind), run_rows, solution.run[solution.run > 0][:, None]
                    )
                }
            ),
            "training": None
            if runs is None
            else used_part(
                getattr(runs, "facility_kwh" if kind == "kwh" else kind),
                run_rows,
                solution.run[solution.run > 0][:, None],
            ),
            "serving": None
            if replicas is None
            else used_part(
                getattr(replicas, "facility_kwh" if kind == "kwh" else kind),
                np.arange(len(options)),
                solution.replicas[options],
            ),
            "starting": None
            if starts is None
            else used_part(
                getattr(starts, kind),
                np.arange(len(options)),
                started(solution.replicas)[options],
                "replicas that start",
            ),
            "pools": None
            if work is None
            else used_part(
                work,
                np.flatnonzero(solution.work_node_h.sum(axis=1)),
                solution.work_node_h[solution.work_node_h.sum(axis=1) > 0],
            ),
            "idle": used_part(
                getattr(nodes, f"idle_{kind}"), np.flatnonzero(idle.sum(axis=1)), idle[idle.sum(axis=1) > 0]
            ),
        }

    orders = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    rebate = rebate_by_node_group(inputs, buying, rebate_fraction(problem, solution.orders))

    def owning(bought_each: Traced, kept_each: Traced) -> dict[str, tuple[Traced, Chosen] | None]:
        has = np.flatnonzero(solution.bought_in_service.sum(axis=1))
        return {
            "bought": used_part(bought_each, has, solution.bought_in_service[has], "bought nodes in service"),
            "standing": (kept_each, decided("standing nodes kept", solution.kept)),
        }

    owned = owning(buying.holding_usd, standing.keep_usd)
    adopted, adopted_by = once_part(
        "adopted_usd", problem, solution, runs, run_rows, pausable, assembled.work
    )
    data, data_by = once_part("data_usd", problem, solution, runs, run_rows, pausable)
    each_deployment = None if replicas is None else deployment_columns(assembled.tried, replicas)
    deployments = {} if each_deployment is None else people_terms(each_deployment, options, solution)

    def transfers(kind: str) -> dict[str, Part]:
        return transfer_part(kind, problem, solution, runs, run_rows, pausable, each_deployment, options)

    bills = _place_bills(assembled, solution, runs, run_rows, replicas, options, pausable)
    every: dict[Kind, dict[str, Part | None]] = {
        "usd": {
            **owned,
            **parts("usd"),
            **deployments,
            **({} if adopted is None else {"adopted": adopted}),
            **({} if data is None else {"data": data}),
            **ownership_usd_terms(buying, standing, rebate, solution, orders),
            **flexibility_terms("usd", inputs, assembled, pausable, solution),
            **slot_parts("usd", problem, by_slot),
            **stopped_part("usd", inputs, assembled, solution, pausable),
            **transfers("usd"),
            **bills.parts(),
        },
        "kgco2e": {
            **owning(nodes.owned_kgco2e, standing.keep_kgco2e),
            **parts("kgco2e"),
            **ownership_kgco2e_terms(standing, solution),
            **flexibility_terms("kgco2e", inputs, assembled, pausable, solution),
            **slot_parts("kgco2e", problem, by_slot),
            **stopped_part("kgco2e", inputs, assembled, solution, pausable),
            **transfers("kgco2e"),
        },
        "kwh": {
            **parts("kwh"),
            **flexibility_terms("kwh", inputs, assembled, pausable, solution),
            **slot_parts("kwh", problem, by_slot),
            **stopped_part("kwh", inputs, assembled, solution, pausable),
        },
    }
    usd = terms_of("usd", every["usd"])
    usd["left_out_usd"] = chosen(
        "left_out_usd", float(solution.usd_terms.left_out.sum()), "penalties of jobs left out"
    )
    kgco2e = terms_of("kgco2e", every["kgco2e"])
    drawn = every["kwh"]
    kwh = terms_of("kwh", drawn)
    in_use = np.flatnonzero(solution.work_node_h.sum(axis=1))
    places = {
        **dict.fromkeys(("training", "feeding"), problem.run_options.node_group[solution.run > 0]),
        "serving": problem.serve_options.node_group[options],
        "starting": problem.serve_options.node_group[options],
        "deployed": problem.serve_options.node_group[options],
        "set_up": problem.serve_options.node_group[options],
        "pools": problem.work_options.node_group[in_use],
        "egress": problem.work_options.node_group[moved],
        "idle": np.flatnonzero(idle.sum(axis=1)),
        "pausable": problem.pausable_options.node_group[
            np.zeros(0, np.intp) if pausable is None else pausable.options
        ],
        "parked": np.flatnonzero(solution.parked.sum(axis=1)),
        **dict.fromkeys((*SLOT_TERMS, "stopped", "transfers"), np.arange(len(problem.node_groups))),
        "adopted": adopted_by,
        "data": data_by,
    }
    matched = matched_energy(assembled.contracted, problem, solution, drawn, places)
    contracted = contract_terms(assembled.contracted, matched)
    places |= {
        "bought": np.flatnonzero(solution.bought_in_service.sum(axis=1)),
        "standing": cohort_node_group,
        "ordered": np.arange(len(problem.node_groups)),
        "retired": cohort_node_group,
        "reused": cohort_node_group,
        "standing_capital": cohort_node_group,
        "moved": cohort_node_group[problem.moves.from_cohort],
        "rental": assembled.rented.node_group,
        "reserved": assembled.reserved.node_group,
        "term_left": assembled.reserved.node_group,
    }
    if buying.vintages is not None:
        places["capital"] = places["sold"] = buying.vintages.node_group[
            ordered_vintages(buying.vintages, orders)
        ]
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
        capex=term_of(
            "usd",
            "capex",
            used_part(paid_usd(nodes.price_usd, rebate), ordered, orders[ordered], "nodes ordered"),
        ),
        sunk_carbon=term_of(
            "kgco2e",
            "sunk",
            (
                (rows(nodes.sunk_kgco2e, cohort_node_group) * standing.spread_fraction).named(
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
        runs=runs,
        run_rows=run_rows,
        replicas=replicas,
        replica_options=options,
        pausable=pausable,
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


def _slot_choice(
    inputs: Inputs,
    assembled: Assembled,
    solution: Solution,
    replicas: Replicas | None,
    options: NDArray[np.intp],
    pausable: PausableUse | None,
) -> SlotChoice | None:
    """What is decided by slot, with the coefficients of what was chosen; nothing where nothing is."""
    if assembled.levers is None or solution.slots is None:
        return None
    none = np.zeros(0, dtype=np.intp)
    jobs = None if pausable is None else pausable.jobs
    found = levers(
        inputs,
        assembled.levers.times,
        assembled.nodes,
        assembled.work,
        jobs,
        replicas,
        assembled.parked,
    )
    return SlotChoice(
        found,
        solution.slots,
        options,
        none if pausable is None else pausable.rows,
        none if pausable is None else pausable.options,
        assembled.energy,
        battery_kwh(problem=assembled.problem, chosen=solution),
    )


def _place_bills(
    assembled: Assembled,
    solution: Solution,
    runs: TrainingRuns | None,
    run_rows: NDArray[np.intp],
    replicas: Replicas | None,
    options: NDArray[np.intp],
    pausable: PausableUse | None,
) -> PlaceBills:
    """What the sites charge for what stands there and for what it draws at the highest."""
    problem, nodes, hours = assembled.problem, assembled.nodes, assembled.problem.node_groups.hours
    stand = np.flatnonzero(solution.in_service.sum(axis=1))
    off = np.flatnonzero(solution.parked.sum(axis=1))

    def at_work(each: Traced, index: NDArray[np.intp], counts: NDArray[Any]) -> Part:
        return rows(each, index[:, None] if np.ndim(each.value) == 1 else index), decided("counts", counts)

    working, used = np.flatnonzero(solution.work_node_h.sum(axis=1)), solution.run > 0
    adding = assembled.work.increment_kw
    drawn: dict[str, Part | None] = {
        "nodes": used_part(
            nodes.idle_facility_kw, stand, (solution.in_service - solution.parked)[stand], "nodes"
        ),
        "parked": None
        if assembled.parked is None
        else used_part(assembled.parked.facility_kw, off, solution.parked[off], "parked nodes"),
        "training": None
        if runs is None
        else at_work(runs.increment_kw, run_rows, solution.run[used][:, None]),
        "serving": None
        if replicas is None
        else at_work(replicas.increment_kw, np.arange(len(options)), solution.replicas[options]),
        "pools": None if adding is None else at_work(adding, working, solution.work_node_h[working] / hours),
        "pausable": None
        if pausable is None
        else at_work(
            pausable.jobs.increment_kw, pausable.rows, solution.done_node_h[pausable.options] / hours
        ),
    }
    above = above_kw(problem, solution)
    highest = np.flatnonzero(above.any(axis=1))
    if highest.size:
        one_kw = chosen("kw", np.ones(above.shape), "by how much the highest slot is above the period", "kW")
        drawn["highest slot"] = used_part(one_kw, highest, above[highest], "kilowatts")
    places = {
        "highest slot": np.array(
            [
                int(np.flatnonzero((problem.node_groups.site == s) & ~problem.node_groups.off_site)[0])
                for s in highest
            ],
            dtype=np.intp,
        ),
        "nodes": stand,
        "parked": off,
        "training": problem.run_options.node_group[used],
        "serving": problem.serve_options.node_group[options],
        "pools": problem.work_options.node_group[working],
        "pausable": problem.pausable_options.node_group[
            np.zeros(0, np.intp) if pausable is None else pausable.options
        ],
    }
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


def _chosen_runs(
    inputs: Inputs, assembled: Assembled, solution: Solution
) -> tuple[TrainingRuns | None, NDArray[np.intp]]:
    every = assembled.runs
    picked = np.flatnonzero(solution.run)
    if every is None or not len(picked):
        return None, np.zeros(0, dtype=np.intp)
    at = assembled.run_row[picked]
    candidate, begin_h = every.candidate[at], every.start_h.value[at, 0]
    few = every.candidates.some(candidate)
    runs = training_runs(inputs, assembled.nodes, few)
    wanted = np.arange(len(picked)) * len(POLICIES) + every.policy[candidate]
    found = [
        int(np.flatnonzero((runs.candidate == c) & (runs.start_h.value[:, 0] == h))[0])
        for c, h in zip(wanted, begin_h, strict=True)
    ]
    return runs, np.array(found, dtype=np.intp)


def _chosen_replicas(
    inputs: Inputs, assembled: Assembled, solution: Solution
) -> tuple[Replicas | None, NDArray[np.intp]]:
    options = np.flatnonzero(solution.replicas.sum(axis=1))
    if assembled.replicas is None or not len(options):
        return None, options
    row = assembled.replica_row[options]
    few = assembled.replicas.candidates.some(row)
    times = None if assembled.levers is None else assembled.levers.times
    return replica_columns(assembled.tried, assembled.nodes, few, times), options


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
