"""Computation and energy of a model as the documentation of a general-purpose AI model states them.

Fields and units are those of the Model Documentation Form of the Code of Practice, sections on computational
resources and energy consumption: days on the clock and of hardware, operations by their order of magnitude,
energy in MWh to two significant figures.

Source: European Commission, General-Purpose AI Code of Practice, transparency chapter (10 July 2025);
Regulation (EU) 2024/1689, Annex XI, section 1, point 2 (d) and (e).
"""

from __future__ import annotations

import math

from planner.report.standards.formats import Files, StandardError
from planner.report.standards.training_work import TrainingWork, training_work
from planner.trace.records import Record

NOT_STATED = "not stated by the job"
TRAINING = ("experimentation", "training", "fine-tuning", "federated")


def write(document: Record) -> Files:
    """`model-documentation.md`: the fields that a job can fill, each with how it was obtained."""
    phases = {row["phase"]: row for row in document["tables"]["phases"]}
    if not {"training", "fine-tuning"} & phases.keys():
        raise StandardError("eu-model-form: the job trains nothing: it needs [training] or [fine_tuning]")
    work = training_work(document)
    rows = [
        ("Number of parameters", _figure(work.parameters, "parameters"), _of_model(work)),
        *_training_time(document, phases),
        ("Amount of computation used for training", _order(work.flop), _computation(work)),
        ("Amount of energy used for training", *_energy(document, phases)),
        ("Benchmarked amount of computation used for inference", *_inference(work)),
    ]
    lines = [
        "# Computational resources and energy consumption",
        "",
        document["title"],
        "",
        "| field | value | measurement methodology |",
        "|---|---|---|",
        *(f"| {name} | {value} | {method} |" for name, value, method in rows),
        "",
        f"Made with everfleet {document['everfleet']}, facts {document['catalogue'][:12]}. "
        f"Phases left out: {', '.join(document['left_out']) or 'none'}.",
    ]
    return {"model-documentation.md": "\n".join(lines) + "\n"}


def _training_time(document: Record, phases: dict[str, Record]) -> list[tuple[str, str, str]]:
    predicted = (document["tables"].get("predicted") or [{}])[0]
    hours = {row["name"]: row["value"] for row in document["totals"]}.get("accelerator_hours")
    clock = predicted.get("duration_h")
    how = phases.get("training", phases.get("fine-tuning", {})).get("what", "")
    return [
        (
            "Training time, on the clock",
            NOT_STATED if clock is None else f"{_figure(clock / 24, 'days')}",
            "of the training run: predicted from model, hardware and failures" if clock else "",
        ),
        (
            "Training time, of hardware",
            NOT_STATED if hours is None else f"{_figure(hours / 24, 'accelerator-days')}",
            f"all phases of the job; {how}",
        ),
    ]


def _energy(document: Record, phases: dict[str, Record]) -> tuple[str, str]:
    counted = [name for name in TRAINING if name in phases]
    mwh = sum(phases[name]["energy_kwh"] for name in counted) / 1000.0
    metered = "metered" if document["tables"].get("metered") else "estimated from computational resources"
    return _figure(mwh, "MWh"), f"{metered}, at the meter of the building; {', '.join(counted)}"


def _inference(work: TrainingWork) -> tuple[str, str]:
    if work.active_parameters is None:
        return NOT_STATED, ""
    return (
        _figure(2.0 * work.active_parameters, "floating point operations a token"),
        "estimated: two operations a token and active parameter, attention left out",
    )


def _computation(work: TrainingWork) -> str:
    if work.flop is None:
        return "needs `model` and `tokens` of [training]"
    return "estimated: 6 operations a token and active parameter (Kaplan et al., 2020)"


def _of_model(work: TrainingWork) -> str:
    return f"{work.model}, by its released configuration" if work.model else ""


def _figure(value: float | None, unit: str) -> str:
    """Two significant figures, as the form asks for."""
    if value is None:
        return NOT_STATED
    power = math.floor(math.log10(value)) if value else 0
    if not -2 <= power < 5:
        return f"{value / 10**power:.1f}*10^{power} {unit}"
    return f"{float(f'{value:.2g}'):,.{max(0, 1 - power)}f} {unit}"


def _order(flop: float | None) -> str:
    return NOT_STATED if flop is None else f"10^{math.floor(math.log10(flop))} floating point operations"
