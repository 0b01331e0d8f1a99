"""Whether a text can be planned: every problem at once, as the command line tells them."""

from __future__ import annotations

from collections.abc import Mapping

from planner.candidates import check_pools
from planner.catalogue import load_catalogue
from planner.inputs import Inputs, check_scenario, with_cards
from planner.scenario import Scenario
from planner.store import KeptScenario, restored


def check(text: str, name: str, files: Mapping[str, bytes] | None = None) -> Scenario:
    """The scenario of a text and the files that lie beside it, checked as far as it can be without a plan.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    with restored(KeptScenario("", "", name, text, files or {})) as scenario:
        catalogue = load_catalogue()
        check_scenario(scenario, catalogue)
        check_pools(Inputs(scenario, with_cards(scenario, catalogue)))
        return scenario
