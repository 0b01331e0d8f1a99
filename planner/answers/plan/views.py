"""Three views of the money of a plan: what it costs, what is paid when, and what the accounts show.

They are of the same decisions. The economic cost charges interest and the fall of value, cash counts what is
paid and received, the accounts write a price off over its accounting life. Each is a sum of its own; the way
from one to the other is a table that has to come out even.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import numpy as np

from planner.answers.plan.fleet import purchase_records
from planner.answers.plan.installations import installation_records
from planner.answers.plan.view_lines import Views, amount, summed
from planner.inputs.resolved import HOURS_PER_YEAR
from planner.physics.equations.money import present_usd
from planner.physics.equations.totals import weighted_total_usd
from planner.physics.value import holding_usd
from planner.program.ledger import Disagreement
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.trace.numbers import money
from planner.trace.quantities import Chosen, Traced, chosen, derive, total
from planner.trace.records import Record, plain_rows

LIVES_Y = (3, 4, 5)  # over which owners compare what hardware costs in all
CENT = 0.01
GOING_CONCERN = "as a going concern: at its value"

LINES = {
    "bills": "Upkeep, space, electricity, rent, premiums, carriage",
    "data": "Data that is bought",
    "purchases": "Purchases",
    "sales": "Sales: what they bring",
    "fall": "Fall of value; in the accounts depreciation",
    "friction": "What sales take of the value; in the accounts book value less proceeds",
    "interest": "Interest on value and deposits",
    "penalties": "Penalties, as stated",
    "terms_left": "Terms after the horizon: rent above its worth then",
}


def view_records(views: Views) -> list[Record]:
    """Line by line: the economic cost, all cash of the plan's decisions, and the accounts.

    Raises:
        Disagreement: a view is not what its bridge comes to, or the economic cost not the plan's.
    """
    found = dict(zip(("economic_usd", "cash_usd", "accounts_usd"), _lines(views), strict=True))
    sums: Record = {
        view: total(view, {LINES[line]: one for line, one in lines.items()}, most=len(LINES))
        for view, lines in found.items()
    }
    if not views.is_cash:
        even("economic cost", sums["economic_usd"], views.plan.ledger.cost)
    rows: list[Record] = [
        {"line": label} | {view: lines[line] for view, lines in found.items() if line in lines}
        for line, label in LINES.items()
        if any(line in lines and lines[line].value for lines in found.values())
    ]
    return [*rows, {"line": "In all", **sums}]


def _lines(views: Views) -> tuple[dict[str, Traced], dict[str, Traced], dict[str, Traced]]:
    bills = views.over("bills_usd", views.bills)
    sales = (chosen("sign", -1.0, "income") * views.over("proceeds_usd", views.proceeds)).named("sales_usd")
    data = views.over("data_usd", views.data)
    economic = {
        "bills": bills,
        "data": data,
        "fall": views.over("fall_usd", views.fall),
        "friction": views.over("friction_usd", views.friction),
        "interest": views.over("interest_usd", views.interest),
        "penalties": views.penalties,
        "terms_left": views.terms_left,
    }
    cash = {"bills": bills, "data": data, "purchases": views.plan.ledger.capex, "sales": sales}
    accounts = {
        "bills": bills,
        "data": data,
        "fall": views.over("depreciation_usd", views.depreciation),
        "friction": views.over("loss_usd", views.loss),
    }
    return economic, cash, accounts


def bridge_records(views: Views, lines: list[Record]) -> list[Record]:
    """From the economic cost to cash and to the accounts, step by step.

    Raises:
        Disagreement: they do not come out even.
    """
    first = lines[-1]["economic_usd"]
    economic, _, _ = _lines(views)
    minus = chosen("sign", -1.0, "left out there")
    start, end = views.stood(), views.worth(views.periods[-1])
    start_book, end_book = views.stood(book=True), views.worth(views.periods[-1], book=True)
    both = {
        "Economic cost": (first, first),
        "Interest": (minus * economic["interest"],) * 2,
        "Penalties": (minus * economic["penalties"],) * 2,
        "Terms after the horizon, above their worth": (minus * economic["terms_left"],) * 2,
        "Value of the fleet at the end; for the accounts above its book value": (end, end - end_book),
        "Value of the fleet today; for the accounts above its book value": (
            minus * start,
            start_book - start,
        ),
    }
    if views.ahead is not None:
        both["Moves of several periods, charged when they begin"] = (minus * views.ahead,) * 2
    found: list[Record] = [
        {
            "line": line,
            "to_cash_usd": one.named("to_cash_usd"),
            "to_accounts_usd": two.named("to_accounts_usd"),
        }
        for line, (one, two) in both.items()
        if one.value or two.value
    ]
    sums = {
        key: total(key, {row["line"]: row[key] for row in found}, most=len(found))
        for key in ("to_cash_usd", "to_accounts_usd")
    }
    even("cash", sums["to_cash_usd"], lines[-1]["cash_usd"])
    even("sum of the accounts", sums["to_accounts_usd"], lines[-1]["accounts_usd"])
    return [*found, {"line": "Cash; expense of the accounts", **sums}]


def even(name: str, ours: Traced, theirs: Traced) -> None:
    """Refuse a sum that differs from another way by more than a cent.

    Raises:
        Disagreement: it does.
    """
    size = max(1.0, abs(float(theirs.value)))
    if abs(float(ours.value) - float(theirs.value)) > max(CENT, 1e-9 * size):
        raise Disagreement(f"the {name} is {ours.value} by its lines and {theirs.value} by another way")


def account_records(views: Views) -> list[Record]:
    """What the accounts show by period, and what the fleet is worth at its end."""
    found = []
    for t, label in enumerate(views.inputs.scenario.horizon.period_labels):
        parts = {
            "bills_usd": views.bills[t],
            **({"data_usd": views.data[t]} if views.buys_data else {}),
            "depreciation_usd": views.depreciation[t],
            "loss_usd": views.loss[t],
        }
        found.append(
            {
                "period": label,
                **parts,
                "expense_usd": total("expense_usd", parts),
                "book_usd": views.worth(t, book=True),
                "value_usd": views.worth(t),
            }
        )
    return found


def cash_records(views: Views) -> list[Record]:
    """What is paid and received in each month, until the last payment that the plan's decisions lead to."""
    paid: dict[str, dict[str, dict[str, Traced]]] = {}

    def pay(day: date, column: str, what: str, amount: Traced) -> None:
        paid.setdefault(f"{day:%Y-%m}", {}).setdefault(column, {})[what] = amount

    deposit = views.inputs.fact("finance.deposit")
    for number, order in enumerate(purchase_records(views.plan, views.solution), 1):
        what = f"{order['sku']} for {order['site']}, order {number}"
        price = order["capex_usd"]
        first, last = (date.fromisoformat(order[key]) for key in ("order_by", "arrives"))
        pay(first, "deposits_usd", what, (price * deposit).named("deposits_usd"))
        pay(last, "deliveries_usd", what, (price * (1 - deposit)).named("deliveries_usd"))
    for put in installation_records(views.plan, views.solution):
        day = date.fromisoformat(put["ready_by"])
        pay(day, "installed_usd", f"{put['what']} at {put['site']}, {day}", put["capex_usd"])
    horizon, delay = views.inputs.scenario.horizon, views.inputs.fact("finance.sale_delay")
    days = (*horizon.period_starts, horizon.end)
    for t, (label, first, after) in enumerate(zip(horizon.period_labels, days, days[1:], strict=False)):
        for day, share in _months(first, after):
            spent = views.bills[t] * chosen("share", share, f"days of the month among those of {label}")
            pay(day, "bills_usd", label, spent.named("bills_usd"))
        if views.data[t].value:
            pay(first, "data_usd", f"of runs that begin in {label}", views.data[t])
        if views.proceeds[t].value:
            received = chosen("sign", -1.0, "income") * views.proceeds[t]
            pay(
                first + timedelta(hours=float(delay.value)),
                "sales_usd",
                f"sold in {label}",
                received.named("sales_usd"),
            )
    found: list[Record] = []
    columns = [
        "deposits_usd",
        "deliveries_usd",
        *(["installed_usd"] if views.installed else []),
        "bills_usd",
        *(["data_usd"] if views.buys_data else []),
        "sales_usd",
    ]
    for month in sorted(paid):
        parts = {name: total(name, paid[month].get(name, {})) for name in columns}
        row: Record = {"month": month, **parts, "cash_usd": total("cash_usd", parts)}
        before = {"before": found[-1]["so_far_usd"]} if found else {}
        found.append(row | {"so_far_usd": total("so_far_usd", {**before, "this month": row["cash_usd"]})})
    return found


