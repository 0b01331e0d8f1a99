"""How far ours may be from theirs: the tolerances that a row may state, and the units that it may be in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_RELATIVE = re.compile(rf"(?:rel\s*)?({_NUMBER})\s*%(?:\s*rel)?\Z")
_RELATIVE_PLAIN = re.compile(rf"rel\s*({_NUMBER})\Z")
_ABSOLUTE = re.compile(rf"(?:abs\s*({_NUMBER})|({_NUMBER})\s*abs)(?:\s*points?)?\Z")
_SPAN = re.compile(rf"({_NUMBER})\s*%\s*\.\.\s*({_NUMBER})\s*%\Z")
_UPPER = re.compile(rf"upper(?:\s+bound)?\s*[:=]?\s*({_NUMBER})")

# Two numbers this close are the same number printed twice: rounding is not an error.
_ROUNDING = 1e-9


class ToleranceError(ValueError):
    """The text says no tolerance that is known here."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Where ours may lie: between two bounds around (or next to) the expected value."""

    low: float
    high: float
    note: str = ""

    def holds(self, ours: float) -> bool:
        """Whether ours lies between the bounds, ends included."""
        return self._reaches(ours, self.low) and self._reaches(-ours, -self.high)

    @staticmethod
    def _reaches(value: float, bound: float) -> bool:
        return value >= bound or math.isclose(value, bound, rel_tol=_ROUNDING, abs_tol=1e-300)


def parse_tolerance(text: str, *, expected: float, unit: str = "") -> Tolerance:
    """The bounds that a tolerance sets around an expected value.

    Known are `2%`, `rel 2%`, `rel 1e-9`, `abs 0.01`, `abs 8 points`, `at least`, `at most`, `exact`,
    `-35% .. +5%`, `informative`, and `bounds`: there the expected value is the lower bound and the unit
    names the upper one, as in `ratio (lower bound; upper 1.35)`.

    Raises:
        ToleranceError: the text is none of these.
    """
    said = " ".join(text.lower().replace("−", "-").replace("±", "").split())
    fixed = {
        "exact": Tolerance(expected, expected),
        "0": Tolerance(expected, expected),
        "at least": Tolerance(expected, math.inf),
        "at most": Tolerance(-math.inf, expected),
        "informative": Tolerance(-math.inf, math.inf, "informative: counts as inside whatever we get"),
    }
    if said in fixed:
        return fixed[said]
    if said == "bounds":
        return Tolerance(expected, _upper_bound(unit))
    if found := _RELATIVE.match(said):
        return _around(expected, abs(expected) * float(found[1]) / 100.0, text)
    if found := _RELATIVE_PLAIN.match(said):
        return _around(expected, abs(expected) * float(found[1]), text)
    if found := _ABSOLUTE.match(said):
        return _around(expected, float(found[1] or found[2]), text)
    if found := _SPAN.match(said):
        low, high = (expected + abs(expected) * float(end) / 100.0 for end in found.groups())
        if low > high:
            raise ToleranceError(f"the tolerance '{text}' ends below its start")
        return Tolerance(low, high)
    raise ToleranceError(
        f"the tolerance '{text}' is not known: write for example '2%', 'rel 2%', 'abs 0.01', 'at least', "
        "'at most', 'exact', 'bounds' or '-35% .. +5%'"
    )


def is_two_sided(text: str) -> bool:
    """Whether an error says how good ours is: not where the row only bounds us from one side, or informs."""
    return " ".join(text.lower().split()) not in ("at least", "at most", "bounds", "informative")


def relative_error(ours: float, expected: float) -> float:
    """How far ours is from theirs as a share of theirs; the plain difference where theirs is zero."""
    return (ours - expected) / abs(expected) if expected else ours - expected


def _around(expected: float, distance: float, text: str) -> Tolerance:
    if distance < 0:
        raise ToleranceError(f"the tolerance '{text}' is negative")
    return Tolerance(expected - distance, expected + distance)


def _upper_bound(unit: str) -> float:
    found = _UPPER.search(unit.lower())
    if found is None:
        raise ToleranceError(
            f"the tolerance 'bounds' needs the upper bound in the unit, as in 'ratio (upper 1.35)', "
            f"got '{unit}'"
        )
    return float(found[1])
