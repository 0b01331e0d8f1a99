"""The model and its variables: which variable stands for what, and how an engine's values become a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pulp

from solver import account, account_slots, backend, bounds, quality, regions
from solver.problem import Problem, Solution
from solver.rows import NO_PART, Index, Part, Variables, expression, linear, made, name, terms
from solver.slots import Shifting
from solver.solution import Decisions, SlotUse
from solver.tables import Flags, Floats, Whole

__all__ = ["FAMILIES", "Index", "Program", "Slack", "Variables", "linear", "name", "terms"]

FAMILIES = (
    "power",
    "space",
    "shared power",
    "supply",
    "minimum order",
    "budget",
    "carbon cap",
    "carbon cap by period",
    "money cap",
    "curtailment",
    "end of life",
    "availability",
    "deadlines",
    "demand",
    "jobs",
    "work",
)
ROUNDING = 1e-6  # what an engine may leave above a whole number


@dataclass(frozen=True, slots=True)
class Slack:
    """How far a row of a relaxed family may give way: `size` is what one unit of the variable stands for.

    Where all limits of the family are 0 that is one of their unit, and no share of a limit.
    """

    variable: Any
    size: float
    is_share: bool = True


@dataclass(slots=True, eq=False)
class Program:
    """The model, and which variable stands for what."""

    problem: Problem
    model: Any  # pulp.LpProblem
    relaxed: frozenset[str]
    prefix: str
    first_stage: Program | None  # whose decisions on the fleet these are
    order: Variables  # [P, T]
    rented: Variables  # [P, T]
    whole: Variables  # [P, T] nodes that replicas lie on, where parts of them are paid
    unfilled: Variables  # [P, T] mean nodes of those that nothing fills
    commit: Variables  # [P, T] nodes rented for a term that begins in t
    retire: Variables  # [H, T]
    sell: Variables  # [B, T]
    move: Variables  # [M, T]
    standing: Variables  # [H, T] of the cohorts that are tracked
    tier: Variables  # [G]
    reuse: Variables  # [H, T] of those retired, where a lower tier takes any
    rebated: Variables  # [G, P, T] nodes ordered at the rebate of a tier, where there may be any
    run: Variables  # [R]
    choose: Variables  # [E]
    completed: Variables  # [E] those of `choose` where the job is done whole
    done: Variables  # [E, T] mean nodes
    left_out: Variables  # [J]
    replicas: Variables  # [V, T]
    started: Variables  # [V, T] replicas that did not run in the period before, where that has a price
    begun: Variables  # [V, T] options that did not serve in the period before, where that has a price
    shed: Variables  # [I, T]
    work: Variables  # [O, T] mean nodes
    adopt: Variables  # [A]
    lost: Variables  # [O, T] mean nodes of hours that are lost to curtailment, where any may be
    lost_done: Variables  # [E, T]
    sign: Variables  # [S] contracts for curtailment, where one is offered
    spares: Variables  # [P, T]
    parked: Variables  # [P, T]
    matched: Variables  # [C, T] mean kW
    beyond: Variables  # [S, T] rated kW in service beyond what is committed, where anything is
    in_service: Variables  # [P, T]
    in_use: Variables  # [P, T]
    work_in: Variables  # [O, T, Y] mean nodes in a slot, where they may move; so are those below
    work_stop: Variables  # [O, T, Y] nodes that stop at its beginning
    done_in: Variables  # [E, T, Y]
    done_stop: Variables  # [E, T, Y]
    lent: Variables  # [O, T, Y] mean nodes of replicas that rest
    quiet: Variables  # [V, T, Y] replicas
    rest: Variables  # [V, T, Y]
    wake: Variables  # [V, T, Y]
    off: Variables  # [P, T, Y] nodes
    boot: Variables  # [P, T, Y]
    above: Variables  # [S, T] kW of the highest slot over the power of the period
    battery: Variables  # [S, 1] kWh that are bought, where any may be
    solar: Variables  # [S, 1] kW of the sun's cells that are bought, where any may be
    charge: Variables  # [S, T, Y] mean kW
    discharge: Variables  # [S, T, Y] mean kW
    stored: Variables  # [S, T, Y] kWh at the end of the slot
    sun: Variables  # [S, T, Y] mean kW on load that cannot move
    sun_moved: Variables  # [S, T, Y] mean kW on what may move, or into batteries
    most_in_use: Floats  # [P, T]
    most_rebated: Floats  # [G, P, T]
    serves: Variables | None = None  # of `ServeOptions.chosen_or_not`, once they are made
    takes: Variables | None = None  # [K] of `pipelines.shares`, once they are made
    slacks: dict[tuple[str, Index], Slack] = field(default_factory=dict)
    reaches: dict[str, Variables] = field(
        default_factory=dict
    )  # steps of spares by the row that they reach in
    objective: Any = None  # pulp.LpAffineExpression

    def objective_of(self, weight: float = 1.0) -> Any:
        """What this program minimises, times a weight, for a caller that adds up several in one model."""
        return self.objective * weight

    @property
    def tracked(self) -> Flags:
        """Cohorts whose standing nodes are variables: those that move, or that are not always available."""
        moves, cohorts = self.problem.moves, self.problem.cohorts
        found: Flags = np.any(cohorts.available_fraction < 1, axis=1, keepdims=True)[:, 0]
        found[moves.from_cohort] = True
        found[moves.to_cohort] = True
        return found

    def add(self, row: str, total: Any, sense: int, limit: float) -> None:
        """One row: total (<=, =, >=) limit. A row of no variable is left out where it holds anyway."""
        if not total:
            holds = {
                pulp.LpConstraintLE: limit >= 0,
                pulp.LpConstraintEQ: limit == 0,
                pulp.LpConstraintGE: limit <= 0,
            }
            if holds[sense]:
                return
        self.model.addConstraint(pulp.LpConstraint(total, sense, self.prefix + row, limit))

    def add_rows(self, stem: str, index: Whole, sense: int, limits: Floats, *parts: Part) -> None:
        """Many rows of one kind, named by `index` [N, axes]; those without a finite limit are left out."""
        held_by = np.concatenate([part[0] for part in parts])
        order = np.argsort(held_by, kind="stable")
        variables = np.concatenate([part[1] for part in parts])[order].tolist()
        coefficients = np.concatenate([part[2] for part in parts])[order].tolist()
        cuts = np.searchsorted(held_by[order], np.arange(len(index) + 1)).tolist()
        places, ends = index.tolist(), limits.tolist()
        for number in np.flatnonzero(np.isfinite(limits)).tolist():
            own = slice(cuts[number], cuts[number + 1])
            row = "_".join([stem, *map(str, places[number])])
            self.add(row, expression(variables[own], coefficients[own]), sense, ends[number])

    def slack(self, family: str, index: Index, size: float, most: float | None = None) -> list[Any]:
        """The term by which a row of a relaxed family gives way; nothing where the family is firm."""
        if family not in self.relaxed:
            return []
        made = pulp.LpVariable(self.prefix + name("over_" + family.replace(" ", "_"), index), 0, most)
        self.slacks[family, index] = Slack(made, size or 1.0, size > 0)
        return [(made, size or 1.0)]

    def solution(self, values: Mapping[str, float]) -> Solution:
        """The plan that an engine's values stand for; counts are rounded, fractions of replicas up.

        Spares are free up to what is not in use, and so are rented nodes that are paid by the hour of use;
        the plan names only those that it needs. What is not carried, done in part or parked follows from the
        counts, and an amount too small for the engine to tell from nothing is nothing, so that no rounding of
        the engine stays in it.
        """
        problem = self.problem

        def read(variables: Variables) -> Floats:
            flat = [values.get(each.name, 0.0) for each in variables.ravel()]
            found: Floats = np.maximum(np.array(flat, dtype=float).reshape(variables.shape), 0.0)
            return found

        def count(variables: Variables) -> Whole:
            return np.rint(read(variables)).astype(np.int64)

        def count_some(variables: Variables) -> Whole:
            flat = [0 if one is None else round(values.get(one.name, 0.0)) for one in variables.ravel()]
            return np.array(flat, dtype=np.int64).reshape(variables.shape)

        def read_some(variables: Variables) -> Floats:
            flat = [0.0 if one is None else values.get(one.name, 0.0) for one in variables.ravel()]
            found: Floats = np.maximum(np.array(flat, dtype=float).reshape(variables.shape), 0.0)
            return found

        works = problem.work_options

        def of_work(rows: Floats) -> Floats:
            summed: Floats = account.totals_by(works.work, len(problem.work), rows)[works.work]
            return summed

        def of_option(rows: Floats) -> Floats:
            summed: Floats = rows.sum(axis=1, keepdims=True)
            return summed

        run, chosen = count(self.run), count(self.choose)
        served = read(self.replicas)
        whole = problem.serve_options.whole[:, None]
        replicas = np.where(whole, np.rint(served), np.ceil(served - ROUNDING)).astype(np.int64)
        most = problem.pausable_options.node_hours_limit * chosen[:, None]
        done = np.minimum(_rest_makes_up(read(self.done), 1.0, of_option) * problem.node_groups.hours, most)
        signed = count_some(self.sign) * (problem.places.curtailed_kw > 0)
        options = problem.pausable_options
        lost = account_slots.curtailed_fraction(problem, options)
        kept = 1.0 - lost * signed[problem.node_groups.site[options.node_group]]
        completed, left_out = self._completed(run, chosen, done * kept[:, None], read(self.left_out))
        used = account.nodes_in_use(problem, run, replicas, done)
        orders, sold, retired, moved = map(count, (self.order, self.sell, self.retire, self.move))
        in_service = account.nodes_in_service(
            problem,
            account.bought_nodes(problem, orders, sold),
            account.standing_nodes(problem, retired, moved),
        )
        decided = Decisions(
            orders=orders,
            rented=_rented(problem, count(self.rented), count(self.commit)),
            committed=count(self.commit),
            retired=retired,
            sold=sold,
            moved=moved,
            run=run,
            chosen=chosen,
            completed=completed,
            done_node_h=done,
            left_out=left_out,
            replicas=replicas,
            shed_fraction=_not_carried(problem, replicas),
            work_node_h=_rest_makes_up(read(self.work), works.speed[:, None], of_work)
            * problem.node_groups.hours,
            spares=bounds.fewest_spares(problem, used, replicas, in_service),
            parked=_not_nothing(read(self.parked)),
            matched_kwh=_not_nothing(read(self.matched)) * problem.node_groups.hours,
            adopted=count(self.adopt),
            reused=count_some(self.reuse),
            signed=signed,
            battery_kwh=read_some(self.battery)[:, 0],
            solar_kw=read_some(self.solar)[:, 0],
        )
        if len(problem.slots):
            decided = replace(decided, slots=self._slot_use(values, decided))
        if len(problem.adoptions):
            worked = account_slots.adopted_work_h(problem, decided).any(axis=1)
            decided = replace(decided, adopted=decided.adopted * worked)
        decided = replace(decided, rented=_rented_in_use(problem, decided, used))
        return account.solution(problem, replace(decided, parked=_fitting(problem, decided, used)))

    def _slot_use(self, values: Mapping[str, float], decided: Decisions) -> SlotUse:
        """How slots are used, so that what moves adds up to what the period does."""
        problem, hours = self.problem, self.problem.node_groups.hours

        def read(variables: Variables) -> Floats:
            flat = [0.0 if one is None else values.get(one.name, 0.0) for one in variables.ravel()]
            found: Floats = np.maximum(np.array(flat, dtype=float).reshape(variables.shape), 0.0)
            return np.where(found > account.NOTHING, found, 0.0)

        def whole(amounts: Variables, node_h: Floats, table: Shifting) -> Floats:
            moved = read(amounts)
            lost = account_slots.lost_fraction(problem, table) * account_slots.shrinking(problem, moved)
            worked = (problem.slots.share() * moved - lost).sum(axis=2)
            wanted = node_h / hours
            factor = np.divide(wanted, worked, out=np.zeros_like(worked), where=worked > 0)
            # What the engine took for nothing in every slot is the same in all of them.
            level = np.where((worked > 0)[:, :, None], moved * factor[:, :, None], wanted[:, :, None])
            return np.where(table.may_move[:, None, None], level, 0.0)

        return SlotUse(
            work=whole(self.work_in, decided.work_node_h, problem.work_shifts),
            done=whole(self.done_in, decided.done_node_h, problem.pausable_shifts),
            lent=read(self.lent),
            quiet=read(self.quiet),
            rest=read(self.rest),
            off=read(self.off),
            charge=read(self.charge),
            discharge=read(self.discharge),
            stored=read(self.stored),
            sun=read(self.sun),
            sun_moved=read(self.sun_moved),
        )

    def _completed(self, run: Whole, chosen: Whole, done: Floats, left_out: Floats) -> tuple[Floats, Floats]:
        """How many jobs are done in whole by each pausable option, and how many are left out."""
        jobs, options = self.problem.jobs, self.problem.pausable_options
        partial = jobs.partial[options.job]
        share = np.minimum(done.sum(axis=1) / options.node_hours, chosen)
        completed = np.where(partial, share, chosen.astype(float))
        runs = self.problem.run_options
        rest = jobs.count - account.totals_by(runs.job, len(jobs), run * runs.counts)
        rest = rest - account.totals_by(options.job, len(jobs), completed)
        return completed, np.where(jobs.partial, np.maximum(rest, 0.0), np.rint(left_out))

    def whole_numbers(self) -> int:
        """How many variables count something."""
        counts = (
            self.order,
            self.rented,
            self.whole[made(self.whole)],
            self.commit[self.problem.under_term],
            self.retire,
            self.sell,
            self.move,
            self.run[self.problem.run_options.counts],
            self.choose,
            self.adopt,
            self.reuse[made(self.reuse)],
            self.sign[made(self.sign)],
            self.replicas[self.problem.serve_options.whole],
        )
        return sum(each.size for each in counts)

    def start(self, solution: Solution) -> dict[str, float]:
        """Values for a warm start: the whole numbers of a neighbour's plan."""
        problem = self.problem
        _, lies_on = account.whole_nodes(problem, solution.replicas)
        pairs = (
            (self.order, solution.orders),
            (self.rented, solution.rented),
            (self.whole[made(self.whole)], lies_on[made(self.whole)]),
            (self.commit[problem.under_term], solution.committed[problem.under_term]),
            (self.retire, solution.retired),
            (self.sell, solution.sold),
            (self.move, solution.moved),
            (self.run, solution.run),
            (self.choose, solution.chosen),
            (self.left_out, solution.left_out),
            (self.replicas, solution.replicas),
            (self.spares, solution.spares),
            (self.adopt, solution.adopted),
            (self.reuse[made(self.reuse)], solution.reused[made(self.reuse)]),
            (self.sign[made(self.sign)], solution.signed[made(self.sign)]),
        )
        return {
            variable.name: float(value)
            for variables, numbers in pairs
            for variable, value in zip(variables.ravel(), numbers.ravel(), strict=True)
        }

    def gives(self, family: str, limits: Floats) -> Part:
        """- give for each finite limit, in shares of it; where a limit is 0, of the family's largest."""
        if family not in self.relaxed:
            return NO_PART
        finite = np.isfinite(limits)
        largest = float(limits[finite].max(initial=0.0))
        found = []
        for index in np.argwhere(finite).tolist():
            place = tuple(index)
            size = abs(float(limits[place])) or largest
            row = int(np.ravel_multi_index(place, limits.shape))
            found += [(row, variable, -amount) for variable, amount in self.slack(family, place, size)]
        rows, variables, sizes = zip(*found, strict=True) if found else ((), (), ())
        return np.array(rows, dtype=np.int64), np.array(variables, dtype=object), np.array(sizes)

    def given_way(self, values: Mapping[str, float]) -> dict[tuple[str, Index], float]:
        """By how much each relaxed row gave way, in the unit of its limit."""
        return {key: slack.size * values.get(slack.variable.name, 0.0) for key, slack in self.slacks.items()}

    def count_replicas(self) -> None:
        """From now on no replica may be a fraction."""
        for variable in self.replicas.ravel():
            variable.cat = pulp.LpInteger


