"""What a person states of a GPU, a model, a region or a price, written as rows into a folder of facts.

Nothing is written where something is wrong: the folder as it would be is read and checked first.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from carbon.signals import GridSignal
from planner.inputs.catalogue import COLUMNS, Catalogue
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.models import model_facts
from planner.inputs.own.classes import Prior, accelerator_priors, beyond_all, class_of, server_priors
from planner.inputs.own.facts import OwnDataError
from planner.inputs.own.reading import csv_line, joined, read_own
from planner.inputs.scenario.files import write_toml
from planner.inputs.series.reading import read_series, signal_in
from planner.trace.errors import InputError
from planner.trace.numbers import written_text
from planner.trace.records import Record
from planner.trace.units import parse_quantity

SIGNAL = "average/life-cycle/production"  # of countries, next to which a region is planned
PRIOR = "class-prior"
# Rows that this module writes are readable to six figures, as a person would write them.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Gpu:
    """Six numbers of an accelerator and the price of a node: text with units, as a data sheet has them."""

    name: str
    bf16: str
    memory: str
    memory_bandwidth: str
    link_bandwidth: str
    tdp: str
    accelerators: int
    price: str
    like: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A region: its yearly factor or a file of hours, and what is known of the building."""

    name: str
    factor: str | None = None
    hourly: Path | None = None
    pue: float | None = None
    wue: str | None = None
    price: str | None = None
    signal: str | None = None
    country: str = ""
    title: str = ""
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """What was written: the folder, its new files, and its rows."""

    folder: Path
    files: tuple[str, ...]
    rows: tuple[Record, ...]
    use: str
    like: str = ""  # the SKU whose class filled what was not stated


@dataclass(frozen=True, slots=True)
class _Row:
    key: str
    value: str
    unit: str = ""
    source: str = ""
    locator: str = ""
    kind: str = "yours"
    low: str = ""
    high: str = ""
    boundary: str = ""
    note: str = ""


def catalogue_with(folder: Path) -> Catalogue:
    """Our catalogue and what is in the folder already.

    Raises:
        InputError: what is in it cannot be read.
    """
    shipped = load_catalogue(data_folder())
    held = folder.is_dir() and any(folder.iterdir())
    return joined(folder, shipped) if held else shipped


