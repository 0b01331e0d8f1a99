"""Ranges of results from ranges of facts: one at a time (`tornado`) and all together (`spread`).

Every fact with a range is drawn so that half of the draws lie below its value and half above. Within each
half a fact that somebody measured, published, declared or estimated falls off linearly towards the end of
its range (triangular); an assumed one, or one of the user's, is as likely anywhere (uniform). Facts that err
for the same reason are drawn together: the same property in the same room (all grid intensities, all
embodied boards) shares one random number. Each number is stratified over its range (Latin hypercube: McKay,
Beckman and Conover, Technometrics 1979), so that few draws suffice. Choices stay as they are: this is the
range of the plan as made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.trace.origins import facts_of
from planner.trace.quantities import Call, Derived, Fact, Traced, chosen
from planner.trace.recomputation import recomputed


@dataclass(frozen=True, slots=True)
class Swing:
    """What a result does when one fact goes to the ends of its range."""

    fact: Fact
    at_low: float
    at_high: float

    @property
    def width(self) -> float:
        """Distance between the two ends."""
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True, slots=True)
class Spread:
    """Quantiles of a result over joint draws of its facts."""

    p5: float
    p50: float
    p95: float


def ranged_facts(*targets: Traced) -> tuple[Fact, ...]:
    """Facts behind the targets that carry a range."""
    return tuple(
        f for f in facts_of(*targets).values() if f.low is not None and f.high is not None and f.low < f.high
    )


def swings(target: Traced) -> list[Swing]:
    """What `target` does when each of its facts goes alone to its low and its high, widest first."""
    facts = ranged_facts(target)
    ends = [{fact.key: float(end or 0)} for fact in facts for end in (fact.low, fact.high)]
    found = [float(value) for (value,) in recomputed([target], ends)]
    every = [Swing(*each) for each in zip(facts, found[::2], found[1::2], strict=True)]
    return sorted(every, key=lambda swing: -swing.width)


def tornado(target: Traced, most: int = 12) -> list[Swing]:
    """The facts that move `target` most when each goes alone to its low and its high, widest first."""
    return swings(target)[:most]


def narrowed(every: Sequence[Swing]) -> dict[str, float]:
    """Share by which the range of a result narrows if all facts of a cause were known, by cause.

    1 - sqrt(1 - W_c^2 / sum W^2), where W_c is the sum of the widths of the facts that err together.
    """
    width: dict[str, float] = {}
    for swing in every:
        width[cause_of(swing.fact)] = width.get(cause_of(swing.fact), 0.0) + swing.width
    whole = sum(one**2 for one in width.values())
    if not whole:
        return dict.fromkeys(width, 0.0)
    return {cause: 1.0 - float(np.sqrt(max(1.0 - one**2 / whole, 0.0))) for cause, one in width.items()}


def spread(targets: Sequence[Traced], draws: int = 400, seed: int = 0) -> list[Spread]:
    """p5, p50 and p95 of each target when all facts with a range are drawn jointly."""
    facts = ranged_facts(*targets)
    if not facts:
        return [Spread(*(3 * [float(target.value)])) for target in targets]
    columns = dict(zip((fact.key for fact in facts), draw_facts(facts, draws, seed), strict=True))
    drawn = [{key: float(column[i]) for key, column in columns.items()} for i in range(draws)]
    results = np.array(recomputed(targets, drawn))
    return [Spread(*(float(q) for q in np.quantile(column, (0.05, 0.5, 0.95)))) for column in results.T]


def percentiles(
    target: Traced, band: Spread, draws: int, seed: int = 0, also: Sequence[Fact] = ()
) -> dict[str, Traced]:
    """p5, p50 and p95 of a result, each on the estimate, the draws and the facts that were drawn.

    `also` are facts by which more than facts was drawn. Where nothing moves it, each of them is the estimate.
    """
    behind = (*ranged_facts(target), *(also if band.p5 != band.p95 else ()))
    facts = {fact.key: fact for fact in sorted(behind, key=lambda fact: fact.key)}
    if not facts:
        return dict.fromkeys(("p5", "p50", "p95"), target)
    random: dict[str, Traced] = {"seed": chosen("seed", seed, "of the random numbers")}
    drawn = Derived(float(draws), "1", call=Call(joint_draws, {**random, **facts}))
    inputs = {"estimate": target, "draws": drawn}
    return {
        name: Derived(value, target.unit, boundary=target.boundary, call=Call(function, inputs))
        for name, value, function in (("p5", band.p5, p5), ("p50", band.p50, p50), ("p95", band.p95, p95))
    }


def joint_draws(**facts: float) -> float:
    """Draws of the facts with a range, all together.

    n = number of draws of all facts below

    Source: McKay, Beckman and Conover, Technometrics 1979 (Latin hypercube): half of the draws of a fact lie
    above its value and half below; facts that err for one reason share a random number.
    """
    raise TypeError(_NOT_AGAIN)


def p5(*, estimate: float, draws: float) -> float:
    """Low end of a result over joint draws of its facts.

    q = value that 5 of 100 draws of the facts stay below

    Source: empirical quantile.
    """
    raise TypeError(_NOT_AGAIN)


def p50(*, estimate: float, draws: float) -> float:
    """Middle of a result over joint draws of its facts.

    q = value that 50 of 100 draws of the facts stay below

    Source: empirical quantile.
    """
    raise TypeError(_NOT_AGAIN)


def p95(*, estimate: float, draws: float) -> float:
    """High end of a result over joint draws of its facts.

    q = value that 95 of 100 draws of the facts stay below

    Source: empirical quantile.
    """
    raise TypeError(_NOT_AGAIN)


_NOT_AGAIN = "a percentile is drawn with all others: ask `spread`"


def draw_facts(facts: Sequence[Fact], draws: int, seed: int) -> list[NDArray[np.float64]]:
    """One column of draws for each fact; facts of one cause move together."""
    causes = stratified({cause_of(fact) for fact in facts}, draws, seed)
    return [_quantile(fact, causes[cause_of(fact)]) for fact in facts]


def stratified(names: Iterable[str], draws: int, seed: int | Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Numbers between 0 and 1 for each name, one in each of as many strata as there are draws."""
    generator = np.random.default_rng(seed)
    return {name: (generator.permutation(draws) + generator.random(draws)) / draws for name in sorted(names)}


def cause_of(fact: Fact) -> str:
    """Why a fact may be wrong: facts with the same room and property err together."""
    room, _, rest = fact.key.partition(".")
    return f"{room}.{rest.rpartition('.')[2].partition('@')[0]}"


def _quantile(fact: Fact, u: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(fact.low or 0), float(fact.high or 0)
    away: NDArray[np.float64] = np.abs(2 * u - 1)  # 0 at the value itself, 1 at the end of the range
    if fact.kind not in ("assumed", "yours"):
        away = 1 - np.sqrt(1 - away)
    drawn: NDArray[np.float64] = np.where(
        u < 0.5, fact.value + away * (low - fact.value), fact.value + away * (high - fact.value)
    )
    return drawn
