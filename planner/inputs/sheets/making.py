"""A scenario out of tables: names become the catalogue's, months periods, and gaps get stated defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.inputs.aliases import accelerator_called, model_called
from planner.inputs.catalogue import Catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.sheets.children import Children, children_of, nest_workers, users_called
from planner.inputs.sheets.defaults import Making, defaults_of, range_said, shown, start_defaults
from planner.inputs.sheets.demand import racks_for_power
from planner.inputs.sheets.families import take_one_signal
from planner.inputs.sheets.periods import (
    BY_PERIOD,
    MONTHS,
    add_period,
    guess,
    horizon_of,
    put_together,
)
from planner.inputs.sheets.reading import Sheet
from planner.trace.numbers import count_text, number_text
from planner.trace.units import parse_quantity


@dataclass(frozen=True, slots=True)
class Made:
    """The tables of a scenario file, and what is to be said of how they came about."""

    tables: Mapping[str, Any]
    notes: tuple[str, ...]


def scenario_from(
    sheets: Sequence[Sheet],
    catalogue: Catalogue,
    *,
    title: str,
    today: date,
    site: str | None = None,
    in_service: date | None = None,
    settings: Mapping[str, Any] | None = None,
    buys: bool = True,
) -> Made:
    """The tables of a scenario that spreadsheets state.

    Args:
        sheets: tables, as they were read; several of one kind are taken together.
        catalogue: whose names the tables mean.
        title: of the scenario.
        today: the horizon begins with the next quarter, where no table names a month.
        site: of nodes without one, as in a list of nodes.
        in_service: the day since which nodes work that state none.
        settings: keys of the root, and what is known of the tables `horizon` and `policy`.
        buys: whether what stands may be bought again where nothing is said to be on offer.

    Raises:
        ScenarioError: every row that cannot be understood, with its file, line and column.
    """
    making, stated = Making(catalogue, start_defaults()), dict(settings or {})
    horizon, labels = horizon_of(sheets, making, today, stated.pop("horizon", {}))
    making.months = MONTHS[horizon["period"]]
    policy = stated.pop("policy", {})
    found: dict[str, Any] = {"title": title, **stated, "horizon": horizon}
    children = children_of(sheets, making)
    for table in ("sites", "fleet", "market", "rental", "training", "pools", "services"):
        entries = list(_entries(table, sheets, making, labels, children, site=site, in_service=in_service))
        if entries:
            found[table] = entries
    found |= {
        "reliability": dict(making.defaults["reliability"]),
        "policy": {**making.defaults["policy"], **policy},
    }
    _see_sites(found, making)
    if buys:
        _offer_what_stands(found, making)
    _name_references(found, making)
    making.notes += take_one_signal(found, catalogue)
    for sheet in sheets:
        making.notes += sheet.notes
        if sheet.left_out:
            making.notes.append(f"{sheet.where}: not used: {', '.join(sheet.left_out)}")
    if making.problems:
        raise ScenarioError("", making.problems)
    assumed = [
        f"assumed for {', '.join(dict.fromkeys(names))}: {what}" for what, names in making.assumed.items()
    ]
    for table in ("reliability", "policy"):
        guesses = {key: value for key, value in making.defaults[table].items() if key not in policy}
        said = ", ".join(
            f"{key} = {shown(value)}{range_said(making.defaults, table, key)}"
            for key, value in guesses.items()
        )
        assumed.append(f"assumed for {table}: {said}")
    return Made(found, (*making.notes, *assumed))


def _entries(
    table: str,
    sheets: Iterable[Sheet],
    making: Making,
    labels: Sequence[str],
    children: Children,
    *,
    site: str | None,
    in_service: date | None,
) -> Iterator[dict[str, Any]]:
    """The entries of one table of the scenario, rows of one name and several months put together."""
    by_name: dict[str, dict[str, Any]] = {}
    for sheet in sheets:
        if sheet.table != table:
            continue
        for line, row in sheet.rows:
            where = f"{sheet.where}, line {line}"
            entry = {key: making.read(table, key, text, where) for key, text in row.items()}
            if table == "fleet":
                if site is not None:
                    entry.setdefault("site", site)
                if in_service is not None:
                    entry.setdefault("in_service", in_service)
            _with_names(table, entry, where, making)
            if table not in BY_PERIOD:
                _complete(table, entry, where, making)
                yield entry
                continue
            add_period(table, by_name, entry, where, making, labels)
    for name, entry in by_name.items():
        put_together(table, entry, making, labels)
        if table == "services":
            entry |= children.get(name, {})
        _complete(table, entry, f"{table}.{name}", making)
        yield entry


def _complete(table: str, entry: dict[str, Any], where: str, making: Making) -> None:
    """State the defaults of what an entry lacks."""
    name = str(entry.get("name") or entry.get("sku") or where)
    region = making.catalogue.regions.get(str(entry.get("region")))
    for key in defaults_of(making.defaults, table, entry, making.catalogue):
        if not (table == "sites" and key == "pue" and region is not None and region.pue):
            making.default(table, key, entry, name)
    if table == "rental" and "region" in entry:
        entry.setdefault("name", f"{str(entry['region']).rpartition('/')[2]}-{entry.get('sku', '')}")
    if table == "sites" and "racks" not in entry:
        _racks(name, entry, making)
    if table == "fleet":
        for key, option in (("in_service", "--in-service DAY"), ("site", "--site NAME")):
            if key not in entry:
                making.wrong(where, f"{key}: is not stated: fill in the column, or give {option} for all")


def _racks(name: str, entry: dict[str, Any], making: Making) -> None:
    """As many racks as let power be what limits; a power that cannot be read is told by the check, alone."""
    fact = making.catalogue.fact("planning.rack_power")
    try:
        power_kw = parse_quantity(str(entry.get("power_cap", "")), "kW")
    except ValueError:
        entry["racks"] = 1
        return
    entry["racks"] = racks_for_power(power_cap_kw=power_kw, rack_kw=fact.value)
    each = f"one for each {number_text(fact.value)} kW of its power"
    making.notes.append(f"{name}: {count_text(entry['racks'])} racks, {each} {guess(fact, 1.0)}")


def _with_names(table: str, entry: dict[str, Any], where: str, making: Making) -> None:
    """Names as the catalogue has them."""
    for key in ("sku", "reference", "worker_sku"):
        if key in entry and (found := _sku(str(entry[key]), key, where, making)):
            entry[key] = found
    if table == "sites":
        _with_country(entry, where, making)
    if "model" in entry:
        stated = str(entry["model"])
        entry["model"] = model_called(stated, making.catalogue) or stated
    if "models" in entry:
        entry["models"] = [model_called(name, making.catalogue) or name for name in entry["models"]]
    if table == "training":
        nest_workers(entry)


def _with_country(entry: dict[str, Any], where: str, making: Making) -> None:
    """The grid of a country, where no region and no grid is stated, or the region is a country's name."""
    catalogue = making.catalogue
    country = entry.pop("country", None)
    region = entry.get("region")
    if region is None and country is not None and not {"grid", "grid_intensity"} & entry.keys():
        code = users_called(str(country), catalogue)
        if not catalogue.has(f"grid.{code}.intensity"):
            making.wrong(where, f"country: '{country}' is none that is known; state a region or a grid")
        else:
            entry["grid"] = code
    elif region is not None and region not in catalogue.regions:
        code = users_called(str(region), catalogue)
        if catalogue.has(f"grid.{code}.intensity") and not {"grid", "grid_intensity"} & entry.keys():
            del entry["region"]
            entry["grid"] = code


