"""What holds where a scenario says nothing, and where that comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.catalogue import Catalogue
from planner.editing.typed import shown_value
from planner.scenario.part import Part, rule_of
from planner.trace import Fact

CONVENTION = "a convention of everfleet"
_SAID = re.compile(r"[Dd]efault: ([^;.]+)")

# Keys that the catalogue answers where they are left out.
_FACTS = {
    ("policy", "residual_value"): "finance.residual_value",
    ("fleet", "resale_decline"): "finance.resale_decline",
    ("moves", "distance"): "transport.truck.distance",
    ("rental", "pue"): "rental.pue",
}
# Keys that a scenario has to state, and what the catalogue has of them.
_NEAR = {
    ("policy", "discount_rate"): "finance.discount_rate",
    ("policy", "node_life"): "finance.capex_life",
    ("policy", "carbon_price"): "finance.carbon_price",
    ("reliability", "restart"): "reliability.restart_time",
}


def default_of(
    part: type[Part], attribute: str, section: str, table: Mapping[str, Any], catalogue: Catalogue
) -> tuple[str, str]:
    """The default of a key as text, and its source; for a key that has to be stated what is known of it."""
    field = part.model_fields[attribute]
    key = field.alias or attribute
    if fact := _catalogued(section, key, table, catalogue):
        return _stated(fact), _cited(fact)
    near = catalogue.facts.get(_NEAR.get((section, key), ""))
    beside = f"; the catalogue has {_stated(near)}, {_cited(near)}" if near else ""
    if field.is_required():
        return "", f"every scenario states it{beside}"
    said, rule = _SAID.search(field.description or ""), rule_of(part, attribute)
    written = None if field.default is None or rule is None else rule.write(field.default)
    return (said[1] if said else shown_value(written)) or "not set", CONVENTION + beside


def _stated(fact: Fact) -> str:
    """The value as its source has it; a plain number says no unit."""
    return fact.stated.removesuffix(" 1")


def _cited(fact: Fact) -> str:
    """Key, kind and source of a fact."""
    return f"{fact.key}: {fact.kind}, {fact.source.cite()}"


def _catalogued(section: str, key: str, table: Mapping[str, Any], catalogue: Catalogue) -> Fact | None:
    """The fact that a plan takes where this key of this table is left out."""
    name = _FACTS.get((section, key), "")
    sku = catalogue.skus.get(str(table.get("sku")))
    if (section, key) == ("sites", "electricity_price"):
        regional = f"electricity.{table.get('grid')}.price"
        name = regional if catalogue.has(regional) else "electricity.default_price"
    elif (section, key) == ("market", "price") and sku is not None:
        name = f"server.{sku.server}.price"
    elif (section, key) == ("rental", "price") and sku is not None:
        name = f"rental.{sku.accelerator}.price"
    return catalogue.facts.get(name)
