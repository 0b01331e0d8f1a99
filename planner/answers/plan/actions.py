"""What to do, by when: what a plan orders, puts up, sells, moves and rents, in the order of the days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.answers.plan.commitments import last_day
from planner.trace.quantities import chosen
from planner.trace.records import Record


def action_records(tables: Mapping[str, list[Record]], starts: Mapping[str, str]) -> list[Record]:
    """One row for each thing to do; `starts` has the first day of each period.

    What is paid is positive, what comes in negative; what is rented is paid over the horizon.
    """
    return sorted(_actions(tables, starts), key=lambda row: (row["by"], row["action"]))


def _actions(tables: Mapping[str, list[Record]], starts: Mapping[str, str]) -> Iterator[Record]:
    for row in tables["purchases"]:
        yield {
            "by": row["order_by"],
            "action": "Order",
            "nodes": row["nodes"],
            "sku": row["sku"],
            "where": row["site"],
            "cash_usd": row["capex_usd"],
            "then": f"in service {row['arrives']}",
        }
    for row in tables.get("installations", ()):
        amount = row["solar_kw"] if "solar_kw" in row else row["battery_kwh"]
        yield {
            "by": row["ready_by"],
            "action": "Put up",
            "amount": amount,
            "unit": amount.unit,
            "sku": row["what"],
            "where": row["site"],
            "cash_usd": row["capex_usd"],
            "then": f"in use {row['ready_by']}",
        }
    income = chosen("sign", -1.0, "income")
    for row in tables["disposals"]:
        yield {
            "by": starts[row["period"]],
            "action": row["what"],
            "nodes": row["nodes"],
            "sku": row["sku"],
            "where": row["site"],
            "cash_usd": (income * row["proceeds_usd"]).named("cash_usd"),
            "then": row["because"],
        }
    for row in tables["moves"]:
        yield {
            "by": starts[row["period"]],
            "action": "Move",
            "nodes": row["nodes"],
            "sku": row["sku"],
            "where": f"{row['from']} to {row['to']}",
            "cash_usd": row["move_usd"],
            "then": f"in service {row['in_service']}",
        }
    for row in tables["commitments"]:
        yield {
            "by": starts[row["period"]],
            "action": "Pay what is signed" if row["signed"] else "Reserve",
            "nodes": row["nodes"],
            "sku": row["sku"],
            "where": row["location"],
            "cash_usd": row["rent_usd"],
            "then": f"{row['commitment']}, to {last_day(row)}",
        }
    for row in tables["rental"]:
        yield {
            "by": starts[row["period"]],
            "action": "Rent by the hour",
            "nodes": row["nodes"],
            "sku": row["sku"],
            "where": row["location"],
            "cash_usd": row["rent_usd"],
            "then": f"in {row['period']}",
        }
