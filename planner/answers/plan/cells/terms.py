"""Where totals, their terms and their shares of each period come from."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.answers.plan.cells.buying import purchases
from planner.answers.plan.cells.work import pue_of
from planner.report.cells import Cell, Number, fact, kept, kept_for, rows_of, term_of, total, value_of, within
from planner.report.charts import Document
from planner.trace.explain import Explanation

Below = dict[str, Number | Explanation]

# What a measure of the summary is in the plan: the name of a kept explanation.
MEASURES = {"Objective": "objective", "Purchases, cash": "capex", "Carbon in the horizon": "carbon"}
COUNTED = {
    "Nodes bought": ("purchases", "nodes"),
    "Nodes retired": ("fleet", "retired_nodes"),
    "Nodes in service at the end": ("fleet", "in_service_nodes"),
}
BASELINES = {
    "cost_only": "the cheapest plan within the same limits, whatever it emits: solved separately, its "
    "decisions are not kept in the document",
    "as_today": "the best plan that keeps the same limits and buys nothing: solved separately, its "
    "decisions are not kept in the document",
}
RANGE = {"p5": 0.05, "p50": 0.5, "p95": 0.95}


def summary(cell: Cell) -> Number | Explanation | None:
    """A measure of the plan, or of a plan next to it."""
    measure = cell.row["measure"]
    if cell.key in BASELINES:
        return _of_baseline(cell)
    if cell.key != "plan":
        return None
    if measure in COUNTED:
        return _counted(cell, *COUNTED[measure])
    name = MEASURES.get(measure, "cost")
    return kept_for(cell.document, name, cell.value) or cell.number()


def _counted(cell: Cell, table: str, key: str) -> Number:
    """Nodes, added up over the rows that say them."""
    last = cell.document["horizon"]["periods"][-1]
    rows = rows_of(cell.document, table)
    if key == "in_service_nodes":
        rows = [row for row in rows if row["period"] == last]
    parts: Below = {
        Cell(cell.document, table, row, key).place.strip(" ()"): Number(key, row[key])
        for row in rows
        if row[key]
    }
    if not parts and not cell.value:
        return cell.number(about="none in this plan")
    if math.isclose(sum(map(value_of, parts.values())), cell.value):
        return cell.number(f"sum of the {len(parts)} numbers below", inputs=parts)
    return cell.number(about="added up over the plan; the document does not keep all of its rows")


def _of_baseline(cell: Cell) -> Number:
    """A measure of a baseline: the objective from its money and carbon, the others as they were solved."""
    kind = "another plan"
    if cell.row["measure"] != "Objective":
        return cell.number(about=BASELINES[cell.key], kind=kind)
    rows = {row["measure"]: row for row in rows_of(cell.document, "summary")}
    cost = next(row for name, row in rows.items() if row["unit"] == "USD")
    both: Below = {
        "cost_usd": Cell(cell.document, "summary", cost, cell.key).number(
            about=BASELINES[cell.key], kind=kind
        )
    }
    carbon = rows["Carbon in the horizon"]
    both["carbon_kgco2e"] = Cell(cell.document, "summary", carbon, cell.key).number(
        about=BASELINES[cell.key], kind=kind
    )
    weights = weights_of(cell.document)
    if len(weights) < 2:
        return cell.number(about=BASELINES[cell.key], kind=kind, inputs=both)
    return cell.number(
        "money_weight * cost_usd + carbon_weight * carbon_kgco2e", BASELINES[cell.key], both | weights
    )


def weights_of(document: Document) -> Below:
    """How the objective weighs money and carbon."""
    if document["objective"]["unit"] == "USD":
        named = {"money_weight": "money_weight_ratio", "carbon_weight": "carbon_weight_usd_per_kgco2e"}
    else:
        named = {"money_weight": "money_weight_kgco2e_per_usd", "carbon_weight": "carbon_weight_ratio"}
    found = {name: within(document, ["objective"], part) for name, part in named.items()}
    return {name: one for name, one in found.items() if one is not None}


def term(cell: Cell) -> Number | Explanation | None:
    """A term of the cost or of the carbon."""
    if cell.key not in ("usd", "kgco2e"):
        return None
    total_name, _, name = cell.row["explain"].partition(".")
    found = kept(cell.document, cell.row["explain"])
    # A plan of a front keeps its totals alone, whose inputs the terms are.
    return found or within(cell.document, [total_name], f"{name}_{cell.key}", cell.value) or cell.number()


def energy(cell: Cell) -> Number | None:
    """Energy of one use at one site: of the computers, and what the PUE adds."""
    if cell.key not in ("it_kwh", "overhead_kwh"):
        return None
    facility, pue = _facility(cell), pue_of(cell, cell.row["site"])
    if pue is None:
        return cell.number(inputs={"facility_kwh": facility})
    equation = "facility_kwh / pue" if cell.key == "it_kwh" else "facility_kwh - facility_kwh / pue"
    return cell.number(equation, inputs={"facility_kwh": facility, "pue": pue})


def _facility(cell: Cell) -> Number:
    """What is drawn at the meter: a part of its term, whose other rows are named."""
    row, others = cell.row, Below()
    for one in rows_of(cell.document, "energy", explain=row["explain"]):
        if (one["site"], one["use"]) != (row["site"], row["use"]):
            drawn = one["it_kwh"] + one["overhead_kwh"]
            others[f"{one['site']}, {one['use']}"] = Number("facility_kwh", drawn, "kWh")
    value = row["it_kwh"] + row["overhead_kwh"]
    inputs: Below = {"others_kwh": total("others_kwh", others, "kWh", "the other rows of this term")}
    whole = kept(cell.document, row["explain"])
    if whole is None:
        return cell.part("facility_kwh", value, "kWh")
    return cell.part(
        "facility_kwh",
        value,
        "kWh",
        equation="facility_kwh = term_kwh - others_kwh",
        about="power of the nodes in this use, for the hours that they are in it, at the meter",
        inputs={"term_kwh": whole} | inputs,
    )


PERIOD_TOTALS = {"cost_usd": "cost", "carbon_kgco2e": "carbon", "energy_kwh": "energy"}


def by_period(cell: Cell) -> Number | Explanation | None:
    """What falls into one period."""
    if cell.key == "capex_usd":
        return _ordered(cell)
    if cell.key not in PERIOD_TOTALS:
        return None
    whole = kept(cell.document, PERIOD_TOTALS[cell.key])
    about = "what each decision of the plan takes in this period: the terms of the total, period by period"
    if whole is None:
        return cell.number(about=about)
    others: Below = {
        row["period"]: Number(cell.key, row[cell.key], cell.unit)
        for row in rows_of(cell.document, "by_period")
        if row["period"] != cell.row["period"]
    }
    rest = value_of(whole) - cell.value - sum(map(value_of, others.values()))
    inputs: Below = {
        "total": whole,
        "other_periods": total("other_periods", others, cell.unit),
        "no_period": Number(
            "no_period", rest, cell.unit, about="jobs left out, and rounding: they belong to no period"
        ),
    }
    return cell.number("total - other_periods - no_period", about, inputs)


def _ordered(cell: Cell) -> Number:
    """The orders of a period."""
    parts: Below = {}
    for row in rows_of(cell.document, "purchases", period=cell.row["period"]):
        found = purchases(Cell(cell.document, "purchases", row, "capex_usd"))
        assert found is not None
        parts[f"{row['sku']} for {row['site']}"] = found
    if not parts:
        return cell.number(about="nothing is ordered in this period")
    return cell.number(f"sum of the {len(parts)} numbers below", inputs=parts)


# Column -> what one kWh of it is, its unit, its term, and what is meant.
CONTRACTED = {
    "premium_usd": (
        "premium_usd_per_kwh",
        "USD/kWh",
        "cost.contract",
        "beyond the price of electricity",
    ),
    "avoided_kgco2e": (
        "avoided_kgco2e_per_kwh",
        "kgCO2e/kWh",
        "carbon.contract",
        "the residual mix of the site less what the contract itself emits",
    ),
}


def contracts(cell: Cell) -> Number | None:
    """Clean energy that is bought."""
    path = f"contracts.{cell.row['contract']}"
    matched = cell.other("matched_kwh").decided(
        f"energy of the site in this period that is bought under {path}, within its most"
    )
    if cell.key == "matched_kwh":
        return matched
    if cell.key not in CONTRACTED:
        return None
    name, unit, table, about = CONTRACTED[cell.key]
    value = cell.value / matched.value
    number = cell.document["horizon"]["periods"].index(cell.row["period"])
    paths = (f"scenario.{path}.price_premium{end}" for end in (f"[{number}]", ""))
    given = next((one for key in paths if (one := fact(cell.document, key, value))), None)
    each = given or cell.part(name, value, unit, about, inputs=term_of(cell.document, table))
    return cell.number(f"matched_kwh * {name}", inputs={"matched_kwh": matched, name: each})


def totals(cell: Cell) -> Number | Explanation | None:
    """A total, and the ends of its range."""
    whole = kept(cell.document, cell.row["explain"])
    if cell.key == "value":
        return whole or cell.number()
    if cell.key not in RANGE:
        return None
    return cell.number(
        about=f"{100 * RANGE[cell.key]:.0f} % of joint draws of the facts with a range give less; the "
        "decisions of the plan stay as they are",
        inputs={} if whole is None else {"value": whole},
    )


def tornado(cell: Cell) -> Number | Explanation | None:
    """The objective if one fact were at an end of its range."""
    found = fact(cell.document, cell.row["fact"])
    if cell.key in ("low", "high"):
        return replace(found, value=cell.value, place=f", its {cell.key} end") if found else cell.number()
    if cell.key not in ("at_low", "at_high"):
        return None
    whole = kept(cell.document, "objective")
    end = cell.key.removeprefix("at_")
    inputs: Below = {} if found is None else {"the_fact": found}
    return cell.number(
        about=f"the objective below, worked out again with this fact at its {end} end, {cell.row[end]:g} "
        f"{cell.row['unit']}; the decisions of the plan stay as they are".replace(" 1;", ";"),
        inputs=inputs | ({} if whole is None else {"objective": whole}),
    )
