"""Covariates of lives: how they become columns, which rows are alike, and the ratios that a fit gives them.

Rows that are alike in everything are counted once, with a weight, before anything is fitted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from reliability.columns import Floats
from reliability.likelihood import normal_quantile
from reliability.rows import LifeRows, codes, different_rows


@dataclass(frozen=True, slots=True)
class Design:
    """How covariates become columns: a number is one, `levels` are one each but for the first, the reference.

    A covariate without levels maps to an empty tuple.
    """

    levels: dict[str, tuple[Any, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """`age` for a number, `cage=2` for a level."""
        return tuple(name if level is None else f"{name}={level}" for name, level in self._columns)

    @property
    def covariates(self) -> tuple[str, ...]:
        """The covariate that each column is of."""
        return tuple(name for name, _ in self._columns)

    def matrix(self, covariates: Mapping[str, ArrayLike]) -> Floats:
        """One row for each unit, one column for each name."""
        if missing := [name for name in self.levels if name not in covariates]:
            raise ValueError(
                f"covariates must hold {', '.join(self.levels)}; {', '.join(missing)} is missing"
            )
        for name, levels in self.levels.items():
            if levels and (unknown := set(np.unique(np.asarray(covariates[name])).tolist()) - set(levels)):
                raise ValueError(f"covariates: {name} has no level {unknown.pop()!r}; it has {list(levels)}")
        columns = [
            np.asarray(covariates[name], dtype=float)
            if level is None
            else np.asarray(covariates[name]) == level
            for name, level in self._columns
        ]
        return np.column_stack(columns).astype(float)

    @property
    def _columns(self) -> list[tuple[str, Any]]:
        return [
            (name, level)
            for name, levels in self.levels.items()
            for level in (levels[1:] if levels else (None,))
        ]


@dataclass(frozen=True, slots=True)
class CovariateRows:
    """Rows that differ in something, by age at their end, and the columns of their covariates."""

    life: LifeRows
    matrix: Floats
    design: Design


@dataclass(frozen=True, slots=True)
class Ratios:
    """How many times the hazard (Cox) or the life (Weibull) is that of the reference, for each name."""

    names: tuple[str, ...]
    ratio: Floats
    low: Floats
    high: Floats
    p_value: Floats


def covariate_rows(
    life: LifeRows, covariates: Mapping[str, ArrayLike], categorical: Collection[str]
) -> CovariateRows:
    """Checked covariates, and rows alike in everything counted once.

    Source: counting.
    """
    if not covariates:
        raise ValueError("covariates must hold at least one column, got none")
    if unknown := [name for name in categorical if name not in covariates]:
        raise ValueError(f"categorical names {', '.join(unknown)}, which covariates do not hold")
    levels: dict[str, tuple[Any, ...]] = {}
    keys = []
    for name, column in covariates.items():
        values = np.asarray(column)
        if values.shape != life.duration_h.shape:
            raise ValueError(f"covariates: {name} must have {life.duration_h.size} rows, got {values.size}")
        by_level = name in categorical or values.dtype.kind in "OSU"
        if not by_level and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"covariates: {name} must be finite numbers, got {values[row]} in row {row}")
        seen, code = codes(values)
        if seen.size == 1:
            raise ValueError(
                f"covariates: {name} is {seen[0]} in every row, which tells nothing: leave it out"
            )
        levels[name] = tuple(seen.tolist()) if by_level else ()
        keys.append(code)
    ages = [codes(column)[1] for column in (life.duration_h, life.observed, life.entry_h)]
    first, group = different_rows([*ages, *keys])
    weight = np.bincount(group, weights=life.weight).astype(float)
    same = LifeRows(life.duration_h[first], life.observed[first], life.entry_h[first], weight)
    design = Design(levels)
    matrix = design.matrix({name: np.asarray(column)[first] for name, column in covariates.items()})
    return CovariateRows(same, matrix, design)


def centre_and_scale(rows: CovariateRows) -> tuple[Floats, Floats]:
    """Mean and spread of each column; columns that say the same are refused by name.

    Source: eigenvalues of their correlations.
    """
    weight = rows.life.weight / rows.life.weight.sum()
    centre = weight @ rows.matrix
    scale = np.sqrt(weight @ (rows.matrix - centre) ** 2)
    standard = (rows.matrix - centre) / scale
    values, vectors = np.linalg.eigh(standard.T @ (standard * weight[:, None]))
    if values[0] < 1e-10:
        same = [name for name, part in zip(rows.design.names, vectors[:, 0], strict=True) if abs(part) > 1e-3]
        raise ValueError(
            f"covariates: {', '.join(same)} say the same (one follows from the others); leave one out"
        )
    return centre, scale


def separated_message(design: Design, step: Floats) -> str:
    """Which columns a search without end was still moving.

    Source: Albert and Anderson, Biometrika 71, 1984, on separation.
    """
    still = np.abs(step[: len(design.names)])
    moving = [name for name, size in zip(design.names, still, strict=True) if size > 0.1 * still.max()]
    return (
        f"covariates: {', '.join(moving)} alone tells who dies first or never, so its ratio has no finite "
        "value: join levels, or leave it out"
    )


def ratios_with_intervals(
    names: tuple[str, ...], coefficients: Floats, covariance: Floats, confidence_fraction: float
) -> Ratios:
    """Ratios exp(b), their intervals and two-sided p-values.

        exp(b -/+ z * se),  p = P(chi^2_1 >= (b / se)^2)

    Source: Wald's test.
    """
    errors = np.sqrt(np.diag(covariance)[: coefficients.size])
    reach = normal_quantile(confidence_fraction) * errors
    return Ratios(
        names=names,
        ratio=np.exp(coefficients),
        low=np.exp(coefficients - reach),
        high=np.exp(coefficients + reach),
        p_value=chdtrc(1, (coefficients / errors) ** 2),
    )
