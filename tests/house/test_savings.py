"""Stated checkpoint intervals and spares, the shipped families, and the page about what the join saves."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain import plain
from sizes import at_night

from benchmarks.studies import savings
from planner.answers.plan.shipped import read_solved, solved_path
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, ScenarioError, load_scenario, with_changes
from planner.physics.training import TrainingRuns
from planner.program.assembly import Assembled, assemble
from planner.trace.origins import facts_of
from reliability.checkpoint import hours_by_state
from reliability.spares import spares_for_confidence
from solver.answer import answer

ROOT = Path(__file__).resolve().parents[2]
JOB, LONG, POWER = "one-training-job", "long-training", "tight-power"
INTERVAL = "training.train-8b.checkpoint_interval"


def shipped(name: str, changes: dict[str, Any] | None = None) -> Scenario:
    return with_changes(load_scenario(data_folder() / "scenarios" / f"{name}.toml"), changes or {})


def assembled(scenario: Scenario) -> Assembled:
    return assemble(Inputs(scenario, load_catalogue()))


def runs_of(scenario: Scenario) -> TrainingRuns:
    runs = assembled(scenario).runs
    assert runs is not None
    return runs


# A stated interval


def test_a_stated_interval_is_the_one_that_is_used() -> None:
    """Hours by state at 45 min, worked out apart; it is a fact of the run, and both policies agree."""
    runs = runs_of(shipped(JOB, {INTERVAL: "45 min"}))
    renewal = runs.progress.renewal
    states = hours_by_state(
        interval_h=0.75,
        **{name: renewal[name].value for name in ("mttf_h", "write_h", "restart_h", "persist_h")},
    )
    whole = states.useful_h + states.checkpoint_h + states.lost_h + states.restart_h

    assert np.all(runs.interval_h.value == 0.75)
    assert runs.ettr.value == pytest.approx(states.useful_h / whole)
    assert facts_of(runs.duration_h)[f"scenario.{INTERVAL}"].stated == "0.75 h"


def test_no_stated_interval_beats_the_best() -> None:
    """The least-time interval is the best there is: any other takes longer; stating it changes nothing."""
    free = runs_of(shipped(JOB, {"training.train-8b.nodes": [8]}))
    quick = free.policy == 0
    best_h = float(free.interval_h.value[quick][0])
    for stated_h in (best_h / 4, best_h, 4 * best_h):
        stated = runs_of(shipped(JOB, {"training.train-8b.nodes": [8], INTERVAL: f"{stated_h!r} h"}))
        longer = np.asarray(stated.duration_h.value)[quick] / np.asarray(free.duration_h.value)[quick]
        if stated_h == best_h:
            assert longer[0] == pytest.approx(1.0, rel=1e-9)
        assert np.all(longer >= 1 - 1e-9)


def test_only_the_job_that_states_an_interval_is_held_to_it() -> None:
    """Beside a job with 60 min another one keeps its best intervals."""
    free = runs_of(shipped(LONG))
    held = runs_of(shipped(LONG, {"training.pretrain-70b.checkpoint_interval": "60 min"}))
    mine = held.candidates.job == 0

    assert np.all(held.interval_h.value[mine] == 1.0)
    assert held.interval_h.value[~mine] == pytest.approx(free.interval_h.value[~mine], rel=1e-12)


@pytest.mark.parametrize("bad", ["0 min", "60", "200 h", 60])
def test_an_interval_is_refused_without_unit_or_sense(bad: object) -> None:
    """A number without a unit is refused as everywhere; none, and more than a week, are no interval."""
    with pytest.raises(ScenarioError, match=r"checkpoint_interval"):
        shipped(JOB, {INTERVAL: bad})


# A stated share of spares


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 1.0])
def test_spares_at_a_share_are_that_share_rounded_up(share: float) -> None:
    """Share times nodes, rounded up, for each whole N up to the most that can be in use, in every group."""
    steps = assembled(shipped(LONG, {"reliability.spare_share": share})).problem.spare_steps
    for group in np.unique(steps.node_group):
        mine = steps.node_group == group
        for nodes in range(1, int(steps.reach[mine].max()) + 1):
            spares = steps.spares[mine][steps.reach[mine] >= nodes].min()
            assert spares == -(-round(share * 100) * nodes // 100), nodes


def test_a_share_changes_spares_alone() -> None:
    """Everything but the spare steps stays: the share says nothing about failures or options."""
    free, level = (
        assembled(shipped(LONG, changes)).problem for changes in ({}, {"reliability.spare_share": "10 %"})
    )
    for name in ("run_options", "node_groups", "cohorts", "limits"):
        for column in getattr(free, name).SHAPES:
            np.testing.assert_array_equal(
                getattr(getattr(free, name), column), getattr(getattr(level, name), column)
            )
    assert free.spare_steps.spares.tolist() != level.spare_steps.spares.tolist()


@pytest.mark.parametrize("bad", ["110 %", -0.1, "0.1 kW"])
def test_a_share_beyond_one_is_refused(bad: object) -> None:
    """More spares than nodes in use is a slip of the decimal point."""
    with pytest.raises(ScenarioError, match="spare_share"):
        shipped(JOB, {"reliability.spare_share": bad})


# The families


def test_every_family_is_shipped_and_says_what_it_is_about() -> None:
    """Eight files, each with a carbon price and a comment before its first key."""
    assert len(set(savings.FAMILIES)) == 8
    for name in savings.FAMILIES:
        text = (data_folder() / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")
        assert re.match(r"(# .{20,}\n)+title = ", text), name
        assert shipped(name).policy.objective == "weighted"


@pytest.mark.nightly
@pytest.mark.slow
def test_every_family_has_a_plan_to_one_percent() -> None:
    """Small enough to try: each is solved to 1 % well within its time limit.

    The next quarter takes as long as all others together: by day its shipped plan, which is checked where
    it is opened, says how near it came. Bursty serving takes as long as the rest of
    them: by night too.
    """
    shipped_gap = read_solved(solved_path("next-quarter"))["status"]["gap_fraction"]
    assert shipped_gap <= 0.01
    for name in savings.FAMILIES:
        if name in ("next-quarter", "bursty-serving") and not at_night():
            continue
        scenario = shipped(name)
        found = answer(
            assembled(scenario).problem, gap_fraction=0.01, time_limit_s=scenario.solve.time_limit_s
        )
        assert found.solution is not None, name
        assert found.gap_fraction <= 0.01, name


# The page


def test_cohorts_leave_in_the_first_period_past_their_fifth_year() -> None:
    """In service on 2022-03-01: five years end within the first quarter of 2027, it goes in the second."""
    scenario = shipped(POWER)
    problem = savings.retired_at_five(scenario, assembled(scenario).problem)

    assert problem.cohorts.must_retire_by.tolist() == [1]
    young = with_changes(scenario, {"fleet[0].in_service": date(2024, 2, 29)})
    assert savings.retired_at_five(young, assembled(young).problem).cohorts.must_retire_by.tolist() == [4]
    old = with_changes(scenario, {"fleet[0].in_service": date(2019, 1, 1)})
    assert savings.retired_at_five(old, assembled(old).problem).cohorts.must_retire_by.tolist() == [0]


def test_confidence_of_a_plan_s_spares_is_what_was_asked() -> None:
    """The joint plan has the fewest spares with 99 %: one fewer in its worst group would not reach it."""
    inputs = Inputs(load_scenario(plain(LONG)), load_catalogue())
    program = assemble(inputs)
    plan = answer(program.problem, gap_fraction=0.0, time_limit_s=60).solution
    assert plan is not None
    ratio = load_catalogue().fact("reliability.spares.variance_to_mean").value
    rates = np.asarray(program.nodes.failure_rate_per_node_h.value)[:, None]
    down = plan.in_use * rates * inputs.repair().value
    bursts = 1 + (ratio - 1) * plan.in_use / 400
    reached = savings.spare_confidence_fraction(inputs, program, plan)

    assert 0.99 <= reached < 0.9999
    at_reached, above = (
        spares_for_confidence(mean_down=down, confidence_fraction=share, variance_to_mean_ratio=bursts)
        for share in (reached - 1e-9, reached + 1e-9)
    )
    assert np.all(np.asarray(at_reached) <= plan.spares)
    assert np.any(np.asarray(above) > plan.spares)


@pytest.mark.nightly
def test_a_plan_from_its_own_options_is_that_plan() -> None:
    """Nothing is lost by leaving out what the best plan does not use."""
    problem = assembled(shipped(LONG)).problem
    found = answer(problem, gap_fraction=0.0, time_limit_s=60)
    assert found.solution is not None
    fewer = savings.options_used(problem, found.solution)

    assert len(fewer.run_options) == np.count_nonzero(found.solution.run)
    again = answer(fewer, gap_fraction=0.0, time_limit_s=60)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.nightly
def test_no_habit_is_better_than_the_joint_plan() -> None:
    """A habit forbids plans and allows none that the joint plan may not have: never better beyond the gap."""
    found = savings.outcomes(shipped(LONG))
    joint = found[savings.JOINT]

    assert set(found) == {savings.CHEAPEST, savings.CLEANEST, savings.JOINT, *savings.OF_HABIT}
    for other in found.values():
        assert other.weighted_usd >= joint.weighted_usd * (1 - joint.gap_fraction - 1e-6)
        assert other.weighted_usd == pytest.approx(other.usd + 0.2 * other.kgco2e)
    assert found[savings.CHEAPEST].usd <= joint.usd * (1 + savings.GAP_FRACTION)
    assert found[savings.CLEANEST].kgco2e <= joint.kgco2e * (1 + savings.GAP_FRACTION)


def test_the_page_says_nothing_is_saved_where_nothing_is() -> None:
    """Plans within the gaps of each other are equal; no plan is said to be none; a saving keeps its sign."""
    outcome = savings.Outcome
    joint = outcome(100.0, 10.0, 102.0, 0.001)
    plans = dict.fromkeys((savings.CHEAPEST, savings.CLEANEST, savings.JOINT, *savings.OF_HABIT), joint)
    plans |= {
        savings.CHEAPEST: outcome(99.9, 10.2, 102.04, 0.001),
        savings.HOURLY: outcome(125.0, 8.0, 126.6, 0.001),
        savings.FIVE_YEARS: None,
    }
    text = savings.page({POWER: plans}, {POWER: shipped(POWER)})
    row = next(line for line in text.splitlines() if line.startswith(f"| [{POWER}]"))

    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        "=",
        "=",
        "20.0 / -25.0, **19.4**",
        "=",
        "no plan",
        "=",
    ]
    assert "Against *five years, then out* the joint plan saves something in 0 of 1 families" in text


def test_the_shipped_page_is_of_these_families() -> None:
    """Every family has its table, and each figure of the summary follows from the tables below it."""
    text = savings.PAGE.read_text(encoding="utf-8")
    kusd: dict[str, dict[str, float]] = {}
    for section in text.split("\n## ")[1:]:
        name, _, body = section.partition("\n")
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in body.splitlines() if "|" in line]
        kusd[name] = {
            row[0]: float(row[3].replace(",", "")) for row in rows if row[-1:] and _number(row[3:4])
        }

    for name in savings.FAMILIES:
        assert shipped(name).title in text
        row = next(line for line in text.splitlines() if line.startswith(f"| [{name}]"))
        others = (savings.CHEAPEST, savings.CLEANEST, *savings.OF_HABIT)
        for other, cell in zip(others, row.split("|")[2:-1], strict=True):
            bold = re.search(r"\*\*(-?[\d.]+)\*\*", cell)
            if bold:
                saved = 100 * (1 - kusd[name][savings.JOINT] / kusd[name][other])
                assert saved == pytest.approx(float(bold[1]), abs=0.3), (name, other)


def _number(cells: list[str]) -> bool:
    return bool(cells) and re.fullmatch(r"[\d,]+", cells[0]) is not None