def _months(first: date, after: date) -> list[tuple[date, float]]:
    """The months from a day to another, each with its share of the days."""
    found, day = [], first
    while day < after:
        following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
        found.append((day, (min(following, after) - day).days / (after - first).days))
        day = following
    return found


def present_records(views: Views, months: list[Record]) -> list[Record]:
    """What the plan costs at present value: by what the fleet is worth at the end, in three ways."""
    start, rate = views.inputs.scenario.horizon.start, views.inputs.discount_rate()

    def present(amount: Traced, after_y: float, why: str) -> Traced:
        years = chosen("after_y", after_y, why)
        return derive(present_usd, paid_usd=amount, discount_fraction=rate, after_y=years)

    middles = [date.fromisoformat(f"{row['month']}-15") for row in months]
    each = {
        row["month"]: present(
            row["cash_usd"], max((day - start).days, 0) / 365.25, "to the middle of the month"
        )
        for row, day in zip(months, middles, strict=True)
    }
    paid = total("present_usd", each, "cash of the plan, month by month", most=len(each) or 1)
    today = views.stood()
    end_y = sum(views.inputs.scenario.horizon.hours) / HOURS_PER_YEAR
    worth = views.worth(views.periods[-1])
    left = present(worth, end_y, "to the end of the horizon")
    sold = present((worth - views.sale_at_end).named("value_usd"), end_y, "to the end of the horizon")
    ways = {
        GOING_CONCERN: left,
        "sold: its value less what a sale takes": sold,
        "nothing": chosen("present_usd", 0.0, "a stress case"),
    }
    return [
        {
            "end": way,
            "paid_usd": paid.named("paid_usd"),
            "today_usd": today.named("today_usd"),
            "left_usd": one.named("left_usd"),
            "present_usd": (paid + today - one).named("present_usd"),
        }
        for way, one in ways.items()
    ]