def _not_carried(problem: Problem, replicas: Whole) -> Floats:
    """The share of each demand that is paid for instead of carried.

    shed[i,t] = max(0, 1 - c[i,t] / demand[i,t]) where that has a price; else 0, c within the mean quality and
    as far as each set of regions is answered
    """
    demand = problem.services.demand
    carried = np.minimum(quality.carried(problem, replicas), regions.carried(problem, replicas))
    short = 1 - np.divide(carried, demand, out=np.ones_like(demand), where=demand > 0)
    shed: Floats = np.where(np.isfinite(problem.services.unmet_usd), np.maximum(short, 0.0), 0.0)
    return shed


def _rented(problem: Problem, rented: Whole, committed: Whole) -> Whole:
    """Rented nodes: those by the period as they are, those under a term as their commitments say."""
    return np.where(problem.under_term[:, None], account.under_term(problem, committed), rented)


def _fitting(problem: Problem, chosen: Decisions, used: Floats) -> Floats:
    """Parked nodes, no more than are free: rounding may have taken a hair of room."""
    free, in_service = _free_nodes(problem, chosen, used)
    fitting: Floats = np.minimum(chosen.parked, np.minimum(np.maximum(free, 0.0), in_service))
    return fitting


def _rented_in_use(problem: Problem, chosen: Decisions, used: Floats) -> Whole:
    """Rented nodes, without those that nothing uses where neither renting nor idling has a price.

    A pausable job that works in a period keeps the nodes that it needs at least, however short it works, and
    replicas those that they lie on.
    """
    free, _ = _free_nodes(problem, chosen, used)
    options = problem.pausable_options
    mean = account.totals_by(
        options.node_group, len(problem.node_groups), chosen.done_node_h / problem.node_groups.hours
    )
    least = np.zeros_like(mean)
    np.maximum.at(least, options.node_group, options.nodes_least[:, None] * (chosen.done_node_h > 0))
    unused = free - chosen.parked - np.maximum(least - mean, 0.0)
    unused = np.floor(np.maximum(unused, 0.0) + ROUNDING).astype(np.int64)
    apart = account.nodes_apart(problem, chosen.replicas)
    fewer: Whole = np.where(
        account.holding_costs(problem) | problem.under_term[:, None],
        chosen.rented,
        np.maximum(chosen.rented - unused, np.minimum(chosen.rented, apart)),
    )
    return fewer


