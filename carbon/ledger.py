"""The ledger: lines of carbon and water that add up, by scope, by category and by phase.

Scope 1 is burnt on site, scope 2 is bought electricity, scope 3 is what others emitted. Location-based and
market-based carbon are side by side: every sum is of one of the two, none is of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from carbon import _domain
from carbon._sums import exact_sum
from carbon.columns import Column
from carbon.lines import Line, WaterLine
from carbon.scopes import ACCOUNTINGS, Category, Phase
from carbon.signals import Accounting, GridSignal


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


@dataclass(frozen=True, slots=True)
class ScopeView:
    """Carbon by scope, as an inventory prints it; scope 2 in its two ways, which are never summed.

    Source: GHG Protocol, "Corporate Standard", 2004, and "Scope 2 Guidance", 2015.
    """

    scope_1_kgco2e: Column
    scope_2_location_kgco2e: Column
    scope_2_market_kgco2e: Column | None
    scope_3_kgco2e: Mapping[Category, Column]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Lines of carbon and of water, each once, whose electricity was counted in one way."""

    lines: tuple[Line, ...]
    water: tuple[WaterLine, ...] = ()

    def __post_init__(self) -> None:
        for entries in (self.lines, self.water):
            _refuse_twice(entries)
        kinds = sorted({str(line.electricity) for line in self.lines if line.electricity})
        if len(kinds) > 1:
            raise ValueError(f"electricity of a ledger is counted in one way, got {', and '.join(kinds)}")
        self._refuse_upstream_twice()

    @property
    def electricity(self) -> GridSignal | None:
        """How the grid intensity of the lines was counted; None where no line is electricity."""
        return next((line.electricity for line in self.lines if line.electricity), None)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Phases in the order in which they first appear."""
        return tuple(dict.fromkeys(line.phase for line in self.lines))

    def total_kgco2e(self, accounting: Accounting) -> Column:
        """Sum of all lines under one Scope 2 accounting.

        Raises:
            ValueError: a line of electricity has no market-based figure.
        """
        return self._sum(accounting, lambda line: True)

    def phase_kgco2e(self, phase: Phase, accounting: Accounting) -> Column:
        """Sum of the lines of a phase.

        Raises:
            ValueError: no line has this phase.
        """
        if phase not in self.phases:
            raise ValueError(f"no line has the phase '{phase}', only {', '.join(self.phases) or 'none'}")
        return self._sum(accounting, lambda line: line.phase == phase)

    def scopes(self) -> ScopeView:
        """The lines by scope; market-based scope 2 is None where a line has no such figure."""
        bought = [line for line in self.lines if line.scope == 2]
        known = all(line.market_kgco2e is not None for line in bought)
        held = sorted({line.category for line in self.lines if line.category is not None})
        return ScopeView(
            scope_1_kgco2e=self._sum("location", lambda line: line.scope == 1),
            scope_2_location_kgco2e=self._sum("location", lambda line: line.scope == 2),
            scope_2_market_kgco2e=self._sum("market", lambda line: line.scope == 2) if known else None,
            scope_3_kgco2e={
                category: exact_sum(line.kgco2e for line in self.lines if line.category == category)
                for category in held
            },
        )

    @property
    def onsite_l(self) -> Column:
        """Water that cooling evaporates."""
        return exact_sum(line.onsite_l for line in self.water)

    @property
    def offsite_l(self) -> Column:
        """Water that power stations consume."""
        return exact_sum(line.offsite_l for line in self.water)

    def joined(self, other: Ledger) -> Ledger:
        """The lines of both.

        Raises:
            ValueError: a line stands in both, or their electricity was counted in different ways.
        """
        return Ledger(self.lines + other.lines, self.water + other.water)

    def _sum(self, accounting: Accounting, wanted: Callable[[Line], bool]) -> Column:
        if accounting not in ACCOUNTINGS:
            raise ValueError(f"accounting is 'location' or 'market', never both, got '{accounting}'")
        return exact_sum(line.amount_kgco2e(accounting) for line in self.lines if wanted(line))

    def _refuse_upstream_twice(self) -> None:
        upstream = [line.name for line in self.lines if line.category == Category.FUEL_AND_ENERGY]
        if upstream and self.electricity is not None and self.electricity.scope == "life-cycle":
            raise ValueError(
                f"life-cycle electricity holds its upstream part: '{upstream[0]}' (scope 3, category 3) "
                "counts it twice"
            )


def _refuse_twice(entries: Iterable[Line | WaterLine]) -> None:
    counts = Counter(f"{entry.phase}/{entry.name}" for entry in entries)
    twice = sorted(key for key, count in counts.items() if count > 1)
    if twice:
        raise ValueError(f"a line may occur only once in a ledger, got twice: {', '.join(twice)}")
