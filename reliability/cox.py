"""What makes some units die sooner: Cox's hazard ratios, by numbers and by levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from reliability.columns import Floats, Indices
from reliability.covariates import (
    CovariateRows,
    Ratios,
    centre_and_scale,
    covariate_rows,
    ratios_with_intervals,
    separated_message,
)
from reliability.likelihood import NoMaximumError, highest_likelihood
from reliability.rows import LifeRows, codes
from reliability.survival import concordance_fraction, kaplan_meier

Clock = Literal["km", "rank", "age", "log_age"]


@dataclass(frozen=True, slots=True)
class ProportionalityTest:
    """Whether hazard ratios change with age; each covariate with all its levels, then all together."""

    names: tuple[str, ...]
    chi_square: Floats
    degrees_of_freedom: Indices
    p_value: Floats


@dataclass(frozen=True, slots=True)
class CoxFit:
    """Log hazard ratios of highest partial likelihood; `covariance` is in the order of `names`."""

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    log_partial_likelihood: float
    null_log_partial_likelihood: float
    rows: CovariateRows = field(repr=False)

    def hazard_ratios(self, *, confidence_fraction: float) -> Ratios:
        """How many times the hazard of the reference, or of one unit less."""
        return ratios_with_intervals(self.names, self.coefficients, self.covariance, confidence_fraction)

    def concordance_fraction(self) -> float:
        """How often the one of a pair that dies first had the higher risk, in the rows fitted."""
        life = self.rows.life
        return concordance_fraction(
            duration_h=life.duration_h,
            observed=life.observed,
            weight=life.weight,
            risk=self.rows.matrix @ self.coefficients,
        )


def fit_cox(
    *,
    duration_h: ArrayLike,
    observed: ArrayLike,
    covariates: Mapping[str, ArrayLike],
    categorical: Collection[str] = (),
    entry_h: ArrayLike = 0.0,
    weight: ArrayLike = 1.0,
) -> CoxFit:
    """Proportional hazards of highest partial likelihood, ties by Efron.

        h(t | x) = h0(t) * exp(b'x)
        ln L = sum over deaths of b'x - sum over death times, l < d, of ln(S0 - l / d * D0)

    S0 and D0 are the sums of exp(b'x) over those at risk and over the d that die then.

    Args:
        duration_h: age at death, or when last seen alive.
        observed: whether the row ended in death.
        covariates: a column for each name (a pandas frame's columns, a dictionary of arrays).
        categorical: names whose values are levels, not numbers; text always is. The lowest is the reference.
        entry_h: age at which watching began (0: from new); below the duration.
        weight: how many units the row stands for, a whole number.

    Source: Cox, JRSS B 34, 1972; Efron, JASA 72, 1977.
    """
    rows = covariate_rows(LifeRows.checked(duration_h, observed, entry_h, weight), covariates, categorical)
    if np.any(rows.life.weight != np.round(rows.life.weight)):
        raise ValueError("weight must be whole numbers: Efron's ties are between counted units")
    centre, scale = centre_and_scale(rows)
    sets = _risk_sets(rows.life, (rows.matrix - centre) / scale)

    def likelihood(point: Floats) -> tuple[float, Floats, Floats]:
        sums = _risk_sums(sets, point)
        return sums.value, _score(sets, sums, sets.always), -_information(sets, sums, sets.always)

    none = np.zeros(scale.size)
    try:
        point, value, covariance = highest_likelihood(likelihood, none)
    except NoMaximumError as error:
        raise ValueError(separated_message(rows.design, error.step)) from error
    covariance = covariance / np.outer(scale, scale)
    null = _risk_sums(sets, none).value
    return CoxFit(rows.design.names, point / scale, covariance, value, null, rows)


def proportional_hazards_test(fit: CoxFit, *, clock: Clock = "km") -> ProportionalityTest:
    """Score test that the log hazard ratios do not change with age.

        b(t) = b + c * g(t),  chi^2 = U' (I_cc - I_cb * I_bb^-1 * I_bc)^-1 U  at c = 0

    g is `clock`: share dead before (km), rank of the death time, age, or its logarithm. With many deaths it
    finds changes too small to matter: look at how large they are.

    Source: Grambsch and Therneau, Biometrika 81, 1994; as cox.zph of R's survival from version 3.
    """
    centre, scale = centre_and_scale(fit.rows)
    sets = _risk_sets(fit.rows.life, (fit.rows.matrix - centre) / scale)
    sums = _risk_sums(sets, fit.coefficients * scale)
    time = _clock(fit.rows.life, sets, clock)
    score = _score(sets, sums, time)
    whole, cross, twice = (_information(sets, sums, power) for power in (sets.always, time, time**2))
    variance = twice - cross @ np.linalg.solve(whole, cross)
    owners = np.array(fit.rows.design.covariates)
    chosen = [np.flatnonzero(owners == name) for name in fit.rows.design.levels] + [np.arange(owners.size)]
    chi = np.array([score[c] @ np.linalg.solve(variance[np.ix_(c, c)], score[c]) for c in chosen])
    freedom = np.array([c.size for c in chosen])
    return ProportionalityTest((*fit.rows.design.levels, "all"), chi, freedom, chdtrc(freedom, chi))


@dataclass(frozen=True, slots=True)
class _RiskSets:
    """Rows by age at their end, columns first, and where the death times are among them.

    A row is at risk at death times [start, end). `first` is the first row that is at risk at each, `late` are
    the rows that enter after the first death by `start`, `first_late` the first of them not yet there.
    `owner` and `tie` = l / d are for each single death; `ties` are the times with more than one.
    """

    columns: Floats
    weight: Floats
    died: Indices
    start: Indices
    end: Indices
    first: Indices
    late: Indices
    first_late: Indices
    owner: Indices
    tie: Floats
    ties: Indices
    tied: Indices
    always: Floats


@dataclass(frozen=True, slots=True)
class _RiskSums:
    """Sums over those at risk (S) at each death time, over the dying (D) at ties, and over l by den.

    den = S0 - tie * D0.  `once` holds sums of 1 / den and tie / den; `twice` of 1 / den^2, tie / den^2 and
    tie^2 / den^2.
    """

    relative: Floats
    at_risk: Floats
    dying: Floats
    once: Floats
    twice: Floats
    value: float


def _risk_sets(life: LifeRows, matrix: Floats) -> _RiskSets:
    died = np.flatnonzero(life.observed)
    times, place = codes(life.duration_h[died])
    deaths = np.bincount(place, weights=life.weight[died]).round().astype(np.intp)
    start = np.where(life.entry_h > 0, np.searchsorted(times, life.entry_h, side="right"), 0)
    late = np.flatnonzero(start)
    late = late[np.argsort(start[late])]
    owner = np.repeat(np.arange(times.size), deaths)
    tied = np.arange(owner.size) - np.repeat(np.cumsum(deaths) - deaths, deaths)
    return _RiskSets(
        columns=np.ascontiguousarray(matrix.T),
        weight=life.weight,
        died=died,
        start=start,
        end=np.searchsorted(times, life.duration_h, side="right"),
        first=np.searchsorted(life.duration_h, times),
        late=late,
        first_late=np.searchsorted(start[late], np.arange(times.size), side="right"),
        owner=owner,
        tie=tied / deaths[owner],
        ties=np.flatnonzero(deaths > 1),
        tied=died[deaths[place] > 1],
        always=np.ones(times.size),
    )


def _risk_sums(sets: _RiskSets, point: Floats) -> _RiskSums:
    linear = point @ sets.columns
    linear = linear - linear.max()
    relative = sets.weight * np.exp(linear)
    columns = np.vstack([relative, sets.columns * relative])
    at_risk = _from_here(columns)[:, sets.first]
    if sets.late.size:
        at_risk = at_risk - _from_here(columns[:, sets.late])[:, sets.first_late]
    dying = np.zeros((columns.shape[0], sets.ties.size))
    den = at_risk[0, sets.owner]
    if sets.ties.size:
        starts = np.searchsorted(sets.end[sets.tied] - 1, sets.ties)
        dying = np.add.reduceat(columns[:, sets.tied], starts, axis=1)
        at_ties = np.zeros(sets.always.size)
        at_ties[sets.ties] = dying[0]
        den = den - sets.tie * at_ties[sets.owner]
    single = np.flatnonzero(sets.tie == 0.0)
    part = 1.0 / den
    tied = sets.tie * part
    sums = np.stack(
        [np.add.reduceat(powers, single) for powers in (part, tied, part * part, part * tied, tied * tied)]
    )
    value = float(sets.weight[sets.died] @ linear[sets.died] - np.log(den).sum())
    return _RiskSums(relative, at_risk[1:], dying[1:], sums[:2], sums[2:], value)


def _from_here(columns: Floats) -> Floats:
    """Sums along the rows from each place to the end, and a nought beyond it."""
    sums = np.zeros((columns.shape[0], columns.shape[1] + 1))
    np.cumsum(columns[:, ::-1], axis=1, out=sums[:, -2::-1])
    return sums


def _score(sets: _RiskSets, sums: _RiskSums, clock: Floats) -> Floats:
    """Sum over deaths of clock * (x - mean x of those at risk)."""
    seen = sets.columns[:, sets.died] @ (sets.weight[sets.died] * clock[sets.end[sets.died] - 1])
    once = sums.once * clock
    score: Floats = seen - sums.at_risk @ once[0] + sums.dying @ once[1, sets.ties]
    return score


def _information(sets: _RiskSets, sums: _RiskSums, clock: Floats) -> Floats:
    """Sum over deaths of clock * variance of x among those at risk.

    The sum over death times of the rows' x x' is taken as a sum over rows of how often they count, so that
    no array has the size of rows times columns squared.
    """
    once, twice = sums.once * clock, sums.twice * clock
    passed = np.concatenate([[0.0], np.cumsum(once[0])])
    often = passed[sets.end] - passed[sets.start]
    often[sets.died] -= once[1, sets.end[sets.died] - 1]
    squares = (sets.columns * (sums.relative * often)) @ sets.columns.T
    mixed = (sums.at_risk[:, sets.ties] * twice[1, sets.ties]) @ sums.dying.T
    means = (sums.at_risk * twice[0]) @ sums.at_risk.T + (sums.dying * twice[2, sets.ties]) @ sums.dying.T
    information: Floats = squares - means + mixed + mixed.T
    return information


def _clock(life: LifeRows, sets: _RiskSets, clock: Clock) -> Floats:
    curve = kaplan_meier(
        duration_h=life.duration_h, observed=life.observed, entry_h=life.entry_h, weight=life.weight
    )
    deaths = np.cumsum(curve.deaths)
    clocks = {
        "km": np.concatenate([[0.0], 1.0 - curve.survival_fraction[:-1]]),
        "rank": deaths - (curve.deaths - 1.0) / 2.0,
        "age": curve.time_h,
        "log_age": np.log(curve.time_h),
    }
    if clock not in clocks:
        raise ValueError(f"clock must be one of {', '.join(clocks)}, got '{clock}'")
    # About its mean over deaths, so that large ages do not cost digits.
    return clocks[clock] - float(curve.deaths @ clocks[clock]) / float(deaths[-1])
