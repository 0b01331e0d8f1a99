"""Execution traces as a measurement: where a step of the run went, and the constants that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.answers.calibration.measured import stated
from planner.answers.calibration.reading import (
    LAYOUT_DEFAULTS,
    Measurement,
    TracedStep,
    Workload,
    nearest_names,
)
from planner.answers.calibration.steps import EXCHANGES, KERNELS, Step, step_of, terms
from planner.inputs.catalogue import Catalogue
from planner.inputs.execution_traces import RECEIVE_NODE, ExecutionTrace, read_trace
from planner.inputs.fits import TRACED, traced_facts
from planner.inputs.hardware_question import OF_RESULTS, Stated
from planner.performance.calibrate import (
    exchanges_s,
    kernels_s,
    measured_exchange_factor,
    measured_fixed_s,
)
from planner.performance.timeline import covered_s, exposed_s
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, number_text
from planner.trace.quantities import Source, Traced, chosen, derive
from planner.trace.records import Record

# What a trace does not say of its run, and how it is stated.
NEEDED = {
    "sku": "the node (--sku)",
    "model": "the model (--model)",
    "precision": "its number format (--precision)",
    "accelerators": "all accelerators of the run (--accelerators)",
    "layout": "how it was split (--layout 'tp=8,pp=4')",
    "batch_sequences": "the sequences of a step (--batch-sequences)",
    "sequence_tokens": "their tokens (--sequence-tokens)",
}
SHARED = ("sku", "model", "precision", "accelerators")
CONTRADICTED = 1.01  # times the measured step: what is modelled beyond it does not fit into the trace
RECEIVES = ("send_recv", "recv")  # collectives that wait for the stage before


@dataclass(frozen=True)
class TracedFit:
    """The step that a trace explains: its catalogue with the constants, and what they were found from."""

    catalogue: Catalogue
    step: Step
    efficiency: Traced
    values: Mapping[str, Traced]


def traced_step(trace: ExecutionTrace) -> TracedStep:
    """Where the time of a step of one rank went.

    A profiler's step lasts as long as the host marks it, or as the device runs where that is longer. A graph
    is of one step.

    Raises:
        InputError: the trace does not say when anything ran, or marks no step.
    """
    if not trace.start_s.size:
        raise InputError(
            f"{trace.name}: is read as {trace.form}, which does not say when kernels ran: calibrate on the "
            "profiler's own file (Kineto) of the same steps"
        )
    if not trace.step_s.size and not trace.nodes:
        raise InputError(
            f"{trace.name}: marks no step: profile with a schedule and call step() of the profiler after each"
        )
    steps = max(1, trace.step_s.size)
    times = {"start_s": trace.start_s, "end_s": trace.end_s}
    busy_s, alone_s = covered_s(**times), exposed_s(**times, is_communication=trace.is_collective)
    span_s = float(trace.end_s.max() - trace.start_s.min())
    return TracedStep(
        file=trace.name,
        form=trace.form,
        steps=steps,
        step_s=max(span_s / steps, float(trace.step_s.mean()) if trace.step_s.size else 0.0),
        compute_s=(busy_s - alone_s) / steps,
        exposed_s=alone_s / steps,
        receives=bool((trace.node_type == RECEIVE_NODE).any())
        or any(one.name in RECEIVES for one in trace.collectives),
    )


def traced_measurement(paths: Sequence[Path], catalogue: Catalogue, said: Stated) -> Measurement:
    """The step of a run from the traces of its ranks: that of the rank which waits least for the others.

    Raises:
        InputError: a file has no times, a job is not wholly stated, or it is stated otherwise than recorded.
    """
    traces = [read_trace(path) for path in paths]
    one = min(map(traced_step, traces), key=lambda step: step.exposed_s)
    wrong = [
        f"--{name.replace('_', '-')}: is of result files, and {one.file} is a trace"
        for name in said.given(OF_RESULTS)
        if name not in SHARED
    ]
    ranks = {trace.ranks for trace in traces} - {0}
    values = {name: getattr(said, name) for name in NEEDED}
    if len(ranks) == 1 and not said.accelerators:
        values["accelerators"] = ranks.pop()
    elif ranks and ranks != {said.accelerators}:
        wrong.append(
            f"--accelerators {said.accelerators}: the traces say {', '.join(map(str, sorted(ranks)))}"
        )
    if missing := [what for name, what in NEEDED.items() if not values[name]]:
        wrong.append(f"{one.file}: is read as {one.form}, and lacks {', '.join(missing)}")
    if wrong:
        raise InputError("\n".join(wrong))
    layout = parts_of(said.layout, "--layout", tuple(LAYOUT_DEFAULTS))
    if lacking := [name for name in ("tp", "pp") if name not in layout]:
        raise InputError(f"--layout: '{said.layout[:64]}' does not say {' and '.join(lacking)}")
    workload = Workload(
        sku=catalogue.skus[values["sku"]],
        model=values["model"],
        precision=values["precision"],
        accelerators=values["accelerators"],
        batch_sequences=values["batch_sequences"],
        sequence_tokens=values["sequence_tokens"],
        layout=tuple((LAYOUT_DEFAULTS | layout).items()),
    )
    file = one.file if len(paths) == 1 else f"{one.file} of {count_text(len(paths))} traces"
    return Measurement(file, 0, workload, "step_time", one.step_s, f"{one.form} of {file}", one)


def parts_of(text: str, option: str, known: Sequence[str]) -> dict[str, int]:
    """Counts by name of 'tp=8,pp=4'.

    Raises:
        InputError: a part is not known, is written twice, or is no count.
    """
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, count = (one.strip() for one in part.partition("="))
        if name not in known:
            raise InputError(f"{option}: there is no part '{name[:64]}'{nearest_names(name, known)}")
        if name in found:
            raise InputError(f"{option}: {name} is written twice")
        least = 0 if name in ("recompute", "sharding") else 1
        if not (count.isdecimal() and count.isascii() and len(count) < 8 and int(count) >= least):
            raise InputError(f"{option}: {name} is '{count[:64]}': write a whole number of {least} or more")
        found[name] = int(count)
    return found


def fit_trace(measured: Measurement, catalogue: Catalogue) -> TracedFit:
    """Matrix efficiency, factor on exchanges and fixed time at which each term is the measured one.

    Raises:
        ValueError: no efficiency explains the time of kernels, or no step can be modelled.
    """
    assert measured.traced is not None, "it is a trace"
    shipped = step_of(catalogue, measured.workload)
    efficiency = shipped.efficiency_of_kernels(_seen(measured, "compute_s"))
    nothing = chosen("exchange_factor", 0.0, "a step that exchanges nothing")
    parts, apart = (
        shipped.parts(efficiency),
        shipped.with_constant("exchange_factor", nothing).parts(efficiency),
    )
    none_s = chosen("bubble_s", 0.0, "the trace has no receives that wait through it")
    receives = measured.traced.receives
    factor = derive(
        measured_exchange_factor,
        exposed_s=_seen(measured, "exposed_s"),
        exchanges_s=derive(exchanges_s, **terms(parts, EXCHANGES)),
        bubble_s=parts.pipeline_bubble_s if receives else none_s,
        bubble_without_exchanges_s=apart.pipeline_bubble_s if receives else none_s,
    )
    known = shipped.with_constant("exchange_factor", factor).parts(efficiency)
    fixed = derive(
        measured_fixed_s,
        step_s=_seen(measured, "step_s"),
        total_s=known.total_s,
        scale_drag_s=known.scale_drag_s,
        modelled_fixed_s=known.fixed_s,
    )
    values = {"exchange_factor": factor, "fixed_time": fixed}
    chip = measured.workload.sku.accelerator
    numbers = {name: float(one.value) for name, one in values.items()}
    calibrated = catalogue.with_facts(traced_facts(chip, numbers, Source("trace", measured.source)))
    return TracedFit(calibrated, step_of(calibrated, measured.workload), efficiency, values)


def traced_record(measured: Measurement, fit: TracedFit, before: Step, after: Traced) -> Record:
    """Each term of the step as measured, as the catalogue has it and as calibrated; and the constants."""
    one = measured.traced
    assert one is not None, "it is a trace"
    shipped = before.traced
    ours, now = (
        terms_of(before, shipped["matrix_efficiency_fraction"], one.receives),
        terms_of(fit.step, after, one.receives),
    )
    held = {
        "exchange_factor": chosen("exchange_factor", 1.0, "as modelled"),
        "fixed_time": shipped["fixed_s"],
    }
    seen_s, now_s = one.step_s, float(now["step_s"].value)
    note = (
        f"its terms come to {number_text(1e3 * now_s)} ms, with a bubble of "
        f"{number_text(1e3 * float(fit.step.parts(after).pipeline_bubble_s.value))} ms: is --layout the one "
        "that was traced?"
        if now_s > CONTRADICTED * seen_s
        else ""
    )
    return {
        "trace": measured.file,
        "note": note,
        "format": one.form,
        "steps": chosen("steps", one.steps, f"of {one.file}"),
        "terms": [
            {
                "term": name.removesuffix("_s"),
                "measured_s": _seen(measured, name),
                "before_s": ours[name],
                "after_s": now[name],
            }
            for name in ("compute_s", "exposed_s", "idle_s", "step_s")
        ],
        "constants": [
            {"name": name, "before": held[name], "value": value, "unit": TRACED[name]}
            for name, value in fit.values.items()
        ],
    }


def terms_of(step: Step, efficiency: Traced, receives: bool) -> dict[str, Traced]:
    """The step as a trace shows it: kernels, exchanges with nothing else running, an idle device."""
    parts = step.parts(efficiency)
    exchanges, idle = (
        derive(exchanges_s, **terms(parts, EXCHANGES)),
        parts.launch_s + parts.fixed_s + parts.scale_drag_s,
    )
    if receives:
        exchanges = exchanges + parts.pipeline_bubble_s
    else:
        idle = idle + parts.pipeline_bubble_s
    return {
        "compute_s": derive(kernels_s, **terms(parts, KERNELS)),
        "exposed_s": exchanges.named("exposed_s"),
        "idle_s": idle.named("idle_s"),
        "step_s": parts.total_s,
    }


def _seen(measured: Measurement, name: str) -> Traced:
    return stated(measured, name, getattr(measured.traced, name))
