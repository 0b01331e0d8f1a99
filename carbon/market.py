"""Electricity under contract: location and market side by side, matched over the year or hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from carbon import _domain

Matching = Literal["yearly", "hourly"]

# Instruments from the most to the least precise; what none of them covers takes the residual mix.
QUALITY_ORDER = ("certificate", "contract", "supplier")


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """Energy under contract hour by hour, what it emits, and by which kind of instrument it is claimed.

    `instrument`: an energy attribute certificate (bundled or not), a contract such as a power purchase
    agreement where no certificates exist, or the rate that a supplier states.
    """

    name: str
    instrument: Literal["certificate", "contract", "supplier"]
    energy_kwh: NDArray[np.float64]
    kgco2e_per_kwh: float
    carbon_free: bool

    def __post_init__(self) -> None:
        if self.instrument not in QUALITY_ORDER:
            raise ValueError(f"instrument is one of {', '.join(QUALITY_ORDER)}, got '{self.instrument}'")
        _domain.nonnegative(energy_kwh=self.energy_kwh, kgco2e_per_kwh=self.kgco2e_per_kwh)


@dataclass(frozen=True, slots=True)
class ScopeTwo:
    """Carbon of a load by location and by market, side by side: never added, nor one taken from the other.

    `covered_kwh` and `unused_kwh` by contract; `cfe_fraction` is the share of the load that carbon-free
    contracts met under the matching asked for. `grid_average_stands_in`: no residual mix was known, which has
    to be said wherever the market-based figure is.
    """

    location_kgco2e: float
    market_kgco2e: float
    covered_kwh: dict[str, float]
    unused_kwh: dict[str, float]
    uncovered_kwh: float
    cfe_fraction: float
    grid_average_stands_in: bool


def scope_two(
    *,
    load_kwh: NDArray[np.float64],
    grid_kgco2e_per_kwh: NDArray[np.float64],
    residual_kgco2e_per_kwh: float | None,
    contracts: Sequence[Contract],
    matching: Matching,
) -> ScopeTwo:
    """Carbon of a load, location-based and market-based, with contracts of limited volume.

    location = sum_h(L_h * CI_h)
    market   = sum_c(M_c * CI_c) + (sum_h(L_h) - sum_c(M_c)) * CI_residual

    M_c is what contract c covers of what those before it left: by quality of the instrument, then as listed.
    `yearly` sets a contract's sum against the load's sum; `hourly` counts no energy for another hour. Without
    a residual mix the load's mean grid intensity replaces it, as the guidance allows when said.

    Source: GHG Protocol, "Scope 2 Guidance", 2015, chapter 6 (quality order of instruments, residual mix).
    """
    _domain.nonnegative(load_kwh=load_kwh, grid_kgco2e_per_kwh=grid_kgco2e_per_kwh)
    total_kwh = float(np.sum(load_kwh))
    _domain.positive(sum_of_load_kwh=total_kwh)
    location = float(np.sum(load_kwh * grid_kgco2e_per_kwh))
    residual = location / total_kwh if residual_kgco2e_per_kwh is None else residual_kgco2e_per_kwh
    _domain.nonnegative(residual_kgco2e_per_kwh=residual)
    covered = _covered_kwh(load_kwh, contracts, matching)
    uncovered = max(total_kwh - sum(covered.values()), 0.0)
    return ScopeTwo(
        location_kgco2e=location,
        market_kgco2e=sum(covered[c.name] * c.kgco2e_per_kwh for c in contracts) + uncovered * residual,
        covered_kwh=covered,
        unused_kwh={c.name: float(np.sum(c.energy_kwh)) - covered[c.name] for c in contracts},
        uncovered_kwh=uncovered,
        cfe_fraction=sum(covered[c.name] for c in contracts if c.carbon_free) / total_kwh,
        grid_average_stands_in=residual_kgco2e_per_kwh is None,
    )


def _covered_kwh(
    load_kwh: NDArray[np.float64], contracts: Sequence[Contract], matching: Matching
) -> dict[str, float]:
    if matching not in ("yearly", "hourly"):
        raise ValueError(f"matching is 'yearly' or 'hourly', got '{matching}'")
    if len({contract.name for contract in contracts}) < len(contracts):
        raise ValueError("contracts have different names: energy may be claimed once")
    open_kwh = np.sum(load_kwh, keepdims=True) if matching == "yearly" else np.asarray(load_kwh)
    covered = {}
    for contract in sorted(contracts, key=lambda contract: QUALITY_ORDER.index(contract.instrument)):
        if np.shape(contract.energy_kwh) != np.shape(load_kwh):
            raise ValueError(
                f"contract '{contract.name}': energy_kwh is of the load's {np.shape(load_kwh)} hours, "
                f"got {np.shape(contract.energy_kwh)}"
            )
        offered = np.sum(contract.energy_kwh, keepdims=True) if matching == "yearly" else contract.energy_kwh
        met = np.minimum(open_kwh, offered)
        open_kwh = open_kwh - met
        covered[contract.name] = float(np.sum(met))
    return covered
