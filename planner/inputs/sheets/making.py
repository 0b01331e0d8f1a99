"""A scenario out of tables: names become the catalogue's, months periods, and gaps get stated defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any

from planner.inputs.aliases import accelerator_called, model_called
from planner.inputs.catalogue import Catalogue, data_folder
from planner.inputs.model_kinds import LANGUAGE, VISION, kind_of_model
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.sheets.demand import (
    held_accelerator_h,
    peak_requests_per_s,
    people_accelerator_h,
    racks_for_power,
    requests_per_day,
)
from planner.inputs.sheets.reading import Sheet
from planner.trace.numbers import count_text, number_text, written_text
from planner.trace.quantities import Fact
from planner.trace.units import parse_quantity

DIGITS = 6  # of a rate that is worked out
MOST_PERIODS = 40
_COUNTED = ("users", "requests_per_day", "people", "accelerators")  # what a rate or hours are worked out from
_LARGE = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}  # how people end large counts
_WHOLE = (
    "nodes",
    "racks",
    "supply_nodes",
    "order_nodes",
    "sequence_tokens",
    "tokens_in",
    "tokens_out",
    "batch_samples",
)
_NUMBERS = (
    "tokens",
    "samples",
    "batch_tokens",
    "pue",
    "mean_to_peak",
    "availability",
    "utilisation",
    "candidates",
    "images",
    *_COUNTED,
)
# What is assumed alike for all kinds of model; the rest is of each kind, or of language models that write.
_OF_ALL = {
    "services": ("precision", "mean_to_peak", "availability"),
    "training": ("precision", "nodes", "checkpoint_storage"),
}
READING = "reading"  # of a language model whose answers have no tokens
_DAYS = ("in_service", "deadline", "earliest")
_BY_PERIOD = {"services": "peak_rate", "pools": "gpu_time"}
_MONTHS = {"month": 1, "quarter": 3}
# Grid factors of countries: what places of several families are brought to, so that one plan can add them up.
_COUNTRIES = "average/life-cycle/production"


@dataclass(frozen=True, slots=True)
class Made:
    """The tables of a scenario file, and what is to be said of how they came about."""

    tables: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass
class _Making:
    """What is known while tables are put together."""

    catalogue: Catalogue
    defaults: Mapping[str, Any]
    months: int = 3
    problems: list[Problem] = field(default_factory=list)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def wrong(self, where: str, message: str) -> None:
        """One more problem."""
        self.problems.append(Problem(where, message))

    def default(self, table: str, key: str, entry: dict[str, Any], name: str) -> None:
        """State the default of a key that an entry lacks."""
        found = defaults_of(self.defaults, table, entry, self.catalogue).get(key)
        if key not in entry and found is not None:
            value, spread = found
            entry[key] = value
            self.assumed.setdefault(f"{table}.*.{key} = {_shown(value)}{spread}", []).append(name)


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
    making, stated = _Making(catalogue, start_defaults()), dict(settings or {})
    horizon, labels = _horizon(sheets, making, today, stated.pop("horizon", {}))
    making.months = _MONTHS[horizon["period"]]
    policy = stated.pop("policy", {})
    found: dict[str, Any] = {"title": title, **stated, "horizon": horizon}
    for table in ("sites", "fleet", "market", "rental", "training", "pools", "services"):
        entries = list(_entries(table, sheets, making, labels, site=site, in_service=in_service))
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
            f"{key} = {_shown(value)}{range_said(making.defaults, table, key)}"
            for key, value in guesses.items()
        )
        assumed.append(f"assumed for {table}: {said}")
    return Made(found, (*making.notes, *assumed))


@cache
def start_defaults() -> Mapping[str, Any]:
    """`data/start.toml`: what is stated where nobody says otherwise."""
    with (data_folder() / "start.toml").open("rb") as file:
        return tomllib.load(file)


def kind_of_work(table: str, entry: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Which defaults an entry takes: of its kind of model, of models that read; empty: of its table."""
    if table not in _OF_ALL:
        return ""
    kind = kind_of_model(catalogue, str(entry.get("model")))
    if kind == LANGUAGE:
        return READING if table == "services" and str(entry.get("tokens_out")) == "0" else ""
    if table == "training" and kind == VISION and "samples" not in entry:
        return ""  # stated by tokens
    return kind if f"{table}.{kind}" in start_defaults() else ""


