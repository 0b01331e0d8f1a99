"""A scenario out of tables: names become the catalogue's, months periods, and gaps get stated defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner.inputs.aliases import accelerator_called, model_called
from planner.inputs.catalogue import Catalogue, data_folder
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.sheets.reading import Sheet
from planner.trace.numbers import written_text

SECONDS_PER_DAY = 86_400.0
DIGITS = 6  # of a rate that is worked out
MOST_PERIODS = 40
_WHOLE = ("nodes", "racks", "supply_nodes", "order_nodes", "sequence_tokens", "tokens_in", "tokens_out")
_NUMBERS = ("tokens", "batch_tokens", "pue", "mean_to_peak", "availability", "utilisation")
_DAYS = ("in_service", "deadline", "earliest")
_BY_PERIOD = {"services": "peak_rate", "pools": "gpu_time"}


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
    problems: list[Problem] = field(default_factory=list)
    assumed: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def wrong(self, where: str, message: str) -> None:
        """One more problem."""
        self.problems.append(Problem(where, message))

    def default(self, table: str, key: str, entry: dict[str, Any], name: str) -> None:
        """State the default of a key that an entry lacks."""
        value = self.defaults.get(table, {}).get(key)
        if key not in entry and value is not None:
            entry[key] = value
            self.assumed.setdefault(f"{table}.*.{key} = {_shown(value)}", []).append(name)


def scenario_from(
    sheets: Sequence[Sheet],
    catalogue: Catalogue,
    *,
    title: str,
    today: date,
    site: str | None = None,
    in_service: date | None = None,
) -> Made:
    """The tables of a scenario that spreadsheets state.

    Args:
        sheets: tables, as they were read; several of one kind are taken together.
        catalogue: whose names the tables mean.
        title: of the scenario.
        today: the horizon begins with the next quarter, where no table names a month.
        site: of nodes without one, as in a list of nodes.
        in_service: the day since which nodes work that state none.

    Raises:
        ScenarioError: every row that cannot be understood, with its file, line and column.
    """
    with (data_folder() / "start.toml").open("rb") as file:
        making = _Making(catalogue, tomllib.load(file))
    horizon, labels = _horizon(sheets, making, today)
    found: dict[str, Any] = {"title": title, "horizon": horizon}
    for table in ("sites", "fleet", "market", "training", "pools", "services"):
        entries = list(_entries(table, sheets, making, labels, site=site, in_service=in_service))
        if entries:
            found[table] = entries
    found |= {"reliability": dict(making.defaults["reliability"]), "policy": dict(making.defaults["policy"])}
    _see_sites(found, making)
    _offer_what_stands(found, making)
    for sheet in sheets:
        if sheet.left_out:
            making.notes.append(f"{sheet.where}: not used: {', '.join(sheet.left_out)}")
    if making.problems:
        raise ScenarioError("", making.problems)
    assumed = [
        f"assumed for {', '.join(dict.fromkeys(names))}: {what}" for what, names in making.assumed.items()
    ]
    for table in ("reliability", "policy"):
        stated = ", ".join(f"{key} = {_shown(value)}" for key, value in making.defaults[table].items())
        assumed.append(f"assumed for {table}: {stated}")
    return Made(found, (*making.notes, *assumed))


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
    if table == "services" and "peak_rate" not in entry and "requests_per_day" in entry:
        making.default("services", "mean_to_peak", entry, name)
        try:
            a_day = float(str(entry.pop("requests_per_day")).replace(",", ""))
            peak_per_s = a_day / SECONDS_PER_DAY / float(entry["mean_to_peak"])
            entry["peak_rate"] = f"{written_text(peak_per_s, DIGITS)} /s"
        except (ValueError, ZeroDivisionError):
            making.wrong(where, "requests_per_day: is no number")
    period = entry.pop("period", None)
    held = by_name.setdefault(name, {"name": name, "rates": {}})
    rate = entry.pop(_BY_PERIOD[table], None)
    label = _label(str(period), where, making) if period is not None else labels[0]
    if rate is None:
        making.wrong(where, f"{_BY_PERIOD[table]}: is empty")
    elif label in held["rates"]:
        making.wrong(where, f"{name} is stated twice for {label}")
    else:
        held["rates"][label] = rate
    for key, value in entry.items():
        if held.setdefault(key, value) != value:
            making.wrong(where, f"{key}: is {value} here, and {held[key]} in the rows before")


def _complete(table: str, entry: dict[str, Any], where: str, making: _Making) -> None:
    """State the defaults of what an entry lacks."""
    name = str(entry.get("name") or entry.get("sku") or where)
    for key in making.defaults.get(table, {}):
        if not (table == "sites" and key == "pue" and "region" in entry):
            making.default(table, key, entry, name)
    if table == "fleet":
        for key, option in (("in_service", "--in-service DAY"), ("site", "--site NAME")):
            if key not in entry:
                making.wrong(where, f"{key}: is not stated: fill in the column, or give {option} for all")


def _value(key: str, text: str, where: str, making: _Making) -> Any:
    """A cell as the scenario has it; quantities stay text with their unit."""
    if key in _DAYS:
        return _day(key, text, where, making)
    if key == "nodes" and re.search(r"[,;/ ]\s*\d", text):
        return [int(part) for part in re.findall(r"\d+", text)]
    if key in (*_WHOLE, *_NUMBERS):
        percent = text.endswith("%")
        try:
            number = float(text.rstrip("% ").replace(",", "")) / (100.0 if percent else 1.0)
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
    skus = list(dict.fromkeys(str(entry["sku"]) for entry in found["fleet"] if "sku" in entry))
    found["market"] = [{"sku": sku} for sku in skus]
    for entry in found["market"]:
        _complete("market", entry, entry["sku"], making)
    making.notes.append(f"no table of offers: {', '.join(skus)} may be bought, as what stands")


# Time


def _horizon(sheets: Iterable[Sheet], making: _Making, today: date) -> tuple[dict[str, Any], list[str]]:
    """The months or quarters that tables name, with their labels; else the default, from the next quarter."""
    named = [
        (f"{sheet.where}, line {line}", row["period"])
        for sheet in sheets
        for line, row in sheet.rows
        if "period" in row
    ]
    labels = sorted({label for where, text in named if (label := _label(text, where, making))})
    if not labels:
        start = _next_quarter(today)
        stated = making.defaults["horizon"]
        making.notes.append(f"no table names months: {stated['periods']} {stated['period']}s from {start}")
        return {"start": start, **stated}, [f"{start.year} Q{(start.month + 2) // 3}"]
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


def _next_quarter(today: date) -> date:
    month = (today.month - 1) // 3 * 3 + 3
    return date(today.year + month // 12, month % 12 + 1, 1)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
