"""Does our ranking of accelerators follow what was published? Benchmarks with results on five chips or more.

    python -m benchmarks.studies.rankings

Takes the rows of data/published/ that state what a whole system did in a benchmark of MLPerf, and ours next
to them: rates per accelerator, of each chip the median of its smallest systems, as large ones wait more for
one another. It prints the table of docs/accuracy.md and changes nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.peer_rankings import APART, kendall
from planner.validation.accuracy import INSIDE, OUTSIDE
from planner.validation.rows import validate

Floats = NDArray[np.float64]

CHIPS = 5  # that make a ranking
SYSTEMS = {
    "serve_system": "serving",
    "train_system": "training",
    "finetune_lora_system": "training adapters",
    "train_dlrm_system": "training",
    "train_diffusion_system": "training",
}
HEAD = (
    "| benchmark | chips | tau | tau of pairs 5 % apart | ranked otherwise: by how much, published and ours |"
)


class Ranked(NamedTuple):
    """One benchmark: its chips, and their rates per accelerator as published and ours."""

    name: str
    chips: list[str]
    published: list[float]
    ours: list[float]


def rankings(rows: Sequence[Mapping[str, Any]]) -> list[Ranked]:
    """The benchmarks with enough chips, by name."""
    found: dict[str, dict[str, list[tuple[int, float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        question = json.loads(row["inputs"])
        if row["status"] not in (INSIDE, OUTSIDE) or question.get("kind") not in SYSTEMS:
            continue
        name = " ".join(question[key] for key in ("benchmark", "model", "scenario") if key in question)
        size = question["gpus"]
        rates = row["expected"] / size, row["ours"] / size
        found[f"{name}, {SYSTEMS[question['kind']]}"][question["gpu"]].append((size, *rates))
    enough = sorted((name, chips) for name, chips in found.items() if len(chips) >= CHIPS)
    return [
        Ranked(name, list(chips), *(np.array([_smallest(of) for of in chips.values()]).T.tolist()))
        for name, chips in enough
    ]


def _smallest(results: Sequence[tuple[int, float, float]]) -> Floats:
    """Rates of the smallest systems, published and ours: the median of each."""
    all_of_them = np.array(results)
    median: Floats = np.median(all_of_them[all_of_them[:, 0] == all_of_them[:, 0].min(), 1:], axis=0)
    return median


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rows of the table."""
    return [HEAD, "|---|--:|--:|--:|---|", *(_line(one) for one in rankings(rows))]


def _line(one: Ranked) -> str:
    tau, apart = kendall(one.published, one.ours), kendall(one.published, one.ours, APART)
    return f"| {one.name} | {len(one.chips)} | {tau:.2f} | {apart:.2f} | {'; '.join(_otherwise(one))} |"


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
    print("\n".join(table_lines(validate()["rows"])))


if __name__ == "__main__":
    main()
