"""Fits the law of the clock on work under power caps, and says how well it predicts.

    python -m benchmarks.studies.fit_caps

Benchmarks of MLPerf Inference on H200 with and without a power limit (data/fit/power_limits.csv), of which
the shipped constants are; and whole epochs of BERT and ResNet-50 on older chips under seven to nine caps,
from the traces of Zeus (data/fit/power_caps.csv). What the work draws without a cap is what it draws under
the highest, on H200 all that the limit allows. It prints and changes nothing.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from carbon.power import capped_clock_fraction

Floats = NDArray[np.float64]
Capped = tuple[tuple[str, ...], float, float, float]  # run, cap in W, rate, power in W

FOLDER = Path(__file__).resolve().parents[2] / "data" / "fit"
EPOCHS, LIMITS = FOLDER / "power_caps.csv", FOLDER / "power_limits.csv"
H200 = "h200-sxm-141gb"
IDLE_W = {H200: 75.0, "v100": 40.0, "p100": 28.0, "rtx6000": 20.0, "a40": 25.0}  # as NVML reports it, about
BINDS = 0.995  # a cap that leaves more of the power than this does not bind
CUBE = 3.0  # exponent of H200: voltage proportional to the clock, as eight points do not tell it
START, BOUNDS = (0.65, 10.0), ([0.05, 1.1], [0.97, 40.0])


@cache
def points(chip: str) -> Floats:
    """Speed, and power above idle, each over that without a cap: a row for each cap that binds."""
    runs: dict[tuple[str, ...], list[tuple[float, float, float]]] = defaultdict(list)
    for run, cap_w, rate, power_w in _of_limits() if chip == H200 else _of_epochs(chip):
        runs[run].append((cap_w, rate, power_w - IDLE_W[chip]))
    found = []
    for capped in runs.values():
        _, free_rate, free_w = max(capped)
        found += [(rate / free_rate, power_w / free_w) for _, rate, power_w in capped]
    every = np.array(found)
    return every[every[:, 1] < BINDS]


def _of_limits() -> Iterator[Capped]:
    with LIMITS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            limit_w = float(row["power_limit_w"])
            yield (row["benchmark"],), limit_w, float(row["samples_per_s"]), limit_w


def _of_epochs(chip: str) -> Iterator[Capped]:
    with EPOCHS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["chip"] == chip:
                run = row["model"], row["batch"], row["optimizer"]
                yield run, float(row["power_cap_w"]), 1.0 / float(row["epoch_s"]), float(row["power_w"])


def missed(chip: str, linear_fraction: float, steep_exponent: float) -> Floats:
    """Speed by the law less the measured one, of the full one."""
    speed, dynamic = points(chip).T
    found: Floats = np.asarray(
        capped_clock_fraction(
            cap_kw=dynamic,
            uncapped_kw=1.0,
            static_kw=0.0,
            linear_fraction=linear_fraction,
            steep_exponent=steep_exponent,
        )
    )
    difference: Floats = found - speed
    return difference


def fitted(chip: str) -> tuple[float, float]:
    """Linear share and exponent that predict the speed of a chip best; on H200 the exponent is given."""

    def off(law: Floats) -> Floats:
        return missed(chip, float(law[0]), CUBE if chip == H200 else float(law[1]))

    linear, exponent = least_squares(off, START, bounds=BOUNDS).x.tolist()
    return float(linear), CUBE if chip == H200 else float(exponent)


def main() -> None:
    """Print the fits."""
    shipped = fitted(H200)
    names = ("exponent", "points", "error", "by H200", "mean")
    print(f"{'chip':16s} {'linear':>7s} " + " ".join(f"{name:>9s}" for name in names))
    for chip in IDLE_W:
        law = fitted(chip)
        own, theirs = np.mean(np.abs(missed(chip, *law))), missed(chip, *shipped)
        print(
            f"{chip:16s} {law[0]:7.3f} {law[1]:9.1f} {len(points(chip)):9d} {own:9.1%} "
            f"{np.mean(np.abs(theirs)):9.1%} {np.mean(theirs):+9.1%}"
        )


if __name__ == "__main__":
    main()
