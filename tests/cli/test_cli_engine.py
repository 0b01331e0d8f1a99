"""A HiGHS that lies beside an engine that does not: every question that meets it is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from planner.answers.plan.alternatives import with_alternatives
from planner.cli import WRONG_INPUT, main
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, canonical_text, load_scenario, with_changes
from planner.program.plan import plan_fleet
from planner.trace.errors import InputError
from planner.ui.workers import tradeoffs
from solver import selftest

JOB = "one-training-job"
LIE = "HiGHS 9.9 answers a small program wrongly (stuffing: optimal at 15; right is optimal at 9)"
BY_CBC = ("--set", "solve.engine=cbc")
NO_POWER = ("--set", "sites.stockholm.power_cap=5 kW")


@pytest.fixture(autouse=True)
def highs_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    def trust(engine: str, version: str, solve: Any, instead: str) -> None:
        if engine == "HiGHS":
            raise selftest.UntrustedEngine(f"{LIE}; {instead}")

    monkeypatch.setattr(selftest, "trust", trust)


def scenario_by_cbc() -> Scenario:
    return with_changes(load_scenario(data_folder() / "scenarios" / f"{JOB}.toml"), {"solve.engine": "cbc"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", JOB, *BY_CBC, *NO_POWER),
        ("plan", JOB, *BY_CBC, "--alternatives", "1", "--no-baselines"),
        ("plan", JOB, *BY_CBC, "--prices", "--no-baselines"),
        ("pareto", JOB, *BY_CBC),
        ("sensitivity", JOB, *BY_CBC, "--vary", "prices=0.5..2"),
        ("plan", JOB),
    ],
    ids=["why there is no plan", "alternatives", "prices", "front", "sensitivity", "itself"],
)
def test_a_command_refuses_in_one_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(list(arguments))
    said = capsys.readouterr()

    assert code == WRONG_INPUT
    assert f"solve.engine: {LIE}; install another version" in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize("task", [tradeoffs.front, tradeoffs.front_of_time, tradeoffs.alternatives])
def test_a_page_refuses_too(task: Any) -> None:
    """A worker tells an InputError as it is, and anything else as a fault of the program."""
    text = canonical_text(scenario_by_cbc())
    arguments = {"name": f"{JOB}.toml", "text": text, "points": 3, "plans": 1, "within_fraction": 0.1}

    with pytest.raises(InputError, match=r"HiGHS 9\.9 answers"):
        task(arguments, lambda *said, **more: None, lambda: False)


def test_the_engine_that_was_named_still_plans() -> None:
    """What does not meet the liar is answered; what does is refused with the plan at hand."""
    plan = plan_fleet(scenario_by_cbc(), baselines=False)

    assert plan.answer.solution is not None
    with pytest.raises(InputError, match=r"HiGHS 9\.9 answers"):
        with_alternatives(plan, plans=1, within_fraction=0.1, time_limit_s=5.0)
