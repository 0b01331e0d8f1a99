"""An hourly grid series of the user, as the intensity of one site in each period."""

from __future__ import annotations

from typing import Any

import numpy as np

from carbon.signals import GridSignal
from planner.inputs.catalogue import Catalogue
from planner.inputs.editing.found import Found, as_file
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import Scenario, Site
from planner.inputs.series import average_signal, read_series, signal_in
from planner.inputs.series.periods import grid_by_period
from planner.inputs.series.table import read_table
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, number_text

_OWN = "average/direct/production"
SIGNALS = (
    "average/direct/production",
    "average/life-cycle/production",
    "average/direct/consumption",
    "average/life-cycle/consumption",
)


def signal_of(scenario: Scenario, site: str) -> str:
    """What the grid intensities of a scenario mean: those of this site's region, else of any other's."""
    catalogue = load_catalogue()
    held = sorted(scenario.sites, key=lambda one: one.name != site)
    tags = [catalogue.fact(f"grid.{one.grid}.intensity").boundary.get("grid", "") for one in held if one.grid]
    return next((tag for tag in tags if tag in SIGNALS), _OWN)


def series_found(
    name: str,
    content: bytes,
    scenario: Scenario,
    site: str,
    *,
    signal: str = "",
    unit: str = "",
    time_zone: str = "",
    zone: str = "",
) -> Found:
    """What a file of grid intensities holds, and what it would be as the grid of a site.

    What its values mean is `signal`; empty, what the file says, else what those of the scenario mean.

    Raises:
        InputError: naming file, line, value and what to do instead.
    """
    own = next((one for one in scenario.sites if one.name == site), None)
    if own is None:
        raise InputError(f"no site '{site}'; there is {', '.join(one.name for one in scenario.sites)}")
    meant = signal_of(scenario, site)
    with as_file(name, content) as path:
        in_file = None if signal else signal_in(path)
        signal = signal or str(average_signal(path, meant))
        read = read_series(
            path,
            signal=GridSignal.parse(signal),
            unit=unit,
            time_zone=time_zone,
            zone=zone,
            repeats="mean",
        )
        header = read_table(path).header
    series = read.series
    values, notes = grid_by_period(series, scenario.horizon)
    if signal != meant and any(one.grid for one in scenario.sites if one.name != site):
        notes.append(f"Other sites hold {meant}, this is {signal}: the plan compares unlike numbers.")
    if read.repeated_rows:
        notes.append(f"Rows that repeat a time: {count_text(read.repeated_rows)}; their mean was taken.")
    if scenario.policy.levers:
        notes.append("Means alone are taken: for its hours name the file in the scenario, hourly_shape.")
    changes, said = _changes(own, values)
    last = series.first_hour + np.timedelta64(len(series.grid_kgco2e_per_kwh), "h")
    return Found(
        what="an hourly grid series",
        facts=(
            ("hours", count_text(len(series.grid_kgco2e_per_kwh))),
            ("hours without a value, left out", count_text(read.missing_hours)),
            ("time", f"{series.first_hour} to {last}, UTC"),
            ("times read as", time_zone or "the offsets or the zone that the file names"),
            ("columns", ", ".join(header)),
            ("unit of its values", unit or "the one that the header names"),
            ("meaning", f"{signal}, as the file says" if in_file else signal),
            ("mean", f"{number_text(1000 * series.mean_kgco2e_per_kwh)} g/kWh"),
            *(
                (f"mean in {label}", text)
                for label, text in zip(scenario.horizon.period_labels, values, strict=True)
            ),
        ),
        notes=(*notes, *said),
        changes=changes,
    )


def _changes(site: Site, values: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The grid of a site replaced; a price that hung on its region is kept."""
    at = f"sites.{site.name}"
    changes: dict[str, Any] = {
        f"{at}.grid": None,
        f"{at}.grid_intensity": values[0] if len(set(values)) == 1 else values,
    }
    regional = _regional_price(load_catalogue(), site)
    if regional is None:
        return changes, []
    said = f"The price of electricity stays that of {site.grid}, {regional}: it is written into the site."
    return {**changes, f"{at}.electricity_price": regional}, [said]


def _regional_price(catalogue: Catalogue, site: Site) -> str | None:
    key = f"electricity.{site.grid}.price"
    if site.electricity_price_usd_per_kwh is not None or not catalogue.has(key):
        return None
    return catalogue.fact(key).stated