def add_gpu(gpu: Gpu, folder: Path, catalogue: Catalogue) -> Added:
    """Write the rows of an accelerator, its server and its SKU; what was not stated comes from a class.

    Raises:
        InputError: every number that is wrong, or what is wrong with the folder.
    """
    name, problems = (
        _named(gpu.name, catalogue.skus, "SKU", folder / f"facts/gpu-{gpu.name}.csv"),
        list[str](),
    )
    texts = {
        "bf16_peak": ("--bf16", gpu.bf16, "TFLOP/s"),
        "memory": ("--memory", gpu.memory, "GB"),
        "memory_bandwidth": ("--memory-bandwidth", gpu.memory_bandwidth, "GB/s"),
        "link_bandwidth": ("--link-bandwidth", gpu.link_bandwidth, "GB/s"),
        "tdp": ("--tdp", gpu.tdp, "kW"),
        "price": ("--price", gpu.price, "USD"),
    }
    stated = {}
    for prop, (flag, text, unit) in texts.items():
        try:
            stated[prop] = parse_quantity(text, unit)
            room = "server" if prop == "price" else "accelerator"
            if outside := catalogue.ranges.problem(f"{room}.{name}.{prop}", (stated[prop],), unit):
                problems.append(f"{flag}: {outside}")
            elif room == "accelerator" and (far := beyond_all(prop, stated[prop], unit, catalogue)):
                problems.append(f"{flag}: {far}")
        except ValueError as error:
            problems.append(f"{flag}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    price = stated.pop("price")
    like = class_of(gpu.like, stated, catalogue)
    on_server = {"accelerators": float(gpu.accelerators), "price": price}
    rows = [_Row(f"accelerator.{name}.{prop}", *_split(texts[prop][1])) for prop in stated]
    rows += [
        _Row(f"server.{name}.accelerators", str(gpu.accelerators), "count"),
        _Row(f"server.{name}.price", *_split(gpu.price), note=f"as of {date.today().isoformat()}"),
    ]
    priors = accelerator_priors(name, like, stated, catalogue)
    servers = server_priors(name, like, on_server, catalogue)
    # The node draws more than its host and boards can: the class's, by the board power of all of them.
    old = f"accelerator.{like.accelerator}.tdp", f"server.{like.server}.accelerators"
    held = float(catalogue.fact(old[1]).value)
    boards = float(catalogue.fact(old[0]).value) * held
    grown = stated["tdp"] * gpu.accelerators / boards
    servers = [
        _times(one, grown, "the power of its boards") if one.key.endswith(".max_power") else one
        for one in servers
    ]
    # Where links end at the node, so they do on a node of more or fewer.
    priors = [
        _times(one, gpu.accelerators / held, "the accelerators of a node")
        if one.key.endswith(".link_domain") and one.value == held
        else one
        for one in priors
    ]
    rows += [_prior_row(one, catalogue) for one in (*priors, *servers)]
    sku = {
        "title": gpu.title or f"{gpu.accelerators} x {gpu.name} (your own)",
        "server": name,
        "accelerator": name,
        "link": like.link,
        "power_curve": like.power_curve,
        "cooling": like.cooling,
        "resale": like.resale,
    }
    source = {
        "title": f"class of {like.name} ({like.title}) in the catalogue of everfleet",
        "year": date.today().year,
    }
    return _write(
        folder,
        catalogue,
        {f"facts/gpu-{name}.csv": rows},
        {"skus.toml": {name: sku}, "sources.toml": {PRIOR: source}},
        use=f'sku = "{name}"',
        like=like.name,
    )


def add_model(name: str, config: Path, folder: Path, catalogue: Catalogue) -> Added:
    """Copy a model's configuration into the folder.

    Raises:
        InputError: it is not understood, or what is wrong with the folder.
    """
    _named(name, catalogue.names("model", "layers"), "model", folder / f"models/{name}.json")
    model_facts(name, config)
    return _write(folder, catalogue, {}, {}, {f"models/{name}.json": config}, use=f'model = "{name}"')


def add_region(place: Place, folder: Path, catalogue: Catalogue) -> Added:
    """Write a region with its grid factor, or the mean of a file of hours, its PUE, WUE and price of energy.

    Raises:
        InputError: every value that is wrong, or what is wrong with the folder.
    """
    name, problems = (
        _named(place.name, catalogue.regions, "region", folder / f"facts/region-{place.name}.csv"),
        list[str](),
    )
    if (place.factor is None) == (place.hourly is None):
        raise InputError("give --factor or --hourly: one of the two")
    signal = ""
    said = signal_in(place.hourly) if place.hourly is not None and place.signal is None else None
    try:
        signal = str(said or GridSignal.parse(place.signal or SIGNAL))
    except ValueError as error:
        problems.append(f"--signal: {error}")
    rows, copies = list[_Row](), dict[str, Path]()
    intensity = f"grid.{name}.intensity"
    region = {"title": place.title or f"{name} (your own)", "grid": name, "signal": signal}
    if place.hourly is not None and not problems:
        series = read_series(place.hourly, signal=GridSignal.parse(signal)).series
        year = int(str(series.first_hour)[:4])
        kept = f"series/{name}.csv"
        copies[kept] = place.hourly
        region["hourly"] = kept
        mean = written_text(1000 * series.mean_kgco2e_per_kwh)
        counted = f"mean of {series.hours - series.missing_hours} hours in {kept}"
        rows.append(
            _Row(
                intensity, mean, "gCO2e/kWh", locator=counted, boundary=f"grid={signal}", note=f"year {year}"
            )
        )
    elif place.factor is not None:
        year = place.year or date.today().year
        rows.append(_Row(intensity, *_split(place.factor), boundary=f"grid={signal}", note=f"year {year}"))
        problems += _wrong("--factor", place.factor, "kgCO2e/kWh")
    if place.pue is not None:
        rows.append(_Row(f"pue.own-{name}", written_text(place.pue), "1"))
        region["pue"] = f"own-{name}"
    if place.wue is not None:
        rows.append(_Row(f"wue.own-{name}", *_split(place.wue)))
        problems += _wrong("--wue", place.wue, "L/kWh")
        region["wue"] = f"own-{name}"
    if place.price is not None:
        rows.append(
            _Row(f"electricity.{name}.price", *_split(place.price), note=f"as of {date.today().isoformat()}")
        )
        problems += _wrong("--price", place.price, "USD/kWh")
    if problems:
        raise InputError("\n".join(problems))
    region |= {"country": place.country.upper()} if place.country else {}
    return _write(
        folder,
        catalogue,
        {f"facts/region-{name}.csv": rows},
        {"regions.toml": {name: region}},
        copies,
        use=f'region = "{name}"',
    )


def add_price(key: str, value: str, folder: Path, catalogue: Catalogue, note: str = "") -> Added:
    """Write one price: of a SKU, of electricity in a region, or any fact by its key.

    Raises:
        InputError: nothing is called so, the value does not fit, or what is wrong with the folder.
    """
    own = _price_key(key, catalogue)
    wanted = catalogue.ranges.of(own)
    assert wanted is not None, "it is the key of a fact"
    if problems := _wrong("the price", value, wanted.unit):
        raise InputError(problems[0])
    row = _Row(own, *_split(value), note=note or f"as of {date.today().isoformat()}")
    return _write(folder, catalogue, {"facts/prices.csv": [row]}, {}, use="it replaces ours")


@dataclass(frozen=True, slots=True)
class Measured:
    """A fact that was measured: its mean and range in one unit, and where it is from."""

    key: str
    value: float
    unit: str
    low: float | None
    high: float | None
    locator: str
    boundary: str = ""
    note: str = ""


def add_measured(
    found: Sequence[Measured], name: str, source: tuple[str, str, int], folder: Path, catalogue: Catalogue
) -> Added:
    """Write facts of the kind `measured` into `facts/NAME.csv`, in the place of ours and of those before.

    `source` is the name of where they are from, its title and its year.

    Raises:
        InputError: a value is none that such a fact can have, or what is wrong with the folder.
    """
    rows = [
        _Row(
            one.key,
            written_text(one.value),
            one.unit,
            source[0],
            one.locator,
            "measured",
            "" if one.low is None else written_text(min(one.low, one.value)),
            "" if one.high is None else written_text(max(one.high, one.value)),
            one.boundary,
            one.note,
        )
        for one in found
    ]
    return _write(
        folder,
        catalogue,
        {f"facts/{name}.csv": rows},
        {"sources.toml": {source[0]: {"title": source[1], "year": source[2]}}},
        use="it replaces ours",
    )


def _price_key(name: str, catalogue: Catalogue) -> str:
    """The key of a price that a person names by SKU, by region or grid, or by itself."""
    if name in catalogue.skus:
        return f"server.{catalogue.skus[name].server}.price"
    grid = catalogue.regions[name].grid if name in catalogue.regions else name
    if catalogue.has(f"grid.{grid}.intensity"):
        return f"electricity.{grid}.price"
    first, _, last = name.partition(" ")
    if first == "rent" and last in catalogue.skus:
        return f"rental.{catalogue.skus[last].accelerator}.price"
    if catalogue.has(name):
        return name
    raise InputError(
        f"'{name}' is no SKU, region, grid or fact: write for example h100-8 (of a node), 'rent h100-8' "
        "(an hour of an accelerator), aws/eu-central-1 (electricity), or a key of `everfleet prices`"
    )


# Writing


def _write(
    folder: Path,
    catalogue: Catalogue,
    rows: Mapping[str, Sequence[_Row]],
    tables: Mapping[str, Mapping[str, Record]],
    copies: Mapping[str, Path] | None = None,
    *,
    use: str,
    like: str = "",
) -> Added:
    """The folder with these rows, tables and files, checked before anything in it changes."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file: name a folder, as `everfleet add` writes several files")
    with tempfile.TemporaryDirectory(prefix="everfleet-") as held:
        trial = Path(held) / folder.name
        if folder.is_dir():
            shutil.copytree(folder, trial)
        trial.mkdir(exist_ok=True)
        written = [*(copies or {})]
        for name, source in (copies or {}).items():
            (trial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, trial / name)
        for name, found in rows.items():
            _put_rows(trial / name, found)
            written.append(name)
        for name, entries in tables.items():
            _put_tables(trial / name, entries)
            written.append(name)
        own = read_own(trial, load_catalogue(data_folder()))
        places = {fact.key: fact.locator for fact in own.facts}
        for name in written:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(trial / name, folder / name)
    keys = [row.key for found in rows.values() for row in found]
    keys += [key for key, place in places.items() if any(f"/{name}" in place for name in copies or {})]
    facts = {fact.key: fact for fact in own.facts}
    shown = [
        {
            "key": key,
            "value": float(facts[key].value),
            "unit": "" if facts[key].unit == "1" else facts[key].unit,
            "low": facts[key].low,
            "high": facts[key].high,
            "kind": facts[key].kind,
            "where": facts[key].locator,
        }
        for key in dict.fromkeys(keys)
    ]
    return Added(folder, tuple(written), tuple(shown), use, like)


def _put_rows(path: Path, rows: Sequence[_Row]) -> None:
    """Add rows to a file, in the place of those with their keys."""
    held: list[str] = []
    new = {row.key for row in rows}
    if path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        if lines and lines[0] != ",".join(COLUMNS):
            raise OwnDataError(f"{path.name}: its header is not {','.join(COLUMNS)}: add the row by hand")
        held = [line for line in lines[1:] if line.partition(",")[0] not in new]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = [",".join(COLUMNS), *held]
    text += [csv_line([str(getattr(row, column)) for column in COLUMNS]) for row in rows]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def _put_tables(path: Path, entries: Mapping[str, Record]) -> None:
    """Add tables to a file; one of that name that is there already is refused, as it may be edited."""
    import tomllib

    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    known = tomllib.loads(text)
    for name, entry in entries.items():
        if name in known and known[name] != entry and path.name != "sources.toml":
            raise OwnDataError(
                f"{path.name}: [{name}] is there already: remove it first, or choose another name"
            )
    new = {name: dict(entry) for name, entry in entries.items() if name not in known}
    if new:
        path.write_text(
            (text.rstrip("\n") + "\n\n" if text.strip() else "") + write_toml(new).lstrip("\n"),
            encoding="utf-8",
        )


def _named(name: str, known: object, what: str, file: Path) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' is no name: write small letters, digits, '.', '-' and '_', such as my-gpu"
        )
    if file.is_file():
        raise InputError(f"{file} holds your {what} '{name}': change it there, or choose another name")
    if name in known:  # type: ignore[operator]  # names of any kind
        raise InputError(f"the catalogue has a {what} '{name}': choose another name, such as own-{name}")
    return name


def _split(text: str) -> tuple[str, str]:
    """Number and unit of a quantity, as the columns of a row have them."""
    found = re.fullmatch(r"\s*([0-9._eE+-]+?)\s*((?:[A-Za-z$%µ/(].*)?)", text)
    if found is None:
        raise InputError(f"'{text}' is not a number with a unit: write for example '700 W'")
    return found[1], found[2]


def _wrong(flag: str, text: str, unit: str) -> list[str]:
    try:
        parse_quantity(text, unit)
    except ValueError as error:
        return [f"{flag}: {error}"]
    return []


def _times(prior: Prior, factor: float, why: str) -> Prior:
    return Prior(
        prior.key,
        prior.value * factor,
        min(prior.low, prior.low * factor),
        max(prior.high, prior.high * factor),
        prior.unit,
        f"{prior.locator}; in proportion to {why}",
        prior.boundary,
    )


def _prior_row(prior: Prior, catalogue: Catalogue) -> _Row:
    family = catalogue.ranges.of(prior.key)
    low = prior.low if family is None else max(prior.low, family.low)
    high = prior.high if family is None else min(prior.high, family.high)
    return _Row(
        prior.key,
        written_text(prior.value),
        "count" if prior.unit == "1" and prior.value >= 1 else prior.unit,
        PRIOR,
        prior.locator,
        "assumed",
        written_text(min(low, prior.value)),
        written_text(max(high, prior.value)),
        ";".join(f"{name}={tag}" for name, tag in prior.boundary.items()),
    )