def defaults_of(
    defaults: Mapping[str, Any], table: str, entry: Mapping[str, Any], catalogue: Catalogue
) -> dict[str, tuple[Any, str]]:
    """What holds for the keys of an entry where nothing is said, each with its range in brackets."""
    stated = defaults.get(table, {})
    kind = kind_of_work(table, entry, catalogue)
    if not kind:
        return {key: (value, range_said(defaults, table, key)) for key, value in stated.items()}
    own = f"{table}.{kind}"
    found = {key: (stated[key], range_said(defaults, table, key)) for key in _OF_ALL[table]}
    return found | {key: (value, range_said(defaults, own, key)) for key, value in defaults[own].items()}


def range_said(defaults: Mapping[str, Any], table: str, key: str) -> str:
    """The range of a default in brackets; empty where none is known."""
    known = defaults["ranges"].get(table, {}).get(key)
    return f" ({known})" if known else ""


def _entries(
    table: str,
    sheets: Iterable[Sheet],
    making: _Making,
    labels: Sequence[str],
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
            entry = {key: _value(key, text, where, making) for key, text in row.items()}
            if table == "fleet":
                if site is not None:
                    entry.setdefault("site", site)
                if in_service is not None:
                    entry.setdefault("in_service", in_service)
            _with_names(table, entry, where, making)
            if table not in _BY_PERIOD:
                _complete(table, entry, where, making)
                yield entry
                continue
            _add_period(table, by_name, entry, where, making, labels)
    for name, entry in by_name.items():
        rates = entry.pop("rates")
        if len(rates) > 1 and (missing := [label for label in labels if label not in rates]):
            making.wrong(f"{table}.{name}", f"says nothing of {', '.join(missing)}: add these rows")
        values = [rates[label] for label in labels if label in rates] or list(rates.values())
        entry[_BY_PERIOD[table]] = values[0] if len(set(values)) == 1 else values
        _complete(table, entry, f"{table}.{name}", making)
        yield entry


def _add_period(
    table: str,
    by_name: dict[str, dict[str, Any]],
    entry: dict[str, Any],
    where: str,
    making: _Making,
    labels: Sequence[str],
) -> None:
    """Put a row of a month to the others of its name; columns that repeat may be stated once."""
    name = str(entry.get("name", ""))
    if not name:
        making.wrong(where, "name: is empty")
        return
    known = _demand(table, name, entry, where, making)
    period = entry.pop("period", None)
    held = by_name.setdefault(name, {"name": name, "rates": {}})
    rate = entry.pop(_BY_PERIOD[table], None)
    label = _label(str(period), where, making) if period is not None else labels[0]
    if rate is None:
        if not known:
            making.wrong(where, f"{_BY_PERIOD[table]}: is empty")
    elif label in held["rates"]:
        making.wrong(where, f"{name} is stated twice for {label}")
    else:
        held["rates"][label] = rate
    for key, value in entry.items():
        if held.setdefault(key, value) != value:
            making.wrong(where, f"{key}: is {value} here, and {held[key]} in the rows before")


def _demand(table: str, name: str, entry: dict[str, Any], where: str, making: _Making) -> bool:
    """The rate or the hours of a row that states users, requests of a day or people.

    Returns:
        Whether it is known; what is wrong with it is reported.
    """
    ways = [key for key in (_BY_PERIOD[table], *_COUNTED) if key in entry]
    if len(ways) > 1:
        making.wrong(where, f"{', '.join(ways)}: state one of them")
    counted = {key: entry.pop(key) for key in ways if key in _COUNTED}
    if len(ways) != 1 or not all(isinstance(value, int | float) for value in counted.values()):
        return bool(ways)  # a text is reported already
    if "people" in counted:
        fact = making.catalogue.fact("planning.person_time")
        hours = people_accelerator_h(
            people=counted["people"], person_h_per_month=fact.value, months=making.months
        )
        entry["gpu_time"] = f"{written_text(hours, DIGITS)} h"
        each = f"each uses {number_text(fact.value)} accelerator-hours a month"
        making.notes.append(f"{name}: {count_text(counted['people'])} people, {each} {_guess(fact, 1.0)}")
    if "accelerators" in counted:
        hours = held_accelerator_h(accelerators=counted["accelerators"], months=making.months)
        entry["gpu_time"] = f"{written_text(hours, DIGITS)} h"
        making.notes.append(f"{name}: {count_text(counted['accelerators'])} accelerators, held in every hour")
    if "users" in counted:
        fact = making.catalogue.fact("planning.user_requests")
        counted["requests_per_day"] = requests_per_day(users=counted["users"], requests_per_user_h=fact.value)
        each = f"each asks {number_text(24.0 * fact.value)} times a day"
        making.notes.append(f"{name}: {count_text(counted['users'])} users, {each} {_guess(fact, 24.0)}")
    if "requests_per_day" in counted:
        making.default("services", "mean_to_peak", entry, name)
        share = entry["mean_to_peak"]
        if isinstance(share, int | float) and share > 0:
            rate = peak_requests_per_s(
                requests_per_day=counted["requests_per_day"], mean_to_peak_fraction=share
            )
            entry["peak_rate"] = f"{written_text(rate, DIGITS)} /s"
        else:
            making.wrong(where, "mean_to_peak: is no share above 0")
    return True


def _guess(fact: Fact, scale: float) -> str:
    """A fact behind a number that nobody stated, with its range in the words of the number."""
    low, high = (number_text(scale * end) for end in (fact.low, fact.high) if end is not None)
    return f"({fact.key}, {fact.kind}: {low} to {high})"


def _complete(table: str, entry: dict[str, Any], where: str, making: _Making) -> None:
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


def _racks(name: str, entry: dict[str, Any], making: _Making) -> None:
    """As many racks as let power be what limits; a power that cannot be read is told by the check, alone."""
    fact = making.catalogue.fact("planning.rack_power")
    try:
        power_kw = parse_quantity(str(entry.get("power_cap", "")), "kW")
    except ValueError:
        entry["racks"] = 1
        return
    entry["racks"] = racks_for_power(power_cap_kw=power_kw, rack_kw=fact.value)
    each = f"one for each {number_text(fact.value)} kW of its power"
    making.notes.append(f"{name}: {count_text(entry['racks'])} racks, {each} {_guess(fact, 1.0)}")


def _value(key: str, text: str, where: str, making: _Making) -> Any:
    """A cell as the scenario has it; quantities stay text with their unit."""
    if key in _DAYS:
        return _day(key, text, where, making)
    if key == "nodes" and re.search(r"[,;/ ]\s*\d", text):
        return [int(part) for part in re.findall(r"\d+", text)]
    if key in (*_WHOLE, *_NUMBERS):
        percent = text.endswith("%")
        scale = 0.01 if percent else _LARGE.get(text[-1:].casefold(), 1.0)
        try:
            number = float((text if scale == 1.0 else text[:-1]).replace(",", "")) * scale
        except ValueError:
            making.wrong(where, f"{key}: '{text[:40]}' is no number")
            return text
        return int(number) if key in _WHOLE and number.is_integer() else number
    return text


def _day(key: str, text: str, where: str, making: _Making) -> Any:
    """A day as ISO 8601 has it; a year or a month is its first day."""
    for filled in (text[:10], f"{text}-01", f"{text}-01-01"):
        try:
            return date.fromisoformat(filled)
        except ValueError:
            continue
    making.wrong(where, f"{key}: '{text[:40]}' is no day: write it as 2024-03-01")
    return text


def _with_names(table: str, entry: dict[str, Any], where: str, making: _Making) -> None:
    """Names as the catalogue has them."""
    for key in ("sku", "reference"):
        if key in entry and (found := _sku(str(entry[key]), key, where, making)):
            entry[key] = found
    if "model" in entry:
        stated = str(entry["model"])
        entry["model"] = model_called(stated, making.catalogue) or stated
    if table == "training" and isinstance(entry.get("nodes"), int):
        entry["nodes"] = [entry["nodes"]]


def _sku(text: str, key: str, where: str, making: _Making) -> str | None:
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


def _name_references(found: Mapping[str, Any], making: _Making) -> None:
    """Pools without a reference are counted in hours of what stands, else of what may be had, first."""
    had = [entry.get("sku") for table in ("fleet", "market", "rental") for entry in found.get(table, ())]
    for entry in found.get("pools", ()):
        if "reference" not in entry and had:
            entry["reference"] = had[0]
            making.notes.append(f"{entry['name']}: its accelerator-hours are those of {had[0]}")


def take_one_signal(found: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """Where regions of several families meet, each takes the factor of its country: like is added to like.

    The entries of `found` are changed. A price of electricity that hung on the region stays.
    """
    placed = [
        (table, entry, catalogue.regions[entry["region"]])
        for table in ("sites", "rental")
        for entry in found.get(table, ())
        if entry.get("region") in catalogue.regions and "grid_intensity" not in entry
    ]
    grids = [str(entry["grid"]) for entry in found.get("sites", ()) if "grid" in entry]
    grids += [region.grid for _, entry, region in placed if "grid" not in entry]
    signals = {name: _signal(name, catalogue) for name in grids}
    if len(set(signals.values()) - {""}) < 2:
        return []
    notes = []
    for table, entry, region in placed:
        country = region.country.lower()
        if "grid" in entry or signals[region.grid] == _COUNTRIES or _signal(country, catalogue) != _COUNTRIES:
            continue
        entry["grid"] = country
        price = catalogue.facts.get(f"electricity.{region.grid}.price")
        if table == "sites" and price is not None:
            entry.setdefault("electricity_price", price.stated)
        notes.append(
            f"{table}.{entry.get('name', entry['region'])}: the factor of its country, {country}, is taken: "
            f"that of {region.grid} is {signals[region.grid]}, and other places are {_COUNTRIES}"
        )
    return notes


def _signal(grid: str, catalogue: Catalogue) -> str:
    key = f"grid.{grid}.intensity"
    return catalogue.fact(key).boundary.get("grid", "") if catalogue.has(key) else ""


def _see_sites(found: Mapping[str, Any], making: _Making) -> None:
    """That every place of the fleet is a site; nothing is known of one that is only named."""
    known = {entry.get("name") for entry in found.get("sites", ())}
    for name in dict.fromkeys(str(entry["site"]) for entry in found.get("fleet", ()) if "site" in entry):
        if name not in known:
            making.wrong(
                f"sites.{name}",
                "holds nodes and is in no table of sites: add its region, power cap and racks",
            )


def _offer_what_stands(found: dict[str, Any], making: _Making) -> None:
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


# Time


def _horizon(
    sheets: Iterable[Sheet], making: _Making, today: date, known: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The months or quarters that tables name, with their labels; else the default, from the next quarter."""
    named = [
        (f"{sheet.where}, line {line}", row["period"])
        for sheet in sheets
        for line, row in sheet.rows
        if "period" in row
    ]
    labels = sorted({label for where, text in named if (label := _label(text, where, making))})
    if not labels:
        stated = {"start": next_quarter(today), **making.defaults["horizon"], **known}
        start = stated["start"]
        if not known:
            making.notes.append(
                f"no table names months: {stated['periods']} {stated['period']}s from {start}"
            )
        return stated, [f"{start.year} Q{(start.month + 2) // 3}"]
    quarters = [" Q" in label for label in labels]
    if any(quarters) and not all(quarters):
        making.wrong("period", f"months and quarters are mixed: {labels[0]}, {labels[-1]}")
        return {"start": today.replace(day=1), **making.defaults["horizon"]}, labels
    period = "quarter" if all(quarters) else "month"
    first, last = _first_day(labels[0]), _first_day(labels[-1])
    step = 3 if period == "quarter" else 1
    count = ((last.year - first.year) * 12 + last.month - first.month) // step + 1
    if count > MOST_PERIODS:
        making.wrong("period", f"{count} {period}s from {labels[0]} to {labels[-1]}: {MOST_PERIODS} at most")
    months = ((first.month - 1 + step * i + 12 * first.year) for i in range(min(count, MOST_PERIODS)))
    every = [date(month // 12, month % 12 + 1, 1) for month in months]
    named_so = [f"{day.year} Q{(day.month + 2) // 3}" if step == 3 else f"{day:%Y-%m}" for day in every]
    return {"start": first, "periods": len(every), "period": period}, named_so


def _label(text: str, where: str, making: _Making) -> str:
    """2027-01 or 2027 Q1, of the ways in which people write months and quarters."""
    if found := re.fullmatch(r"(\d{4})[\s-]*[Qq]([1-4])|[Qq]([1-4])[\s/-]*(\d{4})", text.strip()):
        return f"{found[1] or found[4]} Q{found[2] or found[3]}"
    found = re.match(r"(\d{4})-(\d{1,2})(?:-\d{1,2})?$", text.strip())
    if found and 1 <= int(found[2]) <= 12:
        return f"{found[1]}-{int(found[2]):02d}"
    making.wrong(where, f"period: '{text[:40]}' is no month or quarter: write 2027-01 or 2027 Q1")
    return ""


def _first_day(label: str) -> date:
    year, rest = int(label[:4]), label[5:]
    return date(year, 3 * int(rest[1:]) - 2 if rest.startswith("Q") else int(rest), 1)


def next_quarter(today: date) -> date:
    """The first day of the quarter after that of a day."""
    month = (today.month - 1) // 3 * 3 + 3
    return date(today.year + month // 12, month % 12 + 1, 1)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
