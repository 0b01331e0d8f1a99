"""Numbers as a reader sees them: the one place that turns them into text.

Digits are significant and go by context: `SPOKEN` in a sentence, `SHOWN` in a table or a label, `EXACT` where
a number is to be followed. Digits before the point are always shown; thousands are set apart. What has no
number is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeGuard

from planner.trace.currency import USD, shown, shown_unit, shown_value

SPOKEN, SHOWN, EXACT = 3, 4, 6
NONE = "–"
MOST_DECIMALS = 4  # of a share in percent that is nearly all
_ALMOST_ALL, _ROUNDING = 0.99, 1e-9  # sums of shares that are all are this near to 1
# Unit -> the larger units that a reader expects, the largest first.
_LARGER: dict[str, tuple[tuple[float, str], ...]] = {
    "USD": ((1e9, "GUSD"), (1e6, "MUSD"), (1e3, "kUSD")),
    "kgCO2e": ((1e6, "ktCO2e"), (1e3, "tCO2e")),
    "kWh": ((1e6, "GWh"), (1e3, "MWh")),
    "kW": ((1e3, "MW"),),
    "L": ((1e3, "m3"),),
}
_FROM = {"ktCO2e": 1e7}  # thousands of tonnes are read as tonnes


def number_text(value: float | None, digits: int = SHOWN) -> str:
    """A number without needless zeros; with an exponent from 1e12 on (exact: 1e15) and below 1e-4."""
    if not _known(value):
        return NONE
    size = abs(value)
    if size >= (1e15 if digits >= EXACT else 1e12) or 0 < size < 1e-4:
        return f"{value:.{digits}g}"
    text = fixed_text(value, _decimals(value, digits))
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_text(value: float | None) -> str:
    """A number that is to be followed: six digits."""
    return number_text(value, EXACT)


def many_text(value: float, what: str, digits: int = SPOKEN) -> str:
    """A large count as it is read: '15 trillion tokens', '480 million samples'."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{number_text(value / size, digits)} {word} {what}"
    return f"{number_text(value, digits)} {what}"


def written_text(value: float, digits: int = EXACT) -> str:
    """A number as a file takes it: nothing between thousands."""
    return f"{value:.{digits}g}"


def fixed_text(value: float | None, decimals: int, *, sign: bool = False) -> str:
    """A number with this many decimals, so that a column stands in line; nothing has no sign."""
    return f"{round(value, decimals) + 0.0:{'+' if sign else ''},.{decimals}f}" if _known(value) else NONE


def how_many(number: int, thing: str) -> str:
    """A whole number with what it counts: `1 node`, `16 nodes`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def count_text(value: float | None) -> str:
    """A whole number, thousands set apart."""
    return fixed_text(value, 0)


def percent_text(fraction: float | None, decimals: int | None = 1, *, sign: bool = False) -> str:
    """A share in percent; without `decimals` two digits, as for an error or a change.

    Less than all is never said to be 100 %: 0.9996 is 99.96 %, with one decimal more than requested.
    """
    if not _known(fraction):
        return NONE
    if decimals is None:
        if abs(fraction) < 5e-6:
            return "0 %"
        decimals = min(4, _decimals(100 * fraction, 2))
    if _ALMOST_ALL < abs(fraction) < 1 - _ROUNDING:
        while decimals < MOST_DECIMALS and round(100 * abs(fraction), decimals) >= 100:
            decimals += 1
        if round(100 * abs(fraction), decimals) >= 100:
            return f"{'<-' if fraction < 0 else '>'}{99:.0f}.{'9' * MOST_DECIMALS} %"
    return f"{fixed_text(100 * fraction, decimals, sign=sign)} %"


def scale_of(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Divisor and unit in which the largest of `values` reads best; money in the currency that is shown."""
    factor, name = shown_unit(unit)
    largest = factor * max((abs(value) for value in values if _known(value)), default=0.0)
    for divisor, larger in _LARGER.get(unit, ()):
        if largest >= _FROM.get(larger, divisor):
            return divisor / factor, larger.replace(USD, shown().code)
    return 1.0 / factor, "" if unit == "1" else name


def quantity_text(value: float | None, unit: str, digits: int = SHOWN) -> str:
    """A number in the unit in which it reads best: '6.352 MUSD', '913 USD'; nothing has no unit."""
    if not _known(value):
        return NONE
    divisor, name = scale_of(unit, [value])
    if unit == USD and name == shown().code:
        digits = min(digits, SPOKEN)
    return f"{number_text(value / divisor, digits)} {name}".rstrip()


def quantities_text(values: Iterable[float | None], unit: str) -> list[str]:
    """Numbers that are compared, with as many digits as tell them apart."""
    held = list(values)
    for digits in range(SHOWN, 12):
        said = [quantity_text(value, unit, digits) for value in held]
        if len(set(said)) == len(set(held)):
            return said
    return [exact_quantity(value, unit) for value in held]


def exact_quantity(value: float | None, unit: str) -> str:
    """A number that is to be followed, with its unit; of money in the currency that is shown."""
    _, name = shown_unit(unit)
    number = shown_value(value, unit) if _known(value) else None
    return f"{exact_text(number)} {'' if unit == '1' else name}".rstrip()


def stated_text(text: str) -> str:
    """A quantity as somebody wrote it, with its money in the currency that is shown: '181 EUR/kW/month'."""
    number, _, unit = text.partition(" ")
    factor, name = shown_unit(unit)
    if name == "1":
        return percent_text(float(number), None)
    if name == unit:
        return text if "," in number or not _long(number) else f"{number_text(float(number), EXACT)} {unit}"
    return f"{number_text(float(number) * factor)} {name}"


def _long(number: str) -> bool:
    """Whether a number has more than four digits before its point, and nothing between thousands."""
    return number.partition(".")[0].isdigit() and len(number.partition(".")[0]) > 4


def tonne_price(usd: float) -> str:
    """Money for a tonne."""
    return f"{count_text(shown_value(usd, USD))} {shown().code}/t"


def amount_text(value: float, unit: str) -> str:
    """A number in a sentence, at the precision that a plan deserves: '4.86 MUSD', '12.0 tCO2e'."""
    divisor, name = scale_of(unit, [value])
    said = float(f"{value / divisor:.{SPOKEN}g}") * divisor  # 999.7 thousand are said as a million
    divisor, name = scale_of(unit, [said])
    return f"{fixed_text(value / divisor, _decimals(said / divisor, SPOKEN))} {name}".rstrip()


def money(usd: float) -> str:
    """Money in a sentence."""
    return amount_text(usd, "USD")


def mass(kgco2e: float) -> str:
    """Carbon in a sentence."""
    return amount_text(kgco2e, "kgCO2e")


def energy(kwh: float) -> str:
    """Energy in a sentence."""
    return amount_text(kwh, "kWh")


def share_of(part: float | None, whole: float | None) -> float | None:
    """A part as a share of a whole; none of nothing, nor of less than nothing."""
    return None if part is None or whole is None or whole <= 0 else part / whole


def seconds_text(seconds: float) -> str:
    """A time as a file states it: thousandths of a second below one."""
    return f"{written_text(1000 * seconds)} ms" if seconds < 1.0 else f"{written_text(seconds)} s"


def _decimals(value: float, digits: int) -> int:
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
