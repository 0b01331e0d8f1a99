"""The benchmarks: what they measure is what they say, and the page holds it. No test looks at a clock."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scenarios
from benchmarks.__main__ import main
from benchmarks.clock import in_turns, spread
from benchmarks.page import page
from benchmarks.rates import derive_overhead, option_rates, step_rates
from benchmarks.sizes import plan_once
from benchmarks.startup import COMMANDS
from planner.catalogue import data_folder, load_catalogue
from planner.inputs import known_names
from planner.scenario import Scenario, check_against, parse_scenario, with_changes

LISTS = ("sites", "fleet", "training", "pools", "services")
TIMES = {"min": 1.0, "median": 2.0, "max": 4.0}


def grown(copies: int) -> Scenario:
    return parse_scenario(scenarios.grown(copies))


def test_the_smallest_size_is_the_shipped_quarter() -> None:
    """Otherwise the first column would time something else than what it names."""
    shipped = parse_scenario(scenarios.shipped())

    assert with_changes(grown(1), {"title": shipped.title}) == shipped


@pytest.mark.parametrize("copies", [2, 4])
def test_sizes_grow_as_the_page_says(copies: int) -> None:
    """Work and places `copies` times, so the pairs of the two 4 and 16 times; every name exists."""
    small, large = grown(1), grown(copies)
    check_against(large, known_names(load_catalogue()))

    for section in LISTS:
        assert len(getattr(large, section)) == copies * len(getattr(small, section))
    assert len(large.market) == len(small.market) + copies - 1
    assert scenarios.COPIES[copies**2] == copies


def test_copies_are_no_twins() -> None:
    """A second copy has 10 % less work, on other grids: twins would be swapped by the solver for ever."""
    small, large = grown(1), grown(2)
    jobs = len(small.training)

    assert large.training[jobs].tokens == pytest.approx(0.9 * small.training[0].tokens, rel=1e-12)
    assert len({site.grid for site in large.sites}) == len(large.sites)
    assert large.services[-1].peak_requests_per_s == pytest.approx(
        [0.9 * rate for rate in small.services[-1].peak_requests_per_s], rel=1e-5
    )


def test_sizes_beyond_the_table_are_refused() -> None:
    with pytest.raises(ValueError, match="copies is 1 to 4, got 5"):
        scenarios.grown(5)


def test_work_is_timed_in_turns() -> None:
    """Two repeats of two calls: a, a, b, b, a, a, b, b."""
    seen: list[str] = []
    found = in_turns([lambda: seen.append("a"), lambda: seen.append("b")], repeats=2, calls=2)

    assert "".join(seen) == "aabbaabb"
    assert [set(each) for each in found] == [set(TIMES)] * 2
    assert spread([4.0, 1.0, 2.0]) == TIMES


def measured_size(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One whole plan, of a small shipped scenario in place of the quarter."""
    text = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    monkeypatch.setattr(scenarios, "grown", lambda copies: text)
    return plan_once(1, time_limit_s=20.0)


def test_every_part_reaches_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real measurements of the smallest kind, as JSON like between processes, into tables without holes."""
    size, steps = measured_size(monkeypatch), step_rates(1, rows=3)
    measured: dict[str, Any] = {
        "startup": dict.fromkeys(COMMANDS, TIMES),
        "rates": {
            "options": option_rates(1, repeats=1), "steps": steps, "derive": [derive_overhead(1, rows=3)],
            "questions": {"checkpoint table": TIMES, "carbon of one job": TIMES, "lifelines_loaded": False},
        },
        "sizes": [size],
        "machine": {"cores": 2, "load": 0.5, "busy": False, "versions": "Python 3"},
    }  # fmt: skip
    lines = page(json.loads(json.dumps(measured))).splitlines()
    cells = [line.count("|") for line in lines]

    assert set(size["seconds"]) == {
        "import", "read", "candidates and coefficients", "build", "solve and check", "account", "document",
    }  # fmt: skip
    assert 0 < size["whole columns"] <= size["columns"]
    assert size["candidates"] > size["dropped before the program"]
    assert steps["sample"] == 3 < steps["count"]
    assert all(a == b for a, b in pairwise(cells) if a and b)
    assert f"| columns | {size['columns']:,} |" in lines
    assert [line for line in lines if line.startswith("#")] == headings()


def headings() -> list[str]:
    page_file = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
    return [line for line in page_file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]


def test_a_part_prints_json_for_its_parent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.startup.startup", lambda repeats: {"repeats": repeats})

    assert main(["--part", "startup", "--quick"]) == 0
    assert json.loads(capsys.readouterr().out) == {"repeats": 1}
