"""What a file names of one's own facts and of regions: what it does not say of a place is its region's."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.inputs.catalogue import Catalogue, OwnFacts, Region
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.own.facts import OwnDataError
from planner.inputs.own.reading import read_own
from planner.inputs.scenario.problems import Problem, place, shown

_LISTS = ("sites", "rental")
_GRIDS = ("grid", "grid_intensity")


def own_in(name: object, folder: Path | None) -> OwnFacts | list[Problem] | None:
    """The facts of one's own that a file names by `data`, from its folder, or why they cannot be used."""
    if not isinstance(name, str):
        return None
    if folder is None:
        return [
            Problem(
                "data",
                "is looked for in the folder of the file that names it, and this text has no file: save it, "
                "and read it from there",
            )
        ]
    if Path(name).is_absolute() or ".." in Path(name).parts:
        # A file may come from anywhere, too: it must not choose what is looked through on this machine.
        return [
            Problem(
                "data", f"{shown(name)} leads out of the folder of this file: name one in it, or use --data"
            )
        ]
    try:
        return read_own(folder / name, load_catalogue(data_folder()))
    except OwnDataError as error:
        lines = str(error).replace(f"{folder}/", "").splitlines()
        return [Problem("data", f"{name}: {line.removeprefix(f'{name}: ')}") for line in lines]


def with_regions(document: Mapping[str, Any], catalogue: Catalogue) -> tuple[dict[str, Any], list[Problem]]:
    """The tables of a file with grid and PUE of the regions that they name, and what is wrong with the names.

    What a file says itself stays. A job takes only the grid: its PUE and WUE are found where it is counted.
    """
    problems: list[Problem] = []
    found = dict(document)
    for section in _LISTS:
        entries = document.get(section)
        if isinstance(entries, list):
            found[section] = [
                _filled(entry, place((section, i), document), catalogue, problems, ("hourly",))
                for i, entry in enumerate(entries)
            ]
    if isinstance(document.get("site"), dict):
        found["site"] = _filled(document["site"], "site", catalogue, problems, ("hourly",), pue=False)
    return found, problems


def _filled(
    entry: Any,
    at: str,
    catalogue: Catalogue,
    problems: list[Problem],
    other: tuple[str, ...] = (),
    *,
    pue: bool = True,
) -> Any:
    name = entry.get("region") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        return entry
    region = catalogue.regions.get(name)
    if region is None:
        problems.append(
            Problem(f"{at}.region", f"there is no region {shown(name)}; {near_regions(name, catalogue)}")
        )
        return entry
    stated = dict(entry)
    if not any(key in entry for key in (*_GRIDS, *other)):
        stated["grid"] = region.grid
    if pue and region.pue:
        stated.setdefault("pue", float(catalogue.fact(region.pue_key).value))
    return stated


def near_regions(name: str, catalogue: Catalogue) -> str:
    """Regions whose names are like this one."""
    known, low = catalogue.regions, name.lower()
    held = [one for one in known if low and (low in one or low in known[one].title.lower())]
    close = held or difflib.get_close_matches(low, known, n=3, cutoff=0.3)
    return f"near: {', '.join(close[:3])}" if close else "`everfleet regions` lists them"


def pue_key(name: str | None, stated: float | None, catalogue: Catalogue) -> str:
    """The fact that a PUE is of: that of the region, where it is what its place takes; else empty."""
    region: Region | None = catalogue.regions.get(name or "")
    if region is None or not region.pue or stated != float(catalogue.fact(region.pue_key).value):
        return ""
    return region.pue_key
