"""Which model answers a quantity, and the answer in the unit of the row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from planner.inputs.catalogue import UnknownFact
from planner.inputs.loading import noting_facts
from planner.trace.quantities import Derived
from planner.trace.units import UnitError, convert_factor
from planner.validation import (
    anchored,
    carbon,
    checkpoints,
    closed_forms,
    demand,
    embodied,
    grids,
    histories,
    melange,
    memory,
    nodes,
    peers,
    performance,
    queues,
    recommendation,
    reliability,
    replicas,
    serving,
    techniques,
    timing,
)
from planner.validation.aliases import aliases
from planner.validation.forms import Form, NotUnderstood
from planner.validation.leaves import leaf_form
from planner.validation.opening import derived

_ADAPTERS = (
    carbon,
    grids,
    embodied,
    peers,
    reliability,
    checkpoints,
    histories,
    performance,
    anchored,
    closed_forms,
    memory,
    serving,
    replicas,
    nodes,
    queues,
    recommendation,
    melange,
    demand,
    techniques,
    timing,
)

FORMS: tuple[Form, ...] = tuple(form for module in _ADAPTERS for form in module.BOOK.forms)

# What a leaf or the catalogue raises on inputs that it does not take.
_REFUSALS = (ArithmeticError, UnknownFact, ValueError)


def evaluate(quantity: str, inputs: Mapping[str, Any], unit: str) -> tuple[float, Form]:
    """The value that our model gives, in the row's unit, and the form that took the row.

    Raises:
        NotUnderstood: as of `traced`.
    """
    found, form = traced(quantity, inputs, unit)
    return float(found.value), form


def traced(quantity: str, inputs: Mapping[str, Any], unit: str) -> tuple[Derived, Form]:
    """The same with the arguments that the row states and the facts that the model read.

    Raises:
        NotUnderstood: no form takes the row, the model refuses the inputs, or the unit does not fit.
    """
    problems: list[str] = []
    for form in forms_of(quantity):
        try:
            with noting_facts() as keys:
                value = in_unit(form.answer(inputs), unit)
        except NotUnderstood as error:
            problems.append(str(error))
            continue
        except _REFUSALS as error:
            problems.append(f"{quantity}: {error}")
            continue
        if math.isfinite(value):
            return derived(form, inputs, keys, value, unit), form
        problems.append(f"{quantity}: the model gives {value}")
    raise NotUnderstood(
        "; or ".join(dict.fromkeys(problems)) or f"no model gives '{quantity}' in this version"
    )


def forms_of(quantity: str) -> tuple[Form, ...]:
    """Forms of a quantity; a dotted name is a function of a leaf."""
    if "." in quantity:
        return (leaf_form(quantity),)
    return _named().get(quantity, ())


@cache
def _named() -> dict[str, tuple[Form, ...]]:
    names = dict.fromkeys(form.quantity for form in FORMS)
    return {name: tuple(form for form in FORMS if form.quantity == name) for name in names}


def in_unit(answers: Mapping[str, float], unit: str) -> float:
    """One of the answers in the unit of a row.

    The unit of a row is free text ("W (all GPUs)"). The whole text, then what is left of it without
    brackets, then its first word are looked up among the aliases and the known units; a plain number may
    carry any words that are no unit.

    Raises:
        NotUnderstood: the unit is known and no answer has its dimension, or it is unknown.
    """
    words = False
    for text in _unit_texts(unit):
        for own, value in answers.items():
            try:
                return value * convert_factor(own, text)
            except UnitError as error:
                words = words or "not known" not in str(error)
    if "1" in answers and not words:
        return answers["1"]
    raise NotUnderstood(f"the answer is in {' or '.join(answers)}, the row in '{unit}'")


def _unit_texts(unit: str) -> list[str]:
    plain = " ".join(unit.split("(")[0].split())
    texts = [" ".join(unit.split()), plain, plain.split(" ")[0]]
    units = aliases("unit")
    return list(dict.fromkeys(str(units.get(text, text)) for text in texts if text)) or ["1"]
