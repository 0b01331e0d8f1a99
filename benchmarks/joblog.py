"""A made-up job log in the form of `sacct --parsable2`: what reading is timed on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = ("JobID", "Partition", "State", "Submit", "Eligible", "Start", "End", "NNodes", "NodeList")
STATES = ("COMPLETED", "FAILED", "CANCELLED by 1000", "PREEMPTED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")
STATE_SHARES = (0.62, 0.24, 0.0285, 0.10, 0.009, 0.001, 0.0015)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SIZE_SHARES = (0.90, 0.03, 0.025, 0.02, 0.012, 0.007, 0.004, 0.002)
FLEET_NODES = 2000
ROWS_AT_ONCE = 250_000


def write_sacct(path: Path, rows: int, seed: int) -> None:
    """A year of jobs on a fleet of 2,000 nodes, a tenth of them followed by the `.batch` step of the job.

    Sizes and states have about the shares of a large research cluster; nothing else is meant to be real.
    The same seed gives the same file, and the file is written piece by piece.
    """
    random = np.random.default_rng(seed)
    names = np.array([f"node{i:04d}" for i in range(FLEET_NODES)])
    with path.open("w", encoding="utf-8") as file:
        file.write("|".join(COLUMNS) + "\n")
        for first in range(0, rows, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, rows - first)
            _jobs(random, names, first, count, rows).to_csv(
                file, sep="|", header=False, index=False, lineterminator="\n"
            )


def _jobs(random: np.random.Generator, names: np.ndarray, first: int, count: int, rows: int) -> pd.DataFrame:
    year_s = 365 * 86_400
    submit = np.sort(random.uniform(first / rows, (first + count) / rows, count) * year_s)
    start = submit + random.exponential(1800.0, count)
    nodes = random.choice(SIZES, count, p=SIZE_SHARES)
    step = random.random(count) < 0.1
    lead = random.integers(0, FLEET_NODES - nodes + 1)
    last = names[lead + nodes - 1]
    span = [f"{a}" if a == b else f"node[{a[4:]}-{b[4:]}]" for a, b in zip(names[lead], last, strict=True)]
    job = np.arange(first, first + count)
    end = start + random.gamma(0.5, 7200.0, count)
    times = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
    return pd.DataFrame(
        {
            "JobID": [f"{i}.batch" if of_job else f"{i}" for i, of_job in zip(job, step, strict=True)],
            "Partition": "learn",
            "State": random.choice(STATES, count, p=STATE_SHARES),
            **{name: _text(value) for name, value in times.items()},
            "NNodes": nodes,
            "NodeList": span,
        }
    )


def _text(seconds: np.ndarray) -> np.ndarray:
    return np.datetime_as_string(np.datetime64("2024-01-01T00:00:00") + seconds.astype("timedelta64[s]"))
