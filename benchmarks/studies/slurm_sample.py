"""Make data/samples/slurm-simulated.txt: a job log as `sacct --parsable2` has it, of a known failure rate.

    python -m benchmarks.studies.slurm_sample data/samples/slurm-simulated.txt

A queue of jobs runs on 256 nodes for half a year, first come first served. Each node fails at a constant rate
while it runs a job, two of them far more often; a failure ends the job, which runs again from the start.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import numpy as np

NODES, DAYS, SEED = 256, 180, 7
PER_1000_NODE_DAYS = 5.0
WEAK_NODES, WEAK_FACTOR = ("node017", "node201"), 20.0
SIZES, SIZE_SHARES = (1, 2, 4, 8, 16, 32, 64, 128), (0.32, 0.12, 0.12, 0.14, 0.12, 0.09, 0.06, 0.03)
MEAN_RUN_H, MEAN_GAP_H = 14.0, 1.5
STATES, STATE_SHARES = ("COMPLETED", "FAILED", "CANCELLED by 1004", "TIMEOUT"), (0.72, 0.18, 0.07, 0.03)
COLUMNS = ("JobID", "State", "Submit", "Start", "End", "NNodes", "NodeList", "FailedNode")
START = np.datetime64("2025-01-01T00:00:00")


def sacct_lines(seed: int = SEED) -> list[str]:
    """The log, its header first; the same seed gives the same lines."""
    random = np.random.default_rng(seed)
    names = [f"node{i:03d}" for i in range(1, NODES + 1)]
    rate_per_h = np.array([WEAK_FACTOR if name in WEAK_NODES else 1.0 for name in names])
    rate_per_h *= PER_1000_NODE_DAYS / 24_000.0
    free_h, lines, submit_h, job = np.zeros(NODES), ["|".join(COLUMNS)], 0.0, 1000
    while submit_h < DAYS * 24.0:
        size, run_h = int(random.choice(SIZES, p=SIZE_SHARES)), float(random.exponential(MEAN_RUN_H))
        state, again = str(random.choice(STATES, p=STATE_SHARES)), True
        wanted_h = submit_h
        while again:
            chosen = np.sort(np.argsort(free_h, kind="stable")[:size])
            start_h = max(wanted_h, float(free_h[chosen].max())) + 0.01
            fails_h = random.exponential(1.0 / rate_per_h[chosen])
            again = bool(fails_h.min() < run_h)
            end_h = start_h + (float(fails_h.min()) if again else run_h)
            failed = names[chosen[int(fails_h.argmin())]] if again else ""
            times = (_text(hour) for hour in (wanted_h, start_h, end_h))
            row = (
                str(job),
                "NODE_FAIL" if again else state,
                *times,
                str(size),
                _host_list(chosen + 1),
                failed,
            )
            lines.append("|".join(row))
            free_h[chosen] = end_h
            wanted_h = end_h
        submit_h += float(random.exponential(MEAN_GAP_H))
        job += 1
    return lines


def _host_list(numbers: np.ndarray) -> str:
    """`node[001-003,007]`."""
    runs = [
        [n for _, n in run] for _, run in groupby(enumerate(numbers.tolist()), lambda pair: pair[1] - pair[0])
    ]
    parts = [f"{run[0]:03d}" + (f"-{run[-1]:03d}" if len(run) > 1 else "") for run in runs]
    return f"node{parts[0]}" if len(numbers) == 1 else f"node[{','.join(parts)}]"


def _text(hour: float) -> str:
    return str(START + np.timedelta64(round(hour * 3600), "s"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("\n".join(sacct_lines()) + "\n", encoding="utf-8")
