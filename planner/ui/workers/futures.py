"""One plan for several futures of a scenario, and the scenario played through in one of them."""

from __future__ import annotations

from collections.abc import Callable

from planner.trace.records import Record
from planner.ui.workers.messages import Tell
from planner.ui.workers.tradeoffs import checked_scenario


def several(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """What to order now whatever comes, as `everfleet futures` answers.

    `changes` are of the scenario, by path: its futures, where the page stated some.

    Raises:
        InputError: the scenario or a change of it is wrong.
    """
    from planner.answers.futures.commands import plan_for_futures
    from planner.inputs.scenario import with_changes

    with checked_scenario(arguments) as scenario:
        if changes := arguments.get("changes"):
            scenario = with_changes(scenario, changes)
        return plan_for_futures(scenario, watch=tell, should_stop=should_stop)[0]


def replayed(arguments: Record, tell: Tell, should_stop: Callable[[], bool]) -> Record:
    """The scenario planned again each period in what came by chance, as `everfleet replay --draw`.

    Raises:
        InputError: the scenario or a change of it is wrong.
    """
    from planner.answers.futures.commands import replay_scenario
    from planner.inputs.scenario import with_changes

    with checked_scenario(arguments) as scenario:
        if changes := arguments.get("changes"):
            scenario = with_changes(scenario, changes)
        document, said = replay_scenario(
            scenario,
            realised=None,
            draw=int(arguments["draw"]),
            persist=bool(arguments["persist"]),
            watch=tell,
            should_stop=should_stop,
        )
        return document | {"said": said}
