"""Where limits, their prices, other plans and facts come from."""

from __future__ import annotations

from dataclasses import replace

from planner.answers.plan.cells.buying import purchases
from planner.answers.plan.cells.terms import by_period, weights_of
from planner.report.cells import Cell, Number, close, fact_number, kept, kept_for, rows_of, total, value_of
from planner.trace.explain import Explanation

Below = dict[str, Number | Explanation]

# A family of limits -> where the scenario states it; {where} is a site or a SKU.
STATED = {
    "power": "sites.{where}.power_cap",
    "racks": "sites.{where}.racks",
    "supply": "market.{where}.supply_nodes",
    "budget": "policy.budget",
    "money cap": "policy.money_cap",
}
USED = {
    "power": "what idle nodes draw, and what every run, replica and pool adds to it while it works, at the "
    "meter; the highest of the period",
    "racks": "nodes in service, each at its share of a rack",
}


def limits(cell: Cell) -> Number | Explanation | None:
    """How much of a limit is used."""
    match cell.key:
        case "used":
            return _used(cell)
        case "allowed":
            return cell.given(_path(cell))
        case "left":
            return cell.number("allowed - used", inputs=_both(cell))
        case "share_fraction" if cell.row["allowed"]:
            return cell.number("used / allowed", inputs=_both(cell))
        case "share_fraction":
            return cell.number(about="a limit of nothing has no share")
    return None


def _both(cell: Cell) -> Below:
    found = {name: limits(cell.other(name)) for name in ("used", "allowed")}
    return {name: one for name, one in found.items() if one is not None}


def _path(cell: Cell) -> str:
    limit, period = cell.row["limit"], cell.row["period"]
    if limit == "carbon cap":
        return "policy.carbon_cap" + ("" if period == "horizon" else "_by_period")
    return STATED.get(limit, f"policy.{limit.replace(' ', '_')}").format(where=cell.row["where"])


def _used(cell: Cell) -> Number | Explanation:
    """From the rows that say it: orders, a period's carbon, a total; power and racks as they add up."""
    document, limit, period = cell.document, cell.row["limit"], cell.row["period"]
    if limit in ("supply", "budget"):
        return _ordered(cell)
    if limit in ("carbon cap", "money cap"):
        if period == "horizon":
            found = kept_for(document, limit.replace("money", "cost").removesuffix(" cap"), cell.value)
            return found or cell.number()
        row = rows_of(document, "by_period", period=period)[0]
        return by_period(Cell(document, "by_period", row, "carbon_kgco2e")) or cell.number()
    nodes: Below = {
        f"{row['sku']} in service": Number("in_service_nodes", row["in_service_nodes"])
        for row in rows_of(document, "fleet", site=cell.row["where"], period=period)
    }
    if limit == "racks" and len(nodes) == 1:
        count = sum(map(value_of, nodes.values()))
        each = Number(
            "racks_per_node",
            cell.value / count if count else 0.0,
            "1",
            about="room that a node takes, by its power in a rack",
        )
        return cell.number(
            "nodes * racks_per_node", USED[limit], {"nodes": total("nodes", nodes), "racks_per_node": each}
        )
    return cell.number(about=USED.get(limit, ""), inputs=nodes)


def _ordered(cell: Cell) -> Number:
    """Orders of a SKU, or what all orders of a period cost."""
    document, supply = cell.document, cell.row["limit"] == "supply"
    wanted = {"period": cell.row["period"]} | ({"sku": cell.row["where"]} if supply else {})
    parts: Below = {}
    for row in rows_of(document, "purchases", **wanted):
        found = purchases(Cell(document, "purchases", row, "nodes" if supply else "capex_usd"))
        assert found is not None
        parts[f"{row['sku']} for {row['site']}"] = found
    if not parts:
        return cell.number(about="nothing of it is ordered in this period")
    return cell.number(f"sum of the {len(parts)} numbers below", inputs=parts)


