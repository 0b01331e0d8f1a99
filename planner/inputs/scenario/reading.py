"""From TOML tables to a scenario, or to every problem in words of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from planner.inputs.fits import Calibration, FittedFleet, read_calibration, read_fit
from planner.inputs.scenario.base import is_list, rule_of
from planner.inputs.scenario.checks import LISTS, MAX_ENTRIES, Parts, problems_between, value_problems
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.problems import (
    MAX_PROBLEMS,
    FieldError,
    Problem,
    ScenarioError,
    near,
    place,
    shown,
)
from planner.inputs.scenario.schema import Horizon, Policy, Scenario, TrainingJob, part_of
from planner.inputs.scenario.schema_fleet import Cohort, Move, Offer
from planner.inputs.scenario.schema_futures import Future, Uncertainty
from planner.trace.errors import InputError

P = TypeVar("P", bound=BaseModel)
F = TypeVar("F", FittedFleet, Calibration)
MAX_LOG_BYTES = 50_000_000  # a fit holds its curves and explanations, too


def checked(document: Mapping[str, Any], name: str, folder: Path | None) -> Scenario:
    """Scenario in the tables of a file; `folder` is where a log that it names is looked for.

    Raises:
        ScenarioError: it is wrong; `name` begins each message.
    """
    for section in LISTS:
        entries = document.get(section)
        if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
            problem = Problem(section, f"has {len(entries):,} entries: write at most {MAX_ENTRIES}")
            raise ScenarioError(name, [problem])
    horizon = _part(Horizon, document.get("horizon"), Frame())
    frame = Frame(horizon.periods if horizon else None)
    filled = _with_earliest(document, horizon)
    fit = _named(document, "reliability", "log", folder, read_fit, "a fit", "everfleet fit LOG --out FOLDER")
    calibration = _named(
        document,
        "performance",
        "calibration",
        folder,
        read_calibration,
        "a calibration",
        "everfleet calibrate MEASUREMENTS --json",
    )
    between = list(problems_between(document, _parts(filled, horizon, frame, fit)))
    between += [calibration] if isinstance(calibration, Problem) else []
    try:
        scenario = Scenario.model_validate(filled, context=frame)
    except ValidationError as error:
        found = error.errors(include_url=False)
        fields = [problem for entry in found[:MAX_PROBLEMS] for problem in _translated(entry, document)]
        more = max(0, len(found) - MAX_PROBLEMS)
        raise ScenarioError(name, [*fields, *between], more) from None
    if between:
        raise ScenarioError(name, between)
    scenario._fit = fit if isinstance(fit, FittedFleet) else None
    scenario._calibration = calibration if isinstance(calibration, Calibration) else None
    if wrong := list(value_problems(scenario, lambda changed: checked(changed, name, folder))):
        raise ScenarioError(name, wrong)
    return scenario


def _named(
    document: Mapping[str, Any],
    section: str,
    key: str,
    folder: Path | None,
    read: Callable[[Path], F],
    what: str,
    command: str,
) -> F | Problem | None:
    """What the file that a scenario names says, or why it cannot be used; none where it names none."""
    table, at = document.get(section), f"{section}.{key}"
    name = table.get(key) if isinstance(table, dict) else None
    if not isinstance(name, str):
        return None
    if folder is None:
        # A text may come from anywhere: it must not choose what is read on this machine.
        return Problem(
            at,
            "is looked for in the folder of the scenario, and this text has no file: save it, and read "
            "the scenario from there",
        )
    path = folder / name
    try:
        if not path.is_file():
            return Problem(
                at, f"there is no file {shown(name)} in the folder of the scenario: write it with `{command}`"
            )
        if path.stat().st_size > MAX_LOG_BYTES:
            return Problem(at, f"{shown(name)} is too large for {what}: name the one that `{command}` wrote")
        return read(path)
    except InputError as error:
        return Problem(at, f"{shown(name)} {str(error).removeprefix(f'{path}: ')}")
    except (OSError, RecursionError) as error:
        return Problem(at, f"{shown(name)} cannot be read: {error}")


def _parts(
    filled: Mapping[str, Any], horizon: Horizon | None, frame: Frame, fit: FittedFleet | Problem | None
) -> Parts:
    """What other fields are checked against: each part that is right by itself."""

    def each(kind: type[P], section: str) -> dict[int, P]:
        entries = filled.get(section)
        held = entries if isinstance(entries, list) else []
        return {i: part for i, entry in enumerate(held) if (part := _part(kind, entry, frame)) is not None}

    return Parts(
        horizon,
        _part(Policy, filled.get("policy"), frame),
        each(TrainingJob, "training"),
        fit,
        cohorts=each(Cohort, "fleet"),
        offers=each(Offer, "market"),
        moves=each(Move, "moves"),
        futures=each(Future, "futures"),
        uncertainty=_part(Uncertainty, filled.get("uncertainty"), frame),
    )


def _part(kind: type[P], table: object, frame: Frame) -> P | None:
    try:
        return kind.model_validate(table, context=frame)
    except ValidationError:
        return None


def _with_earliest(document: Mapping[str, Any], horizon: Horizon | None) -> dict[str, Any]:
    """The tables with each job's `earliest`: by default it may run from the start of the horizon."""
    jobs = document.get("training")
    if not isinstance(jobs, list) or horizon is None:
        return dict(document)
    filled = [{"earliest": horizon.start, **job} if isinstance(job, dict) else job for job in jobs]
    return {**document, "training": filled}


def _translated(error: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Problem]:
    loc: Sequence[str | int] = error["loc"]
    path = place(loc, document)
    match error["type"]:
        case "value_error":
            said = error["ctx"]["error"]
            parts = said.parts if isinstance(said, FieldError) else (("", str(said)),)
            yield from (Problem(path + inside, message) for inside, message in parts)
        case "missing":
            yield Problem(path, f"is missing: {_remedy(loc)}")
        case "extra_forbidden":
            known = [field.alias or key for key, field in part_of(loc[:-1]).model_fields.items()]
            yield Problem(path, f"is not known here; {near(str(loc[-1]), known)}")
        case _:
            said = "is one table of several" if isinstance(error["input"], dict) else "is not a table"
            value = "" if isinstance(error["input"], dict) else f"{shown(error['input'])} "
            yield Problem(path, f"{value}{said}: {_remedy(loc)}")


def _remedy(loc: Sequence[str | int]) -> str:
    """How a field is written; for a table or a list of them, how it begins."""
    *outer, key = [step for step in loc if isinstance(step, str)]
    part = part_of(outer)
    for attribute, field in part.model_fields.items():
        rule = rule_of(part, attribute)
        if rule is not None and key == (field.alias or attribute):
            return f"write for example {key} = {rule.example}"
    path = ".".join((*outer, key))
    return f"begin each with [[{path}]]" if is_list(part.model_fields[key]) else f"begin it with [{path}]"
