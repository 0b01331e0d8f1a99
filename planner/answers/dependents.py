"""What rests on a fact: scenarios and jobs that ask for it when they are worked out, without being solved."""

from __future__ import annotations

from functools import cache

from planner.answers.job import load_job
from planner.answers.job.document import traced_totals
from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario
from planner.program.assembly import assemble
from planner.trace.origins import facts_of


def facts_used(scenario: Scenario, catalogue: Catalogue | None = None) -> frozenset[str]:
    """Keys of the facts that a scenario's options were worked out from, taken or not.

    Raises:
        InputError: a model or a fact of the scenario is not there.
    """
    inputs = Inputs(scenario, with_cards(scenario, catalogue or load_catalogue()))
    assemble(inputs)
    return frozenset(inputs.facts_used)


@cache
def shipped_dependents() -> dict[str, tuple[str, ...]]:
    """Fact -> the shipped scenarios and jobs that rest on it, in words."""
    catalogue, folder = load_catalogue(), data_folder()
    found: dict[str, list[str]] = {}
    for path in sorted((folder / "scenarios").glob("*.toml")):
        for key in facts_used(load_scenario(path), catalogue):
            found.setdefault(key, []).append(f"scenario {path.stem}")
    for path in sorted((folder / "jobs").glob("*.toml")):
        for key in facts_of(*traced_totals(load_job(path, catalogue), catalogue)):
            found.setdefault(key, []).append(f"job {path.stem}")
    return {key: tuple(names) for key, names in found.items()}
