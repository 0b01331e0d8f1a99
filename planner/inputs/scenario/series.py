"""Files of hours and requests that a scenario names: what they say stands in the place of their names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from carbon.hourly import HourlyIntensity
from planner.inputs.catalogue import Catalogue
from planner.inputs.scaling_runs import tokens_for
from planner.inputs.scenario.problems import Problem, place, shown
from planner.inputs.series import average_signal, read_series, shipped_series
from planner.inputs.series.periods import Periods, grid_by_period, prices_by_period
from planner.inputs.series.requests import RATES, HourlyRequests, hourly_requests, read_requests
from planner.inputs.series.shapes import HourlyShape, hourly_output, hourly_prices
from planner.trace.errors import InputError

PROFILES = ("flat", "sun")  # of contracts, that need no file
ENDINGS = (".csv", ".tsv", ".txt")
_COUNTRIES = "average/life-cycle/production"
Values = dict[str, Any]
# What stands where a file is of no use, so that nothing but that is told of its entry.
_STAND_INS: Mapping[str, Values] = {
    "traffic": {"tokens_in": 1, "tokens_out": 1, "peak_rate": "1 /s", "mean_to_peak": 1},
    "hourly": {"grid_intensity": "0 g/kWh"},
    "electricity_price": {},
    "curve": {"tokens": 1e12},
}


def is_file_of_rows(name: object) -> bool:
    """Whether a value names a file of rows, as no name of the catalogue does."""
    return isinstance(name, str) and PurePosixPath(name).suffix.lower() in ENDINGS


def with_series(
    document: Mapping[str, Any], folder: Path | None, horizon: Periods | None, catalogue: Catalogue
) -> tuple[dict[str, Any], tuple[str, ...], list[Problem]]:
    """The tables with what their files say, the names of these files, and what is wrong with them.

    A trace gives a service its tokens, and rates that it does not state; hours of a grid and of prices give a
    site one value for each period.
    """
    found, names, problems = dict(document), list[str](), list[Problem]()
    for section, key, read in (
        ("services", "traffic", _traffic),
        ("training", "curve", partial(_curve, catalogue=catalogue)),
        ("sites", "hourly", _grid),
        ("sites", "electricity_price", _prices),
    ):
        entries = found.get(section)
        if not isinstance(entries, list):
            continue
        found[section] = entries = [*entries]
        for i, entry in enumerate(entries):
            name = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(name, str) or not (key in ("hourly", "curve") or is_file_of_rows(name)):
                continue
            at = f"{place((section, i), document)}.{key}"
            rest = {other: value for other, value in entry.items() if other != key}
            said = _read(name, at, folder, partial(read, entry=rest, name=name, horizon=horizon))
            if isinstance(said, Problem):
                problems.append(said)
                left = {other: value for other, value in rest.items() if (key, other) != ("curve", "target")}
                entries[i] = left if "grid" in left else {**_STAND_INS[key], **left}
            else:
                names.append(name)
                entries[i] = said
            if key == "hourly":
                _keep_price(entries[i], catalogue)
    return found, tuple(names), problems


def _read(name: str, at: str, folder: Path | None, read: Callable[[Path], Values]) -> Values | Problem:
    if folder is None:
        return Problem(
            at, f"{shown(name)} is looked for in the folder of the scenario, and this text has no file"
        )
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts:
        return Problem(
            at, f"{shown(name)} leads out of the folder of the scenario: name a file in it, or use a flag"
        )
    if not (folder / name).is_file():
        return Problem(at, f"there is no file {shown(name)} in the folder of the scenario")
    try:
        return read(folder / name)
    except InputError as error:
        return Problem(at, str(error).replace(f"{folder}/", ""))


def _traffic(path: Path, entry: Values, name: str, horizon: Periods | None) -> Values:
    said = read_requests(path).values
    if said.keys() & set(RATES) and "busiest_time" not in entry:  # it is a day or longer
        said = {"traffic_shape": name} | {key: value for key, value in said.items() if key != "busiest_time"}
    if "tokens_in" not in said:
        raise InputError(f"{path.name}: holds no tokens: name columns context_tokens and generated_tokens")
    if given := [key for key in ("tokens_in", "tokens_out") if key in entry]:
        raise InputError(f"{path.name} and {' and '.join(given)} say the same thing twice: keep one")
    return {**said, **entry}


def _curve(path: Path, entry: Values, name: str, horizon: Periods | None, *, catalogue: Catalogue) -> Values:
    """A run with the tokens at which a power law through one's own runs reaches its target."""
    if "tokens" in entry:
        raise InputError(f"{path.name} and tokens say the same thing twice: keep one")
    target, model = entry.get("target"), entry.get("model")
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < math.inf:
        raise InputError(f"{path.name} needs a loss to reach: write for example target = 2.1")
    rest = {key: value for key, value in entry.items() if key != "target"}
    return {**rest, "tokens": tokens_for(path, float(target), str(model), catalogue)}


