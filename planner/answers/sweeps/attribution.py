"""What changed the answer: the difference of two plans, shared out among the groups of inputs that differ.

Every mix of the two scenarios is planned: some groups of inputs as before, the others as after.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario.bundle import KeptScenario, restored, unsaved
from planner.inputs.scenario.files import write_toml
from planner.inputs.scenario.writing import tables
from planner.program.plan import plan_fleet
from planner.program.solution import Status
from planner.trace.errors import InputError
from planner.trace.numbers import mass, money, percent_text
from planner.trace.records import Record

Mix = frozenset[str]  # the groups that are as after

GROUPS: Mapping[str, tuple[str, ...]] = {
    "horizon and work": ("horizon", "training", "pools", "services"),
    "sites and energy": ("sites", "power_groups", "links", "contracts"),
    "fleet and market": ("fleet", "market", "rental", "moves"),
    "policy, failures and facts": (
        "policy",
        "reliability",
        "performance",
        "facts",
        "solve",
        "futures",
        "uncertainty",
    ),
}
MEASURES = ("cost_usd", "carbon_kgco2e")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one mix comes to; a mix that is no scenario, or has no plan, says why and has no totals."""

    cost_usd: float | None = None
    carbon_kgco2e: float | None = None
    gap_fraction: float | None = None
    why_not: str = ""

    @property
    def planned(self) -> bool:
        """Whether there is a plan."""
        return self.cost_usd is not None


