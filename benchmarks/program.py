"""The integer program on made-up fleets, next to the same fleets written down plainly."""

from __future__ import annotations

import math
import time
from typing import Any

from benchmarks.clock import Record, peak_mb

GAP = 0.005
TIME_LIMITS_S = {"S": 10.0, "M": 60.0, "L": 300.0}
WAYS = ("everfleet", "everfleet-cbc", "plain", "plain-cbc")
ONE_WAY = ("L",)  # sizes at which only the first way is tried


def planned(fleet_size: str, way: str, time_limit_s: float) -> Record:
    """One fleet by one formulation and one engine: seconds to build and to solve, the gap, the memory."""
    from benchmarks.fleets import fleet

    problem = fleet(fleet_size)
    formulation, _, other = way.partition("-")
    engine = other or "highs"
    made, ended, build_s, solve_s = (_ours if formulation == "everfleet" else _plainly)(
        problem, engine, time_limit_s
    )
    return {
        "fleet": fleet_size,
        "way": way,
        "gap_limit_fraction": GAP,
        "time_limit_s": time_limit_s,
        "rows": len(made.constraints),
        "columns": len(made.variables()),
        "whole columns": sum(each.cat == "Integer" for each in made.variables()),
        "build_s": build_s,
        "solve_s": solve_s,
        "status": ended.status.value,
        "gap_fraction": ended.gap_fraction if math.isfinite(ended.gap_fraction) else None,
        "peak_mb": peak_mb(),
    }


def _ours(problem: Any, engine: str, time_limit_s: float) -> tuple[Any, Any, float, float]:
    """Build once to time it; the answer builds again, within its limit."""
    from solver.answer import answer
    from solver.build import build

    began = time.perf_counter()
    model = build(problem).model
    built = time.perf_counter()
    found = answer(problem, gap_fraction=GAP, time_limit_s=time_limit_s, engine=engine)
    return model, found, built - began, time.perf_counter() - built


def _plainly(problem: Any, engine: str, time_limit_s: float) -> tuple[Any, Any, float, float]:
    from benchmarks.plain import plain_program
    from solver import backend

    began = time.perf_counter()
    model = plain_program(problem)
    built = time.perf_counter()
    found = backend.solve(model, gap_fraction=GAP, time_limit_s=time_limit_s, engine=engine)
    return model, found, built - began, time.perf_counter() - built
