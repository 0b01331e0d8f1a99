"""Where and when: the carbon of the same job in other places, by the hour of the day and by the month.

A place is an hourly series that ships. Only those whose values mean the same as the job's own grid factor are
compared. The job's own place is next to them: by its series, or flat where only its yearly mean is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

import numpy as np
from numpy.typing import NDArray

from carbon.grid import weighted_kgco2e_per_kwh
from carbon.ledger import footprint_kgco2e
from carbon.operational import operational_kgco2e
from planner.answers.job.footprint import Footprint, footprint_of
from planner.answers.job.hourly import HOURS_A_DAY, Hours, hourly_load_kwh, series_hours
from planner.answers.job.setting import setting_of
from planner.answers.job.what_if import against
from planner.inputs.catalogue import Catalogue
from planner.inputs.job.reading import with_cards
from planner.inputs.job.schema import Job
from planner.inputs.loading import load_catalogue
from planner.inputs.series import load_series, series_of_grids
from planner.trace.columns import Column
from planner.trace.explain import Steps
from planner.trace.quantities import Traced, chosen, derive
from planner.trace.records import Record, numbered, plain_rows

MONTHS = 12


@dataclass(frozen=True)
class Place:
    """Somewhere with its hours, or with the mean of its year alone."""

    name: str
    made: str
    hours: Hours | None


def place_document(job: Job, catalogue: Catalogue | None = None) -> Record:
    """Carbon of the job, had it drawn its electricity elsewhere or at another time.

    `hours` has a row for each place and hour of the day (UTC), `months` one for each place and month of the
    start of a training run; `places` has the cleanest and the dirtiest hour of each place, with its
    explanation. What is not compared stands in `left_out`, with the reason.

    Raises:
        InputError: as `job_document`.
    """
    catalogue = with_cards(job.model_dump(), job.folder, catalogue or load_catalogue())
    footprint = footprint_of(setting_of(job, catalogue))
    if job.federated is not None:
        return _nowhere("Devices draw their electricity where people are: there is no place to choose.")
    if not float(footprint.facility_kwh.value):
        return _nowhere("The job draws no electricity.")
    places = list(places_of(footprint).values())
    hourly = {place.name: against(footprint, by_hour(footprint, place)) for place in places}
    tables: dict[str, list[Record]] = {
        "hours": [row for place in places for row in _hour_rows(place, hourly[place.name])],
        "months": [row for place in places for row in _month_rows(footprint, place)],
        "places": [_extremes(place, hourly[place.name]) for place in places],
    }
    steps = Steps()
    cells = numbered(tables, steps)
    marks = ("cleanest", "dirtiest")
    named = {
        f"place.{place.name}.{mark}": cells["places"][number][f"{mark}_kgco2e"]
        for number, place in enumerate(places)
        for mark in marks
    }
    return {
        "signal": _signal(footprint),
        "kgco2e": float(footprint.carbon.value),
        **{name: plain_rows(rows) for name, rows in tables.items()},
        "left_out": list(_left_out(footprint)),
        "notes": [note for place in places if place.hours is not None for note in place.hours.notes],
        "explanations": named,
        "cells": cells,
        "steps": steps.packed(),
    }


def hour_of_day_load_kwh(*, hour_of_day_h: Column, hours: Column) -> NDArray[np.float64]:
    """Energy of a kilowatt that is drawn in one hour of every day of a series.

    E_h = 1 where h mod 24 = d, else 0

    One row for each hour of the day; a series begins at midnight UTC.

    Source: definition of energy.
    """
    hour = np.arange(float(np.max(hours))) % HOURS_A_DAY
    load: NDArray[np.float64] = (hour == np.reshape(hour_of_day_h, (-1, 1))).astype(float)
    return load


def places_of(footprint: Footprint) -> dict[str, Place]:
    """The places that a job is compared in, its own first, by name."""
    return {place.name: place for place in _places(footprint)}


def by_hour(footprint: Footprint, place: Place) -> Traced:
    """The whole job in each hour of the day; one number where only the mean of a place's year is known."""
    return _carbon(footprint, _met_by_hour(footprint, place))


def by_month(footprint: Footprint, place: Place) -> Traced | None:
    """The whole job by the month of its start; None where its length or the place's hours are not known."""
    training = footprint.phase("training")
    if place.hours is None or training is None or training.done is None or training.done.duration_h is None:
        return None
    return _carbon(footprint, _met_by_month(place.hours, training.done.duration_h))


def _nowhere(reason: str) -> Record:
    return {
        "signal": "",
        "kgco2e": 0.0,
        "hours": [],
        "months": [],
        "places": [],
        "left_out": [],
        "notes": [reason],
        "explanations": {},
        "cells": {},
        "steps": [],
    }


