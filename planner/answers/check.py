"""Whether a text can be planned: every problem at once, as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.inputs.catalogue import load_catalogue
from planner.inputs.consistency import check_scenario, sale_notes, with_cards
from planner.inputs.editing.found import Found
from planner.inputs.overrides import idle_notes
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Problem, Scenario, ScenarioError
from planner.inputs.scenario.bundle import KeptScenario, named_files, restored
from planner.physics.training_options import check_pools
from planner.trace.records import Record


def check(text: str, name: str, files: Mapping[str, bytes] | None = None) -> Scenario:
    """The scenario of a text and the files that lie next to it, checked as far as it can be without a plan.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    with restored(KeptScenario("", "", name, text, files or {})) as scenario:
        catalogue = load_catalogue()
        check_scenario(scenario, catalogue)
        check_pools(Inputs(scenario, with_cards(scenario, catalogue)))
        return scenario


def idle_facts(scenario: Scenario) -> list[str]:
    """Notes on values of one's own for things that the scenario does not name: they will change nothing.

    A plan says so of every such value; this is what can be known without one.
    """
    catalogue = with_cards(scenario, load_catalogue())
    skus = Inputs(scenario, catalogue).skus
    chips = {sku.accelerator for sku in skus}
    grids = {site.grid for site in scenario.sites} | {one.grid for one in scenario.rental}
    models = {job.model for job in scenario.training} | {pool.model for pool in scenario.pools}
    named: dict[str, Iterable[str | None]] = {
        "accelerator": chips,
        "rental": chips | {"pue", "utilisation"},
        "server": {sku.server for sku in skus},
        "model": models | {service.model for service in scenario.services},
        "grid": grids | {"decline"},
        "electricity": grids | {"default_price"},
        "traffic": {service.traffic for service in scenario.services} | {"default"},
        "checkpoint_storage": {job.checkpoint_storage for job in scenario.training},
    }
    idle = []
    for key in scenario.facts:
        area, _, rest = key.partition(".")
        known = named.get(area)
        if known is not None and not any(rest == name or rest.startswith(f"{name}.") for name in known):
            idle.append(key)
    return idle_notes(idle, "this scenario")


def notes_on(scenario: Scenario) -> list[str]:
    """What is worth knowing before a plan is made: how its SKUs are sold, and values that change nothing."""
    return [*sale_notes(scenario, load_catalogue()), *idle_facts(scenario)]


def scenario_record(name: str, scenario: Scenario) -> Record:
    """What is said of a scenario that was opened by a name and is right."""
    return {"file": name, "ok": True, "title": scenario.title, "problems": [], "notes": notes_on(scenario)}


def scenario_text(name: str, content: bytes) -> str:
    """The text of a scenario file.

    Raises:
        ScenarioError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} is 0x{content[error.start]:02x}"
        problem = Problem("", f"is not UTF-8 text ({where}): save it as UTF-8")
        raise ScenarioError(name, [problem]) from None


def scenario_found(name: str, content: bytes, files: Mapping[str, bytes]) -> Found:
    """What a scenario file holds, with the files that it names next to it.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    scenario = check(scenario_text(name, content), name, files)
    horizon, used = scenario.horizon, set(named_files(scenario))
    used |= {scenario.performance.calibration} if scenario.performance.calibration else set()
    counts = {
        "sites": scenario.sites,
        "cohorts of the fleet": scenario.fleet,
        "offers": scenario.market,
        "training jobs": scenario.training,
        "pools": scenario.pools,
        "services": scenario.services,
    }
    return Found(
        what="a scenario",
        facts=(
            ("title", scenario.title),
            ("time", f"{horizon.period_labels[0]} to {horizon.period_labels[-1]}, {horizon.periods} periods"),
            *((what, f"{len(entries):,}") for what, entries in counts.items() if entries),
            *(("file next to it", file) for file in sorted(used)),
        ),
        notes=(
            *(f"{file} is named nowhere: it is left out." for file in sorted(set(files) - used)),
            *(f"{note}." for note in idle_facts(scenario)),
        ),
        files=tuple((file, files[file]) for file in sorted(used)),
    )
