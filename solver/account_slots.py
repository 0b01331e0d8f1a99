"""What the use of slots adds up to, by plain sums: power, money and carbon over the mean of the period."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver.account_energy import FLOWS, has_energy, net_kw
from solver.problem import PausableOptions, Problem, WorkOptions
from solver.slots import Shifting
from solver.solution import Decisions, SlotUse
from solver.tables import Floats, Whole


def no_use(problem: Problem) -> SlotUse:
    """Nothing in any slot."""
    count = len(problem.slots)

    def none(rows: int) -> Floats:
        return np.zeros((rows, problem.periods, count))

    options, replicas = len(problem.work_options), len(problem.serve_options)
    return SlotUse(
        work=none(options),
        done=none(len(problem.pausable_options)),
        lent=none(options),
        quiet=none(replicas),
        rest=none(replicas),
        off=none(len(problem.node_groups)),
        **{flow: none(len(problem.site_names)) for flow in FLOWS},
    )


def use_of(problem: Problem, chosen: Decisions) -> SlotUse:
    """What is used by slot; what does not move is the same in every slot."""
    used = no_use(problem) if chosen.slots is None else chosen.slots
    if not len(problem.slots):
        return used
    moves = chosen.slots is not None
    hours = problem.node_groups.hours
    work, done = (
        np.where(table.may_move[:, None, None] & moves, moved, (whole / hours)[:, :, None])
        for table, moved, whole in (
            (problem.work_shifts, used.work, chosen.work_node_h),
            (problem.pausable_shifts, used.done, chosen.done_node_h),
        )
    )
    return replace(used, work=work, done=done)


def lost_fraction(problem: Problem, shifts: Shifting) -> Floats:
    """Part of the period that a node loses which stops in a slot on each of its days [., T, Y].

    lost[x,t,y] = stop_h[x] * days[y,t] / hours[t]
    """
    lost: Floats = shifts.stop_h[:, None, None] * (problem.slots.days / problem.node_groups.hours).T
    return lost


def shrinking(problem: Problem, amounts: Floats) -> Floats:
    """By how much each amount is less than in the slot before.

    s[x,t,y] = max(0, x[t,y'] - x[t,y]),  y' the slot before y on its day
    """
    less: Floats = np.maximum(amounts[:, :, problem.slots.before] - amounts, 0.0)
    return less


def lent_work_h(problem: Problem, chosen: Decisions) -> Floats:
    """Reference node-hours that lent nodes do of each work [W, T].

    L[w,t] = sum_o speed[o] * eff[o] * sum_y h[y,t] * lent[o,t,y]
    """
    options, done = problem.work_options, np.zeros((len(problem.work), problem.periods))
    if chosen.slots is not None and len(problem.slots):
        hours = np.einsum("oty,yt->ot", chosen.slots.lent, problem.slots.hours)
        speed = options.speed * problem.work_shifts.lent_speed_fraction
        np.add.at(done, options.work, speed[:, None] * hours)
    return done


def adopted_work_h(problem: Problem, chosen: Decisions) -> Floats:
    """Reference node-hours that options do which use each adoption, on lent nodes as well [A, T].

    D[a,t] = sum_o uses[o,a] * speed[o] * (work[o,t] + eff[o] * sum_y h[y,t] * lent[o,t,y])
    """
    done: Floats = problem.work_options.uses.T.astype(float) @ worked_h(problem, chosen)
    return done


def worked_h(problem: Problem, chosen: Decisions) -> Floats:
    """Reference node-hours that each option does, on lent nodes as well [O, T]."""
    options, slower = problem.work_options, problem.work_shifts.lent_speed_fraction
    worked: Floats = options.speed[:, None] * chosen.work_node_h
    if len(problem.slots):
        worked = worked + (options.speed * slower)[:, None] * lent_node_h(problem, chosen)
    return worked


def curtailed_fraction(problem: Problem, options: WorkOptions | PausableOptions) -> Floats:
    """Share of the hours of each way to work that is lost where its site is curtailed [O] or [E].

    phi[o] = stops[o] * phi[s], on nodes of one's own
    """
    groups = problem.node_groups
    site = problem.places.curtailed_fraction * (problem.places.curtailed_kw > 0)
    own = ~groups.off_site[options.node_group]
    found: Floats = options.stops_fraction * site[groups.site[options.node_group]] * own
    return found


def lost_node_h(problem: Problem, chosen: Decisions) -> tuple[Floats, Floats]:
    """Node-hours of each way to work, and of each pausable option, that calls take [O, T], [E, T].

    L[o,t] = phi[o] * signed[s] * (work[o,t] + eff[o] * lent[o,t]);  L[e,t] = phi[e] * signed[s] * done[e,t]

    phi as in `curtailed_fraction`; an hour of a lent node counts as what it does.
    """
    works, pausable = problem.work_options, problem.pausable_options
    if not (chosen.signed.size and chosen.signed.any()):
        return np.zeros_like(chosen.work_node_h), np.zeros_like(chosen.done_node_h)
    worked = chosen.work_node_h
    if len(problem.slots):
        worked = worked + problem.work_shifts.lent_speed_fraction[:, None] * lent_node_h(problem, chosen)
    found = [
        (curtailed_fraction(problem, options) * chosen.signed[problem.node_groups.site[options.node_group]])[
            :, None
        ]
        * hours
        for options, hours in ((works, worked), (pausable, chosen.done_node_h))
    ]
    return found[0], found[1]


def lost_work_h(problem: Problem, chosen: Decisions) -> Floats:
    """Reference node-hours of each work that are lost where sites are curtailed [W, T].

    L[w,t] = sum_o speed[o] * L[o,t], L[o,t] as in `lost_node_h`
    """
    options, lost = problem.work_options, np.zeros((len(problem.work), problem.periods))
    np.add.at(lost, options.work, options.speed[:, None] * lost_node_h(problem, chosen)[0])
    return lost


def stopped_terms(problem: Problem, chosen: Decisions, kind: str) -> Floats:
    """Money (`usd`), carbon (`kgco2e`) or energy (`kwh`) that work does not take in calls [P, T].

    z[p,t] = - sum_o c[o,t] * L[o,t] - sum_e c[e,t] * L[e,t], over those of p

    What restarting takes after a call is not saved, and nodes idle in it.
    """
    saved = np.zeros((len(problem.node_groups), problem.periods))
    works, pausable = problem.work_options, problem.pausable_options
    of_work, of_jobs = lost_node_h(problem, chosen)
    np.add.at(saved, works.node_group, getattr(works, f"stopped_{kind}_per_node_h") * of_work)
    np.add.at(saved, pausable.node_group, getattr(pausable, f"stopped_{kind}_per_node_h") * of_jobs)
    return -saved


def stopping_kw(problem: Problem, chosen: Decisions) -> Floats:
    """Facility power of work that stops when a site is curtailed, in the mean of each period [S, T].

    K[s,t] = sum_o kw[o] * stops[o] * (work[o,t] + lent[o,t]) / hours[t]
             + sum_e kw[e] * stops[e] * done[e,t] / hours[t], off-site not counted
    """
    groups, works = problem.node_groups, problem.work_options
    found = np.zeros((len(problem.site_names), problem.periods))
    for options, hours in (
        (works, chosen.work_node_h + lent_node_h(problem, chosen)),
        (problem.pausable_options, chosen.done_node_h),
    ):
        own = ~groups.off_site[options.node_group]
        kw = (options.active_kw * options.stops_fraction * own)[:, None] * hours / groups.hours
        np.add.at(found, groups.site[options.node_group], kw)
    return found


def lent_node_h(problem: Problem, chosen: Decisions) -> Floats:
    """Node-hours that each option works on lent nodes [O, T]."""
    if chosen.slots is None or not len(problem.slots):
        return np.zeros_like(chosen.work_node_h)
    lent: Floats = np.einsum("oty,yt->ot", chosen.slots.lent, problem.slots.hours)
    return lent


def changed_kw(problem: Problem, chosen: Decisions) -> Floats:
    """Facility power of each site in each slot over that of the period [S, T, Y].

    D[s,t,y] = sum_o kw[o] * (work[o,t,y] - mean + lent[o,t,y]) + sum_e kw[e] * (done[e,t,y] - mean)
               - sum_v kw[v] * rest[v,t,y] + sum_p (off[p] - idle[p]) * off[p,t,y], off-site not counted

    At sites with a battery or the sun replicas draw what the highest hour of the slot asks for, less what
    those that are quiet or rest save, as in `served_kw`.
    """
    groups, serves = problem.node_groups, problem.serve_options
    works, pausable, used = problem.work_options, problem.pausable_options, use_of(problem, chosen)
    hours = problem.node_groups.hours
    power = np.zeros((len(groups), problem.periods, len(problem.slots)))
    moved = used.work + used.lent - (chosen.work_node_h / hours)[:, :, None]
    paused = used.done - (chosen.done_node_h / hours)[:, :, None]
    np.add.at(power, works.node_group, works.active_kw[:, None, None] * moved)
    np.add.at(power, pausable.node_group, pausable.active_kw[:, None, None] * paused)
    highest, quiet, rest = served_kw(problem)
    served = highest * chosen.replicas[:, :, None] + quiet * used.quiet + rest * used.rest
    np.add.at(power, serves.node_group, served)
    power += (groups.off_kw - groups.idle_kw)[:, None, None] * used.off
    power *= ~groups.off_site[:, None, None]
    found = np.zeros((len(problem.site_names), *power.shape[1:]))
    np.add.at(found, groups.site, power)
    return found


def served_kw(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """What a replica, a quiet one and one that rests add in a slot to the power of the period [V, T, Y].

    0, 0 and -kw[v]; at sites with a battery or the sun highest[v,t,y] - kw[v], and what the energy of the
    slot says that is saved, by its hours.
    """
    serves, hours = problem.serve_options, problem.slots.hours.T
    fine = (has_energy(problem)[problem.node_groups.site] & ~problem.node_groups.off_site)[serves.node_group]
    fine, full = fine[:, None, None], serves.active_kw[:, None, None]
    quiet, rest = (
        np.divide(kwh, hours, out=np.zeros_like(kwh), where=np.broadcast_to(hours > 0, kwh.shape))
        for kwh in (problem.resting.quiet_kwh, problem.resting.rest_kwh)
    )
    return (
        np.where(fine, problem.drawing.highest_kw - full, 0.0),
        np.where(fine, quiet, 0.0),
        np.where(fine, rest, -full),
    )


def above_kw(problem: Problem, chosen: Decisions) -> Floats:
    """By how much the highest slot of a period is above the power that the period counts [S, T].

    Below zero it is taken into account at sites with a battery or the sun alone.
    """
    if not len(problem.slots):
        return np.zeros((len(problem.site_names), problem.periods))
    changed = changed_kw(problem, chosen)
    highest: Floats = np.maximum(changed.max(axis=2), 0.0)
    drawn = np.where(problem.slots.hours.T > 0, changed + net_kw(problem, chosen.slots), -np.inf)
    return np.where(has_energy(problem)[:, None], drawn.max(axis=2), highest)


def slot_terms(problem: Problem, chosen: Decisions, kind: str) -> dict[str, Floats]:
    """Money (`usd`), carbon (`kgco2e`) or energy (`kwh`) of what is decided by slot, by node group [P, T].

    shift = sum_y h[y,t] * c[x,t,y] * x[t,y] + days[y,t] * c_stop[x,t] * stop[x,t,y]; pausable jobs as well
    rest  = sum_y c_quiet * quiet + c_rest * rest + c_off * off + days[y,t] * (c_wake * wake + c_boot * boot)
    lend  = sum_y h[y,t] * c_lent[o,t,y] * lent[o,t,y]

    Work that moves draws what it draws: c is 0 for energy, and c_stop is not.
    """
    shape = len(problem.node_groups), problem.periods
    terms = {name: np.zeros(shape) for name in ("shift", "rest", "lend")}
    if not len(problem.slots) or chosen.slots is None:
        return terms
    used, slots, resting, switching = chosen.slots, problem.slots, problem.resting, problem.switching
    hours, days = slots.hours.T, slots.days.T

    def put(name: str, group: Whole, amounts: Floats) -> None:
        np.add.at(terms[name], group, amounts.sum(axis=2))

    for table, amounts, group in (
        (problem.work_shifts, used.work, problem.work_options.node_group),
        (problem.pausable_shifts, used.done, problem.pausable_options.node_group),
    ):
        if kind != "kwh":
            put("shift", group, hours * getattr(table, f"{kind}_per_node_h") * amounts)
        stop = getattr(table, f"stop_{kind}")[:, :, None]
        put("shift", group, days * stop * shrinking(problem, amounts))
    serving, every = problem.serve_options.node_group, np.arange(shape[0])
    put("rest", serving, getattr(resting, f"quiet_{kind}") * used.quiet)
    put("rest", serving, getattr(resting, f"rest_{kind}") * used.rest)
    wake = getattr(resting, f"wake_{kind}")[:, :, None]
    put("rest", serving, days * wake * shrinking(problem, used.rest))
    put("rest", every, getattr(switching, f"off_{kind}") * used.off)
    boot = getattr(switching, f"boot_{kind}")[:, :, None]
    put("rest", every, days * boot * shrinking(problem, used.off))
    lent = getattr(problem.work_shifts, f"lent_{kind}_per_node_h") * used.lent
    put("lend", problem.work_options.node_group, hours * lent)
    return terms
