"""Units: the suffix of a name says its unit, and text from outside is converted once, here.

Pint lives in this file and nowhere else. Its registry holds only the units that this field uses, so
an unknown unit is refused and start-up stays short.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING

from planner.trace.errors import InputError
from planner.trace.numbers import count_text, written_text

if TYPE_CHECKING:
    import pint

DIMENSIONLESS = "1"

# Last word of a name -> unit symbol. Words that are not here are counts or plain ratios.
SUFFIX_UNITS = {
    "w": "W",
    "kw": "kW",
    "mw": "MW",
    "kwh": "kWh",
    "mwh": "MWh",
    "j": "J",
    "s": "s",
    "min": "min",
    "h": "h",
    "d": "d",
    "month": "month",
    "y": "y",
    "usd": "USD",
    "kusd": "kUSD",
    "kgco2e": "kgCO2e",
    "tco2e": "tCO2e",
    "gco2e": "gCO2e",
    "kg": "kg",
    "km": "km",
    "cm": "cm",
    "bytes": "B",
    "gb": "GB",
    "tb": "TB",
    "tflop": "TFLOP",
    "cm2": "cm^2",
    "mm2": "mm^2",
    "nm": "nm",
    "l": "L",
    "year": "year",
    "fraction": DIMENSIONLESS,
    "ratio": DIMENSIONLESS,
    "factor": DIMENSIONLESS,
    "exponent": DIMENSIONLESS,
    "shape": DIMENSIONLESS,
}

# Things that are counted: they may be in a denominator ("per node hour") without a unit of their own.
COUNTED = frozenset(
    {
        "node",
        "trainer",
        "gpu",
        "accelerator",
        "chip",
        "server",
        "replica",
        "request",
        "token",
        "parameter",
        "value",
        "layer",
        "sequence",
        "sample",
        "failure",
        "job",
        "rack",
        "unit",
        "period",
        "step",
    }
)

# One unit a dimension inside the program. Time has three scales that never meet without `convert`:
# steps (s), plans (h), lifetimes (y).
CANONICAL_UNITS = (
    DIMENSIONLESS,
    "kW",
    "kWh",
    "s",
    "h",
    "y",
    "year",
    "USD",
    "kgCO2e",
    "GB",
    "B",
    "TFLOP",
    "cm^2",
    "kg",
    "km",
    "cm",
    "L",
    "nm",
    "GB/s",
    "TFLOP/s",
    "1/s",
    "1/h",
    "1/y",
    "USD/kWh",
    "USD/kW",
    "USD/kW/h",
    "USD/h",
    "USD/GB",
    "USD/GB/h",
    "USD/kgCO2e",
    "kgCO2e/kWh",
    "kgCO2e/cm^2",
    "kgCO2e/GB",
    "kgCO2e/kW",
    "kgCO2e/kg",
    "kgCO2e/kg/km",
    "kgCO2e/USD",
    "kWh/cm^2",
    "kWh/GB",
    "kW/GB",
    "L/kWh",
    "1/cm^2",
    "GB/cm^2",
    "kgCO2e/h",
)

_DEFINITIONS = """
    kilo- = 1e3 = k-
    mega- = 1e6 = M-
    giga- = 1e9 = G-
    tera- = 1e12 = T-
    peta- = 1e15 = P-
    exa- = 1e18 = E-
    milli- = 1e-3 = m-
    micro- = 1e-6 = µ- = u-
    nano- = 1e-9 = n-
    centi- = 1e-2 = c-
    kibi- = 1024 = Ki-
    mebi- = 1048576 = Mi-
    gibi- = 1073741824 = Gi-
    tebi- = 1099511627776 = Ti-
    meter = [length] = m
    second = [time] = s
    gram = [mass] = g
    USD = [currency]
    CO2e = [carbon]
    byte = [data] = B
    bit = byte / 8
    FLOP = [compute]
    calendar_year = [calendar]
    minute = 60 * second = min
    hour = 3600 * second = h
    day = 86400 * second = d
    week = 604800 * second
    month = 2629800 * second
    y = 31557600 * second
    tonne = 1e6 * gram = t
    pound = 453.59237 * gram = lb
    gCO2e = 1e-3 * CO2e
    kgCO2e = CO2e
    tCO2e = 1e3 * CO2e
    lbCO2e = 0.45359237 * CO2e
    joule = gram * 1000 * meter ** 2 / second ** 2 = J
    watt = joule / second = W
    Wh = watt * hour
    liter = 1e-3 * meter ** 3 = L = l
    percent = 0.01
