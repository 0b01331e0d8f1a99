"""A measured step at other degrees of data, pipeline and tensor parallelism, the fastest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from planner.answers.calibration.measured import range_of
from planner.answers.calibration.reading import LAYOUT_DEFAULTS, Workload
from planner.answers.calibration.steps import EXCHANGES, KERNELS, NoStep, Step, step_of, terms, without_memory
from planner.answers.calibration.traced import parts_of
from planner.inputs.catalogue import Catalogue
from planner.performance.calibrate import exchanges_s, kernels_s
from planner.trace.quantities import Traced, chosen, derive
from planner.trace.records import Record

COPY = ("tp", "pp", "cp")  # what a copy of the model is split over


def other_layouts(
    step: Step, texts: str, efficiency: Traced, worst: Traced, calibrated: Catalogue
) -> list[Record]:
    """The step of each layout of 'dp=4,tp=8; dp=8,tp=4,batch=64', the most tokens a second first.

    What a layout does not name is as it was measured, the batch of the whole run too.

    Raises:
        InputError: a part is not understood.
    """
    rows = list(_rows(step, texts, efficiency, worst, calibrated))
    return sorted(rows, key=lambda row: -float(row["tokens_per_s"].value) if "tokens_per_s" in row else 0.0)


def _rows(
    step: Step, texts: str, efficiency: Traced, worst: Traced, calibrated: Catalogue
) -> Iterator[Record]:
    for text in filter(None, map(str.strip, texts.split(";"))):
        one = _stated(step, parts_of(text, "--at", ("dp", "batch", *LAYOUT_DEFAULTS)))
        about: Record = {
            "layout": " ".join(f"{name.upper()}{count}" for name, count in one.layout or () if name in COPY),
            "named": text,
            "accelerators": chosen("accelerators", one.accelerators, f"of {text}"),
            "batch_sequences": chosen("batch_sequences", one.batch_sequences, f"of {text}"),
        }
        try:
            found = step_of(calibrated, one)
            reason = without_memory(calibrated, one)
        except NoStep as error:
            reason = str(error)
        if reason:
            yield about | {"reason": reason}
            continue
        parts, rate = found.parts(efficiency), found.rate(efficiency)
        idle = (parts.launch_s + parts.fixed_s + parts.scale_drag_s).named("idle_s")
        yield about | {
            "step_s": parts.total_s,
            "compute_s": derive(kernels_s, **terms(parts, KERNELS)),
            "exposed_s": derive(exchanges_s, **terms(parts, EXCHANGES)),
            "bubble_s": parts.pipeline_bubble_s,
            "idle_s": idle,
            "tokens_per_s": rate,
            **range_of(rate, worst),
        }


def _stated(step: Step, said: dict[str, int]) -> Workload:
    """The measured workload with what is said of it."""
    one, own = step.workload, step.arguments
    layout = {name: int(said.get(name, own[name])) for name in LAYOUT_DEFAULTS}
    ranks = said.get("dp", one.accelerators // prod(int(own[name]) for name in COPY))
    return replace(
        one,
        accelerators=ranks * prod(layout[name] for name in COPY),
        batch_sequences=said.get("batch", one.batch_sequences),
        layout=tuple(layout.items()),
    )
