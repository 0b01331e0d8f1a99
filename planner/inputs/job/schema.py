"""The parts of a job file. A TOML key is the plain word, its attribute adds the unit.

Next to the type of each field stands the rule that reads it, and its key where that is another word.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from planner.inputs.scenario.fields import (
    Choice,
    Count,
    Day,
    Fraction,
    Frame,
    ModelName,
    Number,
    Overrides,
    Quantity,
    Range,
    Rule,
    Several,
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


@dataclass(frozen=True, slots=True)
class Site:
    """Where and when the job runs."""

    grid: Annotated[str | None, Text('"us-srvc"')] = None
    grid_kgco2e_per_kwh: Annotated[float | None, _INTENSITY, "grid_intensity"] = None
    hourly: Annotated[str | None, Text('"gb-2021"', name=False)] = None
    hourly_signal: Annotated[str | None, Text('"average/life-cycle/production"', name=False)] = None
    hourly_zone: Annotated[str | None, Text('"DE"')] = None
    hourly_column: Annotated[str | None, Text('"intensity"', name=False)] = None
    hourly_unit: Annotated[str | None, Text('"g/kWh"', name=False)] = None
    hourly_time_zone: Annotated[str | None, Text('"Europe/Berlin"', name=False)] = None
    hourly_repeats: Annotated[str | None, Choice('"first"', ("refuse", "first", "mean"))] = None
    fill: Annotated[str | None, Choice('"line"', ("line", "day before"))] = None
    longest_gap_h: Annotated[
        float | None, Quantity('"24 h"', "h", Range(0, 8784, open=True)), "longest_gap"
    ] = None
    grid_decline_fraction: Annotated[float | None, Share("0.03", Range(-1, 1)), "grid_decline"] = None
    pue: Annotated[float | None, Number("1.12", Range(1, 3))] = None
    wue_l_per_kwh: Annotated[float | None, Quantity('"0.2 L/kWh"', "L/kWh", Range(0, 20)), "wue"] = None
    start: Annotated[date | None, Day("2025-03-01")] = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the job runs on, and over which life its making is spread."""

    sku: Annotated[str | None, Text('"h100-8"')] = None
    lifetime_y: Annotated[float | None, Quantity('"5 y"', "y", Range(0, 30, open=True)), "lifetime"] = None
    utilisation_fraction: Annotated[float | None, _USED, "utilisation"] = None


@dataclass(frozen=True, slots=True)
class Work:
    """Work on accelerators: described and predicted, or as hours that were measured."""

    model: Annotated[str | None, ModelName('"llama-3.1-8b"')] = None
    tokens: Annotated[float | None, Number("1.5e12", _POSITIVE)] = None
    nodes: Annotated[int | None, Count("64", Range(1, 1_000_000))] = None
    precision: Annotated[str | None, Choice('"bf16"', PRECISIONS)] = None
    sequence_tokens: Annotated[int | None, Count("8192", Range(1, 100_000_000))] = None
    batch_tokens: Annotated[float | None, Number("4e6", _POSITIVE)] = None
    failures: Annotated[str | None, Text('"meta-llama-3-405b"')] = None
    checkpoint_storage: Annotated[str | None, Text('"parallel-fs"')] = None
    interval_h: Annotated[float | None, Quantity('"30 min"', "h", Range(0, 1e4, open=True)), "interval"] = (
        None
    )
    accelerator_hours: Annotated[float | None, Number("1.3e6", _POSITIVE)] = None
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True)), "power"] = None
    energy_kwh: Annotated[float | None, Quantity('"433 MWh"', "kWh", _POSITIVE), "energy"] = None
    useful_fraction: Annotated[float | None, Share("0.9", Range(0, 1, open=True)), "useful"] = None
    duration_h: Annotated[float | None, _TIME, "duration"] = None
    metered: Annotated[str | None, Text('"emissions.csv"', name=False)] = None
    metered_zone: Annotated[str | None, Text('"Europe/Berlin"', name=False)] = None
    metered_covers: Annotated[
        str | None, Choice('"node"', ("accelerators", "components", "node", "unstated"))
    ] = None
    metered_accelerators: Annotated[int | None, Count("8", Range(1, 1_000_000))] = None
    metered_columns: Annotated[tuple[str, ...] | None, Several(Text('"timestamp"', name=False))] = None
    metered_sampling_s: Annotated[
        float | None, Quantity('"10 s"', "s", Range(0, 86_400, open=True)), "metered_sampling"
    ] = None
    sku: Annotated[str | None, Text('"h100-8"')] = None
    start: Annotated[date | None, Day("2025-03-01")] = None


@dataclass(frozen=True, slots=True)
class Experimentation:
    """Runs before and next to the final one, as a multiple of it or as hours."""

    of_training_ratio: Annotated[float | None, Number("0.5", Range(0, 1000, open=True)), "of_training"] = None
    accelerator_hours: Annotated[float | None, Number("2.5e5", _POSITIVE)] = None
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True)), "power"] = None


