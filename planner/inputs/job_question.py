"""What is asked of one job, stated once: `carbon` and `checkpoint` as commands and as functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from planner.inputs.question_fields import fields_of, flag, question_field

RUN = "a training job by flags"


@dataclass(frozen=True, slots=True)
class JobQuestion:
    """A training job that is described, not read from a file; each field has a `place` in such a file."""

    model: str | None = question_field(
        "model, or its config.json; with --tokens the hours are predicted",
        group=RUN,
        place="training.model",
        label="Model",
    )
    tokens: float | None = question_field(
        "training tokens",
        reads="number",
        group=RUN,
        place="training.tokens",
        label="Training tokens",
        unit="billions",
        scale=1e9,
    )
    method: str | None = question_field(
        "what is trained: full, or lora for adapters next to frozen weights",
        group=RUN,
        place="training.method",
        usual="full",
        label="What is trained",
    )
    adapter_rank: int | None = question_field(
        "rank of the adapters; default: a fact of the catalogue",
        reads="count",
        value="R",
        group=RUN,
        place="training.adapter_rank",
    )
    accelerator_hours: float | None = question_field(
        "hours that you measured, instead of model and tokens",
        reads="number",
        group=RUN,
        place="training.accelerator_hours",
        label="Accelerator-hours",
    )
    metered: str | None = question_field(
        "energy that was metered: CodeCarbon, GPU or Slurm", value="FILE", group=RUN, place="training.metered"
    )
    sku: str | None = question_field(
        "kind of node", group=RUN, place="hardware.sku", usual="h100-8", label="Kind of node (SKU)"
    )
    nodes: int | None = question_field(
        "nodes of the job", reads="count", group=RUN, place="training.nodes", usual=8, label="Nodes"
    )
    grid: str | None = question_field(
        "grid region of the catalogue", group=RUN, place="site.grid", usual="us", label="Grid region"
    )
    region: str | None = question_field(
        "of `everfleet regions`, in place of --grid: aws/eu-central-1",
        value="NAME",
        group=RUN,
        place="site.region",
    )
    hourly: str | None = question_field(
        "hourly grid intensity of the job's hours", value="NAME|FILE", group=RUN, place="site.hourly"
    )
    start: date | None = question_field(  # noqa: RUF009  # makes a field, as `field` does
        "first day of the job, such as 2025-03-01", reads="day", value="DAY", group=RUN, place="site.start"
    )
    pue: float | None = question_field(
        "power of the building over that of its computers; default: an assumption of the catalogue",
        reads="number",
        group=RUN,
        place="site.pue",
        label="PUE of the building",
    )
    lifetime_y: str | None = question_field(
        "life of the hardware, '5 y'",
        reads="quantity",
        option="--lifetime",
        group=RUN,
        place="hardware.lifetime",
        label="Life of the hardware",
        unit="years",
    )
    utilisation_fraction: float | None = question_field(
        "share of that life in use, 0.85 or '85 %'",
        reads="percent",
        option="--utilisation",
        group=RUN,
        place="hardware.utilisation",
    )
    power_w: str | None = question_field(
        "measured power of one accelerator with its share of the node, '650 W'",
        reads="quantity",
        option="--power",
        group=RUN,
        place="training.power",
    )
    interval_min: str | None = question_field(
        "checkpoint interval, '30 min'; default: that of least time",
        reads="quantity",
        option="--interval",
        group=RUN,
        place="training.interval",
    )
    failures: str | None = question_field(
        "fleet whose failure rate holds, or the fit.json of your own log",
        value="FLEET|FILE",
        group=RUN,
        place="training.failures",
        usual="meta-llama-3-405b",
    )
    storage: str | None = question_field(
        "checkpoint storage class", group=RUN, place="training.checkpoint_storage", usual="parallel-fs"
    )


def _word(name: str) -> str:
    """The option of a field, as a key."""
    return flag(name, JobQuestion).removeprefix("--").replace("-", "_")


# Option -> its place in a job file.
FLAGS = {_word(name): one.place for name, one in fields_of(JobQuestion).items()}


def job_flags(said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a job by field, under the options that messages name."""
    return {_word(name): said[name] for name in fields_of(JobQuestion)}


