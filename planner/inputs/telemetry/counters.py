"""Counters of monitoring that are understood: what each measures, and its unit.

Sources: NVIDIA, dcgm-exporter, etc/default-counters.csv and dcp-metrics-included.csv; OpenTelemetry, semantic
conventions for hardware metrics (`hw.*`, status Development); vLLM, production metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# What is measured -> its meaning, in the order of reading.
QUANTITIES: Mapping[str, str] = {
    "power_w": "power of an accelerator [W]",
    "energy_j": "energy of an accelerator since its start [J]",
    "busy_fraction": "share of time in which the accelerator works [share]",
    "memory_mib": "memory of an accelerator in use [MiB]",
    "xid": "last Xid of an accelerator [number]",
    "failed_checks": "checks of a node's hardware that are critical [count]",
    "ecc_dbe": "memory errors that were not corrected [count]",
    "ecc_sbe": "memory errors that were corrected [count]",
    "requests": "requests that were answered [count]",
    "prompt_tokens": "tokens that were read [count]",
    "answer_tokens": "tokens that were written [count]",
}


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter: what it measures, and what one of its units is in ours."""

    quantity: str
    scale: float = 1.0


COUNTERS: Mapping[str, Counter] = {
    "DCGM_FI_DEV_POWER_USAGE": Counter("power_w"),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Counter("energy_j", 1e-3),
    "DCGM_FI_DEV_GPU_UTIL": Counter("busy_fraction", 1e-2),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": Counter("busy_fraction"),
    "DCGM_FI_DEV_FB_USED": Counter("memory_mib"),
    "DCGM_FI_DEV_XID_ERRORS": Counter("xid"),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": Counter("ecc_dbe"),
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": Counter("ecc_sbe"),
    "hw.power": Counter("power_w"),
    "hw.gpu.power": Counter("power_w"),
    "hw.energy": Counter("energy_j"),
    "hw.gpu.energy": Counter("energy_j"),
    "hw.gpu.utilization": Counter("busy_fraction"),
    "hw.gpu.memory.usage": Counter("memory_mib", 1 / 2**20),
    "gcm_hardware_checks": Counter("failed_checks"),
    "vllm:request_success_total": Counter("requests"),
    "vllm:prompt_tokens_total": Counter("prompt_tokens"),
    "vllm:generation_tokens_total": Counter("answer_tokens"),
}
