"""Models that answer requests: a service, its kinds of request, and the regions of its users."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from planner.inputs.scenario.base import (
    CAPS_SAY,
    CLOCKS_SAY,
    MODEL_SAYS,
    CardName,
    Clocks,
    Part,
    PowerCaps,
    ServingPrecision,
    SiteNames,
    SiteRef,
    SkuNames,
    TechniqueNames,
)
from planner.inputs.scenario.fields import Choice, Count, Fraction, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod, Several, Times
from planner.inputs.scenario.schema_pools import AUDIO as _AUDIO
from planner.inputs.scenario.schema_pools import GROWTH
from planner.inputs.scenario.schema_tables import Tables

# As of tokens: what a solver, which is exact to a millionth of a node, can tell from none.
_PEAK_PER_S = Range(1e-6, 1e9, or_none=True)

_SHARE = Range(0.5, 0.999999)


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
    model: CardName = Field(description=MODEL_SAYS)
    precision: ServingPrecision = Field(
        description="Number format of the weights; w4a16, w4a8 and w4int8 are weights of 4 bits next to "
        "activations of more, as AWQ, GPTQ and GPT-OSS have them on chips without fp4"
    )
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
    answers: Annotated[Literal["alike", "spread"] | None, Choice('"alike"', ("alike", "spread"))] = Field(
        None,
        description="Whether all answers are as long as `tokens_out`, as in most benchmarks, or spread "
        "around it like exponential ones; default: spread",
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
    power_caps_fraction: PowerCaps = Field(None, description=CAPS_SAY)
    clocks_fraction: Clocks = Field(
        None,
        description=f"{CLOCKS_SAY}; of replicas that write answers where others read prompts; default: 1",
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
