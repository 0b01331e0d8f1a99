"""The benchmarks: what they measure is what they say, and the page holds it. No test looks at a clock."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmarks.__main__ as bench
from benchmarks import scenarios
from benchmarks.__main__ import apart_fraction, main
from benchmarks.carbon import SPANS, estimated, estimated_by_loop, job_columns
from benchmarks.clock import in_turns, spread
from benchmarks.fleets import SIZES, fleet
from benchmarks.page import app_lines, page
from benchmarks.performance import (
    BATCH,
    NODE,
    chip_arguments,
    model_arguments,
    rows_of,
    sizes,
    step_by_hand,
    step_columns,
)
from benchmarks.plain import plain_program
from benchmarks.program import GAP, ONE_WAY, TIME_LIMITS_S, WAYS, planned
from benchmarks.rates import derive_overhead, option_rates, step_rates
from benchmarks.reliability import TRAITS, life_log
from benchmarks.sizes import plan_once
from benchmarks.startup import COMMANDS
from benchmarks.sweeps import shipped_grid, timed
from planner.answers.sweeps import InProcess
from planner.inputs.consistency import known_names
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.scenario import Scenario, check_against, parse_scenario, with_changes
from planner.performance.bundles import step_bundles
from planner.performance.training import training_step_s
from solver import backend
from solver.answer import answer
from solver.problem import Jobs, PausableOptions, Problem, Tiers

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


def in_this_process(part: str, quick: bool, *more: object) -> Any:
    """What a child would print, without starting one."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["--part", part, *map(str, more), *["--quick"] * quick])
    return json.loads(printed.getvalue())


