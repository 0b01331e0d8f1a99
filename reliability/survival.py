"""What a log shows without a model: who survived, who was at risk, and how far a model is from that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reliability.columns import Column, Floats, Indices
from reliability.domain import require_at_least, require_not_negative
from reliability.lifetimes import Lifetime
from reliability.likelihood import normal_quantile
from reliability.rows import LifeRows, weight_from


@dataclass(frozen=True, slots=True)
class SurvivalCurve:
    """Kaplan-Meier curve at each time that a death was seen, with those at risk just before it."""

    time_h: Floats
    at_risk: Floats
    deaths: Floats
    survival_fraction: Floats
    low_fraction: Floats
    high_fraction: Floats

    def survival_at(self, *, time_h: Column) -> Column:
        """Share alive at a time: the last step at or before it."""
        step = np.searchsorted(self.time_h, time_h, side="right")
        return np.concatenate([[1.0], self.survival_fraction])[step]


@dataclass(frozen=True, slots=True)
class RiskTable:
    """Who is watched just before each time, and what happened from new up to and including it."""

    time_h: Floats
    at_risk: Floats
    deaths: Floats
    censored: Floats


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Columns for two charts, and one number.

    Survival of the log with its band against `model_fraction`; and `log_hazard` against `model_hazard`, which
    are the Cox-Snell residuals: a right model lies on the diagonal. `distance_fraction` is the largest gap
    in survival at any death, Kolmogorov and Smirnov's; its usual tables do not hold for a fitted model.
    """

    time_h: Floats
    survival_fraction: Floats
    low_fraction: Floats
    high_fraction: Floats
    model_fraction: Floats
    log_hazard: Floats
    model_hazard: Floats
    distance_fraction: float


def kaplan_meier(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
    confidence_fraction: float = 0.95,
) -> SurvivalCurve:
    """Survival curve without a model.

        S(t) = product over death times t_i <= t of (1 - d_i / n_i)
        band: exp(-exp(ln(-ln S) -/+ z * sqrt(sum of d_i / (n_i * (n_i - d_i))) / ln S))

    The band cannot leave [0, 1]; where it is not defined (nobody left alive) it is the widest.

    Args:
        duration_h: age at death, or when last seen alive.
        observed: whether the row ended in death.
        entry_h: age at which watching began (0: from new); below the duration.
        weight: how many units the row stands for.
        confidence_fraction: how often the band is to hold the truth, at one age.

    Source: Kaplan and Meier, JASA 53, 1958; band of Greenwood's variance on ln(-ln S).
    """
    reach = normal_quantile(confidence_fraction)
    rows = LifeRows.checked(duration_h, observed, entry_h, weight)
    times, deaths, at_risk = rows.steps()
    with np.errstate(divide="ignore", invalid="ignore"):  # the step to zero, where all at risk die
        hazard = -np.cumsum(np.log1p(-np.minimum(deaths / at_risk, 1.0)))
        spread = reach * np.sqrt(np.cumsum(deaths / (at_risk * (at_risk - deaths)))) / hazard
        low, high = (np.exp(-hazard * np.exp(side)) for side in (spread, -spread))
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
    return SurvivalCurve(times, at_risk, deaths, np.exp(-hazard), low, high)


def risk_table(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    time_h: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
) -> RiskTable:
    """Who is at risk at given times, for under a survival chart; other arguments as in `kaplan_meier`.

    Source: counting.
    """
    times = np.atleast_1d(np.asarray(time_h, dtype=float))
    require_not_negative(time_h=times)
    rows = LifeRows.checked(duration_h, observed, entry_h, weight)
    after = np.nextafter(times, np.inf)
    deaths, censored = (
        rows.weight[kind].sum() - weight_from(rows.duration_h[kind], rows.weight[kind], after)
        for kind in (rows.observed, ~rows.observed)
    )
    return RiskTable(times, rows.at_risk(times), deaths, censored)