def _sku(text: str, key: str, where: str, making: Making) -> str | None:
    """The SKU that a name means: its own, or that of an accelerator by the number of them in a node."""
    catalogue = making.catalogue
    if text in catalogue.skus:
        return text
    counted = re.match(r"(\d+)\s*(?:x|×)\s*(.+)", text, re.IGNORECASE)
    kind, count = (counted[2], int(counted[1])) if counted else (text, None)
    chip = accelerator_called(kind.replace("_", "-"), catalogue)
    fitting = [name for name, sku in catalogue.skus.items() if chip is not None and sku.accelerator == chip]
    if count is not None:
        held = {
            name: catalogue.fact(f"server.{catalogue.skus[name].server}.accelerators").value
            for name in fitting
        }
        fitting = [name for name in fitting if held[name] == count]
    if len(fitting) == 1:
        if fitting[0] != text:
            said = f"{text} is taken for {fitting[0]}, {catalogue.skus[fitting[0]].title}"
            making.notes += [said] if said not in making.notes else []
        return fitting[0]
    if fitting:
        making.wrong(where, f"{key}: '{text}' may be {', '.join(fitting)}: name one of them")
    else:
        making.wrong(
            where, f"{key}: '{text}' is no node of the catalogue: see everfleet skus, or everfleet add gpu"
        )
    return None


def _name_references(found: Mapping[str, Any], making: Making) -> None:
    """Pools without a reference are counted in hours of what stands, else of what may be had, first."""
    had = [entry.get("sku") for table in ("fleet", "market", "rental") for entry in found.get(table, ())]
    for entry in found.get("pools", ()):
        if "reference" not in entry and had:
            entry["reference"] = had[0]
            making.notes.append(f"{entry['name']}: its accelerator-hours are those of {had[0]}")


def _see_sites(found: Mapping[str, Any], making: Making) -> None:
    """That every place of the fleet is a site; nothing is known of one that is only named."""
    known = {entry.get("name") for entry in found.get("sites", ())}
    for name in dict.fromkeys(str(entry["site"]) for entry in found.get("fleet", ()) if "site" in entry):
        if name not in known:
            making.wrong(
                f"sites.{name}",
                "holds nodes and is in no table of sites: add its region, power cap and racks",
            )


def _offer_what_stands(found: dict[str, Any], making: Making) -> None:
    """Where nothing is said to be on offer, what stands may be bought again."""
    if "market" in found or "fleet" not in found:
        return
    stands = dict.fromkeys(str(entry["sku"]) for entry in found["fleet"] if "sku" in entry)
    skus = [
        sku
        for sku in stands
        if sku in making.catalogue.skus and making.catalogue.has(price_key(sku, making.catalogue))
    ]
    if not skus:
        return
    found["market"] = [{"sku": sku} for sku in skus]
    for entry in found["market"]:
        _complete("market", entry, entry["sku"], making)
    making.notes.append(f"nothing is said of offers: {', '.join(skus)} may be bought, as what stands")


def price_key(sku: str, catalogue: Catalogue) -> str:
    """The fact that a node of a SKU is priced by."""
    return f"server.{catalogue.skus[sku].server}.price"
