"""Every public model function of the leaves by its dotted name: `carbon.embodied.die_kgco2e`.

The inputs are the function's own arguments in their own units. Where a function returns several values, a
field follows its name: `reliability.checkpoint.hours_by_state.lost_h`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from planner.trace.units import DIMENSIONLESS, UnitError, unit_of
from planner.validation.forms import OTHER_WORDS, Form, NotUnderstood, spellings_for, unbundled
from reliability.lifetimes import (
    Exponential,
    GeneralisedGamma,
    LogLogistic,
    LogNormal,
    Weibull,
)

LEAVES = ("carbon", "reliability", "planner.performance")
LIFETIMES = (Exponential, Weibull, LogNormal, LogLogistic, GeneralisedGamma)
# Checks, reading of logs, searches and what fits are made of; and simulations: those give columns and may be
# asked to run without end.
LEFT_OUT = (
    "bundles",
    "domain",
    "logs",
    "search",
    "rows",
    "likelihood",
    "families",
    "covariates",
    "crosscheck",
    "simulate",
    "two_level_simulation",
    "fleet_setting",
    "fleet_simulation",
    "sampling_error",
)
SUBJECT = "functions of the leaves"
# Names of functions and fields that files of users may still hold.
FORMER_NAMES = {
    "implied_node_mtbf_h": "implied_node_mttf_h",
    "backtest_pool": "backtest_spares",
    "pool_servers": "servers_needed",
    "pool_wait_h": "servers_wait_h",
    "spare_pool": "spares_by_history",
}


def leaf_form(quantity: str) -> Form:
    """The form of a dotted name.

    Raises:
        NotUnderstood: no leaf has such a function.
    """
    known, quantity = functions(), quantity.removeprefix("planner.")
    quantity = ".".join(FORMER_NAMES.get(word, word) for word in quantity.split("."))
    names = [name for name in known if quantity == name or quantity.startswith(name + ".")]
    if not names:
        raise NotUnderstood(f"no leaf has a function '{quantity}'; `everfleet validate --list` names them")
    function, path = unbundled(known[names[0]], but=LIFETIMES), quantity[len(names[0]) + 1 :]

    def answer(**inputs: Any) -> float:
        try:
            result = function(**{name: _argument(value) for name, value in inputs.items()})
        except TypeError as error:  # a column where the function takes one number, or the other way round
            raise NotUnderstood(f"{quantity}: {error}") from error
        return _number(result, path)

    answer.__doc__ = function.__doc__
    answer.__signature__ = _open_signature(function)  # type: ignore[attr-defined]
    answer.__annotations__ = dict.fromkeys(inspect.signature(function).parameters, Any)
    return Form(
        quantity, SUBJECT, _unit(quantity.rsplit(".", 1)[-1]), answer, spellings_for(answer, OTHER_WORDS)
    )


@cache
def functions() -> Mapping[str, Callable[..., Any]]:
    """Public functions with named arguments, by dotted name without `planner.`."""
    found = {}
    for module in _modules():
        for name, function in inspect.getmembers(module, inspect.isfunction):
            at_home = f"{function.__module__}.".startswith(f"{module.__name__}.")
            if at_home and not name.startswith("_"):
                found[f"{module.__name__.removeprefix('planner.')}.{name}"] = function
    return found


def _modules() -> Iterator[Any]:
    for leaf in LEAVES:
        package = importlib.import_module(leaf)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_") and module.name not in LEFT_OUT:
                yield importlib.import_module(f"{leaf}.{module.name}")


def _unit(name: str) -> str:
    try:
        return unit_of(name)
    except UnitError:
        return DIMENSIONLESS


def _open_signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function).replace(return_annotation=inspect.Signature.empty)


def _argument(value: Any) -> Any:
    """A list is a column; a table of parameters is a lifetime."""
    if isinstance(value, list):
        return np.asarray(value, dtype=np.float64)
    if isinstance(value, dict):
        for kind in LIFETIMES:
            if set(value) == {field.name for field in fields(kind)}:
                return kind(**{name: _argument(one) for name, one in value.items()})
        raise NotUnderstood(f"no lifetime has the parameters {', '.join(value)}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotUnderstood(f"a leaf takes numbers and lists of numbers, got {str(value)[:40]!r}")
    return value


def _number(result: Any, path: str) -> float:
    for name in path.split(".") if path else ():
        if name.startswith("_") or not hasattr(result, name):
            raise NotUnderstood(f"the result has no field '{name}'")
        result = getattr(result, name)
    if np.ndim(result) or not isinstance(result, int | float | np.number | np.ndarray):
        raise NotUnderstood("the result is not one number: name a field of it")
    return float(result)
