"""Adapters of published techniques and of hardware next to hardware: what a factor makes of a quantity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from carbon.levers import lever_ratio, total_reduction_ratio
from planner.inputs.loading import load_catalogue
from planner.performance.bundles import named
from planner.performance.experts import static_slots_ratio
from planner.performance.hardware import idle_excess_fraction, power_at_equal_peak_kw
from planner.performance.rounding import rounded_up
from planner.validation.aliases import catalogue_name, constant
from planner.validation.forms import Book, NotUnderstood
from planner.validation.stated import Baseline

TECHNIQUES, HARDWARE = "published techniques", "accelerators compared"

BOOK = Book(
    {
        "idle_tdp_fraction": ("idle_fractions", 1.0),
        "reference_idle_tdp_fraction": ("reference_idle_fraction", 1.0),
    }
)

HANDLES = frozenset(
    [
        "tokens",
        "samples",
        "step_time",
        "decode_time",
        "latency",
        "throughput",
        "kv_bytes",
        "memory",
        "energy",
        "traffic",
    ]
)
# What a baseline is in, and whether it is counted in whole things.
BASELINES = {
    "baseline_gpu_h": ("h", False),
    "baseline_d": ("d", False),
    "baseline_s": ("s", False),
    "baseline_kwh": ("kWh", False),
    "baseline_gb": ("GB", False),
    "baseline_tokens": ("1", False),
    "baseline_samples": ("1", False),
    "baseline_nodes": ("1", True),
    "baseline_replicas": ("1", True),
}
MEASURES = ("after", "ratio", "reduction_fraction", "gain_fraction")


@BOOK.takes("technique_effect", unit="1", subject=TECHNIQUES)
def technique_effect(
    *,
    technique: str,
    handle: str,
    ratio: float | None = None,
    reduction_fraction: float | None = None,
    keep_fraction: float | None = None,
    gain_fraction: float | None = None,
    after_gb: float | None = None,
    affected_fraction: float = 1.0,
    baseline: Baseline,
    measure: str | None = None,
) -> dict[str, float]:
    """A published factor of one technique on the share that it reaches, and what it leaves of a baseline."""
    baselines = {name: value for name, value in named(baseline).items() if value is not None}
    if handle not in HANDLES:
        raise NotUnderstood(f"no handle '{handle}'; known: {', '.join(sorted(HANDLES))}")
    if len(baselines) > 1:
        raise NotUnderstood(f"at most one baseline, got {', '.join(baselines)}")
    own = _own_ratio(
        {"reduction_fraction": reduction_fraction, "keep_fraction": keep_fraction}
        | {"gain_fraction": gain_fraction},
        ratio,
        after_gb,
        baseline.baseline_gb,
        technique,
        handle,
    )
    whole = float(total_reduction_ratio(affected_fraction=affected_fraction, lever_ratio=own))
    wanted = measure or ("after" if baselines else "ratio")
    if wanted not in MEASURES or (wanted == "after" and not baselines):
        raise NotUnderstood(
            f"no measure '{wanted}' {'' if baselines else 'without a baseline'}: known: {', '.join(MEASURES)}"
        )
    if wanted != "after":
        return {"1": {"ratio": whole, "reduction_fraction": 1.0 - 1.0 / whole}.get(wanted, whole - 1.0)}
    ((name, before),) = baselines.items()
    unit, counted = BASELINES[name]
    return {unit: float(rounded_up(before / whole)) if counted else before / whole}


def _own_ratio(
    shares: Mapping[str, float | None],
    ratio: float | None,
    after_gb: float | None,
    baseline_gb: float | None,
    technique: str,
    handle: str,
) -> float:
    """How many times less the technique takes where it reaches: the effect stated, else the fact."""
    given = {name: value for name, value in shares.items() if value is not None}
    known = f"technique.{re.sub('[^a-z0-9]+', '-', technique.lower())}.{handle}"
    if ratio is None and after_gb is None and not given and load_catalogue().has(known):
        return constant(known, "lever_ratio")
    if (ratio is not None) + (after_gb is not None) + len(given) != 1:
        raise NotUnderstood(
            f"'{technique}' needs the size of its effect, stated once: ratio, {', '.join(shares)}, or "
            f"after_gb next to baseline_gb; the catalogue has no fact of its {handle}"
        )
    if after_gb is not None:
        if baseline_gb is None or after_gb <= 0:
            raise NotUnderstood("after_gb is above 0 and needs baseline_gb next to it")
        return baseline_gb / after_gb
    return ratio if ratio is not None else float(lever_ratio(**given))


@BOOK.takes("moe_waste_ratio", unit="1", subject=TECHNIQUES)
def moe_waste(*, experts: float, capacity_factor: float, experts_per_token: float) -> float:
    """Slots that static gating computes for each one used."""
    return float(
        static_slots_ratio(
            experts=experts, capacity_factor=capacity_factor, experts_per_token=experts_per_token
        )
    )


@BOOK.takes("accelerator_comparison", unit="1", subject=HARDWARE, only={"measure": ("idle_power_excess",)})
def idle_excess(
    *,
    accelerator: Any,
    reference: str,
    idle_fractions: Any = None,
    reference_idle_fraction: float | None = None,
) -> float:
    """Largest idle share of TDP less the reference's; shares that the row leaves out are the catalogue's."""
    names = accelerator if isinstance(accelerator, list) else [accelerator]
    stated = idle_fractions if isinstance(idle_fractions, list | None) else [idle_fractions]
    if stated is not None and len(stated) != len(names):
        raise NotUnderstood(f"idle_tdp_fraction has one share for each of the {len(names)} accelerators")
    shares = [_idle_fraction(str(name)) for name in names] if stated is None else stated
    of_reference = _idle_fraction(reference) if reference_idle_fraction is None else reference_idle_fraction
    return idle_excess_fraction(
        idle_fractions=np.array([float(share) for share in shares]), reference_idle_fraction=of_reference
    )


@BOOK.takes("accelerator_comparison", unit="1", subject=HARDWARE, only={"measure": ("single_stream_speed",)})
def single_stream_speed(*, accelerator: str, reference: str, model: str, token_time_ratio: float) -> float:
    """How many times as fast one stream is, from the time for a token over the reference's."""
    if not token_time_ratio > 0 or accelerator == reference:
        raise NotUnderstood(
            f"token_time_ratio of '{accelerator}' to '{reference}' on {model} is above 0, of two accelerators"
        )
    return 1.0 / token_time_ratio


