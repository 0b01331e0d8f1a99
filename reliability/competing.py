"""What units die of, where one cause takes them before another can: cumulative incidence by cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reliability.columns import Floats
from reliability.likelihood import normal_quantile
from reliability.rows import LifeRows


@dataclass(frozen=True, slots=True)
class IncidenceCurve:
    """Share of all units that has died of one cause, at each time that any death was seen."""

    time_h: Floats
    deaths: Floats
    incidence_fraction: Floats
    variance: Floats
    low_fraction: Floats
    high_fraction: Floats


@dataclass(frozen=True, slots=True)
class Incidences:
    """Incidence of each cause and survival of all of them, which add up to 1 at each time."""

    time_h: Floats
    at_risk: Floats
    survival_fraction: Floats
    causes: dict[Any, IncidenceCurve]


def cumulative_incidence(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    cause: ArrayLike,
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
    confidence_fraction: float = 0.95,
) -> Incidences:
    """Share dead of each cause by each age, the other causes at work (Aalen and Johansen).

        F_k(t) = sum over t_i <= t of S(t_i-) * d_ki / n_i,   S(t) + sum of F_k(t) = 1
        Var[F(t)] = sum (F(t) - F_i)^2 * d_i / (n_i * (n_i - d_i))
                    + sum S(t_i-)^2 * d_ki * (n_i - d_ki) / n_i^3
                    - 2 * sum (F(t) - F_i) * S(t_i-) * d_ki / n_i^2

    One minus a Kaplan-Meier curve of one cause, the others censored, is too high: that is what would happen
    if nothing else killed. The band is normal on ln(-ln F) and cannot leave [0, 1].

    Args:
        duration_h: age at death, or when last seen alive.
        observed: whether the row ended in death.
        cause: what of; not looked at where the row did not end in death.
        entry_h: age at which watching began (0: from new); below the duration.
        weight: how many units the row stands for.
        confidence_fraction: how often the band is to hold the truth, at one age.

    Source: Aalen and Johansen, Scandinavian Journal of Statistics 5, 1978; variance as in lifelines.
    """
    reach = normal_quantile(confidence_fraction)
    rows = LifeRows.checked(duration_h, observed, entry_h, weight)
    causes = np.broadcast_to(np.asarray(cause), rows.duration_h.shape)
    times, deaths, at_risk = rows.steps()
    before = np.concatenate([[1.0], np.cumprod(1.0 - np.minimum(deaths / at_risk, 1.0))])
    place = np.searchsorted(times, rows.duration_h[rows.observed])
    died_of, weights = causes[rows.observed], rows.weight[rows.observed]
    curves = {}
    for name in np.unique(died_of):
        mine = died_of == name
        own = np.bincount(place[mine], weights=weights[mine], minlength=times.size).astype(float)
        incidence = np.minimum(np.cumsum(before[:-1] * own / at_risk), 1.0)
        variance = _variance(incidence, own, deaths, at_risk, before[:-1])
        curves[name.item()] = IncidenceCurve(
            times, own, incidence, variance, *_band(incidence, variance, reach)
        )
    return Incidences(times, at_risk, before[1:], curves)


def _variance(incidence: Floats, own: Floats, deaths: Floats, at_risk: Floats, before: Floats) -> Floats:
    """Sums of (F(t) - F_i)^n by running sums of powers of F_i."""
    alive = at_risk - deaths
    # Where all at risk die no curve moves afterwards, so that step has no weight in the first sum.
    risk = np.divide(deaths, at_risk * alive, out=np.zeros_like(alive), where=alive > 0)
    first = (
        incidence**2 * np.cumsum(risk)
        - 2.0 * incidence * np.cumsum(risk * incidence)
        + np.cumsum(risk * incidence**2)
    )
    second = np.cumsum(before**2 * own * (at_risk - own) / at_risk**3)
    mixed = before * own / at_risk**2
    third = incidence * np.cumsum(mixed) - np.cumsum(mixed * incidence)
    variance: Floats = np.maximum(first + second - 2.0 * third, 0.0)
    return variance


def _band(incidence: Floats, variance: Floats, reach: float) -> tuple[Floats, Floats]:
    """Normal on ln(-ln F); before the first death of the cause and at F = 1 that is the point itself."""
    inside = (incidence > 0.0) & (incidence < 1.0)
    share = np.where(inside, incidence, 0.5)
    spread = np.exp(reach * np.sqrt(variance) / (share * -np.log(share)))
    low, high = share**spread, share ** (1.0 / spread)
    return np.where(inside, low, incidence), np.where(inside, high, incidence)
