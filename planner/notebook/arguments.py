"""How arguments of functions become what a question takes: units, paths, and messages in their words."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from planner.notebook.answer import Answer
from planner.notebook.checking import checked, whole
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario

P = ParamSpec("P")
R = TypeVar("R")

# A scenario: a path, the name of a shipped one, its tables, or the answer of `scenario`.
Named = str | Path | Mapping[str, Any] | Answer
Changes = Mapping[str, Any] | None
# Files of rows, each by the name of the site or the service that it is for.
Files = Mapping[str, str | Path] | None
Watch = Callable[[str], None] | None
# A number in the unit that its name ends in, or text with a unit: "90 d".
Quantity = float | str

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])")
_OTHER_WORDS = {"set": "changes", "requests-per-second": "requests_per_s", "sku": "skus"}


def in_python(function: Callable[P, R]) -> Callable[P, R]:
    """A function that checks what kinds its arguments are of, and whose errors name them, not the options."""
    signature = inspect.signature(function)
    known = signature.parameters
    takes_own_data = function.__name__ != "validate"  # its `data` are files to compare with

    @functools.wraps(function)
    def reworded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:  # as Python says it, with the name of the function
            raise TypeError(f"{function.__name__}() {error}") from None
        checked(bound)
        try:
            with _own_data(bound.arguments.get("data") if "data" in known and takes_own_data else None):
                return function(*bound.args, **bound.kwargs)
        except InputError as error:
            raise _reworded(error, known) from None

    return reworded


@contextmanager
def _own_data(path: str | Path | None) -> Iterator[None]:
    """Inside, the facts of one's own at a path stand next to ours."""
    if path is None:
        yield
        return
    from planner.inputs.loading import own_data

    with own_data(path):
        yield


def _reworded(error: InputError, known: Iterable[str]) -> InputError:
    from planner.inputs.scenario.problems import Problem, ScenarioError

    if isinstance(error, ScenarioError):
        problems = [
            Problem(_in_words(one.path, known), _in_words(one.message, known)) for one in error.problems
        ]
        return ScenarioError(error.name, problems) if problems != list(error.problems) else error
    said = _in_words(str(error), known)
    return error if said == str(error) else InputError(said)


def _in_words(text: str, known: Iterable[str]) -> str:
    """A message with the argument in the place of each option that is one."""

    def argument(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        other = _OTHER_WORDS.get(found[1], name)
        fitting = [one for one in known if one in (name, other) or one.startswith(f"{name}_")]
        return min(fitting, key=len) if fitting else found[0]

    return _FLAG.sub(argument, text)


def quantity(value: Quantity | None, name: str) -> float | None:
    """A number in the unit that `name` ends in.

    Raises:
        InputError: the text is none of that dimension.
    """
    from planner.trace.units import UnitError, parse_quantity, unit_of

    if not isinstance(value, str):
        return value
    try:
        return parse_quantity(value, unit_of(name))
    except UnitError as error:
        raise InputError(f"{name}: {error}") from None


def given_quantity(value: Quantity, name: str) -> float:
    """The same of a value that is always there."""
    found = quantity(value, name)
    assert found is not None, "it is always there"
    return found


def text(value: Quantity | None, name: str) -> str | None:
    """A quantity as a file has it, with its unit; text as it is."""
    from planner.trace.units import unit_of

    if value is None or isinstance(value, str):
        return value
    return f"{value!r} {unit_of(name)}"


def day(value: date | str | None, name: str) -> date | None:
    """A day, or one as ISO 8601 has it.

    Raises:
        InputError: the text is no day.
    """
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise InputError(f"{name}: '{value}' is not a day: write for example 2025-03-01") from None


def names(value: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def counts(value: int | Iterable[int], name: str) -> tuple[int, ...]:
    """One count, or several.

    Raises:
        InputError: one of them is no whole number.
    """
    found = [value] if isinstance(value, int) else list(value)
    try:
        return tuple(map(whole, found))
    except TypeError:
        raise InputError(f"{name}: {found} are no counts: write for example [8, 16]") from None


def given_in_python(said: Mapping[str, Any], question: type[Any]) -> dict[str, Any]:
    """What a question asks, of the arguments that were given; each in the unit that its name ends in.

    Raises:
        InputError: one of them is not what its field takes.
    """
    from planner.inputs.question_fields import fields_of

    return {
        name: _as_its_field_reads(one.reads, said[name], name) for name, one in fields_of(question).items()
    }


def _as_its_field_reads(reads: str, value: Any, name: str) -> Any:
    match reads:
        case "names":
            return None if value is None else names(value)
        case "counts":
            return counts(value, name)
        case "number" | "rate" | "share" | "excess":
            return quantity(value, name)
        case "quantity":
            return text(value, name)
        case "day":
            return day(value, name)
        case "text" if isinstance(value, Path):
            return str(value)
        case "path":
            return None if value is None else Path(value)
    return value


def scenario_with_files(named: Named, changes: Changes, **files: Files) -> tuple[Scenario, list[str]]:
    """The scenario that is meant, with what `traffic`, `hourly` and `electricity` hold; and notes.

    Raises:
        InputError: it is wrong, or a file cannot be used.
    """
    from planner.answers.opening import with_series

    scenario = scenario_of(named, changes)
    stated = {
        option: {name: Path(path) for name, path in (held or {}).items()} for option, held in files.items()
    }
    return with_series(scenario, **stated) if any(stated.values()) else (scenario, [])


def scenario_of(named: Named, changes: Changes) -> Scenario:
    """The scenario that is meant, with what is changed in it, checked.

    Raises:
        InputError: it is wrong, or the answer is of no scenario.
    """
    from planner.answers.opening import open_scenario

    if not isinstance(named, Answer):
        return open_scenario(named, changes)
    if named._scenario is None:
        raise InputError(f"{named!r} keeps no scenario: name the scenario")
    return open_scenario(named._scenario, changes)
