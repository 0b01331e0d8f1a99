"""Where the numbers of plans side by side come from: each from its own plan, differences from two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planner.report.cells import Number, below, close, explanation_of, kept_explanation, kept_for, value_of
from planner.report.charts.compared import UNITS
from planner.trace.explain import Explanation
from planner.trace.numbers import share_of
from planner.trace.records import Record

OTHER = "this plan opens all of its numbers on its own page"


def total_explanation(record: Record, names: Sequence[str], row: int, key: str) -> Explanation | None:
    """Why a total of a plan, or how two differ, is what it says; `key` is the heading of the column."""
    one = record["totals"][row]
    opened = partial(_total_of, record, one["name"])
    return _side_by_side(names, one["label"], one["unit"], one["values"], key, opened)


def term_explanation(
    record: Record, name: str, names: Sequence[str], row: int, key: str
) -> Explanation | None:
    """The same for a term of the cost or the carbon."""
    one = record["terms"][name][row]
    opened = partial(_term_of, record, name)
    return _side_by_side(names, one["label"], UNITS[name], one["values"], key, opened)


def _side_by_side(
    names: Sequence[str],
    label: str,
    unit: str,
    values: Sequence[float | None],
    key: str,
    opened: Callable[[int, float], Explanation | None],
) -> Explanation | None:
    """A number of one plan, or the difference to the first."""
    plans: dict[str, Number | Explanation] = {
        name: opened(number, value) or Number(f"{label} of {name}", value, unit, "another plan", about=OTHER)
        for number, (name, value) in enumerate(zip(names, values, strict=True))
        if value is not None
    }
    if key in plans:
        return explanation_of(plans[key])
    name, first = key.partition(" ")[0], names[0]
    if name not in plans or first not in plans or " − " not in key:
        return None
    both = {name: plans[name], first: plans[first]}
    one, other = values[names.index(name)], values[0]
    assert one is not None
    assert other is not None
    if not key.endswith("share"):
        return explanation_of(
            Number("difference", one - other, unit, equation=f"difference = {name} - {first}", inputs=both)
        )
    share = share_of(one - other, other)
    if share is None:
        return None
    equation = f"difference_share = ({name} - {first}) / {first}"
    return explanation_of(Number("difference_share", share, equation=equation, inputs=both))


def _total_of(record: Record, name: str, number: int, value: float) -> Explanation | None:
    """A total as its plan keeps it."""
    return kept_for({"explanations": record["explanations"][number]}, name, value)


def _term_of(record: Record, name: str, number: int, value: float) -> Explanation | None:
    """A term, which its plan keeps as one of the inputs of the total."""
    whole = kept_explanation({"explanations": record["explanations"][number]}, name)
    inputs = () if whole is None else whole.steps[0].inputs.values()
    for at in inputs:
        if whole is not None and close(whole.steps[at].value, value):
            return below(whole, at)
    return None


def mix_explanation(row: Record, key: str) -> Explanation | None:
    """Why a mix of inputs has its money and carbon: a plan of its own."""
    about = {
        "cost_usd": "the best plan of this mix of the inputs of both scenarios, solved for the comparison",
        "carbon_kgco2e": "the carbon of that plan, the best of this mix of inputs",
        "gap_fraction": "how much better than this plan one could still be at the most",
    }
    units = {"cost_usd": "USD", "carbon_kgco2e": "kgCO2e"}
    value = row.get(key)
    if key not in about or not isinstance(value, int | float):
        return None
    return explanation_of(
        Number(key, value, units.get(key, "1"), "another plan", about=about[key], place=f" ({row['mix']})")
    )


def input_text(record: Record, names: Sequence[str], row: int, key: str) -> str | None:
    """Where an input of one of the plans stands; it may be a text as well as a number."""
    if key not in names:
        return None
    number = list(names).index(key)
    one = record["inputs"][row]
    value = one["values"][number]
    said = "not stated: the default holds" if value is None else f"{value}  (yours)"
    return f"{one['path']} = {said}\n    scenario of {key}, '{record['plans'][number]['title']}'"


def step_explanation(
    record: Record, name: str, names: Sequence[str], ends: tuple[int, int], label: str
) -> Explanation | None:
    """What one term adds on the way from one plan to another."""
    before, after = ends
    for row, one in enumerate(record["terms"][name]):
        if one["label"] == label:
            inputs: dict[str, Number | Explanation] = {}
            for place in ends:
                found = term_explanation(record, name, names, row, names[place])
                nothing = Number(f"{label} of {names[place]}", 0.0, UNITS[name], about="no such term")
                inputs[names[place]] = found or nothing
            value = value_of(inputs[names[after]]) - value_of(inputs[names[before]])
            equation = f"change = {names[after]} - {names[before]}"
            return explanation_of(Number("change", value, UNITS[name], equation=equation, inputs=inputs))
    return None


def group_explanation(found: Record, measure: str, group: str) -> Explanation | None:
    """What a group of inputs adds: its mean over the orders in which the groups can be changed."""
    for row in found["groups"]:
        if row["group"] == group:
            about = (
                "what the plan changes by when this group of inputs is changed, mean over the "
                f"{found['orders']} orders in which the groups can be; every mix is a plan of its own, below"
            )
            unit = "USD" if measure.endswith("usd") else "kgCO2e"
            return explanation_of(Number(measure, row[measure], unit, about=about, place=f" ({group})"))
    return None
