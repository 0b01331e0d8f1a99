"""From TOML tables to a scenario, or to every problem in words of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from planner.inputs.catalogue import OwnFacts
from planner.inputs.exchange import rates_in
from planner.inputs.fits import Calibration, FittedFleet, read_calibration, read_fit
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario.audio import with_audio
from planner.inputs.scenario.base import Part
from planner.inputs.scenario.checks import AHEAD, LISTS, MAX_ENTRIES, Parts, between_tables, between_values
from planner.inputs.scenario.data_mix import with_feeds
from planner.inputs.scenario.fields import Frame
from planner.inputs.scenario.growth import with_growth
from planner.inputs.scenario.own import own_in, with_regions
from planner.inputs.scenario.parts import Meant, once, read_far, read_part, without_slips
from planner.inputs.scenario.problems import Problem, ScenarioError, label, shown
from planner.inputs.scenario.schema import Horizon, Policy, Scenario
from planner.inputs.scenario.schema_fleet import Cohort, Move, Offer
from planner.inputs.scenario.schema_futures import Future, Uncertainty
from planner.inputs.scenario.schema_places import Site
from planner.inputs.scenario.schema_pools import Pool
from planner.inputs.scenario.schema_rental import Rental
from planner.inputs.scenario.schema_training import TrainingJob
from planner.inputs.scenario.series import shapes_in, with_series
from planner.inputs.scenario.table_files import tables_of, with_tables
from planner.inputs.scenario.writing import change, tables
from planner.trace.errors import InputError

P = TypeVar("P", bound=Part)
F = TypeVar("F", FittedFleet, Calibration)
MAX_LOG_BYTES = 50_000_000  # a fit holds its curves and explanations, too


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as far as it can be read: its scenario, or what is wrong with its values.

    `document` holds its tables as they were meant, of which `meant` knows how they are written.
    """

    name: str
    folder: Path | None
    meant: Meant
    scenario: Scenario | None
    problems: tuple[Problem, ...]
    more: int
    futures: Mapping[int, Future]
    calibration: Calibration | None
    own: OwnFacts | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The tables, as they were meant."""
        return self.meant.document

    def again(self, document: Mapping[str, Any]) -> Reading:
        """Other tables, read at the same place."""
        return read(document, self.name, self.folder)

    def error(self, *stages: Iterable[Problem]) -> ScenarioError | None:
        """Everything that is wrong with it and what checks of it found, each once; None where it is fine."""
        found = once(self.problems, *(map(self.meant.as_written, stage) for stage in stages))
        return ScenarioError(self.name, found, self.more) if found else None


def read(document: Mapping[str, Any], name: str, folder: Path | None) -> Reading:
    """The tables of a file, read as far as they can be; a log that they name is looked for in `folder`."""
    for section in LISTS:
        entries = document.get(section)
        if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
            problem = Problem(section, f"has {len(entries):,} entries: write at most {MAX_ENTRIES}")
            return Reading(name, folder, Meant(dict(document), {}), None, (problem,), 0, {}, None)
    meaning = without_slips(Scenario, document)
    own = own_in(meaning.document.get("data"), folder)
    known_facts = load_catalogue().with_own(own if isinstance(own, OwnFacts) else None)
    document, lost = with_regions(meaning.document, known_facts)
    meaning = replace(meaning, document=document)
    horizon = read_far(Horizon, document.get("horizon"), Frame())
    document, rows, unread = with_series(document, folder, _whole(horizon), known_facts)
    document, twice = with_growth(document, _whole(horizon))
    document, unheard = with_audio(document, Frame(None if horizon is None else vars(horizon).get("periods")))
    document, unfed = with_feeds(document, _whole(horizon))
    document, unplaced = with_tables(document, folder)
    shapes, without = shapes_in(document, folder)
    lost += [*unread, *twice, *unheard, *unfed, *unplaced, *without]
    meaning = replace(meaning, document=document)
    frame = Frame(None if horizon is None else vars(horizon).get("periods"), rates_in(document))
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
    parts = _parts(filled, horizon, frame, fit)
    scenario, fields, more = read_part(Scenario, filled, frame)
    between = [*between_tables(document, parts), *([calibration] if isinstance(calibration, Problem) else [])]
    between += [*lost, *(own if isinstance(own, list) else [])]
    if scenario is not None:
        scenario._fit = fit if isinstance(fit, FittedFleet) else None
        scenario._calibration = calibration if isinstance(calibration, Calibration) else None
        scenario._own = own if isinstance(own, OwnFacts) else None
        scenario._rows = (*rows, *(name for name in shapes.names if name not in rows))
        scenario._shapes = shapes
        named = [job.tables for job in scenario.training] + [one.tables for one in scenario.services]
        there = {part for part in named if part is not None and not unplaced}
        scenario._tables = {part: tables_of(part, folder) for part in there}
    stages = [map(meaning.as_written, found) for found in (fields, between, between_values(document, parts))]
    problems = tuple(once([*stages[0], *meaning.unknown], *stages[1:]))
    more += meaning.more
    known = calibration if isinstance(calibration, Calibration) else None
    return Reading(
        name,
        folder,
        meaning,
        None if problems else scenario,
        problems,
        more,
        parts.futures,
        known,
        own if isinstance(own, OwnFacts) else None,
    )


def _whole(horizon: Horizon | None) -> Horizon | None:
    """The horizon, where each of its keys could be read."""
    return horizon if horizon is not None and Horizon.model_fields.keys() <= vars(horizon).keys() else None


def checked(document: Mapping[str, Any], name: str, folder: Path | None) -> Scenario:
    """Scenario in the tables of a file; `folder` is where a log that it names is looked for.

    Raises:
        ScenarioError: it is wrong; `name` begins each message.
    """
    reading = read(document, name, folder)
    error = reading.error(set_problems(reading, lambda changed: changed.problems))
    if error is not None:
        raise error
    assert reading.scenario is not None, "nothing is wrong with it"
    return reading.scenario


def set_problems(reading: Reading, problems_of: Callable[[Reading], Iterable[Problem]]) -> Iterator[Problem]:
    """What is wrong with values that futures set, each at its path below the future."""
    stated, known = None, frozenset[Problem]()
    for number, future in reading.futures.items():
        values = vars(future).get("values")
        if not values:
            continue
        if stated is None:
            stated = tables(reading.scenario) if reading.scenario is not None else reading.document
            known = frozenset(problems_of(reading))
        name = vars(future).get("name")
        name = label({"name": name}, "futures", [{"name": name}])
        at = f"futures.{name}.set" if name else f"futures[{number}].set"
        document = deepcopy(stated)
        wrong = [found for path, value in values.items() if (found := change(document, path, value))]
        for path in AHEAD:
            change(document, path, None)
        if not wrong:
            wrong = [found for found in problems_of(reading.again(document)) if found not in known]
        yield from (Problem(f"{at}.{found.path}", found.message) for found in wrong)


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
        return {i: part for i, entry in enumerate(held) if (part := read_far(kind, entry, frame)) is not None}

    return Parts(
        horizon,
        read_far(Policy, filled.get("policy"), frame),
        each(TrainingJob, "training"),
        fit,
        cohorts=each(Cohort, "fleet"),
        offers=each(Offer, "market"),
        moves=each(Move, "moves"),
        futures=each(Future, "futures"),
        sites=each(Site, "sites"),
        rental=each(Rental, "rental"),
        pools=each(Pool, "pools"),
        uncertainty=read_far(Uncertainty, filled.get("uncertainty"), frame),
    )


def _with_earliest(document: Mapping[str, Any], horizon: Horizon | None) -> dict[str, Any]:
    """The tables with each job's `earliest`: by default it may run from the start of the horizon."""
    jobs = document.get("training")
    start = None if horizon is None else vars(horizon).get("start")
    if not isinstance(jobs, list) or start is None:
        return dict(document)
    filled = [{"earliest": start, **job} if isinstance(job, dict) else job for job in jobs]
    return {**document, "training": filled}
