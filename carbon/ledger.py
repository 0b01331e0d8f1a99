"""The ledger: named lines of carbon that add up, split by scope and by phase.

Scope 2 is bought electricity, scope 3 is what others emitted to make hardware and buildings. A ledger
is kept under one Scope 2 accounting, location or market; two of different accounting do not add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Column = float | NDArray[np.float64]
Scope = Literal[2, 3]
Accounting = Literal["location", "market"]


def footprint_kgco2e(*, operational_kgco2e: Column, embodied_kgco2e: Column) -> Column:
    """Operational and embodied carbon together.

    C = C_op + M

    Both must be of the same work and the same time.

    Source: Gupta et al., "ACT", ISCA 2022.
    """
    _domain.nonnegative(operational_kgco2e=operational_kgco2e, embodied_kgco2e=embodied_kgco2e)
    return operational_kgco2e + embodied_kgco2e


def embodied_fraction(*, operational_kgco2e: Column, embodied_kgco2e: Column) -> Column:
    """Share of the footprint that is embodied.

    s = M / (C_op + M)

    Source: Wu et al., "Sustainable AI", MLSys 2022.
    """
    total = footprint_kgco2e(operational_kgco2e=operational_kgco2e, embodied_kgco2e=embodied_kgco2e)
    _domain.positive(operational_plus_embodied_kgco2e=total)
    return embodied_kgco2e / total


def sci_kgco2e_per_unit(*, operational_kgco2e: Column, embodied_kgco2e: Column, units: Column) -> Column:
    """Software carbon intensity: carbon per functional unit (a request, a token, a training step).

    SCI = ((E * I) + M) / R

    I is location-based, average or marginal. Market-based figures are not allowed here.

    Source: GSF, "Software Carbon Intensity", ISO/IEC 21031:2024.
    """
    _domain.positive(units=units)
    return footprint_kgco2e(operational_kgco2e=operational_kgco2e, embodied_kgco2e=embodied_kgco2e) / units


@dataclass(frozen=True, slots=True)
class Line:
    """One entry: what it is, the phase of work that it belongs to, its scope, and its carbon."""

    name: str
    phase: str
    scope: Scope
    kgco2e: Column

    def __post_init__(self) -> None:
        if self.scope not in (2, 3):
            raise ValueError(f"scope of '{self.name}' is 2 or 3, got {self.scope}")
        if not np.all(np.isfinite(self.kgco2e)):
            raise ValueError(f"kgco2e of '{self.name}' is finite, got {self.kgco2e}")


@dataclass(frozen=True, slots=True)
class Ledger:
    """Lines under one Scope 2 accounting."""

    lines: tuple[Line, ...]
    accounting: Accounting

    def __post_init__(self) -> None:
        if self.accounting not in ("location", "market"):
            raise ValueError(f"accounting is 'location' or 'market', got '{self.accounting}'")
        keys = [(line.phase, line.name) for line in self.lines]
        twice = sorted({f"{phase}/{name}" for phase, name in keys if keys.count((phase, name)) > 1})
        if twice:
            raise ValueError(f"a line stands once in a ledger, got twice: {', '.join(twice)}")

    @property
    def total_kgco2e(self) -> Column:
        """Sum of all lines."""
        return _sum(self.lines)

    @property
    def phases(self) -> tuple[str, ...]:
        """Phases in the order in which they first appear."""
        return tuple(dict.fromkeys(line.phase for line in self.lines))

    def scope_kgco2e(self, scope: Scope) -> Column:
        """Sum of the lines of a scope; 0 where there are none."""
        return self._where(lambda line: line.scope == scope)

    def phase_kgco2e(self, phase: str) -> Column:
        """Sum of the lines of a phase.

        Raises:
            ValueError: no line has this phase.
        """
        if phase not in self.phases:
            raise ValueError(f"no line has the phase '{phase}', only {', '.join(self.phases) or 'none'}")
        return self._where(lambda line: line.phase == phase)

    def joined(self, other: Ledger) -> Ledger:
        """Both ledgers' lines in one.

        Raises:
            ValueError: the two are kept under different accounting.
        """
        if self.accounting != other.accounting:
            raise ValueError(
                f"a {self.accounting}-based and a {other.accounting}-based ledger do not add: report both"
            )
        return Ledger(self.lines + other.lines, self.accounting)

    def sci_kgco2e_per_unit(self, units: Column) -> Column:
        """Software carbon intensity of all lines, over `units` functional units.

        Raises:
            ValueError: the ledger is market-based, which ISO/IEC 21031 does not allow.
        """
        if self.accounting != "location":
            raise ValueError("software carbon intensity is location-based, this ledger is market-based")
        return sci_kgco2e_per_unit(
            operational_kgco2e=self.scope_kgco2e(2), embodied_kgco2e=self.scope_kgco2e(3), units=units
        )

    def _where(self, wanted: Callable[[Line], bool]) -> Column:
        return _sum(tuple(line for line in self.lines if wanted(line)))


def _sum(lines: tuple[Line, ...]) -> Column:
    total: Column = 0.0
    for line in lines:
        total = total + line.kgco2e
    return total
