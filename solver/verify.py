"""Is it a plan? Every rule once more, as plain sums that know neither the program nor its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solver import account, account_energy, account_slots, pipelines, quality, regions
from solver.problem import Problem, Solution, Terms
from solver.solution import Decisions
from solver.tables import Floats
from solver.verify_slots import awake_in_slots, slot_rules


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that does not hold: `got` lies beyond `limit`."""

    rule: str
    index: tuple[int, ...]
    got: float
    limit: float

    def __str__(self) -> str:
        return f"{self.rule}{list(self.index)}: {self.got:g} where {self.limit:g} is the limit"


Check = Callable[[Problem, Solution, float], Iterator[Violation]]


def verify(problem: Problem, solution: Solution, tolerance: float) -> list[Violation]:
    """Every rule that a solution breaks; empty if none. The tolerance is relative, and absolute below 1."""
    return [violation for check in CHECKS for violation in check(problem, solution, tolerance)]


def objective_value(problem: Problem, solution: Solution) -> float:
    """What the program minimises.

    z = money weight * USD + carbon weight * kgCO2e
    """
    aim = problem.objective
    return aim.money_weight * solution.usd + aim.carbon_weight * solution.kgco2e


def _above(
    rule: str,
    got: NDArray[Any],
    limit: NDArray[Any] | float,
    tolerance: float,
    size: NDArray[Any] | float = 1.0,
) -> Iterator[Violation]:
    """Where got > limit; the tolerance is that of `size`, what one unit of the program's row is here."""
    amount, most = np.broadcast_arrays(np.asarray(got, dtype=float), np.asarray(limit, dtype=float))
    room = tolerance * np.maximum(size, np.where(np.isfinite(most), np.abs(most), 1.0))
    for index in np.argwhere(~(amount <= most + room)):  # so that NaN breaks a rule, too
        row = tuple(int(number) for number in index)
        yield Violation(rule, row, float(amount[row]), float(most[row]))


def _below(
    rule: str,
    got: NDArray[Any],
    limit: NDArray[Any] | float,
    tolerance: float,
    size: NDArray[Any] | float = 1.0,
) -> Iterator[Violation]:
    """Where got < limit."""
    less, least = -np.asarray(got, dtype=float), -np.asarray(limit, dtype=float)
    for found in _above(rule, less, least, tolerance, size):
        yield Violation(rule, found.index, -found.got, -found.limit)


def _unequal(
    rule: str, got: NDArray[Any], wanted: NDArray[Any] | float, tolerance: float
) -> Iterator[Violation]:
    yield from _above(rule, got, wanted, tolerance)
    yield from _below(rule, got, wanted, tolerance)


def counts_are_counts(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Orders, nodes, replicas, spares and jobs are whole and >= 0; shares, hours and energy are >= 0"""
    for name in (
        "orders",
        "rented",
        "committed",
        "retired",
        "sold",
        "moved",
        "run",
        "chosen",
        "replicas",
        "spares",
        "adopted",
        "signed",
        "reused",
    ):
        count = getattr(plan, name)
        yield from _below(name, count, 0.0, tolerance)
        yield from _unequal(f"{name} whole", count, np.round(count), tolerance)
    for name in (
        "work_node_h",
        "done_node_h",
        "completed",
        "left_out",
        "shed_fraction",
        "parked",
        "matched_kwh",
    ):
        yield from _below(name, getattr(plan, name), 0.0, tolerance)


def sums_are_sums(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """What the solution says follows from its decisions: nodes, and every term of money and carbon."""
    again = account.solution(problem, _decisions(plan))
    for name in ("bought_in_service", "kept", "in_service", "in_use"):
        yield from _unequal(name, getattr(plan, name), getattr(again, name), tolerance)
    for name in ("usd_terms", "kgco2e_terms"):
        for part in fields(Terms):
            shown, summed = (getattr(getattr(each, name), part.name) for each in (plan, again))
            yield from _unequal(f"{name}.{part.name}", shown, summed, tolerance)


def orders_are_allowed(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """order[p,t] = 0 where purchase is not allowed; rented[p,t] <= rental limit"""
    yield from _above("purchase allowed", plan.orders * ~problem.node_groups.purchase_allowed, 0.0, tolerance)
    yield from _above("rental", plan.rented, problem.node_groups.rental_limit_nodes, tolerance)


def terms_are_kept(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """rented[p,t] = sum over t' from t - term[p] + 1 to t of committed[p,t'] where rental has a term

    Nothing is committed elsewhere, nor in a period in which no term may begin; what is signed is held.
    """
    term = problem.under_term[:, None]
    due = np.where(term, account.under_term(problem, plan.committed), plan.rented)
    yield from _unequal("term", plan.rented, due, tolerance)
    yield from _above(
        "term begun", plan.committed * ~(term & problem.node_groups.rental_start_allowed), 0.0, tolerance
    )
    yield from _above("term signed", problem.node_groups.rental_signed_nodes, plan.committed, tolerance)


def jobs_run_once(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_r run[r] + sum_e completed[e] + left_out[j] = count[j], of rows of one run the first

    left_out[j] = 0 unless optional; run[r] = 0 if later than allowed; rows of one run are chosen alike
    """
    jobs, runs, pausable = problem.jobs, problem.run_options, problem.pausable_options
    run = account.totals_by(runs.job, len(jobs), plan.run * runs.counts)
    yield from _unequal("run at all its sites", plan.run, plan.run[runs.first], tolerance)
    done = run + account.totals_by(pausable.job, len(jobs), plan.completed)
    yield from _unequal("job runs once", done + plan.left_out, jobs.count, tolerance)
    yield from _above("job left out", plan.left_out * ~jobs.optional, 0.0, tolerance)
    yield from _above("run late", runs.late_h * (plan.run > 0), jobs.allowed_late_h[runs.job], tolerance)