def _signal(footprint: Footprint) -> str:
    return str(footprint.operational.boundary.get("grid", ""))


def _places(footprint: Footprint) -> Iterator[Place]:
    """The job's own place, then those that ship and mean the same."""
    setting, site = footprint.setting, footprint.setting.job.site
    if setting.hours is not None:
        assert setting.hourly_name is not None, "there are hours"
        yield Place(setting.hourly_name, "this job's own hours", setting.hours)
    else:
        yield Place(site.grid or "this job", "this job's own, mean of the year", None)
    for name in series_of_grids():
        hours = _shipped(name)
        if name != setting.hourly_name and hours.fact.boundary["grid"] == _signal(footprint):
            made = "measured" if hours.fact.kind == "measured" else "a synthetic profile"
            yield Place(name, made, hours)


def _left_out(footprint: Footprint) -> Iterator[Record]:
    """Places whose values are another quantity."""
    own = _signal(footprint) or "a factor whose meaning is not stated"
    for name in series_of_grids():
        signal = _shipped(name).fact.boundary["grid"]
        if name != footprint.setting.hourly_name and signal != _signal(footprint):
            yield {"place": name, "reason": f"it counts {signal}, the job {own}"}


@cache
def _shipped(name: str) -> Hours:
    """A series that ships, without gaps."""
    return series_hours(load_series(name), name)


def _carbon(footprint: Footprint, met: Traced) -> Traced:
    """The whole job with all its electricity at these intensities."""
    running = derive(operational_kgco2e, facility_energy_kwh=footprint.facility_kwh, grid_kgco2e_per_kwh=met)
    return derive(footprint_kgco2e, operational_kgco2e=running, embodied_kgco2e=footprint.embodied)


def _met_by_hour(footprint: Footprint, place: Place) -> Traced:
    """Intensity in each hour of the day, in the mean of the year."""
    if place.hours is None:
        return footprint.setting.grid()
    load = derive(
        hour_of_day_load_kwh,
        hour_of_day_h=chosen("hour_of_day_h", np.arange(float(HOURS_A_DAY)), "each hour of the day, UTC"),
        hours=chosen("hours", float(place.hours.count), "length of the series"),
    )
    return derive(weighted_kgco2e_per_kwh, grid_kgco2e_per_kwh=place.hours.fact, load_kwh=load)


def _met_by_month(place: Hours, duration_h: Traced) -> Traced:
    """Intensity that a constant load meets from the first of each month on."""
    starts = [[place.start_h(date(place.first.year, month, 1))] for month in range(1, MONTHS + 1)]
    load = derive(
        hourly_load_kwh,
        start_h=chosen("start_h", np.array(starts), "the first of each month"),
        duration_h=duration_h,
        hours=chosen("hours", float(place.count), "length of the series"),
    )
    return derive(weighted_kgco2e_per_kwh, grid_kgco2e_per_kwh=place.fact, load_kwh=load)


def _hour_rows(place: Place, carbon: Mapping[str, Traced]) -> Iterator[Record]:
    for hour in range(HOURS_A_DAY):
        yield {"place": place.name, "made": place.made, "hour": _tried("hour", hour)} | _at(carbon, hour)


def _month_rows(footprint: Footprint, place: Place) -> Iterator[Record]:
    """Rows of a training run whose length is known, at a place whose hours are known."""
    carbon = by_month(footprint, place)
    if carbon is None:
        return
    both = against(footprint, carbon)
    for month in range(MONTHS):
        yield {"place": place.name, "made": place.made, "month": _tried("month", month + 1)} | _at(
            both, month
        )


def _tried(what: str, number: int) -> Traced:
    said = {"hour": "each hour of the day is tried, UTC", "month": f"each of {MONTHS} months is tried"}
    return chosen(what, number, said[what])


def _at(carbon: Mapping[str, Traced], number: int) -> dict[str, Traced]:
    """One hour or month; where only a mean is known, all are alike."""
    return {name: column[number] for name, column in carbon.items()}


def _extremes(place: Place, carbon: Mapping[str, Traced]) -> Record:
    values = np.atleast_1d(np.asarray(carbon["kgco2e"].value, dtype=float))
    flat, best, worst = len(values) == 1, int(np.argmin(values)), int(np.argmax(values))
    return {
        "place": place.name,
        "made": place.made,
        "cleanest_hour": "all alike" if flat else f"{best:02d}:00",
        "cleanest_kgco2e": carbon["kgco2e"][best],
        "cleanest_change_fraction": carbon["change_fraction"][best],
        "dirtiest_hour": "all alike" if flat else f"{worst:02d}:00",
        "dirtiest_kgco2e": carbon["kgco2e"][worst],
        "dirtiest_change_fraction": carbon["change_fraction"][worst],
    }
