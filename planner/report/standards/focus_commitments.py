"""Terms that a plan reserves, as rows of the data set Contract Commitment of FOCUS.

Source: FinOps Foundation, FOCUS 1.4 (June 2026), data set Contract Commitment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from planner.report.standards.periods import Period, periods_of, utc
from planner.trace.currency import Currency
from planner.trace.numbers import fixed_text
from planner.trace.records import Record

NODE_HOURS = "Node-Hours"
COMMITMENT_COLUMNS = (
    *("BillingCurrency", "ContractCommitmentApplicability", "ContractCommitmentBenefitCategory"),
    *("ContractCommitmentCategory", "ContractCommitmentCost", "ContractCommitmentCreated"),
    *("ContractCommitmentDescription", "ContractCommitmentDiscountPercentage"),
    *("ContractCommitmentDurationType", "ContractCommitmentFulfillmentInterval", "ContractCommitmentId"),
    *("ContractCommitmentLastUpdated", "ContractCommitmentLifecycleStatus", "ContractCommitmentModel"),
    *("ContractCommitmentOfferCategory", "ContractCommitmentPaymentInterval"),
    *("ContractCommitmentPaymentModel", "ContractCommitmentPeriodEnd", "ContractCommitmentPeriodStart"),
    *("ContractCommitmentQuantity", "ContractCommitmentType", "ContractCommitmentUnit", "ContractId"),
    *("ContractPeriodEnd", "ContractPeriodStart", "InvoiceIssuerName", "ServiceProviderName"),
    *("x_PlanId", "x_Planned"),
)


@dataclass(frozen=True, slots=True)
class Term:
    """Nodes that are reserved from one day to the day after the last."""

    row: Record
    identifier: str
    first: date
    after: date

    @property
    def text(self) -> str:
        """What is reserved, to which day, and what of it is due after the horizon."""
        row = self.row
        return (
            f"{row['nodes']:g} x {row['sku']} at {row['location']} reserved for {row['commitment']} to "
            f"{self.after - timedelta(days=1)}; due after the horizon: {fixed_text(row['due_usd'], 2)} USD"
        )


def begun_terms(tables: Record, periods: list[Period]) -> Iterator[Term]:
    """Every term that begins in the horizon; its number is its place in the plan's table."""
    first = {period.label: period.first for period in periods}
    for number, row in enumerate(tables.get("commitments", []), 1):
        identifier = f"{row['location']}/{row['sku']}/{number}"
        yield Term(row, identifier, first[row["period"]], date.fromisoformat(row["ends"]))


def contract_commitments(document: Record, currency: Currency) -> Iterator[Record]:
    """The data set of contract commitments: nodes that are paid for every hour of a term, used or not.

    What they bring is that the nodes are there; a discount is not stated, as the plan's table has no other
    price of the same nodes. A price is named public: a plan does not know what was negotiated.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for term in begun_terms(document["tables"], periods_of(document)):
        row, days = term.row, (utc(term.first), utc(term.after))
        inclusions = [
            {"Dimension": name, "Operator": "In", "Values": [value]}
            for name, value in (("RegionId", row["location"]), ("SkuId", row["sku"]))
        ]
        yield {
            "BillingCurrency": currency.code,
            "ContractCommitmentApplicability": json.dumps(
                {"InclusionOperator": "And", "Inclusions": inclusions}
            ),
            "ContractCommitmentBenefitCategory": "Availability",
            "ContractCommitmentCategory": "Usage",
            "ContractCommitmentCost": (row["rent_usd"] + row["due_usd"]) / currency.usd,
            "ContractCommitmentCreated": now,
            "ContractCommitmentDescription": term.text,
            "ContractCommitmentDurationType": _length(term),
            "ContractCommitmentFulfillmentInterval": "Hourly",
            "ContractCommitmentId": term.identifier,
            "ContractCommitmentLastUpdated": now,
            "ContractCommitmentLifecycleStatus": "Pending" if row["signed"] else "Proposed",
            "ContractCommitmentModel": "Continuous",
            "ContractCommitmentOfferCategory": "Public",
            "ContractCommitmentPaymentInterval": "Monthly",
            "ContractCommitmentPaymentModel": "No Upfront",
            "ContractCommitmentPeriodEnd": days[1],
            "ContractCommitmentPeriodStart": days[0],
            "ContractCommitmentQuantity": row["nodes"] * 24.0 * (term.after - term.first).days,
            "ContractCommitmentType": f"Reserved nodes, {row['commitment']}",
            "ContractCommitmentUnit": NODE_HOURS,
            "ContractId": term.identifier,
            "ContractPeriodEnd": days[1],
            "ContractPeriodStart": days[0],
            "InvoiceIssuerName": row["location"],
            "ServiceProviderName": row["location"],
        }


def _length(term: Term) -> str:
    """How long a term is, in years where they are whole, else in months."""
    months = 12 * (term.after.year - term.first.year) + term.after.month - term.first.month
    many, unit = (months // 12, "Year") if months % 12 == 0 else (months, "Month")
    return f"{many} {unit}" + ("s" if many > 1 else "")
