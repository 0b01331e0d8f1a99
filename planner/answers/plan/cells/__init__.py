"""A number of a plan's tables opened: its equation with the values of its row, down to kept explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.answers.plan.cells.buying import moves, purchases, rental
from planner.answers.plan.cells.fleet import fleet
from planner.answers.plan.cells.limits import alternatives, dropped, facts, infeasibility, limits, prices
from planner.answers.plan.cells.terms import by_period, contracts, energy, summary, term, tornado, totals
from planner.answers.plan.cells.work import jobs, pausable, pools, services
from planner.report.cells import Cell, Number, Opened, explanation_of, is_number
from planner.report.charts import Document, Record
from planner.trace.explain import Explanation

OPENED: Mapping[str, Callable[[Cell], Number | Explanation | None]] = {
    "summary": summary,
    "purchases": purchases,
    "moves": moves,
    "rental": rental,
    "fleet": fleet,
    "jobs": jobs,
    "pausable": pausable,
    "services": services,
    "pools": pools,
    "cost": term,
    "carbon": term,
    "energy": energy,
    "by_period": by_period,
    "limits": limits,
    "contracts": contracts,
    "prices": prices,
    "alternatives": alternatives,
    "alternatives_dropped": dropped,
    "facts": facts,
    "facts_weighed": facts,
    "totals": totals,
    "tornado": tornado,
    "clash": infeasibility,
}


def cell_explanation(
    document: Document,
    table: str,
    row: Record,
    key: str,
    scenario: Opened | None = None,
) -> Explanation | None:
    """Why a cell of a plan's table holds its number; None where it holds a name, a day or nothing.

    Args:
        document: of the plan.
        table: name of the table, as in the document; also "totals", "tornado" and "conflict".
        row: the record in the table.
        key: of its column.
        scenario: opens the scenario of the plan: some columns are worked out from it again.
    """
    if table not in OPENED or not is_number(row.get(key)):
        return None
    found = OPENED[table](Cell(document, table, row, key, scenario))
    return None if found is None else explanation_of(found)


__all__ = ["cell_explanation"]
