"""Training runs with deadlines, and the workers that feed them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

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
    Precision,
    SiteNames,
    SiteRef,
    SkuNames,
    TechniqueNames,
)
from planner.inputs.scenario.fields import (
    Choice,
    Count,
    Day,
    Flag,
    Fraction,
    Number,
    PricePerMillion,
    Quantity,
    Range,
    Text,
)
from planner.inputs.scenario.fields_nested import Several
from planner.inputs.scenario.schema_tables import Tables

_POSITIVE = Range(0, 1e18, open=True)

# The least work that a solver, which is exact to a millionth of a node, can tell from none.
_TOKENS = Range(1, 1e18)


class Ingestion(Part):
    """Preprocessing workers of a run: nodes at its site for as long as it works, counted by their hours."""

    workers_per_node: Annotated[float | None, Number("22", Range(0, 10_000, open=True))] = Field(
        None,
        alias="workers_per_node",
        description="Workers that keep one node of the run supplied; default: the fact "
        "ingestion.workers_per_trainer",
    )
    workers: Annotated[int | None, Count("60", Range(1, 1_000_000))] = Field(
        None,
        description="The most workers that the run can have: where its nodes need more, they wait for data; "
        "default: as many as they need",
    )
    sku: Annotated[str | None, Text('"xeon-6980p-2"')] = Field(
        None, description="SKU of a worker; default: xeon-6980p-2"
    )


class TrainingJob(Part):
    """A training run with a deadline."""

    name: Annotated[str, Text('"pretrain-70b"')] = Field(description="Name, unique among the training jobs")
    model: CardName = Field(description=MODEL_SAYS)
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
    method: Method = Field(None, description=METHOD_SAYS)
    adapter_rank: AdapterRank = Field(None, description=RANK_SAYS)
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
    power_caps_fraction: PowerCaps = Field(None, description=CAPS_SAY)
    clocks_fraction: Clocks = Field(None, description=f"{CLOCKS_SAY}; default: 1")
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
