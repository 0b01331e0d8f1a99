"""How sure a plan is: the chance that each service, pool and deadline is met, rates and demand in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.promises import standing_by
from planner.answers.plan.shared_runs import counted_runs, groups_of
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.physics.chance import (
    delivery_chance,
    delivery_slack,
    demand_sigmas,
    pool_headroom,
    pool_sigma,
    serving_headroom,
    serving_sigma,
    training_sigma,
)
from planner.physics.equations.chance import in_time_fraction, met_fraction, missing_fraction
from planner.physics.training import Progress
from planner.program.ledger_terms import DECIDED, rented_at_once
from planner.program.operation import able_per_s
from planner.program.plan import Plan
from planner.program.solution import Solution, lent_work_h, nodes_of_runs, peak_kw, totals_by
from planner.trace.numbers import percent_text
from planner.trace.quantities import Traced, chosen, derive, pick
from planner.trace.records import Record, plain_rows

SHARES_OF_LATE, FEW_ORDERS = 8, 3  # of delays that are tried, where so few orders arrive at once
ENDLESS_H = 1e6  # of slack: nothing arrives
LEAST_SURE = 3  # named in the first lines
ROUNDING = 1e-6  # of replicas
FAR_APART = 0.1  # a share of 64 draws is told to about 0.06
SURE = 0.995  # from here on nothing is named
Groups = NDArray[np.intp]
_NOTHING = (0, 0, chosen("slack_h", np.inf, "nothing arrives in this period"))


def chance_records(plan: Plan, solution: Solution) -> list[Record]:
    """Each service and pool by period, each run by its deadline: what is needed for, provided, how sure."""
    return [
        *_services(plan, solution),
        *_pools(plan, solution),
        *_runs(plan, solution),
        *_pausable(plan, solution),
    ]


def chance_sentences(plan: Plan, rows: list[Record], enough: Record) -> list[str]:
    """In what share of draws all is done, the least sure of what is to be met, and how to ask for more.

    `enough` is the document's record of the draws: how many, and in what share of them the fleet is enough.
    """
    found = sorted(plain_rows(rows), key=lambda row: row["chance_fraction"])
    if not found:
        return []
    least, seen = [], set[str]()
    for row in found:
        if row["work"] not in seen and len(seen) < LEAST_SURE and row["chance_fraction"] < SURE:
            seen.add(row["work"])
            when = row["period"] if row["period"].startswith("by ") else f"in {row['period']}"
            least.append(f"{row['work']} {when} with {percent_text(row['chance_fraction'], 0)}")
    share = enough["enough_fraction"]
    # The draws place work anew, chances do not.
    anew = share is not None and share > found[0]["chance_fraction"] + FAR_APART
    said = "How sure, with rates, demand, deliveries and failures as they may turn out: "
    if share is not None:
        said += f"what stands, is bought and is rented here is enough in {percent_text(share, 0)} of "
        said += f"{enough['draws']} draws{', with work placed anew' if anew else ''}; "
    if not least:
        return [f"{said}each service, pool and deadline is met with more than 99 %."]
    said += "as it is placed, " if anew else ""
    said += f"the least sure {'is' if len(least) == 1 else 'are'} {', '.join(least)}."
    stated = plan.inputs.scenario.policy.confidence_fraction
    if stated is None:
        said += ' policy.confidence = "90 %" plans the headroom to be surer;'
        said += " everfleet sweep says what that costs."
    elif share is not None and share < stated:
        said += f" {percent_text(stated, 0)} is asked of each of them alone, deliveries apart, not of all of"
        said += " them at once."
    elif any(row["delivery_fraction"] < stated and row["chance_fraction"] < stated for row in found):
        said += (
            " policy.confidence leaves deliveries out: an order a period earlier is what makes them surer."
        )
    return [said]


def _services(plan: Plan, solution: Solution) -> Iterator[Record]:
    inputs, problem = plan.inputs, plan.problem
    serves, services = problem.serve_options, inputs.scenario.services
    if not services:
        return
    sigmas = demand_sigmas(inputs, services)
    sku = problem.node_groups.sku[serves.node_group]
    rows, periods = (axis.ravel() for axis in np.indices((len(sku), inputs.periods)))
    headroom = serving_headroom(inputs, serves.service[rows], sku[rows], periods)
    held = np.asarray(headroom.value).reshape(len(sku), inputs.periods)
    able = able_per_s(plan.assembled, np.arange(len(sku)), held)
    free, power = free_nodes(plan, solution), _power_left_kw(plan, solution)
    for i, service in enumerate(services):
        for t, label in enumerate(inputs.scenario.horizon.period_labels):
            needed = float(problem.services.demand[i, t]) * (1.0 - float(solution.shed_fraction[i, t]))
            here = np.flatnonzero((serves.service == i) & (solution.replicas[:, t] > 0))
            if needed <= 0.0 or not len(here):
                continue
            counts = np.array(
                [
                    n - standing_by(serves, int(v), t, int(n))
                    for v, n in zip(here, solution.replicas[here, t], strict=True)
                ]
            )
            each = counts * able[here, t]
            nodes = serves.nodes[here] * solution.replicas[here, t]
            groups = np.unique(serves.node_group[here])
            rates = [serving_sigma(inputs, service, int(problem.node_groups.sku[p])) for p in groups]
            carried = totals_by(np.searchsorted(groups, serves.node_group[here]), len(groups), each)
            used = totals_by(np.searchsorted(groups, serves.node_group[here]), len(groups), nodes)
            # Replicas that could be added on free nodes carry, too, as far as power is left for them.
            best = np.array(
                [max(here[serves.node_group[here] == p], key=lambda v: able[v, t]) for p in groups.tolist()]
            )
            most = np.minimum(
                free[groups, t] / serves.nodes[best],
                power[problem.node_groups.site[groups], t] / np.maximum(serves.active_kw[best], 1e-9),
            )
            more = np.where(problem.node_groups.off_site[groups], free[groups, t] / serves.nodes[best], most)
            more = np.floor(np.maximum(more, 0.0) + ROUNDING)
            taken = more * serves.nodes[best]
            yield {
                "work": service.name,
                "period": label,
                "unit": "requests/s",
                **_met(
                    plan,
                    solution,
                    t,
                    groups,
                    carried + more * able[best, t],
                    needed,
                    rates,
                    sigmas[i, t],
                    used + taken,
                    free[groups, t] - taken,
                ),
            }


def _power_left_kw(plan: Plan, solution: Solution) -> NDArray[np.float64]:
    """Power that is left at each site (S, T); none where sites share a limit, which is not divided here."""
    limits = plan.problem.limits
    left: NDArray[np.float64] = limits.power_kw - peak_kw(plan.problem, solution, solution.in_service)
    return left if not len(limits.shared_power_kw) else np.minimum(left, 0.0)


def _pools(plan: Plan, solution: Solution) -> Iterator[Record]:
    inputs, problem = plan.inputs, plan.problem
    works, pools = problem.work_options, inputs.scenario.pools
    if not pools:
        return
    sigmas, free = demand_sigmas(inputs, pools), free_nodes(plan, solution, for_pools=True)
    extra = np.asarray(pool_headroom(inputs, works.work, problem.node_groups.sku[works.node_group]).value)
    hours, lent = problem.node_groups.hours, lent_work_h(problem, solution)
    for w, pool in enumerate(pools):
        for t, label in enumerate(inputs.scenario.horizon.period_labels):
            needed = float(problem.work.demand_h[w, t] - lent[w, t])
            here = np.flatnonzero((works.work == w) & (solution.work_node_h[:, t] > 0))
            if needed <= 0.0 or not len(here):
                continue
            done = solution.work_node_h[here, t]
            groups = works.node_group[here]
            # Nodes that stand free do a pool's work, too, each as full as its others.
            spare = free[groups, t] * hours[t] / works.held_ratio[here, t] * extra[here, t]
            carried = (done * extra[here, t] + spare) * works.speed[here]
            rates = [pool_sigma(inputs, pool, int(problem.node_groups.sku[p])) for p in groups]
            used = (done * works.held_ratio[here, t]) / hours[t] + free[groups, t]
            none = np.zeros(len(here))
            yield {
                "work": pool.name,
                "period": label,
                "unit": "node-hours of the reference",
                **_met(
                    plan, solution, t, groups, carried, needed, rates, sigmas[w, t], used, none, waits=True
                ),
            }


def _met(
    plan: Plan,
    solution: Solution,
    period: int,
    groups: Groups,
    carried: NDArray[np.float64],
    needed: float,
    rates: list[Traced],
    sigma: Traced,
    used_nodes: NDArray[np.float64],
    free: NDArray[np.float64],
    *,
    waits: bool = False,
) -> Record:
    """Asked, provided, and the chance that it is enough.

    Work that waits within the period misses late nodes for the hours until they are there; requests do from
    the first hour on.
    """
    orders = _orders(plan, solution, period, groups) or [_NOTHING]
    sku = plan.problem.node_groups.sku[groups].astype(float)
    each = [delivery_chance(plan.inputs, slack) for _, _, slack in orders]
    on_time = pick(each, np.arange(len(orders)))
    shares = {"late_fraction": _late_shares(plan, orders, period)} if waits else {}
    return {
        "needed": needed,
        "provided": float(carried.sum()),
        "headroom_fraction": float(carried.sum()) / needed - 1.0,
        "delivery_fraction": _all_on_time(on_time, [int(sku[group]) for group, _, _ in orders]),
        "chance_fraction": derive(
            met_fraction,
            capacity_ratio=chosen("capacity_ratio", carried / needed, "provided over needed, by node group"),
            sku=chosen("sku", sku, "of each node group"),
            rate_sigma=pick(rates, np.arange(len(rates))),
            demand_sigma=sigma,
            used_nodes=chosen("used_nodes", used_nodes, DECIDED),
            free_nodes=chosen("free_nodes", free, "in service, and neither used nor a spare"),
            order_group=chosen(
                "order_group", np.array([float(g) for g, _, _ in orders]), "that an order is for"
            ),
            order_nodes=chosen("order_nodes", np.array([float(n) for _, n, _ in orders]), DECIDED),
            on_time_fraction=on_time,
            **shares,
        ),
    }


def _late_shares(plan: Plan, orders: list[tuple[int, int, Traced]], period: int) -> Traced:
    """Share of the period for which nodes are missing that are late at all, at equally likely delays."""
    count = SHARES_OF_LATE if len(orders) <= FEW_ORDERS else 1
    slack = np.array([[min(float(slack.value), ENDLESS_H)] for _, _, slack in orders])
    return derive(
        missing_fraction,
        slack_h=chosen("slack_h", slack, "from the stated lead time to the period that needs the nodes"),
        late_p95_h=plan.inputs.fact("planning.delivery_delay"),
        hours_h=chosen("hours_h", float(plan.problem.node_groups.hours[period]), "of the period"),
        tail_fraction=chosen("tail_fraction", (np.arange(count) + 0.5)[None, :] / count, "shares of delays"),
    )


def _all_on_time(on_time: Traced, skus: list[int]) -> float:
    """Chance that every order is on time: those of a SKU are late together."""
    return float(np.prod([*dict(zip(skus, on_time.value.tolist(), strict=True)).values()]))


def _orders(plan: Plan, solution: Solution, period: int, groups: Groups) -> list[tuple[int, int, Traced]]:
    """Orders that arrive in a period: the place of their node group, their nodes, how late they may be."""
    table, found = plan.problem.node_groups, []
    for place, p in enumerate(groups.tolist()):
        ordered = period - int(table.lead_periods[p])
        if ordered >= 0 and (units := int(solution.orders[p, ordered])):
            nodes = units * int(table.order_unit_nodes[p])
            slack = delivery_slack(plan.inputs, int(table.sku[p]), ordered, period)
            found.append((place, nodes, slack))
    return found


def free_nodes(plan: Plan, solution: Solution, *, for_pools: bool = False) -> NDArray[np.float64]:
    """Nodes in service or rented that nothing holds and that are no spares (P, T).

    When runs hold most; for pools, which take hours, over the hours of a period. Of nodes by the hour there
    are as many as the plan has at once.
    """
    works, groups, runs = plan.problem.work_options, plan.problem.node_groups, plan.problem.run_options
    held = totals_by(works.node_group, len(groups), works.held_ratio * solution.work_node_h) / groups.hours
    reserved = plan.assembled.reserved.node_group
    there = solution.in_service.astype(float)
    there[reserved] = solution.rented[reserved]
    there[plan.assembled.rented.node_group] = rented_at_once(plan.assembled, solution)
    left = there - solution.in_use - solution.spares - held
    if for_pools:
        run_h = totals_by(runs.node_group, len(groups), runs.node_hours * solution.run[:, None])
        left += nodes_of_runs(plan.problem, solution.run) - run_h / groups.hours
    found: NDArray[np.float64] = np.maximum(left, 0.0)
    return found


def _runs(plan: Plan, solution: Solution) -> Iterator[Record]:
    runs, inputs = plan.ledger.runs, plan.inputs
    if runs is None:
        return
    options = np.flatnonzero(solution.run).tolist()
    done = zip(plan.ledger.run_rows.tolist(), options, counted_runs(plan, solution).tolist(), strict=True)
    for row, option, _ in filter(itemgetter(2), done):
        c = int(runs.candidate[row])
        job = inputs.scenario.training[runs.candidates.job[c]]
        group = int(runs.candidates.node_group[c])
        start = int(plan.problem.run_options.start[option])
        due = inputs.scenario.horizon.hours_from_start(job.deadline) - float(runs.start_h.value[row, 0])
        orders = _orders(plan, solution, start, groups_of(plan, c))
        waits = [one for _, _, one in orders] or [chosen("slack_h", np.inf, "its nodes stand already")]
        slack = min(waits, key=lambda one: float(one.value))
        progress = runs.progress
        yield {
            "work": job.name,
            "period": f"by {job.deadline.isoformat()}",
            "unit": "hours from its start",
            "needed": due,
            "provided": float(np.asarray(runs.finish_p50_h.value)[c]),
            "headroom_fraction": due / float(np.asarray(runs.finish_p50_h.value)[c]) - 1.0,
            "delivery_fraction": delivery_chance(inputs, slack) if orders else 1.0,
            "chance_fraction": _in_time(
                inputs,
                job,
                progress,
                c,
                sku=int(plan.problem.node_groups.sku[group]),
                due_h=chosen("due_h", due, "from its start to its deadline"),
                slack_h=slack,
            ),
        }


def _pausable(plan: Plan, solution: Solution) -> Iterator[Record]:
    """Runs that pause: hours in which their nodes work for them, or are free, in their window."""
    use, inputs = plan.ledger.pausable, plan.inputs
    if use is None:
        return
    options, hours = plan.problem.pausable_options, plan.problem.node_groups.hours
    free, progress = free_nodes(plan, solution, for_pools=True), use.jobs.progress
    for c, e in zip(use.rows.tolist(), use.options.tolist(), strict=True):
        job = inputs.scenario.training[int(options.job[e])]
        group, held = int(options.node_group[e]), int(options.nodes[e])
        runs = max(int(solution.chosen[e]), 1)
        could = (solution.done_node_h[e] + free[group] * hours[group]) / runs
        due = float(np.minimum(could, options.node_hours_limit[e]).sum()) / held
        likely = float(np.asarray(progress.duration_h.value)[c])
        yield {
            "work": job.name,
            "period": f"by {job.deadline.isoformat()}",
            "unit": "hours on its nodes",
            "needed": due,
            "provided": likely,
            "headroom_fraction": due / likely - 1.0,
            "delivery_fraction": 1.0,
            "chance_fraction": _in_time(
                inputs,
                job,
                progress,
                c,
                sku=int(plan.problem.node_groups.sku[group]),
                due_h=chosen("due_h", due, "on its nodes while they work for it or are free, in its window"),
                slack_h=chosen("slack_h", np.inf, "what its nodes wait for is not counted"),
            ),
        }


def _in_time(
    inputs: Inputs,
    job: TrainingJob,
    progress: Progress,
    row: int,
    *,
    sku: int,
    due_h: Traced,
    slack_h: Traced,
) -> Traced:
    """Chance that a run, a row of its progress, is done in time, its nodes late and slow as they may be."""
    doubt = {} if progress.rate_shape is None else {"rate_shape": _at(progress.rate_shape, row)}
    return derive(
        in_time_fraction,
        due_h=due_h,
        useful_h=_at(progress.useful_h, row),
        run_variation_fraction=_at(progress.run_variation, row),
        rate_sigma=training_sigma(inputs, sku, job),
        slack_h=slack_h,
        late_p95_h=inputs.fact("planning.delivery_delay"),
        **{name: _at(one, row) for name, one in progress.renewal.items()},
        **doubt,
    )


def _at(column: Traced, row: int) -> Traced:
    return column[row] if np.ndim(column.value) else column
