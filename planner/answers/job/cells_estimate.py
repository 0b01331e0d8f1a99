"""Numbers in the tables of an estimate: each as a traced number, worked out again from the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from planner.answers.job.cell import WHOLE, Cell, Opened, compared
from planner.answers.job.document import DRAWS, numbers_of
from planner.answers.job.equations import lines_kgco2e, mean_kgco2e_per_kwh, share_fraction, states_kgco2e
from planner.answers.job.ledger import shown_phase, traced_lines
from planner.answers.job.places import MONTHS, by_hour, by_month, places_of
from planner.answers.job.scores import failures_of, market_based, whole_kgco2e
from planner.answers.job.what_if import changes_found, supposed
from planner.trace.explain import Explanation, Step, explain
from planner.trace.quantities import Fact, Traced, chosen, convert, derive, facts_of
from planner.trace.uncertainty import ranged_facts

_PERCENTILE = re.compile(r"p(\d+)")
_STATES = {
    "useful work": "useful",
    "work lost to failures and done again": "lost",
    "waiting for checkpoints": "checkpoint",
    "restarting after failures": "restart",
}


def total(cell: Cell) -> Opened:
    """A total or a score, or a percentile of its draws."""
    node = numbers_of(cell.footprint)[cell.row["explain"]]
    percentile = _PERCENTILE.fullmatch(cell.key)
    return (node,) if percentile is None else _drawn(node, cell.row[cell.key], int(percentile[1]))


def _drawn(node: Traced, value: float, percentile: int) -> Explanation:
    """A percentile of the draws that the document was made with."""
    facts = {fact.key: explain(fact) for fact in sorted(ranged_facts(node), key=lambda fact: fact.key)}
    below = {
        "estimate": explain(node),
        "draws": explain(chosen("draws", DRAWS, "as many as the document was made with", "1")),
        "seed": explain(chosen("seed", 0, "of the random numbers", "1")),
        **facts,
    }
    said = (
        "Facts with a range are drawn together, half of the draws above the value and half below; those that "
        "err for one reason share a random number. Source: McKay, Beckman and Conover, Technometrics 1979 "
        "(Latin hypercube)."
        if facts
        else "No fact behind it has a range: every draw is the estimate."
    )
    equation = f"q = value that {percentile} of 100 draws of the facts stay below"
    return _over(Step(0, f"p{percentile}", value, node.unit, "derived", equation, said), below)


def _over(top: Step, below: Mapping[str, Explanation]) -> Explanation:
    """A step on explanations of its inputs."""
    steps: list[Step] = []
    inputs = {}
    for name, held in below.items():
        first = inputs[name] = 1 + len(steps)
        steps += [
            replace(step, number=first + step.number, inputs={k: first + i for k, i in step.inputs.items()})
            for step in held.steps
        ]
    return Explanation((replace(top, inputs=inputs), *steps))


def phase_part(cell: Cell) -> Opened:
    """What a phase emits or draws, or its share of the job."""
    phase = next(one for one in cell.footprint.phases if shown_phase(one.name) == cell.row["phase"])
    match cell.key:
        case "kgco2e":
            return (whole_kgco2e(phase),)
        case "of_total_fraction":
            return (_share(whole_kgco2e(phase), cell.footprint.carbon),)
        case "electricity_kgco2e":
            return (phase.operational or chosen(cell.key, 0.0, "the phase draws no power of its own"),)
        case "hardware_kgco2e":
            return (phase.embodied or chosen(cell.key, 0.0, "the phase rests on no hardware of its own"),)
        case _:
            return (phase.facility_kwh or chosen(cell.key, 0.0, "the phase draws no power of its own"),)


def _share(part: Traced, whole: Traced) -> Traced:
    return derive(share_fraction, WHOLE, part_kgco2e=part, whole_kgco2e=whole)


def scope(cell: Cell) -> Opened:
    """Lines of the ledger by the number of their scope, which its name begins with."""
    scope, _, what = cell.row["scope"].partition(", ")
    if what == "market-based":
        market = market_based(cell.footprint)
        assert market is not None, "its row says so"
        return (market[1],)
    held = {
        f"{line.phase.replace('-', '_').replace(' ', '_')}_{line.name.replace(' ', '_')}_kgco2e": node
        for line, node in traced_lines(cell.footprint, None)
        if scope == (str(line.scope) if line.category is None else f"3.{int(line.category)}")
    }
    if not held:
        return (chosen("scope_kgco2e", 0.0, "no phase of a job burns anything on site"),)
    return (derive(lines_kgco2e, WHOLE, **held),)


def state(cell: Cell) -> Opened:
    """Carbon of the training run in one of its states, or its share of the run."""
    parts = failures_of(cell.footprint)
    assert parts is not None, "there are rows"
    part = parts[f"{_STATES[cell.row['state']]}_kgco2e"]
    return (part if cell.key == "kgco2e" else _share(part, derive(states_kgco2e, **parts)),)


def change(cell: Cell) -> Opened:
    """The job with one thing different, worked out again, next to the job as it is."""
    change = next(islice(changes_found(cell.footprint), cell.number, None))
    said = f"with {change.what} {change.then} in place of {change.now}"
    return _saying(explain(compared(change.carbon, cell)), said)


def _saying(opened: Explanation, said: str) -> Explanation:
    """The same, with what is different said where the number stands that it makes different."""
    steps = list(opened.steps)
    number = steps[0].inputs.get("then_kgco2e", 0)
    steps[number] = replace(steps[number], place=f" ({said})")
    return Explanation(tuple(steps))


def swing(cell: Cell) -> Opened:
    """A fact at an end of its range, or the job with the fact there."""
    fact = facts_of(cell.footprint.carbon)[cell.row["fact"]]
    which = "low" if cell.key.endswith("low") else "high"
    end = _at(fact, which)
    if not cell.key.startswith("at_"):
        return (end,)
    then = supposed(cell.footprint.carbon, {fact.key: end})
    return _saying(explain(then), f"with {fact.key} at its {which} end")


def _at(fact: Fact, end: str) -> Fact:
    value = fact.low if end == "low" else fact.high
    return replace(
        fact, value=float(value or 0), note=f"the {end} end of its range; {fact.note}".rstrip("; ")
    )


def fact_value(cell: Cell) -> Opened:
    """A fact, an end of its range, or the mean of its hours."""
    fact = facts_of(*numbers_of(cell.footprint).values())[cell.row["key"]]
    if cell.key in ("low", "high"):
        return (_at(fact, cell.key),)
    return (derive(mean_kgco2e_per_kwh, hourly_kgco2e_per_kwh=fact) if np.ndim(fact.value) else fact,)


def prediction(cell: Cell) -> Opened:
    """Length, effective time, interval or time between failures of a predicted run."""
    training = cell.footprint.phase("training")
    assert training is not None, "its run is predicted"
    done = training.done
    assert done is not None, "a prediction has nodes"
    assert done.states is not None, "a prediction has states"
    found: dict[str, Traced | None] = {
        "duration_h": done.duration_h,
        "ettr_fraction": done.useful,
        "interval_min": convert(done.states.renewal["interval_h"], "min"),
        "mttf_h": done.states.renewal["mttf_h"],
    }
    node = found[cell.key]
    assert node is not None, "all of it is predicted"
    return (node,)


def hour(cell: Cell) -> Opened:
    """The job in one hour of the day at a place."""
    if cell.key == "hour":
        return (chosen("hour", cell.row["hour"], "each hour of the day is tried, UTC", "h"),)
    carbon = by_hour(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    return compared(carbon, cell), cell.row["hour"] if np.ndim(carbon.value) else None


def month(cell: Cell) -> Opened:
    """The job at a place, begun in one month."""
    if cell.key == "month":
        return (chosen("month", cell.row["month"], f"each of {MONTHS} months is tried", "1"),)
    carbon = by_month(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    assert carbon is not None, "there are rows"
    return compared(carbon, cell), cell.row["month"] - 1


def extreme(cell: Cell) -> Opened:
    """The job in the cleanest or the dirtiest hour of a place."""
    carbon = by_hour(cell.footprint, places_of(cell.footprint)[cell.row["place"]])
    if not np.ndim(carbon.value):
        return (compared(carbon, cell),)
    pick = np.argmin if cell.key.startswith("cleanest") else np.argmax
    return compared(carbon, cell), int(pick(np.asarray(carbon.value)))
