"""Facts and sources: read once, checked whole, given by key.

A fact is a row of `data/facts/*.csv`; its source occurs once in `data/sources.toml`. Loading refuses an
unknown unit, a missing or uncited source, a range that does not hold the value, a value that its family in
`data/ranges.csv` does not allow, and duplicates, and names every such row at once.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args

from planner.inputs.ranges import Ranges, read_ranges
from planner.trace.errors import InputError
from planner.trace.quantities import Fact, Kind, Source
from planner.trace.units import canonical

if TYPE_CHECKING:
    from planner.inputs.own.facts import OwnFacts

# Where facts of one's own lie, for every question that names none itself.
VARIABLE = "EVERFLEET_DATA"
_OWN: ContextVar[Path | None] = ContextVar("own facts of the question that is being answered", default=None)
_NOTED: ContextVar[Catalogue | None] = ContextVar("noted", default=None)

COLUMNS = ("key", "value", "unit", "source", "locator", "kind", "low", "high", "boundary", "note")
KINDS = get_args(Kind)
LINKS = ("nvlink", "nvlink-bridge", "xgmi", "ualink", "pcie", "ici", "neuronlink", "ethernet", "upi")
COOLING = ("air", "liquid", "immersion")
SPARE = " spare"  # after the name of a SKU: one of its nodes on the shelf


class CatalogueError(InputError):
    """The facts in `data/` do not hold together; the message names every row."""


class UnknownFact(InputError):
    """No fact has this key; the message names the nearest ones."""


@dataclass(frozen=True, slots=True)
class Sku:
    """What the market sells and a fleet holds: a node of one server and its accelerators.

    `buying_unit` nodes are sold together, as the rack or slice that their links join; one fails alone.
    What is `announced` cannot be had yet: it is offered by name alone. Processors score and serve, and
    do not train. Used nodes are sold on the market that `resale` names. What is bought one at a time, for the
    shelf, is a SKU of its own, the spare of the one that `spare_of` names.
    """

    name: str
    title: str
    server: str
    accelerator: str
    link: str = "pcie"
    power_curve: str = "prior"
    cooling: str = "air"
    buying_unit: int = 1
    announced: bool = False
    trains: bool = True
    resale: str = "common"
    spare_of: str = ""


@dataclass(frozen=True, slots=True)
class ServingEngine:
    """A version of an engine that serves models.

    `accelerators` are patterns of those that it runs on, all where there are none; `only` says what it is for
    where no service may choose it. `one_scale` says that it multiplies experts in 8 bits whose matrices have
    one scale each by kernels for that, and not by those for blocks.
    """

    name: str
    title: str
    released: str
    accelerators: tuple[str, ...] = ()
    only: str = ""
    one_scale: bool = False

    def runs_on(self, accelerator: str) -> bool:
        """Whether this engine has kernels for an accelerator."""
        return not self.accelerators or any(fnmatch(accelerator, one) for one in self.accelerators)


@dataclass(frozen=True, slots=True)
class Region:
    """Where a provider sells, or a site of one's own: which grid it draws from, and whose PUE and WUE hold.

    `pue` and `wue` are the names of their facts, empty where none is known: `aws-global` is `pue.aws-global`.
    `hourly` is a file of hours in `folder`.
    """

    name: str
    title: str
    grid: str
    cloud: str = ""
    country: str = ""
    pue: str = ""
    wue: str = ""
    source: str = ""
    locator: str = ""
    hourly: str = ""
    signal: str = ""
    folder: Path = Path()

    @property
    def pue_key(self) -> str:
        """The fact of its PUE; empty where none is known."""
        return f"pue.{self.pue}" if self.pue else ""

    @property
    def wue_key(self) -> str:
        """The fact of its WUE; empty where none is known."""
        return f"wue.{self.wue}" if self.wue else ""


class Facts(Protocol):
    """Where facts come from: a catalogue, or a scenario on one."""

    def fact(self, key: str) -> Fact:
        """The fact with this key."""

    def has(self, key: str) -> bool:
        """Whether there is one."""


@dataclass(frozen=True)
class Catalogue:
    """Facts by key, sources, SKUs, engines and regions by name, and what each family of facts may be.

    `facts_used` collects the keys that were given out, for those who want to know; copies share it.
    `own` are the facts of one's own that stand in it.
    """

    facts: Mapping[str, Fact]
    sources: Mapping[str, Source]
    skus: Mapping[str, Sku]
    engines: Mapping[str, ServingEngine]
    folder: Path
    ranges: Ranges
    facts_used: set[str] | None = None
    regions: Mapping[str, Region] = field(default_factory=dict)
    own: OwnFacts | None = None
    _named: dict[tuple[str, str], tuple[str, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _begun: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def fact(self, key: str) -> Fact:
        """The fact with this key, in its canonical unit.

        Raises:
            UnknownFact: no such key; the message names the nearest ones.
        """
        if self.facts_used is not None:
            self.facts_used.add(key)
        try:
            return self.facts[key]
        except KeyError:
            near = difflib.get_close_matches(key, self.facts, n=3)
            raise UnknownFact(f"no fact '{key}'" + (f"; near: {', '.join(near)}" if near else "")) from None

    def has(self, key: str) -> bool:
        """Whether a fact with this key exists."""
        return key in self.facts

    def names(self, room: str, having: str = "") -> tuple[str, ...]:
        """Names under a room (`accelerator`, `grid`, ...), where asked only those with a property."""
        known = self._named.get((room, having))
        if known is None:  # facts never change, and thousands of rows ask for the same names
            found: dict[str, None] = {}
            for key in self.facts:
                if key.startswith(room + "."):
                    name, _, last = key[len(room) + 1 :].rpartition(".")
                    if name and "@" not in last and (not having or last == having):
                        found[name] = None
            known = self._named[room, having] = tuple(sorted(found))
        return known

    def beginning(self, start: str) -> tuple[str, ...]:
        """Keys that begin so, in the order of the files."""
        known = self._begun.get(start)
        if known is None:
            known = self._begun[start] = tuple(key for key in self.facts if key.startswith(start))
        return known

    def node(self, name: str) -> Sku:
        """A SKU by its name, or the spare of one, by the name of that and ' spare'.

        Raises:
            KeyError: there is no such SKU.
        """
        if name in self.skus or not name.endswith(SPARE):
            return self.skus[name]
        sku = self.skus[name.removesuffix(SPARE)]
        return replace(sku, name=name, title=f"{sku.title}, spare", buying_unit=1, spare_of=sku.name)

    @property
    def sold(self) -> tuple[str, ...]:
        """SKUs that can be had today, by name."""
        return tuple(name for name, sku in self.skus.items() if not sku.announced)

    def link(self, accelerator: str) -> str:
        """Kind of link between accelerators of a node: nvlink, xgmi, pcie, ici and so on.

        Raises:
            UnknownFact: no SKU holds this accelerator.
        """
        for sku in self.skus.values():
            if sku.accelerator == accelerator:
                return sku.link
        raise UnknownFact(f"skus.toml has no node with accelerator '{accelerator}', so its link is not known")

    def search(self, text: str) -> tuple[Fact, ...]:
        """Facts whose key, note or source holds every word of `text`."""
        words = text.lower().split()
        return tuple(
            fact
            for fact in self.facts.values()
            if all(
                w in f"{fact.key} {fact.note} {fact.source.name} {fact.source.title} {fact.kind}".lower()
                for w in words
            )
        )

    def with_facts(self, facts: Iterable[Fact]) -> Catalogue:
        """A copy in which these facts replace the shipped ones or are added to them."""
        return replace(self, facts={**self.facts, **{fact.key: fact for fact in facts}})

    def with_own(self, own: OwnFacts | None) -> Catalogue:
        """A copy in which facts, sources, SKUs and regions of one's own replace ours or are added."""
        if own is None or own == self.own:
            return self
        return replace(
            self.with_facts(own.facts),
            sources={**self.sources, **own.sources},
            skus={**self.skus, **own.skus},
            regions={**self.regions, **own.regions},
            own=own,
        )

    @property
    def default_engine(self) -> str:
        """The newest engine that a service may choose."""
        return max((e for e in self.engines.values() if not e.only), key=lambda e: e.released).name

    @property
    def digest(self) -> str:
        """SHA-256 of every fact, so that a plan can say which numbers it stood on."""
        lines = (
            f"{f.key}={f.value!r}{f.unit}{f.low}{f.high}{f.kind}{f.source.name}" for f in self.facts.values()
        )
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


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
    outer = load_catalogue()
    keys: set[str] = set()
    noted = replace(outer, facts_used=keys)
    noted._named.update(outer._named)  # names are the same, and looked for by every row
    noted._begun.update(outer._begun)
    token = _NOTED.set(noted)
    try:
        yield keys
    finally:
        _NOTED.reset(token)
        outer._named.update(noted._named)
        outer._begun.update(noted._begun)
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
        return {row["name"]: Region(**row) for row in csv.DictReader(file)}  # type: ignore[arg-type]


