"""A scenario planned and saved, all in the worker: a page that closes or a server that dies loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from planner.trace.currency import currency_record
from planner.trace.numbers import percent_text
from planner.trace.records import Record, finite
from planner.ui.workers.messages import Step, Tell

if TYPE_CHECKING:
    from planner.inputs.scenario import Scenario
    from planner.program.plan import Plan
    from planner.program.solution import Progress


def plan(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Plan the scenario `text` of the file `name` with the `files` that it names; save and give its document.

    Asked to stop, it keeps the best plan found so far. With `prices` it goes on, once the plan is told as a
    part, to what each limit is worth; with `verify` to playing its services. What was searched before is
    found again. The store is that at `store_address`; none is the user's own, and an empty one keeps
    nothing.

    Raises:
        InputError: the scenario is wrong, or names what nobody knows.
    """
    from planner.answers.check import laid_out
    from planner.answers.plan.limit_prices import with_prices
    from planner.answers.plan.verified import with_verification
    from planner.inputs.exchange import shown_in
    from planner.performance.simulation import Stopped
    from planner.program.plan import plan_fleet
    from planner.store.searches import kept_searches

    name, text, files = arguments["name"], arguments["text"], arguments.get("files") or {}
    with laid_out(text, name, files) as scenario:
        tell(part={"unit": _objective_unit(scenario)} | currency_record(shown_in(scenario)))
        made = plan_fleet(
            scenario,
            memory=kept_searches(),
            watch=tell,
            progress=_steps(tell),
            should_stop=should_stop,
        )
        tell("adding up what the plan costs, emits and draws")
        written = {"scenario": {"name": name, "text": text}}
        answer = written | _saved(scenario, made, arguments.get("store_address"), tell)
        if should_stop() or made.answer.solution is None:
            return answer
        if arguments.get("verify"):
            tell("playing the services request by request", part=answer)
            try:
                played = with_verification(
                    made,
                    should_stop=should_stop,
                    tell=lambda share: tell(
                        f"playing the services request by request: {percent_text(share, 0)}"
                    ),
                )
            except Stopped:
                return answer
            return written | _saved(scenario, played, arguments.get("store_address"), tell)
        if not arguments.get("prices"):
            return answer
        tell("looking for what the limits are worth", part=answer)
        limit_s = scenario.solve.time_limit_s
        priced = with_prices(made, time_limit_s=limit_s, should_stop=should_stop)
        return written | _saved(scenario, priced, arguments.get("store_address"), tell)


def program(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The integer program of a scenario as the text of an LP file, to be solved elsewhere."""
    from planner.answers.check import laid_out
    from planner.inputs.consistency import with_cards
    from planner.inputs.loading import load_catalogue
    from planner.inputs.resolved import Inputs
    from planner.program.assembly import assemble
    from planner.program.searches import write_program

    checked = laid_out(arguments["text"], arguments["name"], arguments.get("files"))
    with checked as scenario, TemporaryDirectory(prefix="everfleet-") as folder:
        tell("writing the program down")
        assembled = assemble(Inputs(scenario, with_cards(scenario, load_catalogue())))
        path = Path(folder) / "program.lp"
        write_program(assembled.problem, path, period_names=scenario.horizon.period_labels)
        return {"lp": path.read_text(encoding="utf-8")}


def save(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """Save the `document` of a plan that could not be saved when it was made, with its scenario."""
    from planner.inputs.scenario.bundle import restored, unsaved

    kept = unsaved(arguments["name"], arguments["text"], arguments.get("files") or {})
    with restored(kept) as scenario:
        return _in_store(scenario, arguments["document"], arguments.get("store_address"))


def _saved(scenario: Scenario, made: Plan, address: str | None, tell: Tell) -> Record:
    """The document of a plan, and where it is kept or why it is not."""
    from planner.answers.plan.document import plan_document

    document = plan_document(made, watch=tell)
    return {"document": document, **_in_store(scenario, document, address)}


def _in_store(scenario: Scenario, document: Record, address: str | None) -> Record:
    """The digest of what was saved, or the reason why nothing was: the plan itself is not lost with it."""
    from planner.store import StoreError, open_store
    from planner.store.addresses import read_only

    if address == "" or read_only():  # whatever a page says
        return {"saved": None, "unsaved": ""}
    try:
        store = open_store(address)
        try:
            return {"saved": store.save_plan(scenario, document), "unsaved": ""}
        finally:
            store.close()
    except StoreError as error:
        return {"saved": None, "unsaved": str(error)}


def _objective_unit(scenario: Scenario) -> str:
    """In what the search counts; one that minimises one thing after the other counts in both."""
    return {"carbon": "kgCO2e", "lexicographic": ""}.get(scenario.policy.objective, "USD")


def _steps(tell: Tell) -> Callable[[Progress], None]:
    """Progress of the solver as steps of a trail, where something has changed."""
    last: list[tuple[float, float]] = []

    def step(seen: Progress) -> None:
        if last[-1:] == [(seen.incumbent, seen.bound)]:
            return
        last[:] = [(seen.incumbent, seen.bound)]
        incumbent, bound, share = finite(seen.incumbent), finite(seen.bound), finite(seen.gap_fraction)
        tell("looking for the best plan", step=Step(seen.elapsed_s, incumbent, bound, share))

    return step
