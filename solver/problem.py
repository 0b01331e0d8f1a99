"""A problem: the tables of a fleet and of its tasks, the limits, the objective; and that they fit together.

Sets and their letters, as every docstring of this room uses them:

    t in T periods            p in P groups (a SKU at a site)    h in H cohorts (nodes that stand already)
    j in J jobs               r in R run options (job, configuration, node group, start)
    e in E pausable options    m in M moves between cohorts           g in G tiers of a SKU's price
    i in I services           v in V serve options (service, configuration, node group)
    w in W divisible work     o in O work options (work, node group)  c in C contracts for clean energy
    s in S sites              k in K SKUs                            l in L lines under which spares suffice
    f in F powers that several sites share                           y in Y slots of a period
    a in A adoptions of techniques by a work

Tables are columns of numbers, one entry per row of the set; no unit is converted and no physics known here.
Every table checks itself when it is made, and `Problem` checks that the tables fit together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from solver.fleet import Cohorts, Contracts, Moves, NodeGroups, Places, Sales, SpareSteps, Tiers
from solver.slots import (
    BySlot,
    Drawing,
    Resting,
    Shifting,
    SiteEnergy,
    SlotDemand,
    Slots,
    Switching,
    Windows,
    check_slots,
)
from solver.solution import SlotUse, Solution, Terms
from solver.tables import Flags, Floats, ProblemError, Shape, Table, no_flags, no_numbers
from solver.tasks import (
    Adoptions,
    Jobs,
    PausableOptions,
    RunOptions,
    ServeOptions,
    Services,
    Work,
    WorkOptions,
)

__all__ = [
    "Adoptions",
    "Cohorts",
    "Contracts",
    "Drawing",
    "Jobs",
    "Limits",
    "Moves",
    "NodeGroups",
    "Objective",
    "PausableOptions",
    "Places",
    "Problem",
    "Resting",
    "RunOptions",
    "Sales",
    "ServeOptions",
    "Services",
    "Shifting",
    "SiteEnergy",
    "SlotDemand",
    "SlotUse",
    "Slots",
    "Solution",
    "SpareSteps",
    "Switching",
    "Terms",
    "Tiers",
    "Windows",
    "Work",
    "WorkOptions",
]


@dataclass(frozen=True, slots=True, eq=False)
class Limits(Table):
    """What a plan may not exceed; `np.inf` where there is no limit."""

    power_kw: Floats  # [S, T] facility power at the peak
    racks: Floats  # [S]
    supply_nodes: Floats  # [K, T] nodes ordered in t, all sites together
    budget_usd: Floats  # [T] cash for orders placed, runs begun and what sites put up in t
    carbon_cap_kgco2e: float = math.inf  # over the whole horizon
    money_cap_usd: float = math.inf  # over the whole horizon
    minimum_nodes: Floats = field(default_factory=no_numbers)  # [P] none, or at least this many, are bought
    carbon_cap_by_period_kgco2e: Floats = field(default_factory=no_numbers)  # [T] jobs left out not counted
    shared_power_kw: Floats = field(
        default_factory=no_numbers
    )  # [F, T] facility power of some sites together
    shared_power_sites: Flags = field(default_factory=no_flags)  # [F, S] which sites share it
    shared_power_name: tuple[str, ...] = ()  # [F]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "power_kw": Shape("ST", low=0, infinite=True),
        "racks": Shape("S", low=0, infinite=True),
        "supply_nodes": Shape("KT", low=0, infinite=True),
        "budget_usd": Shape("T", low=0, infinite=True),
        "minimum_nodes": Shape("P", low=0, default=0.0),
        "carbon_cap_by_period_kgco2e": Shape("T", infinite=True, default=math.inf),
        "shared_power_kw": Shape("FT", low=0, infinite=True, default=math.inf),
        "shared_power_sites": Shape("FS", bool, default=0.0),
    }

    @property
    def over_the_horizon(self) -> bool:
        """Is money or carbon of the whole horizon capped?"""
        return math.isfinite(self.money_cap_usd) or math.isfinite(self.carbon_cap_kgco2e)


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
    ("node_groups", "sku"): "K",
    ("node_groups", "site"): "S",
    ("cohorts", "node_group"): "P",
    ("run_options", "job"): "J",
    ("run_options", "node_group"): "P",
    ("run_options", "start"): "T",
    ("pausable_options", "job"): "J",
    ("pausable_options", "node_group"): "P",
    ("moves", "from_cohort"): "H",
    ("moves", "to_cohort"): "H",
    ("sales", "node_group"): "P",
    ("sales", "ordered"): "T",
    ("tiers", "sku"): "K",
    ("contracts", "site"): "S",
    ("serve_options", "service"): "I",
    ("serve_options", "node_group"): "P",
    ("work_options", "work"): "W",
    ("work_options", "node_group"): "P",
    ("adoptions", "work"): "W",
    ("spare_steps", "node_group"): "P",
}
# Tables that a problem may be made without.
_MAY_BE_ABSENT = ("pausable_options", "moves", "sales", "tiers", "contracts", "adoptions", "slots")
# Tables by slot, and the table that each has a row for every row of; without slots they have none.
_BY_SLOT = {
    "work_shifts": "work_options",
    "pausable_shifts": "pausable_options",
    "windows": "work",
    "resting": "serve_options",
    "slot_demand": "services",
    "switching": "node_groups",
    "drawing": "serve_options",
    "site_energy": "places",
}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything the program knows."""

    periods: int
    site_names: tuple[str, ...]
    sku_names: tuple[str, ...]
    node_groups: NodeGroups
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
    pausable_options: PausableOptions = field(default_factory=lambda: PausableOptions.none(0))
    moves: Moves = field(default_factory=lambda: Moves.none(0))
    sales: Sales = field(default_factory=lambda: Sales.none(0))
    tiers: Tiers = field(default_factory=lambda: Tiers.none(0))
    contracts: Contracts = field(default_factory=lambda: Contracts.none(0))
    places: Places = field(default_factory=lambda: Places.none(0))
    adoptions: Adoptions = field(default_factory=lambda: Adoptions.none(0))
    slots: Slots = field(default_factory=lambda: Slots.none(0))
    work_shifts: Shifting = field(default_factory=lambda: Shifting.none(0))
    pausable_shifts: Shifting = field(default_factory=lambda: Shifting.none(0))
    windows: Windows = field(default_factory=lambda: Windows.none(0))
    resting: Resting = field(default_factory=lambda: Resting.none(0))
    slot_demand: SlotDemand = field(default_factory=lambda: SlotDemand.none(0))
    switching: Switching = field(default_factory=lambda: Switching.none(0))
    drawing: Drawing = field(default_factory=lambda: Drawing.none(0))
    site_energy: SiteEnergy = field(default_factory=lambda: SiteEnergy.none(0))

    def __post_init__(self) -> None:
        if self.periods < 1:
            raise ProblemError(f"Problem.periods is a count of at least 1, got {self.periods}")
        sizes = {
            "T": self.periods,
            "S": len(self.site_names),
            "K": len(self.sku_names),
            "P": len(self.node_groups),
            "H": len(self.cohorts),
            "J": len(self.jobs),
            "I": len(self.services),
            "W": len(self.work),
            "A": len(self.adoptions),
            "F": len(self.limits.shared_power_kw),
            "Y": len(self.slots),
        }
        for name, table in self.tables().items():
            if len(table) == 0 and name in _MAY_BE_ABSENT:
                object.__setattr__(self, name, type(table).none(self.periods))
        if self.work_options.uses.size == 0:
            none = np.zeros((len(self.work_options), sizes["A"]), dtype=bool)
            object.__setattr__(self, "work_options", replace(self.work_options, uses=none))
        if len(self.limits.minimum_nodes) == 0:
            object.__setattr__(self, "limits", replace(self.limits, minimum_nodes=np.zeros(sizes["P"])))
        if len(self.places) == 0:
            nothing = np.zeros((sizes["S"], self.periods))
            object.__setattr__(self, "places", Places(nothing, nothing, nothing))
        self._fill_slots()
        for name, length in (("places", sizes["S"]), ("limits.shared_power_name", sizes["F"])):
            rows = len(self.places) if name == "places" else len(self.limits.shared_power_name)
            if rows != length:
                raise ProblemError(f"Problem.{name} has {rows} entries, the problem has {length}")
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
        for name in ("carbon_cap_kgco2e", "money_cap_usd"):
            if math.isnan(getattr(self.limits, name)):
                raise ProblemError(f"Problem.limits.{name} is not a number; np.inf means no cap")
        self._check_moves()
        self._check_sales()
        self._check_jobs()
        self._check_joint_runs()
        self._check_adoptions()

    def _fill_slots(self) -> None:
        """Tables by slot that were not given allow nothing; without slots none is given."""
        if len(self.slots):
            check_slots(self.slots, self.node_groups.hours)
        for name, other in _BY_SLOT.items():
            table: BySlot = getattr(self, name)
            rows = len(getattr(self, other)) if len(self.slots) else 0
            if len(table) == 0:
                object.__setattr__(self, name, type(table).nothing(rows, self.periods, len(self.slots)))
            elif len(table) != rows:
                raise ProblemError(f"Problem.{name} has {len(table)} rows, Problem.{other} has {rows}")

    def by_period(self) -> Problem:
        """The same problem without slots: whatever it allows, this one allows."""
        nothing = {name: type(getattr(self, name)).none(self.periods) for name in ("slots", *_BY_SLOT)}
        return replace(self, **nothing) if len(self.slots) else self

    def _check_moves(self) -> None:
        """A move keeps the SKU and changes the site."""
        groups, moves = self.node_groups, self.moves
        origin, goal = (self.cohorts.node_group[end] for end in (moves.from_cohort, moves.to_cohort))
        wrong = (groups.sku[origin] != groups.sku[goal]) | (groups.site[origin] == groups.site[goal])
        for row in np.flatnonzero(wrong)[:1]:
            raise ProblemError(
                f"Problem.moves[{row}] goes from {self.node_group_name(int(origin[row]))} to "
                f"{self.node_group_name(int(goal[row]))}; it has to keep the SKU and change the site"
            )

    def _check_sales(self) -> None:
        """What a rebate may make cheaper is not sold again: the refund would not know at which price."""
        sku = self.node_groups.sku[self.sales.node_group]
        wrong = self.sales.may_sell.any(axis=1) & np.isin(sku, self.tiers.sku)
        for row in np.flatnonzero(wrong)[:1]:
            raise ProblemError(
                f"Problem.sales[{row}] may sell {self.sku_names[sku[row]]}, on which there is a rebate"
            )

    def _check_jobs(self) -> None:
        """A job done in part leaves a part out; no option works more hours than its nodes have."""
        for row in np.flatnonzero(self.jobs.partial & ~self.jobs.optional)[:1]:
            raise ProblemError(f"Problem.jobs.partial[{row}] is true, but the job is not optional")
        options = self.pausable_options
        most = options.nodes[:, None] * self.node_groups.hours
        for row, period in np.argwhere(options.node_hours_limit > most * (1 + 1e-9))[:1]:
            raise ProblemError(
                f"Problem.pausable_options.node_hours_limit[{row}, {period}] is "
                f"{options.node_hours_limit[row, period]:g}, but {options.nodes[row]} nodes have "
                f"{most[row, period]:g} hours then"
            )
        for row in np.flatnonzero(options.nodes_least > options.nodes)[:1]:
            raise ProblemError(
                f"Problem.pausable_options.nodes_least[{row}] is {options.nodes_least[row]}, but the option "
                f"has {options.nodes[row]} nodes"
            )

    def _check_joint_runs(self) -> None:
        """Rows of one run are of one job and one start, each at a node group of its own."""
        runs = self.run_options
        shared, first = np.flatnonzero(runs.joint > 0), runs.first
        for name in ("job", "start"):
            column = getattr(runs, name)
            for row in shared[column[shared] != column[first[shared]]][:1]:
                raise ProblemError(f"Problem.run_options.{name}[{row}] is not that of the rest of its run")
        pairs = np.stack([runs.joint[shared], runs.node_group[shared]], axis=1)
        if len(np.unique(pairs, axis=0)) < len(pairs):
            raise ProblemError("Problem.run_options.joint has a run with a node group twice")

    def _check_adoptions(self) -> None:
        """An option does the work that all that it uses is adopted by."""
        wrong = self.work_options.uses & (self.work_options.work[:, None] != self.adoptions.work)
        for row, used in np.argwhere(wrong)[:1]:
            raise ProblemError(f"Problem.work_options.uses[{row}, {used}] is of an adoption by another work")

    def tables(self) -> dict[str, Table]:
        """The tables by the name of their field."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: part for name, part in parts.items() if isinstance(part, Table)}

    @property
    def under_term(self) -> Flags:
        """Node groups of nodes that are rented for a term [P]."""
        found: Flags = self.node_groups.rental_term_periods > 0
        return found

    def node_group_name(self, group: int) -> str:
        """What a person calls a node group."""
        sku, site = self.node_groups.sku[group], self.node_groups.site[group]
        return f"{self.sku_names[sku]} at {self.site_names[site]}"
