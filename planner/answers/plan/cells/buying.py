"""Where the numbers of what is bought, moved and rented come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.answers.plan.cells.horizon import hours_of
from planner.report.cells import Cell, Number, close, fact_number, rows_of, stated, term_of, within
from planner.trace.explain import Explanation

Found = Number | Explanation


def _rows_cells(table: Callable[[Cell], Found | None], cell: Cell, *keys: str) -> dict[str, Found]:
    """Other cells of the row, opened."""
    found = {key: table(cell.other(key)) for key in keys}
    return {key: one for key, one in found.items() if one is not None}


def purchases(cell: Cell) -> Found | None:
    """What is ordered, and what it costs."""
    market = f"market.{cell.row['sku']}"
    match cell.key:
        case "order_units":
            return cell.decided(
                "orders placed in this period, within the supply of the SKU and the budget of the scenario"
            )
        case "nodes":
            return _nodes_ordered(cell)
        case "accelerators":
            return _accelerators(cell)
        case "lead_time_d":
            return cell.given(f"{market}.lead_time", "from the order to the node in service")
        case "price_usd_per_node":
            return _price(cell)
        case "rebate_fraction" if cell.value:
            return cell.given(f"{market}.tiers", "the best tier that all orders of the horizon reach")
        case "rebate_fraction":
            return cell.number(about="no rebate is offered, or the orders of the horizon reach no tier of it")
        case "capex_usd":
            return _paid(cell)
    return None


def _nodes_ordered(cell: Cell) -> Number:
    """Orders are of so many nodes each."""
    if not cell.has("order_units"):
        return cell.decided("whole orders, within the supply of the SKU and the budget of the scenario")
    path = f"market.{cell.row['sku']}.order_nodes"
    about = "nodes of one order: where the scenario does not say, what is sold together (1, a rack, a slice)"
    each = stated(cell.document, path, cell.value / cell.row["order_units"], about=about)
    units = _rows_cells(purchases, cell, "order_units")
    return cell.number("order_units * order_nodes", inputs=units | {"order_nodes": each})


def _accelerators(cell: Cell) -> Number:
    each = cell.part(
        "accelerators_per_node",
        cell.value / cell.row["nodes"],
        kind="declared",
        about=f"of one node of {cell.row['sku']}, as the catalogue of servers says",
    )
    nodes = _rows_cells(purchases, cell, "nodes")
    return cell.number("nodes * accelerators_per_node", inputs=nodes | {"accelerators_per_node": each})


def _price(cell: Cell) -> Number:
    """The price of a node with its source; its range where it is a fact of the plan."""
    for fact in rows_of(cell.document, "facts") + rows_of(cell.document, "facts_weighed"):
        source = ", ".join(part for part in (fact["source"], fact["locator"]) if part)
        if source == cell.row["price_source"] and close(fact["value"], cell.value):
            return replace(fact_number(fact), place=cell.place)
    return cell.number(kind=cell.row["price_kind"], source=cell.row["price_source"])


def _paid(cell: Cell) -> Number:
    names = ("nodes", "price_usd_per_node", "rebate_fraction")
    if not cell.has(*names):
        return cell.number(about="nodes at their price, less the rebate")
    return cell.number(
        "nodes * price_usd_per_node * (1 - rebate_fraction)", inputs=_rows_cells(purchases, cell, *names)
    )


def moves(cell: Cell) -> Number | None:
    """What is moved: each node at the same cost."""
    if cell.key == "nodes":
        return cell.decided("standing nodes of that site, within its power and racks at both ends")
    if cell.key not in ("move_usd", "move_kgco2e"):
        return None
    kind = cell.key.removeprefix("move_")
    name = f"move_{kind}_per_node"
    each = cell.part(
        name,
        cell.value / cell.row["nodes"],
        cell.unit,
        about="carriage of one node between these sites, and what it costs while it is under way",
        inputs=term_of(cell.document, f"{'cost' if kind == 'usd' else 'carbon'}.moved"),
    )
    return cell.number(f"nodes * {name}", inputs=_rows_cells(moves, cell, "nodes") | {name: each})


def rental(cell: Cell) -> Found | None:
    """What is rented: hours at a rent."""
    match cell.key:
        case "node_h":
            return cell.decided(
                "hours in which runs, replicas and other work are on rented nodes, within the offer"
            )
        case "nodes":
            return _rented_nodes(cell)
        case "rent_usd_per_node_h":
            return within(cell.document, ["cost.rental"], "each_usd", cell.value) or cell.number(
                about="of a node, by the price that the scenario states for the offer, else the catalogue's",
                inputs=term_of(cell.document, "cost.rental"),
            )
        case "rent_usd":
            inputs = _rows_cells(rental, cell, "node_h", "rent_usd_per_node_h")
            return cell.number("node_h * rent_usd_per_node_h", inputs=inputs)
        case "embodied_kgco2e":
            return _rented_carbon(cell)
    return None


def _rented_nodes(cell: Cell) -> Number:
    """Whole nodes, for the most that are held at once."""
    hours = hours_of(cell.document, cell.row["period"])
    period = cell.part("period_h", hours, "h", about="hours of the period")
    return cell.number(
        about="the most that are held at once, in whole nodes: at least node_h / period_h",
        inputs=_rows_cells(rental, cell, "node_h") | {"period_h": period},
    )


def _rented_carbon(cell: Cell) -> Number:
    """A share of what it took to make the node."""
    name, hours = "embodied_kgco2e_per_node_h", cell.row["node_h"]
    value = cell.value / hours if hours else 0.0
    each = within(cell.document, ["carbon.rental"], "each_kgco2e", value) or cell.part(
        name,
        value,
        "kgCO2e",
        about="share of the making and repair of a node for an hour",
        inputs=term_of(cell.document, "carbon.rental"),
    )
    return cell.number(f"node_h * {name}", inputs=_rows_cells(rental, cell, "node_h") | {name: each})
