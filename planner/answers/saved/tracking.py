"""A kept plan next to what happened, and its scenario from here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.answers.opening import open_answer
from planner.answers.rolling_horizon import scenario_from_here
from planner.answers.track import track_document
from planner.inputs.actuals import Actual, read_actuals
from planner.inputs.files import read_limited
from planner.inputs.loading import load_catalogue
from planner.report.shape import written
from planner.store.store import open_store
from planner.trace.currency import USD, currency_of
from planner.trace.errors import InputError
from planner.trace.records import Record


def tracked(
    named: str,
    files: Sequence[Path],
    *,
    store: str | None = None,
    scenario: Path | None = None,
    again: bool = False,
    interval_s: float | None = None,
) -> tuple[Record, str | None, list[str]]:
    """A plan next to what happened; where it is planned `again`, also the scenario's text, and notes.

    Args:
        named: the folder or the JSON of a plan, or the first characters of a saved one's digest.
        files: what happened.
        store: where saved plans lie.
        scenario: that the plan was made from, where the plan is not a saved one.
        again: whether to make the scenario from here.
        interval_s: seconds between scrapes without times.

    Raises:
        InputError: the plan or a file cannot be used, or the scenario from here needs more.
    """
    held = open_answer(Path(named))
    text = None if scenario is None else _text(scenario)
    if held is None:
        kept = open_store(store)
        held = kept.document(named)
        text = kept.scenario(kept.plan(named).scenario).text if text is None else text
    plan = written(held)
    if plan["kind"] != "plan" or not plan["totals"]:
        raise InputError(f"{named}: is no plan that was found: name one that `plan` wrote")
    document, actuals = tracked_plan(plan, files, interval_s=interval_s)
    if not again:
        return document, None, []
    if text is None:
        raise InputError("--scenario FILE says what the plan was made from: a folder does not keep it")
    name = scenario.name if scenario is not None else plan["scenario"]
    return document, *from_here(text, name, plan, document, actuals)


def tracked_plan(
    plan: Record, files: Sequence[Path], *, interval_s: float | None = None
) -> tuple[Record, list[Actual]]:
    """A plan in the one shape next to what files say of its months, and what they say.

    Raises:
        InputError: a file cannot be used, or says nothing of the plan.
    """
    currency = currency_of(plan)
    catalogue = load_catalogue()
    actuals = read_actuals(
        files, catalogue, USD if currency is None else currency.code, interval_s=interval_s
    )
    return track_document(plan, actuals, catalogue), actuals


def from_here(
    text: str, name: str, plan: Record, document: Record, actuals: Sequence[Actual]
) -> tuple[str, list[str]]:
    """The scenario that plans what is left, and what was changed, in words.

    Raises:
        InputError: it needs more than was reported, or no period is left.
    """
    inside = [one for one in actuals if one.month in document["months"]]
    return scenario_from_here(text, name, plan, inside)


def _text(path: Path) -> str:
    try:
        return read_limited(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a scenario: {error}") from None
