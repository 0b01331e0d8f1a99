"""Lines of a ledger: one entry of carbon, one of water."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from carbon import _domain
from carbon.columns import Column
from carbon.scopes import PHASES, Category, Phase, Scope
from carbon.signals import Accounting, GridSignal


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of carbon: what it is, where it belongs, and what is inside.

    `kgco2e` is location-based where the line is electricity; `market_kgco2e` is the same energy under the
    contracts that cover it, with the residual mix for the rest. `boundary` says what the figure holds
    (`server`, `chip-host-building`, `facility`). Credits and avoided emissions are not footprint: no line
    is negative.
    """

    name: str
    phase: Phase
    scope: Scope
    kgco2e: Column
    boundary: str
    category: Category | None = None
    electricity: GridSignal | None = None
    market_kgco2e: Column | None = None

    def __post_init__(self) -> None:
        _check_phase(self.name, self.phase)
        if self.scope not in get_args(Scope):
            raise ValueError(f"scope of '{self.name}' is 1, 2 or 3, got {self.scope}")
        if not self.boundary:
            raise ValueError(f"boundary of '{self.name}' says what the figure holds, got ''")
        if (self.category is None) == (self.scope == 3):
            raise ValueError(f"category of '{self.name}' belongs to scope 3 alone, got {self.category}")
        if self.scope != 3 and (self.electricity is None) == (self.scope == 2):
            raise ValueError(
                f"electricity of '{self.name}' belongs to scope 2, may belong to 3 and not to 1, "
                f"got {self.electricity} in scope {self.scope}"
            )
        _check_amount(self.name, kgco2e=self.kgco2e)
        if self.market_kgco2e is not None:
            if self.electricity is None:
                raise ValueError(f"market_kgco2e of '{self.name}' needs electricity, got none")
            _check_amount(self.name, market_kgco2e=self.market_kgco2e)

    def amount_kgco2e(self, accounting: Accounting) -> Column:
        """Carbon under one Scope 2 accounting; what is not electricity is the same under both.

        Raises:
            ValueError: market-based carbon was asked of electricity that has none.
        """
        if accounting == "location" or self.electricity is None:
            return self.kgco2e
        if self.market_kgco2e is None:
            raise ValueError(f"'{self.phase}/{self.name}' has no market-based figure: give its market_kgco2e")
        return self.market_kgco2e


@dataclass(frozen=True, slots=True)
class WaterLine:
    """One entry of water: evaporated by the site's cooling, and at the power stations."""

    name: str
    phase: Phase
    onsite_l: Column
    offsite_l: Column

    def __post_init__(self) -> None:
        _check_phase(self.name, self.phase)
        _check_amount(self.name, onsite_l=self.onsite_l, offsite_l=self.offsite_l)


def _check_phase(name: str, phase: str) -> None:
    if phase not in PHASES:
        raise ValueError(f"phase of '{name}' is one of {', '.join(PHASES)}, got '{phase}'")


def _check_amount(name: str, **amounts: Column) -> None:
    try:
        _domain.nonnegative(**amounts)
    except ValueError as error:
        raise ValueError(f"'{name}': {error}") from None
