"""Three views of the money of a plan: what it costs, what is paid when, and what the accounts show.

They are of the same decisions. The economic cost charges interest and the fall of value, cash counts what is
paid and received, the accounts write a price off over its accounting life. Each is a sum of its own; the way
from one to the other is a table that has to come out even.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.fleet import purchase_records
from planner.answers.plan.shares import of_contracts, part_total
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.physics.equations.money import book_usd, present_usd
from planner.physics.equations.totals import weighted_total_usd
from planner.physics.procurement import bought_vintages, deposit_interest, paid_usd
from planner.physics.value import Value, holding_usd
from planner.program.ledger import DECIDED, Disagreement, held_nodes, ordered_vintages
from planner.program.plan import Plan
from planner.program.solution import Solution
from planner.report.format import money
from planner.trace.quantities import Traced, chosen, derive, pick, rows, total
from planner.trace.records import Record, plain_rows

BILLS = (
    "bought", "standing", "training", "serving", "pools", "idle", "pausable", "rental", "parked",
)  # fmt: skip
LIVES_Y = (3, 4, 5)  # over which owners compare what hardware costs in all
CENT = 0.01


@dataclass(frozen=True)
class Nodes:
    """Entries of the fleet, or orders (R rows), by period (T): how many nodes, and what one is worth."""

    title: str
    stood: NDArray[np.float64]  # (R,) at the start of the horizon
    entered: NDArray[np.float64]
    kept: NDArray[np.float64]
    sold: NDArray[np.float64]
    value: Value
    end_sale_usd: Traced  # what a sale at the end of the horizon takes (R, 1)
    book_usd: Traced
    book_end_usd: Traced

    @property
    def fall_usd(self) -> Traced:
        """Fall of the value of a node through a period."""
        return (self.value.usd - self.value.end_usd).named("fall_usd")

    @property
    def interest_usd(self) -> Traced:
        """Interest on the value of a node through a period."""
        return (self.value.capital_usd - self.fall_usd).named("interest_usd")

    @property
    def depreciation_usd(self) -> Traced:
        """What the accounts write off of a node in a period."""
        return (self.book_usd - self.book_end_usd).named("depreciation_usd")


class Views:
    """Every line of the three views, by period; amounts of a plan that is solved."""

    def __init__(self, plan: Plan, solution: Solution) -> None:
        self.plan, self.solution = plan, solution
        self.inputs: Inputs = plan.inputs
        self.periods = range(plan.inputs.periods)
        self.is_cash = plan.inputs.scenario.policy.objective == "cash"

    @cached_property
    def fleet(self) -> list[Nodes]:
        """What stands today, then what is bought; each where there is some."""
        return [*self._standing(), *self._bought()]

    def _standing(self) -> list[Nodes]:
        standing, solution, inputs = self.plan.assembled.standing, self.solution, self.inputs
        if standing.value is None:
            return []
        names = [sku.name for sku in inputs.skus]
        fleet, start = inputs.scenario.fleet, inputs.scenario.horizon.start
        price = pick(
            [inputs.node_price(names.index(one.sku), 0) for one in fleet], standing.home[:, None]
        )
        ages = np.array([(start - one.in_service).days / 365.25 for one in fleet])[standing.home][:, None]
        return [
            Nodes(
                "the fleet of today",
                stood=standing.nodes.astype(float),
                entered=np.zeros(solution.kept.shape),
                kept=solution.kept.astype(float),
                sold=solution.retired.astype(float),
                value=standing.value,
                end_sale_usd=standing.value.sale_of(standing.value.at(inputs.period_end_h.value[:, -1:])),
                book_usd=self._book(price, ages + inputs.period_start_h.value / HOURS_PER_YEAR),
                book_end_usd=self._book(price, ages + inputs.period_end_h.value / HOURS_PER_YEAR),
            )
        ]

    def _bought(self) -> list[Nodes]:
        problem, inputs = self.plan.problem, self.inputs
        vintages = self.plan.assembled.buying.vintages or bought_vintages(inputs)
        orders = self.solution.orders * problem.node_groups.order_unit_nodes[:, None]
        if vintages is None or not (row := ordered_vintages(vintages, orders)).size:
            return []
        sold = vintages.sold(self.solution.sold)
        group, arrives = vintages.node_group[row], vintages.arrives[row]
        rebate = None if self.plan.ledger.rebate is None else rows(self.plan.ledger.rebate, group)
        every = vintages.value
        value = Value(
            *(
                paid_usd(rows(column, row), rebate)
                for column in (every.usd, every.end_usd, every.capital_usd)
            ),
            sale_usd=rows(every.sale_usd, row),
            at=lambda hours_h: paid_usd(rows(every.at(hours_h), row), rebate),
            sale_of=every.sale_of,
        )
        entered = np.zeros((len(row), inputs.periods))
        entered[np.arange(len(row)), arrives] = orders[group, vintages.ordered[row]]
        since = inputs.period_start_h.value[0, arrives][:, None]
        price = pick([value.usd[i, int(t)] for i, t in enumerate(arrives)], np.arange(len(row))[:, None])
        ages = (
            np.maximum(hours - since, 0.0) / HOURS_PER_YEAR
            for hours in (inputs.period_start_h.value, inputs.period_end_h.value)
        )
        return [
            Nodes(
                "what is bought",
                np.zeros(len(row)),
                entered,
                held_nodes(vintages, orders, sold)[row],
                sold[row],
                value,
                rows(every.sale_of(every.at(inputs.period_end_h.value[:, -1:])), row),
                *(self._book(price, age) for age in ages),
            )
        ]

    def _book(self, price: Traced, age_y: NDArray[np.float64]) -> Traced:
        age = chosen("age_y", age_y, "of the nodes by the calendar")
        return derive(book_usd, price_usd=price, age_y=age, life_y=self.inputs.fact("finance.capex_life"))

    # Lines by period

    @cached_property
    def bills(self) -> list[Traced]:
        """Upkeep, space, electricity, rent, premiums and carriage."""
        return [self._bills(t) for t in self.periods]

    def _bills(self, t: int) -> Traced:
        parts = {
            term: one
            for term in BILLS
            if term in self.plan.ledger.parts["usd"]
            and (one := part_total(self.plan, "usd", term, f"{term}_usd", periods=[t])) is not None
        }
        if (contract := of_contracts(self.plan, "usd", t)) is not None:
            parts["contract"] = contract
        if (moved := self._part("moved", t)) is not None:
            parts["moved"] = moved
            if not self.is_cash:
                held = _sum("capital_usd", [("moves", self._leaving(self.fleet[0].value.capital_usd, t))])
                parts["moved"] = (moved - held).named("moved_usd")
        return total("bills_usd", parts, "upkeep, space, electricity, rent, premiums and carriage")

    def _part(self, term: str, t: int) -> Traced | None:
        if term not in self.plan.ledger.parts["usd"]:
            return None
        return part_total(self.plan, "usd", term, f"{term}_usd", periods=[t])

    def _leaving(self, each: Traced, t: int) -> Traced | None:
        """What nodes that leave for another site take until they arrive, as the program charges it at once."""
        moves = self.plan.problem.moves
        if not self.solution.moved.any():
            return None
        counts = self.solution.moved * moves.lead_periods[:, None]
        return _amount(rows(each, moves.from_cohort), counts, t)

    def _under_way(self, each: Traced, t: int) -> Traced | None:
        """What nodes that are under way to another site take in a period, or are worth at its end."""
        moves = self.plan.problem.moves
        if not self.solution.moved.any():
            return None
        going = np.zeros(self.solution.moved.shape)
        for m, left in np.argwhere(self.solution.moved > 0).tolist():
            going[m, left : left + int(moves.lead_periods[m])] += self.solution.moved[m, left]
        return _amount(rows(each, moves.to_cohort), going, t)

    def _of_kept(self, name: str, t: int, each: str) -> Traced:
        """A column of every node that is kept through a period, and of those that leave for another site."""
        found = [(one.title, _amount(getattr(one, each), one.kept, t)) for one in self.fleet]
        if self.fleet:
            found.append(("moves", self._leaving(getattr(self.fleet[0], each), t)))
        return _sum(name, found)

    @cached_property
    def interest(self) -> list[Traced]:
        """Interest on the value of all nodes, and on deposits until delivery."""
        return [self._interest(t) for t in self.periods]

    def _interest(self, t: int) -> Traced:
        held = self._of_kept("interest_usd", t, "interest_usd")
        ordered = self._deposits(t) if self.is_cash else self._part("ordered", t)
        if ordered is None:
            return held
        return total("interest_usd", {"value of the nodes": held, "deposits until delivery": ordered})

    def _deposits(self, t: int) -> Traced | None:
        nodes, groups = self.plan.assembled.nodes, self.plan.problem.node_groups
        each = paid_usd(deposit_interest(self.inputs, nodes.price_usd), self.plan.ledger.rebate)
        return _amount(each, self.solution.orders * groups.order_unit_nodes[:, None], t)

    @cached_property
    def fall(self) -> list[Traced]:
        """Fall of the value of all nodes."""
        return [self._of_kept("fall_usd", t, "fall_usd") for t in self.periods]

    @cached_property
    def depreciation(self) -> list[Traced]:
        """What the accounts write off."""
        return [
            _sum(
                "depreciation_usd",
                [
                    *((one.title, _amount(one.depreciation_usd, one.kept, t)) for one in self.fleet),
                    *(("moves", self._under_way(one.depreciation_usd, t)) for one in self.fleet[:1]),
                ],
            )
            for t in self.periods
        ]

    @cached_property
    def ahead(self) -> Traced | None:
        """Fall of value of moves that take several periods: what is charged at once, less what it comes to."""
        taken = self.solution.moved.any(axis=1)
        if not (self.plan.problem.moves.lead_periods[taken] > 1).any():
            return None
        each = self.fleet[0].fall_usd
        counted = _sum("fall_usd", [(str(t), self._leaving(each, t)) for t in self.periods])
        actual = _sum("fall_usd", [(str(t), self._under_way(each, t)) for t in self.periods])
        return (counted - actual).named("ahead_usd")

    @cached_property
    def friction(self) -> list[Traced]:
        """What sales take of the value of what is sold."""
        return [
            _sum("friction_usd", [(one.title, _amount(one.value.sale_usd, one.sold, t)) for one in self.fleet])
            for t in self.periods
        ]

    @cached_property
    def proceeds(self) -> list[Traced]:
        """What sales bring."""
        return [self._proceeds(t) for t in self.periods]

    def _proceeds(self, t: int) -> Traced:
        worth = _sum("value_usd", [(one.title, _amount(one.value.usd, one.sold, t)) for one in self.fleet])
        return (worth - self.friction[t]).named("proceeds_usd")

    @cached_property
    def loss(self) -> list[Traced]:
        """Book value of what is sold less what it brings; a gain is below zero."""
        return [
            (
                _sum("book_usd", [(one.title, _amount(one.book_usd, one.sold, t)) for one in self.fleet])
                - self.proceeds[t]
            ).named("loss_usd")
            for t in self.periods
        ]

    def worth(self, t: int, *, book: bool = False) -> Traced:
        """Value of all nodes at the end of a period, those under way and those not delivered included."""
        ends = [one.book_end_usd if book else one.value.end_usd for one in self.fleet]
        found = [
            (one.title, _amount(each, one.kept, t)) for one, each in zip(self.fleet, ends, strict=True)
        ]
        found += [("under way", self._under_way(each, t)) for each in ends[:1]]
        if t == self.periods[-1]:
            found.append(("ordered, to be delivered later", self._undelivered))
        return _sum("book_usd" if book else "value_usd", found)

    @cached_property
    def _undelivered(self) -> Traced | None:
        """Price of what is ordered and does not arrive within the horizon."""
        problem = self.plan.problem
        nodes = self.solution.orders * problem.node_groups.order_unit_nodes[:, None]
        late = np.arange(nodes.shape[1]) + problem.node_groups.lead_periods[:, None] >= nodes.shape[1]
        if not (nodes * late).any():
            return None
        each = paid_usd(self.plan.assembled.nodes.price_usd, self.plan.ledger.rebate)
        return derive(weighted_total_usd, each_usd=each, counts=chosen("nodes", nodes * late, DECIDED, "1"))

    def stood(self, *, book: bool = False) -> Traced:
        """Value of what stands today."""
        name = "book_usd" if book else "value_usd"
        found = [
            (one.title, _amount(one.book_usd if book else one.value.usd, one.stood[:, None] * first, 0))
            for first in [np.eye(1, len(self.periods))]
            for one in self.fleet
        ]
        return _sum(name, found)

    @cached_property
    def sale_at_end(self) -> Traced:
        """What a sale of all nodes at the end of the horizon takes of their value."""
        found = []
        for one in self.fleet:
            if (kept := one.kept[:, -1:]).any():
                nodes = chosen("nodes", kept, DECIDED, "1")
                found.append(
                    (one.title, derive(weighted_total_usd, each_usd=one.end_sale_usd, counts=nodes))
                )
        return _sum("sale_usd", found)

    @cached_property
    def penalties(self) -> Traced:
        """Penalties that the scenario states; nobody is billed for them."""
        terms = self.plan.ledger.usd_terms
        parts = {name: terms[name] for name in ("unmet_usd", "left_out_usd") if name in terms}
        return total("penalties_usd", {name: one for name, one in parts.items() if one.value}, "as stated")

    def over(self, name: str, line: list[Traced]) -> Traced:
        """A line over the horizon."""
        labels = self.inputs.scenario.horizon.period_labels
        parts = {label: one for label, one in zip(labels, line, strict=True) if one.value}
        return total(name, parts, "over the periods", most=len(labels))


def _amount(each: Traced, counts: NDArray[Any], t: int) -> Traced | None:
    """What some nodes take in a period; None where there are none."""
    here = np.where(np.arange(counts.shape[1]) == t, counts, 0.0)
    if not here.any():
        return None
    return derive(weighted_total_usd, each_usd=each, counts=chosen("nodes", here, DECIDED, "1"))


def _sum(name: str, parts: Sequence[tuple[str, Traced | None]]) -> Traced:
    return total(name, {title: one for title, one in parts if one is not None})


LINES = {
    "bills": "Upkeep, space, electricity, rent, premiums, carriage",
    "purchases": "Purchases",
    "sales": "Sales: what they bring",
    "fall": "Fall of value; in the accounts depreciation",
    "friction": "What sales take of the value; in the accounts book value less proceeds",
    "interest": "Interest on value and deposits",
    "penalties": "Penalties, as stated",
    "total": "In all",
}


def view_records(views: Views) -> list[Record]:
    """Line by line: the economic cost, all cash of the plan's decisions, and the accounts.

    Raises:
        Disagreement: a view is not what its bridge comes to, or the economic cost not the plan's.
    """
    economic, cash, accounts = _lines(views)
    sums = [
        total(name, {LINES[line]: one for line, one in lines.items()}, most=len(LINES))
        for name, lines in zip(("economic_usd", "cash_usd", "accounts_usd"), (economic, cash, accounts), strict=True)
    ]
    if not views.is_cash:
        even("economic cost", sums[0], views.plan.ledger.cost)
    return [
        {
            "line": label,
            **{
                f"{view}_usd": one
                for view, lines, whole in zip(
                    ("economic", "cash", "accounts"), (economic, cash, accounts), sums, strict=True
                )
                if (one := whole if line == "total" else lines.get(line)) is not None
            },
        }
        for line, label in LINES.items()
        if line == "total" or any(line in lines for lines in (economic, cash, accounts))
    ]


def _lines(views: Views) -> tuple[dict[str, Traced], dict[str, Traced], dict[str, Traced]]:
    bills = views.over("bills_usd", views.bills)
    sales = (chosen("sign", -1.0, "income") * views.over("proceeds_usd", views.proceeds)).named("sales_usd")
    economic = {
        "bills": bills,
        "fall": views.over("fall_usd", views.fall),
        "friction": views.over("friction_usd", views.friction),
        "interest": views.over("interest_usd", views.interest),
        "penalties": views.penalties,
    }
    cash = {"bills": bills, "purchases": views.plan.ledger.capex, "sales": sales}
    accounts = {
        "bills": bills,
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
        "Value of the fleet at the end; beside the accounts, above its book value": (end, end - end_book),
        "Value of the fleet today; beside the accounts, above its book value": (
            minus * start,
            start_book - start,
        ),
    }
    if views.ahead is not None:
        both["Moves of several periods, charged when they begin"] = (minus * views.ahead,) * 2
    found: list[Record] = [
        {"line": line, "to_cash_usd": one.named("to_cash_usd"), "to_accounts_usd": two.named("to_accounts_usd")}
        for line, (one, two) in both.items()
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
    for number, row in enumerate(purchase_records(views.plan, views.solution), 1):
        what = f"{row['sku']} for {row['site']}, order {number}"
        pay(date.fromisoformat(row["order_by"]), "deposits_usd", what, (row["capex_usd"] * deposit).named("deposits_usd"))
        pay(
            date.fromisoformat(row["arrives"]),
            "deliveries_usd",
            what,
            (row["capex_usd"] * (1 - deposit)).named("deliveries_usd"),
        )
    horizon, delay = views.inputs.scenario.horizon, views.inputs.fact("finance.sale_delay")
    days = (*horizon.period_starts, horizon.end)
    for t, (label, first, after) in enumerate(zip(horizon.period_labels, days, days[1:], strict=False)):
        for month, share in _months(first, after):
            spent = views.bills[t] * chosen("share", share, f"days of the month among those of {label}")
            pay(month, "bills_usd", label, spent.named("bills_usd"))
        if views.proceeds[t].value:
            received = chosen("sign", -1.0, "income") * views.proceeds[t]
            day = first + timedelta(hours=float(delay.value))
            pay(day, "sales_usd", f"sold in {label}", received.named("sales_usd"))
    found: list[Record] = []
    columns = ("deposits_usd", "deliveries_usd", "bills_usd", "sales_usd")
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
        "as a going concern: at its value": left,
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


def life_records(views: Views, cost: Traced) -> list[Record]:
    """What the plan and its fleet cost over 3 to 5 years: the last period goes on after the horizon."""
    hours = float(sum(views.inputs.scenario.horizon.hours))
    last, found = views.periods[-1], []
    for years in LIVES_Y:
        if years * HOURS_PER_YEAR <= hours:
            continue
        length = chosen("compared_y", float(years), "over which owners compare")
        later_h = years * HOURS_PER_YEAR - hours
        share = chosen("periods", later_h / views.inputs.period_h.value[0, last], "more periods like the last")
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
                hours_per_year_h=views.inputs.hours_per_year_h,
            )
            kept = np.repeat(one.kept[:, -1:], len(edges) - 1, axis=1)
            if not kept.any():
                continue
            nodes = chosen("nodes", kept, "those of the last period")
            capital.append((one.title, derive(weighted_total_usd, each_usd=each, counts=nodes)))
            worth.append((one.title, _amount(ends, kept, len(edges) - 2)))
        later = _sum("later_capital_usd", capital)
        whole = total(
            "cost_usd",
            {"within the horizon": cost, "bills after it": bills, "interest and fall of value after it": later},
        )
        found.append(
            {
                "years": years,
                "within_usd": cost.named("within_usd"),
                "later_bills_usd": bills.named("later_bills_usd"),
                "later_capital_usd": later,
                "cost_usd": whole,
                "usd_per_y": (whole / length).named("usd_per_y"),
                "left_usd": _sum("left_usd", worth),
            }
        )
    return found


def view_tables(plan: Plan, solution: Solution) -> dict[str, list[Record]]:
    """The tables of the three views."""
    views = Views(plan, solution)
    lines = view_records(views)
    months = cash_records(views)
    even("cash by month", months[-1]["so_far_usd"], lines[-1]["cash_usd"])
    return {
        "views": lines,
        "bridge": bridge_records(views, lines),
        "cash": months,
        "accounts": account_records(views),
        "present_value": present_records(views, months),
        "life_cost": life_records(views, lines[-1]["economic_usd"]),
    }


def view_sentences(tables: dict[str, list[Record]]) -> list[str]:
    """The three views in words: what is paid and when most, what the accounts show, what is left."""
    plain = {name: plain_rows(tables[name]) for name in ("views", "cash", "accounts")}
    whole, months, last = plain["views"][-1], plain["cash"], plain["accounts"][-1]
    most = max(months, key=lambda row: row["so_far_usd"])
    return [
        f"The same decisions in three views: {money(whole['economic_usd'])} economic cost, "
        f"{money(whole['cash_usd'])} of cash, {money(whole['accounts_usd'])} of expense in the accounts. "
        f"Cash paid out is highest in {most['month']}, {money(most['so_far_usd'])}; the fleet is worth "
        f"{money(last['value_usd'])} at the end ({money(last['book_usd'])} in the books)."
    ]