def attribution(
    before: KeptScenario,
    after: KeptScenario,
    *,
    watch: Callable[[str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    met: Callable[[Record], None] | None = None,
    plan: Callable[[KeptScenario], Outcome] | None = None,
) -> Record:
    """The difference in money and carbon between two scenarios, group by group of what differs.

        phi[g] = mean over the orders of the groups of  v(with g and those before it) - v(those before it)

    Orders in which some mix is no scenario or has no plan are left out, and counted. With all orders these
    are Shapley's values; they always add up to the difference. A stop ends the search without an answer.

    Args:
        before: the first scenario.
        after: the second one.
        watch: called with a message on the progress.
        should_stop: called between and within plans.
        met: given each mix as it is planned.
        plan: what plans a mix, where that is not this process.

    Raises:
        InputError: both name a file alike that is not the same.

    Source: Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953.
    """
    tell, stopped = watch or (lambda _: None), should_stop or (lambda: False)
    first, second = _tables(before), _tables(after)
    groups = [name for name, sections in GROUPS.items() if _part(first, sections) != _part(second, sections)]
    files = _files(before, after)
    outcomes: dict[Mix, Outcome] = {}
    mixes = [
        frozenset(some) for size in range(len(groups) + 1) for some in itertools.combinations(groups, size)
    ]
    for number, mix in enumerate(mixes):
        if stopped():
            break
        tell(f"plan {number + 1} of {len(mixes)}: {_mix_text(mix)}")
        text = write_toml(_mixed(first, second, mix))
        kept = unsaved(before.name or "scenario.toml", text, files)
        outcomes[mix] = plan(kept) if plan is not None else plan_mix(kept, should_stop)
        if met is not None:
            met(_row(mix, outcomes[mix]))
    return _document(groups, outcomes, complete=len(outcomes) == len(mixes) and not stopped())


def plan_mix(kept: KeptScenario, should_stop: Callable[[], bool] | None = None) -> Outcome:
    """Plan one mix; why not, where it cannot be planned."""
    catalogue = load_catalogue()
    try:
        with restored(kept) as scenario:
            check_scenario(scenario, catalogue)
            found = plan_fleet(
                scenario, catalogue=catalogue, baselines=False, remedies=False, should_stop=should_stop
            ).answer
    except InputError as error:
        return Outcome(why_not=f"no scenario: {str(error).splitlines()[-1].strip()}")
    if found.solution is None:
        return Outcome(
            why_not="no plan keeps every limit" if found.status is Status.INFEASIBLE else "no plan found"
        )
    gap = found.gap_fraction if math.isfinite(found.gap_fraction) else None
    return Outcome(found.solution.usd, found.solution.kgco2e, gap)


def shares(groups: Sequence[str], values: Mapping[Mix, float | None]) -> tuple[dict[str, float], int]:
    """What each group adds on average over the orders whose mixes all have a value; how many those are."""
    orders = [order for order in itertools.permutations(groups) if _whole(order, values)]
    added = {
        group: math.fsum(_step(order, group, values) for order in orders) / len(orders) if orders else 0.0
        for group in groups
    }
    return added, len(orders)


def _whole(order: Sequence[str], values: Mapping[Mix, float | None]) -> bool:
    return all(values.get(frozenset(order[:size])) is not None for size in range(len(order) + 1))


def _step(order: Sequence[str], group: str, values: Mapping[Mix, float | None]) -> float:
    place = order.index(group)
    with_it, without = values[frozenset(order[: place + 1])], values[frozenset(order[:place])]
    assert with_it is not None, "only whole orders are walked"
    assert without is not None, "only whole orders are walked"
    return with_it - without


def _tables(kept: KeptScenario) -> Record:
    with restored(kept) as scenario:
        return tables(scenario)


def _part(document: Record, sections: Sequence[str]) -> Record:
    return {section: document.get(section) for section in sections}


def _mixed(first: Record, second: Record, mix: Mix) -> Record:
    """The tables of a mix, in the order of a file."""
    chosen = {
        section: (second if group in mix else first).get(section)
        for group, sections in GROUPS.items()
        for section in sections
    }
    chosen["title"] = first["title"]
    return {name: chosen[name] for name in (*first, *second) if chosen.get(name) is not None}


def _files(before: KeptScenario, after: KeptScenario) -> dict[str, bytes]:
    for name in before.files.keys() & after.files.keys():
        if before.files[name] != after.files[name]:
            raise InputError(f"Both scenarios name a file '{name}', and the two differ: rename one of them.")
    return {**before.files, **after.files}


def _mix_text(mix: Mix) -> str:
    return f"{' + '.join(group for group in GROUPS if group in mix)} as after" if mix else "all as before"


def _row(mix: Mix, outcome: Outcome) -> Record:
    return {
        "mix": _mix_text(mix),
        "cost_usd": outcome.cost_usd,
        "carbon_kgco2e": outcome.carbon_kgco2e,
        "gap_fraction": outcome.gap_fraction,
        "why_not": outcome.why_not,
    }


def _document(groups: Sequence[str], outcomes: Mapping[Mix, Outcome], *, complete: bool) -> Record:
    """The attribution as plain data."""
    rows: list[Record] = [{"group": group, "inputs": ", ".join(GROUPS[group])} for group in groups]
    ends: Record = {}
    orders = 0
    for measure in MEASURES:
        values = {mix: getattr(outcome, measure) for mix, outcome in outcomes.items()}
        added, orders = shares(groups, values)
        ends[measure] = [values.get(frozenset()), values.get(frozenset(groups))]
        for row in rows:
            row[measure] = added[row["group"]] if orders else None
    return {
        "everfleet_attribution": 1,
        "complete": complete,
        "groups": rows,
        "ends": ends,
        "mixes": [_row(mix, outcome) for mix, outcome in outcomes.items()],
        "orders": orders,
        "said": list(_sentences(rows, outcomes, orders, complete=complete)),
    }


def _sentences(
    rows: Sequence[Record], outcomes: Mapping[Mix, Outcome], orders: int, *, complete: bool
) -> Iterator[str]:
    if not rows:
        yield "The two scenarios ask for the same: nothing of the inputs changed the answer."
        return
    if not complete:
        yield "Stopped early: the difference is not shared out."
    elif not orders:
        missing = next((_row(mix, each) for mix, each in outcomes.items() if not each.planned), None)
        why = "" if missing is None else f" With {missing['mix']}: {missing['why_not']}."
        yield f"The difference cannot be shared out: no order of the changes has a plan at every step.{why}"
    else:
        for row in rows:
            cost, carbon = _signed(row["cost_usd"], money), _signed(row["carbon_kgco2e"], mass)
            yield f"{row['group'].capitalize()}: {cost}, {carbon}."
        every = math.factorial(len(rows))
        left = "" if orders == every else f"; {every - orders} have a step without a plan"
        yield f"Each is the mean over {orders} of the {every} orders in which the changes could come{left}."
        gap = max(outcome.gap_fraction or 0.0 for outcome in outcomes.values())
        if gap > 0:
            yield f"Plans are proved within {percent_text(gap, 2)}: changes below that may be the search's."


def _signed(value: float, text: Callable[[float], str]) -> str:
    return f"{'+' if value >= 0 else '−'}{text(abs(value))}"
