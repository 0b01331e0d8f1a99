"""Work that may be divided and can wait: a pool, and the ways to state what it needs.

Each way has one key by period that says how much, and further keys that only it takes. What a node does of
the work, and so how many node-hours it is, is for `planner.physics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from planner.inputs.scenario.base import (
    CAPS_SAY,
    CLOCKS_SAY,
    METHOD_SAYS,
    MODEL_SAYS,
    RANK_SAYS,
    AdapterRank,
    CardName,
    Clocks,
    Method,
    Part,
    PowerCaps,
    SiteNames,
    SiteRef,
    SkuName,
    SkuNames,
    TechniqueNames,
)
from planner.inputs.scenario.fields import Choice, Count, Fraction, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import EachPeriod
from planner.inputs.scenario.problems import Problem, rank_without_adapters

GROWTH = Quantity('"30 %/year"', "1/y", Range(-0.99, 100))
_PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4")
_TIME, _PER_D = Range(1, 1e12, or_none=True), Range(1e-6, 1e18, or_none=True)
AUDIO = Range(1e-6, 1e12, or_none=True)
_TOKENS, _JOB_H = Range(0, 1e8, open=True), Range(0, 1e9, open=True)


class Pool(Part):
    """Many small jobs that together need node-hours, whichever they run on."""

    name: Annotated[str, Text('"fine-tuning"')] = Field(description="Name, unique among the pools")
    model: CardName = Field(description=f"{MODEL_SAYS}; it represents the work")
    reference: SkuName = Field(
        description="SKU in whose accelerator-hours the need is stated, or shown where it is stated otherwise"
    )
    gpu_time_h: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"250000 h"', "h", _TIME))] = Field(
        None, description="Accelerator-hours of the reference in a period"
    )
    items_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"5e6 /d"', "1/d", _PER_D))] = Field(
        None,
        description="In place of `gpu_time`, batch inference: prompts that are answered, whenever that is, "
        "by replicas that are always full",
    )
    audio_h_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"20000 h/d"', "h/d", AUDIO))] = (
        Field(
            None,
            alias="audio_rate",
            description="In place of `gpu_time`, hours of sound that come in a day, which a model of speech "
            "writes down, whenever that is; tokens by the fact speech.default.tokens_per_s",
        )
    )
    audio_s: Annotated[float | None, Quantity('"10 min"', "s", Range(0, 86_400, open=True))] = Field(
        None,
        description="Length of a recording, whose last window is padded to a whole one; "
        "default: windows are full",
    )
    feeds: Annotated[str | None, Text('"pretrain-70b"')] = Field(
        None,
        description="In place of `items`, the training run whose `generated` share it writes, in whole "
        "periods before the `earliest` day of the run",
    )
    tokens_in: Annotated[float | None, Number("1200", _TOKENS)] = Field(
        None, description="Mean prompt tokens of an item or a rollout"
    )
    tokens_out: Annotated[float | None, Number("150", Range(0, 1e8))] = Field(
        None, description="Mean tokens of an answer or a rollout; 0 where prompts are only read"
    )
    passes: Annotated[float | None, Number("4", Range(1, 1e6))] = Field(
        None,
        description="How often each item is gone through: checkpoints or seeds that an evaluation tries; "
        "default: once",
    )
    jobs_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"40 /d"', "1/d", _PER_D))] = Field(
        None,
        description="In place of `gpu_time`, jobs that begin, with `job_p50` and `job_p99` or `job_tokens`",
    )
    job_p50_h: Annotated[float | None, Quantity('"70 h"', "h", _JOB_H)] = Field(
        None, description="Accelerator-hours of the reference below which half of the jobs stay"
    )
    job_p99_h: Annotated[float | None, Quantity('"3000 h"', "h", _JOB_H)] = Field(
        None, description="The same for 99 of 100 jobs; their mean is that of a log-normal law through both"
    )
    job_tokens: Annotated[float | None, Number("5e7", Range(1, 1e18))] = Field(
        None, description="Tokens that a job trains on, each as often as it is seen"
    )
    prompts_per_d: Annotated[tuple[float, ...] | None, EachPeriod(Quantity('"2e5 /d"', "1/d", _PER_D))] = (
        Field(
            None,
            description="In place of `gpu_time`, reinforcement learning: prompts whose rollouts are written "
            "and trained on",
        )
    )
    samples: Annotated[float | None, Number("16", Range(1, 1e5))] = Field(
        None, description="Rollouts of a prompt"
    )
    mode: Annotated[
        Literal["synchronous", "asynchronous"] | None,
        Choice('"synchronous"', ("synchronous", "asynchronous")),
    ] = Field(
        None,
        description="Whether training waits for the longest rollout of its step, or goes on with older ones; "
        "default: synchronous",
    )
    step_prompts: Annotated[float | None, Number("64", Range(1, 1e9))] = Field(
        None, description="Prompts of one step of the optimiser, whose rollouts begin at once on `job_nodes`"
    )
    longest_tokens: Annotated[float | None, Number("4096", Range(1, 1e8))] = Field(
        None, description="Tokens of the longest rollout of a step, which all others wait for"
    )
    wasted_fraction: Annotated[float | None, Fraction("0.2", Range(0, 0.99))] = Field(
        None, description="Share of the rollouts that are written and not trained on; default: none"
    )
    reference_passes: Annotated[float | None, Number("1", Range(0, 10))] = Field(
        None,
        description="Passes forward over each trained token that score it and change no weight: 1 for "
        "preferences (DPO), for `prompts` by the fact post_training.reference_passes; default: none",
    )
    campaigns_per_d: Annotated[
        tuple[float, ...] | None, EachPeriod(Quantity('"3 /month"', "1/d", _PER_D))
    ] = Field(None, description="In place of `gpu_time`, search by agents: campaigns that have to succeed")
    agents: Annotated[float | None, Number("11", Range(1, 1e6))] = Field(
        None, description="Agents that work at once in a campaign"
    )
    campaign_time_h: Annotated[float | None, Quantity('"24 h"', "h", _JOB_H)] = Field(
        None, description="Time for which each agent works"
    )
    agent_accelerators: Annotated[float | None, Number("1", Range(0.001, 1e5))] = Field(
        None, description="Accelerators of the reference that an agent keeps busy; default: 1"
    )
    success_fraction: Annotated[float | None, Fraction("0.4", Range(0.001, 1))] = Field(
        None, description="Share of the campaigns that succeed: the others are tried again; default: all"
    )
    people: Annotated[tuple[float, ...] | None, EachPeriod(Number("20", Range(0, 1e6)))] = Field(
        None, description="In place of `gpu_time`, people of a team that trains and experiments"
    )
    person_time_h: Annotated[float | None, Quantity('"350 h"', "h", _JOB_H)] = Field(
        None,
        description="Accelerator-hours of the reference that each uses in a month; "
        "default: the fact planning.person_time",
    )
    engine: Annotated[str | None, Text('"vllm"')] = Field(
        None, description="Serving engine of items and rollouts; default: the newest of the catalogue"
    )
    precision: Annotated[
        Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4"] | None, Choice('"bf16"', _PRECISIONS)
    ] = Field(None, description="Number format of the weights and of the matrix work; default: bf16")
    method: Method = Field(None, description=METHOD_SAYS)
    adapter_rank: AdapterRank = Field(None, description=RANK_SAYS)
    job_nodes: Annotated[int | None, Count("2", Range(1, 1024))] = Field(
        None, description="Nodes on which a job trains together; default: one"
    )
    sequence_tokens: Annotated[int | None, Count("4096", Range(1, 10_000_000))] = Field(
        None, description="Tokens of a sequence that is trained on; default: the fact pool.sequence_tokens"
    )
    batch_sequences: Annotated[int | None, Count("128", Range(1, 10_000_000))] = Field(
        None, description="Sequences of an optimiser step; default: the fact pool.batch_sequences"
    )
    power_caps_fraction: PowerCaps = Field(None, description=CAPS_SAY)
    clocks_fraction: Clocks = Field(None, description=f"{CLOCKS_SAY}; default: 1")
    techniques: TechniqueNames = Field(
        (),
        description="Published techniques that the plan may adopt for it (`everfleet techniques`); "
        "default: none",
    )
    growth_per_y: Annotated[float | None, GROWTH] = Field(
        None, description="Growth of the need, which then is stated once, for the first period; default: none"
    )
    demand_error_fraction: Annotated[float | None, Fraction("0.15", Range(0, 2))] = Field(
        None,
        description="How far off this may be a quarter ahead, as a standard deviation; "
        "default: the fact planning.demand_error",
    )
    utilisation_fraction: Annotated[float | None, Fraction("0.8", Range(0.05, 1))] = Field(
        None,
        description="Share of the available node-hours that its jobs fill; "
        "default: the fact pool.utilisation",
    )
    window: Annotated[Literal["day", "period"], Choice('"day"', ("day", "period"))] = Field(
        "day", description="How long its work may wait where it may shift: within its day, or in the period"
    )
    may_wait_fraction: Annotated[float | None, Fraction("0.7", Range(0, 1))] = Field(
        None, description="Share of its work that may wait for another hour; default: the fact pool.may_wait"
    )
    ramp_per_h: Annotated[float | None, Quantity('"20 %/h"', "1/h", Range(0, 1000))] = Field(
        None,
        description="How fast its work may rise and fall where it may shift, in shares of its mean an hour; "
        "default: no limit",
    )
    data_site: Annotated[str | None, SiteRef('"dallas"')] = Field(
        None, description="Site where its data lie: work elsewhere moves them. Default: wherever it works"
    )
    data_moved_gb: Annotated[float | None, Quantity('"40 GB"', "GB", Range(0, 1e9, open=True))] = Field(
        None,
        description="Data that cross, in and out, for what a node of the reference does in an hour, where "
        "that is done away from `data_site`",
    )
    skus: SkuNames = Field(None, description="SKUs that it may use; default: all")
    sites: SiteNames = Field(None, description="Sites where it may run; default: all")

    @property
    def number_format(self) -> str:
        """Number format of its work."""
        return self.precision or "bf16"

    @property
    def nodes_of_job(self) -> int:
        """Nodes on which a job trains together."""
        return self.job_nodes or 1

    @property
    def way(self) -> Way:
        """How its need is stated; of one that is read as far as it goes, what cannot be read counts."""
        held = vars(self)
        stated = (
            way
            for way in WAYS
            if held.get(way.attribute) is not None or (way.attribute not in held and self.has(way.attribute))
        )
        return next(stated, WAYS[0])

    @property
    def answers(self) -> bool:
        """Whether all of its work is prompts that are answered, or sound that is written down."""
        return self.way.key in ANSWERED

    @property
    def rolls_out(self) -> bool:
        """Whether it trains on answers of its own."""
        return self.way.key == "prompts"

    @property
    def in_reference_hours(self) -> bool:
        """Whether its need is hours of the reference, whose own rate then plays no part."""
        return self.way.of_reference and self.job_tokens is None

    @property
    def need(self) -> tuple[float, ...]:
        """What it needs in each period, in the unit of its way."""
        found: tuple[float, ...] = getattr(self, self.way.attribute)
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """One way to state a need: its key by period, what has to be next to it, and what may be."""

    key: str
    attribute: str
    unit: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    of_reference: bool = False  # hours of the reference, whose own rate then plays no part


_OF_STEPS = ("step_prompts", "longest_tokens")  # that wait for their longest rollout
_ROLLOUTS = ("samples", "tokens_in", "tokens_out")
WAYS = (
    Way("gpu_time", "gpu_time_h", "h", of_reference=True),
    Way("items", "items_per_d", "1/d", ("tokens_in", "tokens_out"), ("passes", "engine", "feeds")),
    Way("audio_rate", "audio_h_per_d", "h/d", may=("audio", "passes", "engine")),
    Way(
        "jobs",
        "jobs_per_d",
        "1/d",
        may=("job_p50", "job_p99", "job_tokens", "reference_passes"),
        of_reference=True,
    ),
    Way(
        "prompts",
        "prompts_per_d",
        "1/d",
        _ROLLOUTS,
        ("mode", "wasted", "engine", "reference_passes", *_OF_STEPS),
    ),
    Way(
        "campaigns",
        "campaigns_per_d",
        "1/d",
        ("agents", "campaign_time"),
        ("agent_accelerators", "success"),
        of_reference=True,
    ),
    Way("people", "people", "1", may=("person_time",), of_reference=True),
)
ANSWERED = ("items", "audio_rate")  # ways of pools that train nothing
# Keys of training, which all take but those who train nothing.
_OF_TRAINING = ("method", "adapter_rank", "job_nodes", "sequence_tokens", "batch_sequences")
_EXAMPLES = {
    "tokens_in": "1200",
    "tokens_out": "150",
    "samples": "16",
    "step_prompts": "64",
    "longest_tokens": "4096",
    "agents": "11",
    "campaign_time": '"24 h"',
    "job_p50": '"70 h"',
    "job_p99": '"3000 h"',
}
_OWN = dict.fromkeys(key for way in WAYS for key in (*way.needs, *way.may))


def one_way(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """A pool says in one way what it needs, with the keys of that way and no others."""
    stated = [way for way in WAYS if way.key in entry]
    if len(stated) != 1:
        keys = [way.key for way in stated or WAYS]
        listed = f"{', '.join(keys[:-1])} and {keys[-1]}"
        said = "all say what it needs: keep one" if stated else "say what a pool needs: write one of them"
        yield Problem(at, f"{listed} {said}")
        return
    way = stated[0]
    waits = entry.get("mode") != "asynchronous"
    further = {"jobs": _of_jobs(entry), "prompts": _OF_STEPS if waits else ()}
    for key in (*way.needs, *further.get(way.key, ())):
        if key not in entry:
            yield Problem(
                f"{at}.{key}",
                f"is missing, and {way.key} needs it: write for example {key} = {_EXAMPLES[key]}",
            )
    if "job_tokens" in entry and {"job_p50", "job_p99"} & entry.keys():
        yield Problem(f"{at}.job_tokens", "says again what job_p50 and job_p99 say: keep one of both")
    for key in (*_OWN, *_OF_TRAINING):
        trains = key in _OF_TRAINING and way.key not in ANSWERED
        if key in entry and not trains and key not in (*way.needs, *way.may):
            homes = [one.key for one in WAYS if key in (*one.needs, *one.may)]
            said = f"only with {' or '.join(homes)}" if homes else "which trains nothing"
            yield Problem(f"{at}.{key}", f"has no effect with {way.key}, {said}: remove it")
    for key in _OF_STEPS:
        if way.key == "prompts" and key in entry and not waits:
            yield Problem(f"{at}.{key}", "has no effect where no step waits for its rollouts: remove it")
    if way.key not in ANSWERED:
        yield from rank_without_adapters(entry, at)


def _of_jobs(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What has to be next to jobs: their tokens, or two quantiles of their hours."""
    return () if "job_tokens" in entry else ("job_p50", "job_p99")


def quantiles_in_order(pool: Pool, at: str) -> Iterator[Problem]:
    """A high quantile above the median, and a longest rollout above the mean."""
    if pool.job_p50_h is not None and pool.job_p99_h is not None and pool.job_p99_h < pool.job_p50_h:
        yield Problem(
            f"{at}.job_p99",
            f"{pool.job_p99_h:g} h is below job_p50, {pool.job_p50_h:g} h: write a longer time",
        )
    if pool.longest_tokens is not None and pool.longest_tokens < (pool.tokens_out or 0.0):
        yield Problem(
            f"{at}.longest_tokens",
            f"{pool.longest_tokens:g} is below tokens_out, {pool.tokens_out:g}, the mean: write more tokens",
        )
