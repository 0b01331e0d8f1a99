"""Where the numbers of fronts come from that keep no steps of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.report.cells import Cell, Number, explanation_of, kept_for, rows_of, total
from planner.trace.explain import Explanation
from planner.trace.records import Record, is_number

KG_PER_TONNE = 1000
MOVED = "days by which every deadline is moved from where the scenario has it"
BOUGHT = "decided by the program: whole orders"
GAP = "how much better than this plan one could still be at the most: the search for it ended there"


def point_explanation(rows: Sequence[Record], row: Record, key: str, plan: Record) -> Explanation | None:
    """Why a point of a front has its numbers; `plan` is the one that it leads to."""
    if key == "point" or not is_number(row.get(key)):
        return None
    cell = replace(Cell(plan, "points", row, key), table=f"point {row['point']}")
    match key:
        case "cost_usd" | "carbon_kgco2e":
            return kept_for(plan, key.partition("_")[0], cell.value) or explanation_of(cell.number())
        case "nodes_bought":
            parts: dict[str, Number | Explanation] = {
                f"{one['sku']} for {one['site']} in {one['period']}": Cell(
                    plan, "purchases", one, "nodes"
                ).decided("whole orders")
                for one in rows_of(plan, "purchases")
            }
            return explanation_of(total(key, parts))
        case "usd_per_tonne_saved":
            return explanation_of(_slope(cell, rows))
        case "moved_d":
            return explanation_of(cell.number(about=MOVED, kind="chosen"))
        case "gap_fraction":
            return explanation_of(cell.number(about=GAP))
    return None


def _slope(cell: Cell, rows: Sequence[Record]) -> Number:
    """What a tonne less costs on the way from the next dirtier plan that no other beats."""
    row = cell.row
    after = [one for one in rows if one["point"] > row["point"] and one.get("mark") != "beaten"]
    about = "on the way from the next dirtier plan of the front"
    if not after:
        return cell.number(about=about)
    other = after[0]
    inputs: dict[str, Number | Explanation] = {
        f"{which}_{key}": Number(key, one[key], unit, place=f" (point {one['point']})")
        for which, one in (("this", row), ("next", other))
        for key, unit in (("cost_usd", "USD"), ("carbon_kgco2e", "kgCO2e"))
    }
    inputs["kg_per_tonne"] = Number("kg_per_tonne", KG_PER_TONNE, kind="definition")
    return cell.number(
        "kg_per_tonne * (this_cost_usd - next_cost_usd) / (next_carbon_kgco2e - this_carbon_kgco2e)",
        about,
        inputs,
    )
