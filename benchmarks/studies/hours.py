"""What slots get wrong: fleets planned by slots, operated once more with every hour of the year known.

A plan decides operation in a few slots that stand for all hours of a period. Here its fleet is held (orders,
runs, replicas, spares) and operation is decided anew, hour after hour in the order of the calendar, by a
linear program of its own that reads the series themselves. What both take, money and carbon, is set side by
side. Run from the root of the repository:

    python -m benchmarks.studies.hours [FAMILY ...]

Both know the hours of the whole period beforehand (`planning.slots.known_in_*` are 1), so that what differs
is the slots alone. Ramps of pools, techniques that a plan adopts, data that move, and calls to draw less
count hour by hour as well. What it does not know (`unknown`) is refused: it would compare two things.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from carbon.hourly import filled
from planner.inputs.scenario import Scenario, parse_scenario, with_changes
from planner.inputs.series import load_series
from planner.physics.equations.slots import clock_load_fraction
from planner.program.plan import Plan, plan_fleet
from solver import account
from solver.account_slots import curtailed_fraction

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]

A_DAY = 24
# Work of which operation decides the hours, and who plans it; ends in the table of the policy.
WORK_BY_THE_HOUR = """
[[services]]
name = "chat"
model = "llama-3-8b"
precision = "bf16"
traffic = "azure-2023-conv"
peak_rate = "1200 /s"
mean_to_peak = 0.45
busiest_time = "20 h"
first_token = "1.5 s"
per_token = "60 ms"
availability = 0.99
[[pools]]
name = "search"
model = "llama-3-8b"
reference = "h100-8"
gpu_time = "110000 h"
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "2 d"
spare_confidence = 0.9
[policy]
objective = "weighted"
carbon_price = "500 USD/t"
discount_rate = "8 %"
node_life = "5 y"
"""
FLEET = f"""
title = "A fleet whose operation is decided by the hour"
facts = {{ "planning.slots.known_in_day" = "1", "planning.slots.known_in_period" = "1" }}
[horizon]
start = 2027-01-01
periods = 4
period = "quarter"
{WORK_BY_THE_HOUR}levers = ["shift", "pack", "lend"]
[solve]
gap = "0.1 %"
time_limit = "120 s"
"""
SITE = """
[[sites]]
name = "{0}"
{1}
hourly_shape = "{2}"
pue = 1.2
power_cap = "400 kW"
racks = 20
[[fleet]]
sku = "h100-8"
site = "{0}"
nodes = {3}
in_service = 2025-01-01
"""
WITHIN_PERIOD = 'window = "period"\n[reliability]'
FAMILIES: dict[str, str] = {
    "sunny": FLEET + SITE.format("fresno", 'grid = "us-camx"', "synthetic-us-camx", 22),
    "measured": FLEET.replace("[reliability]", WITHIN_PERIOD)
    + SITE.format("reading", 'grid = "gb"', "gb-2021", 22),
    "two sites": FLEET.replace("[reliability]", WITHIN_PERIOD)
    + SITE.format("zaragoza", 'grid = "es"', "synthetic-es", 14)
    + SITE.format("berlin", 'grid = "de"', "synthetic-de", 14),
    "two sites, measured": FLEET.replace("[reliability]", WITHIN_PERIOD)
    + SITE.format("dallas", 'grid = "us-erct"', "us-erco-2022", 14)
    + SITE.format("ashburn", 'grid = "gcp-us-east4"', "us-pjm-2022", 14),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A plan by slots, and the same fleet operated by the hour; carbon of it that operation decides."""

    family: str
    slots: int
    usd: float
    kgco2e: float
    hourly_usd: float
    hourly_kgco2e: float
    operation_kgco2e: float
    hourly_operation_kgco2e: float

    @property
    def money_error(self) -> float:
        """How far the money of the slots is from that of the hours."""
        return self.usd / self.hourly_usd - 1

    @property
    def carbon_error(self) -> float:
        """How far the carbon of the slots is from that of the hours."""
        return self.kgco2e / self.hourly_kgco2e - 1


