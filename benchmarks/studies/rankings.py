"""Does our ranking of accelerators follow what was published? Benchmarks of MLPerf with five chips or more.

    python -m benchmarks.studies.rankings

data/fit/filed.csv holds what companies filed in MLPerf Training v4.0 to v6.0 and Inference v4.1, v5.1 and
v6.0 on the size nearest to a node of eight: the median of all of them, for each round, chip and precision,
but for those with a power limit set (MaxQ). A chip that is not there stands with its rows of data/published/.
Each is asked of us as `everfleet validate` asks it. A chip stands for the newest round of the size nearest to
eight accelerators, as large systems wait more for one another, and for the precision that is fastest as
published. Rates are per accelerator. It prints the table of docs/accuracy.md and changes nothing.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.studies.peer_rankings import APART, kendall
from benchmarks.studies.submitters import mean_apart_fraction
from planner.validation.accuracy import INSIDE, OUTSIDE
from planner.validation.rows import validate

FILED = Path(__file__).resolve().parents[2] / "data" / "fit" / "filed.csv"
CHIPS = 5  # that make a ranking
NODE = 8  # accelerators of most nodes
SYSTEMS = {
    "serve_system": "serving",
    "train_system": "training",
    "finetune_lora_system": "training adapters",
    "train_dlrm_system": "training",
    "train_diffusion_system": "training",
}
HEAD = (
    "| benchmark | chips | tau | of pairs 5 % apart | tau-b, as companies differ "
    "| ranked otherwise: by how much, published and ours |"
)


class Result(NamedTuple):
    """What one machine was filed with, and ours, both for each accelerator."""

    accelerators: int
    round: str
    precision: str
    published: float
    ours: float


class Ranked(NamedTuple):
    """One benchmark: its chips, and their rates per accelerator as published and ours."""

    name: str
    chips: list[str]
    published: list[float]
    ours: list[float]


def rankings(filed: Iterable[Mapping[str, Any]], shipped: Iterable[Mapping[str, Any]] = ()) -> list[Ranked]:
    """The benchmarks with enough chips, by name; shipped rows of chips alone that were not filed."""
    found, others = _by_chip(filed), _by_chip(shipped)
    for name in found:
        found[name] = others.get(name, {}) | found[name]
    enough = sorted((name, chips) for name, chips in found.items() if len(chips) >= CHIPS)
    return [
        Ranked(name, list(chips), *map(list, zip(*(_standing(of) for of in chips.values()), strict=True)))
        for name, chips in enough
    ]


def _by_chip(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, list[Result]]]:
    """Results by benchmark and chip."""
    found: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        question = json.loads(row["inputs"])
        if row["status"] not in (INSIDE, OUTSIDE) or question.get("kind") not in SYSTEMS:
            continue
        name = " ".join(question[key] for key in ("benchmark", "model", "scenario") if key in question)
        size, said = question["gpus"], re.search(r"v\d+\.\d+", row["source"])
        found[f"{name}, {SYSTEMS[question['kind']]}"][question["gpu"]].append(
            Result(
                accelerators=size,
                round=said[0] if said else "",
                precision=question.get("precision", question.get("dtype", "")),
                published=row["expected"] / size,
                ours=row["ours"] / size,
            )
        )
    return found


def _standing(results: Sequence[Result]) -> tuple[float, float]:
    """Rates that a chip stands for, published and ours."""
    rates = []
    for precision in {one.precision for one in results}:
        of = [one for one in results if one.precision == precision]
        size = min((one.accelerators for one in of), key=lambda count: (abs(np.log(count / NODE)), count))
        newest = max(one.round for one in of if one.accelerators == size)
        of = [one for one in of if (one.accelerators, one.round) == (size, newest)]
        rates.append(
            (float(np.median([one.published for one in of])), float(np.median([one.ours for one in of])))
        )
    return max(rates)


def tied_tau(first: Sequence[float], second: Sequence[float], apart: float) -> float:
    """Kendall's tau-b where values less than `apart` times one another are tied.

    tau_b = sum_{i<j} s_ij t_ij / sqrt(sum s_ij^2 sum t_ij^2),  s, t in {-1, 0, 1};  1 where all are tied

    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).
    """
    pairs = list(combinations(range(len(first)), 2))
    s, t = (
        np.array(
            [0 if max(of[i], of[j]) < apart * min(of[i], of[j]) else np.sign(of[i] - of[j]) for i, j in pairs]
        )
        for of in (first, second)
    )
    all_pairs = float(np.sqrt(np.sum(s**2) * np.sum(t**2)))
    return float(np.sum(s * t)) / all_pairs if all_pairs else 1.0


def table_lines(filed: Iterable[Mapping[str, Any]], shipped: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """The rows of the table."""
    return [HEAD, "|---|--:|--:|--:|--:|---|", *(_line(one) for one in rankings(filed, shipped))]


def _line(one: Ranked) -> str:
    taus = (
        kendall(one.published, one.ours),
        kendall(one.published, one.ours, APART),
        tied_tau(one.published, one.ours, 1.0 + mean_apart_fraction()),
    )
    said = " | ".join(f"{tau:.2f}" for tau in taus)
    return f"| {one.name} | {len(one.chips)} | {said} | {'; '.join(_otherwise(one))} |"


def _otherwise(one: Ranked) -> list[str]:
    """Pairs that we rank otherwise, the first of each the faster one as published."""
    found = []
    for pair in combinations(range(len(one.chips)), 2):
        worse, better = sorted(pair, key=lambda place: one.published[place])
        if one.ours[better] <= one.ours[worse]:
            published, ours = (rates[better] / rates[worse] - 1 for rates in (one.published, one.ours))
            found.append(f"{one.chips[better]} over {one.chips[worse]} {published:+.0%}, {ours:+.0%}")
    return found


def main() -> None:
    """Print the table."""
    print("\n".join(table_lines(validate([FILED])["rows"], validate()["rows"])))


if __name__ == "__main__":
    main()
