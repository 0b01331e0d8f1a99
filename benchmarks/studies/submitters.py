"""How far results of one benchmark on the same machines lie apart: what no model of a machine can better.

    python -m benchmarks.studies.submitters

data/fit/submitters.csv holds seconds of a step, the median of all runs that a company filed, from the result
logs of MLPerf Training v4.0 to v5.1 (not verified by MLCommons Association), wherever several companies filed
the same round, benchmark, chip, count and batch. Left out: language models on Blackwell in v5.1, where some
ran in 8 bits and others in 4. It prints the table of docs/accuracy.md and changes nothing.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np

ROWS = Path(__file__).resolve().parents[2] / "data" / "fit" / "submitters.csv"
SAME = ("round", "benchmark", "chip", "accelerators", "global_batch")
HEAD = (
    "| benchmark | results | machines | off their median, mean "
    "| two companies apart, mean | median | a tenth beyond |"
)
NAMES = {
    "dlrm_dcnv2": "DLRM-DCNv2",
    "flux1": "FLUX.1",
    "llama2_70b_lora": "Llama 2 70B, adapters",
    "llama31_405b": "Llama 3.1 405B",
    "llama31_8b": "Llama 3.1 8B",
    "stable_diffusion": "Stable Diffusion v2",
}


def table_lines(path: Path = ROWS) -> list[str]:
    """The rows of the table: each benchmark, then all of them."""
    alike = _alike(path)
    of = {name: [found for key, found in alike.items() if key[1] == name] for name in NAMES}
    return [HEAD, "|---" + "|--:" * 6 + "|"] + [
        _line(name, groups)
        for name, groups in [*((NAMES[key], of[key]) for key in NAMES), ("**all**", list(alike.values()))]
        if groups
    ]


def mean_apart_fraction(path: Path = ROWS) -> float:
    """How far two companies are apart on the same machine, the mean over all pairs."""
    return float(np.mean(_apart(_alike(path).values())))


def _alike(path: Path) -> dict[tuple[str, ...], list[tuple[str, float]]]:
    """Companies and rates of each machine."""
    alike: dict[tuple[str, ...], list[tuple[str, float]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            alike[tuple(row[name] for name in SAME)].append((row["submitter"], 1.0 / float(row["step_s"])))
    return alike


def _apart(groups: Iterable[list[tuple[str, float]]]) -> list[float]:
    return [
        max(a, b) / min(a, b) - 1.0
        for found in groups
        for (mine, a), (other, b) in combinations(found, 2)
        if mine != other
    ]


def _line(name: str, groups: list[list[tuple[str, float]]]) -> str:
    off = [abs(rate / np.median([one for _, one in found]) - 1.0) for found in groups for _, rate in found]
    apart = _apart(groups)
    shares = (np.mean(off), np.mean(apart), np.median(apart), np.quantile(apart, 0.9))
    return (
        " | ".join(
            [f"| {name}", str(len(off)), str(len(groups)), *(f"{100.0 * one:.1f} %" for one in shares)]
        )
        + " |"
    )


if __name__ == "__main__":
    print("\n".join(table_lines()))
