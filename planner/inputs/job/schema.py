"""The parts of a job file. A TOML key is the plain word, its attribute adds the unit.

Next to the type of each field stands the rule that reads it, and its key where that is another word.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr

from planner.inputs.job.schema_work import Experimentation, Federated, Inference, Share, Work
from planner.inputs.scenario.base import Part, part_in, rule_of
from planner.inputs.scenario.fields import Choice, Day, Number, Quantity, Range, Text
from planner.inputs.scenario.fields_nested import Overrides

_INTENSITY = Quantity('"120 g/kWh"', "kgCO2e/kWh", Range(0, 2))
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