@BOOK.takes("accelerator_comparison", unit="kW", subject=HARDWARE, only={"measure": ("power_at_equal_peak",)})
def power_at_equal_peak(*, accelerator: str, reference: str, dtype: str, reference_kw: float) -> float:
    """Power of as much dense peak on another accelerator, by TDP."""
    own, other = _sheet(accelerator, dtype), _sheet(reference, dtype)
    return float(
        power_at_equal_peak_kw(
            reference_kw=reference_kw,
            tdp_kw=own["tdp_kw"],
            peak_tflop_per_s=own["peak_tflop_per_s"],
            reference_tdp_kw=other["tdp_kw"],
            reference_peak_tflop_per_s=other["peak_tflop_per_s"],
        )
    )


def _idle_fraction(name: str) -> float:
    chip = f"accelerator.{catalogue_name('accelerator', name)}"
    return constant(f"{chip}.idle_power", "idle_kw") / constant(f"{chip}.tdp", "tdp_kw")


def _sheet(name: str, dtype: str) -> dict[str, float]:
    chip = f"accelerator.{catalogue_name('accelerator', name)}"
    narrow = {"nvfp4": "fp4", "mxfp4": "fp4", "mxfp6": "fp6", "mxfp8": "fp8", "bfloat16": "bf16"}
    peak = f"{chip}.{narrow.get(dtype, dtype)}_peak"
    if not load_catalogue().has(peak):
        raise NotUnderstood(f"no {dtype} peak of '{name}' in the catalogue")
    return {
        "tdp_kw": constant(f"{chip}.tdp", "tdp_kw"),
        "peak_tflop_per_s": constant(peak, "peak_tflop_per_s"),
    }
