"""Work of a job file: training and what is next to it, answers, and devices that train together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from pydantic import Field

from planner.inputs.scenario.base import METHOD_SAYS, RANK_SAYS, AdapterRank, Method, Part
from planner.inputs.scenario.fields import (
    Choice,
    Count,
    Day,
    Fraction,
    Frame,
    ModelName,
    Number,
    PricePerMillion,
    Quantity,
    Range,
    Text,
)
from planner.inputs.scenario.fields_nested import Several, Table
from planner.inputs.scenario.problems import FieldError, shown, shown_key

PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4")
_POSITIVE = Range(0, 1e18, open=True)
_TIME = Quantity('"30 d"', "h", Range(0, 1e6, open=True))


@dataclass(frozen=True, slots=True)
class Share(Fraction):
    """A share of one; what is neither a share nor a percentage is answered with how both are written."""

    def read(self, value: object, frame: Frame) -> float:
        """The share, as a number from 0 to 1."""
        try:
            return Fraction.read(self, value, frame)
        except ValueError:
            percent = isinstance(value, str) and value.rstrip().endswith("%")
            number = isinstance(value, int | float) and not isinstance(value, bool) and value > 100
            if not (percent or number):
                raise
            example = float(self.example)
            raise ValueError(
                f"{shown(value)} is out of range: a share is at most 1, in percent 100: write for example "
                f"{example:g} or '{example * 100:g} %'"
            ) from None


_SHARE = Range(0, 1)


class Work(Part):
    """Work on accelerators: described and predicted, or as hours that were measured."""

    model: Annotated[str | None, ModelName('"llama-3.1-8b"')] = Field(
        None,
        description="Model of the catalogue, or the path of its Hugging Face config.json from the folder of "
        "the job; with `tokens` the hours are predicted",
    )
    tokens: Annotated[float | None, Number("1.5e12", Range(1, 1e18))] = Field(
        None, description="Tokens to train on"
    )
    samples: Annotated[float | None, Number("4e12", _POSITIVE)] = Field(
        None,
        description="Samples to train a recommendation model on, or images or films for a model that makes "
        "or sees them, in place of `tokens`",
    )
    batch_samples: Annotated[int | None, Count("65536", Range(1, 1_000_000_000))] = Field(
        None,
        description="Samples in one optimiser step; default of a recommendation model: the fact "
        "job.batch_samples",
    )
    passes: Annotated[float | None, Number("4", Range(1, 1e6))] = Field(
        None, description="How often it goes through its data, with `data_price`; default: once"
    )
    data_usd_per_million: Annotated[
        float | None, PricePerMillion('"0.5 USD / 1e6 tokens"', Range(0, 1e9))
    ] = Field(
        None,
        alias="data_price",
        description="Price of the tokens or samples that training or fine-tuning buys, each once",
    )
    bought_fraction: Annotated[float | None, Share("0.6", _SHARE)] = Field(
        None, description="Share of its data that is bought at `data_price`; default: all"
    )
    nodes: Annotated[int | None, Count("64", Range(1, 1_000_000))] = Field(
        None, description="Number of nodes; a described run needs it"
    )
    precision: Annotated[str | None, Choice('"bf16"', PRECISIONS)] = Field(
        None, description="Number format of the matrix work; default: bf16"
    )
    method: Method = Field(None, description=METHOD_SAYS)
    adapter_rank: AdapterRank = Field(None, description=RANK_SAYS)
    sequence_tokens: Annotated[int | None, Count("8192", Range(1, 100_000_000))] = Field(
        None, description="Tokens in one sequence; default: the fact job.sequence_tokens"
    )
    batch_tokens: Annotated[float | None, Number("4e6", _POSITIVE)] = Field(
        None, description="Tokens in one optimiser step; default: the fact job.batch_tokens"
    )
    failures: Annotated[str | None, Text('"meta-llama-3-405b"', name=False)] = Field(
        None,
        description="Fleet of the catalogue whose failure rate holds, or the fit.json of your own log "
        "(`everfleet fit`), as a path from the folder of the job; default: meta-llama-3-405b",
    )
    checkpoint_storage: Annotated[str | None, Text('"parallel-fs"')] = Field(
        None, description="Storage class of the catalogue for checkpoints; default: parallel-fs"
    )
    interval_h: Annotated[float | None, Quantity('"30 min"', "h", Range(0, 1e4, open=True))] = Field(
        None, description="Work between two checkpoints; default: the best for time"
    )
    accelerator_hours: Annotated[float | None, Number("1.3e6", _POSITIVE)] = Field(
        None, description="Accelerator-hours that were measured or reported, in place of `model` and `tokens`"
    )
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True))] = Field(
        None, description="Mean power of one accelerator with its share of the host, as measured at the node"
    )
    energy_kwh: Annotated[float | None, Quantity('"433 MWh"', "kWh", _POSITIVE)] = Field(
        None, description="Energy of the nodes, as measured, in place of `power`"
    )
    useful_fraction: Annotated[float | None, Share("0.9", Range(0, 1, open=True))] = Field(
        None, description="Share of the hours that was no repeated or lost work; default: 1"
    )
    duration_h: Annotated[float | None, _TIME] = Field(
        None, description="How long the work took, by the clock"
    )
    metered: Annotated[str | None, Text('"emissions.csv"', name=False)] = Field(
        None, description="File of metered energy, as a path from the folder of the job, in place of hours"
    )
    metered_zone: Annotated[str | None, Text('"Europe/Berlin"', name=False)] = Field(
        None, description="Time zone of the metered stamps, where the file does not say it"
    )
    metered_covers: Annotated[
        str | None, Choice('"node"', ("accelerators", "components", "node", "unstated"))
    ] = Field(None, description="What the meter saw, where the file does not say it")
    metered_accelerators: Annotated[int | None, Count("8", Range(1, 1_000_000))] = Field(
        None, description="Accelerators that the meter saw, where the file does not say it"
    )
    metered_columns: Annotated[tuple[str, ...] | None, Several(Text('"timestamp"', name=False))] = Field(
        None, description="Columns to read, where the file does not name them by itself"
    )
    metered_sampling_s: Annotated[float | None, Quantity('"10 s"', "s", Range(0, 86_400, open=True))] = Field(
        None, description="Time between two samples, where the file does not say it"
    )
    sku: Annotated[str | None, Text('"h100-8"')] = Field(
        None, description="SKU of this phase; default: that of `hardware`"
    )
    start: Annotated[date | None, Day("2025-03-01")] = Field(
        None, description="First day of this phase; default: that of `site`"
    )


class Experimentation(Part):
    """Runs before and next to the final one, as a multiple of it or as hours."""

    of_training_ratio: Annotated[float | None, Number("0.5", Range(0, 1000, open=True))] = Field(
        None,
        description="Its work as a multiple of that of `training`; default: the fact "
        "job.experimentation_ratio",
    )
    accelerator_hours: Annotated[float | None, Number("2.5e5", _POSITIVE)] = Field(
        None, description="Its accelerator-hours, in place of `of_training`"
    )
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True))] = Field(
        None,
        description="Mean power of one accelerator with its share of the host, with `accelerator_hours`",
    )


class Inference(Part):
    """Answering: requests over some time, or one batch of them."""

    model: Annotated[str | None, ModelName('"llama-3.1-8b"')] = Field(
        None,
        description="Model of the catalogue, or the path of its config.json; what a node delivers is then "
        "predicted",
    )
    precision: Annotated[str | None, Choice('"bf16"', PRECISIONS)] = Field(
        None, description="Number format of the weights; default: bf16"
    )
    requests: Annotated[float | None, Number("1e6", _POSITIVE)] = Field(
        None, description="Requests of one batch, all answered, in place of `requests_per_day`"
    )
    requests_per_day: Annotated[float | None, Number("2e6", _POSITIVE)] = Field(
        None, alias="requests_per_day", description="Requests in a day, over `duration`"
    )
    duration_h: Annotated[float | None, _TIME] = Field(
        None, description="How long requests come, with `requests_per_day`"
    )
    traffic: Annotated[str | None, Text('"azure-2023-conv"')] = Field(
        None, description="Shipped trace with the tokens of requests and their burstiness"
    )
    tokens_in: Annotated[float | None, Number("1155", Range(0, 1e8, open=True))] = Field(
        None, description="Mean prompt tokens of a request, in place of `traffic`"
    )
    tokens_out: Annotated[float | None, Number("211", Range(0, 1e8))] = Field(
        None, description="Mean tokens of an answer, in place of `traffic`; 0 where prompts are only read"
    )
    images: Annotated[float | None, Number("1", Range(0, 1e5, open=True))] = Field(
        None,
        description="Images or films of a request that a model makes or classifies, in place of tokens",
    )
    audio_s: Annotated[float | None, Quantity('"30 s"', "s", Range(0, 86_400, open=True))] = Field(
        None,
        description="Sound of a request that a model of speech hears, window by window where it is longer "
        "than that; `tokens_out` are written of it, or what the fact speech.default.tokens_per_s says",
    )
    candidates: Annotated[float | None, Number("270", Range(0, 1e7, open=True))] = Field(
        None, description="Samples that a recommendation model scores for a request, in place of tokens"
    )
    tokens_per_s: Annotated[float | None, Number("1800", _POSITIVE)] = Field(
        None,
        alias="tokens_per_s",
        description="Output tokens a second of one node on average, as measured, in place of `model`",
    )
    mean_to_peak_fraction: Annotated[float | None, Share("0.55", Range(0, 1, open=True))] = Field(
        None, description="Mean rate over peak rate; default: the fact job.mean_to_peak"
    )
    first_token_s: Annotated[float | None, Quantity('"1.5 s"', "s", Range(0, 3600, open=True))] = Field(
        None, description="Longest time to the first token; default: the fact job.first_token"
    )
    per_token_s: Annotated[float | None, Quantity('"60 ms"', "s", Range(0, 3600, open=True))] = Field(
        None, description="Longest time for each further token; default: the fact job.per_token"
    )
    response_time_s: Annotated[float | None, Quantity('"10 s"', "s", Range(0, 86_400, open=True))] = Field(
        None,
        description="Longest time to an answer that comes at once (images, scores, prompts read); `images` "
        "and `candidates` with `requests_per_day` need it, and one batch may wait",
    )
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True))] = Field(
        None, description="Mean power of one accelerator with its share of the host, with `tokens_per_s`"
    )
    sku: Annotated[str | None, Text('"l40s-8"')] = Field(
        None, description="SKU of this phase; default: that of `hardware`"
    )
    start: Annotated[date | None, Day("2025-03-01")] = Field(
        None, description="First day of this phase; default: that of `site`"
    )


@dataclass(frozen=True, slots=True)
class Mix(Table):
    """A table of numbers by name, such as weights by grid region, which need not add to one."""

    def read(self, value: object, frame: Frame) -> dict[str, float]:
        """Weight by region."""
        if not isinstance(value, dict) or not value:
            raise ValueError(f"{shown(value)} is not a table of weights: write for example {self.example}")
        weight = Number("0.4", Range(0, 1e12, open=True))
        wrong, read = [], {}
        for name, entry in value.items():
            try:
                read[name] = weight.read(entry, frame)
            except ValueError as error:
                wrong.append((f".{shown_key(name)}", str(error)))
        if wrong:
            raise FieldError(wrong)
        return read

    def schema(self) -> dict[str, Any]:
        """A table of weights."""
        weight = {"type": "number", "exclusiveMinimum": 0}
        return {"type": "object", "additionalProperties": weight, "minProperties": 1}


class Federated(Part):
    """Training on people's devices: sessions, the network between, and a server."""

    mode: Annotated[str | None, Choice('"synchronous"', ("synchronous", "asynchronous"))] = Field(
        None, description="Whether each round waits for its devices; default: synchronous"
    )
    rounds: Annotated[float | None, Number("1000", _POSITIVE)] = Field(
        None, description="Rounds of a synchronous run, or updates of the model of an asynchronous one"
    )
    concurrency: Annotated[int | None, Count("1000", Range(1, 100_000_000))] = Field(
        None, description="Devices at work at once"
    )
    compute_h: Annotated[float | None, Quantity('"60 s"', "h", Range(0, 100, open=True))] = Field(
        None, description="Time that one session computes"
    )
    upload_h: Annotated[float | None, Quantity('"12 s"', "h", Range(0, 100))] = Field(
        None, description="Time that one session sends"
    )
    download_h: Annotated[float | None, Quantity('"8 s"', "h", Range(0, 100))] = Field(
        None, description="Time that one session receives"
    )
    slowest_h: Annotated[float | None, Quantity('"4 min"', "h", Range(0, 100, open=True))] = Field(
        None,
        description="Time that a synchronous round waits for its slowest device; default: the fact "
        "federated.session.time_limit",
    )
    buffer: Annotated[float | None, Number("10", _POSITIVE)] = Field(
        None, description="Sessions in one update of the model, of an asynchronous run"
    )
    dropped_fraction: Annotated[float | None, Share("0.1", Range(0, 0.99))] = Field(
        None, description="Share of sessions whose work is lost, of an asynchronous run"
    )
    compression: Annotated[float | None, Number("4", Range(1, 1000))] = Field(
        None, description="How many times less is sent; default: 1"
    )
    devices: Annotated[dict[str, float] | None, Mix("{ us = 0.5, in = 0.5 }")] = Field(
        None, description="Where the devices of the run are: weight by grid region of the catalogue"
    )
    population: Annotated[dict[str, float] | None, Mix("{ us = 0.3, in = 0.7 }")] = Field(
        None,
        description="Where all devices are that could take part, as weights; default: as `devices`",
    )
    models: Annotated[int | None, Count("4", Range(1, 10_000))] = Field(
        None,
        description="Models of an ensemble, each trained by `concurrency` devices of its own side by side; "
        "default: 1",
    )
    tiers: Annotated[dict[str, float] | None, Mix("{ fast = 0.3, slow = 0.7 }")] = Field(
        None, description="Tiers of the devices of the run, as weights, under names of your own"
    )
    tier_compute: Annotated[dict[str, float] | None, Mix("{ fast = 0.5, slow = 1.4 }")] = Field(
        None, description="How many times as long as `compute` a session of each tier computes"
    )
    tier_population: Annotated[dict[str, float] | None, Mix("{ fast = 0.2, slow = 0.8 }")] = Field(
        None,
        description="Tiers of all devices that could take part, as weights; default: as `tiers`",
    )