SMALL = 1e-3  # of a present cost: what is less is within the gap of the search
NEVER = "never within the horizon"


def npv_records(plan: Plan, months: list[Record], present: list[Record]) -> list[Record]:
    """What the plan is worth over each plan next to it: the present cost of that one less its own."""
    start = plan.inputs.scenario.horizon.start
    mine = {row["month"]: float(row["cash_usd"].value) for row in months}
    found: list[Record] = []
    every = {
        name: Views(plan.baseline_plan(name), answer.solution)
        for name, answer in plan.baselines.items()
        if answer.solution is not None
    }
    undone = any(views.penalties.value for views in every.values())
    for name, views in every.items():
        its_months = cash_records(views)
        theirs = {row["month"]: float(row["cash_usd"].value) for row in its_months}
        back = pays_back({month: theirs.get(month, 0.0) - mine.get(month, 0.0) for month in {*mine, *theirs}})
        for own, other in zip(present, present_records(views, its_months), strict=True):
            parts = [
                chosen(key, float(other[key].value), f"of the plan '{name}', {why}", unit="USD")
                for key, why in PRESENT.items()
            ]
            cost = (parts[0] + parts[1] - parts[2]).named("baseline_present_usd")
            found.append(
                {
                    "against": name,
                    "end": own["end"],
                    "baseline_present_usd": cost,
                    "plan_present_usd": own["present_usd"],
                    **({"baseline_penalties_usd": _penalties(name, views)} if undone else {}),
                    "npv_usd": (cost - own["present_usd"]).named("npv_usd"),
                    "pays_back": _payback_text(back, start),
                }
            )
    return found


def _penalties(name: str, views: Views) -> Chosen:
    """What a plan next to this one leaves undone, at the penalties that the scenario states."""
    return chosen(
        "penalties_usd", float(views.penalties.value), f"of the plan '{name}', as stated", unit="USD"
    )


PRESENT = {
    "paid_usd": "its cash by month at present value",
    "today_usd": "what stands today is worth",
    "left_usd": "what is left at the end is worth, at present value",
}


def pays_back(saved: Mapping[str, float]) -> str | None:
    """The month from which on more is saved than was paid ahead; empty where nothing is, None for never.

    The sum of what is saved month by month is below zero before it, and not from then on.
    """
    sums = dict(zip(sorted(saved), np.cumsum([saved[month] for month in sorted(saved)]), strict=True))
    below = [month for month, so_far in sums.items() if so_far < -CENT]
    if not below:
        return ""
    return next((month for month in sums if month > below[-1]), None)


def _payback_text(month: str | None, start: date) -> str:
    if month is None:
        return NEVER
    if not month:
        return "at once"
    year, number = map(int, month.split("-"))
    after = 12 * (year - start.year) + number - start.month + 1
    return f"after {after} month{'s' if after != 1 else ''} ({month})"


