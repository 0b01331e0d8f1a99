"""The parts of a scenario. A TOML key is the plain word, its attribute adds the unit."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from planner.inputs.embedding_tables import EmbeddingTable
from planner.inputs.fits import Calibration, FittedFleet
from planner.inputs.own.facts import OwnFacts
from planner.inputs.scenario.base import (
    CardName,
    Part,
    Precision,
    SiteNames,
    SiteRef,
    SkuNames,
    TechniqueNames,
)
from planner.inputs.scenario.base import part_in as part_in
from planner.inputs.scenario.base import rule_of as rule_of
from planner.inputs.scenario.fields import (
    Choice,
    Count,
    CurrencyCode,
    Day,
    EachPeriod,
    Exchange,
    Flag,
    Fraction,
    Number,
    Overrides,
    PricePerMillion,
    Quantity,
    Range,
    Several,
    Text,
    Times,
)
from planner.inputs.scenario.schema_fleet import Cohort, Contract, Move, Offer
from planner.inputs.scenario.schema_futures import Future, Uncertainty
from planner.inputs.scenario.schema_ingestion import Ingestion
from planner.inputs.scenario.schema_places import PowerGroup, SiteLink
from planner.inputs.scenario.schema_places import Site as Site
from planner.inputs.scenario.schema_pools import AUDIO as _AUDIO
from planner.inputs.scenario.schema_pools import GROWTH
from planner.inputs.scenario.schema_pools import Pool as Pool
from planner.inputs.scenario.schema_rental import Rental
from planner.inputs.scenario.schema_tables import Tables
from planner.inputs.scenario.series import Shapes

_MONTHS = {"month": 1, "quarter": 3}
_POSITIVE = Range(0, 1e18, open=True)
# The least of each kind of work that a solver, which is exact to a millionth of a node, can tell from none.
_TOKENS, _PEAK_PER_S = Range(1, 1e18), Range(1e-6, 1e9, or_none=True)
_SHARE = Range(0.5, 0.999999)
_MODEL = "Model of the catalogue, or the path of its Hugging Face config.json from the folder of the scenario"


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


class TrainingJob(Part):
    """A training run with a deadline."""

    name: Annotated[str, Text('"pretrain-70b"')] = Field(description="Name, unique among the training jobs")
    model: CardName = Field(description=_MODEL)
    tokens: Annotated[float | None, Number("2e12", _TOKENS)] = Field(
        None, description="Tokens to train on; or `curve` and `target`"
    )
    curve: Annotated[str | None, Text('"runs.csv"', name=False)] = Field(
        None,
        description="In place of `tokens`, your runs next to this file (CSV: tokens or compute, and loss): "
        "the tokens at which the power law through them reaches `target`",
    )
    target_loss: Annotated[float | None, Number("2.1", Range(0, 1e6, open=True))] = Field(
        None, alias="target", description="Loss that the run has to reach by `curve`"
    )
    sequence_tokens: Annotated[int | None, Count("8192", Range(1, 100_000_000))] = Field(
        None, description="Tokens in one sequence"
    )
    batch_tokens: Annotated[float | None, Number("4e6", _POSITIVE)] = Field(
        None, description="Tokens in one optimiser step"
    )
    samples: Annotated[float | None, Number("4e12", _TOKENS)] = Field(
        None,
        description="Samples to train a recommendation model on, or images or films for a model that makes "
        "or sees them, in place of `tokens`",
    )
    batch_samples: Annotated[int | None, Count("65536", Range(1, 1_000_000_000))] = Field(
        None, description="Samples in one optimiser step, with `samples`"
    )
    passes: Annotated[float | None, Number("4", Range(1, 1e6))] = Field(
        None,
        description="How often it goes through its data, which are so many times fewer to buy or to "
        "generate than it trains on; default: once",
    )
    data_usd_per_million: Annotated[
        float | None, PricePerMillion('"0.5 USD / 1e6 tokens"', Range(0, 1e9))
    ] = Field(
        None,
        alias="data_price",
        description="Price of the tokens or samples that are bought, each once for a run",
    )
    bought_fraction: Annotated[float | None, Fraction("0.6", Range(0, 1))] = Field(
        None, description="Share of its data that is bought at `data_price`; default: what is not generated"
    )
    generated_fraction: Annotated[float | None, Fraction("0.3", Range(0, 1, open=True))] = Field(
        None,
        description="Share of its tokens that a pool writes before its `earliest` day: one that `feeds` it. "
        "What is neither bought nor generated is your own, and free",
    )
    tables: Tables | None = Field(
        None,
        description="Embedding tables of a recommendation model, placed on the accelerators of each size: "
        "what that gives replaces even parts; a file name alone is enough",
    )
    ingestion: Ingestion | None = Field(
        None, description="Workers that preprocess its data next to it; default: none is counted"
    )
    precision: Precision = Field(description="Number format of the matrix work")
    earliest: Annotated[date, Day("2027-01-01")] = Field(
        date.min,  # replaced on reading: what a job leaves out is the start of the horizon
        description="First day on which it may run; default: the start of the horizon",
    )
    deadline: Annotated[date, Day("2027-09-30")] = Field(description="Day at whose beginning it must be done")
    nodes: Annotated[tuple[int, ...], Several(Count("16", Range(1, 100_000)))] = Field(
        description="Numbers of nodes to try"
    )
    data_site: Annotated[str | None, SiteRef('"dallas"')] = Field(
        None, description="Site where its data lie. Default: wherever it runs"
    )
    data_moved_gb: Annotated[float | None, Quantity('"40 TB"', "GB", Range(0, 1e9, open=True))] = Field(
        None, description="Data that move once, as it begins at another site than `data_site`"
    )
    skus: SkuNames = Field(None, description="SKUs that it may use; default: all")
    sites: SiteNames = Field(None, description="Sites where it may run; default: all")
    across: Annotated[
        tuple[Literal["gradients", "small gradients", "weights", "activations"], ...],
        Several(Choice('"gradients"', ("gradients", "small gradients", "weights", "activations")), least=0),
    ] = Field(
        (),
        description="What may cross one of the `links`, so that two sites share the run: gradients of each "
        "step, the same in 8 bits, activations between stages, or weights every so many steps, which is "
        "another optimisation, whose loss is not looked at; default: nothing, it runs at one site",
    )
    checkpoint_storage: Annotated[str, Text('"parallel-fs"')] = Field(
        description="Storage class of the catalogue for checkpoints"
    )
    checkpoint: Annotated[
        Literal["blocking", "asynchronous"], Choice('"blocking"', ("blocking", "asynchronous"))
    ] = Field("blocking", description="Whether work waits while a checkpoint is written")
    checkpoint_interval_h: Annotated[float | None, Quantity('"60 min"', "h", Range(0, 168, open=True))] = (
        Field(None, description="Work between two checkpoints; default: the best for time or for energy")
    )
    deadline_confidence_fraction: Annotated[float, Fraction("0.95", Range(0.5, 0.999))] = Field(
        0.95, description="Chance with which the deadline must be met"
    )
    may_be_left_out: Annotated[bool, Flag("true")] = Field(
        False, description="Whether it may be left out at a penalty"
    )
    left_out_penalty_usd: Annotated[float | None, Quantity('"5 MUSD"', "USD", Range(0, 1e12, open=True))] = (
        Field(None, description="What leaving it out costs, where it may be")
    )
    count: Annotated[int, Count("4", Range(1, 10_000))] = Field(
        1, description="Identical jobs of this kind; each is placed on its own"
    )
    pausable: Annotated[bool, Flag("true")] = Field(
        False, description="Whether it may pause, and run on fewer nodes on average, between the two days"
    )
    partial: Annotated[bool, Flag("true")] = Field(
        False, description="Whether a pausable job may be done in part, at that share of its penalty"
    )
    ramp_per_h: Annotated[float | None, Quantity('"20 %/h"', "1/h", Range(0, 1000))] = Field(
        None,
        description="How fast the nodes of a pausable job may rise and fall where it may shift, in shares of "
        "its full size an hour; default: no limit",
    )
    power_caps_fraction: Annotated[tuple[float, ...] | None, Several(Fraction("0.8", Range(0.3, 1)))] = Field(
        None, description="Accelerator power to try, as shares of the rated; default: 1"
    )
    techniques: TechniqueNames = Field(
        (), description="Published techniques that the plan may use (`everfleet techniques`); default: none"
    )

    @property
    def amount(self) -> float:
        """Tokens to train on, or samples."""
        stated = self.tokens if self.samples is None else self.samples
        assert stated is not None, "asked for on reading"
        return stated

    @property
    def step_amount(self) -> float:
        """Tokens of a step of the optimiser, or samples."""
        stated = self.batch_tokens if self.batch_samples is None else self.batch_samples
        assert stated is not None, "asked for on reading"
        return stated

    @property
    def amount_key(self) -> str:
        """Key of what there is to train on."""
        return "tokens" if self.samples is None else "samples"

    @property
    def data_shares(self) -> dict[str, float]:
        """Shares of its data that are bought, generated, and its own."""
        generated = self.generated_fraction or 0.0
        priced = self.data_usd_per_million is not None
        bought = self.bought_fraction if self.bought_fraction is not None else (1.0 - generated) * priced
        return {"bought": bought, "generated": generated, "own": max(1.0 - bought - generated, 0.0)}

    @property
    def buys_data(self) -> bool:
        """Whether any of its data has a price."""
        return self.data_usd_per_million is not None and self.data_shares["bought"] > 0

    @property
    def states_data(self) -> bool:
        """Whether it says where its data comes from."""
        return self.data_usd_per_million is not None or self.generated_fraction is not None


class RequestClass(Part):
    """Requests of one kind in a service: their share, and their mean lengths."""

    share_fraction: Annotated[float, Fraction("0.3", Range(0, 1, open=True))] = Field(
        description="Share of the service's requests; those of all classes add up to 1"
    )
    tokens_in: Annotated[float, Number("1155", Range(0, 1e8, open=True))] = Field(
        description="Mean prompt tokens of such a request"
    )
    tokens_out: Annotated[float, Number("211", Range(0, 1e8))] = Field(
        description="Mean tokens of its answer"
    )


class UserRegion(Part):
    """Users of a service in one region: their share of its requests, and where these may be answered."""

    users: Annotated[str, Text('"de"', name=False)] = Field(
        description="Where they are: a country by its code, or a region of a provider; another name where "
        "`latency` names every site"
    )
    share_fraction: Annotated[float, Fraction("0.6", Range(0, 1, open=True))] = Field(
        description="Share of the service's requests; those of all regions add up to 1"
    )
    sites: SiteNames = Field(
        None, description="Sites where their requests may be answered; default: those of the service"
    )
    latency_s: Annotated[dict[str, float] | None, Times('{ dallas = "40 ms" }', 3600.0)] = Field(
        None, description="Time to a site and back, as you measured it, by site; default: by the distance"
    )
    busiest_time_h: Annotated[float | None, Quantity('"19 h"', "h", Range(0, 24))] = Field(
        None,
        description="Hour of the day, in UTC, around which most of its requests come; `peak_rate` and "
        "`mean_to_peak` stay those of all regions together. Default: all peak together",
    )
    traffic_shape: Annotated[str | None, Text('"germany.csv"', name=False)] = Field(
        None,
        description="Trace of their requests, a day or longer (CSV), in the folder of this file: its hours "
        "of the day, in place of `busiest_time`",
    )


class Service(Part):
    """A model that answers requests within latency targets."""

    # Keys that follow from another one where a file states that.
    FOLLOWS: ClassVar = {"peak_rate": ("audio_rate", "traffic"), "mean_to_peak": ("traffic",)}

    name: Annotated[str, Text('"chat"')] = Field(description="Name, unique among the services")
    model: CardName = Field(description=_MODEL)
    precision: Precision = Field(description="Number format of the weights")
    cache_precision: Annotated[
        Literal["bf16", "fp16", "fp8"] | None, Choice('"fp8"', ("bf16", "fp16", "fp8"))
    ] = Field(None, description="Number format of the cached keys and values; default: 16 bits")
    precisions: Annotated[
        tuple[Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4"], ...],
        Several(Choice('"fp8"', ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4"))),
    ] = Field((), description="Other number formats of the weights that the plan may choose; default: none")
    models: Annotated[tuple[str, ...], Several(Text('"llama-3.1-8b"'), most=4)] = Field(
        (), description="Other models of the catalogue that the plan may choose; default: none"
    )
    techniques: TechniqueNames = Field(
        (), description="Published techniques that the plan may use (`everfleet techniques`); default: none"
    )
    quality_budget_fraction: Annotated[float | None, Fraction("0.02", Range(0, 1))] = Field(
        None,
        description="Largest share of quality that other formats, models and techniques may lose together; "
        "default: no limit",
    )
    mean_quality_budget_fraction: Annotated[float | None, Fraction("0.01", Range(0, 1))] = Field(
        None,
        description="Largest share of quality that requests may lose on average: the plan may serve a part "
        "of them by formats, models and techniques that lose more; default: no limit",
    )
    engine: Annotated[str | None, Text('"vllm"')] = Field(
        None, description="Serving engine; default: the newest of the catalogue"
    )
    traffic: Annotated[str | None, Text('"azure-2023-conv"')] = Field(
        None,
        description="Shipped trace with the tokens of requests and their burstiness, or your own "
        "(CSV) in the folder of this file: its means, and rates that you do not state",
    )
    tokens_in: Annotated[float | None, Number("1155", Range(0, 1e8, open=True))] = Field(
        None, description="Mean prompt tokens of a request, in place of `traffic`"
    )
    tokens_out: Annotated[float | None, Number("211", Range(0, 1e8))] = Field(
        None, description="Mean tokens of an answer, in place of `traffic`; 0 where prompts are only read"
    )
    classes: tuple[RequestClass, ...] = Field(
        (),
        description="Several classes of requests in one service, in place of `traffic` or one length: a "
        "replica is planned for their mix, not for its mean",
    )
    cache_hits_fraction: Annotated[float | None, Fraction("0.4", Range(0, 0.99))] = Field(
        None,
        description="Share of prompt tokens that an engine finds in its prefix cache and does not read again",
    )
    cached_tokens: Annotated[float | None, Number("50000", Range(0, 1e9))] = Field(
        None,
        description="Tokens of earlier prompts that a group of a replica keeps for `cache_hits`, in memory "
        "that running requests do not have; default: one prefix, the hits of a mean prompt",
    )
    audio_s: Annotated[float | None, Quantity('"30 s"', "s", Range(0, 86_400, open=True))] = Field(
        None,
        description="Sound of a request that a model of speech hears, window by window where it is longer "
        "than that; `tokens_out` are written of it, or what the fact speech.default.tokens_per_s says",
    )
    candidates: Annotated[float | None, Number("270", Range(0, 1e7, open=True))] = Field(
        None, description="Samples that a recommendation model scores for a request, with `response_time`"
    )
    tables: Tables | None = Field(
        None,
        description="Embedding tables of a recommendation model, placed on the accelerators that share them "
        "in a replica: what that gives replaces even parts; a file name alone is enough",
    )
    images: Annotated[float | None, Number("1", Range(0, 1e5, open=True))] = Field(
        None,
        description="Images or films of a request that a model makes or classifies, with `response_time`",
    )
    peak_requests_per_s: Annotated[tuple[float, ...], EachPeriod(Quantity('"30 /s"', "1/s", _PEAK_PER_S))] = (
        Field(alias="peak_rate", description="Requests in the busiest hour of a period")
    )
    audio_h_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"20000 h/d"', "h/d", _AUDIO))] = (
        Field(
            None,
            alias="audio_rate",
            description="In place of `peak_rate`, hours of sound that come in a day, as a mean: with `audio` "
            "and `mean_to_peak` they say the requests of the busiest hour",
        )
    )
    growth_per_y: Annotated[float | None, GROWTH] = Field(
        None,
        description="Growth of `peak_rate` or `audio_rate`, which then is that of the first period; "
        "default: none",
    )
    mean_to_peak_fraction: Annotated[float, Fraction("0.55", Range(0, 1, open=True))] = Field(
        description="Mean rate over peak rate"
    )
    busiest_time_h: Annotated[float | None, Quantity('"14 h"', "h", Range(0, 24))] = Field(
        None,
        description="Hour of the day, in UTC, around which most requests come; "
        "default: the fact traffic.default.busiest_time",
    )
    traffic_shape: Annotated[str | None, Text('"requests.csv"', name=False)] = Field(
        None,
        description="Trace of a day or longer (CSV) in the folder of this file, whose hours of the day "
        "operation is planned by where `levers` allow it, in place of `busiest_time`; the mean over the peak "
        "stays. Default: your own `traffic`, else a curve around `busiest_time`",
    )
    demand_error_fraction: Annotated[float | None, Fraction("0.15", Range(0, 2))] = Field(
        None,
        description="How far off this may be a quarter ahead, as a standard deviation; "
        "default: the fact planning.demand_error",
    )
    first_token_s: Annotated[float | None, Quantity('"1.5 s"', "s", Range(0, 3600, open=True))] = Field(
        None, description="Longest time to the first token, of models that write"
    )
    per_token_s: Annotated[float | None, Quantity('"60 ms"', "s", Range(0, 3600, open=True))] = Field(
        None, description="Longest time for each further token, of models that write"
    )
    response_time_s: Annotated[float | None, Quantity('"100 ms"', "s", Range(0, 86_400, open=True))] = Field(
        None,
        description="Longest time to the whole answer, in place of `first_token` and `per_token`, where it "
        "comes at once: scores, images, and prompts that are only read (`tokens_out` = 0)",
    )
    users: Annotated[str | None, Text('"de"', name=False)] = Field(
        None,
        description="Where its users are: a country by its code, or a region of a provider. The way between "
        "them and a site takes a part of `first_token` or `response_time`; default: it takes no time",
    )
    regions: tuple[UserRegion, ...] = Field(
        (),
        description="Users in several regions, in place of `users`: the plan deals the requests of each "
        "region to sites where they may be answered, each within its own latency",
    )
    phases: Annotated[
        Literal["together", "apart", "either"] | None, Choice('"either"', ("together", "apart", "either"))
    ] = Field(
        None,
        description="Whether one kind of replica reads prompts and writes answers, or prompts are read by "
        "some replicas and answers written by others, in units of both on one SKU, or the plan chooses; "
        "default: together",
    )
    routing: Annotated[Literal["random", "pooled"] | None, Choice('"pooled"', ("random", "pooled"))] = Field(
        None,
        description="How requests reach replicas that write tokens: dealt to one of them at random, as by a "
        "plain load balancer, or from one queue to whichever is free first, which schedulers that know the "
        "load of each (llm-d, Dynamo) come near to; default: random",
    )
    pipeline: Annotated[str | None, Text('"ranking"')] = Field(
        None,
        description="Pipeline of which this is a stage: services of one pipeline state the `response_time` "
        "of all of it, and the plan divides that among them; default: a service of its own",
    )
    availability_fraction: Annotated[float, Fraction("0.999", _SHARE)] = Field(
        description="Share of time in which enough replicas are up for the peak, failures, repair and "
        "restart included; spares of the node group and standby replicas keep it together"
    )
    unmet_penalty_usd: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"0.5 USD"', "USD", Range(0, 1e6, open=True)))
    ] = Field(None, description="What each request that is not carried costs; default: all have to be")
    power_caps_fraction: Annotated[tuple[float, ...] | None, Several(Fraction("0.8", Range(0.3, 1)))] = Field(
        None, description="Accelerator power to try, as shares of the rated; default: 1"
    )
    data_site: Annotated[str | None, SiteRef('"dallas"')] = Field(
        None, description="Site where its weights lie and its logs are kept. Default: wherever it serves"
    )
    data_moved_gb: Annotated[float | None, Quantity('"40 TB"', "GB", Range(0, 1e9, open=True))] = Field(
        None,
        description="Weights and tables that move as a deployment begins at another site than `data_site`",
    )
    logs_moved_gb_per_month: Annotated[
        float | None, Quantity('"2 TB/month"', "GB/month", Range(0, 1e9, open=True))
    ] = Field(None, description="Logs that each deployment at another site sends to `data_site`")
    skus: SkuNames = Field(None, description="SKUs that it may use; default: all")
    sites: SiteNames = Field(None, description="Sites where it may run; default: all")
    least_replicas: Annotated[int | None, Count("2", Range(1, 1000))] = Field(
        None,
        description="Fewest replicas of one kind on a SKU at a site, where any run, or all that the service "
        "needs; default: the fact planning.starting.least_replicas",
    )
    skus_today: SkuNames = Field(
        None,
        description="SKUs that it runs on today; default: not known, and no start in the first period costs",
    )
    sites_today: SiteNames = Field(
        None, description="Sites where it runs today; a start elsewhere costs in the first period, too"
    )

    @property
    def place(self) -> str:
        """Where the file states it."""
        return f"services.{self.name}"

    @property
    def homes(self) -> tuple[UserRegion, ...]:
        """Where its users are: one region of all of them, several, or none that is said."""
        if self.users is None:
            return self.regions
        return (UserRegion.model_construct(users=self.users, share_fraction=1.0),)

    @property
    def has_region_hours(self) -> bool:
        """Whether its regions peak at hours of their own."""
        return any(one.busiest_time_h is not None or one.traffic_shape is not None for one in self.regions)

    @property
    def reads_apart(self) -> bool:
        """Whether prompts are read by some replicas and answers written by others."""
        return self.phases == "apart"

    @property
    def is_pooled(self) -> bool:
        """Whether replicas take requests from one queue."""
        return self.routing == "pooled"

    @property
    def limits_quality(self) -> bool:
        """Whether it says how much quality may be lost."""
        return self.quality_budget_fraction is not None or self.mean_quality_budget_fraction is not None

    @property
    def items(self) -> float | None:
        """Samples or images of a request; none of a model that reads and writes tokens."""
        return self.images if self.candidates is None else self.candidates

    @property
    def targets_s(self) -> dict[str, float]:
        """The latency targets that are stated, by key."""
        each = {
            "first_token": self.first_token_s,
            "per_token": self.per_token_s,
            "response_time": self.response_time_s,
        }
        return {key: value for key, value in each.items() if value is not None}

    @property
    def first_answer_s(self) -> float:
        """Longest time to the first token, or to an answer that comes at once."""
        stated = self.response_time_s if self.first_token_s is None else self.first_token_s
        assert stated is not None, "one of them is asked for on reading"
        return stated

    @property
    def further_s(self) -> float:
        """Longest time for each further token; of an answer that comes at once, which has none, its own."""
        return self.first_answer_s if self.per_token_s is None else self.per_token_s


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
    repair_h: Annotated[float | None, Quantity('"5.5 d"', "h", Range(0, 8766))] = Field(
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
        "spent, purchases in full and no capital charge; lexicographic: one after the other, `first` first"
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
    ] = Field(None, description="Most money for purchases in a period; default: no limit")
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
    sites: tuple[Site, ...] = Field(description="Sites that can hold nodes")
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
