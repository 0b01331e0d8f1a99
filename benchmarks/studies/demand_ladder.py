"""What a plan costs as one demand falls: it may never cost more.

Each service, pool and training run of the shipped scenarios goes down by itself, all else as it is, and the
plan of least money is found again. Run from the root of the repository:

    python -m benchmarks.studies.demand_ladder [SECONDS OF A SOLVE] [SCENARIO ...]

A row is a step down. `rises` names a step whose plan is proved to cost more than that of the step above it:
its lower bound lies above the other's cost. A solve that runs out of time shows how far it came.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, load_scenario, with_changes
from planner.program.assembly import assemble
from solver.answer import answer

SHARES = (1.0, 1 / 2, 1 / 10, 1 / 100)
CODE_PER_S = (25.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.1)  # of `code` in serving-only, at each peak
GAP = 1e-3
ROUNDING = 1e-6  # of an objective, as the engine states it


@dataclass(frozen=True, slots=True)
class Step:
    """One demand at one height, and what the best plan found costs; infinite where none is possible."""

    scenario: str
    demand: str
    height: str
    usd: float
    bound_usd: float
    status: str


def ladder(name: str, seconds: float) -> Iterator[list[Step]]:
    """The steps down of every demand of a shipped scenario, one list for each."""
    scenario = with_changes(
        load_scenario(data_folder() / "scenarios" / f"{name}.toml"),
        {"policy.objective": "money", "policy.first": None, "policy.tolerance": None},
    )
    for path, values, unit in demands(scenario):
        heights = [(f"x {share:g}", [share * value for value in values]) for share in SHARES]
        if (name, path) == ("serving-only", "services.code.peak_rate"):
            heights = [(f"{rate:g} /s", [rate] * len(values)) for rate in CODE_PER_S]
        yield [step(name, scenario, path, height, lower, unit, seconds) for height, lower in heights]


def demands(scenario: Scenario) -> Iterator[tuple[str, list[float], str]]:
    """Where a scenario states a demand, its values, and their unit."""
    for service in scenario.services:
        yield f"services.{service.name}.peak_rate", list(service.peak_requests_per_s), "/s"
    for pool in scenario.pools:
        yield f"pools.{pool.name}.{pool.way.key}", list(pool.need), pool.way.unit
    for job in scenario.training:
        yield f"training.{job.name}.{job.amount_key}", [job.amount], ""


def step(
    name: str, scenario: Scenario, path: str, height: str, values: list[float], unit: str, seconds: float
) -> Step:
    """The plan of least money at one height of one demand."""
    stated: object = [f"{value!r} {unit}" for value in values] if unit else values[0]
    changed = with_changes(scenario, {path: stated})
    inputs = Inputs(changed, with_cards(changed, load_catalogue()))
    found = answer(assemble(inputs).problem, gap_fraction=GAP, time_limit_s=seconds)
    usd = math.inf if found.solution is None else found.objective
    return Step(name, path, height, usd, found.bound, found.status.value)


def rises(above: Step, below: Step) -> bool:
    """Whether the lower step is proved to cost more than the one above it."""
    return below.bound_usd > above.usd + ROUNDING * abs(above.usd)


def main(arguments: list[str]) -> int:
    """Print every ladder; 1 where a step rises."""
    seconds = float(arguments[0]) if arguments else 60.0
    shipped = sorted(path.stem for path in (data_folder() / "scenarios").glob("*.toml"))
    wrong = 0
    print("| scenario | demand | height | USD | lower bound | status | |\n|---|---|---|--:|--:|---|---|")
    for name in arguments[1:] or shipped:
        for steps in ladder(name, seconds):
            for above, below in zip([steps[0], *steps], steps, strict=False):
                said = "rises" if rises(above, below) else ""
                wrong += bool(said)
                print(
                    f"| {name} | {below.demand} | {below.height} | {below.usd:,.0f} | {below.bound_usd:,.0f} "
                    f"| {below.status} | {said} |",
                    flush=True,
                )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
