"""Which file it is, by its header, and the intensities that it holds in kgCO2e/kWh."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from carbon.hourly import mix_kgco2e_per_kwh
from carbon.signals import GridSignal
from planner.inputs.catalogue import Catalogue
from planner.inputs.series.table import Table
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.units import UnitError, convert_factor

INTENSITY = "kgCO2e/kWh"

# One gram: no grid that burns anything is below it in all hours; a mistake of unit nearly always.
LEAST_KGCO2E_PER_KWH = 0.001

# Columns of Electricity Maps by the scope of their signal.
_MAPS = {
    "direct": (r"carbon intensity gco.?eq/kwh \(direct\)", r"carbon_intensity_direct_avg"),
    "life-cycle": (r"carbon intensity gco.?eq/kwh \((?:lca|life ?cycle)\)", r"carbon_intensity_avg"),
}
_MOER = (r".*\bmoer\b.*", r"moer_.*")  # marginal emissions of power stations, as WattTime calls them
_BARE_UNIT = r"(?:k?g|t|lbs?)(?:co2)?(?:e|eq)? ?/ ?[km]wh"  # a column that is called by its unit alone
_ZONE_COLUMNS = (r"zone id", r"zone_?name", r"zone", r"balancing authority")
_NESO = (
    r"actual carbon intensity \(gco2/kwh\)",
    r"carbon_intensity",
    r"carbon_intensity_production_avg",
    r"actual",
)

# Kinds of generation as ENTSO-E and NESO name them -> our sources of energy. Brown coal is charged as coal.
_SOURCES = {
    "biomass": "biomass",
    "fossil brown coal/lignite": "coal",
    "fossil hard coal": "coal",
    "coal": "coal",
    "fossil gas": "gas",
    "fossil coal-derived gas": "gas",
    "gas": "gas",
    "fossil oil": "oil",
    "oil": "oil",
    "fossil oil shale": "oil",
    "fossil peat": "coal",
    "geothermal": "geothermal",
    "hydro run-of-river and poundage": "hydropower",
    "hydro run-of-river and pondage": "hydropower",
    "hydro water reservoir": "hydropower",
    "hydro": "hydropower",
    "nuclear": "nuclear",
    "solar": "solar",
    "wind offshore": "wind",
    "wind onshore": "wind",
    "wind": "wind",
    "marine": "unknown",
    "other": "unknown",
    "other renewable": "unknown",
    "waste": "unknown",
    # Net generation of form EIA-930; its other sources are a mixture with batteries in it, and are left out.
    "net generation from coal": "coal",
    "net generation from natural gas": "gas",
    "net generation from all petroleum products": "oil",
    "net generation from nuclear": "nuclear",
    "net generation from hydropower and pumped storage": "hydropower",
    "net generation from hydropower excluding pumped storage": "hydropower",
    "net generation from solar": "solar",
    "net generation from solar without integrated battery storage": "solar",
    "net generation from solar with integrated battery storage": "solar",
    "net generation from wind": "wind",
    "net generation from wind without integrated battery storage": "wind",
    "net generation from wind with integrated battery storage": "wind",
    "net generation from geothermal": "geothermal",
}
_EIA = re.compile(r"(net generation) \(mw\) (from .+?)(?: \(adjusted\))?", re.IGNORECASE)


def of_zone(table: Table, zone: str) -> Table:
    """The rows of one zone, where a file names zones.

    Raises:
        InputError: the file holds several and none was requested, or not this one.
    """
    column = table.column(*_ZONE_COLUMNS)
    if column is None:
        return table
    zones = table.texts(column)
    known = sorted(set(zones))
    if not zone and len(known) > 1:
        raise InputError(
            f"{table.name}: holds {len(known)} zones: state one of {', '.join(known[:8])}, as hourly_zone of "
            "a job does, or keep the rows of one"
        )
    if zone and zone not in known:
        near = difflib.get_close_matches(zone, known, n=3, cutoff=0.4) or known[:3]
        raise InputError(f"{table.name}: no zone '{zone}'; near: {', '.join(near)}")
    kept = [i for i, name in enumerate(zones) if name == (zone or known[0])]
    return replace(table, rows=[table.rows[i] for i in kept], lines=[table.lines[i] for i in kept])


def by_source(table: Table, time_column: str) -> Table:
    """A table of generation with a column for each kind, where it has a row for each, as ENTSO-E writes both.

    Raises:
        InputError: a kind has several values at one time.
    """
    kind, value = table.column(r"production type"), table.column(r"generation.*mw.*")
    if kind is None or value is None:
        return table
    kinds = list(dict.fromkeys(table.texts(kind)))
    cells: dict[str, dict[str, str]] = {}
    first: dict[str, int] = {}
    texts = (table.texts(column) for column in (time_column, kind, value))
    for row, (time, name, said) in enumerate(zip(*texts, strict=True)):
        held = cells.setdefault(time, {})
        if name in held:
            raise InputError(
                f"{table.where(row)}: {name} at {time} is written twice: keep the rows of one area"
            )
        held[name] = said
        first.setdefault(time, table.lines[row])
    rows = [(time, *(held.get(name, "") for name in kinds)) for time, held in cells.items()]
    return replace(table, header=(time_column, *kinds), rows=rows, lines=[first[time] for time in cells])


def intensities(
    table: Table, signal: GridSignal, column: str, unit: str, catalogue: Catalogue
) -> NDArray[np.float64]:
    """Intensity of each row in kgCO2e/kWh, not a number where it is missing.

    Raises:
        InputError: no column holds it, its unit cannot be known, or the file is of another signal.
    """
    if column:
        if column not in table.header:
            near = difflib.get_close_matches(column, table.header, n=3, cutoff=0.4) or table.header[:5]
            raise InputError(f"{table.name}: no column '{column}'; near: {', '.join(near)}")
        return _column(table, column, unit)
    maps = table.column(*_MAPS[signal.scope])
    if maps:
        _expect(table, signal, GridSignal("average", signal.scope, "consumption"))
        return _column(table, maps, unit or "gCO2e/kWh")
    neso = table.column(*_NESO)
    if neso:
        _expect(table, signal, GridSignal("average", "direct", "consumption"))
        return _column(table, neso, unit or "gCO2e/kWh")
    kinds = generation_columns(table.header)
    if len(kinds) > 1:
        _expect(table, signal, GridSignal("average", signal.scope, "production"))
        return _mixed(table, kinds, signal, catalogue)
    own = table.column(
        *(r"value.*", r".*kgco2e?_per_kwh", r".*gco2e?_per_kwh", r".*intensity.*", _BARE_UNIT),
        *(*_MOER, r"(?:.*\W)?co2e?(?:\W.*)?"),
    )
    if own is None:
        raise InputError(
            f"{table.name}: no column of intensities among {', '.join(table.header)}: name it kgco2e_per_kwh "
            "or gco2e_per_kwh; a job may state hourly_column and hourly_unit"
        )
    values = _column(table, own, unit)
    if not unit and 0 < (most := float(np.nanmax(values, initial=0.0))) < LEAST_KGCO2E_PER_KWH:
        raise InputError(
            f"{table.name}: '{own}' is {number_text(1000 * most)} g/kWh at most, below any grid: are these "
            "kilograms? State the unit in the header (kgco2e_per_kwh); a job may state hourly_unit"
        )
    return values


def stated_signal(table: Table) -> GridSignal | None:
    """What the values of a file mean, where its header or a column `signal` says so.

    Raises:
        InputError: the column says several things, or none that is known.
    """
    if (column := table.column(r"signal")) is not None:
        said = sorted(set(table.texts(column)))
        try:
            if len(said) != 1:
                raise ValueError(f"{len(said)} signals in one file: write one")
            return GridSignal.parse(said[0])
        except ValueError as error:
            raise InputError(f"{table.name}: {column}: {error}") from None
    # Of a file with both scopes the life cycle, as countries are counted; a job may state the other.
    for scope in ("life-cycle", "direct"):
        if table.column(*_MAPS[scope]):
            return GridSignal("average", scope, "consumption")
    if table.column(*_NESO):
        return GridSignal("average", "direct", "consumption")
    return GridSignal("marginal", "direct", "consumption") if table.column(*_MOER) else None


def _expect(table: Table, signal: GridSignal, holds: GridSignal) -> None:
    if signal != holds:
        raise InputError(f"{table.name}: holds {holds}, asked for {signal}: they must not be mixed")


def _column(table: Table, column: str, unit: str) -> NDArray[np.float64]:
    given = unit or _unit_of(column)
    if not given:
        raise InputError(
            f"{table.name}: '{column}' says no unit: call it gco2e_per_kwh, or lb_per_mwh; a job may state "
            "hourly_unit, such as 'g/kWh'"
        )
    read = re.sub(r"(?<![A-Za-z])(kg|g|t|lb)s?(?![A-Za-z0-9])", r"\1CO2e", given)
    try:
        return table.numbers(column) * convert_factor(read, INTENSITY)
    except UnitError as error:
        raise InputError(f"{table.name}: '{column}': {error}") from error


def _unit_of(column: str) -> str:
    """The unit in a header such as `gco2e_per_kwh`, `value [kg/kWh]` or `intensity (gCO2/kWh)`."""
    plain = column.casefold().replace("_per_", "/")
    found = re.search(r"(?<![a-z])(kg|g|t|lb)s?(?: ?co.?(?:e|eq)?)? ?/ ?(kwh|mwh)", plain)
    return f"{found[1]}/{found[2].replace('wh', 'Wh').replace('m', 'M')}" if found else ""


def generation_columns(header: Sequence[str]) -> dict[str, str]:
    """The columns of generation by kind, as ENTSO-E, NESO and EIA name them, and our source of each."""
    return {name: source for name in _reported(header) if (source := _source_of(name))}


def _reported(header: Sequence[str]) -> Sequence[str]:
    """The columns, of those that EIA states as reported and as adjusted the latter alone."""
    known = {name.casefold() for name in header}
    return [name for name in header if f"{name.casefold()} (adjusted)" not in known]


def _source_of(column: str) -> str:
    if named := _EIA.fullmatch(column):
        return _SOURCES.get(f"{named[1]} {named[2]}".casefold(), "")
    kind = re.sub(r"\s*(-\s*actual aggregated.*|\[mw\]|\(mw\)|_mwh?|_kwh)$", "", column.casefold()).strip()
    return _SOURCES.get(kind, "")


def _mixed(
    table: Table, kinds: dict[str, str], signal: GridSignal, catalogue: Catalogue
) -> NDArray[np.float64]:
    """Generation by source times its factor; a row with a gap in one source is missing as a whole.

    Net generation below 0 is a plant that uses more than it makes: it makes none.
    """
    prop = "intensity" if signal.scope == "life-cycle" else "direct"
    generated = {
        name: np.maximum(table.numbers(name, thousands=True), 0.0)
        if _EIA.fullmatch(name)
        else table.numbers(name)
        for name in kinds
    }
    used: Sequence[str] = [name for name, values in generated.items() if not np.isnan(values).all()]
    if not used:
        return np.full(len(table.rows), np.nan)
    amount = np.stack([generated[name] for name in used], axis=-1)
    factor = np.array([catalogue.fact(f"energy_source.{kinds[name]}.{prop}").value for name in used])
    if (amount < 0).any():
        row, place = map(int, np.argwhere(amount < 0)[0])
        raise InputError(f"{table.where(row)}: '{used[place]}' is negative: generation is at least 0")
    # An hour without any generation has no intensity: it is a gap, as an unreported one.
    known = amount.sum(axis=-1) > 0
    mixed = np.full(len(table.rows), np.nan)
    mixed[known] = mix_kgco2e_per_kwh(generation_kwh=amount[known], source_kgco2e_per_kwh=factor)
    return mixed