PRICES = {
    "relaxed_saving_per_unit": "price of the limit in the program whose counts may all be fractions: by how "
    "much the objective falls for one more unit of it",
    "held_saving_per_unit": "price of the limit with the whole numbers of the plan held: only divisible work "
    "follows the limit",
}


def prices(cell: Cell) -> Number | Explanation | None:
    """What a limit is worth: prices of the program, and plans solved again with the limit moved."""
    cell_unit = cell.row["saving_unit"]
    if cell.key in PRICES:
        per = f"{cell_unit}/{cell.row['unit']}"
        return replace(cell.number(about=PRICES[cell.key]), unit=per)
    side, _, what = cell.key.partition("_")
    if side not in ("more", "less"):
        return None
    if what == "by":
        about = "the step by which the limit is moved: about the size of one order"
        return replace(cell.number(about=about, kind="chosen"), unit=cell.row["unit"])
    if what == "change":
        return replace(_changed(cell, side), unit=cell_unit)
    ends = {"least": "at the least", "most": "at the most"}
    if what in ends:
        about = f"the true change, {ends[what]}: both plans are the best only within the gap of their search"
        return replace(cell.number(about=about), unit=cell_unit)
    return None


def _changed(cell: Cell, side: str) -> Number:
    """The difference of two solved plans."""
    whole = kept(cell.document, "objective")
    about = (
        f"the best plan with {cell.row[f'{side}_by']:g} {cell.row['unit']} {side} of this limit, solved again"
    )
    if whole is None:
        return cell.number(about=about)
    unit = cell.row["saving_unit"]
    moved = Number("objective_then", value_of(whole) + cell.value, unit, "another plan", about=about)
    return cell.number("objective_then - objective", inputs={"objective_then": moved, "objective": whole})


def alternatives(cell: Cell) -> Number | Explanation | None:
    """Another plan that costs little more."""
    other = "another plan, solved after this one: as unlike it as can be within the excess that was allowed"
    if cell.key in ("cost_usd", "carbon_kgco2e", "nodes_bought"):
        return cell.number(about=other, kind="another plan")
    if cell.key == "distance_fraction":
        return cell.number(
            about="share of the fleet's decisions that differ from the nearest of the plans before: 0 if "
            "it is the same"
        )
    if cell.key != "excess_fraction":
        return None
    whole, weights = kept(cell.document, "objective"), weights_of(cell.document)
    about = "of the objective, above that of the best plan"
    if whole is None or len(weights) < 2:
        return cell.number(about=about)
    both: Below = {name: cell.other(name).number(about=other) for name in ("cost_usd", "carbon_kgco2e")}
    equation = "(money_weight * cost_usd + carbon_weight * carbon_kgco2e - best) / best"
    found = cell.number(equation, about, both | weights | {"best": whole})
    weighed = sum(
        value_of(weights[weight]) * value_of(both[name])
        for weight, name in (("money_weight", "cost_usd"), ("carbon_weight", "carbon_kgco2e"))
    )
    exact = close(cell.value, (weighed - value_of(whole)) / value_of(whole))
    return found if exact else cell.number(about=about, inputs=both)


def dropped(cell: Cell) -> Number | None:
    """Configurations that cannot be."""
    return (
        cell.number(about="configurations that were left out for this reason")
        if cell.key == "count"
        else None
    )


def infeasibility(cell: Cell) -> Number | None:
    """By how much a limit would have to give way."""
    if cell.key == "by":
        return cell.number(
            about="the least by which this limit has to give way, with the others of its family"
        )
    return (
        cell.number(about="of the limit as the scenario states it") if cell.key == "share_fraction" else None
    )


def facts(cell: Cell) -> Number | None:
    """A fact with its source."""
    if cell.key not in ("value", "low", "high"):
        return None
    found = fact_number(cell.row)
    ends = {"low": "the low end of its range", "high": "the high end of its range"}
    if cell.key in ends:
        return replace(found, value=cell.value, place=f", {ends[cell.key]}", low=None, high=None)
    return found