def _grid(path: Path, entry: Values, name: str, horizon: Periods | None) -> Values:
    if given := [key for key in ("grid", "grid_intensity") if key in entry]:
        raise InputError(f"{path.name} and {given[0]} say the same thing twice: keep one")
    if horizon is None:
        return {"hourly_shape": name, **entry}  # which is wrong by itself
    read = read_series(path, signal=average_signal(path, _COUNTRIES), repeats="mean")
    values, _ = grid_by_period(read.series, horizon)
    return {"hourly_shape": name, **entry, "grid_intensity": values}


@dataclass(frozen=True, slots=True)
class Shapes:
    """Hours of the files that are named for their shape, by their names."""

    grids: Mapping[str, HourlyIntensity] = field(default_factory=dict)
    prices: Mapping[str, HourlyShape] = field(default_factory=dict)
    requests: Mapping[str, HourlyRequests] = field(default_factory=dict)
    outputs: Mapping[str, HourlyShape] = field(default_factory=dict)  # of plants under contract

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files."""
        return tuple(dict.fromkeys((*self.grids, *self.prices, *self.requests, *self.outputs)))


def shapes_in(document: Mapping[str, Any], folder: Path | None) -> tuple[Shapes, list[Problem]]:
    """Hours of the files that are named for their shape, and what is wrong with them.

    Where no lever is allowed, which is all that others are for, those of regions alone are read.
    """
    policy, problems = document.get("policy"), list[Problem]()
    levers = isinstance(policy, dict) and bool(policy.get("levers"))
    grids, prices, requests, outputs = (dict[str, Any]() for _ in range(4))
    for section, key, into, read in (
        ("sites", "hourly_shape", grids, _shape),
        ("sites", "price_shape", prices, hourly_prices),
        ("services", "traffic_shape", requests, hourly_requests),
        ("contracts", "profile", outputs, hourly_output),
    ):
        entries = document.get(section)
        for i, entry in enumerate(entries if isinstance(entries, list) else ()):
            named = [(place((section, i), document), entry)] if levers else []
            if section == "services":
                named += _regions(entry, place((section, i), document))
            for at, table in named:
                name = table.get(key) if isinstance(table, dict) else None
                if not isinstance(name, str) or name in _without_file(key):
                    continue
                if not is_file_of_rows(name):
                    problems.append(Problem(f"{at}.{key}", _no_series(name, _without_file(key))))
                    continue
                said = _read(name, f"{at}.{key}", folder, partial(_only, read=read))
                if isinstance(said, Problem):
                    problems.append(said)
                else:
                    into[name] = said["series"]
    return Shapes(grids, prices, requests, outputs), problems


def _regions(entry: Any, at: str) -> list[tuple[str, Any]]:
    regions = entry.get("regions") if isinstance(entry, dict) else None
    return [(f"{at}.regions[{r}]", one) for r, one in enumerate(regions if isinstance(regions, list) else ())]


def _only(path: Path, read: Callable[[Path], Any]) -> Values:
    return {"series": read(path)}


def _without_file(key: str) -> tuple[str, ...]:
    """What a key may name that is no file."""
    return {"hourly_shape": shipped_series(), "profile": PROFILES}.get(key, ())


def _no_series(name: str, others: tuple[str, ...]) -> str:
    ends = f"a file ends in {' or '.join(ENDINGS)}"
    near = f"there are {', '.join(others)}, and {ends}" if others else ends
    return f"there is no series {shown(name)}; {near}"


def _shape(path: Path) -> HourlyIntensity:
    """Average intensity by the hour; a marginal one says something else and has no place here."""
    return read_series(path, signal=average_signal(path, _COUNTRIES), repeats="mean").series


def _keep_price(entry: Values, catalogue: Catalogue) -> None:
    """The price of electricity that follows from the grid of a region stays that of the region."""
    region = catalogue.regions.get(str(entry.get("region")))
    price = None if region is None else catalogue.facts.get(f"electricity.{region.grid}.price")
    if price is not None:
        entry.setdefault("electricity_price", price.stated)


def _prices(path: Path, entry: Values, name: str, horizon: Periods | None) -> Values:
    if horizon is None:
        return entry
    return {"price_shape": name, **entry, "electricity_price": prices_by_period(path, horizon)[0]}