"""

# What people write where the unit inside is unhandy.
EVERYDAY_UNITS = {"kgCO2e": "t", "USD/kgCO2e": "USD/t", "kgCO2e/kWh": "g/kWh", "USD/kWh": "USD/MWh"}

_NUMBER = re.compile(
    r"\s*([+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*((?:[A-Za-zµ%/](?!.*\*\*).*?)?)\s*\Z",
    re.ASCII,
)
_EXAMPLES = {
    "kW": "2000 kW",
    "kWh": "500 kWh",
    "h": "30 min",
    "s": "50 ms",
    "y": "5 y",
    "USD": "250 kUSD",
    "USD/kWh": "62 USD/MWh",
    "kgCO2e/kWh": "120 g/kWh",
    "USD/kgCO2e": "150 USD/t",
    "kgCO2e": "900 t",
    "1/s": "30 /s",
    "1/h": "0.1 /month",
    "1/y": "30 %/year",
    "1/d": "40 /d",
    "h/d": "20000 h/d",
    "L/kWh": "0.2 L/kWh",
    "GB/s": "1.8 GB/s",
    "GB": "80 GB",
    "TFLOP/s": "989 TFLOP/s",
    "1": "8 %",
}


# Of a unit; the longest in use has 15. Pint's time grows with the square, and a power of powers never ends.
MOST_UNIT_CHARACTERS = 50
_POWER = re.compile(r"\*\*(?!(?<=[A-Za-z]\*\*)-?\d(?![\d.*]))")


class UnitError(InputError):
    """A unit is missing, unknown, or of another dimension than the one wanted."""


@cache
def unit_of(name: str) -> str:
    """Unit that a parameter or function name ends in; `1` for counts, ratios and plain words.

    `power_kw` -> kW, `grid_kgco2e_per_kwh` -> kgCO2e/kWh, `rate_per_node_h` -> 1/h, `nodes` -> 1.
    """
    head, *denominators = re.split(r"_per_", "_" + name.lower())
    below = []
    for denominator in denominators:
        for word in denominator.split("_"):
            if word in COUNTED:
                continue
            if word not in SUFFIX_UNITS:
                raise UnitError(f"the name '{name}' says 'per {word}', which is no unit known here")
            below.append(SUFFIX_UNITS[word])
    numerator = SUFFIX_UNITS.get(head.rsplit("_", 1)[-1], DIMENSIONLESS)
    return "/".join([numerator, *below])


def convert_factor(from_unit: str, to_unit: str) -> float:
    """Multiply a value in `from_unit` by this to get it in `to_unit`.

    Raises:
        UnitError: when a unit is unknown or the dimensions differ.
    """
    return 1.0 if from_unit == to_unit else _factor(from_unit, to_unit)


def canonical(value: float, unit: str) -> tuple[float, str]:
    """Value and unit in the one unit that this dimension has inside the program.

    Times keep their scale: sub-minute units become seconds, years stay years, the rest hours.

    Raises:
        UnitError: when the unit is unknown or its dimension has no canonical unit.
    """
    target = _canonical_unit(unit)
    return value * convert_factor(unit, target), target


def parse_quantity(text: str, unit: str, example: str = "") -> float:
    """Number in `unit` from a text such as `"2 MW"`; messages show an example, else one of the unit.

    Raises:
        UnitError: the text has no number, no unit, an unknown unit or one of another dimension.
    """
    example = example or _EXAMPLES.get(unit, f"1 {unit.removeprefix('1')}")  # '1 /y': '1 1/y' is no quantity
    match = _NUMBER.match(text)
    if match is None:
        raise UnitError(f"'{text}' is not a number with a unit: write for example '{example}'")
    number, given = float(match[1]), match[2]
    if not math.isfinite(number):
        raise UnitError(f"'{text}' is not a finite number")
    if given == "":
        if unit == DIMENSIONLESS:
            return number
        raise UnitError(f"'{text}' has no unit: write one, for example '{example}'")
    if unit != "year":  # that of a date; where a length of time is wanted, '5 years' is one
        given = re.sub(r"\b(years?|yrs?)\b", "y", given)
    try:
        return number * convert_factor(_of_co2e(given, unit), unit)
    except UnitError as error:
        raise UnitError(f"'{text}': {error}; write for example '{example}'") from None


def _of_co2e(given: str, unit: str) -> str:
    """A unit in which each mass that stands where CO2e is wanted is one of CO2e.

    Nobody writes 'gCO2e/kWh' by hand; but in 'kgCO2e/kg' only the mass before the stroke is one of CO2e.
    """
    parts, wanted = given.split("/"), unit.split("/")
    for place, what in enumerate(wanted[: len(parts)]):
        if "CO2e" in what:
            parts[place] = re.sub(r"(?<![A-Za-z])(kg|g|t|lb)(?![A-Za-z0-9])", r"\1CO2e", parts[place])
    return "/".join(parts)


def everyday(text: str) -> str:
    """A quantity as people write it: '0.2 USD/kgCO2e' is '200 USD/t'; any other text as it is."""
    number, _, unit = text.partition(" ")
    try:
        if unit not in CANONICAL_UNITS:
            return text
        wanted = EVERYDAY_UNITS.get(unit, unit)
        one = 1.0 if wanted == unit else parse_quantity(f"1 {wanted}", unit)
        return f"{written_text(float(number) / one, 12)} {wanted}"
    except ValueError:  # a title may end in what looks like a unit
        return text


@cache
def _factor(from_unit: str, to_unit: str) -> float:
    source, target = _unit(from_unit), _unit(to_unit)
    if source.dimensionality != target.dimensionality:
        raise UnitError(f"'{from_unit}' is {_dimension_word(from_unit)}, here {to_unit} is wanted")
    return float(source.to(target.units).magnitude / target.magnitude)


@cache
def _canonical_unit(unit: str) -> str:
    quantity = _unit(unit)
    if unit in CANONICAL_UNITS:
        return unit
    if unit.startswith("USD/kW/"):  # a rent for capacity, not a price of energy
        return "USD/kW/h"
    same = [u for u in CANONICAL_UNITS if _unit(u).dimensionality == quantity.dimensionality]
    if not same:
        raise UnitError(f"'{unit}' has a dimension that no quantity here has")
    if "s" in same:
        seconds = _factor(unit, "s")
        return "s" if seconds < 60 else "y" if unit in ("y", "month") and seconds >= 31557600 else "h"
    if "1/s" in same:
        return "1/s" if unit.replace(" ", "") in ("1/s", "/s") else "1/y" if "y" in unit else "1/h"
    return same[0]


@cache
def _unit(unit: str) -> pint.Quantity[float]:
    text = unit.strip()
    if len(text) > MOST_UNIT_CHARACTERS:
        quoted = f"'{text[:20]}…' of {count_text(len(text))} characters"
        raise UnitError(f"the unit {quoted} is not known here: write one such as 'kW' or '1/h'")
    if text in (DIMENSIONLESS, "", "count"):
        text = "1"
    text = re.sub(r"\bnode\b|\bnodes\b|\bGPU\b|\btokens?\b|\brequests?\b", "1", text)
    # Spaces inside a denominator multiply: `1/(1000 node d)`.
    text = re.sub(r"(?<=[\w)])\s+(?=[\w(])", " * ", text.replace("%", "percent").replace("^", "**"))
    text = "1" + text if text.startswith("/") else text
    text = re.sub(r"/\s*year\b", "/y", text)  # under a stroke a year is a length of time, not a date
    text = re.sub(r"\byear\b", "calendar_year", text)
    if _POWER.search(text):
        raise UnitError(f"the unit '{unit}' is not known here: a power is one digit after a unit, as in cm^2")
    try:
        parsed: pint.Quantity[float] = _registry().Quantity(text)
    except Exception as error:  # pint raises several unrelated types for malformed text
        raise UnitError(f"the unit '{unit}' is not known here") from error
    return parsed


@cache
def _registry() -> pint.UnitRegistry[float]:
    import pint

    registry: pint.UnitRegistry[float] = pint.UnitRegistry(None)
    registry.load_definitions([line.strip() for line in _DEFINITIONS.strip().splitlines()])
    return registry


def _dimension_word(unit: str) -> str:
    words = {
        "kW": "a power",
        "kWh": "an energy",
        "s": "a time",
        "h": "a time",
        "y": "a time",
        "USD": "money",
        "kgCO2e": "a mass of CO2e",
        "GB": "an amount of data",
        "kg": "a mass",
        "1": "a plain number",
        "USD/kWh": "a price of energy",
        "USD/kW": "a price of power",
        "kgCO2e/kWh": "a grid intensity",
        "GB/s": "a bandwidth",
        "1/s": "a rate",
        "1/h": "a rate",
        "km": "a length",
        "L": "a volume",
    }
    try:
        return words.get(_canonical_unit(unit), "of another dimension")
    except UnitError:
        return "of another dimension"
