"""Facts by their key, what is sold, engines and regions, and what facts of one's own add to them."""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol, cast, get_args

from planner.inputs.ranges import Ranges
from planner.trace.errors import InputError
from planner.trace.numbers import count_text
from planner.trace.quantities import Fact, Kind, Source
from planner.trace.units import canonical

COLUMNS = ("key", "value", "unit", "source", "locator", "kind", "low", "high", "boundary", "note")
KINDS = get_args(Kind)
LINKS = ("nvlink", "nvlink-bridge", "xgmi", "ualink", "pcie", "ici", "neuronlink", "ethernet", "upi")
COOLING = ("air", "liquid", "immersion")
SPARE = " spare"  # after the name of a SKU: one of its nodes on the shelf


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
    one scale each by kernels for that, and not by those for blocks. What an engine does not state of itself
    is that of the one that it `follows`, a version of the same.
    """

    name: str
    title: str
    released: str
    accelerators: tuple[str, ...] = ()
    only: str = ""
    one_scale: bool = False
    follows: str = ""

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


@dataclass(frozen=True)
class OwnFacts:
    """What a folder or file of one's own adds to the catalogue, or replaces in it.

    `name` is how it was named; `replaced` are keys that the catalogue has, too.
    """

    name: str
    facts: tuple[Fact, ...]
    sources: Mapping[str, Source]
    skus: Mapping[str, Sku]
    regions: Mapping[str, Region]
    replaced: tuple[str, ...]
    path: Path = field(compare=False, repr=False)

    files: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def said(self) -> str:
        """How many facts these are, and how many replace ours."""
        return f"{self.name}: {own_facts_said(len(self.facts), len(self.replaced))}"

    @property
    def digest(self) -> str:
        """SHA-256 of all that is stated, wherever it lies."""
        lines = [
            f"{f.key}={f.value!r}{f.unit}{f.low}{f.high}{f.kind}{f.source.name}{f.note}{dict(f.boundary)}"
            for f in self.facts
        ]
        lines += [repr(sku) for sku in self.skus.values()]
        lines += [repr(replace(region, folder=Path())) for region in self.regions.values()]
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


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

    def grid_country(self, grid: str) -> str:
        """Code of the country of a grid, as `US`: that of a region that draws from it, else of its name.

        Empty where neither says it.
        """
        known = next((one.country for one in self.regions.values() if one.grid == grid and one.country), "")
        first = grid.partition("-")[0]
        return known or (first.upper() if len(first) == 2 else "")

    def water_key(self, grid: str | None) -> str:
        """The fact of the water that power stations of a grid take: of its country, else of none known."""
        known = f"water.{self.grid_country(grid or '').lower()}.electricity"
        return known if self.has(known) else "water.default.electricity"

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

    def noting(self, keys: set[str]) -> Catalogue:
        """A copy that adds the keys which it gives out to `keys`; what was looked for is known to both."""
        noted = replace(self, facts_used=keys)
        for looked_for in ("_named", "_begun"):
            object.__setattr__(noted, looked_for, getattr(self, looked_for))
        return noted

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


def region_problems(regions: Mapping[str, Region], facts: Mapping[str, Fact]) -> list[str]:
    """Facts that regions name and nobody has."""
    return [
        f"{one.name}: there is no fact '{key}'"
        for one in regions.values()
        for key in (f"grid.{one.grid}.intensity", one.pue_key, one.wue_key)
        if key and key not in facts
    ]


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


def own_facts_said(count: int, replaced: int) -> str:
    """So many facts of one's own, of which some replace ours."""
    facts = "1 fact" if count == 1 else f"{count_text(count)} facts"
    ours = f"{count_text(replaced)} replace{'s' * (replaced == 1)} ours" if replaced else "none replaces ours"
    return f"{facts} of your own, {ours}"
