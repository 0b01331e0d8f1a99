"""Our ranking of accelerators next to the published one: by hand on five, and as the page states it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.studies import rankings

ROOT = Path(__file__).resolve().parents[2]


def result(chip: str, count: int, expected: float, ours: float, status: str = "inside") -> dict[str, object]:
    question = {"kind": "serve_system", "benchmark": "b", "scenario": "Offline", "gpu": chip, "gpus": count}
    return {"inputs": json.dumps(question), "expected": expected, "ours": ours, "status": status}


def test_one_pair_of_five_chips_the_other_way_round() -> None:
    """Of ten pairs one: tau is (9 - 1) / 10. Larger systems, and rows without ours, do not count."""
    rows = [
        *(result(chip, 8, 8.0 * rate, 8.0 * rate) for chip, rate in (("c", 3), ("d", 4), ("e", 5))),
        result("a", 8, 8.0, 16.0),
        result("b", 8, 8.2, 8.0),
        result("b", 64, 640.0, 640.0),
        result("f", 8, 8.0, 8.0, status="not understood"),
    ]

    assert rankings.table_lines(rows)[-1] == "| b Offline, serving | 5 | 0.80 | 1.00 | b over a +2%, -50% |"
    assert rankings.rankings(rows[:-3]) == []


@pytest.mark.slow
def test_the_page_states_what_the_rows_say(shipped_validation: tuple[int, dict[str, list]]) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines()

    assert set(rankings.table_lines(shipped_validation[1]["rows"])) <= set(page)
