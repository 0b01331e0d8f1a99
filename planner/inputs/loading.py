"""Facts and sources of `data/`: read once, checked whole, with those of one's own where some are named.

A fact is a row of `data/facts/*.csv`; its source occurs once in `data/sources.toml`. Loading refuses an
unknown unit, a missing or uncited source, a range that does not hold the value, a value that its family in
`data/ranges.csv` does not allow, and duplicates, and names every such row at once.
"""

from __future__ import annotations

import csv
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from planner.inputs.catalogue import (
    COLUMNS,
    KINDS,
    Catalogue,
    Region,
    ServingEngine,
    Sku,
    make_fact,
    region_problems,
    sku_problems,
    source_of,
)
from planner.inputs.ranges import Ranges, read_ranges
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Source

# Where facts of one's own lie, for every question that names none itself.
VARIABLE = "EVERFLEET_DATA"
_OWN: ContextVar[Path | None] = ContextVar("own facts of the question that is being answered", default=None)
_NOTED: ContextVar[Catalogue | None] = ContextVar("noted", default=None)


class CatalogueError(InputError):
    """The facts in `data/` do not hold together; the message names every row."""


@cache
def data_folder() -> Path:
    """The folder `data/`: next to the code in a checkout, inside the package once installed."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parent
    return checkout / "data" if (checkout / "pyproject.toml").is_file() else package / "_data"


@contextmanager
def own_data(path: str | Path | None) -> Iterator[None]:
    """Inside, questions that are asked here take the facts of one's own in this folder or file.

    It holds for this thread alone: who asks next to it is not touched.
    """
    if path is None:
        yield
        return
    token = _OWN.set(Path(path))
    try:
        yield
    finally:
        _OWN.reset(token)


@contextmanager
def noting_facts() -> Iterator[set[str]]:
    """Inside, the keys of the facts that are taken from the catalogue are kept."""
    keys: set[str] = set()
    token = _NOTED.set(load_catalogue().noting(keys))
    try:
        yield keys
    finally:
        _NOTED.reset(token)
        note_facts(keys)


def note_facts(keys: Iterable[str]) -> None:
    """Facts that an answer rests on which was kept from an earlier time."""
    noted = _NOTED.get()
    if noted is not None and noted.facts_used is not None:
        noted.facts_used.update(keys)


def load_catalogue(folder: Path | None = None) -> Catalogue:
    """The facts of `data/`, and those of one's own where `own_data` or EVERFLEET_DATA names some.

    Raises:
        CatalogueError: listing every fault that was found.
        InputError: the facts of one's own are wrong; the error holds every problem.
    """
    if folder is not None:
        return _shipped(folder)
    if (noted := _NOTED.get()) is not None:
        return noted
    shipped, stated = _shipped(data_folder()), os.environ.get(VARIABLE)
    path = _OWN.get() or (Path(stated) if stated else None)
    if path is None:
        return shipped
    from planner.inputs.own.reading import joined

    return joined(path, shipped)


@cache
def _shipped(folder: Path) -> Catalogue:
    """Read and check `data/`.

    Raises:
        CatalogueError: listing every fault that was found.
    """
    with (folder / "sources.toml").open("rb") as file:
        sources = {name: source_of(name, entry) for name, entry in tomllib.load(file).items()}
    with (folder / "skus.toml").open("rb") as file:
        skus = {name: Sku(name, **entry) for name, entry in tomllib.load(file).items()}
    with (folder / "engines.toml").open("rb") as file:
        engines = {name: _engine(name, entry) for name, entry in tomllib.load(file).items()}
    ranges, problems = read_ranges(folder / "ranges.csv")
    facts: dict[str, Fact] = {}
    for path in sorted((folder / "facts").glob("*.csv")):
        _read_facts(path, sources, ranges, facts, problems)
    regions = _regions(folder / "regions.csv")
    cited = {fact.source.name for fact in facts.values()} | {one.source for one in regions.values()}
    problems += [f"sources.toml: no fact cites '{name}'" for name in sources if name not in cited]
    problems += sku_problems(skus, facts)
    problems += region_problems(regions, facts)
    problems += [
        f"regions.csv: {one.name}: source '{one.source}' is not in sources.toml"
        for one in regions.values()
        if one.source not in sources
    ]
    if problems:
        raise CatalogueError("\n".join(problems))
    return Catalogue(facts, sources, skus, engines, folder, ranges, regions=regions)


def _regions(path: Path) -> dict[str, Region]:
    """Rows of the regions of providers."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows: Iterable[dict[str, Any]] = csv.DictReader(file)
        return {row["name"]: Region(**row) for row in rows}


def _read_facts(
    path: Path, sources: Mapping[str, Source], ranges: Ranges, facts: dict[str, Fact], problems: list[str]
) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            problems.append(f"{path.name}: the header must be {','.join(COLUMNS)}")
            return
        for row in reader:
            where = f"{path.name}:{reader.line_num}: {row['key']}"
            if row["key"] in facts:
                problems.append(f"{where}: the key occurs twice")
                continue
            try:
                fact = facts[row["key"]] = _fact(row, sources)
            except ValueError as error:
                problems.append(f"{where}: {error}")
                continue
            if outside := ranges.problem(fact.key, (fact.value, fact.low, fact.high), fact.unit):
                problems.append(f"{where}: {outside}")


def _fact(row: Mapping[str, str], sources: Mapping[str, Source]) -> Fact:
    if row["source"] not in sources:
        raise ValueError(f"source '{row['source']}' is not in sources.toml")
    if row["kind"] not in KINDS or row["kind"] == "yours":
        raise ValueError(f"kind '{row['kind']}' is none of {', '.join(KINDS[:-1])}")
    if row["kind"] in ("estimated", "assumed") and not (row["low"] and row["high"]):
        raise ValueError(f"kind {row['kind']} needs a range: give low and high")
    low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
    boundary = dict(tag.split("=", 1) for tag in row["boundary"].split(";") if tag)
    return make_fact(
        row["key"],
        float(row["value"]),
        row["unit"],
        sources[row["source"]],
        locator=row["locator"],
        kind=row["kind"],
        low=low,
        high=high,
        note=row["note"],
        boundary=boundary,
    )


def _engine(name: str, entry: Mapping[str, Any]) -> ServingEngine:
    return ServingEngine(name, **{**entry, "accelerators": tuple(entry.get("accelerators", ()))})
