"""`job_carbon` and `checkpoint`: questions about one job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from planner.notebook.answer import Answer
from planner.notebook.arguments import (
    Changes,
    Named,
    Quantity,
    given_in_python,
    given_quantity,
    in_python,
    scenario_of,
)
from planner.trace.errors import InputError


@in_python
def job_carbon(
    job: str | Path | Mapping[str, Any] | None = None,
    *,
    model: str | None = None,
    tokens: float | None = None,
    method: str | None = None,
    adapter_rank: int | None = None,
    accelerator_hours: float | None = None,
    metered: str | Path | None = None,
    sku: str | None = None,
    nodes: int | None = None,
    grid: str | None = None,
    region: str | None = None,
    hourly: str | Path | None = None,
    start: date | str | None = None,
    pue: float | None = None,
    lifetime_y: Quantity | None = None,
    utilisation_fraction: Quantity | None = None,
    power_w: Quantity | None = None,
    interval_min: Quantity | None = None,
    failures: str | Path | None = None,
    storage: str | None = None,
    why_embodied: bool = False,
    data: str | Path | None = None,
) -> Answer:
    """Carbon, energy and water of a job, from data to end of life: `everfleet carbon`.

    >>> run = ef.job_carbon(model="llama-3.1-8b", tokens=1e11, nodes=8, grid="us-srvc", lifetime_y="4 y")
    >>> run.totals["carbon"]["unit"]
    'kgCO2e'
    >>> run["changes"].to_pandas()["what"].iloc[0]
    'region'

    Args:
        job: the path of a job, the name of a shipped one, or its tables; without one the arguments below.
        model: of the catalogue, or its config.json; with `tokens` the hours are predicted.
        tokens: to train on.
        method: what is trained: full, or lora for adapters next to frozen weights.
        adapter_rank: of those adapters; else a fact of the catalogue.
        accelerator_hours: that you measured, instead of model and tokens.
        metered: a file of energy that was metered: CodeCarbon, GPU or Slurm.
        sku: kind of node; h100-8.
        nodes: how many; 8.
        grid: grid region of the catalogue; us.
        region: of a provider or of your own, in place of `grid`: aws/eu-central-1.
        hourly: a series of hourly grid intensity, by name or path.
        start: first day of the job.
        pue: of the building; else an assumption of the catalogue, with its range.
        lifetime_y: life of the hardware.
        utilisation_fraction: share of that life in use.
        power_w: measured power of one accelerator with its share of the node.
        interval_min: checkpoint interval; else that of least time.
        failures: fleet whose failure rate holds, or the path of a fit.json; meta-llama-3-405b.
        storage: checkpoint storage class; parallel-fs.
        why_embodied: whether to say why others print other figures for the accelerator.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: the job is wrong; the error holds every problem.
    """
    from planner.answers.job import job_document, open_job
    from planner.inputs.job_question import JobQuestion, job_flags
    from planner.inputs.loading import load_catalogue
    from planner.notebook.other_answers import job_made

    flags = job_flags(given_in_python(locals(), JobQuestion))
    meant = open_job(job, flags)
    return job_made(job_document(meant, load_catalogue(), why_embodied=why_embodied))


@in_python
def checkpoint(
    scenario: Named | None = None,
    *,
    changes: Changes = None,
    job: str | None = None,
    failures: str | Path | Answer | None = None,
    sku: str | None = None,
    nodes: int | None = None,
    model: str | None = None,
    storage: str | None = None,
    restart_min: Quantity | None = None,
    grid: str | None = None,
    asynchronous: bool | None = None,
    spare_confidence_fraction: Quantity | None = None,
    restart_parts: Mapping[str, Quantity] | None = None,
    queue_min: Quantity = 0.0,
    storage_others_fraction: Quantity = 0.0,
    state: str = "",
    loss_spikes_per_month: Quantity = 0.0,
    rollback_min: Quantity | None = None,
    detect_corruption: bool = False,
    slow_nodes_fraction: Quantity | None = None,
    slowdown_factor: Quantity | None = None,
    step_spread_fraction: Quantity | None = None,
    useful_h: Quantity | None = None,
    replicas: int = 0,
    seed: int = 0,
    linear: bool = False,
    today_min: Quantity | None = None,
    data: str | Path | None = None,
) -> Answer:
    """Which checkpoint interval is best for time, money and carbon: `everfleet checkpoint`.

    >>> best = ef.checkpoint(nodes=2000, sku="a100-80-8", failures="meta-rsc-1", restart_min="20 min")
    >>> best["marks"].to_pandas()["name"].tolist()[:3]
    ['time-optimal', 'money-optimal', 'carbon-optimal']
    >>> "reliability.meta-rsc-1.failure_rate" in best["marks"][0]["ettr_fraction"].explain().facts()["name"]
    True

    Args:
        scenario: every size of its training jobs; with `sku` and `nodes` that size in full.
        changes: other values of the scenario by path, as in `plan`.
        job: one training job of the scenario; else all.
        failures: a fleet of the catalogue, the path of a fit.json, or the answer of `fit`;
            meta-llama-3-405b.
        sku: kind of node; h100-8.
        nodes: how many; 64.
        model: whose state is written, or its config.json; llama-3.1-70b.
        storage: checkpoint storage class; parallel-fs.
        restart_min: from a failure to running again; 10.
        grid: grid region of the catalogue; us.
        asynchronous: whether the table of intervals is for writes in the background.
        spare_confidence_fraction: share of time for which the spares suffice; 0.95.
        restart_parts: minutes of `detect`, `replace`, `initialise`, `warm_up`: the restart is their sum with
            the load; those left out are the catalogue's.
        queue_min: in the queue after a failure.
        storage_others_fraction: share of the storage's bandwidth that other jobs take.
        state: what is written, such as bf16-adam-8bit-moments.
        loss_spikes_per_month: how often the loss spikes in a month, which throws stored work away.
        rollback_min: stored work that goes with each; else the fact reliability.loss_spike.rollback.
        detect_corruption: check results for silent corruption, and go back to before it.
        slow_nodes_fraction: share of the nodes that are slow at a time, for which all others wait.
        slowdown_factor: step of a slow node over that of the others; else the fact
            reliability.degraded_node.slowdown.
        step_spread_fraction: standard deviation of the step of one node over its mean.
        useful_h: hours of a run without failures: also says when it ends.
        replicas: how often to play the best intervals.
        seed: of the play.
        linear: whether to set the published straight line next to the exact form.
        today_min: your interval of today, "30 min": what it loses a month.
        data: your own facts next to ours: a folder that `everfleet add` writes, or one TOML file.

    Raises:
        InputError: a name is unknown, a number is out of range, or a scenario says it already.
    """
    from planner.answers.checkpoints import checkpoint_answer
    from planner.inputs.job_question import CheckpointQuestion
    from planner.notebook.other_answers import checkpoints_made

    said = locals() | {"failures": _failures(failures), "restart_parts": _restart_parts(restart_parts)}
    question = CheckpointQuestion(**given_in_python(said, CheckpointQuestion))
    meant = None if scenario is None else scenario_of(scenario, changes)
    document = checkpoint_answer(question, meant, changed=bool(changes))
    return checkpoints_made(document)


def _failures(failures: str | Path | Answer | None) -> str | Mapping[str, Any] | None:
    """A fleet by name, the path of a fit, or what other questions read of a fit."""
    from planner.answers.failures import as_failures

    if isinstance(failures, Answer):
        if failures.kind != "fit":
            raise InputError(f"failures: {failures!r} is no fit of a log")
        return as_failures(failures.to_dict())
    return None if failures is None else str(failures)


def _restart_parts(parts: Mapping[str, Quantity] | None) -> dict[str, float] | None:
    from planner.answers.checkpoints import parse_restart_parts

    if parts is None:
        return None
    minutes = {}
    for name, value in parts.items():
        try:
            minutes[name] = given_quantity(value, "restart_min")
        except InputError as error:
            raise InputError(f"restart_parts.{name}: {str(error).partition(': ')[2]}") from None
    return parse_restart_parts(",".join(f"{name}={value!r}" for name, value in minutes.items()))
