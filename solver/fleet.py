"""What a fleet is made of: node groups, cohorts, their moves, rebates, spares, clean energy, sites."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from solver.tables import ROW, Flags, Floats, Shape, Table, Whole, no_counts, no_flags, no_numbers


@dataclass(frozen=True, slots=True, eq=False)
class NodeGroups(Table):
    """Nodes of one SKU at one site. What is charged per node is charged for nodes bought by this plan.

    Idling is charged by the share of the period that a node in service (bought, standing, rented) is not
    used: `idle_usd_per_node` is what idling through the whole period costs, energy at the facility's meter.
    A rented node serves one period, needs no racks, and its idling draws no power of the site. By the hour it
    is charged with what uses it, and `unfilled` where replicas hold some of it and nothing fills the rest.
    Where rental has a term, nodes are taken for so many periods from the one in which it begins, used or not,
    up to the end of the horizon. Parked nodes are charged and draw `off` in place of idle. What is bought to
    lie on a shelf is a node group of its own, which nothing runs on and whose spares are those of another.
    """

    sku: Whole  # [P] index into Problem.sku_names
    site: Whole  # [P] index into Problem.site_names
    order_unit_nodes: Whole  # [P] nodes that one order brings
    lead_periods: Whole  # [P] periods from order to service
    purchase_allowed: Flags  # [P, T] may be ordered in t
    capex_usd_per_node: Floats  # [P, T] cash when ordered in t; only the budget reads it
    holding_usd_per_node: Floats  # [P, T] maintenance of a bought node in service in t
    holding_kgco2e_per_node: Floats  # [P, T] embodied share of a bought node in service in t
    idle_kw: Floats  # [P] facility power of a node that idles
    idle_usd_per_node: Floats  # [P, T] energy of idling through t
    idle_kgco2e_per_node: Floats  # [P, T]
    racks_per_node: Floats  # [P]
    hours: Floats  # [T] length of each period
    order_usd_per_node: Floats = field(default_factory=no_numbers)  # [P, T] counted when ordered in t: price
    # or capital cost to the end of the horizon
    rental_limit_nodes: Floats = field(default_factory=no_numbers)  # [P, T] nodes that may be rented in t
    rental_usd_per_node: Floats = field(default_factory=no_numbers)  # [P, T] a rented node through t
    rental_kgco2e_per_node: Floats = field(default_factory=no_numbers)  # [P, T]
    unfilled_usd_per_node: Floats = field(
        default_factory=no_numbers
    )  # [P, T] a node by the hour through t, paid
    # for the parts of it that replicas leave and nothing fills
    unfilled_kgco2e_per_node: Floats = field(default_factory=no_numbers)  # [P, T]
    rental_term_periods: Whole = field(
        default_factory=no_counts
    )  # [P] 0 where nodes are rented by the period
    rental_start_allowed: Flags = field(default_factory=no_flags)  # [P, T] a term may begin in t
    rental_signed_nodes: Floats = field(default_factory=no_numbers)  # [P, T] of terms from t that are signed
    term_left_usd_per_node: Floats = field(default_factory=no_numbers)  # [P, T] a term from t, after the end
    off_site: Flags = field(default_factory=no_flags)  # [P] neither its power nor its racks are the site's
    may_park: Flags = field(default_factory=no_flags)  # [P]
    off_kw: Floats = field(default_factory=no_numbers)  # [P] facility power of a parked node
    off_usd_per_node: Floats = field(default_factory=no_numbers)  # [P, T] energy of a node parked through t
    off_kgco2e_per_node: Floats = field(default_factory=no_numbers)  # [P, T]
    idle_kwh_per_node: Floats = field(default_factory=no_numbers)  # [P, T] only contracts read energy
    off_kwh_per_node: Floats = field(default_factory=no_numbers)  # [P, T]
    space_kw: Floats = field(default_factory=no_numbers)  # [P] power that a node is rated for
    spares_for: Whole = field(
        default_factory=no_counts
    )  # [P] node group whose spares these are; -1 elsewhere

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
        "order_usd_per_node": Shape("*T", low=0, default=0.0),
        "rental_limit_nodes": Shape("*T", low=0, infinite=True, default=0.0),
        "rental_usd_per_node": Shape("*T", low=0, default=0.0),
        "rental_kgco2e_per_node": Shape("*T", low=0, default=0.0),
        "unfilled_usd_per_node": Shape("*T", low=0, default=0.0),
        "unfilled_kgco2e_per_node": Shape("*T", low=0, default=0.0),
        "rental_term_periods": Shape("*", int, 0, default=0.0),
        "rental_start_allowed": Shape("*T", bool, default=1.0),
        "rental_signed_nodes": Shape("*T", low=0, default=0.0),
        "term_left_usd_per_node": Shape("*T", low=0, default=0.0),
        "off_site": Shape("*", bool, default=0.0),
        "may_park": Shape("*", bool, default=0.0),
        "off_kw": Shape("*", low=0, default=0.0),
        "off_usd_per_node": Shape("*T", default=0.0),
        "off_kgco2e_per_node": Shape("*T", default=0.0),
        "idle_kwh_per_node": Shape("*T", low=0, default=0.0),
        "off_kwh_per_node": Shape("*T", low=0, default=0.0),
        "space_kw": Shape("*", low=0, default=0.0),
        "spares_for": Shape("*", int, -1, default=-1.0),
    }

    def spared_by(self, group: int) -> list[int]:
        """Node groups whose spares are those of a group: itself, and what lies on the shelf for it."""
        return [group, *np.flatnonzero(self.spares_for == group).tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Cohorts(Table):
    """Nodes that stand already. What was paid for them is not counted; holding, idling and using them is.

    Where older nodes fail more than the spares of their node group are made for, `available_fraction` is
    below 1.
    """

    node_group: Whole  # [H]
    nodes: Whole  # [H]
    keep_usd_per_node: Floats  # [H, T] fall of value, interest and maintenance while kept
    keep_kgco2e_per_node: Floats  # [H, T] zero where embodied carbon is taken as sunk
    retire_usd_per_node: Floats  # [H, T] when retired at the start of t: what the sale takes
    must_retire_by: Whole  # [H] first period in which it may no longer serve; T or more if never
    available_fraction: Floats = field(default_factory=no_numbers)  # [H, T] share not down beyond spares
    may_retire: Flags = field(default_factory=no_flags)  # [H, T]
    reuse_limit: Whole = field(default_factory=no_counts)  # [H] retired nodes that a lower tier takes
    reuse_usd_per_node: Floats = field(default_factory=no_numbers)  # [H, T] on top of `retire_usd_per_node`
    reuse_kgco2e_per_node: Floats = field(default_factory=no_numbers)  # [H, T] avoided is below zero

    SHAPES: ClassVar[dict[str, Shape]] = {
        "node_group": ROW,
        "nodes": ROW,
        "keep_usd_per_node": Shape("*T"),
        "keep_kgco2e_per_node": Shape("*T"),
        "retire_usd_per_node": Shape("*T"),
        "must_retire_by": ROW,
        "available_fraction": Shape("*T", low=0, high=1, default=1.0),
        "may_retire": Shape("*T", bool, default=1.0),
        "reuse_limit": Shape("*", int, 0, default=0.0),
        "reuse_usd_per_node": Shape("*T", default=0.0),
        "reuse_kgco2e_per_node": Shape("*T", default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Moves(Table):
    """Ways to carry standing nodes to another site.

    They leave at the start of a period and stand in neither cohort until the period in which they arrive,
    within the horizon and before the end of life there. Of that period `away_fraction` is gone by then: what
    runs or serves from its first day on cannot count on them, work that is spread over it has the rest. The
    cohort that they join may have no nodes of its own.
    """

    from_cohort: Whole  # [M]
    to_cohort: Whole  # [M] of the same SKU at another site
    lead_periods: Whole  # [M] whole periods from leaving to service
    usd_per_node: Floats  # [M, T] when leaving at the start of t
    kgco2e_per_node: Floats  # [M, T]
    away_fraction: Floats = field(default_factory=no_numbers)  # [M, T] of those that leave in t: the share of
    # the period of their arrival in which they are still under way

    SHAPES: ClassVar[dict[str, Shape]] = {
        "from_cohort": ROW,
        "to_cohort": ROW,
        "lead_periods": ROW,
        "usd_per_node": Shape("*T", low=0),
        "kgco2e_per_node": Shape("*T", low=0),
        "away_fraction": Shape("*T", low=0, high=1, default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Sales(Table):
    """Nodes bought by this plan that may be sold again, by node group and period of their order.

    What is sold at the start of t ends its holding from t on; `usd_per_node` is what the sale takes less the
    capital cost that `order_usd_per_node` counts from t on. No rebate may stand on a SKU that is sold.
    """

    node_group: Whole  # [B]
    ordered: Whole  # [B] period of the order
    usd_per_node: Floats  # [B, T] when sold at the start of t
    may_sell: Flags  # [B, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "node_group": ROW,
        "ordered": ROW,
        "usd_per_node": Shape("*T"),
        "may_sell": Shape("*T", bool),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Tiers(Table):
    """Rebates of a framework contract: from so many nodes of a SKU over the horizon, every one is cheaper.

    The rebate is that of the best tier reached, on `order_usd_per_node` and, for the budget,
    `capex_usd_per_node`.
    """

    sku: Whole  # [G]
    from_nodes: Floats  # [G] ordered over the horizon at all sites together
    rebate_fraction: Floats  # [G]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "sku": ROW,
        "from_nodes": Shape("*", low=0),
        "rebate_fraction": Shape("*", low=0, high=1),
    }


@dataclass(frozen=True, slots=True, eq=False)
class SpareSteps(Table):
    """How many nodes in use each number of spares is enough for, node group by node group.

    Use beyond the furthest reach of a node group is not allowed. A node group without steps needs no spares,
    and neither does a node group of which nothing is in use. Steps of promise 0 are for all nodes in use,
    those of a promise q for the nodes of replicas that are promised q or something stricter.
    """

    node_group: Whole  # [G]
    spares: Whole  # [G]
    reach: Floats  # [G] nodes in use
    promise: Whole = field(default_factory=no_counts)  # [G]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "node_group": ROW,
        "spares": ROW,
        "reach": Shape("*", low=0),
        "promise": Shape("*", int, 0, default=0.0),
    }

    def of_node_group(self, group: int, promise: int = 0) -> Whole:
        """The rows of one node group and promise."""
        return np.flatnonzero((self.node_group == group) & (self.promise == promise))

    def in_turn(self, group: int, promise: int = 0) -> Whole:
        """The same by ever more spares, each of which reaches further than all before it."""
        rows = self.of_node_group(group, promise)
        rows = rows[np.lexsort((-self.reach[rows], self.spares[rows]))]
        before = np.maximum.accumulate(self.reach[rows])
        return rows[self.reach[rows] > np.concatenate([[-1.0], before[:-1]])] if rows.size else rows

    def promises(self) -> list[int]:
        """The promises that have steps, the laxest first."""
        found: list[int] = np.unique(self.promise).tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Contracts(Table):
    """Clean energy that may be bought to match what a site draws, counted by the market-based method."""

    site: Whole  # [C]
    usd_per_kwh: Floats  # [C, T] premium over the electricity that the options are charged
    kgco2e_per_kwh: Floats  # [C, T] avoided
    limit_kwh: Floats  # [C, T]
    fixed_share: Flags = field(default_factory=no_flags)  # [C] the same mean power in every period

    SHAPES: ClassVar[dict[str, Shape]] = {
        "site": ROW,
        "usd_per_kwh": Shape("*T"),
        "kgco2e_per_kwh": Shape("*T"),
        "limit_kwh": Shape("*T", low=0, infinite=True),
        "fixed_share": Shape("*", bool, default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Places(Table):
    """What each site charges beyond energy, one row a site: space by rated power, and the peak of a period.

    Space is paid for the rated power of nodes in service, and for what is committed whether used or not.

    A contract for curtailment is paid for power that stops when it is called for: of work, the share that may
    stop. Where it is signed, so much of the hours of that work is lost.
    """

    space_usd_per_kw: Floats  # [S, T] a kilowatt through t
    committed_kw: Floats  # [S, T]
    peak_usd_per_kw: Floats  # [S, T] a kilowatt of facility power at the peak of t
    curtailed_kw: Floats = field(default_factory=no_numbers)  # [S] the least that stops; 0: no contract
    curtailed_fraction: Floats = field(default_factory=no_numbers)  # [S] of the hours, lost
    curtailed_usd: Floats = field(default_factory=no_numbers)  # [S, T] what the contract pays
    curtailment_obliged: Flags = field(default_factory=no_flags)  # [S] signed already

    SHAPES: ClassVar[dict[str, Shape]] = {
        "space_usd_per_kw": Shape("*T", low=0),
        "committed_kw": Shape("*T", low=0),
        "peak_usd_per_kw": Shape("*T", low=0),
        "curtailed_kw": Shape("*", low=0, default=0.0),
        "curtailed_fraction": Shape("*", low=0, high=0.9, default=0.0),
        "curtailed_usd": Shape("*T", low=0, default=0.0),
        "curtailment_obliged": Shape("*", bool, default=0.0),
    }
