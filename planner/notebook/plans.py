"""`plan`, `pareto`, `futures`, `compare`, `scenario` and `load`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.notebook.answer import Answer
from planner.notebook.arguments import (
    Changes,
    Files,
    Named,
    Quantity,
    Watch,
    given_in_python,
    in_python,
    scenario_with_files,
)
from planner.trace.errors import InputError

if TYPE_CHECKING:
    from planner.answers.saved.compare import Side

_DIGEST = re.compile(r"[0-9a-f]{4,64}")


@in_python
def plan(
    scenario: Named,
    *,
    changes: Changes = None,
    baselines: bool = True,
    verify: bool = False,
    prices: bool = False,
    alternatives: int = 0,
    within_fraction: Quantity = 0.02,
    anew: bool = False,
    traffic: Files = None,
    hourly: Files = None,
    electricity: Files = None,
    watch: Watch = None,
    data: str | Path | None = None,
) -> Answer:
    """What to buy, keep, retire and place, and why: `everfleet plan`.

    >>> fleet = ef.plan("one-training-job", changes={"policy.carbon_price": "300 USD/t"})
    >>> fleet["purchases"].to_pandas()["sku"].tolist()
    ['a100-80-8']
    >>> fleet["purchases"][0]["nodes"]
    3

    Where no plan exists, `said` and the table `clash` name the limits that cannot be kept together.

    Args:
        scenario: the path of a scenario, the name of a shipped one, its tables, or the answer of `scenario`.
        changes: other values by path, such as `{"policy.carbon_price": "300 USD/t"}`; None removes one.
        baselines: whether to plan the cheapest fleet and today's, too.
        verify: whether to play its services request by request, next to the closed form.
        prices: whether to say what one more of each limit is worth.
        alternatives: how many other plans to look for that cost little more.
        within_fraction: how much more they may cost: 0.02 or "2 %".
        anew: whether to search again what was searched before.
        traffic: a trace of requests (CSV) by the name of a service: `{"chat": "requests.csv"}`.
        hourly: hours of a grid (CSV) by the name of a site; what they count is read from the file.
        electricity: hours of electricity prices (CSV) by the name of a site.
        watch: called with each message on the progress, such as `print`.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the scenario is wrong; the error holds every problem.
    """
    said = locals()
    if alternatives < 0:
        raise InputError(f"alternatives: {alternatives} is no number of plans: write 0 or more")
    from planner.answers.plan.document import plan_document
    from planner.answers.plan.evidence import defended
    from planner.inputs.plan_question import PlanQuestion
    from planner.notebook.plan_answers import plan_made
    from planner.program.plan import plan_fleet, silent
    from planner.store.searches import kept_searches

    files: dict[str, Files] = {"traffic": traffic, "hourly": hourly, "electricity": electricity}
    meant, notes = scenario_with_files(scenario, changes, **files)
    if watch is not None:
        for note in notes:
            watch(note)
    question = PlanQuestion(**given_in_python(said, PlanQuestion))
    memory = kept_searches(anew=anew)
    made = plan_fleet(meant, baselines=baselines, memory=memory, watch=watch)
    found = defended(made, question, watch=watch)
    return plan_made(plan_document(found, watch=watch or silent), meant)


@in_python
def pareto(
    scenario: Named,
    *,
    changes: Changes = None,
    points: int = 15,
    traffic: Files = None,
    hourly: Files = None,
    electricity: Files = None,
    watch: Watch = None,
    data: str | Path | None = None,
) -> Answer:
    """Money against carbon: the cheapest plan at each level of carbon: `everfleet pareto`.

    >>> front = ef.pareto("one-training-job", points=2)
    >>> front["points"][0]["mark"]
    'cleanest'

    Args:
        scenario: as in `plan`.
        changes: as in `plan`.
        points: how many plans to make, 2 or more.
        traffic: as in `plan`.
        hourly: as in `plan`.
        electricity: as in `plan`.
        watch: called with each message on the progress.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the scenario is wrong, or the points are fewer than 2.
    """
    from planner.answers.tradeoffs.carbon_front import front_document
    from planner.notebook.plan_answers import front_made

    if points < 2:
        raise InputError("a front has two ends: ask for 2 points or more")
    files: dict[str, Files] = {"traffic": traffic, "hourly": hourly, "electricity": electricity}
    meant, _ = scenario_with_files(scenario, changes, **files)
    return front_made(front_document(meant, points=points, watch=watch))


@in_python
def futures(
    scenario: Named,
    *,
    changes: Changes = None,
    traffic: Files = None,
    hourly: Files = None,
    electricity: Files = None,
    watch: Watch = None,
    data: str | Path | None = None,
) -> Answer:
    """One plan for several futures: what to order now, whatever comes: `everfleet futures`.

    >>> ef.futures("one-training-job")
    Traceback (most recent call last):
    ...
    planner.trace.errors.InputError: the scenario names no future: add [[futures]], or [uncertainty] ...

    Args:
        scenario: as in `plan`; its futures are named in it, or drawn from the ranges of facts.
        changes: as in `plan`.
        traffic: as in `plan`.
        hourly: as in `plan`.
        electricity: as in `plan`.
        watch: called with each message on the progress.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the scenario is wrong, or names no futures.
    """
    from planner.answers.futures.commands import plan_for_futures
    from planner.notebook.plan_answers import futures_made

    files: dict[str, Files] = {"traffic": traffic, "hourly": hourly, "electricity": electricity}
    meant, _ = scenario_with_files(scenario, changes, **files)
    document, _ = plan_for_futures(meant, watch=watch)
    return futures_made(document, meant)


@in_python
def compare(
    before: Named, after: Named, *, store: str | None = None, data: str | Path | None = None
) -> Answer:
    """Two plans: how their inputs and their results differ: `everfleet compare`.

    >>> cheap = ef.plan("one-training-job", baselines=False)
    >>> dearer = {"sites.stockholm.electricity_price": "200 USD/MWh"}
    >>> dear = ef.plan("one-training-job", baselines=False, changes=dearer)
    >>> change = ef.compare(cheap, dear)
    >>> change["inputs"][0]["path"], change.totals["cost"]["difference"] > 0
    ('sites.stockholm.electricity_price', True)

    Args:
        before: the answer of `plan`, a folder or file that it was saved to, the first characters of a saved
            plan's digest, or a scenario, which is planned.
        after: the other one.
        store: where saved plans lie: a SQLite file or a URL; else as the command finds it.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: one of them is no plan.
    """
    from planner.answers.saved.compare import compare_sides
    from planner.notebook.plan_answers import comparison_made

    sides = [_side(before, store), _side(after, store)]
    known = all(side.inputs for side in sides)
    if not known:
        sides = [replace(side, inputs={}) for side in sides]
    return comparison_made(compare_sides(*sides), inputs_known=known)


def _side(named: Named, store: str | None) -> Side:
    """One side of a comparison; a plan that is not saved has no day and no files of its own."""
    from planner.answers.saved.compare import flat_inputs, kept_side, saved_side
    from planner.report.plain import to_json
    from planner.store import open_store

    if isinstance(named, str) and _is_digest(named):
        return saved_side(open_store(store), named)
    answer = named if isinstance(named, Answer) and named.kind != "scenario" else _kept(named) or plan(named)
    if answer.kind != "plan":
        raise InputError(f"{answer!r} is no plan: compare plans")
    own = answer._scenario
    return kept_side(json.loads(to_json(answer._document)), None if own is None else flat_inputs(own))


@in_python
def scenario(
    named: Named,
    *,
    changes: Changes = None,
    traffic: Files = None,
    hourly: Files = None,
    electricity: Files = None,
    data: str | Path | None = None,
) -> Answer:
    """A scenario, read and checked whole: `everfleet check`. What comes back can be planned.

    >>> quarter = ef.scenario("next-quarter", changes={"sites.dallas.pue": 1.2})
    >>> quarter["sites"].to_pandas()[["name", "pue"]].values.tolist()[0]
    ['dallas', 1.2]

    Args:
        named: the path of a scenario, the name of a shipped one, its tables, or such an answer.
        changes: other values by path, as in `plan`.
        traffic: as in `plan`; what was recognised in a file is said.
        hourly: as in `plan`.
        electricity: as in `plan`.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: it is wrong; the error holds every problem.
    """
    from planner.answers.check import scenario_record
    from planner.notebook.plan_answers import scenario_made

    files: dict[str, Files] = {"traffic": traffic, "hourly": hourly, "electricity": electricity}
    meant, notes = scenario_with_files(named, changes, **files)
    said = named if isinstance(named, str | Path) else meant.title
    record = scenario_record(str(said), meant)
    return scenario_made([{**record, "notes": [*notes, *record["notes"]]}], meant)


@in_python
def load(named: str | Path, *, store: str | None = None) -> Answer:
    """An answer that was saved: its tables, totals and kept explanations; cells of plans and fits open, too.

    >>> folder = ef.plan("one-training-job", baselines=False).save("quarter")
    >>> ef.load("quarter").totals["cost"]["unit"]
    'USD'

    Args:
        named: the folder or the JSON file of an answer, or the first characters of its digest in the store.
        store: where saved answers lie: a SQLite file or a URL; else as the command finds it.

    Raises:
        InputError: there is no such answer.
    """
    from planner.answers.saved.commands import show_saved
    from planner.notebook.kept import kept_answer

    if (kept := _kept(named)) is not None:
        return kept
    if _is_digest(str(named)):
        return kept_answer(show_saved(store, str(named))[0])
    raise InputError(f"{named}: no answer lies there: name a folder or a JSON file that `save` wrote")


def _is_digest(named: str) -> bool:
    return _DIGEST.fullmatch(named) is not None and not Path(named).exists()


def _kept(named: Named) -> Answer | None:
    """The answer that a folder or a file holds; None where it is something else."""
    from planner.answers.opening import open_answer
    from planner.notebook.kept import kept_answer

    document = open_answer(Path(named)) if isinstance(named, str | Path) else None
    return None if document is None else kept_answer(document)
