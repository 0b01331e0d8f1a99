"""The parts of a job file. A TOML key is the plain word, its attribute adds the unit.

Next to the type of each field stands the rule that reads it, and its key where that is another word.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr

from planner.inputs.scenario.base import Part, part_in, rule_of
from planner.inputs.scenario.fields import (
    Choice,
    Count,
    Day,
    Fraction,
    Frame,
    ModelName,
    Number,
    Overrides,
    PricePerMillion,
    Quantity,
    Range,
    Several,
    Table,
    Text,
)
from planner.inputs.scenario.problems import FieldError, shown, shown_key

PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4", "mxfp4")
_POSITIVE = Range(0, 1e18, open=True)
_INTENSITY = Quantity('"120 g/kWh"', "kgCO2e/kWh", Range(0, 2))
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
_USED = Share("0.85", Range(0, 1, open=True))


class Site(Part):
    """Where and when the job runs."""

    region: Annotated[str | None, Text('"aws/eu-central-1"', name=False)] = Field(
        None,
        description="Region of a provider or of your own: its grid, hours, PUE and WUE hold where they are "
        "not stated; `everfleet regions` lists them",
    )
    grid: Annotated[str | None, Text('"us-srvc"')] = Field(
        None,
        description="Grid region of the catalogue where the job runs",
    )
    grid_kgco2e_per_kwh: Annotated[float | None, _INTENSITY] = Field(
        None, alias="grid_intensity", description="Your own grid intensity, in place of `grid`"
    )
    hourly: Annotated[str | None, Text('"gb-2021"', name=False)] = Field(
        None,
        description="Hour-by-hour carbon of the grid, in place of a yearly mean: a shipped series, or the "
        "path of a file of yours",
    )
    hourly_signal: Annotated[str | None, Text('"average/life-cycle/production"', name=False)] = Field(
        None,
        description="What the series counts, where its file does not say: average or marginal, direct or "
        "life-cycle, produced or consumed",
    )
    hourly_zone: Annotated[str | None, Text('"DE"')] = Field(
        None, description="Zone to read, of a file with several"
    )
    hourly_column: Annotated[str | None, Text('"intensity"', name=False)] = Field(
        None, description="Column with the carbon intensity, of a file with several"
    )
    hourly_unit: Annotated[str | None, Text('"g/kWh"', name=False)] = Field(
        None, description="Unit of that column, where the file does not say it"
    )
    hourly_time_zone: Annotated[str | None, Text('"Europe/Berlin"', name=False)] = Field(
        None, description="Time zone of the stamps, where they do not say it"
    )
    hourly_repeats: Annotated[str | None, Choice('"first"', ("refuse", "first", "mean"))] = Field(
        None,
        description="What to take of an hour that is written several times: refuse the file, the first, or "
        "the mean; default: refuse",
    )
    fill: Annotated[str | None, Choice('"line"', ("line", "day before"))] = Field(
        None,
        description="How hours that the series lacks are filled: a line between the hours around, or the day "
        "before; default: not at all",
    )
    longest_gap_h: Annotated[float | None, Quantity('"24 h"', "h", Range(0, 8784, open=True))] = Field(
        None, description="Longest gap that may be filled; default: the fact job.longest_gap"
    )
    grid_decline_fraction: Annotated[float | None, Share("0.03", Range(-1, 1))] = Field(
        None,
        description="Share by which the grid's intensity falls in a year, counted from the year of its data; "
        "default: no decline",
    )
    pue: Annotated[float | None, Number("1.12", Range(1, 3))] = Field(
        None, description="Power of the building over power of the computers; default: the fact pue.default"
    )
    wue_l_per_kwh: Annotated[float | None, Quantity('"0.2 L/kWh"', "L/kWh", Range(0, 20))] = Field(
        None, description="Water used on site for each kWh of the computers; default: the fact wue.default"
    )
    start: Annotated[date | None, Day("2025-03-01")] = Field(None, description="First day of the job, UTC")


class Hardware(Part):
    """What the job runs on, and over which life its making is spread."""

    sku: Annotated[str | None, Text('"h100-8"')] = Field(
        None, description="SKU of the catalogue that the job runs on; every phase on nodes needs one"
    )
    lifetime_y: Annotated[float | None, Quantity('"5 y"', "y", Range(0, 30, open=True))] = Field(
        None, description="Life over which the embodied carbon is spread; default: the fact embodied.lifetime"
    )
    utilisation_fraction: Annotated[float | None, _USED] = Field(
        None,
        description="Share of that life in which the node is in use; default: the fact embodied.utilisation",
    )


class Work(Part):
    """Work on accelerators: described and predicted, or as hours that were measured."""

    model: Annotated[str | None, ModelName('"llama-3.1-8b"')] = Field(
        None,
        description="Model of the catalogue, or the path of its Hugging Face config.json from the folder of "
        "the job; with `tokens` the hours are predicted",
    )
    tokens: Annotated[float | None, Number("1.5e12", _POSITIVE)] = Field(
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
    sequence_tokens: Annotated[int | None, Count("8192", Range(1, 100_000_000))] = Field(
        None, description="Tokens in one sequence; default: the fact job.sequence_tokens"
    )
    batch_tokens: Annotated[float | None, Number("4e6", _POSITIVE)] = Field(
        None, description="Tokens in one optimiser step; default: the fact job.batch_tokens"
    )
    failures: Annotated[str | None, Text('"meta-llama-3-405b"')] = Field(
        None, description="Fleet of the catalogue whose failure rate holds; default: meta-llama-3-405b"
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
        None, description="Mean power of one accelerator, as measured; the host of the node is added"
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
        description="Mean power of one accelerator, the host of the node apart, with `accelerator_hours`",
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
    tokens_out: Annotated[float | None, Number("211", Range(0, 1e8, open=True))] = Field(
        None, description="Mean tokens of an answer, in place of `traffic`"
    )
    tokens_per_s: Annotated[float | None, Number("1800", _POSITIVE)] = Field(
        None,
        alias="tokens_per_s",
        description="Output tokens a second of one node, as measured, in place of `model`",
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
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True))] = Field(
        None, description="Mean power of one accelerator, the host of the node apart, with `tokens_per_s`"
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


class Ingestion(Part):
    """Preprocessing workers next to the nodes of training: they read, decode and transform what it takes."""

    workers_per_node: Annotated[float | None, Number("22", Range(0, 10_000, open=True))] = Field(
        None,
        alias="workers_per_node",
        description="Workers that keep one node of training and fine-tuning busy; default: the fact "
        "ingestion.workers_per_trainer",
    )
    sku: Annotated[str | None, Text('"xeon-6980p-2"')] = Field(
        None, description="SKU of a worker; default: xeon-6980p-2"
    )
    supplied_fraction: Annotated[float | None, Share("0.8", Range(0, 1, open=True))] = Field(
        None,
        description="Share of what training takes that workers and drives deliver; the rest of the time its "
        "nodes wait; default: 1",
    )


class Storage(Part):
    """What is kept, how long, and how often."""

    amount_gb: Annotated[float | None, Quantity('"500 TB"', "GB", Range(0, 1e12, open=True))] = Field(
        None, description="What is kept, without its copies"
    )
    dataset: Annotated[str | None, Text('"croissant.json"', name=False)] = Field(
        None,
        description="Croissant description of the data set that is kept, as a path from the folder of the "
        "job, in place of `amount`",
    )
    duration_h: Annotated[float | None, Quantity('"24 month"', "h", Range(0, 1e6, open=True))] = Field(
        None, description="How long it is kept"
    )
    medium: Annotated[str | None, Choice('"hdd"', ("hdd", "ssd"))] = Field(
        None, description="What it is kept on"
    )
    copies: Annotated[float | None, Number("3", Range(1, 100))] = Field(
        None, description="How often it is kept; default: the fact job.storage_copies"
    )
    reads_ratio: Annotated[float | None, Number("8", Range(0, 10_000, open=True))] = Field(
        None,
        alias="reads_ratio",
        description="Read operations that training asks for, over those that drives for one copy give; above "
        "the copies, drives are added for their operations",
    )
    cache_hits_fraction: Annotated[float | None, Share("0.8", Range(0, 1, open=True))] = Field(
        None,
        description="Share of the reads that a fast tier of SSD answers in place of the drives; default: no "
        "such tier",
    )


class Network(Part):
    """Switches, optics and cables, as a share of the nodes that they connect."""

    power_fraction: Annotated[float | None, Share("0.136", _SHARE)] = Field(
        None,
        alias="power_share",
        description="Power of switches, optics and cables over that of the nodes; default: the fact "
        "network.fabric.power",
    )
    embodied_fraction: Annotated[float | None, Share("0.15", _SHARE)] = Field(
        None,
        alias="embodied_share",
        description="Embodied carbon of them over that of the nodes; default: the fact "
        "network.fabric.embodied",
    )


class Building(Part):
    """The building and its plant, by the power that it provides."""

    kgco2e_per_kw: Annotated[
        float | None, Quantity('"1500 kg/kW"', "kgCO2e/kW", Range(0, 1e5, open=True))
    ] = Field(
        None,
        alias="carbon",
        description="Embodied carbon of building and plant for each kW of power that it provides; default: "
        "the fact embodied.building",
    )
    lifetime_y: Annotated[float | None, Quantity('"20 y"', "y", Range(0, 100, open=True))] = Field(
        None, description="Life over which it is spread; default: the fact embodied.building_life"
    )


class EndOfLife(Part):
    """Taking the nodes apart, as a share of their life."""


class Contract(Part):
    """What was bought on the market; it never changes the location-based figure."""

    covered_fraction: Annotated[float | None, Share("0.6", _SHARE)] = Field(
        None, description="Share of the site's electricity that is under contract"
    )
    contract_kgco2e_per_kwh: Annotated[float | None, _INTENSITY] = Field(
        None, alias="intensity", description="Carbon of the energy under contract"
    )
    residual_kgco2e_per_kwh: Annotated[float | None, _INTENSITY] = Field(
        None, description="Carbon of what no contract covers: the residual mix, not the grid average"
    )


class Job(Part):
    """A job file, read; what it leaves out is None."""

    title: Annotated[str, Text('"Llama 3.1 8B, pre-trained"', name=False)] = Field(
        description="One line for the report"
    )
    own_data: Annotated[str | None, Text('"my-facts"', name=False)] = Field(
        None,
        description="Your own facts next to ours: a folder that `everfleet add` writes, or one TOML file, "
        "found from the folder of this file; `data` with a text means the same",
    )
    site: Site = Field(Site(), description="Where and when the job runs")
    hardware: Hardware = Field(
        Hardware(), description="What the job runs on, and over which life its making is spread"
    )
    data: Work | None = Field(None, description="Preparing the data, on nodes")
    experimentation: Experimentation | None = Field(
        None, description="Runs before and next to the final one; empty: a multiple of it, by a fact"
    )
    training: Work | None = Field(None, description="The training run: described and predicted, or measured")
    fine_tuning: Work | None = Field(None, description="Further training, as `training`")
    federated: Federated | None = Field(None, description="Training on people's devices")
    inference: Inference | None = Field(None, description="Answering requests")
    ingestion: Ingestion | None = Field(
        None, description="Workers that feed training and fine-tuning; empty: by facts"
    )
    storage: Storage | None = Field(None, description="What is kept, how long, and how often")
    network: Network | None = Field(
        None, description="Switches, optics and cables, as shares of the nodes; empty: by facts"
    )
    building: Building | None = Field(None, description="The building and its plant; empty: by facts")
    end_of_life: EndOfLife | None = Field(
        None, description="Taking the nodes apart, as a share of their life; it holds no keys"
    )
    contract: Contract | None = Field(
        None, description="What was bought on the market; it never changes the location-based figure"
    )
    facts: Annotated[dict[str, str], Overrides('"accelerator.h100-sxm-80gb.tdp" = "650 W"')] = Field(
        {}, description="Your own values for facts of the catalogue"
    )

    _path: Path | None = PrivateAttr(None)
    _by_flags: bool = PrivateAttr(False)
    _assumed: tuple[str, ...] = PrivateAttr(())

    @property
    def path(self) -> Path | None:
        """The file that it was read from."""
        return self._path

    @property
    def by_flags(self) -> bool:
        """Whether flags said it, and no file."""
        return self._by_flags

    @property
    def assumed(self) -> tuple[str, ...]:
        """Places of the file that nobody stated and a default filled."""
        return self._assumed

    @property
    def folder(self) -> Path | None:
        """Where the models that it names are looked for; for a text of no file nowhere."""
        if self.path is not None:
            return self.path.parent
        return Path() if self.by_flags else None


# The tables of the file, by their key.
TABLES: dict[str, type[Part]] = {
    key: part_in(field) for key, field in Job.model_fields.items() if rule_of(Job, key) is None
}
PHASES = (
    "data",
    "experimentation",
    "training",
    "fine_tuning",
    "federated",
    "inference",
    "ingestion",
    "storage",
    "network",
    "building",
    "end_of_life",
)
