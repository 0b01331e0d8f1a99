"""The inputs of a scenario as records: what may be in each, what does, and what it began as."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.loading import load_catalogue
from planner.inputs.model_kinds import models_of
from planner.inputs.scenario import Scenario
from planner.inputs.scenario.base import Part, SiteRef, is_list, part_in, rule_of
from planner.inputs.scenario.fields import Choice, Count, Day, Flag, Fraction, Number, Quantity, Rule, Text
from planner.inputs.scenario.fields_nested import EachPeriod, Exchange, Overrides, Several
from planner.inputs.scenario.problems import place
from planner.inputs.scenario.schema_futures import Values
from planner.trace.quantities import Fact

CONVENTION = "a convention of everfleet"
_SAID = re.compile(r"[Dd]efault: ([^;.]+)")

# Keys that the catalogue answers where they are left out.
_FACTS = {
    ("moves", "distance"): "transport.truck.distance",
    ("rental", "pue"): "rental.pue",
    ("sites", "space_price"): "finance.space",
    ("pools", "utilisation"): "pool.utilisation",
    ("pools", "demand_error"): "planning.demand_error",
    ("services", "demand_error"): "planning.demand_error",
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
    if fact := catalogued(section, key, table, catalogue):
        return _stated(fact), _cited(fact)
    near = catalogue.facts.get(_NEAR.get((section, key), ""))
    reference = f"; the catalogue has {_stated(near)}, {_cited(near)}" if near else ""
    if field.is_required():
        return "", f"every scenario states it{reference}"
    said, rule = _SAID.search(field.description or ""), rule_of(part, attribute)
    written = None if field.default is None or rule is None else rule.write(field.default)
    return (said[1] if said else shown_value(written)) or "not set", CONVENTION + reference


def _stated(fact: Fact) -> str:
    """The value as its source has it; a plain number says no unit."""
    return fact.stated.removesuffix(" 1")


def _cited(fact: Fact) -> str:
    """Key, kind and source of a fact."""
    return f"{fact.key}: {fact.kind}, {fact.source.cite()}"


def catalogued(section: str, key: str, table: Mapping[str, Any], catalogue: Catalogue) -> Fact | None:
    """The fact that a plan takes where this key of this table is left out.

    `section` and `key` are of the file, `table` is as far as it is written.
    """
    name = _FACTS.get((section, key), "")
    sku = catalogue.skus.get(str(table.get("sku")))
    if (section, key) == ("sites", "electricity_price"):
        regional = f"electricity.{table.get('grid')}.price"
        name = regional if catalogue.has(regional) else "electricity.default_price"
    elif (section, key) == ("market", "price") and sku is not None:
        name = f"server.{sku.server}.price"
    elif (section, key) == ("rental", "price") and sku is not None:
        if table.get("commitment", "on demand") != "on demand":
            return catalogue.facts.get(f"rental.{sku.accelerator}.{table['commitment']}")
        name = f"rental.{sku.accelerator}.price"
    return catalogue.facts.get(name)


def typed_value(rule: Rule, text: str) -> Any:
    """The value that a text means under a rule, None for an empty one; what fits no rule stays the text.

    Nothing is refused here: the scenario is checked whole, and its messages quote what was typed.
    """
    text = text.strip()
    if not text:
        return None
    if isinstance(rule, Several):
        return _entries(rule.rule, text, ",")
    if isinstance(rule, EachPeriod):
        # A comma alone may be a decimal one, which has to be refused and not be taken for two values.
        return _entries(rule.rule, text, ", ") if text.startswith("[") or ", " in text else _one(rule, text)
    return _one(rule, text)


def typed_cell(rule: Rule, value: Any) -> Any:
    """The value that a cell of a table means: typed text, a number, a day or a truth value."""
    if value is None:
        return None
    if isinstance(value, float) and isinstance(_inner(rule), Count) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return typed_value(rule, value)
    return value


def shown_value(value: Any) -> str:
    """A value of a file as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(shown_value, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown_value(entry)}" for key, entry in value.items())
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _inner(rule: Rule) -> Rule:
    return rule.rule if isinstance(rule, EachPeriod | Several) else rule


def _entries(rule: Rule, text: str, separator: str) -> Any:
    if text.startswith("["):
        return _toml(text)
    return [_one(rule, entry.strip()) for entry in text.split(separator) if entry.strip()]


def _one(rule: Rule, text: str) -> Any:
    read = _toml(text) if isinstance(_inner(rule), Count | Number | Fraction | Day | Flag) else text
    # A share in percent, and whatever is no value at all, is text for the rule to read or to refuse.
    return text if isinstance(read, dict) else read


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


MOST_SIMPLE = 8