@dataclass(frozen=True, slots=True)
class CheckpointQuestion:
    """A job and its run; what is None takes the default, or what the scenario says."""

    job: str | None = question_field("one training job of the scenario; default: all")
    failures: str | Mapping[str, Any] | None = question_field(
        "fleet whose failure rate holds, or a fit.json", usual="meta-llama-3-405b", label="Failures as in"
    )
    sku: str | None = question_field("kind of node", usual="h100-8", label="Kind of node (SKU)")
    nodes: int | None = question_field(
        "nodes of the job", reads="count", usual=64, least=1, most=1_000_000, label="Nodes of the job"
    )
    model: str | None = question_field(
        "model whose state is written, or its config.json",
        usual="llama-3.1-70b",
        label="Model whose state is written",
    )
    storage: str | None = question_field(
        "checkpoint storage class", usual="parallel-fs", label="Checkpoint storage"
    )
    restart_min: float | None = question_field(
        "minutes from a failure to running again",
        reads="number",
        value="MIN",
        usual=10.0,
        least=0.0,
        most=10_000.0,
        label="Restart after a failure",
        unit="min",
    )
    grid: str | None = question_field("grid region of the catalogue", usual="us", label="Grid region")
    asynchronous: bool | None = question_field(
        "the table for writes in the background", reads="flag", label="Write in the background"
    )
    spare_confidence_fraction: float | None = question_field(
        "share of time for which the spares suffice",
        reads="share",
        usual=0.95,
        option="--spare-confidence",
        value="FRACTION",
    )
    restart_parts: Mapping[str, float] | None = question_field(
        "restart as a sum: detect, replace, initialise, warm_up (else the catalogue's) and the load",
        reads="parts",
        value="PART=MIN,...",
    )
    queue_min: float = question_field(
        "minutes in the queue after a failure", 0.0, reads="number", value="MIN", least=0.0, most=10_000.0
    )
    storage_others_fraction: float = question_field(
        "share of the storage's bandwidth that other jobs take",
        0.0,
        reads="share",
        least=0.0,
        option="--storage-others",
        value="FRACTION",
    )
    state: str = question_field("what is written, such as bf16-adam-8bit-moments", "")
    loss_spikes_per_month: float = question_field(
        "how often the loss spikes in a month, which throws stored work away",
        0.0,
        reads="number",
        value="N",
        least=0.0,
        most=10_000.0,
        option="--loss-spikes",
        label="Loss spikes a month",
    )
    rollback_min: float | None = question_field(
        "minutes of stored work that go with each (else the fact reliability.loss_spike.rollback)",
        reads="number",
        value="MIN",
        least=0.0,
        most=100_000.0,
    )
    detect_corruption: bool = question_field(
        "check results for silent corruption, and go back to before it",
        False,
        reads="flag",
        label="Check for silent corruption",
    )
    slow_nodes_fraction: float | None = question_field(
        "share of the nodes that are slow at a time, for which all others wait",
        reads="share",
        least=0.0,
        most=0.5,
        option="--slow-nodes",
        value="FRACTION",
    )
    slowdown_factor: float | None = question_field(
        "step of a slow node over that of the others (else the fact reliability.degraded_node.slowdown)",
        reads="number",
        least=1.0,
        most=10.0,
        option="--slowdown",
        value="N",
    )
    step_spread_fraction: float | None = question_field(
        "standard deviation of the step of one node over its mean",
        reads="share",
        least=0.0,
        most=0.5,
        option="--step-spread",
        value="FRACTION",
    )
    useful_h: float | None = question_field(
        "hours of a run without failures: also says when it ends",
        reads="number",
        option="--useful-hours",
        value="H",
    )
    replicas: int = question_field(
        "play the best intervals N times", 0, reads="count", option="--simulate", value="N"
    )
    seed: int = question_field("of the play", 0, reads="seed")
    today_min: float | None = question_field(
        "your interval of today: what it loses a month",
        reads="number",
        value="MIN",
        label="Your interval of today",
        unit="min",
    )
    linear: bool = question_field("the published straight line, too", False, reads="flag")

    def complete(self) -> CheckpointQuestion:
        """The same with what is taken for each field of which nothing is said."""
        every = fields_of(type(self)).items()
        return replace(self, **{name: one.usual for name, one in every if getattr(self, name) is None})

    def stated(self) -> dict[str, Any]:
        """Those of all fields that are stated."""
        return self.said(*self.__dataclass_fields__)

    def said(self, *names: str) -> dict[str, Any]:
        """Those of some fields that are stated."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


AS_USUAL = CheckpointQuestion()  # of which nothing is said