def goodness_of_fit(
    lifetime: Lifetime,
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
    confidence_fraction: float = 0.95,
    points: int = 100,
) -> GoodnessOfFit:
    """How far a model is from the log, at no more than `points` ages with equal deaths between them.

        D = max over death times of |S_KM - S|,  before and after the step
        residual r = H(t), which is exponential of mean 1 where the model is right

    Where all rows enter late, the model starts at the first entry, as the curve does.

    Source: Cox and Snell, JRSS B 30, 1968.
    """
    require_at_least(1.0, points=points)
    rows = {"duration_h": duration_h, "observed": observed, "entry_h": entry_h, "weight": weight}
    curve = kaplan_meier(**rows, confidence_fraction=confidence_fraction)
    first_h = float(np.min(entry_h))
    hazard = np.asarray(lifetime.cumulative_hazard(age_h=curve.time_h))
    hazard = hazard - lifetime.cumulative_hazard(age_h=first_h)
    model = np.exp(-hazard)
    before = np.concatenate([[1.0], curve.survival_fraction[:-1]])
    gap = np.maximum(np.abs(curve.survival_fraction - model), np.abs(before - model))
    died = np.cumsum(curve.deaths)
    wanted = np.linspace(0.0, float(died[-1]), int(points) + 1)[1:]
    shown = np.unique(np.minimum(np.searchsorted(died, wanted), died.size - 1))
    return GoodnessOfFit(
        time_h=curve.time_h[shown],
        survival_fraction=curve.survival_fraction[shown],
        low_fraction=curve.low_fraction[shown],
        high_fraction=curve.high_fraction[shown],
        model_fraction=model[shown],
        log_hazard=np.cumsum(curve.deaths / curve.at_risk)[shown],
        model_hazard=hazard[shown],
        distance_fraction=float(gap.max()),
    )


def concordance_fraction(
    *, duration_h: ArrayLike, observed: ArrayLike, risk: ArrayLike, weight: ArrayLike = 1.0
) -> float:
    """How often the one of a pair that dies first had the higher risk; 0.5 is chance.

        C = (pairs in order + half of those of equal risk) / pairs

    A pair counts where one is seen to die while the other is alive. Late entry is left out.

    Source: Harrell et al., JAMA 247, 1982.
    """
    rows = LifeRows.checked(duration_h, observed, 0.0, weight)
    scores = np.broadcast_to(np.asarray(risk, dtype=float), rows.duration_h.shape)
    # Latest first; at one time the survivors come first, for they outlive those who die then.
    order = np.lexsort((rows.observed, -rows.duration_h))
    time, died, weights = rows.duration_h[order], rows.observed[order], rows.weight[order]
    ranks = np.unique(scores[order], return_inverse=True)[1]
    starts = np.concatenate([[True], (np.diff(time) != 0) | np.diff(died)])
    outlived_by = np.maximum.accumulate(np.where(starts, np.arange(time.size), 0))[died]
    pairs = float(weights[died] @ np.concatenate([[0.0], np.cumsum(weights)])[outlived_by])
    if not pairs:
        raise ValueError("duration_h must hold a unit that outlives a death, got none")
    lower, equal = _weight_below(ranks, weights, outlived_by, ranks[died])
    return float(weights[died] @ (lower + equal / 2.0)) / pairs


def _weight_below(ranks: Indices, weights: Floats, stop: Indices, wanted: Indices) -> tuple[Floats, Floats]:
    """Weight of the first `stop` items of a rank below the asked one, and of that rank.

    Bit by bit from the top, items are split in order into those with a 0 and with a 1 (a wavelet tree).
    """
    start, below = np.zeros_like(stop), np.zeros(stop.shape)
    for bit in reversed(range(int(ranks.max()).bit_length())):
        one, up = (ranks >> bit & 1).astype(bool), (wanted >> bit & 1).astype(bool)
        zeros_before = np.concatenate([[0], np.cumsum(~one)])
        weight_before = np.concatenate([[0.0], np.cumsum(np.where(one, 0.0, weights))])
        below += np.where(up, weight_before[stop] - weight_before[start], 0.0)
        start, stop = (
            np.where(up, zeros_before[-1] + place - zeros_before[place], zeros_before[place])
            for place in (start, stop)
        )
        ranks, weights = (np.concatenate([column[~one], column[one]]) for column in (ranks, weights))
    before = np.concatenate([[0.0], np.cumsum(weights)])
    return below, before[stop] - before[start]
