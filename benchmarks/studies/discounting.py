"""What discounting the objective would change: each shipped plan next to the one of least present cost.

The program makes small what each period costs, as a sum. Here every amount of money is weighed by the time
until it falls due, at the scenario's rate: bills, interest and the fall of value in the middle of a period,
orders, sales and moves at its start. Both programs are solved, and both plans are priced by the discounted
one. Run from the root of the repository:

    python -m benchmarks.studies.discounting [SECONDS OF A SOLVE] [SCENARIO ...]

`forgone` is how much more the shipped kind of plan costs at present value than the plan that was sought for
it; below the gap of the two searches nothing is proven.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.inputs.consistency import with_cards
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.resolved import HOURS_PER_YEAR, Inputs
from planner.inputs.scenario import load_scenario
from planner.program.assembly import Assembled, assemble
from solver import account
from solver.answer import answer
from solver.problem import Problem
from solver.verify import objective_value

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """Two plans of a scenario, priced at present value, and the nodes that each of them orders."""

    scenario: str
    sum_usd: float
    present_of_sum: float
    present_of_present: float
    gap_fraction: float
    ordered: tuple[int, int]

    @property
    def forgone_fraction(self) -> float:
        """How much more the plan of the plain sum costs at present value."""
        return (self.present_of_sum - self.present_of_present) / self.present_of_present


def discounted(inputs: Inputs, assembled: Assembled) -> Problem:
    """The program with all its money at present value, at the start of the horizon.

    Penalties of jobs left out are not: they fall due at no time that is known.
    """
    problem, rate = assembled.problem, float(inputs.discount_rate().value)
    starts, ends = inputs.period_start_h.value[0], inputs.period_end_h.value[0]
    start, middle = ((1 + rate) ** (-hours / HOURS_PER_YEAR) for hours in (starts, (starts + ends) / 2))
    last = (1 + rate) ** (-ends[-1] / HOURS_PER_YEAR)
    groups, cohorts, places = problem.node_groups, problem.cohorts, problem.places
    ordering = np.broadcast_to(assembled.buying.order_usd.value, groups.order_usd_per_node.shape) * start
    sales = problem.sales
    if (vintages := assembled.buying.vintages) is not None:
        capital = np.broadcast_to(vintages.value.capital_usd.value, vintages.may_sell.shape)
        held = capital * vintages.held(problem.periods) * middle
        np.add.at(ordering, (vintages.node_group, vintages.ordered), held.sum(axis=1))
        later = np.cumsum(held[:, ::-1], axis=1)[:, ::-1]
        sold = np.broadcast_to(vintages.value.sale_usd.value, held.shape) * start - later
        sales = replace(sales, usd_per_node=sold[vintages.for_sale])
    options = problem.serve_options
    return replace(
        problem,
        node_groups=replace(
            groups,
            holding_usd_per_node=groups.holding_usd_per_node * middle,
            idle_usd_per_node=groups.idle_usd_per_node * middle,
            rental_usd_per_node=groups.rental_usd_per_node * middle,
            off_usd_per_node=groups.off_usd_per_node * middle,
            term_left_usd_per_node=groups.term_left_usd_per_node * last,
            order_usd_per_node=ordering * groups.purchase_allowed,
        ),
        cohorts=replace(
            cohorts,
            keep_usd_per_node=cohorts.keep_usd_per_node * middle,
            retire_usd_per_node=cohorts.retire_usd_per_node * start,
        ),
        sales=sales,
        moves=replace(problem.moves, usd_per_node=problem.moves.usd_per_node * start),
        run_options=replace(problem.run_options, usd=problem.run_options.usd * middle),
        pausable_options=replace(
            problem.pausable_options,
            usd_per_node_h=problem.pausable_options.usd_per_node_h * middle,
        ),
        services=replace(problem.services, unmet_usd=problem.services.unmet_usd * middle),
        serve_options=replace(
            options,
            usd=options.usd * middle,
            start_usd=options.start_usd * start,
            deployed_usd=options.deployed_usd * middle,
            begun_usd=options.begun_usd * start,
        ),
        work_options=replace(
            problem.work_options, usd_per_node_h=problem.work_options.usd_per_node_h * middle
        ),
        contracts=replace(problem.contracts, usd_per_kwh=problem.contracts.usd_per_kwh * middle),
        places=replace(
            places,
            space_usd_per_kw=places.space_usd_per_kw * middle,
            peak_usd_per_kw=places.peak_usd_per_kw * middle,
        ),
    )


def compared(name: str, seconds: float) -> Row | None:
    """Both plans of a shipped scenario; None where one of them was not found in time."""
    scenario = load_scenario(data_folder() / "scenarios" / f"{name}.toml")
    inputs = Inputs(scenario, with_cards(scenario, load_catalogue()))
    assembled = assemble(inputs)
    plain, present = assembled.problem, discounted(inputs, assembled)
    gap = float(scenario.solve.gap_fraction)
    found = [answer(one, gap_fraction=gap, time_limit_s=seconds) for one in (plain, present)]
    by_sum, by_present = (one.solution for one in found)
    if by_sum is None or by_present is None:
        return None
    units = plain.node_groups.order_unit_nodes[:, None]
    ordered = tuple(int((one.orders * units).sum()) for one in (by_sum, by_present))
    return Row(
        scenario=name,
        sum_usd=by_sum.usd,
        present_of_sum=objective_value(present, account.solution(present, by_sum)),
        present_of_present=objective_value(present, by_present),
        gap_fraction=max(one.gap_fraction for one in found),
        ordered=(ordered[0], ordered[1]),
    )


def lines(names: list[str], seconds: float) -> Iterator[str]:
    """One line a scenario."""
    yield "scenario                cost (kUSD)  objective at present value  forgone  gap     nodes ordered"
    for name in names:
        row = compared(name, seconds)
        if row is None:
            yield f"{name:<22}  not found in time"
            continue
        yield (
            f"{name:<22}  {row.sum_usd / 1e3:11,.0f}  {row.present_of_sum / 1e3:26,.0f}  "
            f"{row.forgone_fraction:6.2%}  {row.gap_fraction:5.2%}  {row.ordered[0]} and {row.ordered[1]}"
        )


if __name__ == "__main__":
    wanted = sys.argv[2:] or sorted(path.stem for path in (data_folder() / "scenarios").glob("*.toml"))
    for line in lines(wanted, float(sys.argv[1]) if len(sys.argv) > 1 else 30.0):
        print(line, flush=True)
