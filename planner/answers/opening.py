"""What a question is about, named by a path, by the name of something shipped, or by its tables.

Commands and functions of Python open scenarios and documents here, so that the same name means the same at
both doors.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from planner.answers.check import checked_scenario, scenario_in
from planner.inputs.consistency import check_scenario, with_cards
from planner.inputs.editing import prices_found, series_found, traffic_found
from planner.inputs.files import parse_json, read_limited
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Problem, Scenario, ScenarioError, read_tables, with_changes
from planner.inputs.scenario.files import MAX_DEPTH
from planner.physics.divisible_work import check_pools
from planner.report.editions import up_to_date
from planner.report.integrity import disagreements
from planner.report.shape import is_answer
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.records import Record

# What a folder of an answer holds; the first that is there is read.
DOCUMENTS = ("plan.json", "fit.json", "job.json", "futures.json")
# The same of answers whose numbers `explain` of the command line does not open.
ANSWERS = ("pareto.json", "checkpoints.json", "sweep.json", "answer.json")
# What a document that is none of ours, or is damaged, may do to a comparison of its numbers.
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
MOST_SAID = 200  # characters of what a damaged document makes of its numbers


def open_scenario(
    named: str | Path | Mapping[str, Any] | Scenario, changes: Mapping[str, Any] | None = None
) -> Scenario:
    """A scenario file, a shipped one by name or its tables, with some values changed, checked whole.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    changes = None if changes is None else plain_tables(changes, "changes", removing=True)
    if isinstance(named, Scenario):
        scenario = with_changes(named, changes) if changes else named
        catalogue = load_catalogue()
        check_scenario(scenario, catalogue)
        check_pools(Inputs(scenario, with_cards(scenario, catalogue)))
        return scenario
    if isinstance(named, Mapping):
        return scenario_in(read_tables(plain_tables(named, "scenario"), "scenario", Path(), changes))
    return checked_scenario(path_of(named, "scenarios"), changes)


def with_series(
    scenario: Scenario,
    *,
    traffic: Mapping[str, Path] | None = None,
    hourly: Mapping[str, Path] | None = None,
    electricity: Mapping[str, Path] | None = None,
) -> tuple[Scenario, list[str]]:
    """A scenario with the traffic of services, the grids and prices of sites that files hold, and notes.

    Args:
        scenario: that names the services and sites.
        traffic: a trace of requests (CSV) by the name of a service.
        hourly: hours of a grid (CSV) by the name of a site; what they count is read from the file.
        electricity: hours of electricity prices (CSV) by the name of a site.

    Raises:
        InputError: a file cannot be used, or nothing has this name.
    """
    changes, notes = dict[str, Any](), list[str]()
    readers = (
        (traffic_found, traffic or {}),
        (series_found, hourly or {}),
        (prices_found, electricity or {}),  # last: hours of a grid keep the price of its region
    )
    for reader, files in readers:
        for name, path in files.items():
            try:
                content = read_limited(path)
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from None
            found = reader(path.name, content, scenario, name)
            changes |= found.changes
            left_out = f"; rows left out: {count_text(found.dropped_count)}" if found.dropped_count else ""
            stated = ", ".join(f"{what} {value}" for what, value in found.facts)
            notes += [f"{name}: {found.what}, {path.name}: {stated}{left_out}", *found.notes]
    return open_scenario(scenario, changes), notes


def path_of(named: str | Path, *folders: str) -> Path:
    """A path; where there is none, what is shipped by that name in the first of these folders that has it.

    Raises:
        ScenarioError: neither is there, and the path is but a name.
    """
    path = Path(named)
    shipped = [file for folder in folders for file in sorted((data_folder() / folder).glob("*.toml"))]
    found = next((file for file in shipped if not path.exists() and file.stem == str(named)), path)
    known_stem = path.suffix == ".toml" and str(named) in {file.name for file in shipped}
    near = [path.stem] if known_stem else get_close_matches(str(named), [file.stem for file in shipped], n=2)
    if near and not found.exists() and (known_stem or not path.suffix):
        meant = " or ".join(f"'{name}'" for name in near)
        raise ScenarioError(
            str(named), [Problem("", f"no such file; did you mean {meant}, which is shipped?")]
        )
    if shipped and not found.exists() and not path.suffix and len(path.parts) == 1:
        known = ", ".join(file.stem for file in shipped)
        raise ScenarioError(str(named), [Problem("", f"no such file; shipped by name are {known}")])
    return found


