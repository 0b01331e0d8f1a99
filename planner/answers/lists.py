"""What there is by name: SKUs, models, grids, regions, prices, traces and techniques, ours and one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.inputs.series.shipped import shipped_series
from planner.inputs.techniques import techniques
from planner.report.tables import table_of
from planner.report.text import text_table
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.quantities import Fact
from planner.trace.records import Record

_PRICES = ("server.", "rental.", "electricity.")
# Columns that JSON and Python have, and a terminal no room for.
_TOO_WIDE = ("cloud", "counts")
_TOO_WIDE_IN = {"price": ("source", "where"), "trace": ("source",), "grid": ("source",), "region": ("hours",)}
_CARD = "technique"  # of a list whose rows are too wide for a terminal: one alone is shown as a card
_SHORT = ("technique", "phases", "models", "handle", "times_less", "low", "high")
_ROOMS = {"model": "layers", "recommendation": "embedding_rows", "diffusion": "steps"}


def listed(
    what: str, words: Iterable[str] = (), *, country: str | None = None, cloud: str | None = None
) -> list[Record]:
    """The rows of a list that hold every word, of a country or a cloud.

    Raises:
        InputError: the list knows no countries or clouds, or none of that name.
    """
    rows = list(LISTS[what](load_catalogue()))
    for option, value in (("country", country), ("cloud", cloud)):
        if value is None:
            continue
        known = sorted({str(row[option]) for row in rows if row.get(option)})
        if not known:
            having = ", ".join(_HAVING[option])
            raise InputError(f"--{option}: {what} are of no {option}: {having} are")
        if value.upper() not in map(str.upper, known):
            raise InputError(f"--{option}: '{value}' has none of these {what}; known: {', '.join(known)}")
        rows = [row for row in rows if str(row.get(option, "")).upper() == value.upper()]
    wanted = [word.lower() for word in words]
    exact = [row for row in rows if [row.get(_CARD)] == wanted]  # one is part of what others say
    return exact or [row for row in rows if all(word in _text(row) for word in wanted)]


def list_text(rows: Sequence[Record]) -> str:
    """The rows as a table for a terminal, columns without a word left out; one technique as its card."""
    first = next(iter(rows[0])) if rows else ""
    if first == _CARD and len(rows) == 1:
        return _card(rows[0])
    filled = [
        key
        for key in (rows[0] if rows else ())
        if key not in (*_TOO_WIDE, *_TOO_WIDE_IN.get(first, ()))
        and (first != _CARD or key in _SHORT)
        and any(row[key] not in ("", None) for row in rows)
    ]
    table = table_of("", [{key: row[key] for key in filled} for row in rows], filled)
    return text_table(table, units_below=True)


def _card(row: Record) -> str:
    """All of one row, a line each; numbers as they are read."""
    said = {
        key: number_text(value) if isinstance(value, float) else str(value)
        for key, value in row.items()
        if value not in ("", None)
    }
    width = max(map(len, said))
    return "\n".join(f"{key:<{width}}  {value}" for key, value in said.items())


def _text(row: Record) -> str:
    return " ".join(str(value) for value in row.values() if isinstance(value, str)).lower()


def _skus(catalogue: Catalogue) -> Iterator[Record]:
    for name, sku in catalogue.skus.items():
        chip, server = f"accelerator.{sku.accelerator}", f"server.{sku.server}"
        price = catalogue.facts.get(f"{server}.price")
        yield {
            "sku": name,
            "title": sku.title,
            "accelerators": _value(catalogue, f"{server}.accelerators"),
            "bf16_tflop_per_s": _value(catalogue, f"{chip}.bf16_peak"),
            "memory_gb": _value(catalogue, f"{chip}.memory"),
            "memory_gb_per_s": _value(catalogue, f"{chip}.memory_bandwidth"),
            "tdp_kw": _value(catalogue, f"{chip}.tdp"),
            "price_usd_per_node": None if price is None else float(price.value),
            "sold": "announced" if sku.announced else "",
            "whose": _whose(catalogue, name in (catalogue.own.skus if catalogue.own else ())),
        }


def _models(catalogue: Catalogue) -> Iterator[Record]:
    for room, having in _ROOMS.items():
        for name in catalogue.names(room, having):
            fact = catalogue.fact(f"{room}.{name}.{having}")
            yield {
                "model": name,
                "kind": "language or vision" if room == "model" else room,
                "parameters": _value(catalogue, f"{room}.{name}.parameters"),
                "active_parameters": _value(catalogue, f"{room}.{name}.active_parameters"),
                **_origin(fact, catalogue),
            }


def _grids(catalogue: Catalogue) -> Iterator[Record]:
    places = {one.grid: one for one in catalogue.regions.values()}
    for name in catalogue.names("grid", "intensity"):
        fact, region = catalogue.fact(f"grid.{name}.intensity"), places.get(name)
        yield {
            "grid": name,
            "grid_kgco2e_per_kwh": float(fact.value),
            "counts": fact.boundary.get("grid", ""),
            "country": catalogue.grid_country(name),
            "cloud": region.cloud if region and name.startswith(f"{region.cloud}-") else "",
            "note": fact.note.partition(";")[0],
            **_origin(fact, catalogue),
        }


def _regions(catalogue: Catalogue) -> Iterator[Record]:
    own = catalogue.own.regions if catalogue.own else {}
    for name, one in catalogue.regions.items():
        fact = catalogue.fact(f"grid.{one.grid}.intensity")
        yield {
            "region": name,
            "title": one.title,
            "country": one.country,
            "cloud": one.cloud,
            "grid": one.grid,
            "grid_kgco2e_per_kwh": float(fact.value),
            "pue": _value(catalogue, one.pue_key),
            "wue_l_per_kwh": _value(catalogue, one.wue_key),
            "counts": fact.boundary.get("grid", ""),
            "hours": one.hourly,
            "source": one.source or fact.source.name,
            "whose": _whose(catalogue, name in own),
        }


def _prices(catalogue: Catalogue) -> Iterator[Record]:
    for key, fact in catalogue.facts.items():
        room, _, rest = key.partition(".")
        if not key.startswith(_PRICES) or fact.unit not in ("USD", "USD/h", "USD/kWh"):
            continue
        grid = rest.rpartition(".")[0]
        yield {
            "price": key,
            "value": float(fact.value),
            "unit": fact.unit,
            "low": fact.low,
            "high": fact.high,
            "country": catalogue.grid_country(grid) if room == "electricity" else "",
            **_origin(fact, catalogue),
            "where": fact.locator,
        }


def _traces(catalogue: Catalogue) -> Iterator[Record]:
    for name in catalogue.names("traffic", "mean_context"):
        fact = catalogue.fact(f"traffic.{name}.mean_context")
        yield {
            "trace": name,
            "what": "requests of a service",
            "tokens_in": float(fact.value),
            "tokens_out": _value(catalogue, f"traffic.{name}.mean_generated"),
            "rate_per_s": _value(catalogue, f"traffic.{name}.rate"),
            **_origin(fact, catalogue),
        }
    for name in shipped_series():
        yield _hours(name, "hours of a grid", _whose(catalogue, False))
    for one in (catalogue.own.regions if catalogue.own else {}).values():
        if one.hourly:
            yield _hours(one.name, f"hours of a grid, {one.hourly}", "yours")


def _techniques(catalogue: Catalogue) -> Iterator[Record]:
    for name, one in techniques().items():
        first, *others = (catalogue.fact(f"technique.{name}.{handle}") for handle in one.handles)
        yield {
            "technique": name,
            "title": one.title,
            "phases": ", ".join(one.phases),
            "models": "mixtures of experts" if one.experts else one.models,
            "operator": one.operator,
            "handle": one.handles[0],
            "times_less": float(first.value),
            "low": first.low,
            "high": first.high,
            "affected_fraction": _value(catalogue, f"{first.key}_affected"),
            "further": "; ".join(map(_effect, others)),
            "quality": one.quality,
            "quality_loss_fraction": _value(catalogue, f"technique.{name}.quality_loss"),
            "chips": ", ".join(one.accelerators) or (f"with {one.needs}" if one.needs else ""),
            "only": one.only,
            "excludes": ", ".join(one.excludes),
            "adoption": one.adoption,
            "adoption_h": _value(catalogue, f"adoption.{one.adoption}.time"),
            "person_h": _value(catalogue, f"adoption.{one.adoption}.person_time"),
            "published": str(one.published),
            "kind": first.kind,
            "where": first.locator,
            "note": first.note,
            **_origin(first, catalogue),
        }


def _effect(fact: Fact) -> str:
    low, high = (number_text(end) for end in (fact.low or fact.value, fact.high or fact.value))
    return f"{fact.key.rpartition('.')[2]} {number_text(fact.value)} ({low} to {high})"


def _hours(name: str, what: str, whose: str) -> Record:
    empty = dict.fromkeys(("tokens_in", "tokens_out", "rate_per_s"))
    return {"trace": name, "what": what, **empty, "source": "", "whose": whose}


LISTS: dict[str, Callable[[Catalogue], Iterator[Record]]] = {
    "skus": _skus,
    "models": _models,
    "grids": _grids,
    "regions": _regions,
    "prices": _prices,
    "traces": _traces,
    "techniques": _techniques,
}
_HAVING = {"country": ("grids", "regions", "prices"), "cloud": ("grids", "regions")}


def _value(catalogue: Catalogue, key: str) -> float | None:
    return float(catalogue.fact(key).value) if key and catalogue.has(key) else None


def _origin(fact: Fact, catalogue: Catalogue) -> Record:
    """Where a fact comes from, and whether it is one's own."""
    own = {one.key for one in catalogue.own.facts} if catalogue.own else set()
    mine = fact.key in own
    return {"source": fact.locator if mine else fact.source.name, "whose": _whose(catalogue, mine)}


def _whose(catalogue: Catalogue, mine: bool) -> str:
    """Yours or ours; empty where nothing is one's own, as a column that says nothing."""
    return "" if catalogue.own is None else "yours" if mine else "ours"