class Rows:
    """Rows of a linear program in blocks: each entry is (variable, row, coefficient)."""

    def __init__(self, variables: int) -> None:
        self.variables, self.count = variables, 0
        self.entries: list[tuple[Whole, Whole, Floats]] = []
        self.bounds: list[Floats] = []

    def add(self, at_most: Floats, *parts: tuple[Whole, Whole, Floats | float]) -> None:
        """Rows of sum of coefficient * variable <= at_most; a part is (row of the block, variable, it)."""
        for row, variable, coefficient in parts:
            wide = np.broadcast_to(coefficient, np.shape(variable))
            self.entries.append((row.ravel() + self.count, variable.ravel(), wide.ravel()))
        self.bounds.append(np.ravel(at_most))
        self.count += np.size(at_most)

    def matrix(self) -> coo_matrix:
        """All rows."""
        row, column, value = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return coo_matrix((value, (row, column)), shape=(self.count, self.variables))


def hours_of(series: str, start_month: int, months: int) -> Floats:
    """Hours of the whole days of some months, over their mean; February has 28 days."""
    found = load_series(series)
    values = filled(series=found, rule="line", longest_gap_hours=found.hours).series.complete()
    time = found.first_hour + np.arange(len(values)).astype("timedelta64[h]")
    month = time.astype("datetime64[M]").astype(int) % 12 + 1
    leap = (month == 2) & ((time.astype("datetime64[D]") - time.astype("datetime64[M]")).astype(int) == 28)
    wanted = [(start_month - 1 + i) % 12 + 1 for i in range(months)]
    hours = values[np.isin(month, wanted) & ~leap]
    hours = hours[: len(hours) // A_DAY * A_DAY]
    ratio: Floats = hours / hours.mean()
    return ratio


def unknown(plan: Plan) -> list[str]:
    """What a plan decides by slot, or is held to in slots, that is not decided here hour by hour."""
    problem, scenario = plan.problem, plan.inputs.scenario
    found = {
        "pausable jobs": len(problem.pausable_options) > 0,
        "demand charges": bool(problem.places.peak_usd_per_kw.any()),
        "power that sites share": len(problem.limits.shared_power_kw) > 0,
        "batteries and the sun": bool(problem.site_energy.stated().any()),
        "prices by the hour": any(site.price_shape is not None for site in scenario.sites),
        "sites without a series (hourly_shape)": any(site.hourly_shape is None for site in scenario.sites),
        "hours of requests (traffic_shape)": any(one.traffic_shape for one in scenario.services),
        "mean quality and stages of services": bool(
            np.isfinite(problem.services.mean_loss_limit_fraction).any() or problem.services.pipeline.any()
        ),
    }
    return [name for name, there in found.items() if there]


class Operation:
    """Operation of the fleet of a plan in one period, hour by hour, over what the plan takes without slots.

    Variables of each hour: work of each option on nodes of its own and on lent ones, replicas that are quiet
    or rest, nodes that are off; and what stops, wakes and is switched on. The last hour of the period
    precedes the first.
    """

    def __init__(self, plan: Plan, period: int) -> None:
        assert plan.answer.solution is not None, "a plan was found"
        assert plan.assembled.levers is not None, "it decides by slot"
        if left := unknown(plan):
            raise ValueError(f"hour by hour nothing is known of {', '.join(left)}: leave them out")
        self.plan, self.t, self.levers = plan, period, plan.assembled.levers
        self.problem, self.solution = plan.problem, plan.answer.solution
        problem, inputs = self.problem, plan.inputs
        horizon, sites = inputs.scenario.horizon, inputs.scenario.sites
        first, months = horizon.period_starts[period].month, horizon.period_months
        self.ratio = np.stack([hours_of(str(site.hourly_shape), first, months) for site in sites])
        self.grid, self.price = (
            np.array([float(items[s * problem.periods + period].value) for s in range(len(sites))])
            for items in (inputs.grid, inputs.electricity)
        )
        self.count = self.ratio.shape[1]
        self.hour = np.arange(self.count)
        self.period_h = float(problem.node_groups.hours[period])
        self.each_h = self.period_h / self.count  # leap days, and days that a series lacks
        replicas = self.solution.replicas[:, period]
        self.serves = np.flatnonzero((replicas > 0) & problem.resting.may_rest)
        works, serves, groups = len(problem.work_options), len(self.serves), len(problem.node_groups)
        self.sizes = {"work": works, "stop": works, "lent": works, "quiet": serves, "rest": serves}
        self.sizes |= {"wake": serves, "off": groups, "boot": groups}
        self.begin = dict(zip(self.sizes, np.cumsum([0, *self.sizes.values()]).tolist(), strict=False))
        total = sum(self.sizes.values()) * self.count
        self.usd, self.kgco2e, self.most = np.zeros(total), np.zeros(total), np.full(total, np.inf)
        self.rows = Rows(total)
        self._price_work()
        self._price_rest()
        self._do_the_work()
        self._keep_the_ramps()
        self._use_what_is_adopted()
        self._stop_when_called()
        self._fit_on_nodes()
        self._stay_ready()
        self._pay_for_changes()
        self._stay_within_power()

    def of(self, name: str, rows: Whole | None = None) -> Whole:
        """Variables of some rows, hour by hour."""
        index = np.arange(self.sizes[name]) if rows is None else rows
        found: Whole = self.at(self.begin[name] + index)
        return found

    def at(self, group: Whole) -> Whole:
        """Rows of (group, hour)."""
        found: Whole = np.asarray(group)[:, None] * self.count + self.hour
        return found

    def wide(self, column: Floats) -> Floats:
        """The same in all hours."""
        found: Floats = np.asarray(column, dtype=float)[:, None] * np.ones(self.count)
        return found

    def _price_work(self) -> None:
        """As in the mean of the period, and what its hour emits over that; on lent nodes, what it adds."""
        works, groups, t = self.problem.work_options, self.problem.node_groups, self.t
        pools, site = self.levers.pools, groups.site[works.node_group]
        assert pools is not None, "there are pools"
        kwh = np.asarray(pools.lent.kwh.value)[:, t, 0][:, None] * self.each_h
        emitted = kwh * self.grid[site][:, None]
        idle = [
            one[works.node_group, t] / self.period_h
            for one in (groups.idle_usd_per_node, groups.idle_kgco2e_per_node)
        ]
        self.usd[self.of("work")] = self.wide(works.usd_per_node_h[:, t] - idle[0]) * self.each_h
        mean = self.wide(works.kgco2e_per_node_h[:, t] - idle[1]) * self.each_h
        self.kgco2e[self.of("work")] = mean + emitted * (self.ratio[site] - 1)
        self.usd[self.of("lent")] = kwh * self.price[site][:, None]
        self.kgco2e[self.of("lent")] = emitted * self.ratio[site]
        slower, egress = self.problem.work_shifts.lent_speed_fraction, self.plan.assembled.work.egress
        for kind, price in (("usd", self.usd), ("kgco2e", self.kgco2e)):
            if egress is not None:  # that of nodes of one's own is in the price of work
                moved = np.asarray(getattr(egress, kind).value)[:, t]
                price[self.of("lent")] += self.wide(slower * moved) * self.each_h
            saved = self.called * getattr(works, f"stopped_{kind}_per_node_h")[:, t]
            price[self.of("work")] -= self.wide(saved) * self.each_h
            price[self.of("lent")] -= self.wide(slower * saved) * self.each_h
        self.usd[self.of("stop")] = pools.stop.usd.value[:, t][:, None]
        self.kgco2e[self.of("stop")] = pools.stop.kgco2e.value[:, t][:, None]
        self.most[self.of("lent")[~self.problem.work_shifts.may_borrow]] = 0

    def _price_rest(self) -> None:
        """Power that rest saves in its part of the day, at the price and intensity of the hour."""
        problem, t, resting, switching = self.problem, self.t, self.levers.resting, self.levers.switching
        slot_h = problem.slots.hours[:, t]
        if resting is not None:
            rows = self.plan.assembled.replica_row[self.serves]
            site = problem.node_groups.site[problem.serve_options.node_group[self.serves]]
            for name, energy in (("quiet", resting.quiet), ("rest", resting.rest)):
                kw = (np.asarray(energy.kwh.value)[rows, t] / slot_h)[:, self._part()]
                self._priced(name, kw, site)
        self.usd[self.of("wake")] = problem.resting.wake_usd[self.serves, t][:, None]
        self.kgco2e[self.of("wake")] = problem.resting.wake_kgco2e[self.serves, t][:, None]
        if switching is not None:
            kw = np.asarray(switching.off.kwh.value)[:, t, 0] / slot_h[0]
            self._priced("off", self.wide(kw), problem.node_groups.site)
        self.usd[self.of("boot")] = problem.switching.boot_usd[:, t][:, None]
        self.kgco2e[self.of("boot")] = problem.switching.boot_kgco2e[:, t][:, None]
        self.most[self.of("off")[~problem.switching.may_switch]] = 0

    def _part(self) -> Whole:
        """The part of the day that each hour is in."""
        parts = np.shape(self.levers.ready.value)[-1]
        found: Whole = self.hour % A_DAY * parts // A_DAY
        return found

    def _priced(self, name: str, kw: Floats, site: Whole) -> None:
        kwh = kw * self.each_h
        self.usd[self.of(name)] = kwh * self.price[site][:, None]
        self.kgco2e[self.of(name)] = kwh * self.grid[site][:, None] * self.ratio[site]

    def _do_the_work(self) -> None:
        """Each day's, or the period's, and in every hour what cannot wait; what stops loses hours."""
        problem, works, shifts = self.problem, self.problem.work_options, self.problem.work_shifts
        for w, demand in enumerate(problem.work.demand_h[:, self.t]):
            own = np.flatnonzero(works.work == w)
            speed, kept = self.wide(works.speed[own]), self.wide(1 - self.called[own])
            lent = speed * shifts.lent_speed_fraction[own, None]
            lost = speed * shifts.stop_h[own, None] / self.each_h
            daily = bool(problem.windows.within_day[w])
            days = self.count // A_DAY if daily else 1
            day: Whole = np.broadcast_to(self.hour // A_DAY if daily else 0 * self.hour, speed.shape)
            on_own, on_lent = self.of("work", own), self.of("lent", own)
            self.rows.add(
                np.full(days, -demand / self.each_h / days),
                (day, on_own, -speed * kept),
                (day, on_lent, -lent * kept),
                (day, self.of("stop", own), lost),
            )
            now = np.broadcast_to(self.hour, speed.shape)
            least = (1 - problem.windows.may_wait_fraction[w]) * demand / self.period_h
            self.rows.add(np.full(self.count, -least), (now, on_own, -speed), (now, on_lent, -lent))

    def _keep_the_ramps(self) -> None:
        """What a pool does rises and falls from hour to hour by no more than its ramp."""
        works, slower = self.problem.work_options, self.problem.work_shifts.lent_speed_fraction
        for w, one in enumerate(self.plan.inputs.scenario.pools):
            if one.ramp_per_h is None:
                continue
            own = np.flatnonzero(works.work == w)
            most = one.ramp_per_h * self.problem.work.demand_h[w, self.t] / self.period_h
            now = np.broadcast_to(self.hour, (own.size, self.count))
            for sign in (1.0, -1.0):
                parts = []
                for name, rate in (("work", works.speed[own]), ("lent", (works.speed * slower)[own])):
                    here = self.of(name, own)
                    each = sign * self.wide(rate)
                    parts += [(now, here, each), (now, np.roll(here, 1, axis=1), -each)]
                self.rows.add(np.full(self.count, most), *parts)

    def _use_what_is_adopted(self) -> None:
        """Ways that use a technique do no more than it may, and none where the plan adopts it not."""
        problem, works = self.problem, self.problem.work_options
        slower = problem.work_shifts.lent_speed_fraction
        adopted = self.solution.adopted if len(self.solution.adopted) else np.zeros(len(problem.adoptions))
        demand = problem.work.demand_h[problem.adoptions.work, self.t] if len(problem.adoptions) else []
        for a, wanted in enumerate(np.asarray(demand, dtype=float).tolist()):
            own = np.flatnonzero(works.uses[:, a])
            most = problem.adoptions.usable_fraction[a, self.t] * wanted * adopted[a] / self.each_h
            one: Whole = np.zeros((own.size, self.count), dtype=np.intp)
            speed = self.wide(works.speed[own])
            self.rows.add(
                np.full(1, most),
                (one, self.of("work", own), speed),
                (one, self.of("lent", own), speed * slower[own, None]),
            )

    def _stop_when_called(self) -> None:
        """Where a contract for curtailment is signed, enough power may stop in the mean of the period."""
        problem, works, groups = self.problem, self.problem.work_options, self.problem.node_groups
        kw = works.active_kw * works.stops_fraction * ~groups.off_site[works.node_group]
        site = groups.site[works.node_group]
        for s in np.flatnonzero(account.signed(problem, self.solution)).tolist():
            own = np.flatnonzero(site == s)
            one: Whole = np.zeros((own.size, self.count), dtype=np.intp)
            mean = -self.wide(kw[own]) / self.count
            parts = [(one, self.of(name, own), mean) for name in ("work", "lent")]
            self.rows.add(np.full(1, -problem.places.curtailed_kw[s]), *parts)

    @property
    def called(self) -> Floats:
        """Share of the hours of each way to work that calls take."""
        works = self.problem.work_options
        at = account.signed(self.problem, self.solution)[self.problem.node_groups.site[works.node_group]]
        found: Floats = curtailed_fraction(self.problem, works) * at
        return found

    def _fit_on_nodes(self) -> None:
        """What works is free, what is lent rests, and what is off is neither."""
        problem, plan, t = self.problem, self.solution, self.t
        groups, serves, runs = len(problem.node_groups), problem.serve_options, problem.run_options
        gone = account.down_nodes(problem, plan.kept) + account.nodes_under_way(
            problem, plan.moved, mean=True
        )
        usable = (plan.in_service + plan.rented - gone - plan.spares - plan.parked)[:, t]
        for table, running in ((serves, plan.replicas[:, t]), (runs, plan.run)):
            taken = table.node_hours[:, t] / self.period_h * running
            usable = usable - account.totals_by(table.node_group, groups, taken)
        group = problem.work_options.node_group
        held = self.wide(problem.work_options.held_ratio[:, t])
        works, lends = (self.at(group), self.of("work"), held), (self.at(group), self.of("lent"), held)
        nodes = self.wide(serves.nodes[self.serves])
        rests = self.at(serves.node_group[self.serves]), self.of("rest"), -nodes
        free = np.repeat(usable, self.count)
        self.rows.add(free, works)
        self.rows.add(np.zeros(free.size), lends, rests)
        self.rows.add(free, (self.at(np.arange(groups)), self.of("off"), 1.0), works, lends, rests)

    def _stay_ready(self) -> None:
        """Awake replicas carry each hour and its reserve, and what stands by is awake."""
        problem, inputs, t, v = self.problem, self.plan.inputs, self.t, self.serves
        serves, services = problem.serve_options, inputs.scenario.services
        replicas = self.solution.replicas[v, t]
        carrying = replicas / (1 + serves.standby_fraction[v, t]) - serves.standby[v, t] * (replicas > 0)
        asleep = self.of("quiet"), self.of("rest")
        here = self.at(np.arange(len(v)))
        self.rows.add(np.repeat(np.maximum(carrying, 0), self.count), *((here, one, 1.0) for one in asleep))
        usual = float(inputs.fact("traffic.default.busiest_time").value)
        load = [
            clock_load_fraction(
                mean_to_peak_fraction=one.mean_to_peak_fraction,
                busiest_h=np.array(usual if one.busiest_time_h is None else one.busiest_time_h),
                slots_a_day=np.shape(self.levers.ready.value)[-1],
            )[self._part()]
            for one in services
        ]
        reserve = float(inputs.fact("planning.slots.reserve").value)
        wanted = problem.services.demand[:, t] * (1 - self.solution.shed_fraction[:, t])
        ready = np.minimum(1.0, np.array(load) * (1 + reserve)) * wanted[:, None]
        capacity = serves.capacity[v, t]
        awake = account.totals_by(serves.service[v], len(services), capacity * carrying)[:, None]
        service = self.at(serves.service[v])
        self.rows.add(awake - ready, *((service, one, self.wide(capacity)) for one in asleep))

    def _pay_for_changes(self) -> None:
        """What shrinks from an hour to the next stops, wakes or is switched on."""
        for name, change in (("work", "stop"), ("rest", "wake"), ("off", "boot")):
            here, now = self.at(np.arange(self.sizes[name])), self.of(name)
            before = np.roll(now, 1, axis=1)
            self.rows.add(
                np.zeros(now.size), (here, before, 1.0), (here, now, -1.0), (here, self.of(change), -1.0)
            )

    def _stay_within_power(self) -> None:
        """What the period counts, with work hour by hour."""
        problem, plan, t, works = self.problem, self.solution, self.t, self.problem.work_options
        groups, serves = problem.node_groups, problem.serve_options
        site, serving = groups.site[works.node_group], serves.node_group[self.serves]
        spread = account.totals_by(
            site, len(self.ratio), works.active_kw * plan.work_node_h[:, t] / self.period_h
        )
        left = problem.limits.power_kw[:, t] - account.peak_kw(problem, plan, plan.in_service)[:, t] + spread
        kw = self.wide(works.active_kw)
        self.rows.add(
            np.repeat(left, self.count),
            (self.at(site), self.of("work"), kw),
            (self.at(site), self.of("lent"), kw),
            (self.at(groups.site[serving]), self.of("rest"), -self.wide(serves.active_kw[self.serves])),
            (self.at(groups.site), self.of("off"), self.wide(groups.off_kw - groups.idle_kw)),
        )

    def best(self) -> tuple[float, float]:
        """Money and carbon of the best operation by the weights of the plan.

        Raises:
            RuntimeError: the fleet is not enough hour by hour.
        """
        aim = self.problem.objective
        found = linprog(  # type: ignore[call-overload]  # its stubs know no sparse rows
            aim.money_weight * self.usd + aim.carbon_weight * self.kgco2e,
            A_ub=self.rows.matrix().tocsr(),
            b_ub=np.concatenate(self.rows.bounds),
            bounds=np.stack([np.zeros(self.most.size), self.most], axis=1),
            method="highs",
        )
        if found.x is None:
            raise RuntimeError(f"period {self.t}: {found.message}")
        return float(self.usd @ found.x), float(self.kgco2e @ found.x)


def compared(name: str, scenario: Scenario) -> Row:
    """A plan by slots, and its fleet operated by the hour."""
    plan = plan_fleet(scenario, baselines=False)
    solution, problem = plan.answer.solution, plan.problem
    assert solution is not None, f"{name}: no plan"
    groups, works = problem.node_groups, problem.work_options
    apart = list[float]()
    for terms, kind in ((solution.usd_terms, "usd"), (solution.kgco2e_terms, "kgco2e")):
        idle = getattr(groups, f"idle_{kind}_per_node")[works.node_group] / groups.hours
        work = (getattr(works, f"{kind}_per_node_h") - idle) * solution.work_node_h
        by_slot = terms.shift.sum() + terms.rest.sum() + terms.lend.sum() + terms.stopped.sum()
        apart.append(float(terms.total - by_slot - work.sum()))
    hourly = np.sum([Operation(plan, t).best() for t in range(problem.periods)], axis=0)
    return Row(
        name,
        len(problem.slots),
        solution.usd,
        solution.kgco2e,
        apart[0] + float(hourly[0]),
        apart[1] + float(hourly[1]),
        solution.kgco2e - apart[1],
        float(hourly[1]),
    )


def study(names: list[str]) -> Iterator[Row]:
    """Each family with one type of day and with two."""
    for name in names:
        for slots in (12, 24):
            yield compared(name, with_changes(parse_scenario(FAMILIES[name]), {"solve.slots": slots}))


def main(names: list[str]) -> None:
    """Print the table of the page on levers."""
    print("| family | slots | money, USD | by the hour | error | carbon, kg | by the hour | error |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for row in study(names or list(FAMILIES)):
        money = f"{row.usd:,.0f} | {row.hourly_usd:,.0f} | {row.money_error:+.2%}"
        carbon = f"{row.kgco2e:,.0f} | {row.hourly_kgco2e:,.0f} | {row.carbon_error:+.2%}"
        print(f"| {row.family} | {row.slots} | {money} | {carbon} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
