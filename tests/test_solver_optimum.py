"""The best plan is the best: against trying everything, another engine, and changes that cannot matter."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_cases import changed, limits, one_job, pools, problem, run_option, service, steps, work

from solver.answer import Answer, answer
from solver.backend import Status
from solver.problem import (
    Cohorts,
    Jobs,
    Objective,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Work,
    WorkOptions,
)

seeds = st.integers(0, 2**32 - 1)
tiny = settings(max_examples=60, deadline=None, derandomize=True)
few = settings(max_examples=15, deadline=None, derandomize=True)


def best(case: Problem, engine: str = "highs") -> Answer:
    return answer(case, gap_fraction=0.0, time_limit_s=60, engine=engine)


def draw(seed: int) -> Problem:
    """A fleet of one or two pools, one or two periods, at most two of everything; about half have a plan.

    A replica costs and emits at least what its nodes would by idling, as it does in the world.
    """
    rng = np.random.default_rng(seed)
    periods, count = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    site = rng.integers(0, 2, count)
    idle_usd = rng.integers(0, 6, (count, periods)).astype(float)
    fleet = pools(
        periods=periods,
        count=count,
        site=site,
        sku=rng.integers(0, 2, count),
        order_unit_nodes=rng.integers(1, 3, count),
        lead_periods=rng.integers(0, 2, count),
        purchase_allowed=rng.random((count, periods)) < 0.9,
        capex_usd_per_node=rng.integers(100, 400, (count, periods)),
        holding_usd_per_node=rng.integers(20, 120, (count, periods)),
        holding_kgco2e_per_node=rng.integers(5, 30, (count, periods)),
        idle_usd_per_node=idle_usd,
        racks_per_node=rng.choice([0.5, 1.0], count),
        hours=rng.choice([50.0, 100.0], periods),
    )
    olds = int(rng.integers(0, 2))
    flat = np.ones((olds, periods))
    cohorts = Cohorts(
        pool=rng.integers(0, count, olds),
        nodes=rng.integers(1, 4, olds),
        keep_usd_per_node=rng.integers(5, 60) * flat,
        keep_kgco2e_per_node=rng.integers(0, 9) * flat,
        retire_usd_per_node=rng.integers(-20, 10) * flat,
        must_retire_by=rng.integers(0, 2 * periods + 1, olds),
    )
    jobs = int(rng.integers(0, 3))
    ways = int(rng.integers(1, 4)) * jobs
    held = rng.integers(0, 3, (ways, periods))
    run_pool = rng.integers(0, count, ways)
    busy = held * fleet.hours * rng.choice([0.5, 1.0], (ways, 1))
    runs = RunOptions(
        job=np.arange(ways) % max(jobs, 1),
        pool=run_pool,
        start=np.zeros(ways),
        late_h=rng.choice([0.0, 0.0, 0.0, 7.0], ways),
        nodes=held,
        node_hours=busy,
        active_kw=rng.integers(0, 3, (ways, 1)) * held,
        usd=busy / fleet.hours * idle_usd[run_pool] + rng.integers(0, 80, (ways, periods)),
        kgco2e=rng.integers(0, 9, (ways, periods)),
    )
    services = int(rng.integers(0, 2))
    serving = int(rng.integers(1, 3)) * services
    serve_pool = rng.integers(0, count, serving)
    size = rng.choice([0.5, 1.0], serving)
    serve_h = size[:, None] * fleet.hours * rng.choice([0.5, 1.0], (serving, periods))
    serves = ServeOptions(
        service=np.zeros(serving),
        pool=serve_pool,
        capacity=rng.choice([5.0, 10.0], serving),
        nodes=size,
        standby_fraction=rng.choice([0.0, 0.25], serving),
        node_hours=serve_h,
        active_kw=rng.integers(0, 3, serving),
        usd=serve_h / fleet.hours * idle_usd[serve_pool] + rng.integers(1, 30, (serving, periods)),
        kgco2e=serve_h / fleet.hours * 2 + rng.integers(0, 9, (serving, periods)),
    )
    works = int(rng.integers(0, 2))
    work_pool = rng.integers(0, count, works)
    work_options = WorkOptions(
        work=np.zeros(works),
        pool=work_pool,
        speed=rng.choice([0.5, 1.0, 2.0], works),
        active_kw=rng.integers(0, 3, works),
        usd_per_node_h=(idle_usd / fleet.hours)[work_pool] + rng.integers(0, 5, (works, periods)) / 10,
        kgco2e_per_node_h=rng.integers(1, 5, (works, periods)) / 10,
    )

    def perhaps(column: Any, share: float = 0.6) -> Any:
        return np.where(rng.random(np.shape(column)) < share, column, np.inf)

    return problem(
        periods=periods,
        count=count,
        site_names=("oregon", "finland"),
        sku_names=("old", "new"),
        pools=fleet,
        cohorts=cohorts,
        jobs=Jobs(
            name=tuple(f"job-{job}" for job in range(jobs)),
            optional=rng.random(jobs) < 0.5,
            left_out_usd=rng.integers(0, 300, jobs),
            left_out_kgco2e=rng.integers(0, 9, jobs),
            allowed_late_h=rng.choice([0.0, 9.0], jobs),
        ),
        run_options=runs,
        services=Services(
            name=("chat",) * services, demand=rng.choice([0.0, 8.0, 10.0, 12.0], (services, periods))
        ),
        serve_options=serves,
        work=Work(name=("notebooks",) * works, demand_h=rng.integers(0, 3, (works, periods)) * 40.0),
        work_options=work_options,
        spare_steps=SpareSteps.none(periods)
        if rng.random() < 0.3
        else steps((0, 1, 1), (0, 2, 2), (0, 3, 6), (0, 4, 9)),
        limits=limits(
            power_kw=perhaps(rng.integers(4, 16, (2, periods))),
            racks=perhaps(rng.integers(3, 7, 2)),
            supply_nodes=rng.integers(1, 5, (2, periods)),
            budget_usd=perhaps(rng.integers(200, 2000, periods)),
            carbon_cap_kgco2e=float(perhaps(rng.integers(40, 200))),
            minimum_nodes=rng.choice([0, 0, 3], count),
        ),
        objective=Objective(
            money_weight=float(rng.choice([0.0, 1.0, 2.0])), carbon_weight=float(rng.integers(1, 4))
        ),
    )


def spares_for(case: Problem, pool: int, used: float) -> float:
    """The fewest whole spares; written from the words of the contract, not from the program."""
    table = case.spare_steps
    mine = [row for row in range(len(table)) if table.pool[row] == pool]
    if used == 0 or not mine:
        return 0
    return min((float(table.spares[row]) for row in mine if used <= table.reach[row]), default=math.inf)


def try_everything(case: Problem) -> float:
    """The least objective over every fleet and every use of it, by loops; infinite if none holds."""
    money, carbon = case.objective.money_weight, case.objective.carbon_weight
    spans, rows = range(case.periods), range(len(case.pools))
    pool_, limit, serve_ = case.pools, case.limits, case.serve_options

    def weigh(usd: float, kgco2e: float) -> tuple[float, float]:
        return money * usd + carbon * kgco2e, kgco2e

    fleets = []  # (nodes by pool and period, objective and carbon of having them idle)

    def most(p: int, t: int) -> int:
        """What arrives after the end is never charged, so that it is not offered here either."""
        arrives = t + pool_.lead_periods[p] < case.periods
        units = limit.supply_nodes[pool_.sku[p], t] // pool_.order_unit_nodes[p]
        return int(units) if arrives and pool_.purchase_allowed[p, t] else 0

    leaving = [range(int(case.cohorts.nodes[h]) + 1) for h in range(len(case.cohorts)) for _ in spans]
    for flat in itertools.product(*(range(most(p, t) + 1) for p in rows for t in spans)):
        bought = [[flat[p * case.periods + t] * int(pool_.order_unit_nodes[p]) for t in spans] for p in rows]
        if any(0 < sum(bought[p]) < limit.minimum_nodes[p] for p in rows):
            continue
        if any(
            sum(bought[p][t] * pool_.capex_usd_per_node[p, t] for p in rows) > limit.budget_usd[t]
            for t in spans
        ):
            continue
        if any(
            sum(bought[p][t] for p in rows if pool_.sku[p] == k) > limit.supply_nodes[k, t]
            for k in (0, 1)
            for t in spans
        ):
            continue
        for gone in itertools.product(*leaving):
            usd = kgco2e = 0.0
            nodes = [[0] * case.periods for _ in rows]
            fits = True
            for h in range(len(case.cohorts)):
                stays = int(case.cohorts.nodes[h])
                for t in spans:
                    left = gone[h * case.periods + t]
                    stays -= left
                    usd += (
                        left * case.cohorts.retire_usd_per_node[h, t]
                        + stays * case.cohorts.keep_usd_per_node[h, t]
                    )
                    kgco2e += stays * case.cohorts.keep_kgco2e_per_node[h, t]
                    nodes[case.cohorts.pool[h]][t] += stays
                    fits &= stays >= 0 and not (stays and t >= case.cohorts.must_retire_by[h])
            for p, t in itertools.product(rows, spans):
                here = sum(bought[p][then] for then in spans if then + pool_.lead_periods[p] <= t)
                nodes[p][t] += here
                usd += here * pool_.holding_usd_per_node[p, t] + nodes[p][t] * pool_.idle_usd_per_node[p, t]
                kgco2e += (
                    here * pool_.holding_kgco2e_per_node[p, t]
                    + nodes[p][t] * pool_.idle_kgco2e_per_node[p, t]
                )
            for s, t in itertools.product((0, 1), spans):
                racks = sum(nodes[p][t] * pool_.racks_per_node[p] for p in rows if pool_.site[p] == s)
                fits &= racks <= limit.racks[s]
            if fits:
                fleets.append((nodes, *weigh(usd, kgco2e)))

    uses = []  # (nodes needed, busy nodes, power above idle by site, objective and carbon beyond idling)
    ways = []
    for j in range(len(case.jobs)):
        runs = case.run_options
        own = [
            r for r in range(len(runs)) if runs.job[r] == j and runs.late_h[r] <= case.jobs.allowed_late_h[j]
        ]
        ways.append([*own, None] if case.jobs.optional[j] else own)
    counts = []
    for v, t in itertools.product(range(len(serve_)), spans):
        alone = (
            case.services.demand[serve_.service[v], t] * (1 + serve_.standby_fraction[v]) / serve_.capacity[v]
        )
        counts.append(range(math.ceil(alone) + 2))  # one more than could be of use
    for chosen in itertools.product(*ways):
        for replicas in itertools.product(*counts):
            usd = kgco2e = 0.0
            used = [[0.0] * case.periods for _ in rows]
            busy = [[0.0] * case.periods for _ in rows]
            power = [[0.0] * case.periods for _ in range(2)]
            for j, r in enumerate(chosen):
                if r is None:
                    usd += case.jobs.left_out_usd[j]
                    kgco2e += case.jobs.left_out_kgco2e[j]
                    continue
                p = case.run_options.pool[r]
                for t in spans:
                    used[p][t] += case.run_options.nodes[r, t]
                    busy[p][t] += case.run_options.node_hours[r, t] / pool_.hours[t]
                    power[pool_.site[p]][t] += case.run_options.active_kw[r, t]
                    usd += case.run_options.usd[r, t]
                    kgco2e += case.run_options.kgco2e[r, t]
            carried = [0.0] * case.periods
            for v, t in itertools.product(range(len(serve_)), spans):
                p, n = serve_.pool[v], replicas[v * case.periods + t]
                carried[t] += n * serve_.capacity[v] / (1 + serve_.standby_fraction[v])
                used[p][t] += n * serve_.nodes[v]
                busy[p][t] += n * serve_.node_hours[v, t] / pool_.hours[t]
                power[pool_.site[p]][t] += n * serve_.active_kw[v]
                usd += n * serve_.usd[v, t]
                kgco2e += n * serve_.kgco2e[v, t]
            if len(case.services) and any(carried[t] < case.services.demand[0, t] - 1e-9 for t in spans):
                continue
            for o, t in itertools.product(range(len(case.work_options)), spans):
                p, hours = case.work_options.pool[o], case.work.demand_h[0, t] / case.work_options.speed[o]
                busy[p][t] += hours / pool_.hours[t]
                power[pool_.site[p]][t] += hours / pool_.hours[t] * case.work_options.active_kw[o]
                usd += hours * case.work_options.usd_per_node_h[o, t]
                kgco2e += hours * case.work_options.kgco2e_per_node_h[o, t]
            needed = [[0.0] * case.periods for _ in rows]
            for p, t in itertools.product(rows, spans):
                spares = spares_for(case, p, used[p][t])
                needed[p][t] = spares + max(used[p][t], busy[p][t])
                usd -= busy[p][t] * pool_.idle_usd_per_node[p, t]
                kgco2e -= busy[p][t] * pool_.idle_kgco2e_per_node[p, t]
            uses.append((needed, power, *weigh(usd, kgco2e)))
    if not fleets or not uses:
        return math.inf

    have, fleet_cost, fleet_kg = (np.array(column, dtype=float) for column in zip(*fleets, strict=True))
    need, above, use_cost, use_kg = (np.array(column, dtype=float) for column in zip(*uses, strict=True))
    idle = np.stack(
        [(have * pool_.idle_kw[:, None] * (pool_.site == s)[:, None]).sum(axis=1) for s in (0, 1)], axis=1
    )
    least = math.inf
    for row in range(len(have)):
        holds = (need <= have[row] + 1e-9).all(axis=(1, 2))
        holds &= (above + idle[row] <= limit.power_kw + 1e-9).all(axis=(1, 2))
        holds &= use_kg + fleet_kg[row] <= limit.carbon_cap_kgco2e + 1e-9
        least = min(least, float((use_cost[holds] + fleet_cost[row]).min(initial=math.inf)))
    return least


@given(seed=seeds)
@tiny
def test_no_plan_is_better_than_the_best(seed: int) -> None:
    """Every whole-number decision of a tiny fleet tried, with sums written apart from the program's."""
    case = draw(seed)
    least, found = try_everything(case), best(case)

    if math.isinf(least):
        assert found.status is Status.INFEASIBLE
    else:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(least, rel=1e-6, abs=1e-6)
        assert found.bound == pytest.approx(least, rel=1e-6, abs=1e-6)


