"""Answers of searches that were kept: the same question asked again is not searched again.

What is kept of a search are the decisions alone, as columns of numbers. What they add up to is added up anew
and every rule tried anew, as of a plan that was just found; what is damaged or breaks a rule is searched for.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.performance.remembered import digest_of
from solver import backend
from solver.account import solution
from solver.answer import PROVEN, Answer
from solver.backend import Status
from solver.problem import Problem, Solution
from solver.solution import Decisions, SlotUse
from solver.verify import objective_value, verify

EDITION = 1  # of what is written
TOLERANCE = 1e-6  # of rules, as of a plan that was just found
EQUAL = 1e-9  # share by which an objective may differ from the one that was kept: rounding
LIBRARIES = ("everfleet", "highspy", "pulp", "numpy")
DIGEST_BYTES = 32

# Axes of what is decided, with the letters of the problem; all of `slots` have Y as the last one.
_AXES = {
    "orders": "PT",
    "rented": "PT",
    "committed": "PT",
    "retired": "HT",
    "sold": "BT",
    "moved": "MT",
    "run": "R",
    "chosen": "E",
    "completed": "E",
    "done_node_h": "ET",
    "left_out": "J",
    "replicas": "VT",
    "shed_fraction": "IT",
    "work_node_h": "OT",
    "spares": "PT",
    "parked": "PT",
    "matched_kwh": "CT",
}
_SLOT_AXES = {"work": "OTY", "done": "ETY", "lent": "OTY", "quiet": "VTY", "rest": "VTY", "off": "PTY"}
_WHOLE = {"orders", "rented", "committed", "retired", "sold", "moved", "run", "chosen", "replicas", "spares"}


class Memory(Protocol):
    """Where answers are kept by the digest of their question. What it forgets is searched again."""

    def get(self, key: str) -> bytes | None:
        """What was kept under a key, if it is still there."""

    def put(self, key: str, content: bytes) -> None:
        """Keep it, if that can be."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Plans that a search found, and what it proved. Figures are in the units of the objective."""

    plans: tuple[Solution, ...]
    status: Status
    bound: float
    elapsed_s: float
    day: str  # ISO 8601, of the search


def searched(
    memory: Memory | None,
    problem: Problem,
    search: Callable[[], Answer],
    *,
    gap_fraction: float,
    engine: str,
    start: Solution | None,
) -> Answer:
    """The answer of an earlier search for the same, or of this one, which is kept where it proved its plan.

    The time limit is no part of the question: what was proved within one is proved within any.
    """
    if memory is None:
        return search()
    key = _key("answer", problem, gap_fraction=gap_fraction, engine=engine, start=_decided(start))
    kept = recalled(memory, key, problem)
    if kept is not None and len(kept.plans) == 1 and kept.status in PROVEN:
        plan, optimal = kept.plans[0], kept.status is Status.OPTIMAL
        objective = objective_value(problem, plan)
        apart, above = backend.gap(objective, kept.bound), kept.bound - objective
        room = TOLERANCE * max(1.0, abs(objective))
        if apart <= TOLERANCE + (0.0 if optimal else gap_fraction) and above <= room:
            gap = 0.0 if optimal else apart
            return Answer(kept.status, plan, objective, kept.bound, gap, kept.elapsed_s, kept.day)
    found = search()
    if found.status in PROVEN and found.solution is not None:
        plans = (found.solution,)
        keep(memory, key, problem, Kept(plans, found.status, found.bound, found.elapsed_s, _today()))
    return found


def searched_ties(
    memory: Memory | None,
    problem: Problem,
    plan: Answer,
    search: Callable[[], list[Solution]],
    *,
    gap_fraction: float,
    engine: str,
    time_limit_s: float,
    complete: Callable[[], bool],
) -> list[Solution]:
    """The same for plans within the gap next to one; how many are found depends on the time that they have.

    `complete` says, after the search, whether it had all of that time.
    """
    if memory is None or plan.solution is None:
        return search()
    key = _key(
        "ties",
        problem,
        gap_fraction=gap_fraction,
        engine=engine,
        start=_decided(plan.solution),
        bound=plan.bound,
        time_limit_s=time_limit_s,
    )
    kept = recalled(memory, key, problem)
    if kept is not None:
        return list(kept.plans)
    found = search()
    if complete():
        keep(memory, key, problem, Kept(tuple(found), plan.status, plan.bound, plan.elapsed_s, _today()))
    return found