def region_problems(regions: Mapping[str, Region], facts: Mapping[str, Fact]) -> list[str]:
    """Facts that regions name and nobody has."""
    return [
        f"{one.name}: there is no fact '{key}'"
        for one in regions.values()
        for key in (f"grid.{one.grid}.intensity", one.pue_key, one.wue_key)
        if key and key not in facts
    ]


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


def make_fact(
    key: str,
    value: float,
    unit: str,
    source: Source,
    *,
    locator: str = "",
    kind: str = "yours",
    low: float | None = None,
    high: float | None = None,
    note: str = "",
    boundary: Mapping[str, str] | None = None,
) -> Fact:
    """A fact in its canonical unit.

    Raises:
        UnitError: the unit is unknown.
        ValueError: the value is not finite, or the range does not hold it.
    """
    if not math.isfinite(value):
        raise ValueError(f"the value {value} is not finite")
    if (low is not None and low > value) or (high is not None and high < value):
        raise ValueError(f"the range {low} .. {high} does not hold the value {value}")
    inside, inside_unit = canonical(value, unit)
    scale = canonical(1.0, unit)[0]
    return Fact(
        inside,
        inside_unit,
        boundary=boundary or {},
        key=key,
        source=source,
        locator=locator,
        kind=cast(Kind, kind),
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        note=note,
        stated=f"{value:g} {unit}",
    )


