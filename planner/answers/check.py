"""Whether a text can be planned: every problem at once, as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import cards_of, known_names, problems_in, sale_notes, space_notes, with_cards
from planner.inputs.editing.found import Found
from planner.inputs.job.reading import is_job, read_job
from planner.inputs.kind_checks import works_in_pools
from planner.inputs.loading import load_catalogue
from planner.inputs.overrides import idle_notes
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Pool, Problem, Reading, Scenario, ScenarioError, read_scenario
from planner.inputs.scenario.bundle import named_files, read_kept, unsaved
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.files import read_text, read_toml
from planner.inputs.scenario.known_names import own_fact_problems, own_facts
from planner.inputs.scenario.parts import entries_of, read_far
from planner.inputs.scenario.problems import shown_key
from planner.inputs.unstated import unstated_notes
from planner.physics.divisible_work import pool_problems
from planner.trace.currency import showing
from planner.trace.numbers import count_text
from planner.trace.records import Record

# What says whether a node can do the work of a pool.
_POOL_WORK = {
    *("name", "model", "reference", "precision", "engine", "tokens_in", "tokens_out", "audio_s"),
    *("method", "adapter_rank", "job_nodes", "sequence_tokens", "batch_sequences"),
}


def check(text: str, name: str, files: Mapping[str, bytes] | None = None) -> Scenario:
    """The scenario of a text and the files that lie next to it, checked as far as it can be without a plan.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    with laid_out(text, name, files) as scenario:
        return scenario


@contextmanager
def laid_out(text: str, name: str, files: Mapping[str, bytes] | None = None) -> Iterator[Scenario]:
    """The same, with its files in a folder for as long as it is used.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    with read_kept(unsaved(name, text, files or {})) as reading:
        yield scenario_in(reading)


def checked_scenario(path: Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a file with some values changed, checked as far as it can be without a plan.

    Raises:
        ScenarioError: it is wrong; the error holds every problem of value, name and meaning.
    """
    return scenario_in(read_scenario(path, changes))


def scenario_in(reading: Reading) -> Scenario:
    """The scenario of what was read.

    Raises:
        ScenarioError: something is wrong: with values, names or what they mean, all at once.
    """
    catalogue = load_catalogue().with_own(reading.own)
    error = reading.error(problems_in(reading, catalogue), _too_large_pools(reading, catalogue))
    if error is not None:
        raise error
    assert reading.scenario is not None, "nothing is wrong with it"
    return reading.scenario


def _too_large_pools(reading: Reading, catalogue: Catalogue) -> list[Problem]:
    """Pools whose reference does not hold their model, of a scenario in which other things may be wrong."""
    catalogue, _ = cards_of(reading.document, reading.folder, catalogue)
    known = known_names(catalogue)
    facts = own_facts(reading.document)
    refused = {problem.path for problem in own_fact_problems(facts, known)}
    pools = [read_far(Pool, entry, Frame()) for _, entry in entries_of(reading.document, "pools")]
    fitting = tuple(
        pool
        for pool in pools
        if pool is not None
        and vars(pool).keys() >= _POOL_WORK
        and (pool.way.key != "items" or None not in (pool.tokens_in, pool.tokens_out))
        and (pool.engine is None or pool.engine in known.engines)
        and works_in_pools(catalogue, pool.model, pool.answers or pool.rolls_out)
        and pool.reference in known.skus
    )
    stated = {key: text for key, text in facts.items() if f"facts.{shown_key(key)}" not in refused}
    scenario = read_far(Scenario, {"title": reading.name, "facts": stated}, Frame())
    assert scenario is not None, "these are tables"
    return list(pool_problems(Inputs(scenario.but(pools=fitting), catalogue)))


def check_file(path: Path) -> tuple[str, list[str]]:
    """The title of a scenario or job file, told by its content, and notes on it.

    Raises:
        ScenarioError: it is wrong; the error holds every problem of value, name and meaning.
    """
    document = read_toml(read_text(path), path.name)
    if is_job(document):
        job = read_job(document, path.name, load_catalogue(), path=path)
        return job.title, []
    scenario = checked_scenario(path)
    return scenario.title, notes_on(scenario)


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
        "rental": chips | {"pue", "utilisation", "spot", "block", "year_1", "year_3"},
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
    catalogue = with_cards(scenario, load_catalogue())
    own = [catalogue.own.said] if catalogue.own is not None else []
    with showing(Inputs(scenario, catalogue).currency):
        taken = [*space_notes(scenario, catalogue), *unstated_notes(scenario, catalogue)]
    return [*sale_notes(scenario, catalogue), *taken, *idle_facts(scenario), *own]


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
            *((what, count_text(len(entries))) for what, entries in counts.items() if entries),
            *(("file next to it", file) for file in sorted(used)),
        ),
        notes=(
            *(f"{file} is named nowhere: it is left out." for file in sorted(set(files) - used)),
            *(f"{note}." for note in idle_facts(scenario)),
        ),
        files=tuple((file, files[file]) for file in sorted(used)),
    )
