"""Money, carbon and energy of a solved plan, traced to facts.

The coefficients of what was chosen are worked out once more, on their own, so that an explanation opens a
handful of rows and not every candidate. Their sums must equal what the solver reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.physics.equations.totals import (
    weighted_kgco2e,
    weighted_total_kgco2e,
    weighted_total_kwh,
    weighted_total_usd,
    weighted_usd,
)
from planner.physics.existing_fleet import Standing
from planner.physics.levers import levers
from planner.physics.pausable import PausableJobs, pausable_jobs
from planner.physics.procurement import Buying, Vintages, paid_usd, rebate_by_node_group
from planner.physics.serving import Replicas, replica_columns
from planner.physics.serving_demand import unmet_items
from planner.physics.starting import Deployments, deployment_columns, start_columns
from planner.physics.training import POLICIES, TrainingRuns, training_runs
from planner.program.assembly import Assembled, objective_unit
from planner.program.market_based import at_location, contract_terms, location_kgco2e, matched_energy
from planner.program.once import once_part
from planner.program.places import PlaceBills, place_bills
from planner.program.slot_ledger import TERMS as SLOT_TERMS
from planner.program.slot_ledger import SlotChoice, slot_parts
from planner.program.stopped import stopped_part
from planner.program.transfers import transfer_part
from planner.trace.quantities import Chosen, Derived, Part, Traced, chosen, derive, pick, rows, total
from planner.trace.sums import over_all, sums
from solver.account import active_node_h, begun, rebate_fraction, started
from solver.account import idle_nodes as unused_nodes
from solver.account_energy import battery_kwh
from solver.account_slots import above_kw, lent_node_h
from solver.problem import Objective, Solution

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
        found["ordered"] = paid_usd(buying.order_usd, rebate), _count("nodes ordered", ordered_nodes)
    if standing.capital_usd is not None and solution.kept.any():
        found["standing_capital"] = standing.capital_usd, _count("standing nodes kept", solution.kept)
    vintages = buying.vintages
    if vintages is not None and (row := ordered_vintages(vintages, ordered_nodes)).size:
        sold = vintages.sold(solution.sold)
        held = held_nodes(vintages, ordered_nodes, sold)[row]
        of_group = None if rebate is None else rows(rebate, vintages.node_group[row])
        each = paid_usd(rows(vintages.value.capital_usd, row), of_group)
        found["capital"] = each, _count("nodes of an order in service", held)
        if sold.any():
            found["sold"] = rows(vintages.value.sale_usd, row), _count("nodes sold", sold[row])
    if standing.retire_usd is not None and solution.retired.any():
        found["retired"] = standing.retire_usd, _count("nodes retired", solution.retired)
    if standing.moving is not None and solution.moved.any():
        found["moved"] = standing.moving.usd, _count("nodes moved", solution.moved)
    if standing.second_life is not None and solution.reused.any():
        found["reused"] = standing.second_life.usd, _count("nodes that go on", solution.reused)
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
        found["moved"] = standing.moving.kgco2e, _count("nodes moved", solution.moved)
    if standing.second_life is not None and solution.reused.any():
        found["reused"] = standing.second_life.kgco2e, _count("nodes that go on", solution.reused)
    return found


def _count(name: str, counts: NDArray[Any]) -> Chosen:
    return chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")


Kind = Literal["usd", "kgco2e", "kwh"]


@dataclass(frozen=True)
class PausableUse:
    """How pausable jobs run: their coefficients, which row each is, which option of the program."""

    jobs: PausableJobs
    rows: NDArray[np.intp]
    options: NDArray[np.intp]


def pausable_use(inputs: Inputs, assembled: Assembled, solution: Solution) -> PausableUse | None:
    """Coefficients of the pausable jobs that run, worked out once more."""
    options, every = np.flatnonzero(solution.done_node_h.sum(axis=1)), assembled.pausable
    if every is None or not len(options):
        return None
    candidate = assembled.pausable_row[options]
    few = pausable_jobs(inputs, assembled.nodes, every.candidates.some(candidate))
    return PausableUse(few, np.arange(len(options)) * len(POLICIES) + every.policy[candidate], options)


def flexibility_terms(
    kind: Kind, inputs: Inputs, assembled: Assembled, pausable: PausableUse | None, solution: Solution
) -> dict[str, Part]:
    """Each kind of use that the plan makes: what one of it costs, emits or draws, and how many there are."""
    found: dict[str, Part] = {}
    if pausable is not None:
        each = getattr(pausable.jobs, "facility_kwh" if kind == "kwh" else kind)
        found["pausable"] = _used_part(each, pausable.rows, solution.done_node_h[pausable.options], "node_h")
    rented = assembled.rented
    hours = rented_node_h(assembled, solution)
    rate = None if kind == "kwh" else getattr(rented, kind)
    if rate is not None and hours.any():
        found["rental"] = _used_part(rate, np.arange(len(rented.node_group)), hours, "node_h")
    reserved = assembled.reserved
    each = None if kind == "kwh" else getattr(reserved, kind)
    taken = solution.rented[reserved.node_group]
    if each is not None and taken.any():
        found["reserved"] = _used_part(each, np.arange(len(taken)), taken, "nodes under a term")
    begun = solution.committed[reserved.node_group]
    if kind == "usd" and reserved.left_usd is not None and begun.any():
        found["term_left"] = _used_part(
            reserved.left_usd, np.arange(len(begun)), begun, "nodes whose term begins"
        )
    if assembled.parked is not None and solution.parked.any():
        groups = np.flatnonzero(solution.parked.sum(axis=1))
        each = getattr(assembled.parked, kind)
        found["parked"] = _used_part(each, groups, solution.parked[groups], "parked nodes")
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
    """Hours in use of each node group of nodes that are rented by the hour, by period."""
    hours: NDArray[np.float64] = hours_in_use(assembled, solution)[assembled.rented.node_group]
    return hours


def _used_part(each: Traced, index: NDArray[np.intp], counts: NDArray[Any], name: str) -> Part:
    return rows(each, index), chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")


DECIDED = "decided by the program"
KIND_UNITS = {"usd": "USD", "kgco2e": "kgCO2e", "kwh": "kWh"}


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

    slower = problem.work_shifts.lent_speed_fraction
    moving_h = solution.work_node_h + (
        slower[:, None] * lent_node_h(problem, solution) if len(problem.slots) else 0.0
    )
    moved = np.flatnonzero(moving_h.sum(axis=1))

    def parts(kind: str) -> dict[str, tuple[Traced, Chosen] | None]:
        work = getattr(assembled.work, "facility_kwh" if kind == "kwh" else kind)
        egress = None if kind == "kwh" else assembled.work.egress
        return {
            **({} if egress is None else {"egress": _used(getattr(egress, kind), moved, moving_h[moved])}),
            **(
                {}
                if runs is None or runs.fed_hours is None or kind == "kwh"
                else {
                    "feeding": _used(
                        getattr(runs.fed_hours, kind), run_rows, solution.run[solution.run > 0][:, None]
                    )
                }
            ),
            "training": None
            if runs is None
            else _used(
                getattr(runs, "facility_kwh" if kind == "kwh" else kind),
                run_rows,
                solution.run[solution.run > 0][:, None],
            ),
            "serving": None
            if replicas is None
            else _used(
                getattr(replicas, "facility_kwh" if kind == "kwh" else kind),
                np.arange(len(options)),
                solution.replicas[options],
            ),
            "starting": None
            if starts is None
            else _used(
                getattr(starts, kind),
                np.arange(len(options)),
                started(solution.replicas)[options],
                "replicas that start",
            ),
            "pools": None
            if work is None
            else _used(
                work,
                np.flatnonzero(solution.work_node_h.sum(axis=1)),
                solution.work_node_h[solution.work_node_h.sum(axis=1) > 0],
            ),
            "idle": _used(
                getattr(nodes, f"idle_{kind}"), np.flatnonzero(idle.sum(axis=1)), idle[idle.sum(axis=1) > 0]
            ),
        }

    orders = solution.orders * problem.node_groups.order_unit_nodes[:, None]
    rebate = rebate_by_node_group(inputs, buying, rebate_fraction(problem, solution.orders))

    def owning(bought_each: Traced, kept_each: Traced) -> dict[str, tuple[Traced, Chosen] | None]:
        has = np.flatnonzero(solution.bought_in_service.sum(axis=1))
        return {
            "bought": _used(bought_each, has, solution.bought_in_service[has], "bought nodes in service"),
            "standing": (kept_each, _some("standing nodes kept", solution.kept)),
        }

    owned = owning(buying.holding_usd, standing.keep_usd)
    adopted, adopted_by = once_part(
        "adopted_usd", problem, solution, runs, run_rows, pausable, assembled.work
    )
    data, data_by = once_part("data_usd", problem, solution, runs, run_rows, pausable)
    each_deployment = None if replicas is None else deployment_columns(assembled.tried, replicas)
    deployments = {} if each_deployment is None else _people(each_deployment, options, solution)

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
    usd = _terms("usd", every["usd"])
    usd["left_out_usd"] = chosen(
        "left_out_usd", float(solution.usd_terms.left_out.sum()), "penalties of jobs left out"
    )
    kgco2e = _terms("kgco2e", every["kgco2e"])
    drawn = every["kwh"]
    kwh = _terms("kwh", drawn)
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
        electric = _terms("kgco2e", at_location(inputs, drawn, places))
        return {name: term for name, term in kgco2e.items() if name != "contract_kgco2e"} | electric

    cost, carbon = _summed("plan_usd", usd), _summed("plan_kgco2e", kgco2e, ACCOUNTING)
    ordered = np.flatnonzero(orders.sum(axis=1))
    ledger = PlanLedger(
        cost=cost,
        carbon=carbon,
        energy=_summed("plan_kwh", kwh, "at the meters of all sites, rented nodes included"),
        objective=objective_of(inputs, problem.objective, cost, carbon),
        capex=_term(
            "usd",
            "capex",
            _used(paid_usd(nodes.price_usd, rebate), ordered, orders[ordered], "nodes ordered"),
        ),
        sunk_carbon=_term(
            "kgco2e",
            "sunk",
            _used(nodes.sunk_kgco2e, cohort_node_group, solution.kept),
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


def _people(each: Deployments, options: NDArray[np.intp], solution: Solution) -> dict[str, Part | None]:
    """People's time for the deployments of a plan: to keep them, and to set them up."""
    served = np.arange(len(options))
    return {
        "deployed": _used(each.kept_usd, served, solution.replicas[options] > 0, "deployments"),
        "set_up": _used(each.begun_usd, served, begun(solution.replicas)[options], "deployments that begin"),
    }


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
        return rows(each, index[:, None] if np.ndim(each.value) == 1 else index), _some("counts", counts)

    working, used = np.flatnonzero(solution.work_node_h.sum(axis=1)), solution.run > 0
    adding = assembled.work.increment_kw
    drawn: dict[str, Part | None] = {
        "nodes": _used(
            nodes.idle_facility_kw, stand, (solution.in_service - solution.parked)[stand], "nodes"
        ),
        "parked": None
        if assembled.parked is None
        else _used(assembled.parked.facility_kw, off, solution.parked[off], "parked nodes"),
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
        drawn["highest slot"] = _used(one_kw, highest, above[highest], "kilowatts")
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
    rated = _used(assembled.terms.rated_kw, stand, solution.in_service[stand], "nodes in service")
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


def _terms(kind: str, parts: Mapping[str, tuple[Traced, Chosen] | None]) -> dict[str, Traced]:
    return {f"{name}_{kind}": _term(kind, name, part) for name, part in parts.items()}


def _term(kind: str, name: str, part: tuple[Traced, Chosen] | None) -> Traced:
    """One sum over decisions, or a plain zero where the plan decides nothing of the kind."""
    if part is None or not np.any(part[1].value):
        return chosen(name, 0.0, "nothing of this kind in the plan", KIND_UNITS[kind])
    return derive(SUMS[kind], **{f"each_{kind}": part[0], "counts": part[1]})


def _used(
    each: Traced, index: NDArray[np.intp], counts: NDArray[Any], name: str = "counts"
) -> tuple[Traced, Chosen]:
    return rows(each, np.asarray(index, dtype=np.intp)), _some(name, counts)


def _some(name: str, counts: NDArray[Any]) -> Chosen:
    return chosen(name, np.asarray(counts, dtype=float), DECIDED, "1")


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
