"""Rebates and options of a large program: tried, made whole one after the other, exchanged where that pays.

A program of hundreds of node groups is too large for a search of its options: its first corner alone takes an
engine half a minute, and its own rounding as long. Solved again from where it was, after a few bounds have
moved, the program with fractions takes a tenth of a second. So the options of the surest jobs are held, some
at a time, and all the rest is found anew: what is rounded moves the rest elsewhere. The last jobs are the
large ones, and nobody is left to make room for them. So other options are tried for each once all are held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from solver import account, backend
from solver.program import Program
from solver.rows import Variables
from solver.steps import SOON_S, Search
from solver.tables import Flags, Floats, Whole
from solver.warm_relaxation import Fractions

SHARE = 0.6  # of the time left, for all of it
REBATES = 0.25  # of the time left, for better rebates
AT_ONCE = 0.25  # of the jobs that are not whole yet, held next
SURE = 0.6  # a job that is further than this from whole is held alone
OTHERS = 6  # options of a job that are tried instead
ROUNDS = 2  # in which each job that was held alone is tried
SOME = 1e-6  # nearer than this is whole
PAYS = 1e-6  # an exchange that wins less than this share is none


def dive(program: Program, search: Search, start: Mapping[str, float]) -> backend.Outcome | None:
    """Whole rebates, those of the start or better ones, and whole options for them; all else as fractions.

    None where no option of a job leaves a plan. The program stays as it is.
    """
    fractions = search.fractions(program, SHARE)
    choose_rebates(program, fractions, start, search.within(REBATES))
    jobs = program.problem.jobs
    places = [fractions.places(each) for each in _options(program)]
    diving = _Dive(fractions, places, jobs.count, jobs.partial)
    cost = diving.exchange(diving.down())
    if math.isfinite(cost):
        return backend.Outcome(
            backend.Status.TIME_LIMIT, cost, -math.inf, math.inf, 0.0, diving.values, fractions.stopped
        )
    if fractions.stopped:
        return backend.Outcome(
            backend.Status.NO_INCUMBENT, math.nan, -math.inf, math.inf, 0.0, {}, stopped=True
        )
    return None


def choose_rebates(
    program: Program,
    fractions: Fractions,
    start: Mapping[str, float],
    search: Search,
    parts: Floats | None = None,
) -> dict[str, float]:
    """Hold the rebates of the start, and another one of a SKU instead where that is tried and pays; which.

    What is nearest to its next rebate is tried first, until one does not pay or time is up. Where `parts` of
    each are known, all that have one are tried, the largest first.
    """
    tiers, sku = program.problem.tiers, program.problem.node_groups.sku
    units = program.problem.node_groups.order_unit_nodes[:, None]
    places, placed = fractions.places(program.tier), fractions.places(program.order)
    held = np.array([round(start.get(each.name, 0.0)) for each in program.tier], dtype=np.int64)
    fractions.move(places, held, held)
    cost = fractions.solve()
    nodes = account.totals_by(sku, len(program.problem.sku_names), units * fractions.at(placed)).sum(axis=1)
    near = nodes[tiers.sku] / np.maximum(tiers.from_nodes, 1.0) if parts is None else parts
    for tier in np.argsort(-near, kind="stable").tolist():
        own = np.flatnonzero(tiers.sku == tiers.sku[tier])
        now = own[held[own] == 1]
        is_next = now.size == 1 and tiers.from_nodes[tier] > tiers.from_nodes[now[0]]
        is_tried = is_next if parts is None else parts[tier] > SOME and not held[tier]
        if not is_tried or math.isinf(cost):
            continue
        if search.left_s <= SOON_S:
            break
        tried, corner = held.copy(), fractions.corner()
        tried[own] = own == tier
        fractions.move(places, tried, tried)
        found = fractions.solve(cost, afresh=True)
        if found < cost:
            cost, held = found, tried
            continue
        fractions.move(places, held, held)
        fractions.return_to(corner)
        if parts is None:
            break
    return {each.name: float(now) for each, now in zip(program.tier, held, strict=True)}


def _options(program: Program) -> list[Variables]:
    """Of each job its runs, its pausable options, and what leaves it out, if that is counted."""
    problem, jobs = program.problem, program.problem.jobs
    counted = np.flatnonzero(~jobs.partial)
    whole = problem.run_options.counts
    every = np.concatenate([program.run[whole], program.choose, program.left_out[counted]])
    job = np.concatenate([problem.run_options.job[whole], problem.pausable_options.job, counted])
    order = np.argsort(job, kind="stable")
    ends = np.cumsum(np.bincount(job, minlength=len(jobs)))
    return np.split(every[order], ends[:-1])


def rounded(shares: Floats, count: int, *, partial: bool) -> Whole:
    """Whole numbers next to these: the largest fractions up, until they are as many as the jobs.

    Jobs that may be done in part may be fewer.
    """
    whole = np.floor(shares + SOME).astype(np.int64)
    wanted = math.ceil(shares.sum() - SOME) if partial else count
    missing = max(0, min(wanted, count) - int(whole.sum()))
    whole[np.argsort(whole - shares, kind="stable")[:missing]] += 1
    return whole


class _Dive:
    """Fractions of which ever more are held."""

    def __init__(self, fractions: Fractions, places: list[Whole], count: Whole, partial: Flags) -> None:
        self._fractions, self._count, self._partial = fractions, count, partial
        self._places = [each[each >= 0] for each in places]
        self._open = [job for job, own in enumerate(self._places) if own.size]
        self._chosen: dict[int, Whole] = {}  # of each job that is held
        self._most = {job: np.zeros(self._places[job].size) for job in self._open}  # ever seen of each option
        self._barred: dict[int, list[int]] = {}  # options of each job that leave no plan
        self._alone: list[int] = []  # jobs that were held alone, the least sure last
        self.values: dict[str, float] = {}  # of all variables, at the least cost with all jobs held

    def _hold(self, job: int, chosen: Whole) -> None:
        self._fractions.move(self._places[job], chosen, chosen)

    def _release(self, job: int) -> None:
        own = self._places[job]
        most = np.full(own.size, self._count[job])
        most[self._barred.get(job, [])] = 0
        self._fractions.move(own, np.zeros(own.size), most)

    def down(self) -> float:
        """Hold all jobs, the surest first. What that costs; infinite where it leaves no plan."""
        cost = self._fractions.solve()
        while math.isfinite(cost):
            near = self._nearest()
            unsure = [job for job, (_, off) in near.items() if off > SOME]
            if not unsure:
                return self._all_held(near)
            unsure.sort(key=lambda job: near[job][1])
            sure = [job for job in unsure if near[job][1] <= 1 - SURE]
            several = sure[: max(1, int(AT_ONCE * len(unsure)))]
            if not several:  # each alone from here on, which is sooner found where the others do not move
                several = [*unsure[:1], *(job for job in near if job not in unsure)]
            cost = self._hold_all(several, near)
            if math.isinf(cost) and len(several) > 1:
                cost = self._hold_all(several[:1], near)
            if math.isinf(cost):
                cost = self._without(several[0], near)
        return cost

    def _nearest(self) -> dict[int, tuple[Whole, float]]:
        """Of each job that is not held: the nearest whole options, and how far they are."""
        near = {}
        for job in self._open:
            if job in self._chosen:
                continue
            shares = self._fractions.at(self._places[job])
            self._most[job] = np.maximum(self._most[job], shares)
            whole = rounded(shares, int(self._count[job]), partial=bool(self._partial[job]))
            near[job] = whole, float(np.abs(shares - whole).max())
        return near

    def _hold_all(self, several: list[int], near: dict[int, tuple[Whole, float]]) -> float:
        """What it costs to hold these, too; where there is no plan left, they are released again."""
        for job in several:
            self._hold(job, near[job][0])
        cost = self._fractions.solve()
        if math.isfinite(cost):
            self._chosen |= {job: near[job][0] for job in several}
            self._alone += [job for job in several if near[job][1] > 1 - SURE]
        else:
            for job in several:
                self._release(job)
        return cost

    def _without(self, job: int, near: dict[int, tuple[Whole, float]]) -> float:
        """What it costs without the options of a job that leave no plan; infinite where that was none."""
        options = np.flatnonzero(near[job][0])
        self._barred.setdefault(job, []).extend(options.tolist())
        self._release(job)
        return self._fractions.solve() if options.size else math.inf

    def _all_held(self, near: dict[int, tuple[Whole, float]]) -> float:
        for job, (whole, _) in near.items():
            self._hold(job, whole)
            self._chosen[job] = whole
        cost = self._fractions.solve()
        if math.isfinite(cost):
            self.values = self._fractions.values()
        return cost

    def exchange(self, cost: float) -> float:
        """Try other options for the jobs that were held alone, until none pays. What it costs then."""
        for _ in range(ROUNDS if math.isfinite(cost) else 0):
            before = cost
            for job in reversed(self._alone):
                cost = self._exchanged(job, cost)
            if cost == before:
                break
        return cost

    def _exchanged(self, job: int, cost: float) -> float:
        """The best that one job does by its other options, while all others stay."""
        for other in np.argsort(-self._most[job], kind="stable")[: OTHERS + 1].tolist():
            now = self._chosen[job]
            used = np.flatnonzero(now)
            if not used.size or now[other]:
                continue
            instead = now.copy()
            instead[used[np.argmin(self._most[job][used])]] -= 1
            instead[other] += 1
            self._hold(job, instead)
            found = self._fractions.solve(cost * (1 - PAYS) if cost > 0 else cost)
            if found < cost:
                cost, self._chosen[job], self.values = found, instead, self._fractions.values()
            else:
                self._hold(job, now)
        return cost