def open_document(path: Path) -> Record | None:
    """The document in a file, or in the folder of an answer; None where the path names neither.

    Raises:
        ScenarioError: it is none of ours.
    """
    held = (path / name for name in DOCUMENTS)
    file = next((file for file in held if file.is_file()), path / DOCUMENTS[0]) if path.is_dir() else path
    return _agreeing(file, opens=True) if file.suffix == ".json" and file.is_file() else None


def open_answer(path: Path) -> Record | None:
    """The document of any answer that was written into a folder or a file; None where the path names neither.

    Raises:
        ScenarioError: it is none of ours.
    """
    held = (path / name for name in ANSWERS)
    file = next((file for file in held if file.is_file()), None) if path.is_dir() else path
    if file is None or file.suffix != ".json" or not file.is_file():
        return open_document(path)
    return _agreeing(file, opens=False)


def _agreeing(file: Path, *, opens: bool) -> Record:
    """The document of a file as the program keeps it, refused where its numbers do not agree.

    Where it is one that `opens`, it is a plan or keeps explanations by name.
    """
    held = _read(file)
    try:
        document = up_to_date(held) if isinstance(held, dict) else {}
        found = disagreements(document)
    except _DAMAGED as error:
        said = f"is damaged: its numbers cannot be compared ({type(error).__name__}: {error})"
        raise ScenarioError(str(file), [Problem("", said[:MOST_SAID])]) from None
    ours = document and (is_answer(document) or "everfleet_answer" in held or "status" in document)
    if not ours or (opens and "explanations" not in document):
        raise ScenarioError(str(file), [Problem("", "is not a plan: name a plan.json that `plan` wrote")])
    if found:
        problems = [
            Problem(place, f"{text}; the file may have been changed since it was written")
            for place, text in found
        ]
        raise ScenarioError(str(file), problems)
    return document


def _read(file: Path) -> Any:
    try:
        return parse_json(read_limited(file).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(str(file), [Problem("", f"cannot be read as a plan: {error}")]) from None


def plain_tables(tables: Mapping[str, Any], name: str, *, removing: bool = False) -> dict[str, Any]:
    """Tables as a TOML file would give them: lists for tuples and columns, text for paths.

    A key that holds None is not stated; where values are `removing`, it stays.

    Raises:
        ScenarioError: something in them is no value of a file.
    """
    problems: list[Problem] = []
    plain: dict[str, Any] = _plain(tables, "", problems, MAX_DEPTH)
    if problems:
        raise ScenarioError(name, problems)
    return plain | {key: None for key, value in tables.items() if value is None and removing}


def _plain(value: Any, path: str, problems: list[Problem], depth: int) -> Any:
    """A value without what only Python knows; what is no value of a file becomes a problem."""
    if depth < 0:
        problems.append(Problem(path[:60], f"is nested deeper than {MAX_DEPTH} levels"))
        return None
    if hasattr(value, "tolist"):  # a number or a column of NumPy or pandas
        value = value.tolist()
    match value:
        case Mapping():
            if strange := [key for key in value if not isinstance(key, str)]:
                problems.append(Problem(path, f"{strange[0]!r} is no key: write text"))
                return None
            return {
                key: _plain(held, f"{path}.{key}" if path else key, problems, depth - 1)
                for key, held in value.items()
                if held is not None
            }
        case list() | tuple():
            return [_plain(one, f"{path}[{i}]", problems, depth - 1) for i, one in enumerate(value)]
        case Path():
            return str(value)
        case str() | bool() | int() | float() | date():
            return value
    problems.append(
        Problem(path, f"{type(value).__name__} is no value of a file: write text, a number, a date or a list")
    )
    return None
