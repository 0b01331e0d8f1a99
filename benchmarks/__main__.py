"""Measures and writes docs/benchmarks.md: `python -m benchmarks [--quick] [--before CHECKOUT] [--out FILE]`.

This process stays small and measures nothing itself: each part runs in a fresh one, which prints JSON. A
child's peak of memory can be no less than what its parent held when it was started.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.before import before, quarter
from benchmarks.program import ONE_WAY, WAYS, planned
from benchmarks.program import TIME_LIMITS_S as PROGRAM_LIMITS_S
from planner.cli.console import keep_stdout

ROOT = Path(__file__).resolve().parents[1]
TIME_LIMITS_S = {1: 20.0, 4: 30.0, 16: 60.0}
LIBRARIES = ("numpy", "pulp", "highspy", "scipy", "pandas", "lifelines", "duckdb")
ESTIMATES = ("kaplan-meier", "weibull", "cox")
ESTIMATE_ROWS = (10_000, 100_000, 1_000_000)
JOB_LOG_ROWS = 4_000_000
CARBON_JOBS = 1_000_000
STEP_ROWS = 100_000
SWEEP_POINTS = 64
PARTS = (
    "rates",
    "startup",
    "size",
    *ESTIMATES,
    "played",
    "log-written",
    "log-read",
    "carbon-jobs",
    "carbon-calls",
    "step-times",
    "step-calls",
    "layout-sweep",
    "program",
    "sweeps",
    "app",
)
# How near the plain way's answer ours must be; a count off by one row is further away than the second.
ALIKE_TO_FRACTION = {"lifelines": 1e-5, "pandas": 1e-9, "loop": 1e-12}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every part and write the page, or run one part and print what it measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="smallest size, few repeats: does it run?")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "benchmarks.md", help="where the page goes"
    )
    parser.add_argument(
        "--before", type=Path, help="an earlier checkout, whose plans are timed in the same run"
    )
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--by", choices=("everfleet", *ALIKE_TO_FRACTION), help=argparse.SUPPRESS)
    parser.add_argument("--resolution", choices=("day", "second"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--fleet", help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part is not None:
        print(json.dumps(_part(options), allow_nan=False))
        return 0
    from benchmarks.page import page

    options.out.write_text(page(measure(options.quick, options.before)), encoding="utf-8")
    print(options.out)
    return 0


def measure(quick: bool, earlier: Path | None = None) -> dict[str, Any]:
    """Everything that the page shows."""
    began = time.perf_counter()
    sizes = [1] if quick else list(TIME_LIMITS_S)
    found = {
        "startup": _child("startup", quick),
        "rates": _child("rates", quick),
        "sizes": [_child("size", quick, "--size", size) for size in sizes],
        "program": _program(quick),
        "sweeps": _child("sweeps", quick),
        "estimates": _estimates(quick),
        "played": _child("played", quick),
        "job_log": _job_log(quick),
        "carbon": _carbon(quick),
        "performance": _performance(quick),
        "app": _child("app", quick),
    }
    if earlier is not None:
        fleets = [one["fleet"] for one in found["program"] if one["way"] == WAYS[0]]
        found["before"] = before(earlier, fleets) | {"quarter after": quarter(ROOT)}
    cores, load = os.cpu_count() or 1, os.getloadavg()[1]
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    print(f"measured in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return found | {
        "machine": {
            # Ours keeps one core busy; what is well above comes from others.
            "cores": cores,
            "load": load,
            "busy": load > 1.5,
            "versions": f"Python {platform.python_version()}, {versions}",
        },
    }


def _program(quick: bool) -> list[dict[str, Any]]:
    return [
        _child("program", quick, "--fleet", fleet, "--way", way)
        for fleet in list(PROGRAM_LIMITS_S)[: 1 if quick else None]
        for way in (WAYS[:1] if fleet in ONE_WAY else WAYS)
    ]


def _estimates(quick: bool) -> list[dict[str, Any]]:
    return [
        {"what": estimate, "rows": rows, "resolution": resolution}
        | _both_ways("lifelines", estimate, quick, "--size", rows, "--resolution", resolution)
        for estimate in ESTIMATES
        for resolution in ("day", "second")
        for rows in ESTIMATE_ROWS[: 1 if quick else None]
    ]


def _job_log(quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        rows = JOB_LOG_ROWS // 200 if quick else JOB_LOG_ROWS
        written: dict[str, Any] = _child("log-written", quick, "--size", rows, "--folder", folder)
        return written | _both_ways("pandas", "log-read", quick, "--folder", folder)


def _carbon(quick: bool) -> dict[str, Any]:
    jobs = CARBON_JOBS // 200 if quick else CARBON_JOBS
    both = _both_ways("loop", "carbon-jobs", quick, "--size", jobs)
    return {
        "estimates": {"jobs": jobs} | both,
        "calls": _child("carbon-calls", quick),
    }


def _performance(quick: bool) -> dict[str, Any]:
    rows = STEP_ROWS // 200 if quick else STEP_ROWS
    return {
        "steps": {"rows": rows} | _both_ways("loop", "step-times", quick, "--size", rows),
        "calls": _child("step-calls", quick),
        "sweep": _child("layout-sweep", quick),
    }


def _both_ways(plain: str, part: str, quick: bool, *more: object) -> dict[str, Any]:
    """A part done by everfleet and the plain way, each in a process of its own; the answers must be alike."""
    ours, theirs = (_child(part, quick, "--by", by, *more) for by in ("everfleet", plain))
    apart = apart_fraction(ours.pop("answer"), theirs.pop("answer"))
    if not apart <= ALIKE_TO_FRACTION[plain]:
        raise ValueError(f"{part} {more}: everfleet and {plain} are {apart:g} apart")
    return {"everfleet": ours, plain: theirs, "apart_fraction": apart}


def apart_fraction(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Largest difference between two answers, as a share of the larger number."""
    pairs = zip(ours, theirs, strict=True)
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b), default=0.0)