def _free_nodes(problem: Problem, chosen: Decisions, used: Floats) -> tuple[Floats, Whole]:
    """Nodes that nothing uses and that are no spares, parked ones among them; and nodes in service.

    f[p,t] = n[p,t] + rented[p,t] - d[p,t] - spares[p,t] - busy[p,t]
    busy[p,t] = max(u[p,t] + w[p,t], h[p,t] / hours[t] + mean w[p,t])
    """
    plan = account.solution(problem, chosen)
    held = account.held_node_h(problem, plan.run, plan.replicas, plan.work_node_h, plan.done_node_h)
    late, mean_late = (account.nodes_under_way(problem, plan.moved, mean=mean) for mean in (False, True))
    busy = np.maximum(used + late, held / problem.node_groups.hours + mean_late) + plan.spares
    free: Floats = plan.in_service + plan.rented - account.down_nodes(problem, plan.kept) - busy
    return free, plan.in_service


def _not_nothing(amounts: Floats) -> Floats:
    """Amounts without those that an engine cannot tell from nothing."""
    found: Floats = np.where(amounts <= backend.EXACT, 0.0, amounts)
    return found


def _rest_makes_up(parts: Floats, weights: Floats | float, sums: Callable[[Floats], Floats]) -> Floats:
    """Parts of a whole without those that an engine cannot tell from nothing; the others make up for them.

    x'[k] = x[k] * whole / sum of w[k] x[k] over those that stay;  0 where w[k] x[k] <= EXACT * whole
    """
    weighed = parts * weights
    whole = sums(weighed)
    staying = np.where(weighed > backend.EXACT * whole, parts, 0.0)
    kept = sums(staying * weights)
    made_up: Floats = staying * np.divide(whole, kept, out=np.ones_like(kept), where=kept > 0)
    return made_up
