"""Our ranking of accelerators next to the published one: by hand on five, and as the page states it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.studies import rankings
from planner.validation.rows import validate

ROOT = Path(__file__).resolve().parents[2]


def result(
    chip: str, count: int, expected: float, ours: float, status: str = "inside", **known: str
) -> dict[str, object]:
    question = {"kind": "serve_system", "benchmark": "b", "scenario": "Offline", "gpu": chip, "gpus": count}
    source = known.pop("round", "MLPerf Inference v5.1 Closed")
    inputs = json.dumps(question | known)
    return {"inputs": inputs, "source": source, "expected": expected, "ours": ours, "status": status}


def test_one_pair_of_five_chips_the_other_way_round() -> None:
    """Of ten pairs one: tau is (9 - 1) / 10. Larger systems, and rows without ours, do not count.

    As companies differ (3.2 %), the published pair is tied: 9 pairs of 9, of 10 in ours, 9 / sqrt(9 * 10).
    """
    rows = [
        *(result(chip, 8, 8.0 * rate, 8.0 * rate) for chip, rate in (("c", 3), ("d", 4), ("e", 5))),
        result("a", 8, 8.0, 16.0),
        result("b", 8, 8.2, 8.0),
        result("b", 64, 640.0, 640.0),
        result("f", 8, 8.0, 8.0, status="not understood"),
    ]

    assert (
        rankings.table_lines(rows)[-1]
        == "| b Offline, serving | 5 | 0.80 | 1.00 | 0.95 | b over a +2%, -50% |"
    )
    assert rankings.rankings(rows[:-3]) == []


def test_a_chip_stands_for_the_newest_round_near_eight_in_its_fastest_precision() -> None:
    """And with rows that are shipped where nobody filed it; of what was filed, those do not count."""
    rows = [
        result("a", 8, 80.0, 8.0, round="v4.1", precision="fp8"),
        result("a", 8, 40.0, 16.0, round="v5.1", precision="fp8"),
        result("a", 8, 48.0, 24.0, round="v5.1", precision="fp8"),
        result("a", 8, 32.0, 800.0, round="v5.1", precision="fp4"),
        result("a", 4, 400.0, 400.0, round="v6.0", precision="fp8"),
        *(result(chip, 8, 8.0, 8.0) for chip in "bcd"),
    ]
    shipped = [result("a", 8, 1.0, 1.0), result("e", 4, 4.0, 8.0)]

    (one,) = rankings.rankings(rows, shipped)

    assert dict(zip(one.chips, zip(one.published, one.ours, strict=True), strict=True)) == {
        **dict.fromkeys("bcd", (1.0, 1.0)),
        "a": (5.5, 2.5),
        "e": (1.0, 2.0),
    }


def test_ties_are_those_of_either_ranking() -> None:
    """Of three pairs one is tied as published, another in ours: 1 / sqrt(2 * 2). All tied is alike."""
    assert rankings.tied_tau([100.0, 101.0, 150.0], [100.0, 149.0, 150.0], 1.05) == pytest.approx(0.5)
    assert rankings.tied_tau([1.0, 1.01], [3.0, 1.0], 1.05) == 1.0
    assert rankings.tied_tau([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], 1.05) == -1.0


@pytest.mark.slow
def test_the_page_states_what_the_rows_say(
    shipped_validation: tuple[int, dict[str, list[dict[str, object]]]],
) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines()
    filed = validate([rankings.FILED])["rows"]

    assert set(rankings.table_lines(filed, shipped_validation[1]["rows"])) <= set(page)
    assert sum(row["status"] == "not understood" for row in filed) <= 2
