"""Answers of searches that were kept: the same question asked again is not searched again.

What is kept of a search are the decisions alone, as columns of numbers. What they add up to is added up anew
and every rule tried anew, as of a plan that was just found; what is damaged or breaks a rule is searched for.
A search that time ended is kept, too, with the bound that it reached: it answers where no more time is
allowed, and with more the search goes on from its plan.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.performance.remembered import digest_of
from solver import backend
from solver.account import solution
from solver.account_energy import FLOWS
from solver.backend import Status
from solver.known import PROVEN, Answer
from solver.problem import Problem, Solution
from solver.solution import Decisions, SlotUse
from solver.verify import objective_value, verify

EDITION = 5  # of what is written, and of the way it is searched: a better way is not told an older find
TOLERANCE = 1e-6  # of rules, as of a plan that was just found
EQUAL = 1e-9  # share by which an objective may differ from the one that was kept: rounding
ENDED = (*PROVEN, Status.TIME_LIMIT)  # how a search ends that nobody stopped, with a plan
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
    "adopted": "A",
    "signed": "S",
    "reused": "HT",
    "battery_kwh": "S",
    "solar_kw": "S",
}
_SLOT_AXES = {"work": "OTY", "done": "ETY", "lent": "OTY", "quiet": "VTY", "rest": "VTY", "off": "PTY"}
_SLOT_AXES |= dict.fromkeys(FLOWS, "STY")
_WHOLE = {"orders", "rented", "committed", "retired", "sold", "moved", "run", "chosen", "replicas"}
_WHOLE |= {"spares", "adopted", "signed", "reused"}


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
    bound: float  # -inf where time ended before there was one
    elapsed_s: float
    limit_s: float  # that the search was allowed
    day: str  # ISO 8601, of the search


def searched(
    memory: Memory | None,
    problem: Problem,
    search: Callable[[Solution | None], Answer],
    *,
    gap_fraction: float,
    engine: str,
    start: Solution | None,
    time_limit_s: float,
) -> Answer:
    """The answer of an earlier search for the same, or of this one, which is kept unless somebody stopped it.

    The time limit is no part of the question: what was proved within one is proved within any, and what time
    ended is the answer where no more time is allowed now. `search` is given a plan to start from: `start`, or
    that of an earlier search that had less time. `time_limit_s` is what the search is allowed as it is
    stated, whatever part of it is left when its turn comes.
    """
    if memory is None:
        return search(start)
    key = _key("answer", problem, gap_fraction=gap_fraction, engine=engine, start=_decided(start))
    kept = recalled(memory, key, problem)
    known = None if kept is None else _answered(problem, kept, gap_fraction)
    if kept is not None and known is not None and (known.status in PROVEN or time_limit_s <= kept.limit_s):
        return known
    found = search(start if known is None else known.solution)
    if known is not None and found.solution is not None:
        found = _continued(known, found, gap_fraction)
    if found.status in ENDED and found.solution is not None:
        plans = (found.solution,)
        keep(
            memory,
            key,
            problem,
            Kept(plans, found.status, found.bound, found.elapsed_s, time_limit_s, _today()),
        )
    return found


def _answered(problem: Problem, kept: Kept, gap_fraction: float) -> Answer | None:
    """What was kept as an answer; None where it is no one plan, or claims more than its bound says."""
    if len(kept.plans) != 1 or kept.status not in ENDED:
        return None
    plan = kept.plans[0]
    objective = objective_value(problem, plan)
    apart, above = backend.gap(objective, kept.bound), kept.bound - objective
    if above > TOLERANCE * max(1.0, abs(objective)):
        return None
    optimal = kept.status is Status.OPTIMAL
    if kept.status in PROVEN and not apart <= TOLERANCE + (0.0 if optimal else gap_fraction):
        return None
    return Answer(
        kept.status, plan, objective, kept.bound, 0.0 if optimal else apart, kept.elapsed_s, kept.day
    )


def _continued(known: Answer, found: Answer, gap_fraction: float) -> Answer:
    """What a search found that went on from an earlier plan: bounds of both hold, and so do their seconds."""
    bound = max(known.bound, found.bound)
    gap = 0.0 if found.status is Status.OPTIMAL else backend.gap(found.objective, bound)
    status = found.status
    if status is Status.TIME_LIMIT and gap <= gap_fraction:
        status = Status.WITHIN_GAP
    elapsed_s = known.elapsed_s + found.elapsed_s
    return replace(found, status=status, bound=bound, gap_fraction=gap, elapsed_s=elapsed_s)


def searched_ties(
    memory: Memory | None,
    problem: Problem,
    plan: Answer,
    search: Callable[[], list[Solution]],
    *,
    gap_fraction: float,
    engine: str,
    time_limit_s: float,
    stopped: Callable[[], bool],
) -> list[Solution]:
    """The same for plans within the gap next to one: how many are found depends on the time that they have.

    `stopped` says, after the search, whether somebody ended it.
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
    )
    kept = recalled(memory, key, problem)
    if kept is not None and time_limit_s <= kept.limit_s:
        return list(kept.plans)
    found = search()
    if not stopped():
        plans = tuple(found)
        keep(
            memory, key, problem, Kept(plans, plan.status, plan.bound, plan.elapsed_s, time_limit_s, _today())
        )
    return found


def keep(memory: Memory, key: str, problem: Problem, kept: Kept) -> None:
    """Write down the decisions of each plan, and its objective, under the digest of all of it."""
    columns: dict[str, NDArray[Any]] = {
        "plans": np.array(len(kept.plans)),
        "status": np.array(kept.status.name),
        "proved": np.array([kept.bound, kept.elapsed_s, kept.limit_s]),
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
            bound, elapsed_s, limit_s = (float(one) for one in columns["proved"])
            status, day = Status[str(columns["status"])], str(columns["day"])
            date.fromisoformat(day)
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile):
        return None
    whole = [plan for plan in plans if plan is not None]
    if len(whole) < len(plans) or not (bound < math.inf and 0 <= elapsed_s < math.inf and limit_s >= 0):
        return None
    return Kept(tuple(whole), status, bound, elapsed_s, limit_s, day)


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
        "A": len(problem.adoptions),
        "S": len(problem.site_names),
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
