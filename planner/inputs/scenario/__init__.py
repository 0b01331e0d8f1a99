"""The file that a person writes: read whole, checked whole, every problem reported at once.

`load_scenario` reads a file and the log that it names, `parse_scenario` a text, `with_changes` makes a
checked variant, and `check_against` compares the names in it with those of the catalogue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.inputs.scenario.files import read_text, read_toml, write_toml
from planner.inputs.scenario.known_names import Known, unknown_names
from planner.inputs.scenario.problems import Problem, ScenarioError
from planner.inputs.scenario.reading import Reading, checked, read
from planner.inputs.scenario.schema import Horizon, Policy, Reliability, Scenario, Solve
from planner.inputs.scenario.schema_fleet import Cohort, Move, Offer
from planner.inputs.scenario.schema_places import Site
from planner.inputs.scenario.schema_pools import Pool
from planner.inputs.scenario.schema_rental import Rental
from planner.inputs.scenario.schema_services import Service, UserRegion
from planner.inputs.scenario.schema_training import TrainingJob
from planner.inputs.scenario.writing import at_path, change, tables

__all__ = [
    "Cohort",
    "Horizon",
    "Known",
    "Move",
    "Offer",
    "Policy",
    "Pool",
    "Problem",
    "Reading",
    "Reliability",
    "Rental",
    "Scenario",
    "ScenarioError",
    "Service",
    "Site",
    "Solve",
    "TrainingJob",
    "UserRegion",
    "canonical_text",
    "check_against",
    "digest",
    "load_scenario",
    "parse_scenario",
    "read_scenario",
    "read_tables",
    "value_at",
    "with_changes",
]


def load_scenario(path: str | Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Scenario in a TOML file, with other values where `changes` has them, as in `with_changes`.

    The file is checked as changed: what a change puts right is no problem.

    Raises:
        ScenarioError: the file cannot be read, a path of a change leads nowhere, or what results is wrong;
            the error holds every problem.
    """
    path = Path(path)
    scenario = checked(_document(path, changes), path.name, path.parent)
    scenario._path = path
    return scenario


def read_scenario(path: str | Path, changes: Mapping[str, Any] | None = None) -> Reading:
    """The file as far as it can be read, for checks that go further than `load_scenario`.

    Raises:
        ScenarioError: the file cannot be read as TOML, or a path of a change leads nowhere.
    """
    path = Path(path)
    reading = read(_document(path, changes), path.name, path.parent)
    if reading.scenario is not None:
        reading.scenario._path = path
    return reading


def read_tables(
    tables: dict[str, Any], name: str, folder: Path | None, changes: Mapping[str, Any] | None = None
) -> Reading:
    """The tables of a file as far as they can be read; files that they name are looked for in `folder`.

    Raises:
        ScenarioError: a path of a change leads nowhere; `name` begins each message.
    """
    _change(tables, changes or {}, name)
    return read(tables, name, folder)


def _document(path: Path, changes: Mapping[str, Any] | None) -> dict[str, Any]:
    document = read_toml(read_text(path), path.name)
    _change(document, changes or {}, path.name)
    return document


def parse_scenario(text: str, name: str = "scenario") -> Scenario:
    """Scenario in a TOML text, which may name no log; `name` begins each message.

    Raises:
        ScenarioError: the text is wrong; the error holds every problem.
    """
    return checked(read_toml(text, name), name, None)


def with_changes(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """A checked copy with other values: `{"policy.carbon_price": "300 USD/t", "sites.dallas.pue": 1.3}`.

    A path names an entry of a list by its name (on the market by its SKU) or number: `fleet[0].nodes`. Text
    that stands where a number, date or list stood is read as TOML, as a command line needs it. None removes.

    Raises:
        ScenarioError: a path leads nowhere, or the changed scenario is wrong.
    """
    name = scenario.path.name if scenario.path else "scenario"
    document = tables(scenario)
    _change(document, changes, name)
    changed = checked(document, name, scenario.path.parent if scenario.path else None)
    changed._path = scenario.path
    return changed


def _change(document: dict[str, Any], changes: Mapping[str, Any], name: str) -> None:
    """Put values into the tables of a file; a ScenarioError tells every path that leads nowhere."""
    moved = [path.removesuffix(".region") for path in changes if path.endswith(".region")]
    others = {f"{at}.{key}": None for at in moved for key in ("grid", "pue") if f"{at}.{key}" not in changes}
    stated = {**others, **changes}  # what the region before filled goes with it
    problems = [problem for path, value in stated.items() if (problem := change(document, path, value))]
    if problems:
        raise ScenarioError(name, problems)


def value_at(scenario: Scenario, path: str) -> Any:
    """What stands at a path, as a file would hold it in its canonical unit; None where nothing is written.

    Raises:
        ScenarioError: the path leads nowhere.
    """
    found = at_path(tables(scenario), path)
    if isinstance(found, Problem):
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", [found])
    table, key = found
    return table.get(key)


def check_against(scenario: Scenario, known: Known) -> None:
    """Compare the names and overridden facts of a scenario with what the catalogue has.

    Raises:
        ScenarioError: a name is unknown; the message offers the nearest ones.
    """
    if problems := list(unknown_names(tables(scenario), known)):
        raise ScenarioError(scenario.path.name if scenario.path else "scenario", problems)


def canonical_text(scenario: Scenario) -> str:
    """TOML with each value in its canonical unit: alike for all files that mean the same."""
    return write_toml(tables(scenario))


def digest(scenario: Scenario) -> str:
    """SHA-256 of the canonical text, log and measurements: the identity, whatever the files are called."""
    attached = [repr(one) for one in (scenario.fit, scenario.calibration) if one]
    attached += [scenario.own.digest] if scenario.own is not None else []
    said = "".join([canonical_text(scenario), *attached])
    return hashlib.sha256(said.encode()).hexdigest()
