"""What is worth knowing next to any answer that plans a scenario: the same notes, whatever was asked."""

from __future__ import annotations

from collections.abc import Sequence

from planner.inputs.consistency import sale_notes
from planner.inputs.overrides import idle_notes
from planner.inputs.own.facts import own_notes
from planner.inputs.resolved import Inputs


def notes_of(planned: Sequence[Inputs], what: str) -> list[str]:
    """How SKUs are sold, values of one's own that changed nothing, and facts of one's own that counted.

    Args:
        planned: what was planned, one for each future; a value counts where any of them asked for it.
        what: the answer as a note on an idle value names it, such as "this plan".
    """
    first = planned[0]
    idle = [key for key in first.idle_facts if all(key in one.idle_facts for one in planned)]
    used = {key for one in planned for key in one.facts_used} - first.scenario.facts.keys()
    notes = (
        *sale_notes(first.scenario, first.catalogue),
        *idle_notes(idle, what),
        *own_notes(used, first.catalogue),
    )
    return [f"{note}." for note in notes]