def jobs_stand_on_nodes(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """nodes[r,t] >= 1 in some t, and in every t with node_hours[r,t] > 0, of every run[r] > 0;

    in service + rented >= 1 in some t with done[e,t] > 0, of every completed[e] > 0

    Nodes are whole, however short a run is: a share of time is no share of a node.
    """
    runs, pausable, chosen = problem.run_options, problem.pausable_options, plan.run > tolerance
    without = (runs.nodes == 0) & ((runs.node_hours > 0) | (runs.nodes.sum(axis=1, keepdims=True) == 0))
    yield from _above("run without nodes", without & chosen[:, None], 0.0, tolerance)
    standing = np.where(plan.done_node_h > 0, (plan.in_service + plan.rented)[pausable.node_group], 0)
    yield from _below(
        "pausable without nodes", standing.max(axis=1, initial=0), plan.completed > 0, tolerance
    )


def pausable_jobs_are_done(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_t done[e,t] - lost[e,t] = node_hours[e] * completed[e]; done[e,t] <= limit[e,t] * chosen[e]

    completed[e] = chosen[e], or below it where jobs may be done in part; no more begin than there are.
    """
    jobs, options = problem.jobs, problem.pausable_options
    worked = (plan.done_node_h - account_slots.lost_node_h(problem, plan)[1]).sum(axis=1)
    yield from _unequal("pausable work", worked, options.node_hours * plan.completed, tolerance)
    most = options.node_hours_limit * plan.chosen[:, None]
    yield from _above("pausable pace", plan.done_node_h, most, tolerance)
    yield from _above("pausable part", plan.completed, plan.chosen, tolerance)
    whole = ~jobs.partial[options.job]
    yield from _unequal("pausable whole", plan.completed * whole, plan.chosen * whole, tolerance)
    begun = account.totals_by(options.job, len(jobs), plan.chosen)
    runs = problem.run_options
    begun = begun + account.totals_by(runs.job, len(jobs), plan.run * runs.counts)
    yield from _above("jobs begun", begun, jobs.count, tolerance)


def pausable_jobs_have_nodes(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """nodes_least[e] <= usable nodes - those of runs and replicas, in every period with done[e,t] > 0

    Less than an engine's rounding of the limit is no work.
    """
    options, hours = problem.pausable_options, problem.node_groups.hours
    mean = account.totals_by(options.node_group, len(problem.node_groups), plan.done_node_h / hours)
    free = _usable_nodes(problem, plan) - (_used_nodes(problem, plan) - mean)
    works = plan.done_node_h > tolerance * (hours + options.node_hours_limit * plan.chosen[:, None])
    yield from _above(
        "pausable nodes", options.nodes_least[:, None] * works, free[options.node_group], tolerance
    )


def demand_is_met(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_v capacity[v,t] / (1 + standby share[v,t]) * carrying[v,t] >= demand[i,t] * (1 - shed[i,t])

    carrying[v,t] = max(0, replicas[v,t] - standby[v,t])
    """
    services = problem.services
    wanted = services.demand * (1 - plan.shed_fraction)
    carried = account.carried(problem, plan.replicas)
    # A small demand is no less a demand: the tolerance is a share of it.
    yield from _below("demand", carried, wanted, tolerance, size=services.demand)
    yield from _above("shed", plan.shed_fraction, np.isfinite(services.unmet_usd), tolerance)


def quality_is_kept(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_v lost[v] * r[v,t] <= limit[i] * sum_v r[v,t], requests/s r to options that lose least first"""
    answered = quality.answered_per_s(problem, plan)
    limit = quality.mean_loss_limit_per_s(problem, answered)
    size = problem.services.demand
    yield from _above("mean quality", quality.lost_per_s(problem, answered), limit, tolerance, size=size)


def stages_share_the_time(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_i x[i] <= 1 of the stages i of a pipeline, x[i] the least share within which they carry all

    Awake replicas carry what a slot has to be ready for within the same share.
    """
    wanted = problem.services.demand * (1 - plan.shed_fraction) - tolerance * problem.services.demand
    taken = pipelines.taken_fraction(problem, account.carried_by_option(problem, plan.replicas), wanted)
    if len(problem.slots):
        awake, ready = awake_in_slots(problem, plan)
        least = ready - tolerance * problem.services.demand[:, :, None]
        taken = np.maximum(taken, pipelines.taken_fraction(problem, awake, least))
    yield from _above("response time", pipelines.of_pipelines(problem, taken), 1.0, tolerance)


def each_region_is_answered(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """share[n] * demand[i,t] * (1 - shed[i,t]) <= what options carry that answer any region of the set n

    For each set of regions of a service, in its busiest part of a day; awake replicas the same of what a slot
    has to be ready for, of which the set has its own share.
    """
    carried = account.carried_by_option(problem, plan.replicas)
    wanted = problem.services.demand * (1 - plan.shed_fraction)
    awake, ready = awake_in_slots(problem, plan) if len(problem.slots) else (None, None)
    for one in regions.every_set(problem):
        i, size = one.service, problem.services.demand[one.service]
        least = one.peak_fraction * wanted[i]
        yield from _below("region", carried[one.answers].sum(axis=0), least, tolerance, size=size)
        if awake is not None and ready is not None:
            got, share = awake[one.answers].sum(axis=0), one.in_slots(len(problem.slots))
            yield from _below("region in a slot", got, share * ready[i], tolerance, size=size[:, None])


def deployments_are_large_enough(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """replicas[v,t] >= least[v,t], or none"""
    least = problem.serve_options.least
    yield from _below("least replicas", plan.replicas, np.where(plan.replicas > 0, least, 0), tolerance)


def work_is_done(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_o speed[o] * work[o,t] >= demand_h[w,t], what lent nodes do included, what curtailment takes not"""
    options = problem.work_options
    done = account.totals_by(options.work, len(problem.work), options.speed[:, None] * plan.work_node_h)
    done = done + account_slots.lent_work_h(problem, plan) - account_slots.lost_work_h(problem, plan)
    yield from _below("work", done, problem.work.demand_h, tolerance, size=problem.work.demand_h)


def reused_was_retired(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """reused[h,t] <= retired[h,t]; sum_t reused[h,t] <= what the lower tier takes"""
    going_on = account.reused(problem, plan)
    yield from _above("reuse", going_on, plan.retired, tolerance)
    yield from _above("reuse limit", going_on.sum(axis=1), problem.cohorts.reuse_limit, tolerance)


def curtailment_is_kept(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Power of work that may stop >= least[s] where the contract is signed; what is obliged is signed"""
    places, signed = problem.places, account.signed(problem, plan)
    offered = places.curtailed_kw > 0
    least = (places.curtailed_kw * signed)[:, None] * np.ones(problem.periods)
    yield from _below("curtailment", account_slots.stopping_kw(problem, plan), least, tolerance, size=least)
    yield from _below("curtailment obliged", signed, places.curtailment_obliged & offered, tolerance)
    yield from _above("curtailment offered", signed, offered, tolerance)


def work_is_adopted(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_o uses[o,a] * speed[o] * work[o,t] <= usable[a,t] * demand_h[w,t] * adopted[a]

    What lent nodes do included; nothing is adopted more than once.
    """
    adoptions = problem.adoptions
    wanted = problem.work.demand_h[adoptions.work]
    most = adoptions.usable_fraction * wanted * plan.adopted[:, None]
    done = account_slots.adopted_work_h(problem, plan)
    yield from _above("adopted", done, most, tolerance, size=np.maximum(wanted, 1e-9))
    yield from _above("adopted once", plan.adopted, 1.0, tolerance)


def nodes_suffice(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """u[p,t] <= usable[p,t]; hours held <= usable[p,t] * hours[t]; ready[p,t] >= need of u

    ready = spares, and those on the shelf for them;
    rented[p,t] >= apart[v,t] of those that serve.
    usable = n + rented - d - w - spares - parked; parked <= n, and 0 where it may not be. What arrives by a
    move within the period is of no use to nodes in use, and to hours for what is left of it.
    """
    used, usable = _used_nodes(problem, plan), _usable_nodes(problem, plan)
    usable_mean = _usable_nodes(problem, plan, mean=True)
    held = account.held_node_h(problem, plan.run, plan.replicas, plan.work_node_h, plan.done_node_h)
    yield from _above("nodes in use", used, usable, tolerance)
    hours = problem.node_groups.hours
    yield from _above("node-hours", held, usable_mean * hours, tolerance, size=np.maximum(hours, 1.0))
    needed = account.spares_of_promise(problem, used, 0, tolerance)
    yield from _below("spares", account.spares_at_hand(problem, plan.spares), needed, tolerance)
    yield from _below("apart", plan.rented, account.nodes_apart(problem, plan.replicas), tolerance)
    may = np.where(problem.node_groups.may_park[:, None], plan.in_service, 0)
    yield from _above("parked", plan.parked, may, tolerance)


def promises_are_kept(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """ready[p,t] + sum_v covers[v,t] >= spares[g] of a step g of q and p with u[q,p,t] <= reach[g]

    Over the options v that are promised q or more and whose standby replicas are all there; of u[q,p,t], the
    nodes of replicas that are promised as much, those that stand by for it are taken off.
    """
    serves, steps = problem.serve_options, problem.spare_steps
    at_hand = account.spares_at_hand(problem, plan.spares)
    for promise, group in sorted({*zip(steps.promise.tolist(), steps.node_group.tolist(), strict=True)}):
        if promise == 0:
            continue
        options = np.flatnonzero((serves.node_group == group) & (serves.promise >= promise))
        rows = steps.of_node_group(group, promise)
        for t in range(problem.periods):
            nodes, ready = 0.0, float(at_hand[group, t])
            for v in options.tolist():
                count, standby = int(plan.replicas[v, t]), int(serves.standby[v, t])
                nodes += float(serves.nodes[v]) * count
                if count >= standby:
                    ready += float(serves.covers[v, t])
                    nodes -= min(float(serves.covers[v, t]), float(serves.nodes[v]) * standby)
            reaching = steps.spares[rows][steps.reach[rows] >= nodes - tolerance]
            wanted = float(reaching.min()) if reaching.size else np.inf
            if nodes > tolerance and ready < wanted - tolerance:
                yield Violation("promise", (promise, group, t), ready, wanted)


def sites_carry(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Facility power at the peak <= power_kw[s,t], and of sites that share <= shared_power_kw[f,t];

    racks of nodes in service and next to runs <= racks[s]. Where a site has a battery or the sun, its slots
    are judged alone.
    """
    power, fine = account.peak_kw(problem, plan, plan.in_service), account_energy.has_energy(problem)
    own = np.where(fine[:, None], np.inf, problem.limits.power_kw)
    yield from _above("power", power, own, tolerance)
    shares = account_energy.shares_energy(problem)[:, None]
    together = np.where(shares, np.inf, problem.limits.shared_power_kw)
    yield from _above("shared power", account.shared_power_kw(problem, power), together, tolerance)
    racks = account.racks_in_use(problem, plan.run, plan.in_service)
    yield from _above("space", racks, problem.limits.racks[:, None], tolerance)


def contracts_hold(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """matched[c,t] <= limit[c,t]; sum_c matched <= energy drawn at s in t; fixed shares keep their power"""
    contracts, sites = problem.contracts, len(problem.site_names)
    yield from _above("contract", plan.matched_kwh, contracts.limit_kwh, tolerance)
    idle = account.idle_nodes(problem, plan, plan.in_service)
    drawn = account.drawn_kwh(problem, plan, idle)
    matched = account.totals_by(contracts.site, sites, plan.matched_kwh)
    signed = np.isin(np.arange(sites), contracts.site)[:, None]
    yield from _above("clean energy", matched * signed, np.where(signed, drawn, np.inf), tolerance)
    mean_kw = (plan.matched_kwh / problem.node_groups.hours)[contracts.fixed_share]
    yield from _unequal("level contract", mean_kw, mean_kw[:, :1], tolerance)


def market_delivers(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Nodes ordered of a SKU <= supply[k,t]; nodes of a group over the horizon: none, or >= minimum[p]"""
    groups, limits = problem.node_groups, problem.limits
    ordered = plan.orders * groups.order_unit_nodes[:, None]
    yield from _above(
        "supply",
        account.totals_by(groups.sku, len(problem.sku_names), ordered),
        limits.supply_nodes,
        tolerance,
    )
    bought = ordered.sum(axis=1)
    yield from _below("minimum order", bought, np.where(bought > 0, limits.minimum_nodes, 0.0), tolerance)


def means_suffice(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Cash for orders, runs and what sites put up in t <= budget[t]; carbon and money <= their caps

    Carbon is that of the plan and of each period.
    """
    limits = problem.limits
    yield from _above("budget", account.budget_usd(problem, plan), limits.budget_usd, tolerance)
    yield from _above("carbon cap", np.array([plan.kgco2e]), limits.carbon_cap_kgco2e, tolerance)
    emitted = plan.kgco2e_terms.by_period()
    yield from _above("carbon cap by period", emitted, limits.carbon_cap_by_period_kgco2e, tolerance)
    yield from _above("money cap", np.array([plan.usd]), limits.money_cap_usd, tolerance)


def sold_was_bought(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """sum_t sold[b,t] <= nodes of its order, after they arrived; none where that is not allowed"""
    groups, sales = problem.node_groups, problem.sales
    bought = plan.orders * groups.order_unit_nodes[:, None]
    yield from _above("sold once", plan.sold.sum(axis=1), bought[sales.node_group, sales.ordered], tolerance)
    arrives = sales.ordered + groups.lead_periods[sales.node_group]
    too_early = np.arange(problem.periods) < arrives[:, None]
    yield from _above("sale allowed", plan.sold * (too_early | ~sales.may_sell), 0.0, tolerance)


def cohorts_end(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """x[h,t] >= 0; x[h,t] = 0 from must_retire_by[h] on; what moves arrives before the end of the horizon"""
    kept: Floats = account.standing_nodes(problem, plan.retired, plan.moved).astype(float)
    yield from _below("retired once", kept, 0.0, tolerance)
    yield from _above("retirement allowed", plan.retired * ~problem.cohorts.may_retire, 0.0, tolerance)
    arrival = np.arange(problem.periods) + problem.moves.lead_periods[:, None]
    yield from _above("arrival", plan.moved * (arrival >= problem.periods), 0.0, tolerance)
    ended = np.arange(problem.periods) >= problem.cohorts.must_retire_by[:, None]
    yield from _above("end of life", kept * ended, 0.0, tolerance)


def slots_hold(problem: Problem, plan: Solution, tolerance: float) -> Iterator[Violation]:
    """Every rule of `solver.verify_slots`"""
    for rule, got, most in slot_rules(problem, plan):
        yield from _above(rule, got, most, tolerance)


def _used_nodes(problem: Problem, plan: Solution) -> Floats:
    return account.nodes_in_use(problem, plan.run, plan.replicas, plan.done_node_h)


def _usable_nodes(problem: Problem, plan: Solution, *, mean: bool = False) -> Floats:
    absent = account.down_nodes(problem, plan.kept) + account.nodes_under_way(problem, plan.moved, mean=mean)
    usable: Floats = plan.in_service + plan.rented - absent - plan.spares - plan.parked
    return usable


def _decisions(plan: Solution) -> Decisions:
    return Decisions(**{part.name: getattr(plan, part.name) for part in fields(Decisions)})


CHECKS: tuple[Check, ...] = (
    counts_are_counts,
    sums_are_sums,
    orders_are_allowed,
    terms_are_kept,
    jobs_run_once,
    jobs_stand_on_nodes,
    pausable_jobs_are_done,
    pausable_jobs_have_nodes,
    demand_is_met,
    quality_is_kept,
    stages_share_the_time,
    each_region_is_answered,
    deployments_are_large_enough,
    work_is_done,
    work_is_adopted,
    curtailment_is_kept,
    reused_was_retired,
    nodes_suffice,
    promises_are_kept,
    sites_carry,
    contracts_hold,
    market_delivers,
    means_suffice,
    cohorts_end,
    sold_was_bought,
    slots_hold,
)
