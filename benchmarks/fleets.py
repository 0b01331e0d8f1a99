"""Made-up fleets for the program, at three sizes: half the jobs train, half serve.

What a fleet has: SKUs with price tiers and lead times, on a market that gets cheaper by the period; sites
with their own electricity, carbon, racks and power; standing cohorts of the older SKUs, some of which end.
Spares, rental, parking and moves are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from solver.problem import (
    Cohorts,
    Jobs,
    Limits,
    NodeGroups,
    Objective,
    PausableOptions,
    Problem,
    RunOptions,
    ServeOptions,
    Services,
    SpareSteps,
    Tiers,
    Work,
    WorkOptions,
)

HOURS = 2190.0  # a quarter


class Size(NamedTuple):
    """How much there is of everything."""

    skus: int
    sites: int
    periods: int
    jobs: int
    sites_of_job: int
    skus_of_job: int


SIZES = {
    "S": Size(4, 2, 4, 5, 2, 4),
    "M": Size(12, 6, 8, 50, 4, 6),
    "L": Size(25, 20, 12, 500, 4, 6),
}
EFFICIENCY = (1.0, 0.95, 0.88)  # of a training job at its base size, twice and four times of it
MANY = 10  # replicas from which they need not be counted one by one


class Market(NamedTuple):
    """The columns that everything else is drawn from, by SKU and by site."""

    speed: Any  # [K] work a node does, over the slowest
    idle_kw: Any  # [K]
    busy_kw: Any  # [K] above idle
    usd_per_kwh: Any  # [S]
    kgco2e_per_kwh: Any  # [S]


def fleet(name: str, seed: int = 0) -> Problem:
    """The fleet of that size; equal seeds give equal fleets."""
    size, rng = SIZES[name], np.random.default_rng(seed)
    order = np.sort(rng.uniform(1.0, 4.0, size.skus))
    market = Market(
        speed=order / order[0],
        idle_kw=rng.uniform(1.5, 3.0, size.skus),
        busy_kw=rng.uniform(4.0, 7.0, size.skus),
        usd_per_kwh=rng.uniform(0.06, 0.15, size.sites),
        kgco2e_per_kwh=rng.uniform(0.03, 0.6, size.sites),
    )
    groups = _node_groups(size, market, rng)
    jobs, pausable, needed = _training(size, market, groups, rng)
    services, serves, served = _serving(size, market, groups, rng)
    wanted = needed + served  # [T] nodes of the slowest SKU
    cohorts = _cohorts(size, market, groups, wanted, rng)
    most = float(wanted.max())
    site_share = rng.uniform(1.0, 2.0, size.sites) / size.sites
    flat = np.ones((1, size.periods))
    return Problem(
        periods=size.periods,
        site_names=tuple(f"site-{number}" for number in range(size.sites)),
        sku_names=tuple(f"sku-{number}" for number in range(size.skus)),
        node_groups=groups,
        cohorts=cohorts,
        jobs=jobs,
        run_options=RunOptions.none(size.periods),
        services=services,
        serve_options=serves,
        work=Work.none(size.periods),
        work_options=WorkOptions.none(size.periods),
        spare_steps=SpareSteps.none(size.periods),
        limits=Limits(
            power_kw=site_share[:, None] * most * 8.0 * flat,
            racks=np.ceil(site_share * most / 4),
            supply_nodes=np.ceil(2 * most / size.skus) * np.ones((size.skus, size.periods)),
            budget_usd=np.full(size.periods, most * 120e3),
        ),
        objective=Objective(money_weight=1.0, carbon_weight=0.1),
        pausable_options=pausable,
        tiers=Tiers(
            sku=np.repeat(np.arange(size.skus), 2),
            from_nodes=np.tile(np.ceil(np.array([0.5, 1.5]) * most / size.skus), size.skus),
            rebate_fraction=np.tile([0.04, 0.08], size.skus),
        ),
    )


def _node_groups(size: Size, market: Market, rng: np.random.Generator) -> NodeGroups:
    """Every SKU at every site."""
    sku, site = (
        grid.ravel() for grid in np.meshgrid(np.arange(size.skus), np.arange(size.sites), indexing="ij")
    )
    price = 90e3 * market.speed**0.9 * rng.uniform(0.9, 1.1, size.skus)
    each = np.ones((len(sku), size.periods))
    capex = price[sku][:, None] * 0.99 ** np.arange(size.periods)
    lead = np.arange(size.skus) % 3 % size.periods
    idle_kwh = market.idle_kw[sku] * HOURS
    # Capital to the end of the horizon: a twentieth of the price for each period in service.
    left = np.maximum(size.periods - np.arange(size.periods) - lead[sku][:, None], 0)
    return NodeGroups(
        sku=sku,
        site=site,
        order_unit_nodes=np.full(len(sku), 4),
        lead_periods=lead[sku],
        purchase_allowed=np.full((len(sku), size.periods), True),
        capex_usd_per_node=capex,
        holding_usd_per_node=np.broadcast_to(rng.uniform(500, 1500, len(sku))[:, None], capex.shape),
        holding_kgco2e_per_node=150.0 * each,
        idle_kw=market.idle_kw[sku],
        idle_usd_per_node=(idle_kwh * market.usd_per_kwh[site])[:, None] * each,
        idle_kgco2e_per_node=(idle_kwh * market.kgco2e_per_kwh[site])[:, None] * each,
        racks_per_node=np.full(len(sku), 0.25),
        hours=np.full(size.periods, HOURS),
        order_usd_per_node=capex / 20 * left,
    )


def _eligible(size: Size, rng: np.random.Generator) -> Any:
    """The node groups on which one job may run; one of its SKUs at least comes without a wait."""
    skus = rng.choice(size.skus, size.skus_of_job, replace=False)
    skus[0] = 3 * rng.integers(0, (size.skus + 2) // 3) if not (skus % 3 == 0).any() else skus[0]
    sites = rng.choice(size.sites, size.sites_of_job, replace=False)
    return (skus[:, None] * size.sites + sites).ravel()


def _training(
    size: Size, market: Market, groups: NodeGroups, rng: np.random.Generator
) -> tuple[Jobs, PausableOptions, Any]:
    """Jobs with a release and a deadline, on every eligible group at three sizes, where that is in time."""
    count, periods = size.jobs // 2, size.periods
    rows: dict[str, list[Any]] = {key: [] for key in ("job", "node_group", "nodes", "node_hours", "limit")}
    needed = np.zeros(periods)
    for job in range(count):
        release = int(rng.integers(0, periods - 1))
        end = int(rng.integers(release + 2, periods + 1))
        inside = (np.arange(periods) >= release) & (np.arange(periods) < end)
        reference = int(rng.integers(32, 257))
        work_h = rng.uniform(0.4, 0.8) * reference * HOURS * inside.sum()  # hours of nodes of the slowest SKU
        needed += inside * work_h / HOURS / inside.sum()
        for group in _eligible(size, rng):
            speed = market.speed[groups.sku[group]]
            base = max(1, round(reference / speed / 2))
            for doubled, efficiency in enumerate(EFFICIENCY):
                nodes, node_hours = base * 2**doubled, work_h / speed / efficiency
                limit = inside * nodes * HOURS * 0.95
                if limit.sum() >= node_hours:
                    for key, value in zip(rows, (job, group, nodes, node_hours, limit), strict=True):
                        rows[key].append(value)
    group, nodes = np.array(rows["node_group"]), np.array(rows["nodes"])
    busy = market.idle_kw[groups.sku[group]] + market.busy_kw[groups.sku[group]]
    flat = np.ones((1, periods))
    options = PausableOptions(
        job=np.array(rows["job"]),
        node_group=group,
        nodes=nodes,
        node_hours=np.array(rows["node_hours"]),
        node_hours_limit=np.array(rows["limit"]),
        active_kw=market.busy_kw[groups.sku[group]],
        usd_per_node_h=(busy * market.usd_per_kwh[groups.site[group]])[:, None] * flat,
        kgco2e_per_node_h=(busy * market.kgco2e_per_kwh[groups.site[group]])[:, None] * flat,
    )
    nothing = np.zeros(count)
    jobs = Jobs(
        name=tuple(f"training-{job}" for job in range(count)),
        optional=np.full(count, False),
        left_out_usd=nothing,
        left_out_kgco2e=nothing,
    )
    return jobs, options, needed


def _serving(
    size: Size, market: Market, groups: NodeGroups, rng: np.random.Generator
) -> tuple[Services, ServeOptions, Any]:
    """Services with a demand that grows and swings; replicas hold an eighth of a node to a half."""
    count, periods = size.jobs - size.jobs // 2, size.periods
    nodes = rng.choice([0.125, 0.25, 0.5], count)
    growth = 1 + rng.uniform(0, 0.1, count)[:, None] * np.arange(periods)
    demand = rng.uniform(8, 120, count)[:, None] * growth * rng.uniform(0.85, 1.15, (count, periods))
    demand /= nodes[:, None]  # in replicas of the slowest SKU, which carry one request/s each
    places = [_eligible(size, rng) for _ in range(count)]
    service = np.repeat(np.arange(count), [len(each) for each in places])
    group = np.concatenate(places)
    speed = market.speed[groups.sku[group]]
    idle, above = market.idle_kw[groups.sku[group]], market.busy_kw[groups.sku[group]]
    active_h = 0.6 * HOURS * nodes[service]
    kwh = ((idle + above) * active_h)[:, None] * np.ones((1, periods))
    needed = demand.max(axis=1)[service] / speed
    options = ServeOptions(
        service=service,
        node_group=group,
        capacity=speed[:, None] * np.ones((1, periods)),
        nodes=nodes[service],
        standby_fraction=np.full((len(group), periods), 0.05),
        node_hours=active_h[:, None] * np.ones((1, periods)),
        active_kw=above * nodes[service],
        usd=kwh * market.usd_per_kwh[groups.site[group]][:, None],
        kgco2e=kwh * market.kgco2e_per_kwh[groups.site[group]][:, None],
        whole=needed < MANY,
    )
    services = Services(name=tuple(f"service-{each}" for each in range(count)), demand=demand)
    return services, options, (nodes[:, None] * demand).sum(axis=0)


def _cohorts(
    size: Size, market: Market, groups: NodeGroups, wanted: Any, rng: np.random.Generator
) -> Cohorts:
    """The slowest third of the SKUs stands everywhere: a third of what is wanted at first; half ends."""
    group = np.flatnonzero(groups.sku < max(1, size.skus // 3))
    per_node_group = wanted[0] / 3 / len(group)
    nodes = np.rint(rng.uniform(0.6, 1.4, len(group)) * per_node_group / market.speed[groups.sku[group]])
    each = np.ones((len(group), size.periods))
    ends = rng.random(len(group)) < 0.5
    last = rng.integers(1, size.periods, len(group))
    return Cohorts(
        node_group=group,
        nodes=nodes,
        keep_usd_per_node=rng.uniform(600, 2500, len(group))[:, None] * each,
        keep_kgco2e_per_node=0 * each,
        retire_usd_per_node=-2000.0 * 0.9 ** np.arange(size.periods) * each,
        must_retire_by=np.where(ends, last, size.periods),
    )
