"""Where our value of a published row comes from: the model, what the row states, and the facts it read."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planner.inputs.loading import load_catalogue
from planner.trace.quantities import Call, Chosen, Derived, Fact, Source, Traced, calculated
from planner.trace.units import DIMENSIONLESS, UnitError, unit_of
from planner.validation.forms import Form

STATED = "stated by the row"


class _Model:
    """The function of a form, called as the quantity of its rows, with the words that a row states."""

    def __init__(self, form: Form, words: Iterable[str]) -> None:
        self._function, self.__name__ = form.function, form.quantity
        said, text = ", ".join(words), inspect.cleandoc(form.function.__doc__ or form.quantity)
        if said:
            text += f"\n{'' if 'Source' in text else 'Source: '}The row states {said}."
        self.__doc__ = text

    def __call__(self, **inputs: Any) -> Any:
        """What the form's function gives."""
        return self._function(**inputs)


def derived(form: Form, inputs: Mapping[str, Any], keys: Iterable[str], value: float, unit: str) -> Derived:
    """Our value of a row, from its arguments and from the facts of these keys."""
    numbers, words = dict[str, Traced](), list[str]()
    for name, held in _flat(form.arguments(inputs)):
        if isinstance(held, bool | str) or held is None:
            words.append(f"{name} {held}")
        elif isinstance(held, int | float):
            numbers[name] = Chosen(float(held), _unit(name), name=name, reason=STATED)
        else:
            words.append(f"{name} of {len(held)}")
    catalogue = load_catalogue()
    facts = {key: catalogue.facts[key] for key in sorted(keys) if key in catalogue.facts}
    return Derived(value, unit, call=Call(_Model(form, words), numbers | facts))


def published(row: Mapping[str, str], value: float) -> Fact:
    """The value that a row publishes."""
    return Fact(
        value,
        row["unit"],
        key=row["id"] or "expected",
        source=Source("published", row["source"] or "a row without a source"),
        locator="",
        kind="published",
    )


def error_of(ours: Traced, expected: Traced) -> Derived:
    """How far ours is from theirs, as `relative_error` has it."""
    theirs = float(expected.value)
    sign = "(0 - expected)" if theirs < 0 else "expected"
    text = f"(ours - expected) / {sign}" if theirs else "ours - expected"
    about = "as a share of what is published" if theirs else ""
    return calculated("error", text, DIMENSIONLESS, about, ours=ours, expected=expected)


def _flat(held: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Arguments by name, parts of those that are tables by theirs."""
    for name, value in held.items():
        fields = value if isinstance(value, Mapping) else getattr(value, "__dataclass_fields__", None)
        if fields is None:
            yield f"{start}{name}", value
        else:
            parts = value if isinstance(value, Mapping) else {one: getattr(value, one) for one in fields}
            yield from _flat(parts, f"{start}{name}.")


def _unit(name: str) -> str:
    try:
        return unit_of(name.rpartition(".")[2])
    except UnitError:
        return DIMENSIONLESS