# What matters most, in this order; a number is that of the entry in its list.
_SIMPLE = (
    ("policy", None, "objective"),
    ("policy", None, "carbon_price"),
    ("policy", None, "budget"),
    ("sites", 0, "power_cap"),
    ("training", 0, "deadline"),
    ("training", 0, "tokens"),
    ("services", 0, "peak_rate"),
    ("pools", 0, "gpu_time"),
    ("policy", None, "carbon_cap"),
    ("services", 0, "availability"),
    ("horizon", None, "periods"),
    ("reliability", None, "failures"),
    ("solve", None, "time_limit"),
    ("solve", None, "gap"),
)
_NAMES: Mapping[str, Callable[[Catalogue], Iterable[str]]] = {
    "sku": lambda catalogue: catalogue.skus,
    "reference": lambda catalogue: catalogue.skus,
    "region": lambda catalogue: catalogue.regions,
    "model": models_of,
    "grid": lambda catalogue: catalogue.names("grid", "intensity"),
    "traffic": lambda catalogue: catalogue.names("traffic", "mean_context"),
    "checkpoint_storage": lambda catalogue: catalogue.names("checkpoint_storage", "bandwidth"),
    "failures": lambda catalogue: catalogue.names("reliability", "failure_rate"),
    "engine": lambda catalogue: (one.name for one in catalogue.engines.values() if not one.only),
}
_CAPITALS = {"sku": "SKU", "skus": "SKUs", "pue": "PUE", "wue": "WUE", "gpu": "GPU"}


@dataclass(frozen=True, slots=True)
class Input:
    """One key of a scenario. Texts are as a person would type them; empty stands for nothing written.

    `entry` names the entry of a list that it is in; `kind` is choice, flag or text; `low` and `high` are in
    `unit`, where it takes a number; `origin` is None where the scenario began without this entry.
    """

    path: str
    section: str
    number: int | None
    key: str
    entry: str
    label: str
    description: str
    kind: str
    choices: tuple[str, ...]
    unit: str
    low: float | None
    high: float | None
    allowed: str
    default: str
    default_source: str
    required: bool
    value: str
    origin: str | None

    @property
    def changed(self) -> bool:
        """Whether it says something else than the scenario that was begun with."""
        return self.value != self.origin


def sections() -> tuple[str, ...]:
    """The sections whose keys are inputs, in the order of the file; the root is the empty name."""
    return ("", *(key for key, field in Scenario.model_fields.items() if not rule_of(Scenario, key)))


def is_table_list(section: str) -> bool:
    """Whether a section is a list of tables."""
    return bool(section) and is_list(Scenario.model_fields[section])


def part_at(section: str) -> type[Part]:
    """The table of a section."""
    part = part_in(Scenario.model_fields[section]) if section else Scenario
    assert issubclass(part, Part), "every section is a table or a list of them"
    return part


def rules_of(section: str) -> dict[str, Rule]:
    """The rule of each key of a section that takes a single value or a list of them."""
    part = part_at(section)
    found = {field.alias or name: rule_of(part, name) for name, field in part.model_fields.items()}
    own = Overrides | Values | Exchange  # tables whose keys are the writer's
    return {key: rule for key, rule in found.items() if rule and not isinstance(rule, own)}


def inputs_of(
    document: Mapping[str, Any],
    origin: Mapping[str, Any],
    section: str,
    number: int | None = None,
    catalogue: Catalogue | None = None,
) -> list[Input]:
    """The inputs of one table of a scenario, as written and as it began."""
    found = (input_at(document, origin, section, number, key, catalogue) for key in rules_of(section))
    return [one for one in found if one]


def input_at(
    document: Mapping[str, Any],
    origin: Mapping[str, Any],
    section: str,
    number: int | None,
    key: str,
    catalogue: Catalogue | None = None,
) -> Input | None:
    """One input; None where the scenario has no such entry.

    `catalogue` is the one that the scenario takes, with facts of one's own; else the shipped one.
    """
    catalogue = catalogue or load_catalogue()
    table = table_at(document, section, number)
    if table is None:
        return None
    part, rule = part_at(section), rules_of(section)[key]
    attribute = next(name for name, field in part.model_fields.items() if (field.alias or name) == key)
    began = table_at(origin, section, _same_entry(document, origin, section, number))
    loc: list[str | int] = [step for step in (section, number, key) if step not in ("", None)]
    choices = _choices(document, rule, key, catalogue)
    low, high = _limits(rule)
    default, source = default_of(part, attribute, section, table, catalogue)
    kind = "flag" if isinstance(rule, Flag) else "choice" if choices else "text"
    return Input(
        path=place(loc, document),
        section=section,
        number=number,
        key=key,
        entry="" if number is None else entry_name(document, section, number),
        label=_label(key),
        description=part.model_fields[attribute].description or "",
        kind=kind,
        choices=choices,
        unit=unit_of_rule(rule),
        low=low,
        high=high,
        allowed=allowed_words(rule),
        default=default,
        default_source=source,
        required=part.model_fields[attribute].is_required(),
        value=shown_value(table.get(key)),
        origin=None if began is None else shown_value(began.get(key)),
    )