@given(seed=seeds)
@few
def test_two_engines_agree(seed: int) -> None:
    """HiGHS and CBC share no code."""
    case = draw(seed)
    ours, theirs = best(case), best(case, engine="cbc")

    assert ours.status is theirs.status
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6, abs=1e-6, nan_ok=True)


def reordered(case: Problem, seed: int) -> Problem:
    """The same fleet with its pools and options told in another order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(case.pools))
    place = np.argsort(order)  # where a pool has gone

    def rows(table: Any, chosen: Any) -> Any:
        own = {
            n: getattr(table, n)[chosen] for n, shape in table.SHAPES.items() if shape.axes.startswith("*")
        }
        return dataclasses.replace(table, **own)

    moved = {"pools": rows(case.pools, order)}
    for name in ("run_options", "serve_options", "work_options", "cohorts", "spare_steps"):
        table = getattr(case, name)
        shuffled = rows(table, rng.permutation(len(table)))
        moved[name] = dataclasses.replace(shuffled, pool=place[shuffled.pool])
    bought = dataclasses.replace(case.limits, minimum_nodes=case.limits.minimum_nodes[order])
    return dataclasses.replace(case, **moved, limits=bought)


@given(seed=seeds)
@few
def test_order_of_rows_changes_nothing(seed: int) -> None:
    """The order in which pools and options are told is no part of the question."""
    case = draw(seed)
    plain, shuffled = best(case), best(reordered(case, seed))

    assert shuffled.status is plain.status
    assert shuffled.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-6, nan_ok=True)


@given(
    seed=seeds,
    which=st.sampled_from(["power_kw", "racks", "supply_nodes", "budget_usd", "carbon_cap_kgco2e"]),
)
@few
def test_a_wider_limit_is_never_worse(seed: int, which: str) -> None:
    """Every plan within the narrow limit is within the wide one."""
    case = draw(seed)
    wide = changed(case, "limits", **{which: getattr(case.limits, which) * 1.5 + 1})
    narrow_best, wide_best = best(case), best(wide)

    if narrow_best.solution is not None:
        assert wide_best.objective <= narrow_best.objective + 1e-6


def doubled_money(case: Problem) -> Problem:
    money = {
        name: {column: 2 * getattr(table, column) for column in table.SHAPES if "usd" in column}
        for name, table in case.tables().items()
    }
    for name, columns in money.items():
        case = changed(case, name, **columns)
    return case


@given(seed=seeds)
@few
def test_twice_the_prices_cost_twice_as_much(seed: int) -> None:
    """Money is linear, budgets included; only money is minimised here."""
    case = dataclasses.replace(draw(seed), objective=Objective(money_weight=1.0, carbon_weight=0.0))
    plain, double = best(case), best(doubled_money(case))

    assert double.status is plain.status
    assert double.objective == pytest.approx(2 * plain.objective, rel=1e-6, abs=1e-6, nan_ok=True)


@given(seed=seeds)
@few
def test_a_pool_that_nobody_needs_changes_nothing(seed: int) -> None:
    """One more SKU with no option to run on it can only idle."""
    case = draw(seed)
    more = {
        name: np.concatenate([getattr(case.pools, name), getattr(case.pools, name)[:1]])
        for name, shape in case.pools.SHAPES.items()
        if shape.axes.startswith("*")
    }
    wider = dataclasses.replace(
        case,
        pools=dataclasses.replace(case.pools, **more),
        limits=dataclasses.replace(case.limits, minimum_nodes=[*case.limits.minimum_nodes, 0.0]),
    )
    plain, idle = best(case), best(wider)

    assert idle.status is plain.status
    assert idle.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-6, nan_ok=True)


def test_same_problem_same_plan() -> None:
    """One thread and a fixed seed: the same question twice gives the same decisions, not just one cost."""
    case = draw(11)
    first, second = best(case).solution, best(case).solution

    assert first is not None
    assert second is not None
    for part in ("orders", "retired", "run", "replicas", "spares", "work_node_h"):
        np.testing.assert_array_equal(getattr(first, part), getattr(second, part))


def test_a_plan_worked_out_by_hand() -> None:
    """Two nodes for the job, three replicas for 25 requests/s at 10 each, half a node of work: buy 6 nodes.

    6 * 100 holding + 40 job + 45 serving + 5 work + 0.5 idle nodes * 5 = 692.5 USD; carbon by the same counts
    6 * 10 + 16 + 18 + 2.5 + 0.5 * 2 = 97.5 kg.
    """
    case = problem(jobs=one_job(), run_options=run_option([[2]]), **service([25.0]), **work([50.0]))

    plan = best(case).solution

    assert plan is not None
    assert plan.orders.tolist() == [[6]]
    assert plan.replicas.tolist() == [[3]]
    assert plan.usd == pytest.approx(692.5)
    assert plan.kgco2e == pytest.approx(97.5)


def test_objective_is_the_sum_of_its_terms() -> None:
    """Agreement: what the engine minimised = weights times the reported parts of money and of carbon."""
    case = dataclasses.replace(draw(11), objective=Objective(money_weight=1.0, carbon_weight=0.5))
    found = best(case)

    assert found.solution is not None
    usd, kgco2e = found.solution.usd_terms.by_part(), found.solution.kgco2e_terms.by_part()
    assert sum(usd.values()) + 0.5 * sum(kgco2e.values()) == pytest.approx(found.bound, rel=1e-6)