def _child(part: str, quick: bool, *more: object) -> Any:
    options = [str(each) for each in more]
    print(part, *options, file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks", "--part", part, *options]
    command += ["--quick"] * quick
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _part(options: argparse.Namespace) -> Any:
    part, quick = options.part, options.quick
    if part == "startup":
        from benchmarks.startup import startup

        return startup(repeats=1 if quick else 5)
    if part == "rates":
        from benchmarks.rates import all_rates

        return all_rates(repeats=2 if quick else 5, largest=1 if quick else 2)
    if part == "size":
        from benchmarks.sizes import plan_once

        return plan_once(options.size, time_limit_s=2.0 if quick else TIME_LIMITS_S[options.size])
    if part == "program":
        return planned(options.fleet, options.way, 2.0 if quick else PROGRAM_LIMITS_S[options.fleet])
    if part == "sweeps":
        from benchmarks.sweeps import overheads

        return overheads(SWEEP_POINTS // 16 if quick else SWEEP_POINTS)
    if part == "app":
        from benchmarks.app import app_measured

        return app_measured(quick=quick)
    if part in ("carbon-jobs", "carbon-calls"):
        return _carbon_part(options, repeats=1 if quick else 5)
    if part in ("step-times", "step-calls", "layout-sweep"):
        return _performance_part(options, repeats=1 if quick else 5)
    return _reliability(options, repeats=1 if quick else 3)


def _carbon_part(options: argparse.Namespace, repeats: int) -> Any:
    from benchmarks import carbon

    if options.part == "carbon-jobs":
        return carbon.jobs_estimated(options.size, options.by, repeats)
    return carbon.one_at_a_time(100 if options.quick else 5000, repeats)


def _performance_part(options: argparse.Namespace, repeats: int) -> Any:
    from benchmarks import performance

    if options.part == "step-times":
        return performance.steps_timed(options.size, options.by, repeats)
    if options.part == "step-calls":
        return performance.calls_timed(50 if options.quick else 2000, repeats)
    return performance.swept(2 if options.quick else None, 3 if options.quick else 40, repeats)


def _reliability(options: argparse.Namespace, repeats: int) -> Any:
    from benchmarks import reliability

    if options.part == "played":
        jobs, plain_jobs, fleets = (500, 20, 1) if options.quick else (10_000, 100, 10)
        return reliability.played(jobs, plain_jobs, fleets, repeats)
    if options.part == "log-written":
        return reliability.log_written(options.folder, options.size)
    if options.part == "log-read":
        return reliability.log_read(options.folder, options.by, repeats)
    return reliability.estimated(options.part, options.size, options.resolution, options.by, repeats)


if __name__ == "__main__":
    keep_stdout()
    sys.exit(main())