def keep(memory: Memory, key: str, problem: Problem, kept: Kept) -> None:
    """Write down the decisions of each plan, and its objective, under the digest of all of it."""
    columns: dict[str, NDArray[Any]] = {
        "plans": np.array(len(kept.plans)),
        "status": np.array(kept.status.name),
        "proved": np.array([kept.bound, kept.elapsed_s]),
        "day": np.array(kept.day),
    }
    for number, plan in enumerate(kept.plans):
        columns[f"{number}.objective"] = np.array(objective_value(problem, plan))
        columns |= {f"{number}.{name}": column for name, column in _decided(plan).items()}
    written = io.BytesIO()
    np.savez_compressed(written, allow_pickle=False, **columns)
    body = written.getvalue()
    memory.put(key, _seal(key, body) + body)


def recalled(memory: Memory, key: str, problem: Problem) -> Kept | None:
    """What was kept under a key, if it is whole and every plan of it keeps every rule of the problem."""
    content = memory.get(key)
    if content is None or content[:DIGEST_BYTES] != _seal(key, content[DIGEST_BYTES:]):
        return None
    try:
        with np.load(io.BytesIO(content[DIGEST_BYTES:]), allow_pickle=False) as columns:
            plans = [_plan(columns, number, problem) for number in range(int(columns["plans"]))]
            bound, elapsed_s = (float(one) for one in columns["proved"])
            status, day = Status[str(columns["status"])], str(columns["day"])
            date.fromisoformat(day)
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile):
        return None
    whole = [plan for plan in plans if plan is not None]
    if len(whole) < len(plans) or not (math.isfinite(bound) and 0 <= elapsed_s < math.inf):
        return None
    return Kept(tuple(whole), status, bound, elapsed_s, day)


def _plan(columns: Any, number: int, problem: Problem) -> Solution | None:
    """One plan with all that it adds up to; None where it is none of this problem or not the one kept."""
    sizes = _sizes(problem)

    def column(name: str, axes: str, *, whole: bool) -> NDArray[Any]:
        found: NDArray[Any] = columns[f"{number}.{name}"]
        if found.dtype != (np.int64 if whole else np.float64):
            raise ValueError(f"{name} holds {found.dtype}")
        if found.shape != tuple(sizes[axis] for axis in axes) or not np.isfinite(found).all():
            raise ValueError(f"{name} is no column of this problem")
        return found

    decided = {name: column(name, axes, whole=name in _WHOLE) for name, axes in _AXES.items()}
    slots = None
    if sizes["Y"]:
        slots = SlotUse(**{n: column(f"slots.{n}", axes, whole=False) for n, axes in _SLOT_AXES.items()})
    plan = solution(problem, Decisions(**decided, slots=slots))
    same = math.isclose(
        objective_value(problem, plan), float(columns[f"{number}.objective"]), rel_tol=EQUAL, abs_tol=EQUAL
    )
    return plan if same and not verify(problem, plan, TOLERANCE) else None


def _sizes(problem: Problem) -> dict[str, int]:
    """How many there are of each set."""
    return {
        "T": problem.periods,
        "Y": len(problem.slots),
        "P": len(problem.node_groups),
        "H": len(problem.cohorts),
        "B": len(problem.sales),
        "M": len(problem.moves),
        "R": len(problem.run_options),
        "E": len(problem.pausable_options),
        "J": len(problem.jobs),
        "V": len(problem.serve_options),
        "I": len(problem.services),
        "O": len(problem.work_options),
        "C": len(problem.contracts),
    }


def _decided(plan: Solution | None) -> dict[str, NDArray[Any]]:
    """The decisions of a plan by name; nothing where there is no plan."""
    if plan is None:
        return {}
    found = {name: getattr(plan, name) for name in _AXES}
    if plan.slots is not None:
        found |= {f"slots.{part.name}": getattr(plan.slots, part.name) for part in fields(SlotUse)}
    return found


def _key(kind: str, problem: Problem, **of_it: Any) -> str:
    """The digest of a question: every column of its problem, what is asked of it, what would answer it."""
    versions = {name: _version(name) for name in LIBRARIES}
    said = {"edition": EDITION, "kind": kind, "versions": versions, "problem": problem, **of_it}
    return digest_of(said).hex()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # of a checkout that is not installed
        return ""


def _seal(key: str, body: bytes) -> bytes:
    """The digest of what was kept, and of the question that it answers."""
    return hashlib.sha256(key.encode() + body).digest()


def _today() -> str:
    return date.today().isoformat()
