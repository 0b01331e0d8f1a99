"""Planned cost and commitments of a plan as rows of the FinOps Open Cost and Usage Specification.

Two data sets: cost and usage, and contract commitments, which are the terms that the plan reserves.

Two sums hold: `EffectiveCost` of all rows is the cost of the plan (its economic view, by work), and
`BilledCost` of all rows is its cash. Rows of money that is paid have no effective cost, and rows of work are
not billed: purchases cover what later rows use. Nothing of a plan is invoiced yet, so that list, contracted
and billed cost are one, and no row names an invoice. A term is `Proposed`, or `Pending` where it is signed.
Carbon and the plan's name stand in columns that begin with `x_`, as the specification allows.

Source: FinOps Foundation, FOCUS 1.4 (June 2026), data sets Cost and Usage and Contract Commitment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta

from planner.report.spreadsheets import csv_of
from planner.report.standards.focus_commitments import (
    COMMITMENT_COLUMNS,
    NODE_HOURS,
    begun_terms,
    contract_commitments,
)
from planner.report.standards.formats import Files
from planner.report.standards.periods import Period, next_month, periods_of, utc
from planner.trace.currency import Currency, currency_of
from planner.trace.records import Record

COLUMNS = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription"),
    *("ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart", "CommitmentDiscountCategory"),
    *("CommitmentDiscountId", "CommitmentDiscountName", "CommitmentDiscountQuantity"),
    *("CommitmentDiscountStatus", "CommitmentDiscountType", "CommitmentDiscountUnit", "ConsumedQuantity"),
    *("ConsumedUnit", "ContractApplied", "ContractedCost", "ContractedUnitPrice", "EffectiveCost"),
    *("HostProviderName", "InvoiceId", "InvoiceIssuerName", "ListCost", "ListUnitPrice", "PricingCategory"),
    *("PricingQuantity", "PricingUnit", "RegionId", "RegionName", "ResourceId", "ResourceName"),
    *("ResourceType", "ServiceCategory", "ServiceName", "ServiceProviderName", "ServiceSubcategory"),
    *("SkuId", "SkuMeter", "SkuPriceDetails", "SkuPriceId", "SubAccountId", "SubAccountName", "Tags"),
    *("x_CarbonKgCO2e", "x_PlanId", "x_Planned"),
)
COMPUTE = {"ServiceCategory": "Compute", "ServiceSubcategory": "Other (Compute)"}
OWN = "own fleet"
# A service has one category and one subcategory.
FLEET, WORK, RENTED = "AI fleet", "AI work", "Rented nodes"


def write(document: Record) -> Files:
    """`focus.csv`: work, payments of each month, orders, hours rented, and terms that are reserved.

    `focus_contract_commitments.csv`: those terms, whole, with what is due after the horizon; no file without.
    """
    currency = currency_of(document) or Currency()
    planned = {"x_PlanId": document["scenario_digest"], "x_Planned": "true"}
    common = {
        "BillingAccountId": document["scenario_digest"][:16] or document["title"],
        "BillingAccountName": document["title"],
        "BillingAccountType": "plan",
        "BillingCurrency": currency.code,
        "HostProviderName": OWN,
        "ServiceProviderName": OWN,
        "InvoiceIssuerName": OWN,
        "ServiceName": FLEET,
        **COMPUTE,
        **planned,
    }
    rows = [common | row for row in _rows(document)]
    files = {"focus.csv": csv_of([_in(currency, row) for row in rows], COLUMNS, line_end="\n")}
    if terms := [row | planned for row in contract_commitments(document, currency)]:
        files["focus_contract_commitments.csv"] = csv_of(terms, COMMITMENT_COLUMNS, line_end="\n")
    return files


def _rows(document: Record) -> Iterator[Record]:
    """Every row, money in USD."""
    tables, periods = document["tables"], periods_of(document)
    if not periods:
        return
    yield from _work(tables["unit_costs"], periods[0].first, periods[-1].after)
    paid = [*_rented(tables, periods), *_reserved(tables, periods, periods[-1].after)]
    yield from paid
    yield from _months(tables["cash"], tables["purchases"], paid)


def _work(rows: list[Record], first: date, after: date) -> Iterator[Record]:
    """What each work costs, whoever is paid for it when: usage that purchases cover."""
    for row in rows:
        used = {"ConsumedQuantity": row["amount"], "ConsumedUnit": row["unit"]} if row.get("amount") else {}
        tags = {"work": row["work"]}
        yield (
            _charge(first, after, "Usage", f"{row['work']}, all of its costs in the horizon")
            | used
            | {
                "EffectiveCost": row["usd"],
                "ServiceName": WORK,
                "ServiceCategory": "AI and Machine Learning",
                "ServiceSubcategory": "Other (AI and Machine Learning)",
                "Tags": json.dumps(tags),
                "x_CarbonKgCO2e": row["kgco2e"],
            }
        )


def _months(cash: list[Record], purchases: list[Record], paid: list[Record]) -> Iterator[Record]:
    """Orders and sales, and the bills of each month less what rows of rent hold of it already."""
    rent: dict[str, float] = {}
    for row in paid:
        month = row["ChargePeriodStart"][:7]
        rent[month] = rent.get(month, 0.0) + row["BilledCost"]
    for row in cash:
        first = date.fromisoformat(f"{row['month']}-01")
        after = next_month(first)
        parts = (
            ("deposits_usd", "Purchase", "One-Time", "deposits of orders"),
            ("deliveries_usd", "Purchase", "One-Time", "orders that are delivered"),
            ("installed_usd", "Purchase", "One-Time", "batteries and the sun's cells that are put up"),
            ("bills_usd", "Usage", "Usage-Based", "electricity, space, upkeep, people, carriage"),
            ("data_usd", "Purchase", "One-Time", "data for training"),
            ("sales_usd", "Adjustment", "One-Time", "nodes that are sold"),
        )
        for column, category, frequency, said in parts:
            usd = row.get(column, 0.0) - (rent.get(row["month"], 0.0) if column == "bills_usd" else 0.0)
            if not usd:
                continue
            orders = _orders(purchases, column, row["month"])
            yield _charge(first, after, category, f"{said}{orders}", frequency) | {"BilledCost": usd}


def _orders(purchases: list[Record], column: str, month: str) -> str:
    """Which orders a payment of a month is for."""
    days = {"deposits_usd": "order_by", "deliveries_usd": "arrives"}
    if column not in days:
        return ""
    mine = [row for row in purchases if str(row[days[column]])[:7] == month]
    return "".join(f"; {row['nodes']:g} x {row['sku']} for {row['site']}" for row in mine)


def _rented(tables: Record, periods: list[Period]) -> Iterator[Record]:
    """Nodes that are rented by the hour."""
    days = {period.label: period for period in periods}
    for row in tables.get("rental", []):
        period = days[row["period"]]
        said = f"{row['sku']} at {row['location']}, rented by the hour"
        for begin, end, share in _by_month(period.first, period.after):
            node_h = row["node_h"] * share
            yield (
                _charge(begin, end, "Usage", said)
                | _of_node(row)
                | {
                    "BilledCost": row["rent_usd"] * share,
                    "ConsumedQuantity": node_h,
                    "ConsumedUnit": NODE_HOURS,
                    "PricingCategory": "Standard",
                    **_priced(row, node_h),
                }
            )


def _reserved(tables: Record, periods: list[Period], end: date) -> Iterator[Record]:
    """Terms that begin in the horizon: what of them is paid within it."""
    for term in begun_terms(tables, periods):
        row, after = term.row, min(term.after, end)
        hours = row["rent_usd"] / row["rent_usd_per_node_h"] if row["rent_usd_per_node_h"] else 0.0
        for begin, end_of_month, share in _by_month(term.first, after):
            applied = {
                "ContractId": term.identifier,
                "ContractCommitmentId": term.identifier,
                "ContractCommitmentAppliedQuantity": hours * share,
                "ContractCommitmentAppliedUnit": NODE_HOURS,
            }
            yield (
                _charge(begin, end_of_month, "Purchase", term.text, "Recurring")
                | _of_node(row)
                | {
                    "BilledCost": row["rent_usd"] * share,
                    "PricingCategory": "Committed",
                    **_priced(row, hours * share),
                    "ResourceId": term.identifier,
                    "ResourceType": "Reserved nodes",
                    "CommitmentDiscountCategory": "Usage",
                    "CommitmentDiscountId": term.identifier,
                    "CommitmentDiscountName": f"{row['sku']} at {row['location']}",
                    "CommitmentDiscountType": row["commitment"],
                    "CommitmentDiscountQuantity": hours * share,
                    "CommitmentDiscountUnit": NODE_HOURS,
                    "ContractApplied": json.dumps({"Elements": [applied]}),
                }
            )


def _by_month(first: date, after: date) -> Iterator[tuple[date, date, float]]:
    """Each month of a time with its share of the days, as the bills of a plan are divided."""
    begin = first
    while begin < after:
        end = min(next_month(begin), after)
        yield begin, end, (end - begin).days / (after - first).days
        begin = end


def _priced(row: Record, hours: float) -> Record:
    return {
        "PricingQuantity": hours,
        "PricingUnit": NODE_HOURS,
        "ListUnitPrice": row["rent_usd_per_node_h"],
        "ContractedUnitPrice": row["rent_usd_per_node_h"],
    }


def _of_node(row: Record) -> Record:
    return {
        "RegionId": row["location"],
        "RegionName": row["location"],
        "ResourceId": f"{row['location']}/{row['sku']}",
        "ResourceName": row["sku"],
        "ResourceType": "Node",
        "SkuId": row["sku"],
        "SkuMeter": "Node usage",
        "SkuPriceId": row["sku"],
        "HostProviderName": row["location"],
        "ServiceProviderName": row["location"],
        "InvoiceIssuerName": row["location"],
        "ServiceName": RENTED,
        "ServiceSubcategory": "Virtual Machines",
    }


def _charge(first: date, after: date, category: str, said: str, frequency: str = "Usage-Based") -> Record:
    """A charge of a time, in the billing periods that hold it; nothing is billed and nothing costs yet."""
    return {
        "BilledCost": 0.0,
        "EffectiveCost": 0.0,
        "ChargePeriodStart": utc(first),
        "ChargePeriodEnd": utc(after),
        "BillingPeriodStart": utc(first.replace(day=1)),
        "BillingPeriodEnd": utc(next_month(after - timedelta(days=1))),
        "ChargeCategory": category,
        "ChargeDescription": said,
        "ChargeFrequency": frequency,
    }


def _in(currency: Currency, row: Record) -> Record:
    """A row in the currency of the plan; what is paid is what is listed and contracted."""
    money = ("BilledCost", "EffectiveCost", "ListUnitPrice", "ContractedUnitPrice")
    shown = row | {name: row[name] / currency.usd for name in money if name in row}
    price = shown["BilledCost"] or shown["EffectiveCost"]
    return shown | {"ListCost": price, "ContractedCost": price}
