"""Which price, rate or grid changes the fleet, and where: the sensitivity of a plan as a document."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from planner.answers.plan.names import changes_text
from planner.answers.plan.notes import notes_of
from planner.answers.tradeoffs.levers import Lever, levers
from planner.inputs.catalogue import Catalogue
from planner.inputs.consistency import with_cards
from planner.inputs.loading import load_catalogue
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import Scenario, digest
from planner.program.assembly import assemble, objective_unit
from planner.program.plan import Plan, Watch, plan_fleet
from planner.program.searches import Flip, Sensitivity, find_flips
from planner.program.solution import Problem, Status
from planner.trace.currency import currency_record, showing, shown_unit, shown_value
from planner.trace.explain import Steps
from planner.trace.numbers import amount_text, count_text, number_text, percent_text, share_of
from planner.trace.quantities import Chosen
from planner.trace.records import Document, Record, numbered, plain_rows

EDITION = 1
STEPS = 48  # a flip is found to this part of its range
ROUNDING = 1e-6
# Column of a row -> what its number is.
OPENS = {
    "today": "where the price, the rate or the grid is in the scenario",
    "looked_to": "how far it was varied on this side",
    "holds_to": "up to here the fleet of the plan stays the best: a plan was solved for it",
    "changes_at": "from here another fleet is better: a plan was solved for it",
    "regret_at_the_end_fraction": "what the fleet of the plan costs more at the end of the range than the "
    "one that is best there: both were solved",
}


def sensitivity_document(
    scenario: Scenario,
    *,
    vary: Sequence[str] = (),
    watch: Watch | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Document:
    """Where each lever makes another fleet better, and what keeping this one costs then.

    A fleet counts as good as the best while it costs no more than twice the gap of the search. `watch` is
    told what is looked at and about how long the rest takes; one yes of `should_stop`, or Ctrl-C, ends the
    search and keeps what was found.
    """
    tell = watch or (lambda _: None)
    catalogue = load_catalogue()
    wanted = levers(scenario, catalogue, vary)
    plan = plan_fleet(scenario, catalogue=catalogue, baselines=False, watch=watch, should_stop=should_stop)
    found: list[tuple[Lever, Sensitivity]] = []
    if plan.answer.solution is not None:
        with suppress(KeyboardInterrupt):
            for each in _in_turn(plan, catalogue, wanted, tell, should_stop or (lambda: False)):
                found.append(each)
    known = len(found) == len(wanted) or plan.answer.status is Status.INFEASIBLE
    return _document(plan, found, complete=known)


def _in_turn(
    plan: Plan, catalogue: Catalogue, wanted: Sequence[Lever], tell: Watch, stop: Callable[[], bool]
) -> Iterator[tuple[Lever, Sensitivity]]:
    """Each lever with its flips as soon as they are known, until somebody stops the search."""
    began = time.monotonic()
    for number, lever in enumerate(wanted):
        if stop():
            return
        left = time_left_text(time.monotonic() - began, done=number, of=len(wanted))
        head = f"{number + 1} of {len(wanted)}: {lever.name}"
        tell(f"{head}{left}")
        flips = _flips(plan, catalogue, lever, _saying(tell, head, left), stop)
        if flips.stopped:
            return
        yield lever, flips


def _saying(tell: Watch, head: str, tail: str) -> Watch:
    """Tells a text between what is looked at and how long the rest takes."""
    return lambda text: tell(f"{head}{text}{tail}")


def time_left_text(spent_s: float, *, done: int, of: int) -> str:
    """How long the rest takes if each lever takes as long as those before; nothing before the first."""
    if done == 0:
        return ""
    left_s = spent_s / done * (of - done)
    return (
        f"; about {count_text(left_s / 60)} min left"
        if left_s >= 90
        else f"; about {count_text(left_s)} s left"
    )


def _flips(
    plan: Plan, catalogue: Catalogue, lever: Lever, say: Watch, should_stop: Callable[[], bool]
) -> Sensitivity:
    @cache
    def problem_of(value: float) -> Problem:
        if value == lever.today:
            return plan.problem
        say(f", at {_value(lever, value)}")
        changed = lever.changed(value)
        return assemble(Inputs(changed, with_cards(changed, catalogue))).problem

    solve = plan.inputs.scenario.solve
    return find_flips(
        problem_of,
        factor=lever.today,
        low=lever.low,
        high=lever.high,
        width=(lever.high - lever.low) / STEPS,
        regret_fraction=2 * solve.gap_fraction + ROUNDING,
        gap_fraction=solve.gap_fraction,
        time_limit_s=solve.time_limit_s,
        should_stop=should_stop,
        base=plan.answer,
    )


def _document(plan: Plan, found: Sequence[tuple[Lever, Sensitivity]], *, complete: bool) -> Document:
    with showing(plan.inputs.currency):
        return _said(plan, found, complete=complete) | currency_record(plan.inputs.currency)


def _said(plan: Plan, found: Sequence[tuple[Lever, Sensitivity]], *, complete: bool) -> Document:
    scenario = plan.inputs.scenario
    steps, traced = Steps(), [row for lever, each in found for row in _rows(plan, lever, each)]
    cells, rows = numbered({"flips": traced}, steps), plain_rows(traced)
    said = [_sentence(plan, lever, each) for lever, each in found]
    if plan.answer.solution is None:
        said = ["There is no plan to hold against others: `everfleet plan` says why."]
    elif not complete:
        said.append(f"Stopped early: only {len(found)} were looked at.")
    said += notes_of([plan.inputs], "this plan")
    return {
        "everfleet_sensitivity": EDITION,
        "title": f"Where the plan would change: {scenario.title}",
        "scenario": scenario.path.name if scenario.path else "",
        "scenario_digest": digest(scenario),
        "complete": complete,
        "sections": {
            "flips": {
                "title": "What would change the fleet",
                "said": said,
                "tables": {"flips": rows} if rows else {},
            }
        },
        "cells": cells,
        "steps": steps.packed(),
    }


def _rows(plan: Plan, lever: Lever, found: Sensitivity) -> list[Record]:
    """One row for each side of a lever."""
    rows = []
    for side, end, flip in (("below", lever.low, found.below), ("above", lever.high, found.above)):
        if end == lever.today:
            continue
        regret = None if flip is None else share_of(flip.at_end.regret, flip.at_end.objective_best)
        row = {
            "what": lever.name,
            "unit": lever.unit,
            "today": lever.today,
            "side": side,
            "looked_to": end,
            "holds_to": end if flip is None else flip.held_factor,
            "changes_at": None if flip is None else flip.flipped_factor,
            "regret_at_the_end_fraction": regret if regret is None or math.isfinite(regret) else None,
            "then": "" if flip is None else _then(plan, flip),
        }
        rows.append({key: _opening(lever, key, value) for key, value in row.items()})
    return rows


def _opening(lever: Lever, key: str, value: Any) -> Any:
    """A number of a row with what it is; a name as it is."""
    if key not in OPENS or value is None:
        return value
    unit = "1" if key.endswith("_fraction") else lever.unit
    return Chosen(value, unit, name=key, reason=f"{lever.name}: {OPENS[key]}")


def _then(plan: Plan, flip: Flip) -> str:
    if flip.at_flip.best is None:
        return "no plan keeps every limit"
    return changes_text(plan.problem, plan.inputs.scenario.horizon.period_labels, flip.differences)


def _sentence(plan: Plan, lever: Lever, found: Sensitivity) -> str:
    """Up to where the fleet stays best, and what changes there."""
    name = f"{lever.name[0].upper()}{lever.name[1:]}" if " " in lever.name else lever.name
    if found.below is None and found.above is None:
        return f"{name}: the fleet stays from {number_text(lever.low, 3)} to {_value(lever, lever.high)}."
    said = []
    for word, flip in (("below", found.below), ("above", found.above)):
        if flip is not None:
            said.append(
                f"{word} {_value(lever, _between(flip))} {_then(plan, flip)}{_keeping(plan, lever, flip)}"
            )
    return f"{name}: {'; '.join(said)}."


def _between(flip: Flip) -> float:
    return (flip.held_factor + flip.flipped_factor) / 2


def _keeping(plan: Plan, lever: Lever, flip: Flip) -> str:
    """What keeping the fleet costs at the end of the range: a share, or an amount where there is none."""
    end = _value(lever, flip.at_end.factor)
    if math.isinf(flip.at_end.objective_kept):
        return f" (at {end} this fleet breaks a limit)"
    if not math.isfinite(flip.at_end.regret):
        return ""
    share = share_of(flip.at_end.regret, flip.at_end.objective_best)
    unit = objective_unit(plan.problem.objective)
    more = amount_text(flip.at_end.regret, unit) if share is None else percent_text(share, 2)
    return f" (keeping this fleet costs {more} more at {end})"


def _value(lever: Lever, value: float) -> str:
    _, unit = shown_unit(lever.unit)
    number = number_text(shown_value(value, lever.unit), 3)
    return f"{number} {unit}".rstrip() + (" today's" if unit == "times" else "")
