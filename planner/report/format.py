"""Numbers as a reader wants them: three digits and a unit of fitting size."""

from __future__ import annotations

import math

MONEY = ((1e9, "GUSD"), (1e6, "MUSD"), (1e3, "kUSD"), (1.0, "USD"))
MASS = ((1e6, "ktCO2e"), (1e3, "tCO2e"), (1.0, "kgCO2e"))
ENERGY = ((1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh"))


def money(usd: float) -> str:
    """Money at the precision that a plan deserves."""
    return _scaled(usd, MONEY)


def mass(kgco2e: float) -> str:
    """Carbon at the precision that a plan deserves."""
    return _scaled(kgco2e, MASS)


def amount(value: float, unit: str) -> str:
    """An objective, in USD or kgCO2e, at the precision that a plan deserves."""
    return _scaled(value, {"USD": MONEY, "kgCO2e": MASS}[unit])


def energy(kwh: float) -> str:
    """Energy at the precision that a plan deserves."""
    return _scaled(kwh, ENERGY)


def share_of(part: float | None, whole: float | None) -> float | None:
    """A part as a share of a whole; none of nothing, nor of less than nothing."""
    return None if part is None or whole is None or whole <= 0 else part / whole


def _scaled(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    size, unit = next((one for one in scales if abs(value) >= one[0]), scales[-1])
    number = value / size + 0.0  # nothing has no sign
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 0
    return f"{number:,.{digits}f} {unit}"