@dataclass(frozen=True, slots=True)
class Inference:
    """Answering: requests over some time, or one batch of them."""

    model: Annotated[str | None, ModelName('"llama-3.1-8b"')] = None
    precision: Annotated[str | None, Choice('"bf16"', PRECISIONS)] = None
    requests: Annotated[float | None, Number("1e6", _POSITIVE)] = None
    requests_per_day: Annotated[float | None, Number("2e6", _POSITIVE)] = None
    duration_h: Annotated[float | None, _TIME, "duration"] = None
    traffic: Annotated[str | None, Text('"azure-2023-conv"')] = None
    tokens_in: Annotated[float | None, Number("1155", Range(0, 1e8, open=True))] = None
    tokens_out: Annotated[float | None, Number("211", Range(0, 1e8, open=True))] = None
    tokens_per_s: Annotated[float | None, Number("1800", _POSITIVE)] = None
    mean_to_peak_fraction: Annotated[float | None, Share("0.55", Range(0, 1, open=True)), "mean_to_peak"] = (
        None
    )
    first_token_s: Annotated[
        float | None, Quantity('"1.5 s"', "s", Range(0, 3600, open=True)), "first_token"
    ] = None
    per_token_s: Annotated[float | None, Quantity('"60 ms"', "s", Range(0, 3600, open=True)), "per_token"] = (
        None
    )
    power_kw: Annotated[float | None, Quantity('"650 W"', "kW", Range(0, 100, open=True)), "power"] = None
    sku: Annotated[str | None, Text('"l40s-8"')] = None
    start: Annotated[date | None, Day("2025-03-01")] = None


@dataclass(frozen=True, slots=True)
class Mix(Rule):
    """A table of weights by grid region, which need not add to one."""

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


@dataclass(frozen=True, slots=True)
class Federated:
    """Training on people's devices: sessions, the network between, and a server."""

    mode: Annotated[str | None, Choice('"synchronous"', ("synchronous", "asynchronous"))] = None
    rounds: Annotated[float | None, Number("1000", _POSITIVE)] = None
    concurrency: Annotated[int | None, Count("1000", Range(1, 100_000_000))] = None
    compute_h: Annotated[float | None, Quantity('"60 s"', "h", Range(0, 100, open=True)), "compute"] = None
    upload_h: Annotated[float | None, Quantity('"12 s"', "h", Range(0, 100)), "upload"] = None
    download_h: Annotated[float | None, Quantity('"8 s"', "h", Range(0, 100)), "download"] = None
    slowest_h: Annotated[float | None, Quantity('"4 min"', "h", Range(0, 100, open=True)), "slowest"] = None
    buffer: Annotated[float | None, Number("10", _POSITIVE)] = None
    dropped_fraction: Annotated[float | None, Share("0.1", Range(0, 0.99)), "dropped"] = None
    compression: Annotated[float | None, Number("4", Range(1, 1000))] = None
    devices: Annotated[dict[str, float] | None, Mix("{ us = 0.5, in = 0.5 }")] = None
    population: Annotated[dict[str, float] | None, Mix("{ us = 0.3, in = 0.7 }")] = None


@dataclass(frozen=True, slots=True)
class Storage:
    """What is kept, how long, and how often."""

    amount_gb: Annotated[float | None, Quantity('"500 TB"', "GB", Range(0, 1e12, open=True)), "amount"] = None
    duration_h: Annotated[float | None, Quantity('"24 month"', "h", Range(0, 1e6, open=True)), "duration"] = (
        None
    )
    medium: Annotated[str | None, Choice('"hdd"', ("hdd", "ssd"))] = None
    copies: Annotated[float | None, Number("3", Range(1, 100))] = None


@dataclass(frozen=True, slots=True)
class Network:
    """Switches, optics and cables, as a share of the nodes that they connect."""

    power_fraction: Annotated[float | None, Share("0.136", _SHARE), "power_share"] = None
    embodied_fraction: Annotated[float | None, Share("0.15", _SHARE), "embodied_share"] = None


@dataclass(frozen=True, slots=True)
class Building:
    """The building and its plant, by the power that it provides."""

    kgco2e_per_kw: Annotated[
        float | None, Quantity('"1500 kg/kW"', "kgCO2e/kW", Range(0, 1e5, open=True)), "carbon"
    ] = None
    lifetime_y: Annotated[float | None, Quantity('"20 y"', "y", Range(0, 100, open=True)), "lifetime"] = None


@dataclass(frozen=True, slots=True)
class EndOfLife:
    """Taking the nodes apart, as a share of their life."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What was bought on the market; it never changes the location-based figure."""

    covered_fraction: Annotated[float | None, Share("0.6", _SHARE), "covered"] = None
    contract_kgco2e_per_kwh: Annotated[float | None, _INTENSITY, "intensity"] = None
    residual_kgco2e_per_kwh: Annotated[float | None, _INTENSITY, "residual"] = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job file, read; what it leaves out is None."""

    title: str
    site: Site = Site()
    hardware: Hardware = Hardware()
    data: Work | None = None
    experimentation: Experimentation | None = None
    training: Work | None = None
    fine_tuning: Work | None = None
    federated: Federated | None = None
    inference: Inference | None = None
    storage: Storage | None = None
    network: Network | None = None
    building: Building | None = None
    end_of_life: EndOfLife | None = None
    contract: Contract | None = None
    facts: tuple[tuple[str, str], ...] = ()
    path: Path | None = None
    by_flags: bool = False
    assumed: tuple[str, ...] = ()  # places of the file that nobody stated and a default filled

    @property
    def folder(self) -> Path | None:
        """Where the models that it names are looked for; for a text of no file nowhere."""
        if self.path is not None:
            return self.path.parent
        return Path() if self.by_flags else None


TITLE: Rule = Text('"Llama 3.1 8B, pre-trained"', name=False)
FACTS: Rule = Overrides('"accelerator.h100-sxm-80gb.tdp" = "650 W"')
TABLES: dict[str, type[Any]] = {
    "site": Site,
    "hardware": Hardware,
    "data": Work,
    "experimentation": Experimentation,
    "training": Work,
    "fine_tuning": Work,
    "federated": Federated,
    "inference": Inference,
    "storage": Storage,
    "network": Network,
    "building": Building,
    "end_of_life": EndOfLife,
    "contract": Contract,
}
PHASES = (
    "data",
    "experimentation",
    "training",
    "fine_tuning",
    "federated",
    "inference",
    "storage",
    "network",
    "building",
    "end_of_life",
)