def simple_inputs(
    document: Mapping[str, Any], origin: Mapping[str, Any], catalogue: Catalogue | None = None
) -> list[Input]:
    """At most eight inputs: those of what the scenario has that matter most."""
    found: list[Input] = []
    weighted = (document.get("policy") or {}).get("objective") == "weighted"
    for section, number, key in _SIMPLE:
        if key == "carbon_price" and not weighted:
            continue
        if len(found) < MOST_SIMPLE and (one := input_at(document, origin, section, number, key, catalogue)):
            found.append(one)
    return found


def table_at(document: Mapping[str, Any], section: str, number: int | None) -> Mapping[str, Any] | None:
    """A table as written; one that may be left out is empty where it is."""
    held: Any = document.get(section, {}) if section else document
    if number is not None:
        held = held[number] if isinstance(held, list) and number < len(held) else None
    return held if isinstance(held, Mapping) else None


def entry_name(document: Mapping[str, Any], section: str, number: int) -> str:
    """What an entry of a list is called: its name, else its SKU and place, else its number."""
    table = table_at(document, section, number) or {}
    words = [str(table[key]) for key in ("name", "sku", "site", "from", "to") if table.get(key)]
    return ", ".join(words[:2]) or f"entry {number + 1}"


def allowed_words(rule: Rule) -> str:
    """What may be in a field, in words."""
    match rule:
        case EachPeriod():
            return f"{allowed_words(rule.rule)}; one value, or one for each period with commas between"
        case Several():
            return f"{allowed_words(rule.rule)}; up to {rule.most} of them with commas between"
        case Quantity():
            return rule.range.words(rule.unit)
        case Fraction():
            return f"{rule.range.words()}, or in percent"
        case Number() | Count():
            return rule.range.words()
        case Day():
            return f"{'the first day of a month' if rule.first_of_month else 'a day'} such as {rule.example}"
        case Choice():
            return " or ".join(rule.words)
        case Flag():
            return "true or false"
    return "a name" if isinstance(rule, Text) and rule.name else "one line of text"


def unit_of_rule(rule: Rule) -> str:
    """The unit of a field, in which its range is said; any that converts to it may be written."""
    inner = rule.rule if isinstance(rule, EachPeriod | Several) else rule
    return inner.unit.removeprefix("1") if isinstance(inner, Quantity) else ""


def value_of(section: str, key: str, text: str) -> Any:
    """What a text that was typed for a key of a section means in the file; None for an empty one."""
    return typed_value(rules_of(section)[key], text)


def cell_of(section: str, key: str, value: Any) -> Any:
    """What a cell of a table of a section means in the file; None for an empty one."""
    return typed_cell(rules_of(section)[key], value)


def _label(key: str) -> str:
    """A key as a heading."""
    words = [_CAPITALS.get(word, word) for word in key.split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def _limits(rule: Rule) -> tuple[float | None, float | None]:
    inner = rule.rule if isinstance(rule, EachPeriod | Several) else rule
    if isinstance(inner, Quantity | Fraction | Number | Count):
        return inner.range.least, inner.range.most
    return None, None


def _choices(document: Mapping[str, Any], rule: Rule, key: str, catalogue: Catalogue) -> tuple[str, ...]:
    """The words that may be chosen: those of the rule, names of the catalogue, or of the scenario's sites."""
    if isinstance(rule, Choice):
        return rule.words
    if isinstance(rule, Several):
        return ()
    if isinstance(rule, SiteRef):
        held = document.get("sites")
        entries = held if isinstance(held, list) else []
        return tuple(str(entry.get("name")) for entry in entries if isinstance(entry, Mapping))
    return tuple(sorted(_NAMES[key](catalogue))) if key in _NAMES else ()


def _same_entry(
    document: Mapping[str, Any], origin: Mapping[str, Any], section: str, number: int | None
) -> int | None:
    """The number that an entry had at first: that of the same name, else its own."""
    if number is None:
        return None
    name = entry_name(document, section, number)
    held = origin.get(section)
    names = [entry_name(origin, section, i) for i in range(len(held))] if isinstance(held, list) else []
    same = [i for i, other in enumerate(names) if other == name]
    if same:
        return number if number in same else same[0]
    return number if number < len(names) and section == "fleet" else len(names)
