"""Money against carbon: the two ends, each solved in order of importance, and the front between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solver import backend
from solver.answer import answer
from solver.decisions import Effort
from solver.known import Answer
from solver.problem import Objective, Problem, Solution
from solver.verify import objective_value
from solver.within_cap import Supports, answer_within_cap

MONEY = Objective(money_weight=1.0, carbon_weight=0.0)
CARBON = Objective(money_weight=0.0, carbon_weight=1.0)
ROUNDING = 1e-9  # room, in shares, so that a level does not bar the very plan that it was read from
# Of the first, given up for the second: with less room prices find no plans that a plain search misses.
NARROW = 0.01


@dataclass(frozen=True, slots=True)
class Point:
    """One plan of the front: the least money found with no more than `cap_kgco2e` of carbon."""

    cap_kgco2e: float
    answer: Answer
    solution: Solution

    @property
    def usd(self) -> float:
        """Money of the plan."""
        return self.solution.usd

    @property
    def kgco2e(self) -> float:
        """Carbon of the plan, often below its cap."""
        return self.solution.kgco2e


@dataclass(frozen=True, slots=True)
class Front:
    """The points from the cleanest to the cheapest, which of them another makes needless, and the knee.

    `ended` is how the last solve ended: a front is complete if that is a plan and it was not stopped.
    """

    points: tuple[Point, ...]
    dominated: tuple[bool, ...]
    knee: int | None
    complete: bool
    ended: backend.Status


Tell = Callable[[Point, int], None]  # a new point, and how many are still to come


def lexicographic(
    problem: Problem,
    *,
    carbon_first: bool,
    tolerance_fraction: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    should_stop: backend.Stop | None = None,
    start: Solution | None = None,
) -> Answer:
    """Least carbon, then least money at that; or the other way round.

        minimise z2(x), subject to z1(x) <= z1* + tolerance * |z1*|

    z1* is the objective of the plan found first, proven within the gap only. The answer's objective and bound
    are those of z2; the time limit is that of each of the two solves.
    """
    if not tolerance_fraction >= 0:
        raise ValueError(f"tolerance_fraction is a share of at least 0, got {tolerance_fraction}")
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    order = (CARBON, MONEY) if carbon_first else (MONEY, CARBON)
    best = answer(replace(problem, objective=order[0]), **effort, start=start)
    if best.solution is None or best.status is backend.Status.INTERRUPTED:
        return best
    after = after_first(
        problem, best.objective, carbon_first=carbon_first, tolerance_fraction=tolerance_fraction
    )
    search = answer if tolerance_fraction <= NARROW else answer_within_cap
    second = search(after, **effort, start=best.solution)
    elapsed_s = best.elapsed_s + second.elapsed_s
    if second.solution is not None:
        return replace(second, elapsed_s=elapsed_s)
    # Time ran out before the engine took up the plan that is known.
    found = objective_value(after, best.solution)
    return Answer(backend.Status.TIME_LIMIT, best.solution, found, -math.inf, math.inf, elapsed_s)


def after_first(problem: Problem, best: float, *, carbon_first: bool, tolerance_fraction: float) -> Problem:
    """The problem of the second objective, once the best of the first is known.

    minimise z2(x), subject to z1(x) <= z1* + tolerance * |z1*|
    """
    limits = problem.limits
    if carbon_first:
        cap = _cap(best, tolerance_fraction, limits.carbon_cap_kgco2e)
        return replace(problem, objective=MONEY, limits=replace(limits, carbon_cap_kgco2e=cap))
    cap = _cap(best, tolerance_fraction, limits.money_cap_usd)
    return replace(problem, objective=CARBON, limits=replace(limits, money_cap_usd=cap))


def _cap(best: float, tolerance_fraction: float, cap: float) -> float:
    return min(best + (tolerance_fraction + ROUNDING) * abs(best), cap)


def pareto_front(
    problem: Problem,
    *,
    points: int,
    tolerance_fraction: float,
    gap_fraction: float,
    time_limit_s: float,
    tolerance: float = 1e-6,
    tell: Tell | None = None,
    should_stop: backend.Stop | None = None,
) -> Front:
    """The least money at evenly spaced levels of carbon, from the cleanest plan to the cheapest.

        minimise USD(x), subject to kgCO2e(x) <= level[i]

    The ends are lexicographic: least carbon, then money; least money, then carbon. Levels are walked upwards,
    because a plan of one level keeps the next as well and is its warm start; every plan is checked. What is
    found with prices on carbon for one level serves the next. The problem's own objective is not looked at,
    its limits are. A stop keeps the points that are there, and the time limit is that of each solve.

    Source: Haimes, Lasdon and Wismer, "On a bicriterion formulation", IEEE Transactions on Systems, Man, and
    Cybernetics SMC-1(3), 1971 (the epsilon-constraint method).
    """
    if points < 2:
        raise ValueError(f"points is a count of at least 2, got {points}")
    effort = Effort(
        gap_fraction=gap_fraction, time_limit_s=time_limit_s, tolerance=tolerance, should_stop=should_stop
    )
    found: list[Point] = []

    def keep(cap_kgco2e: float, plan: Answer, to_come: int) -> bool:
        """Take a point up; may the walk go on?"""
        if plan.solution is not None:
            found.append(Point(cap_kgco2e, plan, plan.solution))
            if tell is not None:
                tell(found[-1], to_come)
        return plan.solution is not None and plan.status is not backend.Status.INTERRUPTED

    def end(carbon_first: bool, start: Solution | None = None) -> Answer:
        return lexicographic(
            problem,
            carbon_first=carbon_first,
            tolerance_fraction=tolerance_fraction,
            **effort,
            start=start,
        )

    clean = end(carbon_first=True)
    if clean.solution is None or not keep(clean.solution.kgco2e, clean, points - 1):
        return gathered(found, clean.status, gap_fraction, complete=False)
    cheap = end(carbon_first=False, start=clean.solution)
    if cheap.solution is None or not keep(cheap.solution.kgco2e, cheap, points - 2):
        return gathered(found, cheap.status, gap_fraction, complete=False)
    levels = np.linspace(clean.solution.kgco2e, cheap.solution.kgco2e, points)[1:-1]
    neighbour, ended = clean.solution, cheap.status
    supports = Supports([clean.solution, cheap.solution])
    for number, level in enumerate(levels.tolist()):
        limits = replace(problem.limits, carbon_cap_kgco2e=min(level, problem.limits.carbon_cap_kgco2e))
        capped = replace(problem, objective=MONEY, limits=limits)
        plan = answer_within_cap(capped, **effort, start=neighbour, supports=supports)
        ended = plan.status
        if not keep(level, plan, len(levels) - number - 1):
            return gathered(found, ended, gap_fraction, complete=False)
        neighbour = found[-1].solution
    return gathered(found, ended, gap_fraction, complete=True)


def dominated(usd: Sequence[float], kgco2e: Sequence[float], *, gap_fraction: float) -> tuple[bool, ...]:
    """Which points another one makes needless: no more carbon, and no dearer by more than the gap.

    Of equal points the first is kept. Within the gap, because a saving smaller than that may be the engine's.
    """
    needless = np.zeros(len(usd), dtype=bool)
    least = math.inf  # money of the last point that was kept; all before it are at least as clean
    for row in np.lexsort((usd, kgco2e)):
        if least <= usd[row] + max(gap_fraction, ROUNDING) * abs(usd[row]):
            needless[row] = True
        else:
            least = usd[row]
    return tuple(bool(each) for each in needless)


def knee(usd: Sequence[float], kgco2e: Sequence[float]) -> int | None:
    """The point farthest below the chord between the cleanest and the cheapest, both axes scaled to 0..1.

        d[i] = (1 - m[i] - c[i]) / sqrt(2)

    None for fewer than three points, or where none lies below the chord.

    Source: Das, "On characterizing the knee of the Pareto curve", Structural Optimization 18, 1999.
    """
    if len(usd) < 3:
        return None
    money, carbon = np.asarray(usd, dtype=float), np.asarray(kgco2e, dtype=float)
    ranges = np.ptp(money), np.ptp(carbon)
    if not all(ranges):
        return None
    below = (1 - (money - money.min()) / ranges[0] - (carbon - carbon.min()) / ranges[1]) / math.sqrt(2)
    farthest = int(below.argmax())
    return farthest if below[farthest] > ROUNDING else None


def gathered(found: Sequence[Point], ended: backend.Status, gap_fraction: float, *, complete: bool) -> Front:
    """The points in order of carbon, marked."""
    points = sorted(found, key=lambda each: (each.cap_kgco2e, each.kgco2e))
    usd, kgco2e = [each.usd for each in points], [each.kgco2e for each in points]
    needless = dominated(usd, kgco2e, gap_fraction=gap_fraction)
    kept = [number for number, each in enumerate(needless) if not each]
    best = knee([usd[each] for each in kept], [kgco2e[each] for each in kept])
    return Front(tuple(points), needless, None if best is None else kept[best], complete, ended)
