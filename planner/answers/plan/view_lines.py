"""The money of a plan by period: bills, interest, fall of value, depreciation, sales, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.answers.plan.shares import of_contracts, part_total
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.physics.equations.money import book_usd
from planner.physics.equations.totals import weighted_total_usd
from planner.physics.procurement import bought_vintages, deposit_interest, paid_usd
from planner.physics.value import Value
from planner.program.ledger_terms import DECIDED, held_nodes, ordered_vintages
from planner.program.plan import Plan
from planner.program.site_purchases import PutUp, put_up
from planner.program.solution import Solution
from planner.trace.quantities import Traced, chosen, derive, pick, rows, total

BILLS = (
    "bought", "standing", "training", "feeding", "adopted", "serving", "starting", "deployed", "set_up",
    "pools", "egress", "idle", "pausable", "rental", "reserved", "parked", "space", "peak", "curtailment",
    "shifted", "resting", "lent", "stored", "sun", "stopped", "transfers", "reused",
)  # fmt: skip


@dataclass(frozen=True)
class Installed:
    """What is put up at sites of one kind, by period (S, T): its money, as `Nodes` has that of nodes."""

    title: str
    put_up: PutUp

    def upkeep_usd(self, t: int) -> Traced:
        """What is charged of it in a period beyond its share of price."""
        return self._of((self.put_up.each.usd - self.put_up.each.capital_usd).named("upkeep_usd"), t)

    def capital_usd(self, t: int) -> Traced:
        """Its share of price in a period."""
        return self._of(self.put_up.each.capital_usd, t)

    def capex_usd(self, t: int) -> Traced:
        """What of its price is due in a period."""
        return self._of(self.put_up.each.capex_usd, t)

    def fall_usd(self, t: int) -> Traced:
        """Fall of its value through a period, from its price on."""
        each = self.put_up.each
        return self._of((each.from_usd + each.capex_usd - each.to_usd).named("fall_usd"), t)

    def interest_usd(self, t: int) -> Traced:
        """Interest in its share of price in a period: what is not fall of value."""
        return (self.capital_usd(t) - self.fall_usd(t)).named("interest_usd")

    def depreciation_usd(self, t: int) -> Traced:
        """What the accounts write off of it in a period, straight line over its life."""
        each = self.put_up.each
        fall = (each.book_from_usd + each.capex_usd - each.book_to_usd).named("depreciation_usd")
        return self._of(fall, t)

    def worth_usd(self, t: int, *, book: bool = False) -> Traced:
        """Its value at the end of a period, or what the books show."""
        each = self.put_up.each
        return self._of(each.book_to_usd if book else each.to_usd, t)

    def worth_after_usd(self, later_h: float) -> Traced:
        """Its value so long after the horizon, put up again where its life is over."""
        each, last = self.put_up.each, self.put_up.each.age_y[:, -1:]
        ages = np.where(last > 0, last + later_h / HOURS_PER_YEAR, 0.0)
        return self._of(each.worth_at(ages), 0, self.put_up.amounts[:, None])

    def _of(self, each: Traced, t: int, amounts: NDArray[np.float64] | None = None) -> Traced:
        found = amount(each, self.put_up.by_period if amounts is None else amounts, t)
        assert found is not None, "some of it is put up"
        return found


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

    @cached_property
    def installed(self) -> list[Installed]:
        """Batteries and cells of the sun; each where some are put up."""
        energy, problem = self.plan.assembled.energy, self.plan.problem
        return [Installed(one.what.what, one) for one in put_up(energy, problem, self.solution)]

    def _standing(self) -> list[Nodes]:
        standing, solution, inputs = self.plan.assembled.standing, self.solution, self.inputs
        if standing.value is None:
            return []
        names = [sku.name for sku in inputs.skus]
        fleet, start = inputs.scenario.fleet, inputs.scenario.horizon.start
        paid: list[Traced] = [
            inputs.node_price(names.index(one.sku), 0)
            if one.paid_usd is None
            else inputs.money(f"fleet[{i}].paid", one.paid_usd, "USD")
            for i, one in enumerate(fleet)
        ]
        price = pick(paid, standing.home[:, None])
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
        # Where money is counted when it is spent, nothing that is bought may be sold again.
        sold = np.zeros(vintages.may_sell.shape) if self.is_cash else vintages.sold(self.solution.sold)
        group, arrives = vintages.node_group[row], vintages.arrives[row]
        rebate = None if self.plan.ledger.rebate is None else rows(self.plan.ledger.rebate, group)
        every = vintages.value

        def paid(column: Traced) -> Traced:
            return paid_usd(rows(column, row), rebate)

        value = Value(
            usd=paid(every.usd),
            end_usd=paid(every.end_usd),
            capital_usd=paid(every.capital_usd),
            sale_usd=rows(every.sale_usd, row),
            at=lambda hours_h: paid(every.at(hours_h)),
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
        upkeep = {f"upkeep of {one.title}": one.upkeep_usd(t) for one in self.installed}
        parts |= {name: one for name, one in upkeep.items() if one.value}
        if (contract := of_contracts(self.plan, "usd", t)) is not None:
            parts["contract"] = contract
        if (moved := self._part("moved", t)) is not None:
            parts["moved"] = moved
            if not self.is_cash:
                held = summed("capital_usd", [("moves", self._leaving(self.fleet[0].value.capital_usd, t))])
                parts["moved"] = (moved - held).named("moved_usd")
        return total("bills_usd", parts, "upkeep, space, electricity, rent, premiums and carriage")

    @property
    def buys_data(self) -> bool:
        """Whether any run of the plan buys data."""
        return "data" in self.plan.ledger.parts["usd"]

    @cached_property
    def data(self) -> list[Traced]:
        """Data that is bought, in the period in which its run begins or is done."""
        return [
            total("data_usd", {} if (one := self._part("data", t)) is None else {"runs": one})
            for t in self.periods
        ]

    def _part(self, term: str, t: int) -> Traced | None:
        if term not in self.plan.ledger.parts["usd"]:
            return None
        return part_total(self.plan, "usd", term, f"{term}_usd", periods=[t])

    def _leaving(self, each: Traced, t: int) -> Traced | None:
        """What nodes that leave for another site take until they arrive: the program charges it at once."""
        moves = self.plan.problem.moves
        if not self.solution.moved.any():
            return None
        counts = self.solution.moved * moves.lead_periods[:, None]
        return amount(rows(each, moves.from_cohort), counts, t)

    def _under_way(self, each: Traced, t: int) -> Traced | None:
        """What nodes that are under way to another site take in a period, or are worth at its end."""
        moves = self.plan.problem.moves
        if not self.solution.moved.any():
            return None
        going = np.zeros(self.solution.moved.shape)
        for m, left in np.argwhere(self.solution.moved > 0).tolist():
            going[m, left : left + int(moves.lead_periods[m])] += self.solution.moved[m, left]
        return amount(rows(each, moves.to_cohort), going, t)

    def _of_kept(self, name: str, t: int, each: str) -> Traced:
        """A column of every node that is kept through a period, and of those that leave for another site."""
        found = [(one.title, amount(getattr(one, each), one.kept, t)) for one in self.fleet]
        if self.fleet:
            found.append(("moves", self._leaving(getattr(self.fleet[0], each), t)))
        return summed(name, found)

    @cached_property
    def interest(self) -> list[Traced]:
        """Interest on the value of all nodes, and on deposits until delivery."""
        return [self._interest(t) for t in self.periods]

    def _interest(self, t: int) -> Traced:
        held = self._of_kept("interest_usd", t, "interest_usd")
        ordered = self._deposits(t) if self.is_cash else self._part("ordered", t)
        parts = {"value of the nodes": held} | {one.title: one.interest_usd(t) for one in self.installed}
        if ordered is not None:
            parts["deposits until delivery"] = ordered
        return held if len(parts) == 1 else total("interest_usd", parts)

    def _deposits(self, t: int) -> Traced | None:
        nodes, groups = self.plan.assembled.nodes, self.plan.problem.node_groups
        each = paid_usd(deposit_interest(self.inputs, nodes.price_usd), self.plan.ledger.rebate)
        return amount(each, self.solution.orders * groups.order_unit_nodes[:, None], t)

    @cached_property
    def fall(self) -> list[Traced]:
        """Fall of the value of all nodes, and of what is put up at sites."""
        return [self._fall(t) for t in self.periods]

    def _fall(self, t: int) -> Traced:
        of_nodes = self._of_kept("fall_usd", t, "fall_usd")
        others = {one.title: one.fall_usd(t) for one in self.installed}
        return total("fall_usd", {"nodes": of_nodes, **others}) if others else of_nodes

    @cached_property
    def depreciation(self) -> list[Traced]:
        """What the accounts write off."""
        return [self._depreciation(t) for t in self.periods]

    def _depreciation(self, t: int) -> Traced:
        found = [(one.title, amount(one.depreciation_usd, one.kept, t)) for one in self.fleet]
        found += [("moves", self._under_way(one.depreciation_usd, t)) for one in self.fleet[:1]]
        found += [(one.title, one.depreciation_usd(t)) for one in self.installed]
        return summed("depreciation_usd", found)

    @cached_property
    def ahead(self) -> Traced | None:
        """Fall of value in moves of several periods: what is charged at once, less what it comes to."""
        taken = self.solution.moved.any(axis=1)
        if not (self.plan.problem.moves.lead_periods[taken] > 1).any():
            return None
        each = self.fleet[0].fall_usd
        counted = summed("fall_usd", [(str(t), self._leaving(each, t)) for t in self.periods])
        actual = summed("fall_usd", [(str(t), self._under_way(each, t)) for t in self.periods])
        return (counted - actual).named("ahead_usd")

    @cached_property
    def friction(self) -> list[Traced]:
        """What sales take of the value of what is sold."""
        return [
            summed(
                "friction_usd", [(one.title, amount(one.value.sale_usd, one.sold, t)) for one in self.fleet]
            )
            for t in self.periods
        ]

    @cached_property
    def proceeds(self) -> list[Traced]:
        """What sales bring."""
        return [self._proceeds(t) for t in self.periods]

    def _proceeds(self, t: int) -> Traced:
        worth = summed("value_usd", [(one.title, amount(one.value.usd, one.sold, t)) for one in self.fleet])
        return (worth - self.friction[t]).named("proceeds_usd")

    @cached_property
    def loss(self) -> list[Traced]:
        """Book value of what is sold less what it brings; a gain is below zero."""
        return [
            (
                summed("book_usd", [(one.title, amount(one.book_usd, one.sold, t)) for one in self.fleet])
                - self.proceeds[t]
            ).named("loss_usd")
            for t in self.periods
        ]

    def worth(self, t: int, *, book: bool = False) -> Traced:
        """Value of all nodes at the end of a period, and of what is put up at sites.

        Nodes under way and those not delivered are included.
        """
        ends = [one.book_end_usd if book else one.value.end_usd for one in self.fleet]
        found = [(one.title, amount(each, one.kept, t)) for one, each in zip(self.fleet, ends, strict=True)]
        found += [("under way", self._under_way(each, t)) for each in ends[:1]]
        if t == self.periods[-1]:
            found.append(("ordered, to be delivered later", self._undelivered))
        found += [(one.title, one.worth_usd(t, book=book)) for one in self.installed]
        return summed("book_usd" if book else "value_usd", found)

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
            (one.title, amount(one.book_usd if book else one.value.usd, one.stood[:, None] * first, 0))
            for first in [np.eye(1, len(self.periods))]
            for one in self.fleet
        ]
        return summed(name, found)

    @cached_property
    def sale_at_end(self) -> Traced:
        """What a sale of all nodes at the end of the horizon takes of their value.

        For used batteries and cells no price is known: a sale takes all of theirs.
        """
        found = [(one.title, one.worth_usd(self.periods[-1])) for one in self.installed]
        for one in self.fleet:
            if (kept := one.kept[:, -1:]).any():
                nodes = chosen("nodes", kept, DECIDED, "1")
                found.append((one.title, derive(weighted_total_usd, each_usd=one.end_sale_usd, counts=nodes)))
        return summed("sale_usd", found)

    @cached_property
    def penalties(self) -> Traced:
        """Penalties that the scenario states; nobody is billed for them."""
        terms = self.plan.ledger.usd_terms
        parts = {name: terms[name] for name in ("unmet_usd", "left_out_usd") if name in terms}
        return total("penalties_usd", {name: one for name, one in parts.items() if one.value}, "as stated")

    @cached_property
    def terms_left(self) -> Traced:
        """What is due for reserved nodes after the horizon beyond its worth: nobody has billed it yet."""
        terms = self.plan.ledger.usd_terms
        parts = {name: terms[name] for name in ("term_left_usd",) if name in terms}
        return total("terms_left_usd", parts, "terms that go on after the horizon")

    def over(self, name: str, line: list[Traced]) -> Traced:
        """A line over the horizon."""
        labels = self.inputs.scenario.horizon.period_labels
        parts = {label: one for label, one in zip(labels, line, strict=True) if one.value}
        return total(name, parts, "over the periods", most=len(labels))


def amount(each: Traced, counts: NDArray[Any], t: int) -> Traced | None:
    """What some nodes take in a period; None where there are none."""
    here = np.where(np.arange(counts.shape[1]) == t, counts, 0.0)
    if not here.any():
        return None
    return derive(weighted_total_usd, each_usd=each, counts=chosen("nodes", here, DECIDED, "1"))


def summed(name: str, parts: Sequence[tuple[str, Traced | None]]) -> Traced:
    """The sum of the parts that there are."""
    return total(name, {title: one for title, one in parts if one is not None})
