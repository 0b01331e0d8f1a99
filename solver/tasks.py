"""What a fleet is for: jobs, services and divisible work, and the options that carry them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from solver.tables import ROW, Flags, Floats, Shape, Table, Whole, no_counts, no_flags, no_numbers


@dataclass(frozen=True, slots=True, eq=False)
class Jobs(Table):
    """Work that runs once, by one of its options; optional jobs may be left out at a price.

    A row may represent several identical jobs. A job that may be done in part has to be optional, and the
    share that is not done by a pausable option is left out.
    """

    name: tuple[str, ...]  # [J]
    optional: Flags  # [J]
    left_out_usd: Floats  # [J] charged when an optional job does not run
    left_out_kgco2e: Floats  # [J]
    allowed_late_h: Floats = field(default_factory=no_numbers)  # [J] later runs are barred
    count: Whole = field(default_factory=no_counts)  # [J] identical jobs in this row
    partial: Flags = field(default_factory=no_flags)  # [J] a pausable option may do a part

    SHAPES: ClassVar[dict[str, Shape]] = {
        "optional": Shape("*", bool),
        "left_out_usd": Shape("*", low=0),
        "left_out_kgco2e": Shape("*", low=0),
        "allowed_late_h": Shape("*", low=0, default=0.0),
        "count": Shape("*", int, 0, default=1.0),
        "partial": Shape("*", bool, default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class RunOptions(Table):
    """Ways to run a job. `usd` and `kgco2e` are those of its active hours in full, idle power included.

    In a period it holds its nodes from one hour of it to another: what ends leaves them to what begins then.
    A run that several sites share is a row for each of them, all with the same number in `joint`.
    """

    job: Whole  # [R]
    node_group: Whole  # [R]
    start: Whole  # [R] first period, for the reader
    late_h: Floats  # [R] hours past the deadline; 0 is on time
    nodes: Whole  # [R, T] nodes held in t
    node_hours: Floats  # [R, T] node-hours active in t
    active_kw: Floats  # [R, T] facility power above idle while active in t
    usd: Floats  # [R, T]
    kgco2e: Floats  # [R, T]
    kwh: Floats = field(default_factory=no_numbers)  # [R, T] at the facility's meter, only contracts read it
    from_h: Floats = field(default_factory=no_numbers)  # [R, T] hours into t from which it holds its nodes
    to_h: Floats = field(default_factory=no_numbers)  # [R, T] and until which; inf: to the end of t
    bought_usd: Floats = field(default_factory=no_numbers)  # [R] of `usd`: cash of the budget when it begins
    joint: Whole = field(default_factory=no_counts)  # [R] rows of one run have one number from 1 on; 0: alone
    racks: Floats = field(default_factory=no_numbers)  # [R, T] held in t next to its nodes

    SHAPES: ClassVar[dict[str, Shape]] = {
        "job": ROW,
        "node_group": ROW,
        "start": ROW,
        "late_h": Shape("*", low=0),
        "nodes": Shape("*T", int, 0),
        "node_hours": Shape("*T", low=0),
        "active_kw": Shape("*T", low=0),
        "usd": Shape("*T"),
        "kgco2e": Shape("*T"),
        "kwh": Shape("*T", low=0, default=0.0),
        "from_h": Shape("*T", low=0, default=0.0),
        "to_h": Shape("*T", low=0, infinite=True, default=math.inf),
        "bought_usd": Shape("*", low=0, default=0.0),
        "joint": Shape("*", int, 0, default=0.0),
        "racks": Shape("*T", low=0, default=0.0),
    }

    @property
    def first(self) -> Whole:
        """The row by which each row counts: of a run at several sites the first, of any other its own [R]."""
        rows = np.arange(len(self))
        _, lowest, number = np.unique(self.joint, return_index=True, return_inverse=True)
        return np.where(self.joint > 0, lowest[number.ravel()], rows)

    @property
    def counts(self) -> Flags:
        """Rows that count as a run: those of no other row [R]."""
        found: Flags = self.first == np.arange(len(self))
        return found

    def of_whole_run(self, values: Floats) -> Floats:
        """What each row has, with the other rows of its run: at the first of them, 0 at the others."""
        found = np.zeros(values.shape)
        np.add.at(found, self.first, values)
        return found

    def instants_h(self, group: int, period: int) -> Floats:
        """Hours into a period at which runs may begin to hold nodes of a group; the most are held at one."""
        holds = (self.node_group == group) & (self.nodes[:, period] > 0)
        found: Floats = np.unique(self.from_h[holds, period])
        return found if found.size else np.zeros(1)

    def holds_at(self, group: int, period: int, instant_h: float) -> Flags:
        """Options that hold nodes of a node group at an hour of a period [R]."""
        here = (self.node_group == group) & (self.nodes[:, period] > 0)
        found: Flags = here & (self.from_h[:, period] <= instant_h) & (instant_h < self.to_h[:, period])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PausableOptions(Table):
    """Ways to run a job that may pause, and shrink while fewer nodes are free.

    Only the node-hours of each period are decided; in use are the mean nodes of the period. What the window,
    the deadline and the number of nodes allow in a period is its limit. With `nodes_least`, it works in no
    period in which runs and replicas leave fewer nodes.
    """

    job: Whole  # [E]
    node_group: Whole  # [E]
    nodes: Whole  # [E] the most that one job holds at once
    node_hours: Floats  # [E] total of one job
    node_hours_limit: Floats  # [E, T] the most of one job in t
    active_kw: Floats  # [E] facility power above idle per working node
    usd_per_node_h: Floats  # [E, T] of active hours in full, idle power included
    kgco2e_per_node_h: Floats  # [E, T]
    kwh_per_node_h: Floats = field(default_factory=no_numbers)  # [E, T] only contracts read it
    nodes_least: Whole = field(default_factory=no_counts)  # [E] the fewest that it works on at once; 0: any
    bought_usd_per_node_h: Floats = field(default_factory=no_numbers)  # [E] of `usd_per_node_h`: cash of the
    # budget
    stops_fraction: Floats = field(default_factory=no_numbers)  # [E] stops when its site is curtailed
    stopped_usd_per_node_h: Floats = field(default_factory=no_numbers)  # [E, T] of an hour that is lost
    stopped_kgco2e_per_node_h: Floats = field(default_factory=no_numbers)  # [E, T]
    stopped_kwh_per_node_h: Floats = field(default_factory=no_numbers)  # [E, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "job": ROW,
        "node_group": ROW,
        "nodes": ROW,
        "node_hours": Shape("*", low=1e-9),
        "node_hours_limit": Shape("*T", low=0),
        "active_kw": Shape("*", low=0),
        "usd_per_node_h": Shape("*T"),
        "kgco2e_per_node_h": Shape("*T"),
        "kwh_per_node_h": Shape("*T", low=0, default=0.0),
        "nodes_least": Shape("*", int, 0, default=0.0),
        "bought_usd_per_node_h": Shape("*", low=0, default=0.0),
        "stops_fraction": Shape("*", low=0, high=1, default=0.0),
        "stopped_usd_per_node_h": Shape("*T", default=0.0),
        "stopped_kgco2e_per_node_h": Shape("*T", default=0.0),
        "stopped_kwh_per_node_h": Shape("*T", default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Services(Table):
    """Demand that has to be carried in every period, at its peak hour, or paid for.

    Stages of one pipeline share its response time: what their options need adds up to no more than that.
    Where users are in several regions, each region's requests go to options that may answer them. Regions
    that peak at hours of their own say their load in each part of a day, over the peak of all of them.
    """

    name: tuple[str, ...]  # [I]
    demand: Floats  # [I, T] requests/s
    unmet_usd: Floats = field(default_factory=no_numbers)  # [I, T] per request/s not carried; inf: carry all
    mean_loss_limit_fraction: Floats = field(default_factory=no_numbers)  # [I] of quality; inf: any loss
    pipeline: Whole = field(default_factory=no_counts)  # [I] of which it is a stage, from 1 on; 0: of none
    region_fraction: Floats = field(default_factory=no_numbers)  # [I, R] of its requests; 0: no such region
    region_load_fraction: Floats = field(default_factory=no_numbers)  # [I, R, D]; 0: all peak together

    SHAPES: ClassVar[dict[str, Shape]] = {
        "demand": Shape("*T", low=0),
        "unmet_usd": Shape("*T", low=0, infinite=True, default=math.inf),
        "mean_loss_limit_fraction": Shape("*", low=0, infinite=True, default=math.inf),
        "pipeline": Shape("*", int, 0, default=0.0),
        "region_fraction": Shape("*R", low=0, high=1, default=0.0),
        "region_load_fraction": Shape("*RD", low=0, high=1, default=0.0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class ServeOptions(Table):
    """Ways to serve. Money and carbon are those of one replica through t: its active hours in full.

    Where replicas number in tens, `whole` may be false: the program takes fractions, the plan rounds them up.
    What stands by is a share of what carries, or a count wherever the option serves at all, or both.

    An option with a promise needs spares by the steps of that promise and of all laxer ones. Its standby
    replicas are as good as `covers` spares of its node group for them, where all of them stand by.

    A replica that did not run in the period before starts: it runs next to what it takes over from for some
    hours, which is charged on top. What runs before the first period is not known here: what a start in it
    costs is in its column, and 0 where it is free.

    Answers may lose a part of their quality, which counts where a service limits what they lose on average.

    An option that serves at all is a deployment, however few its replicas: `deployed_usd` is what keeping it
    takes in a period, `begun_usd` what it takes to set it up where it did not serve in the period before.
    """

    service: Whole  # [V]
    node_group: Whole  # [V]
    capacity: Floats  # [V, T] requests/s that one replica carries inside its latency targets
    nodes: Floats  # [V] nodes per replica; half a node is 0.5
    standby_fraction: Floats  # [V, T] replicas kept beyond demand, as a share
    node_hours: Floats  # [V, T] active node-hours per replica
    active_kw: Floats  # [V] facility power above idle per replica at the peak hour
    usd: Floats  # [V, T]
    kgco2e: Floats  # [V, T]
    kwh: Floats = field(default_factory=no_numbers)  # [V, T] at the facility's meter, only contracts read it
    whole: Flags = field(default_factory=no_flags)  # [V] replicas are counted in the program
    standby: Whole = field(default_factory=no_counts)  # [V, T] replicas kept beyond demand where any serve
    promise: Whole = field(default_factory=no_counts)  # [V] the higher, the stricter; 0: as all nodes in use
    covers: Whole = field(default_factory=no_counts)  # [V, T] nodes down that the standby replicas cover
    least: Whole = field(default_factory=no_counts)  # [V, T] the fewest replicas, where any serve
    apart: Whole = field(
        default_factory=no_counts
    )  # [V, T] the fewest rented nodes that they lie on, as well
    start_usd: Floats = field(default_factory=no_numbers)  # [V, T] of each replica that starts
    start_kgco2e: Floats = field(default_factory=no_numbers)  # [V, T]
    start_kwh: Floats = field(default_factory=no_numbers)  # [V, T] at the meter; no contract covers it
    deployed_usd: Floats = field(default_factory=no_numbers)  # [V, T] where any replica runs
    begun_usd: Floats = field(default_factory=no_numbers)  # [V, T] where any runs and none did before
    deployed_kgco2e: Floats = field(default_factory=no_numbers)  # [V, T]
    begun_kgco2e: Floats = field(default_factory=no_numbers)  # [V, T]
    lost_fraction: Floats = field(default_factory=no_numbers)  # [V] of quality; below 0: better
    time_fraction: Floats = field(default_factory=no_numbers)  # [V] of the response time of its pipeline
    regions: Whole = field(default_factory=no_counts)  # [V] that it answers, bit r for region r; 0: all

    SHAPES: ClassVar[dict[str, Shape]] = {
        "service": ROW,
        "node_group": ROW,
        "capacity": Shape("*T", low=0),
        "nodes": Shape("*", low=0),
        "standby_fraction": Shape("*T", low=0),
        "node_hours": Shape("*T", low=0),
        "active_kw": Shape("*", low=0),
        "usd": Shape("*T"),
        "kgco2e": Shape("*T"),
        "kwh": Shape("*T", low=0, default=0.0),
        "whole": Shape("*", bool, default=1.0),
        "standby": Shape("*T", int, 0, default=0.0),
        "promise": Shape("*", int, 0, default=0.0),
        "covers": Shape("*T", int, 0, default=0.0),
        "least": Shape("*T", int, 0, default=0.0),
        "apart": Shape("*T", int, 0, default=0.0),
        "start_usd": Shape("*T", low=0, default=0.0),
        "start_kgco2e": Shape("*T", low=0, default=0.0),
        "start_kwh": Shape("*T", low=0, default=0.0),
        "deployed_usd": Shape("*T", low=0, default=0.0),
        "begun_usd": Shape("*T", low=0, default=0.0),
        "deployed_kgco2e": Shape("*T", low=0, default=0.0),
        "begun_kgco2e": Shape("*T", low=0, default=0.0),
        "lost_fraction": Shape("*", default=0.0),
        "time_fraction": Shape("*", low=0, high=1, default=0.0),
        "regions": Shape("*", int, 0, default=0.0),
    }

    @property
    def charged_to_begin(self) -> Flags:
        """Options that take something where they are set up [V, T]."""
        found: Flags = (self.begun_usd > 0) | (self.begun_kgco2e > 0)
        return found

    @property
    def chosen_or_not(self) -> Flags:
        """Options that serve or do not, which the program has to know [V, T].

        They have standby, a least number of replicas or of nodes, or a price as a deployment; one that has a
        price when it is set up is known in every period.
        """
        begins = np.any(self.charged_to_begin, axis=1, keepdims=True)
        kept = (self.deployed_usd > 0) | (self.deployed_kgco2e > 0)
        found: Flags = (self.standby > 0) | (self.least > 1) | (self.apart > 1) | kept | begins
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Work(Table):
    """Divisible work that may be preempted at any time: it lives on hours that nothing else uses."""

    name: tuple[str, ...]  # [W]
    demand_h: Floats  # [W, T] reference node-hours

    SHAPES: ClassVar[dict[str, Shape]] = {"demand_h": Shape("*T", low=0)}


@dataclass(frozen=True, slots=True, eq=False)
class Adoptions(Table):
    """Techniques that a kind of work may adopt, each once.

    Options that use one do the work from its day on: in a period up to that share of the demand.
    """

    name: tuple[str, ...]  # [A]
    work: Whole  # [A]
    usable_fraction: Floats  # [A, T] of the period
    usd: Floats  # [A, T] what adopting it takes

    SHAPES: ClassVar[dict[str, Shape]] = {
        "work": ROW,
        "usable_fraction": Shape("*T", low=0, high=1),
        "usd": Shape("*T", low=0),
    }


@dataclass(frozen=True, slots=True, eq=False)
class WorkOptions(Table):
    """Node groups on which a kind of work may be done, and how fast.

    Where jobs do not fill the hours that are kept for them, more node-hours are held than worked. An option
    does nothing unless all that it uses is adopted.
    """

    work: Whole  # [O]
    node_group: Whole  # [O]
    speed: Floats  # [O] reference node-hours done per node-hour
    active_kw: Floats  # [O] facility power above idle per working node
    usd_per_node_h: Floats  # [O, T]
    kgco2e_per_node_h: Floats  # [O, T]
    kwh_per_node_h: Floats = field(default_factory=no_numbers)  # [O, T]
    held_ratio: Floats = field(default_factory=no_numbers)  # [O, T] node-hours held for each that is worked
    uses: Flags = field(default_factory=no_flags)  # [O, A] techniques that have to be adopted
    stops_fraction: Floats = field(default_factory=no_numbers)  # [O] stops when its site is curtailed
    stopped_usd_per_node_h: Floats = field(default_factory=no_numbers)  # [O, T] of an hour that is lost
    stopped_kgco2e_per_node_h: Floats = field(default_factory=no_numbers)  # [O, T]
    stopped_kwh_per_node_h: Floats = field(default_factory=no_numbers)  # [O, T]

    SHAPES: ClassVar[dict[str, Shape]] = {
        "work": ROW,
        "node_group": ROW,
        "speed": Shape("*", low=0),
        "active_kw": Shape("*", low=0),
        "usd_per_node_h": Shape("*T"),
        "kgco2e_per_node_h": Shape("*T"),
        "kwh_per_node_h": Shape("*T", low=0, default=0.0),
        "held_ratio": Shape("*T", low=1, default=1.0),
        "uses": Shape("*A", bool, default=0.0),
        "stops_fraction": Shape("*", low=0, high=1, default=0.0),
        "stopped_usd_per_node_h": Shape("*T", default=0.0),
        "stopped_kgco2e_per_node_h": Shape("*T", default=0.0),
        "stopped_kwh_per_node_h": Shape("*T", default=0.0),
    }