def _engine(name: str, entry: Mapping[str, Any]) -> ServingEngine:
    return ServingEngine(name, **{**entry, "accelerators": tuple(entry.get("accelerators", ()))})


def source_of(name: str, entry: Mapping[str, object]) -> Source:
    """A source as `sources.toml` has it."""
    text = {word: str(value) for word, value in entry.items()}
    link = text.get("url") or text.get("doi") or text.get("arxiv") or ""
    authors = text.get("authors") or text.get("publisher") or ""
    return Source(name, text["title"], authors, text.get("year", ""), link, text.get("licence", ""))


def sku_problems(skus: Mapping[str, Sku], facts: Mapping[str, Fact]) -> list[str]:
    """Facts that SKUs name and nobody has, and words that mean nothing."""
    problems = [
        f"skus.toml: {sku.name}: no fact '{key}'"
        for sku in skus.values()
        for key in (f"server.{sku.server}.accelerators", f"accelerator.{sku.accelerator}.memory")
        if key not in facts
    ]
    for sku in skus.values():
        for what, said, known in (("link", sku.link, LINKS), ("cooling", sku.cooling, COOLING)):
            if said not in known:
                problems.append(f"skus.toml: {sku.name}: {what} '{said}' is none of {', '.join(known)}")
    return problems