@pytest.fixture
def reliability(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Lives, played jobs and a job log, at sizes that take a second."""
    monkeypatch.setattr(bench, "_child", in_this_process)
    monkeypatch.setattr(bench, "ESTIMATE_ROWS", (400,))
    monkeypatch.setattr(bench, "JOB_LOG_ROWS", 600_000)
    return {
        "estimates": bench._estimates(quick=True),
        "played": in_this_process("played", True),
        "job_log": bench._job_log(quick=True),
    }


@pytest.fixture
def carbon(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Job estimates and a search for clean hours, small."""
    monkeypatch.setattr(bench, "_child", in_this_process)
    return bench._carbon(quick=True)


@pytest.fixture
def performance(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Step times and a sweep, small."""
    monkeypatch.setattr(bench, "_child", in_this_process)
    return bench._performance(quick=True)


@pytest.mark.slow
def test_both_ways_have_the_same_answer(reliability: dict[str, Any]) -> None:
    """Searches stop at about 1e-6 of the answer in lifelines; Kaplan-Meier and a count need no search."""
    apart = {(one["what"], one["resolution"]): one["apart_fraction"] for one in reliability["estimates"]}
    jobs = reliability["played"]

    assert len(apart) == 6
    assert max(apart[key] for key in apart if key[0] != "kaplan-meier") < 1e-5
    assert max(apart[key] for key in apart if key[0] == "kaplan-meier") < 1e-12
    assert reliability["job_log"]["rows"] == 3000
    assert reliability["job_log"]["apart_fraction"] < 1e-12
    assert jobs["failures"] / jobs["jobs"] == pytest.approx(
        jobs["plain_failures"] / jobs["plain_jobs"], rel=4 / jobs["plain_failures"] ** 0.5
    )


def test_a_loop_estimates_the_same_jobs(carbon: dict[str, Any]) -> None:
    """The same sums and products: apart by rounding only."""
    estimates = carbon["estimates"]

    assert estimates["jobs"] == 5000
    assert estimates["apart_fraction"] < 1e-14


def test_a_loop_times_the_same_steps(performance: dict[str, Any]) -> None:
    """The same sums and products; the sweep asks for each of two accelerators at each of three sizes."""
    steps, sweep = performance["steps"], performance["sweep"]

    assert steps["rows"] == 500
    assert steps["apart_fraction"] < 1e-13
    assert (sweep["chips"], sweep["sizes"], sweep["searches"]) == (2, 3, 6)
    assert 0 < sweep["with_layout"] <= 6 < sweep["layouts"]


def test_steps_by_hand_are_the_steps_of_the_model() -> None:
    """Every layout code and a rack-scale domain among the rows; equal to rounding."""
    model, columns = model_arguments(), step_columns(1000)

    np.testing.assert_allclose(
        [step_by_hand(row) for row in rows_of(model, columns)],
        training_step_s(**step_bundles({**model, **columns})).total_s,
        rtol=1e-13,
    )
    assert {*columns["recompute"]} == {0, 1, 2}
    assert {*columns["sharding"]} == {1, 3}
    assert {8.0, 72.0} <= {*columns["link_domain"]}


def test_sizes_of_the_sweep_divide_the_batch() -> None:
    """Whole nodes, not only powers of two: 7 x 8 and 9 x 8 accelerators are among them, 11 x 8 is not."""
    swept = sizes(40)

    assert len(set(swept)) == 40
    assert all(BATCH % (size // NODE) == 0 and size % NODE == 0 for size in swept)
    assert {56, 72} <= {*swept}
    assert 88 not in swept
    assert len(chip_arguments()) >= 20


def test_an_estimate_by_hand() -> None:
    """2 nodes, 100 h at 5 kW and 10 h idle at 1.5 kW: 1,030 kWh; the rest is one product each.

    At PUE 1.2 and 0.5 kg/kWh 618 kg; 110 of 43,830 h, half used, of 2 x 4,000 kg; 1,030 x (1 + 1.2 x 2) L.
    """
    job = dict.fromkeys(SPANS, 0.0) | {
        "nodes": 2.0,
        "useful_h": 100.0,
        "idle_h": 10.0,
        "training_kw": 5.0,
        "pue": 1.2,
        "grid_kgco2e_per_kwh": 0.5,
        "node_kgco2e": 4000.0,
        "utilisation_fraction": 0.5,
        "onsite_l_per_kwh": 1.0,
        "offsite_l_per_kwh": 2.0,
    }
    embodied = 8000 * 110 / 43_830 / 0.5

    assert estimated(job) == pytest.approx((618, embodied, 618 + embodied, 3502), rel=1e-12)
    assert np.ravel(estimated_by_loop([job])) == pytest.approx(estimated(job), rel=1e-12)


def test_made_up_jobs_are_no_twins() -> None:
    """Each job differs, else caches would do the work; two draws give the same jobs."""
    first, second = job_columns(50), job_columns(50)

    assert all(len(np.unique(column)) == 50 for column in first.values())
    assert all(np.array_equal(first[name], second[name]) for name in SPANS)


@pytest.mark.parametrize(
    ("ours", "theirs", "apart"),
    [([0.0, 1.0], [0.0, 1.0], 0.0), ([0.0, 3.0], [0.0, -1.0], 4 / 3), ([0.0], [2.0], 1.0)],
)
def test_answers_are_compared_by_the_larger_number(
    ours: list[float], theirs: list[float], apart: float
) -> None:
    assert apart_fraction(ours, theirs) == apart


def test_a_quick_wrong_answer_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that is one off in 3.6 million is refused, and so is an answer with a number missing."""
    answers = iter([[3_600_000.0], [3_600_001.0], [1.0], [1.0, 2.0]])
    monkeypatch.setattr(bench, "_child", lambda *part: {"answer": next(answers)})

    with pytest.raises(ValueError, match=r"pandas are 2\.77778e-07 apart"):
        bench._both_ways("pandas", "log-read", True)
    with pytest.raises(ValueError, match="longer"):
        bench._both_ways("pandas", "log-read", True)


def test_a_log_to_the_day_has_the_lives_of_one_to_the_second() -> None:
    """Rounded up to whole days the durations are equal; so are deaths and traits."""
    day, second = life_log(500, "day"), life_log(500, "second")

    np.testing.assert_array_equal(day.duration_h, 24 * np.ceil(second.duration_h / 24 - 1e-9))
    np.testing.assert_array_equal(day.observed, second.observed)
    assert set(day.covariates) == set(TRAITS)
    assert all(set(np.unique(column)) == {0, 1} for column in day.covariates.values())


@pytest.mark.parametrize("name", ["S", "M"])
def test_fleets_are_as_large_as_the_page_says(name: str) -> None:
    """Half the jobs train, in at most three sizes on each node group; only equal seeds give equal fleets."""
    size, made = SIZES[name], fleet(name)
    places = np.stack([made.pausable_options.job, made.pausable_options.node_group])
    ways = np.unique(places, axis=1, return_counts=True)[1]
    again, other = fleet(name).services.demand, fleet(name, seed=1).services.demand

    assert (len(made.jobs), len(made.services)) == (size.jobs // 2, size.jobs - size.jobs // 2)
    assert (len(made.node_groups), made.periods) == (size.skus * size.sites, size.periods)
    assert ways.max() <= 3
    assert len(made.serve_options) == len(made.services) * size.sites_of_job * size.skus_of_job
    np.testing.assert_array_equal(made.services.demand, again)
    assert not np.array_equal(again, other)


def services_only(made: Problem) -> Problem:
    """What both formulations write down alike: no jobs, no tiers, whole replicas."""
    return dataclasses.replace(
        made,
        jobs=Jobs.none(made.periods),
        pausable_options=PausableOptions.none(made.periods),
        tiers=Tiers.none(made.periods),
        serve_options=dataclasses.replace(made.serve_options, whole=np.full(len(made.serve_options), True)),
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_plainly_written_the_optimum_is_the_same() -> None:
    """Two programs written apart: the same cost without jobs and tiers, in the thousands of the model."""
    made = services_only(fleet("S"))
    ours = answer(made, gap_fraction=1e-3, time_limit_s=60)
    plain = backend.solve(plain_program(made), gap_fraction=1e-3, time_limit_s=60)

    assert 1000 * plain.objective == pytest.approx(ours.objective, rel=1e-3)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_plain_plan_is_no_cheaper() -> None:
    """What it lets jobs and tiers do, the other formulation lets them do as well, and more."""
    made = fleet("S")
    ours = answer(made, gap_fraction=0.01, time_limit_s=60)
    plain = backend.solve(plain_program(made), gap_fraction=0.01, time_limit_s=60)

    assert ours.bound <= 1000 * plain.objective


def test_each_size_has_its_ways_and_its_time() -> None:
    """Every size is tried by ours; the ways are two formulations by two engines."""
    assert set(TIME_LIMITS_S) == set(SIZES) > set(ONE_WAY)
    assert WAYS == ("everfleet", "everfleet-cbc", "plain", "plain-cbc")


@pytest.mark.nightly
@pytest.mark.slow
def test_every_part_reaches_the_page(
    monkeypatch: pytest.MonkeyPatch,
    reliability: dict[str, Any],
    carbon: dict[str, Any],
    performance: dict[str, Any],
) -> None:
    """Real measurements of the smallest kind, as JSON like between processes, into tables without holes."""
    size, steps = measured_size(monkeypatch), step_rates(1, rows=3)
    program = [planned("S", way, time_limit_s=20.0) for way in WAYS]
    quarter = {"first_s": 12.0, "second_s": 9.0, "gap_fraction": 0.004}
    measured: dict[str, Any] = {
        "startup": dict.fromkeys(COMMANDS, TIMES),
        "rates": {
            "options": option_rates(1, repeats=1),
            "steps": steps,
            "derive": [derive_overhead(1, rows=3)],
            "questions": {"checkpoint table": TIMES, "carbon of one job": TIMES, "lifelines_loaded": False},
        },
        "sizes": [size],
        "program": program,
        "before": {"title": "a state", "program": program[:1], "quarter": quarter, "quarter after": quarter},
        "sweeps": {"points": 2, "bare_s_per_point": 0.1, "executors": {"this process": swept()}},
        **reliability,
        "carbon": carbon,
        "performance": performance,
        "app": APP,
        "machine": {"cores": 2, "load": 0.5, "busy": False, "versions": "Python 3"},
    }
    lines = page(json.loads(json.dumps(measured))).splitlines()
    cells = [line.count("|") for line in lines]

    assert set(size["seconds"]) == {
        "import",
        "read",
        "candidates and coefficients",
        "build",
        "solve and check",
        "account",
        "document",
    }
    assert 0 < size["whole columns"] <= size["columns"]
    assert size["candidates"] > size["dropped before the program"]
    assert steps["sample"] == 3 < steps["count"]
    assert all(one["gap_fraction"] <= GAP * (1 + 1e-9) for one in measured["program"])
    assert all(a == b for a, b in pairwise(cells) if a and b)
    assert f"| columns | {size['columns']:,} |" in lines
    assert "| next-quarter, second run | 9 | gap 0.4 % | 9 | gap 0.4 % |" in lines
    assert [line for line in lines if line.startswith("#")] == headings()


READ = {"p50": 0.1, "p95": 0.2, "count": 3}
APP = {
    "pages": [
        {"page": "start", "first_s": 2.0, "cpu_s": 0.0184, "s": READ},
        {"page": "sources", "first_s": 2.0, "cpu_s": None, "s": READ},
    ],
    "browser": {
        "first": [
            {"page": "start", "shown": "chart", "s": TIMES},
            {"page": "sources", "shown": "page", "s": TIMES},
        ],
        "reruns": [{"page": "start", "lost": 0, "s": READ}],
    },
    "crowd": {
        "visitors": 50,
        "runs": 300,
        "runs_per_s": 20.0,
        "s": READ,
        "leaks": 0,
        "failed": 0,
        "before_mb": 300.0,
        "after_mb": None,
    },
}


def test_the_page_says_what_a_visitor_of_the_app_waits_for() -> None:
    """What was not read, by the system or in the browser, is empty; without a browser that is said too."""
    shown = "\n".join(app_lines(APP))
    without = "\n".join(app_lines(APP | {"browser": None}))

    assert f"| start | 18.4 | 100 | 200 | {TIMES['median']:.3g} | 100 | 200 |" in shown
    assert f"| sources |  | 100 | 200 | {TIMES['median']:.3g} (no chart) |  |  |" in shown
    assert "| 50 | 300 | 20 | 0.10 | 0.20 | 300 |  | 0 | 0 |" in shown
    assert "No Chromium" in without
    assert "No Chromium" not in shown


def swept() -> dict[str, Any]:
    scenario, grid = shipped_grid(2)
    assert [list(point.values()) for point in grid.points] == [["1.0"], ["1.001"]], "one PUE a point"
    return timed(scenario, grid, InProcess(), 1, bare_s=0.0)


def test_overhead_is_what_a_sweep_takes_beyond_its_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 10 s for 4 points by 2 workers, whose plans take 12 s: (10 - 12 / 2) / 4 = 1 s a point."""
    monkeypatch.setattr("benchmarks.sweeps.seconds", lambda run: 10.0)
    found = timed(*shipped_grid(4), InProcess(), 2, bare_s=12.0)

    assert (found["sweep_s"], found["overhead_s_per_point"]) == (10.0, 1.0)


def headings() -> list[str]:
    page_file = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
    return [line for line in page_file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]


def test_a_part_prints_json_for_its_parent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.startup.startup", lambda repeats: {"repeats": repeats})

    assert main(["--part", "startup", "--quick"]) == 0
    assert json.loads(capsys.readouterr().out) == {"repeats": 1}
