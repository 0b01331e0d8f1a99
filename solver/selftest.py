"""Small programs whose optimum is proven by hand, which an engine has to answer before it is believed.

HiGHS 1.14.0 calls a plan optimal that costs 15 where the best costs 9, and nothing in its answer shows it.
That an engine answered well is kept for its version in the cache folder of this user: it is asked once.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulp

Answered = tuple[str, float]  # how a solve ended, and the objective, NaN where there is no plan
Solve = Callable[[Any], Answered]

CLOSE = 1e-6
_trusted: set[tuple[str, str]] = set()  # engines that this process has asked


class UntrustedEngine(RuntimeError):
    """The engine answers a program wrongly whose optimum is known, so that no plan of it can be believed."""


def trust(engine: str, version: str, solve: Solve, instead: str) -> None:
    """Ask an engine that was not asked before, in this version.

    Raises:
        UntrustedEngine: it answers a program wrongly; `instead` says how.
    """
    if (engine, version) in _trusted:
        return
    key = f"{engine}-{version}-{_digest()}".replace(" ", "-")
    if _kept(key):
        _trusted.add((engine, version))
        return
    for make, ending, optimum in PROGRAMS:
        ended, objective = solve(make())
        right = ended == ending and (math.isnan(optimum) or abs(objective - optimum) <= CLOSE)
        if not right:
            raise UntrustedEngine(
                f"{engine} {version} answers a small program wrongly ({make.__name__}: "
                f"{_text(ended, objective)}; right is {_text(ending, optimum)}), so no plan of it can be "
                f"believed; {instead}"
            )
    _trusted.add((engine, version))
    _keep(key)


def _text(ended: str, objective: float) -> str:
    return ended if math.isnan(objective) else f"{ended} at {objective:.9g}"


# What is kept


def cache_folder() -> Path:
    """The folder of this user for what can be made again, as each system has it."""
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "everfleet" / "cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "everfleet"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "everfleet"


def _digest() -> str:
    """Of the programs themselves: others are to be asked anew."""
    programs = "".join(f"{make()}{ending}{optimum}" for make, ending, optimum in PROGRAMS)
    return hashlib.sha256(programs.encode()).hexdigest()[:12]


def _kept(key: str) -> bool:
    try:
        return (cache_folder() / "engines" / key).is_file()
    except (OSError, RuntimeError):  # no home, or a folder that cannot be looked into: ask again
        return False


def _keep(key: str) -> None:
    """Where nothing can be kept, the next process asks again."""
    try:
        folder = cache_folder() / "engines"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / key).touch()
    except (OSError, RuntimeError):
        return


# The programs


def knapsack() -> Any:
    """Items of weight 5, 6, 4 and 4 worth 10, 13, 7 and 8, at most 9: the first and the last, 18.

    With fractions it is 19; the second alone is 13, and no other pair within 9 is worth more than 17.
    """
    weights, worth = (5, 6, 4, 4), (10, 13, 7, 8)
    take = [pulp.LpVariable(f"take_{item}", 0, 1, pulp.LpInteger) for item in range(4)]
    model = _model(pulp.lpSum(-value * each for value, each in zip(worth, take, strict=True)))
    model += pulp.lpSum(weight * each for weight, each in zip(weights, take, strict=True)) <= 9
    return model


def cover_of_a_ring() -> Any:
    """Each of five links of a ring needs one of its two ends: 3, for two points touch four links only.

    With fractions it is 2.5.
    """
    ends = [pulp.LpVariable(f"end_{point}", 0, 1, pulp.LpInteger) for point in range(5)]
    model = _model(pulp.lpSum(ends))
    for point in range(5):
        model += ends[point] + ends[(point + 1) % 5] >= 1
    return model


def fixed_charge() -> Any:
    """7 from a plant for 5 (10 to open, 2 each) and one for 8 (18, 1 each): the second alone, 18 + 7 = 25.

    The first alone is too small, and both cost 28 before they make anything.
    """
    opened = [pulp.LpVariable(f"open_{plant}", 0, 1, pulp.LpInteger) for plant in range(2)]
    made = [pulp.LpVariable(f"made_{plant}", 0) for plant in range(2)]
    model = _model(10 * opened[0] + 18 * opened[1] + 2 * made[0] + made[1])
    model += made[0] - 5 * opened[0] <= 0
    model += made[1] - 8 * opened[1] <= 0
    model += made[0] + made[1] >= 7
    return model


def boxes_of(amount: int) -> Any:
    """The fewest boxes of 6, 9 and 20 that hold an amount exactly."""
    sizes = (6, 9, 20)
    boxes = [pulp.LpVariable(f"of_{size}", 0, 10, pulp.LpInteger) for size in sizes]
    model = _model(pulp.lpSum(boxes))
    model += pulp.lpSum(size * each for size, each in zip(sizes, boxes, strict=True)) == amount
    return model


def boxes_of_44() -> Any:
    """44 = 6 + 2 * 9 + 20: four; without a 20 it is no multiple of 3, and two of them leave 4."""
    return boxes_of(44)


def boxes_of_43() -> Any:
    """The largest amount that boxes of 6, 9 and 20 cannot hold: 43, 23 and 3 are none of 6 and 9."""
    return boxes_of(43)


def stuffing() -> Any:
    """At least 4.5 of x + z, at 2 for x and 3 for a whole z: x = 4.5 alone, 9.

    The presolve of HiGHS 1.14.0 gives z = 5, 15, for it forgets what the whole column leaves open.
    """
    x, z = pulp.LpVariable("x", 0, 10), pulp.LpVariable("z", 0, 10, pulp.LpInteger)
    model = _model(2 * x + 3 * z)
    model += x + z >= 4.5
    return model


def without_end() -> Any:
    """More of both is always better, and x - y <= 2 never stops it."""
    x, y = (pulp.LpVariable(name, 0, None, pulp.LpInteger) for name in "xy")
    model = _model(-1 * x - y)
    model += x - y <= 2
    return model


def _model(objective: Any) -> Any:
    model = pulp.LpProblem("selftest", pulp.LpMinimize)
    model += objective
    return model


PROGRAMS: tuple[tuple[Callable[[], Any], str, float], ...] = (
    (knapsack, "optimal", -18.0),
    (cover_of_a_ring, "optimal", 3.0),
    (fixed_charge, "optimal", 25.0),
    (boxes_of_44, "optimal", 4.0),
    (stuffing, "optimal", 9.0),
    (boxes_of_43, "no plan exists", math.nan),
    (without_end, "the objective has no end", math.nan),
)
