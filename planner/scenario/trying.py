"""Whether each future that a scenario names is itself a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from planner.scenario.models import Scenario
from planner.scenario.problems import Problem, ScenarioError, label
from planner.scenario.writing import change, tables

# What a future leaves out of itself: the futures, and the policy that is about them.
AHEAD = ("futures", "uncertainty", "policy.robust", "policy.decide_until")


def value_problems(scenario: Scenario, check: Callable[[dict[str, Any]], Scenario]) -> Iterator[Problem]:
    """What is wrong with values that futures set, each at its path below the future."""
    stated = None
    for number, future in enumerate(scenario.futures):
        if not future.values:
            continue
        stated = stated or tables(scenario)
        name = label({"name": future.name}, "futures", [{"name": future.name}])
        at = f"futures.{name}.set" if name else f"futures[{number}].set"
        document = deepcopy(stated)
        wrong = [found for path, value in future.values.items() if (found := change(document, path, value))]
        for path in AHEAD:
            change(document, path, None)
        if not wrong:
            try:
                check(document)
            except ScenarioError as error:
                wrong = list(error.problems)
        yield from (Problem(f"{at}.{found.path}", found.message) for found in wrong)
