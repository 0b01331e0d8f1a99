"""The same fleets planned by an earlier checkout, in the same run and by the same Python and libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.clock import Record

QUARTER = "next-quarter"
EVERFLEET = "import sys; from planner.cli import main; sys.exit(main())"


def before(checkout: Path, fleets: Iterable[str]) -> Record:
    """Made-up fleets and the shipped quarter, planned by the code, facts and scenario of that checkout."""
    title = subprocess.run(
        ["git", "show", "--no-patch", "--format=%h, %cs", "HEAD"],
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {
        "title": title.stdout.strip(),
        "program": [_made_up(checkout, fleet) for fleet in fleets],
        "quarter": quarter(checkout),
    }


def quarter(checkout: Path) -> Record:
    """Seconds of `everfleet plan next-quarter`, the first and the second time on a machine, and the gap."""
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        # The first run of a machine also tests the solver there, and keeps what it found, as its search.
        environment = os.environ | {"XDG_CACHE_HOME": folder, "XDG_DATA_HOME": folder}
        command = [sys.executable, "-c", EVERFLEET, "plan", QUARTER, "--out"]
        seconds = []
        for name in ("first", "second"):
            began = time.perf_counter()
            subprocess.run(
                [*command, str(Path(folder) / name)],
                cwd=checkout,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            seconds.append(time.perf_counter() - began)
        plan = json.loads((Path(folder) / "second" / "plan.json").read_text(encoding="utf-8"))
    return {"first_s": seconds[0], "second_s": seconds[1], "gap_fraction": plan["status"]["gap_fraction"]}


def _made_up(checkout: Path, fleet: str) -> Record:
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--part",
        "program",
        "--fleet",
        fleet,
        "--way",
        "everfleet",
    ]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    found: Record = json.loads(done.stdout)
    return found
