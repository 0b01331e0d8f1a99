"""What a plan is made of, in columns: pools of nodes, options that use them, limits, and the answer.

Sets and their letters, as every docstring of this room uses them:

    t in T periods            p in P pools (one SKU at one site)     h in H cohorts (nodes that stand already)
    j in J jobs               r in R run options (job, configuration, pool, start)
    i in I services           v in V serve options (service, configuration, pool)
    w in W divisible work     o in O work options (work, pool)
    s in S sites              k in K SKUs                            l in L lines under which spares suffice

Tables are columns of numbers, one entry per row of the set; no unit is converted and no physics known here.
Every table checks itself when it is made, and `Problem` checks that the tables fit together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from solver.tables import ROW, Flags, Floats, ProblemError, Shape, Table, Whole, no_numbers


@dataclass(frozen=True, slots=True, eq=False)
class Pools(Table):
    """Nodes of one SKU at one site. What is charged per node is charged for nodes bought by this plan.

    Idling is charged by the share of the period that a node in service (bought or standing) is not used:
    `idle_usd_per_node` is what idling through the whole period costs, energy at the facility's meter.
    """

    sku: Whole  # [P] index into Problem.sku_names
    site: Whole  # [P] index into Problem.site_names
    order_unit_nodes: Whole  # [P] nodes that one order brings
    lead_periods: Whole  # [P] periods from order to service
    purchase_allowed: Flags  # [P, T] may be ordered in t
    capex_usd_per_node: Floats  # [P, T] cash when ordered in t; only the budget reads it
    holding_usd_per_node: Floats  # [P, T] capital, maintenance and space of a bought node in service in t
    holding_kgco2e_per_node: Floats  # [P, T] embodied share of a bought node in service in t
    idle_kw: Floats  # [P] facility power of a node that idles
    idle_usd_per_node: Floats  # [P, T] energy of idling through t
    idle_kgco2e_per_node: Floats  # [P, T]
    racks_per_node: Floats  # [P]
    hours: Floats  # [T] length of each period

    SHAPES: ClassVar[dict[str, Shape]] = {
        "sku": ROW,
        "site": ROW,
        "order_unit_nodes": Shape("*", int, 1),
        "lead_periods": ROW,
        "purchase_allowed": Shape("*T", bool),
        "capex_usd_per_node": Shape("*T", low=0),
        "holding_usd_per_node": Shape("*T", low=0),
        "holding_kgco2e_per_node": Shape("*T", low=0),
        "idle_kw": Shape("*", low=0),
        "idle_usd_per_node": Shape("*T"),  # electricity may be paid for taking
        "idle_kgco2e_per_node": Shape("*T"),
        "racks_per_node": Shape("*", low=0),
        "hours": Shape("T", low=1e-9),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Cohorts(Table):
    """Nodes that stand already. Money sunk in them is not counted; keeping, idling and using them is."""

    pool: Whole  # [H]
    nodes: Whole  # [H]
    keep_usd_per_node: Floats  # [H, T] maintenance and space while kept
    keep_kgco2e_per_node: Floats  # [H, T] zero where embodied carbon is taken as sunk
    retire_usd_per_node: Floats  # [H, T] when retired at the start of t; negative is resale
    must_retire_by: Whole  # [H] first period in which it may no longer serve; T or more if never

    SHAPES: ClassVar[dict[str, Shape]] = {
        "pool": ROW,
        "nodes": ROW,
        "keep_usd_per_node": Shape("*T"),
        "keep_kgco2e_per_node": Shape("*T"),
        "retire_usd_per_node": Shape("*T"),
        "must_retire_by": ROW,
    }


@dataclass(frozen=True, slots=True, eq=False)
class Jobs(Table):
    """Work that runs once, whole, by one of its run options; optional jobs may be left out at a price."""

    name: tuple[str, ...]  # [J]
    optional: Flags  # [J]
    left_out_usd: Floats  # [J] charged when an optional job does not run
    left_out_kgco2e: Floats  # [J]
    allowed_late_h: Floats = field(default_factory=no_numbers)  # [J] later runs are barred

    SHAPES: ClassVar[dict[str, Shape]] = {
        "optional": Shape("*", bool),
        "left_out_usd": Shape("*", low=0),
        "left_out_kgco2e": Shape("*", low=0),
        "allowed_late_h": Shape("*", low=0, default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class RunOptions(Table):
    """Ways to run a job. `usd` and `kgco2e` are those of its active hours in full, idle power included."""

    job: Whole  # [R]
    pool: Whole  # [R]
    start: Whole  # [R] first period, for the reader
    late_h: Floats  # [R] hours past the deadline; 0 is on time
    nodes: Whole  # [R, T] nodes held in t
    node_hours: Floats  # [R, T] node-hours active in t
    active_kw: Floats  # [R, T] facility power above idle while active in t
    usd: Floats  # [R, T]
    kgco2e: Floats  # [R, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "job": ROW,
        "pool": ROW,
        "start": ROW,
        "late_h": Shape("*", low=0),
        "nodes": Shape("*T", int, 0),
        "node_hours": Shape("*T", low=0),
        "active_kw": Shape("*T", low=0),
        "usd": Shape("*T"),
        "kgco2e": Shape("*T"),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Services(Table):
    """Demand that has to be carried in every period, at its peak hour."""

    name: tuple[str, ...]  # [I]
    demand: Floats  # [I, T] requests/s

    SHAPES: ClassVar[dict[str, Shape]] = {"demand": Shape("*T", low=0)}


@dataclass(frozen=True, slots=True, eq=False)
class ServeOptions(Table):
    """Ways to serve. Money and carbon are those of one replica through t: its active hours in full."""

    service: Whole  # [V]
    pool: Whole  # [V]
    capacity: Floats  # [V] requests/s that one replica carries inside its latency targets
    nodes: Floats  # [V] nodes per replica; half a node is 0.5
    standby_fraction: Floats  # [V] replicas kept beyond demand, as a share
    node_hours: Floats  # [V, T] active node-hours per replica
    active_kw: Floats  # [V] facility power above idle per replica at the peak hour
    usd: Floats  # [V, T]
    kgco2e: Floats  # [V, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "service": ROW,
        "pool": ROW,
        "capacity": Shape("*", low=0),
        "nodes": Shape("*", low=0),
        "standby_fraction": Shape("*", low=0),
        "node_hours": Shape("*T", low=0),
        "active_kw": Shape("*", low=0),
        "usd": Shape("*T"),
        "kgco2e": Shape("*T"),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Work(Table):
    """Divisible work that may be preempted at any time: it lives on hours that nothing else uses."""

    name: tuple[str, ...]  # [W]
    demand_h: Floats  # [W, T] reference node-hours

    SHAPES: ClassVar[dict[str, Shape]] = {"demand_h": Shape("*T", low=0)}


@dataclass(frozen=True, slots=True, eq=False)
class WorkOptions(Table):
    """Pools on which a kind of work may be done, and how fast."""

    work: Whole  # [O]
    pool: Whole  # [O]
    speed: Floats  # [O] reference node-hours done per node-hour
    active_kw: Floats  # [O] facility power above idle per working node
    usd_per_node_h: Floats  # [O, T]
    kgco2e_per_node_h: Floats  # [O, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "work": ROW,
        "pool": ROW,
        "speed": Shape("*", low=0),
        "active_kw": Shape("*", low=0),
        "usd_per_node_h": Shape("*T"),
        "kgco2e_per_node_h": Shape("*T"),
    }


@dataclass(frozen=True, slots=True, eq=False)
class SpareSteps(Table):
    """How many nodes in use each number of spares is enough for, pool by pool.

    Use beyond the furthest reach of a pool is not allowed. A pool without steps needs no spares, and neither
    does a pool of which nothing is in use.
    """

    pool: Whole  # [G]
    spares: Whole  # [G]
    reach: Floats  # [G] nodes in use

    SHAPES: ClassVar[dict[str, Shape]] = {"pool": ROW, "spares": ROW, "reach": Shape("*", low=0)}

    def of_pool(self, pool: int) -> Whole:
        """The rows of one pool."""
        return np.flatnonzero(self.pool == pool)


@dataclass(frozen=True, slots=True, eq=False)
class Limits(Table):
    """What a plan may not exceed; `np.inf` where there is no limit."""

    power_kw: Floats  # [S, T] facility power at the peak
    racks: Floats  # [S]
    supply_nodes: Floats  # [K, T] nodes ordered in t, all sites together
    budget_usd: Floats  # [T] cash for orders placed in t
    carbon_cap_kgco2e: float = math.inf  # over the whole horizon
    minimum_nodes: Floats = field(default_factory=no_numbers)  # [P] none, or at least this many, are bought

    SHAPES: ClassVar[dict[str, Shape]] = {
        "power_kw": Shape("ST", low=0, infinite=True),
        "racks": Shape("S", low=0, infinite=True),
        "supply_nodes": Shape("KT", low=0, infinite=True),
        "budget_usd": Shape("T", low=0, infinite=True),
        "minimum_nodes": Shape("P", low=0, default=0.0),
    }


@dataclass(frozen=True, slots=True)
class Objective:
    """Minimise `money_weight` * USD + `carbon_weight` * kgCO2e; their ratio is a carbon price in USD/kg."""

    money_weight: float = 1.0
    carbon_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("money_weight", "carbon_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ProblemError(f"Objective.{name} is a weight of at least 0, got {getattr(self, name)}")


# Which table a column of indices points into, and the axes that tie tables together.
_POINTS = {
    ("pools", "sku"): "K",
    ("pools", "site"): "S",
    ("cohorts", "pool"): "P",
    ("run_options", "job"): "J",
    ("run_options", "pool"): "P",
    ("run_options", "start"): "T",
    ("serve_options", "service"): "I",
    ("serve_options", "pool"): "P",
    ("work_options", "work"): "W",
    ("work_options", "pool"): "P",
    ("spare_steps", "pool"): "P",
}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything the program knows."""

    periods: int
    site_names: tuple[str, ...]
    sku_names: tuple[str, ...]
    pools: Pools
    cohorts: Cohorts
    jobs: Jobs
    run_options: RunOptions
    services: Services
    serve_options: ServeOptions
    work: Work
    work_options: WorkOptions
    spare_steps: SpareSteps
    limits: Limits
    objective: Objective = Objective()

    def __post_init__(self) -> None:
        if self.periods < 1:
            raise ProblemError(f"Problem.periods is a count of at least 1, got {self.periods}")
        sizes = {
            "T": self.periods,
            "S": len(self.site_names),
            "K": len(self.sku_names),
            "P": len(self.pools),
            "J": len(self.jobs),
            "I": len(self.services),
            "W": len(self.work),
        }
        if len(self.limits.minimum_nodes) == 0:
            object.__setattr__(self, "limits", replace(self.limits, minimum_nodes=np.zeros(sizes["P"])))
        for name, table in self.tables().items():
            for column, shape in table.SHAPES.items():
                for axis, length in zip(shape.axes, getattr(table, column).shape, strict=True):
                    if length != sizes.get(axis, length):
                        where, wanted = f"Problem.{name}.{column}", sizes[axis]
                        raise ProblemError(
                            f"{where} has {length} entries along {axis}, the problem has {wanted}"
                        )
        for (name, column), axis in _POINTS.items():
            indices = getattr(getattr(self, name), column)
            for row in np.flatnonzero(indices >= sizes[axis])[:1]:
                raise ProblemError(
                    f"Problem.{name}.{column}[{row}] is {indices[row]}, but the problem has {sizes[axis]} of "
                    "those, counted from 0"
                )
        if math.isnan(self.limits.carbon_cap_kgco2e):
            raise ProblemError("Problem.limits.carbon_cap_kgco2e is not a number; np.inf means no cap")

    def tables(self) -> dict[str, Table]:
        """The tables by the name of their field."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: part for name, part in parts.items() if isinstance(part, Table)}

    def pool_name(self, pool: int) -> str:
        """What a person calls a pool."""
        return f"{self.sku_names[self.pools.sku[pool]]} at {self.site_names[self.pools.site[pool]]}"


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """One total taken apart; the parts add up to it. Money and carbon have the same parts."""

    purchase: Floats  # [P, T] bought nodes in service in t
    keep: Floats  # [H, T]
    retire: Floats  # [H, T]
    run: Floats  # [R, T]
    serve: Floats  # [V, T]
    work: Floats  # [O, T]
    idle: Floats  # [P, T] nodes in service, for the hours in which nothing uses them
    left_out: Floats  # [J]

    def by_part(self) -> dict[str, float]:
        """The sum of each part."""
        return {part.name: float(getattr(self, part.name).sum()) for part in fields(self)}

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return math.fsum(self.by_part().values())


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The decisions of a plan, and what follows from them."""

    orders: Whole  # [P, T] order units placed at the start of t
    retired: Whole  # [H, T] nodes retired at the start of t
    run: Flags  # [R]
    left_out: Flags  # [J]
    replicas: Whole  # [V, T]
    work_node_h: Floats  # [O, T]
    spares: Whole  # [P, T]
    bought_in_service: Whole  # [P, T] nodes
    kept: Whole  # [H, T] nodes
    in_service: Whole  # [P, T] nodes, bought and kept
    in_use: Floats  # [P, T] nodes that runs and replicas hold
    usd_terms: Terms
    kgco2e_terms: Terms

    @property
    def usd(self) -> float:
        """Money of the whole plan."""
        return self.usd_terms.total

    @property
    def kgco2e(self) -> float:
        """Carbon of the whole plan."""
        return self.kgco2e_terms.total