def life_records(views: Views, cost: Traced) -> list[Record]:
    """What the plan and its fleet cost over 3 to 5 years: the last period goes on after the horizon."""
    hours = float(sum(views.inputs.scenario.horizon.hours))
    last, found = views.periods[-1], []
    for years in LIVES_Y:
        if years * HOURS_PER_YEAR <= hours:
            continue
        length = chosen("compared_y", float(years), "over which owners compare")
        later_h = years * HOURS_PER_YEAR - hours
        share = chosen(
            "periods", later_h / views.inputs.period_h.value[0, last], "more periods like the last"
        )
        bills = (views.bills[last] * share).named("bills_usd")
        edges = np.append(np.arange(hours, years * HOURS_PER_YEAR, HOURS_PER_YEAR), years * HOURS_PER_YEAR)
        capital, worth = [], []
        for one in views.fleet:
            at = one.value.at
            ends = at(edges[None, 1:])
            each = derive(
                holding_usd,
                value_from_usd=at(edges[None, :-1]),
                value_to_usd=ends,
                discount_fraction=views.inputs.discount_rate(),
                hours_h=chosen("hours_h", np.diff(edges)[None, :], "steps of a year at most"),
                year_h=views.inputs.year_h,
            )
            kept = np.repeat(one.kept[:, -1:], len(edges) - 1, axis=1)
            if not kept.any():
                continue
            nodes = chosen("nodes", kept, "those of the last period")
            capital.append((one.title, derive(weighted_total_usd, each_usd=each, counts=nodes)))
            worth.append((one.title, amount(ends, kept, len(edges) - 2)))
        for put in views.installed:
            capital.append((put.title, (put.capital_usd(last) * share).named("later_capital_usd")))
            worth.append((put.title, put.worth_after_usd(later_h)))
        later = summed("later_capital_usd", capital)
        whole = total(
            "cost_usd",
            {
                "within the horizon": cost,
                "bills after it": bills,
                "interest and fall of value after it": later,
            },
        )
        found.append(
            {
                "over": f"{years} years",
                "within_usd": cost.named("within_usd"),
                "later_bills_usd": bills.named("later_bills_usd"),
                "later_capital_usd": later,
                "cost_usd": whole,
                "usd_per_y": (whole / length).named("usd_per_y"),
                "left_usd": summed("left_usd", worth),
            }
        )
    return found


def view_tables(plan: Plan, solution: Solution) -> dict[str, list[Record]]:
    """The tables of the three views."""
    views = Views(plan, solution)
    lines = view_records(views)
    months = cash_records(views)
    present = present_records(views, months)
    even("cash by month", months[-1]["so_far_usd"], lines[-1]["cash_usd"])
    return {
        "views": lines,
        "bridge": bridge_records(views, lines),
        "cash": months,
        "accounts": account_records(views),
        "present_value": present,
        "npv": npv_records(plan, months, present),
        "life_cost": life_records(views, lines[-1]["economic_usd"]),
    }


def view_sentences(tables: dict[str, list[Record]]) -> list[str]:
    """The three views in words: what is paid and when most, what the accounts show, what is left."""
    plain = {name: plain_rows(tables[name]) for name in ("views", "cash", "accounts")}
    whole, months, last = plain["views"][-1], plain["cash"], plain["accounts"][-1]
    most, cash = max(months, key=lambda row: row["so_far_usd"]), whole["cash_usd"]
    accounts = whole["accounts_usd"]
    return [
        f"The same decisions in three views: an economic cost of {money(whole['economic_usd'])}, "
        f"{money(abs(cash))} of cash {'paid' if cash >= 0 else 'received'}, and "
        f"{'an expense' if accounts >= 0 else 'a gain'} of {money(abs(accounts))} in the accounts. "
        f"{_most_out(most)}"
        f"The fleet{_with(plain['cash'])} is worth {money(last['value_usd'])} at the end, "
        f"{money(last['book_usd'])} in the books.",
        *npv_sentence(plain_rows(tables["npv"])),
    ]


def _with(months: list[Record]) -> str:
    """That what is put up at sites counts with the fleet."""
    return ", with its batteries and cells," if any(row.get("installed_usd") for row in months) else ""


def _most_out(most: Record) -> str:
    """When most cash is out; nothing where sales bring more than is paid in every month."""
    paid = most["so_far_usd"]
    return (
        f"The most cash is out in {most['month']}: {money(paid)}. "
        if paid > 0
        else "No month pays out cash. "
    )


def npv_sentence(rows: list[Record]) -> list[str]:
    """What the plan is worth over the plans next to it, as a going concern."""
    said = [
        f"{money(abs(row['npv_usd']))} {'better' if row['npv_usd'] >= 0 else 'worse'} than "
        f"'{row['against']}' ({_paid_back(row['pays_back'])}{_left_undone(row)})"
        for row in rows
        if row["end"] == GOING_CONCERN
        and abs(row["npv_usd"]) > SMALL * max(abs(row["plan_present_usd"]), abs(row["baseline_present_usd"]))
    ]
    return [f"At present value, as a going concern, the plan is {', '.join(said)}."] if said else []


def _left_undone(row: Record) -> str:
    """That a plan next to this one leaves work undone, whose penalties are no cash."""
    penalties = row.get("baseline_penalties_usd") or 0.0
    if abs(penalties) <= SMALL * abs(row["baseline_present_usd"]):
        return ""
    return f"; it leaves work undone at penalties of {money(penalties)}, which no cash shows"


def _paid_back(said: str) -> str:
    """When its further cash is paid back, as a part of a sentence."""
    if said == "at once":
        return "with no more cash in any month"
    return f"its further cash is {'never back' if said == NEVER else 'back'} {said.removeprefix('never ')}"
