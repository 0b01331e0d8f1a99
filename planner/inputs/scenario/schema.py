"""The parts of a scenario. A TOML key is the plain word, its attribute adds the unit."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from planner.inputs.catalogue import OwnFacts
from planner.inputs.embedding_tables import EmbeddingTable
from planner.inputs.fits import Calibration, FittedFleet
from planner.inputs.scenario.base import CLOCKS_SAY, Clocks, Part, TechniqueNames
from planner.inputs.scenario.fields import (
    Choice,
    Count,
    CurrencyCode,
    Day,
    Flag,
    Fraction,
    Number,
    Quantity,
    Range,
    Text,
)
from planner.inputs.scenario.fields_nested import EachPeriod, Exchange, Overrides, Several
from planner.inputs.scenario.schema_fleet import Cohort, Contract, Move, Offer
from planner.inputs.scenario.schema_futures import Future, Uncertainty
from planner.inputs.scenario.schema_places import PowerGroup, Site, SiteLink
from planner.inputs.scenario.schema_pools import Pool
from planner.inputs.scenario.schema_rental import Rental
from planner.inputs.scenario.schema_services import Service
from planner.inputs.scenario.schema_tables import Tables
from planner.inputs.scenario.schema_training import TrainingJob
from planner.inputs.scenario.series import Shapes

_MONTHS = {"month": 1, "quarter": 3}


_LONGEST_MONTH_D, _SHORTEST_MONTH_D = 31, 28


class Horizon(Part):
    """The time that is planned, cut into periods. Hours are those of the calendar, in UTC."""

    start: Annotated[date, Day("2027-01-01", first_of_month=True)] = Field(
        description="First day of the first period"
    )
    periods: Annotated[int, Count("4", Range(1, 40))] = Field(description="Number of periods")
    period: Annotated[Literal["month", "quarter"], Choice('"quarter"', ("month", "quarter"))] = Field(
        description="Length of a period"
    )

    @property
    def period_starts(self) -> tuple[date, ...]:
        """First day of each period."""
        return tuple(self._month_first(index) for index in range(self.periods))

    @property
    def end(self) -> date:
        """The day after the last one."""
        return self._month_first(self.periods)

    @property
    def period_months(self) -> int:
        """Months of a period."""
        return _MONTHS[self.period]

    @property
    def hours(self) -> tuple[float, ...]:
        """Hours of each period: months differ in length, and so do years."""
        days = pairwise((*self.period_starts, self.end))
        return tuple(24.0 * (after - before).days for before, after in days)

    @property
    def period_labels(self) -> tuple[str, ...]:
        """Name of each period: `2027-01`, `2027 Q1`, or `2027-02..04` for a quarter of another year."""
        return tuple(map(self._label, self.period_starts))

    def lead_periods(self, lead_h: float) -> int:
        """Whole periods from an order to the first day of one in which it has arrived, whenever it is placed.

        Months have 28 to 31 days, so that an order may be placed up to three days before its period: a lead
        of a month, or of 90 days, is one month, or one quarter, and not two.
        """
        count, least = 0, lead_h - 24.0 * (_LONGEST_MONTH_D - _SHORTEST_MONTH_D)
        while least > 24.0 * min(
            (self._month_first(t + count) - self._month_first(t)).days for t in range(self.periods)
        ):
            count += 1
        return count

    def hours_from_start(self, day: date) -> float:
        """Hours from the start of the horizon to the beginning of a day."""
        return 24.0 * (day - self.start).days

    def date_after_h(self, hours: float) -> date:
        """The day that it is so many hours after the start of the horizon."""
        return (self.start + timedelta(days=hours // 24)) if abs(hours) < 1e6 else date.max

    def _month_first(self, index: int) -> date:
        months = self.start.month - 1 + index * _MONTHS[self.period]
        return date(self.start.year + months // 12, months % 12 + 1, 1)

    def _label(self, start: date) -> str:
        if self.period == "month":
            return f"{start:%Y-%m}"
        if start.month % 3 == 1:
            return f"{start.year} Q{start.month // 3 + 1}"
        return f"{start:%Y-%m}..{(start.month + 1) % 12 + 1:02}"


class Reliability(Part):
    """How often nodes fail and what follows."""

    failures: Annotated[str | None, Text('"meta-llama-3-405b"')] = Field(
        None, description="Fleet of the catalogue whose failure rate holds"
    )
    failure_rate_per_node_h: Annotated[
        float | None, Quantity('"0.1 /month"', "1/h", Range(0, 1, open=True))
    ] = Field(None, description="Your own failures of one node, in place of `failures`")
    log: Annotated[str | None, Text('"fit.json"', name=False)] = Field(
        None,
        description="Your own fitted log, in place of `failures`: the fit.json that `everfleet fit` wrote, "
        "as a path from the folder of the scenario",
    )
    restart_h: Annotated[float, Quantity('"10 min"', "h", Range(0, 168))] = Field(
        description="Time from a failure to running again"
    )
    repair_h: Annotated[float | None, Quantity('"5.5 d"', "h", Range(0, 8766, open=True))] = Field(
        None,
        description="Mean time until a failed node is back; default: that of the log, where it has outages",
    )
    spare_confidence_fraction: Annotated[float, Fraction("0.99", Range(0.5, 0.99999))] = Field(
        description="Share of time in which spares suffice for all nodes in use; services ask for more on "
        "their nodes where their availability does"
    )
    spare_share_fraction: Annotated[float | None, Fraction("0.1", Range(0, 1))] = Field(
        None,
        description="Spares for each node in use, in place of those that spare_confidence asks for; what "
        "services are promised comes on top",
    )
    loss_spikes_per_h: Annotated[float | None, Quantity('"10 /month"', "1/h", Range(0, 1, open=True))] = (
        Field(None, description="How often the loss of a training run spikes; default: never")
    )
    rollback_h: Annotated[float | None, Quantity('"30 min"', "h", Range(0, 168))] = Field(
        None,
        description="Stored work that a run throws away after a loss spike; default: the fact "
        "reliability.loss_spike.rollback",
    )
    detect_corruption: Annotated[bool, Flag("true")] = Field(
        False,
        description="Whether results of training are checked for silent corruption; what is found sends the "
        "run back to before it",
    )
    slow_nodes_fraction: Annotated[float | None, Fraction("0.005", Range(0, 0.5, open=True))] = Field(
        None,
        description="Share of the nodes that are slow at a time without failing; all others of a run wait "
        "for them; default: none",
    )
    slowdown_factor: Annotated[float | None, Number("1.2", Range(1, 10))] = Field(
        None,
        description="Step of a slow node over that of the others; default: the fact "
        "reliability.degraded_node.slowdown",
    )
    step_spread_fraction: Annotated[float | None, Fraction("0.01", Range(0, 0.5, open=True))] = Field(
        None,
        description="Standard deviation of the step of one node over its mean, beyond what runs of the fit "
        "had; a run waits for its slowest node at each; default: none",
    )


class Performance(Part):
    """How fast your own hardware was measured to be."""

    calibration: Annotated[str | None, Text('"calibration.json"', name=False)] = Field(
        None,
        description="Your own measurements, in place of the catalogue's constants: what `everfleet calibrate "
        "MEASUREMENTS --json` printed, as a path from the folder of the scenario",
    )


class Policy(Part):
    """What is best, and within which limits."""

    objective: Annotated[
        Literal["money", "carbon", "weighted", "cash", "lexicographic"],
        Choice('"weighted"', ("money", "carbon", "weighted", "cash", "lexicographic")),
    ] = Field(
        description="The objective; weighted: money plus carbon at its price; cash: money when it is "
        "spent, nodes in full and no capital charge of them; lexicographic: one after the other, `first` "
        "first"
    )
    first: Annotated[Literal["carbon", "money"] | None, Choice('"carbon"', ("carbon", "money"))] = Field(
        None, description="The first objective of a lexicographic plan"
    )
    tolerance_fraction: Annotated[float | None, Fraction("0.01", Range(0, 1))] = Field(
        None, description="How much of the first may be given up for the other; 1 %"
    )
    carbon_price_usd_per_kgco2e: Annotated[
        float | None, Quantity('"150 USD/t"', "USD/kgCO2e", Range(0, 100))
    ] = Field(None, description="Weight of carbon, in money; weighted needs it")
    carbon_cap_kgco2e: Annotated[float | None, Quantity('"9000 t"', "kgCO2e", Range(0, 1e15, open=True))] = (
        Field(None, description="Most carbon over the horizon; default: no limit")
    )
    carbon_cap_by_period_kgco2e: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"2500 t"', "kgCO2e", Range(0, 1e15, open=True)))
    ] = Field(None, description="Most carbon in a period; default: no limit")
    money_cap_usd: Annotated[float | None, Quantity('"40 MUSD"', "USD", Range(0, 1e15, open=True))] = Field(
        None, description="Most money over the horizon, as the plan counts it"
    )
    budget_usd: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"25 MUSD"', "USD", Range(0, 1e15)))
    ] = Field(
        None,
        description="Most money for purchases in a period: nodes, data of runs, batteries and cells; "
        "default: no limit",
    )
    discount_rate_fraction: Annotated[float, Fraction("0.08", Range(0, 1))] = Field(
        description="Yearly cost of capital"
    )
    node_life_y: Annotated[float, Quantity('"5 y"', "y", Range(1, 15))] = Field(
        description="Life over which embodied carbon is spread"
    )
    park_idle: Annotated[bool, Flag("true")] = Field(
        False, description="Whether nodes that nothing uses are switched off; waking takes no time"
    )
    confidence_fraction: Annotated[float | None, Fraction("0.9", Range(0.5, 0.999))] = Field(
        None,
        description="Chance with which each service, pool and deadline must be met, where rates and demand "
        "turn out otherwise; default: as stated, without headroom",
    )
    levers: Annotated[
        tuple[Literal["shift", "pack", "lend"], ...],
        Several(Choice('"shift"', ("shift", "pack", "lend")), least=0),
    ] = Field(
        (),
        description="What operation may decide by the hour: shift moves pools and pausable jobs between "
        "hours, pack lets replicas rest off the peak, lend (with pack) lets pools work on their nodes; "
        "default: nothing, work and requests are spread evenly",
    )
    clocks_fraction: Clocks = Field(
        None,
        description=f"{CLOCKS_SAY}; for all training runs, pools and services that state neither clocks nor "
        "power_caps, but those of recommendation models and what is answered in batches; default: 1",
    )
    techniques: TechniqueNames = Field(
        (),
        description="Published techniques that the plan may use for services, training jobs and pools in "
        "their scope; default: none",
    )
    residual_value_fraction: Annotated[float | None, Fraction("0.1", Range(0, 1))] = Field(
        None,
        description="Share of its price that a node is worth after that life, to which its value falls in a "
        "straight line; default: the market's value by age",
    )
    retirement: Annotated[
        Literal["allowed", "end of life", "none"],
        Choice('"end of life"', ("allowed", "end of life", "none")),
    ] = Field(
        "allowed",
        description="Whether nodes may be sold or scrapped: whenever that pays, at the end of their stated "
        "life alone, or never",
    )
    accounting: Annotated[Literal["location", "market"], Choice('"location"', ("location", "market"))] = (
        Field(
            "location",
            description="Scope 2 accounting that counts: the grid where the energy is drawn, or contracts "
            "and the residual mix; a market-based plan tells both",
        )
    )
    robust: Annotated[
        Literal["expected", "worst", "regret"] | None, Choice('"regret"', ("expected", "worst", "regret"))
    ] = Field(
        None,
        description="The objective over all futures: the mean (default), that of the worst one, or the "
        "largest share by which a future takes more than had it been known, the largest amount where one of "
        "them takes nothing or earns",
    )
    decide_until: Annotated[date | None, Day("2027-07-01")] = Field(
        None,
        description="Orders, retirements and moves of periods that begin before this day are the same in "
        "all futures; default: all of them",
    )


class Solve(Part):
    """How long and how closely the solver looks."""

    gap_fraction: Annotated[float, Fraction("0.005", Range(0, 0.5))] = Field(
        0.005, description="How far from the best possible plan it may stop"
    )
    time_limit_s: Annotated[float, Quantity('"60 s"', "s", Range(0, 86_400, open=True))] = Field(
        60.0, description="When it must stop; working out the options counts"
    )
    slots: Annotated[int, Count("24", Range(1, 96))] = Field(
        24,
        description="Parts of a period in which `levers` decide: 12 for each type of day, so 12, 24, 36 to "
        "96; 1 is the period as one",
    )
    engine: Annotated[Literal["highs", "cbc"], Choice('"highs"', ("highs", "cbc"))] = Field(
        "highs", description="Solver"
    )


class Scenario(Part):
    """What a person writes: read it with `load_scenario` or `parse_scenario`, which check it whole."""

    title: Annotated[str, Text('"Next quarter"', name=False)] = Field(description="One line for the report")
    currency: Annotated[str | None, CurrencyCode('"EUR"')] = Field(
        None,
        description="Currency in which answers show money, at one rate; amounts may be written in any that "
        "is known; default: USD",
    )
    exchange: Annotated[dict[str, Any], Exchange('EUR = "1.08 USD"')] = Field(
        {},
        description="What one of a currency is in USD, and `date`, the day of these rates; default: the "
        "facts exchange.*",
    )
    data: Annotated[str | None, Text('"my-facts"', name=False)] = Field(
        None,
        description="Your own facts next to ours: a folder that `everfleet add` writes, or one TOML file, "
        "found from the folder of this file",
    )
    horizon: Horizon = Field(description="The time that is planned")
    sites: tuple[Site, ...] = Field(
        (), description="Sites that can hold nodes; none is needed where all is rented: `rental` says where"
    )
    power_groups: tuple[PowerGroup, ...] = Field((), description="Power that several sites share")
    links: tuple[SiteLink, ...] = Field((), description="Links between sites, for runs that two may share")
    fleet: tuple[Cohort, ...] = Field((), description="Hardware in place today")
    market: tuple[Offer, ...] = Field((), description="What can be bought")
    rental: tuple[Rental, ...] = Field((), description="What can be rented, by the hour or for a term")
    contracts: tuple[Contract, ...] = Field((), description="Clean energy that can be bought")
    moves: tuple[Move, ...] = Field((), description="Ways to carry standing nodes to another site")
    training: tuple[TrainingJob, ...] = Field((), description="Training runs with deadlines")
    pools: tuple[Pool, ...] = Field((), description="Work that may be divided and can wait")
    services: tuple[Service, ...] = Field((), description="Models that answer requests")
    reliability: Reliability = Field(description="How often nodes fail and what follows")
    performance: Performance = Field(
        Performance(), description="How fast your own hardware was measured to be"
    )
    policy: Policy = Field(description="What is best, and within which limits")
    solve: Solve = Field(Solve(), description="How long and how closely the solver looks")
    facts: Annotated[dict[str, str], Overrides('"accelerator.h100-sxm-80gb.tdp" = "650 W"')] = Field(
        {}, description="Your own values for facts of the catalogue"
    )
    futures: tuple[Future, ...] = Field((), description="How the future may differ, and how likely that is")
    uncertainty: Uncertainty | None = Field(
        None, description="Futures drawn from the ranges of facts, in place of `futures`"
    )

    _path: Path | None = PrivateAttr(None)
    _fit: FittedFleet | None = PrivateAttr(None)
    _calibration: Calibration | None = PrivateAttr(None)
    _own: OwnFacts | None = PrivateAttr(None)
    _rows: tuple[str, ...] = PrivateAttr(())
    _shapes: Shapes = PrivateAttr(default_factory=Shapes)
    _tables: dict[Tables, tuple[EmbeddingTable, ...]] = PrivateAttr(default_factory=dict)

    @property
    def path(self) -> Path | None:
        """The file that it was read from."""
        return self._path

    @property
    def fit(self) -> FittedFleet | None:
        """What the log that it names says."""
        return self._fit

    @property
    def calibration(self) -> Calibration | None:
        """What the measurements that it names say."""
        return self._calibration

    @property
    def own(self) -> OwnFacts | None:
        """The facts of one's own that it names."""
        return self._own

    @property
    def files_of_rows(self) -> tuple[str, ...]:
        """The files of hours and requests that it names; what they say stands in their place."""
        return self._rows

    @property
    def shapes(self) -> Shapes:
        """The hours of the files that it names for their shape, where operation is decided by them."""
        return self._shapes

    def tables_of(self, part: Tables) -> tuple[EmbeddingTable, ...]:
        """The embedding tables of a file that a run or a service names."""
        return self._tables[part]

    def __eq__(self, other: object) -> bool:
        """Alike when they say the same, from whichever file."""
        if not isinstance(other, Scenario):
            return False
        mine, others = (
            repr((one._fit, one._calibration, one._own and one._own.digest)) for one in (self, other)
        )
        return self.__dict__ == other.__dict__ and mine == others

    __hash__ = None  # type: ignore[assignment]  # `facts` is a dict; `digest` tells scenarios apart
