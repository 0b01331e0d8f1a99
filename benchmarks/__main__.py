"""Measures and writes docs/benchmarks.md: `python -m benchmarks [--quick] [--out FILE]`.

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
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TIME_LIMITS_S = {1: 20.0, 4: 30.0, 16: 60.0}
LIBRARIES = ("numpy", "pulp", "highspy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every part and write the page, or run one part and print what it measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="smallest size, few repeats: does it run?")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "benchmarks.md", help="where the page goes"
    )
    parser.add_argument("--part", choices=("rates", "startup", "size"), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part is not None:
        print(json.dumps(_part(options.part, options.size, options.quick)))
        return 0
    from benchmarks.page import page

    options.out.write_text(page(measure(options.quick)), encoding="utf-8")
    print(options.out)
    return 0


def measure(quick: bool) -> dict[str, Any]:
    """Everything that the page shows."""
    began = time.perf_counter()
    sizes = [1] if quick else list(TIME_LIMITS_S)
    found = {
        "startup": _child("startup", 1, quick),
        "rates": _child("rates", 1, quick),
        "sizes": [_child("size", size, quick) for size in sizes],
    }
    cores, load = os.cpu_count() or 1, os.getloadavg()[1]
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    print(f"measured in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return found | {
        "machine": {
            # Ours keeps one core busy; what is well above comes from others.
            "cores": cores, "load": load, "busy": load > 1.5,
            "versions": f"Python {platform.python_version()}, {versions}",
        },
    }  # fmt: skip


def _child(part: str, size: int, quick: bool) -> Any:
    print(f"{part} {size if part == 'size' else ''}", file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks", "--part", part, "--size", str(size)]
    command += ["--quick"] * quick
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _part(part: str, size: int, quick: bool) -> Any:
    if part == "startup":
        from benchmarks.startup import startup

        return startup(repeats=1 if quick else 5)
    if part == "rates":
        from benchmarks.rates import all_rates

        return all_rates(repeats=2 if quick else 5, largest=1 if quick else 2)
    from benchmarks.sizes import plan_once

    return plan_once(size, time_limit_s=2.0 if quick else TIME_LIMITS_S[size])


if __name__ == "__main__":
    sys.exit(main())
